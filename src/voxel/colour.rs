//! The colours of a region's occupied voxels, kept a brick at a time.
//!
//! A brick is one 64 x 64 block of the atlas, and its *page* is that block's pixels, row by row: filling it from a
//! strip is 64 short copies. Bricks of air have no page, bricks of one colour (most of the ground) one entry.

use crate::limits::{BRICK_VOLUME, BRICK_VOXELS, N_BRICKS, REGION_BRICKS};

/// An sRGB colour, 8 bits a channel.
pub type Colour = [u8; 3];

/// Marks a brick that holds no voxel.
const NONE: u32 = u32::MAX;

/// Marks a brick whose voxels share one entry; the entry stands in the low bits.
const UNIFORM: u32 = 1 << 31;

/// How the entries of the pages are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColourDepth {
    /// One byte a voxel, an index into the palette of at most 256 colours.
    Indexed(Vec<Colour>),
    /// Three bytes a voxel: red, green, blue.
    Direct,
}

impl ColourDepth {
    /// Bytes of one voxel's entry in a page.
    pub fn entry_bytes(&self) -> usize {
        match self {
            Self::Indexed(_) => 1,
            Self::Direct => 3,
        }
    }
}

/// How the colours of one brick are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrickColours<'a> {
    /// The brick holds no voxel.
    Air,
    /// Its voxels share this entry.
    Uniform(u32),
    /// An entry a voxel, at [`texel_in_brick`].
    Page(&'a [u8]),
}

/// The colours of a region's occupied voxels.
///
/// What an air voxel of a paged brick holds is unspecified: ask the occupancy first.
#[derive(Debug, Clone)]
pub struct Colours {
    depth: ColourDepth,
    /// By brick, bx + 16 * (by + 16 * bz): [`NONE`], [`UNIFORM`] | entry, or the page's number.
    bricks: Box<[u32]>,
    /// The pages one after the other, each [`BRICK_VOLUME`] entries.
    pages: Vec<u8>,
}

impl Colours {
    /// Colours of no voxel.
    pub fn new(depth: ColourDepth) -> Self {
        Self { depth, bricks: vec![NONE; N_BRICKS].into_boxed_slice(), pages: Vec::new() }
    }

    /// How entries are read.
    pub fn depth(&self) -> &ColourDepth {
        &self.depth
    }

    /// Gives a brick one entry for all its voxels: a palette index, or 0x00BBGGRR for [`ColourDepth::Direct`].
    pub fn set_uniform(&mut self, bx: u32, by: u32, bz: u32, entry: u32) {
        debug_assert!(entry < UNIFORM);
        self.bricks[brick_idx(bx, by, bz)] = UNIFORM | entry;
    }

    /// Gives a brick a page of its own and yields it, to be filled in block row order (see [`texel_in_brick`]).
    pub fn add_page(&mut self, bx: u32, by: u32, bz: u32) -> &mut [u8] {
        let page_bytes = BRICK_VOLUME * self.depth.entry_bytes();
        let page_idx = self.pages.len() / page_bytes;
        self.bricks[brick_idx(bx, by, bz)] = page_idx as u32;
        self.pages.resize((page_idx + 1) * page_bytes, 0);
        &mut self.pages[page_idx * page_bytes..]
    }

    /// The colours of the brick that holds a voxel, for those who visit many of its voxels.
    #[inline]
    pub fn brick_of(&self, [x, y, z]: [u32; 3]) -> BrickColours<'_> {
        let brick = self.bricks[brick_idx(x / BRICK_VOXELS, y / BRICK_VOXELS, z / BRICK_VOXELS)];
        if brick == NONE {
            BrickColours::Air
        } else if brick & UNIFORM != 0 {
            BrickColours::Uniform(brick & !UNIFORM)
        } else {
            let page_bytes = BRICK_VOLUME * self.depth.entry_bytes();
            BrickColours::Page(&self.pages[brick as usize * page_bytes..][..page_bytes])
        }
    }

    /// The entry of a voxel: a palette index, or 0x00BBGGRR for [`ColourDepth::Direct`]. Unspecified in air.
    pub fn entry(&self, x: u32, y: u32, z: u32) -> u32 {
        let brick = self.bricks[brick_idx(x / 16, y / 16, z / 16)];
        if brick == NONE {
            return 0;
        }
        if brick & UNIFORM != 0 {
            return brick & !UNIFORM;
        }
        let idx = brick as usize * BRICK_VOLUME + texel_in_brick(x, y, z);
        match &self.depth {
            ColourDepth::Indexed(_) => u32::from(self.pages[idx]),
            ColourDepth::Direct => {
                let [r, g, b] = [self.pages[idx * 3], self.pages[idx * 3 + 1], self.pages[idx * 3 + 2]];
                u32::from_le_bytes([r, g, b, 0])
            }
        }
    }

    /// The colour of a voxel. Unspecified in air.
    pub fn get(&self, x: u32, y: u32, z: u32) -> Colour {
        let entry = self.entry(x, y, z);
        match &self.depth {
            ColourDepth::Indexed(palette) => palette.get(entry as usize).copied().unwrap_or_default(),
            ColourDepth::Direct => {
                let [r, g, b, _] = entry.to_le_bytes();
                [r, g, b]
            }
        }
    }

    /// Bytes held, for budgets.
    pub fn size_bytes(&self) -> usize {
        self.pages.capacity() + self.bricks.len() * size_of::<u32>()
    }
}

impl PartialEq for Colours {
    /// Equal where the depth, the bricks and the pages are: regions decoded from one file in one way.
    fn eq(&self, other: &Self) -> bool {
        self.depth == other.depth && self.bricks == other.bricks && self.pages == other.pages
    }
}

impl Eq for Colours {}

/// Where a voxel's texel stands in its brick's 64 x 64 block, row by row: v * 64 + u. Only the low four bits of each
/// coordinate count.
pub fn texel_in_brick(x: u32, y: u32, z: u32) -> usize {
    texel_along(0, x) | texel_along(1, y) | texel_along(2, z)
}

/// What one axis (0 x, 1 y, 2 z) adds to [`texel_in_brick`]: the three are joined by `|`.
#[inline]
pub(crate) fn texel_along(axis: usize, coordinate: u32) -> usize {
    usize::from(TEXEL[axis][coordinate as usize % 16])
}

/// What each axis adds to the texel's index: the axes' bits never meet.
const TEXEL: [[u16; 16]; 3] = {
    let mut table = [[0; 16]; 3];
    let mut axis = 0;
    while axis < 3 {
        let mut i = 0;
        while i < 16 {
            let mut bit = 0;
            while bit < 4 {
                // Bit `bit` of the axis is bit 3 * bit + axis of the Morton code, whose even bits are u, odd bits v.
                let m = 3 * bit + axis;
                let texel_bit = if m % 2 == 0 { m / 2 } else { 6 + m / 2 };
                table[axis][i] |= ((i as u16 >> bit) & 1) << texel_bit;
                bit += 1;
            }
            i += 1;
        }
        axis += 1;
    }
    table
};

fn brick_idx(bx: u32, by: u32, bz: u32) -> usize {
    debug_assert!(bx < REGION_BRICKS && by < REGION_BRICKS && bz < REGION_BRICKS);
    (bx + REGION_BRICKS * (by + REGION_BRICKS * bz)) as usize
}
