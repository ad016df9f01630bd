//! A decoded region: which voxels are occupied, and in what colour.

use crate::limits::REGION_VOXELS;
use crate::voxel::{ColourDepth, Colours, Occupancy};

/// A decoded region: 256^3 voxels, occupied where the atlas has alpha, and their colours.
///
/// `==` compares the stored form: regions decoded from one file are equal, however they were decoded. Ask
/// [`Region::first_difference`] whether two regions show the same voxels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Which voxels are occupied.
    pub occupancy: Occupancy,
    /// The colour of every occupied voxel.
    pub colours: Colours,
}

impl Region {
    /// A region of air.
    pub fn empty() -> Self {
        Self { occupancy: Occupancy::empty(), colours: Colours::new(ColourDepth::Indexed(Vec::new())) }
    }

    /// A region from an occupancy and a source of entries, which is asked once for each occupied voxel, brick by brick.
    pub fn paint(occupancy: Occupancy, depth: ColourDepth, mut entry_of: impl FnMut(u32, u32, u32) -> u32) -> Self {
        let mut colours = Colours::new(depth);
        for brick in occupancy.brick_mask().iter() {
            colours.paint_brick(brick, &occupancy, &mut entry_of);
        }
        Self { occupancy, colours }
    }

    /// The first voxel, x fastest, then y, then z, that is occupied in one of the two and not in the other, or occupied
    /// in both with different colours. Neither the palettes nor what is stored for air matter.
    pub fn first_difference(&self, other: &Self) -> Option<[u32; 3]> {
        for z in 0..REGION_VOXELS {
            for y in 0..REGION_VOXELS {
                let (mine, theirs) = (self.occupancy.row(y, z), other.occupancy.row(y, z));
                for x in 0..REGION_VOXELS {
                    let (word, bit) = (x as usize / 64, x % 64);
                    let (here, there) = (mine[word] >> bit & 1, theirs[word] >> bit & 1);
                    if here != there || here == 1 && self.colours.get(x, y, z) != other.colours.get(x, y, z) {
                        return Some([x, y, z]);
                    }
                }
            }
        }
        None
    }

    /// Bytes held, for budgets.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.occupancy.rows()) + self.colours.size_bytes()
    }
}
