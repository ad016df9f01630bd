//! What a run did, counted.

use std::fmt::Write;

use serde::Serialize;
use voxatlas::geo::RegionKey;

use super::record::{Counts, Fallbacks, TileRecord};
use crate::gather::Problems;
use crate::pyramid;

/// Inputs that are named in words where something was assumed of them.
const INPUTS_NAMED_MAX: usize = 10;

/// The counts of a run. Sums over tiles in their order: the same for every number of jobs.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Tiles that were asked for.
    pub tiles: usize,
    /// Tiles that were there already, by an earlier run of the same plan.
    pub tiles_kept: usize,
    /// Tiles that were not made.
    pub tiles_failed: usize,
    /// Files that were written, tiles.json apart.
    pub files: usize,
    /// What was counted in the tiles.
    #[serde(flatten)]
    pub counts: Counts,
    /// Occupied voxels in the files.
    pub voxels: u64,
    /// Size of the files.
    pub bytes: u64,
    /// How long the run took.
    pub seconds: f64,
    /// What was tolerated in the inputs.
    pub(super) problems: Problems,
    /// What could not be read or made, and why.
    pub failures: Vec<String>,
    /// What the pyramid came to, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pyramid: Option<pyramid::Summary>,
    /// The regions that were written, in the order of the tiles.
    #[serde(skip)]
    pub written: Vec<RegionKey>,
}

impl Summary {
    /// A run of so many tiles of which none is made yet.
    pub(super) fn new(tiles: usize) -> Self {
        Self {
            tiles,
            tiles_kept: 0,
            tiles_failed: 0,
            files: 0,
            counts: Counts::default(),
            voxels: 0,
            bytes: 0,
            seconds: 0.0,
            problems: Problems::default(),
            failures: Vec::new(),
            pyramid: None,
            written: Vec::new(),
        }
    }

    /// Counts a tile that was made.
    pub(super) fn add(&mut self, record: &TileRecord) {
        self.counts += record.counts;
        self.files += record.files.len();
        for file in &record.files {
            self.voxels += file.voxels;
            self.bytes += file.bytes;
        }
        self.written.extend(record.keys());
    }

    /// Whether something could not be read or made.
    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty() || self.pyramid.as_ref().is_some_and(|pyramid| !pyramid.failures.is_empty())
    }

    pub(super) fn to_json(&self) -> String {
        // Plain numbers and strings: nothing in them can fail to be JSON.
        serde_json::to_string_pretty(self).map(|json| json + "\n").unwrap_or_default()
    }

    /// The summary in words; `out` is what the output is called.
    pub(super) fn to_text(&self, out: &str, fallback_height_m: f64) -> String {
        let Fallbacks { missing, zero, negative } = self.counts.fallbacks;
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label:<10}{value}");
        };
        line("out", format!("{out}: {} files, {:.1} MB", self.files, self.bytes as f64 / 1e6));
        line(
            "tiles",
            format!(
                "{}, of which {} with nothing on the ground, {} kept from an earlier run and {} failed",
                self.tiles, self.counts.tiles_empty, self.tiles_kept, self.tiles_failed
            ),
        );
        line("features", format!("{} in {} copies", self.counts.features, self.counts.feature_copies));
        if self.counts.points > 0 {
            line("points", self.counts.points.to_string());
        }
        line(
            "fallbacks",
            format!(
                "{} heights became {fallback_height_m} m: {missing} missing, {zero} zero, {negative} negative",
                missing + zero + negative
            ),
        );
        line("voxels", format!("{}, and {} clipped", self.voxels, self.counts.voxels_clipped));
        line("time", format!("{:.1} s", self.seconds));
        for (problem, tolerated) in self.problems.iter() {
            let named = tolerated.features.join(", ");
            let more = if tolerated.count as usize > tolerated.features.len() { ", ..." } else { "" };
            line("tolerated", format!("{} x {problem}: {named}{more}", tolerated.count));
        }
        for (what, inputs) in self.problems.assumed() {
            let named: Vec<_> = inputs.iter().take(INPUTS_NAMED_MAX).map(String::as_str).collect();
            let more = if inputs.len() > named.len() { ", ..." } else { "" };
            line("assumed", format!("{what}: {}{more}", named.join(", ")));
        }
        for failure in &self.failures {
            line("failed", failure.clone());
        }
        if let Some(pyramid) = &self.pyramid {
            text += &pyramid.to_text();
        }
        text
    }
}
