//! From a region to its mesh, octant by octant: eight surfaces, each closed on its own.
//!
//! Any of them can be drawn without the others, as a coarse region is where finer ones stand in for some of its octants.
//! It costs the faces between the octants, and the quads that the middle cuts in two.
//!
//! ```text
//! a plane of exposed faces, a quarter an octant:     quarters are consumed from the last to the first, so that to the
//!                                                    right of each and below it nothing is left to grow into, and no
//!            stacks 0 1   2 3                        quad crosses the middle
//! blocks 0 1      | d  |  c |
//!                 |----+----|
//!        2 3      | b  |  a |
//! ```

use std::convert::Infallible;

use crate::mesh::face_colour::{BrickTable, colour_quads};
use crate::mesh::faces::{Closing, FaceMasks, MIDDLE, MaskPlane, N_STACKS};
use crate::mesh::quads::{N_BLOCKS, merge_part};
use crate::mesh::region::{KEPT_BYTES_MAX, hand_out, hand_out_colours};
use crate::mesh::{BorderPolicy, Face, Quad, QuadEnds, RegionMesh, Scratch};
use crate::voxel::{ColourDepth, Occupancy, Region};

/// The surfaces of a region's octants, each as if the others were air: see [`QuadEnds`].
///
/// `border` speaks of what lies outside the region. So [`BorderPolicy::Floored`] takes the faces of its underside, and
/// leaves those of the upper octants, which look down at the lower ones.
///
/// ```
/// use voxatlas::mesh::{BorderPolicy, QuadEnds, Scratch, mesh_octants};
/// use voxatlas::voxel::{ColourDepth, Colours, Occupancy, Region};
///
/// let mut region = Region { occupancy: Occupancy::empty(), colours: Colours::new(ColourDepth::Direct) };
/// region.occupancy.set(127, 2, 3, true);
/// region.occupancy.set(128, 2, 3, true);
///
/// // Two cubes that touch, one in the western octant and one in the eastern.
/// let mesh = mesh_octants(&region, BorderPolicy::Closed, &mut Scratch::new());
/// let n_quads = |octants| mesh.ends.runs(QuadEnds::ALL_FACES, octants).map(|run| run.len()).sum::<usize>();
/// assert_eq!((n_quads(0b01), n_quads(0b10)), (6, 6));
/// ```
pub fn mesh_octants(region: &Region, border: BorderPolicy<'_>, scratch: &mut Scratch) -> RegionMesh {
    let Ok(mesh) = try_mesh_octants(region, border, scratch, || Ok::<_, Infallible>(()));
    mesh
}

/// As [`mesh_octants`], but asks `go_on` before each of its steps, at most a few milliseconds apart in a city.
///
/// # Errors
///
/// Whatever `go_on` says; nothing else fails.
pub fn try_mesh_octants<E>(
    region: &Region,
    border: BorderPolicy<'_>,
    scratch: &mut Scratch,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<RegionMesh, E> {
    let Region { occupancy, colours } = region;
    let Scratch { masks, quads, octants, indices, colours: direct } = scratch;
    quads.clear();
    octants.iter_mut().for_each(Vec::clear);
    indices.clear();
    direct.clear();

    go_on()?;
    masks.prepare(occupancy);
    let bricks = BrickTable::new(colours);
    let mut ends = [[0; 8]; Face::ALL.len()];
    for face in Face::ALL {
        go_on()?;
        push_face_quads(masks, occupancy, border, face, octants);
        for (octant, end) in octants.iter_mut().zip(&mut ends[face as usize]) {
            let first = quads.len();
            quads.append(octant);
            match colours.depth() {
                ColourDepth::Indexed(_) => colour_quads(face, &mut quads[first..], &bricks, indices),
                ColourDepth::Direct => colour_quads(face, &mut quads[first..], &bricks, direct),
            }
            *end = quads.len() as u32;
        }
    }
    for octant in octants {
        if octant.capacity() * size_of::<Quad>() > KEPT_BYTES_MAX / 8 {
            *octant = Vec::new();
        }
    }
    let face_colours = hand_out_colours(colours.depth(), indices, direct);
    Ok(RegionMesh { quads: hand_out(quads), face_colours, ends: QuadEnds::of_octants(ends) })
}

/// Appends the quads of one direction to their octants. One loop an axis, so that each is compiled for its own bit
/// positions.
fn push_face_quads(
    masks: &mut FaceMasks,
    occupancy: &Occupancy,
    border: BorderPolicy<'_>,
    face: Face,
    octants: &mut [Vec<Quad>; 8],
) {
    match face.axis() {
        0 => masks.for_each_plane(occupancy, border, Closing::Octants, face, |x, plane| {
            merge_quarters(plane, face, x, octants, |y, z, w, h| Quad::new([x, y, z], face, w, h));
        }),
        1 => masks.for_each_plane(occupancy, border, Closing::Octants, face, |y, plane| {
            merge_quarters(plane, face, y, octants, |x, z, w, h| Quad::new([x, y, z], face, w, h));
        }),
        _ => masks.for_each_plane(occupancy, border, Closing::Octants, face, |z, plane| {
            merge_quarters(plane, face, z, octants, |x, y, w, h| Quad::new([x, y, z], face, w, h));
        }),
    }
}

/// Consumes the plane at a coordinate along the normal, a quarter an octant.
#[inline]
fn merge_quarters(
    plane: &mut MaskPlane,
    face: Face,
    at: u32,
    octants: &mut [Vec<Quad>; 8],
    quad_at: impl Fn(u32, u32, u32, u32) -> Quad + Copy,
) {
    let (along_w, along_h) = face.extent_axes();
    let octant_of_plane = usize::from(at as usize >= MIDDLE) << face.axis();
    for (down, right) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
        let octant = octant_of_plane | right << along_w | down << along_h;
        let (stacks, blocks) = (right * N_STACKS / 2, down * N_BLOCKS / 2);
        let (stacks, blocks) = (stacks..stacks + N_STACKS / 2, blocks..blocks + N_BLOCKS / 2);
        merge_part(plane, stacks, blocks, &mut octants[octant], quad_at);
    }
}
