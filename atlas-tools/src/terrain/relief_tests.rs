use proptest::prelude::*;

use super::*;
use crate::terrain::{GroundStack, NO_DATA};

const TILE: (u32, u32) = (116_415, 51_623);

fn tile(dx: i64, dz: i64) -> TileCoord {
    TileCoord::new(ZOOM_FULL, TILE.0, TILE.1).unwrap().offset_wrapped(dx, dz).unwrap()
}

/// A place, in voxels from the corner of the tile.
fn place(x: f64, z: f64, height_m: f64) -> Place {
    Place { x: f64::from(TILE.0 * 256) + x, z: f64::from(TILE.1 * 256) + z, height_m }
}

fn store() -> (tempfile::TempDir, ReliefStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = ReliefStore::new(folder.path(), 1 << 20, None);
    (folder, store)
}

/// The heights of the tiles round the tile after some triangles.
fn relief(triangles: &[[Place; 3]]) -> Vec<f32> {
    let (_folder, mut store) = store();
    for triangle in triangles {
        assert_eq!(store.add(triangle).unwrap(), None);
    }
    let Some(relief) = store.finish() else { return vec![NO_DATA; 4 * 65_536] };
    let tiles = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let heights = tiles.map(|(dx, dz)| relief.tile(tile(dx, dz)).unwrap().unwrap_or_else(HeightTile::empty));
    heights.iter().flat_map(|tile| tile.heights_m().to_vec()).collect()
}

fn n_covered(heights: &[f32]) -> usize {
    heights.iter().filter(|height| !height.is_nan()).count()
}

#[test]
fn a_slope_is_met_at_the_centres() {
    let (_folder, mut store) = store();
    // A square over two tiles that rises by 2 m a voxel to the east.
    let corners =
        [place(250.0, 10.0, 0.0), place(260.0, 10.0, 20.0), place(260.0, 20.0, 20.0), place(250.0, 20.0, 0.0)];
    store.add(&[corners[0], corners[1], corners[2]]).unwrap();
    store.add(&[corners[0], corners[2], corners[3]]).unwrap();
    let relief = store.finish().unwrap();
    let (west, east) = (relief.tile(tile(0, 0)).unwrap().unwrap(), relief.tile(tile(1, 0)).unwrap().unwrap());
    for z in 10..20 {
        for (x, tile, column) in (250..256).map(|x| (x, &west, x)).chain((256..260).map(|x| (x, &east, x - 256))) {
            let expected = (x as f32 - 250.0) * 2.0 + 1.0;
            let found = tile.at(column, z).unwrap();
            assert!((found - expected).abs() < 0.01, "{x} {z}: {found}");
        }
    }
    assert_eq!((west.at(249, 10), west.at(250, 9), west.at(250, 20), east.at(4, 10)), (None, None, None, None));
    assert!(relief.tile(tile(0, 1)).unwrap().is_none());
    assert_eq!(relief.extent()[0], f64::from(TILE.0 * 256) + 250.0);
    let stack = GroundStack::new(vec![Box::new(relief)], 1 << 20);
    assert_eq!(stack.height_m_at(place(250.2, 10.9, 0.0).x, place(0.0, 10.9, 0.0).z).unwrap(), Some(1.0));
}

#[test]
fn where_triangles_lie_over_each_other_the_higher_counts() {
    let flat = |height_m| [place(0.0, 0.0, height_m), place(9.0, 0.0, height_m), place(0.0, 9.0, height_m)];
    let orders = [relief(&[flat(3.0), flat(7.0), flat(5.0)]), relief(&[flat(7.0), flat(5.0), flat(3.0)])];
    for heights in &orders {
        assert_eq!(n_covered(heights), 36);
        assert!(heights.iter().all(|height| height.is_nan() || *height == 7.0));
    }
}

