//! `atlas-tools encode`: features in, a tileset out.
//!
//! Owns the walk over the input: source tiles are read a row at a time, three rows at most are held, and the tiles of a
//! row are made in parallel. What a tile looks like depends on the input alone, never on the other tiles of the run, the
//! number of jobs or the order in which they finish.

mod plan;
mod rows;
mod summary;
mod tile;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::ProgressBar;
use rayon::prelude::*;
use voxatlas::geo::{Bbox, TileCoord};
use voxatlas::limits::ZOOM_COARSEST;

use crate::buildings::Neighbourhood;
use crate::input::{self, Input, LayerSelection};
use crate::outcome::{Outcome, print};
use crate::output::OutputDir;
use crate::{document, jobs, progress, pyramid};
use plan::Plan;
use rows::{Rows, Source};
use summary::Summary;
use tile::{City, TileMaker, TileReport};

/// Makes a tileset from building features.
///
/// An input is a folder of Mapbox vector tiles, {z}/{x}/{y}.pbf or .mvt, plain or gzip'd, of zoom 10 to 17; where it
/// holds several zooms, the deepest is read. A feature stands on the ground; missing, zero and negative heights become
/// one storey of 3 m and are counted. The ground is flat, its top at the datum: vector tiles hold no terrain, and do not
/// tell sea from land. Every zoom 17 tile that is asked for gets ground, also where there are no buildings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools encode path/to/tiles --out city --bbox 139.70,35.64,139.80,35.70 --pyramid

Exit codes: 0 done, 1 done but a tile failed, 2 wrong usage or nothing done.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct EncodeArgs {
    /// Folders of vector tiles; ids are shared between them, as by the parts of one data set
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The folder that receives {z}/{x}/{y}.png and tiles.json; files of the same names are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Only what lies in this box, in degrees; west may lie east of east, across the antimeridian
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, conflicts_with = "tiles")]
    pub bbox: Option<Bbox>,
    /// Only these tiles; a coarser one stands for the zoom 17 tiles in it
    #[arg(long, value_name = "Z/X/Y,...", value_delimiter = ',')]
    pub tiles: Vec<TileCoord>,
    /// Tiles made at once [default: one a processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Leaves the ground out: buildings alone, and no file where there are none
    #[arg(long)]
    pub no_ground: bool,
    /// Makes the coarser zooms too, down to 12: the same as `atlas-tools pyramid` afterwards
    #[arg(long)]
    pub pyramid: bool,
    /// Who is to be credited; stands in tiles.json and in every file
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub attribution: String,
    /// Layers of the vector tiles to read
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "bldg")]
    pub layer: Vec<String>,
    /// Attributes that may hold the height in metres, the first that a feature has counts
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "z")]
    pub height_field: Vec<String>,
    /// Prints the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Prints no progress and no summary
    #[arg(long)]
    pub quiet: bool,
}

/// Runs the command.
///
/// # Errors
///
/// The input cannot be used, the output cannot be written, or Ctrl-C was pressed.
pub fn run(args: &EncodeArgs) -> anyhow::Result<Outcome> {
    let begin = Instant::now();
    let selection = LayerSelection { layers: args.layer.clone(), height_fields: args.height_field.clone() };
    let inputs = input::open(&args.inputs, &selection)?;
    let plan = Plan::new(&inputs, args.bbox, &args.tiles)?;
    let out = OutputDir::create(&args.out)?;
    let pool = jobs::pool(args.jobs, "encode")?;
    let run = Run {
        inputs: &inputs,
        maker: TileMaker { out: &out, has_ground: !args.no_ground, credit: &args.attribution },
        stop: crate::interrupt::flag().context("Ctrl-C cannot be watched")?,
        progress: progress::bar(plan.n_tiles() as u64, "tiles", args.quiet),
    };
    let mut summary = pool.install(|| run.all_rows(&plan))?;
    run.progress.finish_and_clear();
    let tileset = document::document(&summary.written, &args.attribution);
    out.write("tiles.json", tileset.to_json().as_bytes())?;
    if args.pyramid && !summary.written.is_empty() {
        let build =
            pyramid::Build { out: &out, min_zoom: ZOOM_COARSEST, force: false, quiet: args.quiet, stop: &run.stop };
        summary.pyramid = Some(pool.install(|| build.run(tileset))?);
    }
    summary.seconds = begin.elapsed().as_secs_f64();
    if args.json {
        print(&summary.to_json())?;
    } else if !args.quiet {
        print(&summary.to_text(&args.out))?;
    }
    Ok(Outcome::with_findings(summary.has_failures()))
}

/// What the stages of a run share.
struct Run<'a> {
    inputs: &'a [Box<dyn Input>],
    maker: TileMaker<'a>,
    stop: Arc<AtomicBool>,
    progress: ProgressBar,
}

impl Run<'_> {
    fn all_rows(&self, plan: &Plan) -> anyhow::Result<Summary> {
        let mut summary = Summary::new(plan.n_tiles());
        let mut rows = Rows::new(self.inputs, plan);
        for y in plan.source_rows() {
            for failure in rows.advance(y) {
                self.progress.suspend(|| eprintln!("warning: {failure}"));
                summary.failures.push(failure);
            }
            self.row(plan, &rows, y, &mut summary)?;
            if self.stop.load(Ordering::Relaxed) {
                bail!(
                    "interrupted after {} of {} tiles: the files that were written are whole, tiles.json was not",
                    self.progress.position(),
                    plan.n_tiles()
                );
            }
        }
        Ok(summary)
    }

    fn row(&self, plan: &Plan, rows: &Rows<'_>, y: u32, summary: &mut Summary) -> anyhow::Result<()> {
        let sources: Vec<_> = plan.sources(y).collect();
        let made: Vec<_> = sources.par_iter().map(|&source| self.source_tile(plan, rows, source)).collect();
        for (source, made) in sources.iter().zip(made) {
            match rows.middle(*source) {
                Source::Block(block) => summary.add_features(&block.source.features),
                Source::Failed => summary.tiles_failed += plan.tiles(*source).len(),
                Source::Absent => {}
            }
            made?.into_iter().for_each(|report| summary.add_tile(report));
        }
        Ok(())
    }

    /// Makes the tiles that a source tile covers; none where it could not be read.
    fn source_tile(&self, plan: &Plan, rows: &Rows<'_>, source: TileCoord) -> anyhow::Result<Vec<TileReport>> {
        if matches!(rows.middle(source), Source::Failed) {
            self.progress.inc(plan.tiles(source).len() as u64);
            return Ok(Vec::new());
        }
        let neighbourhood = Neighbourhood::new(rows.neighbours(source));
        let city = City::new(source, &neighbourhood);
        let make = |&tile: &TileCoord| {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let report = self.maker.make(tile, &city)?;
            self.progress.inc(1);
            Ok(Some(report))
        };
        let made: anyhow::Result<Vec<_>> = plan.tiles(source).par_iter().map(make).collect();
        Ok(made?.into_iter().flatten().collect())
    }
}
