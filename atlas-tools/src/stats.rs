//! `atlas-tools stats`: what a tileset weighs and holds, in totals, percentiles and histograms.
//!
//! Every region is decoded and meshed as a viewer would; nothing is estimated.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_region};

use crate::contents::{Contents, Heights};
use crate::flags::ReadingFlags;
use crate::jobs;
use crate::outcome::{Finding, Outcome};
use crate::regions::{Regions, Visited, Walk, Zooms};
use crate::surface::Surface;

/// Colours that are listed.
const COLOURS_SHOWN: usize = 10;

/// Counts what a tileset holds: bytes, voxels, exposed faces, the quads that they are merged into, colours, and how high
/// its columns reach.
///
/// All zooms are counted unless --zoom says one. Heights are those of the finest that is counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools stats city
  atlas-tools stats city.pmtiles --zoom 17 --json

Exit codes: 0 done, 1 done but a region could not be read, 2 wrong usage or nothing counted.")]
pub struct StatsArgs {
    /// A folder, a tiles.json, a .pmtiles archive, a URL of these, a URL template, or an atlas file
    #[arg(value_name = "SOURCE|FILE")]
    pub source: String,
    /// Which regions are read, and how
    #[command(flatten)]
    pub reading: ReadingFlags,
}

/// Runs the command.
///
/// # Errors
///
/// The source cannot be opened, no region of it is meant, or Ctrl-C was pressed.
pub fn run(args: &StatsArgs) -> anyhow::Result<Outcome> {
    let regions = Regions::open(&args.source, &args.reading.net.config()?, &args.reading.selection, Zooms::All)?;
    regions.expect_some()?;
    let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
    let bar = args.reading.output.bar(regions.keys().len() as u64, "regions");
    let mut walk = Walk::new(&regions, &stop, bar);
    let mut stats = Stats::new(&regions);
    let finest = stats.finest;
    jobs::pool(args.reading.jobs.jobs, "stats")?.install(|| {
        walk.each(
            |visited| Counted::of(visited, finest),
            |key, counted| {
                stats.add(key, counted);
                Ok(())
            },
        )
    })?;
    stats.close();
    stats.findings = walk.findings;
    args.reading.output.say(|| format!("{:#}\n", stats.to_json()), || stats.to_text())?;
    Ok(Outcome::with_findings(!stats.findings.is_empty()))
}

/// What one region holds.
struct Counted {
    bytes: u64,
    faces: u64,
    quads: u64,
    contents: Contents,
    /// Of the finest zoom.
    surface: Option<Surface>,
}

impl Counted {
    fn of(visited: Visited<'_>, finest: u8) -> Self {
        let Visited { key, file, region } = visited;
        let mesh = mesh_region(region, BorderPolicy::Closed, &mut Scratch::new());
        Self {
            bytes: file.bytes().len() as u64,
            faces: mesh.quads.iter().map(|quad| u64::from(quad.width()) * u64::from(quad.height())).sum(),
            quads: mesh.quads.len() as u64,
            contents: Contents::of(region),
            surface: (key.tile.zoom() == finest).then(|| Surface::of(key.layer, region)),
        }
    }
}

/// The numbers of a zoom, one of each a region.
#[derive(Debug, Default)]
struct ZoomStats {
    bytes: Vec<u64>,
    voxels: Vec<u64>,
    faces: Vec<u64>,
    quads: Vec<u64>,
}

/// What all regions hold.
struct Stats {
    source: String,
    base: i32,
    finest: u8,
    zooms: BTreeMap<u8, ZoomStats>,
    contents: Contents,
    heights: Heights,
    /// The tile whose layers are being joined.
    open: Option<(TileCoord, Surface)>,
    findings: Vec<Finding>,
}

impl Stats {
    fn new(regions: &Regions) -> Self {
        Self {
            source: regions.name().to_owned(),
            base: regions.tileset().base(),
            finest: regions.keys().iter().map(|key| key.tile.zoom()).max().unwrap_or_default(),
            zooms: BTreeMap::new(),
            contents: Contents::default(),
            heights: Heights::default(),
            open: None,
            findings: Vec::new(),
        }
    }

