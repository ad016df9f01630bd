//! Which feature of the source each occupied voxel belongs to.
//!
//! Owns [`FeatureIds`]: for each brick runs over its occupied voxels, each a length and a feature. A feature is a number,
//! the place of an object in the tile's attributes file, which this module does not know: it yields numbers, and what they
//! stand for is read elsewhere. How the runs lie in the file is told by `ids_chunk`.
//!
//! Bricks stand in Morton order. Within a brick the voxels are taken column by column, upwards, the columns in Morton
//! order of (x, z): what stands in a city stands upright. Over two dense tiles, made up from Tokyo's footprints, this order
//! makes 1,500 runs and 2.2 KB a region; Morton order of the voxels makes 4,000 and 3.2 KB, rows along x 14,000 and 3.1 KB,
//! and blocks row by row in place of Morton order of the bricks cost 7 % more. Real files round Tokyo Tower hold 8.8 KB, a
//! twentieth of each.

use crate::atlas::morton::{morton_from_voxel, texel_from_morton, voxel_from_morton};
use crate::limits::{BRICK_VOXELS, N_BRICKS};
use crate::voxel::Occupancy;

/// Marks a run of voxels that belong to no feature.
const NO_FEATURE: u32 = u32::MAX;

/// The features of a region's occupied voxels.
///
/// ```
/// use voxatlas::atlas::FeatureIds;
/// use voxatlas::voxel::Occupancy;
///
/// let mut occupancy = Occupancy::empty();
/// for x in 0..20 {
///     occupancy.set(x, 32, 7, true);
/// }
/// // Feature 3 is a house on the first twelve voxels, the others are ground.
/// let ids = FeatureIds::of(&occupancy, |x, _, _| (x < 12).then_some(3));
/// assert_eq!(ids.feature_at(&occupancy, [11, 32, 7]), Some(3));
/// assert_eq!(ids.feature_at(&occupancy, [12, 32, 7]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureIds {
    /// Where the runs of each brick begin, by its Morton code, and where the last one ends: `N_BRICKS` + 1, ascending.
    first_runs: Vec<u32>,
    /// The voxels of each run: 1..=4096, those of a brick no more together.
    lengths: Vec<u16>,
    /// The feature of each run, or [`NO_FEATURE`]; neighbours within a brick differ.
    features: Vec<u32>,
}

impl FeatureIds {
    /// Asks for the feature of each occupied voxel once: region-local coordinates, brick by brick.
    ///
    /// # Panics
    ///
    /// A feature is `u32::MAX`, which stands for none.
    pub fn of(occupancy: &Occupancy, mut feature_of: impl FnMut(u32, u32, u32) -> Option<u32>) -> Self {
        let (mut n_runs_of_bricks, mut lengths, mut features) = (Vec::with_capacity(N_BRICKS), Vec::new(), Vec::new());
        for m in 0..N_BRICKS {
            let brick = voxel_from_morton(m as u32);
            let first_run = lengths.len();
            let rows = occupancy.brick_rows(brick[0], brick[1], brick[2]);
            for place in occupied_in_order(&rows) {
                let [x, y, z] = std::array::from_fn(|axis| brick[axis] * BRICK_VOXELS + place[axis]);
                let feature = feature_of(x, y, z);
                assert!(feature != Some(NO_FEATURE), "feature {NO_FEATURE} at ({x}, {y}, {z})");
                let feature = feature.unwrap_or(NO_FEATURE);
                match lengths.last_mut() {
                    Some(length) if features.len() > first_run && features.last() == Some(&feature) => *length += 1,
                    _ => {
                        lengths.push(1);
                        features.push(feature);
                    }
                }
            }
            n_runs_of_bricks.push(lengths.len() - first_run);
        }
        Self::from_runs(&n_runs_of_bricks, lengths, features)
    }

    /// The feature of an occupied voxel; `None` for air, and for what belongs to no feature.
    ///
    /// Walks one brick. With an occupancy other than that which the runs were made for, the answer is that of another
    /// voxel of the brick, or `None`.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn feature_at(&self, occupancy: &Occupancy, [x, y, z]: [u32; 3]) -> Option<u32> {
        if !occupancy.get(x, y, z) {
            return None;
        }
        let [bx, by, bz] = [x, y, z].map(|voxel| voxel / BRICK_VOXELS);
        let rows = occupancy.brick_rows(bx, by, bz);
        let place = [x, y, z].map(|voxel| voxel % BRICK_VOXELS);
        let n_before = occupied_in_order(&rows).take_while(|&other| other != place).count();
        let mut end = 0;
        let (_, feature) = self.runs(morton_from_voxel(bx, by, bz) as usize).find(|&(length, _)| {
            end += usize::from(length);
            end > n_before
        })?;
        (feature != NO_FEATURE).then_some(feature)
    }

    /// One more than the highest feature: how many the attributes file has at least.
    pub fn n_features(&self) -> u32 {
        self.features.iter().filter(|&&feature| feature != NO_FEATURE).max().map_or(0, |feature| feature + 1)
    }

    /// Occupied voxels that belong to a feature.
    pub fn n_voxels_of_features(&self) -> u64 {
        let runs = self.lengths.iter().zip(&self.features);
        runs.filter(|&(_, &feature)| feature != NO_FEATURE).map(|(&length, _)| u64::from(length)).sum()
    }

    /// Runs of voxels.
    pub fn n_runs(&self) -> usize {
        self.lengths.len()
    }

    /// Whether every brick has as many voxels as in an occupancy; what speaks against it, in words.
    pub(crate) fn check(&self, occupancy: &Occupancy) -> Result<(), String> {
        (0..N_BRICKS).try_for_each(|m| {
            let [bx, by, bz] = voxel_from_morton(m as u32);
            let occupied: u32 = occupancy.brick_rows(bx, by, bz).iter().map(|row| row.count_ones()).sum();
            let covered: u32 = self.runs(m).map(|(length, _)| u32::from(length)).sum();
            if covered == occupied {
                return Ok(());
            }
            Err(format!("brick ({bx}, {by}, {bz}) has {covered} voxels, {occupied} by the pixels"))
        })
    }

    /// Puts the runs of all bricks together: how many each has, and of each run its voxels and its feature.
    pub(crate) fn from_runs(n_runs_of_bricks: &[usize], lengths: Vec<u16>, features: Vec<u32>) -> Self {
        debug_assert!(n_runs_of_bricks.len() == N_BRICKS && lengths.len() == features.len());
        let mut first_runs = vec![0];
        let ends = n_runs_of_bricks.iter().scan(0, |end, &n_runs| {
            *end += n_runs as u32;
            Some(*end)
        });
        first_runs.extend(ends);
        Self { first_runs, lengths, features }
    }

    /// The runs of the brick of a Morton code: voxels and feature.
    pub(crate) fn runs(&self, m: usize) -> impl Iterator<Item = (u16, u32)> {
        let runs = self.first_runs[m] as usize..self.first_runs[m + 1] as usize;
        self.lengths[runs.clone()].iter().copied().zip(self.features[runs].iter().copied())
    }
}

/// The occupied voxels of a brick, in the order of the runs: local coordinates, 0..16.
fn occupied_in_order(rows: &[u16; 256]) -> impl Iterator<Item = [u32; 3]> {
    let places = (0..BRICK_VOXELS.pow(2)).flat_map(|column| {
        let [x, z] = texel_from_morton(column);
        (0..BRICK_VOXELS).map(move |y| [x, y, z])
    });
    places.filter(|&[x, y, z]| rows[(y + BRICK_VOXELS * z) as usize] >> x & 1 == 1)
}
