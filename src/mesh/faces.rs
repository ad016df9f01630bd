//! Which faces are exposed: masks of 256 x 256 faces, a plane at a time, culled 64 faces an instruction.
//!
//! Owns the working memory of culling. Receives an occupancy, a border and a direction, yields one [`MaskPlane`] after
//! the other; it does not merge them.
//!
//! ```text
//! a voxel's face is exposed where the voxel is occupied and the next voxel along the normal is not:
//!
//!     exposed = row & !next_row          256 faces in four words
//!
//! The rows of a plane are always those of the quad's first extent axis:
//!
//!     z faces   rows along x of slab z            the occupancy's rows, and a slab is contiguous
//!     y faces   rows along x at y, one a slab     the occupancy's rows, 8 KiB apart
//!     x faces   rows along y at x, one a slab     slabs with x and y swapped, a word of 64 y after the other
//! ```
//!
//! The octants of a region can be closed on their own: then what lies beyond the middle counts as air.
//!
//! x and y planes are gathered sixteen at once, since reading one row a slab for a single plane would put all 256 of
//! them into one set of the L1 cache. Most rows along y are air above the roofs, so that x faces are culled by the word.

use crate::limits::REGION_VOXELS;
use crate::mesh::{BorderPolicy, Face};
use crate::voxel::Occupancy;

/// 256 voxels or faces, lowest bit first.
pub(super) type Row = [u64; 4];

/// 256 rows.
pub(super) type Plane = [Row; SIDE];

/// No bit set.
pub(super) const ROW_EMPTY: Row = [0; 4];

/// Every bit set.
pub(super) const ROW_FULL: Row = [u64::MAX; 4];

/// Edge of a region, as an index.
const SIDE: usize = REGION_VOXELS as usize;

/// Edge of an octant, as an index: where the upper ones begin.
pub(super) const MIDDLE: usize = SIDE / 2;

/// Stacks of words in a plane, left to right.
pub(super) const N_STACKS: usize = SIDE / 64;

/// Planes gathered at once: eight cache lines a slab, and 128 KiB of masks, which stay in the L2 cache.
const PLANES_AT_ONCE: usize = 16;

/// The exposed faces of one plane, in four stacks of words: word j of stack w holds faces 64 w.. of row j.
///
/// Whoever receives one consumes it: it must be all zero again afterwards.
#[derive(Debug, Clone)]
pub(super) struct MaskPlane {
    /// A word more than the plane has rows, always zero, so that merging needs no end test.
    pub(super) stacks: [[u64; SIDE + 1]; N_STACKS],
    /// Bit j of element w is set where word j of stack w is not zero; while a plane is consumed, also where it was.
    pub(super) live: [Row; N_STACKS],
}

impl MaskPlane {
    const EMPTY: Self = Self { stacks: [[0; SIDE + 1]; N_STACKS], live: [ROW_EMPTY; N_STACKS] };

    fn is_empty(&self) -> bool {
        self.live.as_flattened().iter().all(|&word| word == 0)
    }

    /// Sets row j to the faces of `row` that `next` does not hide.
    #[inline]
    fn cull_row(&mut self, j: usize, row: &Row, next: &Row) {
        for (w, (&word, &next)) in row.iter().zip(next).enumerate() {
            self.cull_word(w, j, word, next);
        }
    }

    /// Sets word j of stack w to the faces of `word` that `next` does not hide.
    #[inline]
    fn cull_word(&mut self, w: usize, j: usize, word: u64, next: u64) {
        let exposed = word & !next;
        self.stacks[w][j] = exposed;
        self.live[w][j / 64] |= u64::from(exposed != 0) << (j % 64);
    }
}

/// Whether faces are culled across the middle of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// The region is one surface.
    Region,
    /// Each octant is a surface of its own: its neighbours within the region count as air.
    Octants,
}

/// The working memory of culling, about 2.2 MiB.
#[derive(Debug)]
pub(super) struct FaceMasks {
    /// All zero between uses.
    planes: Box<[MaskPlane]>,
    /// Bit y of element z is set where the row at (y, z) is not empty.
    live: Box<Plane>,
    /// A slab each with x and y swapped.
    columns: Box<[Columns]>,
}

/// A slab with x and y swapped.
#[derive(Debug, Clone)]
struct Columns {
    /// Word x of element w holds the voxels at x, from y = 64 w upwards; all 256 are stale where `live` has no bit for any.
    words: [[u64; SIDE]; 4],
    /// Bit x of element w is set where word x is not zero.
    live: [Row; 4],
}

