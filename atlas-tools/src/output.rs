//! Files that are whole or absent, in a folder or in an object store.
//!
//! Owns the places that commands write to: [`Output`] is any of them, [`OutputDir`] a folder, `ObjectOutput` a bucket's
//! prefix, [`PartFile`] one file that is written piece by piece. Receives names with `/` and bytes, or errors that name the file. It does not know
//! what the files are.

mod folder;
mod part_file;
#[cfg(feature = "object-store")]
mod store;

use std::io;
use std::path::{Path, PathBuf};

pub use self::folder::OutputDir;
pub use self::part_file::PartFile;
#[cfg(feature = "object-store")]
pub use self::store::ObjectOutput;

use thiserror::Error;

/// A file or folder that could not be written.
#[derive(Debug, Error)]
#[error("{}: cannot be written: {error}", path.display())]
pub struct OutputError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system says.
    pub error: io::Error,
}

/// A place that files are written into.
#[derive(Debug, Clone)]
pub enum Output {
    /// A folder of this machine.
    Folder(OutputDir),
    /// What lies below a prefix of an object store.
    #[cfg(feature = "object-store")]
    Objects(ObjectOutput),
}

/// The schemes of object stores.
const STORES: [&str; 3] = ["s3", "gs", "az"];

impl Output {
    /// Opens a folder, which is made where it is missing, or `s3://bucket/prefix`, `gs://bucket/prefix` and
    /// `az://container/prefix`; tries that it can be written to. Object stores take their keys from the environment, as
    /// their own tools do.
    ///
    /// # Errors
    ///
    /// The place cannot be written to, or this build knows no object stores.
    pub fn create(place: &str) -> Result<Self, OutputError> {
        match place.split_once("://") {
            #[cfg(feature = "object-store")]
            Some((scheme, _)) if STORES.contains(&scheme) => ObjectOutput::create(place).map(Self::Objects),
            #[cfg(not(feature = "object-store"))]
            Some((scheme, _)) if STORES.contains(&scheme) => Err(OutputError {
                path: place.into(),
                error: io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this build knows no object stores: install it with `--features object-store`",
                ),
            }),
            Some((scheme, _)) => Err(OutputError {
                path: place.into(),
                error: io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("the scheme {scheme}: is not known; expected a folder, s3://, gs:// or az://"),
                ),
            }),
            None => OutputDir::create(Path::new(place)).map(Self::Folder),
        }
    }

    /// The folder, where it is one of this machine.
    pub fn folder(&self) -> Option<&OutputDir> {
        match self {
            Self::Folder(folder) => Some(folder),
            #[cfg(feature = "object-store")]
            Self::Objects(_) => None,
        }
    }

    /// What was opened, for messages and for whoever opens it next.
    pub fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder.root().display().to_string(),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.name().to_owned(),
        }
    }

    /// Where a file stands, for messages.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.path(name),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.path(name),
        }
    }

    /// Writes a file, whole or not at all; one that is there is replaced. `name` is relative and may hold folders.
    ///
    /// # Errors
    ///
    /// The file cannot be written; then its place is as it was before.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        match self {
            Self::Folder(folder) => folder.write(name, bytes),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.write(name, bytes),
        }
    }

    /// Writes a file where there is none; where there is one it stays as it is. Yields whether the file now holds these
    /// bytes, whoever wrote them.
    ///
    /// # Errors
    ///
    /// The file can be neither written nor read.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<bool, OutputError> {
        match self {
            Self::Folder(folder) => folder.write_new(name, bytes),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.write_new(name, bytes),
        }
    }

    /// The bytes of a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OutputError> {
        match self {
            Self::Folder(folder) => folder.read(name),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.read(name),
        }
    }

    /// As much of a file as its first `bytes_max` bytes, so that a huge one costs no more; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_start(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, OutputError> {
        match self {
            Self::Folder(folder) => folder.read_start(name, bytes_max),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.read_start(name, bytes_max),
        }
    }

    /// The names of all files, sorted.
    ///
    /// # Errors
    ///
    /// The place cannot be listed.
    pub fn list(&self) -> Result<Vec<String>, OutputError> {
        match self {
            Self::Folder(folder) => folder.list(),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.list(),
        }
    }

    /// Removes a file; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), OutputError> {
        match self {
            Self::Folder(folder) => folder.remove(name),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.remove(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_its_scheme() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("new");
        let out = Output::create(place.to_str().unwrap()).unwrap();
        assert_eq!(out.folder().unwrap().root(), place);
        assert!(out.write_new("a/b.png", b"x").unwrap() && !out.write_new("a/b.png", b"y").unwrap());
        assert_eq!(
            (out.list().unwrap(), out.read("a/b.png").unwrap()),
            (vec!["a/b.png".to_owned()], Some(b"x".to_vec()))
        );
        assert_eq!(out.read_start("a/b.png", 0).unwrap(), Some(Vec::new()));
        assert_eq!(out.read_start("a/b.png", 9).unwrap(), Some(b"x".to_vec()));
        assert_eq!(out.read_start("a/c.png", 9).unwrap(), None);
        out.remove("a/b.png").unwrap();
        assert!(out.list().unwrap().is_empty());
        let error = Output::create("ftp://host/city").unwrap_err().to_string();
        assert!(error.starts_with("ftp://host/city") && error.contains("expected a folder, s3://"), "{error}");
    }
}
