//! `atlas-tools decode` as a user meets it: other programs' readers open what it writes.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::fs::File;
use std::path::Path;

use dot_vox::SceneNode;
use voxatlas::atlas::{Decoder, EncodedAtlas, decode};
use voxatlas::geo::{LonLat, TileCoord};
use voxatlas::voxel::Region;

use crate::common::{demo, path, run};
use crate::real_data::real_data;

fn region(path: &Path) -> Region {
    decode(&EncodedAtlas::new(std::fs::read(path).unwrap())).unwrap()
}

/// The middle tile of the demo city, and the part of its tower that goes on in layer 1.
const MIDDLE: &str = "17/65536/65536";

#[test]
fn an_array_holds_the_voxels() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (demo().join("17/65536/65536.l1.png"), dir.path().join("new/tower.npy"));
    run(&["decode", path(&file), "--out", path(&out), "--quiet"], 0);
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\0");
    let head_bytes = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!(head_bytes % 64, 0);
    let head = std::str::from_utf8(&bytes[10..head_bytes]).unwrap();
    assert!(head.contains("'descr': '|u1'") && head.contains("'shape': (256, 256, 256, 4)"), "{head}");
    let texels = bytes[head_bytes..].as_chunks::<4>().0;
    assert_eq!(texels.len(), 256 * 256 * 256);
    let region = region(&file);
    assert_eq!(texels.iter().filter(|texel| texel[3] == 255).count() as u64, region.occupancy.count());
    for (x, y, z) in (0..256).flat_map(|x| (0..8).flat_map(move |y| (0..256).map(move |z| (x, y, z)))) {
        let [r, g, b] = region.colours.get(x, y, z);
        let expected = if region.occupancy.get(x, y, z) { [r, g, b, 255] } else { [0; 4] };
        assert_eq!(texels[((x * 256 + y) * 256 + z) as usize], expected, "{x},{y},{z}");
    }

    // Several go into a folder.
    let out = dir.path().join("arrays");
    run(&["decode", path(&demo()), "--tiles", MIDDLE, "--format", "npy", "--out", path(&out), "--quiet"], 0);
    for name in ["65536.npy", "65536.l1.npy"] {
        assert!(out.join("17/65536").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_scene_has_a_model_a_region_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("city.vox");
    run(&["decode", path(&demo()), "--tiles", "17/65536/65536,17/65537/65535", "--out", path(&out), "--quiet"], 0);
    let scene = dot_vox::load(path(&out)).unwrap();
    let keys = ["17/65536/65536.png", "17/65536/65536.l1.png", "17/65537/65535.png"];
    assert_eq!(scene.models.len(), keys.len());
    for (model, key) in scene.models.iter().zip(keys) {
        let region = region(&demo().join(key));
        assert_eq!((model.size.x, model.size.y, model.size.z), (256, 256, 256));
        assert_eq!(model.voxels.len() as u64, region.occupancy.count());
        for voxel in model.voxels.iter().step_by(997) {
            let (x, y, z) = (u32::from(voxel.x), u32::from(voxel.z), 255 - u32::from(voxel.y));
            let colour = scene.palette[usize::from(voxel.i)];
            assert_eq!([colour.r, colour.g, colour.b], region.colours.get(x, y, z), "{key} {x},{y},{z}");
        }
    }
    // Middles: the second lies above the first, the third north-east of it.
    let places: Vec<_> = scene
        .scenes
        .iter()
        .filter_map(|node| match node {
            SceneNode::Transform { frames, .. } => frames[0].attributes.get("_t").cloned(),
            _ => None,
        })
        .collect();
    assert_eq!(places, ["128 128 128", "128 128 384", "384 384 128"]);
}

/// The header of a PLY file and where its data begin.
fn ply_head(bytes: &[u8]) -> (String, usize) {
    let end = bytes.windows(11).position(|window| window == b"end_header\n").unwrap() + 11;
    (String::from_utf8(bytes[..end].to_vec()).unwrap(), end)
}

fn count_of(head: &str, element: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix(&format!("element {element} ")));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_ply_file_holds_rectangles_or_points() {
    let dir = tempfile::tempdir().unwrap();
    let (rects, points) = (dir.path().join("rects.ply"), dir.path().join("points.ply"));
    run(&["decode", path(&demo()), "--tiles", MIDDLE, "--out", path(&rects), "--quiet"], 0);
    let bytes = std::fs::read(&rects).unwrap();
    let (head, begin) = ply_head(&bytes);
    let (n_vertices, n_faces) = (count_of(&head, "vertex"), count_of(&head, "face"));
    assert_eq!((n_vertices, bytes.len() - begin), (4 * n_faces, n_vertices * 15 + n_faces * 17));
    assert!(head.contains("comment credit: voxatlas demo city") && head.contains("x east, y north, z up"), "{head}");
    // A tile of 256 voxels round the origin, from the base at -32 voxels to the top of the tower.
    let voxel_m = MIDDLE.parse::<TileCoord>().unwrap().metres_per_voxel();
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for vertex in bytes[begin..begin + n_vertices * 15].chunks_exact(15) {
        for axis in 0..3 {
            let metres = f32::from_le_bytes(vertex[axis * 4..axis * 4 + 4].try_into().unwrap());
            (low[axis], high[axis]) = (low[axis].min(metres), high[axis].max(metres));
        }
    }
    let half_m = (128.0 * voxel_m) as f32;
    for (found, expected) in [(low[0], -half_m), (high[0], half_m), (low[1], -half_m), (high[1], half_m)] {
        assert!((found - expected).abs() < 0.01, "{found} {expected}");
    }
    assert!((f64::from(low[2]) + 32.0 * voxel_m).abs() < 0.01 && high[2] > half_m * 1.5, "{low:?} {high:?}");

    run(&["decode", path(&demo()), "--tiles", MIDDLE, "--points", "--out", path(&points), "--quiet"], 0);
    let bytes = std::fs::read(&points).unwrap();
    let (head, begin) = ply_head(&bytes);
    assert_eq!(bytes.len() - begin, count_of(&head, "vertex") * 15);
    assert!(count_of(&head, "vertex") > 65_536);
}

#[test]
fn a_gltf_model_is_valid_centred_and_in_metres() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("city.glb");
    let (text, _) = run(&["decode", path(&demo()), "--tiles", "16/32767/32767,16/32768/32767", "--out", path(&out)], 0);
    assert!(text.contains("rectangles"), "{text}");
    // Reading validates.
    let (document, buffers, _) = gltf::import(&out).unwrap();
    assert_eq!(document.nodes().len(), 3);
    let voxel_m = "17/65536/65535".parse::<TileCoord>().unwrap().metres_per_voxel();
    for node in document.nodes() {
        let primitive = node.mesh().unwrap().primitives().next().unwrap();
        let reader = primitive.reader(|buffer| Some(&buffers[buffer.index()]));
        let positions: Vec<_> = reader.read_positions().unwrap().collect();
        let n_indices = reader.read_indices().unwrap().into_u32().count();
        assert_eq!(positions.len() * 6, n_indices * 4);
        assert_eq!(reader.read_colors(0).unwrap().into_rgba_u8().count(), positions.len());
        assert_eq!(reader.read_normals().unwrap().count(), positions.len());
        let high = positions.iter().map(|position| position[0]).fold(0.0, f32::max);
        assert!((f64::from(high) - 256.0 * voxel_m).abs() < 0.01, "{high}");
        let ([_, up, _], _, _) = node.transform().decomposed();
        assert!((f64::from(up) + 32.0 * voxel_m).abs() < 0.01, "{up}");
    }
    let easts: Vec<_> = document.nodes().map(|node| f64::from(node.transform().decomposed().0[0])).collect();
    assert!((easts[1] - easts[0] - 256.0 * voxel_m).abs() < 0.01, "{easts:?}");
    assert!((easts[0] + easts[2] + 256.0 * voxel_m).abs() < 0.01, "the middle is the origin: {easts:?}");

    // A region of air is a scene without meshes.
    let air = dir.path().join("air.png");
    std::fs::write(&air, voxatlas::atlas::encode(&Region::empty(), &metadata(&demo().join("17/65536/65536.png"))))
        .unwrap();
    run(&["decode", path(&air), "--out", path(&out), "--quiet"], 0);
    assert_eq!(gltf::import(&out).unwrap().0.meshes().len(), 0);
}

