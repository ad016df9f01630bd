//! What comes in: features with heights, a source tile at a time.
//!
//! Owns [`Input`], the seam that every format joins, and the values that cross it. A format is asked for one tile and
//! yields the features that reach into it, in the fixed frame of [`SOURCE_EXTENT`] units a tile; the encoder asks for a
//! tile's neighbours in the same way. An input keeps no features between two calls and knows nothing of voxels.

mod format;
mod item;
mod open;
mod stream;

mod attributes;
mod boxes;
mod byte_ranges;
pub(crate) mod extent;
mod file_crs;
mod footprint;
mod rings;
mod texture;

mod mvt;
mod mvt_archive;
mod mvt_dir;
mod protobuf;

mod dbf;
mod fgb_properties;
mod flatgeobuf;
mod geojson;
#[cfg(feature = "geoparquet")]
mod geoparquet;
mod json_features;
mod json_geometry;
mod osm;
mod osm_blocks;
mod osm_pbf;
mod osm_tags;
mod overpass;
mod shapefile;
#[cfg(feature = "geoparquet")]
mod wkb;

mod city;
mod citygml;
mod cityjson;

pub mod points;

mod at;
mod gltf;
mod npy;
mod obj;
mod vox;

#[cfg(test)]
mod collected;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use voxatlas::geo::TileCoord;
use voxatlas::voxel::Colour;

pub use at::{At, AtError, AtFrame, Up};
pub use attributes::colour as colour_of_text;
pub use byte_ranges::ByteRanges;
pub use citygml::CityGml;
pub use cityjson::{CityJson, CityJsonSeq};
pub use flatgeobuf::FlatGeobuf;
pub use format::{Format, InputFile, expand};
pub use geojson::GeoJson;
#[cfg(feature = "geoparquet")]
pub use geoparquet::GeoParquet;
pub use gltf::GltfFile;
pub use item::{
    Cover, CoverKind, Item, Model, Named, Paint, Place, Point as CloudPoint, Prism, Rings, Surface, SurfaceKind,
    VoxelModel,
};
pub use mvt::{LayerSelection, MvtError, decode as decode_mvt};
pub use mvt_archive::MvtArchive;
pub use mvt_dir::MvtDir;
pub use npy::{NpyFile, NpyPlace};
pub use obj::ObjFile;
pub use open::{Opened, open};
pub use osm_pbf::OsmPbf;
pub use overpass::Overpass;
pub use shapefile::Shapefile;
pub use stream::{Problem, ReadOptions, Sink, Stream, Texture, Wanted};
pub use texture::{Image, TextureError, TextureStore};
pub use vox::VoxFile;

/// Units along the edge of a source tile, whatever its zoom: every usual MVT extent (256 to 65,536) divides it, so that
/// no coordinate is rounded, and at zoom 10..=17 the centre of a voxel has whole coordinates.
pub const SOURCE_EXTENT: i64 = 1 << 16;

/// Coordinates reach this far from the tile's corner, in units (8,192 tiles): products of two differences fit an i64.
pub const COORDINATE_MAX: i64 = 1 << 29;

/// Zooms of source tiles: coarser ones have voxel centres between two units, and buildings generalised away.
pub const SOURCE_ZOOMS: std::ops::RangeInclusive<u8> = 10..=17;

/// The height of a feature whose own is missing, zero or negative, in metres: one storey.
pub const FALLBACK_HEIGHT_M: f64 = 3.0;

/// A point in units of [`SOURCE_EXTENT`] from the north-west corner of its source tile: x east, y south.
pub type Point = [i32; 2];

/// A polygon: its rings, filled by the even-odd rule. A ring need not repeat its first point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Polygon {
    /// The rings, in no particular order or direction.
    pub rings: Vec<Vec<Point>>,
}

impl Polygon {
    /// The edges of all rings, each ring closed.
    pub fn edges(&self) -> impl Iterator<Item = (Point, Point)> + '_ {
        self.rings.iter().flat_map(|ring| {
            let next = ring.iter().cycle().skip(1);
            ring.iter().copied().zip(next.copied())
        })
    }
}

