//! A folder of this machine that files are written into, each whole or not at all.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{OutputError, PartFile};
use crate::tileset_files;

/// A folder that files are written into.
#[derive(Debug, Clone)]
pub struct OutputDir {
    root: PathBuf,
}

impl OutputDir {
    /// Makes the folder where it is missing, and tries that it can be written to: a run of an hour should not find that
    /// out at its end.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written to.
    pub fn create(root: &Path) -> Result<Self, OutputError> {
        let dir = Self { root: root.to_owned() };
        let fail = |error| OutputError { path: root.to_owned(), error };
        // Dropped, it is gone.
        PartFile::create(&dir.path("trial")).map_err(|OutputError { error, .. }| fail(error))?;
        Ok(dir)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a file stands.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file; `name` is relative and may hold folders, which are made.
    ///
    /// # Errors
    ///
    /// The file cannot be written; then its place is as it was before.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.written(name, bytes)?.finish()
    }

    /// Writes a file where there is none; where there is one it stays as it is. Yields whether the file now holds these
    /// bytes, whoever wrote them.
    ///
    /// # Errors
    ///
    /// The file can be neither written nor read.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<bool, OutputError> {
        match self.written(name, bytes)?.finish_new() {
            Err(OutputError { error, path }) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = std::fs::read(&path).map_err(|error| OutputError { path, error })?;
                Ok(there == bytes)
            }
            finished => finished.map(|()| true),
        }
    }

    /// A file that is written to its end and not yet in its place.
    fn written(&self, name: &str, bytes: &[u8]) -> Result<PartFile, OutputError> {
        let path = self.path(name);
        let part = PartFile::create(&path)?;
        part.file().write_all(bytes).map_err(|error| OutputError { path, error })?;
        Ok(part)
    }

    /// The bytes of a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OutputError> {
        self.read_start(name, u64::MAX)
    }

    /// As much of a file as its first `bytes_max` bytes; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_start(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, OutputError> {
        let path = self.path(name);
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            std::fs::File::open(&path)?.take(bytes_max).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(OutputError { path, error }),
        }
    }

    /// The names of all files, sorted; those that were not finished are left out.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed.
    pub fn list(&self) -> Result<Vec<String>, OutputError> {
        let mut names = Vec::new();
        let visit = &mut |name: &str| {
            if !tileset_files::is_leftover(name) {
                names.push(name.to_owned());
            }
        };
        tileset_files::walk(&self.root, visit).map_err(|error| OutputError { path: self.root.clone(), error })?;
        names.sort();
        Ok(names)
    }

    /// Removes a file; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), OutputError> {
        let path = self.path(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OutputError { path, error }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_written_whole_and_leave_nothing_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let out = OutputDir::create(&dir.path().join("new")).unwrap();
        out.write("17/3/4.png", b"first").unwrap();
        out.write("17/3/4.png", b"second").unwrap();
        assert_eq!(std::fs::read(out.path("17/3/4.png")).unwrap(), b"second");
        assert_eq!(names(&dir.path().join("new/17/3")), ["4.png"]);
        out.remove("17/3/4.png").unwrap();
        out.remove("17/3/4.png").unwrap();
        assert!(names(&dir.path().join("new/17/3")).is_empty());
    }

    #[test]
    fn a_file_that_is_there_stays_where_a_new_one_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let out = OutputDir::create(dir.path()).unwrap();
        assert!(out.write_new("17/3/4.png", b"first").unwrap());
        assert!(out.write_new("17/3/4.png", b"first").unwrap());
        assert!(!out.write_new("17/3/4.png", b"second").unwrap());
        assert_eq!(out.read("17/3/4.png").unwrap().unwrap(), b"first");
        assert_eq!(out.read("17/3/5.png").unwrap(), None);
        out.write("tiles.json", b"{}").unwrap();
        std::fs::write(out.path("17/.5.png.77.part"), b"half").unwrap();
        assert_eq!(out.list().unwrap(), ["17/3/4.png", "tiles.json"]);
        assert_eq!(names(&dir.path().join("17/3")), ["4.png"]);
    }

    #[test]
    fn what_cannot_be_written_is_named_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = OutputDir::create(dir.path()).unwrap();
        std::fs::create_dir_all(out.path("a.png/inside")).unwrap();
        let error = out.write("a.png", b"x").unwrap_err();
        assert_eq!(error.path, out.path("a.png"));
        assert_eq!(names(dir.path()), ["a.png"]);

        std::fs::write(out.path("file"), b"").unwrap();
        let error = OutputDir::create(&out.path("file")).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
        assert!(out.write("file/17.png", b"x").is_err());
    }
}
