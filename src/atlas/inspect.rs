//! Looking at a file as a whole: what it is, and everything that is wrong with it.
//!
//! Where decoding stops at the first error, inspecting goes on as far as it can: it is what `inspect` and `validate`
//! print. It takes the time of decoding a file twice.

use std::collections::BTreeMap;

use crate::atlas::AtlasError;
use crate::atlas::band::BandFormat;
use crate::atlas::block::block_from_rows;
use crate::atlas::chunks::{Chunk, Chunks, ColourType, Header};
use crate::atlas::decode::{Decoder, ImageKind};
use crate::atlas::ids::FeatureIds;
use crate::atlas::ids_chunk::{FEATURE_IDS, FeatureIdsChunk};
use crate::atlas::lineage::{LINEAGE, Lineage, LineageChunk};
use crate::atlas::metadata::{AtlasMetadata, METADATA, MetadataChunk, OCCUPANCY, OccupancyChunk, crc_of_crcs};
use crate::atlas::strips::Scratch;
use crate::limits::{BRICK_VOLUME, STRIP_ROWS};
use crate::voxel::{BrickColours, ColourDepth, Region};

/// Lines of the list of chunks; a file made of more is reported and not listed on.
const LISTED_CHUNKS_MAX: usize = 1024;

/// What there is to say about a file.
#[derive(Debug, Clone, PartialEq)]
pub struct AtlasReport {
    /// Its size.
    pub size_bytes: usize,
    /// What its first bytes say; `None` where it is no image.
    pub kind: Option<ImageKind>,
    /// What its header says, if it is a PNG whose header can be read.
    pub header: Option<HeaderReport>,
    /// Its chunks in the order of the file, if it is a PNG.
    pub chunks: Vec<ChunkReport>,
    /// Why it is decoded the plain way; `None` where it is in strips.
    pub not_in_strips: Option<String>,
    /// What it says of its region.
    pub metadata: Option<AtlasMetadata>,
    /// What it says that it was made of, if it is coarse.
    pub lineage: Option<Lineage>,
    /// Whether it has a `vxOC` chunk.
    pub has_occupancy_chunk: bool,
    /// What it says of the features of its voxels, if it says something sound.
    pub features: Option<FeatureReport>,
    /// What it holds, if it can be decoded.
    pub voxels: Option<VoxelReport>,
    /// Everything that is wrong, in the order in which it was found.
    pub findings: Vec<Finding>,
}

/// What a PNG's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderReport {
    /// Width, in pixels.
    pub width: u32,
    /// Height, in pixels.
    pub height: u32,
    /// What a pixel is made of.
    pub colour_type: ColourType,
    /// Bits a sample.
    pub bit_depth: u8,
    /// Whether the rows come in Adam7 order.
    pub is_interlaced: bool,
}

/// Chunks of one name that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkReport {
    /// Their name.
    pub name: String,
    /// Where the first begins.
    pub at_byte: usize,
    /// How many there are.
    pub n_chunks: usize,
    /// Bytes of their data.
    pub data_bytes: usize,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoxelReport {
    /// Occupied voxels.
    pub occupied: u64,
    /// Bricks that hold one.
    pub bricks: u32,
    /// Colours of occupied voxels.
    pub colours: u32,
}

