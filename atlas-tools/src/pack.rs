//! `atlas-tools pack`: a tileset's folder becomes PMTiles archives, one a layer.
//!
//! Tiles go into an archive in the order of their ids, each read and written before the next, equal ones once: the same
//! folder gives the same bytes. What is held is a number a tile and what the writer keeps of it, some 100 bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::ProgressBar;
use pmtiles::{PmTilesWriter, PmtError, TileCoord as PmTile, TileId, TileType};
use serde::Serialize;
use voxatlas::atlas::{Availability, Presence, TileBitmap, Tileset};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::ATLAS_FILE_BYTES_MAX;
use voxatlas::source::archive::{ArchiveDocument, LayerFile, TileKind};

#[cfg(not(feature = "mbtiles"))]
use crate::archives::NO_MBTILES;
use crate::archives::{is_archive, is_mbtiles};
use crate::flags::OutputFlags;
#[cfg(feature = "mbtiles")]
use crate::mbtiles::{Described, MbtilesWriter};
use crate::outcome::{Finding, Outcome};
use crate::output::{OutputError, PartFile};
use crate::{attributes_file, tileset_files};

/// Packs a tileset's folder into PMTiles archives or MBTiles databases, one file a layer.
///
/// Layer 0 goes to FILE.pmtiles, layer 1 to FILE.l1.pmtiles beside it, and so on; a SOURCE is any one of them. Their
/// metadata hold tiles.json. FILE.mbtiles and FILE.l1.mbtiles are the same for programs that read MBTiles (in builds with
/// the feature `mbtiles`). Equal tiles are stored once. Archives hold atlases alone: the attributes of features,
/// *.attrs.json, are counted and left out. Other files that are none of the tileset are named and left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools pack city city.pmtiles
  atlas-tools pack city city.pmtiles --force --json
  atlas-tools pack city city.mbtiles

Exit codes: 0 done, 1 done but files were left out, 2 wrong usage or nothing done.")]
pub struct PackArgs {
    /// The folder that holds tiles.json
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The archive of layer 0
    #[arg(value_name = "FILE.pmtiles|FILE.mbtiles")]
    pub file: PathBuf,
    /// Replaces archives that are already there
    #[arg(long)]
    pub force: bool,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(Debug, Serialize)]
struct Summary {
    archives: Vec<Packed>,
    /// Files of attributes, for which an archive has no place.
    attributes_left_out: u64,
    /// What in the folder is not in the archives.
    findings: Vec<Finding>,
}

/// An archive that was written.
#[derive(Debug, Serialize)]
struct Packed {
    file: String,
    layer: i32,
    tiles: u64,
    bytes: u64,
}

/// Runs the command.
///
/// # Errors
///
/// The folder is no tileset of files, an archive is there already or cannot be written, or Ctrl-C was pressed.
pub fn run(args: &PackArgs) -> anyhow::Result<Outcome> {
    let document = read_document(&args.dir)?;
    let files = layer_files(&document.tileset, &args.file)?;
    if let Some((_, path)) = files.iter().find(|(_, path)| !args.force && path.exists()) {
        bail!("{}: is there already: --force replaces it", path.display());
    }
    let mut summary = Summary { archives: Vec::new(), attributes_left_out: 0, findings: Vec::new() };
    let ids = document.tile_ids(&args.dir, &files, &mut summary)?;
    let n_tiles = ids.values().map(Vec::len).sum::<usize>();
    let names: Vec<LayerFile> = files.iter().map(|(file, _)| file.clone()).collect();
    let pack = Pack {
        dir: &args.dir,
        document: &document,
        names: if document.tileset.voxatlas.is_some() { names } else { Vec::new() },
        stop: crate::interrupt::flag().context("Ctrl-C cannot be watched")?,
        progress: args.output.bar(n_tiles as u64, "tiles"),
    };
    let mut parts = Vec::new();
    for (file, path) in &files {
        let ids = ids.get(&file.layer).map(Vec::as_slice).unwrap_or_default();
        parts.push(pack.layer(file.layer, path, ids, &mut summary)?);
    }
    // All or none: archives of two runs beside each other would be two tilesets.
    for part in parts {
        part.finish()?;
    }
    pack.progress.finish_and_clear();
    let json = serde_json::to_string_pretty(&summary)? + "\n";
    args.output.say(|| json, || summary.to_text())?;
    for finding in summary.findings.iter().filter(|_| !args.output.json) {
        eprintln!("warning: {finding}");
    }
    Ok(Outcome::with_findings(!summary.findings.is_empty()))
}

