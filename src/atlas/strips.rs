//! Strips: 64 pixel rows that inflate on their own.
//!
//! Our encoder ends the deflate stream's blocks at every 64th row with a full flush and begins a new IDAT there, so
//! that a strip needs nothing of the strips before it and several threads can inflate several strips.
//!
//! ```text
//! IDAT 1      78 xx | deflate blocks of rows 0..64       | 00 00 FF FF
//! IDAT 2..63        | deflate blocks of rows of strip i  | 00 00 FF FF
//! IDAT 64           | deflate blocks of rows 4032..4096  | 00 00 FF FF | 03 00 | Adler-32
//!
//! closed            | one strip's blocks | 00 00 FF FF | 01 01 00 FE FF A5 | sixteen zero bytes
//! ```
//!
//! A strip's deflate data is copied and *closed* with a last, stored block of the byte A5: it inflates to its 64 rows and
//! A5, or it is no strip. A stream that ends early, a strip that is too short or too long, and one that leans on its
//! predecessors are noticed by that.
//!
//! The Adler-32 of the whole image is not looked at, which would cost a quarter of the time of an RGBA file. Each IDAT's
//! CRC covers the same bytes, and the metadata chunk's CRC over those CRCs their order and number.

use crate::atlas::AtlasError;
use crate::atlas::band::{BandFormat, StripVoxels, strip_from_band};
use crate::atlas::block::BlockBits;
use crate::atlas::chunks::Chunk;
use crate::atlas::metadata::{MetadataChunk, crc_of_crcs};
use crate::limits::{N_STRIPS, STRIP_ROWS};

/// How every strip's deflate data ends: the empty stored block of a full flush, past its three header bits.
const FLUSH: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// The last block of a closed strip: final, stored, one byte.
const CLOSING: [u8; 6] = [0x01, 0x01, 0x00, 0xFE, 0xFF, SENTINEL];

/// The byte that must come out after a strip's rows.
const SENTINEL: u8 = 0xA5;

/// Spare input after the closing block: libdeflate reads eight bytes at a time and falls into its slow tail without.
const SPARE_BYTES: usize = 16;

/// The end of the stream after the last strip: an empty final block and the Adler-32 of the image.
const TRAILER: [u8; 2] = [0x03, 0x00];
const TRAILER_BYTES: usize = TRAILER.len() + 4;

/// Buffers of one thread, reused from step to step and from file to file: about 2 MiB.
pub struct Scratch {
    pub(crate) inflater: Inflater,
    pub(crate) input: Vec<u8>,
    pub(crate) band: Vec<u8>,
    /// Always one a block of a strip.
    pub(crate) masks: Vec<BlockBits>,
}

impl Scratch {
    /// Empty buffers.
    pub fn new() -> Self {
        Self { inflater: Inflater::new(), input: Vec::new(), band: Vec::new(), masks: vec![[0; 64]; 64] }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("band_bytes", &self.band.capacity()).finish_non_exhaustive()
    }
}

/// The 64 IDATs of a file in strips.
#[derive(Debug)]
pub(crate) struct Strips<'a> {
    idats: Vec<Chunk<'a>>,
    format: BandFormat,
}

impl<'a> Strips<'a> {
    /// Takes a file's IDATs where they can be strips, as far as can be seen without inflating them.
    ///
    /// # Errors
    ///
    /// What speaks against it, in words: such a file is decoded the plain way.
    pub(crate) fn new(idats: Vec<Chunk<'a>>, format: BandFormat, metadata: Option<&Chunk<'_>>) -> Result<Self, String> {
        let metadata = MetadataChunk::from_chunk(metadata.ok_or("it has no vxMD chunk")?)
            .map_err(|what| format!("its vxMD chunk cannot be read: {what}"))?;
        if u32::from(metadata.strip_rows) != STRIP_ROWS {
            return Err(format!("its strips have {} rows, not {STRIP_ROWS}", metadata.strip_rows));
        }
        if idats.len() != N_STRIPS {
            return Err(format!("it has {} IDAT chunks, not {N_STRIPS}", idats.len().min(N_STRIPS + 1)));
        }
        if metadata.idat_crc != crc_of_crcs(idats.iter().map(|idat| idat.crc)) {
            return Err("its IDAT chunks are not those that its vxMD chunk was written for".to_owned());
        }
        let strips = Self { idats, format };
        let header = strips.idats[0].data.first_chunk::<2>();
        if !header.is_some_and(|&[method, flags]| {
            method & 0x0F == 8 && flags & 0x20 == 0 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        }) {
            return Err("the first IDAT does not begin with a zlib header".to_owned());
        }
        for strip_idx in 0..N_STRIPS {
            let is_flushed = strips.deflate_data(strip_idx).is_some_and(|data| data.ends_with(&FLUSH));
            if !is_flushed {
                return Err(format!("IDAT {strip_idx} does not end in a flush"));
            }
        }
        Ok(strips)
    }

