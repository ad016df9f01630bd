use flatgeobuf::{ColumnType as Kind, FgbCrs, FgbWriter, FgbWriterOptions};
use geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use proptest::prelude::*;
use voxatlas::geo::LonLat;

use super::super::FeatureId;
use super::super::collected::Collected;
use super::*;
use crate::real_data::real_data;

/// A square to write.
struct Square {
    x: f64,
    y: f64,
    side: f64,
}

impl GeozeroGeometry for Square {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> geozero::error::Result<()> {
        let [east, north] = [self.x + self.side, self.y + self.side];
        let ring = [[self.x, self.y], [east, self.y], [east, north], [self.x, north], [self.x, self.y]];
        processor.polygon_begin(true, 1, 0)?;
        processor.linestring_begin(false, ring.len(), 0)?;
        for (nth, [x, y]) in ring.into_iter().enumerate() {
            processor.xy(x, y, nth)?;
        }
        processor.linestring_end(false, 0)?;
        processor.polygon_end(true, 0)
    }
}

/// Writes squares with heights, a row of them from the west to the east.
fn city(n: usize, crs: FgbCrs<'_>, west: f64, step: f64) -> Vec<u8> {
    let options = FgbWriterOptions { crs, write_index: n > 0, ..FgbWriterOptions::default() };
    let mut writer = FgbWriter::create_with_options("city", GeometryType::Polygon, options).unwrap();
    writer.add_column("height", Kind::Double, |_, _| {});
    writer.add_column("id", Kind::String, |_, _| {});
    for nth in 0..n {
        let square = Square { x: west + step * nth as f64, y: 35.0, side: step / 2.0 };
        writer
            .add_feature_geom(square, |feature| {
                feature.property(0, "height", &ColumnValue::Double(nth as f64 + 1.0)).unwrap();
                feature.property(1, "id", &ColumnValue::String(&format!("b{nth}"))).unwrap();
            })
            .unwrap();
    }
    let mut bytes = Vec::new();
    writer.write(&mut bytes).unwrap();
    bytes
}

fn wgs84() -> FgbCrs<'static> {
    FgbCrs { code: 4326, ..FgbCrs::default() }
}

fn open(bytes: &[u8]) -> Result<(tempfile::TempDir, FlatGeobuf), InputError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.fgb");
    std::fs::write(&path, bytes).unwrap();
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    FlatGeobuf::open(&path, 0, options, &CrsOptions::default()).map(|stream| (folder, stream))
}

#[test]
fn features_bear_their_attributes_and_ids() {
    let (_folder, stream) = open(&city(40, wgs84(), 139.0, 0.01)).unwrap();
    let collected = Collected::of(&stream).unwrap();
    let mut heights: Vec<_> = collected.prisms().iter().map(|prism| prism.height.metres).collect();
    heights.sort_by(f64::total_cmp);
    assert_eq!(heights, (1..=40).map(f64::from).collect::<Vec<_>>());
    let prism = collected.prisms().into_iter().find(|prism| prism.height.metres == 7.0).unwrap();
    assert_eq!((prism.named.id, prism.named.name.as_str()), (FeatureId::of_text("b6"), "b6"));
    assert_eq!(prism.named.attributes[0].0, "height");
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    let [west, south] = LonLat::new(139.0, 35.0).unwrap().to_world();
    let extent = stream.extent().unwrap().unwrap();
    assert!((extent[0] - west).abs() < 1e-6 && (extent[3] - south).abs() < 1e-6);
}

#[test]
fn only_what_is_wanted_is_read() {
    let (_folder, stream) = open(&city(400, wgs84(), 130.0, 0.01)).unwrap();
    let all = Collected::of(&stream).unwrap();
    let [west, north] = LonLat::new(131.0, 36.0).unwrap().to_world();
    let [east, south] = LonLat::new(131.0955, 34.0).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, east, south]] };
    let some = Collected::of_wanted(&stream, &wanted).unwrap();
    assert_eq!(some.prisms().len(), 10);
    assert!(some.items.iter().all(|item| all.items.contains(item)), "the same features bear the same names");
    let nowhere = Wanted { boxes: vec![[0.0, 0.0, 1.0, 1.0]] };
    assert!(Collected::of_wanted(&stream, &nowhere).unwrap().items.is_empty());
}

