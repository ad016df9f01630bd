use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use serde_json::json;
use voxatlas::geo::LonLat;

use super::super::collected::Collected;
use super::super::{CoverKind, Fallback, FeatureId};
use super::*;
use crate::real_data::real_data;

/// A row of Overture's buildings.
#[derive(Clone)]
struct Building {
    id: &'static str,
    lon: f64,
    height: Option<f64>,
    floors: Option<i32>,
    roof: Option<&'static str>,
    name: Option<&'static str>,
}

const BUILDINGS: &str = "message schema {
    optional binary id (STRING);
    optional binary geometry;
    optional group bbox { optional float xmin; optional float ymin; optional float xmax; optional float ymax; }
    optional double height;
    optional int32 num_floors;
    optional binary roof_color (STRING);
    optional group names { optional binary primary (STRING); }
    optional group sources (LIST) { repeated group list { optional binary element (STRING); } }
}";

fn square(lon: f64) -> ByteArray {
    let mut bytes = vec![1, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0];
    for [dx, dy] in [[0.0, 0.0], [0.001, 0.0], [0.001, 0.001], [0.0, 0.001], [0.0, 0.0]] {
        bytes.extend((lon + dx).to_le_bytes());
        bytes.extend((35.0_f64 + dy).to_le_bytes());
    }
    ByteArray::from(bytes)
}

fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, std::fs::File>, levels: &[i16], values: &[T::T]) {
    let mut column = group.next_column().unwrap().unwrap();
    let repetitions = vec![0; levels.len()];
    column.typed::<T>().write_batch(values, Some(levels), Some(&repetitions)).unwrap();
    column.close().unwrap();
}

/// Writes values of which some are missing, `depth` deep in the schema.
fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, std::fs::File>,
    depth: i16,
    values: impl Iterator<Item = Option<T::T>>,
) {
    let values: Vec<_> = values.collect();
    let levels: Vec<_> = values.iter().map(|value| if value.is_some() { depth } else { 0 }).collect();
    column::<T>(group, &levels, &values.into_iter().flatten().collect::<Vec<_>>());
}

fn write(path: &Path, geo: Option<&Value>, groups: &[Vec<Building>]) {
    let pairs = geo.map(|geo| vec![KeyValue::new("geo".to_owned(), geo.to_string())]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(pairs)
        .build();
    let schema = Arc::new(parse_message_type(BUILDINGS).unwrap());
    let mut writer =
        SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let text = |text: &str| ByteArray::from(text);
        optional::<ByteArrayType>(&mut group, 1, rows.iter().map(|row| Some(text(row.id))));
        optional::<ByteArrayType>(&mut group, 1, rows.iter().map(|row| Some(square(row.lon))));
        let sides = |add_x: f64, y: f32| rows.iter().map(move |row| (((row.lon + add_x) as f32), y));
        optional::<FloatType>(&mut group, 2, sides(0.0, 0.0).map(|(x, _)| Some(x)));
        optional::<FloatType>(&mut group, 2, sides(0.0, 35.0).map(|(_, y)| Some(y)));
        optional::<FloatType>(&mut group, 2, sides(0.001, 0.0).map(|(x, _)| Some(x)));
        optional::<FloatType>(&mut group, 2, sides(0.0, 35.001).map(|(_, y)| Some(y)));
        optional::<DoubleType>(&mut group, 1, rows.iter().map(|row| row.height));
        optional::<Int32Type>(&mut group, 1, rows.iter().map(|row| row.floors));
        optional::<ByteArrayType>(&mut group, 1, rows.iter().map(|row| row.roof.map(text)));
        optional::<ByteArrayType>(&mut group, 2, rows.iter().map(|row| row.name.map(text)));
        optional::<ByteArrayType>(&mut group, 3, rows.iter().map(|_| Some(text("osm"))));
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn geo() -> Value {
    json!({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}})
}

fn building(id: &'static str, lon: f64) -> Building {
    Building { id, lon, height: None, floors: None, roof: None, name: None }
}

fn open_with(geo: Option<&Value>, groups: &[Vec<Building>]) -> Result<(tempfile::TempDir, GeoParquet), InputError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.parquet");
    write(&path, geo, groups);
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    GeoParquet::open(&path, 0, options, &CrsOptions::default()).map(|stream| (folder, stream))
}

#[test]
fn the_columns_of_overture_are_understood() {
    let rows = vec![
        Building { height: Some(12.5), roof: Some("#a04030"), name: Some("東京"), ..building("a", 139.0) },
        Building { floors: Some(4), ..building("b", 139.01) },
        building("c", 139.02),
    ];
    let (_folder, stream) = open_with(Some(&geo()), &[rows]).unwrap();
    let collected = Collected::of(&stream).unwrap();
    let [a, b, c] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
    assert_eq!((a.height.metres, a.roof, a.wall), (12.5, Some([0xA0, 0x40, 0x30]), None));
    assert_eq!((a.named.id, a.named.name.as_str()), (FeatureId::of_text("a"), "a"));
    assert!(a.named.attributes.contains(&("names".to_owned(), json!("東京"))), "{:?}", a.named.attributes);
    assert_eq!((b.height.metres, b.height.fallback), (12.0, None));
    assert_eq!(c.height.fallback, Some(Fallback::Missing));
    assert_eq!(a.polygons[0][0][0], LonLat::new(139.0, 35.0).unwrap().to_world());
    assert!(collected.problems.is_empty() && collected.bytes > 0);
}

