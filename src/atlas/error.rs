//! Why a file is no atlas.

use thiserror::Error;

use crate::limits::ATLAS_PIXELS;

/// Why bytes cannot be decoded as an atlas. Every variant says what was found; the caller adds which file it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AtlasError {
    /// No byte at all. A source treats an empty body as an empty region before it comes here.
    #[error("the file is empty: expected a PNG or WebP image")]
    Empty,
    /// The file is larger than any atlas can be; nothing of it was read.
    #[error("the file has {size_bytes} bytes: an atlas has at most {limit_bytes}")]
    TooLarge {
        /// Its size.
        size_bytes: usize,
        /// [`ATLAS_FILE_BYTES_MAX`](crate::limits::ATLAS_FILE_BYTES_MAX).
        limit_bytes: usize,
    },
    /// Neither PNG nor WebP, such as an error page sent with status 200.
    #[error("not an image: begins with {begins_with}, expected a PNG or WebP signature")]
    NotAnImage {
        /// Its first bytes, as text where they are text.
        begins_with: String,
    },
    /// The image has another size.
    #[error("the image is {width} x {height}: an atlas is {n} x {n}", n = ATLAS_PIXELS)]
    WrongSize {
        /// Width found, in pixels.
        width: u32,
        /// Height found, in pixels.
        height: u32,
    },
    /// Channels of 16 bits.
    #[error("the image has {bit_depth} bits a channel: an atlas has at most 8")]
    UnsupportedDepth {
        /// Bits a channel.
        bit_depth: u8,
    },
    /// More than one picture in the file.
    #[error("the image is animated: an atlas is a still picture")]
    Animated,
    /// The file ends inside a chunk, or before its last one.
    #[error("truncated at byte {at_byte}: {expected} expected there")]
    Truncated {
        /// Where the file ends.
        at_byte: usize,
        /// What should have followed.
        expected: String,
    },
    /// A chunk's checksum does not match its bytes.
    #[error("the {chunk} chunk at byte {at_byte} has CRC {found:08x}: its bytes give {expected:08x}")]
    BadCrc {
        /// The chunk's name.
        chunk: String,
        /// Where it begins.
        at_byte: usize,
        /// What the file says.
        found: u32,
        /// What its bytes say.
        expected: u32,
    },
    /// A chunk says what it must not say.
    #[error("the {chunk} chunk at byte {at_byte} {what}")]
    BadChunk {
        /// The chunk's name.
        chunk: String,
        /// Where it begins.
        at_byte: usize,
        /// What was found and what was expected.
        what: String,
    },
    /// The PNG decoder refused the pixels.
    #[error("not a sound PNG: {what}")]
    Png {
        /// The decoder's words.
        what: String,
    },
    /// The WebP decoder refused the file.
    #[error("not a sound WebP: {what}")]
    Webp {
        /// The decoder's words.
        what: String,
    },
    /// The caller asked to stop.
    #[error("decoding was stopped")]
    Aborted,
}
