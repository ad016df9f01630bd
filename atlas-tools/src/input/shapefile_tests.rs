use proptest::prelude::*;
use serde_json::Value;

use super::super::collected::Collected;
use super::super::{CoverKind, Fallback};
use super::*;
use voxatlas::geo::LonLat;

const JGD2011_9: &str = r#"PROJCS["JGD_2011_Japan_Zone_9",GEOGCS["GCS_JGD_2011",DATUM["D_JGD_2011",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",139.8333333333333],PARAMETER["Scale_Factor",0.9999],PARAMETER["Latitude_Of_Origin",36.0],UNIT["Meter",1.0]]"#;

/// A shapefile to write.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(records: &[Vec<u8>]) -> Self {
        let files = Self { folder: tempfile::tempdir().unwrap() };
        files.write("shp", &shp(records));
        files.write("prj", JGD2011_9.as_bytes());
        files
    }

    fn write(&self, extension: &str, bytes: &[u8]) {
        std::fs::write(self.folder.path().join("city").with_extension(extension), bytes).unwrap();
    }

    fn open(&self, options: ReadOptions, crs: &CrsOptions) -> Result<Shapefile, InputError> {
        Shapefile::open(&self.folder.path().join("city.shp"), 0, options, crs)
    }

    fn read(&self) -> Collected {
        self.read_with(ReadOptions { with_attributes: true, ..ReadOptions::default() })
    }

    fn read_with(&self, options: ReadOptions) -> Collected {
        Collected::of(&self.open(options, &CrsOptions::default()).unwrap()).unwrap()
    }
}

fn shp(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    bytes[..4].copy_from_slice(&9994_u32.to_be_bytes());
    for (nth, record) in (1_u32..).zip(records) {
        bytes.extend(nth.to_be_bytes());
        bytes.extend((record.len() as u32 / 2).to_be_bytes());
        bytes.extend(record);
    }
    bytes
}

fn poly(kind: i32, parts: &[&[[f64; 2]]], part_kinds: &[i32]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend([0; 32]);
    let n_points: usize = parts.iter().map(|part| part.len()).sum();
    bytes.extend((parts.len() as i32).to_le_bytes());
    bytes.extend((n_points as i32).to_le_bytes());
    let mut start = 0;
    for part in parts {
        bytes.extend(start_bytes(start));
        start += part.len();
    }
    for kind in part_kinds {
        bytes.extend(kind.to_le_bytes());
    }
    for [x, y] in parts.iter().copied().flatten() {
        bytes.extend(x.to_le_bytes());
        bytes.extend(y.to_le_bytes());
    }
    bytes
}

fn start_bytes(start: usize) -> [u8; 4] {
    (start as i32).to_le_bytes()
}

fn square(x: f64, y: f64, side: f64) -> [[f64; 2]; 5] {
    [[x, y], [x, y + side], [x + side, y + side], [x + side, y], [x, y]]
}

/// A table: names, kinds and lengths of fields, then rows of padded bytes.
fn dbf(mark: u8, fields: &[(&[u8], u8, u8)], rows: &[&[&[u8]]]) -> Vec<u8> {
    let row_bytes = 1 + fields.iter().map(|field| usize::from(field.2)).sum::<usize>();
    let header_bytes = 33 + 32 * fields.len();
    let mut bytes = vec![3, 0, 0, 0];
    bytes.extend((rows.len() as u32).to_le_bytes());
    bytes.extend((header_bytes as u16).to_le_bytes());
    bytes.extend((row_bytes as u16).to_le_bytes());
    bytes.resize(32, 0);
    bytes[29] = mark;
    for &(name, kind, length) in fields {
        let mut descriptor = [0; 32];
        descriptor[..name.len()].copy_from_slice(name);
        descriptor[11] = kind;
        descriptor[16] = length;
        bytes.extend(descriptor);
    }
    bytes.push(0x0D);
    for row in rows {
        bytes.push(b' ');
        for (value, field) in row.iter().zip(fields) {
            let mut padded = value.to_vec();
            padded.resize(usize::from(field.2), b' ');
            bytes.extend(padded);
        }
    }
    bytes
}

fn attribute<'a>(collected: &'a Collected, name: &str) -> Option<&'a Value> {
    collected.prisms()[0].named.attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| &attribute.1)
}