#[test]
fn upright_triangles_cover_nothing_and_absurd_ones_are_told() {
    let (_folder, mut store) = store();
    let wall = [place(0.0, 0.0, 0.0), place(9.0, 9.0, 0.0), place(9.0, 9.0, 50.0)];
    assert_eq!(store.add(&wall).unwrap(), None);
    for corner in [
        place(f64::NAN, 0.0, 0.0),
        place(0.0, f64::INFINITY, 0.0),
        place(0.0, 0.0, 1e300),
        place(0.0, 0.0, f64::NAN),
        place(1e12, 0.0, 0.0),
        place(9000.0, 3.0, 0.0),
    ] {
        assert_eq!(
            store.add(&[place(0.0, 0.0, 0.0), corner, place(9.0, 0.0, 0.0)]).unwrap(),
            Some(Problem::BadCoordinate)
        );
    }
    let relief = store.finish().unwrap();
    assert!(relief.tile(tile(0, 0)).unwrap().is_none());
}

#[test]
fn only_tiles_that_are_wanted_are_kept_and_columns_wrap() {
    let folder = tempfile::tempdir().unwrap();
    let last = TileCoord::new(ZOOM_FULL, 131_071, 9).unwrap();
    let mut store = ReliefStore::new(folder.path(), 0, Some([last].into()));
    let at = |x: f64, z: f64| Place { x, z, height_m: 4.0 };
    let z = 9.0 * 256.0;
    store.add(&[at(-20.0, z), at(20.0, z), at(0.0, z + 30.0)]).unwrap();
    // Wholly beyond the northern end.
    store.add(&[at(-20.0, -90.0), at(20.0, -90.0), at(0.0, -30.0)]).unwrap();
    let relief = store.finish().unwrap();
    assert_eq!(relief.tile(last).unwrap().unwrap().at(250, 5), Some(4.0));
    assert!(relief.tile(TileCoord::new(ZOOM_FULL, 0, 9).unwrap()).unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A fan round a point covers each centre of its outline once: with heights that name the triangle, a centre that two
    /// covered, or none, would show.
    #[test]
    fn a_mesh_has_neither_cracks_nor_overlaps(
        middle in prop::array::uniform2(60i32..=340),
        cuts in prop::array::uniform4(0i32..=100),
        step in prop::sample::select(vec![1.0, 0.5, 1.0 / 3.0]),
    ) {
        // Coarse coordinates make corners and edges that lie on centres common.
        let at = |x: i32, z: i32| place(f64::from(x) * step + 0.5, f64::from(z) * step + 0.5, 0.0);
        let [north, east, south, west] = cuts.map(|cut| 4 * cut);
        let outline = [
            (0, 0), (north, 0), (400, 0), (400, east), (400, 400), (south, 400), (0, 400), (0, west),
        ];
        let triangles: Vec<[Place; 3]> = (0..8)
            .map(|idx| {
                let ((x0, z0), (x1, z1)) = (outline[idx], outline[(idx + 1) % 8]);
                let named = |place: Place| Place { height_m: idx as f64, ..place };
                [at(x0, z0), at(x1, z1), at(middle[0], middle[1])].map(named)
            })
            .collect();
        let whole = relief(&triangles);
        let alone: usize = triangles.iter().map(|triangle| n_covered(&relief(&[*triangle]))).sum();
        let square = [[at(0, 0), at(400, 0), at(400, 400)], [at(0, 0), at(400, 400), at(0, 400)]];
        prop_assert_eq!(n_covered(&whole), alone, "no centre twice");
        prop_assert_eq!(n_covered(&whole), n_covered(&relief(&square)), "no centre lost");
    }

    #[test]
    fn heights_stay_within_the_corners(
        corners in prop::array::uniform3((-40.0f64..300.0, -40.0f64..300.0, -99.0f64..99.0)),
    ) {
        let heights = relief(&[corners.map(|(x, z, height_m)| place(x, z, height_m))]);
        let of = corners.map(|corner| corner.2 as f32);
        let (low, high) = (of.into_iter().fold(f32::MAX, f32::min), of.into_iter().fold(f32::MIN, f32::max));
        prop_assert!(heights.iter().all(|height| height.is_nan() || (low..=high).contains(height)));
    }
}
