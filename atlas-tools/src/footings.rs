//! On which height each feature stands.
//!
//! Receives a neighbourhood of source tiles and the ground, yields a [`Footing`] a feature. A building's ground height
//! comes from its whole footprint, all clipped copies of it, never from the part in one tile: the lowest ground at its
//! corners, since heights are told from the lowest ground round a building. What is wider than a block, such as a
//! viaduct, follows the ground instead.

use rustc_hash::FxHashMap;
use voxatlas::geo::TileCoord;
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use crate::buildings::Neighbourhood;
use crate::ground::Ground;
use crate::input::{FeatureId, InputError, SOURCE_EXTENT};

/// The widest feature that stands level, in voxels.
const LEVEL_VOXELS_MAX: i64 = 2 * REGION_VOXELS as i64;

/// What a feature stands on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Footing {
    /// A level, in metres above the datum.
    At(f64),
    /// The ground under each of its columns.
    Follows,
}

/// The footings of a neighbourhood.
#[derive(Debug)]
pub struct Footings {
    by_id: FxHashMap<FeatureId, Footing>,
    other: Footing,
}

impl Footings {
    /// Finds the footings of all features of a neighbourhood whose middle is `source`.
    ///
    /// # Errors
    ///
    /// The terrain cannot be read.
    pub fn new(source: TileCoord, neighbourhood: &Neighbourhood<'_>, ground: &Ground) -> Result<Self, InputError> {
        let other = Footing::At(ground.fallback_m());
        let mut footings = Self { by_id: FxHashMap::default(), other };
        if ground.is_flat() {
            return Ok(footings);
        }
        let voxel_units = (SOURCE_EXTENT >> (ZOOM_FULL - source.zoom())) / i64::from(REGION_VOXELS);
        let origin = [source.x(), source.y()].map(|place| i64::from(place) * (SOURCE_EXTENT / voxel_units));
        // What is wider than a source tile may have copies in three of them, and no tile sees all of it.
        let width_max = (SOURCE_EXTENT / voxel_units).min(LEVEL_VOXELS_MAX);
        let mut whole: FxHashMap<FeatureId, Whole> = FxHashMap::default();
        for neighbour in &neighbourhood.blocks {
            let corner = neighbour.corner();
            for feature in &neighbour.block.source.features {
                let footprint = whole.entry(feature.id).or_insert_with(|| Whole::new(width_max));
                for point in feature.polygons.iter().flat_map(|polygon| polygon.rings.iter().flatten()) {
                    let column = [0, 1]
                        .map(|axis| origin[axis] + (corner[axis] + i64::from(point[axis])).div_euclid(voxel_units));
                    footprint.add(column, ground)?;
                }
            }
        }
        footings.by_id = whole.into_iter().map(|(id, footprint)| (id, footprint.footing(other))).collect();
        Ok(footings)
    }

    /// The footing of a feature.
    pub fn of(&self, id: FeatureId) -> Footing {
        self.by_id.get(&id).copied().unwrap_or(self.other)
    }
}

/// What is known of a whole footprint.
struct Whole {
    low: [i64; 2],
    high: [i64; 2],
    lowest_m: f64,
    /// The widest that stands level, in voxels.
    width_max: i64,
}

impl Whole {
    fn new(width_max: i64) -> Self {
        Self { low: [i64::MAX; 2], high: [i64::MIN; 2], lowest_m: f64::INFINITY, width_max }
    }

    fn add(&mut self, column: [i64; 2], ground: &Ground) -> Result<(), InputError> {
        for (axis, along) in column.into_iter().enumerate() {
            self.low[axis] = self.low[axis].min(along);
            self.high[axis] = self.high[axis].max(along);
        }
        // What is too wide to stand level need not look at the ground far away.
        if !self.is_wide()
            && let Some(height_m) = ground.height_m_at(column[0], column[1])?
        {
            self.lowest_m = self.lowest_m.min(height_m);
        }
        Ok(())
    }

    fn is_wide(&self) -> bool {
        (0..2).any(|axis| self.high[axis] - self.low[axis] > self.width_max)
    }

    fn footing(&self, other: Footing) -> Footing {
        match self.lowest_m {
            _ if self.is_wide() => Footing::Follows,
            height_m if height_m.is_finite() => Footing::At(height_m),
            _ => other,
        }
    }
}
