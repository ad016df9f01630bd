use std::io::Write as _;

use proptest::prelude::*;
use voxatlas::geo::mercator::metres_per_voxel_at;

use super::*;
use crate::input::collected::Collected;

/// An array file of version 1.
fn npy(descr: &str, is_fortran: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), bytes].concat()
}

fn tile() -> NpyPlace {
    "17/116415/51623,-32".parse().unwrap()
}

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().prefix("array").suffix(".npy").tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The voxels of a file, in order.
fn voxels(bytes: &[u8], place: NpyPlace) -> Vec<([i32; 3], Colour)> {
    let file = written(bytes);
    let found = Collected::of(&NpyFile::new(file.path(), 0, ReadOptions::default(), place)).unwrap();
    let mut voxels: Vec<_> = found.voxels().into_iter().flat_map(|model| model.voxels.clone()).collect();
    voxels.sort_unstable();
    voxels
}

fn error(bytes: &[u8]) -> String {
    let file = written(bytes);
    NpyFile::new(file.path(), 0, ReadOptions::default(), tile()).extent().unwrap_err().to_string()
}

#[test]
fn an_array_stands_exactly_on_its_tile() {
    // array[1, 0, 1] and array[0, 2, 0] of shape (2, 3, 2).
    let mut bytes = [0; 12];
    bytes[7] = 9;
    bytes[4] = 1;
    let file = written(&npy("|u1", false, "2, 3, 2", &bytes));
    let stream = NpyFile::new(file.path(), 5, ReadOptions::default(), tile());
    let found = Collected::of(&stream).unwrap();
    let [model] = found.voxels()[..] else { panic!("{found:?}") };
    assert_eq!((model.corner.x, model.corner.z, model.edge), (29_802_240.0, 13_215_488.0, 1.0));
    assert_eq!((model.corner.height_m / metres_per_voxel_at(model.corner.z)), -32.0);
    assert_eq!(model.voxels, [([0, 2, 0], PLAIN), ([1, 0, 1], PLAIN)]);
    assert_eq!(model.named.id, FeatureId::Nth { input: 5, nth: 0 });
    assert_eq!(stream.extent().unwrap(), Some([29_802_240.0, 13_215_488.0, 29_802_242.0, 13_215_490.0]));
    let turned = stream.with_axes("zyx").unwrap();
    assert_eq!(Collected::of(&turned).unwrap().voxels()[0].voxels, [([0, 2, 0], PLAIN), ([1, 0, 1], PLAIN)]);
}

#[test]
fn axes_are_what_the_caller_says() {
    let mut bytes = [0; 24];
    bytes[23] = 1;
    let file = written(&npy("|b1", false, "2, 3, 4,", &bytes));
    let stream = || NpyFile::new(file.path(), 0, ReadOptions::default(), tile());
    for (axes, expected) in [("xyz", [1, 2, 3]), ("zyx", [3, 2, 1]), ("yzx", [3, 1, 2])] {
        assert_eq!(
            Collected::of(&stream().with_axes(axes).unwrap()).unwrap().voxels()[0].voxels,
            [(expected, PLAIN)],
            "{axes}"
        );
    }
    for axes in ["xy", "xxz", "xyzz", "abc", ""] {
        assert!(stream().with_axes(axes).is_err(), "{axes}");
    }
}

#[test]
fn colours_and_what_is_nothing() {
    let rgba = [1, 2, 3, 255, 9, 9, 9, 0];
    assert_eq!(voxels(&npy("|u1", false, "2, 1, 1, 4", &rgba), tile()), [([0, 0, 0], [1, 2, 3])]);
    assert_eq!(voxels(&npy("|u1", true, "2, 1, 1, 4", &[1, 9, 2, 9, 3, 9, 255, 0]), tile()), [([0, 0, 0], [1, 2, 3])]);
    assert_eq!(voxels(&npy("|u1", false, "2, 1, 1, 3", &[0, 0, 0, 0, 0, 1]), tile()), [([1, 0, 0], [0, 0, 1])]);
    let shares: Vec<u8> = [1.0f32, 0.5, f32::NAN].iter().flat_map(|share| share.to_be_bytes()).collect();
    assert_eq!(voxels(&npy(">f4", false, "1, 1, 1, 3", &shares), tile()), [([0, 0, 0], [255, 128, 0])]);
    let long: Vec<u8> = [-5i64, 300, 77].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(voxels(&npy("<i8", false, "1, 1, 1, 3", &long), tile()), [([0, 0, 0], [0, 255, 77])]);
    // Not a number is no voxel.
    let numbers: Vec<u8> = [f32::NAN, 0.0, -1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(voxels(&npy("<f4", false, "3, 1, 1", &numbers), tile()), [([2, 0, 0], PLAIN)]);
}

#[test]
fn values_may_have_colours() {
    let colours = [("7".to_owned(), [1, 1, 1]), ("*".to_owned(), [2, 2, 2])].into_iter().collect();
    let read = ReadOptions { colour_by: Some((String::new(), colours)), ..ReadOptions::default() };
    let file = written(&npy("<u2", false, "1, 1, 3", &[7, 0, 0, 0, 0, 1]));
    let found = Collected::of(&NpyFile::new(file.path(), 0, read, tile())).unwrap();
    assert_eq!(found.voxels()[0].voxels, [([0, 0, 0], [1, 1, 1]), ([0, 0, 2], [2, 2, 2])]);
}

#[test]
fn archives_hold_several_arrays() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut archive = zip::ZipWriter::new(&mut file);
    for (name, bytes) in [
        ("a.npy", npy("|u1", false, "1, 1, 1", &[1])),
        ("notes.txt", vec![0]),
        ("b.npy", npy("|u1", false, "1, 1, 2", &[0, 1])),
    ] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
    let found = Collected::of(&NpyFile::new(file.path(), 0, ReadOptions::default(), tile())).unwrap();
    let names: Vec<_> = found.voxels().iter().map(|model| (model.named.name.as_str(), &model.voxels[..])).collect();
    assert_eq!(names, [("a", &[([0, 0, 0], PLAIN)][..]), ("b", &[([0, 0, 1], PLAIN)][..])]);
}

