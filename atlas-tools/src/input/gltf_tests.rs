use std::fmt::Write as _;

use voxatlas::geo::mercator::metres_per_voxel_at;

use super::*;
use crate::input::collected::Collected;
use crate::input::{Texture, TextureStore};
use crate::real_data::real_data;

/// Axes are the world's where a voxel is a metre and a bit: on the equator, at 0 E.
fn at() -> At {
    At::new(0.0, 0.0, 0.0).unwrap()
}

fn glb(json: &str, bin: &[u8]) -> Vec<u8> {
    let json = format!("{json}{}", " ".repeat((4 - json.len() % 4) % 4));
    let bin = [bin, &vec![0; (4 - bin.len() % 4) % 4]].concat();
    let length = (28 + json.len() + bin.len()) as u32;
    let number = |n: usize| (n as u32).to_le_bytes();
    [
        b"glTF\x02\0\0\0",
        &length.to_le_bytes()[..],
        &number(json.len()),
        b"JSON",
        json.as_bytes(),
        &number(bin.len()),
        b"BIN\0",
        &bin,
    ]
    .concat()
}

fn read(bytes: &[u8]) -> Result<Collected, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.glb");
    std::fs::write(&path, bytes).unwrap();
    let file = GltfFile::new(&path, 2, ReadOptions::default(), at());
    match file.extent() {
        Ok(_) => Ok(Collected::of(&file).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

/// A buffer and the views and accessors of it.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    views: String,
    accessors: String,
    n: usize,
}

impl Parts {
    /// Adds an accessor; its number.
    fn add(&mut self, component_type: u32, kind: &str, count: usize, bytes: &[u8]) -> usize {
        let comma = if self.n == 0 { "" } else { "," };
        let (offset, length) = (self.bytes.len(), bytes.len());
        write!(self.views, r#"{comma}{{"buffer":0,"byteOffset":{offset},"byteLength":{length}}}"#).unwrap();
        let normalised = component_type == 5121 && kind == "VEC4";
        write!(
            self.accessors,
            r#"{comma}{{"bufferView":{},"componentType":{component_type},"count":{count},"type":"{kind}","normalized":{normalised}}}"#,
            self.n
        )
        .unwrap();
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.n += 1;
        self.n - 1
    }

    fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let n = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            _ => 3,
        };
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.add(5126, kind, values.len() / n, &bytes)
    }

    /// A file with these further members.
    fn file(&self, members: &str) -> Vec<u8> {
        let json = format!(
            r#"{{"asset":{{"version":"2.0"}},"buffers":[{{"byteLength":{}}}],"bufferViews":[{}],"accessors":[{}],{members}}}"#,
            self.bytes.len(),
            self.views,
            self.accessors
        );
        glb(&json, &self.bytes)
    }
}

/// A square in the plane z = 0, as two triangles by a strip.
const SQUARE: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];

/// Metres from the place where the model stands: east, up, south.
fn metres(place: Place) -> [f64; 3] {
    let voxel_m = metres_per_voxel_at(f64::from(1 << 24));
    [(place.x - f64::from(1 << 24)) * voxel_m, place.height_m, (place.z - f64::from(1 << 24)) * voxel_m]
}

#[track_caller]
fn assert_near(place: Place, expected: [f64; 3]) {
    let found = metres(place);
    assert!((0..3).all(|axis| (found[axis] - expected[axis]).abs() < 1e-5), "{found:?} is not {expected:?}");
}

#[test]
fn nodes_are_placed_by_all_nodes_above_them() {
    let mut parts = Parts::default();
    parts.floats("VEC3", &SQUARE);
    let members = r#""scene":0,"scenes":[{"nodes":[0]}],"meshes":[{"name":"m","primitives":[{"attributes":{"POSITION":0},"mode":5}]}],
        "nodes":[{"children":[1,2],"translation":[10,0,0],"scale":[2,2,2]},
                 {"mesh":0,"rotation":[0,0.70710678,0,0.70710678],"name":"turned"},
                 {"mesh":0,"matrix":[-1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,5,1]},
                 {"mesh":0,"name":"not in the scene"}]"#;
    let found = read(&parts.file(members)).unwrap();
    let names: Vec<_> = found.models().iter().map(|model| model.named.name.as_str()).collect();
    assert_eq!(names, ["turned", "m"]);
    assert_eq!(found.models()[1].named.id, FeatureId::Nth { input: 2, nth: 2 });
    // A quarter about y takes x to -z.
    let [a, b] = &found.models()[0].surfaces[0].triangles[..] else { panic!("{found:?}") };
    assert_near(a[1], [10.0, 0.0, -2.0]);
    assert_near(b[2], [10.0, 2.0, -2.0]);
    // A mirror image is turned over again.
    let [mirrored, _] = &found.models()[1].surfaces[0].triangles[..] else { panic!("{found:?}") };
    assert_near(mirrored[1], [10.0, 2.0, 10.0]);
    assert_near(mirrored[2], [8.0, 0.0, 10.0]);
    assert_eq!(found.models()[0].surfaces[0].paint, Paint::Look);
}

