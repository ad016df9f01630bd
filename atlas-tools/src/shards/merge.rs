//! `atlas-tools merge`: one tileset of what the shards made.
//!
//! A single writer: it reads the manifests, writes one list of all tiles in their order and `tiles.json`. The tiles
//! themselves lie where they are. The same shards give the same bytes, whoever made them and in which order.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Serialize;
use voxatlas::geo::{RegionKey, TileCoord};

use super::{PlanFile, manifest_name};
use crate::document;
use crate::encode::{Counts, Header, Manifest, ManifestWriter, TileRecord};
use crate::flags::OutputFlags;
use crate::outcome::{Outcome, print};
use crate::output::Output;

/// The list of all tiles of a merged run.
pub(super) const MERGED: &str = "manifest.jsonl";

/// Makes one tileset of what the shards of a plan made.
///
/// Writes tiles.json, and manifest.jsonl with the record of every tile. A shard that is missing or did not run to its
/// end is named; --partial merges the others.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct MergeArgs {
    /// The folder, or the prefix of an object store, into which the shards went
    #[arg(value_name = "DIR|URL")]
    pub dir: String,
    /// The plan
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// Merges what is there, though shards are missing
    #[arg(long)]
    pub partial: bool,
    /// How much it says.
    #[command(flatten)]
    pub output: OutputFlags,
}

const AFTER_HELP: &str = "\
Examples:
  atlas-tools merge --plan plan.json city
  atlas-tools merge --plan plan.json city && atlas-tools pyramid city && atlas-tools pack city city.pmtiles

Exit codes: 0 done, 1 merged though tiles are missing, 2 wrong usage or nothing done.";

#[derive(Debug, Serialize)]
struct Summary {
    tiles: usize,
    tiles_missing: usize,
    files: usize,
    bytes: u64,
    voxels: u64,
    #[serde(flatten)]
    counts: Counts,
    /// Shards that are missing or did not run to their end.
    shards_missing: Vec<usize>,
}

/// Runs the command.
///
/// # Errors
///
/// A shard is missing, a manifest is of another plan, or the output cannot be written.
pub fn run(args: &MergeArgs) -> anyhow::Result<Outcome> {
    let plan = PlanFile::read(&args.plan)?;
    let out = Output::create(&args.dir)?;
    let (records, missing) = read_shards(&plan, &out)?;
    if !missing.is_empty() && !args.partial {
        let list: Vec<_> = missing.iter().map(usize::to_string).collect();
        bail!(
            "{}: shards {} are missing or did not run to their end: make them with `encode --plan {} --shard K`, or merge \
             the others with --partial",
            args.dir,
            list.join(", "),
            args.plan.display()
        );
    }
    let header = Header::new(plan.job.hash(), 0, 1);
    ManifestWriter::named(&out, MERGED, &header, &records)?.finish()?;
    let keys: Vec<RegionKey> = records.values().flat_map(TileRecord::keys).collect();
    let tileset = document::document(&keys, &plan.job.settings.attribution, &plan.job.datum);
    out.write("tiles.json", tileset.to_json().as_bytes())?;
    let summary = Summary::of(&plan, &records, missing);
    if args.output.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&summary)?))?;
    } else if !args.output.quiet {
        print(&summary.to_text())?;
    }
    Ok(Outcome::with_findings(summary.tiles_missing > 0))
}

/// The records of all shards, and the shards that are not whole.
fn read_shards(plan: &PlanFile, out: &Output) -> anyhow::Result<(BTreeMap<TileCoord, TileRecord>, Vec<usize>)> {
    let hash = plan.job.hash();
    let mut records = BTreeMap::new();
    let mut missing = Vec::new();
    for shard in 0..plan.n_shards {
        let name = manifest_name(shard);
        let path = out.path(&name);
        let Some(manifest) = Manifest::read(out, &name)? else {
            missing.push(shard);
            continue;
        };
        if (manifest.header.plan.as_str(), manifest.header.shard, manifest.header.shards)
            != (hash.as_str(), shard, plan.n_shards)
        {
            bail!("{}: made by another plan: expected one of this plan's shards", path.display());
        }
        if !manifest.is_done {
            missing.push(shard);
        }
        let own: std::collections::BTreeSet<_> = plan.job.shard(shard, plan.n_shards).iter().collect();
        if let Some(other) = manifest.records.keys().find(|tile| !own.contains(tile)) {
            bail!("{}: lists tile {other}, which is not of this shard", path.display());
        }
        records.extend(manifest.records);
    }
    Ok((records, missing))
}

impl Summary {
    fn of(plan: &PlanFile, records: &BTreeMap<TileCoord, TileRecord>, shards_missing: Vec<usize>) -> Self {
        let mut counts = Counts::default();
        for record in records.values() {
            counts += record.counts;
        }
        let files = || records.values().flat_map(|record| &record.files);
        Self {
            tiles: records.len(),
            tiles_missing: plan.job.tiles.len() - records.len(),
            files: files().count(),
            bytes: files().map(|file| file.bytes).sum(),
            voxels: files().map(|file| file.voxels).sum(),
            counts,
            shards_missing,
        }
    }

    fn to_text(&self) -> String {
        format!(
            "{} tiles in {} files, {:.1} MB, {} features, {} voxels, {} clipped; {} tiles missing\n",
            self.tiles,
            self.files,
            self.bytes as f64 / 1e6,
            self.counts.features,
            self.voxels,
            self.counts.voxels_clipped,
            self.tiles_missing
        )
    }
}

/// Reads the list of a merged run.
pub(super) fn read_merged(plan: &PlanFile, out: &Output) -> anyhow::Result<Manifest> {
    let path = out.path(MERGED);
    let merged = Manifest::read(out, MERGED)?;
    let merged = merged.with_context(|| format!("{}: missing: `atlas-tools merge` writes it", path.display()))?;
    if merged.header.plan != plan.job.hash() {
        bail!("{}: made by another plan", path.display());
    }
    Ok(merged)
}
