//! `atlas-tools validate`: whether a tileset is sound.

mod archive;
mod pyramid;
mod source;

use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use voxatlas::atlas::{self, Availability, FileMark, Lineage, Presence, Tileset};
use voxatlas::geo::RegionKey;

use crate::archives::Archives;
use crate::attributes_file::{self, AttributesFile};
use crate::flags::ReadingFlags;
use crate::outcome::{Finding, Outcome};
use crate::regions::is_atlas_file;
use crate::{document, jobs, tileset_files};
use pyramid::Pyramid;

/// Checks a tileset: its document, that every listed tile is there and every tile listed, every file as a whole, and
/// that the coarser zooms are those of the finer ones.
///
/// A folder, an archive or a document lists what is to be there; of a template, what --bbox or --tiles name is asked for.
/// A single file is checked by itself.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools validate city
  atlas-tools validate city.pmtiles --json
  atlas-tools validate https://host/city --jobs 8
  atlas-tools validate city/17/116415/51623.png

Exit codes: 0 the tileset is sound, 1 there are findings, 2 it cannot be read.")]
pub struct ValidateArgs {
    /// A folder, a tiles.json, a .pmtiles archive, a URL of these, a URL template, or an atlas file
    #[arg(value_name = "SOURCE|FILE")]
    pub source: String,
    /// Which regions are read, and how
    #[command(flatten)]
    pub reading: ReadingFlags,
}

#[derive(Debug, Serialize)]
struct Report {
    /// Image files that were checked.
    files: usize,
    /// Regions that the document lists.
    listed: usize,
    findings: Vec<Finding>,
}

/// Runs the command.
///
/// # Errors
///
/// The source cannot be read.
pub fn run(args: &ValidateArgs) -> anyhow::Result<Outcome> {
    let report = jobs::pool(args.reading.jobs.jobs, "validate")?.install(|| report(args))?;
    let json = serde_json::to_string_pretty(&report)? + "\n";
    args.reading.output.say(|| json, || report.to_text())?;
    Ok(Outcome::with_findings(!report.findings.is_empty()))
}

fn report(args: &ValidateArgs) -> anyhow::Result<Report> {
    let source = args.source.as_str();
    let path = Path::new(source);
    // A folder may have any name, such as that of an archive.
    if path.is_dir() {
        return validate(path);
    }
    if is_atlas_file(source) {
        return source::validate_file(path);
    }
    let config = args.reading.net.config()?;
    if let Some(spec) = Archives::spec(source)? {
        return archive::validate(&spec, &config);
    }
    if !path.exists() && !source.contains("://") && !source.contains('{') && source != "demo" {
        bail!("{source}: cannot be read: nothing is there");
    }
    source::validate(args, &config)
}

fn validate(dir: &Path) -> anyhow::Result<Report> {
    let cannot = || format!("{}: cannot be read", dir.display());
    if !std::fs::metadata(dir).with_context(cannot)?.is_dir() {
        bail!("{}: no folder: expected one with a tiles.json", dir.display());
    }
    let files = tileset_files::list(dir).with_context(cannot)?;
    let mut report = Report { files: 0, listed: 0, findings: Vec::new() };
    let tileset = read_document(dir, &mut report.findings);
    let listed = tileset.as_ref().map(listed_files).unwrap_or_default();
    report.listed = listed.len();
    for (file, key) in &listed {
        if files.binary_search(file).is_err() && !dir.join(file).is_file() {
            report.add(file, format!("missing, though tiles.json lists {key}"));
        }
    }
    let availability = tileset.as_ref().and_then(|tileset| Availability::of(tileset).ok());
    for file in files.iter().filter(|file| tileset_files::is_leftover(file)) {
        report.add(file, "left by a run that was ended; it can be removed".to_owned());
    }
    let images: Vec<_> = files.iter().filter(|file| !tileset_files::is_leftover(file)).collect();
    report.files = images.len();
    let checked: Vec<_> =
        images.par_iter().map(|file| check_file(dir, file, tileset.as_ref(), availability.as_ref())).collect();
    let mut pyramid = Pyramid::default();
    pyramid.keys.extend(listed.iter().map(|&(_, key)| key));
    for (file, checked) in images.into_iter().zip(checked) {
        for finding in checked.findings {
            report.add(file, finding);
        }
        // A copy elsewhere is no part of the tileset.
        let is_in_place =
            |key: &RegionKey| tileset.as_ref().and_then(|tileset| tileset.path_of(*key)).as_ref() == Some(file);
        if let Some(key) = checked.key.filter(is_in_place) {
            pyramid.add(key, checked.mark, checked.lineage);
        }
    }
    if let Some(tileset) = &tileset {
        report.findings.extend(pyramid.findings(tileset));
    }
    Ok(report)
}

