//! The spaces: world, region-local and camera-relative.
//!
//! Owns the steps between them. Receives world positions, yields voxels, boxes and camera-relative offsets; it does
//! not know degrees (see [`LonLat`](super::LonLat)).
//!
//! ```text
//!      +y up            world            z17 voxels, i64 or f64; x, z in 0..2^25, y above the datum
//!       |               region-local     world - the region's origin; 0..256
//!       |               camera-relative  world - the eye; f32, the only space that the GPU sees
//!       +------ +x east
//!      /
//!    +z south
//! ```

use glam::{DVec3, Vec3};

use super::TileCoord;
use crate::limits::{REGION_VOXELS, ZOOM_FULL};

/// Edge of the world, in z17 voxels: 2^25.
pub const WORLD_VOXELS: u32 = REGION_VOXELS << ZOOM_FULL;

/// The world voxel that a position lies in: the floor of each coordinate. `None` where one is not a number or beyond
/// 2^53, where neighbouring voxels can no longer be told apart.
pub fn voxel_of(position: DVec3) -> Option<[i64; 3]> {
    let exact = position.abs().max_element() <= (1i64 << 53) as f64 && position.is_finite();
    exact.then(|| position.to_array().map(|c| c.floor() as i64))
}

/// The tile of `zoom` over a world voxel: x wraps, north and south of the world there is none.
pub fn tile_of_voxel(zoom: u8, x: i64, z: i64) -> Option<TileCoord> {
    let world = i64::from(WORLD_VOXELS);
    if !(0..world).contains(&z) {
        return None;
    }
    let x = x.rem_euclid(world);
    // 2^25 voxels are 2^zoom tiles.
    let tile = |c: i64| match 25u8.checked_sub(zoom) {
        Some(shift) => c >> shift,
        None => c << (zoom - 25).min(6),
    };
    TileCoord::new(zoom, tile(x) as u32, tile(z) as u32).ok()
}

/// A box of world voxels: `min` is in it, `max` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldBox {
    /// The lowest corner, in z17 voxels.
    pub min: [i64; 3],
    /// The highest corner, in z17 voxels.
    pub max: [i64; 3],
}

impl WorldBox {
    /// The lowest and the highest corner with the eye at the origin, the shorter way round the world.
    pub fn relative_to(self, eye: DVec3) -> [DVec3; 2] {
        let world = f64::from(WORLD_VOXELS);
        let mut corners = [self.min, self.max].map(|corner| DVec3::from_array(corner.map(|c| c as f64)) - eye);
        let turns = libm::round(f64::midpoint(corners[0].x, corners[1].x) / world);
        for corner in &mut corners {
            corner.x -= turns * world;
        }
        corners
    }
}

/// The eye as the origin of camera-relative space: a whole voxel and a fraction.
///
/// An f32 near 10^7 voxels counts in whole voxels only. So whole numbers are subtracted first, exactly, and only the
/// small difference becomes an f32; the fraction follows last. Two regions that share a corner therefore place it at
/// the same bits, and no crack opens, wherever on Earth the camera is.
///
/// ```
/// use voxatlas::geo::EyeOrigin;
/// use glam::{DVec3, Vec3};
///
/// let eye = EyeOrigin::new(DVec3::new(29_802_240.5, 300.0, 13_215_488.25));
/// assert_eq!(eye.offset([29_802_496, 224, 13_215_488]), [256, -76, 0]);
/// assert_eq!(eye.relative([29_802_496, 224, 13_215_488]), Vec3::new(255.5, -76.0, -0.25));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EyeOrigin {
    voxel: [i64; 3],
    fraction: Vec3,
}

impl EyeOrigin {
    /// Splits the eye's world position. What is no position (see [`voxel_of`]) becomes the world's origin.
    pub fn new(eye: DVec3) -> Self {
        let Some(voxel) = voxel_of(eye) else {
            return Self { voxel: [0; 3], fraction: Vec3::ZERO };
        };
        let whole = DVec3::from_array(voxel.map(|c| c as f64));
        Self { voxel, fraction: (eye - whole).as_vec3() }
    }

    /// The eye's voxel: the origin that is subtracted as whole numbers.
    pub fn voxel(&self) -> [i64; 3] {
        self.voxel
    }

    /// Where in its voxel the eye is, 0..=1 (an f64 just below 1 may round up).
    pub fn fraction(&self) -> Vec3 {
        self.fraction
    }

