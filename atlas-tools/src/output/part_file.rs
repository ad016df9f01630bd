//! A file of this machine that is too large to be held: written piece by piece, and whole or absent.

use std::io;
use std::path::{Path, PathBuf};

use super::{OutputError, temporary};

/// A file that is written piece by piece. It takes its place when it is whole; dropped before, it leaves nothing.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    part: PathBuf,
    file: std::fs::File,
}

impl PartFile {
    /// Begins a file beside its place; the folder is made.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written to, or the path names no file.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let fail = |error| OutputError { path: path.to_owned(), error };
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| fail(io::Error::from(io::ErrorKind::InvalidFilename)))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(fail)?;
        let part = temporary(folder, name);
        let file = std::fs::File::create(&part).map_err(fail)?;
        Ok(Self { path: path.to_owned(), part, file })
    }

    /// Where the file lies until it is finished, for libraries that open files themselves.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The file as far as it is written.
    pub fn file(&self) -> &std::fs::File {
        &self.file
    }

    /// Puts the whole file in its place.
    ///
    /// # Errors
    ///
    /// The file cannot be written to its end or renamed; then its place is as it was before.
    pub fn finish(self) -> Result<(), OutputError> {
        let fail = |error| OutputError { path: self.path.clone(), error };
        // Some file systems report a full disk only here.
        self.file.sync_data().map_err(fail)?;
        std::fs::rename(&self.part, &self.path).map_err(fail)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // After `finish` there is none; that it cannot be removed otherwise changes nothing.
        let _ = std::fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_of_pieces_is_whole_or_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/city.pmtiles");
        let part = PartFile::create(&path).unwrap();
        part.file().write_all(b"half").unwrap();
        drop(part);
        assert!(names(&dir.path().join("new")).is_empty());
        let part = PartFile::create(&path).unwrap();
        part.file().write_all(b"whole").unwrap();
        part.finish().unwrap();
        assert_eq!(names(&dir.path().join("new")), ["city.pmtiles"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}
