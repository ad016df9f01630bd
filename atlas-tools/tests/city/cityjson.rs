//! What CityJSON becomes, as a document and as a sequence.

use std::collections::BTreeMap;
use std::path::Path;

use atlas_tools::crs::{AxisRule, CrsOptions};
use atlas_tools::input::{
    CityJson, CityJsonSeq, CoverKind, Fallback, FeatureId, InputError, Paint, Place, Problem, ReadOptions, Stream as _,
    SurfaceKind, Texture, Wanted,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::collect::{Collected, count, heights, is_near, read};

/// A vertex in thousandths, in EPSG:7415 near Delft, as the place that it stands for.
fn place([x, y, z]: [i64; 3]) -> Place {
    let placer = CrsOptions::default().placer(AxisRule::Traditional, Some("EPSG:7415"), None).unwrap();
    let metres = |value: i64| value as f64 / 1000.0;
    placer.place([85_000.0 + metres(x), 446_500.0 + metres(y), metres(z)]).unwrap()
}

/// The corners of a box of 10 m, 8 m and 6 m, then a point of use to templates.
const VERTICES: [[i64; 3]; 9] = [
    [0, 0, 0],
    [10_000, 0, 0],
    [10_000, 8_000, 0],
    [0, 8_000, 0],
    [0, 0, 6_000],
    [10_000, 0, 6_000],
    [10_000, 8_000, 6_000],
    [0, 8_000, 6_000],
    [50_000, 60_000, 2_000],
];

/// The faces of the box: ground, roof, south, east, north, west.
fn box_faces() -> Value {
    json!([[[3, 2, 1, 0]], [[4, 5, 6, 7]], [[0, 1, 5, 4]], [[1, 2, 6, 5]], [[2, 3, 7, 6]], [[3, 0, 4, 7]]])
}

#[expect(clippy::needless_pass_by_value, reason = "a fixture is written where it is handed over")]
fn document(objects: Value) -> Value {
    json!({
        "type": "CityJSON", "version": "2.0",
        "transform": {"scale": [0.001, 0.001, 0.001], "translate": [85_000.0, 446_500.0, 0.0]},
        "metadata": {"referenceSystem": "https://www.opengis.net/def/crs/EPSG/0/7415"},
        "CityObjects": objects,
        "vertices": VERTICES,
    })
}

fn solid(lod: &str) -> Value {
    json!({"type": "Solid", "lod": lod, "boundaries": [box_faces()]})
}

fn solid_with_classes(lod: &str) -> Value {
    let mut solid = solid(lod);
    solid["semantics"] = json!({
        "surfaces": [{"type": "GroundSurface"}, {"type": "RoofSurface"}, {"type": "WallSurface"}],
        "values": [[0, 1, 2, 2, 2, 2]],
    });
    solid
}

fn flat(lod: &str) -> Value {
    json!({"type": "MultiSurface", "lod": lod, "boundaries": [[[0, 1, 2, 3]]]})
}

#[expect(clippy::needless_pass_by_value, reason = "a fixture is written where it is handed over")]
fn building(geometry: Value) -> Value {
    document(json!({"b1": {"type": "Building", "geometry": geometry}}))
}

fn open(folder: &Path, text: impl AsRef<[u8]>, options: ReadOptions) -> Result<CityJson, InputError> {
    let path = folder.join("city.json");
    std::fs::write(&path, text).unwrap();
    CityJson::open(&path, 0, options, CrsOptions::default())
}

fn read_with(document: &Value, options: ReadOptions) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    read(&open(folder.path(), document.to_string(), options).unwrap()).unwrap()
}

fn read_json(document: &Value) -> Collected {
    read_with(document, ReadOptions::default())
}

fn with_attributes() -> ReadOptions {
    ReadOptions { with_attributes: true, ..ReadOptions::default() }
}

const KINDS: [SurfaceKind; 4] = [SurfaceKind::Ground, SurfaceKind::Roof, SurfaceKind::Wall, SurfaceKind::Other];

