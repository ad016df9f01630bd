//! Greedy merging: a plane of exposed faces becomes few rectangles that cover each of them once.
//!
//! Receives a [`MaskPlane`] and appends quads, which a closure makes of (i, j, w, h); it knows neither axes nor colours.
//!
//! ```text
//! row j      ..####..##.#     each run of faces, from the left:
//! row j + 1  .######..#.#       a face without run neighbours and none below it is a quad of its own;
//! row j + 2  ..###......#       any other run grows downwards while the next row holds all of it,
//!              ^^^^  ^          and takes those faces away
//! ```
//!
//! A run is as wide as it can be, then as high: the same rule as in most voxel games, here on whole rows of bits.

use bytemuck::Zeroable as _;

use crate::mesh::Quad;
use crate::mesh::faces::{MaskPlane, ROW_EMPTY, Row, for_each_bit, is_empty};

/// Consumes the plane and appends its quads: rows ascending, and a word's lone faces before its other runs.
#[inline]
pub(super) fn merge_plane(
    plane: &mut MaskPlane,
    quads: &mut Vec<Quad>,
    quad_at: impl Fn(u32, u32, u32, u32) -> Quad + Copy,
) {
    let live = std::mem::take(&mut plane.live);
    for_each_bit(&live, |j| {
        let (row, below) = plane.rows[j..].split_first_mut().expect("a live row has a row below it");
        let row = std::mem::take(row);
        if !is_empty(&row) {
            merge_row(&row, below, quads, |i, w, h| quad_at(i, j as u32, w, h));
        }
    });
}

/// Splits a row into runs and grows each into the rows `below`, the last of which is empty.
#[inline]
fn merge_row(row: &Row, below: &mut [Row], quads: &mut Vec<Quad>, quad_at: impl Fn(u32, u32, u32) -> Quad + Copy) {
    for word_idx in 0..4 {
        let word = row[word_idx];
        if word == 0 {
            continue;
        }
        let from_left = if word_idx > 0 { row[word_idx - 1] >> 63 } else { 0 };
        let to_right = if word_idx < 3 { row[word_idx + 1] << 63 } else { 0 };
        let starts = word & !(word << 1 | from_left);
        // The first end, if there is one in this word, may be that of a run which began in an earlier word.
        let is_continued = word & from_left;
        let ends = word & !(word >> 1 | to_right);
        let ends = ends & ends.wrapping_sub(is_continued);

        // A face that has no neighbour to the left or right and none below: in noise most of them.
        let lone = starts & ends & !below[0][word_idx];
        if lone != 0 {
            push_lone(lone, quads, |bit| quad_at(word_idx as u32 * 64 + bit, 1, 1));
        }
        let mut starts = starts ^ lone;
        let mut ends = ends ^ lone;
        while starts != 0 {
            let start = starts.trailing_zeros();
            starts &= starts - 1;
            let i = word_idx as u32 * 64 + start;
            if ends != 0 {
                let end = ends.trailing_zeros();
                ends &= ends - 1;
                let run = u64::MAX >> (63 - end) & u64::MAX << start;
                quads.push(quad_at(i, end - start + 1, 1 + grow_within_word(run, word_idx, below)));
            } else {
                let run = run_across_words(row, word_idx, start);
                let w = run.iter().map(|word| word.count_ones()).sum();
                quads.push(quad_at(i, w, 1 + grow(&run, below)));
            }
        }
    }
}

/// Appends a quad for each bit, eight at a time whether there are eight or not: a loop that ends with the last bit would
/// be mispredicted once a word.
#[inline]
fn push_lone(mut bits: u64, quads: &mut Vec<Quad>, quad_at: impl Fn(u32) -> Quad) {
    let end = quads.len() + bits.count_ones() as usize;
    while bits != 0 {
        let at = quads.len();
        quads.resize(at + 8, Quad::zeroed());
        for quad in &mut quads[at..] {
            // The highest bit stands in where there is none left.
            *quad = quad_at((bits | 1 << 63).trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
    }
    quads.truncate(end);
}

/// Takes the run away from as many of the rows as hold all of it, and yields their number.
#[inline]
fn grow_within_word(run: u64, word_idx: usize, below: &mut [Row]) -> u32 {
    let mut h = 0;
    for row in below {
        if row[word_idx] & run != run {
            break;
        }
        row[word_idx] ^= run;
        h += 1;
    }
    h
}

/// As [`grow_within_word`], for a run in several words.
fn grow(run: &Row, below: &mut [Row]) -> u32 {
    let mut h = 0;
    for row in below {
        let held = [row[0] & run[0], row[1] & run[1], row[2] & run[2], row[3] & run[3]];
        if held != *run {
            break;
        }
        *row = [row[0] ^ run[0], row[1] ^ run[1], row[2] ^ run[2], row[3] ^ run[3]];
        h += 1;
    }
    h
}

/// The run that begins at bit `start` of a word and goes on in the next one.
fn run_across_words(row: &Row, word_idx: usize, start: u32) -> Row {
    let mut run = ROW_EMPTY;
    run[word_idx] = u64::MAX << start;
    for next_idx in word_idx + 1..4 {
        let n_bits = row[next_idx].trailing_ones();
        run[next_idx] = u64::MAX.checked_shr(64 - n_bits).unwrap_or(0);
        if n_bits < 64 {
            break;
        }
    }
    run
}
