//! A region on the GPU: where its parts stand, and which of them are drawn.
//!
//! Owns what drawing must know of a region once its mesh has gone. Receives octants, yields boxes and runs of quads; its
//! room is `upload`'s to take and to give back.

use std::ops::Range;
use std::time::Duration;

use crate::geo::WorldBox;
use crate::limits::{FADE_MILLIS, REGION_VOXELS};
use crate::mesh::{Face, QuadEnds, RegionMesh};

/// Where a region stands in the grid of its zoom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cell {
    pub(super) zoom: u8,
    /// Eastwards, up and southwards: the tile's x, the layer, the tile's y.
    pub(super) at: [i32; 3],
}

/// How long a change of octants takes.
const FADE: Duration = Duration::from_millis(FADE_MILLIS);

/// How far the fades of a region's octants are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fades {
    pub(super) sixteenths: u32,
    pub(super) fading_in: u8,
    pub(super) fading_out: u8,
}

/// A region on the GPU.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) cell: Cell,
    /// World position of its lowest corner, in world voxels.
    pub(super) offset: [i64; 3],
    /// Edge of its voxels, in world voxels: 1 at zoom 17, 32 at zoom 12.
    pub(super) voxel_edge: i32,
    /// The octants that are drawn, a bit each. One surface is octant 0.
    pub(super) octants: u8,
    /// Since when each octant fades in, where it is drawn, or out, where it is not; `None` where it has settled.
    pub(super) fading_since: [Option<Duration>; 8],
    /// Which of its quads look where.
    pub(super) ends: QuadEnds,
    /// The box of each octant's quads within the region, in its own voxels.
    pub(super) bounds: [Option<[[u32; 3]; 2]>; 8],
    /// Whether colours are words.
    pub(super) is_direct: bool,
    /// Where its quads stand, in quads.
    pub(super) quads: Range<u32>,
    /// Where its face colours, its palette and its solids stand, one after the other, in words.
    pub(super) words: Range<u32>,
    /// Words of the face colours.
    pub(super) n_colour_words: u32,
    /// Words of the solids.
    pub(super) n_solid_words: u32,
}

impl Resident {
    /// The octants of which something is drawn, and the boxes of their quads in the world.
    pub(super) fn world_boxes(&self) -> impl Iterator<Item = (usize, WorldBox)> {
        let is_drawn = |&octant: &usize| self.octants >> octant & 1 == 1 || self.fading_since[octant].is_some();
        (0..8).filter(is_drawn).filter_map(|octant| {
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

    /// The quads that look one of these ways and belong to one of these octants, where they stand.
    pub(super) fn runs(&self, faces: u8, octants: u8) -> impl Iterator<Item = Range<u32>> {
        let first = self.quads.start;
        self.ends.runs(faces, octants).map(move |run| run.start + first..run.end + first)
    }

    /// All quads that look one way, where they stand.
    pub(super) fn of_face(&self, face: Face) -> Range<u32> {
        let run = self.ends.of_face(face);
        run.start + self.quads.start..run.end + self.quads.start
    }

    /// Draws these octants from now on: at once, or fading where there is a time.
    pub(super) fn show(&mut self, octants: u8, now: Option<Duration>) {
        let octants = if self.ends.has_octants() { octants } else { u8::from(octants != 0) };
        for octant in 0..8 {
            if (octants ^ self.octants) >> octant & 1 == 1 {
                // What turns back half way begins anew: others began with it, and it must stay their complement.
                self.fading_since[octant] = now;
            }
        }
        self.octants = octants;
    }

    /// Ends the fades that are over.
    pub(super) fn settle(&mut self, now: Option<Duration>) {
        for since in &mut self.fading_since {
            let is_over = |since: Duration| now.is_none_or(|now| now.saturating_sub(since) >= FADE);
            *since = since.filter(|&since| !is_over(since));
        }
    }

    /// How far the fades are, as the shaders have it: a nibble an octant, and which octants fade in and which out. What
    /// fades in is drawn on as many sixteenths of the pixels, what fades out on the others.
    pub(super) fn fades(&self, now: Duration) -> Fades {
        let mut fades = Fades::default();
        for (octant, since) in self.fading_since.iter().enumerate() {
            let Some(since) = *since else { continue };
            let part = now.saturating_sub(since).as_secs_f32() / FADE.as_secs_f32();
            let bits = if self.ends.has_octants() { 1 << octant } else { u8::MAX };
            for octant in (0..8).filter(|octant| bits >> octant & 1 == 1) {
                fades.sixteenths |= ((part * 16.0) as u32).min(15) << (4 * octant);
            }
            *if self.octants >> octant & 1 == 1 { &mut fades.fading_in } else { &mut fades.fading_out } |= bits;
        }
        fades
    }

    /// Where its palette stands, in words; where it has none, where one would.
    pub(super) fn palette_at(&self) -> u32 {
        self.words.start + self.n_colour_words
    }

    /// Where its solids stand, in words; `None` where it has none.
    pub(super) fn solids_at(&self) -> Option<u32> {
        (self.n_solid_words > 0).then(|| self.words.end - self.n_solid_words)
    }
}

/// The box round the quads of each octant, in region voxels; `None` where it has none.
pub(super) fn bounds(mesh: &RegionMesh) -> [Option<[[u32; 3]; 2]>; 8] {
    std::array::from_fn(|octant| {
        let (mut lowest, mut highest) = ([u32::MAX; 3], [0; 3]);
        // One surface is octant 0.
        let octants = if octant == 0 || mesh.ends.has_octants() { 1 << octant } else { 0 };
        for run in mesh.ends.runs(QuadEnds::ALL_FACES, octants) {
            for quad in &mesh.quads[run.start as usize..run.end as usize] {
                let (first, last) = (quad.voxel(0, 0), quad.voxel(quad.width() - 1, quad.height() - 1));
                for axis in 0..3 {
                    lowest[axis] = lowest[axis].min(first[axis]);
                    highest[axis] = highest[axis].max(last[axis] + 1);
                }
            }
        }
        (lowest[0] != u32::MAX).then_some([lowest, highest])
    })
}

/// What two ranges share; empty where that is nothing.
pub(super) fn overlap<T: Copy + Ord>(a: &Range<T>, b: &Range<T>) -> Range<T> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{FaceColours, Quad};

    #[test]
    fn bounds_hold_every_quad_of_their_octant() {
        let quads = vec![Quad::new([3, 9, 5], Face::NegX, 2, 4), Quad::new([130, 8, 6], Face::PosZ, 1, 1)];
        let mesh =
            |has_octants| RegionMesh::new(quads.clone(), FaceColours::Direct { entries: Vec::new() }, has_octants);
        let (first, second) = ([[3, 9, 5], [4, 11, 9]], [[130, 8, 6], [131, 9, 7]]);
        let mut expected = [None; 8];
        expected[0] = Some([[3, 8, 5], [131, 11, 9]]);
        assert_eq!(bounds(&mesh(false)), expected);
        (expected[0], expected[1]) = (Some(first), Some(second));
        assert_eq!(bounds(&mesh(true)), expected);
    }
}
