//! The file: a 4096 x 4096 image whose texels are a region's voxels in Morton order.
//!
//! Owns Morton order, decoding and encoding (`docs/format.md`), and the tileset's document. Receives file bytes or a
//! region, yields a region or file bytes; it does not know where files come from.
//!
//! ```text
//! EncodedAtlas -> chunks -> png_file -> strips ---> band -> Region        64 rows at a time, on any thread
//!                              |                     ^
//!                              +------> plain -------+                    every other PNG, and WebP
//! ```

mod availability;
mod encoded;
mod error;
mod morton;
mod template;
mod tileset;

mod chunks;
mod ids;
mod ids_chunk;
#[cfg(test)]
mod ids_tests;
mod lineage;
mod metadata;
mod png_file;

mod decode;
mod plain;
mod strips;

mod band;
mod block;
mod pixels;

mod encode;
mod inspect;
mod rgba;
#[cfg(test)]
mod tests;
mod whole;

pub use availability::{Availability, AvailabilityError, Presence, TileBitmap};
pub use chunks::ColourType;
pub use decode::{Decoder, ImageKind, Strip, decode};
pub use encode::{EncodeOptions, encode, encode_with};
pub use encoded::EncodedAtlas;
pub use error::AtlasError;
pub use ids::FeatureIds;
pub use inspect::{AtlasReport, ChunkReport, FeatureReport, Finding, HeaderReport, VoxelReport, inspect};
pub use lineage::{FileMark, Lineage};
pub use metadata::{AtlasMetadata, occupancy_ahead};
pub use morton::{
    morton_from_texel, morton_from_voxel, texel_from_morton, texel_from_voxel, voxel_from_morton, voxel_from_texel,
};
pub use rgba::{ATLAS_ROW_BYTES, occupancy_from_rgba};
pub use strips::Scratch;
pub use template::{Scheme, TemplateError, check_template, expand_template, row_from_south};
pub use tileset::{
    AvailabilityObject, BASE_DEFAULT, BASE_REFERENCE, LayerObject, Tileset, TilesetError, VoxatlasObject,
};
pub use whole::is_whole;
