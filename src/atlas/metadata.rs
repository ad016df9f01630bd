//! What an atlas file says of itself: the `vxMD` and `vxOC` chunks.
//!
//! ```text
//! vxMD   version u8 = 1 | CRC-32 of the IDATs' CRCs u32 | strip rows u16 = 64 | zoom u8 | x u32 | y u32
//!        | layer i32 | base i32 | voxel size f64, metres | clipped u64 | credit, UTF-8 to the chunk's end
//! vxOC   version u8 = 1 | CRC-32 of the IDATs' CRCs u32 | zlib stream of the occupancy, 2 MiB      (all big-endian)
//! ```
//!
//! Both are ancillary, private and unsafe to copy, so that an editor that changes pixels drops them. A version that is
//! not known makes the chunk unknown, and unknown chunks are ignored.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::atlas::chunks::{Chunk, Chunks, SIGNATURE};
use crate::geo::{RegionKey, TileCoord};
use crate::limits::{REGION_VOLUME, REGION_VOXELS, STRIP_ROWS};
use crate::voxel::Occupancy;

/// The name of the metadata chunk.
pub(crate) const METADATA: [u8; 4] = *b"vxMD";

/// The name of the occupancy chunk.
pub(crate) const OCCUPANCY: [u8; 4] = *b"vxOC";

/// The version of the chunks.
const VERSION: u8 = 1;

/// What the chunks begin with: the version, and room for the CRC over the IDATs' CRCs, which is known last.
pub(crate) const HEAD: [u8; 5] = [VERSION, 0, 0, 0, 0];

/// Where that CRC stands in the data of the chunks.
pub(crate) const IDAT_CRC: std::ops::Range<usize> = 1..5;

/// What an atlas file says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AtlasMetadata {
    /// The region that the file holds.
    pub key: RegionKey,
    /// World y of the floor of layer 0, in z17 voxels above the tileset's datum.
    pub base: i32,
    /// Edge of a voxel, in metres.
    pub voxel_size_m: f64,
    /// Voxels that lay outside every layer and were left out.
    pub clipped: u64,
    /// Who is to be credited; empty where nobody asked for it.
    pub credit: String,
}

/// The `vxMD` chunk.
#[derive(Debug)]
pub(crate) struct MetadataChunk {
    /// What it says of the region.
    pub(crate) metadata: AtlasMetadata,
    /// Rows of a strip; zero where the file is not in strips.
    pub(crate) strip_rows: u16,
    /// The CRC-32 of the IDATs' CRCs of the pixels that it was written for.
    pub(crate) idat_crc: u32,
}

impl MetadataChunk {
    /// The data of the chunk of a file in strips, the CRC of the pixels' CRCs still zero.
    pub(crate) fn to_chunk_data(metadata: &AtlasMetadata) -> Vec<u8> {
        let AtlasMetadata { key, base, voxel_size_m, clipped, credit } = metadata;
        let mut data = HEAD.to_vec();
        data.extend_from_slice(&(STRIP_ROWS as u16).to_be_bytes());
        data.push(key.tile.zoom());
        data.extend_from_slice(&key.tile.x().to_be_bytes());
        data.extend_from_slice(&key.tile.y().to_be_bytes());
        data.extend_from_slice(&key.layer.to_be_bytes());
        data.extend_from_slice(&base.to_be_bytes());
        data.extend_from_slice(&voxel_size_m.to_be_bytes());
        data.extend_from_slice(&clipped.to_be_bytes());
        data.extend_from_slice(credit.as_bytes());
        data
    }

    /// Reads the chunk; what speaks against it, in words.
    pub(crate) fn from_chunk(chunk: &Chunk<'_>) -> Result<Self, String> {
        let (idat_crc, mut fields) = Fields::after_head(chunk)?;
        let strip_rows = u16::from_be_bytes(fields.take()?);
        let [zoom] = fields.take()?;
        let (x, y) = (u32::from_be_bytes(fields.take()?), u32::from_be_bytes(fields.take()?));
        let tile = TileCoord::new(zoom, x, y).map_err(|error| error.to_string())?;
        let metadata = AtlasMetadata {
            key: RegionKey::new(tile, i32::from_be_bytes(fields.take()?)),
            base: i32::from_be_bytes(fields.take()?),
            voxel_size_m: f64::from_be_bytes(fields.take()?),
            clipped: u64::from_be_bytes(fields.take()?),
            credit: String::from_utf8(fields.0.to_vec()).map_err(|_| "the credit is not UTF-8".to_owned())?,
        };
        Ok(Self { metadata, strip_rows, idat_crc })
    }
}

