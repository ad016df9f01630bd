//! `atlas-tools diff`: whether two tilesets show the same voxels, and where they do not.
//!
//! Owns the comparison by voxel: occupancy and colour. How files are packed, their metadata and their palettes do not
//! matter; `cmp` tells whether bytes are equal.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use voxatlas::atlas::{self, EncodedAtlas};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::Region;

use crate::flags::ReadingFlags;
use crate::jobs;
use crate::outcome::{Finding, Outcome};
use crate::regions::{Regions, Zooms};

/// Lines of a kind that the text shows; JSON has all.
const SHOWN_MAX: usize = 20;

/// Compares two tilesets, or two atlas files, voxel by voxel: what is occupied in one and not in the other, and what has
/// another colour.
///
/// Two files are compared whatever regions they say they are. Of tilesets, all zooms are compared unless --zoom says one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools diff before after
  atlas-tools diff city city.pmtiles --json
  atlas-tools diff a/17/116415/51623.png b/17/116415/51623.png

Exit codes: 0 the voxels are the same, 1 they differ or a region could not be read, 2 wrong usage or nothing compared.")]
pub struct DiffArgs {
    /// A folder, a tiles.json, a .pmtiles archive, a URL of these, a URL template, or an atlas file
    #[arg(value_name = "A")]
    pub a: String,
    /// What it is compared with
    #[arg(value_name = "B")]
    pub b: String,
    /// Which regions are read, and how
    #[command(flatten)]
    pub reading: ReadingFlags,
}

/// What the comparison came to.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Regions that both have.
    compared: usize,
    /// Of these, those with the same voxels.
    same: usize,
    /// Voxels of regions that both have.
    voxels: Counts,
    /// Regions with a file in A alone.
    only_in_a: Vec<String>,
    /// Regions with a file in B alone.
    only_in_b: Vec<String>,
    /// Those that differ.
    different: Vec<Different>,
    /// What could not be read.
    findings: Vec<Finding>,
}

/// Voxels that differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Counts {
    only_in_a: u64,
    only_in_b: u64,
    recoloured: u64,
}

/// A region that differs.
#[derive(Debug, Serialize)]
struct Different {
    region: String,
    voxels: Counts,
    first: Voxel,
}

/// A voxel of both, in the region's own voxels; no colour where it is air.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Voxel {
    at: [u32; 3],
    a: Option<String>,
    b: Option<String>,
}

/// Runs the command.
///
/// # Errors
///
/// A source cannot be opened, or a file is compared with a tileset.
pub fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let config = args.reading.net.config()?;
    let open = |text: &str| Regions::open(text, &config, &args.reading.selection, Zooms::All);
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let pairs = pairs(&a, &b);
    let bar = args.reading.output.bar(pairs.len() as u64, "regions");
    let mut report = Report::default();
    jobs::pool(args.reading.jobs.jobs, "diff")?.install(|| {
        Regions::each(
            &pairs,
            |pair| compare(&a, &b, *pair),
            |pair, compared| {
                bar.inc(1);
                report.add(*pair, compared);
                Ok(())
            },
        )
    })?;
    bar.finish_and_clear();
    let json = serde_json::to_string_pretty(&report)? + "\n";
    args.reading.output.say(|| json, || report.to_text())?;
    Ok(Outcome::with_findings(!report.is_same()))
}

/// The regions of each side that are compared with each other.
type Pair = (RegionKey, RegionKey);

fn pairs(a: &Regions, b: &Regions) -> Vec<Pair> {
    if a.is_single() && b.is_single() {
        return vec![(a.keys()[0], b.keys()[0])];
    }
    let keys: BTreeSet<RegionKey> = a.keys().iter().chain(b.keys()).copied().collect();
    keys.into_iter().map(|key| (key, key)).collect()
}

/// What came of two regions.
enum Compared {
    Neither,
    Same,
    OnlyInA,
    OnlyInB,
    Different(Counts, Voxel),
    Failed(Finding),
}

