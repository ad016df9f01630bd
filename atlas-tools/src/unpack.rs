//! `atlas-tools unpack`: PMTiles archives or MBTiles databases become a tileset's folder again.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::ProgressBar;
use rustc_hash::FxHashSet;
use serde_json::json;
use voxatlas::atlas::Tileset;
use voxatlas::geo::RegionKey;
use voxatlas::source::{SourceConfig, SourceSpec};

#[cfg(not(feature = "mbtiles"))]
use crate::archives::NO_MBTILES;
use crate::archives::{Archives, is_mbtiles};
use crate::flags::OutputFlags;
#[cfg(feature = "mbtiles")]
use crate::mbtiles::MbtilesReader;
use crate::outcome::{Finding, Outcome};
use crate::output::OutputDir;

/// Unpacks PMTiles archives, or MBTiles databases, into a folder of tiles and a tiles.json.
///
/// The archives of the other layers are found beside the one that is named. The tiles get the bytes and the names that
/// they had when they were packed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools unpack city.pmtiles city
  atlas-tools unpack city.mbtiles city

Exit codes: 0 done, 1 done but something is wrong with a tile, 2 wrong usage or nothing done.")]
pub struct UnpackArgs {
    /// The archive of any layer
    #[arg(value_name = "FILE.pmtiles|FILE.mbtiles")]
    pub file: PathBuf,
    /// The folder that receives tiles.json and the tiles
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Unpacks into a folder that holds something already, where files of the same names are replaced, and archives that
    /// claim far more than they hold
    #[arg(long)]
    pub force: bool,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Runs the command.
///
/// # Errors
///
/// An archive cannot be read or contradicts itself, the folder cannot be written, or Ctrl-C was pressed.
pub fn run(args: &UnpackArgs) -> anyhow::Result<Outcome> {
    let is_used = std::fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !args.force {
        bail!("{}: holds something already: expected an empty folder, or --force", args.dir.display());
    }
    let unpacked = if is_mbtiles(&args.file) { mbtiles(args)? } else { pmtiles(args)? };
    let Unpacked { tiles, bytes, layers, findings } = unpacked;
    args.output.say(
        || format!("{}\n", json!({ "tiles": tiles, "bytes": bytes, "layers": layers, "findings": findings })),
        || format!("{}: {tiles} tiles, {:.1} MB\n", args.dir.display(), bytes as f64 / 1e6),
    )?;
    for finding in findings.iter().filter(|_| !args.output.json) {
        eprintln!("warning: {finding}");
    }
    Ok(Outcome::with_findings(!findings.is_empty()))
}

/// What came of it.
#[derive(Debug, Default)]
struct Unpacked {
    tiles: u64,
    bytes: u64,
    layers: usize,
    findings: Vec<Finding>,
}

fn pmtiles(args: &UnpackArgs) -> anyhow::Result<Unpacked> {
    let archives = Archives::open(&SourceSpec::Archive(args.file.clone()), &SourceConfig::default())?;
    let claim = Claim::of(&archives)?;
    if !args.force {
        claim.expect_credible(&args.file)?;
    }
    let out = OutputDir::create(&args.dir)?;
    let mut unpack = Unpack::new(args, archives.document.tileset(), &out, claim.tiles)?;
    let runtime = &archives.runtime;
    for (&layer, archive) in &archives.layers {
        let mut runs = runtime.block_on(archive.runs())?;
        while let Some(run) = runtime.block_on(runs.next())? {
            let Some(bytes) = runtime.block_on(runs.content(run))? else { continue };
            for tile in run.tiles() {
                unpack.put(RegionKey::new(tile, layer), &bytes)?;
            }
        }
    }
    // The last one, so that a folder with a tiles.json is whole.
    out.write("tiles.json", archives.document.to_tiles_json().as_bytes())?;
    Ok(Unpacked { layers: archives.layers.len(), ..unpack.end() })
}

#[cfg(feature = "mbtiles")]
fn mbtiles(args: &UnpackArgs) -> anyhow::Result<Unpacked> {
    let named = MbtilesReader::open(&args.file)?;
    let described = named.described()?;
    let tileset = Tileset::parse(&described.document, &args.file.display().to_string())?;
    let mut layers = std::collections::BTreeMap::from([(described.layer, (args.file.clone(), named))]);
    for file in described.files.iter().filter(|file| file.layer != described.layer) {
        if !file.is_neighbour() {
            bail!("{}: names \"{}\": expected the plain name of a database beside it", args.file.display(), file.file);
        }
        let path = args.file.with_file_name(&file.file);
        let reader = MbtilesReader::open(&path)?;
        let other = reader.described()?;
        if other.layer != file.layer || other.document != described.document {
            let (path, named, layer) = (path.display(), args.file.display(), file.layer);
            bail!("{path}: found layer {} of a tileset, expected layer {layer} of the one of {named}", other.layer);
        }
        layers.insert(file.layer, (path, reader));
    }
    let mut n_tiles = 0;
    for (_, reader) in layers.values() {
        n_tiles += reader.n_tiles()?;
    }
    let out = OutputDir::create(&args.dir)?;
    let mut unpack = Unpack::new(args, &tileset, &out, n_tiles)?;
    let mut findings = Vec::new();
    for (&layer, (path, reader)) in &layers {
        let finding = |finding: String| Finding { file: path.display().to_string(), finding };
        findings.extend(reader.disagreement()?.map(finding));
        reader.each(|tile| match tile {
            Ok((tile, bytes)) => unpack.put(RegionKey::new(tile, layer), &bytes),
            Err(what) => {
                findings.push(finding(what));
                Ok(())
            }
        })?;
    }
    out.write("tiles.json", &described.document)?;
    Ok(Unpacked { layers: layers.len(), findings, ..unpack.end() })
}

#[cfg(not(feature = "mbtiles"))]
fn mbtiles(args: &UnpackArgs) -> anyhow::Result<Unpacked> {
    bail!("{}: {NO_MBTILES}", args.file.display())
}

/// What archives claim to hold. A few bytes may claim four billion tiles of the same content.
#[derive(Debug, Clone, Copy)]
struct Claim {
    tiles: u64,
    /// Bytes that would be written.
    bytes: u64,
    /// Bytes of the contents, each counted once.
    stored_bytes: u64,
}

/// Below this, whatever an archive claims is written.
const CLAIM_BYTES: u64 = 1 << 30;
const CLAIM_TILES: u64 = 1 << 20;

/// How often contents may be written, all in all: a sea of equal ground is no lie.
const CLAIM_RATIO: u64 = 64;

impl Claim {
    fn of(archives: &Archives) -> anyhow::Result<Self> {
        let mut claim = Self { tiles: 0, bytes: 0, stored_bytes: 0 };
        let runtime = &archives.runtime;
        for archive in archives.layers.values() {
            let mut contents = FxHashSet::default();
            let mut runs = runtime.block_on(archive.runs())?;
            while let Some(run) = runtime.block_on(runs.next())? {
                let (n_tiles, size_bytes) = (u64::from(run.n_tiles()), u64::from(run.size_bytes()));
                claim.tiles = claim.tiles.saturating_add(n_tiles);
                claim.bytes = claim.bytes.saturating_add(n_tiles.saturating_mul(size_bytes));
                if contents.insert(run.offset()) {
                    claim.stored_bytes = claim.stored_bytes.saturating_add(size_bytes);
                }
            }
        }
        Ok(claim)
    }

