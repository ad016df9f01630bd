//! Beyond one machine: a run that is shared out, put together again and checked.
//!
//! Owns the plan file and the three commands round `encode --plan`: `plan` writes it, `merge` makes one tileset of what
//! the shards made, `verify` proves that the plan was carried out. A scheduler is somebody else's: it only has to run
//! the same command N times with another number each.
//!
//! ```text
//!   plan -> plan.json -> encode --plan --shard 0 .. N-1 -> manifest-K.jsonl -> merge -> tiles.json -> verify
//! ```

mod choice;
mod merge;
mod plan;
mod verify;

pub use choice::ShardChoice;
pub use merge::MergeArgs;
pub use plan::{PlanArgs, PlanFile};
pub use verify::VerifyArgs;

pub use merge::run as run_merge;
pub use plan::run as run_plan;
pub use verify::run as run_verify;

use std::fmt::Write as _;

use crate::encode::Job;
use crate::outcome::{Outcome, print};

/// The name of a shard's manifest in the output.
pub fn manifest_name(shard: usize) -> String {
    format!("manifest-{shard}.jsonl")
}

/// The shard whose manifest a file is, by its name.
pub fn shard_of_manifest(name: &str) -> Option<usize> {
    name.strip_prefix("manifest-")?.strip_suffix(".jsonl")?.parse().ok()
}

/// Says what a job would make.
pub(crate) fn describe(job: &Job, n_shards: usize, json: bool) -> anyhow::Result<Outcome> {
    let bounds = job.bbox().map(voxatlas::geo::Bbox::to_array);
    if json {
        let value = serde_json::json!({
            "tiles": job.tiles.len(),
            "shards": n_shards,
            "bounds": bounds,
            "inputs": job.inputs.iter().map(|input| &input.path).collect::<Vec<_>>(),
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Outcome::Done);
    }
    let mut text = String::new();
    let around = bounds.map_or_else(String::new, |[w, s, e, n]| format!(" in {w:.4},{s:.4},{e:.4},{n:.4}"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<10}{} of zoom 17{around}", "tiles", job.tiles.len());
    let _ = writeln!(text, "{:<10}{n_shards}", "shards");
    for input in &job.inputs {
        let _ = writeln!(text, "{:<10}{}", "input", input.path.display());
    }
    print(&text)?;
    Ok(Outcome::Done)
}
