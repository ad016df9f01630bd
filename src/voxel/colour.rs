//! The colours of a region's occupied voxels, kept a brick at a time.
//!
//! A brick is one 64 x 64 block of the atlas, and its *page* is that block's pixels, row by row: filling it from a
//! strip is 64 short copies. Bricks of air have no page, bricks of one colour (most of the ground) one entry.
//!
//! Pages are kept by strip, the 64 bricks of one block row: a decoder that inflates strips on several threads hands
//! each strip's pages over without copying them again.

use crate::limits::{BRICK_PIXELS, BRICK_VOLUME, N_STRIPS, REGION_BRICKS};
use crate::voxel::Occupancy;

/// An sRGB colour, 8 bits a channel.
pub type Colour = [u8; 3];

/// Bricks of a strip.
const STRIP_BRICKS: usize = BRICK_PIXELS as usize;

/// Marks a brick that holds no voxel.
const NONE: u32 = u32::MAX;

/// Marks a brick whose voxels share one entry; the entry stands in the low bits.
const UNIFORM: u32 = 1 << 31;

/// How the entries of the pages are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColourDepth {
    /// One byte a voxel, an index into the palette of at most 256 colours. Entries beyond its end are black.
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

    /// The colour that an entry stands for.
    pub fn colour(&self, entry: u32) -> Colour {
        match self {
            Self::Indexed(palette) => palette.get(entry as usize).copied().unwrap_or_default(),
            Self::Direct => {
                let [r, g, b, _] = entry.to_le_bytes();
                [r, g, b]
            }
        }
    }
}

/// What is known of a brick's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrickColours<'a> {
    /// Nothing: it is air.
    Air,
    /// All its voxels have this entry: a palette index, or 0x00BBGGRR for [`ColourDepth::Direct`].
    Uniform(u32),
    /// An entry a voxel, in block row order (see [`texel_in_brick`]), [`ColourDepth::entry_bytes`] each.
    Page(&'a [u8]),
}

/// The colours of a region's occupied voxels.
///
/// What an air voxel of a paged brick holds is unspecified: ask the occupancy first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colours {
    depth: ColourDepth,
    /// Always [`N_STRIPS`], by the strip in which a brick's block stands.
    strips: Vec<StripColours>,
}

/// The colours of one strip's bricks: what a decoder fills on its own and hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StripColours {
    /// By the block's place in the strip: [`NONE`], [`UNIFORM`] | entry, or the page's number in `pages`.
    bricks: [u32; STRIP_BRICKS],
    /// The pages one after the other, each [`BRICK_VOLUME`] entries.
    pages: Vec<u8>,
}

impl Colours {
    /// Colours of no voxel.
    pub fn new(depth: ColourDepth) -> Self {
        Self { depth, strips: vec![StripColours::new(); N_STRIPS] }
    }

    /// How entries are read.
    pub fn depth(&self) -> &ColourDepth {
        &self.depth
    }

    /// Gives a brick one entry for all its voxels: a palette index, or 0x00BBGGRR for [`ColourDepth::Direct`].
    pub fn set_uniform(&mut self, bx: u32, by: u32, bz: u32, entry: u32) {
        let (strip, block) = block_of_brick(bx, by, bz);
        self.strips[strip].set_uniform(block, entry);
    }

    /// Gives a brick a page of its own and yields it, to be filled in block row order (see [`texel_in_brick`]). A brick
    /// that has a page already keeps it.
    pub fn add_page(&mut self, bx: u32, by: u32, bz: u32) -> &mut [u8] {
        let (strip, block) = block_of_brick(bx, by, bz);
        self.strips[strip].add_page(block, BRICK_VOLUME * self.depth.entry_bytes())
    }

    /// Colours the occupied voxels of a brick: `entry_of(x, y, z)` is asked once for each of them, in region-local
    /// coordinates, x fastest, then y, then z. A brick of one entry takes no page, a brick of air nothing.
    ///
    /// Meant for rasterisers, which fill the occupancy first and call this for every brick of its
    /// [`brick_mask`](Occupancy::brick_mask). A brick is painted once.
    pub fn paint_brick(
        &mut self,
        [bx, by, bz]: [u32; 3],
        occupancy: &Occupancy,
        mut entry_of: impl FnMut(u32, u32, u32) -> u32,
    ) {
        let mut entries = [0u32; BRICK_VOLUME];
        let mut first = None;
        let mut is_uniform = true;
        for (row_idx, row) in occupancy.brick_rows(bx, by, bz).into_iter().enumerate() {
            let (y, z) = (by * 16 + row_idx as u32 % 16, bz * 16 + row_idx as u32 / 16);
            let mut rest = row;
            while rest != 0 {
                let x = bx * 16 + rest.trailing_zeros();
                let entry = entry_of(x, y, z);
                is_uniform &= *first.get_or_insert(entry) == entry;
                entries[texel_in_brick(x, y, z)] = entry;
                rest &= rest - 1;
            }
        }
        match first {
            None => {}
            Some(entry) if is_uniform => self.set_uniform(bx, by, bz, entry),
            Some(_) => {
                let entry_bytes = self.depth.entry_bytes();
                let page = self.add_page(bx, by, bz);
                for (bytes, entry) in page.chunks_exact_mut(entry_bytes).zip(entries) {
                    bytes.copy_from_slice(&entry.to_le_bytes()[..entry_bytes]);
                }
            }
        }
    }

