//! What a run did, counted.

use std::fmt::Write;
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::Serialize;
use voxatlas::geo::RegionKey;

use super::tile::TileReport;
use crate::input::{FALLBACK_HEIGHT_M, Fallback, Feature, FeatureId};
use crate::pyramid;

/// The counts of a run. Sums over tiles in their order: the same for every number of jobs.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// Tiles that were asked for.
    pub(super) tiles: usize,
    /// Tiles on which no building stands.
    pub(super) tiles_without_buildings: usize,
    /// Tiles that were not made, since their source could not be read.
    pub(super) tiles_failed: usize,
    /// Files that were written, tiles.json apart.
    pub(super) files: usize,
    /// Features, each counted once by its id.
    pub(super) features: usize,
    /// Their clipped copies in the source tiles.
    pub(super) feature_copies: usize,
    pub(super) fallbacks: Fallbacks,
    /// Occupied voxels in the files.
    pub(super) voxels: u64,
    /// Voxels that were left out, above the highest layer.
    pub(super) voxels_clipped: u64,
    /// Size of the files.
    pub(super) bytes: u64,
    /// How long the run took.
    pub(super) seconds: f64,
    /// Source tiles that could not be read, and why.
    pub(super) failures: Vec<String>,
    /// What the pyramid came to, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pyramid: Option<pyramid::Summary>,
    /// The regions that were written, in the order of the tiles.
    #[serde(skip)]
    pub(super) written: Vec<RegionKey>,
    #[serde(skip)]
    seen: FxHashSet<FeatureId>,
}

/// Features that have the fallback height, by why.
#[derive(Debug, Default, Serialize)]
pub(super) struct Fallbacks {
    missing: usize,
    zero: usize,
    negative: usize,
}

impl Summary {
    pub(super) fn new(tiles: usize) -> Self {
        Self {
            tiles,
            tiles_without_buildings: 0,
            tiles_failed: 0,
            files: 0,
            features: 0,
            feature_copies: 0,
            fallbacks: Fallbacks::default(),
            voxels: 0,
            voxels_clipped: 0,
            bytes: 0,
            seconds: 0.0,
            failures: Vec::new(),
            pyramid: None,
            written: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// Counts the features of a source tile.
    pub(super) fn add_features(&mut self, features: &[Feature]) {
        self.feature_copies += features.len();
        for feature in features {
            if !self.seen.insert(feature.id) {
                continue;
            }
            self.features += 1;
            match feature.height.fallback {
                Some(Fallback::Missing) => self.fallbacks.missing += 1,
                Some(Fallback::Zero) => self.fallbacks.zero += 1,
                Some(Fallback::Negative) => self.fallbacks.negative += 1,
                None => {}
            }
        }
    }

    /// Counts a tile that was made.
    pub(super) fn add_tile(&mut self, report: TileReport) {
        self.tiles_without_buildings += usize::from(!report.has_buildings);
        self.voxels_clipped += report.clipped;
        self.files += report.files.len();
        for file in report.files {
            self.voxels += file.voxels;
            self.bytes += file.size_bytes;
            self.written.push(file.key);
        }
    }

    /// Whether something could not be read.
    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty() || self.pyramid.as_ref().is_some_and(|pyramid| !pyramid.failures.is_empty())
    }

    pub(super) fn to_json(&self) -> String {
        // Plain numbers and strings: nothing in them can fail to be JSON.
        serde_json::to_string_pretty(self).map(|json| json + "\n").unwrap_or_default()
    }

    pub(super) fn to_text(&self, out: &Path) -> String {
        let Fallbacks { missing, zero, negative } = self.fallbacks;
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label:<10}{value}");
        };
        line("out", format!("{}: {} files, {:.1} MB", out.display(), self.files, self.bytes as f64 / 1e6));
        line(
            "tiles",
            format!(
                "{}, of which {} without buildings (this source does not tell sea from land) and {} failed",
                self.tiles, self.tiles_without_buildings, self.tiles_failed
            ),
        );
        line("features", format!("{} in {} clipped copies", self.features, self.feature_copies));
        line(
            "fallbacks",
            format!(
                "{} heights became {FALLBACK_HEIGHT_M} m: {missing} missing, {zero} zero, {negative} negative",
                missing + zero + negative
            ),
        );
        line("voxels", format!("{}, and {} clipped above the highest layer", self.voxels, self.voxels_clipped));
        line("time", format!("{:.1} s", self.seconds));
        for failure in &self.failures {
            line("failed", failure.clone());
        }
        if let Some(pyramid) = &self.pyramid {
            text += &pyramid.to_text();
        }
        text
    }
}
