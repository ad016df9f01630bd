//! `atlas-tools plan`: what a run would make, shared out.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use voxatlas::geo::TileCoord;

use crate::encode::{Job, JobArgs, Need, Needs, Plan};
use crate::flags::OutputFlags;
use crate::input::InputError;
use crate::outcome::{Outcome, print};
use crate::output::PartFile;
use crate::voxelise::BASE;

/// The version of plan files.
const VERSION: u32 = 1;

/// Plans a run that is shared out over many machines or tasks.
///
/// The plan holds everything that decides how a tile looks: inputs, settings, tiles. Each of the N shards is then made by
/// `atlas-tools encode --plan plan.json --shard K`, on whatever runs them, in any order, any number of times; `merge`
/// makes one tileset of them and `verify` checks it. Inputs are named as they are here: every task must find them under
/// the same paths.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PlanArgs {
    /// What is encoded, and how.
    #[command(flatten)]
    pub job: JobArgs,
    /// The plan [default: plan.json]
    #[arg(long, short = 'o', value_name = "FILE", default_value = "plan.json", hide_default_value = true)]
    pub out: PathBuf,
    /// How many shards there are
    #[arg(long, value_name = "N")]
    pub shards: NonZeroUsize,
    /// How much it says.
    #[command(flatten)]
    pub output: OutputFlags,
}

const AFTER_HELP: &str = "\
Examples:
  atlas-tools plan city.gml --shards 100 --out plan.json
  atlas-tools encode --plan plan.json --shard auto --out city      (in each task of an array job)
  atlas-tools merge --plan plan.json city && atlas-tools verify --plan plan.json city

Exit codes: 0 done, 2 wrong usage or nothing done.";

/// A plan as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The version of the file.
    pub version: u32,
    /// The program that made it.
    pub tool: String,
    /// World y of the floor of layer 0, in voxels above the datum.
    pub base: i32,
    /// How many shards there are: fixed here.
    pub n_shards: usize,
    /// What each shard reads and makes.
    pub shards: Vec<ShardPlan>,
    /// What is made.
    pub job: Job,
}

/// What a shard reads and makes: for people and schedulers; a shard is what the job says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardPlan {
    /// How many tiles it makes.
    pub tiles: usize,
    /// The first of them.
    pub first: Option<TileCoord>,
    /// What it reads of the inputs; those that it does not name need not even be there.
    pub inputs: Vec<Need>,
}

impl PlanFile {
    /// Shares out a job.
    ///
    /// # Errors
    ///
    /// The index of an input cannot be read.
    pub fn new(job: Job, needs: &Needs, n_shards: usize) -> Result<Self, InputError> {
        let shard = |shard: usize| {
            let tiles = job.shard(shard, n_shards);
            // A shard's plan of its own: what it reads depends on its tiles alone.
            let plan = Plan::new(BTreeSet::new(), tiles.iter().copied(), job.source_zoom);
            Ok(ShardPlan { tiles: tiles.len(), first: tiles.first().copied(), inputs: needs.of(&plan)? })
        };
        let shards = (0..n_shards).map(shard).collect::<Result<_, InputError>>()?;
        let tool = format!("atlas-tools {}", env!("CARGO_PKG_VERSION"));
        Ok(Self { version: VERSION, tool, base: BASE, n_shards, shards, job })
    }

    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no plan, or one of another version of the program, which may make other files.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let bytes = std::fs::read(path).with_context(|| format!("{name}: cannot be read"))?;
        let plan: Self = serde_json::from_slice(&bytes)
            .with_context(|| format!("{name}: no plan: expected what `atlas-tools plan` writes"))?;
        let ours = format!("atlas-tools {}", env!("CARGO_PKG_VERSION"));
        if (plan.version, &plan.tool, plan.base) != (VERSION, &ours, BASE) {
            bail!("{name}: made by {}, this is {ours}: plan and encode with the same version", plan.tool);
        }
        if plan.n_shards == 0 {
            bail!("{name}: has no shards: expected at least one");
        }
        if plan.job.tiles.iter().any(|tile| tile.zoom() != voxatlas::limits::ZOOM_FULL) {
            bail!("{name}: has tiles of other zooms than {}", voxatlas::limits::ZOOM_FULL);
        }
        Ok(plan)
    }
}

/// Runs the command.
///
/// # Errors
///
/// An input cannot be used, or the plan cannot be written.
pub fn run(args: &PlanArgs) -> anyhow::Result<Outcome> {
    let (job, needs) = Job::new(args.job.inputs()?, args.job.settings()?, args.job.asked())?;
    let plan = PlanFile::new(job, &needs, args.shards.get())?;
    let part = PartFile::create(&args.out)?;
    serde_json::to_writer_pretty(std::io::BufWriter::new(part.file()), &plan)
        .with_context(|| format!("{}: cannot be written", args.out.display()))?;
    part.finish()?;
    if !args.output.quiet {
        if args.output.json {
            return super::describe(&plan.job, plan.n_shards, true);
        }
        let largest = plan.shards.iter().map(|shard| shard.tiles).max().unwrap_or_default();
        print(&format!(
            "{}: {} tiles in {} shards of at most {largest}\n",
            args.out.display(),
            plan.job.tiles.len(),
            plan.n_shards
        ))?;
    }
    Ok(Outcome::Done)
}
