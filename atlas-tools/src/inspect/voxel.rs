//! What stands at one voxel: `atlas-tools inspect --voxel`.
//!
//! Receives a file or a SOURCE and a voxel, yields whether it is occupied, its colour, and the feature that it belongs
//! to, with the attributes of the file beside the atlas. It looks at one region and checks nothing else in it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Map, Value, json};
use voxatlas::atlas::{AtlasError, Decoder, EncodedAtlas, FeatureIds, decode};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::REGION_VOXELS;
use voxatlas::source::{AtlasSource, Source, SourceConfig};

use super::Lines;
use crate::attributes_file::{self, AttributesFile, FeatureAttributes};
use crate::outcome::{Outcome, print};
use crate::tileset_files;

/// Which voxel is asked for.
#[derive(Debug, Args)]
pub struct VoxelArgs {
    /// Says what stands at this voxel alone: x to the east, y upwards, z to the south, 0 to 255 each, within the region
    #[arg(long, value_name = "X,Y,Z")]
    pub voxel: Option<Voxel>,
    /// The tile that the voxel lies in, where PATH is no atlas file but holds many
    #[arg(long, value_name = "Z/X/Y", requires = "voxel")]
    pub tile: Option<TileCoord>,
    /// The layer that the voxel lies in
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, requires = "tile")]
    pub layer: i32,
}

/// A voxel of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voxel(pub [u32; 3]);

impl FromStr for Voxel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let coordinate = |text: &str| text.trim().parse::<u32>().ok().filter(|&value| value < REGION_VOXELS);
        let coordinates: Option<Vec<_>> = text.split(',').map(coordinate).collect();
        let voxel = coordinates.and_then(|coordinates| coordinates.try_into().ok()).map(Self);
        voxel.ok_or_else(|| format!("found \"{text}\": expected x,y,z, each from 0 to {}", REGION_VOXELS - 1))
    }
}

/// Prints what stands at a voxel.
///
/// # Errors
///
/// The atlas cannot be had or decoded, or the attributes beside it cannot be read.
pub(super) fn inspect(path: &Path, voxel: Voxel, args: &VoxelArgs, as_json: bool) -> anyhow::Result<Outcome> {
    let atlas = match args.tile {
        Some(tile) => Atlas::of_source(path, RegionKey::new(tile, args.layer))?,
        None => Atlas::of_file(path)?,
    };
    let answer = Answer::of(&atlas, voxel)?;
    print(&if as_json { format!("{:#}\n", answer.to_json()) } else { answer.to_text() })?;
    Ok(Outcome::with_findings(!answer.findings.is_empty()))
}

/// A region's file, and where its attributes are.
struct Atlas {
    name: String,
    /// Nothing where the region is not there: it is air.
    bytes: Option<Vec<u8>>,
    /// Nothing where only atlases can be had, as from archives.
    attributes: Option<PathBuf>,
}

impl Atlas {
    fn of_file(path: &Path) -> anyhow::Result<Self> {
        if path.is_dir() || !path.exists() && path.to_str().is_some_and(|text| text.contains("://")) {
            bail!("{}: holds many regions: expected --tile Z/X/Y beside --voxel, or an atlas file", path.display());
        }
        let bytes = tileset_files::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let attributes = path.with_file_name(attributes_file::beside(&name));
        Ok(Self { name: path.display().to_string(), bytes: Some(bytes), attributes: Some(attributes) })
    }

    fn of_source(path: &Path, key: RegionKey) -> anyhow::Result<Self> {
        let text = path.to_str().with_context(|| format!("{}: expected a name in UTF-8", path.display()))?;
        let source = Source::open_blocking(text, &SourceConfig::default())?;
        let name = source.name_of(key);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
        let fetched = runtime.block_on(source.fetch(key)).with_context(|| name.clone())?;
        // Also beside a tiles.json that is named itself.
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let attributes = folder
            .filter(|folder| folder.join("tiles.json").is_file() && !crate::archives::is_archive(path))
            .and_then(|folder| Some(folder.join(attributes_file::beside(&source.tileset().path_of(key)?))));
        Ok(Self { name, bytes: fetched.map(|atlas| atlas.bytes().to_vec()), attributes })
    }
}

