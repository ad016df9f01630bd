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
//!     x faces   rows along y at x, one a slab     the rows of the transposed occupancy (x and y swapped), 8 KiB apart
//! ```
//!
//! So x faces are the y faces of the transposed occupancy. Sixteen such planes are gathered at once, since reading one
//! row a slab for a single plane would put all 256 of them into one set of the L1 cache.

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

/// Planes gathered at once: eight cache lines a slab, and 128 KiB of masks, which stay in the L2 cache.
const PLANES_AT_ONCE: usize = 16;

/// The exposed faces of one plane.
///
/// Whoever receives one consumes it: it must be all zero again afterwards.
#[derive(Debug, Clone)]
pub(super) struct MaskPlane {
    /// A row more than the plane has, always empty, so that merging needs no end test.
    pub(super) rows: [Row; SIDE + 1],
    /// Bit j is set where row j has an exposed face.
    pub(super) live: Row,
}

impl MaskPlane {
    const EMPTY: Self = Self { rows: [ROW_EMPTY; SIDE + 1], live: ROW_EMPTY };

    /// Sets row j to the faces of `row` that `next` does not hide.
    #[inline]
    fn cull_row(&mut self, j: usize, row: &Row, next: &Row) {
        let exposed = exposed(row, next);
        self.rows[j] = exposed;
        self.live[j / 64] |= u64::from(!is_empty(&exposed)) << (j % 64);
    }
}

/// The working memory of culling, about 2.2 MiB.
#[derive(Debug)]
pub(super) struct FaceMasks {
    /// All zero between uses.
    planes: Box<[MaskPlane]>,
    /// Of the occupancy: bit y of element z is set where the row at (y, z) is not empty.
    live: Box<Plane>,
    /// The occupancy with x and y swapped: the row at x + 256 * z holds the voxels along +y.
    transposed: Box<[Row]>,
    /// Of the transposed occupancy: bit x of element z is set where the row at (x, z) is not empty.
    transposed_live: Box<Plane>,
}

impl FaceMasks {
    pub(super) fn new() -> Self {
        Self {
            planes: vec![MaskPlane::EMPTY; PLANES_AT_ONCE].into_boxed_slice(),
            live: Box::new([ROW_EMPTY; SIDE]),
            transposed: vec![ROW_EMPTY; SIDE * SIDE].into_boxed_slice(),
            transposed_live: Box::new([ROW_EMPTY; SIDE]),
        }
    }

    /// Takes up an occupancy: everything that the six directions share. Must come before
    /// [`for_each_plane`](Self::for_each_plane).
    pub(super) fn prepare(&mut self, occupancy: &Occupancy) {
        let (slabs, _) = occupancy.rows().as_chunks::<SIDE>();
        let (transposed_slabs, _) = self.transposed.as_chunks_mut::<SIDE>();
        for (z, (slab, transposed)) in slabs.iter().zip(transposed_slabs).enumerate() {
            self.live[z] = live_rows(slab);
            let columns = slab.iter().fold(ROW_EMPTY, |union, row| or(&union, row));
            // The transposed slab still holds the last region: an empty one is cleared only where that was not empty.
            if !is_empty(&columns) || !is_empty(&self.transposed_live[z]) {
                transpose_slab(slab, transposed);
            }
            self.transposed_live[z] = columns;
        }
    }

    /// Hands `each` the planes of one direction that have exposed faces, in ascending order of the coordinate along
    /// the normal.
    #[inline]
    pub(super) fn for_each_plane(
        &mut self,
        occupancy: &Occupancy,
        border: BorderPolicy<'_>,
        face: Face,
        mut each: impl FnMut(u32, &mut MaskPlane),
    ) {
        let outside = border.outside(face);
        let (rows, live) = match face.axis() {
            0 => (&*self.transposed, &*self.transposed_live),
            1 => (occupancy.rows(), &*self.live),
            _ => return cull_slabs(occupancy.rows(), &self.live, outside, face, &mut self.planes[0], each),
        };
        for first in (0..SIDE).step_by(PLANES_AT_ONCE) {
            cull_across_slabs(rows, live, outside, face, first, &mut self.planes);
            for (plane, at) in self.planes.iter_mut().zip(first as u32..) {
                if !is_empty(&plane.live) {
                    each(at, plane);
                }
            }
        }
    }
}