/// What a `vxID` chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureReport {
    /// One more than the highest number of a feature: how many the attributes file must have.
    pub n_features: u32,
    /// Voxels that belong to one.
    pub voxels: u64,
    /// Runs of voxels.
    pub runs: usize,
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// It cannot be decoded.
    #[error("{0}")]
    Undecodable(AtlasError),
    /// A chunk is unsound, but the pixels do not depend on it.
    #[error("{0}")]
    BadChunk(AtlasError),
    /// One of our chunks cannot be read and is ignored.
    #[error("the {chunk} chunk is ignored: {what}")]
    IgnoredChunk {
        /// Its name.
        chunk: String,
        /// Why.
        what: String,
    },
    /// It says that it is in strips, and is decoded the plain way all the same.
    #[error("not in strips, though it says so: {what}")]
    BrokenStrips {
        /// Why.
        what: String,
    },
    /// The `vxOC` chunk tells of other voxels than the pixels.
    #[error("the vxOC chunk does not match the pixels: {what}")]
    OccupancyMismatch {
        /// How.
        what: String,
    },
    /// The `vxID` chunk has other voxels than the pixels.
    #[error("the vxID chunk does not match the pixels: {what}")]
    FeatureMismatch {
        /// How.
        what: String,
    },
    /// Transparent texels that are not (0, 0, 0, 0): they show nothing, but files grow by them.
    #[error("{n} transparent texels are not (0, 0, 0, 0); the first is at u = {u}, v = {v}")]
    TransparentColours {
        /// How many.
        n: u64,
        /// Column of the first.
        u: u32,
        /// Row of the first.
        v: u32,
    },
    /// Palette indices beyond the palette, which are shown black.
    #[error("{n} occupied texels have a palette index of {n_colours} or more, beyond the palette")]
    BeyondPalette {
        /// How many.
        n: u64,
        /// Colours of the palette.
        n_colours: usize,
    },
    /// Bytes after the end of the image.
    #[error("{n_bytes} bytes follow the end of the image at byte {at_byte}")]
    TrailingBytes {
        /// Where they begin.
        at_byte: usize,
        /// How many.
        n_bytes: usize,
    },
    /// More chunks than are listed.
    #[error("more than {} runs of chunks: the list is cut", LISTED_CHUNKS_MAX)]
    TooManyChunks,
}

/// Looks at a file as a whole.
pub fn inspect(file: &[u8]) -> AtlasReport {
    let mut report = AtlasReport {
        size_bytes: file.len(),
        kind: ImageKind::of(file).ok(),
        header: None,
        chunks: Vec::new(),
        not_in_strips: None,
        metadata: None,
        lineage: None,
        has_occupancy_chunk: false,
        features: None,
        voxels: None,
        findings: Vec::new(),
    };
    let ours = if report.kind == Some(ImageKind::Png) { report.walk_chunks(file) } else { OurChunks::default() };
    match Decoder::new(file) {
        Ok(decoder) => {
            report.check_strips(&decoder, ours.metadata.as_ref());
            report.check_pixels(&decoder, &ours);
        }
        Err(error) => report.add_error(error),
    }
    report
}

/// What the chunk walk finds of our own.
#[derive(Default)]
struct OurChunks {
    metadata: Option<MetadataChunk>,
    lineage: Option<LineageChunk>,
    occupancy: Option<OccupancyChunk>,
    features: Option<FeatureIdsChunk>,
    idat_crcs: Vec<u32>,
}

