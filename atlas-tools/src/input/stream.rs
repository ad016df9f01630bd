//! How a format is read that holds features in a row: from the first to the last, none of them kept.
//!
//! Owns [`Stream`], the seam that such formats join, and [`Sink`], into which they pour what they read. A reader tells
//! the sink what it tolerated; it decides nothing that depends on the tiles that are made, but it may pass over what
//! [`Wanted`] says nobody wants.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use voxatlas::voxel::Colour;

use super::{ByteRanges, InputError, Item};
use crate::crs::{Placer, guess_again};

/// A source of items that is read from its beginning to its end.
pub trait Stream: Send + Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// The box round it, world x and z in z17 voxels: west, north, east, south. As the file's header has it, or from one
    /// walk over the file where it has none; `None` where it is empty.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is malformed.
    fn extent(&self) -> Result<Option<[f64; 4]>, InputError>;

    /// How its coordinates are placed. A format whose files name their CRS among their contents tells those that it met in
    /// `extent` or `read`; none where it knows nothing of coordinates, or may take them in one way only.
    fn placers(&self) -> Vec<Placer> {
        Vec::new()
    }

    /// What its CRS may be instead, where its coordinates miss a box in degrees: west, south, east, north. It asks for the
    /// extent once more.
    fn guess(&self, near: [f64; 4]) -> Option<String> {
        let extent = self.extent().ok()??;
        // Of several nobody knows which one is wrong.
        match self.placers().as_slice() {
            [placer] => guess_again(placer, extent, near),
            _ => None,
        }
    }

    /// The bytes of the file that reading what is wanted needs, its heads and indexes among them; `None` where it is read
    /// from its beginning to its end.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is malformed.
    fn bytes(&self, wanted: &Wanted) -> Result<Option<ByteRanges>, InputError> {
        let _ = wanted;
        Ok(None)
    }

    /// Reads everything that is wanted, in the order of the file.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is malformed beyond what can be passed over, or the sink refuses more.
    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError>;
}

/// Where a reader puts what it reads.
pub trait Sink {
    /// Takes an item.
    ///
    /// # Errors
    ///
    /// It cannot be kept (a full disk), or the work is to stop: the reader returns the error as it is.
    fn item(&mut self, item: Item) -> Result<(), InputError>;

    /// Takes an image that surfaces refer to, and yields its number.
    fn texture(&mut self, texture: Texture) -> u32;

    /// Notes something that was passed over or mended; never a reason to stop.
    fn problem(&mut self, feature: &str, problem: Problem);

    /// Tells how far the reading is, in bytes of the file.
    fn progress(&mut self, bytes: u64);
}

/// An image that is decoded when it is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Texture {
    /// A file.
    File(PathBuf),
    /// The bytes of a PNG or JPEG file.
    Bytes(Arc<[u8]>),
}

