//! Tests of the vector tile reader.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::input::{Fallback, Height};

#[path = "../../tests/cli/common/mvt_writer.rs"]
mod writer;

use writer::{TestFeature, bytes_field, tile as write_tile, varint_field};

fn selection() -> LayerSelection {
    LayerSelection {
        layers: vec!["bldg".to_owned()],
        read: ReadOptions { height_fields: vec!["z".to_owned()], ..ReadOptions::default() },
    }
}

fn source() -> TileCoord {
    TileCoord::new(16, 58_207, 25_811).unwrap()
}

fn decoded(bytes: &[u8]) -> Result<Vec<Feature>, MvtError> {
    decode(bytes, 0, source(), &selection())
}

fn rings_of(bytes: &[u8]) -> Vec<usize> {
    decoded(bytes).unwrap()[0].polygons.iter().map(|polygon| polygon.rings.len()).collect()
}

fn square(x: i32, y: i32, side: i32) -> Vec<[i32; 2]> {
    vec![[x, y], [x + side, y], [x + side, y + side], [x, y + side]]
}

/// The same square the other way round.
fn hole(x: i32, y: i32, side: i32) -> Vec<[i32; 2]> {
    square(x, y, side).into_iter().rev().collect()
}

fn feature_of(rings: Vec<Vec<[i32; 2]>>) -> Vec<u8> {
    write_tile("bldg", 4096, &[TestFeature { id: Some(1), height_m: Some(5.0), rings }])
}

#[test]
fn reads_ids_heights_and_shapes() {
    let blocks =
        [TestFeature::block(7, 12.5, 0, 0, 8), TestFeature { id: None, ..TestFeature::block(0, -2.0, 8, 8, 8) }];
    let features = decoded(&write_tile("bldg", 4096, &blocks)).unwrap();
    assert_eq!(features[0].id, FeatureId::Given(7));
    assert_eq!(features[0].height, Height { metres: 12.5, fallback: None });
    // 4096 units become 65,536.
    assert_eq!(features[0].polygons[0].rings, [vec![[0, 0], [128, 0], [128, 128], [0, 128]]]);
    assert_eq!(features[1].id, FeatureId::Place { input: 0, tile: source(), feature_idx: 1 });
    assert_eq!(features[1].height.fallback, Some(Fallback::Negative));
}

#[test]
fn scales_any_extent() {
    let check = |extent: u32, x: i32, expected: i32| {
        let bytes = write_tile("bldg", extent, &[TestFeature::block(1, 3.0, x, 0, 7)]);
        assert_eq!(decoded(&bytes).unwrap()[0].polygons[0].rings[0][0][0], expected, "extent {extent}");
    };
    check(4096, 1, 16);
    check(256, -1, -256);
    check(65_536, 3, 3);
    // Not a divisor: the nearest unit, halves upwards, on both sides of zero.
    check(3000, 1, 22);
    check(3000, -1, -22);
    check(131_072, 3, 2);
    check(131_072, -3, -1);
}

#[test]
fn other_layers_and_kinds_are_passed_over() {
    let mut bytes = write_tile("roads", 4096, &[TestFeature::block(1, 3.0, 0, 0, 8)]);
    bytes.extend(write_tile("bldg", 4096, &[TestFeature { id: None, ..TestFeature::block(0, 3.0, 0, 0, 8) }]));
    let features = decoded(&bytes).unwrap();
    // Places count through every layer.
    assert_eq!(
        features.iter().map(|feature| feature.id).collect::<Vec<_>>(),
        [FeatureId::Place { input: 0, tile: source(), feature_idx: 1 }]
    );

    let mut point = Vec::new();
    varint_field(&mut point, 3, 1);
    bytes_field(&mut point, 4, &[9, 2, 2]);
    assert_eq!(decoded(&layer(&[(2, &point)])).unwrap(), []);
    assert_eq!(decoded(&[]).unwrap(), []);
}

