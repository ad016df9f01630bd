//! Web Mercator tiles of heights and of pictures: folders, archives and single files.
//!
//! Owns [`TerrainTiles`] and [`MapTiles`]. A tile's pixels lie in the world by its address alone, so that no CRS is asked
//! for. Where several zooms are there, the coarsest one that is at least as fine as the voxels is used, and others where it
//! has no tile. A tile that is missing has no data; one that is broken is an error for whatever needs it. It never asks a
//! server.
//!
//! ```text
//!   {z}/{x}/{y}.png -> TileStore -> Picture -> TerrainEncoding -> Grid -> HeightTile
//!                                       |
//!                                       +-------------------------------> ColourTile
//! ```

mod elevation;
mod encoding;
mod gsi_text;
mod imagery;
mod picture;
mod store;
mod window;

pub use elevation::TerrainTiles;
pub use encoding::TerrainEncoding;
pub use imagery::MapTiles;
pub use picture::Picture;
pub use store::tile_in_name;

#[cfg(test)]
#[path = "tiles_tests.rs"]
mod tests;
