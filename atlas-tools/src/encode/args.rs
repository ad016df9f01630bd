//! The flags of `encode` and of `plan`, and what they mean together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Command, Id};
use voxatlas::geo::{Bbox, TileCoord};
use voxatlas::voxel::Colour;

use super::plan::Asked;
use super::settings::{GroundMode, Overflow, Settings};
use crate::crs::{Axis, CrsOptions, Vertical};
use crate::input::{At, ReadOptions, Up, colour_of_text};
use crate::terrain::tiles::TerrainEncoding;

/// What is encoded, and how: everything that decides how a tile looks.
#[derive(Debug, Clone, Args)]
pub struct JobArgs {
    /// Files and folders, in any of the formats below
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Only what lies in this box, in degrees; west may lie east of east, across the antimeridian
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, conflicts_with = "tiles", help_heading = "Tiles")]
    pub bbox: Option<Bbox>,
    /// Only these tiles; a coarser one stands for the zoom 17 tiles in it
    #[arg(long, value_name = "Z/X/Y,...", value_delimiter = ',', help_heading = "Tiles")]
    pub tiles: Vec<TileCoord>,

    /// The CRS of inputs that do not name theirs, or name a wrong one: EPSG:6677, EPSG:28992+5709, a PROJ string, WKT
    #[arg(long, value_name = "CRS", help_heading = "Places")]
    pub crs: Option<String>,
    /// The order of the first two coordinates: x (east) first, y (north) first, or as the format and the CRS have it
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = Axis::Auto, help_heading = "Places")]
    pub axis: Axis,
    /// What the heights of the inputs count from, where it is not what they say; needs --geoid
    #[arg(long, value_name = "DATUM", value_enum, help_heading = "Places")]
    pub vertical_from: Option<Vertical>,
    /// The geoid that makes ellipsoidal heights orthometric: jp2011, jp2024, or a .gtx or .asc file
    #[arg(long, value_name = "GEOID", help_heading = "Places")]
    pub geoid: Option<String>,
    /// Where models without a place of their own stand: OBJ, glTF, .vox, .npy
    #[arg(long, value_name = "LON,LAT[,HEIGHT_M]", allow_hyphen_values = true, help_heading = "Places")]
    pub at: Option<At>,
    /// Turns such models clockwise, in degrees
    #[arg(long, value_name = "DEG", allow_hyphen_values = true, requires = "at", help_heading = "Places")]
    pub bearing: Option<f64>,
    /// Metres that a unit of such models is long
    #[arg(long, value_name = "M", requires = "at", help_heading = "Places")]
    pub scale: Option<f64>,

    /// Which axis of OBJ files points up
    #[arg(long, value_name = "AXIS", value_enum, default_value_t = Up::Y, help_heading = "Places")]
    pub up: Up,

    /// Layers of vector tiles, or feature types, to read [default: all that are known]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Features")]
    pub layer: Vec<String>,
    /// Features to leave out, by their id or name: a sky, a helicopter
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Features")]
    pub without: Vec<String>,
    /// Attributes that may hold the height, the first that a feature has counts: metres, or with a unit ("40'")
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Features")]
    pub height_field: Vec<String>,
    /// Attributes that may hold the height of the underside
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Features")]
    pub min_height_field: Vec<String>,
    /// Attributes that may hold the number of storeys, of 3 m each, for what has no height
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Features")]
    pub level_field: Vec<String>,
    /// The attribute that decides colours
    #[arg(long, value_name = "NAME", requires = "palette", help_heading = "Features")]
    pub color_by: Option<String>,
    /// A JSON file of colours by value: {"school": "#c08040", "*": "#808080"}
    #[arg(long, value_name = "FILE", requires = "color_by", help_heading = "Features")]
    pub palette: Option<PathBuf>,
    /// The encoding of text in files that do not name theirs, such as Shift_JIS
    #[arg(long, value_name = "LABEL", value_parser = encoding, help_heading = "Features")]
    pub encoding: Option<String>,
    /// The level of detail of city models to read [default: the finest of each feature]
    #[arg(long, value_name = "LOD", help_heading = "Features")]
    pub lod: Option<u8>,
    /// Fills closed solids
    #[arg(long, help_heading = "Features")]
    pub fill: bool,
    /// Writes the feature of each voxel into the files, and {z}/{x}/{y}.attrs.json
    #[arg(long, help_heading = "Features")]
    pub ids: bool,

    /// What the ground is made from
    #[arg(long, value_name = "GROUND", value_enum, default_value_t = GroundMode::Auto, help_heading = "Ground")]
    pub ground: GroundMode,
    /// Leaves the ground out: the same as --ground none
    #[arg(long, conflicts_with = "ground", help_heading = "Ground")]
    pub no_ground: bool,
    /// The height of the ground where nothing tells it, in metres above the datum
    #[arg(long, value_name = "M", allow_hyphen_values = true, help_heading = "Ground")]
    pub ground_height: Option<f64>,
    /// How images of elevations are encoded, where they do not tell
    #[arg(long, value_name = "ENCODING", value_enum, help_heading = "Ground")]
    pub terrain_encoding: Option<TerrainEncoding>,
    /// The tile that an image of elevations covers, where its name does not tell
    #[arg(long, value_name = "Z/X/Y", help_heading = "Ground")]
    pub tile: Option<TileCoord>,
    /// Colours the ground and the roofs from a GeoTIFF, or a folder or PMTiles archive of map tiles
    #[arg(long, value_name = "FILE", help_heading = "Ground")]
    pub ortho: Vec<PathBuf>,
    /// What becomes of voxels outside of layer 0
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Overflow::Stack, help_heading = "Ground")]
    pub overflow: Overflow,

    /// Who is to be credited; stands in tiles.json and in every file
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub attribution: String,
}

