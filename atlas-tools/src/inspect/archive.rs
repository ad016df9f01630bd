//! What a PMTiles archive is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use voxatlas::source::archive::{ArchiveDocument, ArchiveHead, ArchiveRuns, TileKind};
use voxatlas::source::{SourceConfig, SourceSpec};

use super::{Lines, View, tileset_json};
use crate::archives::Archives;

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

/// What an archive is. Reads its directories, not its tiles.
pub(super) fn view(name: &str, spec: &SourceSpec, config: &SourceConfig) -> anyhow::Result<View> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let archive = Archives::archive(spec, config)?;
    let (document, head, listed) = runtime.block_on(async {
        let document = archive.document().await?;
        anyhow::Ok((document, archive.head().await?, Listed::count(archive.runs().await?).await?))
    })?;
    let size_bytes = match spec {
        SourceSpec::Archive(path) => Some(std::fs::metadata(path)?.len()),
        _ => None,
    };
    let findings = findings(&head, &listed);
    let inspected = Inspected { name, size_bytes, document, head, listed, findings };
    Ok(View { text: inspected.text(), json: inspected.json(), is_readable: true })
}

/// An archive and what was found in it.
struct Inspected<'a> {
    name: &'a str,
    /// Known of a file.
    size_bytes: Option<u64>,
    document: ArchiveDocument,
    head: ArchiveHead,
    listed: Listed,
    findings: Vec<String>,
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

impl Inspected<'_> {
    fn json(&self) -> Value {
        let Self { name, size_bytes, document, head, listed, findings } = self;
        let zooms: Vec<_> =
            listed.by_zoom.iter().map(|(zoom, n_tiles)| json!({ "zoom": zoom, "tiles": n_tiles })).collect();
        let mut json = tileset_json(document.tileset());
        for (member, value) in [
            ("archive", json!(name)),
            ("bytes", json!(size_bytes)),
            ("tile_kind", json!(kind(head))),
            ("clustered", json!(head.is_clustered)),
            ("header_bounds", json!(head.bounds)),
            ("tiles", json!(listed.n_tiles())),
            ("contents", json!(listed.contents.len())),
            ("empty", json!(listed.n_empty)),
            ("zooms", json!(zooms)),
            ("layer", json!(document.layer())),
            ("files", json!(document.files())),
            ("findings", json!(findings)),
        ] {
            json[member] = value;
        }
        json
    }

    fn text(&self) -> Lines {
        let Self { name, size_bytes, document, head, listed, findings } = self;
        let mut text = Lines::default();
        let size = size_bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
        text.line("archive", &format!("{name}{size}"));
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
        text
    }
}
