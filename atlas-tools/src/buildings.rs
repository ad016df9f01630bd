//! Which features are one building.
//!
//! A vector tile holds roof surfaces, often dozens a building, and a building across a border in two to four clipped
//! copies. A **building** is a connected component of touching polygons in a source tile and its eight neighbours,
//! joined also by feature id, and it is named by its lowest id. So its look is the same from every tile that shows it,
//! and does not depend on which other tiles are encoded.
//!
//! The polygons of a tile are compared once ([`Block::new`]); for a tile's neighbourhood the blocks of nine tiles are
//! joined by ids ([`Neighbourhood::new`]). Buffers make that enough: two polygons that touch in a tile both have copies
//! in it. Only features without an id are compared across tiles too, since nothing else says that their copies are one.

use rustc_hash::FxHashMap;

use crate::input::{Feature, FeatureId, Polygon, SOURCE_EXTENT, SourceTile};
use crate::touch::{Groups, Owned, join_touching};

/// A source tile whose touching features are grouped.
#[derive(Debug)]
pub struct Block {
    /// The tile.
    pub source: SourceTile,
    /// The part that each feature belongs to.
    parts: Vec<u32>,
    n_parts: usize,
}

impl Block {
    /// Compares the polygons of a tile.
    pub fn new(source: SourceTile) -> Self {
        let mut groups = Groups::new(source.features.len());
        let owned: Vec<_> = owned_polygons(source.features.iter().enumerate(), [0, 0]).collect();
        join_touching(&owned, &mut groups);
        let mut first_of_id: FxHashMap<FeatureId, u32> = FxHashMap::default();
        for (idx, feature) in source.features.iter().enumerate() {
            let first = *first_of_id.entry(feature.id).or_insert(idx as u32);
            groups.union(first, idx as u32);
        }
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut number = |group| {
            let next = numbers.len() as u32;
            *numbers.entry(group).or_insert(next)
        };
        let parts = (0..source.features.len() as u32).map(|idx| number(groups.find(idx))).collect();
        Self { source, parts, n_parts: numbers.len() }
    }
}

fn owned_polygons<'a>(
    features: impl Iterator<Item = (usize, &'a Feature)>,
    offset: [i64; 2],
) -> impl Iterator<Item = Owned<'a>> {
    features.flat_map(move |(owner, feature)| {
        feature.polygons.iter().map(move |polygon| Owned { owner: owner as u32, polygon, offset })
    })
}

/// What is known of a building.
#[derive(Debug, Clone, PartialEq)]
pub struct Building {
    /// The lowest id of its features.
    pub key: FeatureId,
    /// Its highest feature, in metres.
    pub height_m: f64,
    /// The box around it.
    pub bounds: Bounds,
    /// The box around its features that reach above half its height.
    pub upper_bounds: Bounds,
    /// Sum over its walls of length^4 times the unit vector at four times their angle: the direction in which most of
    /// its walls run, modulo a quarter turn.
    grain: [i128; 2],
}

impl Building {
    /// The direction of its walls, from east towards south, in -pi/4..=pi/4 radians.
    pub fn angle_rad(&self) -> f64 {
        libm::atan2(self.grain[1] as f64, self.grain[0] as f64) / 4.0
    }
}

/// A box in source units: x east, y south of the north-west corner of the neighbourhood's middle tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// West and north.
    pub low: [i64; 2],
    /// East and south.
    pub high: [i64; 2],
}

impl Bounds {
    const NONE: Self = Self { low: [i64::MAX; 2], high: [i64::MIN; 2] };

    fn add(&mut self, point: [i64; 2]) {
        for (axis, value) in point.into_iter().enumerate() {
            self.low[axis] = self.low[axis].min(value);
            self.high[axis] = self.high[axis].max(value);
        }
    }

    /// Its size in source units; zero where it holds nothing.
    pub fn size(&self) -> [i64; 2] {
        [0, 1].map(|axis| self.high[axis].saturating_sub(self.low[axis]).max(0))
    }
}

/// A block and where it stands in a neighbourhood.
#[derive(Debug, Clone, Copy)]
pub struct Neighbour<'a> {
    /// The block.
    pub block: &'a Block,
    /// Tiles to the east and to the south of the middle, -1..=1 each. Not from the tiles' addresses, since columns wrap
    /// at the antimeridian.
    pub step: [i64; 2],
}

impl Neighbour<'_> {
    /// Its north-west corner, in source units from that of the middle.
    pub fn corner(&self) -> [i64; 2] {
        self.step.map(|step| step * SOURCE_EXTENT)
    }
}

/// The buildings of a source tile and its eight neighbours.
#[derive(Debug)]
pub struct Neighbourhood<'a> {
    /// The blocks that exist.
    pub blocks: Vec<Neighbour<'a>>,
    /// The buildings, in no order that means anything.
    pub buildings: Vec<Building>,
    /// For each block, the building of each of its parts.
    of_part: Vec<Vec<u32>>,
}