/// A tile of one layer "bldg" with these fields.
fn layer(fields: &[(u64, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    bytes_field(&mut body, 1, b"bldg");
    for (number, bytes) in fields {
        bytes_field(&mut body, *number, bytes);
    }
    let mut tile = Vec::new();
    bytes_field(&mut tile, 3, &body);
    tile
}

#[test]
fn every_kind_of_number_is_a_height() {
    let check = |value: &[u8], expected: Option<f64>| {
        let mut feature = Vec::new();
        bytes_field(&mut feature, 2, &[0, 0]);
        varint_field(&mut feature, 3, 3);
        let bytes = layer(&[(2, &feature), (3, b"z"), (4, value)]);
        let height = decoded(&bytes).unwrap()[0].height;
        assert_eq!(height, Height::from_input(expected), "{value:?}");
    };
    let number = |field: u64, value: u64| {
        let mut bytes = Vec::new();
        varint_field(&mut bytes, field, value);
        bytes
    };
    check(&[&[2 << 3 | 5], &1.5f32.to_le_bytes()[..]].concat(), Some(1.5));
    check(&[&[3 << 3 | 1], &2.5f64.to_le_bytes()[..]].concat(), Some(2.5));
    check(&number(4, 7), Some(7.0));
    check(&number(4, (-7i64) as u64), Some(-7.0));
    check(&number(5, 9), Some(9.0));
    check(&number(6, 5), Some(-3.0));
    check(&number(7, 1), None);
    let mut text = Vec::new();
    bytes_field(&mut text, 1, b"12 m");
    check(&text, Some(12.0));
    let mut text = Vec::new();
    bytes_field(&mut text, 1, b"high");
    check(&text, None);
}

#[test]
fn undersides_colours_and_attributes_are_those_of_the_tile() {
    let mut feature = Vec::new();
    varint_field(&mut feature, 1, 7);
    bytes_field(&mut feature, 2, &[0, 0, 1, 1, 2, 2, 3, 3]);
    varint_field(&mut feature, 3, 3);
    let number = |number: f64| [&[3 << 3 | 1], &number.to_le_bytes()[..]].concat();
    let text = |text: &str| {
        let mut value = Vec::new();
        bytes_field(&mut value, 1, text.as_bytes());
        value
    };
    let bytes = layer(&[
        (2, &feature),
        (3, b"render_height"),
        (3, b"render_min_height"),
        (3, b"colour"),
        (3, b"name"),
        (4, &number(30.0)),
        (4, &number(12.5)),
        (4, &text("#a04030")),
        (4, &text("\u{6771}")),
    ]);
    let read = |with_attributes: bool| {
        let read = ReadOptions { with_attributes, ..ReadOptions::default() };
        decode(&bytes, 0, source(), &LayerSelection { read, ..selection() }).unwrap().remove(0)
    };
    let found = read(true);
    assert_eq!((found.height.metres, found.min_height_m, found.wall), (30.0, 12.5, Some([0xA0, 0x40, 0x30])));
    let described = found.described.unwrap();
    assert_eq!((described.name.as_str(), described.attributes.len()), ("7", 4));
    assert_eq!(described.attributes[3], ("name".to_owned(), "\u{6771}".into()));
    assert_eq!(read(false).described, None);
}

#[test]
fn the_first_height_field_counts() {
    let mut feature = Vec::new();
    bytes_field(&mut feature, 2, &[0, 0, 1, 1]);
    varint_field(&mut feature, 3, 3);
    let value = |metres: f64| [&[3 << 3 | 1], &metres.to_le_bytes()[..]].concat();
    let bytes = layer(&[(2, &feature), (3, b"a"), (3, b"b"), (4, &value(1.0)), (4, &value(2.0))]);
    let height = |fields: &[&str]| {
        let height_fields = fields.iter().map(|&field| field.to_owned()).collect();
        let read = ReadOptions { height_fields, ..ReadOptions::default() };
        let selection = LayerSelection { read, ..selection() };
        decode(&bytes, 0, source(), &selection).unwrap()[0].height.metres
    };
    assert_eq!(height(&["a", "b"]), 1.0);
    assert_eq!(height(&["b", "a"]), 2.0);
    assert_eq!(height(&["none", "b"]), 2.0);
}

#[test]
fn rings_become_polygons_with_holes() {
    let check = |rings: Vec<Vec<[i32; 2]>>, expected: &[usize]| {
        assert_eq!(rings_of(&feature_of(rings.clone())), expected, "{rings:?}");
    };
    check(vec![square(0, 0, 9)], &[1]);
    check(vec![square(0, 0, 9), hole(2, 2, 3)], &[2]);
    check(vec![square(0, 0, 9), hole(2, 2, 3), square(20, 0, 9), hole(22, 2, 3)], &[2, 2]);
    // Version 1 may wind the other way.
    check(vec![hole(0, 0, 9), square(2, 2, 3), hole(20, 0, 9)], &[2, 1]);
    // A hole given twice is one hole, wherever it begins; an outline given twice stays filled.
    let mut turned = hole(2, 2, 3);
    turned.rotate_left(2);
    check(vec![square(0, 0, 9), hole(2, 2, 3), turned], &[2]);
    check(vec![square(0, 0, 9), square(0, 0, 9)], &[1, 1]);
    // A figure of eight has no area by its sign, but covers something.
    check(vec![vec![[0, 0], [8, 8], [8, 0], [0, 8]]], &[1]);
    // Too short to cover anything; closed by hand.
    check(vec![vec![[0, 0], [8, 8]], square(0, 0, 9)], &[1]);
    check(vec![vec![[0, 0], [9, 0], [9, 9], [0, 0]]], &[1]);
}

#[test]
fn gzip_is_recognised() {
    let plain = write_tile("bldg", 4096, &[TestFeature::block(7, 12.5, 0, 0, 8)]);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zipped = gzip(&plain);
    assert_eq!(decoded(&zipped), decoded(&plain));
    assert!(matches!(decoded(&zipped[..zipped.len() - 9]), Err(MvtError::Gzip { .. })));
    // A bomb: more than any tile holds, from a few kilobytes.
    let bomb = gzip(&vec![0; TILE_BYTES_MAX + 1]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(decoded(&bomb), Err(MvtError::TooLarge));
}

#[test]
fn malformed_tiles_are_named() {
    let check = |bytes: &[u8], expected: &str| {
        let error = decoded(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}: expected {expected}");
    };
    check(&[0x1A, 5, 1], "5 bytes wanted, 1 left");
    check(&[0xFF; 11], "longer than ten bytes");
    check(&[0x1B], "wire type 3");
    check(&[0x18, 1], "\"layers\" has the wrong wire type");
    check(&[0x1A, 0], "no name");
    check(&layer(&[(3, &[0xFF])]), "not UTF-8");
    let mut zero = Vec::new();
    bytes_field(&mut zero, 1, b"bldg");
    varint_field(&mut zero, 5, 0);
    let mut tile = Vec::new();
    bytes_field(&mut tile, 3, &zero);
    check(&tile, "layer \"bldg\": extent 0");

    let with = |tags: &[u8], geometry: &[u8]| {
        let mut feature = Vec::new();
        bytes_field(&mut feature, 2, tags);
        varint_field(&mut feature, 3, 3);
        bytes_field(&mut feature, 4, geometry);
        layer(&[(2, &feature), (3, b"z")])
    };
    check(&with(&[4, 0], &[]), "feature 0: attribute 4");
    check(&with(&[0], &[]), "attribute 0");
    check(&with(&[0, 9], &[]), "attribute 9");
    check(&with(&[], &[3]), "unknown drawing command 3");
    check(&with(&[], &[9, 2]), "end in the middle");
    check(&with(&[], &[10, 2, 2]), "does not begin with MoveTo");
    check(&with(&[], &[9, 2, 2, 15, 10, 2, 2]), "does not begin with MoveTo");
    // A count of half a billion points, and a coordinate beyond everything.
    check(&with(&[], &[0x81, 0x80, 0x80, 0x80, 0x10, 2, 2]), "end in the middle");
    check(&with(&[], &[9, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 2]), "8192 tiles away");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is changed in a tile, the answer is features or an error by name.
    #[test]
    fn mutations_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
        zipped in any::<bool>(),
    ) {
        let blocks: Vec<_> = (0..6).map(|idx| TestFeature::block(idx, idx as f64, idx as i32 * 9, 3, 7)).collect();
        let mut bytes = write_tile("bldg", 4096, &blocks);
        if zipped {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).unwrap();
            bytes = encoder.finish().unwrap();
        }
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(features) = decoded(&bytes) {
            for feature in features {
                prop_assert!(feature.height.metres > 0.0 && feature.height.metres.is_finite());
                let points = feature.polygons.iter().flat_map(|polygon| polygon.rings.iter().flatten());
                prop_assert!(points.flatten().all(|&value| i64::from(value).abs() <= COORDINATE_MAX));
            }
        }
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decoded(&bytes);
    }

    #[test]
    fn what_is_written_is_read(
        blocks in prop::collection::vec((any::<u64>(), 0.1f64..900.0, -80i32..4096, -80i32..4096, 1i32..99), 0..20),
    ) {
        let features: Vec<_> =
            blocks.iter().map(|&(id, height_m, x, y, side)| TestFeature::block(id, height_m, x, y, side)).collect();
        let read = decoded(&write_tile("bldg", 4096, &features)).unwrap();
        prop_assert_eq!(read.len(), blocks.len());
        for (feature, (id, height_m, x, y, side)) in read.iter().zip(blocks) {
            prop_assert_eq!(feature.id, FeatureId::Given(id));
            prop_assert_eq!(feature.height.metres, height_m);
            let ring = square(x * 16, y * 16, side * 16);
            prop_assert_eq!(&feature.polygons[0].rings, &vec![ring]);
        }
    }
}
