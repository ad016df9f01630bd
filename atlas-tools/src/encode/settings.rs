//! What decides how a tile looks, beside the inputs: the part of a command line that a plan carries along.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::crs::CrsOptions;
use crate::input::{At, ReadOptions, Up};
use crate::terrain::tiles::TerrainEncoding;

/// The settings of a run, the same for all its tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How features are read.
    pub read: ReadOptions,
    /// How coordinates become places.
    pub crs: CrsOptions,
    /// Where models without a place of their own stand.
    pub at: Option<At>,
    /// Which axis of OBJ files points up.
    pub up: Up,
    /// The tile that an image of elevations without a place of its own covers.
    pub elevation_tile: Option<voxatlas::geo::TileCoord>,
    /// How images of elevations are encoded.
    pub elevation_encoding: Option<TerrainEncoding>,
    /// Files that colour the ground and the roofs.
    pub ortho: Vec<std::path::PathBuf>,
    /// What the ground is made from.
    pub ground: GroundMode,
    /// The height of the ground where nothing tells it, in metres above the datum.
    pub ground_height_m: Option<f64>,
    /// What becomes of voxels outside of layer 0.
    pub overflow: Overflow,
    /// Whether closed solids are filled.
    pub fill: bool,
    /// Whether files tell the feature of each voxel.
    pub with_ids: bool,
    /// Who is to be credited.
    pub attribution: String,
}

/// What the ground is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroundMode {
    /// From terrain, else from what stands on it, else flat
    Auto,
    /// Flat, at the height of --ground-height
    Flat,
    /// No ground
    None,
}

/// What becomes of voxels outside of layer 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// They go to the layers above and below
    Stack,
    /// They are left out and counted
    Clamp,
    /// Their tile fails
    Error,
}
