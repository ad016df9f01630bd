//! `atlas-tools encode`: city data in, a tileset out.
//!
//! Owns the way from the inputs to the files of a run or of a shard of one. A [`Job`] says what is made, a
//! [`Run`] makes it, a manifest lists what is made.
//!
//! ```text
//! args -> job (inputs, settings, tiles) -> plan (own tiles) -> sources (read, gathered, opened)
//!      -> rows of source tiles -> tile -> files and a record -> manifest -> tiles.json
//! ```

mod args;
mod ids;
mod job;
mod manifest;
mod needs;
mod plan;
mod record;
mod rows;
mod run;
mod settings;
mod sources;
mod summary;
mod tile;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use voxatlas::limits::ZOOM_COARSEST;

pub use args::JobArgs;
pub use job::Job;
pub use manifest::{Header, Manifest, ManifestWriter};
pub use needs::{Need, Needs};
pub use plan::{Asked, Plan};
pub use record::{Counts, Edges, FileRecord, TileRecord};
pub use run::Run;
pub use settings::{GroundMode, Overflow, Settings};
pub use summary::Summary;

pub(crate) use record::sha256;

use crate::flags::OutputFlags;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::shards::{PlanFile, ShardChoice};
use crate::{document, jobs, pyramid, shards};

/// Bytes that one job takes at most, beside what all share: a tile's plan, a region and its file.
const JOB_BYTES: u64 = 200 << 20;

/// Bytes that a run takes beside its jobs.
const SHARED_BYTES: u64 = 400 << 20;

/// Makes a tileset from city data.
///
/// Inputs of several kinds are combined: terrain below, buildings on it, points on top. What stands on the ground stands
/// on the terrain where there is one; models keep their own heights.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct EncodeArgs {
    /// What is encoded, and how.
    #[command(flatten)]
    pub job: JobArgs,

    /// What receives {z}/{x}/{y}.png and tiles.json: a folder, a file ending in .pmtiles, or s3://, gs://, az://
    #[arg(long, value_name = "DIR|FILE.pmtiles|URL")]
    pub out: String,
    /// Makes the coarser zooms too, down to 12: the same as `atlas-tools pyramid` afterwards
    #[arg(long, conflicts_with = "plan")]
    pub pyramid: bool,
    /// Keeps the tiles that an earlier run of the same command has made
    #[arg(long)]
    pub resume: bool,
    /// Says what would be made, and makes nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Makes what a plan says, which names inputs, settings and tiles: see `atlas-tools plan`
    #[arg(
        long,
        value_name = "FILE",
        requires = "shard",
        conflicts_with_all = JobArgs::ids(),
        help_heading = "Beyond one machine"
    )]
    pub plan: Option<PathBuf>,
    /// The shard to make, from 0, or auto: the number that Slurm, Kubernetes or AWS Batch gives
    #[arg(long, value_name = "K|auto", requires = "plan", help_heading = "Beyond one machine")]
    pub shard: Option<ShardChoice>,

    /// Tiles made at once [default: one a processor]
    #[arg(long, value_name = "N", help_heading = "Resources")]
    pub jobs: Option<NonZeroUsize>,
    /// Memory to stay within, such as 1GiB: fewer tiles are made at once where it asks for that
    #[arg(long, value_name = "SIZE", value_parser = jobs::parse_bytes, help_heading = "Resources")]
    pub max_memory: Option<u64>,
    /// The folder for what has to be kept while reading [default: the system's]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub scratch: Option<PathBuf>,

    /// How much it says.
    #[command(flatten)]
    pub output: OutputFlags,
}

const AFTER_HELP: &str = "\
Examples:
  atlas-tools encode buildings.geojson --out city
  atlas-tools encode dem.tif buildings.gml points.laz --bbox 139.7,35.6,139.8,35.7 --out city
  atlas-tools encode house.glb --at 139.7454,35.6586 --out house.pmtiles

Exit codes: 0 done, 1 done but a tile failed, 2 wrong usage or nothing done.";

/// Runs the command.
///
/// # Errors
///
/// The input cannot be used, the output cannot be written, or Ctrl-C was pressed.
pub fn run(args: &EncodeArgs) -> anyhow::Result<Outcome> {
    match (&args.plan, &args.shard) {
        (Some(plan), Some(shard)) => run_shard(args, plan, shard),
        _ => run_whole(args),
    }
}

