//! The reference system's coordinates (voxelized-js), for files and programs that speak them.
//!
//! Owns the scope that shifts its world's origin. Receives and yields its numbers: tiles as (i, j), positions relative
//! to the north-west corner of the scope. The rest of this crate does not use it: our world has one origin for all
//! cities.
//!
//! | original | here | |
//! | --- | --- | --- |
//! | `offOf(i, j)` | [`Scope::offset_of`] | corner of a tile's region |
//! | `posOf(x, z)` | [`Scope::tile_at`] | tile at a position; floors, where the original truncates |
//! | `localOf(x, y, z, i, j)` | [`Scope::local_of`] | position within a tile's region |
//! | `regionId(i, j)` | [`Scope::region_id`] | one number for a tile |
//! | `scoped(i, j)` | [`Scope::contains`] | whether a tile is in the scope |
//! | `local(x, y, z)` | [`local_index`] | index into a region's 256^3 values |
//! | `inRegion(x, y, z)` | [`in_region`] | whether a position is inside a region |

use glam::DVec3;

use crate::limits::REGION_VOXELS;

/// The block of z17 tiles that the reference system knows, inclusive on all four ends.
///
/// ```
/// use voxatlas::geo::reference::Scope;
///
/// let scope = Scope::default();
/// assert_eq!(scope.offset_of(116_415, 51_623), [22_784, 0, 19_968]);
/// assert_eq!(scope.tile_at(22_912.0, 20_096.0), [116_415, 51_623]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Westernmost column; its west edge is x = 0.
    pub x0: i64,
    /// Easternmost column.
    pub x1: i64,
    /// Northernmost row; its north edge is z = 0.
    pub y0: i64,
    /// Southernmost row.
    pub y1: i64,
}

impl Scope {
    /// The published scope: 183 x 150 tiles of Tokyo.
    pub const PUBLISHED: Self = Self { x0: 116_326, x1: 116_508, y0: 51_545, y1: 51_694 };

    /// Columns of the scope.
    pub fn n_columns(self) -> i64 {
        self.x1 - self.x0 + 1
    }

    /// Position of the north-west lowest corner of a tile's region, in voxels: `offOf(i, j)`.
    pub fn offset_of(self, i: i64, j: i64) -> [i64; 3] {
        let region = i64::from(REGION_VOXELS);
        [(i - self.x0) * region, 0, (j - self.y0) * region]
    }

    /// The tile (i, j) at a position: `posOf(x, z)`.
    ///
    /// Floors, so that the tile west of the scope begins right at x = 0; the original truncates and gives the scope's
    /// own tile for positions in -1..0.
    pub fn tile_at(self, x: f64, z: f64) -> [i64; 2] {
        let region = f64::from(REGION_VOXELS);
        [self.x0 + (x / region).floor() as i64, self.y0 + (z / region).floor() as i64]
    }

    /// A position relative to a tile's region: `localOf(x, y, z, i, j)`. Inside the region it is 0..256.
    pub fn local_of(self, position: DVec3, i: i64, j: i64) -> DVec3 {
        position - DVec3::from_array(self.offset_of(i, j).map(|c| c as f64))
    }

    /// One number for a tile, unique in the scope: `regionId(i, j)` = i + columns * j.
    pub fn region_id(self, i: i64, j: i64) -> i64 {
        i + self.n_columns() * j
    }

    /// Whether the tile is in the scope: `scoped(i, j)`.
    pub fn contains(self, i: i64, j: i64) -> bool {
        (self.x0..=self.x1).contains(&i) && (self.y0..=self.y1).contains(&j)
    }

    /// Our world position of a position in the scope: the origin moves, the axes agree.
    pub fn to_world(self, position: DVec3) -> DVec3 {
        position + self.origin_in_world()
    }

    /// The position in the scope of our world position.
    pub fn from_world(self, world: DVec3) -> DVec3 {
        world - self.origin_in_world()
    }