#[test]
fn boundaries_of_every_kind() {
    let check = |geometry: Value, n_triangles: usize| {
        let collected = read_json(&building(json!([geometry])));
        assert_eq!(KINDS.map(|kind| count(&collected, kind)), [0, 0, 0, n_triangles], "{geometry}");
        assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    };
    check(json!({"type": "MultiSurface", "lod": "1", "boundaries": box_faces()}), 12);
    check(json!({"type": "CompositeSurface", "lod": "1.3", "boundaries": box_faces()}), 12);
    check(solid("1.2"), 12);
    check(json!({"type": "Solid", "lod": 2, "boundaries": [box_faces(), box_faces()]}), 24);
    check(json!({"type": "MultiSolid", "lod": 2.1, "boundaries": [[box_faces()], [box_faces()]]}), 24);
    check(json!({"type": "CompositeSolid", "lod": "2", "boundaries": [[box_faces()]]}), 12);
}

#[test]
fn vertices_are_placed_through_the_transform() {
    let collected = read_json(&building(json!([solid("2")])));
    let places = collected.places();
    for vertex in &VERTICES[..8] {
        assert!(places.iter().any(|&found| is_near(found, place(*vertex))), "{vertex:?}");
    }
    assert_eq!(heights(&places), [0.0, 6.0]);
    assert_eq!(collected.model().named.id, FeatureId::of_text("b1"));
    // Version 1.0 knows documents without a transform.
    let mut document = building(json!([solid("2")]));
    document["version"] = json!("1.0");
    document.as_object_mut().unwrap().remove("transform");
    document["metadata"]["referenceSystem"] = json!("urn:ogc:def:crs:EPSG::7415");
    let vertex = |[x, y, z]: [i64; 3]| [85_000.0 + x as f64 / 1000.0, 446_500.0 + y as f64 / 1000.0, z as f64 / 1000.0];
    document["vertices"] = json!(VERTICES.map(vertex));
    let old = read_json(&document).places();
    assert!(old.iter().zip(&places).all(|(&old, &new)| is_near(old, new)));
}

#[test]
fn semantics_say_what_a_face_is() {
    let collected = read_json(&building(json!([solid_with_classes("2.2")])));
    assert_eq!(KINDS.map(|kind| count(&collected, kind)), [2, 2, 8, 0]);
    // Null stands for a face, a shell, or all.
    let check = |values: Value, expected: [usize; 4]| {
        let mut geometry = solid_with_classes("2.2");
        geometry["semantics"]["values"] = values.clone();
        let collected = read_json(&building(json!([geometry])));
        assert_eq!(KINDS.map(|kind| count(&collected, kind)), expected, "{values}");
    };
    check(json!([[0, null, 2, 2, 2, 2]]), [2, 0, 8, 2]);
    check(json!([[0, 1]]), [2, 2, 0, 8]);
    check(json!([null]), [0, 0, 0, 12]);
    check(json!(null), [0, 0, 0, 12]);
    check(json!([[9, "x", -1, 1.5, {}, []]]), [0, 0, 0, 12]);
}

#[test]
fn the_finest_level_of_detail_counts() {
    let document = building(json!([flat("0"), solid("1.2"), solid("1.3"), solid_with_classes("2.2")]));
    let check = |lod: Option<u8>, n_prisms: usize, n_other: usize, n_walls: usize| {
        let collected = read_with(&document, ReadOptions { lod, ..ReadOptions::default() });
        assert_eq!(collected.items.len(), 1, "{lod:?}");
        let found =
            [collected.prisms().len(), count(&collected, SurfaceKind::Other), count(&collected, SurfaceKind::Wall)];
        assert_eq!(found, [n_prisms, n_other, n_walls], "{lod:?}");
    };
    check(None, 0, 0, 8);
    check(Some(2), 0, 0, 8);
    check(Some(1), 0, 12, 0);
    check(Some(0), 1, 0, 0);
}

