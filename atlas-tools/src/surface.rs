//! What is seen of a tile from above: the highest voxel of each of its columns.
//!
//! Receives the regions of a tile's layers in any order, yields a height and a colour a column. It knows no metres: heights
//! count voxels of the tile's own zoom above the tileset's base.

use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::{Colour, Region};

use crate::regions::Walk;

/// Columns of a tile.
const N_COLUMNS: usize = (REGION_VOXELS as usize).pow(2);

/// The tops of a tile's columns; index x + 256 * z, so that rows run from north to south.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    tops: Vec<Option<Top>>,
}

/// The top of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Top {
    /// Where its upper face lies, in voxels of the tile's zoom above the base.
    pub y: i64,
    /// The colour of the voxel.
    pub colour: Colour,
}

impl Surface {
    /// A tile of air.
    pub fn empty() -> Self {
        Self { tops: vec![None; N_COLUMNS] }
    }

    /// The tops of one region, whose layer is given.
    pub fn of(layer: i32, region: &Region) -> Self {
        let mut surface = Self::empty();
        surface.add(layer, region);
        surface
    }

    /// Takes over what is higher in the other.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.tops.iter_mut().zip(&other.tops) {
            if theirs.is_some_and(|theirs| mine.is_none_or(|mine| mine.y < theirs.y)) {
                *mine = *theirs;
            }
        }
    }

    /// Adds the region of a layer.
    pub fn add(&mut self, layer: i32, region: &Region) {
        let floor = i64::from(layer) * i64::from(REGION_VOXELS);
        for z in 0..REGION_VOXELS {
            // The columns of the row that are not found yet.
            let mut open = [u64::MAX; 4];
            for y in (0..REGION_VOXELS).rev() {
                let row = region.occupancy.row(y, z);
                for (word_idx, (open, word)) in open.iter_mut().zip(row).enumerate() {
                    let mut found = *open & word;
                    *open &= !word;
                    while found != 0 {
                        let x = word_idx as u32 * 64 + found.trailing_zeros();
                        found &= found - 1;
                        let top = &mut self.tops[(x + REGION_VOXELS * z) as usize];
                        let top_y = floor + i64::from(y) + 1;
                        if top.is_none_or(|top| top.y < top_y) {
                            *top = Some(Top { y: top_y, colour: region.colours.get(x, y, z) });
                        }
                    }
                }
                if open == [0; 4] {
                    break;
                }
            }
        }
    }

    /// The tops, row by row from the north-west.
    pub fn tops(&self) -> &[Option<Top>] {
        &self.tops
    }
}

/// Walks over regions and takes the surface of each of their tiles, its layers joined, in order.
///
/// # Errors
///
/// As for [`Walk::each`].
pub fn each_surface(
    walk: &mut Walk<'_>,
    mut take: impl FnMut(TileCoord, Surface) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut open: Option<(TileCoord, Surface)> = None;
    walk.each(
        |visited| Surface::of(visited.key.layer, visited.region),
        |key, surface| {
            match &mut open {
                Some((tile, joined)) if *tile == key.tile => joined.merge(&surface),
                _ => {
                    if let Some((tile, joined)) = open.replace((key.tile, surface)) {
                        take(tile, joined)?;
                    }
                }
            }
            Ok(())
        },
    )?;
    open.map_or(Ok(()), |(tile, joined)| take(tile, joined))
}

#[cfg(test)]
mod tests {
    use voxatlas::voxel::{ColourDepth, Occupancy};

    use super::*;

    fn region(voxels: &[[u32; 3]], colour: u32) -> Region {
        let mut occupancy = Occupancy::empty();
        for &[x, y, z] in voxels {
            occupancy.set(x, y, z, true);
        }
        Region::paint(occupancy, ColourDepth::Direct, |_, _, _| colour)
    }

    #[test]
    fn the_highest_voxel_of_any_layer_is_seen() {
        let low = region(&[[3, 10, 7], [3, 200, 7], [4, 255, 7]], 0x00_00_FF);
        let high = region(&[[4, 0, 7]], 0x00_FF_00);
        let (mut up, mut down) = (Surface::empty(), Surface::empty());
        up.add(0, &low);
        up.add(1, &high);
        down.add(1, &high);
        down.add(0, &low);
        assert_eq!(up, down);
        let mut merged = Surface::of(1, &high);
        merged.merge(&Surface::of(0, &low));
        assert_eq!(merged, up);
        let top = |x: usize| up.tops()[x + 256 * 7];
        assert_eq!(top(3), Some(Top { y: 201, colour: [255, 0, 0] }));
        assert_eq!(top(4), Some(Top { y: 257, colour: [0, 255, 0] }));
        assert_eq!(up.tops().iter().flatten().count(), 2);
        let mut below = Surface::empty();
        below.add(-1, &low);
        assert_eq!(below.tops()[4 + 256 * 7].unwrap().y, 0);
    }
}
