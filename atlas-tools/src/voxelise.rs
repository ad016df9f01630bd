//! The plan of a tile to its regions: which voxels there are, and their tints.
//!
//! Receives [`Columns`], the looks of the buildings, what the ground looks like and the [`Scatter`] of what has surfaces
//! of its own, yields one [`Region`] a layer. Only what can be seen is painted with care: the inside of the ground and
//! of a building is one ink each, which compresses to nothing. It knows no files.

use std::ops::Range;

use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::{Colour, ColourDepth, Occupancy, Region};

use crate::columns::{Columns, Span, voxels};
use crate::footings::Footing;
use crate::look::{self, Ground, Ink, PALETTE, RoofPoint, Style, Tint, WallPoint};
use crate::scatter::{Dot, NO_FEATURE, Scatter, find, is_own};
use crate::spaces::Spaces;

/// World y of the floor of layer 0, in voxels above the datum: a flat ground's top face is at y = 32 of layer 0, a
/// height that zoom 17 to 12 share.
pub const BASE: i32 = -32;

/// The layers that a tile may have: 16 km down and up from the datum even in the far north.
pub const LAYERS: Range<i32> = -64..64;

/// A building as the painter sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Painted {
    /// Its look.
    pub style: Style,
    /// A column of the tile from which its walls are measured, the same from every tile: x and z in voxels.
    pub origin: [i64; 2],
    /// The cosine and sine of the direction of its walls.
    pub axes: [f64; 2],
}

/// What the painter is told of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// The colour of its walls, where the source tells it.
    pub wall: Option<Colour>,
    /// The colour of its roof, where the source tells it.
    pub roof: Option<Colour>,
    /// On what it stands.
    pub footing: Footing,
}

/// What is built where.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The plan.
    pub columns: &'a Columns,
    /// The buildings that the plan names.
    pub buildings: &'a [Painted],
    /// The features that the plan names.
    pub features: &'a [Told],
    /// The tint of the ground's surface where the sources tell it, by column x + 256 z; empty where none tells any.
    pub cover: &'a [Option<Tint>],
    /// The colour of the ground and of the roofs as an image from above has it, by column x + 256 z; empty where there is
    /// none. It shows in place of looks that were made up and of covers, not of colours that a feature has of its own.
    pub ortho: &'a [Option<Colour>],
    /// Voxels beside those of the plan.
    pub scatter: &'a Scatter,
    /// Edge of a voxel, in metres.
    pub voxel_m: f64,
    /// Whether the ground is made of voxels.
    pub has_ground: bool,
}

/// Voxels of drop that make a wall rather than a step in a roof.
const STEP: i32 = 2;

/// Distance within which another building makes a party wall, in voxels.
const PARTY: i32 = 2;

/// What is worth knowing of a column before its voxels are painted.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is seen on its own")]
struct Facing {
    /// The lowest of the four columns beside it: above that it shows.
    low: i32,
    /// Along the wall, in metres.
    along_m: f64,
    /// In the building's axes, in metres.
    place_m: [f64; 2],
    is_corner: bool,
    is_rim: bool,
    is_level: bool,
    /// One of the columns beside it is open ground.
    meets_ground: bool,
    /// The top of a close building that it faces.
    party_top: i32,
}

/// The ground's surface in a column.
#[derive(Debug, Clone, Copy)]
struct Surface {
    tint: Tint,
    /// The lowest ground beside it: above that its side shows.
    low: i32,
}

/// Makes the regions of a scene, one at a time: a region is a few MiB.
#[derive(Debug)]
pub struct Voxeliser<'a> {
    scene: Scene<'a>,
    /// By column of the tile, x + 256 * z.
    facings: Vec<Option<Facing>>,
    surfaces: Vec<Surface>,
    /// y of the floor of the ground, in voxels above the datum.
    floor: i32,
    layers: Range<i32>,
}

const EDGE: i32 = REGION_VOXELS as i32;

/// The layer that holds a voxel of that height above the datum.
pub fn layer_of(y: i32) -> i32 {
    (y - BASE).div_euclid(EDGE)
}

/// The heights of a layer's voxels above the datum.
pub fn layer_range(layer: i32) -> Range<i32> {
    let floor = BASE + layer * EDGE;
    floor..floor + EDGE
}

impl<'a> Voxeliser<'a> {
    /// Looks at a scene. What lies outside of [`LAYERS`] must have been clipped.
    pub fn new(scene: Scene<'a>) -> Self {
        let spaces = Spaces::new(scene.columns);
        let cells = || (0..EDGE).flat_map(|z| (0..EDGE).map(move |x| (x, z)));
        let surfaces = cells().map(|(x, z)| {
            let column = (x + EDGE * z) as usize;
            let seen = scene.ortho.get(column).copied().flatten().map(Tint::Colour);
            let known = seen.or_else(|| scene.cover.get(column).copied().flatten());
            let tint = known.unwrap_or_else(|| Tint::Ink(look::ground(spaces.at(x, z))));
            let beside = [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(dx, dz)| scene.columns.ground(x + dx, z + dz));
            Surface { tint, low: beside.into_iter().flatten().min().unwrap_or(i32::MIN) }
        });
        let facings = cells().map(|(x, z)| Some(facing(&scene, x, z, scene.columns.building(x, z)?)));
        // The ground is solid down to the floor of the lowest layer that its surface reaches.
        let ground_min = scene.columns.ground_min().filter(|_| scene.has_ground);
        let floor = ground_min.map(|y| layer_range(layer_of(y - 1)).start);
        let layers = layers(&scene, floor);
        Self {
            scene,
            facings: facings.collect(),
            surfaces: surfaces.collect(),
            floor: floor.unwrap_or(i32::MAX),
            layers,
        }
    }

