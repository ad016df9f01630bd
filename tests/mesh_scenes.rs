//! The mesher on whole regions: the demo city, and the regions of the benches, from a city to noise.
//!
//! Goal: what the small scenes of the unit tests cannot show, runs of any length among a region's worth of others.
//! Method: every quad is taken away from the exposed faces, which are found a voxel at a time.

#[path = "../benches/scenes/mod.rs"]
mod scenes;

use std::path::{Path, PathBuf};

use voxatlas::atlas::{EncodedAtlas, decode};
use voxatlas::mesh::{
    BorderPolicy, Face, FaceColours, Quad, QuadEnds, RegionMesh, Scratch, mesh_boxes, mesh_occupancy, mesh_octants,
    mesh_region,
};
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

fn check(name: &str, region: &Region) {
    let mesh = mesh_region(region, BorderPolicy::Closed, &mut Scratch::new());
    let mut exposed = exposed_faces(&region.occupancy);
    assert_exact_cover(name, exposed.clone(), &mesh.quads);
    assert_colours(name, region, &mesh);
    check_octants(name, region);

    // With a scratch that has just seen the region, too.
    let mut scratch = Scratch::new();
    for _ in 0..2 {
        let again = mesh_region(region, BorderPolicy::Closed, &mut scratch);
        assert!(again == mesh, "{name}: the same mesh every time");
    }

    let mut floored = Vec::new();
    mesh_occupancy(&region.occupancy, BorderPolicy::Floored, &mut scratch, &mut floored);
    for slab in exposed.chunks_exact_mut(256 * 256) {
        slab[..256].iter_mut().for_each(|faces| *faces &= !(1 << Face::NegY as u8));
    }
    assert_exact_cover(name, exposed, &floored);

    let boxes = mesh_boxes(&region.occupancy);
    let volumes = boxes.scl.chunks_exact(3).map(|size| size.iter().map(|&side| f64::from(side)).product::<f64>());
    assert_eq!(volumes.sum::<f64>() as u64, region.occupancy.count(), "{name}: the boxes hold every voxel once");
}

/// Each octant's quads cover the faces that its voxels expose where the others are air.
fn check_octants(name: &str, region: &Region) {
    let mesh = mesh_octants(region, BorderPolicy::Floored, &mut Scratch::new());
    assert_colours(name, region, &mesh);
    for octant in 0..8 {
        let runs = mesh.ends.runs(QuadEnds::ALL_FACES, 1 << octant);
        let quads: Vec<Quad> = runs.flat_map(|run| mesh.quads[run.start as usize..run.end as usize].to_vec()).collect();
        let mut alone = region.occupancy.clone();
        for (row_idx, row) in alone.rows_mut().iter_mut().enumerate() {
            let [y, z] = [row_idx % 256, row_idx / 256];
            let is_in = y / 128 == octant >> 1 & 1 && z / 128 == octant >> 2;
            for (word_idx, word) in row.iter_mut().enumerate() {
                *word = if is_in && word_idx / 2 == octant & 1 { *word } else { 0 };
            }
        }
        let mut exposed = exposed_faces(&alone);
        for slab in exposed.chunks_exact_mut(256 * 256) {
            slab[..256].iter_mut().for_each(|faces| *faces &= !(1 << Face::NegY as u8));
        }
        assert_exact_cover(&format!("{name}, octant {octant}"), exposed, &quads);
    }
}

fn cells(quad: Quad) -> impl Iterator<Item = (u32, u32)> {
    (0..quad.height()).flat_map(move |j| (0..quad.width()).map(move |i| (i, j)))
}

/// A bit a face and voxel, in the order of the faces' numbers; air lies outside.
fn exposed_faces(occupancy: &Occupancy) -> Vec<u8> {
    let mut exposed = vec![0u8; 256 * 256 * 256];
    for z in 0..256u32 {
        for y in (0..256u32).filter(|&y| *occupancy.row(y, z) != [0; 4]) {
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
fn assert_exact_cover(name: &str, mut exposed: Vec<u8>, quads: &[Quad]) {
    for &quad in quads {
        for (i, j) in cells(quad) {
            let [x, y, z] = quad.voxel(i, j);
            let faces = &mut exposed[(x + 256 * (y + 256 * z)) as usize];
            let bit = 1 << quad.face() as u8;
            assert!(*faces & bit != 0, "{name}: {quad:?} covers {:?}, hidden or covered before", [x, y, z]);
            *faces &= !bit;
        }
    }
    assert!(exposed.iter().all(|&faces| faces == 0), "{name}: an exposed face is not covered");
}

fn assert_colours(name: &str, region: &Region, mesh: &RegionMesh) {
    let is_indexed = matches!(mesh.face_colours, FaceColours::Indexed { .. });
    assert_eq!(is_indexed, matches!(region.colours.depth(), ColourDepth::Indexed(_)), "{name}: a palette stays one");
    for &quad in &mesh.quads {
        for (i, j) in cells(quad) {
            let [x, y, z] = quad.voxel(i, j);
            let (shown, meant) = (mesh.face_colours.of_cell(quad, i, j), region.colours.get(x, y, z));
            assert_eq!(shown, meant, "{name}: cell ({i}, {j}) of {quad:?}");
        }
    }
}

#[test]
fn meshes_of_synthetic_regions_are_exact() {
    std::thread::scope(|scope| {
        for name in scenes::NAMES {
            scope.spawn(move || {
                let region = scenes::scene(name);
                check(name, &region);
                let region = scenes::in_full_colour(&region);
                let mesh = mesh_region(&region, BorderPolicy::Closed, &mut Scratch::new());
                assert_colours(name, &region, &mesh);
            });
        }
    });
}

#[test]
fn meshes_of_the_demo_city_are_exact() {
    let mut paths = Vec::new();
    collect_pngs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/demo"), &mut paths);
    assert!(!paths.is_empty(), "data/demo holds the demo city");
    std::thread::scope(|scope| {
        for path in paths {
            scope.spawn(move || {
                let file = EncodedAtlas::new(std::fs::read(&path).expect("a file of the demo city"));
                check(&path.display().to_string(), &decode(&file).expect("an atlas"));
            });
        }
    });
}

fn collect_pngs(dir: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder of the demo city") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_pngs(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "png") {
            paths.push(path);
        }
    }
}
