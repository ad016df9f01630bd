//! Where the ground is: one height for every column of voxels, from the best that is known.
//!
//! Receives what the inputs know of the ground, yields whole [`Surface`]s a tile. Three sources, the first that knows a
//! column counts:
//!
//! ```text
//!   terrain   elevation models and TINs                      sampled at the column's centre
//!   bases     undersides of models, low points of clouds     weighted by distance, none farther than 256 voxels
//!   flat      a height that someone chose                    everywhere, or nowhere: then there is no ground
//! ```
//!
//! What it yields for a column depends on what lies around that column alone, so tiles that are made apart fit. It knows
//! no buildings and no voxels' colours.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use voxatlas::geo::{TileCoord, tile_of_voxel};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use crate::input::InputError;
use crate::terrain::{GroundStack, HeightTile};

/// Columns along a tile's edge.
const EDGE: usize = REGION_VOXELS as usize;

/// How far a base reaches, in voxels.
const BASE_REACH: f64 = 256.0;

/// Distance between the places at which bases are weighed, in voxels: between them the ground is bilinear.
const LATTICE: i64 = 16;

/// Surfaces that are kept, 256 KiB each.
const SURFACES_MAX: usize = 256;

/// A place at which the ground is known, since something stands on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Base {
    /// East, in z17 voxels.
    pub x: f64,
    /// South, in z17 voxels.
    pub z: f64,
    /// Metres above the datum.
    pub height_m: f64,
}

/// The ground's surface in one tile.
#[derive(Debug, Clone)]
pub enum Surface {
    /// The same height everywhere, in metres above the datum.
    Flat(f64),
    /// There is no ground.
    Absent,
    /// Metres above the datum at the columns' centres, not a number where there is no ground.
    Heights(Arc<HeightTile>),
}

impl Surface {
    /// Metres above the datum at a column of the tile, 0..256 each; `None` where there is no ground.
    pub fn height_m(&self, x: usize, z: usize) -> Option<f64> {
        match self {
            Self::Flat(height_m) => Some(*height_m),
            Self::Absent => None,
            Self::Heights(heights) => heights.at(x, z).map(f64::from),
        }
    }
}

/// The ground of a run.
pub struct Ground {
    terrain: GroundStack,
    bases: Bases,
    flat_m: Option<f64>,
    surfaces: Mutex<Kept>,
}

impl Ground {
    /// Ground at one height, everywhere.
    pub fn flat(height_m: f64) -> Self {
        Self::new(GroundStack::new(Vec::new(), 0), Vec::new(), Some(height_m))
    }

    /// Ground from what is known; `flat_m` where nothing is, or no ground there.
    pub fn new(terrain: GroundStack, bases: Vec<Base>, flat_m: Option<f64>) -> Self {
        Self { terrain, bases: Bases::new(bases), flat_m, surfaces: Mutex::default() }
    }

    /// Whether it is the same height everywhere.
    pub fn is_flat(&self) -> bool {
        self.terrain.is_empty() && self.bases.by_cell.is_empty()
    }

    /// The height on which something stands where there is no ground, in metres above the datum.
    pub fn fallback_m(&self) -> f64 {
        self.flat_m.unwrap_or(0.0)
    }

    /// The surface of a zoom 17 tile.
    ///
    /// # Errors
    ///
    /// The terrain cannot be read there.
    pub fn surface(&self, tile: TileCoord) -> Result<Surface, InputError> {
        if self.is_flat() {
            return Ok(self.flat_m.map_or(Surface::Absent, Surface::Flat));
        }
        if let Some(surface) = self.kept().get(tile) {
            return Ok(surface);
        }
        let surface = self.make(tile)?;
        self.kept().put(tile, surface.clone());
        Ok(surface)
    }

    /// The height of the column at world x and z, in metres above the datum; x wraps. `None` where there is no ground.
    ///
    /// # Errors
    ///
    /// The terrain cannot be read there.
    pub fn height_m_at(&self, x: i64, z: i64) -> Result<Option<f64>, InputError> {
        let Some(tile) = tile_of_voxel(ZOOM_FULL, x, z) else { return Ok(None) };
        let within = |value: i64| value.rem_euclid(EDGE as i64) as usize;
        Ok(self.surface(tile)?.height_m(within(x), within(z)))
    }

