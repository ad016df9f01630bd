//! What a view can see of the slots, in the order in which it is drawn.
//!
//! Owns the choice of pieces and octants. Receives the slots and a view, yields pieces with their uniforms, nearest
//! first; it encodes nothing.

use std::ops::Range;

use glam::DVec3;

use super::layout::Piece;
use super::look::FrameStyle;
use super::resident::{Resident, ResidentPiece};
use super::upload::Slots;
use crate::geo::{EyeOrigin, WorldBox};
use crate::view::{Frustum, View};

/// Beyond this a region's corners are no exact f32, in voxels; no view reaches as far.
const REACH_VOXELS: u64 = 1 << 23;

/// A piece of which some may be in view.
pub(super) struct SeenPiece<'a> {
    pub(super) piece: &'a ResidentPiece,
    pub(super) uniform: Piece,
    /// Whether it is its slot's first.
    pub(super) is_first: bool,
    resident: &'a Resident,
    /// The octants that may be in view.
    octants: u8,
}

impl SeenPiece<'_> {
    /// Its quads that may be in view, a draw call each.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        self.resident.runs(self.piece, self.octants)
    }
}

/// What a view can see, nearest first, so that what is hidden is not shaded.
pub(super) fn seen_pieces<'a>(slots: &'a Slots, view: &View, style: FrameStyle) -> Vec<SeenPiece<'a>> {
    let eye_origin = EyeOrigin::new(view.pose.eye_in_world);
    let frustum = Frustum::new(&match style {
        // Beyond the draw distance there is only the sky's colour.
        FrameStyle::Lit => *view,
        FrameStyle::Flat { .. } => View { draw_distance_voxels: f64::INFINITY, ..*view },
    });
    let mut seen: Vec<_> = slots
        .residents()
        .filter_map(|(at, resident)| {
            let origin_in_eye = eye_origin.offset(resident.offset);
            let is_exact = origin_in_eye.iter().all(|&low| {
                let [low, high] = [0, resident.edge_voxels()].map(|to| (i64::from(low) + to).unsigned_abs());
                low.max(high) <= REACH_VOXELS
            });
            let (mut octants, mut distance_squared) = (0, f64::INFINITY);
            for (octant, world_box) in resident.world_boxes().filter(|(_, it)| frustum.intersects(*it)) {
                octants |= 1 << octant;
                distance_squared = distance_squared.min(squared_distance(world_box, view.pose.eye_in_world));
            }
            (is_exact && octants != 0).then_some((distance_squared, at, origin_in_eye, resident, octants))
        })
        .collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    seen.into_iter()
        .flat_map(|(_, at, origin_in_eye, resident, octants)| {
            resident.pieces.iter().enumerate().map(move |(idx, piece)| SeenPiece {
                piece,
                uniform: Piece {
                    origin_in_eye,
                    voxel_edge: resident.voxel_edge,
                    colour_base: piece.colour_base,
                    palette_base: Slots::palette_base(at),
                    is_direct: u32::from(resident.is_direct),
                    _padding: 0,
                },
                is_first: idx == 0,
                resident,
                octants,
            })
        })
        .collect()
}

/// From the eye to the nearest point of a box, in voxels, squared.
fn squared_distance(world_box: WorldBox, eye: DVec3) -> f64 {
    let [min, max] = world_box.relative_to(eye);
    DVec3::ZERO.max(min).min(max).length_squared()
}
