//! The mesher on whole regions: those of the benches, from a city to noise.
//!
//! Goal: what the small scenes of the unit tests cannot show, runs of any length among a region's worth of others.
//! Method: every quad is painted over the exposed faces, which are found a voxel at a time.

#[path = "../benches/scenes/mod.rs"]
mod scenes;

use voxatlas::mesh::{BorderPolicy, Face, FaceColours, Quad, RegionMesh, Scratch, mesh_boxes, mesh_region};
use voxatlas::voxel::{Occupancy, Region};

fn check(name: &str) {
    let region = scenes::scene(name);
    let full = scenes::in_full_colour(&region);
    let full_mesh = mesh_region(&full, BorderPolicy::Closed, &mut Scratch::new());
    assert!(matches!(full_mesh.face_colours, FaceColours::Direct { .. }), "a region without a palette has none");
    assert_colours(&full, &full_mesh);

    let mesh = mesh_region(&region, BorderPolicy::Closed, &mut Scratch::new());
    assert_exact_cover(&region.occupancy, &mesh.quads);
    assert!(matches!(mesh.face_colours, FaceColours::Indexed { .. }), "a region with a palette keeps it");
    assert_colours(&region, &mesh);
    assert_same_every_time(&region, &mesh);

    let boxes = mesh_boxes(&region.occupancy);
    let volume: f64 =
        boxes.scl.chunks_exact(3).map(|size| size.iter().map(|&side| f64::from(side)).product::<f64>()).sum();
    assert_eq!(volume as u64, region.occupancy.count(), "the boxes hold every voxel once");
}

fn cells(quad: Quad) -> impl Iterator<Item = (u32, u32)> {
    (0..quad.height()).flat_map(move |j| (0..quad.width()).map(move |i| (i, j)))
}

/// A bit a face and voxel, in the order of the faces' numbers.
fn exposed_faces(occupancy: &Occupancy) -> Vec<u8> {
    let mut exposed = vec![0u8; 256 * 256 * 256];
    for z in 0..256u32 {
        for y in 0..256u32 {
            for x in (0..256u32).filter(|&x| occupancy.get(x, y, z)) {
                for face in Face::ALL {
                    let mut next = [x, y, z];
                    let step = if face.is_positive() { 1 } else { u32::MAX };
                    next[face.axis()] = next[face.axis()].wrapping_add(step);
                    let is_hidden = next.iter().all(|&c| c < 256) && occupancy.get(next[0], next[1], next[2]);
                    exposed[(x + 256 * (y + 256 * z)) as usize] |= u8::from(!is_hidden) << face as u8;
                }
            }
        }
    }
    exposed
}

/// Takes each quad's cells away from the exposed faces: all are there, and none is left.
fn assert_exact_cover(occupancy: &Occupancy, quads: &[Quad]) {
    let mut exposed = exposed_faces(occupancy);
    for &quad in quads {
        for (i, j) in cells(quad) {
            let [x, y, z] = quad.voxel(i, j);
            let faces = &mut exposed[(x + 256 * (y + 256 * z)) as usize];
            let bit = 1 << quad.face() as u8;
            assert!(*faces & bit != 0, "{quad:?} covers {:?}, which is hidden or was covered before", [x, y, z]);
            *faces &= !bit;
        }
    }
    assert!(exposed.iter().all(|&faces| faces == 0), "an exposed face is not covered");
}

fn assert_colours(region: &Region, mesh: &RegionMesh) {
    for &quad in &mesh.quads {
        for (i, j) in cells(quad) {
            let [x, y, z] = quad.voxel(i, j);
            assert_eq!(mesh.face_colours.of_cell(quad, i, j), region.colours.get(x, y, z), "{quad:?} ({i}, {j})");
        }
    }
}

/// With a scratch that has just seen this region, too.
fn assert_same_every_time(region: &Region, mesh: &RegionMesh) {
    let mut scratch = Scratch::new();
    for _ in 0..2 {
        assert!(mesh_region(region, BorderPolicy::Closed, &mut scratch) == *mesh, "the same mesh every time");
    }
}

#[test]
fn meshes_of_whole_regions_are_exact() {
    std::thread::scope(|scope| {
        for name in scenes::NAMES {
            scope.spawn(move || check(name));
        }
    });
}