#[test]
fn lists_strips_and_fans_are_triangles() {
    let mut parts = Parts::default();
    parts.floats("VEC3", &SQUARE);
    parts.add(5123, "SCALAR", 6, &[0, 0, 1, 0, 2, 0, 9, 0, 1, 0, 2, 0]);
    let mesh = r#"{"attributes":{"POSITION":0},"mode":MODE}"#;
    let primitives: Vec<String> = [0, 1, 4, 5, 6].map(|mode: u32| mesh.replace("MODE", &mode.to_string())).to_vec();
    let indexed = r#"{"attributes":{"POSITION":0},"indices":1}"#;
    let members = format!(r#""meshes":[{{"primitives":[{},{indexed}]}}],"nodes":[{{"mesh":0}}]"#, primitives.join(","));
    let found = read(&parts.file(&members)).unwrap();
    let counts: Vec<usize> = found.models()[0].surfaces.iter().map(|surface| surface.triangles.len()).collect();
    // The second triangle of the last names a point that is not there.
    assert_eq!(counts, [1, 2, 2, 1]);
    let problems: Vec<_> = found.problems.iter().map(|&(_, problem)| problem).collect();
    assert_eq!(problems, [Problem::UnusedGeometry, Problem::UnusedGeometry, Problem::BadRecord]);
}

#[test]
fn colours_are_those_of_the_material_and_the_points() {
    let mut parts = Parts::default();
    parts.floats("VEC3", &SQUARE);
    parts.add(5121, "VEC4", 4, &[255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 0, 0, 0, 255]);
    let members = r#""materials":[{"pbrMetallicRoughness":{"baseColorFactor":[0.5,0.0,1.0,1.0]}},{}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0},"material":0,"mode":6},
                                 {"attributes":{"POSITION":0,"COLOR_0":1},"material":0},
                                 {"attributes":{"POSITION":0},"material":1}]}],"nodes":[{"mesh":0}]"#;
    let found = read(&parts.file(members)).unwrap();
    let paints: Vec<_> = found.models()[0].surfaces.iter().map(|surface| &surface.paint).collect();
    // Half the light is 188 of 255.
    assert_eq!(*paints[0], Paint::Colour([188, 0, 255]));
    assert_eq!(*paints[1], Paint::Corners(vec![[[188, 0, 0], [0, 0, 0], [0, 0, 255]]]));
    assert_eq!(*paints[2], Paint::Colour([255; 3]));
}

