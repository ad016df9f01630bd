//! The reference system's mesh: greedy boxes, for people who bring a renderer made for it.
//!
//! Receives an [`Occupancy`], yields the arrays of its `greedyMesh`, value for value and in its order; knows no colours.
//! Our own pictures are drawn from [quads](super::mesh_region): boxes leave hidden faces in.
//!
//! ```text
//! scan x fastest, then y, then z; at each voxel that no box has taken yet:
//!
//!     grow along +x as far as voxels are there
//!     then along +y while all of that run is
//!     then along +z while all of that sheet is
//! ```

use std::convert::Infallible;

use crate::limits::REGION_VOXELS;
use crate::mesh::faces::{ROW_EMPTY, Row, is_empty};
use crate::voxel::Occupancy;

/// Boxes that fill the occupied voxels, each voxel once: the reference system's `{pos, scl, cnt}`.
///
/// ```
/// use voxatlas::mesh::mesh_boxes;
/// use voxatlas::voxel::Occupancy;
///
/// let mut occupancy = Occupancy::empty();
/// occupancy.set(10, 20, 30, true);
/// occupancy.set(11, 20, 30, true);
///
/// let boxes = mesh_boxes(&occupancy);
/// assert_eq!(boxes.pos, [11.0, 20.5, 30.5]);
/// assert_eq!(boxes.scl, [2.0, 1.0, 1.0]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoxMesh {
    /// The centre of each box, x, y, z, in voxels from the region's lowest corner.
    pub pos: Vec<f32>,
    /// The size of each box along x, y, z, in voxels.
    pub scl: Vec<f32>,
}

impl BoxMesh {
    /// The number of boxes (the reference system's `cnt`).
    pub fn len(&self) -> usize {
        self.pos.len() / 3
    }

    /// Whether there is no box.
    pub fn is_empty(&self) -> bool {
        self.pos.is_empty()
    }

    /// Bytes held, for budgets.
    pub fn size_bytes(&self) -> usize {
        (self.pos.capacity() + self.scl.capacity()) * size_of::<f32>()
    }

    fn push(&mut self, min: [usize; 3], size: [usize; 3]) {
        // Halves up to 256 are exact in f32.
        self.pos.extend([0, 1, 2].map(|axis| min[axis] as f32 + size[axis] as f32 / 2.0));
        self.scl.extend(size.map(|side| side as f32));
    }
}

/// The boxes of a region (the reference system's `greedyMesh`).
pub fn mesh_boxes(occupancy: &Occupancy) -> BoxMesh {
    let Ok(boxes) = try_mesh_boxes(occupancy, || Ok::<_, Infallible>(()));
    boxes
}

/// As [`mesh_boxes`], but asks `go_on` before each of the 256 planes along z.
///
/// # Errors
///
/// Whatever `go_on` says; nothing else fails.
pub fn try_mesh_boxes<E>(occupancy: &Occupancy, mut go_on: impl FnMut() -> Result<(), E>) -> Result<BoxMesh, E> {
    const SIDE: usize = REGION_VOXELS as usize;
    let mut left = occupancy.clone();
    let rows = left.rows_mut();
    let mut boxes = BoxMesh::default();
    for z in 0..SIDE {
        go_on()?;
        for y in 0..SIDE {
            while let Some((x, run)) = first_run(&rows[y + SIDE * z]) {
                let size_x = run.iter().map(|word| word.count_ones() as usize).sum();
                let size_y = (y..SIDE).take_while(|&y| holds(&rows[y + SIDE * z], &run)).count();
                let size_z =
                    (z..SIDE).take_while(|z| rows[y + SIDE * z..][..size_y].iter().all(|row| holds(row, &run))).count();
                for z in z..z + size_z {
                    for row in &mut rows[y + SIDE * z..][..size_y] {
                        *row = [row[0] & !run[0], row[1] & !run[1], row[2] & !run[2], row[3] & !run[3]];
                    }
                }
                boxes.push([x, y, z], [size_x, size_y, size_z]);
            }
        }
    }
    boxes.pos.shrink_to_fit();
    boxes.scl.shrink_to_fit();
    Ok(boxes)
}

/// The first run of set bits and where it begins.
fn first_run(row: &Row) -> Option<(usize, Row)> {
    if is_empty(row) {
        return None;
    }
    let mut run = ROW_EMPTY;
    let first_idx = row.iter().position(|&word| word != 0)?;
    let start = row[first_idx].trailing_zeros();
    // Adding the run's lowest bit carries through the run: what the sum no longer has of the word is the run.
    let (sum, mut goes_on) = row[first_idx].overflowing_add(1 << start);
    run[first_idx] = row[first_idx] & !sum;
    for idx in first_idx + 1..row.len() {
        let (sum, carries) = row[idx].overflowing_add(u64::from(goes_on));
        run[idx] = row[idx] & !sum;
        goes_on = carries;
    }
    Some((first_idx * 64 + start as usize, run))
}

