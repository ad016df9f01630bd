//! Which voxels stop light, as the shaders ask for it: `shaders/shared/solids.wgsl` reads these words.
//!
//! Owns the packing. Receives an [`Occupancy`], yields words; a region of a city takes some hundred KiB of the 2 MiB that
//! its occupancy has, since a brick of nothing but air, or of nothing but ground, takes no bits.
//!
//! ```text
//! table    4,096 bricks, two a word, in the order of a brick mask: 0 air, 1 solid, else the brick's number + 2
//! bits     128 words a numbered brick: 64 blocks of 4^3 voxels, two words each
//!              block  x / 4 + 4 * (y / 4) + 16 * (z / 4)           within the brick
//!              bit    x % 4 + 4 * (y % 4) + 16 * (z % 4)           of its 64, the lower word first
//! ```
//!
//! So a ray steps over 16 voxels of air at once, or over four, and needs no other tables for it.

use crate::limits::{BRICK_VOXELS, N_BRICKS, REGION_BRICKS, REGION_VOXELS};
use crate::voxel::Occupancy;

/// The brick holds no voxel.
const AIR: u16 = 0;

/// The brick is full.
const FULL: u16 = 1;

/// What is added to the number of a brick that is neither.
const FIRST_NUMBER: u16 = 2;

/// Words of the table.
const TABLE_WORDS: usize = N_BRICKS / 2;

/// Words of a numbered brick.
const BRICK_WORDS: usize = (BRICK_VOXELS as usize).pow(3) / 32;

/// The occupied voxels of a region, for rays.
///
/// ```
/// use voxatlas::voxel::{Occupancy, Solids};
///
/// let mut occupancy = Occupancy::empty();
/// occupancy.set(17, 200, 3, true);
/// let solids = Solids::of(&occupancy);
/// assert!(solids.get(17, 200, 3) && !solids.get(18, 200, 3));
/// // The table, and one brick.
/// assert_eq!(solids.words().len(), 2048 + 128);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Solids {
    /// Empty where there is no voxel at all.
    words: Vec<u32>,
}

impl Solids {
    /// The voxels of an occupancy.
    pub fn of(occupancy: &Occupancy) -> Self {
        let entries = table(occupancy);
        let n_numbered = entries.iter().filter(|&&entry| entry >= FIRST_NUMBER).count();
        if n_numbered == 0 && entries.iter().all(|&entry| entry == AIR) {
            return Self::default();
        }
        let mut words = Vec::with_capacity(TABLE_WORDS + n_numbered * BRICK_WORDS);
        words.extend(entries.as_chunks::<2>().0.iter().map(|&[low, high]| u32::from(low) | u32::from(high) << 16));
        for (idx, _) in entries.iter().enumerate().filter(|&(_, &entry)| entry >= FIRST_NUMBER) {
            let idx = idx as u32;
            let [bx, by, bz] = [idx, idx / REGION_BRICKS, idx / REGION_BRICKS.pow(2)].map(|c| c % REGION_BRICKS);
            words.extend(pack(&occupancy.brick_rows(bx, by, bz)));
        }
        Self { words }
    }

    /// What the shaders read; empty where there is no voxel.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Bytes of the words.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Whether the voxel is occupied: what the shader does, word for word.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn get(&self, x: u32, y: u32, z: u32) -> bool {
        assert!(x < REGION_VOXELS && y < REGION_VOXELS && z < REGION_VOXELS);
        if self.words.is_empty() {
            return false;
        }
        let brick = x / 16 + REGION_BRICKS * (y / 16 + REGION_BRICKS * (z / 16));
        let entry = self.words[brick as usize / 2] >> (brick % 2 * 16) & 0xFFFF;
        if entry < u32::from(FIRST_NUMBER) {
            return entry == u32::from(FULL);
        }
        let block = x / 4 % 4 + y / 4 % 4 * 4 + z / 4 % 4 * 16;
        let bit = x % 4 + y % 4 * 4 + z % 4 * 16;
        let number = entry as usize - usize::from(FIRST_NUMBER);
        let word = self.words[TABLE_WORDS + number * BRICK_WORDS + (block * 2 + bit / 32) as usize];
        word >> (bit % 32) & 1 == 1
    }
}