impl FaceMasks {
    pub(super) fn new() -> Self {
        Self {
            planes: vec![MaskPlane::EMPTY; PLANES_AT_ONCE].into_boxed_slice(),
            live: Box::new([ROW_EMPTY; SIDE]),
            columns: vec![Columns::EMPTY; SIDE].into_boxed_slice(),
        }
    }

    /// Takes up an occupancy: everything that the six directions share. Must come before
    /// [`for_each_plane`](Self::for_each_plane).
    pub(super) fn prepare(&mut self, occupancy: &Occupancy) {
        let (slabs, _) = occupancy.rows().as_chunks::<SIDE>();
        for ((slab, live), columns) in slabs.iter().zip(&mut *self.live).zip(&mut self.columns) {
            for (w, rows) in slab.as_chunks::<64>().0.iter().enumerate() {
                live[w] = columns.transpose(w, rows);
            }
        }
    }

    /// Hands `each` the planes of one direction that have exposed faces, in ascending order of the coordinate along
    /// the normal.
    #[inline]
    pub(super) fn for_each_plane(
        &mut self,
        occupancy: &Occupancy,
        border: BorderPolicy<'_>,
        closing: Closing,
        face: Face,
        mut each: impl FnMut(u32, &mut MaskPlane),
    ) {
        let Self { planes, live, columns } = self;
        let beyond = Beyond { outside: border.outside(face), face, closing };
        if face.axis() == 2 {
            return cull_slabs(occupancy.rows(), live, beyond, &mut planes[0], each);
        }
        for first in (0..SIDE).step_by(PLANES_AT_ONCE) {
            if face.axis() == 0 {
                cull_columns(columns, beyond, first, planes);
            } else {
                cull_rows(occupancy.rows(), live, beyond, first, planes);
            }
            for (plane, at) in planes.iter_mut().zip(first as u32..) {
                if !plane.is_empty() {
                    each(at, plane);
                }
            }
        }
    }
}

impl Columns {
    const EMPTY: Self = Self { words: [[0; SIDE]; 4], live: [ROW_EMPTY; 4] };

    /// Takes up 64 rows, those from y = 64 w, and yields which of them are not empty.
    fn transpose(&mut self, w: usize, rows: &[Row; 64]) -> u64 {
        let union = rows.iter().fold(ROW_EMPTY, |union, row| or(&union, row));
        self.live[w] = union;
        if is_empty(&union) {
            return 0;
        }
        let common = rows.iter().fold(ROW_FULL, |common, row| and(&common, row));
        for (x_word, words) in self.words[w].as_chunks_mut::<64>().0.iter_mut().enumerate() {
            if union[x_word] == common[x_word] {
                // All rows are alike, as in air, in the ground and between tall walls.
                for (x, word) in words.iter_mut().enumerate() {
                    *word = 0u64.wrapping_sub(union[x_word] >> x & 1);
                }
            } else {
                *words = std::array::from_fn(|y| rows[y][x_word]);
                transpose_block(words);
            }
        }
        rows.iter().enumerate().fold(0, |live, (y, row)| live | u64::from(!is_empty(row)) << y)
    }
}

/// What lies along the normal of a plane of voxels.
#[derive(Debug, Clone, Copy)]
struct Beyond<'a> {
    /// Outside the region.
    outside: &'a Plane,
    face: Face,
    closing: Closing,
}

/// Where the neighbours of a plane of voxels stand.
#[derive(Debug, Clone, Copy)]
enum Next<'a> {
    /// In the plane at that coordinate.
    Inside(usize),
    /// In a plane of its own.
    Apart(&'a Plane),
}

impl<'a> Beyond<'a> {
    /// The neighbours of the voxels at a coordinate along the normal.
    #[inline]
    fn next(self, at: usize) -> Next<'a> {
        const AIR: &Plane = &[ROW_EMPTY; SIDE];
        // The last plane before the one that the normal runs into, of an octant and of the region.
        let (last_of_half, last) = if self.face.is_positive() { (MIDDLE - 1, SIDE - 1) } else { (MIDDLE, 0) };
        if at == last {
            Next::Apart(self.outside)
        } else if at == last_of_half && self.closing == Closing::Octants {
            Next::Apart(AIR)
        } else {
            Next::Inside(if self.face.is_positive() { at + 1 } else { at - 1 })
        }
    }
}

