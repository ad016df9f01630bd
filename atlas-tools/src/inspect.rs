//! `atlas-tools inspect`: what a file or a tileset is.

mod archive;
pub mod voxel;
mod voxels;

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use voxatlas::atlas::{self, AtlasReport, ColourType, ImageKind, Lineage, Tileset};
use voxatlas::cli::NetArgs;
use voxatlas::source::{Source, SourceConfig, SourceSpec};

use self::voxels::Voxels;
use crate::archives::{Archives, is_archive};
use crate::flags::{OutputFlags, SelectionFlags};
use crate::outcome::Outcome;
use crate::regions::{Regions, Zooms, is_atlas_file};
use crate::{document, tileset_files};

/// Says what an atlas file, a tileset or a PMTiles archive is: its size, kind, chunks, metadata and voxels, and what is
/// wrong with it.
///
/// Of a file, colours and heights are counted too; of a tileset with --voxels, which reads the regions of its finest zoom
/// or of --zoom. --preview draws what is read from above, a pixel a column of voxels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools inspect city
  atlas-tools inspect city/17/116415/51623.png --preview tower.png
  atlas-tools inspect city.pmtiles --voxels --zoom 14 --json
  atlas-tools inspect https://host/city --preview city.png --bbox 139.744,35.656,139.749,35.660

Exit codes: 0 nothing is wrong, 1 something is, 2 it cannot be read.")]
pub struct InspectArgs {
    /// An atlas file, a folder, a tiles.json, a .pmtiles archive, a URL of these, or a URL template
    #[arg(value_name = "SOURCE|FILE")]
    pub source: String,
    /// One voxel of a file, in place of everything
    #[command(flatten)]
    pub voxel: voxel::VoxelArgs,
    /// Reads the regions of a tileset: colours, heights, bricks
    #[arg(long)]
    pub voxels: bool,
    /// Draws the regions from above
    #[arg(long, value_name = "FILE.png")]
    pub preview: Option<PathBuf>,
    /// Colours that are listed
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub top: usize,
    /// Which regions are read
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
    /// How web servers are asked
    #[command(flatten)]
    pub net: NetArgs,
}

/// Runs the command.
///
/// # Errors
///
/// The source cannot be read, or is no tileset.
pub fn run(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let source = args.source.as_str();
    if let Some(asked) = args.voxel.voxel {
        return voxel::inspect(Path::new(source), asked, &args.voxel, args.output.json);
    }
    let (mut view, has_findings) = if is_single_file(source) {
        file_view(Path::new(source))?
    } else {
        let config = args.net.config()?;
        let view = match Archives::spec(source)? {
            Some(spec) => archive::view(source, &spec, &config)?,
            None => tileset_view(source, &config)?,
        };
        let has_findings = view.json["findings"].as_array().is_some_and(|findings| !findings.is_empty());
        (view, has_findings)
    };
    let is_readable = view.is_readable;
    let voxels = if is_readable && (args.voxels || args.preview.is_some() || is_single_file(source)) {
        let regions = Regions::open(source, &args.net.config()?, &args.selection, Zooms::Finest)?;
        regions.expect_some()?;
        Some(Voxels::read(&regions, args.preview.as_deref(), args.top, args.output)?)
    } else {
        None
    };
    if let Some(voxels) = &voxels {
        view.json["content"] = voxels.to_json();
        if !is_single_file(source) {
            voxels.add_counts_to(&mut view.text);
        }
        voxels.add_to(&mut view.text);
    }
    let View { text, json, .. } = view;
    args.output.say(|| format!("{json:#}\n"), || text.0)?;
    Ok(Outcome::with_findings(has_findings || voxels.is_some_and(|voxels| !voxels.findings.is_empty())))
}

/// What there is to say, for people and for programs.
struct View {
    text: Lines,
    json: Value,
    /// Whether its regions can be read.
    is_readable: bool,
}

/// Whether the text names one file that is looked at as an atlas, whatever it is.
fn is_single_file(source: &str) -> bool {
    let path = Path::new(source);
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    is_atlas_file(source) || path.is_file() && !is_json && !is_archive(path)
}

fn file_view(path: &Path) -> anyhow::Result<(View, bool)> {
    let bytes = tileset_files::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let report = atlas::inspect(&bytes);
    let view = FileView::of(path, &report);
    let is_readable = report.voxels.is_some() && is_atlas_file(&path.display().to_string());
    Ok((View { text: view.to_text(), json: serde_json::to_value(&view)?, is_readable }, !report.is_sound()))
}

