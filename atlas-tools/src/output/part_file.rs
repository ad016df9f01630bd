//! A file of this machine that is whole or absent: written beside its place, then renamed or linked into it.

use std::io;
use std::path::{Path, PathBuf};

use super::OutputError;

/// A file that is written piece by piece. It takes its place when it is whole; dropped before, it leaves nothing.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    part: PathBuf,
    file: std::fs::File,
    /// Whether the file beside the place is still there.
    is_beside: bool,
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
        // A name that no tileset uses and no other process of ours.
        let part = folder.join(format!(".{name}.{}.part", std::process::id()));
        let file = std::fs::File::create(&part).map_err(fail)?;
        Ok(Self { path: path.to_owned(), part, file, is_beside: true })
    }

    /// Where the file lies until it is finished, for libraries that open files themselves.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The file as far as it is written.
    pub fn file(&self) -> &std::fs::File {
        &self.file
    }

    /// Puts the whole file in its place; one that is there is replaced.
    ///
    /// # Errors
    ///
    /// The file cannot be written to its end or renamed; then its place is as it was before.
    pub fn finish(mut self) -> Result<(), OutputError> {
        // Some file systems report a full disk only here.
        let renamed = self.file.sync_data().and_then(|()| std::fs::rename(&self.part, &self.path));
        self.is_beside = renamed.is_err();
        renamed.map_err(|error| self.fail(error))
    }

    /// Puts the whole file in its place where there is none.
    ///
    /// # Errors
    ///
    /// As of [`PartFile::finish`], or there is a file: an error of the kind `AlreadyExists`.
    pub fn finish_new(self) -> Result<(), OutputError> {
        // A link is made whole or not at all, and never over another file.
        let linked = self.file.sync_data().and_then(|()| std::fs::hard_link(&self.part, &self.path));
        linked.map_err(|error| self.fail(error))
    }

    fn fail(&self, error: io::Error) -> OutputError {
        OutputError { path: self.path.clone(), error }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.is_beside {
            // One that cannot be removed is a leftover, which `validate` reports.
            let _ = std::fs::remove_file(&self.part);
        }
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
