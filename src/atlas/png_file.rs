//! A PNG file taken apart and checked, its pixels still compressed.
//!
//! Both ways of decoding start here, so that they agree on everything but speed: size, kind, palette and transparency
//! are read once, and what stands in the wrong place, twice, or with a wrong checksum is refused by name.

use crate::atlas::AtlasError;
use crate::atlas::band::BandFormat;
use crate::atlas::chunks::{Chunk, Chunks, ColourType, Header};
use crate::atlas::metadata::{METADATA, MetadataChunk};
use crate::atlas::pixels::Indexed;
use crate::atlas::strips::Strips;
use crate::limits::{ATLAS_PIXELS, N_STRIPS};
use crate::voxel::{Colour, ColourDepth};

/// A PNG file of the right size and of a kind that can be an atlas.
#[derive(Debug)]
pub(crate) struct PngFile<'a> {
    /// The whole file.
    pub(crate) file: &'a [u8],
    /// Its header.
    pub(crate) header: Header,
    /// What is transparent.
    pub(crate) transparency: Transparency,
    /// How its bands are read.
    pub(crate) format: BandFormat,
    /// How its colours are kept.
    pub(crate) depth: ColourDepth,
    /// Its strips, or why it has none.
    pub(crate) strips: Result<Strips<'a>, String>,
    /// The last `vxMD` chunk.
    pub(crate) metadata: Option<Chunk<'a>>,
}

/// What the tRNS chunk says, for images without alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transparency {
    /// There is none, or the format of the band says it all.
    None,
    /// This colour is air.
    Key(Colour),
}

/// The chunks that pixels depend on, as they pass by.
#[derive(Default)]
struct Found<'a> {
    palette: Option<Chunk<'a>>,
    transparency: Option<Chunk<'a>>,
    /// At most one more than strips can be.
    idats: Vec<Chunk<'a>>,
    metadata: Option<Chunk<'a>>,
    previous: [u8; 4],
}

impl<'a> PngFile<'a> {
    /// Takes a file apart; its signature has been seen.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, AtlasError> {
        let mut chunks = Chunks::new(file);
        let first = chunks.next().unwrap_or(Err(AtlasError::Empty))?;
        let header = Header::from_chunk(&first)?;
        let Header { width, height, bit_depth, .. } = header;
        if (width, height) != (ATLAS_PIXELS, ATLAS_PIXELS) {
            return Err(AtlasError::WrongSize { width, height });
        }
        if bit_depth > 8 {
            return Err(AtlasError::UnsupportedDepth { bit_depth });
        }
        let mut found = Found { previous: first.name, ..Found::default() };
        for chunk in chunks {
            found.take(chunk?)?;
        }
        found.into_file(file, header)
    }

    /// What the file says of itself, if that can be read.
    pub(crate) fn metadata(&self) -> Option<MetadataChunk> {
        MetadataChunk::from_chunk(self.metadata.as_ref()?).ok()
    }

    /// Checks what strips leave for later: the CRC of every IDAT.
    pub(crate) fn check_idat_crcs(&self) -> Result<(), AtlasError> {
        self.idat_chunks().try_for_each(|chunk| chunk.check_crc())
    }

    /// The data of all IDATs, in order.
    pub(crate) fn idats(&self) -> impl Iterator<Item = &'a [u8]> {
        self.idat_chunks().map(|chunk| chunk.data)
    }

    fn idat_chunks(&self) -> impl Iterator<Item = Chunk<'a>> {
        Chunks::new(self.file).flatten().filter(|chunk| chunk.name == *b"IDAT")
    }
}

