//! Sixty-four pixels at a time: which of them are occupied, which have a given entry.
//!
//! A row of a block is 64 pixels, so that each question is answered by one 64-bit mask, pixel u in bit u. SSE2 is part
//! of every x86-64 and answers through byte masks; elsewhere plain loops give the same masks.

use crate::limits::BRICK_PIXELS;

/// Pixels of a block's row.
const PIXELS: usize = BRICK_PIXELS as usize;

/// The two kinds of pixels that bands are made of; every other kind of image is brought to one of them.
pub(crate) trait Pixels {
    /// A row of a block.
    type Row: Copy;

    /// Bytes of a pixel.
    const PIXEL_BYTES: usize;

    /// Bytes of a pixel's entry in a page of [`Colours`](crate::voxel::Colours).
    const ENTRY_BYTES: usize;

    /// A row of the image as rows of blocks.
    fn block_rows(row: &[u8]) -> &[Self::Row];

    /// The pixels that are occupied.
    fn occupied(&self, row: &Self::Row) -> u64;

    /// The pixels whose entry is this one; what is said of air is unspecified.
    fn equal(row: &Self::Row, entry: u32) -> u64;

    /// The entry of one pixel.
    fn entry(row: &Self::Row, u: usize) -> u32;

    /// Writes the entries of the row.
    fn write_entries(row: &Self::Row, page_row: &mut [u8]);
}

/// Red, green, blue, alpha: occupied where alpha is not zero.
pub(crate) struct Rgba;

/// A palette index a pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Indexed {
    /// Every index is occupied.
    Solid,
    /// Index 0 alone is air: what our encoder writes.
    ZeroIsAir,
    /// Air where the table says so.
    Table(Box<[bool; 256]>),
}

impl Indexed {
    /// The cheapest kind that says the same as a table of the indices that are air.
    pub(crate) fn from_air(air: &[bool; 256]) -> Self {
        match (air[0], air[1..].contains(&true)) {
            (false, false) => Self::Solid,
            (true, false) => Self::ZeroIsAir,
            _ => Self::Table(Box::new(*air)),
        }
    }

    /// Whether an index is air.
    pub(crate) fn is_air(&self, idx: u8) -> bool {
        match self {
            Self::Solid => false,
            Self::ZeroIsAir => idx == 0,
            Self::Table(air) => air[usize::from(idx)],
        }
    }
}

impl Pixels for Rgba {
    type Row = [[u8; 4]; PIXELS];

    const PIXEL_BYTES: usize = 4;
    const ENTRY_BYTES: usize = 3;

    fn block_rows(row: &[u8]) -> &[Self::Row] {
        row.as_chunks().0.as_chunks().0
    }

    fn occupied(&self, row: &Self::Row) -> u64 {
        // Most of a city is air, and all zero: half the work of looking at each alpha.
        let is_zero = row.as_flattened().iter().fold(0, |any, &byte| any | byte) == 0;
        if is_zero { 0 } else { !simd::equal_rgba(row, 0xFF00_0000, 0) }
    }

    fn equal(row: &Self::Row, entry: u32) -> u64 {
        simd::equal_rgba(row, 0x00FF_FFFF, entry)
    }

    fn entry(row: &Self::Row, u: usize) -> u32 {
        u32::from_le_bytes(row[u]) & 0x00FF_FFFF
    }

    fn write_entries(row: &Self::Row, page_row: &mut [u8]) {
        for (&[r, g, b, _], entry) in row.iter().zip(page_row.as_chunks_mut().0) {
            *entry = [r, g, b];
        }
    }
}

impl Pixels for Indexed {
    type Row = [u8; PIXELS];

    const PIXEL_BYTES: usize = 1;
    const ENTRY_BYTES: usize = 1;

    fn block_rows(row: &[u8]) -> &[Self::Row] {
        row.as_chunks().0
    }

    fn occupied(&self, row: &Self::Row) -> u64 {
        match self {
            Self::Solid => u64::MAX,
            Self::ZeroIsAir => !simd::equal_bytes(row, 0),
            Self::Table(air) => {
                row.iter().enumerate().fold(0, |mask, (u, &idx)| mask | u64::from(!air[usize::from(idx)]) << u)
            }
        }
    }

    fn equal(row: &Self::Row, entry: u32) -> u64 {
        simd::equal_bytes(row, entry as u8)
    }

    fn entry(row: &Self::Row, u: usize) -> u32 {
        u32::from(row[u])
    }

