use proptest::prelude::*;

use super::*;
use crate::input::collected::Collected;

fn chunk_of(id: &str, content: &[u8]) -> Vec<u8> {
    [id.as_bytes(), &(content.len() as u32).to_le_bytes(), &[0; 4], content].concat()
}

/// A file of these chunks.
fn vox(chunks: &[Vec<u8>]) -> Vec<u8> {
    let children = chunks.concat();
    let length = (children.len() as u32).to_le_bytes();
    [b"VOX \x96\0\0\0MAIN\0\0\0\0", &length[..], &children].concat()
}

/// A model's two chunks; the colour is a number of the palette, from 1.
fn model(size: [u32; 3], voxels: &[[u8; 4]]) -> Vec<u8> {
    let size: Vec<u8> = size.iter().flat_map(|c| c.to_le_bytes()).collect();
    let content = [&(voxels.len() as u32).to_le_bytes()[..], voxels.as_flattened()].concat();
    [chunk_of("SIZE", &size), chunk_of("XYZI", &content)].concat()
}

fn palette() -> Vec<u8> {
    let colours: Vec<u8> = (1..=256u32).flat_map(|n| [n as u8, 0, 100, 255]).collect();
    chunk_of("RGBA", &colours)
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn dict(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries_bytes: Vec<u8> = entries.iter().flat_map(|(key, value)| [text(key), text(value)].concat()).collect();
    [&(entries.len() as u32).to_le_bytes()[..], &entries_bytes].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn transform(node: u32, attributes: &[(&str, &str)], child: u32, layer: u32, frame: &[(&str, &str)]) -> Vec<u8> {
    let content = [numbers(&[node]), dict(attributes), numbers(&[child, u32::MAX, layer, 1]), dict(frame)].concat();
    chunk_of("nTRN", &content)
}

fn group(node: u32, children: &[u32]) -> Vec<u8> {
    let content = [numbers(&[node]), dict(&[]), numbers(&[children.len() as u32]), numbers(children)].concat();
    chunk_of("nGRP", &content)
}

fn shape(node: u32, model: u32) -> Vec<u8> {
    chunk_of("nSHP", &[numbers(&[node]), dict(&[]), numbers(&[1, model]), dict(&[])].concat())
}

fn layer(layer: u32, attributes: &[(&str, &str)]) -> Vec<u8> {
    chunk_of("LAYR", &[numbers(&[layer]), dict(attributes), numbers(&[u32::MAX])].concat())
}

fn read(bytes: &[u8], bearing_deg: f64) -> Result<Collected, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.vox");
    std::fs::write(&path, bytes).unwrap();
    let at = At::new(139.7, 35.6, 3.0).unwrap().with_bearing_deg(bearing_deg).unwrap();
    let file = VoxFile::new(&path, 0, ReadOptions::default(), at);
    match file.extent() {
        Ok(_) => Ok(Collected::of(&file).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

/// The places of all voxels, in order.
fn places(found: &Collected) -> Vec<[i32; 3]> {
    let mut places: Vec<_> = found.voxels().iter().flat_map(|model| model.voxels.iter().map(|&(at, _)| at)).collect();
    places.sort_unstable();
    places
}

/// Three voxels that look the same from no two sides: x 0..=1 along the floor, and one above the second.
const HOOK: [[u8; 4]; 3] = [[0, 0, 0, 1], [1, 0, 0, 2], [1, 0, 1, 3]];

#[test]
fn a_file_without_a_scene_is_taken_as_it_is() {
    let found = read(&vox(&[model([2, 1, 2], &HOOK), palette()]), 0.0).unwrap();
    let [model] = found.voxels()[..] else { panic!("{found:?}") };
    // y is north there: the row that begins at 0 lies one to the north of the origin.
    assert_eq!(model.voxels, [([0, 0, -1], [1, 0, 100]), ([1, 0, -1], [2, 0, 100]), ([1, 1, -1], [3, 0, 100])]);
    assert_eq!(model.corner.height_m, 3.0);
    assert!((model.edge - 1.0 / 0.971).abs() < 0.01);
}

#[test]
fn transforms_are_applied_all_the_way_down() {
    // Moved by (10, 20, 30), then turned a quarter anticlockwise about z, then moved by (1, 2, 3).
    let quarter = (1 | 1 << 4).to_string();
    let chunks = [
        model([2, 1, 2], &HOOK),
        palette(),
        transform(0, &[], 1, 0, &[("_t", "10 20 30")]),
        group(1, &[2]),
        transform(2, &[("_name", "hook")], 3, 0, &[("_r", &quarter), ("_t", "1 2 3")]),
        shape(3, 0),
    ];
    let found = read(&vox(&chunks), 0.0).unwrap();
    assert_eq!(found.problems, []);
    assert_eq!(found.voxels()[0].named.name, "hook");
    // R = (0 -1 0; 1 0 0; 0 0 1): x' = -y, y' = x. Half the size is (1, 0, 1): centres (-1/2, 1/2, -1/2), (1/2, ..) ...
    // become (-1/2, -1/2), (-1/2, 1/2); moved by (11, 22, 33).
    let expected = [[10, 32, -22], [10, 32, -23], [10, 33, -23]];
    let mut expected_sorted = expected;
    expected_sorted.sort_unstable();
    assert_eq!(places(&found), expected_sorted);
}

#[test]
fn what_is_hidden_is_left_out() {
    let chunks = [
        model([1, 1, 1], &[[0, 0, 0, 1]]),
        transform(0, &[], 1, 0, &[]),
        group(1, &[2, 4, 6]),
        transform(2, &[("_hidden", "1")], 3, 0, &[]),
        shape(3, 0),
        transform(4, &[], 5, 1, &[]),
        shape(5, 0),
        transform(6, &[], 7, 0, &[("_t", "0 0 9")]),
        shape(7, 0),
        layer(0, &[]),
        layer(1, &[("_hidden", "1")]),
    ];
    assert_eq!(places(&read(&vox(&chunks), 0.0).unwrap()), [[0, 9, -1]]);
}

#[test]
fn the_whole_turns_by_quarters() {
    let file = vox(&[model([2, 1, 2], &HOOK)]);
    // The row along x runs south when the model's north looks east.
    assert_eq!(places(&read(&file, 90.0).unwrap()), [[0, 0, 0], [0, 0, 1], [0, 1, 1]]);
    assert!(read(&file, 45.0).unwrap_err().contains("bearing is 45"));
}

#[test]
fn a_voxel_that_repeats_counts_once() {
    let found = read(&vox(&[model([1, 1, 1], &[[0, 0, 0, 1], [0, 0, 0, 9]]), palette()]), 0.0).unwrap();
    assert_eq!(found.voxels()[0].voxels, [([0, 0, -1], [9, 0, 100])]);
}

#[test]
fn scenes_that_are_no_trees_end() {
    let chunks = [
        model([1, 1, 1], &[[0, 0, 0, 1]]),
        transform(0, &[], 1, 0, &[("_r", "77")]),
        group(1, &[0, 1, 9, 2]),
        shape(2, 5),
    ];
    let found = read(&vox(&chunks), 0.0).unwrap();
    assert!(found.voxels().is_empty());
    let problems: Vec<_> = found.problems.iter().map(|&(_, problem)| problem).collect();
    assert_eq!(
        problems,
        [
            Problem::BadRecord,
            Problem::DanglingReference,
            Problem::DanglingReference,
            Problem::DanglingReference,
            Problem::DanglingReference
        ]
    );
}

#[test]
fn files_that_are_none_are_errors_that_say_so() {
    let sound = vox(&[model([1, 1, 1], &[[0, 0, 0, 1]])]);
    let mut long = sound.clone();
    long[24] = 255;
    // A chunk in a chunk in a chunk: the parser would follow a million of them.
    let nested = (0..1000).fold(chunk_of("SIZE", &[]), |inner: Vec<u8>, _| {
        [b"PACK\0\0\0\0", &(inner.len() as u32).to_le_bytes()[..], &inner].concat()
    });
    for (bytes, expected) in [
        (b"hello".to_vec(), "does not begin with"),
        (b"VOX \x96\0\0\0".to_vec(), "ends in the header"),
        (vox(&[])[..16].to_vec(), "ends in the header"),
        (sound[..sound.len() - 1].to_vec(), "the file is cut off"),
        (long, "claims"),
        (vox(&[nested]), "flat file"),
        (vox(&[])[..8].iter().copied().chain(chunk_of("SIZE", &[])).collect(), "not MAIN"),
    ] {
        let error = read(&bytes, 0.0).unwrap_err();
        assert!(error.contains(expected) && error.contains("model.vox"), "{error} should contain {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_never_panic(at in 0usize..300, to in any::<u8>(), cut in 0usize..40) {
        let chunks = [
            model([2, 1, 2], &HOOK),
            transform(0, &[], 1, 0, &[("_r", "4"), ("_t", "1 2 3")]),
            shape(1, 0),
            layer(0, &[]),
        ];
        let mut bytes = vox(&chunks);
        let n = bytes.len();
        bytes[at.min(n - 1)] = to;
        bytes.truncate(n - cut);
        let _ = read(&bytes, 0.0);
    }

    #[test]
    fn rotations_turn_and_mirror_alone(byte in any::<u8>()) {
        if let Some(rows) = rows_of(byte) {
            let stance = Stance { rows, at: [0; 3] };
            let turned = stance.turned([1, 2, 3]);
            let mut sizes = turned.map(i64::abs);
            sizes.sort_unstable();
            prop_assert_eq!(sizes, [1, 2, 3]);
            let twice = stance.below(stance);
            prop_assert_eq!(twice.turned([1, 2, 3]), stance.turned(turned));
        }
    }
}
