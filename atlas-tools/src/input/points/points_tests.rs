use std::path::{Path, PathBuf};

use ::las::point::{Classification, Format};
use ::las::{Builder, Color, Point, Transform, Vector, Vlr, Writer};
use voxatlas::geo::LonLat;
use voxatlas::geo::mercator::metres_per_voxel_at;

use super::*;
use crate::crs::{Axis, CrsOptions, FOOT_M};
use crate::input::{CloudPoint, InputError, Item, Problem, Sink, Stream as _, Texture, Wanted};
use crate::real_data::real_data;

/// Keeps the points and counts what was left out.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) points: Vec<CloudPoint>,
    n_batches: usize,
    pub(super) problems: Vec<(String, Problem)>,
    progress: u64,
}

impl Sink for Kept {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        let Item::Points(points) = item else { panic!("found {item:?}, expected points") };
        self.points.extend(points);
        self.n_batches += 1;
        Ok(())
    }

    fn texture(&mut self, _: Texture) -> u32 {
        panic!("points have no textures")
    }

    fn problem(&mut self, feature: &str, problem: Problem) {
        self.problems.push((feature.to_owned(), problem));
    }

    fn progress(&mut self, bytes: u64) {
        assert!(bytes >= self.progress);
        self.progress = bytes;
    }
}

pub(super) fn given(crs: &str) -> CrsOptions {
    CrsOptions { crs: Some(crs.to_owned()), ..CrsOptions::default() }
}

pub(super) fn read(path: &Path, crs: &CrsOptions, wanted: &Wanted) -> Result<Kept, String> {
    let mut kept = Kept::default();
    let las = Las::open(path, crs).map_err(|error| error.to_string())?;
    las.read(wanted, &mut kept).map_err(|error| error.to_string())?;
    Ok(kept)
}

/// Writes a file of a version and format, in millimetres.
fn write(folder: &Path, version: (u8, u8), format: u8, is_packed: bool, points: &[Point], vlrs: Vec<Vlr>) -> PathBuf {
    let path = folder.join(if is_packed { "points.laz" } else { "points.las" });
    let mut builder = Builder::from(version);
    builder.point_format = Format::new(format).unwrap();
    builder.point_format.is_compressed = is_packed;
    let millimetres = Transform { scale: 0.001, offset: 0.0 };
    builder.transforms = Vector { x: millimetres, y: millimetres, z: millimetres };
    builder.vlrs = vlrs;
    let mut writer = Writer::from_path(&path, builder.into_header().unwrap()).unwrap();
    for point in points {
        let format = Format::new(format).unwrap();
        let color = format.has_color.then(|| point.color.unwrap_or_default());
        let gps_time = format.has_gps_time.then_some(0.0);
        let nir = format.has_nir.then_some(0);
        writer.write_point(Point { color, gps_time, nir, ..point.clone() }).unwrap();
    }
    writer.close().unwrap();
    path
}

/// A point near Nirayama, in JGD2011 zone VIII.
fn point(dx: f64, class: u8, colour: [u16; 3]) -> Point {
    Point {
        x: 42_150.0 + dx,
        y: -106_450.0,
        z: 25.5,
        intensity: 300,
        classification: Classification::new(class).unwrap(),
        color: Some(Color::new(colour[0], colour[1], colour[2])),
        ..Point::default()
    }
}

fn colours(kept: &Kept) -> Vec<[u8; 3]> {
    kept.points.iter().map(|point| point.colour).collect()
}

#[test]
fn every_version_and_format_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let points = [point(0.0, 2, [0xFF00, 0x8000, 0]), point(1.0, 6, [0x0100, 0x0200, 0x0300])];
    for (version, format) in [((1, 0), 0), ((1, 1), 1), ((1, 2), 2), ((1, 2), 3), ((1, 4), 6), ((1, 4), 7), ((1, 4), 8)]
    {
        for is_packed in [false, true] {
            let path = write(folder.path(), version, format, is_packed, &points, Vec::new());
            let kept = read(&path, &given("EPSG:6676"), &Wanted::all()).unwrap();
            let what = format!("LAS {version:?}, format {format}, packed: {is_packed}");
            assert_eq!(kept.points.len(), 2, "{what}");
            assert!(kept.points[0].is_ground, "{what}");
            assert!(!kept.points[1].is_ground, "{what}");
            assert!((kept.points[0].place.height_m - 25.5).abs() < 1e-6, "{what}");
            let (a, b) = (kept.points[0].place, kept.points[1].place);
            let metres = (b.x - a.x).hypot(b.z - a.z) * metres_per_voxel_at(a.z);
            assert!((metres - 1.0).abs() < 0.01 && b.x > a.x, "{what}: {metres} m to the east");
            let expected =
                if format == 2 || format == 3 || format > 6 { [[255, 128, 0], [1, 2, 3]] } else { colours_of_class() };
            assert_eq!(colours(&kept), expected, "{what}");
            assert_eq!(kept.progress, std::fs::metadata(&path).unwrap().len());
        }
    }
}

