//! The plan of a zoom 17 tile: how high every column of voxels stands, and to which building it belongs.
//!
//! Receives a neighbourhood of source tiles, yields [`Columns`]: 256 x 256 columns and an apron round them, so that
//! what is decided at a border knows both sides. Each column takes its height from the clipped copies of its own source
//! tile alone, apron included: both tiles at a border see the same city. It knows no colours.
//!
//! ```text
//!   0         APRON                   APRON + 256       SIDE
//!   |  apron  |  column (0, 0) ...    |     apron       |      x east, z south
//! ```

use voxatlas::geo::TileCoord;
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use crate::buildings::Neighbourhood;
use crate::input::{Feature, SOURCE_EXTENT};
use crate::raster::{Raster, Window, columns};

/// Columns round the tile that are known too: what decides whether ground is a street or open land (see
/// [`crate::ground`]) lies no farther away.
pub const APRON: usize = 68;

/// Columns along an edge, aprons included.
pub const SIDE: usize = REGION_VOXELS as usize + 2 * APRON;

/// Marks a column of open ground.
const NO_BUILDING: u32 = u32::MAX;

/// The plan of a tile and its apron.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Voxels above the ground's surface, 0 where the ground is open; index x + SIDE * z.
    tops: Vec<u32>,
    /// An index into the buildings, or [`NO_BUILDING`].
    buildings: Vec<u32>,
}

impl Columns {
    /// Open ground.
    pub fn open() -> Self {
        let n = SIDE * SIDE;
        Self { tops: vec![0; n], buildings: vec![NO_BUILDING; n] }
    }

    /// Voxels above the ground's surface at a column, 0 where the ground is open; coordinates -68..324 from the tile's
    /// north-west corner.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn top(&self, x: i32, z: i32) -> u32 {
        self.tops[idx(x, z)]
    }

    /// The building at a column, if there is one.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn building(&self, x: i32, z: i32) -> Option<usize> {
        let building = self.buildings[idx(x, z)];
        (building != NO_BUILDING).then_some(building as usize)
    }

    /// Builds on a column.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn build(&mut self, x: i32, z: i32, top: u32, building: usize) {
        self.tops[idx(x, z)] = top;
        self.buildings[idx(x, z)] = building as u32;
    }

    /// Cuts the tile's own columns down to `top_max` voxels; how many voxels that took away.
    pub fn clip(&mut self, top_max: u32) -> u64 {
        let edge = REGION_VOXELS as i32;
        let mut clipped = 0;
        for (x, z) in (0..edge).flat_map(|z| (0..edge).map(move |x| (x, z))) {
            clipped += u64::from(self.top(x, z).saturating_sub(top_max));
        }
        self.tops.iter_mut().for_each(|top| *top = (*top).min(top_max));
        clipped
    }

    /// The highest of the tile's own columns, in voxels above the ground's surface.
    pub fn top_max(&self) -> u32 {
        let edge = REGION_VOXELS as i32;
        (0..edge).flat_map(|z| (0..edge).map(move |x| (x, z))).map(|(x, z)| self.top(x, z)).max().unwrap_or(0)
    }

    /// Rasterises the buildings of a neighbourhood whose middle holds `tile`, a zoom 17 tile.
    ///
    /// Where features overlap the highest counts, of equally high ones that of the building with the lowest key: the
    /// order of the input does not matter.
    pub fn rasterise(tile: TileCoord, middle: TileCoord, neighbourhood: &Neighbourhood<'_>) -> Self {
        let voxel_m = tile.metres_per_voxel();
        let window = window_of(tile, middle);
        let mut plan = Self::open();
        let mut raster = Raster::default();
        for (block_idx, neighbour) in neighbourhood.blocks.iter().enumerate() {
            let [x0, z0] = neighbour.corner();
            // The columns whose source tile this is.
            let columns_of = |low: i64, origin: i64| {
                let from = (low - origin) / window.voxel_units;
                let to = (low + SOURCE_EXTENT - origin) / window.voxel_units;
                (from.clamp(0, SIDE as i64) as usize)..(to.clamp(0, SIDE as i64) as usize)
            };
            let (xs, zs) = (columns_of(x0, window.west), columns_of(z0, window.north));
            if xs.is_empty() || zs.is_empty() {
                continue;
            }
            let mut part = window.part(xs.clone(), zs.clone());
            part.west -= x0;
            part.north -= z0;
            for (feature_idx, feature) in neighbour.block.source.features.iter().enumerate() {
                if !reaches(feature, &part) {
                    continue;
                }
                let building = neighbourhood.building_of(block_idx, feature_idx);
                let top = height_voxels(feature.height.metres, voxel_m);
                let key = |building: u32| neighbourhood.buildings[building as usize].key;
                for polygon in &feature.polygons {
                    raster.fill(polygon, &part, |z, mask| {
                        columns(mask, |x| {
                            let at = (xs.start + x) + SIDE * (zs.start + z);
                            let (old_top, old) = (plan.tops[at], plan.buildings[at]);
                            if top > old_top || (top == old_top && old != building && key(building) < key(old)) {
                                plan.tops[at] = top;
                                plan.buildings[at] = building;
                            }
                        });
                    });
                }
            }
        }
        plan
    }
}

fn idx(x: i32, z: i32) -> usize {
    let (x, z) = ((x + APRON as i32) as usize, (z + APRON as i32) as usize);
    assert!(x < SIDE && z < SIDE, "column outside the apron");
    x + SIDE * z
}

/// The window of a tile and its apron, in the frame of the source tile that holds it.
fn window_of(tile: TileCoord, middle: TileCoord) -> Window {
    let zoom_step = ZOOM_FULL - middle.zoom();
    let tile_units = SOURCE_EXTENT >> zoom_step;
    let voxel_units = tile_units / i64::from(REGION_VOXELS);
    let within = |child: u32, parent: u32| i64::from(child) - (i64::from(parent) << zoom_step);
    Window {
        west: within(tile.x(), middle.x()) * tile_units - APRON as i64 * voxel_units,
        north: within(tile.y(), middle.y()) * tile_units - APRON as i64 * voxel_units,
        voxel_units,
        width: SIDE,
        height: SIDE,
    }
}

/// Whether the box round a feature meets the window.
fn reaches(feature: &Feature, window: &Window) -> bool {
    let points = || feature.polygons.iter().flat_map(|polygon| polygon.rings.iter().flatten());
    let meets = |axis: usize, from: i64, n: usize| {
        let values = || points().map(|point| i64::from(point[axis]));
        let to = from + n as i64 * window.voxel_units;
        values().min().is_some_and(|low| low < to) && values().max().is_some_and(|high| high > from)
    };
    meets(0, window.west, window.width) && meets(1, window.north, window.height)
}

/// A height in whole voxels, the nearest, at least one: what stands in the data stands in the city.
pub fn height_voxels(height_m: f64, voxel_m: f64) -> u32 {
    // The cast saturates.
    ((height_m / voxel_m).round() as u32).max(1)
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
