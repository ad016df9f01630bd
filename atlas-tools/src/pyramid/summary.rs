//! What a run did, counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Serialize, Serializer};

use super::maker::Made;

/// The counts of a run: the same for every number of jobs, but for the time.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The tileset's place.
    dir: String,
    /// By zoom.
    #[serde(serialize_with = "finest_first")]
    zooms: BTreeMap<u8, ZoomSummary>,
    /// Coarse files of an earlier run that had no place any more.
    pub(super) removed: usize,
    /// How long the run took.
    pub(super) seconds: f64,
    /// Files that could not be read, and why.
    pub(crate) failures: Vec<String>,
}

/// The counts of a zoom.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct ZoomSummary {
    zoom: u8,
    /// Regions that it has.
    regions: usize,
    /// Of these, those whose file was there already.
    kept: usize,
    /// Size of the files.
    bytes: u64,
}

fn finest_first<S: Serializer>(zooms: &BTreeMap<u8, ZoomSummary>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(zooms.values().rev())
}

impl Summary {
    pub(super) fn new(dir: String) -> Self {
        Self { dir, zooms: BTreeMap::new(), removed: 0, seconds: 0.0, failures: Vec::new() }
    }

    /// Counts a region.
    pub(super) fn add(&mut self, zoom: u8, made: Made) {
        let of_zoom = self.zooms.entry(zoom).or_default();
        of_zoom.zoom = zoom;
        of_zoom.regions += 1;
        of_zoom.kept += usize::from(made.is_kept);
        of_zoom.bytes += made.size_bytes;
        self.failures.extend(made.failures);
    }

    pub(super) fn to_json(&self) -> String {
        // Plain numbers and strings: nothing in them can fail to be JSON.
        serde_json::to_string_pretty(self).map(|json| json + "\n").unwrap_or_default()
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label:<10}{value}");
        };
        line("pyramid", self.dir.clone());
        for ZoomSummary { zoom, regions, kept, bytes } in self.zooms.values().rev() {
            let kept = if *kept > 0 { format!(", {kept} of them as they were") } else { String::new() };
            line(&format!("zoom {zoom}"), format!("{regions} regions{kept}, {:.1} MB", *bytes as f64 / 1e6));
        }
        if self.removed > 0 {
            line("removed", format!("{} coarse files that had no place any more", self.removed));
        }
        line("time", format!("{:.1} s", self.seconds));
        for failure in &self.failures {
            line("failed", failure.clone());
        }
        text
    }
}