fn colours_of_class() -> [[u8; 3]; 2] {
    [[140, 120, 92], [198, 178, 158]]
}

#[test]
fn colours_are_what_the_first_points_say() {
    let folder = tempfile::tempdir().unwrap();
    let of = |points: &[Point]| {
        let path = write(folder.path(), (1, 2), 2, false, points, Vec::new());
        colours(&read(&path, &given("EPSG:6676"), &Wanted::all()).unwrap())
    };
    assert_eq!(of(&[point(0.0, 1, [200, 100, 50])]), [[200, 100, 50]], "eight bits in sixteen");
    assert_eq!(of(&[point(0.0, 2, [0; 3])]), [[140, 120, 92]], "never filled in");
    let mut dim = point(0.0, 1, [0; 3]);
    dim.intensity = 150;
    assert_eq!(of(&[point(0.0, 1, [0; 3]), dim]), [[255; 3], [127; 3]], "the strongest is white");
}

#[test]
fn noise_and_withheld_points_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut withheld = point(3.0, 2, [9; 3]);
    withheld.is_withheld = true;
    let points = [point(0.0, 2, [9; 3]), point(1.0, 7, [9; 3]), point(2.0, 18, [9; 3]), withheld];
    let path = write(folder.path(), (1, 4), 7, true, &points, Vec::new());
    let kept = read(&path, &given("EPSG:6676"), &Wanted::all()).unwrap();
    assert_eq!(kept.points.len(), 1);
    let noise = |nth: u32| (format!("point {nth}"), Problem::NoisePoint);
    assert_eq!(kept.problems, [noise(1), noise(2), noise(3)]);
}

#[test]
fn absurd_coordinates_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let degrees = Point { x: 138.962, y: 35.039, ..point(0.0, 2, [9; 3]) };
    let path = write(folder.path(), (1, 2), 2, false, &[degrees], Vec::new());
    // The header's bounds stay as they were: the second point is what a broken writer left.
    let mut bytes = std::fs::read(&path).unwrap();
    let record = bytes[bytes.len() - 26..].to_vec();
    bytes.extend(&record);
    let at = bytes.len() - 26;
    bytes[at..at + 4].copy_from_slice(&2_000_000_000i32.to_le_bytes());
    bytes[107..111].copy_from_slice(&2u32.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let kept = read(&path, &given("EPSG:4326"), &Wanted::all()).unwrap();
    assert_eq!((kept.points.len(), kept.problems), (1, vec![("point 1".to_owned(), Problem::BadCoordinate)]));
    // Where the bounds themselves are absurd, the CRS is wrong.
    let path = write(folder.path(), (1, 2), 2, false, &[point(0.0, 2, [9; 3])], Vec::new());
    let error = read(&path, &given("EPSG:4326"), &Wanted::all()).err().unwrap();
    assert!(error.contains("lie nowhere on the globe"), "{error}");
}

#[test]
fn many_points_come_in_batches_and_only_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let points: Vec<_> = (0..40_000).map(|nth| point(f64::from(nth) * 0.001, 2, [9; 3])).collect();
    let path = write(folder.path(), (1, 2), 3, true, &points, Vec::new());
    let kept = read(&path, &given("EPSG:6676"), &Wanted::all()).unwrap();
    assert_eq!((kept.points.len(), kept.n_batches), (40_000, 3));
    let elsewhere = Wanted { boxes: vec![[0.0, 0.0, 9.0, 9.0]] };
    assert!(read(&path, &given("EPSG:6676"), &elsewhere).unwrap().points.is_empty());
}

fn vlr(record_id: u16, data: Vec<u8>) -> Vlr {
    Vlr { user_id: "LASF_Projection".to_owned(), record_id, description: String::new(), data }
}

#[test]
fn the_crs_is_that_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let keys = |keys: &[u16]| vlr(34_735, keys.iter().flat_map(|key| key.to_le_bytes()).collect());
    let zone = [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 6676];
    let points = [point(0.0, 2, [9; 3])];
    let open = |vlrs| {
        let path = write(folder.path(), (1, 2), 2, false, &points, vlrs);
        read(&path, &CrsOptions::default(), &Wanted::all())
    };
    let place = open(vec![keys(&zone)]).unwrap().points[0].place;
    let error = open(Vec::new()).err().unwrap();
    assert!(error.contains("expected --crs"), "{error}");
    // Heights in feet, by their own key.
    let feet = [1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 6676, 4099, 0, 1, 9002];
    let in_feet = open(vec![keys(&feet)]).unwrap().points[0].place;
    assert!((in_feet.height_m - 25.5 * FOOT_M).abs() < 1e-6);
    assert_eq!((in_feet.x, in_feet.z), (place.x, place.z));
    let wkt = vlr(2112, b"PROJCS[\"JGD2011 / VIII\",AUTHORITY[\"EPSG\",\"6676\"]]\0".to_vec());
    assert_eq!(open(vec![wkt]).unwrap().points[0].place, place);
    assert!(open(vec![keys(&[7, 1, 0, 0])]).err().unwrap().contains("GeoKeys of version 7"));
}

