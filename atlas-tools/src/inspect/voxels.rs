//! What regions hold, for `inspect`: the most frequent colours, heights, and a picture from above.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use serde_json::{Value, json};
use voxatlas::geo::TileCoord;

use super::Lines;
use crate::contents::{Contents, Heights};
use crate::flags::OutputFlags;
use crate::outcome::Finding;
use crate::preview::Preview;
use crate::regions::{Regions, Walk};
use crate::surface::Surface;

/// What the regions that are meant hold.
pub(super) struct Voxels {
    regions: usize,
    contents: Contents,
    heights: Heights,
    n_colours_shown: usize,
    pub(super) findings: Vec<Finding>,
}

impl Voxels {
    /// Reads the regions, and draws them where a picture is wanted.
    pub(super) fn read(
        regions: &Regions,
        preview: Option<&Path>,
        n_colours_shown: usize,
        flags: OutputFlags,
    ) -> anyhow::Result<Self> {
        let mut picture = preview.map(|_| Preview::new(regions.keys())).transpose()?;
        let base = regions.tileset().base();
        let (mut n_regions, mut contents, mut heights) = (0, Contents::default(), Heights::default());
        let mut close = |open: Option<(TileCoord, Surface)>| {
            if let Some((tile, surface)) = open {
                heights.add(tile, base, &surface);
                if let Some(picture) = &mut picture {
                    picture.add(tile, &surface);
                }
            }
        };
        let mut open: Option<(TileCoord, Surface)> = None;
        let stop = AtomicBool::new(false);
        let mut walk = Walk::new(regions, &stop, flags.bar(regions.keys().len() as u64, "regions"));
        walk.each(
            |visited| (Contents::of(visited.region), Surface::of(visited.key.layer, visited.region)),
            |key, (more, surface)| {
                n_regions += 1;
                contents.add(more);
                match &mut open {
                    Some((tile, joined)) if *tile == key.tile => joined.merge(&surface),
                    _ => close(open.replace((key.tile, surface))),
                }
                Ok(())
            },
        )?;
        close(open.take());
        if let (Some(picture), Some(path)) = (picture, preview) {
            picture.write(path).context("--preview")?;
        }
        Ok(Self { regions: n_regions, contents, heights, n_colours_shown, findings: walk.findings })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "regions": self.regions,
            "occupied": self.contents.voxels,
            "bricks": self.contents.bricks,
            "colours": self.contents.colours.len(),
            "top_colours": self.contents.top_colours(self.n_colours_shown),
            "heights": self.heights.to_json(),
            "findings": self.findings,
        })
    }

    /// Adds what is not said of a single file already.
    pub(super) fn add_to(&self, text: &mut Lines) {
        for share in self.contents.top_colours(self.n_colours_shown) {
            text.line("colour", &format!("{} {:>10} voxels", share.colour, share.voxels));
        }
        if let Some(highest) = self.heights.percentile_m(100) {
            let median = self.heights.percentile_m(50).unwrap_or_default();
            let columns = self.heights.n_columns();
            text.line("heights", &format!("{columns} columns; median {median} m, highest {highest} m above the datum"));
            for line in self.heights.to_text().lines() {
                text.line("", line);
            }
        }
        self.findings.iter().for_each(|finding| text.line("finding", &finding.to_string()));
    }

    /// The counts of several regions.
    pub(super) fn add_counts_to(&self, text: &mut Lines) {
        let Contents { voxels, bricks, colours } = &self.contents;
        let regions = self.regions;
        text.line("voxels", &format!("{voxels} in {bricks} bricks of {regions} regions, {} colours", colours.len()));
    }
}