/// What stands at a voxel.
struct Answer {
    file: String,
    voxel: [u32; 3],
    colour: Option<[u8; 3]>,
    feature: Feature,
    findings: Vec<String>,
}

/// The feature of a voxel, as far as it is known.
enum Feature {
    /// The voxel is air.
    Air,
    /// The file tells of no features.
    Unknown,
    /// It belongs to none.
    None,
    /// Its number, and what the attributes file says of it.
    Known(u32, Option<FeatureAttributes>),
}

impl Answer {
    fn of(atlas: &Atlas, Voxel([x, y, z]): Voxel) -> anyhow::Result<Self> {
        let mut answer = Self {
            file: atlas.name.clone(),
            voxel: [x, y, z],
            colour: None,
            feature: Feature::Air,
            findings: Vec::new(),
        };
        let Some(bytes) = &atlas.bytes else { return Ok(answer) };
        let region = decode(&EncodedAtlas::new(bytes.clone())).with_context(|| atlas.name.clone())?;
        if !region.occupancy.get(x, y, z) {
            return Ok(answer);
        }
        answer.colour = Some(region.colours.get(x, y, z));
        answer.feature = match ids_of(bytes) {
            Err(error) => {
                answer.findings.push(error.to_string());
                Feature::Unknown
            }
            Ok(None) => Feature::Unknown,
            Ok(Some(ids)) => match ids.feature_at(&region.occupancy, [x, y, z]) {
                None => Feature::None,
                Some(number) => Feature::Known(number, answer.attributes(atlas, number)?),
            },
        };
        Ok(answer)
    }

    /// What the file beside the atlas says of a feature.
    fn attributes(&mut self, atlas: &Atlas, number: u32) -> anyhow::Result<Option<FeatureAttributes>> {
        let Some(path) = &atlas.attributes else { return Ok(None) };
        let Some(mut file) = AttributesFile::read(path)? else {
            self.findings.push(format!("{}: missing: it holds the attributes of feature {number}", path.display()));
            return Ok(None);
        };
        let n = file.features.len();
        if number as usize >= n {
            self.findings.push(format!("{}: found {n} features, expected number {number} too", path.display()));
            return Ok(None);
        }
        Ok(Some(file.features.swap_remove(number as usize)))
    }

    fn to_json(&self) -> Value {
        let (number, known) = match &self.feature {
            Feature::Known(number, known) => (Some(*number), known.as_ref()),
            Feature::Air | Feature::Unknown | Feature::None => (None, None),
        };
        let attributes = known.map(|feature| feature.attributes.iter().cloned().collect::<Map<_, _>>());
        json!({
            "file": self.file,
            "voxel": self.voxel,
            "occupied": self.colour.is_some(),
            "colour": self.colour,
            "has_ids": !matches!(self.feature, Feature::Air | Feature::Unknown),
            "feature": number,
            "id": known.map(|feature| &feature.id),
            "attributes": attributes,
            "findings": self.findings,
        })
    }

    fn to_text(&self) -> String {
        let mut text = Lines::default();
        let [x, y, z] = self.voxel;
        text.line("voxel", &format!("{x}, {y}, {z} of {}", self.file));
        match self.colour {
            Some([r, g, b]) => text.line("occupied", &format!("#{r:02x}{g:02x}{b:02x}")),
            None => text.line("air", ""),
        }
        match &self.feature {
            Feature::Air => {}
            Feature::Unknown => text.line("feature", "not known: the file has no feature ids"),
            Feature::None => text.line("feature", "none"),
            Feature::Known(number, None) => {
                text.line("feature", &format!("number {number}; its attributes are not here"));
            }
            Feature::Known(number, Some(FeatureAttributes { id, attributes })) => {
                text.line("feature", &format!("{id} (number {number})"));
                for (name, value) in attributes {
                    // Strings as they are: a person reads them.
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    text.line("", &format!("{name}: {value}"));
                }
            }
        }
        self.findings.iter().for_each(|finding| text.line("finding", finding));
        text.0
    }
}

fn ids_of(bytes: &[u8]) -> Result<Option<FeatureIds>, AtlasError> {
    Decoder::new(bytes)?.feature_ids()
}
