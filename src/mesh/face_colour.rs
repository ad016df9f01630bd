//! The colours of the quads' faces, looked up in the bricks' pages.
//!
//! Receives quads and [`Colours`], writes each quad's colour word and appends the entries of those whose faces differ.

use crate::limits::{BRICK_VOLUME, BRICK_VOXELS};
use crate::mesh::Quad;
use crate::voxel::{BrickColours, Colours, texel_along};

/// An entry as a mesh keeps it: one byte where there is a palette, else four.
pub(super) trait Entry: Copy + PartialEq {
    /// From the number that [`Colours::entry`] yields.
    fn from_number(number: u32) -> Self;

    /// To that number.
    fn number(self) -> u32;

    /// Reads a texel of a page; `texel` is below [`BRICK_VOLUME`].
    fn read(page: &[u8], texel: usize) -> Self;
}

/// A palette index.
impl Entry for u8 {
    fn from_number(number: u32) -> Self {
        number as Self
    }

    fn number(self) -> u32 {
        u32::from(self)
    }

    #[inline]
    fn read(page: &[u8], texel: usize) -> Self {
        page[texel]
    }
}

/// 0x00BBGGRR.
impl Entry for u32 {
    fn from_number(number: u32) -> Self {
        number
    }

    fn number(self) -> u32 {
        self
    }

    #[inline]
    fn read(page: &[u8], texel: usize) -> Self {
        let rgb = &page[texel * 3..texel * 3 + 3];
        Self::from_le_bytes([rgb[0], rgb[1], rgb[2], 0])
    }
}

/// Gives every quad its colour: one entry where its faces share it, else a run of `entries`, appended.
///
/// `colours` must hold entries of the kind `E`.
pub(super) fn colour_quads<E: Entry>(quads: &mut [Quad], colours: &Colours, entries: &mut Vec<E>) {
    for quad in quads {
        let first = entries.len();
        push_cells(*quad, colours, entries);
        let cells = &entries[first..];
        if cells.iter().all(|&cell| cell == cells[0]) {
            quad.set_uniform(cells[0].number());
            entries.truncate(first);
        } else {
            quad.set_first_face_colour(first as u32);
        }
    }
}

/// Appends the entries of a quad's cells, row by row; a row is cut where it passes from brick to brick.
#[inline]
fn push_cells<E: Entry>(quad: Quad, colours: &Colours, entries: &mut Vec<E>) {
    let (along_w, along_h) = quad.face().extent_axes();
    let axis = quad.face().axis();
    let mut voxel = quad.min();
    let (i_first, i_end) = (voxel[along_w], voxel[along_w] + quad.width());
    let j_first = voxel[along_h];
    for j in j_first..j_first + quad.height() {
        voxel[along_h] = j;
        let texel_of_row = texel_along(axis, voxel[axis]) | texel_along(along_h, j);
        let mut i = i_first;
        while i < i_end {
            voxel[along_w] = i;
            let end = i_end.min((i | (BRICK_VOXELS - 1)) + 1);
            let [bx, by, bz] = voxel.map(|c| c / BRICK_VOXELS);
            match colours.brick(bx, by, bz) {
                BrickColours::Page(page) => {
                    entries.extend((i..end).map(|i| E::read(page, texel_of_row | texel_along(along_w, i))));
                }
                BrickColours::Uniform(number) => {
                    entries.extend(std::iter::repeat_n(E::from_number(number), (end - i) as usize));
                }
                // No decoder leaves an occupied voxel without a colour; entry 0 is what `Colours::entry` says of it.
                BrickColours::Air => {
                    entries.extend(std::iter::repeat_n(E::from_number(0), (end - i) as usize));
                }
            }
            i = end;
        }
    }
}

const _: () = assert!(BRICK_VOLUME == 1 << 12, "texels are twelve bits, four an axis");
