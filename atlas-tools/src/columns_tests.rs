//! Tests of the plan of a tile.

use proptest::prelude::*;

use super::*;
use crate::buildings::{Block, Neighbour};
use crate::input::{FeatureId, Height, Polygon, SourceTile};
use crate::terrain::{Elevation, GroundStack, HeightTile};

fn rect(id: u64, height_m: f64, [x0, y0, x1, y1]: [i32; 4]) -> Feature {
    let polygon = Polygon { rings: vec![vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]] };
    Feature::standing(FeatureId::Given(id), Height::from_input(Some(height_m)), vec![polygon])
}

fn middle() -> TileCoord {
    TileCoord::new(16, 58_207, 25_811).unwrap()
}

fn child(x: u32, y: u32) -> TileCoord {
    TileCoord::new(17, 2 * 58_207 + x, 2 * 25_811 + y).unwrap()
}

/// The plan of a tile on flat ground at the datum.
fn rasterise(tile: TileCoord, middle: TileCoord, hood: &Neighbourhood<'_>) -> Columns {
    rasterise_on(&Ground::flat(0.0), tile, middle, hood)
}

fn rasterise_on(ground: &Ground, tile: TileCoord, middle: TileCoord, hood: &Neighbourhood<'_>) -> Columns {
    let footings = Footings::new(middle, hood, ground).unwrap();
    Columns::rasterise(tile, middle, hood, ground, &footings).unwrap()
}

/// The plan of a child of the middle tile, which holds these features.
fn plan(tile: TileCoord, features: Vec<Feature>) -> Columns {
    let block = Block::new(SourceTile { tile: middle(), features });
    let hood = Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]);
    rasterise(tile, middle(), &hood)
}

#[test]
fn heights_are_in_the_tiles_own_voxels() {
    let voxel_m = child(0, 0).metres_per_voxel();
    assert!((voxel_m - 0.97).abs() < 0.005, "{voxel_m}");
    let columns = plan(child(0, 0), vec![rect(1, 333.42, [0, 0, 128, 128])]);
    assert_eq!(columns.top(0, 0), (333.42 / voxel_m).round() as i32);
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
    assert!(!plan(child(0, 1), features).has_buildings());
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
    assert_eq!(columns.top(0, 0), HEIGHT_VOXELS_MAX);
    assert_eq!(columns.clip(-32..1000), 2 * (HEIGHT_VOXELS_MAX - 1000) as u64);
    assert_eq!(columns.y_range(), Some(0..1000));
    assert_eq!(columns.clip(-32..1000), 0);
    assert_eq!(columns.top(2, 0), 31);
}

/// Ground that rises by a metre a voxel to the east, from 100 m at the west edge of the middle tile.
struct Slope;

impl Elevation for Slope {
    fn name(&self) -> String {
        "a slope".to_owned()
    }

    fn extent(&self) -> [f64; 4] {
        [0.0, 0.0, 3e7, 3e7]
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let west = (i64::from(tile.x()) - 2 * 58_207) * 256;
        Ok(Some(HeightTile::from_fn(|x, _| 100.0 + (west + x as i64) as f32)))
    }
}

fn slope() -> Ground {
    Ground::new(GroundStack::new(vec![Box::new(Slope)], 1 << 24), Vec::new(), None)
}

/// Issue 4: a building's ground height comes from its whole footprint, never from the part in one tile.
#[test]
fn a_building_on_a_slope_stands_level_on_its_lowest_corner_in_every_tile() {
    // From 20 voxels west of the border between two children to 20 east of it, 10 m high.
    let border = 256 * 128;
    let features = vec![rect(1, 10.0, [border - 20 * 128, 0, border + 20 * 128, 1280])];
    let block = Block::new(SourceTile { tile: middle(), features });
    let hood = Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]);
    let voxel_m = child(0, 0).metres_per_voxel();
    let top = ((336.0 + 10.0) / voxel_m).round() as i32;
    let (west, east) =
        (rasterise_on(&slope(), child(0, 0), middle(), &hood), rasterise_on(&slope(), child(1, 0), middle(), &hood));
    assert_eq!((west.top(236, 3), west.top(240, 3)), (top, top));
    assert_eq!(west.ground(240, 3), Some((340.0 / voxel_m).round() as i32));
    assert_eq!(east.top(-16, 3), top);
    assert_eq!((west.building(255, 3), east.building(-1, 3)), (None, None), "the ground has buried it");
    assert!(east.top(10, 3) >= east.ground(10, 3).unwrap());
    assert_eq!(east.spans(300, 200).count(), 0);
}

#[test]
fn a_viaduct_follows_the_ground() {
    let features = vec![rect(1, 10.0, [0, 0, 600 * 128, 1280])];
    let block = Block::new(SourceTile { tile: middle(), features });
    let hood = Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]);
    let columns = rasterise_on(&slope(), child(0, 0), middle(), &hood);
    let height = |x: i32| columns.top(x, 3) - columns.ground(x, 3).unwrap();
    assert!((9..=11).contains(&height(0)) && (9..=11).contains(&height(255)), "{} {}", height(0), height(255));
}

#[test]
fn what_floats_leaves_the_air_below_it() {
    let area = [0, 0, 256, 256];
    let floating = |id, min_height_m, height_m| Feature { min_height_m, ..rect(id, height_m, area) };
    let columns = plan(child(0, 0), vec![floating(3, 20.0, 30.0), rect(1, 5.0, area), floating(2, 25.0, 40.0)]);
    let voxels = |height_m: f64| (height_m / child(0, 0).metres_per_voxel()).round() as i32;
    let spans: Vec<_> = columns.spans(0, 0).map(|span| (span.bottom, span.top)).collect();
    assert_eq!(spans, [(voxels(25.0), voxels(40.0)), (voxels(20.0), voxels(25.0)), (0, voxels(5.0))]);
    assert_eq!(columns.top(1, 1), voxels(40.0));
    assert_eq!(columns.y_range(), Some(0..voxels(40.0)));
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
        let columns = rasterise(tile, middle, &hood);
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
        let left = rasterise(child(1, 0), west_tile, &from_west);
        let right = rasterise(child(2, 0), east_tile, &from_east);
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

#[test]
fn a_guessed_ground_uncovers_what_it_buries_by_little() {
    let mut columns = Columns::open();
    // The ground of an open plan is at 0.
    columns.uncover(3, 4, -2);
    columns.uncover(5, 4, -9);
    columns.uncover(6, 4, 7);
    let grounds = [3, 5, 6, 7].map(|x| columns.ground(x, 4));
    assert_eq!(grounds, [Some(-2), Some(0), Some(0), Some(0)]);
    assert_eq!((columns.top(3, 4), columns.top(5, 4)), (-2, 0));
}