/// Packs a folder that was made a moment ago, whatever is at the archive's place.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn archive(dir: &Path, file: &Path) -> anyhow::Result<Outcome> {
    let (dir, file) = (dir.to_owned(), file.to_owned());
    run(&PackArgs { dir, file, force: true, output: OutputFlags { json: false, quiet: true } })
}

/// A tileset's document.
struct Document {
    name: String,
    bytes: Vec<u8>,
    tileset: Tileset,
}

fn read_document(dir: &Path) -> anyhow::Result<Document> {
    let bytes = tileset_files::document_bytes(dir)?;
    let name = dir.join("tiles.json").display().to_string();
    let tileset = Tileset::parse(&bytes, &name)?;
    let listed = tileset.voxatlas.iter().flat_map(|object| &object.layers).flat_map(|object| &object.tiles);
    if let Some(template) = listed.chain(&tileset.tiles).find(|template| template.contains("://")) {
        bail!("{name}: the tiles lie at {template}: expected files in the folder");
    }
    Ok(Document { name, bytes, tileset })
}

/// The archive of each layer: its name and where it is written. Layer 0 always has one, which is the file that was asked
/// for.
fn layer_files(tileset: &Tileset, file: &Path) -> anyhow::Result<Vec<(LayerFile, PathBuf)>> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !(is_archive(file) || is_mbtiles(file)) || stem.is_empty() {
        bail!("{}: expected a name such as city.pmtiles or city.mbtiles", file.display());
    }
    let listed = tileset.voxatlas.iter().flat_map(|object| &object.layers).map(|object| object.layer);
    let layers: std::collections::BTreeSet<i32> = listed.chain([0]).collect();
    let named = layers.into_iter().map(|layer| {
        let name = if layer == 0 { format!("{stem}.{extension}") } else { format!("{stem}.l{layer}.{extension}") };
        let path = file.with_file_name(&name);
        (LayerFile { layer, file: name }, path)
    });
    let files: Vec<_> = named.collect();
    match files.iter().find(|(file, _)| !file.is_neighbour()) {
        Some((file, _)) => bail!(
            "\"{}\": expected a name without / \\ : ? # % and without a dot at its start, since archives name each other in URLs",
            file.file
        ),
        None => Ok(files),
    }
}

impl Document {
    /// The ids of the tiles whose files are in the folder, by layer, ascending.
    fn tile_ids(
        &self,
        dir: &Path,
        archives: &[(LayerFile, PathBuf)],
        Summary { attributes_left_out, findings, .. }: &mut Summary,
    ) -> anyhow::Result<BTreeMap<i32, Vec<u64>>> {
        let availability = Availability::of(&self.tileset)?;
        let mut ids: BTreeMap<i32, Vec<u64>> = BTreeMap::new();
        let mut add = |file: &str, finding: String| findings.push(Finding { file: file.to_owned(), finding });
        let mut visit = |file: &str| {
            let is_ours = file == "tiles.json" || archives.iter().any(|(_, path)| *path == dir.join(file));
            match self.tileset.key_of(file).or_else(|| self.tileset.key_of(&format!("./{file}"))) {
                _ if is_ours => {}
                _ if tileset_files::is_leftover(file) => {
                    add(file, "left by a run that was ended; it can be removed".to_owned());
                }
                None if attributes_file::is_file_name(file) => *attributes_left_out += 1,
                None => add(file, "no file of the tileset: left out".to_owned()),
                Some(key) if availability.presence(key) == Presence::Absent => {
                    add(file, format!("tiles.json does not list {key}: left out"));
                }
                Some(key) => match id_of(key.tile) {
                    Ok(id) => ids.entry(key.layer).or_default().push(id),
                    Err(error) => add(file, error.to_string()),
                },
            }
        };
        tileset_files::walk(dir, &mut visit).with_context(|| format!("{}: cannot be listed", dir.display()))?;
        for ids in ids.values_mut() {
            ids.sort_unstable();
        }
        for object in self.tileset.voxatlas.iter().flat_map(|object| &object.layers) {
            let found = ids.get(&object.layer).map(Vec::as_slice).unwrap_or_default();
            let bitmaps = object.availability.iter().filter_map(|bitmap| TileBitmap::decode(bitmap, object.layer).ok());
            for tile in bitmaps.flat_map(|bitmap| bitmap.tiles().collect::<Vec<_>>()) {
                let key = RegionKey::new(tile, object.layer);
                let file = self.tileset.path_of(key).unwrap_or_default();
                if !id_of(tile).is_ok_and(|id| found.binary_search(&id).is_ok()) {
                    findings.push(Finding { file, finding: format!("missing, though tiles.json lists {key}") });
                }
            }
        }
        findings.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(ids)
    }
}