#[test]
fn polygons_with_holes_are_read_in_their_crs() {
    let [outer, hole] = [square(-8000.0, -38000.0, 20.0), square(-7995.0, -37995.0, 5.0)];
    let files = Files::new(&[poly(5, &[&outer, &hole], &[]), poly(15, &[&square(-7900.0, -38000.0, 9.0)], &[])]);
    files.write("dbf", &dbf(0, &[(b"height", b'N', 8)], &[&[b"12.5"], &[b""]]));
    let collected = files.read();
    let [first, second] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
    assert_eq!(first.polygons[0].len(), 2);
    assert_eq!(first.height.metres, 12.5);
    assert_eq!(second.height.fallback, Some(Fallback::Missing));
    assert_eq!(second.named.id, FeatureId::Nth { input: 0, nth: 1 });
    let [x, z] = first.polygons[0][0][0];
    let at = LonLat::from_world(x, z);
    assert!((at.lon_deg() - 139.745).abs() < 0.001 && (at.lat_deg() - 35.657).abs() < 0.001, "{at:?}");
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
}

#[test]
fn text_is_read_in_the_encoding_that_is_named_or_usual() {
    let shapes = [poly(5, &[&square(-8000.0, -38000.0, 20.0)], &[])];
    let check = |mark: u8, cpg: Option<&str>, given: Option<&str>, bytes: &[u8], expected: &str| {
        let files = Files::new(&shapes);
        files.write("dbf", &dbf(mark, &[(b"name", b'C', 20)], &[&[bytes]]));
        if let Some(cpg) = cpg {
            files.write("cpg", cpg.as_bytes());
        }
        let encoding = given.map(str::to_owned);
        let collected = files.read_with(ReadOptions { encoding, with_attributes: true, ..ReadOptions::default() });
        assert_eq!(attribute(&collected, "name"), Some(&Value::from(expected)), "{mark} {cpg:?} {given:?}");
        assert!(collected.problems.is_empty());
    };
    let tokyo_sjis = b"\x93\x8c\x8b\x9e";
    check(0, None, None, tokyo_sjis, "東京");
    check(0x13, None, None, tokyo_sjis, "東京");
    check(0x57, Some("932"), None, tokyo_sjis, "東京");
    check(0, Some("UTF-8\r\n"), None, "東京".as_bytes(), "東京");
    check(0x57, None, None, b"Z\xfcrich", "Zürich");
    check(0, Some("1252"), None, b"Z\xfcrich", "Zürich");
    check(0, Some("UTF-8"), Some("euc-jp"), b"\xc5\xec\xb5\xfe", "東京");
    check(0, Some("UTF-8"), None, "plain".as_bytes(), "plain");
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_told() {
    let files = Files::new(&[poly(5, &[&square(-8000.0, -38000.0, 20.0)], &[])]);
    files.write("dbf", &dbf(0, &[(b"\x96\xbc", b'C', 9), (b"n", b'N', 4)], &[&[b"\x93\xff\x81", b"x"]]));
    let collected = files.read();
    assert_eq!(collected.faults(), [Problem::BadText, Problem::BadAttribute]);
    assert!(attribute(&collected, "名").unwrap().as_str().unwrap().contains('\u{fffd}'));
    let unknown = ReadOptions { encoding: Some("klingon".to_owned()), ..ReadOptions::default() };
    let error = Collected::of(&files.open(unknown, &CrsOptions::default()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("klingon") && error.contains("city.dbf"), "{error}");
}

#[test]
fn a_missing_prj_is_a_missing_crs() {
    let files = Files::new(&[]);
    std::fs::remove_file(files.folder.path().join("city.prj")).unwrap();
    let error = files.open(ReadOptions::default(), &CrsOptions::default()).unwrap_err().to_string();
    assert!(error.contains("city.shp: no CRS") && error.contains("--crs"), "{error}");
    let given = CrsOptions { crs: Some("EPSG:6677".to_owned()), ..CrsOptions::default() };
    let opened = files.open(ReadOptions::default(), &given).unwrap();
    assert!(opened.placer().describe().contains("EPSG:6677"));
    assert_eq!(opened.extent().unwrap(), None);
}

#[test]
fn lines_points_and_nothing_are_told() {
    let line = [[-8000.0, -38000.0], [-7990.0, -38000.0]];
    let mut point = 1_i32.to_le_bytes().to_vec();
    point.extend([0; 16]);
    let files = Files::new(&[poly(3, &[&line], &[]), point, 0_i32.to_le_bytes().to_vec(), poly(3, &[&line], &[])]);
    files.write("dbf", &dbf(0, &[(b"highway", b'C', 12)], &[&[b"primary"], &[b""], &[b""], &[b""]]));
    let collected = files.read();
    assert_eq!(collected.covers()[0].kind, CoverKind::Road);
    assert_eq!(collected.faults(), [Problem::UnusedGeometry, Problem::NoGeometry, Problem::UnusedGeometry]);
}

#[test]
fn a_multipatch_is_seen_from_above() {
    let roof = square(-8000.0, -38000.0, 20.0);
    let wall = [[-8000.0, -38000.0], [-7980.0, -38000.0], [-8000.0, -38000.0]];
    let fan = [[-7900.0, -38000.0], [-7890.0, -38000.0], [-7890.0, -37990.0], [-7900.0, -37990.0]];
    let strip = [[-7800.0, -38000.0], [-7800.0, -37990.0], [-7790.0, -38000.0], [-7790.0, -37990.0]];
    let files = Files::new(&[poly(31, &[&roof, &wall, &fan, &strip], &[2, 2, 1, 0])]);
    let collected = files.read();
    assert_eq!(collected.prisms()[0].polygons.len(), 1 + 2 + 2);
}

#[test]
fn damaged_records_are_passed_over() {
    let good = poly(5, &[&square(-8000.0, -38000.0, 20.0)], &[]);
    let mut too_many = good.clone();
    too_many[40..44].copy_from_slice(&i32::MAX.to_le_bytes());
    let mut negative = good.clone();
    negative[36..40].copy_from_slice(&(-1_i32).to_le_bytes());
    let mut backwards = good.clone();
    backwards[44..48].copy_from_slice(&99_i32.to_le_bytes());
    let unknown = vec![77, 0, 0, 0];
    let files = Files::new(&[too_many, negative, backwards, unknown, Vec::new(), good]);
    let collected = files.read();
    assert_eq!((collected.prisms().len(), collected.faults()), (1, vec![Problem::BadRecord; 5]));

    let mut cut = shp(&[poly(5, &[&square(-8000.0, -38000.0, 20.0)], &[])]);
    cut.truncate(150);
    files.write("shp", &cut);
    assert_eq!(files.read().faults(), [Problem::BadRecord]);
    files.write("shp", b"PK");
    let error = files.open(ReadOptions::default(), &CrsOptions::default()).unwrap_err().to_string();
    assert!(error.contains("no shapefile"), "{error}");
}

#[test]
fn a_table_that_is_too_short_lacks_attributes_only() {
    let files = Files::new(&[poly(5, &[&square(-8000.0, -38000.0, 20.0)], &[])]);
    files.write("dbf", &dbf(0, &[(b"height", b'N', 8)], &[]));
    let collected = files.read();
    assert_eq!((collected.prisms().len(), collected.faults()), (1, vec![Problem::BadRecord]));
}

#[test]
fn a_deleted_row_takes_its_shape_with_it() {
    let square = |x: f64| poly(5, &[&square(x, -38000.0, 20.0)], &[]);
    let files = Files::new(&[square(-8000.0), square(-7900.0)]);
    let mut table = dbf(0, &[(b"height", b'N', 8)], &[&[b"5"], &[b"7"]]);
    let first_row = table.len() - 18;
    table[first_row] = b'*';
    files.write("dbf", &table);
    let collected = files.read();
    assert_eq!(collected.prisms().len(), 1);
    assert_eq!(collected.prisms()[0].height.metres, 7.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_bytes_panic(shape_bytes in prop::collection::vec(any::<u8>(), 0..200), table in prop::collection::vec(any::<u8>(), 0..200)) {
        let files = Files::new(&[]);
        let mut bytes = shp(&[]);
        bytes.extend(shape_bytes);
        files.write("shp", &bytes);
        files.write("dbf", &table);
        if let Ok(stream) = files.open(ReadOptions::default(), &CrsOptions::default()) {
            let _ = Collected::of(&stream);
        }
    }

    #[test]
    fn no_damaged_record_panics(at in 0..200usize, with in any::<u8>()) {
        let mut record = poly(31, &[&square(-8000.0, -38000.0, 20.0), &square(-8000.0, -38000.0, 20.0)], &[2, 3]);
        let at = at % record.len();
        record[at] = with;
        let _ = shape(&record);
    }
}

#[test]
fn a_wrong_zone_is_guessed() {
    let files = Files::new(&[poly(5, &[&square(-8_000.0, -38_000.0, 20.0)], &[])]);
    let wrong = CrsOptions { crs: Some("EPSG:6676".to_owned()), ..CrsOptions::default() };
    let stream = files.open(ReadOptions::default(), &wrong).unwrap();
    assert_eq!(stream.guess([139.7, 35.6, 139.8, 35.7]).as_deref(), Some("looks like EPSG:6677"));
}
