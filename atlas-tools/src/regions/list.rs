//! Which regions a SOURCE has: what its document lists, what its folder or archive holds, or what may be asked for.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, bail};
use tokio::runtime::Runtime;
use voxatlas::atlas::{Presence, Tileset};
use voxatlas::geo::{Bbox, RegionKey};
use voxatlas::source::archive::Archive;
use voxatlas::source::{Source, SourceConfig, SourceSpec};

use super::Zooms;
use crate::flags::SelectionFlags;
use crate::{document, tileset_files};

/// Regions that a command works on at most; an archive of a few bytes may claim more than there are atoms.
const REGIONS_MAX: usize = 1 << 22;

/// Tiles of an archive that are looked at, to find those that are meant.
const WALKED_MAX: u64 = 1 << 26;

/// Tiles that are asked for one by one where nobody says which exist.
const ASKED_MAX: u64 = 1 << 16;

/// What the listing of a source needs.
pub(super) struct Listing<'a> {
    pub(super) spec: &'a SourceSpec,
    pub(super) source: &'a Source,
    pub(super) config: &'a SourceConfig,
    pub(super) selection: &'a SelectionFlags,
    pub(super) zooms: Zooms,
}

impl Listing<'_> {
    /// The regions that are meant, ascending.
    pub(super) fn keys(&self, runtime: &Runtime) -> anyhow::Result<Vec<RegionKey>> {
        let keys = match self.spec {
            SourceSpec::Archive(path) => runtime.block_on(self.archives(Archive::file(path, self.config)))?,
            SourceSpec::ArchiveUrl(url) => {
                runtime.block_on(async { self.archives(Archive::url(url.clone(), self.config)?).await })?
            }
            SourceSpec::Document(path) => self.folder(path.parent().unwrap_or(Path::new("")))?,
            _ => self.document()?,
        };
        Ok(keys.into_iter().collect())
    }

    /// All that the directories of a tileset's archives list.
    async fn archives(&self, archive: Archive) -> anyhow::Result<BTreeSet<RegionKey>> {
        let (mut keys, mut n_tiles) = (BTreeSet::new(), 0);
        let document = archive.document().await?;
        let mut archives = vec![(document.layer(), archive.clone())];
        for file in document.files().iter().filter(|file| file.layer != document.layer()) {
            // Opening the source has refused names that lead elsewhere.
            archives.extend(archive.beside(file).map(|beside| (file.layer, beside)));
        }
        for (layer, archive) in archives {
            let mut runs = archive.runs().await?;
            while let Some(run) = runs.next().await? {
                // A run of a few bytes may claim four billion tiles.
                n_tiles += u64::from(run.n_tiles());
                if n_tiles > WALKED_MAX {
                    bail!(
                        "{}: lists more than {WALKED_MAX} tiles: expected a tileset that can be walked",
                        archive.name()
                    );
                }
                for tile in run.tiles() {
                    self.add(&mut keys, RegionKey::new(tile, layer))?;
                }
            }
        }
        Ok(keys)
    }

    /// What the document of a folder lists, and the files of what it says nothing about.
    fn folder(&self, folder: &Path) -> anyhow::Result<BTreeSet<RegionKey>> {
        let mut keys = self.listed()?;
        let tileset = self.source.tileset();
        if self.unlisted(tileset).next().is_none() {
            return Ok(keys);
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let files = tileset_files::list(folder).with_context(|| format!("{}: cannot be listed", folder.display()))?;
        for file in files {
            let key = tileset.key_of(&file).or_else(|| tileset.key_of(&format!("./{file}")));
            if let Some(key) = key.filter(|&key| self.source.availability().presence(key) == Presence::Unknown) {
                self.add(&mut keys, key)?;
            }
        }
        Ok(keys)
    }

    /// What a document lists; of the zooms that it says nothing about, all that was asked for, or else all in its
    /// bounds.
    fn document(&self) -> anyhow::Result<BTreeSet<RegionKey>> {
        let mut keys = self.listed()?;
        let tileset = self.source.tileset();
        for (layer, zoom) in self.unlisted(tileset) {
            let bounds = tileset.bounds.and_then(|[west, south, east, north]| Bbox::new(west, south, east, north).ok());
            let whole = SelectionFlags { bbox: bounds, ..SelectionFlags::default() };
            let asked = if self.selection.is_everything() { &whole } else { self.selection };
            let Some(tiles) = asked.tiles_at(zoom, ASKED_MAX) else {
                bail!(
                    "{}: does not list its tiles of zoom {zoom}: expected --tiles or a --bbox of at most {ASKED_MAX} tiles \
                     that are asked for",
                    self.source.name()
                );
            };
            for tile in tiles {
                self.add(&mut keys, RegionKey::new(tile, layer))?;
            }
        }
        Ok(keys)
    }

    /// The regions of the bitmaps.
    fn listed(&self) -> anyhow::Result<BTreeSet<RegionKey>> {
        let mut keys = BTreeSet::new();
        for (layer, bitmap) in document::bitmaps(self.source.tileset()) {
            if self.is_meant(bitmap.zoom()) {
                for tile in bitmap.tiles() {
                    self.add(&mut keys, RegionKey::new(tile, layer))?;
                }
            }
        }
        Ok(keys)
    }

    /// The layers and zooms that are meant and have no bitmap.
    fn unlisted(&self, tileset: &Tileset) -> impl Iterator<Item = (i32, u8)> {
        let listed: BTreeSet<_> = document::bitmaps(tileset).map(|(layer, bitmap)| (layer, bitmap.zoom())).collect();
        let zooms = tileset.minzoom..=tileset.maxzoom;
        let all =
            self.source.availability().layers().flat_map(move |layer| zooms.clone().map(move |zoom| (layer, zoom)));
        all.filter(move |at| self.is_meant(at.1) && !listed.contains(at))
    }

    fn is_meant(&self, zoom: u8) -> bool {
        match self.zooms {
            Zooms::All if self.selection.zoom.is_none() => true,
            _ => self.selection.zoom_of(self.source.tileset().maxzoom) == zoom,
        }
    }

    /// Adds a region that is meant.
    fn add(&self, keys: &mut BTreeSet<RegionKey>, key: RegionKey) -> anyhow::Result<()> {
        if self.is_meant(key.tile.zoom()) && self.selection.contains(key.tile) {
            keys.insert(key);
        }
        if keys.len() > REGIONS_MAX {
            bail!(
                "{}: lists more than {REGIONS_MAX} regions: expected fewer, or a --bbox or --tiles that means some of them",
                self.source.name()
            );
        }
        Ok(())
    }
}
