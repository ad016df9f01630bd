//! Bytes that are made before it is known how many there will be: kept in a temporary file, then copied.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::Path;

use crate::output::OutputError;

/// A temporary file that is being written.
pub(super) struct Spool {
    file: BufWriter<File>,
    size_bytes: u64,
}

impl Spool {
    /// A file without a name in the folder of `out`, where there is room for it twice or there is none for it at all.
    pub(super) fn beside(out: &Path) -> Result<Self, OutputError> {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let create = || -> io::Result<File> {
            std::fs::create_dir_all(folder)?;
            tempfile::tempfile_in(folder)
        };
        let file = create().map_err(|error| OutputError { path: out.to_owned(), error })?;
        Ok(Self { file: BufWriter::new(file), size_bytes: 0 })
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size_bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Copies everything that was put.
    pub(super) fn copy_into(self, out: &mut impl Write) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut file, out).map(|_| ())
    }
}
