use proptest::prelude::*;
use voxatlas::geo::LonLat;

use super::super::collected::Collected;
use super::super::{CoverKind, Fallback};
use super::*;
use crate::real_data::real_data;

const SQUARE: &str = "[[[139,35],[139.01,35],[139.01,35.01],[139,35.01],[139,35]]]";

fn stream_with(text: &str, options: ReadOptions, crs: &CrsOptions) -> (tempfile::TempDir, GeoJson) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.geojson");
    std::fs::write(&path, text).unwrap();
    let stream = GeoJson::open(&path, 3, options, crs).unwrap();
    (folder, stream)
}

fn read(text: &str) -> Result<Collected, InputError> {
    let (_folder, stream) = stream_with(text, ReadOptions::default(), &CrsOptions::default());
    Collected::of(&stream)
}

fn feature(members: &str) -> String {
    format!(r#"{{"type":"Feature","geometry":{{"type":"Polygon","coordinates":{SQUARE}}},{members}}}"#)
}

#[test]
fn collections_sequences_and_lone_features_are_the_same() {
    let a = feature(r#""id":7,"properties":{"height":12}"#);
    let b = feature(r#""id":"b","properties":{"building:levels":"2"}"#);
    let check = |text: String| {
        let collected = read(&text).unwrap();
        let [first, second] = collected.prisms()[..] else { panic!("{text}: {:?}", collected.items) };
        assert_eq!((first.named.id, first.height.metres), (FeatureId::Given(7), 12.0));
        assert_eq!((second.named.id, second.height.metres), (FeatureId::of_text("b"), 6.0));
        assert_eq!(second.named.name, "b");
        assert!(collected.problems.is_empty() && collected.bytes == text.len() as u64);
    };
    check(format!(r#"{{"type":"FeatureCollection","features":[{a},{b}]}}"#));
    check(format!(r#"{{"features":[{a},{b}],"type":"FeatureCollection"}}"#));
    check(format!("{a}\n{b}\n"));
    check(format!("\u{1e}{a}\n\u{1e}{b}\n"));
    let lone = read(&a).unwrap();
    assert_eq!(lone.prisms().len(), 1);
    let bare = read(&format!(r#"{{"type":"Polygon","coordinates":{SQUARE}}}"#)).unwrap();
    assert_eq!(bare.prisms()[0].height.fallback, Some(Fallback::Missing));
    assert_eq!(bare.prisms()[0].named.id, FeatureId::Nth { input: 3, nth: 0 });
}

#[test]
fn all_kinds_of_geometries_are_read() {
    let of =
        |geometry: &str| read(&format!(r#"{{"type":"Feature","properties":{{}},"geometry":{geometry}}}"#)).unwrap();
    let multi = of(&format!(r#"{{"coordinates":[{SQUARE},{SQUARE}],"type":"MultiPolygon"}}"#));
    assert_eq!(multi.prisms()[0].polygons.len(), 2);
    let collection = of(&format!(
        r#"{{"type":"GeometryCollection","geometries":[{{"type":"Polygon","coordinates":{SQUARE}}},{{"type":"Point","coordinates":[1,2]}}]}}"#
    ));
    assert_eq!((collection.prisms().len(), collection.faults()), (1, vec![Problem::UnusedGeometry]));
    assert_eq!(of(r#"{"type":"Point","coordinates":[1,2,3]}"#).faults(), [Problem::UnusedGeometry]);
    assert_eq!(of("null").faults(), [Problem::NoGeometry]);
    assert_eq!(of(r#"{"type":"Polygon","coordinates":[]}"#).faults(), [Problem::NoGeometry]);
    for broken in [
        r#"{"type":"Polygon","coordinates":[[1,2]]}"#,
        r#"{"type":"Polygon","coordinates":"here"}"#,
        r#"{"type":"Polygon","coordinates":[[[1]]]}"#,
        r#"{"type":"Blob","coordinates":[]}"#,
        r#"{"type":"Polygon"}"#,
    ] {
        assert_eq!(of(broken).faults(), [Problem::BadRecord], "{broken}");
    }
    let nowhere = of(r#"{"type":"MultiPolygon","coordinates":[[[[1,null],[2,2],[3,3]]],[[[0,0],[1,0],[1,1],[0,0]]]]}"#);
    assert_eq!((nowhere.prisms().len(), nowhere.faults()), (1, vec![Problem::BadCoordinate]));
}

#[test]
fn ground_and_streets_are_told_from_buildings() {
    let park = feature(r#""properties":{"leisure":"park"}"#);
    let road = r#"{"type":"Feature","properties":{"highway":"residential"},"geometry":{"type":"LineString","coordinates":[[139,35],[139.01,35]]}}"#;
    let collected = read(&format!("{park}\n{road}\n")).unwrap();
    let kinds: Vec<_> = collected.covers().iter().map(|cover| cover.kind).collect();
    assert_eq!(kinds, [CoverKind::Green, CoverKind::Road]);
}

#[test]
fn attributes_are_kept_in_the_order_of_the_file_where_asked_for() {
    let text = feature(r#""properties":{"zebra":1,"ant":"2","height":3}"#);
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let (_folder, stream) = stream_with(&text, options, &CrsOptions::default());
    let collected = Collected::of(&stream).unwrap();
    let names: Vec<_> = collected.prisms()[0].named.attributes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["zebra", "ant", "height"]);
}

#[test]
fn the_old_crs_member_is_honoured() {
    let ring = "[[[-7986,-37967],[-7976,-37967],[-7976,-37957],[-7986,-37967]]]";
    let features = format!(
        r#""features":[{{"type":"Feature","properties":{{}},"geometry":{{"type":"Polygon","coordinates":{ring}}}}}]"#
    );
    let crs = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::6677"}}"#;
    let collected = read(&format!(r#"{{"type":"FeatureCollection",{crs},{features}}}"#)).unwrap();
    let [x, z] = collected.prisms()[0].polygons[0][0][0];
    let at = LonLat::from_world(x, z);
    assert!((at.lon_deg() - 139.745).abs() < 0.001 && (at.lat_deg() - 35.658).abs() < 0.001, "{at:?}");

    let behind = format!(r#"{{"type":"FeatureCollection",{features},{crs}}}"#);
    let error = read(&behind).unwrap_err().to_string();
    assert!(error.contains("nowhere on the globe") || error.contains("behind its features"), "{error}");
    let given = CrsOptions { crs: Some("EPSG:6677".to_owned()), ..CrsOptions::default() };
    let (_folder, stream) = stream_with(&behind, ReadOptions::default(), &given);
    assert_eq!(Collected::of(&stream).unwrap().prisms().len(), 1);

    let late = format!(r#"{{"type":"FeatureCollection","features":[{}],{crs}}}"#, feature(r#""properties":{}"#));
    let error = read(&late).unwrap_err().to_string();
    assert!(error.contains("behind its features") && error.contains("--crs"), "{error}");
    let same = late.replace("EPSG::6677", "OGC:1.3:CRS84");
    assert_eq!(read(&same).unwrap().prisms().len(), 1);
}

#[test]
fn projected_coordinates_without_a_crs_are_an_error() {
    let ring = "[[[-7986,-37967],[-7976,-37967],[-7976,-37957],[-7986,-37967]]]";
    let text = format!(r#"{{"type":"Polygon","coordinates":{ring}}}"#);
    let error = read(&text).unwrap_err().to_string();
    assert!(error.contains("city.geojson") && error.contains("--crs"), "{error}");
}

#[test]
fn one_bad_feature_stops_nothing_and_a_cut_off_file_says_where() {
    let good = feature(r#""properties":{}"#);
    let collected = read(&format!(r#"{{"features":[{{"geometry":7}},{good},null]}}"#)).unwrap();
    assert_eq!(collected.prisms().len(), 1);
    assert_eq!(collected.faults(), [Problem::BadRecord, Problem::BadRecord]);
    assert_eq!(collected.problems[0].0, "at byte 13");
    let error = read(&format!(r#"{{"features":[{good},{{"geometry":"#)).unwrap_err().to_string();
    assert!(error.contains("byte") && error.contains("ends in the middle"), "{error}");
    assert!(read("<html>").unwrap_err().to_string().contains("expected an object of GeoJSON"));
    assert!(read("").unwrap().items.is_empty());
    assert!(read(r#"{"type":"FeatureCollection","features":[]}"#).unwrap().items.is_empty());
}

#[test]
fn the_extent_is_that_of_the_features() {
    let (_folder, stream) = stream_with(&feature(r#""properties":{}"#), ReadOptions::default(), &CrsOptions::default());
    let [west, south] = LonLat::new(139.0, 35.0).unwrap().to_world();
    let [east, north] = LonLat::new(139.01, 35.01).unwrap().to_world();
    assert_eq!(stream.extent().unwrap(), Some([west, north, east, south]));
    let (_folder, empty) = stream_with("", ReadOptions::default(), &CrsOptions::default());
    assert_eq!(empty.extent().unwrap(), None);
}

#[test]
fn tokyo_tower_stands_where_it_should() {
    let Some(data) = real_data("input::geojson::tokyo_tower_stands_where_it_should") else { return };
    let path = data.join("tokyo_geojson/tokyo_tower_i116414-116415_j51622-51623.geojson");
    let stream = GeoJson::open(&path, 0, ReadOptions::default(), &CrsOptions::default()).unwrap();
    let collected = Collected::of(&stream).unwrap();
    let tallest = collected.prisms().into_iter().max_by(|a, b| a.height.metres.total_cmp(&b.height.metres)).unwrap();
    assert!((tallest.height.metres - 333.4).abs() < 0.1, "{:?}", tallest.height);
    let [west, north, east, south] = super::super::footprint::bounds(&tallest.polygons);
    let tower = LonLat::new(139.745_433, 35.658_581).unwrap().to_world();
    let middle = [f64::midpoint(west, east), f64::midpoint(north, south)];
    assert!((middle[0] - tower[0]).hypot(middle[1] - tower[1]) < 50.0, "{middle:?} {tower:?}");
    let [west, north, east, south] = stream.extent().unwrap().unwrap();
    let tile = 256.0;
    assert!(west > 116_413.0 * tile && east < 116_417.0 * tile && north > 51_621.0 * tile && south < 51_625.0 * tile);
    assert!(collected.prisms().len() > 5_000, "{}", collected.prisms().len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_text_panics(text in "[\\[\\]{},:\"a-z0-9 .\\\\-]{0,80}") {
        let _ = read(&text);
    }

    #[test]
    fn no_damaged_feature_panics(at in 0..150usize, with in "[\\[\\]{},\"0-9]{0,2}") {
        let good = feature(r#""properties":{"height":1}"#);
        let at = at.min(good.len() - 1);
        let _ = read(&format!("{{\"features\":[{}{with}{}]}}", &good[..at], &good[at + 1..]));
    }
}

#[test]
fn swapped_coordinates_are_guessed_where_the_box_says_that_they_should_be() {
    let delft = "[[[52.0,4.36],[52.01,4.36],[52.01,4.37],[52.0,4.36]]]";
    let text = format!(r#"{{"type":"Polygon","coordinates":{delft}}}"#);
    let (_folder, stream) = stream_with(&text, ReadOptions::default(), &CrsOptions::default());
    let near = [4.3, 51.9, 4.4, 52.1];
    assert_eq!(stream.guess(near).as_deref(), Some("looks like EPSG:4326, latitude before longitude"));
    // What the file says of its CRS counts, and only that.
    let named = format!(
        r#"{{"type":"FeatureCollection","crs":{{"type":"name","properties":{{"name":"EPSG:6668"}}}},"features":[{}]}}"#,
        feature(r#""properties":{}"#)
    );
    let (_folder, stream) = stream_with(&named, ReadOptions::default(), &CrsOptions::default());
    assert!(stream.extent().unwrap().is_some());
    let names: Vec<_> = stream.placers().iter().map(Placer::describe).collect();
    assert_eq!(names, ["EPSG:6668 JGD2011"]);
}
