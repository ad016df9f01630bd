//! What a coarse atlas was made of: the `vxPY` chunk.
//!
//! ```text
//! vxPY   version u8 = 1 | CRC-32 of the IDATs' CRCs u32 | rules u8 | 8 x (size of the child's file u32, its CRC-32 u32)
//! ```
//!
//! It tells whether a coarse file is still that of its children, without a second file that could be lost. Like the
//! other chunks of ours it is bound to the pixels, and ignored where it is not sound.

use crate::atlas::chunks::{Chunk, Chunks, SIGNATURE};
use crate::atlas::metadata::{Fields, HEAD, crc_of_crcs};

/// The name of the chunk.
pub(crate) const LINEAGE: [u8; 4] = *b"vxPY";

/// What a coarse atlas was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lineage {
    /// The rules by which it was made (see [`PYRAMID_RULES`](crate::voxel::PYRAMID_RULES)).
    pub rules: u8,
    /// The children's files by octant; `None` where there was none, or none that could be read.
    pub children: [Option<FileMark>; 8],
}

/// What tells one file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    /// Its size, in bytes; never 0.
    pub size_bytes: u32,
    /// The CRC-32 of all its bytes.
    pub crc: u32,
}

impl FileMark {
    /// The mark of a file; an empty one has none.
    pub fn of(file: &[u8]) -> Option<Self> {
        let size_bytes = u32::try_from(file.len()).ok().filter(|&size_bytes| size_bytes > 0)?;
        Some(Self { size_bytes, crc: crc32fast::hash(file) })
    }
}

impl Lineage {
    /// What a file says that it was made of, as long as it is the file that was written: it ends where it should, and
    /// all its checksums are right. `None` for every other file.
    pub fn of_file(file: &[u8]) -> Option<Self> {
        let mut chunks = file.starts_with(&SIGNATURE).then(|| Chunks::new(file))?;
        let (mut lineage, mut idat_crcs) = (None, Vec::new());
        for chunk in &mut chunks {
            let chunk = chunk.ok()?;
            chunk.check_crc().ok()?;
            match &chunk.name {
                &LINEAGE => lineage = LineageChunk::from_chunk(&chunk).ok(),
                b"IDAT" => idat_crcs.push(chunk.crc),
                _ => {}
            }
        }
        let is_whole = chunks.has_ended() && chunks.at_byte() == file.len();
        lineage
            .filter(|chunk| is_whole && chunk.idat_crc == crc_of_crcs(idat_crcs.into_iter()))
            .map(|chunk| chunk.lineage)
    }
}

/// The `vxPY` chunk.
#[derive(Debug)]
pub(crate) struct LineageChunk {
    /// What it says.
    pub(crate) lineage: Lineage,
    /// The CRC-32 of the IDATs' CRCs of the pixels that it was written for.
    pub(crate) idat_crc: u32,
}

impl LineageChunk {
    /// The data of the chunk, the CRC of the pixels' CRCs still zero.
    pub(crate) fn to_chunk_data(lineage: &Lineage) -> Vec<u8> {
        let mut data = HEAD.to_vec();
        data.push(lineage.rules);
        for child in lineage.children {
            let [size_bytes, crc] = child.map_or([0; 2], |FileMark { size_bytes, crc }| [size_bytes, crc]);
            data.extend_from_slice(&size_bytes.to_be_bytes());
            data.extend_from_slice(&crc.to_be_bytes());
        }
        data
    }

    /// Reads the chunk; what speaks against it, in words.
    pub(crate) fn from_chunk(chunk: &Chunk<'_>) -> Result<Self, String> {
        let (idat_crc, mut fields) = Fields::after_head(chunk)?;
        let [rules] = fields.take()?;
        let mut children = [None; 8];
        for child in &mut children {
            let (size_bytes, crc) = (u32::from_be_bytes(fields.take()?), u32::from_be_bytes(fields.take()?));
            *child = (size_bytes > 0).then_some(FileMark { size_bytes, crc });
        }
        Ok(Self { lineage: Lineage { rules, children }, idat_crc })
    }
}