/// What is wrong with a feature and was tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// A ring whose last point is not its first, where the format asks for it: closed.
    OpenRing,
    /// A ring that repeats points: they count once.
    DuplicatePoints,
    /// A ring of fewer than three points, or without area: left out.
    DegenerateRing,
    /// A ring that crosses itself: filled by the even-odd rule.
    CrossingRing,
    /// A face whose points lie in no plane: triangulated as it is.
    NonPlanarFace,
    /// A face that could not be triangulated: left out.
    UntriangulatedFace,
    /// A shell that is open: not filled.
    OpenShell,
    /// A shell that is inside out: used as it is.
    InvertedShell,
    /// A coordinate that is no finite number, or lies nowhere on the globe: its ring is left out.
    BadCoordinate,
    /// A geometry of a kind that has no volume here (a line, a lone point): left out.
    UnusedGeometry,
    /// A reference to something that is not there.
    DanglingReference,
    /// A feature without a geometry.
    NoGeometry,
    /// A minimum height at or above the height: taken as 0.
    BadMinHeight,
    /// An attribute that could not be read as what it should be.
    BadAttribute,
    /// Text that is not of the encoding that was expected: its bytes were replaced.
    BadText,
    /// An image that cannot be read: the surface has the look of its kind.
    BadTexture,
    /// A record that cannot be read: passed over.
    BadRecord,
    /// A point that its file calls noise, or withholds: left out.
    NoisePoint,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OpenRing => "ring closed that was open",
            Self::DuplicatePoints => "ring with points that repeat",
            Self::DegenerateRing => "ring without area left out",
            Self::CrossingRing => "ring that crosses itself, filled even-odd",
            Self::NonPlanarFace => "face that lies in no plane",
            Self::UntriangulatedFace => "face left out that could not be triangulated",
            Self::OpenShell => "shell with gaps, not filled",
            Self::InvertedShell => "shell that is inside out",
            Self::BadCoordinate => "coordinate that is nowhere",
            Self::UnusedGeometry => "geometry without a volume left out",
            Self::DanglingReference => "reference to what is not there",
            Self::NoGeometry => "feature without a geometry",
            Self::BadMinHeight => "minimum height above the height, taken as 0",
            Self::BadAttribute => "attribute that could not be read",
            Self::BadText => "text of another encoding, its bytes replaced",
            Self::BadTexture => "image that could not be read",
            Self::BadRecord => "record passed over that could not be read",
            Self::NoisePoint => "point left out as noise",
        })
    }
}

/// What of an input is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Boxes in the world, x and z in z17 voxels: west, north, east, south. Empty: everything.
    pub boxes: Vec<[f64; 4]>,
}

impl Wanted {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether a box meets what is wanted; x counts modulo the width of the world.
    pub fn meets(&self, [west, north, east, south]: [f64; 4]) -> bool {
        let world = f64::from(voxatlas::geo::WORLD_VOXELS);
        self.boxes.is_empty()
            || self.boxes.iter().any(|&[w, n, e, s]| {
                let meets_x = |shift: f64| west + shift <= e && east + shift >= w;
                north <= s && south >= n && [-world, 0.0, world].into_iter().any(meets_x)
            })
    }
}

/// How features are read, the same for all inputs of a run.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReadOptions {
    /// Attributes that may hold the height, the first that a feature has counts; in metres unless it names a unit.
    pub height_fields: Vec<String>,
    /// Attributes that may hold the height of the underside.
    pub min_height_fields: Vec<String>,
    /// Attributes that may hold the number of storeys, where there is no height.
    pub level_fields: Vec<String>,
    /// Height of a storey, in metres.
    pub level_m: f64,
    /// Height of what has none, in metres.
    pub fallback_height_m: f64,
    /// The attribute that decides colours, and the colour of each of its values; the value "*" stands for all others.
    pub colour_by: Option<(String, BTreeMap<String, Colour>)>,
    /// Layers or feature types to read; empty: all that are known.
    pub layers: Vec<String>,
    /// Features that are left out, by their name or id.
    pub without: Vec<String>,
    /// The encoding of text in files that do not name theirs, as WHATWG labels it.
    pub encoding: Option<String>,
    /// The level of detail of a city model to read; `None`: the finest that each feature has.
    pub lod: Option<u8>,
    /// Whether attributes are kept.
    pub with_attributes: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            height_fields: names(&[
                "height",
                "building:height",
                "measuredHeight",
                "measured_height",
                "render_height",
                "z",
            ]),
            min_height_fields: names(&["min_height", "building:min_height", "render_min_height"]),
            level_fields: names(&["building:levels", "levels", "num_floors", "storeysAboveGround"]),
            level_m: 3.0,
            fallback_height_m: super::FALLBACK_HEIGHT_M,
            colour_by: None,
            layers: Vec::new(),
            without: Vec::new(),
            encoding: None,
            lod: None,
            with_attributes: false,
        }
    }
}
