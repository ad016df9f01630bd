//! The walk over the tiles of a run.
//!
//! Source tiles are read a row at a time, three rows at most are held, and the tiles of a row are made in parallel. What
//! a tile looks like depends on the inputs alone, never on the other tiles of the run, the number of jobs or the order
//! in which they finish.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::bail;
use indicatif::ProgressBar;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use voxatlas::geo::TileCoord;

use super::job::Job;
use super::manifest::{Header, Manifest, ManifestWriter};
use super::plan::Plan;
use super::record::{Counts, TileRecord, sha256};
use super::rows::{Rows, Source};
use super::sources::Sources;
use super::summary::Summary;
use super::tile::{City, TileMaker};
use crate::buildings::Neighbourhood;
use crate::input;
use crate::output::{Output, OutputError};
use crate::shards::manifest_name;
use crate::{progress, tileset_files};

/// A run, or a shard of one.
pub struct Run<'a> {
    /// What is made.
    pub job: &'a Job,
    /// The inputs that are read, by their place; `None`: all.
    pub inputs: Option<&'a [usize]>,
    /// Which part of it.
    pub header: &'a Header,
    /// Where it goes.
    pub out: &'a Output,
    /// Whether what an earlier run listed is kept.
    pub resume: bool,
    /// A folder for what is read.
    pub scratch: &'a Path,
    /// Whether there is no progress to show.
    pub quiet: bool,
    /// Set where the work is to end.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Makes the tiles, on the threads of whoever calls it.
    ///
    /// # Errors
    ///
    /// An input cannot be read, the output cannot be written, or the work was to stop.
    pub fn run(&self) -> anyhow::Result<Summary> {
        let own = self.job.shard(self.header.shard, self.header.shards);
        let done = self.done(own)?;
        let mut summary = Summary::new(own.len());
        summary.tiles_kept = done.len();
        let left = own.iter().copied().filter(|tile| !done.contains_key(tile));
        let plan = Plan::new(self.job.tiles.iter().copied().collect(), left, self.job.source_zoom);
        let manifest = ManifestWriter::begin(self.out, self.header, &done)?;
        let made = Made { records: done, provisional: BTreeMap::new(), manifest, failures: Vec::new(), n_failed: 0 };
        let made = Mutex::new(made);
        if plan.n_tiles() > 0 {
            let reading = progress::bytes("read", self.quiet);
            let opened = input::open(&self.job.inputs, &self.job.settings, self.inputs)?;
            let elevations = opened.elevations.iter();
            let placed: Vec<_> =
                elevations.filter_map(|elevation| Some((elevation.name(), elevation.placer()?.clone()))).collect();
            let sources = Sources::open(opened, &plan, &self.job.settings, self.scratch, self.stop, &reading)
                .map_err(|error| self.interrupted(error.into(), 0, &plan))?;
            reading.finish_and_clear();
            summary.problems = sources.problems().clone();
            for (name, placer) in &placed {
                summary.problems.assume(name, placer);
            }
            let existing = self.existing(own)?;
            let maker =
                TileMaker { out: self.out, settings: &self.job.settings, sources: &sources, existing: &existing };
            let walk = Walk {
                run: self,
                plan: &plan,
                sources: &sources,
                maker,
                made: &made,
                progress: progress::bar(plan.n_tiles() as u64, "tiles", self.quiet),
            };
            walk.all_rows()?;
            walk.progress.finish_and_clear();
        }
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<&TileRecord> = made.records.values().chain(made.provisional.values()).collect();
        all.sort_unstable_by_key(|record| record.tile);
        for record in all {
            summary.add(record);
        }
        summary.tiles_failed = made.n_failed;
        summary.failures = made.failures;
        // In an order that does not depend on which thread was first.
        summary.failures.sort();
        // In the order of the tiles, whichever was done first.
        drop(made.manifest);
        ManifestWriter::begin(self.out, self.header, &made.records)?.finish()?;
        Ok(summary)
    }

    /// The tiles that an earlier run of the same plan made, whose files are as it left them.
    fn done(&self, own: &[TileCoord]) -> anyhow::Result<BTreeMap<TileCoord, TileRecord>> {
        let name = manifest_name(self.header.shard);
        let earlier = if self.resume { Manifest::read(self.out, &name)? } else { None };
        let Some(earlier) = earlier else { return Ok(BTreeMap::new()) };
        if (&earlier.header.plan, earlier.header.shard, earlier.header.shards)
            != (&self.header.plan, self.header.shard, self.header.shards)
        {
            bail!(
                "{}: lists what other inputs, tiles or settings made: without --resume it is made anew",
                self.out.path(&name).display()
            );
        }
        let own: FxHashSet<TileCoord> = own.iter().copied().collect();
        let is_whole = |record: &TileRecord| {
            record
                .files
                .iter()
                .all(|file| matches!(self.out.read(&file.name), Ok(Some(bytes)) if sha256(&bytes) == file.sha256))
        };
        let records: Vec<_> = earlier.records.into_values().filter(|record| own.contains(&record.tile)).collect();
        let whole = records.into_par_iter().filter(is_whole);
        Ok(whole.map(|record| (record.tile, record)).collect())
    }

    /// The regions that are in the output already.
    fn existing(&self, own: &[TileCoord]) -> anyhow::Result<BTreeSet<voxatlas::geo::RegionKey>> {
        let own: FxHashSet<TileCoord> = own.iter().copied().collect();
        let files = self.out.list()?;
        let keys = files.iter().filter_map(|file| tileset_files::key_of(file));
        Ok(keys.filter(|key| own.contains(&key.tile)).collect())
    }

    fn interrupted(&self, error: anyhow::Error, n_done: u64, plan: &Plan) -> anyhow::Error {
        if !self.stop.load(Ordering::Relaxed) {
            return error;
        }
        anyhow::anyhow!(
            "interrupted after {n_done} of {} tiles: the files that were written are whole, tiles.json was not; the same \
             command with --resume goes on from there",
            plan.n_tiles()
        )
    }
}

