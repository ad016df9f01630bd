//! Region keys: a tile and a layer of the vertical octree, and where they lie in the world.
//!
//! ```text
//!   world y                     layer at z17        at z16
//! base + 512  ---------------------------------------------------
//!                                    1
//! base + 256  ------------------------------  0      one z16 region
//!                                    0               covers 2 x 2 x 2
//! base        ---------------------------------------------------
//!                                   -1
//! base - 256  ------------------------------ -1
//! ```

use std::ops::Range;

use super::{TileCoord, WorldBox, tile_of_voxel};
use crate::limits::{REGION_VOXELS, ZOOM_FULL};

/// The address of a region: a tile and a signed layer of the vertical octree.
///
/// Layer L at zoom z spans the tileset's base + L * 256 * 2^(17-z) up to the next layer, in z17 voxels.
///
/// ```
/// use voxatlas::geo::{RegionKey, TileCoord};
///
/// // Tokyo Tower continues above 256 voxels.
/// let top = RegionKey::new(TileCoord::new(17, 116_415, 51_623)?, 1);
/// assert_eq!(top.span_y(-32), 224..480);
/// assert_eq!(top.parent().map(|parent| parent.to_string()), Some("16/58207/25811".to_owned()));
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionKey {
    /// The tile.
    pub tile: TileCoord,
    /// The layer, 0 at the tileset's base, negative below it.
    pub layer: i32,
}

impl RegionKey {
    /// The region of `tile` in `layer`.
    pub fn new(tile: TileCoord, layer: i32) -> Self {
        Self { tile, layer }
    }

    /// The region of `zoom` that holds a world voxel, for a tileset with that base. x wraps; north and south of the
    /// world, and beyond the layers that an `i32` counts, there is none.
    pub fn at(zoom: u8, base: i32, voxel: [i64; 3]) -> Option<Self> {
        let tile = tile_of_voxel(zoom, voxel[0], voxel[2])?;
        let edge_voxels = Self::new(tile, 0).edge_voxels();
        let above_base = voxel[1].checked_sub(i64::from(base))?;
        let layer = i32::try_from(above_base.div_euclid(edge_voxels.max(1))).ok()?;
        Some(Self { tile, layer })
    }

    /// The region of the next coarser zoom that covers this one: the layer halves downwards, so -1 stays -1. Zoom 0
    /// has none.
    pub fn parent(self) -> Option<Self> {
        Some(Self { tile: self.tile.parent()?, layer: self.layer >> 1 })
    }

    /// The eight regions of the next finer zoom, by octant (see [`RegionKey::octant`]); the deepest zoom and layers
    /// beyond the `i32` range have none.
    pub fn children(self) -> Option<[Self; 8]> {
        let tiles = self.tile.children()?;
        let layer = self.layer.checked_mul(2)?;
        Some(std::array::from_fn(|octant| Self {
            tile: tiles[octant & 1 | octant >> 1 & 2],
            layer: layer + (octant >> 1 & 1) as i32,
        }))
    }

    /// Which eighth of its parent the region is: bit 0 east, bit 1 up, bit 2 south, as in Morton order.
    pub fn octant(self) -> usize {
        let is_odd = [self.tile.x() & 1 == 1, self.layer & 1 == 1, self.tile.y() & 1 == 1];
        usize::from(is_odd[0]) + 2 * usize::from(is_odd[1]) + 4 * usize::from(is_odd[2])
    }

    /// Edge of the region, in z17 voxels: 256 at zoom 17, doubling with each coarser zoom.
    ///
    /// Zooms finer than 17 are no regions; they halve it, down to 0 beyond zoom 25.
    pub fn edge_voxels(self) -> i64 {
        let region = i64::from(REGION_VOXELS);
        match ZOOM_FULL.checked_sub(self.tile.zoom()) {
            Some(coarser) => region << coarser,
            None => region >> (self.tile.zoom() - ZOOM_FULL),
        }
    }

    /// World y of the region's floor up to that of the next layer, in z17 voxels, for a tileset with that base.
    pub fn span_y(self, base: i32) -> Range<i64> {
        let edge_voxels = self.edge_voxels();
        let floor = i64::from(base) + i64::from(self.layer) * edge_voxels;
        floor..floor + edge_voxels
    }

    /// World position of the region's lowest corner (north-west, floor), in z17 voxels.
    pub fn origin(self, base: i32) -> [i64; 3] {
        let edge_voxels = self.edge_voxels();
        [i64::from(self.tile.x()) * edge_voxels, self.span_y(base).start, i64::from(self.tile.y()) * edge_voxels]
    }

    /// The room that the region takes in the world.
    pub fn world_box(self, base: i32) -> WorldBox {
        let (min, edge_voxels) = (self.origin(base), self.edge_voxels());
        WorldBox { min, max: min.map(|low| low + edge_voxels) }
    }