/// Big-endian fields, one after the other.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The CRC of the pixels' CRCs and the fields after it, of a sound chunk of a version that is known.
    pub(crate) fn after_head(chunk: &Chunk<'a>) -> Result<(u32, Self), String> {
        chunk.check_crc().map_err(|error| error.to_string())?;
        let mut fields = Self(chunk.data);
        let [version] = fields.take()?;
        if version != VERSION {
            return Err(format!("it has version {version}: this reader knows {VERSION}"));
        }
        Ok((u32::from_be_bytes(fields.take()?), fields))
    }

    /// The next field.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (field, rest) = self.0.split_first_chunk().ok_or("it is too short")?;
        self.0 = rest;
        Ok(*field)
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// The voxels that the first bytes of a file promise: those of its `vxOC` chunk, as soon as that has arrived whole.
///
/// They are good for a first picture and no more. The pixels, once decoded, are right where the two differ.
pub fn occupancy_ahead(first_bytes: &[u8]) -> Option<Occupancy> {
    let is_png = first_bytes.starts_with(&SIGNATURE);
    let chunk = is_png.then(|| Chunks::new(first_bytes))?.flatten().find(|chunk| chunk.name == OCCUPANCY)?;
    Some(OccupancyChunk::from_chunk(&chunk).ok()?.occupancy)
}

/// The occupancy of a `vxOC` chunk.
#[derive(Debug)]
pub(crate) struct OccupancyChunk {
    /// The voxels that it claims.
    pub(crate) occupancy: Occupancy,
    /// The CRC-32 of the IDATs' CRCs of the pixels that it was made for.
    pub(crate) idat_crc: u32,
}

impl OccupancyChunk {
    /// Reads the data of a `vxOC` chunk; what speaks against it, in words.
    pub(crate) fn from_chunk(chunk: &Chunk<'_>) -> Result<Self, String> {
        let (idat_crc, fields) = Fields::after_head(chunk)?;
        // One byte more than it may hold shows a stream that is too long.
        let mut bytes = vec![0; REGION_VOLUME / 8 + 1];
        let mut inflater = Decompress::new(true);
        let status = inflater.decompress(fields.0, &mut bytes, FlushDecompress::Finish);
        if !matches!(status, Ok(Status::StreamEnd)) || inflater.total_out() != REGION_VOLUME as u64 / 8 {
            return Err(format!("it inflates to {} bytes: expected {}", inflater.total_out(), REGION_VOLUME / 8));
        }
        let mut occupancy = Occupancy::empty();
        for (row, bytes) in occupancy.rows_mut().iter_mut().zip(bytes.chunks_exact(REGION_VOXELS as usize / 8)) {
            for (word, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        Ok(Self { occupancy, idat_crc })
    }

    /// The data of the `vxOC` chunk, the CRC of the pixels' CRCs still zero: it is known last.
    pub(crate) fn to_chunk_data(occupancy: &Occupancy) -> Vec<u8> {
        let mut data = HEAD.to_vec();
        let mut deflater = Compress::new(Compression::new(9), true);
        for plane in occupancy.rows().chunks(REGION_VOXELS as usize) {
            let bytes: Vec<u8> = plane.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            deflate_into(&mut deflater, &bytes, &mut data, FlushCompress::None);
        }
        deflate_into(&mut deflater, &[], &mut data, FlushCompress::Finish);
        data
    }
}

/// Compresses all of `input` behind `output`, and as much of the state as `flush` says.
pub(crate) fn deflate_into(deflater: &mut Compress, input: &[u8], output: &mut Vec<u8>, flush: FlushCompress) {
    /// Room for one call.
    const ROOM_BYTES: usize = 64 << 10;
    let before = deflater.total_in();
    loop {
        output.reserve(ROOM_BYTES);
        let consumed = (deflater.total_in() - before) as usize;
        let status = deflater.compress_vec(&input[consumed..], output, flush);
        assert!(status.is_ok(), "deflating from memory into memory cannot fail: {status:?}");
        // Where room is left, all input was taken and the flush is complete.
        if output.len() < output.capacity() {
            return;
        }
    }
}

/// The CRC-32 over the IDATs' CRCs, big-endian, in the order of the file: what binds our chunks to
/// their pixels.
pub(crate) fn crc_of_crcs(crcs: impl Iterator<Item = u32>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for crc in crcs {
        hasher.update(&crc.to_be_bytes());
    }
    hasher.finalize()
}