    fn origin_in_world(self) -> DVec3 {
        let region = f64::from(REGION_VOXELS);
        DVec3::new(self.x0 as f64 * region, 0.0, self.y0 as f64 * region)
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// Index of a region's voxel among its 256^3, x fastest, then y, then z: `local(x, y, z)` = x + 256 * (y + 256 * z).
/// Coordinates are 0..256.
pub fn local_index(x: u32, y: u32, z: u32) -> usize {
    debug_assert!(x < REGION_VOXELS && y < REGION_VOXELS && z < REGION_VOXELS);
    (x + REGION_VOXELS * (y + REGION_VOXELS * z)) as usize
}

/// Whether a region-local position is inside the region, 0 <= c < 256 on each axis: `inRegion(x, y, z)`.
pub fn in_region(local: DVec3) -> bool {
    let region = f64::from(REGION_VOXELS);
    local.to_array().iter().all(|c| (0.0..region).contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geo::LonLat;

    const SCOPE: Scope = Scope::PUBLISHED;

    #[test]
    fn published_scope() {
        assert_eq!(SCOPE.n_columns() * (SCOPE.y1 - SCOPE.y0 + 1), 27_450);
        for (i, j, inside) in [
            (116_326, 51_545, true),
            (116_508, 51_694, true),
            (116_325, 51_545, false),
            (116_509, 51_694, false),
            (116_326, 51_544, false),
            (116_508, 51_695, false),
        ] {
            assert_eq!(SCOPE.contains(i, j), inside, "{i} {j}");
        }
    }

    #[test]
    fn published_positions() {
        assert_eq!(SCOPE.offset_of(116_326, 51_545), [0, 0, 0]);
        assert_eq!(SCOPE.tile_at(0.0, 0.0), [116_326, 51_545]);
        assert_eq!(SCOPE.tile_at(-1.0, 0.0), [116_325, 51_545]);
        // The demo's start is the centre of the tower's tile.
        assert_eq!(SCOPE.tile_at(22_912.0, 20_096.0), [116_415, 51_623]);
        assert_eq!(
            SCOPE.local_of(DVec3::new(22_912.0, 400.0, 20_096.0), 116_415, 51_623),
            DVec3::new(128.0, 400.0, 128.0)
        );
        // Truncation would say 116326 here; the voxel is -1, west of the scope.
        assert_eq!(SCOPE.tile_at(-0.5, 255.5), [116_325, 51_545]);
    }

    #[test]
    fn published_indices() {
        for ((x, y, z), index) in [
            ((1, 0, 0), 1),
            ((0, 1, 0), 256),
            ((0, 0, 1), 65_536),
            ((2, 0, 0), 2),
            ((1, 2, 3), 197_121),
            ((17, 200, 91), 6_014_993),
            ((255, 255, 255), 16_777_215),
        ] {
            assert_eq!(local_index(x, y, z), index);
        }
        assert_eq!(SCOPE.region_id(116_326, 51_545), 116_326 + 183 * 51_545);
    }

    #[test]
    fn a_region_excludes_its_far_faces() {
        assert!(in_region(DVec3::ZERO) && in_region(DVec3::splat(255.999)));
        for outside in [DVec3::new(256.0, 0.0, 0.0), DVec3::new(0.0, -0.001, 0.0), DVec3::new(0.0, 0.0, f64::NAN)] {
            assert!(!in_region(outside), "{outside}");
        }
    }

    #[test]
    fn the_origin_lies_where_published() {
        let origin = SCOPE.to_world(DVec3::ZERO);
        let place = LonLat::from_world(origin.x, origin.z);
        assert!((place.lat_deg() - 35.833_402).abs() < 1e-6 && (place.lon_deg() - 139.498_901).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn a_position_lies_in_its_tile(x in -1e6..1e6, y in 0.0..256.0, z in -1e6..1e6) {
            let [i, j] = SCOPE.tile_at(x, z);
            let position = DVec3::new(x, y, z);
            prop_assert!(in_region(SCOPE.local_of(position, i, j)));
            prop_assert!((SCOPE.from_world(SCOPE.to_world(position)) - position).abs().max_element() < 1e-8);
        }

        #[test]
        fn ids_are_unique_in_the_scope(a in (0i64..183, 0i64..150), b in (0i64..183, 0i64..150)) {
            let id = |(i, j): (i64, i64)| SCOPE.region_id(SCOPE.x0 + i, SCOPE.y0 + j);
            prop_assert_eq!(id(a) == id(b), a == b);
        }
    }
}
