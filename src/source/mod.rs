//! Where files come from: directories, web servers, PMTiles archives and the built-in demo city.
//!
//! Owns the meaning of a SOURCE, the same in every command, and the one question [`AtlasSource::fetch`]. Receives a
//! [`RegionKey`], yields the region's file, the certainty that there is none, or an error that says whether to ask
//! again. It does not retry, queue or decode, and keeps no file in memory; [`DiskCache`] keeps what web servers answered.
//!
//! | SOURCE | is |
//! | --- | --- |
//! | `demo` | the demo city inside the program |
//! | `city/`, `file:///maps/city/` | a directory with a `tiles.json` |
//! | `city/tiles.json`, `https://host/city/tiles.json` | a tileset's document |
//! | `https://host/city` | the same with `tiles.json` appended |
//! | `city.pmtiles`, `https://host/city.pmtiles` | a PMTiles archive, one file a layer |
//! | `https://host/{z}/{x}/{y}.png`, `city/{z}/{x}/{y}.png` | a bare template: zoom 17, base -32, nothing known |
//! | `https://host/17_{x}_{y}.webp` | the reference system's form: zoom 17, base 0 |

pub mod archive;
mod body;
mod cache;
mod config;
mod directory;
mod embedded;
mod error;
mod http;
mod location;
mod options;
mod spec;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;

pub use cache::{CacheError, CacheInfo, DiskCache, HostInfo};
pub use config::SourceConfig;
pub use error::SourceError;
pub use options::HttpOptions;
pub use spec::SourceSpec;

use crate::atlas::{Availability, EncodedAtlas, Presence, Tileset};
use crate::geo::RegionKey;
use crate::limits::TILESET_BYTES_MAX;
use crate::stream::LoadError;

use self::http::HttpClient;
use self::location::{Root, TileFiles};

/// What a fetch comes to: a file, or `None` where the region is empty.
pub type Fetched = Result<Option<EncodedAtlas>, LoadError>;

/// A fetch under way. Dropping it drops the request.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Fetched> + Send + 'a>>;

/// Anything that can bring a region's file: implement it to stream from a source of your own.
///
/// ```
/// use voxatlas::atlas::EncodedAtlas;
/// use voxatlas::geo::RegionKey;
/// use voxatlas::source::{AtlasSource, FetchFuture};
///
/// /// The same file everywhere.
/// struct Wallpaper(EncodedAtlas);
///
/// impl AtlasSource for Wallpaper {
///     fn fetch(&self, _key: RegionKey) -> FetchFuture<'_> {
///         Box::pin(async { Ok(Some(self.0.clone())) })
///     }
/// }
/// ```
pub trait AtlasSource: Send + Sync {
    /// Brings the region's file; `None` where there certainly is none.
    ///
    /// # Errors
    ///
    /// The future yields the error that says whether another try may help.
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_>;

    /// Hears that the file which it brought is no atlas: a source that keeps files forgets this one, so that the next
    /// fetch brings another. Called on a thread that may block.
    fn reject(&self, _key: RegionKey) {}

    /// The URL or file of a region, for messages.
    fn name_of(&self, key: RegionKey) -> String {
        key.to_string()
    }

    /// Which of the source's hosts brings the region, counted from 0: each has limits of its own, see
    /// [`Scene::with_hosts`](crate::stream::Scene::with_hosts).
    fn host_of(&self, _key: RegionKey) -> usize {
        0
    }
}

/// An opened tileset: what it says of itself, and its files. Cheap to clone.
#[derive(Clone)]
pub struct Source {
    name: String,
    tileset: Arc<Tileset>,
    availability: Arc<Availability>,
    files: Arc<dyn AtlasSource>,
}