/// What the table says of each brick.
fn table(occupancy: &Occupancy) -> [u16; N_BRICKS] {
    let mut entries = [AIR; N_BRICKS];
    let mut n_numbered = 0;
    let (slabs, _) = occupancy.rows().as_chunks::<{ REGION_VOXELS as usize }>();
    for (bz, slabs) in slabs.as_chunks::<{ BRICK_VOXELS as usize }>().0.iter().enumerate() {
        for by in 0..REGION_BRICKS as usize {
            // Of the sixteen bricks along +x: what any of their rows holds, and what all of them hold.
            let (mut any, mut all) = ([0; 4], [u64::MAX; 4]);
            for row in slabs.iter().flat_map(|slab| &slab[by * 16..][..16]) {
                for w in 0..4 {
                    any[w] |= row[w];
                    all[w] &= row[w];
                }
            }
            for bx in 0..REGION_BRICKS as usize {
                let lane = |words: [u64; 4]| (words[bx / 4] >> (bx % 4 * 16)) as u16;
                entries[bx + 16 * (by + 16 * bz)] = match (lane(any), lane(all)) {
                    (0, _) => AIR,
                    (_, u16::MAX) => FULL,
                    _ => {
                        n_numbered += 1;
                        n_numbered - 1 + FIRST_NUMBER
                    }
                };
            }
        }
    }
    entries
}

/// The bits of a brick, from its rows.
fn pack(rows: &[u16; 256]) -> [u32; BRICK_WORDS] {
    let mut words = [0; BRICK_WORDS];
    for (row_idx, &row) in rows.iter().enumerate().filter(|&(_, &row)| row != 0) {
        let (y, z) = (row_idx % 16, row_idx / 16);
        for block_x in 0..4 {
            let nibble = u32::from(row >> (4 * block_x)) & 0xF;
            let block = block_x + y / 4 * 4 + z / 4 * 16;
            let bit = y % 4 * 4 + z % 4 * 16;
            words[block * 2 + bit / 32] |= nibble << (bit % 32);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Boxes of voxels, among them whole bricks.
    fn occupancy() -> impl Strategy<Value = Occupancy> {
        let corner = || (0_u32..256, 0_u32..256, 0_u32..256);
        prop::collection::vec((corner(), corner(), any::<bool>(), any::<bool>()), 0..12).prop_map(|boxes| {
            let mut occupancy = Occupancy::empty();
            for (a, b, occupied, whole_bricks) in boxes {
                let range = |a: u32, b: u32| {
                    let (low, high) = (a.min(b), (a.max(b) + 1).min(a.min(b) + 50));
                    if whole_bricks { low / 16 * 16..high.next_multiple_of(16) } else { low..high }
                };
                for z in range(a.2, b.2) {
                    for y in range(a.1, b.1) {
                        for x in range(a.0, b.0) {
                            occupancy.set(x, y, z, occupied);
                        }
                    }
                }
            }
            occupancy
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_voxel_is_found_again(occupancy in occupancy()) {
            let solids = Solids::of(&occupancy);
            for z in 0..256 {
                for y in 0..256 {
                    for x in 0..256 {
                        prop_assert_eq!(solids.get(x, y, z), occupancy.get(x, y, z), "{} {} {}", x, y, z);
                    }
                }
            }
        }
    }

    #[test]
    fn ground_and_air_take_no_bits() {
        assert_eq!(Solids::of(&Occupancy::empty()).words(), &[] as &[u32]);
        let mut ground = Occupancy::empty();
        for z in 0..256 {
            (0..32).for_each(|y| *ground.row_mut(y, z) = [u64::MAX; 4]);
        }
        assert_eq!(Solids::of(&ground).words().len(), TABLE_WORDS);
    }

    #[test]
    fn the_worst_region_takes_two_mebibytes_and_its_table() {
        let mut occupancy = Occupancy::empty();
        for (idx, row) in occupancy.rows_mut().iter_mut().enumerate() {
            *row = [if (idx % 256 + idx / 256) % 2 == 0 { 0xAAAA_AAAA_AAAA_AAAA } else { 0x5555_5555_5555_5555 }; 4];
        }
        assert_eq!(Solids::of(&occupancy).size_bytes(), (2 << 20) + 4 * TABLE_WORDS);
    }
}