    /// The layers from the lowest to the highest that holds a voxel; some between them may hold none.
    pub fn layers(&self) -> Range<i32> {
        self.layers.clone()
    }

    /// The region of a layer.
    pub fn region(&self, layer: i32) -> Region {
        let range = layer_range(layer);
        let dots = self.scene.scatter.between(range.clone());
        let mut occupancy = Occupancy::empty();
        for z in 0..EDGE {
            for x in 0..EDGE {
                let (word, bit) = (x as usize / 64, 1 << (x % 64));
                self.column(x, z, |bottom, top, _| {
                    for y in bottom.max(range.start)..top.min(range.end) {
                        occupancy.row_mut((y - range.start) as u32, z as u32)[word] |= bit;
                    }
                });
            }
        }
        for dot in dots.iter().filter(|dot| is_own(dot)) {
            let x = dot.x as usize;
            occupancy.row_mut((dot.y - range.start) as u32, dot.z as u32)[x / 64] |= 1 << (x % 64);
        }
        let tint = |x: u32, y: u32, z: u32| self.tint(dots, x as i32, range.start + y as i32, z as i32);
        let is_inked = self.scene.ortho.iter().all(Option::is_none)
            && dots.iter().all(|dot| matches!(dot.tint, Tint::Ink(_)))
            && self.scene.cover.iter().flatten().all(|tint| matches!(tint, Tint::Ink(_)))
            && self.scene.features.iter().all(|told| told.wall.is_none() && told.roof.is_none());
        if is_inked {
            return Region::paint(occupancy, ColourDepth::Indexed(PALETTE.to_vec()), |x, y, z| match tint(x, y, z) {
                Tint::Ink(ink) => u32::from(ink.0),
                Tint::Colour(_) => 0,
            });
        }
        Region::paint(occupancy, ColourDepth::Direct, |x, y, z| {
            let [r, g, b] = tint(x, y, z).colour();
            u32::from_le_bytes([r, g, b, 0])
        })
    }

    /// The voxels of the plan in a column of the tile or of the one round it: bottom and top of each piece and whether
    /// it is ground, in no order.
    pub fn column(&self, x: i32, z: i32, mut piece: impl FnMut(i32, i32, bool)) {
        if self.scene.has_ground
            && let Some(ground) = self.scene.columns.ground(x, z)
        {
            piece(self.floor, ground, true);
        }
        self.scene.columns.spans(x, z).for_each(|span| piece(span.bottom, span.top, false));
    }

    /// The feature to which an occupied voxel belongs: of the plan's features, or of the scatter's.
    pub fn feature(&self, layer: i32, [x, y, z]: [u32; 3]) -> Owner {
        let range = layer_range(layer);
        let [x, y, z] = [x as i32, range.start + y as i32, z as i32];
        if let Some(dot) = find(self.scene.scatter.between(range), [x, y, z]) {
            return if dot.feature == NO_FEATURE { Owner::Nobody } else { Owner::Scatter(dot.feature) };
        }
        self.span_at(x, y, z).map_or(Owner::Nobody, |span| Owner::Plan(span.feature))
    }

    fn span_at(&self, x: i32, y: i32, z: i32) -> Option<Span> {
        self.scene.columns.spans(x, z).find(|span| (span.bottom..span.top).contains(&y))
    }

    /// The tint of an occupied voxel, y above the datum.
    fn tint(&self, dots: &[Dot], x: i32, y: i32, z: i32) -> Tint {
        let column = (x + EDGE * z) as usize;
        let tint = match find(dots, [x, y, z]) {
            Some(dot) => dot.tint,
            None => match self.span_at(x, y, z) {
                Some(span) => self.building_tint(span, column, y),
                None => self.ground_tint(x, y, z, column),
            },
        };
        match (tint, self.scene.ortho.get(column)) {
            (Tint::Ink(ink), Some(Some(seen))) if ink.is_roof() => Tint::Colour(*seen),
            _ => tint,
        }
    }

    fn ground_tint(&self, x: i32, y: i32, z: i32, column: usize) -> Tint {
        let surface = self.surfaces[column];
        let ground = self.scene.columns.ground(x, z).unwrap_or(i32::MAX);
        let is_open = self.scene.columns.spans(x, z).all(|span| span.bottom > ground);
        if is_open && (y + 1 == ground || y >= surface.low) {
            surface.tint
        } else {
            Tint::Ink(Ink::ground(Ground::Earth))
        }
    }

