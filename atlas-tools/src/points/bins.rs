//! The points of one tile, joined by voxel.

use rustc_hash::FxHashMap;
use voxatlas::voxel::Colour;

use super::TilePoint;

/// Points of a tile by voxel: sums in whole numbers, so that their order does not matter.
#[derive(Debug, Default)]
pub struct PointBins {
    /// By x, z and y, packed: see [`key`].
    sums: FxHashMap<u64, Sums>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    rgb: [u64; 3],
    n_points: u32,
    n_ground: u32,
}

/// A voxel that points lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinnedVoxel {
    /// Its column of the tile, -1..=256.
    pub x: i16,
    /// Its row of the tile, -1..=256.
    pub z: i16,
    /// Voxels above the datum.
    pub y: i32,
    /// The mean colour of its points.
    pub colour: Colour,
    /// How many points lie in it.
    pub n_points: u32,
    /// How many of them are known to lie on the ground.
    pub n_ground: u32,
}

impl PointBins {
    /// Counts a point.
    pub fn add(&mut self, point: TilePoint) {
        let sums = self.sums.entry(key(point)).or_default();
        for (sum, channel) in sums.rgb.iter_mut().zip(point.colour) {
            *sum += u64::from(channel);
        }
        sums.n_points = sums.n_points.saturating_add(1);
        sums.n_ground = sums.n_ground.saturating_add(u32::from(point.is_ground));
    }

    /// Whether there was no point.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The voxels that points lie in, sorted by z, then x, then upwards.
    pub fn voxels(&self) -> Vec<BinnedVoxel> {
        let voxel = |(&key, sums): (&u64, &Sums)| {
            let n = u64::from(sums.n_points);
            BinnedVoxel {
                x: (key >> 32 & 0xFFFF) as i16 - 1,
                z: (key >> 48) as i16 - 1,
                y: unflipped(key as u32),
                colour: sums.rgb.map(|sum| ((sum + n / 2) / n).min(255) as u8),
                n_points: sums.n_points,
                n_ground: sums.n_ground,
            }
        };
        let mut voxels: Vec<_> = self.sums.iter().map(voxel).collect();
        voxels.sort_unstable_by_key(|voxel| (voxel.z, voxel.x, voxel.y));
        voxels
    }
}

/// A voxel as a number: z + 1, x + 1, then y with its sign turned, so that the order is that of the voxels.
fn key(point: TilePoint) -> u64 {
    let y = (point.y_256 >> 8).cast_unsigned() ^ 1 << 31;
    let from_apron = |along: i16| u64::from((along + 1) as u16);
    from_apron(point.z) << 48 | from_apron(point.x) << 32 | u64::from(y)
}

fn unflipped(y: u32) -> i32 {
    (y ^ 1 << 31).cast_signed()
}
