//! Files that are whole or absent: written beside their place, then renamed into it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
        std::fs::create_dir_all(root).map_err(fail)?;
        let trial = temporary(root, "trial");
        std::fs::File::create(&trial).map_err(fail)?;
        std::fs::remove_file(&trial).map_err(fail)?;
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
        let path = self.path(name);
        let fail = |error| OutputError { path: path.clone(), error };
        let folder = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).map_err(fail)?;
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
        let part = temporary(folder, file_name);
        let written = write_whole(&part, bytes).and_then(|()| std::fs::rename(&part, &path));
        written.map_err(|error| {
            // What was written of it helps nobody; that it cannot be removed either changes nothing.
            let _ = std::fs::remove_file(&part);
            fail(error)
        })
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

/// A name beside a file's that no tileset uses and no other process of ours.
fn temporary(folder: &Path, file_name: &str) -> PathBuf {
    folder.join(format!(".{file_name}.{}.part", std::process::id()))
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(bytes)?;
    // Some file systems report a full disk only here.
    file.sync_data()
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