    fn building_tint(&self, span: Span, column: usize, y: i32) -> Tint {
        let painted = &self.scene.buildings[span.building as usize];
        let told = self.scene.features[span.feature as usize];
        let Some(facing) = self.facings[column] else { return Tint::Ink(painted.style.inside()) };
        let foot = match told.footing {
            Footing::At(foot_m) => voxels(foot_m, self.scene.voxel_m),
            Footing::Follows => span.bottom,
        };
        let metres = |y: f64| (y - f64::from(foot)) * self.scene.voxel_m;
        let height_m = metres(f64::from(y) + 0.5);
        if y + 1 == span.top {
            let point =
                RoofPoint { place_m: facing.place_m, height_m, is_rim: facing.is_rim, is_level: facing.is_level };
            return told.roof.map_or_else(|| Tint::Ink(painted.style.roof(&point)), Tint::Colour);
        }
        if y < facing.low {
            return told.wall.map_or(Tint::Ink(painted.style.inside()), Tint::Colour);
        }
        painted.style.wall_tint(
            &WallPoint {
                height_m,
                top_m: metres(f64::from(span.top)),
                along_m: facing.along_m,
                is_corner: facing.is_corner,
                is_party: y < facing.party_top,
                meets_ground: facing.meets_ground,
            },
            told.wall,
        )
    }
}

/// To what a voxel belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The ground, or nothing that has a name.
    Nobody,
    /// A feature of the plan, as [`Span::feature`] numbers it.
    Plan(u32),
    /// A feature of the scatter, as [`Dot::feature`] numbers it.
    Scatter(u32),
}

/// The layers of a scene whose ground goes down to `floor`.
fn layers(scene: &Scene<'_>, floor: Option<i32>) -> Range<i32> {
    let plan = scene.columns.y_range().filter(|_| scene.has_ground || scene.columns.has_buildings());
    let ranges = [plan, scene.scatter.y_range(), floor.map(|floor| floor..floor + 1)];
    let ranges = || ranges.iter().flatten();
    match (ranges().map(|range| range.start).min(), ranges().map(|range| range.end).max()) {
        // What ends at the floor of a layer has no voxel in it.
        (Some(low), Some(high)) if low < high => layer_of(low)..layer_of(high - 1) + 1,
        _ => 0..0,
    }
}

fn facing(scene: &Scene<'_>, x: i32, z: i32, building: usize) -> Facing {
    let columns = scene.columns;
    let top = columns.top(x, z);
    let beside = |dx: i32, dz: i32| columns.top(x + dx, z + dz);
    let around = [(-1, 0), (1, 0), (0, -1), (0, 1)];
    let low = around.into_iter().map(|(dx, dz)| beside(dx, dz)).min().unwrap_or(top);
    let meets_ground = around.into_iter().any(|(dx, dz)| columns.building(x + dx, z + dz).is_none());
    let Painted { origin, axes: [cos, sin], .. } = scene.buildings[building];
    let [dx, dz] =
        [(i64::from(x) - origin[0]) as f64 * scene.voxel_m, (i64::from(z) - origin[1]) as f64 * scene.voxel_m];
    let place_m = [dx * cos + dz * sin, dz * cos - dx * sin];
    let mut facing = Facing {
        low,
        along_m: 0.0,
        place_m,
        is_corner: false,
        is_rim: false,
        is_level: true,
        meets_ground,
        party_top: i32::MIN,
    };
    // Which way out: the sum of the steps to clearly lower columns around.
    let mut out = [0.0; 2];
    for dz in -2..=2 {
        for dx in -2..=2 {
            let other = beside(dx, dz);
            facing.is_level &= other == top;
            if other + STEP <= top {
                out[0] += f64::from(dx);
                out[1] += f64::from(dz);
                facing.is_rim |= dx.abs() <= 1 && dz.abs() <= 1;
            }
        }
    }
    let [across, along] = [out[0] * cos + out[1] * sin, out[1] * cos - out[0] * sin];
    let (strong, weak) = (across.abs().max(along.abs()), across.abs().min(along.abs()));
    facing.along_m = if across.abs() >= along.abs() { place_m[1] } else { place_m[0] };
    facing.is_corner = weak > 0.6 * strong;
    if strong > 0.0 && low < top {
        facing.party_top = party_top(columns, [x, z], out, building);
    }
    facing
}

/// The top of the highest other building that a wall faces from close by.
fn party_top(columns: &Columns, [x, z]: [i32; 2], out: [f64; 2], building: usize) -> i32 {
    let longest = out[0].abs().max(out[1].abs());
    let step = |axis: usize, n: i32| (out[axis] / longest * f64::from(n)).round() as i32;
    (1..=PARTY)
        .map(|n| (x + step(0, n), z + step(1, n)))
        .filter(|&(x, z)| columns.building(x, z).is_some_and(|other| other != building))
        .map(|(x, z)| columns.top(x, z))
        .max()
        .unwrap_or(i32::MIN)
}

#[cfg(test)]
#[path = "voxelise_tests.rs"]
mod tests;
