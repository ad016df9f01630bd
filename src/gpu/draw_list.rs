//! What a view can see of the slots, in the order in which it is drawn.
//!
//! Owns the choice of regions, octants and faces. Receives the slots and a view, yields regions as the shaders have them, and
//! runs of quads, nearest first; it encodes nothing.

use std::ops::Range;

use glam::DVec3;

use super::layout::{FADING_IN_SHIFT, FADING_OUT_SHIFT, IS_DIRECT, NO_SOLIDS, Region};
use super::look::FrameStyle;
use super::resident::{Fades, Resident};
use super::upload::Slots;
use crate::geo::{EyeOrigin, WorldBox};
use crate::limits::SLOTS_MAX;
use crate::mesh::Face;
use crate::view::{Frustum, View};

/// Beyond this a region's corners are no exact f32, in voxels; no view reaches as far.
const REACH_VOXELS: u64 = 1 << 23;

/// A slot that shows nothing.
const NOTHING: Region = Region {
    origin_in_eye: [0; 3],
    voxel_edge: 1,
    cell: [0; 3],
    zoom: 0,
    colour_base: 0,
    palette_base: 0,
    solids_base: NO_SOLIDS,
    octants_and_depth: 0,
    fades: 0,
    unused_0: 0,
    unused_1: 0,
    unused_2: 0,
};

/// What is drawn of the slots.
pub(super) struct DrawList {
    /// By slot.
    pub(super) regions: [Region; SLOTS_MAX],
    /// Above this nothing stands, in eye space.
    pub(super) top_in_eye: f32,
    /// The coarsest zoom that is shown.
    pub(super) coarsest_zoom: u8,
    /// Whether anything fades.
    pub(super) is_fading: bool,
    /// Regions of which something may be seen.
    pub(super) n_slots: usize,
    /// The quads that may be seen, where they stand, nearest regions first.
    pub(super) runs: Vec<Range<u32>>,
}

/// How finely runs are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// A run a face of a region at most: for those who pay for each. The shader leaves octants out.
    Few,
    /// No quad of an octant that is not drawn: for those who draw all runs at once.
    Exact,
}

/// A region of which something may be seen.
struct Seen<'a> {
    distance_squared: f64,
    slot: usize,
    resident: &'a Resident,
    octants: u8,
    faces: u8,
}

/// What a view can see, nearest first, so that what is hidden is not shaded.
pub(super) fn draw_list(slots: &Slots, view: &View, style: &FrameStyle, runs: Runs) -> DrawList {
    let eye = view.pose.eye_in_world;
    let eye_origin = EyeOrigin::new(eye);
    let frustum = Frustum::new(&match style {
        // Beyond the draw distance there is only the sky's colour.
        FrameStyle::Lit(_) => *view,
        FrameStyle::Flat { .. } => View { draw_distance_voxels: f64::INFINITY, ..*view },
    });
    let mut list = DrawList {
        regions: [NOTHING; SLOTS_MAX],
        top_in_eye: f32::NEG_INFINITY,
        coarsest_zoom: u8::MAX,
        is_fading: false,
        n_slots: 0,
        runs: Vec::new(),
    };
    let mut all_seen = Vec::new();
    for (slot, resident) in slots.residents() {
        let origin_in_eye = eye_origin.offset(resident.offset);
        let is_exact = origin_in_eye.iter().all(|&low| {
            let [low, high] = [0, resident.edge_voxels()].map(|to| (i64::from(low) + to).unsigned_abs());
            low.max(high) <= REACH_VOXELS
        });
        if !is_exact {
            continue;
        }
        let (mut octants, mut faces, mut distance_squared) = (0, 0, f64::INFINITY);
        for (octant, world_box) in resident.world_boxes().filter(|(_, it)| frustum.intersects(*it)) {
            octants |= 1 << octant;
            faces |= faces_towards(world_box, eye);
            distance_squared = distance_squared.min(squared_distance(world_box, eye));
        }
        list.coarsest_zoom = list.coarsest_zoom.min(resident.cell.zoom);
        let highest = resident.bounds.iter().flatten().map(|[_, max]| max[1]).max().unwrap_or(0);
        let top = i64::from(origin_in_eye[1]) + i64::from(highest) * i64::from(resident.voxel_edge);
        list.top_in_eye = list.top_in_eye.max(top as f32 - eye_origin.fraction().y);
        let fades = slots.time().map_or(Fades::default(), |now| resident.fades(now));
        list.is_fading |= fades != Fades::default();
        list.regions[slot] = region(resident, origin_in_eye, octants, fades);
        if octants != 0 {
            all_seen.push(Seen { distance_squared, slot, resident, octants, faces });
        }
    }
    all_seen.sort_by(|a, b| a.distance_squared.total_cmp(&b.distance_squared).then(a.slot.cmp(&b.slot)));
    list.n_slots = all_seen.len();
    for Seen { resident, octants, faces, .. } in all_seen {
        match runs {
            Runs::Exact => list.runs.extend(resident.runs(faces, octants)),
            Runs::Few => {
                let seen = Face::ALL.into_iter().filter(|&face| faces >> face as u8 & 1 == 1);
                list.runs.extend(seen.map(|face| resident.of_face(face)).filter(|run| !run.is_empty()));
            }
        }
    }
    list
}

/// A region as the shaders have it.
fn region(resident: &Resident, origin_in_eye: [i32; 3], octants: u8, fades: Fades) -> Region {
    // One surface has no octants of its own, and no quad of it is masked.
    let octants = if resident.ends.has_octants() { octants } else { u8::MAX };
    Region {
        origin_in_eye,
        voxel_edge: resident.voxel_edge,
        cell: resident.cell.at,
        zoom: u32::from(resident.cell.zoom),
        colour_base: if resident.is_direct { resident.words.start } else { resident.words.start * 4 },
        palette_base: resident.palette_at(),
        solids_base: resident.solids_at().unwrap_or(NO_SOLIDS),
        octants_and_depth: u32::from(octants)
            | if resident.is_direct { IS_DIRECT } else { 0 }
            | u32::from(fades.fading_in) << FADING_IN_SHIFT
            | u32::from(fades.fading_out) << FADING_OUT_SHIFT,
        fades: fades.sixteenths,
        unused_0: 0,
        unused_1: 0,
        unused_2: 0,
    }
}

/// The faces of voxels in a box that the eye can see any of, a bit each: it must stand before the nearest of them.
fn faces_towards(world_box: WorldBox, eye: DVec3) -> u8 {
    let [min, max] = world_box.relative_to(eye);
    Face::ALL.into_iter().fold(0, |faces, face| {
        let axis = face.axis();
        let is_seen = if face.is_positive() { min[axis] < 0.0 } else { max[axis] > 0.0 };
        faces | u8::from(is_seen) << face as u8
    })
}

/// From the eye to the nearest point of a box, in voxels, squared.
fn squared_distance(world_box: WorldBox, eye: DVec3) -> f64 {
    let [min, max] = world_box.relative_to(eye);
    DVec3::ZERO.max(min).min(max).length_squared()
}
