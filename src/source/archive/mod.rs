//! PMTiles v3 archives: a tileset in one file a layer, on this machine or on any server that answers Range requests.
//!
//! Owns the reading of archives. Receives a [`RegionKey`], yields the region's file as it lies in the archive. It writes
//! none: `atlas-tools pack` does.
//!
//! ```text
//! first 16 KiB: header, root directory -> leaf directories, as they are needed -> the tile
//! ```
//!
//! What the directories do not list is empty, and nobody is asked for it. Every read names the version that the first
//! one found (ETag, Last-Modified, size): where the archive was replaced meanwhile, header and directories are dropped
//! and the fetch starts anew, so that nothing is ever made of two versions. No size that an archive claims is believed:
//! directories, metadata and tiles are bounded before they are asked for, and again while they are inflated.

mod cache;
mod directory;
mod document;
mod head;
mod once;
mod place;
mod reader;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use url::Url;

pub use document::{ArchiveDocument, LayerFile};
pub use head::{ArchiveHead, TileKind};
pub use reader::{Archive, ArchiveRun, ArchiveRuns};

use self::once::Once;
use self::place::{Place, ReadError};
use self::reader::Promise;
use super::body::describe_stranger;
use super::config::SourceConfig;
use super::error::SourceError;
use super::{AtlasSource, FetchFuture, Fetched};
use crate::atlas::{EncodedAtlas, Tileset, is_whole};
use crate::geo::RegionKey;
use crate::stream::LoadError;

/// The archives of a tileset, one a layer.
#[derive(Debug)]
pub(super) struct ArchiveFiles {
    layers: BTreeMap<i32, Archive>,
    /// Regions whose kept tile was no atlas, until another has come.
    rejected: Mutex<FxHashSet<RegionKey>>,
}

/// Opens the tileset of the archive in a file.
pub(super) async fn open_file(
    path: PathBuf,
    config: &SourceConfig,
) -> Result<(Arc<Tileset>, ArchiveFiles), SourceError> {
    open(Place::File(path), config).await
}

/// Opens the tileset of the archive at a URL.
pub(super) async fn open_url(url: Url, config: &SourceConfig) -> Result<(Arc<Tileset>, ArchiveFiles), SourceError> {
    open(Place::url(url, config)?, config).await
}

async fn open(place: Place, config: &SourceConfig) -> Result<(Arc<Tileset>, ArchiveFiles), SourceError> {
    let archive = Archive::at(place.clone(), config, None, Once::absent());
    let document = archive.document().await?;
    let tileset = Arc::new(document.tileset().clone());
    let unreadable = |error| match error {
        ReadError::Failed(error) => SourceError::Unreadable { what: error.to_string() },
        _ => SourceError::Unreadable { what: format!("{place}: changed while it was opened") },
    };
    let opened = archive.opened().await.map_err(unreadable)?;
    // The tiles' connections belong to the loader's runtime, not to the one that opens.
    let apart = place.apart(config)?;
    let promise = |layer| Some(Promise { tileset: Arc::clone(&tileset), layer });
    let mut layers = BTreeMap::new();
    for file in document.files() {
        let Some(beside) = apart.beside(file) else {
            let what = "expected the plain name of an archive beside this one".to_owned();
            return Err(SourceError::Place { name: place.to_string(), path: file.file.clone(), what });
        };
        layers.insert(file.layer, Archive::at(beside, config, promise(file.layer), Once::absent()));
    }
    // Whatever its name is by now, the one that was opened is that of its layer.
    let opened = Once::ready(Arc::new(opened.through(apart.clone())));
    layers.insert(document.layer(), Archive::at(apart, config, promise(document.layer()), opened));
    Ok((tileset, ArchiveFiles { layers, rejected: Mutex::default() }))
}

impl ArchiveFiles {
    async fn fetch(&self, key: RegionKey) -> Fetched {
        let Some(archive) = self.layers.get(&key.layer) else { return Ok(None) };
        let is_kept_bad = self.rejected().contains(&key);
        let part = archive.tile_part(key.tile, is_kept_bad).await?.filter(|part| !part.bytes.is_empty());
        let Some(mut part) = part else { return Ok(None) };
        if let Some(found) = describe_stranger(&part.bytes, None) {
            let name = self.name_of(key);
            let what = format!("{name}: found {found}, expected an atlas, a PNG or WebP image of 4096 x 4096");
            return Err(LoadError::BadAtlas { what });
        }
        let keep = part.take_keep();
        let atlas = EncodedAtlas::new(part.bytes);
        if let Some(keep) = keep {
            keep.keep(atlas.clone(), is_whole).await;
            self.rejected().remove(&key);
        }
        Ok(Some(atlas))
    }

    /// A panic while it is locked leaves it whole.
    fn rejected(&self) -> MutexGuard<'_, FxHashSet<RegionKey>> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtlasSource for ArchiveFiles {
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_> {
        Box::pin(self.fetch(key))
    }

    fn reject(&self, key: RegionKey) {
        self.rejected().insert(key);
    }

    fn name_of(&self, key: RegionKey) -> String {
        match self.layers.get(&key.layer) {
            Some(archive) => format!("{} {}", archive.name(), key.tile),
            None => key.to_string(),
        }
    }
}

/// What a file is that begins unlike an archive.
fn stranger(bytes: &[u8]) -> String {
    describe_stranger(bytes, None).unwrap_or_else(|| "an image".to_owned())
}
