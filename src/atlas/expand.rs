//! A region as rows of an RGBA8 image, for whoever wants the full atlas texture.

use crate::atlas::morton::voxel_from_texel;
use crate::limits::{ATLAS_PIXELS, BRICK_PIXELS};
use crate::voxel::{BrickColours, Region, texel_in_brick};

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
