//! GeoTIFF and COG files as elevation and as imagery.
//!
//! Owns [`GeoTiffElevation`] and [`GeoTiffImagery`]. A raster is read chunk by chunk, the lately used ones kept within a
//! budget of bytes, never as a whole; its own CRS is turned into the world's at a few places a tile, between which it is
//! straight to a tenth of a millimetre. It writes no files and resamples none.
//!
//! ```text
//!   voxel centre -- Warp (CRS, ModelTransform) --> u, v in pixels -- Raster --> chunk -- sample --> height, colour
//! ```

mod elevation;
mod imagery;
mod raster;
mod transform;
mod unpalette;
mod warp;

pub use elevation::GeoTiffElevation;
pub use imagery::GeoTiffImagery;

#[cfg(test)]
#[path = "geotiff_tests.rs"]
mod tests;