/// What the layers of a run share.
struct Pack<'a> {
    dir: &'a Path,
    document: &'a Document,
    names: Vec<LayerFile>,
    stop: Arc<AtomicBool>,
    progress: ProgressBar,
}

impl Pack<'_> {
    /// Writes the archive of a layer, all but its name.
    fn layer(&self, layer: i32, path: &Path, ids: &[u64], summary: &mut Summary) -> anyhow::Result<PartFile> {
        // The kind of the tiles stands at the head, so the first one is read before the writer begins.
        let mut tiles = Tiles { pack: self, layer, ids: ids.iter(), kind: None };
        let first = tiles.next(&mut summary.findings)?;
        let (part, n_tiles) = if is_mbtiles(path) {
            self.mbtiles(path, ids, tiles, first, &mut summary.findings)?
        } else {
            self.pmtiles(path, ids, tiles, first, &mut summary.findings)?
        };
        let size_bytes = std::fs::metadata(part.part()).map_or(0, |metadata| metadata.len());
        summary.archives.push(Packed { file: path.display().to_string(), layer, tiles: n_tiles, bytes: size_bytes });
        Ok(part)
    }

    fn pmtiles(
        &self,
        path: &Path,
        ids: &[u64],
        mut tiles: Tiles<'_>,
        mut next: Option<Tile>,
        findings: &mut Vec<Finding>,
    ) -> anyhow::Result<(PartFile, u64)> {
        let Document { name, bytes, tileset } = self.document;
        let metadata = ArchiveDocument::new(bytes, name, tiles.layer, self.names.clone())?.to_metadata();
        let part = PartFile::create(path)?;
        let fail = |error: PmtError| match error {
            PmtError::Reading(error) => anyhow::Error::new(OutputError { path: path.to_owned(), error }),
            error => anyhow::anyhow!("{}: {error}", path.display()),
        };
        let kind = match tiles.kind {
            Some((TileKind::Webp, _)) => TileType::Webp,
            _ => TileType::Png,
        };
        let mut writer = builder(kind, tileset, ids, metadata).create(part.file()).map_err(fail)?;
        let mut n_tiles = 0;
        while let Some((tile, bytes)) = next {
            writer.add_tile(PmTile::new(tile.zoom(), tile.x(), tile.y())?, &bytes).map_err(fail)?;
            n_tiles += 1;
            next = tiles.next(findings)?;
        }
        writer.finalize().map_err(fail)?;
        Ok((part, n_tiles))
    }

    #[cfg(feature = "mbtiles")]
    fn mbtiles(
        &self,
        path: &Path,
        ids: &[u64],
        mut tiles: Tiles<'_>,
        mut next: Option<Tile>,
        findings: &mut Vec<Finding>,
    ) -> anyhow::Result<(PartFile, u64)> {
        let Document { bytes, tileset, .. } = self.document;
        let described = Described { document: bytes.clone(), layer: tiles.layer, files: self.names.clone() };
        let kind = tiles.kind.as_ref().map_or(TileKind::Png, |(kind, _)| *kind);
        let Extent { zooms, bounds } = Extent::of(tileset, ids);
        let mut writer = MbtilesWriter::create(path, &described, kind, bounds, zooms)?;
        let mut n_tiles = 0;
        while let Some((tile, bytes)) = next {
            writer.add(tile, &bytes)?;
            n_tiles += 1;
            next = tiles.next(findings)?;
        }
        Ok((writer.finish()?, n_tiles))
    }

    #[cfg(not(feature = "mbtiles"))]
    fn mbtiles(
        &self,
        path: &Path,
        _: &[u64],
        _: Tiles<'_>,
        _: Option<Tile>,
        _: &mut Vec<Finding>,
    ) -> anyhow::Result<(PartFile, u64)> {
        bail!("{}: {} is not packed: {NO_MBTILES}", path.display(), self.document.name)
    }
}

/// The zooms and the box that some tiles take up.
struct Extent {
    zooms: [u8; 2],
    /// West, south, east, north, in degrees.
    bounds: [f64; 4],
}