#[test]
fn an_array_may_stand_anywhere_by_quarters() {
    let mut bytes = [0; 4];
    bytes[1] = 1;
    let at: At = "139.7,35.6,5".parse().unwrap();
    let place = |bearing_deg: f64| NpyPlace::At(at.with_bearing_deg(bearing_deg).unwrap().with_scale(2.0).unwrap());
    // One to the south of the corner becomes one to the west.
    assert_eq!(voxels(&npy("|u1", false, "1, 1, 4", &bytes), place(90.0)), [([-2, 0, 0], PLAIN)]);
    let file = written(&npy("|u1", false, "1, 1, 4", &bytes));
    let askew = NpyFile::new(file.path(), 0, ReadOptions::default(), place(30.0)).extent().unwrap_err().to_string();
    assert!(askew.contains("bearing is 30") && askew.contains("multiple of 90"), "{askew}");
    let edge =
        Collected::of(&NpyFile::new(file.path(), 0, ReadOptions::default(), place(0.0))).unwrap().voxels()[0].edge;
    assert!((edge - 2.0 / 0.971).abs() < 0.01, "{edge}");
}

#[test]
fn places_are_read_and_refused() {
    assert_eq!("17/1/2".parse(), Ok(NpyPlace::Tile { tile: TileCoord::new(17, 1, 2).unwrap(), floor_y: -32 }));
    assert!(matches!("4,52".parse(), Ok(NpyPlace::At(_))));
    for text in ["16/1/2", "17/1", "17/1/2,x", "4", "17/200000/2"] {
        assert!(text.parse::<NpyPlace>().is_err(), "{text}");
    }
}

#[test]
fn files_that_are_none_are_errors_that_say_so() {
    for (bytes, expected) in [
        (b"hello world".to_vec(), "does not begin with"),
        (Vec::new(), "ends in its header"),
        (npy("|u1", false, "2, 2, 2", &[0; 7]), "should have 8 bytes, 7 are there"),
        (npy("|u1", false, "2, 2", &[0; 4]), "[2, 2]"),
        (npy("<c8", false, "1, 1, 1", &[0; 8]), "numbers are <c8"),
        (npy("|u1", false, "4294967295, 4294967295, 4294967295", &[]), "larger than"),
        (npy("|u1", false, "4294967295, 0, 4294967295", &[]), "is empty"),
        (npy("|u1", false, "70000, 70000, 1", &[]), "larger than"),
        (npy("|u1", false, "-1, 2, 3", &[]), "no shape"),
        (npy("|u1", false, "1, 1, 1, 9", &[0; 9]), "a fourth of 3 or 4"),
        ([&b"\x93NUMPY\x09\0"[..], &[0; 9]].concat(), "version 9"),
        ([&b"\x93NUMPY\x02\0"[..], &[255; 9]].concat(), "claims 4294967295 bytes"),
        (b"PK\x03\x04 no archive".to_vec(), "is no .npz"),
    ] {
        let error = error(&bytes);
        assert!(error.contains(expected) && error.contains("array"), "{error} should contain {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_and_endianness_do_not_matter(values in prop::collection::vec(0u16..3, 24), is_big in any::<bool>()) {
        // The same array of shape (2, 3, 4), written in C order and in Fortran order.
        let descr = if is_big { ">u2" } else { "<u2" };
        let bytes = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let at = |a: usize, b: usize, c: usize| values[12 * a + 4 * b + c];
        let mut c_order = Vec::new();
        let mut fortran = Vec::new();
        for (a, b, c) in (0..24).map(|n| (n / 12, n / 4 % 3, n % 4)) {
            c_order.extend(bytes(at(a, b, c)));
        }
        for (a, b, c) in (0..24).map(|n| (n % 2, n / 2 % 3, n / 6)) {
            fortran.extend(bytes(at(a, b, c)));
        }
        let found = voxels(&npy(descr, false, "2, 3, 4", &c_order), tile());
        prop_assert_eq!(found.len(), values.iter().filter(|&&value| value != 0).count());
        prop_assert_eq!(found, voxels(&npy(descr, true, "2, 3, 4", &fortran), tile()));
    }

    #[test]
    fn damaged_files_never_panic(at in 0usize..90, to in any::<u8>(), cut in 0usize..100) {
        let mut bytes = npy("<u2", false, "2, 2, 2, 3", &[7; 48]);
        let n = bytes.len();
        bytes[at.min(n - 1)] = to;
        bytes.truncate(n - cut.min(n));
        let file = written(&bytes);
        let _ = NpyFile::new(file.path(), 0, ReadOptions::default(), tile()).extent();
    }
}