fn metadata(file: &Path) -> voxatlas::atlas::AtlasMetadata {
    Decoder::new(&std::fs::read(file).unwrap()).unwrap().metadata().unwrap()
}

#[test]
fn rasters_lie_in_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("city.tif");
    run(&["decode", path(&demo()), "--out", path(&out), "--quiet"], 0);
    let open = |name: &str| tiff::decoder::Decoder::new(File::open(dir.path().join(name)).unwrap()).unwrap();
    let mut heights = open("city.height.tif");
    assert_eq!(heights.dimensions().unwrap(), (768, 768));
    let doubles = |decoder: &mut tiff::decoder::Decoder<File>, tag| decoder.get_tag_f64_vec(tag).unwrap();
    let scale = doubles(&mut heights, tiff::tags::Tag::ModelPixelScaleTag);
    let tie = doubles(&mut heights, tiff::tags::Tag::ModelTiepointTag);
    assert!((scale[0] - 1.194_328_566_955_879).abs() < 1e-12 && scale[0] == scale[1], "{scale:?}");
    // The north-western corner of 17/65535/65535 lies one tile west and one north of 0 N 0 E.
    assert!((tie[3] + 256.0 * scale[0]).abs() < 1e-6 && (tie[4] - 256.0 * scale[0]).abs() < 1e-6, "{tie:?}");
    let keys = heights.get_tag_u16_vec(tiff::tags::Tag::GeoKeyDirectoryTag).unwrap();
    assert!(keys.windows(4).any(|key| key == [3072, 0, 1, 3857]) && keys.windows(4).any(|key| key == [1025, 0, 1, 1]));

    let (low, high) = (region(&demo().join("17/65536/65536.png")), region(&demo().join("17/65536/65536.l1.png")));
    let voxel_m = MIDDLE.parse::<TileCoord>().unwrap().metres_per_voxel();
    let tiff::decoder::DecodingResult::F32(metres) = heights.read_image().unwrap() else { panic!("f32") };
    let tiff::decoder::DecodingResult::U8(colours) = open("city.colour.tif").read_image().unwrap() else {
        panic!("u8")
    };
    for (x, z) in (0..256).flat_map(|x| (0..256).map(move |z| (x, z))) {
        let top = |region: &Region| (0..256).rev().find(|&y| region.occupancy.get(x, y, z));
        let (y, colour) = match top(&high) {
            Some(y) => (y + 256, high.colours.get(x, y, z)),
            None => top(&low).map(|y| (y, low.colours.get(x, y, z))).unwrap(),
        };
        let pixel = ((256 + z) * 768 + 256 + x) as usize;
        assert!((f64::from(metres[pixel]) - (f64::from(y) + 1.0 - 32.0) * voxel_m).abs() < 0.001, "{x},{z}");
        assert_eq!(colours[pixel * 4..][..4], [colour[0], colour[1], colour[2], 255], "{x},{z}");
    }
}

