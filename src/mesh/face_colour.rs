//! The colours of the quads' faces, looked up in the bricks' pages.
//!
//! Receives quads and [`Colours`], writes each quad's colour word and appends the entries of those whose faces differ.

use crate::limits::{BRICK_VOXELS, N_BRICKS, REGION_BRICKS};
use crate::mesh::{Face, Quad};
use crate::voxel::{BrickColours, Colours, texel_along};

/// An entry as a mesh keeps it: one byte where there is a palette, else four.
pub(super) trait Entry: Copy + PartialEq {
    /// From the number that [`Colours::entry`] yields.
    fn from_number(number: u32) -> Self;

    /// To that number.
    fn number(self) -> u32;

    /// Reads a texel of a page; `texel` is below 4096.
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

/// What is known of every brick of a region, by bx + 16 * (by + 16 * bz): one load a look-up.
pub(super) struct BrickTable<'a>(Vec<BrickColours<'a>>);

impl<'a> BrickTable<'a> {
    pub(super) fn new(colours: &'a Colours) -> Self {
        let bricks = 0..N_BRICKS as u32;
        let coordinates =
            bricks.map(|idx| [idx, idx / REGION_BRICKS, idx / REGION_BRICKS.pow(2)].map(|c| c % REGION_BRICKS));
        Self(coordinates.map(|[bx, by, bz]| colours.brick(bx, by, bz)).collect())
    }

    /// The brick that holds the voxel.
    #[inline]
    fn of_voxel(&self, voxel: [u32; 3]) -> BrickColours<'a> {
        let [bx, by, bz] = voxel.map(|c| c / BRICK_VOXELS);
        self.0[(bx + REGION_BRICKS * (by + REGION_BRICKS * bz)) as usize]
    }
}

/// Gives every quad its colour: one entry where its faces share it, else a run of `entries`, appended.
///
/// `bricks` must hold entries of the kind `E`, and all quads must be of the one face. One loop an axis, so that each is
/// compiled for its own bit positions.
pub(super) fn colour_quads<E: Entry>(face: Face, quads: &mut [Quad], bricks: &BrickTable<'_>, entries: &mut Vec<E>) {
    match face.axis() {
        0 => colour_quads_across::<E, 0, 1, 2>(quads, bricks, entries),
        1 => colour_quads_across::<E, 1, 0, 2>(quads, bricks, entries),
        _ => colour_quads_across::<E, 2, 0, 1>(quads, bricks, entries),
    }
}

/// As [`colour_quads`], for quads across the axis `N`, whose width runs along `W` and whose height along `H`.
fn colour_quads_across<E: Entry, const N: usize, const W: usize, const H: usize>(
    quads: &mut [Quad],
    bricks: &BrickTable<'_>,
    entries: &mut Vec<E>,
) {
    for quad in quads {
        let voxel = Quad::min(*quad);
        if quad.width() == 1 && quad.height() == 1 {
            // Five of six quads in noise, and half of those of a landscape.
            let texel = texel_along(0, voxel[0]) | texel_along(1, voxel[1]) | texel_along(2, voxel[2]);
            quad.set_uniform(brick_entry::<E>(bricks.of_voxel(voxel), texel).number());
            continue;
        }
        let first = entries.len();
        for j in voxel[H]..voxel[H] + quad.height() {
            let mut at = voxel;
            at[H] = j;
            let texel_of_row = texel_along(N, at[N]) | texel_along(H, j);
            push_row::<E, W>(at, quad.width(), texel_of_row, bricks, entries);
        }
        let cells = &entries[first..];
        if cells.iter().all(|&cell| cell == cells[0]) {
            quad.set_uniform(cells[0].number());
            entries.truncate(first);
        } else {
            quad.set_first_face_colour(first as u32);
        }
    }
}

/// Appends the entries of `w` cells from `at` along the axis `W`, a piece a brick.
#[inline]
fn push_row<E: Entry, const W: usize>(
    mut at: [u32; 3],
    w: u32,
    texel_of_row: usize,
    bricks: &BrickTable<'_>,
    entries: &mut Vec<E>,
) {
    let end = at[W] + w;
    while at[W] < end {
        let piece_end = end.min((at[W] | (BRICK_VOXELS - 1)) + 1);
        let brick = bricks.of_voxel(at);
        entries.extend((at[W]..piece_end).map(|i| brick_entry::<E>(brick, texel_of_row | texel_along(W, i))));
        at[W] = piece_end;
    }
}

/// The entry of a texel; 0 where a brick has no colours, as [`Colours::entry`] has it.
#[inline]
fn brick_entry<E: Entry>(brick: BrickColours<'_>, texel: usize) -> E {
    match brick {
        BrickColours::Page(page) => E::read(page, texel),
        BrickColours::Uniform(number) => E::from_number(number),
        BrickColours::Air => E::from_number(0),
    }
}