    fn make(&self, tile: TileCoord) -> Result<Surface, InputError> {
        let known = self.terrain.tile(tile)?;
        let mut whole = match known.as_ref() {
            Some(heights) => heights.clone(),
            None => HeightTile::empty(),
        };
        if let Some(bases) = self.bases.surface(tile).filter(|_| !whole.is_whole()) {
            whole.fill_from(&bases);
        }
        Ok(match self.flat_m {
            Some(flat_m) if whole.is_empty() => Surface::Flat(flat_m),
            None if whole.is_empty() => Surface::Absent,
            Some(flat_m) if !whole.is_whole() => {
                whole.fill_from(&HeightTile::from_fn(|_, _| flat_m as f32));
                Surface::Heights(Arc::new(whole))
            }
            _ => Surface::Heights(Arc::new(whole)),
        })
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // What a panicking thread left is whole: entries are put at once.
        self.surfaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The surfaces that were asked for latest.
#[derive(Default)]
struct Kept {
    surfaces: FxHashMap<TileCoord, (u64, Surface)>,
    clock: u64,
}

impl Kept {
    fn get(&mut self, tile: TileCoord) -> Option<Surface> {
        self.clock += 1;
        let (used, surface) = self.surfaces.get_mut(&tile)?;
        *used = self.clock;
        Some(surface.clone())
    }

    fn put(&mut self, tile: TileCoord, surface: Surface) {
        if self.surfaces.len() >= SURFACES_MAX {
            let oldest = self.surfaces.iter().min_by_key(|(_, (used, _))| *used).map(|(&tile, _)| tile);
            oldest.and_then(|tile| self.surfaces.remove(&tile));
        }
        self.surfaces.insert(tile, (self.clock, surface));
    }
}

/// Bases by the cell of [`BASE_REACH`] voxels in which they lie.
#[derive(Debug, Default)]
struct Bases {
    by_cell: FxHashMap<[i64; 2], Vec<Base>>,
}

impl Bases {
    fn new(mut bases: Vec<Base>) -> Self {
        bases.retain(|base| base.x.is_finite() && base.z.is_finite() && base.height_m.is_finite());
        // Sums keep one order, whatever the order of the inputs.
        bases.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.z.total_cmp(&b.z)).then(a.height_m.total_cmp(&b.height_m)));
        let mut by_cell: FxHashMap<[i64; 2], Vec<Base>> = FxHashMap::default();
        for base in bases {
            by_cell.entry([base.x, base.z].map(cell)).or_default().push(base);
        }
        Self { by_cell }
    }

    /// Heights at a tile's columns, not a number where no base is near; `None` where none is near the tile.
    fn surface(&self, tile: TileCoord) -> Option<HeightTile> {
        let corner = [tile.x(), tile.y()].map(|place| i64::from(place) * EDGE as i64);
        let n = EDGE as i64 / LATTICE + 1;
        let nodes: Vec<f64> = (0..n * n)
            .map(|node| self.height_m([corner[0] + node % n * LATTICE, corner[1] + node / n * LATTICE]))
            .collect();
        if nodes.iter().all(|height| height.is_nan()) {
            return None;
        }
        Some(HeightTile::from_fn(|x, z| {
            let place = [x, z].map(|along| (along as f64 + 0.5) / LATTICE as f64);
            let [x, z] = place.map(|along| along as usize);
            let [u, v] = [place[0].fract(), place[1].fract()];
            let at = |dx: usize, dz: usize| nodes[x + dx + n as usize * (z + dz)];
            let corners = [
                (at(0, 0), (1.0 - u) * (1.0 - v)),
                (at(1, 0), u * (1.0 - v)),
                (at(0, 1), (1.0 - u) * v),
                (at(1, 1), u * v),
            ];
            let known = || corners.iter().filter(|(height, _)| !height.is_nan());
            let weight: f64 = known().map(|(_, weight)| weight).sum();
            (known().map(|(height, weight)| height * weight).sum::<f64>() / weight) as f32
        }))
    }

    /// The weighed height of the bases near a place: weights fall to zero where a base goes out of reach, so that the
    /// ground has no step there.
    fn height_m(&self, [x, z]: [i64; 2]) -> f64 {
        let [cell_x, cell_z] = [x as f64, z as f64].map(cell);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (dx, dz) in (-1..=1).flat_map(|dz| (-1..=1).map(move |dx| (dx, dz))) {
            for base in self.by_cell.get(&[cell_x + dx, cell_z + dz]).into_iter().flatten() {
                let square = (base.x - x as f64).powi(2) + (base.z - z as f64).powi(2);
                let weight = 1.0 / (square + 1.0) - 1.0 / (BASE_REACH * BASE_REACH + 1.0);
                if weight > 0.0 {
                    sum += weight * base.height_m;
                    weights += weight;
                }
            }
        }
        sum / weights
    }
}

fn cell(place: f64) -> i64 {
    (place / BASE_REACH).floor() as i64
}

#[cfg(test)]
#[path = "ground_tests.rs"]
mod tests;
