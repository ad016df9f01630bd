//! The ray caster: a walk over the voxel grid that skips empty bricks and absent regions.
//!
//! ```text
//!      +---------------+---------------+
//!      | empty brick   |     brick     |      from a: one step over the empty brick, then voxel by voxel to b
//!      |               |   . . . +-+   |
//!  a --+---------------+--------->|b|   |      a plane is crossed at t = (plane - origin) / direction, computed
//!      |               |         +-+   |      anew for each plane: errors never add up
//!      +---------------+---------------+
//! ```
//!
//! # Edges and corners
//!
//! - A point belongs to the voxel of its floor: a ray that runs in the plane between two voxels is in the one on the
//!   positive side, also at its origin.
//! - A ray through an edge or a corner crosses its planes one after the other, x before y before z. So it never slips
//!   between two voxels that touch along an edge, and which of them it hits does not depend on what was skipped.

use glam::DVec3;

use crate::geo::{RegionKey, WORLD_VOXELS, voxel_of};
use crate::limits::{BRICK_VOXELS, REGION_VOXELS, ZOOM_FULL};
use crate::mesh::Face;
use crate::voxel::{BrickMask, Occupancy};

/// A ray, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it begins.
    pub origin: DVec3,
    /// Where it goes. Distances along the ray are multiples of this, so they are voxels where it is a unit vector.
    pub direction: DVec3,
    /// Where it ends, as such a multiple, at least 0. No ray goes farther than once round the world.
    pub t_max: f64,
}

/// The first voxel that a ray meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The voxel. x is not wrapped: it continues past the antimeridian as the ray does.
    pub voxel: [i64; 3],
    /// The face through which the ray enters; `None` where it begins inside.
    pub face: Option<Face>,
    /// Where the ray enters, as a multiple of its direction; 0 where it begins inside.
    pub t: f64,
}

/// A region's voxels to cast against, with the mask of its bricks that the caller keeps.
#[derive(Debug, Clone, Copy)]
pub struct Solid<'a> {
    /// The voxels.
    pub occupancy: &'a Occupancy,
    /// Its [`Occupancy::brick_mask`].
    pub bricks: &'a BrickMask,
}

/// Casts a ray in the world, in z17 voxels, through the zoom 17 regions of a tileset with that base. `region` yields
/// the voxels of a region, or `None` for air.
///
/// Yields nothing where the ray ends first, or is no ray: a coordinate is not finite, or the direction is zero and
/// begins in air.
///
/// ```
/// use glam::DVec3;
/// use voxatlas::geo::RegionKey;
/// use voxatlas::mesh::Face;
/// use voxatlas::physics::{Ray, Solid, cast};
/// use voxatlas::voxel::Occupancy;
///
/// let tower = RegionKey::new("17/116415/51623".parse()?, 0);
/// let mut occupancy = Occupancy::empty();
/// occupancy.set(10, 32, 20, true);
/// let bricks = occupancy.brick_mask();
///
/// // From two regions to the west, towards the voxel; the base is 32 voxels below the datum.
/// let [x, y, z] = tower.origin(-32).map(|c| c as f64);
/// let ray = Ray { origin: DVec3::new(x - 500.0, y + 32.5, z + 20.5), direction: DVec3::X, t_max: 1000.0 };
/// let solid = Solid { occupancy: &occupancy, bricks: &bricks };
/// let hit = cast(&ray, -32, |key| (key == tower).then_some(solid)).unwrap();
/// assert_eq!((hit.t, hit.face), (510.0, Some(Face::NegX)));
/// assert_eq!(tower.local(-32, hit.voxel), Some([10, 32, 20]));
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
pub fn cast<'a>(ray: &Ray, base: i32, mut region: impl FnMut(RegionKey) -> Option<Solid<'a>>) -> Option<Hit> {
    let grid_origin = [0, i64::from(base), 0];
    walk(ray, grid_origin, |voxel| RegionKey::at(ZOOM_FULL, base, voxel).and_then(&mut region))
}

/// Casts a ray in region-local voxels; outside of the region is air.
///
/// ```
/// use glam::DVec3;
/// use voxatlas::mesh::Face;
/// use voxatlas::physics::{Ray, Solid, cast_in_region};
/// use voxatlas::voxel::Occupancy;
///
/// let mut occupancy = Occupancy::empty();
/// occupancy.set(3, 0, 4, true);
/// let down = Ray { origin: DVec3::new(3.5, 300.0, 4.5), direction: DVec3::NEG_Y, t_max: 1000.0 };
/// let solid = Solid { occupancy: &occupancy, bricks: &occupancy.brick_mask() };
/// let hit = cast_in_region(&down, solid).unwrap();
/// assert_eq!((hit.voxel, hit.face, hit.t), ([3, 0, 4], Some(Face::PosY), 299.0));
/// ```
pub fn cast_in_region(ray: &Ray, solid: Solid<'_>) -> Option<Hit> {
    let inside = |voxel: [i64; 3]| voxel.iter().all(|c| (0..i64::from(REGION_VOXELS)).contains(c));
    walk(ray, [0; 3], |voxel| inside(voxel).then_some(solid))
}