#[test]
fn parts_bear_the_name_and_the_attributes_of_the_whole() {
    let part = |geometry: Value| json!({"type": "BuildingPart", "parents": ["whole"], "geometry": [geometry], "attributes": {"part": 1, "measuredHeight": 9}});
    let document = document(json!({
        "p1": part(solid_with_classes("2.2")),
        "whole": {"type": "Building", "children": ["p1", "p2", "i"], "geometry": [flat("0"), solid("1.0")], "attributes": {"measuredHeight": 6, "a": "x"}},
        "p2": part(solid_with_classes("2.2")),
        "i": {"type": "BuildingInstallation", "parents": ["whole"], "geometry": [solid("2")]},
        "room": {"type": "BuildingRoom", "parents": ["whole"], "geometry": [solid("3")]},
    }));
    let collected = read_with(&document, with_attributes());
    assert_eq!(KINDS.map(|kind| count(&collected, kind)), [4, 4, 16, 0]);
    // `json!` sorts what it is given.
    let expected = [("a", json!("x")), ("measuredHeight", json!(6)), ("part", json!(1))];
    for model in collected.models() {
        assert_eq!(model.named.id, FeatureId::of_text("whole"));
        assert_eq!(model.named.name, "whole");
        assert_eq!(model.named.attributes, expected.clone().map(|(name, value)| (name.to_owned(), value)));
    }
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    // At the level of the outline only the whole has something to show.
    let collected = read_with(&document, ReadOptions { lod: Some(0), ..ReadOptions::default() });
    assert_eq!(collected.prisms()[0].height.metres, 6.0);
    assert_eq!(collected.items.len(), 1);
}

#[test]
fn families_that_cannot_be_are_read_all_the_same() {
    let check = |objects: Value, n_models: usize| {
        let collected = read_json(&document(objects.clone()));
        assert_eq!(collected.models().len(), n_models, "{objects}");
    };
    check(json!({"p": {"type": "BuildingPart", "parents": ["nobody"], "geometry": [solid("2")]}}), 1);
    let in_circle = |other: &str| json!({"type": "BuildingPart", "parents": [other], "geometry": [solid("2")]});
    check(json!({"p": in_circle("q"), "q": in_circle("p")}), 2);
    check(json!({"p": in_circle("p")}), 1);
    check(json!({"p": {"type": "BuildingPart", "parents": 7, "geometry": [solid("2")]}}), 1);
}

#[test]
fn footprints_are_prisms() {
    let check = |attributes: Value, height_m: f64, fallback: Option<Fallback>| {
        let object = json!({"b1": {"type": "Building", "geometry": [flat("0")], "attributes": attributes}});
        let collected = read_json(&document(object));
        let [prism] = collected.prisms()[..] else { panic!("{collected:?}") };
        assert_eq!((prism.height.metres, prism.height.fallback), (height_m, fallback));
        assert_eq!(prism.polygons.len(), 1);
        let corner = place(VERTICES[0]);
        assert_eq!(prism.polygons[0][0][0], [corner.x, corner.z]);
    };
    check(json!({"measuredHeight": 7.5}), 7.5, None);
    check(json!({"measuredHeight": "7,5 m"}), 7.5, None);
    check(json!({"storeysAboveGround": 4}), 12.0, None);
    check(json!({"measuredHeight": [1]}), 3.0, Some(Fallback::Missing));
    check(json!("none"), 3.0, Some(Fallback::Missing));
}

#[test]
fn templates_stand_at_their_points() {
    let instance = json!({"type": "GeometryInstance", "template": 0, "boundaries": [8],
        "transformationMatrix": [2.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0]});
    let mut document = document(json!({"tree": {"type": "SolitaryVegetationObject", "geometry": [instance]}}));
    document["geometry-templates"] = json!({
        "templates": [{"type": "MultiSurface", "lod": "2.1", "boundaries": [[[0, 1, 2]]]}],
        "vertices-templates": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.5, 2.0]],
    });
    let collected = read_json(&document);
    let places = collected.places();
    for expected in [[51_000, 60_000, 2_000], [53_000, 60_000, 2_000], [51_000, 63_000, 8_000]] {
        assert!(places.iter().any(|&found| is_near(found, place(expected))), "{places:?}");
    }
    let Paint::Colour([red, green, blue]) = collected.model().surfaces[0].paint else { panic!() };
    assert!(green > red && green > blue, "plants are green");
    let check = |path: &str, value: Value, problem: Problem| {
        let mut document = document.clone();
        document["CityObjects"]["tree"]["geometry"][0][path] = value;
        assert_eq!(read_json(&document).kinds_of_problems(), [problem], "{path}");
    };
    check("boundaries", json!([99]), Problem::DanglingReference);
    check("boundaries", json!([]), Problem::DanglingReference);
    check("transformationMatrix", json!([1.0]), Problem::DanglingReference);
    check("template", json!(5), Problem::NoGeometry);
}

