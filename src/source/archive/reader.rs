//! Reading one archive: its header and directories as they are needed, and tiles.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use pmtiles::{PYRAMID_SIZE_BY_ZOOM, TileId};
use url::Url;

use super::cache::DirectoryCache;
use super::directory::{Directory, Entry, unpack};
use super::document::{ArchiveDocument, LayerFile};
use super::head::ArchiveHead;
use super::once::Once;
use super::place::{EXPECTED, Part, Place, ReadError};
use crate::atlas::Tileset;
use crate::geo::TileCoord;
use crate::limits::{
    ARCHIVE_DEPTH_MAX, ARCHIVE_DIRECTORIES_BYTES_MAX, ARCHIVE_DIRECTORY_BYTES_MAX, ARCHIVE_HEAD_BYTES,
    ARCHIVE_RESTARTS_MAX, TILESET_BYTES_MAX,
};
use crate::source::config::SourceConfig;
use crate::source::error::SourceError;
use crate::source::http::FileVersion;
use crate::stream::LoadError;

/// One PMTiles archive. Opened when it is first asked for something; cheap to clone.
#[derive(Debug, Clone)]
pub struct Archive {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    place: Place,
    file_bytes_max: usize,
    promise: Option<Promise>,
    opened: Once<Arc<Opened>>,
}

/// What is known of an archive before it is opened: one of another tileset or layer is not taken for it.
#[derive(Debug, Clone)]
pub(super) struct Promise {
    pub(super) tileset: Arc<Tileset>,
    pub(super) layer: i32,
}

/// What is known of one version of an archive.
#[derive(Debug)]
pub(super) struct Opened {
    place: Place,
    version: FileVersion,
    head: ArchiveHead,
    root: Directory,
    leaves: DirectoryCache,
}

/// Tiles that follow each other on the Hilbert curve and have the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveRun {
    entry: Entry,
}

impl Archive {
    /// The archive in a file of this machine; nothing is read yet.
    pub fn file(path: impl Into<PathBuf>, config: &SourceConfig) -> Self {
        Self::at(Place::File(path.into()), config, None, Once::absent())
    }

    /// The archive at a URL, with connections of its own; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// The options of the configuration make no HTTP client.
    pub fn url(url: Url, config: &SourceConfig) -> Result<Self, SourceError> {
        Ok(Self::at(Place::url(url, config)?, config, None, Once::absent()))
    }

    /// The archive in these bytes; `name` stands for them in messages.
    pub fn memory(name: &str, bytes: impl Into<Bytes>, config: &SourceConfig) -> Self {
        Self::at(Place::Memory { name: name.to_owned(), bytes: bytes.into() }, config, None, Once::absent())
    }

    pub(super) fn at(place: Place, config: &SourceConfig, promise: Option<Promise>, opened: Once<Arc<Opened>>) -> Self {
        Self { shared: Arc::new(Shared { place, file_bytes_max: config.file_bytes_max, promise, opened }) }
    }

    /// The archive of another layer of the same tileset; `None` where the name is not that of a neighbour.
    pub fn beside(&self, file: &LayerFile) -> Option<Self> {
        let shared = Shared {
            place: self.shared.place.beside(file)?,
            file_bytes_max: self.shared.file_bytes_max,
            promise: None,
            opened: Once::absent(),
        };
        Some(Self { shared: Arc::new(shared) })
    }

    /// The header.
    ///
    /// # Errors
    ///
    /// The archive cannot be read, or is none.
    pub async fn head(&self) -> Result<ArchiveHead, LoadError> {
        self.opened().await.map(|opened| opened.head.clone()).map_err(|error| self.failure(error))
    }

    /// The metadata.
    ///
    /// # Errors
    ///
    /// The archive is not there, cannot be read or is none, or its metadata describe no tileset.
    pub async fn document(&self) -> Result<ArchiveDocument, SourceError> {
        let read = async { self.opened().await?.document_text().await };
        let (bytes, head) = read.await.map_err(|error| match error {
            ReadError::Absent => SourceError::NotFound { name: self.name(), expected: "a PMTiles archive".to_owned() },
            other => SourceError::Unreadable { what: self.failure(other).to_string() },
        })?;
        Ok(ArchiveDocument::parse(&bytes, &head, &self.name())?)
    }

    /// The bytes of a tile as they lie in the archive; `None` where no directory lists it, or lists it as empty. Starts
    /// anew where the archive was replaced, so that no answer is made of two versions.
    ///
    /// # Errors
    ///
    /// The archive cannot be read, or contradicts itself.
    pub async fn tile(&self, tile: TileCoord) -> Result<Option<Vec<u8>>, LoadError> {
        Ok(self.tile_part(tile, false).await?.map(|part| part.bytes))
    }