impl<'a> Found<'a> {
    fn take(&mut self, chunk: Chunk<'a>) -> Result<(), AtlasError> {
        let has_pixels = !self.idats.is_empty();
        // Also of chunks that nobody reads: one of them may be a tRNS whose name was damaged, and ignoring that would
        // show another picture. The IDATs come later, on the threads that inflate them; our own are merely ignored.
        if chunk.name != *b"IDAT" && !chunk.name.starts_with(b"vx") {
            chunk.check_crc()?;
        }
        match &chunk.name {
            b"PLTE" | b"tRNS" => {
                let place = if chunk.name == *b"PLTE" { &mut self.palette } else { &mut self.transparency };
                if has_pixels {
                    return Err(chunk.bad("follows the pixels: expected before them"));
                }
                if place.replace(chunk).is_some() {
                    return Err(chunk.bad("comes twice"));
                }
            }
            b"IDAT" => {
                if has_pixels && self.previous != *b"IDAT" {
                    return Err(chunk.bad("does not follow the IDAT before it"));
                }
                if self.idats.len() <= N_STRIPS {
                    self.idats.push(chunk);
                }
            }
            b"IEND" if !has_pixels => return Err(chunk.bad("comes before any IDAT")),
            b"IEND" => {}
            b"acTL" => return Err(AtlasError::Animated),
            &METADATA => self.metadata = Some(chunk),
            _ if chunk.is_critical() => return Err(chunk.bad("is critical and not known here")),
            _ => {}
        }
        self.previous = chunk.name;
        Ok(())
    }

    fn into_file(self, file: &'a [u8], header: Header) -> Result<PngFile<'a>, AtlasError> {
        let mut air = [false; 256];
        let mut transparency = Transparency::None;
        let depth = match header.colour_type {
            ColourType::Grey => ColourDepth::Indexed(greys(header.bit_depth)),
            ColourType::Indexed => {
                let chunk = self.palette.ok_or_else(|| AtlasError::BadChunk {
                    chunk: "PLTE".to_owned(),
                    at_byte: file.len(),
                    what: "is missing: the pixels are palette indices".to_owned(),
                })?;
                let (palette, rest) = chunk.data.as_chunks();
                if palette.is_empty() || palette.len() > 1 << header.bit_depth || !rest.is_empty() {
                    let n_max = 3 << header.bit_depth;
                    return Err(chunk.bad(format!("has {} bytes: expected 3, 6, .. {n_max}", chunk.data.len())));
                }
                ColourDepth::Indexed(palette.to_vec())
            }
            ColourType::Rgb | ColourType::GreyAlpha | ColourType::Rgba => ColourDepth::Direct,
        };
        if let Some(chunk) = self.transparency {
            match (header.colour_type, chunk.data) {
                // Of the two bytes of a sample only the bits that pixels have count.
                (ColourType::Grey, &[_, grey]) => air[usize::from(grey & low_bits(header.bit_depth))] = true,
                (ColourType::Rgb, &[_, r, _, g, _, b]) => transparency = Transparency::Key([r, g, b]),
                (ColourType::Indexed, alphas) if alphas.len() <= 256 => {
                    for (air, &alpha) in air.iter_mut().zip(alphas) {
                        *air = alpha == 0;
                    }
                }
                (colour_type, data) => {
                    let n = data.len();
                    return Err(chunk.bad(format!("has {n} bytes: not the transparency of a {colour_type:?} image")));
                }
            }
        }
        let format = match depth {
            ColourDepth::Indexed(_) => BandFormat::Indexed(Indexed::from_air(&air)),
            ColourDepth::Direct => BandFormat::Rgba,
        };
        let strips = match header {
            Header { is_interlaced: true, .. } => Err("it is interlaced".to_owned()),
            Header { bit_depth: 8, colour_type: ColourType::Grey | ColourType::Indexed | ColourType::Rgba, .. } => {
                Strips::new(self.idats, format.clone(), self.metadata.as_ref())
            }
            Header { bit_depth, colour_type, .. } => {
                Err(format!("it is {colour_type:?} at {bit_depth} bits: strips are Grey, Indexed or Rgba at 8"))
            }
        };
        Ok(PngFile { file, header, transparency, format, depth, strips, metadata: self.metadata })
    }
}

/// The palette of a grey image: its samples, scaled to 8 bits.
fn greys(bit_depth: u8) -> Vec<Colour> {
    let step = 255 / low_bits(bit_depth);
    (0..=low_bits(bit_depth)).map(|sample| [sample * step; 3]).collect()
}

/// The largest sample.
fn low_bits(bit_depth: u8) -> u8 {
    u8::MAX >> (8 - bit_depth)
}
