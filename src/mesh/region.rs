//! From a region to its mesh, a direction at a time: one surface.

use std::convert::Infallible;

use crate::mesh::face_colour::{BrickTable, colour_quads};
use crate::mesh::faces::{Closing, FaceMasks};
use crate::mesh::quads::merge_plane;
use crate::mesh::{BorderPolicy, Face, FaceColours, Quad, QuadEnds, RegionMesh};
use crate::voxel::{ColourDepth, Occupancy, Region};

/// Largest buffer that a [`Scratch`] keeps for the next region, in bytes: well above any city's quads (2 MiB), far
/// below those of noise (90 MiB).
pub(super) const KEPT_BYTES_MAX: usize = 8 << 20;

/// The working memory of meshing, about 2.2 MiB and the buffers of the last ordinary region. Keep one a thread.
#[derive(Debug)]
pub struct Scratch {
    pub(super) masks: FaceMasks,
    pub(super) quads: Vec<Quad>,
    /// Of each octant, where they are meshed one by one.
    pub(super) octants: [Vec<Quad>; 8],
    pub(super) indices: Vec<u8>,
    pub(super) colours: Vec<u32>,
}

impl Scratch {
    /// Fresh working memory.
    pub fn new() -> Self {
        Self {
            masks: FaceMasks::new(),
            quads: Vec::new(),
            octants: [const { Vec::new() }; 8],
            indices: Vec::new(),
            colours: Vec::new(),
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// The surface of a region.
///
/// ```
/// use voxatlas::mesh::{BorderPolicy, Scratch, mesh_region};
/// use voxatlas::voxel::{ColourDepth, Colours, Occupancy, Region};
///
/// let mut region = Region { occupancy: Occupancy::empty(), colours: Colours::new(ColourDepth::Direct) };
/// region.occupancy.set(1, 2, 3, true);
/// region.colours.set_uniform(0, 0, 0, 0x00_33_66_99);
///
/// let mesh = mesh_region(&region, BorderPolicy::Closed, &mut Scratch::new());
/// assert_eq!(mesh.quads.len(), 6);
/// assert_eq!(mesh.face_colours.of_cell(mesh.quads[0], 0, 0), [0x99, 0x66, 0x33]);
/// ```
pub fn mesh_region(region: &Region, border: BorderPolicy<'_>, scratch: &mut Scratch) -> RegionMesh {
    let Ok(mesh) = try_mesh_region(region, border, scratch, || Ok::<_, Infallible>(()));
    mesh
}

/// As [`mesh_region`], but asks `go_on` before each of its steps, at most a few milliseconds apart in a city.
///
/// # Errors
///
/// Whatever `go_on` says; nothing else fails.
pub fn try_mesh_region<E>(
    region: &Region,
    border: BorderPolicy<'_>,
    scratch: &mut Scratch,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<RegionMesh, E> {
    let Region { occupancy, colours } = region;
    let Scratch { masks, quads, octants: _, indices, colours: direct } = scratch;
    quads.clear();
    indices.clear();
    direct.clear();

    go_on()?;
    masks.prepare(occupancy);
    let bricks = BrickTable::new(colours);
    let mut ends = [0; Face::ALL.len()];
    for face in Face::ALL {
        go_on()?;
        let first = quads.len();
        push_face_quads(masks, occupancy, border, face, quads);
        match colours.depth() {
            ColourDepth::Indexed(_) => colour_quads(face, &mut quads[first..], &bricks, indices),
            ColourDepth::Direct => colour_quads(face, &mut quads[first..], &bricks, direct),
        }
        ends[face as usize] = quads.len() as u32;
    }
    let face_colours = hand_out_colours(colours.depth(), indices, direct);
    Ok(RegionMesh { quads: hand_out(quads), face_colours, ends: QuadEnds::of_surface(ends) })
}

/// Appends the quads of an occupancy, without colours: faces in the order of their numbers, planes ascending within
/// them.
pub fn mesh_occupancy(occupancy: &Occupancy, border: BorderPolicy<'_>, scratch: &mut Scratch, quads: &mut Vec<Quad>) {
    scratch.masks.prepare(occupancy);
    for face in Face::ALL {
        push_face_quads(&mut scratch.masks, occupancy, border, face, quads);
    }
}

/// Appends the quads of one direction. One loop an axis, so that each is compiled for its own bit positions.
fn push_face_quads(
    masks: &mut FaceMasks,
    occupancy: &Occupancy,
    border: BorderPolicy<'_>,
    face: Face,
    quads: &mut Vec<Quad>,
) {
    match face.axis() {
        0 => masks.for_each_plane(occupancy, border, Closing::Region, face, |x, plane| {
            merge_plane(plane, quads, |y, z, w, h| Quad::new([x, y, z], face, w, h));
        }),
        1 => masks.for_each_plane(occupancy, border, Closing::Region, face, |y, plane| {
            merge_plane(plane, quads, |x, z, w, h| Quad::new([x, y, z], face, w, h));
        }),
        _ => masks.for_each_plane(occupancy, border, Closing::Region, face, |z, plane| {
            merge_plane(plane, quads, |x, y, w, h| Quad::new([x, y, z], face, w, h));
        }),
    }
}

/// The entries of the kind that the depth asks for.
pub(super) fn hand_out_colours(depth: &ColourDepth, indices: &mut Vec<u8>, direct: &mut Vec<u32>) -> FaceColours {
    match depth {
        ColourDepth::Indexed(palette) => FaceColours::Indexed { palette: palette.clone(), entries: hand_out(indices) },
        ColourDepth::Direct => FaceColours::Direct { entries: hand_out(direct) },
    }
}

/// The buffer's content at its exact size: a copy, so that the room stays for the next region; a huge one is given
/// away instead, so that one odd region does not hold memory for ever.
pub(super) fn hand_out<T: Copy>(buffer: &mut Vec<T>) -> Vec<T> {
    if size_of_val(buffer.as_slice()) <= KEPT_BYTES_MAX {
        return buffer.clone();
    }
    let mut content = std::mem::take(buffer);
    content.shrink_to_fit();
    content
}
