//! The header of an archive: what it holds, and where its sections lie.
//!
//! Receives the first bytes of a file, yields a header whose every section lies inside that file. It reads none of
//! them.

use std::ops::Range;

use bytes::Bytes;
use pmtiles::{Compression, Header, PmtError, TileType};

use crate::limits::{ARCHIVE_DIRECTORY_BYTES_MAX, ARCHIVE_HEAD_BYTES, TILESET_BYTES_MAX};

/// Bytes of the header.
const HEADER_BYTES: usize = 127;

/// The version of the format that is read.
const VERSION: u8 = 3;

/// What the tiles of an archive are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileKind {
    /// PNG images.
    Png,
    /// WebP images.
    Webp,
}

impl TileKind {
    /// The kind of a file that begins like this; `None` where it is no image of an atlas.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
        let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n");
        if is_png { Some(Self::Png) } else { is_webp.then_some(Self::Webp) }
    }

    /// The ending of a file of this kind.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }
}

/// How directories and metadata are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
}

/// The header of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchiveHead {
    /// What the tiles are.
    pub tile_kind: TileKind,
    /// The coarsest zoom.
    pub zoom_min: u8,
    /// The finest zoom.
    pub zoom_max: u8,
    /// West, south, east, north, in degrees.
    pub bounds: [f64; 4],
    /// Tiles that can be asked for; `None` where the archive does not say.
    pub n_tiles: Option<u64>,
    /// Different contents among them; `None` where the archive does not say.
    pub n_contents: Option<u64>,
    /// Whether the contents lie in the order of the tiles.
    pub is_clustered: bool,
    pub(super) packing: Packing,
    /// Within the first [`ARCHIVE_HEAD_BYTES`].
    pub(super) root: Range<usize>,
    pub(super) metadata: Range<u64>,
    pub(super) leaves: Range<u64>,
    pub(super) data: Range<u64>,
}

impl ArchiveHead {
    /// Reads and checks the header at the start of `bytes`, the first [`ARCHIVE_HEAD_BYTES`] of a file or all of a
    /// shorter one. The error says what was found and what was expected.
    pub(super) fn parse(bytes: &[u8], file_bytes: Option<u64>) -> Result<Self, String> {
        check_magic(bytes)?;
        let header = Header::try_from_bytes(Bytes::copy_from_slice(&bytes[..HEADER_BYTES])).map_err(|e| of_pmt(&e))?;
        let section = |at: usize, name: &str| section(bytes, at, name, file_bytes);
        let (root, metadata) = (section(8, "root directory")?, section(24, "metadata")?);
        let (leaves, data) = (section(40, "leaf directories")?, section(56, "tiles")?);
        let in_head = HEADER_BYTES as u64..=bytes.len().min(ARCHIVE_HEAD_BYTES) as u64;
        if root.is_empty() || !in_head.contains(&root.start) || !in_head.contains(&root.end) {
            return Err(format!("the root directory at {root:?}, expected it within {in_head:?}"));
        }
        let metadata_bytes = metadata.end - metadata.start;
        if metadata_bytes > TILESET_BYTES_MAX as u64 {
            return Err(format!("metadata of {metadata_bytes} bytes, expected at most {TILESET_BYTES_MAX}"));
        }
        Ok(Self {
            tile_kind: tile_kind(&header)?,
            zoom_min: header.min_zoom,
            zoom_max: header.max_zoom,
            bounds: [header.min_longitude, header.min_latitude, header.max_longitude, header.max_latitude],
            n_tiles: header.n_addressed_tiles().map(Into::into),
            n_contents: header.n_tile_contents().map(Into::into),
            is_clustered: header.clustered(),
            packing: match header.internal_compression() {
                Compression::None => Packing::Plain,
                Compression::Gzip => Packing::Gzip,
                other => return Err(format!("directories packed with {other:?}, expected gzip or nothing")),
            },
            root: root.start as usize..root.end as usize,
            metadata,
            leaves,
            data,
        })
    }

    /// The place in the file of `length` bytes at `offset` of the leaf directories.
    pub(super) fn leaf_at(&self, offset: u64, length: u32) -> Result<Range<u64>, String> {
        if length as usize > ARCHIVE_DIRECTORY_BYTES_MAX {
            return Err(format!("a directory of {length} bytes, expected at most {ARCHIVE_DIRECTORY_BYTES_MAX}"));
        }
        within(&self.leaves, offset, length).ok_or_else(|| {
            format!("a directory of {length} bytes at {offset}, which lies outside of {:?}", self.leaves)
        })
    }

    /// The place in the file of `length` bytes at `offset` of the tiles.
    pub(super) fn tile_at(&self, offset: u64, length: u32) -> Result<Range<u64>, String> {
        within(&self.data, offset, length)
            .ok_or_else(|| format!("a tile of {length} bytes at {offset}, which lies outside of {:?}", self.data))
    }
}

fn check_magic(bytes: &[u8]) -> Result<(), String> {
    const EXPECTED: &str = "expected a PMTiles archive of version 3";
    if bytes.is_empty() {
        return Err(format!("an empty file, {EXPECTED}"));
    }
    match bytes.strip_prefix(b"PMTiles") {
        Some([VERSION, ..]) if bytes.len() >= HEADER_BYTES => Ok(()),
        Some([VERSION, ..] | []) => Err(format!("{} bytes, expected a header of {HEADER_BYTES}", bytes.len())),
        Some([version, ..]) => Err(format!("a PMTiles archive of version {version}, {EXPECTED}")),
        None if bytes.starts_with(b"PM") => Err(format!("a PMTiles archive of another version, {EXPECTED}")),
        None => Err(format!("{}, {EXPECTED}", super::stranger(bytes))),
    }
}

/// Offset and length at `at`, as the range of the file that they mean.
fn section(bytes: &[u8], at: usize, name: &str, file_bytes: Option<u64>) -> Result<Range<u64>, String> {
    let number = |at: usize| bytes[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
    let (offset, length) = (number(at), number(at + 8));
    let end = offset.checked_add(length).ok_or_else(|| format!("{name} of {length} bytes at {offset}"))?;
    match file_bytes {
        // The offset of an empty section means nothing.
        Some(file_bytes) if end > file_bytes && length > 0 => {
            Err(format!("a file of {file_bytes} bytes, expected {end}: its {name} lie beyond its end"))
        }
        _ => Ok(offset..end),
    }
}

/// Other archives would show nothing, and nobody would know why.
fn tile_kind(header: &Header) -> Result<TileKind, String> {
    let kind = match header.tile_type {
        TileType::Png => TileKind::Png,
        TileType::Webp => TileKind::Webp,
        other => return Err(format!("tiles of type {other:?}, expected Png or Webp, the images of atlases")),
    };
    match header.tile_compression {
        Compression::None => Ok(kind),
        other => {
            Err(format!("tiles packed with {other:?}, expected images as they are: set the tile compression to none"))
        }
    }
}

fn within(section: &Range<u64>, offset: u64, length: u32) -> Option<Range<u64>> {
    let start = section.start.checked_add(offset)?;
    let end = start.checked_add(u64::from(length))?;
    (end <= section.end).then_some(start..end)
}

fn of_pmt(error: &PmtError) -> String {
    format!("a header with an {}, expected one of PMTiles version 3", error.to_string().to_lowercase())
}
