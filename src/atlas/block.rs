//! A brick's bits, from the order of the atlas to the order of the region and back.
//!
//! A block is 64 rows of 64 pixels, one bit each; a brick is 256 rows of 16 voxels along +x. Both number the same 4096
//! bits with 12 index bits, in another order, so that the way between them is a permutation of index bits:
//!
//! ```text
//! block   word v = (z3 x3 y2 z1 x1 y0)   bit u = (y3 z2 x2 y1 z0 x0)
//! swap    x1 with z0, x3 with z2: two delta-swap passes over the 64 words
//!         word   = (z3 z2 y2 z1 z0 y0)   bit   = (y3 x3 x2 y1 x1 x0)
//! brick   row    = (z3 z2 z1 z0 y3 y2 y1 y0)   bit = (x3 x2 x1 x0): the bits of one nibble in two, gathered
//! ```
//!
//! Everything is plain shifts and masks: the nibble gather takes six operations for two rows, no more than `pext` and
//! its shifts would, and is the same on every machine.

/// The occupied pixels of a block: word v, bit u.
pub(crate) type BlockBits = [u64; 64];

/// The occupied voxels of a brick: row y + 16 * z, bit x.
pub(crate) type BrickRows = [u16; 256];

/// The brick that a block stands for.
pub(crate) fn rows_from_block(block: &BlockBits) -> BrickRows {
    let mut words = *block;
    swap_index_bits(&mut words);
    let mut rows = [0; 256];
    for (word_idx, &word) in words.iter().enumerate() {
        let row = row_of_word(word_idx);
        for y1 in 0..2 {
            let pair = gather_nibbles(word >> (4 * y1));
            rows[row | y1 << 1] = pair as u16;
            rows[row | y1 << 1 | 1 << 3] = (pair >> 32) as u16;
        }
    }
    rows
}

/// The block that stands for a brick: the inverse of [`rows_from_block`].
pub(crate) fn block_from_rows(rows: &BrickRows) -> BlockBits {
    let mut words = [0; 64];
    for (word_idx, word) in words.iter_mut().enumerate() {
        let row = row_of_word(word_idx);
        for y1 in 0..2 {
            let pair = u64::from(rows[row | y1 << 1]) | u64::from(rows[row | y1 << 1 | 1 << 3]) << 32;
            *word |= spread_nibbles(pair) << (4 * y1);
        }
    }
    swap_index_bits(&mut words);
    words
}

/// The row that a word's index names once the index bits are swapped, y1 and y3 still zero.
fn row_of_word(word_idx: usize) -> usize {
    let bit = |from: usize, to: usize| (word_idx >> from & 1) << to;
    bit(0, 0) | bit(1, 4) | bit(2, 5) | bit(3, 2) | bit(4, 6) | bit(5, 7)
}

/// Swaps word bit 1 with bit 1, and word bit 4 with bit 4. Its own inverse.
fn swap_index_bits(words: &mut BlockBits) {
    delta_swap::<2, 2>(words, 0x3333_3333_3333_3333);
    delta_swap::<16, 16>(words, 0x0000_FFFF_0000_FFFF);
}

/// Swaps the bits `BITS` above `low` of each word with the bits `low` of the word `WORDS` further on.
fn delta_swap<const WORDS: usize, const BITS: u32>(words: &mut BlockBits, low: u64) {
    for group in words.chunks_exact_mut(2 * WORDS) {
        let (near, far) = group.split_at_mut(WORDS);
        for (near, far) in near.iter_mut().zip(far) {
            let differing = (*near >> BITS ^ *far) & low;
            *near ^= differing << BITS;
            *far ^= differing;
        }
    }
}

/// The low nibble of every byte, packed to 16 bits in each half.
const fn gather_nibbles(word: u64) -> u64 {
    let word = word & 0x0F0F_0F0F_0F0F_0F0F;
    let word = (word | word >> 4) & 0x00FF_00FF_00FF_00FF;
    (word | word >> 8) & 0x0000_FFFF_0000_FFFF
}

/// The inverse of [`gather_nibbles`].
const fn spread_nibbles(pair: u64) -> u64 {
    let word = (pair | pair << 8) & 0x00FF_00FF_00FF_00FF;
    (word | word << 4) & 0x0F0F_0F0F_0F0F_0F0F
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::voxel::texel_in_brick;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_block_and_its_brick_hold_the_same_voxels(block in prop::array::uniform32(any::<[u64; 2]>())) {
            let block: BlockBits = std::array::from_fn(|v| block[v / 2][v % 2]);
            let rows = rows_from_block(&block);
            for z in 0..16 {
                for y in 0..16 {
                    for x in 0..16 {
                        let texel = texel_in_brick(x, y, z);
                        let in_block = block[texel / 64] >> (texel % 64) & 1;
                        let in_brick = rows[(y + 16 * z) as usize] >> x & 1;
                        prop_assert_eq!(in_block, u64::from(in_brick), "({}, {}, {})", x, y, z);
                    }
                }
            }
            prop_assert_eq!(block_from_rows(&rows), block);
        }
    }
}
