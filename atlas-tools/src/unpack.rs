//! `atlas-tools unpack`: PMTiles archives become a tileset's folder again.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;
use voxatlas::atlas::Tileset;
use voxatlas::geo::RegionKey;
use voxatlas::source::archive::ArchiveRuns;

use crate::archives::Archives;
use crate::flags::OutputFlags;
use crate::outcome::Outcome;
use crate::output::OutputDir;

/// Unpacks PMTiles archives into a folder of tiles and a tiles.json.
///
/// The archives of the other layers are found beside the one that is named. The tiles get the bytes and the names that
/// they had when they were packed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools unpack city.pmtiles city

Exit codes: 0 done, 2 wrong usage or nothing done.")]
pub struct UnpackArgs {
    /// The archive of any layer
    #[arg(value_name = "FILE.pmtiles")]
    pub file: PathBuf,
    /// The folder that receives tiles.json and the tiles
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Unpacks into a folder that holds something already; files of the same names are replaced
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
    let archives = Archives::open(&args.file)?;
    let is_used = std::fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !args.force {
        bail!("{}: holds something already: expected an empty folder, or --force", args.dir.display());
    }
    let mut n_tiles = 0;
    for archive in archives.layers.values() {
        n_tiles += archives.runtime.block_on(archive.head())?.n_tiles.unwrap_or(0);
    }
    let out = OutputDir::create(&args.dir)?;
    let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
    let unpack = Unpack { archives: &archives, out: &out, stop: &stop, progress: args.output.bar(n_tiles, "tiles") };
    let mut counts = Counts::default();
    for (&layer, archive) in &archives.layers {
        let runs = archives.runtime.block_on(archive.runs())?;
        unpack.layer(layer, runs, &mut counts)?;
    }
    // The last one, so that a folder with a tiles.json is whole.
    out.write("tiles.json", archives.document.to_tiles_json().as_bytes())?;
    unpack.progress.finish_and_clear();
    let Counts { tiles, bytes } = counts;
    args.output.say(
        || format!("{}\n", json!({ "tiles": tiles, "bytes": bytes, "layers": archives.layers.len() })),
        || format!("{}: {tiles} tiles, {:.1} MB\n", args.dir.display(), bytes as f64 / 1e6),
    )?;
    Ok(Outcome::Done)
}

#[derive(Debug, Default)]
struct Counts {
    tiles: u64,
    bytes: u64,
}

/// What the layers of a run share.
struct Unpack<'a> {
    archives: &'a Archives,
    out: &'a OutputDir,
    stop: &'a AtomicBool,
    progress: ProgressBar,
}

impl Unpack<'_> {
    fn layer(&self, layer: i32, mut runs: ArchiveRuns, counts: &mut Counts) -> anyhow::Result<()> {
        let runtime = &self.archives.runtime;
        while let Some(run) = runtime.block_on(runs.next())? {
            let Some(bytes) = runtime.block_on(runs.content(run))? else { continue };
            for tile in run.tiles() {
                if self.stop.load(Ordering::Relaxed) {
                    bail!(
                        "interrupted after {} tiles: the files that were written are whole, tiles.json was not",
                        counts.tiles
                    );
                }
                let path = path_of(self.archives.document.tileset(), RegionKey::new(tile, layer))?;
                self.out.write(&path, &bytes)?;
                counts.tiles += 1;
                counts.bytes += bytes.len() as u64;
                self.progress.inc(1);
            }
        }
        Ok(())
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
