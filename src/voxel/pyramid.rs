//! The pyramid: eight regions become the region of the next coarser zoom.
//!
//! Receives up to eight children, yields their parent, of which each voxel stands for 2 x 2 x 2 of theirs. It does not
//! know keys or files. Everything is integers, and a voxel depends on the 4 x 4 x 4 voxels round it at most: the same
//! children give the same parent everywhere.
//!
//! # Which coarse voxels are occupied
//!
//! Coarse voxels pair up along each axis, 2j - 1 with 2j. The *hub* of a coarse voxel is the child that lies farthest
//! from its partners, so that hubs of voxels that are no partners lie side by side:
//!
//! ```text
//! fine     |0 1|2 3|4 5|6 7|8 9|        h  hub
//!          |. h|h .|. h|h .|. h|        =  partners
//! coarse   | 0 | 1 = 2 | 3 = 4 =
//! ```
//!
//! A coarse voxel is occupied where
//!
//! 1. its hub is, or more than half of its children are; or else
//! 2. it holds any voxel, and no way through air leads from its hub to the hub of a partner, through no other voxels
//!    than these two, while the partner is not occupied by the first rule. Where that is so for both partners, the even
//!    one is enough.
//!
//! The partner of a voxel at the border of the parent may lie in another region, which is not known here: there, the
//! way has to be the straight one, which both sides can judge alone.
//!
//! *No hole.* Between two coarse voxels of air that touch, there is always a way through fine air from hub to hub inside
//! these two: hubs side by side touch, and the hubs of partners are joined by the second rule. So each way through coarse
//! air, of a ray or of anything else, is one through fine air in the very same voxels. What separates two sides in the
//! children separates them in the parent: a skin of one voxel of any slope, a roof whose edges are open, a room. The same
//! holds for the parent's parent.
//!
//! *No growth.* The hub is one child as good as any other, and in a large body it alone decides: where a face lies in
//! the middle of a coarse voxel, it goes to the side that is even in coarse voxels. Heights, walls and gaps are rounded
//! half to even, which neither lifts nor widens them, zoom after zoom. What lies on the border of coarse voxels stays:
//! the ground is flat and at its height in every zoom. The majority makes walls at odd angles smoother than hubs alone
//! would.
//!
//! Measured over 64 z17 tiles round Tokyo Tower, the mean of coarse minus fine top height over all columns, in voxels of
//! the zoom:
//!
//! | rule | z16 | z15 | z14 | z13 | z12 | skins |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | any child | +0.67 | +0.96 | +1.11 | +1.19 | +1.24 | whole |
//! | half of the children | +0.33 | +0.41 | +0.38 | +0.29 | +0.19 | full of holes |
//! | majority, a tie to the hub | -0.01 | -0.01 | -0.03 | -0.06 | -0.08 | full of holes |
//! | hub and ways | +0.03 | +0.05 | +0.07 | +0.07 | +0.13 | whole |
//! | hub, majority and ways (this) | +0.09 | +0.10 | +0.11 | +0.10 | +0.14 | whole |
//!
//! The majority costs a tenth of a voxel, and saves 2 % of all faces and 7 % of the mean error of a top (0.58 to 0.54
//! voxels at z16).
//!
//! # Colours
//!
//! A voxel with a face to air has the mean of those of its children that have one, and of those that touch it in coarse
//! voxels that are left out: the roof of a house whose top is rounded down colours what is now its top. Where all
//! children are indexed, the mean becomes the nearest colour that occurs in them, so that coarse files stay indexed.
//! Beyond the children's borders nothing is known, and nothing counts as air. What nobody can see is filled with one
//! colour a brick, which compresses to nothing; at the border of the parent each voxel has that of its first child.

mod colours;
mod exposed;
mod occupancy;
mod palette;
#[cfg(test)]
mod tests;

use crate::limits::REGION_VOXELS;
use crate::voxel::{Occupancy, Region};

/// The version of the rules by which a parent is made of its children: files that were made by others are out of date.
pub const PYRAMID_RULES: u8 = 1;

/// The region of the next coarser zoom, from its children by octant (see
/// [`RegionKey::octant`](crate::geo::RegionKey::octant)); a child that is `None` is air.
///
/// Its colours are indexed, by at most 255 colours, where those of all children are.
///
/// ```
/// use voxatlas::voxel::{ColourDepth, Occupancy, Region, down_sample};
///
/// // Ground of 32 voxels is ground of 16 voxels at half the resolution.
/// let mut occupancy = Occupancy::empty();
/// for z in 0..256 {
///     (0..32).for_each(|y| *occupancy.row_mut(y, z) = [u64::MAX; 4]);
/// }
/// let ground = Region::paint(occupancy, ColourDepth::Indexed(vec![[90, 120, 70]]), |_, _, _| 0);
/// let mut children = [None; 8];
/// children[0] = Some(&ground);
/// let parent = down_sample(children);
/// assert!(parent.occupancy.get(127, 15, 127) && !parent.occupancy.get(127, 16, 127));
/// assert!(!parent.occupancy.get(128, 15, 127));
/// assert_eq!(parent.colours.get(5, 15, 9), [90, 120, 70]);
/// ```
pub fn down_sample(children: [Option<&Region>; 8]) -> Region {
    let fine = Fine(children.map(|child| child.map(|child| &child.occupancy)));
    let occupancy = occupancy::down_sample(fine);
    colours::paint(children, fine, occupancy)
}

/// The children's voxels as one cube of 512, by octant.
#[derive(Debug, Clone, Copy)]
struct Fine<'a>([Option<&'a Occupancy>; 8]);

impl Fine<'_> {
    /// The 512 voxels along +x at (y, z), x lowest bit first.
    fn row(self, y: u32, z: u32) -> [u64; 8] {
        let mut row = [0; 8];
        let (octant, [_, y, z]) = child_at([0, y, z]);
        for (half, child) in row.as_chunks_mut::<4>().0.iter_mut().zip(&self.0[octant..]) {
            if let Some(child) = child {
                *half = *child.row(y, z);
            }
        }
        row
    }

    /// Whether a voxel is occupied.
    fn get(self, at: [u32; 3]) -> bool {
        let (octant, [x, y, z]) = child_at(at);
        self.0[octant].is_some_and(|child| child.get(x, y, z))
    }
}

/// The octant of a voxel of that cube, and its place in the child.
fn child_at(at: [u32; 3]) -> (usize, [u32; 3]) {
    let [east, up, south] = at.map(|c| (c / REGION_VOXELS) as usize);
    (east + 2 * up + 4 * south, at.map(|c| c % REGION_VOXELS))
}
