//! Whether a tileset on a server, or a single file, is sound.

use std::path::Path;

use anyhow::Context as _;
use voxatlas::atlas::{self, Availability, FileMark, Presence, Tileset};
use voxatlas::geo::RegionKey;
use voxatlas::source::SourceConfig;

use super::pyramid::Pyramid;
use super::{Checked, Report, ValidateArgs};
use crate::outcome::Finding;
use crate::regions::{Regions, Zooms};
use crate::tileset_files;

/// Checks every region that is listed, or asked for.
pub(super) fn validate(args: &ValidateArgs, config: &SourceConfig) -> anyhow::Result<Report> {
    let regions = Regions::open(&args.source, config, &args.reading.selection, Zooms::All)?;
    let tileset = regions.tileset();
    let availability = Availability::of(tileset)?;
    let mut report = Report { files: 0, listed: 0, findings: Vec::new() };
    report.listed = regions.keys().iter().filter(|&&key| regions.is_listed(key)).count();
    let bar = args.reading.output.bar(regions.keys().len() as u64, "regions");
    let mut pyramid = Pyramid::default();
    let check = |&key: &RegionKey| match regions.read(key) {
        Ok(None) if regions.is_listed(key) => Some(Checked::wrong("missing, though it is listed")),
        Ok(None) => None,
        Ok(Some(file)) => Some(check_region(key, file.bytes(), tileset, &availability)),
        Err(error) => Some(Checked::wrong(&error.to_string())),
    };
    Regions::each(regions.keys(), check, |&key, checked| {
        bar.inc(1);
        if let Some(checked) = checked {
            report.files += usize::from(checked.mark.is_some());
            let file = regions.name_of(key);
            report.findings.extend(checked.findings.into_iter().map(|finding| Finding { file: file.clone(), finding }));
            pyramid.add(key, checked.mark, checked.lineage);
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    // A selection leaves out parents and children.
    if args.reading.selection.is_everything() && args.reading.selection.zoom.is_none() {
        report.findings.extend(pyramid.findings(tileset));
    }
    Ok(report)
}

/// Checks a single file, whatever it is.
pub(super) fn validate_file(path: &Path) -> anyhow::Result<Report> {
    let name = path.display().to_string();
    let bytes = tileset_files::read(path).with_context(|| format!("{name}: cannot be read"))?;
    let findings = Checked::of(&bytes).findings.into_iter().map(|finding| Finding { file: name.clone(), finding });
    Ok(Report { files: 1, listed: 0, findings: findings.collect() })
}

impl Checked {
    /// What there is to say of the bytes alone.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let report = atlas::inspect(bytes);
        Self {
            key: report.metadata.as_ref().map(|metadata| metadata.key),
            mark: FileMark::of(bytes),
            lineage: report.lineage,
            findings: report.findings.iter().map(ToString::to_string).collect(),
        }
    }

    fn wrong(finding: &str) -> Self {
        Self { findings: vec![finding.to_owned()], ..Self::default() }
    }
}

/// Checks the file that stands for a region.
pub(super) fn check_region(key: RegionKey, bytes: &[u8], tileset: &Tileset, availability: &Availability) -> Checked {
    let mut checked = Checked::of(bytes);
    if let Some(found) = checked.key.filter(|&found| found != key) {
        checked.findings.push(format!("says that it holds {found}"));
    }
    if let Some(base) = base_of(bytes).filter(|&base| base != tileset.base()) {
        checked.findings.push(format!("has base {base}, the tileset has {}", tileset.base()));
    }
    if availability.presence(key) == Presence::Absent {
        checked.findings.push("the metadata do not list it".to_owned());
    }
    checked
}

fn base_of(bytes: &[u8]) -> Option<i32> {
    atlas::Decoder::new(bytes).ok()?.metadata().map(|metadata| metadata.base)
}
