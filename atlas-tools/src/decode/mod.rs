//! `atlas-tools decode`: regions become files that other programs open.
//!
//! Owns the choice of the form and of the regions. What a form holds, in which axes and units, stands at the head of its
//! file. All but `npy` join the regions into one file; each is decoded once more than it must, rather than held.

mod frame;
mod geotiff;
mod glb;
mod npy;
mod palette;
mod ply;
mod rects;
mod spool;
mod tiff;
mod vox;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::flags::{OutputFlags, ReadingFlags};
use crate::jobs;
use crate::outcome::Outcome;
use crate::regions::{Regions, Walk, Zooms};

/// Turns regions into files of other programs: arrays, models, point clouds and rasters.
///
/// Forms: `npy` is an array of u8 [256, 256, 256, 4] a region, indices x (east), y (up), z (south) and red, green, blue,
/// alpha; alpha is 255 where a voxel is and 0 where air is; several regions go into a folder as {z}/{x}/{y}.npy. `vox` is
/// a MagicaVoxel scene, a model a region, of at most 255 colours. `ply` holds rectangles of one colour, or with --points a
/// point for each voxel that is seen; x is east, y north, z up. `glb` holds the same rectangles as glTF, y up. Both are in
/// metres from the middle of the regions and from the heights' datum. `geotiff` writes two rasters beside each other,
/// NAME.height.tif (metres of the highest voxel above the datum, NaN where there is none) and NAME.colour.tif (RGBA), in
/// EPSG:3857, a pixel a column of voxels.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools decode city --tiles 17/116415/51623 --out tower.glb
  atlas-tools decode city.pmtiles --bbox 139.744,35.656,139.749,35.660 --out shiba.tif
  atlas-tools decode https://host/city --zoom 14 --out city.ply --points
  atlas-tools decode city/17/116415/51623.png --out tower.npy

Exit codes: 0 done, 1 done but a region could not be read, 2 wrong usage or nothing done.")]
pub struct DecodeArgs {
    /// A folder, a tiles.json, a .pmtiles archive, a URL of these, a URL template, or an atlas file
    #[arg(value_name = "SOURCE|FILE")]
    pub source: String,
    /// The file that is written; a folder for `npy` of several regions
    #[arg(long, value_name = "FILE|DIR")]
    pub out: PathBuf,
    /// The form [default: by the extension of --out]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Of `ply`: points instead of rectangles
    #[arg(long)]
    pub points: bool,
    /// Which regions are read, and how
    #[command(flatten)]
    pub reading: ReadingFlags,
}

/// A form of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A NumPy array a region
    Npy,
    /// A MagicaVoxel scene
    Vox,
    /// Rectangles or points
    Ply,
    /// A glTF model
    Glb,
    /// Rasters of the height and of the colour seen from above
    Geotiff,
}

impl Format {
    /// The form that an extension stands for.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "npy" => Some(Self::Npy),
            "vox" => Some(Self::Vox),
            "ply" => Some(Self::Ply),
            "glb" => Some(Self::Glb),
            "tif" | "tiff" => Some(Self::Geotiff),
            _ => None,
        }
    }
}

/// Runs the command.
///
/// # Errors
///
/// The source cannot be opened, no region of it is meant, the output cannot be written, or Ctrl-C was pressed.
pub fn run(args: &DecodeArgs) -> anyhow::Result<Outcome> {
    let Some(format) = args.format.or_else(|| Format::of(&args.out)) else {
        bail!(
            "{}: its extension names no form: expected .npy, .vox, .ply, .glb or .tif, or --format",
            args.out.display()
        );
    };
    if args.points && format != Format::Ply {
        bail!("--points: only a PLY file has points: expected --out FILE.ply");
    }
    let regions = Regions::open(&args.source, &args.reading.net.config()?, &args.reading.selection, Zooms::Finest)?;
    regions.expect_some()?;
    let stop = crate::interrupt::flag().context("Ctrl-C cannot be watched")?;
    let job = Job { regions: &regions, out: &args.out, stop: &stop, flags: args.reading.output, points: args.points };
    let done = jobs::pool(args.reading.jobs.jobs, "decode")?.install(|| job.run(format))?;
    args.reading.output.say(|| done.to_json(), || done.to_text())?;
    Ok(Outcome::with_findings(!done.findings.is_empty()))
}

/// What the forms share.
struct Job<'a> {
    regions: &'a Regions,
    out: &'a Path,
    stop: &'a AtomicBool,
    flags: OutputFlags,
    points: bool,
}

/// What was written.
struct Done {
    files: Vec<PathBuf>,
    regions: usize,
    /// What was written besides, in words, such as "3 colours".
    notes: Vec<String>,
    findings: Vec<crate::outcome::Finding>,
}

impl Job<'_> {
    fn run(&self, format: Format) -> anyhow::Result<Done> {
        match format {
            Format::Npy => npy::write(self),
            Format::Vox => vox::write(self),
            Format::Ply if self.points => ply::write_points(self),
            Format::Ply => ply::write_rects(self),
            Format::Glb => glb::write(self),
            Format::Geotiff => geotiff::write(self),
        }
    }

    /// A walk over all regions; `what` says what comes of them.
    fn walk(&self, what: &str) -> Walk<'_> {
        Walk::new(self.regions, self.stop, self.flags.bar(self.regions.keys().len() as u64, what))
    }

    /// What came of it where one file was written.
    fn done(&self, walk: Walk<'_>, notes: Vec<String>) -> Done {
        Done {
            files: vec![self.out.to_owned()],
            regions: self.regions.keys().len() - walk.findings.len(),
            notes,
            findings: walk.findings,
        }
    }

    /// Refuses a file that does not say where it lies, for forms that must know.
    fn expect_placed(&self) -> anyhow::Result<()> {
        if !self.regions.is_placed() {
            bail!(
                "{}: does not say where it lies: expected metadata in the file, or a path that ends in {{z}}/{{x}}/{{y}}.png",
                self.regions.name()
            );
        }
        Ok(())
    }
}

impl Done {
    fn to_json(&self) -> String {
        let files: Vec<_> = self.files.iter().map(|file| file.display().to_string()).collect();
        let view = json!({ "files": files, "regions": self.regions, "notes": self.notes, "findings": self.findings });
        format!("{view:#}\n")
    }

    fn to_text(&self) -> String {
        let regions = format!("{} regions", self.regions);
        let what = [&[regions], self.notes.as_slice()].concat().join(", ");
        match self.files.as_slice() {
            [file] => format!("{}: {what}\n", file.display()),
            files => {
                let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
                format!("{}\n{what}\n", names.join("\n"))
            }
        }
    }
}
