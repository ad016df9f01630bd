//! The parts of `atlas-tools`, in the order in which a city passes through them:
//!
//! ```text
//! input -> touch, buildings -> raster, columns, ground -> look, voxelise -> encode -> files -> pyramid -> coarser files
//! ```
//!
//! `atlas-tools` is a program; this library exists so that tests, fuzz targets and the maker of the demo city reach its
//! parts. Everything from `input` to `voxelise` is pure but for the reading of tiles; files are written by `encode`, `demo`
//! and `pyramid` alone, through `output`.

pub mod crs;
pub mod geokeys;
pub mod geometry;
pub mod input;

pub mod buildings;
pub mod touch;

mod gather;
pub mod points;
pub mod terrain;

pub mod columns;
pub mod footings;
pub mod ground;
pub mod raster;
pub mod spaces;

pub mod look;

mod cubes;
pub mod scatter;
mod surfaces;
pub mod voxelise;

pub mod decode;
pub mod demo;
pub mod diff;
pub mod encode;
pub mod inspect;
pub mod manual;
pub mod pack;
pub mod pyramid;
pub mod serve;
pub mod shards;
pub mod stats;
pub mod unpack;
pub mod validate;

pub mod archives;
pub mod attributes_file;
pub mod contents;
mod document;
pub mod flags;
pub mod interrupt;
pub mod jobs;
#[cfg(feature = "mbtiles")]
pub mod mbtiles;
pub mod outcome;
pub mod output;
pub mod preview;
pub mod progress;
pub mod regions;
pub mod surface;
pub mod tileset_files;

#[cfg(test)]
#[path = "../../tests/common/real_data.rs"]
mod real_data;