    fn write_entries(row: &Self::Row, page_row: &mut [u8]) {
        page_row.copy_from_slice(row);
    }
}

#[cfg(target_arch = "x86_64")]
mod simd {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmpeq_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
        _mm_set1_epi8, _mm_set1_epi32,
    };

    use super::PIXELS;

    /// The bytes that equal `value`.
    #[expect(unsafe_code, reason = "the compiler wants SSE2 to be named where it is called")]
    pub(super) fn equal_bytes(row: &[u8; PIXELS], value: u8) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { equal_bytes_sse2(bytemuck::cast_ref(row), value) }
    }

    /// The pixels that equal `value` in the bits of `bits`, red in the lowest.
    #[expect(unsafe_code, reason = "the compiler wants SSE2 to be named where it is called")]
    pub(super) fn equal_rgba(row: &[[u8; 4]; PIXELS], bits: u32, value: u32) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { equal_rgba_sse2(bytemuck::cast_ref(row), bits, value) }
    }

    #[target_feature(enable = "sse2")]
    fn equal_bytes_sse2(row: &[[u8; 16]; 4], value: u8) -> u64 {
        let value = _mm_set1_epi8(value.cast_signed());
        let mut mask = 0;
        for (i, &bytes) in row.iter().enumerate() {
            let equal = _mm_cmpeq_epi8(bytemuck::cast(bytes), value);
            mask |= u64::from(_mm_movemask_epi8(equal).cast_unsigned()) << (16 * i);
        }
        mask
    }

    #[target_feature(enable = "sse2")]
    fn equal_rgba_sse2(row: &[[[u8; 16]; 4]; 4], bits: u32, value: u32) -> u64 {
        let (bits, value) = (_mm_set1_epi32(bits.cast_signed()), _mm_set1_epi32(value.cast_signed()));
        let mut mask = 0;
        for (i, pixels) in row.iter().enumerate() {
            let equal: [__m128i; 4] =
                pixels.map(|four| _mm_cmpeq_epi32(_mm_and_si128(bytemuck::cast(four), bits), value));
            // Packing with signed saturation keeps 0 and -1 what they are.
            let (low, high) = (_mm_packs_epi32(equal[0], equal[1]), _mm_packs_epi32(equal[2], equal[3]));
            mask |= u64::from(_mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned()) << (16 * i);
        }
        mask
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as simd;

/// The same in plain Rust.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::PIXELS;

    /// The bytes that equal `value`.
    pub(super) fn equal_bytes(row: &[u8; PIXELS], value: u8) -> u64 {
        row.iter().enumerate().fold(0, |mask, (u, &byte)| mask | u64::from(byte == value) << u)
    }

    /// The pixels that equal `value` in the bits of `bits`, red in the lowest.
    pub(super) fn equal_rgba(row: &[[u8; 4]; PIXELS], bits: u32, value: u32) -> u64 {
        row.iter()
            .enumerate()
            .fold(0, |mask, (u, &pixel)| mask | u64::from(u32::from_le_bytes(pixel) & bits == value) << u)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn masks_are_the_same_on_every_machine(bytes in prop::collection::vec(0u8..3, 256)) {
            let rgba = Rgba::block_rows(&bytes)[0];
            let indexed = Indexed::block_rows(&bytes)[0];
            for value in 0..3 {
                prop_assert_eq!(simd::equal_bytes(&indexed, value), portable::equal_bytes(&indexed, value));
                for bits in [0xFF00_0000, 0x00FF_FFFF, 0x00FF_0000, u32::MAX] {
                    let value = (u32::from(value) * 0x0101_0101) & bits;
                    prop_assert_eq!(simd::equal_rgba(&rgba, bits, value), portable::equal_rgba(&rgba, bits, value));
                }
            }
            for (u, &[r, g, b, a]) in rgba.iter().enumerate() {
                prop_assert_eq!(Rgba.occupied(&rgba) >> u & 1, u64::from(a != 0));
                prop_assert_eq!(Rgba::entry(&rgba, u), u32::from_le_bytes([r, g, b, 0]));
            }
            let mut air = [false; 256];
            air[0] = true;
            prop_assert_eq!(Indexed::from_air(&air), Indexed::ZeroIsAir);
            let by_table = Indexed::Table(Box::new(air)).occupied(&indexed);
            prop_assert_eq!(Indexed::ZeroIsAir.occupied(&indexed), by_table);
        }
    }
}
