//! A region on the GPU: where its quads stand, and which of them are drawn.
//!
//! Owns what drawing must know of a region once its mesh has gone. Receives octants, yields boxes and runs of quads; its
//! room is `upload`'s to take and to give back.

use std::ops::Range;

use super::pool::Allocation;
use crate::geo::WorldBox;
use crate::limits::REGION_VOXELS;
use crate::mesh::octant_runs;

/// A region on the GPU.
#[derive(Debug)]
pub(super) struct Resident {
    /// World position of its lowest corner, in world voxels.
    pub(super) offset: [i64; 3],
    /// Edge of its voxels, in world voxels: 1 at zoom 17, 32 at zoom 12.
    pub(super) voxel_edge: i32,
    /// The octants that are drawn, a bit each. One surface is octant 0.
    pub(super) octants: u8,
    /// Where the quads of each octant end.
    pub(super) octant_ends: [u32; 8],
    /// The box of each octant's quads within the region, in its own voxels.
    pub(super) bounds: [Option<[[u32; 3]; 2]>; 8],
    /// Whether the octants are surfaces of their own.
    pub(super) has_octants: bool,
    /// Whether colours are words.
    pub(super) is_direct: bool,
    /// What is drawn at once.
    pub(super) pieces: Vec<ResidentPiece>,
    /// What it takes in pages and palettes.
    pub(super) size_bytes: u64,
}

impl Resident {
    /// The drawn octants and the boxes of their quads in the world.
    pub(super) fn world_boxes(&self) -> impl Iterator<Item = (usize, WorldBox)> {
        let drawn = (0..8).filter(|octant| self.octants >> octant & 1 == 1);
        drawn.filter_map(|octant| {
            let in_world = |corner: [u32; 3]| {
                std::array::from_fn(|axis| {
                    self.offset[axis].saturating_add(i64::from(corner[axis]) * i64::from(self.voxel_edge))
                })
            };
            self.bounds[octant].map(|[min, max]| (octant, WorldBox { min: in_world(min), max: in_world(max) }))
        })
    }

    /// Edge of the region, in world voxels.
    pub(super) fn edge_voxels(&self) -> i64 {
        i64::from(REGION_VOXELS) * i64::from(self.voxel_edge)
    }

    /// The quads of one of its pieces that belong to these octants, where they stand in the page.
    pub(super) fn runs(&self, piece: &ResidentPiece, octants: u8) -> impl Iterator<Item = Range<u32>> {
        let (first, quads) = (piece.first_quad, piece.quads.range.clone());
        let of_piece = first..first + piece.quads.len();
        octant_runs(self.octant_ends, octants)
            .map(move |run| overlap(&run, &of_piece))
            .filter(|run| !run.is_empty())
            .map(move |run| run.start - first + quads.start..run.end - first + quads.start)
    }

    /// Draws these octants from now on.
    pub(super) fn show(&mut self, octants: u8) {
        self.octants = if self.has_octants { octants } else { u8::from(octants != 0) };
    }
}

/// A part of a region's quads, all of them in one page and their colours in one.
#[derive(Debug)]
pub(super) struct ResidentPiece {
    /// Where its quads stand, in quads.
    pub(super) quads: Allocation,
    /// The mesh's first quad in it.
    pub(super) first_quad: u32,
    /// Where its face colours stand, in words; `None` where it has none.
    pub(super) colours: Option<Allocation>,
    /// The first of the words of the mesh's face colours in it.
    pub(super) first_word: u32,
    /// What the quads' colour indices count from, in entries of the page. Wraps round.
    pub(super) colour_base: u32,
}

/// What two ranges share; empty where that is nothing.
pub(super) fn overlap<T: Copy + Ord>(a: &Range<T>, b: &Range<T>) -> Range<T> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