/// Whether all of the run's bits are set in the row.
fn holds(row: &Row, run: &Row) -> bool {
    row.iter().zip(run).all(|(row, run)| row & run == *run)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIDE: usize = 256;

    /// The rule of the module's figure, a voxel at a time.
    fn boxes_by_voxel(occupancy: &Occupancy) -> BoxMesh {
        let mut left: Vec<bool> = (0..SIDE.pow(3))
            .map(|idx| occupancy.get((idx % SIDE) as u32, (idx / SIDE % SIDE) as u32, (idx / SIDE / SIDE) as u32))
            .collect();
        let mut boxes = BoxMesh::default();
        let at = |x: usize, y: usize, z: usize| x + SIDE * (y + SIDE * z);
        for (z, y, x) in (0..SIDE).flat_map(|z| (0..SIDE).flat_map(move |y| (0..SIDE).map(move |x| (z, y, x)))) {
            if !left[at(x, y, z)] {
                continue;
            }
            let end_x = (x..SIDE).find(|&x| !left[at(x, y, z)]).unwrap_or(SIDE);
            let end_y = (y..SIDE).find(|&y| (x..end_x).any(|x| !left[at(x, y, z)])).unwrap_or(SIDE);
            let end_z = (z..SIDE).find(|&z| (y..end_y).any(|y| (x..end_x).any(|x| !left[at(x, y, z)]))).unwrap_or(SIDE);
            for (z, y) in (z..end_z).flat_map(|z| (y..end_y).map(move |y| (z, y))) {
                left[at(x, y, z)..at(end_x, y, z)].fill(false);
            }
            boxes.push([x, y, z], [end_x - x, end_y - y, end_z - z]);
        }
        boxes
    }

    /// Fills a small part of a region from the bits of random words, `density` of eight voxels.
    fn small_scene(min: [u32; 3], size: [u32; 3], density: u64, words: &[u64]) -> Occupancy {
        let mut occupancy = Occupancy::empty();
        for (idx, cell) in (0..size.iter().product()).enumerate() {
            let [x, y, z] = [cell % size[0], cell / size[0] % size[1], cell / size[0] / size[1]];
            let bits = words[idx % words.len()].rotate_left((idx / words.len()) as u32 * 7) & 7;
            occupancy.set(min[0] + x, min[1] + y, min[2] + z, bits < density);
        }
        occupancy
    }

    fn scene() -> impl Strategy<Value = Occupancy> {
        let size = prop_oneof![
            3 => prop::array::uniform3(1u32..12),
            1 => (60u32..=256, 1u32..4, 1u32..4).prop_map(<[u32; 3]>::from),
        ];
        (
            size,
            prop::array::uniform3(prop_oneof![Just(0u32), Just(60), Just(256)]),
            1u64..=8,
            prop::collection::vec(any::<u64>(), 1..200),
        )
            .prop_map(|(size, place, density, words)| {
                let min = [0, 1, 2].map(|axis| place[axis].min(REGION_VOXELS - size[axis]));
                small_scene(min, size, density, &words)
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn boxes_are_those_of_the_rule_in_its_order(occupancy in scene()) {
            prop_assert_eq!(mesh_boxes(&occupancy), boxes_by_voxel(&occupancy));
        }

        #[test]
        fn boxes_fill_the_voxels_once(occupancy in scene()) {
            let boxes = mesh_boxes(&occupancy);
            let mut filled = Occupancy::empty();
            for (pos, scl) in boxes.pos.chunks_exact(3).zip(boxes.scl.chunks_exact(3)) {
                let min = [0, 1, 2].map(|axis| (pos[axis] - scl[axis] / 2.0) as u32);
                let size = [scl[0] as u32, scl[1] as u32, scl[2] as u32];
                for cell in 0..size.iter().product() {
                    let [x, y, z] = [cell % size[0], cell / size[0] % size[1], cell / size[0] / size[1]];
                    let [x, y, z] = [min[0] + x, min[1] + y, min[2] + z];
                    prop_assert!(!filled.get(x, y, z), "{:?} lies in two boxes", [x, y, z]);
                    filled.set(x, y, z, true);
                }
            }
            prop_assert_eq!(filled, occupancy);
        }
    }

    /// Boxes of the voxels that `contains` takes.
    fn n_boxes_where(contains: impl Fn(u32, u32, u32) -> bool) -> usize {
        let mut occupancy = Occupancy::empty();
        for (z, y) in (0..REGION_VOXELS).flat_map(|z| (0..REGION_VOXELS).map(move |y| (z, y))) {
            for (word_idx, word) in occupancy.row_mut(y, z).iter_mut().enumerate() {
                *word = (0..64).map(|bit| u64::from(contains(word_idx as u32 * 64 + bit, y, z)) << bit).sum();
            }
        }
        mesh_boxes(&occupancy).len()
    }

    /// Figures measured on the reference system's own mesher, of the scenes that are known to the voxel.
    #[test]
    fn counts_are_those_of_the_reference() {
        let r2 = |x: u32, y: u32, z: u32| [x, y, z].map(|c| c.abs_diff(128).pow(2)).iter().sum::<u32>();
        assert_eq!(n_boxes_where(|_, _, _| false), 0);
        assert_eq!(n_boxes_where(|_, _, _| true), 1);
        assert_eq!(n_boxes_where(|x, y, z| r2(x, y, z) < 100 * 100), 13_424, "a solid sphere of radius 100");
    }

    #[test]
    fn checkerboard_is_a_box_a_voxel() {
        let occupancy = small_scene([200, 0, 130], [40; 3], 8, &[0]);
        let mut board = Occupancy::empty();
        for (row_idx, row) in board.rows_mut().iter_mut().enumerate() {
            let parity = if (row_idx + row_idx / SIDE).is_multiple_of(2) { 0x5555_5555_5555_5555 } else { !0 / 3 * 2 };
            *row = occupancy.rows()[row_idx].map(|word| word & parity);
        }
        assert_eq!(mesh_boxes(&board).len(), 40 * 40 * 40 / 2);
    }
}