#[test]
fn covers_and_relief() {
    let check = |class: &str, attributes: Value, expected: CoverKind| {
        let object = json!({"x": {"type": class, "geometry": [flat("1")], "attributes": attributes}});
        let collected = read_json(&document(object));
        assert_eq!(collected.covers().iter().map(|cover| cover.kind).collect::<Vec<_>>(), [expected], "{class}");
    };
    check("Road", json!({}), CoverKind::Road);
    check("Railway", json!({}), CoverKind::Rail);
    check("TransportSquare", json!({}), CoverKind::Paved);
    check("WaterBody", json!({}), CoverKind::Water);
    check("PlantCover", json!({}), CoverKind::Green);
    check("PlantCover", json!({"averageHeight": 12.0}), CoverKind::Wood);
    check("LandUse", json!({"class": "201"}), CoverKind::Farm);
    let road = json!({"type": "MultiSurface", "lod": "2", "boundaries": [[[0, 1, 2]], [[0, 2, 3]], [[4, 5, 6]]],
        "semantics": {"surfaces": [{"type": "TrafficArea", "function": ["2000"]}, {"type": "AuxiliaryTrafficArea"}], "values": [0, 1, null]}});
    let collected = read_json(&document(json!({"r": {"type": "Road", "geometry": [road]}})));
    let kinds: Vec<CoverKind> = collected.covers().iter().map(|cover| cover.kind).collect();
    assert_eq!(kinds, [CoverKind::Paved, CoverKind::Path, CoverKind::Road]);
    // Plants as high as a wood are a hull above a wood.
    let object = json!({"w": {"type": "PlantCover", "geometry": [solid("1")]}});
    let collected = read_json(&document(object));
    assert_eq!(collected.covers()[0].kind, CoverKind::Wood);
    assert_eq!(heights(&collected.places()), [0.0, 6.0]);
    let tin = json!({"type": "CompositeSurface", "lod": "1", "boundaries": vec![json!([[0, 1, 6]]); 5000]});
    let collected = read_json(&document(json!({"t": {"type": "TINRelief", "geometry": [tin]}})));
    assert_eq!(collected.relief().len(), 5000);
    assert!(collected.items.len() > 1, "the ground is passed on piece by piece");
    assert!(is_near(collected.relief()[4999][2], place(VERTICES[6])));
}

#[test]
fn materials_colour_faces() {
    let check = |material: Value, default: Option<&str>, expected: &[Paint]| {
        let mut geometry = json!({"type": "MultiSurface", "lod": "2", "boundaries": [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]});
        geometry["material"] = material.clone();
        let mut document = building(json!([geometry]));
        document["appearance"] = json!({"materials": [{"name": "red", "diffuseColor": [1.0, 0.0, 0.0]}, {"diffuseColor": [0.0, 0.5, 1.0]}, {"name": "none"}]});
        if let Some(default) = default {
            document["appearance"]["default-theme-material"] = json!(default);
        }
        let collected = read_json(&document);
        let found: Vec<Paint> = collected.model().surfaces.iter().map(|surface| surface.paint.clone()).collect();
        assert_eq!(found, expected, "{material}");
    };
    let (red, blue) = (Paint::Colour([255, 0, 0]), Paint::Colour([0, 128, 255]));
    check(json!({"t": {"values": [0, 1]}}), None, &[red.clone(), blue.clone()]);
    check(json!({"t": {"values": [0, null]}}), None, &[red.clone(), Paint::Look]);
    check(json!({"t": {"value": 1}}), None, std::slice::from_ref(&blue));
    check(json!({"a": {"value": 0}, "b": {"value": 1}}), None, std::slice::from_ref(&red));
    check(json!({"a": {"value": 0}, "b": {"value": 1}}), Some("b"), std::slice::from_ref(&blue));
    check(json!({"t": {"values": [2, 99]}}), None, &[Paint::Look]);
    check(json!("no theme"), None, &[Paint::Look]);
}