/// What a feature is called: the same in every tile that holds a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FeatureId {
    /// The id that the input gives it. Inputs of one run share their ids, as the parts of one data set do.
    Given(u64),
    /// Its place, where the input gives it none.
    Place {
        /// The input, in the order of the command line.
        input: u32,
        /// Its source tile.
        tile: TileCoord,
        /// Its place in that tile.
        feature_idx: u32,
    },
    /// Its place in a file that holds features in a row, where the file gives it no id.
    Nth {
        /// The input, in the order of the command line.
        input: u32,
        /// Its number in the file, or where it begins, in bytes: the same however much of the file is read.
        nth: u64,
    },
}

impl FeatureId {
    /// The id of a feature whose file calls it by a text.
    pub fn of_text(text: &str) -> Self {
        use sha2::Digest as _;
        let hash = sha2::Sha256::digest(text.as_bytes());
        Self::Given(hash.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A number that stands for the id, well mixed: equal ids give equal numbers on every machine.
    pub fn mixed(self) -> u64 {
        match self {
            Self::Given(id) => mix(id),
            Self::Place { input, tile, feature_idx } => {
                [u64::from(tile.x()), u64::from(tile.y()), u64::from(feature_idx)]
                    .into_iter()
                    .fold(mix(u64::from(input) << 8 | u64::from(tile.zoom())), |hash, part| mix(hash ^ part))
            }
            Self::Nth { input, nth } => mix(mix(u64::from(input)) ^ nth.rotate_left(1)),
        }
    }
}

/// Mixes the bits of a number (the finaliser of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Why a feature has the fallback height.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fallback {
    /// It has no height, or one that is no finite number.
    Missing,
    /// Its height is zero.
    Zero,
    /// Its height is below zero.
    Negative,
}

/// The height of a feature above its ground.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Height {
    /// Metres, above zero and finite.
    pub metres: f64,
    /// Why this is [`FALLBACK_HEIGHT_M`] rather than the input's figure.
    pub fallback: Option<Fallback>,
}

impl Height {
    /// Takes what the input says, or falls back.
    pub fn from_input(metres: Option<f64>) -> Self {
        let fallback = match metres {
            Some(metres) if metres.is_finite() && metres > 0.0 => return Self { metres, fallback: None },
            Some(metres) if metres.is_finite() && metres < 0.0 => Fallback::Negative,
            Some(0.0) => Fallback::Zero,
            _ => Fallback::Missing,
        };
        Self { metres: FALLBACK_HEIGHT_M, fallback: Some(fallback) }
    }
}

/// A building or a part of one: a roof surface or a footprint that stands on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name.
    pub id: FeatureId,
    /// Its height above the ground.
    pub height: Height,
    /// Its underside above its ground, in metres, 0 where it stands on it.
    pub min_height_m: f64,
    /// What it covers: the union of its polygons.
    pub polygons: Vec<Polygon>,
    /// The colour of its walls, where the source tells it.
    pub wall: Option<Colour>,
    /// The colour of its roof, where the source tells it.
    pub roof: Option<Colour>,
    /// Its name in the source and its attributes, where they are kept.
    pub described: Option<Arc<Described>>,
}

/// What a source says of a feature beside its shape.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Described {
    /// Its id as the file writes it; empty where it has none.
    pub name: String,
    /// Its attributes, in the order of the file.
    pub attributes: Vec<(String, serde_json::Value)>,
}

impl Feature {
    /// A feature that stands on the ground, of which no more is known.
    pub fn standing(id: FeatureId, height: Height, polygons: Vec<Polygon>) -> Self {
        Self { id, height, min_height_m: 0.0, polygons, wall: None, roof: None, described: None }
    }
}

/// The features that reach into one source tile; those that cross its border may be clipped a little outside it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceTile {
    /// The tile whose frame the polygons use.
    pub tile: TileCoord,
    /// The features, in the order of the input.
    pub features: Vec<Feature>,
}

