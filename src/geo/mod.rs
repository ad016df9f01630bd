//! Where things are: tiles, regions, Web Mercator and the spaces between them.
//!
//! Owns every conversion between degrees, metres, tiles and voxels. Receives coordinates, yields coordinates; it does
//! not know what lies at them.

mod tile;

pub use tile::{GeoError, RegionKey, TileCoord};