#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let points: Vec<_> = (0..50).map(|nth| point(f64::from(nth), 2, [9; 3])).collect();
    let zone = [1u16, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 6676];
    for (version, format, is_packed) in [((1, 2), 3, true), ((1, 4), 7, true), ((1, 4), 6, false)] {
        let keys = vlr(34_735, zone.iter().flat_map(|key| key.to_le_bytes()).collect());
        let path = write(folder.path(), version, format, is_packed, &points, vec![keys]);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xFF;
            std::fs::write(&path, &damaged).unwrap();
            let _ = read(&path, &CrsOptions::default(), &Wanted::all());
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(read(&path, &CrsOptions::default(), &Wanted::all()).is_err() || at > bytes.len() - 40, "{at}");
        }
    }
}

fn tiles(kept: &Kept) -> std::collections::BTreeSet<(u32, u32)> {
    kept.points.iter().map(|point| ((point.place.x / 256.0) as u32, (point.place.z / 256.0) as u32)).collect()
}

#[test]
fn autzen_lies_in_oregon_in_feet() {
    let Some(data) = real_data("input::points::autzen_lies_in_oregon_in_feet") else { return };
    for (file, n_points) in [("autzen_trim.laz", 110_000), ("autzen.las", 106)] {
        let path = data.join("pointcloud").join(file);
        let kept = read(&path, &CrsOptions::default(), &Wanted::all()).unwrap();
        assert_eq!(kept.points.len() + kept.problems.len(), n_points, "{file}");
        let heights = || kept.points.iter().map(|point| point.place.height_m);
        let (low, high) = (heights().fold(f64::MAX, f64::min), heights().fold(f64::MIN, f64::max));
        assert!(low > 406.0 * FOOT_M && high < 537.0 * FOOT_M, "{file}: {low} m to {high} m");
        if n_points > 1000 {
            let expected = [(20_726, 47_634), (20_727, 47_634), (20_726, 47_635), (20_727, 47_635)];
            assert!(tiles(&kept).iter().all(|tile| expected.contains(tile)), "{:?}", tiles(&kept));
            assert!(kept.points.iter().any(|point| point.colour[0] > 150), "eight bits in sixteen");
        }
    }
}

#[test]
fn nirayama_needs_its_crs() {
    let Some(data) = real_data("input::points::nirayama_needs_its_crs") else { return };
    let path = data.join("pointcloud_jp/nirayama.las");
    assert!(read(&path, &CrsOptions::default(), &Wanted::all()).err().unwrap().contains("expected --crs"));
    let kept = read(&path, &given("EPSG:6676"), &Wanted::all()).unwrap();
    assert_eq!(kept.points.len(), 105_106);
    assert_eq!(tiles(&kept), [(116_130, 51_899)].into());
    let extent = Las::open(&path, &given("EPSG:6676")).unwrap().extent().unwrap().unwrap();
    let corner = LonLat::from_world(extent[0], extent[1]);
    assert!((corner.lon_deg() - 138.961_98).abs() < 1e-5 && (corner.lat_deg() - 35.039_69).abs() < 1e-5, "{corner:?}");
    // The axes the other way round lie 200 km away, in the mountains: as far as a CRS of one zone reaches.
    let swapped = CrsOptions { axis: Axis::Yx, ..given("EPSG:6676") };
    let error = Las::open(&path, &swapped).and_then(|las| las.extent());
    let there = error.ok().flatten().map(|[west, north, ..]| LonLat::from_world(west, north));
    assert!(there.is_none_or(|there| (there.lon_deg() - 137.31).abs() < 0.02), "{there:?}");
}

#[test]
fn a_wrong_zone_is_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), (1, 2), 2, false, &[point(0.0, 1, [9; 3]), point(30.0, 1, [9; 3])], Vec::new());
    let nirayama = [138.9, 35.0, 139.0, 35.1];
    let guess = |crs: &CrsOptions| Las::open(&path, crs).unwrap().guess(nirayama);
    assert_eq!(guess(&given("EPSG:6677")).as_deref(), Some("looks like EPSG:6676"));
    let swapped = CrsOptions { axis: Axis::Yx, ..given("EPSG:6677") };
    assert_eq!(guess(&swapped).as_deref(), Some("looks like EPSG:6676"));
    assert_eq!(Las::open(&path, &given("EPSG:6677")).unwrap().guess([4.0, 52.0, 4.1, 52.1]), None);
}
