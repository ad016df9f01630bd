//! From the points of a cloud to voxels.
//!
//! Owns [`PointSpill`], which sorts any number of points by tile within a budget of memory, and [`PointBins`], which
//! joins the points of one voxel into their mean colour. Both yield the same whatever the order of the points. A tile has
//! the points of the columns round it as well, so that it can be compared with its neighbours. They fill no gaps between
//! points and know no ground.
//!
//! ```text
//!   Item::Points -> PointSpill -> a tile's points -> PointBins -> BinnedVoxel: x, y, z, mean colour
//! ```

mod bins;
mod spill;

pub use bins::{BinnedVoxel, PointBins};
pub use spill::{PointSpill, SpiltPoints};

/// A point in a tile or beside it, as it is kept: ten bytes.
///
/// ```text
///   0 x   1 z   2 flags: 1 on the ground, 2 x beyond the tile, 4 z beyond it   3 r   4 g   5 b
///   6..10 height in 1/256 voxel, little-endian
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TilePoint {
    /// Its column of the tile, -1..=256.
    pub x: i16,
    /// Its row of the tile, -1..=256.
    pub z: i16,
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
        let is_beyond = |along: i16| u8::from(!(0..256).contains(&along));
        let flags = u8::from(self.is_ground) | is_beyond(self.x) << 1 | is_beyond(self.z) << 2;
        // -1 becomes 255, 256 becomes 0.
        [self.x as u8, self.z as u8, flags, r, g, b, a, c, d, e]
    }

    fn from_bytes([x, z, flags, r, g, b, y @ ..]: [u8; Self::BYTES]) -> Self {
        let along = |low: u8, is_beyond: bool| match (is_beyond, low) {
            (false, _) => i16::from(low),
            (true, 0) => 256,
            (true, _) => -1,
        };
        Self {
            x: along(x, flags & 2 != 0),
            z: along(z, flags & 4 != 0),
            y_256: i32::from_le_bytes(y),
            colour: [r, g, b],
            is_ground: flags & 1 != 0,
        }
    }
}

#[cfg(test)]
#[path = "points_tests.rs"]
mod tests;
