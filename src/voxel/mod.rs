//! The voxels of a region: which are occupied, and in what colour.
//!
//! Owns [`Region`], the decoded value between the file and the mesh. Receives voxels from a decoder or an encoder's
//! rasteriser, yields rows of bits and colours; it does not know files or quads.

mod colour;
mod occupancy;

pub(crate) use colour::texel_along;
pub use colour::{BrickColours, Colour, ColourDepth, Colours, texel_in_brick};
pub use occupancy::{BrickMask, Occupancy};

/// A decoded region: 256^3 voxels, occupied where the atlas has alpha, and their colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Which voxels are occupied.
    pub occupancy: Occupancy,
    /// The colour of every occupied voxel.
    pub colours: Colours,
}