#[test]
fn between_the_tiles_there_is_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("city.tif");
    run(&["decode", path(&demo()), "--tiles", "17/65535/65535,17/65537/65537", "--out", path(&out), "--quiet"], 0);
    let mut heights = tiff::decoder::Decoder::new(File::open(dir.path().join("city.height.tif")).unwrap()).unwrap();
    let tiff::decoder::DecodingResult::F32(metres) = heights.read_image().unwrap() else { panic!("f32") };
    assert!(metres[0].is_finite() && metres[768 * 768 - 1].is_finite());
    assert!(metres[767].is_nan() && metres[768 * 400 + 400].is_nan());
}

#[test]
fn a_region_that_cannot_be_read_costs_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let city = crate::common::copy_of_demo(dir.path());
    std::fs::write(city.join("17/65535/65535.png"), b"\x89PNG\r\n\x1a\nhalf").unwrap();
    std::fs::remove_file(city.join("17/65535/65536.png")).unwrap();
    let out = dir.path().join("city.ply");
    let (text, errors) = run(&["decode", path(&city), "--out", path(&out), "--json"], 1);
    let view: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&view["regions"], view["findings"].as_array().unwrap().len()), (&8.into(), 2));
    assert!(errors.contains("65535/65535.png") && errors.contains("missing, though it is listed"), "{errors}");
    assert!(out.is_file());
}

#[test]
fn what_cannot_be_decoded_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (demo(), dir.path().join("city.xyz"));
    let check = |args: &[&str], expected: &str| {
        let (_, errors) = run(&[&["decode"], args].concat(), 2);
        assert!(errors.contains(expected), "{errors}");
    };
    check(&[path(&source), "--out", path(&out)], "its extension names no form");
    check(&[path(&source), "--out", "a.glb", "--points"], "only a PLY file has points");
    check(&[path(&source), "--out", path(&dir.path().join("a.glb")), "--tiles", "17/1/1"], "no region of it is meant");
    check(&[path(dir.path()), "--out", "a.glb"], "tiles.json");
    check(&[path(&source)], "--out");
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn tokyo_tower_stands_where_it_is() {
    let Some(data) = real_data("decode::tokyo_tower_stands_where_it_is") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (city, out) = (dir.path().join("city"), dir.path().join("tower.tif"));
    let input = data.join("tokyo_plateau_mvt");
    run(&["encode", path(&input), "--out", path(&city), "--tiles", "17/116415/51623", "--quiet"], 0);
    run(&["decode", path(&city), "--out", path(&out), "--quiet"], 0);
    let mut heights = tiff::decoder::Decoder::new(File::open(dir.path().join("tower.height.tif")).unwrap()).unwrap();
    let scale = heights.get_tag_f64_vec(tiff::tags::Tag::ModelPixelScaleTag).unwrap();
    let tie = heights.get_tag_f64_vec(tiff::tags::Tag::ModelTiepointTag).unwrap();
    let tiff::decoder::DecodingResult::F32(metres) = heights.read_image().unwrap() else { panic!("f32") };
    let (pixel, top) = metres.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    assert!((f64::from(*top) - 333.0).abs() < 1.5, "{top}");
    let equator_m = voxatlas::geo::mercator::EQUATOR_M;
    let place = [tie[3] + ((pixel % 256) as f64 + 0.5) * scale[0], tie[4] - ((pixel / 256) as f64 + 0.5) * scale[1]];
    let world = [(place[0] / equator_m + 0.5) * f64::from(1 << 25), (0.5 - place[1] / equator_m) * f64::from(1 << 25)];
    let place = LonLat::from_world(world[0], world[1]);
    let expected = LonLat::new(139.745_433, 35.658_581).unwrap();
    let off_deg = (place.lon_deg() - expected.lon_deg()).abs().max((place.lat_deg() - expected.lat_deg()).abs());
    assert!(off_deg < 3e-5, "{place:?}");
}
