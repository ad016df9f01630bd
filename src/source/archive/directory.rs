//! A directory of an archive: where each tile's bytes lie.
//!
//! The crate `pmtiles` has a reader of its own, and three things keep us from it: it inflates whatever is there, however
//! large; it refuses a whole directory for one entry of no length, which archives in the wild have and which is an empty
//! tile; and its errors say neither what was found nor what was expected.
//!
//! ```text
//! number of entries n
//! n tile ids        each less the one before          a tile id counts the tiles of all zooms along a Hilbert curve
//! n run lengths     0: the entry is of a directory    a run of n tiles has the same content
//! n lengths         bytes
//! n offsets         plus one; 0: where the one before ends
//! ```
//!
//! All are variable-length integers: seven bits a byte, lowest first, the eighth says that there are more.

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::head::Packing;

/// Some tiles of the same content, or a directory further down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The first tile.
    pub(super) tile_id: u64,
    /// Within the section of the tiles or of the directories.
    pub(super) offset: u64,
    /// Bytes; 0 is an empty tile.
    pub(super) length: u32,
    /// Tiles; 0 where the entry is of a directory.
    pub(super) run: u32,
}

impl Entry {
    pub(super) fn is_directory(self) -> bool {
        self.run == 0
    }

    /// The tile id after the last of the entry.
    pub(super) fn end(self) -> u64 {
        self.tile_id.saturating_add(u64::from(self.run.max(1)))
    }
}

/// A directory. Its entries ascend and do not overlap.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    entries: Vec<Entry>,
}

impl Directory {
    /// Reads a directory that is not packed; the error says what was found and what was expected.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut numbers = Numbers(bytes);
        let n_entries = numbers.next()?;
        // Each entry takes a byte for each of its four numbers, so that nothing is set aside for what cannot be there.
        if n_entries > bytes.len() as u64 / 4 {
            return Err(format!("a directory of {} bytes that claims {n_entries} entries", bytes.len()));
        }
        let mut entries = vec![Entry { tile_id: 0, offset: 0, length: 0, run: 0 }; n_entries as usize];
        let mut tile_id = 0u64;
        for entry in &mut entries {
            tile_id = tile_id.checked_add(numbers.next()?).ok_or("a directory whose tile ids overflow")?;
            entry.tile_id = tile_id;
        }
        for entry in &mut entries {
            entry.run = numbers.next_u32()?;
        }
        for entry in &mut entries {
            entry.length = numbers.next_u32()?;
        }
        let mut end = None;
        for entry in &mut entries {
            entry.offset = match (numbers.next()?, end) {
                (0, Some(end)) => end,
                (0, None) => return Err("a directory whose first entry has no offset".to_owned()),
                (offset, _) => offset - 1,
            };
            end = Some(entry.offset.checked_add(u64::from(entry.length)).ok_or("a directory whose offsets overflow")?);
        }
        if entries.windows(2).any(|pair| pair[0].end() > pair[1].tile_id) {
            return Err("a directory whose entries do not ascend".to_owned());
        }
        Ok(Self { entries })
    }

    /// The entry that a tile belongs to: its own, or the directory that would list it.
    pub(super) fn find(&self, tile_id: u64) -> Option<Entry> {
        let after = self.entries.partition_point(|entry| entry.tile_id <= tile_id);
        let entry = *self.entries.get(after.checked_sub(1)?)?;
        (entry.is_directory() || tile_id < entry.end()).then_some(entry)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Bytes that it takes in memory.
    pub(super) fn size_bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
    }
}

/// Unpacks a directory or metadata of at most `bytes_max` bytes; `what` names it in errors.
pub(super) fn unpack(bytes: Vec<u8>, packing: Packing, bytes_max: usize, what: &str) -> Result<Vec<u8>, String> {
    let unpacked = match packing {
        Packing::Plain => bytes,
        Packing::Gzip => {
            let mut unpacked = Vec::new();
            let mut packed = GzDecoder::new(bytes.as_slice()).take(bytes_max as u64 + 1);
            packed
                .read_to_end(&mut unpacked)
                .map_err(|error| format!("{what} that is no whole gzip stream: {error}"))?;
            unpacked
        }
    };
    if unpacked.len() > bytes_max {
        return Err(format!("{what} of more than {bytes_max} bytes"));
    }
    Ok(unpacked)
}