impl<'a> Neighbourhood<'a> {
    /// Joins the blocks of a neighbourhood.
    pub fn new(blocks: Vec<Neighbour<'a>>) -> Self {
        let mut n_parts = 0;
        let mut first_part = Vec::with_capacity(blocks.len());
        for Neighbour { block, .. } in &blocks {
            first_part.push(n_parts);
            n_parts += block.n_parts;
        }
        let mut groups = Groups::new(n_parts);
        join_ids(&blocks, &first_part, &mut groups);
        join_nameless(&blocks, &first_part, &mut groups);

        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut of_part = Vec::with_capacity(blocks.len());
        for (Neighbour { block, .. }, &first) in blocks.iter().zip(&first_part) {
            let mut number = |part: usize| {
                let next = numbers.len() as u32;
                *numbers.entry(groups.find((first + part) as u32)).or_insert(next)
            };
            of_part.push((0..block.n_parts).map(&mut number).collect::<Vec<u32>>());
        }
        let buildings = describe(&blocks, &of_part, numbers.len());
        Self { blocks, buildings, of_part }
    }

    /// The building that a feature of a block belongs to.
    pub fn building_of(&self, block_idx: usize, feature_idx: usize) -> u32 {
        self.of_part[block_idx][self.blocks[block_idx].block.parts[feature_idx] as usize]
    }
}

fn join_ids(blocks: &[Neighbour<'_>], first_part: &[usize], groups: &mut Groups) {
    let mut first_of_id: FxHashMap<FeatureId, u32> = FxHashMap::default();
    for (Neighbour { block, .. }, &first) in blocks.iter().zip(first_part) {
        for (feature, &part) in block.source.features.iter().zip(&block.parts) {
            let part = first as u32 + part;
            let known = *first_of_id.entry(feature.id).or_insert(part);
            groups.union(known, part);
        }
    }
}

fn join_nameless(blocks: &[Neighbour<'_>], first_part: &[usize], groups: &mut Groups) {
    let mut owned = Vec::new();
    for (neighbour, &first) in blocks.iter().zip(first_part) {
        let block = neighbour.block;
        let nameless = block.source.features.iter().zip(&block.parts);
        let nameless = nameless.filter(|(feature, _)| matches!(feature.id, FeatureId::Place { .. }));
        let parts = nameless.map(|(feature, &part)| (first + part as usize, feature));
        owned.extend(owned_polygons(parts, neighbour.corner()));
    }
    join_touching(&owned, groups);
}

fn describe(blocks: &[Neighbour<'_>], of_part: &[Vec<u32>], n_buildings: usize) -> Vec<Building> {
    let nothing =
        |key| Building { key, height_m: 0.0, bounds: Bounds::NONE, upper_bounds: Bounds::NONE, grain: [0; 2] };
    let mut buildings: Vec<Option<Building>> = vec![None; n_buildings];
    let features = || {
        blocks.iter().zip(of_part).flat_map(|(neighbour, of_part)| {
            let features = neighbour.block.source.features.iter().zip(&neighbour.block.parts);
            features.map(|(feature, &part)| (neighbour.corner(), feature, of_part[part as usize] as usize))
        })
    };
    for (corner, feature, idx) in features() {
        let building = buildings[idx].get_or_insert_with(|| nothing(feature.id));
        building.key = building.key.min(feature.id);
        building.height_m = building.height_m.max(feature.height.metres);
        points(feature, corner).for_each(|point| building.bounds.add(point));
        add_grain(feature, &mut building.grain);
    }
    let mut buildings: Vec<Building> = buildings.into_iter().flatten().collect();
    for (corner, feature, idx) in features() {
        let building = &mut buildings[idx];
        if feature.height.metres * 2.0 > building.height_m {
            points(feature, corner).for_each(|point| building.upper_bounds.add(point));
        }
    }
    buildings
}

fn points(feature: &Feature, corner: [i64; 2]) -> impl Iterator<Item = [i64; 2]> {
    let points = feature.polygons.iter().flat_map(|polygon| polygon.rings.iter().flatten());
    points.map(move |point| [corner[0] + i64::from(point[0]), corner[1] + i64::from(point[1])])
}

/// Adds the walls of a feature. Squaring a complex number doubles its angle: whole numbers, exact in any order.
fn add_grain(feature: &Feature, grain: &mut [i128; 2]) {
    // Beyond this a wall is no wall, and its fourth power no small number.
    const WALL_UNITS_MAX: i64 = 16 * SOURCE_EXTENT;
    // Outside the tile run the edges at which copies are clipped; the copy in the neighbour has the true ones.
    let outside = |value: i32| i64::from(value) < 0 || i64::from(value) > SOURCE_EXTENT;
    let square = |[re, im]: [i128; 2]| [re * re - im * im, 2 * re * im];
    for (a, b) in feature.polygons.iter().flat_map(Polygon::edges) {
        let wall = [i64::from(b[0]) - i64::from(a[0]), i64::from(b[1]) - i64::from(a[1])];
        let clipped = (0..2).any(|axis| outside(a[axis]) && outside(b[axis]));
        if clipped || wall.iter().any(|delta| delta.abs() > WALL_UNITS_MAX) {
            continue;
        }
        let turned = square(square(wall.map(i128::from)));
        grain.iter_mut().zip(turned).for_each(|(sum, part)| *sum = sum.saturating_add(part));
    }
}

#[cfg(test)]
#[path = "buildings_tests.rs"]
mod tests;