#[test]
fn images_lie_on_faces() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.png"), b"png").unwrap();
    let read_with_texture = |values: Value, image: &str| {
        let mut geometry = json!({"type": "MultiSurface", "lod": "2", "boundaries": [[[4, 5, 6, 7]], [[0, 1, 2, 3]]]});
        geometry["texture"] = json!({"t": {"values": values}});
        let mut document = building(json!([geometry]));
        document["appearance"] = json!({
            "textures": [{"type": "PNG", "image": image}],
            "vertices-texture": [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
        });
        read(&open(folder.path(), document.to_string(), ReadOptions::default()).unwrap()).unwrap()
    };
    let collected = read_with_texture(json!([[[0, 0, 1, 2, 3]], [[null]]]), "a.png");
    assert_eq!(collected.textures, [Texture::File(folder.path().join("a.png"))]);
    let textured = &collected.model().surfaces[0];
    let Paint::Texture { texture: 0, uvs, .. } = &textured.paint else { panic!("{textured:?}") };
    let [west, north] = [place(VERTICES[3]).x, place(VERTICES[3]).z];
    for (place, [u, v]) in textured.triangles.iter().flatten().zip(uvs.iter().flatten()) {
        assert_eq!(*u, if (place.x - west).abs() < 1.0 { 0.0 } else { 1.0 });
        assert_eq!(*v, if (place.z - north).abs() < 1.0 { 0.0 } else { 1.0 }, "v goes down from the north");
    }
    assert_eq!(collected.model().surfaces[1].paint, Paint::Look);
    assert!(collected.problems.is_empty());
    let check_bad = |values: Value, image: &str| {
        let collected = read_with_texture(values.clone(), image);
        assert_eq!(collected.kinds_of_problems(), [Problem::BadTexture], "{values}");
        assert!(collected.model().surfaces.iter().all(|surface| surface.paint == Paint::Look));
    };
    check_bad(json!([[[0, 0, 1, 2, 3]], [[null]]]), "missing.png");
    check_bad(json!([[[0, 0, 1]], [[null]]]), "a.png");
    check_bad(json!([[[0, 0, 1, 2, 99]], [[null]]]), "a.png");
    check_bad(json!([[[7, 0, 1, 2, 3]], [[null]]]), "a.png");
}

#[test]
fn a_palette_decides_over_materials() {
    let colours = BTreeMap::from([("oak".to_owned(), [1, 2, 3])]);
    let options = ReadOptions { colour_by: Some(("species".to_owned(), colours)), ..ReadOptions::default() };
    let object =
        json!({"x": {"type": "SolitaryVegetationObject", "geometry": [solid("1")], "attributes": {"species": "oak"}}});
    assert_eq!(read_with(&document(object), options).model().surfaces[0].paint, Paint::Colour([1, 2, 3]));
}

#[test]
fn what_is_wrong_is_told() {
    let check = |geometry: Value, problem: Problem, n_models: usize| {
        let collected = read_json(&building(json!([geometry])));
        assert!(collected.kinds_of_problems().contains(&problem), "{geometry}: {:?}", collected.problems);
        assert!(collected.problems.iter().all(|(feature, _)| feature == "b1"));
        assert_eq!(collected.models().len(), n_models, "{geometry}");
    };
    let surface = |rings: Value| json!({"type": "MultiSurface", "lod": "1", "boundaries": [rings]});
    check(surface(json!([[0, 1, 99]])), Problem::DanglingReference, 0);
    check(surface(json!([[0, 1, "x"]])), Problem::BadCoordinate, 0);
    check(surface(json!([[0, 1]])), Problem::DegenerateRing, 0);
    check(surface(json!([[]])), Problem::DegenerateRing, 0);
    check(surface(json!([])), Problem::DegenerateRing, 0);
    check(surface(json!([[0, 1, 1, 2]])), Problem::DuplicatePoints, 1);
    check(surface(json!([[0, 2, 1, 3]])), Problem::CrossingRing, 1);
    check(surface(json!([[0, 1, 6, 3]])), Problem::NonPlanarFace, 1);
    check(surface(json!([[0, 1, 2, 3], [99, 98, 97]])), Problem::DanglingReference, 1);
    check(json!({"type": "MultiLineString", "lod": "0", "boundaries": [[0, 1]]}), Problem::UnusedGeometry, 0);
    check(json!({"type": "MultiSurface", "lod": "1"}), Problem::NoGeometry, 0);
    check(json!(["no", "geometry"]), Problem::UnusedGeometry, 0);
    let collected = read_json(&document(
        json!({"x": {"type": "+NoiseBuilding", "geometry": [solid("1")]}, "y": 7, "g": {"type": "CityObjectGroup"}}),
    ));
    assert_eq!(
        collected.problems,
        [("x".to_owned(), Problem::UnusedGeometry), ("y".to_owned(), Problem::UnusedGeometry)]
    );
}