    /// As [`Archive::tile`], with the right to keep it; anew from the server where what is kept was no good.
    pub(super) async fn tile_part(&self, tile: TileCoord, is_kept_bad: bool) -> Result<Option<Part>, LoadError> {
        let tile_id = tile_id(tile);
        for _ in 0..=ARCHIVE_RESTARTS_MAX {
            let read = async {
                let opened = self.opened().await?;
                let read = opened.tile(tile_id, self.shared.file_bytes_max, is_kept_bad).await;
                if matches!(read, Err(ReadError::Changed)) {
                    self.shared.opened.forget(|current| Arc::ptr_eq(current, &opened));
                }
                read
            };
            match read.await {
                Err(ReadError::Changed) => {}
                read => return read.map_err(|error| self.failure(error)),
            }
        }
        Err(self.failure(ReadError::Changed))
    }

    /// All that the directories list, in the order of the tiles.
    ///
    /// # Errors
    ///
    /// The archive cannot be read, or is none.
    pub async fn runs(&self) -> Result<ArchiveRuns, LoadError> {
        let opened = self.opened().await.map_err(|error| self.failure(error))?;
        let top = opened.root.entries().to_vec();
        Ok(ArchiveRuns { archive: self.clone(), opened, open: vec![(top, 0)], next_tile_id: 0 })
    }

    /// The file or URL.
    pub fn name(&self) -> String {
        self.shared.place.to_string()
    }

    /// What is known of the archive; read where nothing is.
    pub(super) async fn opened(&self) -> Result<Arc<Opened>, ReadError> {
        let (place, promise) = (&self.shared.place, &self.shared.promise);
        self.shared.opened.get(|| Box::pin(open(place.clone(), promise.clone()))).await
    }

    fn failure(&self, error: ReadError) -> LoadError {
        let name = &self.shared.place;
        match error {
            ReadError::Failed(error) => error,
            ReadError::Absent => {
                LoadError::Transient { what: format!("{name} was not found: {EXPECTED}"), retry_after: None }
            }
            ReadError::Changed => {
                let what =
                    format!("{name}: found another version at each try, expected one that stays while it is read");
                LoadError::Transient { what, retry_after: None }
            }
        }
    }
}

/// Reads header and root directory, and checks that the archive is still one of the tileset.
async fn open(place: Place, promise: Option<Promise>) -> Result<Arc<Opened>, ReadError> {
    let mut part = place.read(0..ARCHIVE_HEAD_BYTES as u64, None, false).await?;
    let keep = part.take_keep();
    let Part { bytes, version, .. } = part;
    let head = ArchiveHead::parse(&bytes, version.size_bytes).map_err(|found| damaged(&place, &found))?;
    let root = bytes[head.root.clone()].to_vec();
    let root = unpack(root, head.packing, ARCHIVE_DIRECTORY_BYTES_MAX, "a root directory")
        .and_then(|bytes| Directory::parse(&bytes))
        .map_err(|found| damaged(&place, &found))?;
    if let Some(keep) = keep {
        keep.keep(bytes, |_| true).await;
    }
    let leaves = DirectoryCache::new(ARCHIVE_DIRECTORIES_BYTES_MAX);
    let opened = Opened { place, version, head, root, leaves };
    if let Some(promise) = promise {
        opened.check(&promise).await?;
    }
    Ok(Arc::new(opened))
}

impl Opened {
    /// The same, read from here on through the connections of another place.
    pub(super) fn through(&self, place: Place) -> Self {
        let (version, head, root) = (self.version.clone(), self.head.clone(), self.root.clone());
        Self { place, version, head, root, leaves: DirectoryCache::new(ARCHIVE_DIRECTORIES_BYTES_MAX) }
    }

    async fn tile(
        self: &Arc<Self>,
        tile_id: u64,
        file_bytes_max: usize,
        is_kept_bad: bool,
    ) -> Result<Option<Part>, ReadError> {
        match self.find(tile_id).await? {
            Some(entry) => self.content(entry, file_bytes_max, is_kept_bad).await,
            None => Ok(None),
        }
    }

