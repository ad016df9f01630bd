use std::path::Path;

use proptest::prelude::*;
use voxatlas::geo::TileCoord;
use voxatlas::limits::ZOOM_FULL;

use super::*;
use crate::input::{CloudPoint, Place};

const TILE: (u32, u32) = (116_415, 51_623);

fn tile(dx: u32) -> TileCoord {
    TileCoord::new(ZOOM_FULL, TILE.0 + dx, TILE.1).unwrap()
}

/// A point, in voxels from the corner of the tile.
fn point(x: f64, z: f64, height_m: f64, colour: [u8; 3]) -> CloudPoint {
    let place = Place { x: f64::from(TILE.0 * 256) + x, z: f64::from(TILE.1 * 256) + z, height_m };
    CloudPoint { place, colour, is_ground: colour[2] == 1 }
}

fn spilt(points: &[CloudPoint], budget_bytes: u64) -> SpiltPoints {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = PointSpill::new(folder.path(), budget_bytes, None);
    for points in points.chunks(7) {
        assert_eq!(spill.add(points).unwrap(), 0);
    }
    spill.finish().unwrap()
}

#[test]
fn points_of_a_voxel_are_joined() {
    // A voxel is 0.97 m there.
    let spilt = spilt(
        &[
            point(3.2, 4.9, 1.0, [10, 20, 1]),
            point(3.9, 4.1, 1.9, [13, 21, 2]),
            point(3.5, 4.5, -0.1, [9, 9, 9]),
            point(256.0, 4.5, 50.0, [1, 2, 3]),
        ],
        1 << 20,
    );
    assert_eq!(spilt.tiles().into_iter().collect::<Vec<_>>(), [tile(0), tile(1)]);
    assert_eq!((spilt.n_points(tile(0)), spilt.n_points(tile(1)), spilt.n_points(tile(2))), (3, 1, 0));
    let voxels = spilt.bins(tile(0)).unwrap().voxels();
    let below = BinnedVoxel { x: 3, z: 4, y: -1, colour: [9; 3], n_points: 1, n_ground: 0 };
    let above = BinnedVoxel { x: 3, z: 4, y: 1, colour: [12, 21, 2], n_points: 2, n_ground: 1 };
    // From the tile beside it.
    let beside = BinnedVoxel { x: 256, z: 4, y: 51, colour: [1, 2, 3], n_points: 1, n_ground: 0 };
    assert_eq!(voxels, [below, above, beside]);
    assert_eq!(spilt.bins(tile(1)).unwrap().voxels()[0].y, 51);
    assert!(spilt.bins(tile(2)).unwrap().is_empty());
}

#[test]
fn points_that_lie_nowhere_are_counted_and_others_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = PointSpill::new(folder.path(), 0, Some([tile(1)].into()));
    let points = [
        point(f64::NAN, 0.0, 0.0, [0; 3]),
        point(0.0, f64::INFINITY, 0.0, [0; 3]),
        point(0.0, -1e9, 0.0, [0; 3]),
        point(0.0, 0.0, f64::NAN, [0; 3]),
        point(0.0, 0.0, 1e9, [0; 3]),
        point(10.0, 0.0, 0.0, [0; 3]),
        point(300.0, 0.0, 0.0, [0; 3]),
    ];
    assert_eq!(spill.add(&points).unwrap(), 5);
    let spilt = spill.finish().unwrap();
    assert_eq!(spilt.tiles(), [tile(1)].into());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let mut spill = PointSpill::new(Path::new("/nowhere/at/all"), 0, None);
    let error = spill.add(&[point(1.0, 1.0, 1.0, [0; 3])]).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all: a temporary file of points cannot be used: "), "{error}");
}

fn any_point() -> impl Strategy<Value = CloudPoint> {
    (0.0..600.0, 0.0..256.0, -40.0..40.0, any::<[u8; 3]>())
        .prop_map(|(x, z, height_m, colour)| point(x, z, height_m, colour))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn memory_and_order_do_not_matter(
        points in prop::collection::vec(any_point(), 0..200),
        budget_bytes in 0u64..3000,
        turn in 0usize..200,
    ) {
        let mut turned = points.clone();
        turned.rotate_left(turn.min(points.len()));
        turned.reverse();
        let (plain, spilt) = (spilt(&points, 1 << 30), spilt(&turned, budget_bytes));
        prop_assert_eq!(plain.tiles(), spilt.tiles());
        for tile in plain.tiles() {
            prop_assert_eq!(plain.n_points(tile), spilt.n_points(tile));
            prop_assert_eq!(plain.bins(tile).unwrap().voxels(), spilt.bins(tile).unwrap().voxels());
        }
    }

    #[test]
    fn neighbours_see_each_others_borders(
        points in prop::collection::vec((any_point(), 0u8..9), 1..60),
    ) {
        // On the borders between two tiles, and at their corners.
        let onto = |(mut point, side): (CloudPoint, u8)| {
            let corner = [f64::from(TILE.0 * 256), f64::from(TILE.1 * 256)];
            point.place.x = corner[0] + [-0.5, 255.5, 256.5][usize::from(side % 3)];
            point.place.z = corner[1] + [-0.5, 0.5, 255.5][usize::from(side / 3)];
            point
        };
        let points: Vec<CloudPoint> = points.into_iter().map(onto).collect();
        let spilt = spilt(&points, 500);
        let at = |step: [i64; 2]| {
            let tile = tile(0).offset_wrapped(step[0], step[1]).unwrap();
            spilt.bins(tile).unwrap().voxels()
        };
        let middle = at([0, 0]);
        for [dx, dz] in [[-1i64, 0], [1, 0], [0, -1], [1, -1], [-1, -1]] {
            let shifted = |voxel: &BinnedVoxel| BinnedVoxel {
                x: voxel.x + 256 * dx as i16,
                z: voxel.z + 256 * dz as i16,
                ..*voxel
            };
            let is_beyond = |voxel: &&BinnedVoxel| {
                let beyond = |along: i16| i64::from(along > 255) - i64::from(along < 0);
                [beyond(voxel.x), beyond(voxel.z)] == [dx, dz]
            };
            let is_shared = |voxel: &BinnedVoxel| (-1..=256).contains(&voxel.x) && (-1..=256).contains(&voxel.z);
            let theirs: Vec<_> = at([dx, dz])
                .iter()
                .filter(|voxel| (0..256).contains(&voxel.x) && (0..256).contains(&voxel.z))
                .map(shifted)
                .filter(is_shared)
                .collect();
            prop_assert_eq!(middle.iter().filter(is_beyond).copied().collect::<Vec<_>>(), theirs);
        }
    }

    #[test]
    fn points_return_in_the_order_in_which_they_came(points in prop::collection::vec(any_point(), 0..100)) {
        let (plain, spilt) = (spilt(&points, 1 << 30), spilt(&points, 200));
        for tile in plain.tiles() {
            let all = |points: &SpiltPoints| {
                let mut all = Vec::new();
                points.each(tile, |point| all.push(point)).unwrap();
                all
            };
            prop_assert_eq!(all(&plain), all(&spilt));
        }
    }
}
