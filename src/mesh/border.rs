//! What lies outside a region's six sides, as far as the mesher is concerned.

use crate::limits::REGION_VOXELS;
use crate::mesh::Face;
use crate::mesh::faces::{Plane, ROW_EMPTY, ROW_FULL};
use crate::voxel::Occupancy;

/// Which faces on a region's border are exposed.
#[derive(Debug, Clone, Copy)]
pub enum BorderPolicy<'a> {
    /// Air lies outside: the mesh is watertight on its own, whatever its neighbours are or are not.
    Closed,
    /// As [`BorderPolicy::Closed`], but solid ground lies below: the underside of the lowest layer needs no faces.
    Floored,
    /// These voxels lie outside: faces towards a solid one are hidden.
    Neighbour(&'a BorderPlanes),
}

impl BorderPolicy<'_> {
    /// The solid voxels just outside the region on the side of `face`.
    pub(super) fn outside(&self, face: Face) -> &Plane {
        const AIR: Plane = [ROW_EMPTY; REGION_VOXELS as usize];
        const SOLID: Plane = [ROW_FULL; REGION_VOXELS as usize];
        match self {
            Self::Floored if face == Face::NegY => &SOLID,
            Self::Closed | Self::Floored => &AIR,
            Self::Neighbour(planes) => planes.plane(face),
        }
    }
}

/// Six planes of 256 x 256 voxels, one just outside each side of a region: 48 KiB.
///
/// A plane lies as the quads of its face do: bit i runs along the first of the face's
/// [extent axes](Face::extent_axes), row j along the second.
///
/// ```
/// use voxatlas::mesh::{BorderPlanes, Face};
/// use voxatlas::voxel::Occupancy;
///
/// let mut east = Occupancy::empty();
/// east.set(0, 7, 9, true);
/// let mut border = BorderPlanes::air();
/// border.set_from(Face::PosX, &east);
/// assert!(border.get(Face::PosX, 7, 9));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BorderPlanes {
    /// Six planes, in the order of the faces' numbers.
    planes: Box<[Plane]>,
}

impl BorderPlanes {
    /// Air on every side.
    pub fn air() -> Self {
        Self { planes: vec![[ROW_EMPTY; REGION_VOXELS as usize]; Face::ALL.len()].into_boxed_slice() }
    }

    /// Solid voxels on every side.
    pub fn solid() -> Self {
        Self { planes: vec![[ROW_FULL; REGION_VOXELS as usize]; Face::ALL.len()].into_boxed_slice() }
    }

    /// Whether the voxel outside `face` at (i, j) is solid.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn get(&self, face: Face, i: u32, j: u32) -> bool {
        self.plane(face)[j as usize][i as usize / 64] >> (i % 64) & 1 == 1
    }

    /// Makes the voxel outside `face` at (i, j) solid or air.
    ///
    /// # Panics
    ///
    /// A coordinate is 256 or more.
    pub fn set(&mut self, face: Face, i: u32, j: u32, solid: bool) {
        let word = &mut self.planes[face as usize][j as usize][i as usize / 64];
        *word = *word & !(1 << (i % 64)) | u64::from(solid) << (i % 64);
    }

    /// Takes the plane outside `face` from the region that lies there: its voxels that touch this region.
    pub fn set_from(&mut self, face: Face, neighbour: &Occupancy) {
        let touching = if face.is_positive() { 0 } else { REGION_VOXELS - 1 };
        for j in 0..REGION_VOXELS {
            self.planes[face as usize][j as usize] = match face.axis() {
                0 => column(neighbour, touching, j),
                1 => *neighbour.row(touching, j),
                _ => *neighbour.row(j, touching),
            };
        }
    }

    /// The plane outside `face`.
    pub(super) fn plane(&self, face: Face) -> &Plane {
        &self.planes[face as usize]
    }
}

/// The 256 voxels along +y at (x, z), y lowest bit first.
fn column(occupancy: &Occupancy, x: u32, z: u32) -> [u64; 4] {
    let mut column = ROW_EMPTY;
    for y in 0..REGION_VOXELS {
        column[y as usize / 64] |= u64::from(occupancy.get(x, y, z)) << (y % 64);
    }
    column
}