#[test]
fn other_documents_are_errors_that_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str, expected: &str| {
        let result = open(folder.path(), text, ReadOptions::default()).and_then(|json| read(&json));
        let error = result.unwrap_err().to_string();
        assert!(error.contains("city.json") && error.contains(expected), "{error}");
    };
    check("", "expected a CityJSON document");
    check("[]", "expected a CityJSON document");
    check("{}", "no \"type\" found");
    check(r#"{"type": "FeatureCollection"}"#, "\"type\" is \"FeatureCollection\"");
    check(r#"{"type": "CityJSONFeature"}"#, "a feature of a sequence");
    check(r#"{"type": "CityJSON""#, "malformed JSON");
    check(&building(json!([solid("1")])).to_string().replace("metadata", "x"), "--crs");
    check(&building(json!([solid("1")])).to_string().replace("85000.0", "1e9"), "far from where it is used");
}

#[test]
fn a_document_that_is_cut_off_is_an_error_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let text = building(json!([solid_with_classes("2")])).to_string();
    for len in 0..text.len() {
        let result = open(folder.path(), &text[..len], ReadOptions::default()).and_then(|json| read(&json));
        assert!(matches!(result, Err(InputError::Malformed { .. })), "the first {len} bytes");
    }
}

#[test]
fn the_extent_is_told_or_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = building(json!([solid("1")]));
    let found = open(folder.path(), document.to_string(), ReadOptions::default()).unwrap().extent().unwrap().unwrap();
    let places = VERTICES[..4].iter().map(|&vertex| place(vertex));
    assert!(
        places
            .clone()
            .all(|place| found[0] <= place.x && place.x <= found[2] && found[1] <= place.z && place.z <= found[3])
    );
    assert!(found[2] - found[0] < 20.0 && found[3] - found[1] < 20.0);
    document["metadata"]["geographicalExtent"] = json!([84_000.0, 446_000.0, 0.0, 86_000.0, 447_000.0, 9.0]);
    let told = open(folder.path(), document.to_string(), ReadOptions::default()).unwrap().extent().unwrap().unwrap();
    assert!(told[2] - told[0] > 2000.0 && told[0] < found[0] && found[2] < told[2]);
}

#[test]
fn what_is_not_wanted_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let json = open(folder.path(), building(json!([solid("1")])).to_string(), ReadOptions::default()).unwrap();
    let corner = place(VERTICES[0]);
    let n_items = |west: f64| {
        let wanted = Wanted { boxes: vec![[west, corner.z - 1.0, west + 2.0, corner.z + 1.0]] };
        let mut collected = Collected::default();
        json.read(&wanted, &mut collected).unwrap();
        collected.items.len()
    };
    assert_eq!([n_items(corner.x - 1.0), n_items(corner.x + 1000.0)], [1, 0]);
}

/// A sequence: its first line, then features.
fn sequence(lines: &[String], separator: &str) -> String {
    let mut first = document(json!({}));
    first["vertices"] = json!([]);
    std::iter::once(first.to_string()).chain(lines.iter().cloned()).map(|line| format!("{line}{separator}")).collect()
}

fn feature(id: &str) -> String {
    json!({"type": "CityJSONFeature", "id": id, "CityObjects": {
        id: {"type": "Building", "children": [format!("{id}-0")], "attributes": {"a": id}},
        format!("{id}-0"): {"type": "BuildingPart", "parents": [id], "geometry": [solid_with_classes("2.2")]},
    }, "vertices": VERTICES})
    .to_string()
}

fn open_sequence(folder: &Path, text: impl AsRef<[u8]>) -> Result<CityJsonSeq, InputError> {
    let path = folder.join("city.jsonl");
    std::fs::write(&path, text).unwrap();
    CityJsonSeq::open(&path, 0, with_attributes(), CrsOptions::default())
}

#[test]
fn sequences_however_their_lines_end() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [feature("a"), feature("b")];
    let texts = [
        sequence(&lines, "\n"),
        sequence(&lines, "\r\n"),
        sequence(&lines, "\n\n\n"),
        sequence(&lines, "\n").trim_end().to_owned(),
        sequence(&lines, "\n").split_inclusive('\n').map(|line| format!("\u{1e}{line}")).collect(),
        format!("\u{feff}{}", sequence(&lines, "\n")),
    ];
    for text in texts {
        let collected = read(&open_sequence(folder.path(), &text).unwrap()).unwrap();
        let names: Vec<&str> = collected.models().iter().map(|model| model.named.name.as_str()).collect();
        assert_eq!(names, ["a", "b"], "{text}");
        assert_eq!(count(&collected, SurfaceKind::Wall), 16);
        assert_eq!(collected.models()[1].named.attributes, [("a".to_owned(), json!("b"))]);
        assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    }
}

