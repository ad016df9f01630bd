//! From a region to the file or URL that holds it, and from there to its bytes.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::body::describe_stranger;
use super::config::SourceConfig;
use super::error::SourceError;
use super::http::{HttpClient, Wanted, shown};
use super::{AtlasSource, FetchFuture, Fetched, directory, embedded};
use crate::atlas::{EncodedAtlas, Tileset, is_whole};
use crate::geo::{RegionKey, TileCoord};
use crate::stream::LoadError;

/// What stands at the end of messages about a file.
const EXPECTED: &str = "expected an atlas, a PNG or WebP image of 4096 x 4096";

/// What a tileset's relative paths start from.
#[derive(Debug, Clone)]
pub(super) enum Root {
    /// The demo city's table.
    Demo,
    /// The document's directory, which they may not leave.
    Directory(PathBuf),
    /// The document's URL.
    Url(Url),
    /// Nothing: the user typed them.
    Paths,
}

/// Where one file lies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Location {
    Demo(String),
    File(PathBuf),
    Url(Url),
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Demo(path) => write!(f, "demo/{path}"),
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => f.write_str(&shown(url)),
        }
    }
}

impl Root {
    /// The place of a tileset's path; the error says what is wrong with it.
    fn locate(&self, path: String) -> Result<Location, String> {
        if path.starts_with("http://") || path.starts_with("https://") {
            return Url::parse(&path).map(Location::Url).map_err(|error| error.to_string());
        }
        match self {
            Self::Demo => Ok(Location::Demo(path)),
            Self::Paths => Ok(Location::File(path.into())),
            Self::Directory(directory) => {
                // A document from elsewhere must not make us read the rest of the disk.
                let stays =
                    |path: &Path| path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
                if path.contains("://") || !stays(Path::new(&path)) {
                    return Err("expected a path within the document's directory, or an http(s) URL".to_owned());
                }
                Ok(Location::File(directory.join(path)))
            }
            Self::Url(document) => {
                let url = document.join(&path).map_err(|error| error.to_string())?;
                match url.scheme() {
                    "http" | "https" => Ok(Location::Url(url)),
                    _ => Err("expected an http(s) URL, or a path relative to the document's".to_owned()),
                }
            }
        }
    }
}

/// The files of a tileset.
#[derive(Debug)]
pub(super) struct TileFiles {
    tileset: Arc<Tileset>,
    root: Root,
    config: SourceConfig,
    /// Present where a layer lies on a server.
    client: Option<HttpClient>,
    /// The servers, in the order of the layers and their templates: nearly always one.
    hosts: Vec<String>,
}

impl TileFiles {
    /// Checks that every layer's files lie where they may, and readies a client where one is needed.
    pub(super) fn new(
        name: &str,
        tileset: Arc<Tileset>,
        root: Root,
        config: &SourceConfig,
    ) -> Result<Self, SourceError> {
        let (mut first_url, mut hosts) = (None, Vec::new());
        for path in sample_paths(&tileset) {
            match root.locate(path.clone()) {
                Ok(Location::Url(url)) => {
                    let host = host_name(&url);
                    if !hosts.contains(&host) {
                        hosts.push(host);
                    }
                    first_url = first_url.or(Some(url));
                }
                Ok(_) => {}
                Err(what) => return Err(SourceError::Place { name: name.to_owned(), path, what }),
            }
        }
        let client = first_url.map(|url| Self::client(&url, &root, config)).transpose()?;
        Ok(Self { tileset, root, config: config.clone(), client, hosts })
    }

    /// The client of the tiles. The user's headers go where the user pointed: to the document's server, or to that of a
    /// typed template; a document that lies on this machine may be anybody's, and sends them nowhere.
    fn client(url: &Url, root: &Root, config: &SourceConfig) -> Result<HttpClient, SourceError> {
        let own = match root {
            Root::Url(document) => Some(document),
            Root::Paths => Some(url),
            Root::Demo | Root::Directory(_) => None,
        };
        let client = HttpClient::with_own(url, own, config)?;
        client.warn_of_headers(url);
        Ok(client)
    }

    /// Where a region's file lies; `None` where its layer is not listed.
    fn locate(&self, key: RegionKey) -> Option<Result<Location, String>> {
        self.tileset.path_of(key).map(|path| self.root.locate(path))
    }

    async fn fetch_at(&self, location: &Location) -> Fetched {
        let file = match (location, &self.client) {
            (Location::Demo(path), _) => embedded::file(path).map(|bytes| (bytes.to_vec(), None, None)),
            (Location::File(path), _) => self.read_file(path).await?.map(|bytes| (bytes, None, None)),
            (Location::Url(url), Some(client)) => {
                let bytes_max = self.config.file_bytes_max;
                let body = client.get(url, &Wanted { bytes_max, expected: EXPECTED, may_be_absent: true }).await?;
                body.map(|body| (body.bytes, body.content_type, body.keep))
            }
            // `new` has seen every layer's templates, so this is a URL among paths that depend on the tile.
            (Location::Url(_), None) => {
                return Err(LoadError::Permanent { what: format!("{location}: expected a file, as for other tiles") });
            }
        };
        let Some((bytes, content_type, keep)) = file.filter(|(bytes, ..)| !bytes.is_empty()) else {
            return Ok(None);
        };
        if let Some(found) = describe_stranger(&bytes, content_type.as_deref()) {
            let status = if matches!(location, Location::Url(_)) { "status 200 with " } else { "" };
            return Err(LoadError::BadAtlas { what: format!("{location}: found {status}{found}, {EXPECTED}") });
        }
        let atlas = EncodedAtlas::new(bytes);
        if let Some(keep) = keep {
            // Waited for, so that files which a slow disk has not taken yet never pile up.
            keep.keep(atlas.clone(), is_whole).await;
        }
        Ok(Some(atlas))
    }

