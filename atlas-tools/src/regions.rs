//! The regions of a SOURCE, wherever it lies: which there are, and the file of each.
//!
//! Owns the one way in which commands that look at finished tilesets open them. Receives what was typed, a folder, a
//! `tiles.json`, a URL, a template, a PMTiles archive or a single atlas file, and yields keys in order and their files.
//! It decodes a region only when asked, holds none, and writes nothing.

mod list;
#[cfg(test)]
mod tests;
mod walk;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rayon::prelude::*;
use tokio::runtime::Runtime;
use voxatlas::atlas::{self, BASE_DEFAULT, Decoder, EncodedAtlas, Tileset, VoxatlasObject};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{ATLAS_FORMAT, BACKOFF_MAX_MILLIS, BACKOFF_MIN_MILLIS, RETRIES_MAX, ZOOM_FULL};
use voxatlas::source::{AtlasSource as _, Source, SourceConfig, SourceSpec};
use voxatlas::stream::LoadError;
use voxatlas::voxel::Region;

pub use self::walk::{Visited, Walk};
use crate::flags::SelectionFlags;
use crate::tileset_files;

/// Where a file that does not say its place is taken to lie: beside 0 N 0 E, where no city is.
const NOWHERE: [u32; 2] = [1 << (ZOOM_FULL - 1); 2];

/// An opened SOURCE, and which of its regions are meant.
#[derive(Debug)]
pub struct Regions {
    name: String,
    tileset: Arc<Tileset>,
    files: Files,
    /// Ascending.
    keys: Vec<RegionKey>,
    /// Waits for what is read; any thread may ask it to.
    runtime: Runtime,
}

/// Where the files lie.
#[derive(Debug)]
enum Files {
    /// A single atlas file.
    One {
        atlas: EncodedAtlas,
        is_placed: bool,
    },
    Source(Source),
}

/// Which zooms are meant where `--zoom` was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zooms {
    /// The finest.
    Finest,
    /// All that there are.
    All,
}

