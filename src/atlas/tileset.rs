//! `tiles.json`: what a tileset says of itself, TileJSON 3.0 with a `voxatlas` object.
//!
//! A document without that object is a plain TileJSON: layer 0 alone, standing on [`BASE_DEFAULT`]. The same goes for a
//! bare template ([`Tileset::of_template`]). Unknown members are ignored, so that documents can grow.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::availability::{Availability, AvailabilityError};
use super::template::{Scheme, TemplateError, check_template, expand_template, tile_of_path};
use crate::geo::RegionKey;
use crate::limits::{ATLAS_FORMAT, BASE_STEP_VOXELS, ZOOM_FULL};

/// World y of the floor of layer 0 where nothing says otherwise, in z17 voxels: what `atlas-tools encode` writes for
/// sources without terrain, so that streets lie at y = 0.
pub const BASE_DEFAULT: i32 = -32;

/// The base of a template that names no zoom, such as the reference system's `17_{x}_{y}.webp`, in z17 voxels: the
/// datum of those files is not known, so their y is taken as it stands.
pub const BASE_REFERENCE: i32 = 0;

/// A document that describes no tileset.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TilesetError {
    /// No JSON, or a member is missing or of another type.
    #[error("{name} is no tileset document: {reason}")]
    Json {
        /// The file or URL.
        name: String,
        /// What the parser says, with line and column.
        reason: String,
    },
    /// Rows are counted in a way that is not known.
    #[error("{name}: the scheme is \"{scheme}\": expected \"xyz\" or \"tms\"")]
    Scheme {
        /// The file or URL.
        name: String,
        /// What was found.
        scheme: String,
    },
    /// The files are of another version of the format.
    #[error("{name}: the atlas format is version {found}: expected {ATLAS_FORMAT}")]
    Format {
        /// The file or URL.
        name: String,
        /// What was found.
        found: u32,
    },
    /// The base would put the zooms' voxels out of step.
    #[error("{name}: the base is {base}: expected a multiple of {BASE_STEP_VOXELS}")]
    Base {
        /// The file or URL.
        name: String,
        /// What was found.
        base: i32,
    },
    /// The zooms are upside down, or none of them can be drawn.
    #[error(
        "{name}: zooms {zoom_min} to {zoom_max} hold no region: expected minzoom <= maxzoom, and minzoom <= {ZOOM_FULL}"
    )]
    Zooms {
        /// The file or URL.
        name: String,
        /// `minzoom`.
        zoom_min: u8,
        /// `maxzoom`.
        zoom_max: u8,
    },
    /// Bounds that name no place.
    #[error("{name}: the bounds {bounds} are no place: expected west, south, east, north in degrees")]
    Bounds {
        /// The file or URL.
        name: String,
        /// What was found.
        bounds: String,
    },
    /// There is nothing to draw.
    #[error("{name} lists no layer: expected at least one with a tile template")]
    NoLayers {
        /// The file or URL.
        name: String,
    },
    /// A layer stands in the list more than once.
    #[error("{name} lists layer {layer} twice")]
    LayerTwice {
        /// The file or URL.
        name: String,
        /// The layer.
        layer: i32,
    },
    /// A layer's template names no files.
    #[error("{name}: {source}")]
    Template {
        /// The file or URL.
        name: String,
        /// What is wrong.
        source: TemplateError,
    },
    /// A layer's bitmap contradicts itself.
    #[error("{name}: {source}")]
    Availability {
        /// The file or URL.
        name: String,
        /// What is wrong.
        source: AvailabilityError,
    },
}

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

