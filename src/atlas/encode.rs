//! Encoding: from a region to a PNG in strips.
//!
//! Writes filter none, a palette when 255 colours suffice (index 0 is air), RGBA otherwise, and ends the deflate blocks
//! and the IDAT at every 64th row. One strip of pixels exists at a time. The same region gives the same bytes on every
//! machine: the palette is sorted by colour, whatever the order in the region.

use flate2::{Compress, Compression, FlushCompress};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::atlas::band::BandFormat;
use crate::atlas::block::block_from_rows;
use crate::atlas::chunks::{SIGNATURE, write_chunk};
use crate::atlas::ids::FeatureIds;
use crate::atlas::ids_chunk::{FEATURE_IDS, FeatureIdsChunk};
use crate::atlas::lineage::{LINEAGE, Lineage, LineageChunk};
use crate::atlas::metadata::{
    AtlasMetadata, IDAT_CRC, METADATA, MetadataChunk, OCCUPANCY, OccupancyChunk, crc_of_crcs, deflate_into,
};
use crate::atlas::morton::voxel_from_texel;
use crate::atlas::pixels::Indexed;
use crate::limits::{ATLAS_PIXELS, BRICK_PIXELS, N_STRIPS, PALETTE_COLOURS_MAX};
use crate::voxel::{BrickColours, Colour, ColourDepth, Region};

/// The deflate level. Over Tokyo's regions level 5 makes files 1 % larger in two thirds of the time, level 8 makes them
/// 7 % smaller in 2.6 times the time: files are written once and fetched often, but a city must be encoded in minutes.
const LEVEL: u32 = 6;

/// What an atlas file may hold beside its pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeOptions<'a> {
    /// Writes the `vxOC` chunk: a reader of half a file has the geometry before the colours.
    pub with_occupancy: bool,
    /// Writes the `vxPY` chunk: what a coarse region was made of.
    pub lineage: Option<Lineage>,
    /// Writes the `vxID` chunk: the features of this region's occupied voxels.
    pub ids: Option<&'a FeatureIds>,
}

/// Encodes a region as an atlas file, with no chunk that is optional.
pub fn encode(region: &Region, metadata: &AtlasMetadata) -> Vec<u8> {
    encode_with(region, metadata, EncodeOptions::default())
}

/// Encodes a region as an atlas file.
pub fn encode_with(region: &Region, metadata: &AtlasMetadata, options: EncodeOptions<'_>) -> Vec<u8> {
    let texels = Texels::of(region);
    let mut file = SIGNATURE.to_vec();
    let mut header = [0; 13];
    header[..4].copy_from_slice(&ATLAS_PIXELS.to_be_bytes());
    header[4..8].copy_from_slice(&ATLAS_PIXELS.to_be_bytes());
    header[8..10].copy_from_slice(&[8, texels.colour_type()]);
    write_chunk(&mut file, *b"IHDR", &header);
    if let Texels::Indexed { palette, .. } = &texels {
        write_chunk(&mut file, *b"PLTE", palette.as_flattened());
        write_chunk(&mut file, *b"tRNS", &[0]);
    }
    let mut bound_to_pixels = vec![file.len()];
    write_chunk(&mut file, METADATA, &MetadataChunk::to_chunk_data(metadata));
    if options.with_occupancy {
        bound_to_pixels.push(file.len());
        write_chunk(&mut file, OCCUPANCY, &OccupancyChunk::to_chunk_data(&region.occupancy));
    }
    if let Some(lineage) = &options.lineage {
        bound_to_pixels.push(file.len());
        write_chunk(&mut file, LINEAGE, &LineageChunk::to_chunk_data(lineage));
    }
    if let Some(ids) = options.ids {
        debug_assert_eq!(ids.check(&region.occupancy), Ok(()), "features of another region");
        bound_to_pixels.push(file.len());
        write_chunk(&mut file, FEATURE_IDS, &FeatureIdsChunk::to_chunk_data(ids));
    }
    let crcs = write_strips(&mut file, region, &texels);
    write_chunk(&mut file, *b"IEND", &[]);
    for at_byte in bound_to_pixels {
        bind_to_pixels(&mut file[at_byte..], crc_of_crcs(crcs.into_iter()));
    }
    file
}

/// Writes the 64 IDATs and yields their CRCs.
fn write_strips(file: &mut Vec<u8>, region: &Region, texels: &Texels) -> [u32; N_STRIPS] {
    let format = texels.format();
    let mut deflater = Compress::new(Compression::new(LEVEL), true);
    let mut band = vec![0; format.strip_bytes()];
    let mut idat = Vec::new();
    std::array::from_fn(|strip_idx| {
        band.fill(0);
        fill_band(&mut band, format.row_bytes(), region, strip_idx as u32, texels);
        idat.clear();
        deflate_into(&mut deflater, &band, &mut idat, FlushCompress::Full);
        if strip_idx == N_STRIPS - 1 {
            deflate_into(&mut deflater, &[], &mut idat, FlushCompress::Finish);
        }
        write_chunk(file, *b"IDAT", &idat)
    })
}