    /// The entry of a tile.
    async fn find(self: &Arc<Self>, tile_id: u64) -> Result<Option<Entry>, ReadError> {
        let mut found = self.root.find(tile_id);
        for _ in 0..ARCHIVE_DEPTH_MAX {
            match found {
                Some(entry) if entry.is_directory() => found = self.leaf(entry).await?.find(tile_id),
                found => return Ok(found),
            }
        }
        match found {
            Some(entry) if entry.is_directory() => Err(self.too_deep()),
            found => Ok(found),
        }
    }

    /// The directory that an entry points at.
    async fn leaf(self: &Arc<Self>, entry: Entry) -> Result<Arc<Directory>, ReadError> {
        let opened = Arc::clone(self);
        let load = async move {
            let range = opened.head.leaf_at(entry.offset, entry.length).map_err(|found| opened.damaged(&found))?;
            let mut part = opened.read(range, false).await?;
            let keep = part.take_keep().map(|keep| (keep, part.bytes.clone()));
            let directory = unpack(part.bytes, opened.head.packing, ARCHIVE_DIRECTORY_BYTES_MAX, "a leaf directory")
                .and_then(|bytes| Directory::parse(&bytes))
                .map_err(|found| opened.damaged(&found))?;
            if let Some((keep, bytes)) = keep {
                keep.keep(bytes, |_| true).await;
            }
            Ok(Arc::new(directory))
        };
        self.leaves.get(entry.offset, || Box::pin(load)).await
    }

    async fn content(&self, entry: Entry, file_bytes_max: usize, is_kept_bad: bool) -> Result<Option<Part>, ReadError> {
        // The format forbids it, writers do it all the same; asked for, it would be a range without bytes.
        if entry.length == 0 {
            return Ok(None);
        }
        if entry.length as usize > file_bytes_max {
            let found = format!("a tile of {} bytes, expected at most {file_bytes_max}", entry.length);
            return Err(self.damaged(&found));
        }
        let range = self.head.tile_at(entry.offset, entry.length).map_err(|found| self.damaged(&found))?;
        self.read(range, is_kept_bad).await.map(Some)
    }

    async fn document_text(&self) -> Result<(Vec<u8>, ArchiveHead), ReadError> {
        let range = self.head.metadata.clone();
        if range.is_empty() {
            return Ok((Vec::new(), self.head.clone()));
        }
        let mut part = self.read(range, false).await?;
        let keep = part.take_keep().map(|keep| (keep, part.bytes.clone()));
        let bytes = unpack(part.bytes, self.head.packing, TILESET_BYTES_MAX, "metadata")
            .map_err(|found| self.damaged(&found))?;
        if let Some((keep, packed)) = keep
            && serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok()
        {
            keep.keep(packed, |_| true).await;
        }
        Ok((bytes, self.head.clone()))
    }

    /// What is shown stands on the base and under the credit of the tileset that was opened.
    async fn check(&self, promise: &Promise) -> Result<(), ReadError> {
        let (bytes, head) = self.document_text().await?;
        let permanent = |what: String| ReadError::Failed(LoadError::Permanent { what });
        let document = ArchiveDocument::parse(&bytes, &head, &self.place.to_string())
            .map_err(|error| permanent(error.to_string()))?;
        let described = |layer: i32, tileset: &Tileset| {
            let credit = tileset.attribution.as_deref().unwrap_or_default();
            format!("layer {layer}, base {} and credit \"{credit}\"", tileset.base())
        };
        let found = described(document.layer(), document.tileset());
        let expected = described(promise.layer, &promise.tileset);
        if found == expected {
            return Ok(());
        }
        let place = &self.place;
        Err(permanent(format!(
            "{place}: found an archive of {found}, expected one of {expected}: open the source anew"
        )))
    }

    /// Exactly these bytes, of this version.
    async fn read(&self, range: Range<u64>, is_kept_bad: bool) -> Result<Part, ReadError> {
        let expected_bytes = range.end - range.start;
        // A server that does not say the size of a file may still have one that ends before.
        let part = self.place.read(range, Some(&self.version), is_kept_bad).await?;
        let n_bytes = part.bytes.len();
        if n_bytes as u64 == expected_bytes {
            return Ok(part);
        }
        Err(self.damaged(&format!("{n_bytes} bytes before the end of the file, expected {expected_bytes}")))
    }

    fn too_deep(&self) -> ReadError {
        self.damaged(&format!("a tile below more than {ARCHIVE_DEPTH_MAX} directories"))
    }

    fn damaged(&self, found: &str) -> ReadError {
        damaged(&self.place, found)
    }
}