/// z faces: both a voxel's slab and its neighbour's are contiguous.
#[inline]
fn cull_slabs(
    rows: &[Row],
    live: &Plane,
    beyond: Beyond<'_>,
    plane: &mut MaskPlane,
    mut each: impl FnMut(u32, &mut MaskPlane),
) {
    let (slabs, _) = rows.as_chunks::<SIDE>();
    for (z, slab) in slabs.iter().enumerate() {
        let next = match beyond.next(z) {
            Next::Inside(z) => &slabs[z],
            Next::Apart(plane) => plane,
        };
        for_each_bit(&live[z], |y| plane.cull_row(y, &slab[y], &next[y]));
        if !plane.is_empty() {
            each(z as u32, plane);
        }
    }
}

/// y faces: the planes `first..` as many as there are, a row a slab.
fn cull_rows(rows: &[Row], live: &Plane, beyond: Beyond<'_>, first: usize, planes: &mut [MaskPlane]) {
    let (slabs, _) = rows.as_chunks::<SIDE>();
    for (z, slab) in slabs.iter().enumerate() {
        let mut live = live[z][first / 64] >> (first % 64) & ((1 << PLANES_AT_ONCE) - 1);
        while live != 0 {
            let k = live.trailing_zeros() as usize;
            live &= live - 1;
            let next = match beyond.next(first + k) {
                Next::Inside(y) => &slab[y],
                Next::Apart(plane) => &plane[z],
            };
            planes[k].cull_row(z, &slab[first + k], next);
        }
    }
}

/// x faces: the planes `first..` as many as there are, a word of 64 y after the other.
fn cull_columns(columns: &[Columns], beyond: Beyond<'_>, first: usize, planes: &mut [MaskPlane]) {
    for (z, slab) in columns.iter().enumerate() {
        for (w, (words, live)) in slab.words.iter().zip(&slab.live).enumerate() {
            if live[first / 64] >> (first % 64) & ((1 << PLANES_AT_ONCE) - 1) == 0 {
                continue;
            }
            for (k, plane) in planes.iter_mut().enumerate() {
                let next = match beyond.next(first + k) {
                    Next::Inside(x) => words[x],
                    Next::Apart(plane) => plane[z][w],
                };
                plane.cull_word(w, z, words[first + k], next);
            }
        }
    }
}

#[inline]
fn or(a: &Row, b: &Row) -> Row {
    [a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]]
}

#[inline]
fn and(a: &Row, b: &Row) -> Row {
    [a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]]
}

/// Whether no bit is set.
#[inline]
pub(super) fn is_empty(row: &Row) -> bool {
    row[0] | row[1] | row[2] | row[3] == 0
}

/// Calls `each` with the index of every set bit, ascending.
#[inline]
fn for_each_bit(row: &Row, mut each: impl FnMut(usize)) {
    for (word_idx, &word) in row.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            each(word_idx * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

/// Transposes 64 x 64 bits: blocks of 32 x 32 swap across the diagonal, then those of 16 x 16 within them, down to
/// single bits (Warren, Hacker's Delight, 7-3).
fn transpose_block(block: &mut [u64; 64]) {
    swap_across_diagonal::<32>(block, 0x0000_0000_FFFF_FFFF);
    swap_across_diagonal::<16>(block, 0x0000_FFFF_0000_FFFF);
    swap_across_diagonal::<8>(block, 0x00FF_00FF_00FF_00FF);
    swap_across_diagonal::<4>(block, 0x0F0F_0F0F_0F0F_0F0F);
    swap_across_diagonal::<2>(block, 0x3333_3333_3333_3333);
    swap_across_diagonal::<1>(block, 0x5555_5555_5555_5555);
}

/// Swaps the `SIZE` high bits of the first `SIZE` rows with the `SIZE` low bits of the next ones, in every
/// 2 `SIZE` x 2 `SIZE` block; `low` selects those low bits.
#[inline]
fn swap_across_diagonal<const SIZE: usize>(block: &mut [u64; 64], low: u64) {
    for pair in block.chunks_exact_mut(2 * SIZE) {
        let (upper, lower) = pair.split_at_mut(SIZE);
        for (a, b) in upper.iter_mut().zip(lower) {
            let differing = (*a >> SIZE ^ *b) & low;
            *b ^= differing;
            *a ^= differing << SIZE;
        }
    }
}
