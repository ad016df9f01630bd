//! Tests of the plan of a tile.

use proptest::prelude::*;

use super::*;
use crate::buildings::{Block, Neighbour};
use crate::input::{FeatureId, Height, Polygon, SourceTile};

fn rect(id: u64, height_m: f64, [x0, y0, x1, y1]: [i32; 4]) -> Feature {
    Feature {
        id: FeatureId::Given(id),
        height: Height::from_input(Some(height_m)),
        polygons: vec![Polygon { rings: vec![vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]] }],
    }
}

fn middle() -> TileCoord {
    TileCoord::new(16, 58_207, 25_811).unwrap()
}

fn child(x: u32, y: u32) -> TileCoord {
    TileCoord::new(17, 2 * 58_207 + x, 2 * 25_811 + y).unwrap()
}

/// The plan of a child of the middle tile, which holds these features.
fn plan(tile: TileCoord, features: Vec<Feature>) -> Columns {
    let block = Block::new(SourceTile { tile: middle(), features });
    let hood = Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]);
    Columns::rasterise(tile, middle(), &hood)
}

#[test]
fn heights_are_in_the_tiles_own_voxels() {
    let voxel_m = child(0, 0).metres_per_voxel();
    assert!((voxel_m - 0.97).abs() < 0.005, "{voxel_m}");
    let columns = plan(child(0, 0), vec![rect(1, 333.42, [0, 0, 128, 128])]);
    assert_eq!(columns.top(0, 0), (333.42 / voxel_m).round() as u32);
    assert_eq!((columns.top(1, 0), columns.building(1, 0)), (0, None));
    // What is lower than half a voxel still stands.
    assert_eq!(plan(child(0, 0), vec![rect(1, 0.2, [0, 0, 128, 128])]).top(0, 0), 1);
}

#[test]
fn each_child_sees_its_quarter_and_the_apron() {
    // One voxel each side of the middle of the source tile.
    let features = vec![rect(1, 10.0, [32_768 - 128, 0, 32_768 + 128, 128])];
    let (west, east) = (plan(child(0, 0), features.clone()), plan(child(1, 0), features.clone()));
    assert!(west.top(255, 0) > 0 && west.top(256, 0) > 0 && west.top(254, 0) == 0);
    assert!(east.top(0, 0) > 0 && east.top(-1, 0) > 0 && east.top(1, 0) == 0);
    assert!(plan(child(0, 1), features).top_max() == 0);
}

#[test]
fn the_highest_counts_and_then_the_lowest_key() {
    let area = [0, 0, 256, 256];
    // A corridor of buildings that do not touch: keys differ. Here they overlap, so they are one.
    let low_and_high = vec![rect(5, 9.0, area), rect(3, 20.0, [0, 0, 128, 128])];
    let columns = plan(child(0, 0), low_and_high.clone());
    assert!(columns.top(0, 0) > columns.top(1, 1) && columns.top(1, 1) > 0);
    let reversed = plan(child(0, 0), low_and_high.into_iter().rev().collect());
    for (x, z) in [(0, 0), (1, 0), (1, 1), (2, 2)] {
        assert_eq!(columns.top(x, z), reversed.top(x, z));
    }
}

#[test]
fn absurd_heights_are_clipped_and_counted() {
    let mut columns = plan(child(0, 0), vec![rect(1, 1e300, [0, 0, 256, 128]), rect(2, 30.0, [256, 0, 384, 128])]);
    assert_eq!(columns.top(0, 0), u32::MAX);
    assert_eq!(columns.clip(1000), 2 * u64::from(u32::MAX - 1000));
    assert_eq!(columns.top_max(), 1000);
    assert_eq!(columns.clip(1000), 0);
    assert_eq!(columns.top(2, 0), 31);
}

#[test]
fn every_source_zoom_has_whole_voxels() {
    for zoom in crate::input::SOURCE_ZOOMS {
        let step = 17 - zoom;
        let middle = TileCoord::new(zoom, 500, 400).unwrap();
        let tile = TileCoord::new(17, 500 << step, 400 << step).unwrap();
        let units = (SOURCE_EXTENT >> step) as i32 / 256;
        let block = Block::new(SourceTile { tile: middle, features: vec![rect(1, 9.0, [0, units, units, 3 * units])] });
        let hood = Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]);
        let columns = Columns::rasterise(tile, middle, &hood);
        let built: Vec<_> = (0..4).map(|z| columns.top(0, z) > 0).collect();
        assert_eq!(built, [false, true, true, false], "zoom {zoom}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The aprons of two tiles show what the other one builds: across children of one source tile and across source
    /// tiles, whose copies are clipped.
    #[test]
    fn aprons_agree_with_the_neighbour(
        rects in prop::collection::vec((-30i32..30, 200i32..300, 1i32..20, 1i32..20, 1u32..200), 1..10),
    ) {
        let edge = SOURCE_EXTENT as i32;
        let features = |offset: i32, clip_low: i32, clip_high: i32| -> Vec<Feature> {
            let cut = rects.iter().enumerate().filter_map(|(idx, &(x, z, w, h, height))| {
                let [x0, x1] = [x, x + w].map(|x| (x * 128 + offset).clamp(clip_low, clip_high));
                let height_m = f64::from(height);
                (x0 < x1).then(|| rect(idx as u64, height_m, [x0, z * 128, x1, (z + h) * 128]))
            });
            cut.collect()
        };
        // The border lies at x = 0 of the eastern tile: the western one holds copies up to its buffer of 10 voxels.
        let west_tile = middle();
        let east_tile = west_tile.offset_wrapped(1, 0).unwrap();
        let west = Block::new(SourceTile { tile: west_tile, features: features(edge, -1280, edge + 1280) });
        let east = Block::new(SourceTile { tile: east_tile, features: features(0, -1280, edge + 1280) });
        let from_west = Neighbourhood::new(vec![
            Neighbour { block: &west, step: [0, 0] }, Neighbour { block: &east, step: [1, 0] },
        ]);
        let from_east = Neighbourhood::new(vec![
            Neighbour { block: &west, step: [-1, 0] }, Neighbour { block: &east, step: [0, 0] },
        ]);
        let left = Columns::rasterise(child(1, 0), west_tile, &from_west);
        let right = Columns::rasterise(child(2, 0), east_tile, &from_east);
        for z in 0..256 {
            for x in -(APRON as i32)..APRON as i32 {
                prop_assert_eq!(left.top(256 + x, z), right.top(x, z), "x {} z {}", x, z);
                let key = |columns: &Columns, hood: &Neighbourhood<'_>, x: i32| {
                    columns.building(x, z).map(|building| hood.buildings[building].key)
                };
                prop_assert_eq!(key(&left, &from_west, 256 + x), key(&right, &from_east, x));
            }
        }
    }
}
