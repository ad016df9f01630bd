//! How a mesh lies in pages: the pieces that it is cut into, the words of its colours, the boxes of its octants.
//!
//! Receives a mesh, yields numbers; it knows nothing of buffers.

use std::ops::Range;

use crate::mesh::{FaceColours, RegionMesh};

/// Bytes of a word, the unit of the colour pool.
pub(super) const WORD_BYTES: u64 = 4;

/// Cuts a mesh into runs of quads that fit a page each, with the run of face colours that each has. One run where all
/// of it fits.
pub(super) fn split(mesh: &RegionMesh, quads_max: u32, words_max: u32) -> Vec<(Range<usize>, Range<usize>)> {
    // A run may begin and end within a word.
    let entries_max = (words_max as usize - 1) * WORD_BYTES as usize / entry_bytes(&mesh.face_colours);
    let mut runs = Vec::new();
    let (mut first_quad, mut first_entry, mut entry) = (0, 0, 0);
    for (idx, quad) in mesh.quads.iter().enumerate() {
        let n_entries = match quad.first_face_colour() {
            Some(first) => {
                assert_eq!(first as usize, entry, "face colours stand in the order of the quads");
                (quad.width() * quad.height()) as usize
            }
            None => 0,
        };
        if idx - first_quad == quads_max as usize || entry + n_entries - first_entry > entries_max {
            runs.push((first_quad..idx, first_entry..entry));
            (first_quad, first_entry) = (idx, entry);
        }
        entry += n_entries;
    }
    assert_eq!(entry, mesh.face_colours.len(), "every face colour belongs to a quad");
    runs.push((first_quad..mesh.quads.len(), first_entry..entry));
    runs
}

/// Bytes of an entry.
pub(super) fn entry_bytes(face_colours: &FaceColours) -> usize {
    match face_colours {
        FaceColours::Indexed { .. } => 1,
        FaceColours::Direct { .. } => 4,
    }
}

/// The words that hold the entries.
pub(super) fn entry_words(face_colours: &FaceColours, entries: &Range<usize>) -> Range<usize> {
    let per_word = WORD_BYTES as usize / entry_bytes(face_colours);
    if entries.is_empty() { 0..0 } else { entries.start / per_word..entries.end.div_ceil(per_word) }
}

/// The box round the quads of each octant, in region voxels; `None` where it has none.
pub(super) fn bounds(mesh: &RegionMesh) -> [Option<[[u32; 3]; 2]>; 8] {
    std::array::from_fn(|octant| {
        let quads = &mesh.quads[mesh.octant_quads(octant)];
        let (mut lowest, mut highest) = ([u32::MAX; 3], [0; 3]);
        for quad in quads {
            let (first, last) = (quad.voxel(0, 0), quad.voxel(quad.width() - 1, quad.height() - 1));
            for axis in 0..3 {
                lowest[axis] = lowest[axis].min(first[axis]);
                highest[axis] = highest[axis].max(last[axis] + 1);
            }
        }
        (!quads.is_empty()).then_some([lowest, highest])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Face, Quad};

    fn mesh(n_quads: u32, w: u32) -> RegionMesh {
        let mut entries = Vec::new();
        let quads = (0..n_quads)
            .map(|idx| {
                let mut quad = Quad::new([0, idx, 0], Face::PosY, w, 1);
                if idx % 3 == 2 {
                    quad.set_uniform(5);
                } else {
                    quad.set_first_face_colour(entries.len() as u32);
                    entries.extend((0..w).map(|i| (idx + i) as u8));
                }
                quad
            })
            .collect();
        let face_colours = FaceColours::Indexed { palette: vec![[0; 3]; 256], entries };
        RegionMesh { quads, face_colours, octant_ends: None }
    }

    #[test]
    fn a_mesh_that_fits_is_one_run() {
        assert_eq!(split(&mesh(9, 7), 9, 12), [(0..9, 0..42)]);
    }

    #[test]
    fn runs_cover_all_quads_and_colours_in_order_and_fit() {
        for (quads_max, words_max) in [(1, 64), (4, 64), (100, 4), (5, 3)] {
            let mesh = mesh(30, 7);
            let runs = split(&mesh, quads_max, words_max);
            assert!(runs.len() > 1);
            assert!(runs.windows(2).all(|it| it[0].0.end == it[1].0.start && it[0].1.end == it[1].1.start));
            let last = runs.last().unwrap();
            assert_eq!((runs[0].0.start, last.0.end), (0, 30));
            assert_eq!((runs[0].1.start, last.1.end), (0, mesh.face_colours.len()));
            for (quads, entries) in &runs {
                assert!(quads.len() <= quads_max as usize && !quads.is_empty());
                assert!(entry_words(&mesh.face_colours, entries).len() <= words_max as usize);
            }
        }
    }

    #[test]
    fn bounds_hold_every_quad_of_their_octant() {
        let quads = vec![Quad::new([3, 9, 5], Face::NegX, 2, 4), Quad::new([7, 8, 6], Face::PosZ, 1, 1)];
        let mut mesh = RegionMesh { quads, ..mesh(0, 1) };
        let (first, second) = ([[3, 9, 5], [4, 11, 9]], [[7, 8, 6], [8, 9, 7]]);
        let mut expected = [None; 8];
        expected[0] = Some([[3, 8, 5], [8, 11, 9]]);
        assert_eq!(bounds(&mesh), expected);
        mesh.octant_ends = Some([0, 0, 1, 1, 2, 2, 2, 2]);
        (expected[0], expected[2], expected[4]) = (None, Some(first), Some(second));
        assert_eq!(bounds(&mesh), expected);
    }
}