fn compare(a: &Regions, b: &Regions, (key_a, key_b): Pair) -> Compared {
    let read = |regions: &Regions, key: RegionKey| {
        regions.read(key).map_err(|error| Finding { file: regions.name_of(key), finding: error.to_string() })
    };
    let decode = |regions: &Regions, key: RegionKey, file: &EncodedAtlas| {
        atlas::decode(file).map_err(|error| Finding { file: regions.name_of(key), finding: error.to_string() })
    };
    let compared = || -> Result<Compared, Finding> {
        let (file_a, file_b) = (read(a, key_a)?, read(b, key_b)?);
        let (file_a, file_b) = match (file_a, file_b) {
            (None, None) => return Ok(Compared::Neither),
            (Some(_), None) => return Ok(Compared::OnlyInA),
            (None, Some(_)) => return Ok(Compared::OnlyInB),
            (Some(a), Some(b)) if a.bytes() == b.bytes() => return Ok(Compared::Same),
            (Some(a), Some(b)) => (a, b),
        };
        let (region_a, region_b) = (decode(a, key_a, &file_a)?, decode(b, key_b, &file_b)?);
        Ok(match region_a.first_difference(&region_b) {
            None => Compared::Same,
            Some(at) => Compared::Different(count(&region_a, &region_b), Voxel::at(&region_a, &region_b, at)),
        })
    };
    compared().unwrap_or_else(Compared::Failed)
}

fn count(a: &Region, b: &Region) -> Counts {
    let mut counts = Counts::default();
    for (row_idx, (row_a, row_b)) in a.occupancy.rows().iter().zip(b.occupancy.rows()).enumerate() {
        let (y, z) = (row_idx as u32 % 256, row_idx as u32 / 256);
        for (word_idx, (word_a, word_b)) in row_a.iter().zip(row_b).enumerate() {
            counts.only_in_a += u64::from((word_a & !word_b).count_ones());
            counts.only_in_b += u64::from((word_b & !word_a).count_ones());
            let mut both = word_a & word_b;
            while both != 0 {
                let x = word_idx as u32 * 64 + both.trailing_zeros();
                both &= both - 1;
                counts.recoloured += u64::from(a.colours.get(x, y, z) != b.colours.get(x, y, z));
            }
        }
    }
    counts
}

impl Voxel {
    fn at(a: &Region, b: &Region, at @ [x, y, z]: [u32; 3]) -> Self {
        let colour = |region: &Region| {
            let [r, g, b] = region.colours.get(x, y, z);
            region.occupancy.get(x, y, z).then(|| format!("#{r:02x}{g:02x}{b:02x}"))
        };
        Self { at, a: colour(a), b: colour(b) }
    }
}

impl Report {
    fn add(&mut self, (key, _): Pair, compared: Compared) {
        match compared {
            Compared::Neither => {}
            Compared::Same => {
                self.compared += 1;
                self.same += 1;
            }
            Compared::OnlyInA => self.only_in_a.push(key.to_string()),
            Compared::OnlyInB => self.only_in_b.push(key.to_string()),
            Compared::Different(voxels, first) => {
                self.compared += 1;
                self.voxels.only_in_a += voxels.only_in_a;
                self.voxels.only_in_b += voxels.only_in_b;
                self.voxels.recoloured += voxels.recoloured;
                self.different.push(Different { region: key.to_string(), voxels, first });
            }
            Compared::Failed(finding) => self.findings.push(finding),
        }
    }

    fn is_same(&self) -> bool {
        self.only_in_a.is_empty() && self.only_in_b.is_empty() && self.different.is_empty() && self.findings.is_empty()
    }

    fn to_text(&self) -> String {
        let mut lines = Vec::new();
        show(&mut lines, &self.findings, |finding| format!("not compared: {finding}"));
        show(&mut lines, &self.only_in_a, |region| format!("{region}: only in A"));
        show(&mut lines, &self.only_in_b, |region| format!("{region}: only in B"));
        show(&mut lines, &self.different, |Different { region, voxels, first }| {
            let Counts { only_in_a, only_in_b, recoloured } = voxels;
            let [x, y, z] = first.at;
            let colour = |colour: &Option<String>| colour.clone().unwrap_or_else(|| "air".to_owned());
            let (a, b) = (colour(&first.a), colour(&first.b));
            format!(
                "{region}: {only_in_a} voxels only in A, {only_in_b} only in B, {recoloured} of another colour; first at \
                 {x},{y},{z}: {a} and {b}"
            )
        });
        lines.push(format!("{} regions compared, {} the same", self.compared, self.same));
        lines.join("\n") + "\n"
    }
}

/// Adds a line for each thing, and a last one for those that are too many.
fn show<T>(lines: &mut Vec<String>, things: &[T], line: impl Fn(&T) -> String) {
    lines.extend(things.iter().take(SHOWN_MAX).map(line));
    if let Some(n_more) = things.len().checked_sub(SHOWN_MAX).filter(|&n| n > 0) {
        lines.push(format!("... and {n_more} more; --json lists all"));
    }
}
