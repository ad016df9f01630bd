//! More heights than memory: the tiles that are being filled, in one file without a name.
//!
//! Owns [`Pages`]: a page of 256 KiB a tile, the lately used ones in memory within a budget of bytes, the others in a
//! temporary file that vanishes with it. It knows no triangles: whoever fills a page decides what a height is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use voxatlas::geo::TileCoord;

use super::{NO_DATA, TILE_CELLS};
use crate::input::InputError;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = (TILE_CELLS * size_of::<f32>()) as u64;

/// Pages of heights by tile.
#[derive(Debug)]
pub(super) struct Pages {
    scratch: PathBuf,
    file: Option<File>,
    resident_max: usize,
    resident: BTreeMap<TileCoord, Resident>,
    /// Where each page that has been written lies in the file, in pages.
    written: BTreeMap<TileCoord, u64>,
    uses: u64,
    /// What a page passes through on its way to the file and back.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Resident {
    heights_m: Vec<f32>,
    used: u64,
    is_changed: bool,
}

impl Pages {
    /// No pages yet; the file is made in the folder `scratch` when memory runs out.
    pub(super) fn new(scratch: &Path, budget_bytes: u64) -> Self {
        Self {
            scratch: scratch.to_owned(),
            file: None,
            resident_max: usize::try_from(budget_bytes / PAGE_BYTES).unwrap_or(usize::MAX).max(1),
            resident: BTreeMap::new(),
            written: BTreeMap::new(),
            uses: 0,
            bytes: Vec::new(),
        }
    }

    /// Whether a tile has a page.
    pub(super) fn has(&self, tile: TileCoord) -> bool {
        self.resident.contains_key(&tile) || self.written.contains_key(&tile)
    }

    /// The page of a tile, to be changed; one without data where it has none yet.
    pub(super) fn page_mut(&mut self, tile: TileCoord) -> Result<&mut [f32], InputError> {
        let page = self.resident(tile)?;
        page.is_changed = true;
        Ok(&mut page.heights_m)
    }

    /// A copy of the page of a tile, or `None` where it has none.
    pub(super) fn read(&mut self, tile: TileCoord) -> Result<Option<Vec<f32>>, InputError> {
        if !self.has(tile) {
            return Ok(None);
        }
        Ok(Some(self.resident(tile)?.heights_m.clone()))
    }

    fn resident(&mut self, tile: TileCoord) -> Result<&mut Resident, InputError> {
        if !self.resident.contains_key(&tile) {
            let mut heights_m = self.make_room()?;
            match self.written.get(&tile) {
                Some(&place) => self.load(place, &mut heights_m)?,
                None => heights_m.fill(NO_DATA),
            }
            self.resident.insert(tile, Resident { heights_m, used: 0, is_changed: false });
        }
        self.uses += 1;
        let uses = self.uses;
        let page = self.resident.entry(tile);
        let page = page.or_insert_with(|| unreachable!("just put there"));
        page.used = uses;
        Ok(page)
    }

    /// Room for one more page: that of the least lately used one, where there are as many as there may be.
    fn make_room(&mut self) -> Result<Vec<f32>, InputError> {
        let oldest = self.resident.iter().min_by_key(|(_, page)| page.used).map(|(&tile, _)| tile);
        let leaving = oldest.filter(|_| self.resident.len() >= self.resident_max);
        let Some((tile, page)) = leaving.and_then(|tile| self.resident.remove_entry(&tile)) else {
            return Ok(vec![NO_DATA; TILE_CELLS]);
        };
        if page.is_changed {
            self.store(tile, &page.heights_m)?;
        }
        Ok(page.heights_m)
    }

    fn store(&mut self, tile: TileCoord, heights_m: &[f32]) -> Result<(), InputError> {
        let next = self.written.len() as u64;
        let place = self.written.get(&tile).copied().unwrap_or(next);
        self.bytes.clear();
        self.bytes.extend(heights_m.iter().flat_map(|height_m| height_m.to_le_bytes()));
        let file = match &mut self.file {
            Some(file) => Ok(file),
            none => tempfile::tempfile_in(&self.scratch).map(|file| none.insert(file)),
        };
        let written = file.and_then(|file| {
            file.seek(SeekFrom::Start(place * PAGE_BYTES))?;
            file.write_all(&self.bytes)
        });
        written.map_err(|error| refused(&self.scratch, &error))?;
        self.written.insert(tile, place);
        Ok(())
    }

    fn load(&mut self, place: u64, heights_m: &mut [f32]) -> Result<(), InputError> {
        self.bytes.resize(PAGE_BYTES as usize, 0);
        let Some(file) = &mut self.file else { unreachable!("pages are written to a file") };
        let read = file.seek(SeekFrom::Start(place * PAGE_BYTES)).and_then(|_| file.read_exact(&mut self.bytes));
        read.map_err(|error| refused(&self.scratch, &error))?;
        for (height_m, bytes) in heights_m.iter_mut().zip(self.bytes.as_chunks::<4>().0) {
            *height_m = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

fn refused(scratch: &Path, error: &std::io::Error) -> InputError {
    let scratch = scratch.display();
    let what = format!(
        "{scratch}: a temporary file of heights cannot be used: {error}; expected a folder that can be written to, with room"
    );
    InputError::Refused { what }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use voxatlas::limits::ZOOM_FULL;

    use super::*;

    fn tile(x: u32) -> TileCoord {
        TileCoord::new(ZOOM_FULL, x, 7).unwrap()
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let mut pages = Pages::new(Path::new("/nowhere/at/all"), 0);
        pages.page_mut(tile(1)).unwrap();
        let error = pages.page_mut(tile(2)).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/at/all: a temporary file of heights cannot be used: "), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn pages_return_as_they_were_left(
            resident in 1u64..4,
            changes in prop::collection::vec((0u32..6, 0..TILE_CELLS, -9.0f32..9.0), 0..24),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut pages = Pages::new(folder.path(), resident * PAGE_BYTES);
            let mut expected = BTreeMap::<u32, Vec<f32>>::new();
            for (x, cell, height_m) in changes {
                pages.page_mut(tile(x)).unwrap()[cell] = height_m;
                expected.entry(x).or_insert_with(|| vec![NO_DATA; TILE_CELLS])[cell] = height_m;
            }
            for x in 0..6 {
                let bits = |heights: Vec<f32>| heights.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                prop_assert_eq!(pages.has(tile(x)), expected.contains_key(&x));
                prop_assert_eq!(pages.read(tile(x)).unwrap().map(bits), expected.get(&x).cloned().map(bits));
            }
        }
    }
}
