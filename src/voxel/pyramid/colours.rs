//! The colours of the parent's voxels. What they are stands in the documentation of the module above.

use super::exposed::Exposed;
use super::palette::Counts;
use super::{Fine, child_at};
use crate::limits::REGION_VOXELS;
use crate::voxel::{BrickColours, Colour, ColourDepth, Colours, Occupancy, Region, texel_in_brick};

/// Paints the parent.
pub(super) fn paint(children: [Option<&Region>; 8], fine: Fine<'_>, occupancy: Occupancy) -> Region {
    let mut sources = Sources { children, is_used: [[false; 256]; 8], latest: None };
    let painter = Painter {
        fine,
        fine_exposed: Exposed::of(|y, z| fine.row(y, z)),
        coarse: &occupancy,
        coarse_exposed: Exposed::of(|y, z| *occupancy.row(y, z)).into_occupancy(),
    };
    let mut colours = Colours::new(ColourDepth::Direct);
    let mut counts = Counts::default();
    for brick @ [bx, by, bz] in occupancy.brick_mask().iter() {
        let rows = occupancy.brick_rows(bx, by, bz);
        let seen = painter.seen(brick);
        let hidden: [u16; 256] = std::array::from_fn(|row_idx| rows[row_idx] & !seen[row_idx]);
        let filling = painter.filling(brick, &hidden, &mut sources);
        if hidden == rows {
            colours.set_uniform(bx, by, bz, filling);
            counts.add(filling, rows.iter().map(|row| u64::from(row.count_ones())).sum());
            continue;
        }
        colours.paint_brick(brick, &occupancy, |x, y, z| {
            let is_seen = seen[(y % 16 + 16 * (z % 16)) as usize] >> (x % 16) & 1 == 1;
            let entry = if is_seen { painter.mean([x, y, z], &mut sources).entry() } else { filling };
            counts.add(entry, 1);
            entry
        });
    }
    let Some(palette) = sources.palette() else { return Region { occupancy, colours } };
    let snapped = counts.snapped_to(palette);
    let mut indexed = Colours::new(ColourDepth::Indexed(snapped.palette));
    for brick @ [bx, by, bz] in occupancy.brick_mask().iter() {
        let page = match colours.brick(bx, by, bz) {
            BrickColours::Air => continue,
            BrickColours::Uniform(entry) => {
                indexed.set_uniform(bx, by, bz, u32::from(snapped.index_of[&entry]));
                continue;
            }
            BrickColours::Page(page) => page,
        };
        let mut latest = None;
        indexed.paint_brick(brick, &occupancy, |x, y, z| {
            let entry = colours.page_entry(page, texel_in_brick(x, y, z));
            match latest {
                Some((same, index)) if same == entry => index,
                _ => {
                    let index = u32::from(snapped.index_of[&entry]);
                    latest = Some((entry, index));
                    index
                }
            }
        });
    }
    Region { occupancy, colours: indexed }
}

/// The children's colours, and which of them have been asked for.
struct Sources<'a> {
    children: [Option<&'a Region>; 8],
    /// By child and entry, for children that are indexed.
    is_used: [[bool; 256]; 8],
    /// The octant and brick that were asked for last: neighbours mostly share it.
    latest: Option<(usize, [u32; 3], BrickColours<'a>)>,
}

impl Sources<'_> {
    /// The colour of a fine voxel, which is occupied.
    fn colour(&mut self, at: [u32; 3]) -> Colour {
        let (octant, [x, y, z]) = child_at(at);
        let Some(child) = self.children[octant] else { return Colour::default() };
        let place @ [bx, by, bz] = [x / 16, y / 16, z / 16];
        let brick = match self.latest {
            Some((latest_octant, latest_place, brick)) if (latest_octant, latest_place) == (octant, place) => brick,
            _ => {
                let brick = child.colours.brick(bx, by, bz);
                self.latest = Some((octant, place, brick));
                brick
            }
        };
        let entry = match brick {
            BrickColours::Air => 0,
            BrickColours::Uniform(entry) => entry,
            BrickColours::Page(page) => child.colours.page_entry(page, texel_in_brick(x, y, z)),
        };
        if let Some(is_used) = self.is_used[octant].get_mut(entry as usize) {
            *is_used = true;
        }
        child.colours.depth().colour(entry)
    }

    /// The colours that were asked for, ascending; `None` where a child has no palette.
    fn palette(&self) -> Option<Vec<Colour>> {
        let mut palette = Vec::new();
        for (child, is_used) in self.children.iter().zip(&self.is_used) {
            let Some(child) = child else { continue };
            if *child.colours.depth() == ColourDepth::Direct {
                return None;
            }
            let used = (0..256).filter(|&entry| is_used[entry as usize]);
            palette.extend(used.map(|entry| child.colours.depth().colour(entry)));
        }
        palette.sort_unstable();
        palette.dedup();
        Some(palette)
    }
}