/// The bytes that arrived are no archive's: fetched once more, since they may have been damaged on their way.
fn damaged(place: &Place, found: &str) -> ReadError {
    let expected = if found.contains("expected") { String::new() } else { format!(", {EXPECTED} that is whole") };
    ReadError::Failed(LoadError::BadAtlas { what: format!("{place}: found {found}{expected}") })
}

/// A walk over all that an archive lists. The memory that it takes is that of a few directories.
#[derive(Debug)]
pub struct ArchiveRuns {
    archive: Archive,
    opened: Arc<Opened>,
    /// The directories from the root to where the walk is, each with the next entry.
    open: Vec<(Vec<Entry>, usize)>,
    next_tile_id: u64,
}

impl ArchiveRuns {
    /// The next run; `None` at the end.
    ///
    /// # Errors
    ///
    /// The archive cannot be read, has been replaced, or contradicts itself.
    pub async fn next(&mut self) -> Result<Option<ArchiveRun>, LoadError> {
        self.step().await.map_err(|error| self.archive.failure(error))
    }

    /// The content of a run; `None` where it is empty.
    ///
    /// # Errors
    ///
    /// As for [`ArchiveRuns::next`].
    pub async fn content(&self, run: ArchiveRun) -> Result<Option<Vec<u8>>, LoadError> {
        let read = self.opened.content(run.entry, self.archive.shared.file_bytes_max, false).await;
        read.map(|part| part.map(|part| part.bytes)).map_err(|error| self.archive.failure(error))
    }

    async fn step(&mut self) -> Result<Option<ArchiveRun>, ReadError> {
        while let Some((entries, next)) = self.open.last_mut() {
            let Some(&entry) = entries.get(*next) else {
                self.open.pop();
                continue;
            };
            *next += 1;
            // Each step goes on along the curve, or one directory down: a walk over lies ends too.
            if entry.tile_id < self.next_tile_id {
                return Err(self.opened.damaged("directories whose tiles do not ascend"));
            }
            if !entry.is_directory() {
                self.next_tile_id = entry.end();
                return Ok(Some(ArchiveRun { entry }));
            }
            if self.open.len() > ARCHIVE_DEPTH_MAX {
                return Err(self.opened.too_deep());
            }
            let leaf = self.opened.leaf(entry).await?;
            if leaf.entries().first().is_none_or(|first| first.tile_id < entry.tile_id) {
                return Err(self.opened.damaged("a leaf directory that does not begin where it is listed"));
            }
            self.open.push((leaf.entries().to_vec(), 0));
        }
        Ok(None)
    }
}

impl ArchiveRun {
    /// Tiles of the run.
    pub fn n_tiles(self) -> u32 {
        self.entry.run
    }

    /// Bytes of the content that they share.
    pub fn size_bytes(self) -> u32 {
        self.entry.length
    }

    /// Where the content lies among the others: two runs of the same place have the same content.
    pub fn offset(self) -> u64 {
        self.entry.offset
    }

    /// How many tiles of each zoom the run holds: all zooms lie on one curve, and a run may go from one to the next.
    pub fn n_tiles_by_zoom(self) -> impl Iterator<Item = (u8, u64)> {
        let (begin, end) = (self.entry.tile_id, self.entry.end());
        (0..).zip(PYRAMID_SIZE_BY_ZOOM).filter_map(move |(zoom, first)| {
            let next = first + (1 << (2 * zoom));
            let n_tiles = end.min(next).saturating_sub(begin.max(first));
            (n_tiles > 0).then_some((zoom, n_tiles))
        })
    }

    /// The tiles; those beyond the deepest zoom of a [`TileCoord`] are left out.
    pub fn tiles(self) -> impl Iterator<Item = TileCoord> {
        // A run may claim four billion tiles of zooms that we have no address for: none of them is stepped over.
        let end = self.entry.end().min(PYRAMID_SIZE_BY_ZOOM[usize::from(TileCoord::ZOOM_MAX) + 1]);
        (self.entry.tile_id..end).filter_map(tile_of)
    }
}

/// The number of a tile along the Hilbert curves of all zooms.
fn tile_id(tile: TileCoord) -> u64 {
    // Every address of ours is one of theirs: they go to zoom 31.
    pmtiles::TileCoord::new(tile.zoom(), tile.x(), tile.y()).map_or(u64::MAX, |tile| TileId::from(tile).value())
}

fn tile_of(tile_id: u64) -> Option<TileCoord> {
    let tile = pmtiles::TileCoord::from(TileId::new(tile_id).ok()?);
    TileCoord::new(tile.z(), tile.x(), tile.y()).ok()
}
