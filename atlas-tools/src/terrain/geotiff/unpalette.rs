//! A TIFF whose pixels are numbers of a palette, read as one whose pixels are grey.
//!
//! The `tiff` crate decodes no palettes. Their pixels are packed as grey ones are, so that one number of the directory,
//! changed on the way from the file, gives them to us; the colours are looked up afterwards. The file stays as it is.

use std::fs::File;
use std::io::{BufReader, Read, Result, Seek, SeekFrom};

use super::raster::{Order, u16_at};

/// The tag that says what pixels mean.
const PHOTOMETRIC: u16 = 262;

/// A file, with two of its bytes exchanged.
#[derive(Debug)]
pub(super) struct Unpaletted {
    file: BufReader<File>,
    position: u64,
    patch: Option<(u64, [u8; 2])>,
}

impl Unpaletted {
    /// A file as it is.
    pub(super) fn plain(file: File) -> Self {
        Self { file: BufReader::new(file), position: 0, patch: None }
    }

    /// The file with the pixels of the directory at `directory` called grey.
    pub(super) fn grey(mut file: File, directory: u64) -> Result<Self> {
        let patch = grey_patch(&mut file, directory)?;
        file.rewind()?;
        Ok(Self { patch, ..Self::plain(file) })
    }
}

impl Read for Unpaletted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let n = self.file.read(buffer)?;
        if let Some((at, bytes)) = self.patch {
            for (place, byte) in (at..).zip(bytes) {
                if let Some(idx) = place.checked_sub(self.position).filter(|&idx| idx < n as u64) {
                    buffer[idx as usize] = byte;
                }
            }
        }
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for Unpaletted {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        // Within what is buffered where it can be: chunks are read in small pieces.
        match to {
            SeekFrom::Start(start) if start.checked_signed_diff(self.position).is_some() => {
                self.file.seek_relative(start.wrapping_sub(self.position).cast_signed())?;
                self.position = start;
            }
            other => self.position = self.file.seek(other)?,
        }
        Ok(self.position)
    }
}

/// Where the directory says what pixels mean, and the bytes that call them grey.
fn grey_patch(file: &mut File, directory: u64) -> Result<Option<(u64, [u8; 2])>> {
    let mut head = [0; 4];
    file.rewind()?;
    file.read_exact(&mut head)?;
    let order = if head[0] == b'I' { Order::Little } else { Order::Big };
    let is_big_tiff = u16_at(&head, 2, order) == 43;
    file.seek(SeekFrom::Start(directory))?;
    let (count_bytes, entry_bytes, value_at) = if is_big_tiff { (8, 20, 12) } else { (2, 12, 8) };
    let mut count = [0; 8];
    file.read_exact(&mut count[..count_bytes])?;
    let n_entries = match (is_big_tiff, order) {
        (false, _) => u64::from(u16_at(&count, 0, order)),
        (true, Order::Little) => u64::from_le_bytes(count),
        (true, Order::Big) => u64::from_be_bytes(count),
    };
    let mut entry = vec![0; entry_bytes];
    // Tags are two bytes and each stands there once.
    for idx in 0..n_entries.min(1 << 16) {
        file.read_exact(&mut entry)?;
        if u16_at(&entry, 0, order) == PHOTOMETRIC {
            let at = directory + count_bytes as u64 + idx * entry_bytes as u64 + value_at;
            let grey = if order == Order::Little { 1u16.to_le_bytes() } else { 1u16.to_be_bytes() };
            return Ok(Some((at, grey)));
        }
    }
    Ok(None)
}