/// Writes the occupied texels of a strip over zeros.
fn fill_band(band: &mut [u8], row_bytes: usize, region: &Region, strip_idx: u32, texels: &Texels) {
    let pixel_bytes = texels.pixel_bytes();
    for block in 0..ATLAS_PIXELS / BRICK_PIXELS {
        let [bx, by, bz] = voxel_from_texel(block, strip_idx);
        let rows = region.occupancy.brick_rows(bx, by, bz);
        if rows == [0; 256] {
            continue;
        }
        let colours = region.colours.brick(bx, by, bz);
        for (v, mut occupied) in block_from_rows(&rows).into_iter().enumerate() {
            let start = v * row_bytes + 1 + (block * BRICK_PIXELS) as usize * pixel_bytes;
            while occupied != 0 {
                let u = occupied.trailing_zeros() as usize;
                let entry = match colours {
                    BrickColours::Air => 0,
                    BrickColours::Uniform(entry) => entry,
                    BrickColours::Page(page) => region.colours.page_entry(page, v * BRICK_PIXELS as usize + u),
                };
                texels.write(entry, &mut band[start + u * pixel_bytes..][..pixel_bytes]);
                occupied &= occupied - 1;
            }
        }
    }
}

/// Writes the checksum of the pixels' checksums into a chunk that was written before them, and the chunk's own.
fn bind_to_pixels(from_chunk: &mut [u8], idat_crc: u32) {
    let length = from_chunk.first_chunk().map_or(0, |&bytes| u32::from_be_bytes(bytes)) as usize;
    let (body, after) = from_chunk[4..].split_at_mut(4 + length);
    body[4..][IDAT_CRC].copy_from_slice(&idat_crc.to_be_bytes());
    after[..4].copy_from_slice(&crc32fast::hash(body).to_be_bytes());
}

/// How a region's entries become texels.
enum Texels {
    /// Palette indices, by the region's entry.
    Indexed {
        /// Air, then the colours in ascending order.
        palette: Vec<Colour>,
        /// The index of each entry that occurs.
        index_of_entry: IndexOfEntry,
    },
    /// Four bytes a texel.
    Rgba(ColourDepth),
}

/// Small entries by table, colours by hash.
enum IndexOfEntry {
    Table(Box<[u8; 256]>),
    Map(FxHashMap<u32, u8>),
}

impl Texels {
    /// Indices where the occupied voxels have at most 255 colours.
    fn of(region: &Region) -> Self {
        let depth = region.colours.depth();
        let Some(entries) = used_entries(region) else { return Self::Rgba(depth.clone()) };
        let mut colours: Vec<Colour> = entries.iter().map(|&entry| depth.colour(entry)).collect();
        colours.sort_unstable();
        colours.dedup();
        if colours.len() > PALETTE_COLOURS_MAX {
            return Self::Rgba(depth.clone());
        }
        let index_of = |entry| 1 + colours.partition_point(|&colour| colour < depth.colour(entry)) as u8;
        let index_of_entry = match depth {
            ColourDepth::Indexed(_) => {
                let mut table = Box::new([0; 256]);
                for &entry in &entries {
                    table[entry as usize] = index_of(entry);
                }
                IndexOfEntry::Table(table)
            }
            ColourDepth::Direct => IndexOfEntry::Map(entries.iter().map(|&entry| (entry, index_of(entry))).collect()),
        };
        let palette = std::iter::once([0; 3]).chain(colours).collect();
        Self::Indexed { palette, index_of_entry }
    }

    /// PNG's number for the kind of pixel.
    fn colour_type(&self) -> u8 {
        match self {
            Self::Indexed { .. } => 3,
            Self::Rgba(_) => 6,
        }
    }

    fn format(&self) -> BandFormat {
        match self {
            Self::Indexed { .. } => BandFormat::Indexed(Indexed::ZeroIsAir),
            Self::Rgba(_) => BandFormat::Rgba,
        }
    }

    fn pixel_bytes(&self) -> usize {
        match self {
            Self::Indexed { .. } => 1,
            Self::Rgba(_) => 4,
        }
    }

    /// Writes an occupied texel.
    fn write(&self, entry: u32, texel: &mut [u8]) {
        match self {
            Self::Indexed { index_of_entry: IndexOfEntry::Table(table), .. } => texel[0] = table[entry as usize],
            Self::Indexed { index_of_entry: IndexOfEntry::Map(map), .. } => texel[0] = map[&entry],
            Self::Rgba(depth) => {
                let [r, g, b] = depth.colour(entry);
                texel.copy_from_slice(&[r, g, b, 255]);
            }
        }
    }
}

/// The entries of the occupied voxels, ascending; `None` as soon as they are more than an image of 8 bits can index.
fn used_entries(region: &Region) -> Option<Vec<u32>> {
    let mut used = FxHashSet::default();
    let mut latest = None;
    for [bx, by, bz] in region.occupancy.brick_mask().iter() {
        let mut add = |entry: u32| {
            // Neighbours mostly share a colour.
            if latest.replace(entry) != Some(entry) {
                used.insert(entry);
            }
        };
        match region.colours.brick(bx, by, bz) {
            BrickColours::Air => add(0),
            BrickColours::Uniform(entry) => add(entry),
            BrickColours::Page(page) => {
                for (v, mut occupied) in
                    block_from_rows(&region.occupancy.brick_rows(bx, by, bz)).into_iter().enumerate()
                {
                    while occupied != 0 {
                        add(region.colours.page_entry(page, v * 64 + occupied.trailing_zeros() as usize));
                        occupied &= occupied - 1;
                    }
                }
            }
        }
        if used.len() > 256 {
            return None;
        }
    }
    let mut entries: Vec<u32> = used.into_iter().collect();
    entries.sort_unstable();
    Some(entries)
}