impl JobArgs {
    /// What clap calls these arguments, for one that none of them may stand beside.
    pub(super) fn ids() -> Vec<Id> {
        let command = Self::augment_args(Command::new(""));
        command.get_arguments().map(|argument| argument.get_id().clone()).collect()
    }

    /// What the command line asks for.
    pub fn asked(&self) -> Asked<'_> {
        match self.bbox {
            Some(bbox) => Asked::Bbox(bbox),
            None if self.tiles.is_empty() => Asked::Everything,
            None => Asked::Tiles(&self.tiles),
        }
    }

    /// The inputs; some must be named.
    ///
    /// # Errors
    ///
    /// None is.
    pub fn inputs(&self) -> anyhow::Result<&[PathBuf]> {
        if self.inputs.is_empty() {
            bail!("expected at least one INPUT: a file or a folder of city data (see --help)");
        }
        Ok(&self.inputs)
    }

    /// The settings that the flags come to.
    ///
    /// # Errors
    ///
    /// The palette cannot be read, or flags contradict each other.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let defaults = ReadOptions::default();
        let or = |given: &[String], default: Vec<String>| if given.is_empty() { default } else { given.to_vec() };
        let colour_by = match (&self.color_by, &self.palette) {
            (Some(field), Some(file)) => Some((field.clone(), read_palette(file)?)),
            _ => None,
        };
        let turned = |at: At| at.with_bearing_deg(self.bearing.unwrap_or(0.0))?.with_scale(self.scale.unwrap_or(1.0));
        let at = self.at.map(turned).transpose()?;
        if self.ground_height.is_some_and(|height_m| !height_m.is_finite()) {
            bail!("--ground-height: expected metres");
        }
        Ok(Settings {
            read: ReadOptions {
                height_fields: or(&self.height_field, defaults.height_fields),
                min_height_fields: or(&self.min_height_field, defaults.min_height_fields),
                level_fields: or(&self.level_field, defaults.level_fields),
                colour_by,
                layers: self.layer.clone(),
                without: self.without.clone(),
                encoding: self.encoding.clone(),
                lod: self.lod,
                with_attributes: self.ids,
                ..ReadOptions::default()
            },
            crs: CrsOptions {
                crs: self.crs.clone(),
                axis: self.axis,
                vertical_from: self.vertical_from,
                geoid: self.geoid.clone(),
            },
            at,
            up: self.up,
            elevation_tile: self.tile,
            elevation_encoding: self.terrain_encoding,
            ortho: self.ortho.clone(),
            ground: if self.no_ground { GroundMode::None } else { self.ground },
            ground_height_m: self.ground_height,
            overflow: self.overflow,
            fill: self.fill,
            with_ids: self.ids,
            attribution: self.attribution.clone(),
        })
    }
}

/// The name of an encoding that is known.
fn encoding(label: &str) -> Result<String, String> {
    let known = encoding_rs::Encoding::for_label(label.as_bytes());
    known
        .map(|_| label.to_owned())
        .ok_or_else(|| "expected a label such as Shift_JIS, windows-1252 or utf-8".to_owned())
}

fn read_palette(file: &Path) -> anyhow::Result<BTreeMap<String, Colour>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("{name}: cannot be read"))?;
    let by_value: BTreeMap<String, String> = serde_json::from_str(&text)
        .with_context(|| format!("{name}: expected a JSON object of colours by value, {{\"school\": \"#c08040\"}}"))?;
    let parsed = by_value.into_iter().map(|(value, text)| {
        let colour = colour_of_text(&text).with_context(|| {
            format!("{name}: \"{value}\" has \"{text}\": expected a colour such as #c08040 or brown")
        })?;
        Ok((value, colour))
    });
    parsed.collect()
}