    /// Adds a region; those of a tile follow each other.
    fn add(&mut self, key: RegionKey, counted: Counted) {
        let zoom = self.zooms.entry(key.tile.zoom()).or_default();
        zoom.bytes.push(counted.bytes);
        zoom.voxels.push(counted.contents.voxels);
        zoom.faces.push(counted.faces);
        zoom.quads.push(counted.quads);
        let Some(surface) = counted.surface else { return };
        // Coarser zooms hold the same city again.
        self.contents.add(counted.contents);
        match &mut self.open {
            Some((tile, joined)) if *tile == key.tile => joined.merge(&surface),
            _ => {
                self.close();
                self.open = Some((key.tile, surface));
            }
        }
    }

    /// Counts the heights of the tile that was open.
    fn close(&mut self) {
        if let Some((tile, surface)) = self.open.take() {
            self.heights.add(tile, self.base, &surface);
        }
    }

    fn to_json(&self) -> Value {
        let zooms: Vec<_> = self
            .zooms
            .iter()
            .rev()
            .map(|(zoom, stats)| {
                json!({
                    "zoom": zoom,
                    "regions": stats.bytes.len(),
                    "bytes": spread(&stats.bytes),
                    "voxels": spread(&stats.voxels),
                    "faces": spread(&stats.faces),
                    "quads": spread(&stats.quads),
                })
            })
            .collect();
        json!({
            "source": self.source,
            "zooms": zooms,
            "finest": {
                "zoom": self.finest,
                "voxels": self.contents.voxels,
                "bricks": self.contents.bricks,
                "colours": self.contents.colours.len(),
                "top_colours": self.contents.top_colours(COLOURS_SHOWN),
                "heights": self.heights.to_json(),
            },
            "findings": self.findings,
        })
    }

    fn to_text(&self) -> String {
        let mut text = format!("{}\n\n", self.source);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "zoom     of          total        p50        p90        p99        max");
        for (zoom, stats) in self.zooms.iter().rev() {
            let _ = writeln!(text, "{zoom}: {} regions", stats.bytes.len());
            for (name, values) in
                [("bytes", &stats.bytes), ("voxels", &stats.voxels), ("faces", &stats.faces), ("quads", &stats.quads)]
            {
                let Spread { total, p50, p90, p99, max } = Spread::of(values);
                let _ = writeln!(text, "         {name:<7}{total:>10} {p50:>10} {p90:>10} {p99:>10} {max:>10}");
            }
        }
        let Contents { voxels, bricks, colours } = &self.contents;
        let _ = writeln!(text, "\nzoom {}: {voxels} voxels in {bricks} bricks, {} colours", self.finest, colours.len());
        for share in self.contents.top_colours(COLOURS_SHOWN) {
            let _ = writeln!(text, "{:>10} {:>10}", share.colour, share.voxels);
        }
        let metres = |percent| self.heights.percentile_m(percent).map_or("-".to_owned(), |m| format!("{m} m"));
        let _ = writeln!(
            text,
            "\nheights above the datum: {} columns; median {}, 99 of 100 below {}, highest {}",
            self.heights.n_columns(),
            metres(50),
            metres(99),
            metres(100)
        );
        text + &self.heights.to_text()
    }
}

/// A total and what lies below how many of a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spread {
    total: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

impl Spread {
    fn of(values: &[u64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        // The nearest rank: a value that is there.
        let at =
            |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or_default();
        Self { total: sorted.iter().sum(), p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}

fn spread(values: &[u64]) -> Value {
    let Spread { total, p50, p90, p99, max } = Spread::of(values);
    json!({ "total": total, "p50": p50, "p90": p90, "p99": p99, "max": max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_are_there() {
        let values: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(Spread::of(&values), Spread { total: 20_100, p50: 100, p90: 180, p99: 198, max: 200 });
        assert_eq!(Spread::of(&[7]), Spread { total: 7, p50: 7, p90: 7, p99: 7, max: 7 });
        assert_eq!(Spread::of(&[]), Spread { total: 0, p50: 0, p90: 0, p99: 0, max: 0 });
    }
}