/// The numbers that are left.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Result<u64, String> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or("a directory that is cut off")?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a directory with a number of more than 64 bits".to_owned())
    }

    fn next_u32(&mut self) -> Result<u32, String> {
        let number = self.next()?;
        number.try_into().map_err(|_| format!("a directory with the length {number}, expected 32 bits"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn put(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// A directory of (tile id, run, length, offset), every offset in full.
    fn directory(entries: &[(u64, u64, u64, u64)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, entries.len() as u64);
        let mut last = 0;
        for &(tile_id, ..) in entries {
            put(&mut bytes, tile_id.wrapping_sub(last));
            last = tile_id;
        }
        for &(_, run, ..) in entries {
            put(&mut bytes, run);
        }
        for &(.., length, _) in entries {
            put(&mut bytes, length);
        }
        for &(.., offset) in entries {
            put(&mut bytes, offset.wrapping_add(1));
        }
        bytes
    }

    #[test]
    fn tiles_are_found_in_runs_gaps_and_directories() {
        let parsed = Directory::parse(&directory(&[(5, 1, 10, 0), (7, 3, 20, 10), (20, 0, 9, 0)])).unwrap();
        let found = |tile_id| parsed.find(tile_id).map(|entry| entry.tile_id);
        for (tile_id, expected) in [(4, None), (5, Some(5)), (6, None), (7, Some(7)), (9, Some(7)), (10, None)] {
            assert_eq!(found(tile_id), expected, "{tile_id}");
        }
        assert_eq!((found(19), found(20), found(u64::MAX)), (None, Some(20), Some(20)));
        assert!(Directory::parse(&directory(&[])).unwrap().find(0).is_none());
    }

    #[test]
    fn an_entry_without_length_is_kept_and_costs_no_neighbour() {
        let parsed = Directory::parse(&directory(&[(5, 1, 0, 0), (6, 1, 20, 0)])).unwrap();
        assert_eq!(parsed.find(5).unwrap().length, 0);
        assert_eq!(parsed.find(6).unwrap().length, 20);
    }

    #[test]
    fn offsets_may_follow_on() {
        let parsed = Directory::parse(&[2, 5, 1, 1, 1, 10, 20, 1, 0]).unwrap();
        assert_eq!(parsed.find(6).unwrap(), Entry { tile_id: 6, offset: 10, length: 20, run: 1 });
    }

    #[test]
    fn lies_are_named() {
        let check = |bytes: &[u8], expected: &str| {
            let error = Directory::parse(bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check(&[], "cut off");
        check(&[1, 5, 1], "claims 1 entries");
        check(&[1, 5, 1, 10], "cut off");
        check(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 1, 1], "claims");
        check(&[0xFF; 12], "more than 64 bits");
        check(&[1, 5, 1, 10, 0], "no offset");
        check(&directory(&[(u64::MAX, 1, 1, 0), (3, 1, 1, 0)]), "overflow");
        check(&directory(&[(1, 1, 9, u64::MAX - 5)]), "offsets overflow");
        check(&directory(&[(1, 1 << 32, 1, 0)]), "expected 32 bits");
        check(&directory(&[(1, 2, 1, 0), (2, 1, 1, 0)]), "do not ascend");
        check(&directory(&[(2, 0, 1, 0), (2, 0, 1, 0)]), "do not ascend");
    }

    #[test]
    fn what_inflates_without_end_is_left_at_the_limit() {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        let unpacked = |bytes: &[u8], packing, max| unpack(bytes.to_vec(), packing, max, "a directory");
        assert!(unpacked(&bomb, Packing::Gzip, 1 << 20).is_ok());
        assert!(unpacked(&bomb, Packing::Gzip, (1 << 20) - 1).unwrap_err().contains("more than 1048575 bytes"));
        assert!(unpacked(&bomb[..9], Packing::Gzip, 1 << 20).unwrap_err().contains("no whole gzip stream"));
        assert!(unpacked(b"abc", Packing::Plain, 2).unwrap_err().contains("more than 2 bytes"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(directory) = Directory::parse(&bytes) {
                prop_assert!(directory.entries().len() <= bytes.len() / 4);
            }
        }

        #[test]
        fn every_listed_tile_is_found_and_no_other(
            gaps in proptest::collection::vec((0u64..5, 1u64..4, 0u64..1_000, 0u64..1 << 40), 1..40),
        ) {
            let mut next = 0;
            let entries: Vec<_> = gaps.into_iter().map(|(gap, run, length, offset)| {
                let tile_id = next + gap;
                next = tile_id + run;
                (tile_id, run, length, offset)
            }).collect();
            let parsed = Directory::parse(&directory(&entries)).unwrap();
            for tile_id in 0..next + 3 {
                let expected = entries.iter().find(|&&(first, run, ..)| (first..first + run).contains(&tile_id));
                let found = parsed.find(tile_id).map(|entry| (entry.tile_id, entry.offset, u64::from(entry.length)));
                prop_assert_eq!(found, expected.map(|&(first, _, length, offset)| (first, offset, length)));
            }
        }
    }
}
