//! The voxels of a region: which are occupied, and in what colour.
//!
//! Owns [`Region`], the decoded value between the file and the mesh. Receives voxels from a decoder or an encoder's
//! rasteriser, yields rows of bits and colours, the bits that rays ask for, and the region of the coarser zoom; it does not know files or quads.

mod colour;
mod occupancy;
mod pyramid;
mod region;
mod solids;
#[cfg(test)]
mod tests;

pub use colour::{BrickColours, Colour, ColourDepth, Colours, texel_in_brick};
pub(crate) use colour::{StripColours, texel_along};
pub use occupancy::{BrickMask, Occupancy};
pub use pyramid::{PYRAMID_RULES, down_sample};
pub use region::Region;
pub use solids::Solids;
