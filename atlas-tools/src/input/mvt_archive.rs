//! A PMTiles archive of vector tiles.
//!
//! Owns the listing of its tiles, and the reading of one when it is asked for. Yields features, as the folder of vector
//! tiles beside it does; of several zooms, the deepest is the data. It does not read tilesets of atlases, which the
//! library does, with its caches and servers; this reads a file on this machine.
//!
//! ```text
//! header of 127 bytes | root directory | metadata | leaf directories | tiles
//! directory: number of entries n; n steps of tile ids; n run lengths (0: a directory); n lengths; n offsets + 1 (0: behind)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use pmtiles::{PYRAMID_SIZE_BY_ZOOM, TileId};
use voxatlas::geo::TileCoord;

use super::mvt::TILE_BYTES_MAX;
use super::protobuf::Message;
use super::{ByteRanges, Feature, Input, InputError, LayerSelection, MvtError, SOURCE_ZOOMS, decode_mvt};

const HEADER_BYTES: usize = 127;

/// All directories together, inflated: a tile takes some five bytes, so that this is a planet at zoom 14.
const DIRECTORIES_BYTES_MAX: u64 = 1 << 30;

/// Directories lie at most so deep.
const DEPTH_MAX: usize = 4;

/// Tiles of an archive that are listed: eight times those of Japan at zoom 16, and a bound for runs that claim billions.
const TILES_MAX: u64 = 1 << 25;

/// An archive of vector tiles.
#[derive(Debug)]
pub struct MvtArchive {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    zoom: u8,
    /// Its directories.
    root: Place,
    leaves: Place,
    /// Where each tile lies, by row and column.
    tiles: BTreeMap<(u32, u32), Place>,
    selection: LayerSelection,
}

/// Bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: u64,
    length: u64,
}

impl Place {
    fn range(self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.length)
    }
}

/// Tiles of one content, or a directory further down.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tile_id: u64,
    run: u64,
    offset: u64,
    length: u64,
}

/// What the header says.
struct Header {
    root: Place,
    leaves: Place,
    data: Place,
    is_packed: bool,
}

impl MvtArchive {
    /// Lists the tiles of an archive; `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no archive of vector tiles, or holds none of a zoom in [`SOURCE_ZOOMS`].
    pub fn open(path: &Path, input: u32, selection: LayerSelection) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let malformed = |what: String| InputError::Malformed { path: path.to_owned(), what };
        let mut file = File::open(path).map_err(io)?;
        let n_bytes = file.metadata().map_err(io)?.len();
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact(&mut bytes)
            .map_err(|_| malformed("shorter than the header of a PMTiles archive".to_owned()))?;
        let header = Header::parse(&bytes).map_err(malformed)?;
        let Header { root, leaves, data, .. } = header;
        let mut lister = Lister { file, n_bytes, header, bytes_left: DIRECTORIES_BYTES_MAX, entries: Vec::new() };
        lister.list(root, 0).map_err(malformed)?;
        let entries = lister.entries;
        let mut found = Vec::new();
        for zoom in (0..=TileCoord::ZOOM_MAX).rev() {
            if !entries.iter().any(|entry| entry.tiles_of(zoom).is_some()) {
                continue;
            }
            if SOURCE_ZOOMS.contains(&zoom) {
                let tiles = tiles_of(&entries, zoom, data).map_err(malformed)?;
                return Ok(Self { path: path.to_owned(), input, zoom, root, leaves, tiles, selection });
            }
            found.push(zoom);
        }
        Err(InputError::NoTiles { path: path.to_owned(), zooms: found })
    }

    fn tile_at(&self, (y, x): (u32, u32)) -> Option<TileCoord> {
        TileCoord::new(self.zoom, x, y).ok()
    }
}

impl Input for MvtArchive {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn zoom(&self) -> u8 {
        self.zoom
    }

    fn tiles(&self) -> Vec<TileCoord> {
        self.tiles.keys().filter_map(|&place| self.tile_at(place)).collect()
    }

    fn row(&self, y: u32) -> Vec<TileCoord> {
        self.tiles.range((y, 0)..=(y, u32::MAX)).filter_map(|(&place, _)| self.tile_at(place)).collect()
    }

    fn bytes(&self, tiles: &BTreeSet<TileCoord>) -> Option<ByteRanges> {
        let places = tiles.iter().filter(|tile| tile.zoom() == self.zoom).filter_map(|tile| {
            let place = self.tiles.get(&(tile.y(), tile.x()))?;
            Some(place.range())
        });
        let heads = [Place { offset: 0, length: HEADER_BYTES as u64 }, self.root, self.leaves].map(Place::range);
        Some(heads.into_iter().chain(places).collect())
    }

    fn read(&self, tile: TileCoord) -> Result<Vec<Feature>, InputError> {
        let place = self.tiles.get(&(tile.y(), tile.x())).filter(|_| tile.zoom() == self.zoom);
        let Some(&place) = place else { return Ok(Vec::new()) };
        let mvt = |error| InputError::Mvt { path: self.path.join(tile.to_string()), error };
        if place.length > TILE_BYTES_MAX as u64 {
            return Err(mvt(MvtError::TooLarge));
        }
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(place.offset)).map_err(io)?;
        let mut bytes = Vec::new();
        file.take(place.length).read_to_end(&mut bytes).map_err(io)?;
        if (bytes.len() as u64) < place.length {
            let what = format!("tile {tile} lies beyond the end: the archive is cut off");
            return Err(InputError::Malformed { path: self.path.clone(), what });
        }
        decode_mvt(&bytes, self.input, tile, &self.selection).map_err(mvt)
    }
}