impl Report {
    fn to_text(&self) -> String {
        let Self { files, listed, findings } = self;
        let mut lines: Vec<_> = findings.iter().map(|finding| format!("{finding}\n")).collect();
        lines.push(format!("{files} files checked, {listed} regions listed, {} findings\n", findings.len()));
        lines.concat()
    }

    fn add(&mut self, file: &str, finding: String) {
        self.findings.push(Finding { file: file.to_owned(), finding });
    }
}

/// The tileset's document, if it is one.
fn read_document(dir: &Path, findings: &mut Vec<Finding>) -> Option<Tileset> {
    const NAME: &str = "tiles.json";
    let tileset = match std::fs::read(dir.join(NAME)) {
        Ok(bytes) => Tileset::parse(&bytes, NAME).map_err(|error| error.to_string()),
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    tileset.map_err(|finding| findings.push(Finding { file: NAME.to_owned(), finding })).ok()
}

/// The files that a document lists, with their regions: those in the folder, not those behind a URL.
fn listed_files(tileset: &Tileset) -> Vec<(String, RegionKey)> {
    let file = |key| Some((tileset.path_of(key).filter(|path| !path.contains("://"))?, key));
    document::regions(tileset).filter_map(file).collect()
}

/// What there is to say about a file.
#[derive(Debug, Default)]
struct Checked {
    /// The region that it holds, or whose name it bears.
    key: Option<RegionKey>,
    mark: Option<FileMark>,
    lineage: Option<Lineage>,
    findings: Vec<String>,
}

fn check_file(dir: &Path, file: &str, tileset: Option<&Tileset>, availability: Option<&Availability>) -> Checked {
    let mut checked = Checked { key: tileset_files::key_of(file), ..Checked::default() };
    let bytes = match tileset_files::read(&dir.join(file)) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.findings.push(format!("cannot be read: {error}"));
            return checked;
        }
    };
    let report = atlas::inspect(&bytes);
    checked.mark = FileMark::of(&bytes);
    checked.lineage = report.lineage;
    checked.findings.extend(report.findings.iter().map(ToString::to_string));
    if let (Some(metadata), Some(tileset)) = (&report.metadata, tileset) {
        if tileset.path_of(metadata.key).is_some_and(|path| path != file && !path.contains("://")) {
            checked.findings.push(format!("says that it holds {}, which has another place", metadata.key));
        }
        if metadata.base != tileset.base() {
            checked.findings.push(format!("has base {}, tiles.json has {}", metadata.base, tileset.base()));
        }
    }
    if let Some(features) = report.features {
        checked.findings.extend(attributes_finding(dir, file, features.n_features));
    }
    checked.key = report.metadata.as_ref().map(|metadata| metadata.key).or(checked.key);
    if let (Some(key), Some(availability)) = (checked.key, availability)
        && availability.presence(key) == Presence::Absent
    {
        checked.findings.push(format!("tiles.json does not list {key}"));
    }
    checked
}

/// Whether the file beside an atlas holds the attributes of as many features as the atlas tells of.
fn attributes_finding(dir: &Path, file: &str, n_features: u32) -> Option<String> {
    if n_features == 0 {
        return None;
    }
    let beside = attributes_file::beside(file);
    match AttributesFile::read(&dir.join(&beside)) {
        Ok(Some(attributes)) if attributes.features.len() >= n_features as usize => None,
        Ok(Some(attributes)) => {
            Some(format!("tells of {n_features} features, {beside} holds {}", attributes.features.len()))
        }
        Ok(None) => Some(format!("tells of {n_features} features, and there is no {beside}")),
        Err(error) => Some(error.to_string()),
    }
}
