//! Which voxels of a region are occupied: a 2 MiB bitset.
//!
//! ```text
//! bit (x, y, z) = bit x % 64 of word x / 64 + 4 * (y + 256 * z)
//!
//! row(y, z) = 4 words = 256 voxels along +x: the unit that the mesher works on
//! ```

use crate::limits::{N_BRICKS, REGION_BRICKS, REGION_VOXELS};

/// Words of a row of 256 voxels.
const ROW_WORDS: usize = REGION_VOXELS as usize / 64;

/// Words of a region.
const REGION_WORDS: usize = ROW_WORDS * (REGION_VOXELS as usize).pow(2);

/// The occupied voxels of a region, one bit each: 2 MiB.
#[derive(Clone, PartialEq, Eq)]
pub struct Occupancy {
    /// Always `REGION_WORDS` long.
    words: Box<[u64]>,
}

impl Occupancy {
    /// A region of air.
    pub fn empty() -> Self {
        Self { words: vec![0; REGION_WORDS].into_boxed_slice() }
    }

    /// Whether the voxel is occupied.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn get(&self, x: u32, y: u32, z: u32) -> bool {
        self.row(y, z)[x as usize / 64] >> (x % 64) & 1 == 1
    }

    /// Occupies or clears one voxel.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn set(&mut self, x: u32, y: u32, z: u32, occupied: bool) {
        let word = &mut self.row_mut(y, z)[x as usize / 64];
        *word = *word & !(1 << (x % 64)) | u64::from(occupied) << (x % 64);
    }

    /// The 256 voxels along +x at (y, z), x lowest bit first.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn row(&self, y: u32, z: u32) -> &[u64; ROW_WORDS] {
        assert!(y < REGION_VOXELS && z < REGION_VOXELS);
        let (rows, _) = self.words.as_chunks();
        &rows[(y + REGION_VOXELS * z) as usize]
    }

    /// The 256 voxels along +x at (y, z), to write.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn row_mut(&mut self, y: u32, z: u32) -> &mut [u64; ROW_WORDS] {
        assert!(y < REGION_VOXELS && z < REGION_VOXELS);
        let (rows, _) = self.words.as_chunks_mut();
        &mut rows[(y + REGION_VOXELS * z) as usize]
    }

    /// All rows, index y + 256 * z.
    pub fn rows(&self) -> &[[u64; ROW_WORDS]] {
        self.words.as_chunks().0
    }

    /// All rows, to write.
    pub fn rows_mut(&mut self) -> &mut [[u64; ROW_WORDS]] {
        self.words.as_chunks_mut().0
    }

    /// Occupied voxels.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether there is nothing but air.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The 256 rows of a brick, 16 voxels along +x each, x lowest bit first: row y % 16 + 16 * (z % 16).
    ///
    /// # Panics
    ///
    /// A brick coordinate is 16 or more.
    pub fn brick_rows(&self, bx: u32, by: u32, bz: u32) -> [u16; 256] {
        assert!(bx < REGION_BRICKS && by < REGION_BRICKS && bz < REGION_BRICKS);
        let (word_idx, shift) = (bx as usize / 4, 16 * (bx % 4));
        std::array::from_fn(|row_idx| {
            let (y, z) = (by * 16 + row_idx as u32 % 16, bz * 16 + row_idx as u32 / 16);
            (self.row(y, z)[word_idx] >> shift) as u16
        })
    }

    /// Occupies the voxels of a brick that the rows name, and clears the others.
    ///
    /// # Panics
    ///
    /// A brick coordinate is 16 or more.
    pub fn set_brick_rows(&mut self, bx: u32, by: u32, bz: u32, brick_rows: &[u16; 256]) {
        assert!(bx < REGION_BRICKS && by < REGION_BRICKS && bz < REGION_BRICKS);
        let (word_idx, shift) = (bx as usize / 4, 16 * (bx % 4));
        for (dz, plane) in brick_rows.as_chunks::<16>().0.iter().enumerate() {
            let first = (by * 16 + REGION_VOXELS * (bz * 16 + dz as u32)) as usize;
            for (row, &bits) in self.rows_mut()[first..][..16].iter_mut().zip(plane) {
                row[word_idx] = row[word_idx] & !(0xFFFF << shift) | u64::from(bits) << shift;
            }
        }
    }

    /// Which bricks hold an occupied voxel.
    pub fn brick_mask(&self) -> BrickMask {
        let mut mask = BrickMask::default();
        for (row_idx, row) in self.rows().iter().enumerate() {
            let (y, z) = (row_idx as u32 % REGION_VOXELS, row_idx as u32 / REGION_VOXELS);
            for (word_idx, &word) in row.iter().enumerate() {
                for lane in 0..4 {
                    if word >> (16 * lane) & 0xFFFF != 0 {
                        mask.insert(word_idx as u32 * 4 + lane, y / 16, z / 16);
                    }
                }
            }
        }
        mask
    }
}

impl std::fmt::Debug for Occupancy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Occupancy").field("count", &self.count()).finish_non_exhaustive()
    }
}

/// A set of a region's bricks: bit bx + 16 * (by + 16 * bz).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrickMask([u64; N_BRICKS / 64]);

impl BrickMask {
    /// Whether the brick is in the set; brick coordinates are 0..16.
    pub fn contains(&self, bx: u32, by: u32, bz: u32) -> bool {
        let bit = Self::bit(bx, by, bz);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Puts the brick into the set.
    pub fn insert(&mut self, bx: u32, by: u32, bz: u32) {
        let bit = Self::bit(bx, by, bz);
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Bricks in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The bricks in the set, [bx, by, bz], bx fastest, then by, then bz.
    pub fn iter(&self) -> impl Iterator<Item = [u32; 3]> {
        self.0.iter().enumerate().flat_map(|(word_idx, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| word_idx as u32 * 64 + rest.trailing_zeros())?;
                rest &= rest - 1;
                Some([bit % REGION_BRICKS, bit / REGION_BRICKS % REGION_BRICKS, bit / REGION_BRICKS.pow(2)])
            })
        })
    }

    fn bit(bx: u32, by: u32, bz: u32) -> usize {
        debug_assert!(bx < REGION_BRICKS && by < REGION_BRICKS && bz < REGION_BRICKS);
        (bx + REGION_BRICKS * (by + REGION_BRICKS * bz)) as usize
    }
}

impl Default for BrickMask {
    fn default() -> Self {
        Self([0; N_BRICKS / 64])
    }
}