fn run_whole(args: &EncodeArgs) -> anyhow::Result<Outcome> {
    let begin = Instant::now();
    let (job, _) = Job::new(args.job.inputs()?, args.job.settings()?, args.job.asked())?;
    if args.dry_run {
        return shards::describe(&job, 1, args.output.json);
    }
    let place = Path::new(&args.out);
    let Some(archive) = crate::archives::is_archive(place).then_some(place) else {
        let summary = make_whole(args, &job, &args.out)?;
        return finish(args, summary, begin);
    };
    // Packed from a folder beside it, which stays where the work is not done: --resume goes on from there.
    let unpacked = beside(archive, ".tiles");
    if unpacked.exists() && !args.resume {
        bail!(
            "{}: is there, as an earlier run left it: go on from there with --resume, or remove it",
            unpacked.display()
        );
    }
    let summary = make_whole(args, &job, &unpacked.display().to_string())?;
    crate::pack::archive(&unpacked, archive)?;
    if !summary.has_failures() {
        let what = || format!("{}: cannot be removed, and is no longer needed", unpacked.display());
        std::fs::remove_dir_all(&unpacked).with_context(what)?;
    }
    finish(args, summary, begin)
}

/// A path beside another: its whole name, and an ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes all tiles of a job in a folder, its document, and the pyramid where that is asked for.
fn make_whole(args: &EncodeArgs, job: &Job, place: &str) -> anyhow::Result<Summary> {
    let out = Output::create(place)?;
    let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
    let scratch = scratch(args)?;
    let header = Header::new(job.hash(), 0, 1);
    let pool = jobs::pool(n_jobs(args), "encode")?;
    let run = Run {
        job,
        inputs: None,
        header: &header,
        out: &out,
        resume: args.resume,
        scratch: scratch.path(),
        quiet: args.output.quiet,
        stop: &stop,
    };
    let mut summary = pool.install(|| run.run())?;
    let tileset = document::document(&summary.written, &job.settings.attribution, &job.datum);
    out.write("tiles.json", tileset.to_json().as_bytes())?;
    if args.pyramid && !summary.written.is_empty() {
        let build = pyramid::Build {
            out: &out,
            min_zoom: ZOOM_COARSEST,
            share: None,
            force: false,
            quiet: args.output.quiet,
            stop: &stop,
        };
        summary.pyramid = Some(pool.install(|| build.run(tileset))?);
    }
    // The document lists what there is; a run with failures keeps the list, for --resume to try the others.
    if !summary.has_failures() {
        out.remove(&shards::manifest_name(0))?;
    }
    Ok(summary)
}

fn run_shard(args: &EncodeArgs, plan: &Path, shard: &ShardChoice) -> anyhow::Result<Outcome> {
    let begin = Instant::now();
    let plan = PlanFile::read(plan)?;
    let shard = shard.resolve(plan.n_shards)?;
    if args.dry_run {
        return shards::describe(&plan.job, plan.n_shards, args.output.json);
    }
    if crate::archives::is_archive(Path::new(&args.out)) {
        bail!("{}: shards go into a folder; pack it when they are merged", args.out);
    }
    let out = Output::create(&args.out)?;
    let stop = crate::interrupt::flag().context("signals cannot be watched")?;
    let scratch = scratch(args)?;
    let header = Header::new(plan.job.hash(), shard, plan.n_shards);
    let places: Option<Vec<usize>> =
        plan.shards.get(shard).map(|shard| shard.inputs.iter().map(|need| need.input).collect());
    let run = Run {
        job: &plan.job,
        inputs: places.as_deref(),
        header: &header,
        out: &out,
        resume: args.resume,
        scratch: scratch.path(),
        quiet: args.output.quiet,
        stop: &stop,
    };
    let summary = jobs::pool(n_jobs(args), "encode")?.install(|| run.run())?;
    finish(args, summary, begin)
}

fn finish(args: &EncodeArgs, mut summary: Summary, begin: Instant) -> anyhow::Result<Outcome> {
    summary.seconds = begin.elapsed().as_secs_f64();
    args.output.say(|| summary.to_json(), || summary.to_text(&args.out, crate::input::FALLBACK_HEIGHT_M))?;
    Ok(Outcome::with_findings(summary.has_failures()))
}

fn scratch(args: &EncodeArgs) -> anyhow::Result<tempfile::TempDir> {
    let folder = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    tempfile::Builder::new()
        .prefix("atlas-tools-")
        .tempdir_in(&folder)
        .with_context(|| format!("{}: no scratch folder can be made there (--scratch)", folder.display()))
}

/// How many tiles are made at once within the memory that is allowed.
fn n_jobs(args: &EncodeArgs) -> Option<NonZeroUsize> {
    let Some(memory) = args.max_memory else { return args.jobs };
    let fit = (memory.saturating_sub(SHARED_BYTES) / JOB_BYTES).max(1) as usize;
    let asked = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(asked.min(fit))
}
