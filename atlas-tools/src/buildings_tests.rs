//! Tests of the buildings of a neighbourhood.

use proptest::prelude::*;
use voxatlas::geo::TileCoord;

use super::*;
use crate::input::{Height, Polygon};

/// A tile's edge, and the width of its buffer, in source units.
const EDGE: i32 = SOURCE_EXTENT as i32;
const BUFFER: i32 = 1280;

fn feature(id: u64, height_m: f64, [x0, y0, x1, y1]: [i32; 4]) -> Feature {
    let polygon = Polygon { rings: vec![vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]] };
    Feature::standing(FeatureId::Given(id), Height::from_input(Some(height_m)), vec![polygon])
}

/// A world of rectangles, cut into tiles with buffers as a vector tile server does.
struct World(Vec<(u64, f64, [i32; 4])>);

impl World {
    fn block(&self, x: i32, y: i32) -> Block {
        let tile = TileCoord::new(16, (1000 + x) as u32, (1000 + y) as u32).unwrap();
        let features = self.0.iter().filter_map(|&(id, height_m, [x0, y0, x1, y1])| {
            let clip = |value: i32, tile: i32| (value - tile * EDGE).clamp(-BUFFER, EDGE + BUFFER);
            let rect = [clip(x0, x), clip(y0, y), clip(x1, x), clip(y1, y)];
            (rect[0] < rect[2] && rect[1] < rect[3]).then(|| feature(id, height_m, rect))
        });
        Block::new(SourceTile { tile, features: features.collect() })
    }

    /// What the middle tile (x, y) knows of a feature's building.
    fn building(&self, x: i32, y: i32, id: u64) -> Option<Building> {
        let steps: Vec<_> = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).collect();
        let blocks: Vec<_> = steps.iter().map(|&(dx, dy)| self.block(x + dx, y + dy)).collect();
        let neighbours = steps.iter().zip(&blocks);
        let neighbours = neighbours.map(|(&(dx, dy), block)| Neighbour { block, step: [i64::from(dx), i64::from(dy)] });
        let hood = Neighbourhood::new(neighbours.collect());
        hood.blocks.iter().enumerate().find_map(|(block_idx, neighbour)| {
            let features = &neighbour.block.source.features;
            let feature_idx = features.iter().position(|feature| feature.id == FeatureId::Given(id))?;
            Some(hood.buildings[hood.building_of(block_idx, feature_idx) as usize].clone())
        })
    }
}

#[test]
fn touching_parts_are_one_building_named_by_the_lowest_id() {
    let world =
        World(vec![(9, 10.0, [100, 100, 200, 200]), (5, 30.0, [200, 100, 300, 200]), (7, 4.0, [301, 100, 400, 200])]);
    let building = world.building(0, 0, 9).unwrap();
    assert_eq!(building.key, FeatureId::Given(5));
    assert_eq!(building.height_m, 30.0);
    assert_eq!(building.bounds, Bounds { low: [100, 100], high: [300, 200] });
    assert_eq!(building.upper_bounds, Bounds { low: [200, 100], high: [300, 200] });
    assert_eq!(world.building(0, 0, 7).unwrap().key, FeatureId::Given(7));
}

#[test]
fn a_building_across_a_border_is_the_same_from_both_sides() {
    // Its lowest part lies wholly in the eastern tile, beyond the buffer of the western one.
    let world = World(vec![
        (8, 10.0, [EDGE - 3000, 500, EDGE + 100, 900]),
        (6, 10.0, [EDGE + 100, 500, EDGE + 4000, 900]),
        (2, 50.0, [EDGE + 4000, 500, EDGE + 9000, 900]),
    ]);
    let (west, east) = (world.building(0, 0, 8).unwrap(), world.building(1, 0, 8).unwrap());
    assert_eq!(west.key, FeatureId::Given(2));
    assert_eq!(east.key, west.key);
    assert_eq!(east.height_m, west.height_m);
    assert_eq!(east.grain, west.grain);
    assert_eq!(east.bounds.size(), west.bounds.size());
}

#[test]
fn walls_give_the_direction() {
    let turned = |dx: i32, dy: i32| {
        let ring = vec![[0, 0], [dx, dy], [dx - dy / 2, dy + dx / 2], [-dy / 2, dx / 2]];
        let polygons = vec![Polygon { rings: vec![ring] }];
        let source = SourceTile {
            tile: TileCoord::new(16, 1, 1).unwrap(),
            features: vec![Feature { polygons, ..feature(1, 5.0, [0; 4]) }],
        };
        let block = Block::new(source);
        Neighbourhood::new(vec![Neighbour { block: &block, step: [0, 0] }]).buildings[0].angle_rad()
    };
    assert_eq!(turned(1000, 0), 0.0);
    assert!((turned(2000, 1000) - (0.5f64).atan()).abs() < 1e-9);
    // A quarter turn is the same direction.
    assert!((turned(-1000, 2000) - (0.5f64).atan()).abs() < 1e-9);
}

#[test]
fn nameless_copies_are_joined_where_they_meet() {
    let nameless = |feature_idx: u32, rect: [i32; 4], x: u32| {
        let tile = TileCoord::new(16, 1000 + x, 1000).unwrap();
        let id = FeatureId::Place { input: 0, tile, feature_idx };
        Block::new(SourceTile { tile, features: vec![Feature { id, ..feature(0, 5.0, rect) }] })
    };
    let west = nameless(3, [EDGE - 500, 0, EDGE + 200, 400], 0);
    let east = nameless(0, [-500, 0, 200, 400], 1);
    let hood =
        Neighbourhood::new(vec![Neighbour { block: &west, step: [0, 0] }, Neighbour { block: &east, step: [1, 0] }]);
    assert_eq!(hood.building_of(0, 0), hood.building_of(1, 0));
    assert_eq!(hood.buildings.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Buildings that span less than a tile are known alike by every tile that shows a part of them.
    #[test]
    fn neighbours_agree(
        parts in prop::collection::vec((-40i32..40, -40i32..40, 1i32..12, 1i32..12, 1u32..90), 1..14),
    ) {
        let unit = 400;
        let parts: Vec<_> = parts.iter().enumerate().map(|(idx, &(x, y, w, h, height))| {
            let (x, y) = (EDGE + x * unit, EDGE + y * unit);
            (97 - 7 * idx as u64, f64::from(height), [x, y, x + w * unit, y + h * unit])
        }).collect();
        let world = World(parts.clone());
        for (id, ..) in parts {
            let seen: Vec<_> = [(0, 0), (1, 0), (0, 1), (1, 1)]
                .into_iter()
                .filter_map(|(x, y)| world.building(x, y, id))
                .map(|building| (building.key, building.height_m.to_bits(), building.bounds.size(), building.grain))
                .collect();
            prop_assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "feature {id}: {seen:?}");
            prop_assert_eq!(seen.len(), 4);
        }
    }
}
