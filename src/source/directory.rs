//! Files of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::SourceError;
use crate::atlas::Tileset;
use crate::limits::TILESET_BYTES_MAX;
use crate::stream::LoadError;

/// Reads a file of at most `bytes_max` bytes on a thread that may block; `None` where there is none.
pub(super) async fn read(path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>, LoadError> {
    let (owned, name) = (path.to_owned(), path.display().to_string());
    match tokio::task::spawn_blocking(move || read_blocking(&owned, bytes_max)).await {
        Ok(read) => read,
        // The runtime is being shut down, or the read panicked.
        Err(error) => Err(LoadError::Transient { what: format!("{name}: {error}"), retry_after: None }),
    }
}

fn read_blocking(path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>, LoadError> {
    let of_io = |error: io::Error| of_io(path, &error);
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(of_io(error)),
    };
    // Opening a named pipe would wait for ever.
    if !metadata.is_file() {
        return Err(LoadError::Permanent { what: format!("{}: found no plain file, expected one", path.display()) });
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(bytes_max as u64) as usize);
    let file = File::open(path).map_err(of_io)?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(of_io)?;
    if bytes.len() > bytes_max {
        let what =
            format!("{}: found a file of {} bytes, expected at most {bytes_max}", path.display(), metadata.len());
        return Err(LoadError::BadAtlas { what });
    }
    Ok(Some(bytes))
}

pub(super) fn of_io(path: &Path, error: &io::Error) -> LoadError {
    let what = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
            LoadError::Permanent { what }
        }
        _ => LoadError::Transient { what, retry_after: None },
    }
}

/// Reads and checks a document.
pub(super) async fn read_tileset(path: &Path) -> Result<Tileset, SourceError> {
    let name = path.display().to_string();
    match read(path, TILESET_BYTES_MAX).await {
        Ok(Some(bytes)) => Ok(Tileset::parse(&bytes, &name)?),
        Ok(None) => Err(SourceError::NotFound {
            name,
            expected: "a tileset's document (a server's address begins with http:// or https://)".to_owned(),
        }),
        Err(error) => Err(SourceError::Unreadable { what: error.to_string() }),
    }
}