/// A report in a form that can be printed.
#[derive(Debug, Serialize)]
struct FileView {
    file: String,
    bytes: usize,
    kind: Option<&'static str>,
    width: Option<u32>,
    height: Option<u32>,
    colours: Option<&'static str>,
    bit_depth: Option<u8>,
    interlaced: Option<bool>,
    /// Why the file is decoded the plain way; nothing where it is in strips.
    not_in_strips: Option<String>,
    metadata: Option<MetadataView>,
    /// What a coarse file was made of.
    children: Option<Vec<String>>,
    features: Option<FeatureView>,
    voxels: Option<VoxelView>,
    chunks: Vec<ChunkView>,
    findings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MetadataView {
    tile: String,
    layer: i32,
    base: i32,
    voxel_size_m: f64,
    clipped: u64,
    credit: String,
}

#[derive(Debug, Serialize)]
struct VoxelView {
    occupied: u64,
    bricks: u32,
    colours: u32,
}

/// What the file tells of features.
#[derive(Debug, Serialize)]
struct FeatureView {
    features: u32,
    voxels: u64,
    runs: usize,
}

#[derive(Debug, Serialize)]
struct ChunkView {
    name: String,
    at: usize,
    count: usize,
    bytes: usize,
}

impl FileView {
    fn of(path: &Path, report: &AtlasReport) -> Self {
        let header = report.header;
        Self {
            file: path.display().to_string(),
            bytes: report.size_bytes,
            kind: report.kind.map(|kind| match kind {
                ImageKind::Png => "PNG",
                ImageKind::Webp => "WebP",
            }),
            width: header.map(|header| header.width),
            height: header.map(|header| header.height),
            colours: header.map(|header| match header.colour_type {
                ColourType::Grey => "grey",
                ColourType::Rgb => "RGB",
                ColourType::Indexed => "palette",
                ColourType::GreyAlpha => "grey and alpha",
                ColourType::Rgba => "RGBA",
            }),
            bit_depth: header.map(|header| header.bit_depth),
            interlaced: header.map(|header| header.is_interlaced),
            not_in_strips: report.not_in_strips.clone(),
            metadata: report.metadata.as_ref().map(|metadata| MetadataView {
                tile: metadata.key.tile.to_string(),
                layer: metadata.key.layer,
                base: metadata.base,
                voxel_size_m: metadata.voxel_size_m,
                clipped: metadata.clipped,
                credit: metadata.credit.clone(),
            }),
            children: children(report),
            features: report.features.map(|features| FeatureView {
                features: features.n_features,
                voxels: features.voxels,
                runs: features.runs,
            }),
            voxels: report.voxels.map(|voxels| VoxelView {
                occupied: voxels.occupied,
                bricks: voxels.bricks,
                colours: voxels.colours,
            }),
            chunks: report
                .chunks
                .iter()
                .map(|chunk| ChunkView {
                    name: chunk.name.clone(),
                    at: chunk.at_byte,
                    count: chunk.n_chunks,
                    bytes: chunk.data_bytes,
                })
                .collect(),
            findings: report.findings.iter().map(ToString::to_string).collect(),
        }
    }