    fn expect_credible(self, file: &Path) -> anyhow::Result<()> {
        let Self { tiles, bytes, stored_bytes } = self;
        let is_much = bytes > CLAIM_BYTES || tiles > CLAIM_TILES;
        if is_much && bytes > stored_bytes.saturating_mul(CLAIM_RATIO) {
            bail!(
                "{}: {stored_bytes} bytes claim to be {tiles} tiles of {bytes} bytes in all: expected at most {CLAIM_RATIO} times \
                 as much, or --force",
                file.display()
            );
        }
        Ok(())
    }
}

/// The writing of tiles into a folder.
struct Unpack<'a> {
    tileset: &'a Tileset,
    out: &'a OutputDir,
    stop: Arc<AtomicBool>,
    progress: ProgressBar,
    unpacked: Unpacked,
}

impl<'a> Unpack<'a> {
    fn new(args: &UnpackArgs, tileset: &'a Tileset, out: &'a OutputDir, n_tiles: u64) -> anyhow::Result<Self> {
        let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
        Ok(Self { tileset, out, stop, progress: args.output.bar(n_tiles, "tiles"), unpacked: Unpacked::default() })
    }

    fn put(&mut self, key: RegionKey, bytes: &[u8]) -> anyhow::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!(
                "interrupted after {} tiles: the files that were written are whole, tiles.json was not",
                self.unpacked.tiles
            );
        }
        self.out.write(&path_of(self.tileset, key)?, bytes)?;
        self.unpacked.tiles += 1;
        self.unpacked.bytes += bytes.len() as u64;
        self.progress.inc(1);
        Ok(())
    }

    fn end(self) -> Unpacked {
        self.progress.finish_and_clear();
        self.unpacked
    }
}

/// The file of a region. An archive from elsewhere must not write through the rest of the disk.
fn path_of(tileset: &Tileset, key: RegionKey) -> anyhow::Result<String> {
    let path = tileset.path_of(key).with_context(|| format!("{key}: the metadata list no such layer"))?;
    let stays = |path: &Path| path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if path.contains("://") || path == "tiles.json" || !stays(Path::new(&path)) {
        bail!("{key}: the metadata put it at \"{path}\": expected a path within the folder");
    }
    Ok(path)
}
