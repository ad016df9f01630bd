use voxatlas::geo::mercator::metres_per_voxel_at;

use super::*;
use crate::input::collected::Collected;

/// A model's own axes are the world's where a voxel is a metre and a bit: on the equator, at 0 E.
fn at() -> At {
    At::new(0.0, 0.0, 100.0).unwrap()
}

fn read(text: &str, mtl: &str, up: Up) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.obj");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("model.mtl"), mtl).unwrap();
    Collected::of(&ObjFile::new(&path, 3, ReadOptions::default(), at(), up)).unwrap()
}

const WALL: &str = "mtllib model.mtl\nv 0 0 0\nv 4 0 0\nv 4 3 0\nv 0 3 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n";

#[test]
fn faces_stand_where_the_axes_say() {
    let voxel_m = metres_per_voxel_at(f64::from(1 << 24));
    for (up, expected) in [(Up::Y, [4.0, 103.0, 5.0]), (Up::Z, [4.0, 105.0, -3.0])] {
        let found = read("v 0 0 5\nv 4 0 5\nv 4 3 5\nf 1 2 3\n", "", up);
        let [model] = found.models()[..] else { panic!("{found:?}") };
        let corner = model.surfaces[0].triangles[0][2];
        let place =
            [(corner.x - f64::from(1 << 24)) * voxel_m, corner.height_m, (corner.z - f64::from(1 << 24)) * voxel_m];
        assert!((0..3).all(|axis| (place[axis] - expected[axis]).abs() < 1e-6), "{place:?}");
    }
}

#[test]
fn objects_are_features_and_materials_surfaces() {
    let text = format!(
        "{WALL}o east wall\nusemtl red\nf 1/1 2/2 3/3 4/4\nusemtl brick\nf -4/-4 -3/-3 -2/-2\nf 1 2 3\nusemtl red\nf 1 2 3\n\
         g\nf 1 2 4\n"
    );
    let mtl = "newmtl red\nKd 1 0 0\nnewmtl brick\nKd 0 0 0\nmap_Kd -clamp on brick.png\n";
    let found = read(&text, mtl, Up::Y);
    let [wall, rest] = found.models()[..] else { panic!("{found:?}") };
    assert_eq!((wall.named.name.as_str(), rest.named.name.as_str()), ("east wall", ""));
    assert_ne!(wall.named.id, rest.named.id);
    let [red, textured, plain] = &wall.surfaces[..] else { panic!("{wall:?}") };
    assert_eq!((red.triangles.len(), &red.paint), (3, &Paint::Colour([255, 0, 0])));
    let Paint::Texture { texture: 0, uvs, tint: [255, 255, 255] } = &textured.paint else { panic!("{textured:?}") };
    // The image's bottom is v = 1 here.
    assert_eq!(uvs[..], [[[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]]);
    assert_eq!(plain.paint, Paint::Colour([0, 0, 0]));
    assert!(matches!(&found.textures[..], [Texture::File(path)] if path.ends_with("brick.png")));
    assert_eq!(found.problems, []);
}

#[test]
fn concave_faces_are_cut_not_fanned() {
    // An arrow head: a fan from its first corner would cover its notch.
    let found = read("v 0 2 0\nv -2 0 0\nv 0 1 0\nv 2 0 0\nf 2 3 4 1\n", "", Up::Y);
    let triangles = &found.models()[0].surfaces[0].triangles;
    let area = |[a, b, c]: &[Place; 3]| {
        ((b.x - a.x) * (c.height_m - a.height_m) - (b.height_m - a.height_m) * (c.x - a.x)).abs() / 2.0
    };
    let voxel_m = metres_per_voxel_at(f64::from(1 << 24));
    assert!((triangles.iter().map(area).sum::<f64>() * voxel_m - 2.0).abs() < 1e-6);
}

#[test]
fn points_may_have_colours() {
    let found = read("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n", "", Up::Y);
    assert_eq!(found.models()[0].surfaces[0].paint, Paint::Corners(vec![[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]));
}

#[test]
fn bad_lines_are_told_and_passed_over() {
    let text = "mtllib none.mtl\no house\nusemtl nothing\nv 0 0 0\nv 1 x 0\nv 1 1 0\nv 0 1 0\n\
                f 1 2 3\nf 1 3 9\nf 0 1 3\nf 1 3\nf a b c\nl 1 2\nf 1 3 \\\n4\nf 1/7 3 4\nf\n";
    let found = read(text, "", Up::Y);
    let [model] = found.models()[..] else { panic!("{found:?}") };
    assert_eq!(model.surfaces[0].triangles.len(), 1);
    let count = |problem: Problem| found.problems.iter().filter(|(_, found)| *found == problem).count();
    assert_eq!(count(Problem::DanglingReference), 2);
    assert_eq!(count(Problem::BadCoordinate), 1);
    assert_eq!(count(Problem::BadRecord), 4);
    assert_eq!(count(Problem::DegenerateRing), 2);
    assert_eq!(count(Problem::UnusedGeometry), 1);
    assert_eq!(found.problems.len(), 10);
}

#[test]
fn what_nobody_wants_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.obj");
    std::fs::write(&path, "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 900 0 0\nv 901 0 0\nv 900 1 0\nf 4 5 6\n")
        .unwrap();
    let file = ObjFile::new(&path, 0, ReadOptions::default(), at(), Up::Y);
    let middle = f64::from(1 << 24);
    let wanted = Wanted { boxes: vec![[middle - 5.0, middle - 5.0, middle + 5.0, middle + 5.0]] };
    let mut found = Collected::default();
    file.read(&wanted, &mut found).unwrap();
    assert_eq!(found.models().len(), 1);
    let [west, _, east, _] = file.extent().unwrap().unwrap();
    assert!(west == middle && (east - west - 901.0 / metres_per_voxel_at(middle)).abs() < 1e-6);
}

#[test]
fn files_that_are_none_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let missing = ObjFile::new(&folder.path().join("none.obj"), 0, ReadOptions::default(), at(), Up::Y);
    assert!(matches!(missing.extent(), Err(InputError::Io { .. })));
    let path = folder.path().join("long.obj");
    std::fs::write(&path, vec![b'7'; LINE_BYTES_MAX + 2]).unwrap();
    let long = ObjFile::new(&path, 0, ReadOptions::default(), at(), Up::Y).extent().unwrap_err().to_string();
    assert!(long.contains("long.obj") && long.contains("byte 0"), "{long}");
    std::fs::write(&path, b"v 1 2 \xff\nf 1 1 1\n\0\0").unwrap();
    assert_eq!(ObjFile::new(&path, 0, ReadOptions::default(), at(), Up::Y).extent().unwrap(), None);
}