    /// A missing file is an empty region, but a missing directory is a disk that went away.
    async fn read_file(&self, path: &Path) -> Result<Option<Vec<u8>>, LoadError> {
        let bytes = directory::read(path, self.config.file_bytes_max).await?;
        match &self.root {
            Root::Directory(root) if bytes.is_none() && !root.as_os_str().is_empty() && !root.is_dir() => {
                Err(LoadError::Transient {
                    what: format!("{}: the tileset's directory {} is gone", path.display(), root.display()),
                    retry_after: None,
                })
            }
            _ => Ok(bytes),
        }
    }
}

impl AtlasSource for TileFiles {
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_> {
        Box::pin(async move {
            match self.locate(key) {
                None => Ok(None),
                Some(Ok(location)) => self.fetch_at(&location).await,
                Some(Err(what)) => Err(LoadError::Permanent { what: format!("region {key}: {what}") }),
            }
        })
    }

    fn reject(&self, key: RegionKey) {
        if let (Some(Ok(Location::Url(url))), Some(client)) = (self.locate(key), &self.client) {
            client.reject(&url);
        }
    }

    fn name_of(&self, key: RegionKey) -> String {
        match self.locate(key) {
            Some(Ok(location)) => location.to_string(),
            _ => key.to_string(),
        }
    }

    fn host_of(&self, key: RegionKey) -> usize {
        if self.hosts.len() < 2 {
            return 0;
        }
        match self.locate(key) {
            Some(Ok(Location::Url(url))) => {
                let host = host_name(&url);
                self.hosts.iter().position(|known| *known == host).unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// The server of a URL, its port included.
fn host_name(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// A path from every template of every layer: two neighbours and more see all of them.
fn sample_paths(tileset: &Tileset) -> Vec<String> {
    let mut layers = vec![(0, tileset.tiles.len())];
    if let Some(object) = &tileset.voxatlas {
        layers = object.layers.iter().map(|layer| (layer.layer, layer.tiles.len())).collect();
    }
    let zoom = tileset.maxzoom.min(TileCoord::ZOOM_MAX);
    let keys = layers.into_iter().flat_map(|(layer, n_templates)| {
        (0..n_templates as u32).filter_map(move |x| Some(RegionKey::new(TileCoord::new(zoom, x, 0).ok()?, layer)))
    });
    keys.filter_map(|key| tileset.path_of(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart() {
        let hosts_of = |tiles: &str| {
            let json = format!(r#"{{"tilejson": "3.0.0", "tiles": [{tiles}]}}"#);
            let tileset = Arc::new(Tileset::parse(json.as_bytes(), "tiles.json").unwrap());
            let document = Root::Url(Url::parse("https://host/city/tiles.json").unwrap());
            let files = TileFiles::new("city", tileset, document, &SourceConfig::default()).unwrap();
            let key = |x| RegionKey::new(TileCoord::new(17, x, 0).unwrap(), 0);
            [0, 1, 2].map(|x| files.host_of(key(x)))
        };
        assert_eq!(hosts_of(r#""{z}/{x}/{y}.png""#), [0, 0, 0]);
        let (a, b) = (r#""https://a.cdn/{z}/{x}/{y}.png""#, r#""https://b.cdn/{z}/{x}/{y}.png""#);
        assert_eq!(hosts_of(&format!("{a}, {b}")), [0, 1, 0]);
        assert_eq!(hosts_of(&format!("{a}, {a}")), [0, 0, 0]);
    }

    #[test]
    fn paths_are_resolved_from_their_root() {
        let document = Root::Url(Url::parse("https://host/city/tiles.json?key=1").unwrap());
        let check =
            |root: &Root, path: &str, expected: Result<&str, &str>| match (root.locate(path.to_owned()), expected) {
                (Ok(location), Ok(expected)) => assert_eq!(location.to_string(), expected),
                (Err(what), Err(expected)) => assert!(what.contains(expected), "{what}"),
                (found, _) => panic!("{path} gave {found:?}"),
            };
        check(&document, "17/1/2.png", Ok("https://host/city/17/1/2.png"));
        check(&document, "../17/1/2.png", Ok("https://host/17/1/2.png"));
        check(&document, "//cdn/17/1/2.png", Ok("https://cdn/17/1/2.png"));
        check(&document, "file:///etc/17/1/2.png", Err("expected an http(s) URL"));
        let directory = Root::Directory("city".into());
        check(&directory, "17/1/2.png", Ok("city/17/1/2.png"));
        check(&directory, "./17/1/2.png", Ok("city/./17/1/2.png"));
        check(&directory, "https://cdn/17/1/2.png", Ok("https://cdn/17/1/2.png"));
        check(&directory, "../17/1/2.png", Err("within the document's directory"));
        check(&directory, "/etc/17/1/2.png", Err("within the document's directory"));
        check(&directory, "file:///etc/1/2.png", Err("within the document's directory"));
        check(&Root::Paths, "../17/1/2.png", Ok("../17/1/2.png"));
    }
}
