//! `atlas-tools inspect`: what a file or a tileset is.

mod archive;

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use voxatlas::atlas::{self, AtlasReport, Availability, ColourType, ImageKind, Lineage, Tileset};

use crate::archives::is_archive;
use crate::outcome::{Outcome, print};
use crate::{document, tileset_files};

/// Says what an atlas file, a tileset or a PMTiles archive is: its size, kind, chunks, metadata and voxels, and what is
/// wrong with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools inspect city
  atlas-tools inspect city/17/116415/51623.png --json
  atlas-tools inspect city.pmtiles

Exit codes: 0 nothing is wrong, 1 something is, 2 it cannot be read.")]
pub struct InspectArgs {
    /// An atlas file, a PMTiles archive, or a folder with a tiles.json
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Prints JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// The path cannot be read, or the folder is no tileset.
pub fn run(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let path = &args.path;
    let metadata = std::fs::metadata(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    match metadata.is_dir() {
        true => inspect_dir(path, args.json),
        false if is_archive(path) => archive::inspect(path, args.json),
        false => inspect_file(path, args.json),
    }
}

fn inspect_file(path: &Path, as_json: bool) -> anyhow::Result<Outcome> {
    let bytes = tileset_files::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let report = atlas::inspect(&bytes);
    let view = FileView::of(path, &report);
    let text = if as_json { to_json(&view)? } else { view.to_text() };
    print(&text)?;
    Ok(Outcome::with_findings(!report.is_sound()))
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

    fn to_text(&self) -> String {
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
        for ChunkView { name, at, count, bytes } in &self.chunks {
            text.line("chunk", &format!("{name} at byte {at}: {count}, {bytes} bytes of data"));
        }
        self.findings.iter().for_each(|finding| text.line("finding", finding));
        text.0
    }
}

/// The regions that a coarse file says that it was made of.
fn children(report: &AtlasReport) -> Option<Vec<String>> {
    let (Lineage { children: marks, .. }, metadata) = (report.lineage?, report.metadata.as_ref()?);
    let children = metadata.key.children()?.into_iter().filter(|child| marks[child.octant()].is_some());
    Some(children.map(|child| child.to_string()).collect())
}

fn inspect_dir(path: &Path, as_json: bool) -> anyhow::Result<Outcome> {
    let tileset = tileset_files::document(path)?;
    // Parsing has checked it; this only counts.
    let availability = Availability::of(&tileset)?;
    let files = tileset_files::list(path).with_context(|| format!("{}: cannot be listed", path.display()))?;
    let n_bytes: u64 =
        files.iter().filter_map(|file| std::fs::metadata(path.join(file)).ok()).map(|file| file.len()).sum();
    let layers: Vec<_> = availability.layers().map(|layer| (layer, n_listed(&tileset, layer))).collect();
    if as_json {
        let layers: Vec<_> = layers.iter().map(layer_json).collect();
        let view = json!({
            "tileset": path.display().to_string(),
            "base": tileset.base(),
            "datum": tileset.voxatlas.as_ref().map(|object| &object.datum),
            "attribution": tileset.attribution,
            "bounds": tileset.bounds,
            "minzoom": tileset.minzoom,
            "maxzoom": tileset.maxzoom,
            "layers": layers,
            "files": files.len(),
            "bytes": n_bytes,
        });
        print(&to_json(&view)?)?;
    } else {
        let mut text = Lines::default();
        text.line("tileset", &path.display().to_string());
        text.tileset(&tileset);
        for (layer, zooms) in layers {
            let listed: Vec<_> = zooms.iter().map(|(zoom, n)| format!("{n} tiles of zoom {zoom}")).collect();
            let listed = if listed.is_empty() { "not listed".to_owned() } else { listed.join(", ") };
            text.line("layer", &format!("{layer}: {listed}"));
        }
        text.line("files", &format!("{}, {:.1} MB", files.len(), n_bytes as f64 / 1e6));
        print(&text.0)?;
    }
    Ok(Outcome::Done)
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

fn to_json(view: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(view)? + "\n")
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
