//! The file: a 4096 x 4096 image whose texels are a region's voxels in Morton order.
//!
//! Owns Morton order, decoding and encoding (`docs/format.md`), and the tileset's document. Receives file bytes or a
//! region, yields a region or file bytes; it does not know where files come from.

mod availability;
mod encoded;
mod template;
mod tileset;

pub use availability::{Availability, AvailabilityError, Presence, TileBitmap};
pub use encoded::EncodedAtlas;
pub use template::{Scheme, TemplateError, check_template, expand_template, row_from_south};
pub use tileset::{
    AvailabilityObject, BASE_DEFAULT, BASE_REFERENCE, LayerObject, Tileset, TilesetError, VoxatlasObject,
};
