//! Calls into the `las` crate, which trusts files more than we do.
//!
//! Sizes that it would allocate for are compared with the size of the file first; where it panics on a malformed file,
//! the panic becomes an error of that file.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::las::raw;

use crate::input::InputError;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Opens a file, after a look at what it says of sizes.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(io)?;
    let file_bytes = file.metadata().map_err(io)?.len();
    let header = guarded(path, || raw::Header::read_from(&mut file))?;
    check_evlr(&mut file, &header, file_bytes)
        .and_then(|()| check_chunk_table(&mut file, &header, file_bytes))
        .map_err(|what| InputError::Malformed { path: path.to_owned(), what })?;
    file.rewind().map_err(io)?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

/// What a call yields; its errors and its panics as errors of the file.
pub(super) fn guarded<T>(path: &Path, call: impl FnOnce() -> ::las::Result<T>) -> Result<T, InputError> {
    // Whatever the call was changing is dropped by the caller, which returns the error.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(::las::Error::Io(error))) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Err(InputError::Io { path: path.to_owned(), error })
        }
        Ok(Err(error)) => {
            let what = format!("no point cloud that can be read: {error}; expected LAS, LAZ or COPC");
            Err(InputError::Malformed { path: path.to_owned(), what })
        }
        Err(_) => {
            let what = "malformed points: expected a whole LAS, LAZ or COPC file".to_owned();
            Err(InputError::Malformed { path: path.to_owned(), what })
        }
    }
}

/// The extended record behind the points is as long as its header says.
fn check_evlr(file: &mut File, header: &raw::Header, file_bytes: u64) -> Result<(), String> {
    const HEAD_BYTES: u64 = 60;
    let Some(evlr) = header.evlr else { return Ok(()) };
    let start = evlr.start_of_first_evlr;
    let size = u64_at(file, start.saturating_add(20)).ok_or("an extended record that begins behind the end")?;
    let end = start.checked_add(HEAD_BYTES).and_then(|end| end.checked_add(size));
    match end {
        Some(end) if end <= file_bytes => Ok(()),
        _ => Err(format!("an extended record of {size} bytes at {start} in a file of {file_bytes} bytes")),
    }
}

/// The table of chunks of a LAZ file is no longer than the file.
fn check_chunk_table(file: &mut File, header: &raw::Header, file_bytes: u64) -> Result<(), String> {
    if header.point_data_record_format & 0x80 == 0 {
        return Ok(());
    }
    let start = u64::from(header.offset_to_point_data);
    let offset = u64_at(file, start).ok_or("packed points that begin behind the end")?;
    // Below the points as a signed number: written by those who could not go back. Then the offset stands at the end, or
    // there is no table.
    let lies_behind = |offset: u64| i64::try_from(offset).is_ok_and(|_| offset > start);
    let at = if lies_behind(offset) {
        offset
    } else {
        u64_at(file, file_bytes.saturating_sub(8)).ok_or("a file of fewer than 8 bytes")?
    };
    if !lies_behind(at) {
        return Ok(());
    }
    let Some(head) = u64_at(file, at) else { return Ok(()) };
    let n_chunks = head >> 32;
    // A chunk takes more bytes than one.
    if n_chunks > file_bytes {
        return Err(format!("a table of {n_chunks} chunks in a file of {file_bytes} bytes"));
    }
    Ok(())
}

/// Eight bytes of a file as a number; `None` behind its end.
fn u64_at(file: &mut File, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}