#[test]
fn the_bytes_that_are_told_are_all_that_is_read() {
    let bytes = city(6000, wgs84(), 100.0, 0.01);
    let (folder, stream) = open(&bytes).unwrap();
    let [west, north] = LonLat::new(131.0, 36.0).unwrap().to_world();
    let [east, south] = LonLat::new(133.0, 34.0).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, east, south]] };
    let before = Collected::of_wanted(&stream, &wanted).unwrap();
    let ranges = stream.bytes(&wanted).unwrap().unwrap();
    let n_kept = super::super::byte_ranges::keep_only(&folder.path().join("city.fgb"), &ranges);
    assert!(n_kept < bytes.len() as u64 / 2, "{n_kept} of {}", bytes.len());
    let after = Collected::of_wanted(&stream, &wanted).unwrap();
    assert_eq!((after.items, after.problems), (before.items, before.problems));
    assert_eq!(stream.bytes(&Wanted::all()).unwrap(), None);
}

#[test]
fn a_file_without_a_crs_needs_one() {
    let error = open(&city(1, FgbCrs::default(), 139.0, 0.01)).unwrap_err().to_string();
    assert!(error.contains("city.fgb: no CRS"), "{error}");
}

#[test]
fn what_is_no_flatgeobuf_says_so() {
    for bytes in [&b""[..], b"fgb", b"fgb\x02fgb\x00\x00\x00\x00\x00", b"<html></html>"] {
        assert!(open(bytes).unwrap_err().to_string().contains("no FlatGeobuf"), "{bytes:?}");
    }
    let good = city(40, wgs84(), 139.0, 0.01);
    assert!(open(&good[..60]).unwrap_err().to_string().contains("cut off"));
    let mut large = good;
    large[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(open(&large).unwrap_err().to_string().contains("cut off"));
}

#[test]
fn a_file_that_is_cut_off_yields_what_is_there() {
    let good = city(40, wgs84(), 139.0, 0.01);
    let (_folder, stream) = open(&good[..good.len() - 10]).unwrap();
    let collected = Collected::of(&stream).unwrap();
    assert_eq!((collected.prisms().len(), collected.faults()), (39, vec![Problem::BadRecord]));
}

#[test]
fn levels_of_the_tree_are_counted_as_the_format_does() {
    assert_eq!(level_sizes(1, 16), [1, 1]);
    assert_eq!(level_sizes(16, 16), [16, 1]);
    assert_eq!(level_sizes(17, 16), [17, 2, 1]);
    assert_eq!(tree_bytes(17, 16), Some(20 * 40));
    assert_eq!(tree_bytes(u64::MAX, 2), None);
    assert_eq!(tree_bytes(5, 1), None);
    assert_eq!(tree_bytes(0, 16), Some(0));
}

#[test]
fn the_countries_of_the_world_are_all_read() {
    let Some(data) = real_data("input::flatgeobuf::the_countries_of_the_world_are_all_read") else { return };
    let crs = CrsOptions { crs: Some("EPSG:4326".to_owned()), ..CrsOptions::default() };
    let open =
        |name: &str| FlatGeobuf::open(&data.join("flatgeobuf").join(name), 0, ReadOptions::default(), &crs).unwrap();
    let stream = open("countries.fgb");
    let collected = Collected::of(&stream).unwrap();
    assert_eq!(collected.prisms().len(), 179);
    // A box in Denmark: what the tree finds is what reading everything finds.
    let [west, north] = LonLat::new(9.0, 56.0).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, west + 100.0, north + 100.0]] };
    let some = Collected::of_wanted(&stream, &wanted).unwrap();
    let boxed = |items: &[super::super::Item]| items.len();
    assert!((1..20).contains(&boxed(&some.items)), "{}", some.items.len());
    let empty = Collected::of(&open("empty.fgb")).unwrap();
    assert!(empty.items.is_empty() && empty.problems.is_empty());
    let mixed = Collected::of(&open("heterogeneous.fgb")).unwrap();
    assert!(!mixed.problems.is_empty(), "points and lines are no buildings");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_damage_panics(at in 0..4000usize, with in any::<[u8; 4]>()) {
        let mut bytes = city(20, wgs84(), 139.0, 0.01);
        let at = at % (bytes.len() - 4);
        bytes[at..at + 4].copy_from_slice(&with);
        if let Ok((_folder, stream)) = open(&bytes) {
            let _ = Collected::of(&stream);
            let _ = Collected::of_wanted(&stream, &Wanted { boxes: vec![[0.0, 0.0, 3e7, 3e7]] });
        }
    }
}
