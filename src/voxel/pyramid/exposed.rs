//! Which voxels of a cube have a face to air. Beyond the cube nothing counts as air.

use std::array::from_fn;

use crate::voxel::Occupancy;

/// A bit for each voxel of a cube of W * 64 voxels.
#[derive(Debug)]
pub(super) struct Exposed<const W: usize> {
    /// Index y + edge * z.
    rows: Vec<[u64; W]>,
}

impl<const W: usize> Exposed<W> {
    /// Edge of the cube, in voxels.
    const EDGE: u32 = W as u32 * 64;

    /// Looks at a cube whose rows along +x are `row(y, z)`.
    pub(super) fn of(row: impl Fn(u32, u32) -> [u64; W]) -> Self {
        let row_or_solid = |y: Option<u32>, z: Option<u32>| match (y, z) {
            (Some(y), Some(z)) if y < Self::EDGE && z < Self::EDGE => row(y, z),
            _ => [u64::MAX; W],
        };
        let mut rows = Vec::with_capacity((Self::EDGE * Self::EDGE) as usize);
        for (z, y) in (0..Self::EDGE).flat_map(|z| (0..Self::EDGE).map(move |y| (z, y))) {
            let own = row(y, z);
            if own == [0; W] {
                rows.push(own);
                continue;
            }
            let beside = [
                row_or_solid(y.checked_sub(1), Some(z)),
                row_or_solid(Some(y + 1), Some(z)),
                row_or_solid(Some(y), z.checked_sub(1)),
                row_or_solid(Some(y), Some(z + 1)),
            ];
            rows.push(from_fn(|w| {
                let west = own[w] << 1 | if w == 0 { 1 } else { own[w - 1] >> 63 };
                let east = own[w] >> 1 | own.get(w + 1).copied().unwrap_or(1) << 63;
                own[w] & !beside.iter().fold(west & east, |covered, row| covered & row[w])
            }));
        }
        Self { rows }
    }
}

impl Exposed<8> {
    /// The eight voxels of a cube of two, of twice these coordinates: voxel x + 2 * y + 4 * z of it is bit that.
    pub(super) fn children(&self, [x, y, z]: [u32; 3]) -> u8 {
        let (word, shift) = (x as usize / 32, 2 * (x % 32));
        let row = |y: u32, z: u32| (self.rows[(y + Self::EDGE * z) as usize][word] >> shift) as u8 & 3;
        let [y, z] = [2 * y, 2 * z];
        row(y, z) | row(y + 1, z) << 2 | row(y, z + 1) << 4 | row(y + 1, z + 1) << 6
    }
}

impl Exposed<4> {
    /// Those of a region.
    pub(super) fn into_occupancy(self) -> Occupancy {
        let mut occupancy = Occupancy::empty();
        occupancy.rows_mut().copy_from_slice(&self.rows);
        occupancy
    }
}