/// z faces: both a voxel's slab and its neighbour's are contiguous.
#[inline]
fn cull_slabs(
    rows: &[Row],
    live: &Plane,
    outside: &Plane,
    face: Face,
    plane: &mut MaskPlane,
    mut each: impl FnMut(u32, &mut MaskPlane),
) {
    let (slabs, _) = rows.as_chunks::<SIDE>();
    for (z, slab) in slabs.iter().enumerate() {
        let next = step(z, face).map_or(outside, |z| &slabs[z]);
        for_each_bit(&live[z], |y| plane.cull_row(y, &slab[y], &next[y]));
        if !is_empty(&plane.live) {
            each(z as u32, plane);
        }
    }
}

/// y faces, and x faces of the transposed occupancy: the planes `first..` as many as there are, a row a slab.
fn cull_across_slabs(rows: &[Row], live: &Plane, outside: &Plane, face: Face, first: usize, planes: &mut [MaskPlane]) {
    let (slabs, _) = rows.as_chunks::<SIDE>();
    for (z, slab) in slabs.iter().enumerate() {
        let mut live = live[z][first / 64] >> (first % 64) & ((1 << PLANES_AT_ONCE) - 1);
        while live != 0 {
            let k = live.trailing_zeros() as usize;
            live &= live - 1;
            let next = step(first + k, face).map_or(&outside[z], |at| &slab[at]);
            planes[k].cull_row(z, &slab[first + k], next);
        }
    }
}

/// The next coordinate along the normal, unless it lies outside.
#[inline]
fn step(at: usize, face: Face) -> Option<usize> {
    if face.is_positive() { Some(at + 1).filter(|&at| at < SIDE) } else { at.checked_sub(1) }
}

#[inline]
fn exposed(row: &Row, next: &Row) -> Row {
    [row[0] & !next[0], row[1] & !next[1], row[2] & !next[2], row[3] & !next[3]]
}

#[inline]
fn or(a: &Row, b: &Row) -> Row {
    [a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]]
}

/// Whether no bit is set.
#[inline]
pub(super) fn is_empty(row: &Row) -> bool {
    row[0] | row[1] | row[2] | row[3] == 0
}

/// Calls `each` with the index of every set bit, ascending.
#[inline]
pub(super) fn for_each_bit(row: &Row, mut each: impl FnMut(usize)) {
    for (word_idx, &word) in row.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            each(word_idx * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

/// Bit y is set where row y is not empty.
fn live_rows(slab: &Plane) -> Row {
    let mut live = ROW_EMPTY;
    for (y, row) in slab.iter().enumerate() {
        live[y / 64] |= u64::from(!is_empty(row)) << (y % 64);
    }
    live
}

/// Swaps rows and bits of a slab, 64 x 64 bits at a time.
fn transpose_slab(slab: &Plane, transposed: &mut Plane) {
    for y_word in 0..4 {
        for x_word in 0..4 {
            let mut block = [0; 64];
            let (mut union, mut common) = (0, u64::MAX);
            for (word, row) in block.iter_mut().zip(&slab[y_word * 64..]) {
                *word = row[x_word];
                union |= *word;
                common &= *word;
            }
            if union == common {
                // All rows are alike, as in air, in the ground and between tall walls.
                for (x, word) in block.iter_mut().enumerate() {
                    *word = 0u64.wrapping_sub(union >> x & 1);
                }
            } else {
                transpose_block(&mut block);
            }
            for (row, word) in transposed[x_word * 64..].iter_mut().zip(block) {
                row[y_word] = word;
            }
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
