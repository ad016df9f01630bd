//! The file: a 4096 x 4096 image whose texels are a region's voxels in Morton order.
//!
//! Owns Morton order, decoding and encoding (`docs/format.md`), and the tileset's document. Receives file bytes or a
//! region, yields a region or file bytes; it does not know where files come from.

mod encoded;
mod tileset;

pub use encoded::EncodedAtlas;
pub use tileset::{AvailabilityObject, LayerObject, Tileset, VoxatlasObject};
