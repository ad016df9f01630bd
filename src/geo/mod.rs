//! Where things are: tiles, regions, Web Mercator and the spaces between them.
//!
//! Owns every conversion between degrees, metres, tiles and voxels (`docs/coordinates.md`). Receives coordinates,
//! yields coordinates; it does not know what lies at them.

mod bbox;
mod error;
pub mod mercator;
pub mod reference;
mod region;
mod space;
mod sun;
mod tile;

pub use bbox::{Bbox, TileRange};
pub use error::GeoError;
pub use mercator::LonLat;
pub use region::RegionKey;
pub use space::{EyeOrigin, WORLD_VOXELS, WorldBox, tile_of_voxel, voxel_of};
pub use sun::SunPosition;
pub use tile::TileCoord;

/// Compiles and runs the examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../../docs/coordinates.md")]
struct CoordinatesPage;