impl AtlasReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn walk_chunks(&mut self, file: &[u8]) -> OurChunks {
        let mut ours = OurChunks::default();
        let mut chunks = Chunks::new(file);
        let mut is_first = true;
        // A file cut short is named by the decoder.
        for chunk in chunks.by_ref().flatten() {
            if std::mem::take(&mut is_first)
                && let Ok(Header { width, height, bit_depth, colour_type, is_interlaced }) = Header::from_chunk(&chunk)
            {
                self.header = Some(HeaderReport { width, height, colour_type, bit_depth, is_interlaced });
            }
            self.list(&chunk);
            match chunk.name {
                METADATA => match MetadataChunk::from_chunk(&chunk) {
                    Ok(metadata) => ours.metadata = Some(metadata),
                    Err(what) => self.ignored(METADATA, what),
                },
                LINEAGE => match LineageChunk::from_chunk(&chunk) {
                    Ok(lineage) => ours.lineage = Some(lineage),
                    Err(what) => self.ignored(LINEAGE, what),
                },
                FEATURE_IDS => match FeatureIdsChunk::from_chunk(&chunk) {
                    Ok(features) => ours.features = Some(features),
                    Err(what) => self.ignored(FEATURE_IDS, what),
                },
                OCCUPANCY => {
                    self.has_occupancy_chunk = true;
                    match OccupancyChunk::from_chunk(&chunk) {
                        Ok(occupancy) => ours.occupancy = Some(occupancy),
                        Err(what) => self.ignored(OCCUPANCY, what),
                    }
                }
                name => {
                    if name == *b"IDAT" {
                        ours.idat_crcs.push(chunk.crc);
                    }
                    if let Err(error) = chunk.check_crc() {
                        self.findings.push(Finding::BadChunk(error));
                    }
                }
            }
        }
        self.metadata = ours.metadata.as_ref().map(|chunk| chunk.metadata.clone());
        let of_pixels = crc_of_crcs(ours.idat_crcs.iter().copied());
        let made_for = |idat_crc| format!("it was made for pixels {idat_crc:08x}, these are {of_pixels:08x}");
        if let Some(LineageChunk { lineage, idat_crc }) = &ours.lineage {
            if *idat_crc == of_pixels {
                self.lineage = Some(*lineage);
            } else {
                self.ignored(LINEAGE, made_for(*idat_crc));
            }
        }
        if let Some(chunk) = ours.features.take_if(|chunk| chunk.idat_crc != of_pixels) {
            self.ignored(FEATURE_IDS, made_for(chunk.idat_crc));
        }
        let at_byte = chunks.at_byte();
        if chunks.has_ended() && at_byte < file.len() {
            self.findings.push(Finding::TrailingBytes { at_byte, n_bytes: file.len() - at_byte });
        }
        ours
    }

    fn list(&mut self, chunk: &Chunk<'_>) {
        let (name, data_bytes) = (chunk.name_text(), chunk.data.len());
        if let Some(last) = self.chunks.last_mut().filter(|last| last.name == name) {
            last.n_chunks += 1;
            last.data_bytes += data_bytes;
        } else if self.chunks.len() < LISTED_CHUNKS_MAX {
            self.chunks.push(ChunkReport { name, at_byte: chunk.at_byte, n_chunks: 1, data_bytes });
        } else if !self.findings.contains(&Finding::TooManyChunks) {
            self.findings.push(Finding::TooManyChunks);
        }
    }

    fn ignored(&mut self, name: [u8; 4], what: String) {
        self.findings.push(Finding::IgnoredChunk { chunk: name.escape_ascii().to_string(), what });
    }

    /// A wrong CRC has been found by the walk already.
    fn add_error(&mut self, error: AtlasError) {
        if !self.findings.contains(&Finding::BadChunk(error.clone())) {
            self.findings.push(Finding::Undecodable(error));
        }
    }

    fn check_strips(&mut self, decoder: &Decoder<'_>, metadata: Option<&MetadataChunk>) {
        self.not_in_strips = decoder.not_in_strips().map(str::to_owned).or_else(|| {
            let mut scratch = Scratch::new();
            (0..decoder.n_steps())
                .find(|&step| decoder.decode_strip(step, &mut scratch).is_ok_and(|strip| strip.is_irregular()))
                .map(|step| format!("strip {step} does not stand alone"))
        });
        let says_so = metadata.is_some_and(|chunk| chunk.strip_rows != 0);
        if says_so && let Some(what) = self.not_in_strips.clone() {
            self.findings.push(Finding::BrokenStrips { what });
        }
    }

    fn check_pixels(&mut self, decoder: &Decoder<'_>, ours: &OurChunks) {
        let mut transparent = TransparentColours::default();
        let mut scratch = Scratch::new();
        let plain = decoder.for_each_band(&mut scratch.band, &mut |strip_idx, band| {
            transparent.scan(strip_idx, band, decoder);
            Ok(())
        });
        let region = plain.and_then(|()| decoder.decode_all(&mut scratch));
        let region = match region {
            Ok(region) => region,
            Err(error) => return self.add_error(error),
        };
        self.findings.extend(transparent.finding());
        let (colours, beyond_palette) = count_colours(&region);
        self.voxels = Some(VoxelReport {
            occupied: region.occupancy.count(),
            bricks: region.occupancy.brick_mask().count(),
            colours,
        });
        self.findings.extend(beyond_palette);
        if let Some(FeatureIdsChunk { ids, .. }) = &ours.features {
            match ids.check(&region.occupancy) {
                Ok(()) => self.features = Some(FeatureReport::of(ids)),
                Err(what) => self.findings.push(Finding::FeatureMismatch { what }),
            }
        }
        if let Some(chunk) = &ours.occupancy {
            let of_pixels = crc_of_crcs(ours.idat_crcs.iter().copied());
            if chunk.idat_crc != of_pixels {
                let what = format!("made for pixels {:08x}, these are {of_pixels:08x}", chunk.idat_crc);
                self.findings.push(Finding::OccupancyMismatch { what });
            } else if chunk.occupancy != region.occupancy {
                let what = format!("{} voxels, {} by the pixels", chunk.occupancy.count(), region.occupancy.count());
                self.findings.push(Finding::OccupancyMismatch { what });
            }
        }
    }
}