    /// A strip's deflate data, without the stream's header and trailer.
    fn deflate_data(&self, strip_idx: usize) -> Option<&'a [u8]> {
        let mut data = self.idats[strip_idx].data;
        if strip_idx == 0 {
            data = data.get(2..)?;
        }
        if strip_idx == N_STRIPS - 1 {
            let (blocks, trailer) = data.split_at_checked(data.len().checked_sub(TRAILER_BYTES)?)?;
            data = trailer.starts_with(&TRAILER).then_some(blocks)?;
        }
        Some(data)
    }

    /// Inflates a strip and takes its voxels. `None` where it is no strip after all: the file is to be decoded the plain
    /// way.
    ///
    /// # Errors
    ///
    /// The IDAT's CRC is wrong: no way of decoding helps.
    pub(crate) fn decode(&self, strip_idx: usize, scratch: &mut Scratch) -> Result<Option<StripVoxels>, AtlasError> {
        self.idats[strip_idx].check_crc()?;
        let Some(data) = self.deflate_data(strip_idx) else { return Ok(None) };
        let strip_bytes = self.format.strip_bytes();
        scratch.band.resize(strip_bytes + 1, 0);
        scratch.input.clear();
        scratch.input.extend_from_slice(data);
        scratch.input.extend_from_slice(&CLOSING);
        scratch.input.extend_from_slice(&[0; SPARE_BYTES]);
        let is_strip = scratch.inflater.inflate_strip(&scratch.input, &mut scratch.band)
            && scratch.band[strip_bytes] == SENTINEL
            && scratch.band[..strip_bytes].iter().step_by(self.format.row_bytes()).all(|&filter| filter == 0);
        Ok(is_strip.then(|| strip_from_band(&scratch.band[..strip_bytes], &self.format, &mut scratch.masks)))
    }
}

/// Inflates closed strips; which library does it is nobody's business.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::Inflater;
#[cfg(target_arch = "wasm32")]
pub(crate) use portable::Inflater;

#[cfg(not(target_arch = "wasm32"))]
mod native {
    /// libdeflate: whole buffers only, about twice as fast as the streaming decoders.
    pub(crate) struct Inflater(libdeflater::Decompressor);

    impl Inflater {
        pub(crate) fn new() -> Self {
            Self(libdeflater::Decompressor::new())
        }

        /// Inflates a closed strip; whether it filled `band` exactly.
        pub(crate) fn inflate_strip(&mut self, closed: &[u8], band: &mut [u8]) -> bool {
            self.0.deflate_decompress(closed, band) == Ok(band.len())
        }
    }
}

#[cfg(any(test, target_arch = "wasm32"))]
mod portable {
    use flate2::{Decompress, FlushDecompress, Status};

    /// zlib-rs, where a C library cannot go.
    pub(crate) struct Inflater(Decompress);

    impl Inflater {
        pub(crate) fn new() -> Self {
            Self(Decompress::new(false))
        }

        /// Inflates a closed strip; whether it filled `band` exactly.
        pub(crate) fn inflate_strip(&mut self, closed: &[u8], band: &mut [u8]) -> bool {
            self.0.reset(false);
            matches!(self.0.decompress(closed, band, FlushDecompress::Finish), Ok(Status::StreamEnd))
                && self.0.total_out() == band.len() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::{CLOSING, SPARE_BYTES, native, portable};
    use crate::atlas::metadata::deflate_into;

    /// Whether a strip of these rows is good, closed after `edit`; both libraries must say the same.
    fn is_good(flush: FlushCompress, edit: impl FnOnce(&mut Vec<u8>)) -> bool {
        let rows: Vec<u8> = (0..10_000u32).map(|i| ((i * i) >> 7) as u8).collect();
        let mut closed = Vec::new();
        deflate_into(&mut Compress::new(Compression::fast(), false), &rows, &mut closed, flush);
        edit(&mut closed);
        closed.extend(CLOSING);
        closed.extend([0; SPARE_BYTES]);
        let mut bands = [vec![0; rows.len() + 1], vec![0; rows.len() + 1]];
        let is_native_good = native::Inflater::new().inflate_strip(&closed, &mut bands[0]);
        let is_portable_good = portable::Inflater::new().inflate_strip(&closed, &mut bands[1]);
        assert_eq!(is_native_good, is_portable_good);
        if is_native_good {
            assert_eq!(bands[0], bands[1]);
            assert_eq!(bands[0][..rows.len()], rows);
        }
        is_native_good
    }

    #[test]
    fn closed_strips_are_good_and_nothing_else() {
        assert!(is_good(FlushCompress::Full, |_| {}));
        assert!(!is_good(FlushCompress::Finish, |_| {}), "a final block");
        assert!(!is_good(FlushCompress::None, |_| {}), "no flush");
        assert!(!is_good(FlushCompress::Full, |strip| strip.truncate(strip.len() - 5)), "cut");
        assert!(!is_good(FlushCompress::Full, |strip| strip.extend([0, 1, 0, 0xFE, 0xFF, 7])), "one byte too long");
        assert!(!is_good(FlushCompress::Full, Vec::clear), "empty");
    }
}