impl Extent {
    fn of(tileset: &Tileset, ids: &[u64]) -> Self {
        let tiles = || ids.iter().filter_map(|&id| tile_of(id));
        let zooms = || tiles().map(TileCoord::zoom);
        let (zoom_min, zoom_max) = (zooms().min().unwrap_or(tileset.minzoom), zooms().max().unwrap_or(tileset.maxzoom));
        let edges = tiles().map(|tile| tile.bounds().to_array());
        let union = edges.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
        // The heads of archives have no words for a box across the antimeridian.
        let stated = tileset.bounds.filter(|[west, _, east, _]| west <= east);
        let bounds = stated.or(union).unwrap_or([-180.0, -85.051_129, 180.0, 85.051_129]);
        Self { zooms: [zoom_min, zoom_max], bounds }
    }
}

/// A writer whose header and metadata are those of the tiles.
fn builder(kind: TileType, tileset: &Tileset, ids: &[u64], metadata: String) -> PmTilesWriter {
    let Extent { zooms: [zoom_min, zoom_max], bounds: [west, south, east, north] } = Extent::of(tileset, ids);
    PmTilesWriter::new(kind)
        .min_zoom(zoom_min)
        .max_zoom(zoom_max)
        .bounds(west, south, east, north)
        .center(f64::midpoint(west, east), f64::midpoint(south, north))
        .center_zoom(zoom_max)
        .metadata(metadata)
}

/// A tile and its bytes.
type Tile = (TileCoord, Vec<u8>);

/// The tiles of a layer, one after the other.
struct Tiles<'a> {
    pack: &'a Pack<'a>,
    layer: i32,
    ids: std::slice::Iter<'a, u64>,
    /// What the tiles are, and the file that says so.
    kind: Option<(TileKind, String)>,
}

impl Tiles<'_> {
    /// The next tile that belongs into an archive.
    fn next(&mut self, findings: &mut Vec<Finding>) -> anyhow::Result<Option<Tile>> {
        while let Some(&id) = self.ids.next() {
            if self.pack.stop.load(Ordering::Relaxed) {
                bail!("interrupted after {} tiles: no archive was written", self.pack.progress.position());
            }
            self.pack.progress.inc(1);
            let Some(tile) = tile_of(id) else { continue };
            let key = RegionKey::new(tile, self.layer);
            let Some(file) = self.pack.document.tileset.path_of(key) else { continue };
            match self.read(&file)? {
                Ok(bytes) => return Ok(Some((tile, bytes))),
                Err(finding) => findings.push(Finding { file, finding }),
            }
        }
        Ok(None)
    }

    /// The bytes of a file, or why it is left out.
    fn read(&mut self, file: &str) -> anyhow::Result<Result<Vec<u8>, String>> {
        let bytes = match tileset_files::read(&self.pack.dir.join(file)) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(format!("cannot be read: {error}"))),
        };
        if bytes.is_empty() {
            return Ok(Err("empty: left out, since a region of air needs no tile".to_owned()));
        }
        if bytes.len() > ATLAS_FILE_BYTES_MAX {
            return Ok(Err(format!("larger than {ATLAS_FILE_BYTES_MAX} bytes: left out")));
        }
        let Some(kind) = TileKind::of(&bytes) else {
            return Ok(Err("begins like neither a PNG nor a WebP image: left out".to_owned()));
        };
        match &self.kind {
            Some((other, first)) if *other != kind => {
                bail!("{file} is {kind:?} and {first} is {other:?}: expected one kind, since an archive holds one")
            }
            Some(_) => {}
            None => self.kind = Some((kind, file.to_owned())),
        }
        Ok(Ok(bytes))
    }
}

impl Summary {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for Packed { file, layer, tiles, bytes } in &self.archives {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{file}: layer {layer}, {tiles} tiles, {:.1} MB", *bytes as f64 / 1e6);
        }
        if self.attributes_left_out > 0 {
            let _ = writeln!(text, "{} files of attributes stay in the folder", self.attributes_left_out);
        }
        text
    }
}

fn id_of(tile: TileCoord) -> Result<u64, PmtError> {
    PmTile::new(tile.zoom(), tile.x(), tile.y()).map(|tile| TileId::from(tile).value())
}

fn tile_of(id: u64) -> Option<TileCoord> {
    let tile = PmTile::from(TileId::new(id).ok()?);
    TileCoord::new(tile.z(), tile.x(), tile.y()).ok()
}