impl FeatureReport {
    fn of(ids: &FeatureIds) -> Self {
        Self { n_features: ids.n_features(), voxels: ids.n_voxels_of_features(), runs: ids.n_runs() }
    }
}

/// Transparent texels with a colour, counted while the bands pass by.
#[derive(Default)]
struct TransparentColours {
    n: u64,
    first: Option<(u32, u32)>,
}

impl TransparentColours {
    fn scan(&mut self, strip_idx: usize, band: &[u8], decoder: &Decoder<'_>) {
        let format = decoder.format();
        // Indices that are air and have a colour in the palette.
        let coloured_air: [bool; 256] = std::array::from_fn(|idx| match format {
            BandFormat::Rgba => false,
            BandFormat::Indexed(indexed) => indexed.is_air(idx as u8) && decoder.depth().colour(idx as u32) != [0; 3],
        });
        for (row_idx, row) in band.chunks_exact(format.row_bytes()).enumerate() {
            let v = strip_idx as u32 * STRIP_ROWS + row_idx as u32;
            let mut add = |u: usize| {
                self.n += 1;
                self.first.get_or_insert((u as u32, v));
            };
            match format {
                BandFormat::Rgba => row[1..]
                    .as_chunks()
                    .0
                    .iter()
                    .enumerate()
                    .filter(|&(_, &[r, g, b, a])| a == 0 && [r, g, b] != [0; 3])
                    .for_each(|(u, _)| add(u)),
                BandFormat::Indexed(_) => row[1..]
                    .iter()
                    .enumerate()
                    .filter(|&(_, &idx)| coloured_air[usize::from(idx)])
                    .for_each(|(u, _)| add(u)),
            }
        }
    }

    fn finding(&self) -> Option<Finding> {
        self.first.map(|(u, v)| Finding::TransparentColours { n: self.n, u, v })
    }
}

/// Colours of the occupied voxels, and those that have none.
fn count_colours(region: &Region) -> (u32, Option<Finding>) {
    let mut n_of_entry = BTreeMap::<u32, u64>::new();
    for [bx, by, bz] in region.occupancy.brick_mask().iter() {
        let occupied = block_from_rows(&region.occupancy.brick_rows(bx, by, bz));
        let brick = region.colours.brick(bx, by, bz);
        for texel in (0..BRICK_VOLUME).filter(|texel| occupied[texel / 64] >> (texel % 64) & 1 == 1) {
            let entry = match brick {
                BrickColours::Air => 0,
                BrickColours::Uniform(entry) => entry,
                BrickColours::Page(page) => region.colours.page_entry(page, texel),
            };
            *n_of_entry.entry(entry).or_default() += 1;
        }
    }
    let depth = region.colours.depth();
    let mut colours: Vec<_> = n_of_entry.keys().map(|&entry| depth.colour(entry)).collect();
    colours.sort_unstable();
    colours.dedup();
    let beyond_palette = match depth {
        ColourDepth::Indexed(palette) => {
            let n = n_of_entry.range(palette.len() as u32..).map(|(_, n)| n).sum();
            (n > 0).then_some(Finding::BeyondPalette { n, n_colours: palette.len() })
        }
        ColourDepth::Direct => None,
    };
    (colours.len() as u32, beyond_palette)
}