#[test]
fn a_bad_line_is_told_and_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [feature("a"), "{\"type\": \"CityJSONFeature\",".to_owned(), "7".to_owned(), feature("b")];
    let text = sequence(&lines, "\n").replace("\n7\n", "\n7\n\u{7f}\n");
    let collected = read(&open_sequence(folder.path(), text).unwrap()).unwrap();
    assert_eq!(collected.models().len(), 2);
    let expected = ["line 3", "line 4", "line 5"].map(|line| (line.to_owned(), Problem::BadRecord));
    assert_eq!(collected.problems, expected);
    let not_text = [sequence(&[feature("a")], "\n").as_bytes(), b"\xff\xfe\n"].concat();
    let collected = read(&open_sequence(folder.path(), not_text).unwrap()).unwrap();
    assert_eq!((collected.models().len(), collected.problems.len()), (1, 1));
}

#[test]
fn a_sequence_begins_with_what_holds_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str, expected: &str| {
        let error = open_sequence(folder.path(), text).and_then(|sequence| read(&sequence)).unwrap_err().to_string();
        assert!(error.contains("city.jsonl") && error.contains(expected), "{error}");
    };
    check("", "it is empty");
    check(&feature("a"), "line 1 has the \"type\" \"CityJSONFeature\"");
    check("{\n", "line 1 is malformed JSON");
    check(&sequence(&[feature("a")], "\n").replace("referenceSystem", "x"), "--crs");
}

#[test]
fn each_line_may_have_looks_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let coloured = |id: &str, colour: [f64; 3]| {
        let mut feature: Value = serde_json::from_str(&feature(id)).unwrap();
        feature["CityObjects"][format!("{id}-0")]["geometry"][0]["material"] = json!({"t": {"value": 0}});
        feature["appearance"] = json!({"materials": [{"diffuseColor": colour}]});
        feature.to_string()
    };
    let lines = [coloured("a", [1.0, 0.0, 0.0]), coloured("b", [0.0, 0.0, 1.0]), feature("c")];
    let collected = read(&open_sequence(folder.path(), sequence(&lines, "\n")).unwrap()).unwrap();
    let paints: Vec<Paint> = collected.models().iter().map(|model| model.surfaces[0].paint.clone()).collect();
    assert_eq!(paints, [Paint::Colour([255, 0, 0]), Paint::Colour([0, 0, 255]), Paint::Look]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Bytes that are changed anywhere are an error or something told, never a panic.
    #[test]
    fn damage_never_panics(at in 0.0..1.0f64, bytes in proptest::collection::vec(any::<u8>(), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let damage = |text: String| {
            let mut text = text.into_bytes();
            let start = (at * (text.len() - bytes.len()) as f64) as usize;
            text[start..start + bytes.len()].copy_from_slice(&bytes);
            text
        };
        let whole = damage(building(json!([flat("0"), solid_with_classes("2.2")])).to_string());
        if let Ok(json) = open(folder.path(), whole, ReadOptions::default()) {
            let _ = json.extent();
            let _ = read(&json);
        }
        if let Ok(sequence) = open_sequence(folder.path(), damage(sequence(&[feature("a")], "\n"))) {
            let _ = sequence.extent();
            let _ = read(&sequence);
        }
    }
}

#[test]
fn a_wrong_crs_is_guessed() {
    let text = document(json!({"b": {"type": "Building", "geometry": [solid("1")]}})).to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.json");
    std::fs::write(&path, text).unwrap();
    let near = [4.3, 51.9, 4.5, 52.1];
    // Metres of Web Mercator: near Ghana.
    let wrong = CrsOptions { crs: Some("EPSG:3857".to_owned()), ..CrsOptions::default() };
    let document = CityJson::open(&path, 0, ReadOptions::default(), wrong.clone()).unwrap();
    assert_eq!(document.guess(near).as_deref(), Some("looks like EPSG:28992"));
    let sequence = CityJsonSeq::open(&path, 0, ReadOptions::default(), wrong).unwrap();
    assert_eq!(sequence.guess(near), None, "without features it lies nowhere");
}
