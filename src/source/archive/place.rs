//! Where an archive's bytes lie: a file of this machine, a URL, or memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use url::Url;

use super::document::LayerFile;
use crate::source::config::SourceConfig;
use crate::source::directory;
use crate::source::error::SourceError;
use crate::source::http::{FileVersion, HttpClient, Keep, PartWanted, Ranged, shown};
use crate::stream::LoadError;

/// What stands at the end of messages about an archive.
pub(super) const EXPECTED: &str = "expected a PMTiles archive";

/// Why bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadError {
    /// The archive is another one than before.
    Changed,
    /// There is no archive.
    Absent,
    /// Anything else.
    Failed(LoadError),
}

/// Some bytes of an archive.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) bytes: Vec<u8>,
    pub(super) version: FileVersion,
    /// Present where it came from a server and may be kept.
    keep: Option<Keep>,
}

impl Part {
    fn new(bytes: Vec<u8>, version: FileVersion) -> Self {
        Self { bytes, version, keep: None }
    }

    /// Takes the right to keep the bytes: for whoever finds them good.
    pub(super) fn take_keep(&mut self) -> Option<Keep> {
        self.keep.take()
    }
}

/// Where an archive lies.
#[derive(Debug, Clone)]
pub(super) enum Place {
    File(PathBuf),
    Url { url: Url, client: Arc<HttpClient> },
    Memory { name: String, bytes: Bytes },
}

impl Place {
    /// A place on a server, with a client of its own.
    pub(super) fn url(url: Url, config: &SourceConfig) -> Result<Self, SourceError> {
        let client = Arc::new(HttpClient::new(&url, config)?);
        Ok(Self::Url { url, client })
    }

    /// The same place, with connections of its own: those of a client belong to the runtime that opened them.
    pub(super) fn apart(&self, config: &SourceConfig) -> Result<Self, SourceError> {
        match self {
            Self::Url { url, .. } => Self::url(url.clone(), config),
            other => Ok(other.clone()),
        }
    }

    /// The place of an archive beside this one; `None` where the name could lead elsewhere.
    pub(super) fn beside(&self, file: &LayerFile) -> Option<Self> {
        if !file.is_neighbour() {
            return None;
        }
        match self {
            Self::File(path) => Some(Self::File(path.with_file_name(&file.file))),
            Self::Url { url, client } => {
                let mut beside = url.join(&file.file).ok()?;
                // Keys that are part of the URL open the neighbours too.
                beside.set_query(url.query());
                Some(Self::Url { url: beside, client: Arc::clone(client) })
            }
            Self::Memory { .. } => None,
        }
    }

    /// Reads a part of the archive, of the version `of` where that is given; fewer bytes where it ends before. What a
    /// cache keeps of it is passed over where it was found to be no good.
    pub(super) async fn read(
        &self,
        range: Range<u64>,
        of: Option<&FileVersion>,
        is_kept_bad: bool,
    ) -> Result<Part, ReadError> {
        match self {
            Self::File(path) => {
                let (path, of) = (path.clone(), of.cloned());
                let name = self.to_string();
                match tokio::task::spawn_blocking(move || read_file(&path, range, of.as_ref())).await {
                    Ok(read) => read,
                    // The runtime is being shut down, or the read panicked.
                    Err(error) => Err(transient(format!("{name}: {error}"))),
                }
            }
            Self::Url { url, client } => {
                match client.get_range(url, range, PartWanted { of, expected: EXPECTED, is_kept_bad }).await {
                    Ok(Ranged::Part(bytes, version, keep)) => Ok(Part { bytes, version, keep }),
                    Ok(Ranged::Changed) => Err(ReadError::Changed),
                    Ok(Ranged::Absent) => Err(ReadError::Absent),
                    Err(error) => Err(ReadError::Failed(error)),
                }
            }
            Self::Memory { bytes, .. } => {
                let at = |end: u64| end.min(bytes.len() as u64) as usize;
                let version = FileVersion { tag: None, size_bytes: Some(bytes.len() as u64) };
                Ok(Part::new(bytes[at(range.start)..at(range.end)].to_vec(), version))
            }
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Url { url, .. } => f.write_str(&shown(url)),
            Self::Memory { name, .. } => f.write_str(name),
        }
    }
}

/// Opens the file anew each time: a handle that is kept would go on reading what somebody has replaced.
fn read_file(path: &Path, range: Range<u64>, of: Option<&FileVersion>) -> Result<Part, ReadError> {
    let of_io = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Absent,
        _ => ReadError::Failed(directory::of_io(path, &error)),
    };
    // Opening a named pipe would wait for ever.
    if !std::fs::metadata(path).map_err(of_io)?.is_file() {
        let what = format!("{}: found no plain file, {EXPECTED}", path.display());
        return Err(ReadError::Failed(LoadError::Permanent { what }));
    }
    let mut file = File::open(path).map_err(of_io)?;
    let version = version_of(&file).map_err(of_io)?;
    if of.is_some_and(|of| !of.agrees(&version)) {
        return Err(ReadError::Changed);
    }
    file.seek(SeekFrom::Start(range.start)).map_err(of_io)?;
    let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
    file.take(range.end - range.start).read_to_end(&mut bytes).map_err(of_io)?;
    Ok(Part::new(bytes, version))
}

fn version_of(file: &File) -> io::Result<FileVersion> {
    let metadata = file.metadata()?;
    // Not every file system knows the time of a change.
    let changed_at = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(FileVersion { tag: changed_at.map(|at| at.as_nanos().to_string()), size_bytes: Some(metadata.len()) })
}

fn transient(what: String) -> ReadError {
    ReadError::Failed(LoadError::Transient { what, retry_after: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_lie_beside_and_nowhere_else() {
        let url = Url::parse("https://host/maps/city.pmtiles?key=1").unwrap();
        let remote = Place::url(url, &SourceConfig::default()).unwrap();
        let local = Place::File("maps/city.pmtiles".into());
        let check = |file: &str, expected: Option<[&str; 2]>| {
            let file = LayerFile { layer: 1, file: file.to_owned() };
            let found = [&remote, &local].map(|place| place.beside(&file).map(|place| place.to_string()));
            assert_eq!(found, [0, 1].map(|idx| expected.map(|expected| expected[idx].to_owned())), "{file:?}");
        };
        check("city.l1.pmtiles", Some(["https://host/maps/city.l1.pmtiles?key=1", "maps/city.l1.pmtiles"]));
        check("my city.pmtiles", Some(["https://host/maps/my%20city.pmtiles?key=1", "maps/my city.pmtiles"]));
        for file in ["", "..", "../x", "/etc/x", "https://evil/x", "//evil/x", "a\\b", "C:x", "x?y", "x#y", "%2e%2e"] {
            check(file, None);
        }
    }
}
