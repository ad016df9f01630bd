use proptest::prelude::*;
use serde_json::json;

use super::super::CoverKind;
use super::super::collected::Collected;
use super::*;

fn read(text: &str) -> Result<Collected, InputError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.json");
    std::fs::write(&path, text).unwrap();
    Collected::of(&Overpass::open(&path, ReadOptions::default()).unwrap())
}

fn elements(elements: &serde_json::Value) -> String {
    json!({"version": 0.6, "generator": "Overpass API", "elements": elements}).to_string()
}

#[test]
fn nodes_and_references_are_joined_in_any_order() {
    let text = elements(&json!([
        {"type": "way", "id": 9, "nodes": [1, 2, 3, 1], "tags": {"building": "yes", "building:levels": "3"}},
        {"type": "node", "id": 1, "lat": 35.0, "lon": 139.0},
        {"type": "node", "id": 2, "lat": 35.0, "lon": 139.001},
        {"type": "node", "id": 3, "lat": 35.001, "lon": 139.001, "tags": {"entrance": "main"}},
    ]));
    let collected = read(&text).unwrap();
    let [house] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
    assert_eq!((house.height.metres, house.named.name.as_str()), (9.0, "way/9"));
    assert_eq!(house.polygons[0][0].len(), 3);
    assert!(collected.problems.is_empty());
}

#[test]
fn geometries_beside_elements_are_taken() {
    let corner = |lat: f64, lon: f64| json!({"lat": lat, "lon": lon});
    let [a, b, c, d] = [corner(35.0, 139.0), corner(35.0, 139.01), corner(35.01, 139.01), corner(35.01, 139.0)];
    let text = elements(&json!([
        {"type": "way", "id": 1, "nodes": [1, 2], "geometry": [a, b], "tags": {"highway": "primary"}},
        {"type": "relation", "id": 2, "tags": {"type": "multipolygon", "natural": "water"}, "members": [
            {"type": "way", "ref": 5, "role": "outer", "geometry": [a, b, c]},
            {"type": "way", "ref": 6, "role": "outer", "geometry": [a, d, c]},
            {"type": "node", "ref": 7, "role": "label"},
        ]},
        {"type": "way", "id": 3, "nodes": [8, 9], "geometry": [a, null, b, c, a], "tags": {"building": "yes"}},
    ]));
    let collected = read(&text).unwrap();
    let kinds: Vec<_> = collected.covers().iter().map(|cover| cover.kind).collect();
    assert_eq!(kinds, [CoverKind::Road, CoverKind::Water]);
    assert_eq!(collected.covers()[1].polygons[0][0].len(), 4, "two lines make one ring");
    assert_eq!(collected.prisms()[0].polygons[0][0].len(), 3);
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
}

#[test]
fn the_same_way_from_an_element_and_a_member_counts_once() {
    let ring = json!([{"lat": 0, "lon": 0}, {"lat": 0, "lon": 1}, {"lat": 1, "lon": 1}, {"lat": 0, "lon": 0}]);
    let text = elements(&json!([
        {"type": "relation", "id": 2, "tags": {"type": "site"}, "members": [{"type": "way", "ref": 5, "geometry": ring}]},
        {"type": "way", "id": 5, "geometry": ring, "tags": {"building": "yes"}},
    ]));
    assert_eq!(read(&text).unwrap().prisms().len(), 1);
}

#[test]
fn bad_elements_are_told_and_a_cut_off_file_is_an_error() {
    let collected = read(&elements(&json!([{"type": "way"}, 7, {"type": "way", "id": 1, "nodes": [1, 2, 3, 1],
        "tags": {"building": "yes"}}])))
    .unwrap();
    assert_eq!(
        collected.faults(),
        [Problem::BadRecord, Problem::BadRecord, Problem::DanglingReference, Problem::DegenerateRing]
    );
    let error = read(r#"{"elements":[{"type":"#).unwrap_err().to_string();
    assert!(error.contains("city.json: byte"), "{error}");
    assert!(read("").unwrap().items.is_empty());
}

#[test]
fn names_of_places_differ_where_places_do() {
    let places = [[0, 0], [1, 0], [0, 1], [i32::MIN, i32::MIN], [i32::MAX, i32::MAX], [i32::MIN, i32::MAX]];
    let mut names: Vec<_> = places.into_iter().map(name_of).collect();
    assert!(names.iter().all(|&name| name < 0));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), places.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_text_panics(text in "[\\[\\]{},:\"a-z0-9 .]{0,60}") {
        let _ = read(&format!("{{\"elements\":[{text}]}}"));
    }
}