/// Walks the ray over regions whose corners are multiples of 256 from `grid_origin`.
fn walk<'a>(ray: &Ray, grid_origin: [i64; 3], mut region_at: impl FnMut([i64; 3]) -> Option<Solid<'a>>) -> Option<Hit> {
    let mut walker = Walker::new(ray, grid_origin)?;
    loop {
        let corner = walker.block_corner(REGION_VOXELS);
        match region_at(walker.voxel) {
            None => walker.leave_block(REGION_VOXELS)?,
            Some(solid) => {
                while walker.block_corner(REGION_VOXELS) == corner {
                    let [x, y, z] = std::array::from_fn(|axis| (walker.voxel[axis] - corner[axis]) as u32);
                    if !solid.bricks.contains(x / BRICK_VOXELS, y / BRICK_VOXELS, z / BRICK_VOXELS) {
                        walker.leave_block(BRICK_VOXELS)?;
                    } else if solid.occupancy.get(x, y, z) {
                        return Some(Hit { voxel: walker.voxel, face: walker.face, t: walker.t });
                    } else {
                        walker.leave_block(1)?;
                    }
                }
            }
        }
    }
}

/// A ray on its way: the voxel in which it is and how it came in.
struct Walker {
    origin: [f64; 3],
    direction: [f64; 3],
    t_max: f64,
    grid_origin: [i64; 3],
    voxel: [i64; 3],
    face: Option<Face>,
    t: f64,
}

impl Walker {
    /// `None` for what is no ray.
    fn new(ray: &Ray, grid_origin: [i64; 3]) -> Option<Self> {
        let voxel = voxel_of(ray.origin)?;
        if !ray.direction.is_finite() || ray.t_max.is_nan() || ray.t_max < 0.0 {
            return None;
        }
        // The bound that makes every walk end, an endless one through nothing included.
        let longest = ray.direction.abs().max_element();
        let t_max = if longest > 0.0 { ray.t_max.min(f64::from(WORLD_VOXELS) / longest) } else { ray.t_max };
        let (origin, direction) = (ray.origin.to_array(), ray.direction.to_array());
        Some(Self { origin, direction, t_max, grid_origin, voxel, face: None, t: 0.0 })
    }

    /// Where the ray crosses a plane of the grid. The direction along the axis is not 0.
    fn t_of_plane(&self, axis: usize, plane: i64) -> f64 {
        (plane as f64 - self.origin[axis]) / self.direction[axis]
    }

    /// The lowest corner of the aligned cube of `edge` voxels, a power of two, that holds the current voxel.
    fn block_corner(&self, edge: u32) -> [i64; 3] {
        let mask = !(i64::from(edge) - 1);
        std::array::from_fn(|axis| ((self.voxel[axis] - self.grid_origin[axis]) & mask) + self.grid_origin[axis])
    }

    /// Goes on to the first voxel beyond that cube; `None` where the ray ends before.
    fn leave_block(&mut self, edge: u32) -> Option<()> {
        let corner = self.block_corner(edge);
        let far: [i64; 3] =
            std::array::from_fn(|axis| corner[axis] + if self.direction[axis] > 0.0 { i64::from(edge) } else { 0 });
        let mut exit: Option<(f64, usize)> = None;
        for (axis, &plane) in far.iter().enumerate() {
            if self.direction[axis] != 0.0 {
                let t = self.t_of_plane(axis, plane);
                // Strictly: of planes that are crossed together the first axis is first.
                if exit.is_none_or(|(t_exit, _)| t < t_exit) {
                    exit = Some((t, axis));
                }
            }
        }
        let (t, exit_axis) = exit?;
        if t > self.t_max {
            return None;
        }
        if edge > 1 {
            for (axis, &low) in corner.iter().enumerate() {
                if axis != exit_axis && self.direction[axis] != 0.0 {
                    self.follow(axis, (t, exit_axis), low, edge);
                }
            }
        }
        let is_positive = self.direction[exit_axis] > 0.0;
        self.voxel[exit_axis] = far[exit_axis] - i64::from(!is_positive);
        self.face = Some(Face::ALL[2 * exit_axis + usize::from(!is_positive)]);
        self.t = t;
        Some(())
    }

    /// Moves the voxel along one axis over the planes that are crossed before the ray leaves the cube: what steps of one
    /// voxel would have done. The position only guesses; the planes decide.
    fn follow(&mut self, axis: usize, (t_exit, exit_axis): (f64, usize), low: i64, edge: u32) {
        let is_crossed = |plane: i64| {
            let t = self.t_of_plane(axis, plane);
            t < t_exit || (t == t_exit && axis < exit_axis)
        };
        let guess = (self.origin[axis] + t_exit * self.direction[axis]).floor() as i64;
        let high = low + i64::from(edge) - 1;
        self.voxel[axis] = if self.direction[axis] > 0.0 {
            let mut voxel = guess.clamp(self.voxel[axis], high);
            while voxel < high && is_crossed(voxel + 1) {
                voxel += 1;
            }
            while voxel > self.voxel[axis] && !is_crossed(voxel) {
                voxel -= 1;
            }
            voxel
        } else {
            let mut voxel = guess.clamp(low, self.voxel[axis]);
            while voxel > low && is_crossed(voxel) {
                voxel -= 1;
            }
            while voxel < self.voxel[axis] && !is_crossed(voxel + 1) {
                voxel += 1;
            }
            voxel
        };
    }
}

#[cfg(test)]
mod tests;
