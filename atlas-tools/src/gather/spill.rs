//! Values that wait on disk for the tiles that need them.
//!
//! Receives values with the tiles that they reach, each written once; yields the values of a tile in the order in which
//! they came. What stays in memory is a few numbers for each value and tile.

use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use voxatlas::geo::TileCoord;

use crate::input::InputError;

/// Where a value lies in the file.
#[derive(Debug, Clone, Copy)]
struct Slice {
    at_byte: u64,
    n_bytes: u32,
}

/// A file that is being filled.
pub(super) struct SpillWriter<T> {
    file: BufWriter<File>,
    at_byte: u64,
    by_tile: FxHashMap<TileCoord, Vec<Slice>>,
    buffer: Vec<u8>,
    kind: PhantomData<fn(T)>,
}

impl<T: Serialize> SpillWriter<T> {
    /// A file without a name in a folder.
    pub(super) fn new(scratch: &Path) -> Result<Self, InputError> {
        let file = tempfile::tempfile_in(scratch).map_err(refused)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            at_byte: 0,
            by_tile: FxHashMap::default(),
            buffer: Vec::new(),
            kind: PhantomData,
        })
    }

    /// Keeps a value for some tiles.
    pub(super) fn put(&mut self, value: &T, tiles: impl IntoIterator<Item = TileCoord>) -> Result<(), InputError> {
        let mut tiles = tiles.into_iter().peekable();
        if tiles.peek().is_none() {
            return Ok(());
        }
        self.buffer.clear();
        rmp_serde::encode::write(&mut self.buffer, value).map_err(refused)?;
        let n_bytes = u32::try_from(self.buffer.len())
            .map_err(|_| refused("a feature of more than 4 GiB: split it into parts"))?;
        self.file.write_all(&self.buffer).map_err(refused)?;
        for tile in tiles {
            self.by_tile.entry(tile).or_default().push(Slice { at_byte: self.at_byte, n_bytes });
        }
        self.at_byte += u64::from(n_bytes);
        Ok(())
    }

    /// The whole file, to be read.
    pub(super) fn finish(self) -> Result<Spill<T>, InputError> {
        let file = self.file.into_inner().map_err(|error| refused(error.into_error()))?;
        Ok(Spill { file: Mutex::new(file), by_tile: self.by_tile, kind: PhantomData })
    }
}

/// A file that is filled.
pub(super) struct Spill<T> {
    file: Mutex<File>,
    by_tile: FxHashMap<TileCoord, Vec<Slice>>,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Spill<T> {
    /// The tiles that have values, in no order.
    pub(super) fn tiles(&self) -> impl Iterator<Item = TileCoord> + '_ {
        self.by_tile.keys().copied()
    }

    /// The values of a tile.
    pub(super) fn get(&self, tile: TileCoord) -> Result<Vec<T>, InputError> {
        let Some(slices) = self.by_tile.get(&tile) else { return Ok(Vec::new()) };
        let mut values = Vec::with_capacity(slices.len());
        let mut bytes = Vec::new();
        for slice in slices {
            bytes.resize(slice.n_bytes as usize, 0);
            self.read(slice.at_byte, &mut bytes)?;
            values.push(rmp_serde::from_slice(&bytes).map_err(refused)?);
        }
        Ok(values)
    }

    fn read(&self, at_byte: u64, bytes: &mut [u8]) -> Result<(), InputError> {
        // A read moves the file's place and then reads: nothing is half done where a thread panicked.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at_byte)).map_err(refused)?;
        file.read_exact(bytes).map_err(refused)
    }
}

/// The error of a scratch file.
pub(super) fn refused(error: impl std::fmt::Display) -> InputError {
    InputError::Refused { what: format!("the scratch folder (--scratch) cannot keep what was read: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_by_tile_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let tile = |x: u32| TileCoord::new(17, x, 5).unwrap();
        let mut writer = SpillWriter::new(folder.path()).unwrap();
        for n in 0..100u32 {
            writer.put(&vec![n; n as usize], [tile(n % 3), tile(9)]).unwrap();
        }
        writer.put(&vec![7], []).unwrap();
        let spill = writer.finish().unwrap();
        assert_eq!(spill.get(tile(9)).unwrap().len(), 100);
        let second: Vec<Vec<u32>> = spill.get(tile(1)).unwrap();
        assert!(second.iter().enumerate().all(|(at, value)| value.len() == 3 * at + 1));
        assert_eq!((spill.tiles().count(), spill.get(tile(3)).unwrap().len()), (4, 0));
        // What is written leaves nothing in the folder.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