impl Tileset {
    /// Reads and checks a document; `name` is the file or URL, for errors.
    ///
    /// ```
    /// use voxatlas::atlas::Tileset;
    ///
    /// let tileset = Tileset::parse(br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"]}"#, "tiles.json")?;
    /// assert_eq!((tileset.base(), tileset.attribution), (-32, None));
    /// # Ok::<(), voxatlas::atlas::TilesetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Each variant of [`TilesetError`] is a cause.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, TilesetError> {
        // Some editors put a byte order mark before the text.
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let tileset: Self = serde_json::from_slice(text)
            .map_err(|error| TilesetError::Json { name: name.to_owned(), reason: error.to_string() })?;
        tileset.check(name)?;
        Ok(tileset)
    }

    /// The tileset of a bare template: zoom 17, the layers 0 and 1 where it has a `{layer}` and 0 alone where not.
    /// The base is [`BASE_DEFAULT`] where it names the zoom, else [`BASE_REFERENCE`].
    ///
    /// # Errors
    ///
    /// The template names no files.
    pub fn of_template(template: &str) -> Result<Self, TemplateError> {
        check_template(template)?;
        let base = if template.contains("{z}") { BASE_DEFAULT } else { BASE_REFERENCE };
        let n_layers = if template.contains("{layer}") { 2 } else { 1 };
        let layer =
            |layer| LayerObject { layer, tiles: vec![template.to_owned()], bounds: None, availability: Vec::new() };
        Ok(Self {
            tilejson: "3.0.0".to_owned(),
            tiles: vec![template.to_owned()],
            scheme: xyz(),
            attribution: None,
            name: None,
            bounds: None,
            minzoom: ZOOM_FULL,
            maxzoom: ZOOM_FULL,
            voxatlas: Some(VoxatlasObject {
                format: ATLAS_FORMAT,
                base,
                datum: "unknown".to_owned(),
                layers: (0..n_layers).map(layer).collect(),
            }),
        })
    }

    /// The document as text, indented and closed with a newline: same tileset, same bytes.
    #[expect(clippy::missing_panics_doc, reason = "strings, numbers and lists always serialise")]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings, numbers and lists always serialise");
        text.push('\n');
        text
    }

    /// World y of the floor of layer 0, in z17 voxels.
    pub fn base(&self) -> i32 {
        self.voxatlas.as_ref().map_or(BASE_DEFAULT, |object| object.base)
    }

    /// How `{y}` counts rows.
    pub fn row_scheme(&self) -> Scheme {
        if self.scheme == "tms" { Scheme::Tms } else { Scheme::Xyz }
    }

    /// The relative path or URL of a region's file; `None` where its layer is not listed.
    ///
    /// A layer with several templates spreads its tiles over them, each tile always to the same one, so that caches
    /// hold it once.
    pub fn path_of(&self, key: RegionKey) -> Option<String> {
        let templates = self.templates(key.layer)?;
        let idx = (u64::from(key.tile.x()) + u64::from(key.tile.y())) % templates.len().max(1) as u64;
        Some(expand_template(templates.get(idx as usize)?, key, self.row_scheme()))
    }

    /// The region whose file lies at a relative path: [`Tileset::path_of`] the other way round.
    ///
    /// ```
    /// use voxatlas::atlas::Tileset;
    ///
    /// let tileset = Tileset::of_template("{z}/{x}/{y}.l{layer}.png")?;
    /// assert_eq!(tileset.key_of("17/116415/51623.l1.png").unwrap().to_string(), "17/116415/51623 layer 1");
    /// assert_eq!(tileset.key_of("readme.png"), None);
    /// # Ok::<(), voxatlas::atlas::TemplateError>(())
    /// ```
    pub fn key_of(&self, path: &str) -> Option<RegionKey> {
        let listed = self.voxatlas.iter().flat_map(|object| &object.layers);
        let plain = self.voxatlas.is_none().then_some((0, &self.tiles));
        let layers = listed.map(|object| (object.layer, &object.tiles)).chain(plain);
        let templates = layers.flat_map(|(layer, tiles)| tiles.iter().map(move |template| (layer, template)));
        let keys = templates.filter_map(|(layer, template)| {
            let tile = tile_of_path(template, path, layer, self.maxzoom, self.row_scheme())?;
            Some(RegionKey::new(tile, layer))
        });
        keys.into_iter().find(|&key| self.path_of(key).as_deref() == Some(path))
    }

    /// The templates of a layer.
    fn templates(&self, layer: i32) -> Option<&[String]> {
        match &self.voxatlas {
            None => (layer == 0).then_some(&self.tiles),
            Some(object) => object.layers.iter().find(|object| object.layer == layer).map(|object| &object.tiles),
        }
        .map(Vec::as_slice)
    }

    fn check(&self, name: &str) -> Result<(), TilesetError> {
        let name = || name.to_owned();
        if !matches!(self.scheme.as_str(), "xyz" | "tms") {
            return Err(TilesetError::Scheme { name: name(), scheme: self.scheme.clone() });
        }
        if self.minzoom > self.maxzoom || self.minzoom > ZOOM_FULL {
            return Err(TilesetError::Zooms { name: name(), zoom_min: self.minzoom, zoom_max: self.maxzoom });
        }
        check_bounds(self.bounds).map_err(|bounds| TilesetError::Bounds { name: name(), bounds })?;
        if let Some(object) = &self.voxatlas {
            check_object(object, &name)?;
        }
        let listed = self.voxatlas.iter().flat_map(|object| &object.layers).map(|layer| &layer.tiles);
        let n_layers = self.voxatlas.as_ref().map_or(1, |object| object.layers.len());
        let plain = self.voxatlas.is_none().then_some(&self.tiles);
        if n_layers == 0 || listed.clone().chain(plain).any(Vec::is_empty) {
            return Err(TilesetError::NoLayers { name: name() });
        }
        for template in listed.chain([&self.tiles]).flatten() {
            check_template(template).map_err(|source| TilesetError::Template { name: name(), source })?;
        }
        Availability::of(self).map_err(|source| TilesetError::Availability { name: name(), source })?;
        Ok(())
    }
}

fn check_object(object: &VoxatlasObject, name: &impl Fn() -> String) -> Result<(), TilesetError> {
    if object.format != ATLAS_FORMAT {
        return Err(TilesetError::Format { name: name(), found: object.format });
    }
    if object.base % BASE_STEP_VOXELS != 0 {
        return Err(TilesetError::Base { name: name(), base: object.base });
    }
    for (idx, layer) in object.layers.iter().enumerate() {
        check_bounds(layer.bounds).map_err(|bounds| TilesetError::Bounds { name: name(), bounds })?;
        if object.layers[..idx].iter().any(|other| other.layer == layer.layer) {
            return Err(TilesetError::LayerTwice { name: name(), layer: layer.layer });
        }
    }
    Ok(())
}

/// West may lie east of east (across the antimeridian), south never north of north. The error is the bounds as text.
fn check_bounds(bounds: Option<[f64; 4]>) -> Result<(), String> {
    let Some([west, south, east, north]) = bounds else {
        return Ok(());
    };
    let (lon, lat) = (-180.0..=180.0, -90.0..=90.0);
    let is_place = lon.contains(&west) && lon.contains(&east) && lat.contains(&south) && lat.contains(&north);
    if is_place && south <= north { Ok(()) } else { Err(format!("{:?}", [west, south, east, north])) }
}

fn xyz() -> String {
    "xyz".to_owned()
}

fn zoom_full() -> u8 {
    ZOOM_FULL
}

#[cfg(test)]
mod tests;