    fn to_text(&self) -> Lines {
        let mut text = Lines::default();
        text.line("file", &format!("{}, {} bytes", self.file, self.bytes));
        text.line("kind", self.kind.unwrap_or("no image"));
        if let (Some(width), Some(height), Some(colours)) = (self.width, self.height, self.colours) {
            let interlaced = if self.interlaced == Some(true) { ", interlaced" } else { "" };
            let depth = self.bit_depth.unwrap_or_default();
            text.line("image", &format!("{width} x {height}, {colours}, {depth} bits{interlaced}"));
            text.line(
                "decoded",
                &self.not_in_strips.as_ref().map_or("in strips".to_owned(), |why| format!("the plain way: {why}")),
            );
        }
        if let Some(metadata) = &self.metadata {
            let MetadataView { tile, layer, base, voxel_size_m, clipped, credit } = metadata;
            text.line("region", &format!("{tile} layer {layer}, base {base}, a voxel is {voxel_size_m:.4} m"));
            text.line("clipped", &format!("{clipped} voxels"));
            text.line("credit", if credit.is_empty() { "none" } else { credit });
        }
        if let Some(children) = &self.children {
            text.line("made of", &children.join(", "));
        }
        if let Some(VoxelView { occupied, bricks, colours }) = self.voxels {
            text.line("voxels", &format!("{occupied} in {bricks} bricks, {colours} colours"));
        }
        if let Some(FeatureView { features, voxels, runs }) = self.features {
            text.line("features", &format!("{features}, of {voxels} voxels in {runs} runs"));
        }
        for ChunkView { name, at, count, bytes } in &self.chunks {
            text.line("chunk", &format!("{name} at byte {at}: {count}, {bytes} bytes of data"));
        }
        self.findings.iter().for_each(|finding| text.line("finding", finding));
        text
    }
}

/// The regions that a coarse file says that it was made of.
fn children(report: &AtlasReport) -> Option<Vec<String>> {
    let (Lineage { children: marks, .. }, metadata) = (report.lineage?, report.metadata.as_ref()?);
    let children = metadata.key.children()?.into_iter().filter(|child| marks[child.octant()].is_some());
    Some(children.map(|child| child.to_string()).collect())
}

fn tileset_view(source: &str, config: &SourceConfig) -> anyhow::Result<View> {
    if Path::new(source).is_dir() {
        // Says what is missing in words for folders.
        tileset_files::document(Path::new(source))?;
    }
    let opened = Source::open_blocking(source, config)?;
    let tileset = opened.tileset();
    let layers: Vec<_> = opened.availability().layers().map(|layer| (layer, n_listed(tileset, layer))).collect();
    let mut json = tileset_json(tileset);
    json["tileset"] = json!(source);
    json["layers"] = layers.iter().map(layer_json).collect();
    let mut text = Lines::default();
    text.line("tileset", source);
    text.tileset(tileset);
    for (layer, zooms) in layers {
        let listed: Vec<_> = zooms.iter().map(|(zoom, n)| format!("{n} tiles of zoom {zoom}")).collect();
        let listed = if listed.is_empty() { "not listed".to_owned() } else { listed.join(", ") };
        text.line("layer", &format!("{layer}: {listed}"));
    }
    // Only a folder of this machine can be weighed without reading it all.
    if let SourceSpec::Document(path) = SourceSpec::parse(source)? {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let files = tileset_files::list(folder).with_context(|| format!("{}: cannot be listed", folder.display()))?;
        let sizes = files.iter().filter_map(|file| std::fs::metadata(folder.join(file)).ok());
        let n_bytes: u64 = sizes.map(|file| file.len()).sum();
        json["files"] = json!(files.len());
        json["bytes"] = json!(n_bytes);
        text.line("files", &format!("{}, {:.1} MB", files.len(), n_bytes as f64 / 1e6));
    }
    Ok(View { text, json, is_readable: true })
}

/// What a document says of its tileset as a whole.
fn tileset_json(tileset: &Tileset) -> Value {
    json!({
        "base": tileset.base(),
        "datum": tileset.voxatlas.as_ref().map(|object| &object.datum),
        "attribution": tileset.attribution,
        "bounds": tileset.bounds,
        "minzoom": tileset.minzoom,
        "maxzoom": tileset.maxzoom,
    })
}

/// How many tiles a layer lists, by zoom, the finest first; none where it lists nothing and must be asked.
fn n_listed(tileset: &Tileset, layer: i32) -> Vec<(u8, usize)> {
    let of_layer = document::bitmaps(tileset).filter(|&(other, _)| other == layer);
    let mut zooms: Vec<_> = of_layer.map(|(_, bitmap)| (bitmap.zoom(), bitmap.len())).collect();
    zooms.sort_by_key(|&(zoom, _)| Reverse(zoom));
    zooms
}

fn layer_json((layer, zooms): &(i32, Vec<(u8, usize)>)) -> serde_json::Value {
    let n: Option<usize> = (!zooms.is_empty()).then(|| zooms.iter().map(|&(_, n)| n).sum());
    let zooms: Vec<_> = zooms.iter().map(|(zoom, n)| json!({ "zoom": zoom, "tiles": n })).collect();
    json!({ "layer": layer, "tiles": n, "zooms": zooms })
}

/// Text of labelled lines.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// What a document says of its tileset as a whole.
    fn tileset(&mut self, tileset: &Tileset) {
        self.line("zooms", &format!("{} to {}", tileset.minzoom, tileset.maxzoom));
        if let Some([west, south, east, north]) = tileset.bounds {
            self.line("bounds", &format!("{west:.6},{south:.6},{east:.6},{north:.6}"));
        }
        let datum = tileset.voxatlas.as_ref().map_or("unknown", |object| object.datum.as_str());
        self.line("heights", &format!("from {datum}; layer 0 begins at y = {}", tileset.base()));
        self.line("credit", tileset.attribution.as_deref().unwrap_or("none"));
    }

    fn line(&mut self, label: &str, value: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{label:<10}{value}");
    }
}