impl Source {
    /// Opens a SOURCE (see the [module](self)): reads its document, fetches no atlas.
    ///
    /// # Errors
    ///
    /// The text names no source, or its document cannot be had or is none.
    pub async fn open(text: &str, config: &SourceConfig) -> Result<Self, SourceError> {
        match SourceSpec::parse(text)? {
            SourceSpec::Demo => {
                let tileset = embedded::tileset()?;
                Self::assemble(text, tileset, Root::Demo, config)
            }
            SourceSpec::Document(path) => {
                let tileset = directory::read_tileset(&path).await?;
                let directory = path.parent().map(Into::into).unwrap_or_default();
                Self::assemble(text, tileset, Root::Directory(directory), config)
            }
            SourceSpec::DocumentUrl(url) => {
                // A client of its own: its connections belong to the runtime that opens, the tiles' to the loader's.
                let client = HttpClient::new(&url, config)?;
                let tileset = http::read_tileset(&client, &url, TILESET_BYTES_MAX).await?;
                Self::assemble(text, tileset, Root::Url(url), config)
            }
            SourceSpec::Archive(path) => {
                let (tileset, files) = archive::open_file(path, config).await?;
                Self::custom(text, tileset, Arc::new(files))
            }
            SourceSpec::ArchiveUrl(url) => {
                let (tileset, files) = archive::open_url(url, config).await?;
                Self::custom(text, tileset, Arc::new(files))
            }
            SourceSpec::Template(template) => {
                let tileset = Tileset::of_template(&template)?;
                Self::assemble(text, tileset, Root::Paths, config)
            }
        }
    }

    /// As [`Source::open`], for programs without a tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Source::open`]; also where the system gives no runtime.
    ///
    /// # Panics
    ///
    /// Called within a tokio runtime, which must not block.
    pub fn open_blocking(text: &str, config: &SourceConfig) -> Result<Self, SourceError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| SourceError::Client { reason: error.to_string() })?;
        let source = runtime.block_on(Self::open(text, config));
        // A name look-up may still sit in a blocking thread: nobody waits for it.
        runtime.shutdown_background();
        source
    }

    /// A source of one's own under a tileset that describes it.
    ///
    /// # Errors
    ///
    /// The tileset's bitmaps contradict themselves.
    pub fn custom(
        name: &str,
        tileset: impl Into<Arc<Tileset>>,
        files: Arc<dyn AtlasSource>,
    ) -> Result<Self, SourceError> {
        let tileset = tileset.into();
        let availability = Availability::of(&tileset)
            .map_err(|source| crate::atlas::TilesetError::Availability { name: name.to_owned(), source })?;
        Ok(Self { name: name.to_owned(), tileset, availability: Arc::new(availability), files })
    }

    fn assemble(name: &str, tileset: Tileset, root: Root, config: &SourceConfig) -> Result<Self, SourceError> {
        let tileset = Arc::new(tileset);
        let files = TileFiles::new(name, Arc::clone(&tileset), root, config)?;
        Self::custom(name, tileset, Arc::new(files))
    }

    /// The text that it was opened with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tileset says of itself.
    pub fn tileset(&self) -> &Tileset {
        &self.tileset
    }

    /// Which regions it lists.
    pub fn availability(&self) -> &Availability {
        &self.availability
    }

    /// Whether the region's floor can be seen by nobody: its layer is the lowest of the tileset.
    pub fn is_lowest(&self, key: RegionKey) -> bool {
        self.availability.lowest_layer(key.tile.zoom()) == Some(key.layer)
    }
}

impl AtlasSource for Source {
    /// Asks nobody for a region that the tileset says is absent, and logs one that it lists and that is not there.
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_> {
        match self.availability.presence(key) {
            Presence::Absent => Box::pin(async { Ok(None) }),
            Presence::Unknown => self.files.fetch(key),
            Presence::Present => Box::pin(async move {
                let fetched = self.files.fetch(key).await;
                if matches!(fetched, Ok(None)) {
                    tracing::warn!("{}: nothing is there, although {} lists it", self.name_of(key), self.name);
                }
                fetched
            }),
        }
    }

    fn reject(&self, key: RegionKey) {
        self.files.reject(key);
    }

    fn name_of(&self, key: RegionKey) -> String {
        self.files.name_of(key)
    }

    fn host_of(&self, key: RegionKey) -> usize {
        self.files.host_of(key)
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}
