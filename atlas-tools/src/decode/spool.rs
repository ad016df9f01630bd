//! Bytes that are made before it is known how many there will be: kept in a temporary file, then copied.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use crate::output::OutputError;

/// A temporary file that is being written.
pub(super) struct Spool {
    /// What it is written for, for messages.
    out: PathBuf,
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
        Ok(Self { out: out.to_owned(), file: BufWriter::new(file), size_bytes: 0 })
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        self.size_bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| OutputError { path: self.out.clone(), error })
    }

    /// Copies everything that was put.
    pub(super) fn copy_into(self, out: &mut impl Write) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut file, out).map(|_| ())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_the_file_that_it_keeps_from_us() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut spool = Spool { out: "city.ply".into(), file: BufWriter::new(full), size_bytes: 0 };
        let error = spool.put(&vec![0; 1 << 16]).unwrap_err().to_string();
        assert!(error.starts_with("city.ply: cannot be written: "), "{error}");
    }
}
