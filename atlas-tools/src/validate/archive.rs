//! Whether the archives of a tileset are sound.

use rayon::prelude::*;
use rustc_hash::FxHashSet;
use voxatlas::atlas::{Availability, TileBitmap};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::source::archive::Archive;
use voxatlas::source::{SourceConfig, SourceSpec};

use super::Report;
use super::pyramid::Pyramid;
use super::source::check_region;
use crate::archives::Archives;
use crate::outcome::Finding;

/// Tiles that are checked at once; their files are in memory together.
const BATCH: usize = 32;

/// Checks the tiles of all layers.
pub(super) fn validate(spec: &SourceSpec, config: &SourceConfig) -> anyhow::Result<Report> {
    let archives = Archives::open(spec, config)?;
    let availability = Availability::of(archives.document.tileset())?;
    let (mut report, mut pyramid) = (Report { files: 0, listed: 0, findings: Vec::new() }, Pyramid::default());
    for (&layer, archive) in &archives.layers {
        Checked { archives: &archives, availability: &availability, layer, archive }
            .validate(&mut report, &mut pyramid)?;
    }
    report.findings.extend(pyramid.findings(archives.document.tileset()));
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
    fn validate(&self, report: &mut Report, pyramid: &mut Pyramid) -> anyhow::Result<()> {
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
                    self.check(&mut batch, report, pyramid);
                }
            }
        }
        self.check(&mut batch, report, pyramid);
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

    fn check(&self, batch: &mut Vec<(TileCoord, Vec<u8>)>, report: &mut Report, pyramid: &mut Pyramid) {
        report.files += batch.len();
        let checked: Vec<_> = batch
            .par_iter()
            .map(|(tile, bytes)| {
                let key = RegionKey::new(*tile, self.layer);
                (key, check_region(key, bytes, self.archives.document.tileset(), self.availability))
            })
            .collect();
        batch.clear();
        for (key, checked) in checked {
            report.findings.extend(checked.findings.iter().map(|finding| self.finding(key.tile, finding)));
            pyramid.add(key, checked.mark, checked.lineage);
        }
    }

    fn finding(&self, tile: TileCoord, finding: &str) -> Finding {
        Finding { file: format!("{} {tile}", self.archive.name()), finding: finding.to_owned() }
    }
}