/// A source of features that can be asked for a tile.
pub trait Input: Send + Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// The zoom of its tiles, one of [`SOURCE_ZOOMS`].
    fn zoom(&self) -> u8;

    /// The tiles that hold anything, each once, in any order.
    fn tiles(&self) -> Vec<TileCoord>;

    /// The tiles of a row that hold anything, each once, in any order.
    fn row(&self, y: u32) -> Vec<TileCoord>;

    /// The bytes of the file that reading some tiles needs, its heads and indexes among them; `None` where the tiles are
    /// files of their own.
    fn bytes(&self, tiles: &BTreeSet<TileCoord>) -> Option<ByteRanges> {
        let _ = tiles;
        None
    }

    /// Reads the features of a tile; a tile that does not exist holds none.
    ///
    /// # Errors
    ///
    /// The tile cannot be read or is malformed. Other tiles are not affected.
    fn read(&self, tile: TileCoord) -> Result<Vec<Feature>, InputError>;
}

/// Why an input, or one tile of it, cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// A file or folder cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The input is of no format that is known.
    #[error(
        "{}: of no format that is known: expected CityGML, CityJSON (.json, .jsonl), GeoJSON, .shp, .fgb, .parquet, .osm.pbf, \
         Overpass JSON, .las, .laz, .tif, .obj, .glb, .vox, .npy, a PMTiles archive, or a folder of such files or of tiles, \
         {{z}}/{{x}}/{{y}}.pbf",
        path.display()
    )]
    UnknownFormat {
        /// What was given.
        path: PathBuf,
    },
    /// The folder holds no tile that can be used.
    #[error(
        "{}: no vector tile found: expected {{z}}/{{x}}/{{y}}.pbf or .mvt at a zoom of {}..={}{}",
        path.display(), SOURCE_ZOOMS.start(), SOURCE_ZOOMS.end(), other_zooms(zooms)
    )]
    NoTiles {
        /// The folder.
        path: PathBuf,
        /// Zooms that were found and cannot be used.
        zooms: Vec<u8>,
    },
    /// A file is malformed, or holds what cannot be read.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it, what was found and what was expected.
        what: String,
    },
    /// What was read cannot be kept: the scratch folder is full or cannot be written to.
    #[error("{what}")]
    Refused {
        /// Why.
        what: String,
    },
    /// The work was to stop.
    #[error("interrupted")]
    Interrupted,
    /// A vector tile is malformed.
    #[error("{}: malformed vector tile: {error}", path.display())]
    Mvt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: MvtError,
    },
}

fn other_zooms(zooms: &[u8]) -> String {
    if zooms.is_empty() {
        return String::new();
    }
    let list: Vec<_> = zooms.iter().map(u8::to_string).collect();
    format!(", found only zoom {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_fall_back_by_kind() {
        let check = |input: Option<f64>, expected: Option<Fallback>| {
            let height = Height::from_input(input);
            assert_eq!(height.fallback, expected, "{input:?}");
            assert!(height.metres > 0.0 && height.metres.is_finite());
        };
        check(Some(12.5), None);
        check(Some(f64::MIN_POSITIVE), None);
        check(None, Some(Fallback::Missing));
        check(Some(f64::NAN), Some(Fallback::Missing));
        check(Some(f64::INFINITY), Some(Fallback::Missing));
        check(Some(0.0), Some(Fallback::Zero));
        check(Some(-0.0), Some(Fallback::Zero));
        check(Some(-3.42), Some(Fallback::Negative));
        assert_eq!(Height::from_input(Some(12.5)).metres, 12.5);
    }

    #[test]
    fn given_ids_sort_before_places_and_mix_apart() {
        let tile = TileCoord::new(16, 1, 2).unwrap();
        let place = FeatureId::Place { input: 0, tile, feature_idx: 0 };
        assert!(FeatureId::Given(u64::MAX) < place);
        let other = FeatureId::Place { input: 0, tile, feature_idx: 1 };
        assert_ne!(place.mixed(), other.mixed());
        assert_ne!(FeatureId::Given(1).mixed(), FeatureId::Given(2).mixed());
    }

    #[test]
    fn edges_close_every_ring() {
        let polygon = Polygon { rings: vec![vec![[0, 0], [4, 0], [0, 4]], vec![[9, 9]]] };
        let edges: Vec<_> = polygon.edges().collect();
        assert_eq!(edges, [([0, 0], [4, 0]), ([4, 0], [0, 4]), ([0, 4], [0, 0]), ([9, 9], [9, 9])]);
    }
}