/// Decides which children a colour is made of.
struct Painter<'a> {
    fine: Fine<'a>,
    fine_exposed: Exposed<8>,
    coarse: &'a Occupancy,
    coarse_exposed: Occupancy,
}

impl Painter<'_> {
    /// The voxels of a brick that somebody may see: those with a face to air, and those at the border of the parent, by
    /// row as [`Occupancy::brick_rows`] has them.
    fn seen(&self, [bx, by, bz]: [u32; 3]) -> [u16; 256] {
        let is_at_border = |at: u32| at == 0 || at == REGION_VOXELS - 1;
        let ends = u16::from(bx == 0) | u16::from(bx == 15) << 15;
        let exposed = self.coarse_exposed.brick_rows(bx, by, bz);
        let rows = self.coarse.brick_rows(bx, by, bz);
        std::array::from_fn(|row_idx| {
            let [y, z] = [by * 16 + row_idx as u32 % 16, bz * 16 + row_idx as u32 / 16];
            let border = if is_at_border(y) || is_at_border(z) { u16::MAX } else { ends };
            exposed[row_idx] | rows[row_idx] & border
        })
    }

    /// The entry that fills what nobody sees of a brick: the colour of the first voxel there.
    fn filling(&self, [bx, by, bz]: [u32; 3], hidden: &[u16; 256], sources: &mut Sources<'_>) -> u32 {
        let mut mean = Mean::default();
        if let Some(row_idx) = hidden.iter().position(|&row| row != 0) {
            let [y, z] = [by * 16 + row_idx as u32 % 16, bz * 16 + row_idx as u32 / 16];
            mean.add_first([bx * 16 + hidden[row_idx].trailing_zeros(), y, z], self.fine, sources);
        }
        mean.entry()
    }

    /// The mean for a voxel of the parent that somebody may see.
    fn mean(&self, at @ [x, y, z]: [u32; 3], sources: &mut Sources<'_>) -> Mean {
        let mut mean = Mean::default();
        if !self.coarse_exposed.get(x, y, z) {
            mean.add_first(at, self.fine, sources);
            return mean;
        }
        mean.add(at, self.fine_exposed.children(at), sources);
        for axis in 0..3 {
            /// By axis: the children that are the upper ones along it.
            const UPPER: [u8; 3] = [0b1010_1010, 0b1100_1100, 0b1111_0000];
            // Those of the voxels before and after this one that touch it.
            for (step, touching) in [(u32::MAX, UPPER[axis]), (1, !UPPER[axis])] {
                let mut beside = at;
                beside[axis] = at[axis].wrapping_add(step);
                if beside[axis] < REGION_VOXELS && !self.coarse.get(beside[0], beside[1], beside[2]) {
                    mean.add(beside, self.fine_exposed.children(beside) & touching, sources);
                }
            }
        }
        if mean.n == 0 {
            // Its children are covered, by some of a voxel that is left out and touches it with an edge.
            mean.add_first(at, self.fine, sources);
        }
        mean
    }
}

/// The mean of some colours.
#[derive(Debug, Default)]
struct Mean {
    sums: [u32; 3],
    n: u32,
}

impl Mean {
    /// Adds the children of a coarse voxel whose bits are set: child x + 2 * y + 4 * z of it.
    fn add(&mut self, at: [u32; 3], mut children: u8, sources: &mut Sources<'_>) {
        while children != 0 {
            let child = children.trailing_zeros();
            children &= children - 1;
            let colour = sources.colour([0, 1, 2].map(|axis| 2 * at[axis] + (child >> axis & 1)));
            self.sums = [0, 1, 2].map(|channel| self.sums[channel] + u32::from(colour[channel]));
            self.n += 1;
        }
    }

    /// Adds the first child of an occupied coarse voxel.
    fn add_first(&mut self, at: [u32; 3], fine: Fine<'_>, sources: &mut Sources<'_>) {
        let is_occupied = |child: &u32| fine.get([0, 1, 2].map(|axis| 2 * at[axis] + (child >> axis & 1)));
        if let Some(child) = (0..8).find(is_occupied) {
            self.add(at, 1 << child, sources);
        }
    }

    /// As an entry of [`ColourDepth::Direct`], rounded; black where there was none.
    fn entry(&self) -> u32 {
        let [r, g, b] = self.sums.map(|sum| ((sum + self.n / 2) / self.n.max(1)) as u8);
        u32::from_le_bytes([r, g, b, 0])
    }
}