    /// Whole voxels from the eye's voxel to a world corner, exact; x the shorter way round the world. Saturates
    /// beyond the `i32` range.
    pub fn offset(&self, corner: [i64; 3]) -> [i32; 3] {
        let mut offset: [i64; 3] = std::array::from_fn(|axis| corner[axis].saturating_sub(self.voxel[axis]));
        let world = i64::from(WORLD_VOXELS);
        offset[0] = (offset[0].rem_euclid(world) + world / 2) % world - world / 2;
        offset.map(|c| c.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    /// The camera-relative position of a world corner: [`EyeOrigin::offset`] less the fraction.
    pub fn relative(&self, corner: [i64; 3]) -> Vec3 {
        Vec3::from_array(self.offset(corner).map(|c| c as f32)) - self.fraction
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn voxels_are_floors() {
        assert_eq!(voxel_of(DVec3::new(-0.5, 0.0, 1.999)), Some([-1, 0, 1]));
        assert_eq!(voxel_of(DVec3::new(f64::NAN, 0.0, 0.0)), None);
        assert_eq!(voxel_of(DVec3::new(0.0, f64::INFINITY, 0.0)), None);
        assert_eq!(voxel_of(DVec3::new(0.0, 1e300, 0.0)), None);
    }

    #[test]
    fn tiles_lie_under_their_voxels() {
        for (zoom, x, z, expected) in [
            (17, 255, 256, Some("17/0/1")),
            (17, -1, 0, Some("17/131071/0")),
            (17, 1 << 25, 0, Some("17/0/0")),
            (25, 7, 9, Some("25/7/9")),
            (27, 7, 9, Some("27/28/36")),
            (0, 1 << 24, 1 << 24, Some("0/0/0")),
            (17, 0, -1, None),
            (17, 0, 1 << 25, None),
            (200, 0, 0, None),
            (17, i64::MIN, i64::MAX, None),
        ] {
            assert_eq!(tile_of_voxel(zoom, x, z), expected.map(|tile| tile.parse().unwrap()), "{zoom} {x} {z}");
        }
    }

    #[test]
    fn what_is_no_eye_is_the_origin() {
        for eye in [DVec3::NAN, DVec3::splat(f64::INFINITY), DVec3::splat(1e300)] {
            let origin = EyeOrigin::new(eye);
            assert_eq!(origin.voxel(), [0; 3]);
            assert!(origin.relative([i64::MIN, i64::MAX, i64::MIN]).is_finite());
        }
    }

    #[test]
    fn across_the_antimeridian_is_near() {
        let world = i64::from(WORLD_VOXELS);
        let eye = EyeOrigin::new(DVec3::new((world - 10) as f64, 0.0, 0.0));
        assert_eq!(eye.offset([0, 0, 0]), [10, 0, 0]);
        let eye = EyeOrigin::new(DVec3::new(10.0, 0.0, 0.0));
        assert_eq!(eye.offset([world - 256, 0, 0]), [-266, 0, 0]);
        let last = WorldBox { min: [world - 256, 0, 0], max: [world, 256, 256] };
        let [min, max] = last.relative_to(DVec3::new(10.0, 0.0, 0.0));
        assert_eq!((min.x, max.x), (-266.0, -10.0));
    }

    fn far_eye() -> impl Strategy<Value = DVec3> {
        // Sixteenths of a 1024th of a voxel are exact in an f64 everywhere in the world.
        [0i64..1 << 35, -(1i64 << 24)..1 << 24, 0i64..1 << 35]
            .prop_map(|eye| DVec3::from_array(eye.map(|c| c as f64 / 1024.0)))
    }

    proptest! {
        #[test]
        fn camera_relative_positions_are_exact(eye in far_eye(), near in [-4096i64..4096, -4096..4096, -4096..4096]) {
            let voxel = voxel_of(eye).unwrap();
            let corner: [i64; 3] = std::array::from_fn(|axis| voxel[axis] + near[axis]);
            let expected = DVec3::from_array(corner.map(|c| c as f64)) - eye;
            // 12 bits of voxels and 10 of fraction fit the 24 of an f32: not one of them may be lost.
            prop_assert_eq!(EyeOrigin::new(eye).relative(corner).as_dvec3(), expected);
        }

        #[test]
        fn a_corner_is_the_same_from_both_of_its_regions(
            eye in far_eye(), fine in 0.0..1e-3, tile in [0i64..64, 0..4, 0..64],
        ) {
            let eye = eye + DVec3::splat(fine);
            let origin = EyeOrigin::new(eye);
            let low: [i64; 3] = std::array::from_fn(|axis| (voxel_of(eye).unwrap()[axis] / 256 + tile[axis] - 32) * 256);
            let place = |origin_voxel: [i64; 3], local: f32| {
                Vec3::from_array(origin.offset(origin_voxel).map(|c| c as f32)) + Vec3::splat(local) - origin.fraction()
            };
            prop_assert_eq!(place(low, 256.0), place(low.map(|c| c + 256), 0.0));
        }
    }
}
