//! Where a model's origin lies: metres from the middle of its regions.

use voxatlas::geo::{LonLat, RegionKey, mercator};
use voxatlas::limits::REGION_VOXELS;

/// The frame of a model: its origin lies in the middle of the regions, at the height of the datum. One scale serves all of
/// it, that of its middle, so that no gap opens between rows of tiles, whose voxels differ by some millionths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    base: i32,
    /// World position of the origin, in z17 voxels, x and z.
    middle: [f64; 2],
    /// Metres of a z17 voxel.
    pub(super) voxel_m: f64,
}

impl Frame {
    pub(super) fn new(keys: &[RegionKey], base: i32) -> Self {
        let boxes = || keys.iter().map(|key| key.world_box(base));
        let middle = [0, 2].map(|axis| {
            let low = boxes().map(|room| room.min[axis]).min().unwrap_or(0);
            let high = boxes().map(|room| room.max[axis]).max().unwrap_or(0);
            (low + high) as f64 / 2.0
        });
        Self { base, middle, voxel_m: mercator::metres_per_voxel_at(middle[1]) }
    }

    /// Metres of one of the region's own voxels.
    pub(super) fn scale_m(&self, key: RegionKey) -> f64 {
        self.voxel_m * key.edge_voxels() as f64 / f64::from(REGION_VOXELS)
    }

    /// Where the region's lowest corner lies, in metres east, up and south of the origin.
    pub(super) fn corner_m(&self, key: RegionKey) -> [f64; 3] {
        let [x, y, z] = key.origin(self.base).map(|c| c as f64);
        [(x - self.middle[0]) * self.voxel_m, y * self.voxel_m, (z - self.middle[1]) * self.voxel_m]
    }

    /// The place of the origin.
    pub(super) fn place(&self) -> LonLat {
        LonLat::from_world(self.middle[0], self.middle[1])
    }
}