    /// What is known of a brick; brick coordinates are 0..16.
    pub fn brick(&self, bx: u32, by: u32, bz: u32) -> BrickColours<'_> {
        let (strip, block) = block_of_brick(bx, by, bz);
        let StripColours { bricks, pages } = &self.strips[strip];
        match bricks[block] {
            NONE => BrickColours::Air,
            brick if brick & UNIFORM != 0 => BrickColours::Uniform(brick & !UNIFORM),
            page_idx => {
                let page_bytes = BRICK_VOLUME * self.depth.entry_bytes();
                BrickColours::Page(&pages[page_idx as usize * page_bytes..][..page_bytes])
            }
        }
    }

    /// The entry of a voxel: a palette index, or 0x00BBGGRR for [`ColourDepth::Direct`]. Unspecified in air.
    pub fn entry(&self, x: u32, y: u32, z: u32) -> u32 {
        match self.brick(x / 16, y / 16, z / 16) {
            BrickColours::Air => 0,
            BrickColours::Uniform(entry) => entry,
            BrickColours::Page(page) => self.page_entry(page, texel_in_brick(x, y, z)),
        }
    }

    /// The entry at a place of a page, as [`texel_in_brick`] names it.
    pub fn page_entry(&self, page: &[u8], texel: usize) -> u32 {
        match &self.depth {
            ColourDepth::Indexed(_) => u32::from(page[texel]),
            ColourDepth::Direct => {
                let [r, g, b] = [page[texel * 3], page[texel * 3 + 1], page[texel * 3 + 2]];
                u32::from_le_bytes([r, g, b, 0])
            }
        }
    }

    /// The colour of a voxel. Unspecified in air.
    pub fn get(&self, x: u32, y: u32, z: u32) -> Colour {
        self.depth.colour(self.entry(x, y, z))
    }

    /// Bytes held, for budgets.
    pub fn size_bytes(&self) -> usize {
        self.strips.iter().map(|strip| strip.pages.capacity() + size_of::<StripColours>()).sum()
    }

    /// Takes the colours of a whole strip.
    pub(crate) fn set_strip(&mut self, strip_idx: usize, strip: StripColours) {
        self.strips[strip_idx] = strip;
    }
}

impl StripColours {
    /// Colours of no voxel.
    pub(crate) fn new() -> Self {
        Self { bricks: [NONE; STRIP_BRICKS], pages: Vec::new() }
    }

    /// Makes room for pages, so that adding them does not move the ones before.
    pub(crate) fn reserve_exact(&mut self, pages_bytes: usize) {
        self.pages.reserve_exact(pages_bytes);
    }

    /// Gives the brick at that place one entry.
    pub(crate) fn set_uniform(&mut self, block: usize, entry: u32) {
        debug_assert!(entry < UNIFORM);
        self.bricks[block] = UNIFORM | entry;
    }

    /// Gives the brick at that place a page, or yields the one that it has.
    pub(crate) fn add_page(&mut self, block: usize, page_bytes: usize) -> &mut [u8] {
        if self.bricks[block] & UNIFORM != 0 {
            self.bricks[block] = (self.pages.len() / page_bytes) as u32;
            self.pages.resize(self.pages.len() + page_bytes, 0);
        }
        &mut self.pages[self.bricks[block] as usize * page_bytes..][..page_bytes]
    }
}

/// Where a voxel's texel stands in its brick's 64 x 64 block, row by row: v * 64 + u. Only the low four bits of each
/// coordinate count.
///
/// Bricks stand in the atlas as voxels in their brick: with brick coordinates this is bv * 64 + bu, the place of the
/// brick's block among the atlas's 64 x 64 blocks.
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

/// The strip in which a brick's block stands, and its place there.
fn block_of_brick(bx: u32, by: u32, bz: u32) -> (usize, usize) {
    debug_assert!(bx < REGION_BRICKS && by < REGION_BRICKS && bz < REGION_BRICKS);
    let block = texel_in_brick(bx, by, bz);
    (block / STRIP_BRICKS, block % STRIP_BRICKS)
}