impl Regions {
    /// Opens a SOURCE and lists its regions; reads no atlas but a single one that was named.
    ///
    /// # Errors
    ///
    /// The text names no source, it cannot be read, or it does not say which regions it has and neither does the
    /// selection.
    pub fn open(text: &str, config: &SourceConfig, selection: &SelectionFlags, zooms: Zooms) -> anyhow::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("no runtime")?;
        if is_atlas_file(text) {
            return Self::open_file(Path::new(text), runtime);
        }
        let spec = SourceSpec::parse(text)?;
        let source = runtime.block_on(Source::open(text, config))?;
        let keys = list::Listing { spec: &spec, source: &source, config, selection, zooms }.keys(&runtime)?;
        let tileset = Arc::new(source.tileset().clone());
        Ok(Self { name: text.to_owned(), tileset, files: Files::Source(source), keys, runtime })
    }

    fn open_file(path: &Path, runtime: Runtime) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let bytes = tileset_files::read(path).with_context(|| format!("{name}: cannot be read"))?;
        let decoder = Decoder::new(&bytes).with_context(|| name.clone())?;
        let metadata = decoder.metadata();
        let key = metadata.as_ref().map(|metadata| metadata.key).or_else(|| key_at_end(path));
        let base = metadata.as_ref().map_or(BASE_DEFAULT, |metadata| metadata.base);
        let place = key.map_or_else(|| TileCoord::new(ZOOM_FULL, NOWHERE[0], NOWHERE[1]), |key| Ok(key.tile))?;
        let mut tileset = Tileset::of_template("{z}/{x}/{y}.png")?;
        (tileset.minzoom, tileset.maxzoom) = (place.zoom(), place.zoom());
        tileset.bounds = key.map(|key| key.tile.bounds().to_array());
        tileset.attribution = metadata.map(|metadata| metadata.credit).filter(|credit| !credit.is_empty());
        let object = VoxatlasObject { format: ATLAS_FORMAT, base, datum: "unknown".to_owned(), layers: Vec::new() };
        tileset.voxatlas = Some(object);
        Ok(Self {
            name,
            tileset: Arc::new(tileset),
            files: Files::One { atlas: EncodedAtlas::new(bytes), is_placed: key.is_some() },
            keys: vec![key.unwrap_or(RegionKey::new(place, 0))],
            runtime,
        })
    }

    /// What was opened, as it was typed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tileset says of itself; a single file's is made of its metadata.
    pub fn tileset(&self) -> &Tileset {
        &self.tileset
    }

    /// The regions that are meant, ascending by zoom, column, row and layer. Of one that is not known to exist the file
    /// may be absent.
    pub fn keys(&self) -> &[RegionKey] {
        &self.keys
    }

    /// Whether this is a single file, whatever its key.
    pub fn is_single(&self) -> bool {
        matches!(self.files, Files::One { .. })
    }

    /// Whether the keys say where the regions lie: only a single file may not know.
    pub fn is_placed(&self) -> bool {
        !matches!(self.files, Files::One { is_placed: false, .. })
    }

    /// Whether the tileset itself lists the region, so that its absence is a fault.
    pub fn is_listed(&self, key: RegionKey) -> bool {
        match &self.files {
            Files::One { .. } => true,
            Files::Source(source) => source.availability().presence(key) == atlas::Presence::Present,
        }
    }

    /// The URL or file of a region, for messages.
    pub fn name_of(&self, key: RegionKey) -> String {
        match &self.files {
            Files::One { .. } => self.name.clone(),
            Files::Source(source) => source.name_of(key),
        }
    }

    /// The file of a region; `None` where there is none. Waits, and asks again where that may help: call it on any
    /// thread that may block.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or begins like no atlas.
    pub fn read(&self, key: RegionKey) -> Result<Option<EncodedAtlas>, LoadError> {
        let source = match &self.files {
            Files::One { atlas, .. } => return Ok((self.keys[0] == key).then(|| atlas.clone())),
            Files::Source(source) => source,
        };
        let mut backoff = Duration::from_millis(BACKOFF_MIN_MILLIS);
        for _ in 0..RETRIES_MAX {
            match self.runtime.block_on(source.fetch(key)) {
                Err(LoadError::Transient { retry_after, .. }) => std::thread::sleep(retry_after.unwrap_or(backoff)),
                other => return other,
            }
            backoff = (backoff * 4).min(Duration::from_millis(BACKOFF_MAX_MILLIS));
        }
        self.runtime.block_on(source.fetch(key))
    }

    /// The voxels of a region; `None` where there is no file.
    ///
    /// # Errors
    ///
    /// The file cannot be read or decoded; the error names it.
    pub fn region(&self, key: RegionKey) -> anyhow::Result<Option<Region>> {
        let Some(atlas) = self.read(key)? else { return Ok(None) };
        atlas::decode(&atlas).map(Some).with_context(|| self.name_of(key))
    }

    /// Works on regions in parallel and takes the results in order: at most two a thread are in memory at once.
    ///
    /// # Errors
    ///
    /// What `take` says: it ends the walk.
    pub fn each<K: Sync, T: Send>(
        keys: &[K],
        make: impl Fn(&K) -> T + Sync,
        mut take: impl FnMut(&K, T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for batch in keys.chunks(2 * rayon::current_num_threads()) {
            let made: Vec<T> = batch.par_iter().map(&make).collect();
            for (key, made) in batch.iter().zip(made) {
                take(key, made)?;
            }
        }
        Ok(())
    }

    /// The tiles of the regions, each with its layers, ascending.
    pub fn columns(&self) -> Vec<(TileCoord, Vec<i32>)> {
        let mut columns: Vec<(TileCoord, Vec<i32>)> = Vec::new();
        for key in &self.keys {
            match columns.last_mut().filter(|(tile, _)| *tile == key.tile) {
                Some((_, layers)) => layers.push(key.layer),
                None => columns.push((key.tile, vec![key.layer])),
            }
        }
        columns
    }

    /// Refuses a selection that means no region.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn expect_some(&self) -> anyhow::Result<()> {
        if self.keys.is_empty() {
            bail!(
                "{}: no region of it is meant: expected --bbox, --tiles and --zoom to name some (it has the zooms {} to {})",
                self.name,
                self.tileset.minzoom,
                self.tileset.maxzoom
            );
        }
        Ok(())
    }
}

/// Whether the text names a single atlas file rather than a source.
pub fn is_atlas_file(text: &str) -> bool {
    let is_image = Path::new(text)
        .extension()
        .is_some_and(|extension| ["png", "webp"].iter().any(|known| extension.eq_ignore_ascii_case(known)));
    is_image && !text.contains("://") && !text.contains('{')
}

/// The region that the end of a path names, such as `city/17/3/4.l1.png`.
fn key_at_end(path: &Path) -> Option<RegionKey> {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    tileset_files::key_of(&names[names.len().checked_sub(3)?..].join("/"))
}
