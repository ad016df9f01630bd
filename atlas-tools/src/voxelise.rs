//! The plan of a tile to its regions: which voxels there are, and their inks.
//!
//! Receives [`Columns`] and the looks of the buildings, yields one [`Region`] a layer. Only what can
//! be seen is painted with care: the inside of the ground and of a building is one ink each, which compresses to
//! nothing. It knows no files.

use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

use crate::columns::Columns;
use crate::ground::Spaces;
use crate::look::{self, Ground, Ink, PALETTE, RoofPoint, Style, WallPoint};

/// World y of the floor of layer 0, in voxels above the datum, where the source has no terrain.
pub const BASE: i32 = -32;

/// Local y of the lowest voxel above the ground in layer 0: the ground's top face is at world y = 0.
pub const GROUND_TOP: u32 = (-BASE) as u32;

/// Layers that buildings may reach: 2,016 voxels above the ground, more than any building even in the far north.
pub const N_LAYERS: u32 = 8;

/// Voxels above the ground that fit the layers.
pub const TOP_MAX: u32 = N_LAYERS * REGION_VOXELS - GROUND_TOP;

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

/// What is built where.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The plan.
    pub columns: &'a Columns,
    /// The buildings that the plan names.
    pub buildings: &'a [Painted],
    /// Edge of a voxel, in metres.
    pub voxel_m: f64,
    /// Whether there is ground below the surface.
    pub has_ground: bool,
}

/// Voxels of drop that make a wall rather than a step in a roof.
const STEP: u32 = 2;

/// Distance within which another building makes a party wall, in voxels.
const PARTY: i32 = 2;

/// What is worth knowing of a column before its voxels are painted.
#[derive(Debug, Clone, Copy)]
struct Facing {
    /// The lowest of the four columns beside it: above that it shows.
    low: u32,
    /// Along the wall, in metres.
    along_m: f64,
    /// In the building's axes, in metres.
    place_m: [f64; 2],
    is_corner: bool,
    is_rim: bool,
    is_level: bool,
    /// The top of a close building that it faces.
    party_top: u32,
}

/// Makes the regions of a scene, one at a time: a region is a few MiB.
#[derive(Debug)]
pub struct Voxeliser<'a> {
    scene: Scene<'a>,
    /// By column of the tile, x + 256 * z.
    facings: Vec<Option<Facing>>,
    ground: Vec<Ink>,
}

const EDGE: i32 = REGION_VOXELS as i32;

impl<'a> Voxeliser<'a> {
    /// Looks at a scene. Columns above [`TOP_MAX`] must have been clipped.
    pub fn new(scene: Scene<'a>) -> Self {
        let spaces = Spaces::new(scene.columns);
        let cells = || (0..EDGE).flat_map(|z| (0..EDGE).map(move |x| (x, z)));
        let ground = cells().map(|(x, z)| look::ground(spaces.at(x, z)));
        let facings = cells().map(|(x, z)| Some(facing(&scene, x, z, scene.columns.building(x, z)?)));
        Self { scene, facings: facings.collect(), ground: ground.collect() }
    }

    /// Layers that hold a voxel, from layer 0 up; 0 where there is nothing at all.
    pub fn n_layers(&self) -> u32 {
        match self.scene.columns.top_max() {
            0 if !self.scene.has_ground => 0,
            top_max => (GROUND_TOP + top_max).div_ceil(REGION_VOXELS),
        }
    }

    /// The region of a layer.
    pub fn region(&self, layer: u32) -> Region {
        let floor = layer * REGION_VOXELS;
        let mut occupancy = Occupancy::empty();
        for z in 0..REGION_VOXELS {
            for x in 0..REGION_VOXELS {
                let top = self.scene.columns.top(x as i32, z as i32);
                let from = if self.scene.has_ground { 0 } else { GROUND_TOP };
                let to = if top > 0 || self.scene.has_ground { GROUND_TOP + top } else { 0 };
                let local = |y: u32| y.saturating_sub(floor).min(REGION_VOXELS);
                for y in local(from)..local(to) {
                    occupancy.row_mut(y, z)[x as usize / 64] |= 1 << (x % 64);
                }
            }
        }
        Region::paint(occupancy, ColourDepth::Indexed(PALETTE.to_vec()), |x, y, z| {
            u32::from(self.ink(x, floor + y, z).0)
        })
    }

    /// The ink of an occupied voxel, y from the floor of layer 0.
    fn ink(&self, x: u32, y: u32, z: u32) -> Ink {
        let column = (x + REGION_VOXELS * z) as usize;
        let Some(y) = y.checked_sub(GROUND_TOP) else {
            let is_surface = y + 1 == GROUND_TOP && self.facings[column].is_none();
            return if is_surface { self.ground[column] } else { Ink::ground(Ground::Earth) };
        };
        let (Some(facing), Some(building)) = (self.facings[column], self.scene.columns.building(x as i32, z as i32))
        else {
            return Ink::ground(Ground::Earth);
        };
        let style = &self.scene.buildings[building].style;
        let top = self.scene.columns.top(x as i32, z as i32);
        let height_m = (f64::from(y) + 0.5) * self.scene.voxel_m;
        if y + 1 == top {
            return style.roof(&RoofPoint {
                place_m: facing.place_m,
                height_m,
                is_rim: facing.is_rim,
                is_level: facing.is_level,
            });
        }
        if y < facing.low {
            return style.inside();
        }
        style.wall(&WallPoint {
            height_m,
            top_m: f64::from(top) * self.scene.voxel_m,
            along_m: facing.along_m,
            is_corner: facing.is_corner,
            is_party: y < facing.party_top,
            meets_ground: facing.low == 0,
        })
    }
}

fn facing(scene: &Scene<'_>, x: i32, z: i32, building: usize) -> Facing {
    let columns = scene.columns;
    let top = columns.top(x, z);
    let beside = |dx: i32, dz: i32| columns.top(x + dx, z + dz);
    let low = beside(-1, 0).min(beside(1, 0)).min(beside(0, -1)).min(beside(0, 1));
    let Painted { origin, axes: [cos, sin], .. } = scene.buildings[building];
    let [dx, dz] =
        [(i64::from(x) - origin[0]) as f64 * scene.voxel_m, (i64::from(z) - origin[1]) as f64 * scene.voxel_m];
    let place_m = [dx * cos + dz * sin, dz * cos - dx * sin];
    let mut facing =
        Facing { low, along_m: 0.0, place_m, is_corner: false, is_rim: false, is_level: true, party_top: 0 };
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
fn party_top(columns: &Columns, [x, z]: [i32; 2], out: [f64; 2], building: usize) -> u32 {
    let longest = out[0].abs().max(out[1].abs());
    let step = |axis: usize, n: i32| (out[axis] / longest * f64::from(n)).round() as i32;
    (1..=PARTY)
        .map(|n| (x + step(0, n), z + step(1, n)))
        .filter(|&(x, z)| columns.building(x, z).is_some_and(|other| other != building))
        .map(|(x, z)| columns.top(x, z))
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "voxelise_tests.rs"]
mod tests;
