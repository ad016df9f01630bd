//! Whether the archives of a tileset are sound.

use std::path::Path;

use rayon::prelude::*;
use rustc_hash::FxHashSet;
use voxatlas::atlas::{self, Availability, Presence, TileBitmap};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::source::archive::Archive;

use super::Report;
use crate::archives::Archives;
use crate::outcome::Finding;

/// Tiles that are checked at once; their files are in memory together.
const BATCH: usize = 32;

/// Checks the tiles of all layers.
pub(super) fn validate(path: &Path) -> anyhow::Result<Report> {
    let archives = Archives::open(path)?;
    let availability = Availability::of(archives.document.tileset())?;
    let mut report = Report { files: 0, listed: 0, findings: Vec::new() };
    for (&layer, archive) in &archives.layers {
        Checked { archives: &archives, availability: &availability, layer, archive }.validate(&mut report)?;
    }
    Ok(report)
}

/// What the checks of one archive share.
struct Checked<'a> {
    archives: &'a Archives,
    availability: &'a Availability,
    layer: i32,
    archive: &'a Archive,
}

impl Checked<'_> {
    fn validate(&self, report: &mut Report) -> anyhow::Result<()> {
        let runtime = &self.archives.runtime;
        let mut runs = runtime.block_on(self.archive.runs())?;
        let (mut seen, mut batch) = (FxHashSet::default(), Vec::new());
        while let Some(run) = runtime.block_on(runs.next())? {
            let content = runtime.block_on(runs.content(run))?;
            for tile in run.tiles() {
                seen.insert(tile);
                match &content {
                    Some(bytes) => batch.push((tile, bytes.clone())),
                    None => {
                        report.findings.push(self.finding(tile, "an entry without length, which the format forbids"));
                    }
                }
                if batch.len() == BATCH {
                    self.check(&mut batch, report);
                }
            }
        }
        self.check(&mut batch, report);
        let layers = self.archives.document.tileset().voxatlas.iter().flat_map(|object| &object.layers);
        for object in layers.filter(|object| object.layer == self.layer) {
            let bitmaps = object.availability.iter().filter_map(|bitmap| TileBitmap::decode(bitmap, self.layer).ok());
            for tile in bitmaps.flat_map(|bitmap| bitmap.tiles().collect::<Vec<_>>()) {
                report.listed += 1;
                if !seen.contains(&tile) {
                    report.findings.push(self.finding(tile, "missing, though the metadata list it"));
                }
            }
        }
        Ok(())
    }

    fn check(&self, batch: &mut Vec<(TileCoord, Vec<u8>)>, report: &mut Report) {
        report.files += batch.len();
        let checked: Vec<_> = batch.par_iter().map(|(tile, bytes)| self.check_tile(*tile, bytes)).collect();
        batch.clear();
        report.findings.extend(checked.into_iter().flatten());
    }

    fn check_tile(&self, tile: TileCoord, bytes: &[u8]) -> Vec<Finding> {
        let key = RegionKey::new(tile, self.layer);
        let inspected = atlas::inspect(bytes);
        let mut findings: Vec<_> = inspected.findings.iter().map(ToString::to_string).collect();
        if let Some(metadata) = &inspected.metadata {
            if metadata.key != key {
                findings.push(format!("says that it holds {}", metadata.key));
            }
            let base = self.archives.document.tileset().base();
            if metadata.base != base {
                findings.push(format!("has base {}, the metadata have {base}", metadata.base));
            }
        }
        if self.availability.presence(key) == Presence::Absent {
            findings.push("the metadata do not list it".to_owned());
        }
        findings.iter().map(|finding| self.finding(tile, finding)).collect()
    }

    fn finding(&self, tile: TileCoord, finding: &str) -> Finding {
        Finding { file: format!("{} {tile}", self.archive.name()), finding: finding.to_owned() }
    }
}