#[test]
fn row_groups_that_lie_elsewhere_are_passed_over() {
    let groups = [vec![building("a", 130.0)], vec![building("b", 139.0), building("c", 139.5)]];
    let (folder, stream) = open_with(Some(&geo()), &groups).unwrap();
    let [west, north] = LonLat::new(138.9, 35.5).unwrap().to_world();
    let [east, south] = LonLat::new(139.1, 34.5).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, east, south]] };
    let some = Collected::of_wanted(&stream, &wanted).unwrap();
    assert_eq!(some.prisms().iter().map(|prism| prism.named.name.as_str()).collect::<Vec<_>>(), ["b"]);
    let reader = SerializedFileReader::new(std::fs::File::open(folder.path().join("city.parquet")).unwrap()).unwrap();
    let holds: Vec<_> = reader.metadata().row_groups().iter().map(|group| stream.may_hold(group, &wanted)).collect();
    assert_eq!(holds, [false, true]);
    assert!(stream.extent().unwrap().unwrap()[0] < west);
}

#[test]
fn the_bytes_that_are_told_are_all_that_is_read() {
    let group = |lon: f64| (0..5000).map(|n| building("x", lon + f64::from(n * 7919 % 5000) * 1e-5)).collect();
    let groups: Vec<Vec<Building>> = [130.0, 139.0, 141.0].map(group).into();
    let (folder, stream) = open_with(Some(&geo()), &groups).unwrap();
    let path = folder.path().join("city.parquet");
    let [west, north] = LonLat::new(138.9, 35.5).unwrap().to_world();
    let [east, south] = LonLat::new(139.1, 34.5).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, east, south]] };
    let before = Collected::of_wanted(&stream, &wanted).unwrap();
    let ranges = stream.bytes(&wanted).unwrap().unwrap();
    let n_bytes = std::fs::metadata(&path).unwrap().len();
    let n_kept = super::super::byte_ranges::keep_only(&path, &ranges);
    assert!(n_kept < n_bytes / 2, "{n_kept} of {n_bytes}");
    assert_eq!((before.items.len(), Collected::of_wanted(&stream, &wanted).unwrap().items), (5000, before.items));
}

#[test]
fn the_crs_is_that_of_the_metadata() {
    let describe =
        |geo: Option<Value>| open_with(geo.as_ref(), &[vec![]]).map(|(_folder, stream)| stream.placer().describe());
    let with = |crs: Value| {
        let mut geo = geo();
        geo["columns"]["geometry"]["crs"] = crs;
        Some(geo)
    };
    assert_eq!(describe(Some(geo())).unwrap(), "OGC:CRS84");
    assert_eq!(describe(with(json!({"id": {"authority": "OGC", "code": "CRS84"}}))).unwrap(), "OGC:CRS84");
    let rd = json!({"type": "ProjectedCRS", "id": {"authority": "EPSG", "code": 28992}});
    assert!(describe(with(rd)).unwrap().starts_with("EPSG:28992"));
    assert!(describe(with(Value::Null)).unwrap_err().to_string().contains("no CRS"));
    assert!(describe(None).unwrap_err().to_string().contains("no CRS"));
    let mut arrow = geo();
    arrow["columns"]["geometry"]["encoding"] = json!("multipolygon");
    assert!(describe(Some(arrow)).unwrap_err().to_string().contains("expected WKB"));
    let mut other = geo();
    other["primary_column"] = json!("shape");
    assert!(describe(Some(other)).unwrap_err().to_string().contains("no column \"shape\""));
}

#[test]
fn what_is_no_parquet_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.parquet");
    std::fs::write(&path, b"PAR1").unwrap();
    let error = GeoParquet::open(&path, 0, ReadOptions::default(), &CrsOptions::default()).unwrap_err().to_string();
    assert!(error.contains("city.parquet: no Parquet file"), "{error}");
}

#[test]
fn classes_without_heights_are_ground() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("land.parquet");
    let schema = "message schema { required binary geometry; required binary class (STRING); }";
    let pairs = vec![KeyValue::new("geo".to_owned(), geo().to_string())];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    column::<ByteArrayType>(&mut group, &[0; 3], &[square(139.0), square(139.01), square(139.02)]);
    let classes = ["park", "residential", "forest"].map(ByteArray::from);
    column::<ByteArrayType>(&mut group, &[0; 3], &classes);
    group.close().unwrap();
    writer.close().unwrap();
    let stream = GeoParquet::open(&path, 0, ReadOptions::default(), &CrsOptions::default()).unwrap();
    let collected = Collected::of(&stream).unwrap();
    let kinds: Vec<_> = collected.covers().iter().map(|cover| cover.kind).collect();
    assert_eq!(kinds, [CoverKind::Green, CoverKind::Wood]);
    assert!(collected.prisms().is_empty());
}

#[test]
fn the_example_of_the_specification_is_read() {
    let Some(data) = real_data("input::geoparquet::the_example_of_the_specification_is_read") else { return };
    let path = data.join("geoparquet/example.parquet");
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let stream = GeoParquet::open(&path, 0, options, &CrsOptions::default()).unwrap();
    assert_eq!(stream.placer().describe(), "OGC:CRS84");
    let collected = Collected::of(&stream).unwrap();
    let names: Vec<_> = collected
        .prisms()
        .iter()
        .filter_map(|prism| prism.named.attributes.iter().find(|attribute| attribute.0 == "name"))
        .filter_map(|(_, name)| name.as_str())
        .collect();
    assert_eq!(names, ["Fiji", "Tanzania", "W. Sahara", "Canada", "United States of America"]);
    let extent = stream.extent().unwrap().unwrap();
    let [west, north] = LonLat::new(-180.0, 83.23324).unwrap().to_world();
    assert!((extent[0] - west).abs() < 1.0 && (extent[1] - north).abs() < 10.0, "{extent:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_damaged_metadata_panic(text in "[\\[\\]{},:\"a-z0-9 .]{0,60}") {
        let _ = Geo::parse(Some(&text));
    }
}
