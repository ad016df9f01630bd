//! The whole numbers in which triangles are counted.
//!
//! Owns [`Frame`], which takes places of the world to units of a window, and [`Window3`], the box of voxels that is
//! asked for. A place falls on the same unit of the world whatever the window is: windows that lie side by side agree. It
//! does not clip: a triangle keeps its corners wherever they are.

use voxatlas::geo::mercator::metres_per_voxel_at;

use super::Triangle;
use crate::input::Place;

/// Units along the edge of a voxel.
pub const UNITS: i64 = 256;

/// Coordinates reach this far from the corner, in units (2^32 voxels, 128 worlds): products of three of them and of a
/// small number fit an i128. Beyond, a place is moved to this distance.
pub(super) const COORDINATE_MAX: i64 = 1 << 40;

/// A box of voxels with its lowest corner at the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window3 {
    /// Voxels along x, y and z.
    pub size: [u32; 3],
}

/// Where a window stands in the world.
///
/// ```
/// use atlas_tools::geometry::Frame;
/// use atlas_tools::input::Place;
///
/// let frame = Frame { corner: [100, -32, 200], voxel_m: 0.5 };
/// let place = Place { x: 101.5, z: 200.0, height_m: 2.0 };
/// assert_eq!(frame.units([place; 3])[0], [384, 36 * 256, 0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The lowest corner of the window: x and z in z17 voxels of the world, y in voxels above the datum.
    pub corner: [i64; 3],
    /// Edge of a voxel, in metres: heights are divided by it.
    pub voxel_m: f64,
}

impl Frame {
    /// The frame of a window whose voxels are as large as the world's are at world z, in z17 voxels.
    pub fn new(corner: [i64; 3]) -> Self {
        Self { corner, voxel_m: metres_per_voxel_at(corner[2] as f64) }
    }

    /// A triangle in units from the window's corner, each corner at the nearest unit. What is no number counts as 0.
    pub fn units(&self, triangle: [Place; 3]) -> Triangle {
        triangle.map(|place| {
            let world = [place.x, place.height_m / self.voxel_m, place.z];
            std::array::from_fn(|axis| {
                // The cast saturates. Rounding happens in the world, before the window comes in.
                let in_world = libm::round(world[axis] * UNITS as f64) as i64;
                in_world.saturating_sub(self.corner[axis].saturating_mul(UNITS)).clamp(-COORDINATE_MAX, COORDINATE_MAX)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_share_the_units_of_the_world() {
        let place = Place { x: 29_802_434.123, z: 13_215_596.987, height_m: -3.4 };
        let here = Frame { corner: [29_802_240, -32, 13_215_488], voxel_m: 0.97 };
        let there = Frame { corner: [29_802_496, 224, 13_215_488], voxel_m: 0.97 };
        let (a, b) = (here.units([place; 3])[0], there.units([place; 3])[0]);
        assert_eq!([a[0] - b[0], a[1] - b[1], a[2] - b[2]], [256 * UNITS, 256 * UNITS, 0]);
    }

    #[test]
    fn absurd_places_stay_in_range() {
        let frame = Frame::new([i64::MIN, i64::MAX, 0]);
        let place = Place { x: f64::INFINITY, z: f64::NAN, height_m: f64::NEG_INFINITY };
        let units = frame.units([place; 3])[0];
        assert_eq!(units, [COORDINATE_MAX, -COORDINATE_MAX, 0]);
    }
}
