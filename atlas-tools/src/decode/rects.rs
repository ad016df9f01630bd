//! Rectangles of one colour, for formats whose faces have one colour or whose corners have.
//!
//! The mesher merges faces regardless of colour; here each of its quads is cut again where the colour changes.

use voxatlas::mesh::{BorderPolicy, Face, Quad, RegionMesh, Scratch, mesh_region};
use voxatlas::voxel::{Colour, Region};

/// A rectangle of exposed faces of one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) face: Face,
    /// Its corners in the region's voxels, counter-clockwise as seen from outside.
    pub(super) corners: [[u32; 3]; 4],
    pub(super) colour: Colour,
}

/// The surface of a region in rectangles.
pub(super) fn rects(region: &Region) -> Vec<Rect> {
    let mesh = mesh_region(region, BorderPolicy::Closed, &mut Scratch::new());
    let mut rects = Vec::with_capacity(mesh.quads.len());
    let mut cells = Vec::new();
    for &quad in &mesh.quads {
        match quad.uniform_entry() {
            Some(entry) => {
                rects.push(rect(quad, [0, 0], [quad.width(), quad.height()], mesh.face_colours.colour(entry)));
            }
            None => cut(&mesh, quad, &mut cells, &mut rects),
        }
    }
    rects
}

/// Cuts a quad of several colours: from each cell that is left, as far as its colour reaches, first in width.
fn cut(mesh: &RegionMesh, quad: Quad, cells: &mut Vec<Option<Colour>>, rects: &mut Vec<Rect>) {
    let (width, height) = (quad.width(), quad.height());
    cells.clear();
    cells.extend(
        (0..height)
            .flat_map(|j| (0..width).map(move |i| (i, j)))
            .map(|(i, j)| Some(mesh.face_colours.of_cell(quad, i, j))),
    );
    let at = |i: u32, j: u32| (j * width + i) as usize;
    for j in 0..height {
        for i in 0..width {
            let Some(colour) = cells[at(i, j)] else { continue };
            let is_same = |cells: &[Option<Colour>], i: u32, j: u32| cells[at(i, j)] == Some(colour);
            let w = (i..width).take_while(|&i| is_same(cells, i, j)).count() as u32;
            let h = (j..height).take_while(|&j| (i..i + w).all(|i| is_same(cells, i, j))).count() as u32;
            for row in j..j + h {
                cells[at(i, row)..at(i, row) + w as usize].fill(None);
            }
            rects.push(rect(quad, [i, j], [w, h], colour));
        }
    }
}

fn rect(quad: Quad, [i, j]: [u32; 2], [w, h]: [u32; 2], colour: Colour) -> Rect {
    let face = quad.face();
    let (along_w, along_h) = face.extent_axes();
    let mut corner = quad.voxel(i, j);
    corner[face.axis()] += u32::from(face.is_positive());
    let moved = |w: u32, h: u32| {
        let mut moved = corner;
        moved[along_w] += w;
        moved[along_h] += h;
        moved
    };
    let mut corners = [moved(0, 0), moved(w, 0), moved(w, h), moved(0, h)];
    // Width times height points along the axis for x and z, against it for y.
    if face.is_positive() == (face.axis() == 1) {
        corners.reverse();
    }
    Rect { face, corners, colour }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use voxatlas::voxel::{ColourDepth, Occupancy};

    use super::*;

    /// Twice the area of the rectangle, as a vector along its normal.
    fn normal(rect: &Rect) -> [i64; 3] {
        let edge = |to: usize| {
            let (a, b) = (rect.corners[0], rect.corners[to]);
            [0, 1, 2].map(|axis| i64::from(b[axis]) - i64::from(a[axis]))
        };
        let (a, b) = (edge(1), edge(3));
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_exposed_face_is_covered_once_and_looks_outwards(
            voxels in proptest::collection::btree_set((0u32..5, 0u32..4, 0u32..5), 1..60), n_colours in 1u32..4,
        ) {
            let mut occupancy = Occupancy::empty();
            for &(x, y, z) in &voxels {
                occupancy.set(x, y, z, true);
            }
            let region = Region::paint(occupancy, ColourDepth::Direct, |x, y, z| (x + y * 3 + z) % n_colours);
            let found = rects(&region);
            let mut n_faces = 0;
            for rect in &found {
                let normal = normal(rect);
                let outwards = if rect.face.is_positive() { 1 } else { -1 };
                prop_assert_eq!(normal[rect.face.axis()].signum(), outwards);
                n_faces += normal[rect.face.axis()].unsigned_abs() as usize;
                // The voxel behind the first corner cell has the colour.
                let low: [u32; 3] = std::array::from_fn(|axis| rect.corners.iter().map(|c| c[axis]).min().unwrap_or(0));
                let mut voxel = low;
                voxel[rect.face.axis()] -= u32::from(rect.face.is_positive());
                prop_assert_eq!(region.colours.get(voxel[0], voxel[1], voxel[2]), rect.colour);
            }
            let has = |x: i64, y: i64, z: i64| voxels.iter().any(|&(a, b, c)| (i64::from(a), i64::from(b), i64::from(c)) == (x, y, z));
            let sides = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
            let exposed = voxels.iter().flat_map(|&(x, y, z)| sides.map(|[dx, dy, dz]| {
                !has(i64::from(x) + dx, i64::from(y) + dy, i64::from(z) + dz)
            })).filter(|&exposed| exposed).count();
            prop_assert_eq!(n_faces, exposed);
        }
    }
}