/// What a run has made so far.
struct Made {
    records: BTreeMap<TileCoord, TileRecord>,
    /// Tiles that were made though a source beside theirs could not be read: they may look otherwise when it can.
    provisional: BTreeMap<TileCoord, TileRecord>,
    manifest: ManifestWriter,
    failures: Vec<String>,
    n_failed: usize,
}

/// A run under way.
struct Walk<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    sources: &'a Sources,
    maker: TileMaker<'a>,
    made: &'a Mutex<Made>,
    progress: ProgressBar,
}

impl Walk<'_> {
    fn all_rows(&self) -> anyhow::Result<()> {
        let mut rows = Rows::new(self.sources.tiled().collect(), self.plan);
        for y in self.plan.source_rows() {
            for failure in rows.advance(y) {
                self.fail(0, failure);
            }
            let sources: Vec<_> = self.plan.sources(y).collect();
            sources.par_iter().try_for_each(|&source| self.source_tile(&rows, source))?;
            if self.run.stop.load(Ordering::Relaxed) {
                let error = anyhow::anyhow!("interrupted");
                return Err(self.run.interrupted(error, self.progress.position(), self.plan));
            }
        }
        Ok(())
    }

    /// Makes the tiles that a source tile covers; none where it could not be read.
    fn source_tile(&self, rows: &Rows<'_>, source: TileCoord) -> anyhow::Result<()> {
        let tiles = self.plan.tiles(source);
        if matches!(rows.middle(source), Source::Failed) {
            self.made().n_failed += tiles.len();
            self.progress.inc(tiles.len() as u64);
            return Ok(());
        }
        let neighbourhood = Neighbourhood::new(rows.neighbours(source));
        let city = match City::new(source, &neighbourhood, &self.sources.ground) {
            Ok(city) => city,
            Err(error) => {
                self.fail(tiles.len(), format!("tile {source}: {error}"));
                self.progress.inc(tiles.len() as u64);
                return Ok(());
            }
        };
        let beside = (-1..=1).flat_map(|dy| (-1..=1).filter_map(move |dx| source.offset_wrapped(dx, dy)));
        let is_final = beside.into_iter().all(|beside| !matches!(rows.middle(beside), Source::Failed));
        let lowest = self.plan.lowest_in(source);
        let counts = self.counts(source, &neighbourhood);
        tiles.par_iter().try_for_each(|&tile| {
            if self.run.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            match self.maker.make(tile, &city) {
                Ok(mut record) => {
                    if lowest == Some(tile) {
                        record.counts += counts;
                    }
                    let mut made = self.made();
                    if is_final {
                        made.manifest.add(&record)?;
                        made.records.insert(tile, record);
                    } else {
                        made.provisional.insert(tile, record);
                    }
                }
                Err(error) if error.is::<OutputError>() => return Err(error),
                Err(error) => self.fail(1, format!("tile {tile}: {error:#}")),
            }
            self.progress.inc(1);
            Ok(())
        })
    }

    /// What a source tile counts: its features, but for those of which a lower source tile of the run holds a copy.
    fn counts(&self, source: TileCoord, neighbourhood: &Neighbourhood<'_>) -> Counts {
        let features = |is_wanted: &dyn Fn(TileCoord) -> bool| -> Vec<_> {
            let blocks = neighbourhood.blocks.iter().filter(|neighbour| is_wanted(neighbour.block.source.tile));
            blocks.flat_map(|neighbour| &neighbour.block.source.features).collect()
        };
        let is_lower = |tile: TileCoord| tile < source && self.plan.lowest_in(tile).is_some();
        let mut seen: FxHashSet<_> = features(&is_lower).into_iter().map(|feature| feature.id).collect();
        let mut counts = Counts::default();
        for feature in features(&|tile| tile == source) {
            counts.feature_copies += 1;
            if seen.insert(feature.id) {
                counts.features += 1;
                counts.fallbacks.add(feature.height.fallback);
            }
        }
        counts
    }

    fn fail(&self, n_tiles: usize, failure: String) {
        self.progress.suspend(|| eprintln!("warning: {failure}"));
        let mut made = self.made();
        made.n_failed += n_tiles;
        made.failures.push(failure);
    }

    fn made(&self) -> std::sync::MutexGuard<'_, Made> {
        // A record is added whole.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
