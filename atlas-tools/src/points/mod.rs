//! From the points of a cloud to voxels.
//!
//! Owns [`PointSpill`], which sorts any number of points by tile within a budget of memory, and [`PointBins`], which
//! joins the points of one voxel into their mean colour. Both yield the same whatever the order of the points. They fill
//! no gaps between points and know no ground.
//!
//! ```text
//!   Item::Points -> PointSpill -> a tile's points -> PointBins -> BinnedVoxel: x, y, z, mean colour
//! ```

mod bins;
mod spill;

pub use bins::{BinnedVoxel, PointBins};
pub use spill::{PointSpill, SpiltPoints};

/// A point in its tile, as it is kept: ten bytes.
///
/// ```text
///   0 x   1 z   2 flags   3 r   4 g   5 b   6..10 height in 1/256 voxel, little-endian
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TilePoint {
    /// Its column of the tile.
    pub x: u8,
    /// Its row of the tile.
    pub z: u8,
    /// Height above the datum, in parts of 1/256 of a voxel.
    pub y_256: i32,
    /// Its colour.
    pub colour: voxatlas::voxel::Colour,
    /// Whether it is known to lie on the ground.
    pub is_ground: bool,
}

impl TilePoint {
    /// Bytes of a point.
    const BYTES: usize = 10;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let [r, g, b] = self.colour;
        let [a, c, d, e] = self.y_256.to_le_bytes();
        [self.x, self.z, u8::from(self.is_ground), r, g, b, a, c, d, e]
    }

    fn from_bytes([x, z, flags, r, g, b, y @ ..]: [u8; Self::BYTES]) -> Self {
        Self { x, z, y_256: i32::from_le_bytes(y), colour: [r, g, b], is_ground: flags & 1 != 0 }
    }
}

#[cfg(test)]
#[path = "points_tests.rs"]
mod tests;
