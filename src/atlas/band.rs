//! A band of 64 pixel rows, one strip of the atlas, becomes the voxels and colours of its 64 bricks.
//!
//! Owns the step from pixels to voxels, the same for every kind of file. The band has just been written and still lies
//! in the processor's cache; the whole image exists nowhere.

use crate::atlas::block::{BlockBits, BrickRows, rows_from_block};
use crate::atlas::morton::voxel_from_texel;
use crate::atlas::pixels::{Indexed, Pixels, Rgba};
use crate::limits::{ATLAS_PIXELS, BRICK_PIXELS, BRICK_VOLUME, STRIP_ROWS};
use crate::voxel::{Occupancy, StripColours};

/// Blocks of a strip.
const STRIP_BLOCKS: usize = (ATLAS_PIXELS / BRICK_PIXELS) as usize;

/// Rows of a strip, which are those of a block.
const ROWS: usize = STRIP_ROWS as usize;

/// How the pixels of a band are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BandFormat {
    /// Four bytes a pixel.
    Rgba,
    /// One byte a pixel.
    Indexed(Indexed),
}

impl BandFormat {
    /// Bytes of a row as PNG stores it: its filter type and its pixels.
    pub(crate) fn row_bytes(&self) -> usize {
        let pixel_bytes = match self {
            Self::Rgba => Rgba::PIXEL_BYTES,
            Self::Indexed(_) => Indexed::PIXEL_BYTES,
        };
        1 + pixel_bytes * ATLAS_PIXELS as usize
    }

    /// Bytes of a strip's rows.
    pub(crate) fn strip_bytes(&self) -> usize {
        ROWS * self.row_bytes()
    }
}

/// The voxels of one strip.
#[derive(Debug)]
pub(crate) struct StripVoxels {
    /// The bricks that are not air, by their block's place in the strip.
    bricks: Vec<(usize, BrickRows)>,
    /// The colours of all its bricks.
    pub(crate) colours: StripColours,
}

impl StripVoxels {
    /// Occupies the strip's voxels in a region.
    pub(crate) fn occupy(&self, strip_idx: usize, occupancy: &mut Occupancy) {
        for (block, rows) in &self.bricks {
            let [bx, by, bz] = voxel_from_texel(*block as u32, strip_idx as u32);
            occupancy.set_brick_rows(bx, by, bz, rows);
        }
    }
}

/// The voxels of a band of 64 rows of [`BandFormat::row_bytes`] each, whose first byte is not looked at. `masks` has one
/// element a block and is overwritten.
pub(crate) fn strip_from_band(band: &[u8], format: &BandFormat, masks: &mut [BlockBits]) -> StripVoxels {
    match format {
        BandFormat::Rgba => extract(&Rgba, band, format.row_bytes(), masks),
        BandFormat::Indexed(indexed) => extract(indexed, band, format.row_bytes(), masks),
    }
}

fn extract<P: Pixels>(pixels: &P, band: &[u8], row_bytes: usize, masks: &mut [BlockBits]) -> StripVoxels {
    let rows: [&[P::Row]; ROWS] = std::array::from_fn(|v| P::block_rows(&band[v * row_bytes + 1..(v + 1) * row_bytes]));
    for (v, row) in rows.iter().enumerate() {
        for (mask, block_row) in masks.iter_mut().zip(*row) {
            mask[v] = pixels.occupied(block_row);
        }
    }
    debug_assert_eq!(masks.len(), STRIP_BLOCKS);
    let mut bricks = Vec::new();
    let mut colours = StripColours::new();
    let mut paged = Vec::new();
    for (block, mask) in masks.iter().enumerate() {
        let Some(first) = first_entry::<P>(&rows, block, mask) else { continue };
        bricks.push((block, rows_from_block(mask)));
        if is_uniform::<P>(&rows, block, mask, first) {
            colours.set_uniform(block, first);
        } else {
            paged.push(block);
        }
    }
    // Counted first, so that the pages are allocated once, at the size that they keep.
    let page_bytes = BRICK_VOLUME * P::ENTRY_BYTES;
    colours.reserve_exact(paged.len() * page_bytes);
    for block in paged {
        let page = colours.add_page(block, page_bytes);
        for (row, page_row) in rows.iter().zip(page.chunks_exact_mut(BRICK_PIXELS as usize * P::ENTRY_BYTES)) {
            P::write_entries(&row[block], page_row);
        }
    }
    StripVoxels { bricks, colours }
}

/// The entry of a block's first occupied pixel; nothing where all is air.
fn first_entry<P: Pixels>(rows: &[&[P::Row]; ROWS], block: usize, mask: &BlockBits) -> Option<u32> {
    let v = mask.iter().position(|&row| row != 0)?;
    Some(P::entry(&rows[v][block], mask[v].trailing_zeros() as usize))
}

/// Whether every occupied pixel of a block has that entry.
fn is_uniform<P: Pixels>(rows: &[&[P::Row]; ROWS], block: usize, mask: &BlockBits, entry: u32) -> bool {
    rows.iter().zip(mask).all(|(row, &occupied)| occupied == 0 || occupied & !P::equal(&row[block], entry) == 0)
}