#[test]
fn images_are_found_wherever_they_are() {
    let mut parts = Parts::default();
    parts.floats("VEC3", &SQUARE);
    parts.floats("VEC2", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let image = parts.add(5121, "SCALAR", 3, b"PNG");
    let transform = r#""extensions":{"KHR_texture_transform":{"offset":[0.5,0],"rotation":1.5707963,"scale":[2,1]}}"#;
    let members = format!(
        r#""extensionsRequired":["KHR_texture_transform"],"extensionsUsed":["KHR_texture_transform"],
        "images":[{{"bufferView":{image},"mimeType":"image/png"}},{{"uri":"data:image/png;base64,UE5H"}},{{"uri":"a%20b.png"}},{{"uri":"https://a/b.png"}}],
        "textures":[{{"source":0}},{{"source":1}},{{"source":2,"sampler":0}},{{"source":3}}],"samplers":[{{"wrapS":33071,"wrapT":33071}}],
        "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0,{transform}}}}}}},
                     {{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":1}},"baseColorFactor":[1,0,0,1]}}}},
                     {{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":2}}}}}},
                     {{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":3}}}}}}],
        "meshes":[{{"primitives":[{}]}}],"nodes":[{{"mesh":0}}]"#,
        (0..4)
            .map(|n| format!(r#"{{"attributes":{{"POSITION":0,"TEXCOORD_0":1}},"material":{n}}}"#))
            .collect::<Vec<_>>()
            .join(",")
    );
    let found = read(&parts.file(&members)).unwrap();
    let [Texture::Bytes(a), Texture::Bytes(b), Texture::File(c)] = &found.textures[..] else { panic!("{found:?}") };
    assert_eq!((&a[..], &b[..]), (&b"PNG"[..], &b"PNG"[..]));
    assert!(c.ends_with("a b.png"));
    let surfaces = &found.models()[0].surfaces;
    let Paint::Texture { texture: 0, uvs, tint: [255, 255, 255] } = &surfaces[0].paint else { panic!("{surfaces:?}") };
    // (1, 0) is stretched to (2, 0), turned anticlockwise as the image is seen, moved.
    let near = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).abs() < 1e-5 && (a[1] - b[1]).abs() < 1e-5;
    assert!(near(uvs[0][0], [0.5, 0.0]) && near(uvs[0][1], [0.5, -2.0]) && near(uvs[0][2], [1.5, 0.0]), "{uvs:?}");
    assert!(matches!(surfaces[1].paint, Paint::Texture { texture: 1, tint: [255, 0, 0], .. }));
    // An image that ends at its edges is not left.
    let Paint::Texture { uvs, .. } = &surfaces[2].paint else { panic!("{surfaces:?}") };
    assert!(uvs.iter().flatten().flatten().all(|&c| (0.0..1.0).contains(&c)));
    assert_eq!(surfaces[3].paint, Paint::Colour([255; 3]));
    assert_eq!(found.problems, [(String::new(), Problem::BadTexture)]);
}

#[test]
fn what_a_file_requires_is_known_or_named() {
    let file = |name: &str| {
        let mut parts = Parts::default();
        // Whole numbers as positions, as KHR_mesh_quantization has them.
        parts.add(5123, "VEC3", 3, &[0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
        let members = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}]"#;
        parts.file(&format!(r#""extensionsRequired":["{name}"],"extensionsUsed":["{name}"],{members}"#))
    };
    let found = read(&file("KHR_mesh_quantization")).unwrap();
    assert_near(found.models()[0].surfaces[0].triangles[0][1], [9.0, 0.0, 0.0]);
    for name in ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_texture_basisu"] {
        let error = read(&file(name)).unwrap_err();
        assert!(error.contains(&format!("requires {name}")) && error.contains("model.glb"), "{error}");
    }
}

#[test]
fn buffers_may_lie_beside_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = SQUARE.iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(folder.path().join("a b.bin"), &bytes).unwrap();
    let json = |length: usize| {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"buffers":[{{"byteLength":48,"uri":"a%20b.bin"}},{{"byteLength":{length},"uri":"a%20b.bin"}}],
            "bufferViews":[{{"buffer":1,"byteLength":{length}}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3",
                "sparse":{{"count":1,"indices":{{"bufferView":0,"componentType":5121}},"values":{{"bufferView":0,"byteOffset":12}}}}}}],
            "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"mode":5}}]}}],"nodes":[{{"mesh":0}}]}}"#
        )
    };
    let path = folder.path().join("model.gltf");
    std::fs::write(&path, json(48)).unwrap();
    let found = Collected::of(&GltfFile::new(&path, 0, ReadOptions::default(), at())).unwrap();
    // The first point is replaced by the second.
    assert_near(found.models()[0].surfaces[0].triangles[0][0], [1.0, 0.0, 0.0]);
    std::fs::write(&path, json(49)).unwrap();
    let error = GltfFile::new(&path, 0, ReadOptions::default(), at()).extent().unwrap_err().to_string();
    assert!(error.contains("buffer 1 should have 49 bytes, 48 are there"), "{error}");
}

#[test]
fn counts_are_believed_as_far_as_there_are_bytes() {
    for (accessor, n_surfaces) in [
        (r#""bufferView":0,"componentType":5126,"count":4"#, 1),
        (r#""bufferView":0,"componentType":5126,"count":5"#, 0),
        (r#""bufferView":0,"componentType":5126,"count":18446744073709551615"#, 0),
        (r#""bufferView":0,"componentType":5126,"count":4,"byteOffset":18446744073709551615"#, 0),
        (r#""bufferView":0,"componentType":5126,"count":0"#, 0),
        (r#""componentType":5126,"count":1000000000000"#, 0),
    ] {
        let mut parts = Parts::default();
        parts.floats("VEC3", &SQUARE);
        parts.accessors = format!(r#"{{{accessor},"type":"VEC3"}}"#);
        let found =
            read(&parts.file(r#""meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}]"#));
        // Some are refused by the document's own rules.
        let n_found = found.map_or(0, |found| found.models().len());
        assert_eq!(n_found, n_surfaces, "{accessor}");
    }
}

#[test]
fn nodes_in_circles_end() {
    let mut parts = Parts::default();
    parts.floats("VEC3", &SQUARE);
    let members = r#""scenes":[{"nodes":[0]}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0,"children":[1]},{"children":[0,1]}]"#;
    let found = read(&parts.file(members)).unwrap();
    assert_eq!((found.models().len(), found.problems.len()), (1, 2));
}

#[test]
fn files_that_are_none_are_errors_that_say_so() {
    let sound = Parts::default().file(r#""nodes":[]"#);
    for (bytes, expected) in [
        (b"hello".to_vec(), "is neither glTF nor GLB"),
        (b"glTF\x01\0\0\0\x0c\0\0\0".to_vec(), "version 1: expected 2"),
        (sound[..sound.len() - 4].to_vec(), "ends in the header"),
        (sound[..40].to_vec(), "the file is cut off"),
        (glb("{}", &[]), "its JSON cannot be read"),
        (glb(r#"{"asset":{"version":"2.0"},"scene":3}"#, &[]), "not sound"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert!(error.contains(expected) && error.contains("model.glb"), "{error} should contain {expected}");
    }
    assert!(read(&sound).unwrap().models().is_empty());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_never_panic(at in 0usize..2000, to in proptest::prelude::any::<u8>(), cut in 0usize..60) {
        let mut parts = Parts::default();
        parts.floats("VEC3", &SQUARE);
        parts.floats("VEC2", &[0.0; 8]);
        parts.add(5121, "SCALAR", 3, &[0, 1, 2]);
        let members = r#""images":[{"uri":"a.png"}],"textures":[{"source":0}],"samplers":[{}],
            "materials":[{"pbrMetallicRoughness":{"baseColorTexture":{"index":0}}}],"scene":0,"scenes":[{"nodes":[0]}],
            "meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":1},"indices":2,"material":0}]}],"nodes":[{"mesh":0}]"#;
        let mut bytes = parts.file(members);
        let n = bytes.len();
        bytes[at.min(n - 1)] = to;
        bytes.truncate(n - cut);
        let _ = read(&bytes);
    }
}

#[test]
fn virtual_city_is_whole() {
    let Some(data) = real_data("atlas-tools: input::gltf::virtual_city_is_whole") else { return };
    let path = data.join("gltf/VirtualCity.glb");
    let file = GltfFile::new(&path, 0, ReadOptions::default(), "139.7454,35.6586".parse().unwrap());
    let found = Collected::of(&file).unwrap();
    assert_eq!(found.problems, []);
    let models = found.models();
    let surfaces = || models.iter().flat_map(|model| &model.surfaces);
    let n_triangles: usize = surfaces().map(|surface| surface.triangles.len()).sum();
    assert_eq!((found.models().len(), n_triangles), (135, 8383));
    // The size that the document itself gives, its accessors taken through the matrices of their nodes by other means.
    let [west, north, east, south] = file.extent().unwrap().unwrap();
    let voxel_m = metres_per_voxel_at(north);
    let heights = || surfaces().flat_map(|surface| surface.triangles.iter().flatten()).map(|place| place.height_m);
    let [low_m, high_m] = [heights().fold(f64::INFINITY, f64::min), heights().fold(f64::NEG_INFINITY, f64::max)];
    let found_m = [(east - west) * voxel_m, (south - north) * voxel_m, low_m, high_m];
    let expected_m = [166.277, 169.131, -1.257, 96.944];
    for (found_m, expected_m) in found_m.into_iter().zip(expected_m) {
        assert!((found_m - expected_m).abs() < 0.001, "{found_m} m is not {expected_m} m");
    }
    let store = TextureStore::new(64 << 20);
    let number = |texture: &Texture| store.number(texture.clone());
    let numbers: Vec<u32> = found.textures.iter().map(number).collect();
    assert_eq!(numbers.len(), 20);
    let mut n_opaque = 0;
    for number in numbers {
        let [width, height] = store.image(number).unwrap().size();
        assert!((64..=1024).contains(&width) && (64..=1024).contains(&height));
        n_opaque += usize::from(store.colour_at(number, [0.5, 0.5]).is_some());
    }
    // The rotor of the helicopter has a hole there.
    assert_eq!(n_opaque, 19);
}
