//! The chunks of a PNG file, and what its header says.
//!
//! ```text
//! file    89 50 4E 47 0D 0A 1A 0A, then chunks up to IEND
//! chunk   length u32 | name [u8; 4] | data [u8; length] | CRC-32 of name and data u32      (all big-endian)
//! ```

use crate::atlas::AtlasError;

/// What every PNG begins with.
pub(crate) const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n'];

/// A chunk's bytes beside its data.
const FRAME_BYTES: usize = 12;

/// One chunk, borrowed from the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    /// Its name.
    pub(crate) name: [u8; 4],
    /// Its data.
    pub(crate) data: &'a [u8],
    /// Where it begins in the file, in bytes.
    pub(crate) at_byte: usize,
    /// The checksum that the file gives.
    pub(crate) crc: u32,
}

impl Chunk<'_> {
    /// The checksum that its bytes have.
    pub(crate) fn crc_of_bytes(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.name);
        hasher.update(self.data);
        hasher.finalize()
    }

    /// Fails where the two checksums differ.
    pub(crate) fn check_crc(&self) -> Result<(), AtlasError> {
        let expected = self.crc_of_bytes();
        if self.crc == expected {
            return Ok(());
        }
        Err(AtlasError::BadCrc { chunk: self.name_text(), at_byte: self.at_byte, found: self.crc, expected })
    }

    /// Whether a decoder that does not know the chunk must refuse the file.
    pub(crate) fn is_critical(&self) -> bool {
        self.name[0].is_ascii_uppercase()
    }

    /// The name, printable.
    pub(crate) fn name_text(&self) -> String {
        self.name.escape_ascii().to_string()
    }

    /// The error that names this chunk.
    pub(crate) fn bad(&self, what: impl Into<String>) -> AtlasError {
        AtlasError::BadChunk { chunk: self.name_text(), at_byte: self.at_byte, what: what.into() }
    }
}

/// Walks the chunks of a PNG up to and with IEND. A file that ends before yields an error, once.
#[derive(Debug, Clone)]
pub(crate) struct Chunks<'a> {
    file: &'a [u8],
    at_byte: usize,
    has_ended: bool,
    is_truncated: bool,
}

impl<'a> Chunks<'a> {
    /// The chunks of a file whose signature has been seen.
    pub(crate) fn new(file: &'a [u8]) -> Self {
        Self { file, at_byte: SIGNATURE.len(), has_ended: false, is_truncated: false }
    }

    /// Where the next chunk begins, in bytes.
    pub(crate) fn at_byte(&self) -> usize {
        self.at_byte
    }

    /// Whether IEND has been seen.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn truncated(&mut self, expected: String) -> AtlasError {
        self.is_truncated = true;
        AtlasError::Truncated { at_byte: self.file.len(), expected }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, AtlasError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended || self.is_truncated {
            return None;
        }
        let at_byte = self.at_byte;
        let rest = &self.file[at_byte..];
        let Some((&[l0, l1, l2, l3, n0, n1, n2, n3], after)) = rest.split_first_chunk() else {
            return Some(Err(self.truncated("a chunk".to_owned())));
        };
        let (length, name) = (u32::from_be_bytes([l0, l1, l2, l3]) as usize, [n0, n1, n2, n3]);
        let whole = after.split_at_checked(length).and_then(|(data, tail)| Some((data, tail.first_chunk::<4>()?)));
        let Some((data, crc)) = whole else {
            let name = name.escape_ascii();
            return Some(Err(self.truncated(format!("the rest of the {length}-byte {name} chunk at byte {at_byte}"))));
        };
        self.at_byte += FRAME_BYTES + length;
        self.has_ended = name == *b"IEND";
        Some(Ok(Chunk { name, data, at_byte, crc: u32::from_be_bytes(*crc) }))
    }
}

/// How the pixels of a PNG are to be read (the IHDR's colour type).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourType {
    /// One grey sample.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// An index into the palette.
    Indexed,
    /// Grey and alpha.
    GreyAlpha,
    /// Red, green, blue, alpha.
    Rgba,
}

/// What the IHDR chunk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Width, in pixels.
    pub(crate) width: u32,
    /// Height, in pixels.
    pub(crate) height: u32,
    /// Bits a sample: 1, 2, 4, 8 or 16.
    pub(crate) bit_depth: u8,
    /// What a pixel is made of.
    pub(crate) colour_type: ColourType,
    /// Whether the rows come in Adam7 order.
    pub(crate) is_interlaced: bool,
}

impl Header {
    /// Reads the first chunk of a file.
    pub(crate) fn from_chunk(chunk: &Chunk<'_>) -> Result<Self, AtlasError> {
        if chunk.name != *b"IHDR" {
            return Err(chunk.bad("comes first: expected IHDR"));
        }
        let Some(&[w0, w1, w2, w3, h0, h1, h2, h3, bit_depth, colour, compression, filter, interlace]) =
            chunk.data.first_chunk().filter(|_| chunk.data.len() == 13)
        else {
            return Err(chunk.bad(format!("has {} bytes: expected 13", chunk.data.len())));
        };
        chunk.check_crc()?;
        let colour_type = match (colour, bit_depth) {
            (0, 1 | 2 | 4 | 8 | 16) => ColourType::Grey,
            (2, 8 | 16) => ColourType::Rgb,
            (3, 1 | 2 | 4 | 8) => ColourType::Indexed,
            (4, 8 | 16) => ColourType::GreyAlpha,
            (6, 8 | 16) => ColourType::Rgba,
            _ => return Err(chunk.bad(format!("has colour type {colour} at {bit_depth} bits: PNG has no such kind"))),
        };
        if (compression, filter) != (0, 0) || interlace > 1 {
            return Err(
                chunk.bad(format!("has methods {compression}, {filter}, {interlace}: expected 0, 0, and 0 or 1"))
            );
        }
        Ok(Self {
            width: u32::from_be_bytes([w0, w1, w2, w3]),
            height: u32::from_be_bytes([h0, h1, h2, h3]),
            bit_depth,
            colour_type,
            is_interlaced: interlace == 1,
        })
    }

    /// Bytes of a row of so many pixels, without its filter type.
    pub(crate) fn row_bytes(&self, n_pixels: u32) -> usize {
        let n_channels = match self.colour_type {
            ColourType::Grey | ColourType::Indexed => 1,
            ColourType::GreyAlpha => 2,
            ColourType::Rgb => 3,
            ColourType::Rgba => 4,
        };
        (n_pixels as usize * n_channels * usize::from(self.bit_depth)).div_ceil(8)
    }

    /// Bytes to which the IDATs inflate: all rows of all passes, each behind its filter type.
    pub(crate) fn raw_bytes(&self) -> u64 {
        /// First column and row of each of Adam7's passes, and the steps between them.
        const PASSES: [[u32; 4]; 7] =
            [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
        let passes: &[[u32; 4]] = if self.is_interlaced { &PASSES } else { &[[0, 0, 1, 1]] };
        passes
            .iter()
            .map(|&[u0, v0, du, dv]| {
                let (n_pixels, n_rows) = ((self.width - u0).div_ceil(du), (self.height - v0).div_ceil(dv));
                (1 + self.row_bytes(n_pixels) as u64) * u64::from(n_rows)
            })
            .sum()
    }
}

/// Appends a chunk to a file.
pub(crate) fn write_chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&name);
    hasher.update(data);
    let crc = hasher.finalize();
    file.reserve(FRAME_BYTES + data.len());
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    file.extend_from_slice(&name);
    file.extend_from_slice(data);
    file.extend_from_slice(&crc.to_be_bytes());
    crc
}
