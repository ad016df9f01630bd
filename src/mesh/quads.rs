//! Greedy merging: a plane of exposed faces becomes few rectangles that cover each of them once.
//!
//! Receives a [`MaskPlane`] and appends quads, which a closure makes of (i, j, w, h); it knows neither axes nor colours.
//!
//! ```text
//! word j      ..####..##.#     each run of faces in a word, from the left:
//! word j + 1  .######..#.#       as wide as it is, then as high as the words below hold all of it,
//! word j + 2  ..###......#       whose faces it takes away
//!               ^^^^  ^
//! ```
//!
//! The plane's four stacks of words come one after the other. A run that reaches the right edge of its stack goes on in
//! the next ones, of which nothing has been taken except by runs like it.
//!
//! A plane can be consumed in parts, each a range of stacks and of blocks of 64 rows. What lies to the right of a part or
//! below it must have been consumed before: then no run of it leaves the part, since there is nothing left to grow into.

use std::ops::Range;

use crate::mesh::Quad;
use crate::mesh::faces::{MaskPlane, N_STACKS, Row};

/// Blocks of 64 rows in a plane, top to bottom.
pub(super) const N_BLOCKS: usize = 4;

/// Consumes the plane and appends its quads: stack by stack, rows ascending.
#[inline]
pub(super) fn merge_plane(
    plane: &mut MaskPlane,
    quads: &mut Vec<Quad>,
    quad_at: impl Fn(u32, u32, u32, u32) -> Quad + Copy,
) {
    merge_part(plane, 0..N_STACKS, 0..N_BLOCKS, quads, quad_at);
}

/// Consumes a part of the plane and appends its quads: stack by stack, rows ascending.
#[inline]
pub(super) fn merge_part(
    plane: &mut MaskPlane,
    stacks: Range<usize>,
    blocks: Range<usize>,
    quads: &mut Vec<Quad>,
    quad_at: impl Fn(u32, u32, u32, u32) -> Quad + Copy,
) {
    for stack in stacks {
        for block in blocks.clone() {
            // Looked at again each time: quads take words away that are still to come.
            while plane.live[stack][block] != 0 {
                let j = block * 64 + plane.live[stack][block].trailing_zeros() as usize;
                plane.live[stack][block] &= plane.live[stack][block] - 1;
                merge_word(plane, stack, j, quads, |bit, w, h| quad_at(stack as u32 * 64 + bit, j as u32, w, h));
            }
        }
    }
}

/// Splits a word into runs and grows each into the words below.
#[inline]
fn merge_word(
    plane: &mut MaskPlane,
    stack: usize,
    j: usize,
    quads: &mut Vec<Quad>,
    quad_at: impl Fn(u32, u32, u32) -> Quad + Copy,
) {
    let word = std::mem::take(&mut plane.stacks[stack][j]);
    let to_right = if stack + 1 < N_STACKS { plane.stacks[stack + 1][j] << 63 } else { 0 };
    let mut starts = word & !(word << 1);
    let mut ends = word & !(word >> 1 | to_right);

    // Faces that have no neighbour to the left or right and none below: in noise most of them.
    let lone = starts & ends & !plane.stacks[stack][j + 1];
    if lone & lone.wrapping_sub(1) != 0 {
        push_lone(lone, quads, |bit| quad_at(bit, 1, 1));
        starts ^= lone;
        ends ^= lone;
    }
    while starts != 0 {
        let start = starts.trailing_zeros();
        starts &= starts - 1;
        if ends != 0 {
            let end = ends.trailing_zeros();
            ends &= ends - 1;
            let run = u64::MAX >> (63 - end) & u64::MAX << start;
            let h = grow(run, &mut plane.stacks[stack], &mut plane.live[stack], j);
            quads.push(quad_at(start, end - start + 1, h));
        } else {
            let (w, h) = grow_across_stacks(u64::MAX << start, plane, stack, j);
            quads.push(quad_at(start, w, h));
        }
    }
}

/// Appends a quad for each bit, eight at a time whether there are eight or not: a loop that ends with the last bit would
/// be mispredicted once a word.
#[inline]
fn push_lone(mut bits: u64, quads: &mut Vec<Quad>, quad_at: impl Fn(u32) -> Quad) {
    let end = quads.len() + bits.count_ones() as usize;
    while bits != 0 {
        quads.extend((0..8).map(|_| {
            // The highest bit stands in where there is none left.
            let quad = quad_at((bits | 1 << 63).trailing_zeros());
            bits &= bits.wrapping_sub(1);
            quad
        }));
    }
    quads.truncate(end);
}

/// Takes the run away from as many of the words below word j as hold all of it, and yields its height.
#[inline]
fn grow<const N: usize>(run: u64, words: &mut [u64; N], live: &mut Row, j: usize) -> u32 {
    let mut end = j + 1;
    while words[end] & run == run {
        words[end] ^= run;
        live[end / 64] &= !(u64::from(words[end] == 0) << (end % 64));
        end += 1;
    }
    (end - j) as u32
}

/// As [`grow`], for a run that goes on in the stacks to the right, from which it is taken away in row j, too. Yields
/// its width and height.
fn grow_across_stacks(first: u64, plane: &mut MaskPlane, stack: usize, j: usize) -> (u32, u32) {
    let stacks = &mut plane.stacks[stack..];
    let mut run = [0; N_STACKS];
    run[0] = first;
    for (run, words) in run.iter_mut().zip(&mut *stacks).skip(1) {
        let n_bits = words[j].trailing_ones();
        *run = u64::MAX.checked_shr(64 - n_bits).unwrap_or(0);
        words[j] ^= *run;
        if n_bits < 64 {
            break;
        }
    }
    let mut end = j + 1;
    while stacks.iter().zip(run).all(|(words, run)| words[end] & run == run) {
        for (words, run) in stacks.iter_mut().zip(run) {
            words[end] ^= run;
        }
        end += 1;
    }
    (run.iter().map(|word| word.count_ones()).sum(), (end - j) as u32)
}
