//! `atlas-tools verify`: was a plan carried out?
//!
//! Each planned tile is there exactly once, its files are those that were listed, and neighbours agree at their borders:
//! what each tile expected beside it is what its neighbour has. It reads every file and changes none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use voxatlas::atlas::Tileset;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::ZOOM_FULL;

use super::{PlanFile, merge};
use crate::encode::{TileRecord, sha256};
use crate::flags::OutputFlags;
use crate::outcome::{Outcome, print};
use crate::output::Output;
use crate::{document, jobs, progress};

/// Proves that a plan was carried out: every tile once, every file as it was made, neighbours that agree.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct VerifyArgs {
    /// The merged folder, or the prefix of an object store
    #[arg(value_name = "DIR|URL")]
    pub dir: String,
    /// The plan
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// How much it says.
    #[command(flatten)]
    pub output: OutputFlags,
}

const AFTER_HELP: &str = "\
Examples:
  atlas-tools verify --plan plan.json city

Exit codes: 0 carried out, 1 there are findings, 2 wrong usage or nothing to verify.";

/// Something that is not as planned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Finding {
    tile: TileCoord,
    finding: String,
}

/// Runs the command.
///
/// # Errors
///
/// There is no merged run of this plan.
pub fn run(args: &VerifyArgs) -> anyhow::Result<Outcome> {
    let plan = PlanFile::read(&args.plan)?;
    let out = Output::create(&args.dir)?;
    let merged = merge::read_merged(&plan, &out)?;
    let tileset = read_document(&out)?;
    let records = &merged.records;
    let mut findings = Vec::new();
    let mut add = |tile: TileCoord, finding: String| findings.push(Finding { tile, finding });
    let planned: std::collections::BTreeSet<TileCoord> = plan.job.tiles.iter().copied().collect();
    planned.iter().filter(|tile| !records.contains_key(tile)).for_each(|&tile| add(tile, "missing".to_owned()));
    records.keys().filter(|tile| !planned.contains(tile)).for_each(|&tile| add(tile, "not planned".to_owned()));
    let listed: std::collections::BTreeSet<RegionKey> =
        document::regions(&tileset).filter(|key| key.tile.zoom() == ZOOM_FULL).collect();
    let recorded: std::collections::BTreeSet<RegionKey> = records.values().flat_map(TileRecord::keys).collect();
    for key in listed.symmetric_difference(&recorded) {
        let what =
            if listed.contains(key) { "tiles.json lists it, no shard made it" } else { "tiles.json does not list it" };
        add(key.tile, format!("layer {}: {what}", key.layer));
    }
    borders(records, &mut add);
    findings.extend(files(args, &out, records)?);
    findings.sort();
    report(args, records.len(), &findings)?;
    Ok(Outcome::with_findings(!findings.is_empty()))
}

fn read_document(out: &Output) -> anyhow::Result<Tileset> {
    let name = out.path("tiles.json").display().to_string();
    let bytes = out.read("tiles.json")?;
    let bytes = bytes.with_context(|| format!("{name}: missing: `atlas-tools merge` writes it"))?;
    Ok(Tileset::parse(&bytes, &name)?)
}

/// Compares each tile with its eastern and its southern neighbour: so each border is looked at once, from both sides.
fn borders(records: &BTreeMap<TileCoord, TileRecord>, add: &mut impl FnMut(TileCoord, String)) {
    for (tile, here) in records {
        let mut compare =
            |dx: i64, dy: i64, side: &str, hashes: for<'r> fn(&'r TileRecord, &'r TileRecord) -> [[&'r str; 2]; 2]| {
                let Some(there) = tile.offset_wrapped(dx, dy).and_then(|tile| records.get(&tile)) else { return };
                for [expected, found] in hashes(here, there) {
                    if expected != found {
                        add(*tile, format!("does not fit its {side} neighbour {}", there.tile));
                        return;
                    }
                }
            };
        compare(1, 0, "eastern", |here, there| {
            [[&here.aprons.east, &there.borders.west], [&there.aprons.west, &here.borders.east]]
        });
        compare(0, 1, "southern", |here, there| {
            [[&here.aprons.south, &there.borders.north], [&there.aprons.north, &here.borders.south]]
        });
    }
}

/// Compares files with what was listed.
fn files(args: &VerifyArgs, out: &Output, records: &BTreeMap<TileCoord, TileRecord>) -> anyhow::Result<Vec<Finding>> {
    let progress = progress::bar(records.len() as u64, "tiles", args.output.quiet);
    let check = |record: &TileRecord| {
        let mut findings = Vec::new();
        for file in &record.files {
            let finding = match out.read(&file.name) {
                Ok(Some(bytes)) if sha256(&bytes) == file.sha256 => continue,
                Ok(Some(_)) => format!("{}: is not the file that was made", file.name),
                Ok(None) => format!("{}: is missing", file.name),
                Err(error) => error.to_string(),
            };
            findings.push(Finding { tile: record.tile, finding });
        }
        progress.inc(1);
        findings
    };
    let all: Vec<&TileRecord> = records.values().collect();
    let found = jobs::pool(None, "verify")?.install(|| all.par_iter().flat_map_iter(|record| check(record)).collect());
    progress.finish_and_clear();
    Ok(found)
}

fn report(args: &VerifyArgs, n_tiles: usize, findings: &[Finding]) -> anyhow::Result<()> {
    if args.output.json {
        let value = serde_json::json!({ "tiles": n_tiles, "findings": findings });
        print(&format!("{value:#}\n"))?;
        return Ok(());
    }
    let mut lines: Vec<String> =
        findings.iter().map(|Finding { tile, finding }| format!("{tile}: {finding}\n")).collect();
    if !args.output.quiet {
        lines.push(format!("{n_tiles} tiles, {} findings\n", findings.len()));
    }
    let text = lines.concat();
    print(&text)?;
    Ok(())
}
