//! What a PMTiles archive is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;
use voxatlas::source::SourceConfig;
use voxatlas::source::archive::{Archive, ArchiveDocument, ArchiveHead, ArchiveRuns, TileKind};

use super::{Lines, to_json};
use crate::outcome::{Outcome, print};

/// What the directories of an archive list.
#[derive(Debug, Default)]
struct Listed {
    /// Tiles by zoom.
    by_zoom: BTreeMap<u8, u64>,
    /// Where the contents lie.
    contents: BTreeSet<u64>,
    /// Tiles whose content has no length.
    n_empty: u64,
}

/// Prints what an archive is. Reads its directories, not its tiles.
pub(super) fn inspect(path: &Path, as_json: bool) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let archive = Archive::file(path, &SourceConfig::default());
    let (document, head, listed) = runtime.block_on(async {
        let document = archive.document().await?;
        anyhow::Ok((document, archive.head().await?, Listed::count(archive.runs().await?).await?))
    })?;
    let size_bytes = std::fs::metadata(path)?.len();
    let findings = findings(&head, &listed);
    let text = if as_json {
        to_json(&view(path, size_bytes, &document, &head, &listed, &findings))?
    } else {
        text(path, size_bytes, &document, &head, &listed, &findings)
    };
    print(&text)?;
    Ok(Outcome::with_findings(!findings.is_empty()))
}

impl Listed {
    async fn count(mut runs: ArchiveRuns) -> anyhow::Result<Self> {
        let mut listed = Self::default();
        while let Some(run) = runs.next().await? {
            for (zoom, n_tiles) in run.n_tiles_by_zoom() {
                *listed.by_zoom.entry(zoom).or_default() += n_tiles;
            }
            if run.size_bytes() == 0 {
                listed.n_empty += u64::from(run.n_tiles());
            } else {
                listed.contents.insert(run.offset());
            }
        }
        Ok(listed)
    }

    fn n_tiles(&self) -> u64 {
        self.by_zoom.values().sum()
    }
}

/// Where the header and the directories disagree.
fn findings(head: &ArchiveHead, listed: &Listed) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(n_tiles) = head.n_tiles.filter(|&n_tiles| n_tiles != listed.n_tiles()) {
        findings.push(format!("the header counts {n_tiles} tiles, the directories list {}", listed.n_tiles()));
    }
    for &zoom in listed.by_zoom.keys().filter(|zoom| !(head.zoom_min..=head.zoom_max).contains(zoom)) {
        findings
            .push(format!("the directories list zoom {zoom}, the header has {} to {}", head.zoom_min, head.zoom_max));
    }
    findings
}

fn kind(head: &ArchiveHead) -> &'static str {
    match head.tile_kind {
        TileKind::Png => "PNG",
        TileKind::Webp => "WebP",
    }
}

fn view(
    path: &Path,
    size_bytes: u64,
    document: &ArchiveDocument,
    head: &ArchiveHead,
    listed: &Listed,
    findings: &[String],
) -> serde_json::Value {
    let tileset = document.tileset();
    let zooms: Vec<_> =
        listed.by_zoom.iter().map(|(zoom, n_tiles)| json!({ "zoom": zoom, "tiles": n_tiles })).collect();
    json!({
        "archive": path.display().to_string(),
        "bytes": size_bytes,
        "tile_kind": kind(head),
        "clustered": head.is_clustered,
        "header_bounds": head.bounds,
        "tiles": listed.n_tiles(),
        "contents": listed.contents.len(),
        "empty": listed.n_empty,
        "zooms": zooms,
        "layer": document.layer(),
        "files": document.files(),
        "base": tileset.base(),
        "datum": tileset.voxatlas.as_ref().map(|object| &object.datum),
        "attribution": tileset.attribution,
        "bounds": tileset.bounds,
        "minzoom": tileset.minzoom,
        "maxzoom": tileset.maxzoom,
        "findings": findings,
    })
}

fn text(
    path: &Path,
    size_bytes: u64,
    document: &ArchiveDocument,
    head: &ArchiveHead,
    listed: &Listed,
    findings: &[String],
) -> String {
    let mut text = Lines::default();
    text.line("archive", &format!("{}, {size_bytes} bytes", path.display()));
    let order = if head.is_clustered { "in the order of the tiles" } else { "in no order" };
    text.line("kind", &format!("PMTiles 3 of {} images, {order}", kind(head)));
    text.tileset(document.tileset());
    text.line("layer", &document.layer().to_string());
    for file in document.files().iter().filter(|file| file.layer != document.layer()) {
        text.line("beside", &format!("layer {} in {}", file.layer, file.file));
    }
    for (zoom, n_tiles) in &listed.by_zoom {
        text.line("zoom", &format!("{zoom}: {n_tiles} tiles"));
    }
    let empty = if listed.n_empty > 0 { format!(", {} empty", listed.n_empty) } else { String::new() };
    text.line("tiles", &format!("{}, {} different{empty}", listed.n_tiles(), listed.contents.len()));
    for finding in findings {
        text.line("finding", finding);
    }
    text.0
}
