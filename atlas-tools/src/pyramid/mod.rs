//! `atlas-tools pyramid`: the coarser zooms of a tileset.
//!
//! Owns the walk up the zooms: all regions of a zoom are made in parallel, each from the files of its children, so that
//! memory is bounded by the number of jobs. A region depends on its children alone. A run that was ended is taken up
//! where it stopped, since each coarse file says of which files it was made.

mod maker;
mod plan;
mod summary;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use indicatif::ProgressBar;
use rayon::prelude::*;
use voxatlas::atlas::{Lineage, Tileset};
use voxatlas::limits::{ZOOM_COARSEST, ZOOM_FULL};

use crate::flags::OutputFlags;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::shards::ShardChoice;
use crate::{document, jobs, progress, tileset_files};
use maker::{Made, Maker};
use plan::Plan;
pub(crate) use summary::Summary;

/// Makes the coarser zooms of a tileset from its zoom 17, so that a view reaches the horizon.
///
/// Each region of zoom 16 takes the place of up to eight of zoom 17 at half their resolution, and so on. Coarse files
/// that are there already and were made of the same files are kept. A file that cannot be read counts as air, is named,
/// and is tried again by the next run. Coarse files of an earlier run that no longer have a place are removed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools pyramid city
  atlas-tools pyramid city --min-zoom 14 --jobs 4
  atlas-tools pyramid s3://bucket/city

Exit codes: 0 done, 1 done but a file could not be read, 2 wrong usage or nothing done.")]
pub struct PyramidArgs {
    /// What holds tiles.json, and receives the coarse files: a folder, or s3://, gs://, az://
    #[arg(value_name = "DIR|URL")]
    pub dir: String,
    /// The coarsest zoom, 12 to 16
    #[arg(long, value_name = "Z", default_value_t = ZOOM_COARSEST, value_parser = zoom_parser())]
    pub min_zoom: u8,
    /// Regions made at once, each takes about 100 MB [default: one a processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Makes one of so many shares, on one machine of many; afterwards the command without it joins them
    #[arg(long, value_name = "N", requires = "shard")]
    pub shards: Option<NonZeroUsize>,
    /// The share to make, from 0, or auto: the number that Slurm, Kubernetes or AWS Batch gives
    #[arg(long, value_name = "K|auto", requires = "shards")]
    pub shard: Option<ShardChoice>,
    /// Makes every region anew
    #[arg(long)]
    pub force: bool,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
}

fn zoom_parser() -> RangedU64ValueParser<u8> {
    RangedU64ValueParser::new().range(u64::from(ZOOM_COARSEST)..=u64::from(ZOOM_FULL - 1))
}

/// Runs the command.
///
/// # Errors
///
/// The place is no tileset, or cannot be written to, or Ctrl-C was pressed.
pub fn run(args: &PyramidArgs) -> anyhow::Result<Outcome> {
    // A folder that is not there is not made.
    if !args.dir.contains("://") {
        tileset_files::document(Path::new(&args.dir))?;
    }
    let out = Output::create(&args.dir)?;
    let tileset = tileset_files::document_in(&out)?;
    let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
    let share = match (args.shard, args.shards) {
        (Some(shard), Some(shards)) => Some((shard.resolve(shards.get())?, shards.get())),
        _ => None,
    };
    let (min_zoom, force, quiet) = (args.min_zoom, args.force, args.output.quiet);
    let build = Build { out: &out, min_zoom, share, force, quiet, stop: &stop };
    let summary = jobs::pool(args.jobs, "pyramid")?.install(|| build.run(tileset))?;
    args.output.say(|| summary.to_json(), || summary.to_text())?;
    Ok(Outcome::with_findings(!summary.failures.is_empty()))
}

/// The building of a pyramid, on the threads of whoever calls it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Build<'a> {
    /// The tileset's place.
    pub(crate) out: &'a Output,
    /// The coarsest zoom.
    pub(crate) min_zoom: u8,
    /// Which share of how many is made; `None`: all of it, and the document.
    pub(crate) share: Option<(usize, usize)>,
    /// Whether regions are made that are there already.
    pub(crate) force: bool,
    /// Whether there is no progress to show.
    pub(crate) quiet: bool,
    /// Set where the work is to end.
    pub(crate) stop: &'a AtomicBool,
}

impl Build<'_> {
    /// Makes the coarse regions of a tileset, then its document, then removes what has no place any more.
    pub(crate) fn run(&self, mut tileset: Tileset) -> anyhow::Result<Summary> {
        let begin = Instant::now();
        let mut plan = Plan::new(self.out, &tileset, self.min_zoom)?;
        if let Some((shard, n_shards)) = self.share {
            plan.share(shard, n_shards, self.min_zoom);
        }
        document::list_regions(&mut tileset, plan.keys());
        plan::check_templates(&tileset)?;
        let maker = Maker { out: self.out, tileset: &tileset, keys: plan.keys(), force: self.force };
        let progress = progress::bar(plan.n_coarse() as u64, "regions", self.quiet);
        let mut summary = Summary::new(self.out.name());
        for zoom in (self.min_zoom..ZOOM_FULL).rev() {
            for made in self.zoom(zoom, &plan, &maker, &progress)? {
                made.failures.iter().for_each(|failure| progress.suspend(|| eprintln!("warning: {failure}")));
                summary.add(zoom, made);
            }
        }
        progress.finish_and_clear();
        // What others make is theirs, and the document says what there is: whoever joins the shares writes it.
        if self.share.is_none() {
            self.out.write("tiles.json", tileset.to_json().as_bytes())?;
            summary.removed = self.remove_others(&plan, &maker)?;
        }
        summary.seconds = begin.elapsed().as_secs_f64();
        Ok(summary)
    }

    /// Makes the regions of a zoom.
    fn zoom(&self, zoom: u8, plan: &Plan, maker: &Maker<'_>, progress: &ProgressBar) -> anyhow::Result<Vec<Made>> {
        let keys: Vec<_> = plan.zoom(zoom).collect();
        let make = |&key| {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let made = maker.make(key)?;
            progress.inc(1);
            Ok(Some(made))
        };
        let made: anyhow::Result<Vec<Option<Made>>> = keys.par_iter().map(make).collect();
        let made: Option<Vec<Made>> = made?.into_iter().collect();
        let Some(made) = made else {
            bail!(
                "interrupted after {} of {} regions: the files that were written are whole, and the same command goes on \
                 from there; tiles.json was not written",
                progress.position(),
                plan.n_coarse()
            )
        };
        Ok(made)
    }

    /// Removes the coarse files of earlier runs that the document no longer lists.
    fn remove_others(&self, plan: &Plan, maker: &Maker<'_>) -> anyhow::Result<usize> {
        let mut n_removed = 0;
        for file in plan::files(self.out)? {
            let key = tileset_files::key_of(&file);
            let is_other = key.is_some_and(|key| {
                key.tile.zoom() < ZOOM_FULL
                    && !plan.keys().contains(&key)
                    && (tileset_files::file_name(key) == file || maker.tileset.path_of(key).as_ref() == Some(&file))
            });
            // Only what says that it is ours.
            if is_other && maker.read(&file).is_ok_and(|bytes| Lineage::of_file(&bytes).is_some()) {
                self.out.remove(&file)?;
                n_removed += 1;
            }
        }
        Ok(n_removed)
    }
}