    /// Region-local coordinates, 0..256 in the region's own voxels, of a world voxel; `None` outside the region.
    pub fn local(self, base: i32, voxel: [i64; 3]) -> Option<[u32; 3]> {
        if Self::at(self.tile.zoom(), base, voxel) != Some(self) || self.tile.zoom() > ZOOM_FULL {
            return None;
        }
        let origin = self.origin(base);
        let coarser = ZOOM_FULL - self.tile.zoom();
        let mask = self.edge_voxels() - 1;
        // The mask undoes the wrap of x: the world is a whole number of regions wide.
        Some(std::array::from_fn(|axis| (((voxel[axis] - origin[axis]) & mask) >> coarser) as u32))
    }
}

impl std::fmt::Display for RegionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.tile)?;
        if self.layer != 0 { write!(f, " layer {}", self.layer) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(tile: &str, layer: i32) -> RegionKey {
        RegionKey::new(tile.parse().unwrap(), layer)
    }

    fn any_key() -> impl Strategy<Value = RegionKey> {
        (0u8..=17, any::<u32>(), any::<u32>(), -1000i32..1000).prop_map(|(zoom, x, y, layer)| {
            let mask = (1 << zoom) - 1;
            RegionKey::new(TileCoord::new(zoom, x & mask, y & mask).unwrap(), layer)
        })
    }

    #[test]
    fn layers_halve_downwards() {
        for (layer, parent) in [(0, 0), (1, 0), (2, 1), (-1, -1), (-2, -1), (-3, -2), (i32::MIN, i32::MIN / 2)] {
            assert_eq!(key("17/4/6", layer).parent(), Some(key("16/2/3", parent)), "layer {layer}");
        }
        assert_eq!(key("0/0/0", 3).parent(), None);
        assert_eq!(key("3/0/0", i32::MAX).children(), None);
        assert_eq!(key("30/0/0", 0).children(), None);
    }

    #[test]
    fn a_region_names_its_span() {
        assert_eq!(key("17/116415/51623", 0).span_y(-32), -32..224);
        assert_eq!(key("16/1/1", -1).span_y(-32), -544..-32);
        assert_eq!(key("12/0/0", 0).edge_voxels(), 8192);
        assert_eq!(key("17/116415/51623", 1).origin(-32), [29_802_240, 224, 13_215_488]);
        assert_eq!(key("17/116415/51623", 1).to_string(), "17/116415/51623 layer 1");
        // The farthest layer is far from overflowing.
        assert_eq!(key("0/0/0", i32::MIN).span_y(i32::MIN).start, (i64::from(i32::MIN) << 25) + i64::from(i32::MIN));
    }

    #[test]
    fn voxels_off_the_world_lie_in_no_region() {
        assert_eq!(RegionKey::at(17, 0, [0, 0, -1]), None);
        assert_eq!(RegionKey::at(17, 0, [0, 0, 1 << 25]), None);
        assert_eq!(RegionKey::at(17, -1, [0, i64::MAX, 0]), None);
        assert_eq!(RegionKey::at(17, 0, [0, i64::MIN, 0]), None);
        assert_eq!(RegionKey::at(17, 0, [-1, 0, 0]), Some(key("17/131071/0", 0)));
        assert_eq!(key("17/131071/0", 0).local(0, [-1, 5, 9]), Some([255, 5, 9]));
    }

    proptest! {
        #[test]
        fn children_fill_their_parent(parent in any_key(), base in -64i32..64) {
            let whole = parent.world_box(base * 32);
            let children = parent.children().unwrap();
            for (octant, child) in children.into_iter().enumerate() {
                prop_assert_eq!(child.parent(), Some(parent));
                prop_assert_eq!(child.octant(), octant);
                if child.tile.zoom() <= 17 {
                    let part = child.world_box(base * 32);
                    let half = parent.edge_voxels() / 2;
                    for axis in 0..3 {
                        let low = whole.min[axis] + half * (octant as i64 >> axis & 1);
                        prop_assert_eq!(part.min[axis]..part.max[axis], low..low + half);
                    }
                }
            }
        }

        #[test]
        fn a_voxel_lies_where_its_region_says(key in any_key(), base in -64i32..64, at in [0i64..256, 0..256, 0..256]) {
            let base = base * 32;
            let scale = key.edge_voxels() / 256;
            let origin = key.origin(base);
            let voxel = std::array::from_fn(|axis| origin[axis] + at[axis] * scale + scale / 2);
            prop_assert_eq!(RegionKey::at(key.tile.zoom(), base, voxel), Some(key));
            prop_assert_eq!(key.local(base, voxel), Some(at.map(|c| c as u32)));
        }
    }
}
