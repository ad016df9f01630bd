//! Voxels to paint on: a few regions side by side and on top of each other.

use std::collections::BTreeMap;

use voxatlas::limits::{REGION_VOLUME, REGION_VOXELS};
use voxatlas::voxel::{Colour, ColourDepth, Occupancy, Region};

/// A palette colour: 0 is air, i paints with the palette's colour i - 1.
pub(super) type Ink = u8;

/// Voxels of several regions, addressed as one space: x to the east, y up from the floor of layer 0, z to the south.
pub(super) struct Canvas {
    /// By region column, layer and region row; x fastest, then y, then z.
    regions: BTreeMap<[u32; 3], Box<[Ink]>>,
    size_voxels: u32,
}

impl Canvas {
    /// An empty canvas of `n` x `n` regions.
    pub(super) fn new(n: u32) -> Self {
        Self { regions: BTreeMap::new(), size_voxels: n * REGION_VOXELS }
    }

    /// Paints one voxel; outside the canvas nothing happens.
    pub(super) fn set(&mut self, x: i32, y: i32, z: i32, ink: Ink) {
        let (Ok(x), Ok(y), Ok(z)) = (u32::try_from(x), u32::try_from(y), u32::try_from(z)) else { return };
        if x >= self.size_voxels || z >= self.size_voxels {
            return;
        }
        let region = self
            .regions
            .entry([x / REGION_VOXELS, y / REGION_VOXELS, z / REGION_VOXELS])
            .or_insert_with(|| vec![0; REGION_VOLUME].into_boxed_slice());
        region[voxel_idx(x % REGION_VOXELS, y % REGION_VOXELS, z % REGION_VOXELS)] = ink;
    }

    /// Paints a box; the ends do not belong to it.
    pub(super) fn fill(&mut self, x: [i32; 2], y: [i32; 2], z: [i32; 2], ink: Ink) {
        for z in z[0]..z[1] {
            for y in y[0]..y[1] {
                for x in x[0]..x[1] {
                    self.set(x, y, z, ink);
                }
            }
        }
    }

    /// The painted regions: column, layer, row, voxels.
    pub(super) fn into_regions(self, palette: &[Colour]) -> impl Iterator<Item = ([u32; 3], Region)> {
        self.regions.into_iter().map(move |(place, inks)| {
            let mut occupancy = Occupancy::empty();
            for (row, inks) in occupancy.rows_mut().iter_mut().zip(inks.chunks_exact(REGION_VOXELS as usize)) {
                for (x, &ink) in inks.iter().enumerate() {
                    row[x / 64] |= u64::from(ink != 0) << (x % 64);
                }
            }
            let entry_of = |x, y, z| u32::from(inks[voxel_idx(x, y, z)] - 1);
            (place, Region::paint(occupancy, ColourDepth::Indexed(palette.to_vec()), entry_of))
        })
    }
}

/// As the rows of an occupancy lie.
fn voxel_idx(x: u32, y: u32, z: u32) -> usize {
    (x + REGION_VOXELS * (y + REGION_VOXELS * z)) as usize
}
