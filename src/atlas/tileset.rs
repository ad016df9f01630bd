//! `tiles.json`: what a tileset says of itself, TileJSON 3.0 with a `voxatlas` object.

use serde::{Deserialize, Serialize};

/// The TileJSON document of a tileset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tileset {
    /// The TileJSON version, "3.0.0".
    pub tilejson: String,
    /// URL templates of layer 0, relative to the document or absolute.
    pub tiles: Vec<String>,
    /// "xyz" (default) or "tms".
    #[serde(default = "xyz")]
    pub scheme: String,
    /// Who is to be credited, always visible in the viewer and on pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// West, south, east, north, in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 4]>,
    /// The coarsest zoom.
    #[serde(default = "zoom_full")]
    pub minzoom: u8,
    /// The finest zoom.
    #[serde(default = "zoom_full")]
    pub maxzoom: u8,
    /// What TileJSON has no words for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voxatlas: Option<VoxatlasObject>,
}

/// The `voxatlas` object of a [`Tileset`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VoxatlasObject {
    /// The version of the atlas format, 1.
    pub format: u32,
    /// World y of the floor of layer 0, in z17 voxels above the datum: a multiple of 32.
    pub base: i32,
    /// What heights are measured from, in words.
    pub datum: String,
    /// The layers that hold anything, ascending.
    pub layers: Vec<LayerObject>,
}

/// One layer of a [`Tileset`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerObject {
    /// Its number.
    pub layer: i32,
    /// URL templates.
    pub tiles: Vec<String>,
    /// West, south, east, north, in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 4]>,
    /// Which tiles exist, a bitmap a zoom; a zoom that is absent here must be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub availability: Vec<AvailabilityObject>,
}

/// Which tiles of a zoom exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailabilityObject {
    /// The zoom.
    pub zoom: u8,
    /// Lowest column, lowest row, highest column, highest row, all inclusive.
    pub bounds: [u32; 4],
    /// Base64 of one bit a tile, row by row from the north-west, lowest bit first, 1 where the tile exists.
    pub bitmap: String,
}

fn xyz() -> String {
    "xyz".to_owned()
}

fn zoom_full() -> u8 {
    crate::limits::ZOOM_FULL
}