impl Header {
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, String> {
        if !bytes.starts_with(b"PMTiles\x03") {
            return Err("no PMTiles archive of version 3: expected a file that begins with \"PMTiles\\x03\"".to_owned());
        }
        let number =
            |at: usize| bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map_or(0, u64::from_le_bytes);
        let place = |at: usize| Place { offset: number(at), length: number(at + 8) };
        let [internal, of_tiles, kind] = [bytes[97], bytes[98], bytes[99]];
        if kind != 1 {
            let kinds = ["unknown", "MVT", "PNG", "JPEG", "WebP", "AVIF"];
            let found = kinds.get(usize::from(kind)).unwrap_or(&"unknown");
            return Err(format!("an archive of {found} tiles: expected vector tiles (MVT)"));
        }
        if !matches!(internal, 1 | 2) || !matches!(of_tiles, 0..=2) {
            return Err("packed with Brotli or Zstandard: expected gzip or nothing".to_owned());
        }
        Ok(Self { root: place(8), leaves: place(40), data: place(56), is_packed: internal == 2 })
    }
}

impl Entry {
    /// The tile ids of a zoom that it covers.
    fn tiles_of(&self, zoom: u8) -> Option<std::ops::Range<u64>> {
        let first = *PYRAMID_SIZE_BY_ZOOM.get(usize::from(zoom))?;
        let begin = self.tile_id.max(first);
        let end = self.tile_id.saturating_add(self.run).min(first + (1 << (2 * zoom)));
        (begin < end).then_some(begin..end)
    }
}

/// Walks over the directories of an archive.
struct Lister {
    file: File,
    n_bytes: u64,
    header: Header,
    /// Bytes that directories may still have: they may lie within each other.
    bytes_left: u64,
    entries: Vec<Entry>,
}

impl Lister {
    /// Appends the entries of a directory, and of those below it, in the order of their tiles.
    fn list(&mut self, place: Place, depth: usize) -> Result<(), String> {
        for entry in directory(&self.load(place)?).map_err(|error| format!("a directory is malformed: {error}"))? {
            if entry.run > 0 {
                self.entries.push(entry);
            } else if depth + 1 < DEPTH_MAX {
                let offset = self.header.leaves.offset.saturating_add(entry.offset);
                self.list(Place { offset, length: entry.length }, depth + 1)?;
            } else {
                return Err(format!("directories lie more than {DEPTH_MAX} deep"));
            }
        }
        Ok(())
    }

    /// The bytes of a directory, no longer packed.
    fn load(&mut self, place: Place) -> Result<Vec<u8>, String> {
        if place.offset.checked_add(place.length).is_none_or(|end| end > self.n_bytes) {
            return Err("a directory lies beyond the end: the archive is cut off".to_owned());
        }
        self.file.seek(SeekFrom::Start(place.offset)).map_err(|error| error.to_string())?;
        let mut stored = (&self.file).take(place.length);
        let mut bytes = Vec::new();
        let limit = self.bytes_left.saturating_add(1);
        let read = if self.header.is_packed {
            GzDecoder::new(stored).take(limit).read_to_end(&mut bytes)
        } else {
            stored.by_ref().take(limit).read_to_end(&mut bytes)
        };
        read.map_err(|error| format!("a directory does not inflate: {error}"))?;
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| format!("its directories have more than {DIRECTORIES_BYTES_MAX} bytes"))?;
        Ok(bytes)
    }
}

fn directory(bytes: &[u8]) -> Result<Vec<Entry>, MvtError> {
    let mut numbers = Message::new(bytes);
    let mut next =
        || -> Result<u64, MvtError> { numbers.next_packed()?.ok_or(MvtError::Truncated { wanted: 1, left: 0 }) };
    let n_entries = next()?;
    // An entry takes four numbers of at least a byte each.
    if n_entries > bytes.len() as u64 / 4 {
        return Err(MvtError::Truncated { wanted: usize::MAX, left: bytes.len() });
    }
    let mut entries = vec![Entry { tile_id: 0, run: 0, offset: 0, length: 0 }; n_entries as usize];
    let mut tile_id = 0_u64;
    for entry in &mut entries {
        tile_id = tile_id.saturating_add(next()?);
        entry.tile_id = tile_id;
    }
    for entry in &mut entries {
        entry.run = next()?;
    }
    for entry in &mut entries {
        entry.length = next()?;
    }
    let mut behind = 0_u64;
    for entry in &mut entries {
        entry.offset = next()?.checked_sub(1).unwrap_or(behind);
        behind = entry.offset.saturating_add(entry.length);
    }
    Ok(entries)
}

/// Where the tiles of a zoom lie. Empty tiles are none.
fn tiles_of(entries: &[Entry], zoom: u8, data: Place) -> Result<BTreeMap<(u32, u32), Place>, String> {
    let runs =
        || entries.iter().filter(|entry| entry.length > 0).filter_map(|entry| Some((entry, entry.tiles_of(zoom)?)));
    let n_tiles = runs().fold(0_u64, |sum, (_, ids)| sum.saturating_add(ids.end - ids.start));
    if n_tiles > TILES_MAX {
        return Err(format!(
            "{n_tiles} tiles of zoom {zoom}: expected at most {TILES_MAX}; cut out the part that is needed"
        ));
    }
    let mut tiles = BTreeMap::new();
    for (entry, ids) in runs() {
        let place = Place { offset: data.offset.saturating_add(entry.offset), length: entry.length };
        for id in ids {
            let Ok(id) = TileId::new(id) else { continue };
            let tile = pmtiles::TileCoord::from(id);
            tiles.insert((tile.y(), tile.x()), place);
        }
    }
    Ok(tiles)
}

#[cfg(test)]
#[path = "mvt_archive_tests.rs"]
mod tests;
