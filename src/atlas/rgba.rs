//! The atlas as an RGBA8 image, for whoever brings or wants the full texture: decoding needs none.

use crate::atlas::block::{BlockBits, rows_from_block};
use crate::atlas::morton::voxel_from_texel;
use crate::atlas::pixels::{Pixels as _, Rgba};
use crate::limits::{ATLAS_PIXELS, BRICK_PIXELS};
use crate::voxel::{BrickColours, Occupancy, Region, texel_in_brick};

/// Bytes of a row of the atlas in RGBA8.
pub const ATLAS_ROW_BYTES: usize = ATLAS_PIXELS as usize * 4;

impl Region {
    /// Writes row `v` of the atlas, 0 the top one: straight-alpha sRGB, alpha 255 where occupied, (0, 0, 0, 0) where not.
    /// This is what the reference system's `atlas` handle yields, a row at a time.
    ///
    /// # Panics
    ///
    /// `v` is 4096 or more.
    pub fn atlas_row(&self, v: u32, row: &mut [u8; ATLAS_ROW_BYTES]) {
        assert!(v < ATLAS_PIXELS, "row {v} of {ATLAS_PIXELS}");
        row.fill(0);
        let depth = self.colours.depth();
        for (block, pixels) in row.as_chunks_mut::<4>().0.chunks_exact_mut(BRICK_PIXELS as usize).enumerate() {
            let [bx, by, bz] = voxel_from_texel(block as u32, v / BRICK_PIXELS);
            let brick = self.colours.brick(bx, by, bz);
            for (u, pixel) in pixels.iter_mut().enumerate() {
                let [x, y, z] = voxel_from_texel(block as u32 * BRICK_PIXELS + u as u32, v);
                if !self.occupancy.get(x, y, z) {
                    continue;
                }
                let entry = match brick {
                    BrickColours::Air => 0,
                    BrickColours::Uniform(entry) => entry,
                    BrickColours::Page(page) => self.colours.page_entry(page, texel_in_brick(x, y, z)),
                };
                let [r, g, b] = depth.colour(entry);
                *pixel = [r, g, b, 255];
            }
        }
    }
}

/// The occupied voxels of an atlas image in RGBA8, row by row from the top: those whose texel's alpha is not 0 (the
/// reference system's `atlas2occ`, a bit instead of a byte a voxel).
///
/// # Panics
///
/// The image does not have 4096 x 4096 pixels.
pub fn occupancy_from_rgba(image: &[u8]) -> Occupancy {
    assert_eq!(image.len(), ATLAS_PIXELS as usize * ATLAS_ROW_BYTES, "bytes of an atlas image");
    let mut occupancy = Occupancy::empty();
    for (bv, band) in image.chunks_exact(BRICK_PIXELS as usize * ATLAS_ROW_BYTES).enumerate() {
        for bu in 0..ATLAS_PIXELS / BRICK_PIXELS {
            let block: BlockBits = std::array::from_fn(|v| {
                let row = Rgba::block_rows(&band[v * ATLAS_ROW_BYTES..][..ATLAS_ROW_BYTES]);
                Rgba.occupied(&row[bu as usize])
            });
            let [bx, by, bz] = voxel_from_texel(bu, bv as u32);
            occupancy.set_brick_rows(bx, by, bz, &rows_from_block(&block));
        }
    }
    occupancy
}
