//! CityGML that is not as it should be: told, tolerated, or an error that names the place.

use atlas_tools::crs::CrsOptions;
use atlas_tools::input::{CityGml, InputError, Place, Problem, ReadOptions, Stream as _, SurfaceKind, Wanted};
use proptest::prelude::*;

use crate::cityml::{
    bounded_box, box_faces, building, document, level, member, multi_surface, object, polygon, solid, surface_member,
};
use crate::collect::{Collected, n_triangles, read, read_gml, read_gml_with, write_gml};

fn one_face(positions: &str) -> String {
    building(&format!("<bldg:lod1MultiSurface>{}</bldg:lod1MultiSurface>", multi_surface(&[polygon("", positions)])))
}

#[test]
fn bad_rings_are_told_and_used_as_far_as_they_go() {
    let check = |positions: &str, problem: Problem, n_models: usize| {
        let collected = read_gml(&one_face(positions));
        assert!(collected.kinds_of_problems().contains(&problem), "{positions}: {:?}", collected.problems);
        assert!(collected.problems.iter().all(|(feature, _)| feature == "b1"));
        assert_eq!(collected.models().len(), n_models, "{positions}");
    };
    check("35 139 0 35 139.001 0 35.001 139 0", Problem::OpenRing, 1);
    check("35 139 0 35 139 0 35 139 0 35 139 0", Problem::DegenerateRing, 0);
    check("35 139 0 35 139.001 0 35 139 0", Problem::DegenerateRing, 0);
    check("35 139 0 35 139.001 0 35.001 139", Problem::BadCoordinate, 0);
    check("35 139 0 35 east 0 35.001 139 0 35 139 0", Problem::BadCoordinate, 0);
    check("35 139 0 35 NaN 0 35.001 139 0 35 139 0", Problem::BadCoordinate, 0);
    check("35 139 0 35 1e999 0 35.001 139 0 35 139 0", Problem::BadCoordinate, 0);
    check("35 139 0 35 139 0 35 139.001 0 35.001 139 0 35 139 0", Problem::DuplicatePoints, 1);
    check("35 139 0 35.001 139.001 0 35 139.001 0 35.001 139 0 35 139 0", Problem::CrossingRing, 1);
    check("35 139 0 35 139.001 0 35.001 139.001 40 35.001 139 0 35 139 0", Problem::NonPlanarFace, 1);
}

#[test]
fn an_inverted_solid_is_used_as_it_is() {
    let turned = |face: &String| {
        format!(
            r#"<gml:OrientableSurface orientation="-"><gml:baseSurface>{face}</gml:baseSurface></gml:OrientableSurface>"#
        )
    };
    let solid_of = |faces: Vec<String>| {
        let members: String = faces.iter().map(|face| surface_member(face)).collect();
        read_gml(&building(&format!("<bldg:lod1Solid>{}</bldg:lod1Solid>", solid(&members))))
    };
    let [plain, inverted] = [solid_of(box_faces("")), solid_of(box_faces("").iter().map(turned).collect())];
    let volume = |collected: &Collected| -> f64 {
        let origin = collected.places()[0];
        let corner = |place: Place| [place.x - origin.x, place.z - origin.z, place.height_m - origin.height_m];
        let triangles = &collected.model().surfaces[0].triangles;
        let of_triangle = |triangle: &[Place; 3]| {
            let [a, b, c] = triangle.map(corner);
            a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
        };
        triangles.iter().map(of_triangle).sum()
    };
    assert!(volume(&plain).abs() > 1.0);
    assert!((volume(&plain) + volume(&inverted)).abs() < 1e-6 * volume(&plain).abs());
    assert!(inverted.problems.is_empty(), "{:?}", inverted.problems);
}

#[test]
fn an_object_without_geometry_is_told() {
    let collected = read_gml(&building("<bldg:usage>1</bldg:usage>"));
    assert_eq!(collected.problems, [("b1".to_owned(), Problem::NoGeometry)]);
    let collected =
        read_gml_with(&building(&bounded_box("f", 2)), ReadOptions { lod: Some(1), ..ReadOptions::default() });
    assert_eq!(collected.kinds_of_problems(), [Problem::NoGeometry]);
}

#[test]
fn curves_and_points_are_told() {
    let curve = "<gml:MultiCurve><gml:curveMember/></gml:MultiCurve>";
    let collected = read_gml(&building(&format!("<bldg:lod1MultiSurface>{curve}</bldg:lod1MultiSurface>")));
    assert_eq!(collected.kinds_of_problems(), [Problem::UnusedGeometry]);
}

#[test]
fn a_file_whose_coordinates_lie_nowhere_is_an_error() {
    let text = one_face("139 35000 0 139.001 35000 0 139 35001 0 139 35000 0");
    let folder = tempfile::tempdir().unwrap();
    let error = read(&write_gml(folder.path(), text, ReadOptions::default())).unwrap_err();
    assert!(error.to_string().contains("city.gml"), "{error}");
}

#[test]
fn one_place_that_lies_nowhere_is_a_face_lost() {
    let faces = [polygon("", &level(1.0)), polygon("", "350 139 0 35 139.001 0 35.001 139 0 350 139 0")];
    let text = building(&format!("<bldg:lod1MultiSurface>{}</bldg:lod1MultiSurface>", multi_surface(&faces)));
    let collected = read_gml(&text);
    assert_eq!(collected.kinds_of_problems(), [Problem::BadCoordinate]);
    assert_eq!(n_triangles(collected.model(), SurfaceKind::Other), 2);
}

#[test]
fn a_file_without_a_crs_is_an_error_unless_one_is_named() {
    let text = one_face(&level(1.0)).replace(r#" srsName="http://www.opengis.net/def/crs/EPSG/0/6697""#, "");
    let folder = tempfile::tempdir().unwrap();
    let gml = write_gml(folder.path(), &text, ReadOptions::default());
    let error = read(&gml).unwrap_err().to_string();
    assert!(error.contains("city.gml") && error.contains("--crs"), "{error}");
    assert!(gml.extent().is_err());
    let crs = CrsOptions { crs: Some("EPSG:6697".to_owned()), ..CrsOptions::default() };
    let gml = CityGml::open(&folder.path().join("city.gml"), 0, ReadOptions::default(), crs).unwrap();
    assert_eq!(read(&gml).unwrap().items.len(), 1);
}

#[test]
fn what_is_no_city_gml_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &[u8], expected: &str| {
        let path = folder.path().join("other.gml");
        std::fs::write(&path, text).unwrap();
        let error = CityGml::open(&path, 0, ReadOptions::default(), CrsOptions::default()).unwrap_err().to_string();
        assert!(error.contains("other.gml") && error.contains(expected), "{error}");
    };
    check(b"<html><body/></html>", "the first element is <html>");
    check(b"", "no XML element found");
    check(b"{\"type\": \"CityJSON\"}", "expected <CityModel>");
    check(&[0; 64], "expected <CityModel>");
    let missing = folder.path().join("missing.gml");
    let error = CityGml::open(&missing, 0, ReadOptions::default(), CrsOptions::default()).unwrap_err();
    assert!(matches!(error, InputError::Io { .. }));
}

#[test]
fn malformed_xml_names_the_byte_and_the_feature_and_keeps_what_was_before() {
    let good = member(&format!(r#"<bldg:Building gml:id="good">{}</bldg:Building>"#, bounded_box("f", 2)));
    let bad = r#"<core:cityObjectMember><bldg:Building gml:id="bad"><bldg:usage>1</bldg:function></bldg:Building>"#;
    let text = document(&[good.as_str(), bad].concat());
    let folder = tempfile::tempdir().unwrap();
    let gml = write_gml(folder.path(), &text, ReadOptions::default());
    let mut collected = Collected::default();
    let error = gml.read(&Wanted::all(), &mut collected).unwrap_err().to_string();
    let offset = text.find("</bldg:function>").unwrap();
    assert!(error.contains(&format!("byte {offset} in feature bad")), "{error}");
    assert_eq!(collected.model().named.name, "good");
}

#[test]
fn a_file_that_is_cut_off_is_an_error_at_every_byte() {
    let text = building(&bounded_box("f", 2));
    let end = text.rfind("</core:CityModel").unwrap() + "</core:CityModel>".len();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gml");
    for len in 0..end {
        std::fs::write(&path, &text.as_bytes()[..len]).unwrap();
        let gml = CityGml::open(&path, 0, ReadOptions::default(), CrsOptions::default());
        let result = gml.and_then(|gml| read(&gml));
        assert!(matches!(result, Err(InputError::Malformed { .. })), "the first {len} bytes: {result:?}");
    }
    std::fs::write(&path, &text.as_bytes()[..end]).unwrap();
    let gml = CityGml::open(&path, 0, ReadOptions::default(), CrsOptions::default()).unwrap();
    assert_eq!(read(&gml).unwrap().items.len(), 1);
}

#[test]
fn nesting_has_a_bound() {
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    let folder = tempfile::tempdir().unwrap();
    let gml = write_gml(folder.path(), building(&deep), ReadOptions::default());
    let error = read(&gml).unwrap_err().to_string();
    assert!(error.contains("stand within each other"), "{error}");
}

#[test]
fn text_of_other_encodings() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let text = building(&format!("<gml:name>NAME</gml:name>{}", bounded_box("f", 2)));
    let name = |bytes: Vec<u8>| {
        let collected = read(&write_gml(folder.path(), bytes, options.clone())).unwrap();
        (collected.model().named.attributes[0].1.clone(), collected.kinds_of_problems())
    };
    let shift_jis = text.replace("UTF-8", "Shift_JIS");
    let (before, after) = shift_jis.split_once("NAME").unwrap();
    let bytes = [before.as_bytes(), b"\x93\x8c\x8b\x9e", after.as_bytes()].concat();
    assert_eq!(name(bytes), ("東京".into(), vec![]));
    let (before, after) = text.split_once("NAME").unwrap();
    let bytes = [before.as_bytes(), b"\x93\x8c", after.as_bytes()].concat();
    assert_eq!(name(bytes), ("\u{fffd}\u{fffd}".into(), vec![Problem::BadText]));
    let utf16: Vec<u8> =
        text.replace("NAME", "東京").replace("UTF-8", "UTF-16").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(name(utf16), ("東京".into(), vec![]));
}

#[test]
fn entities_and_sections_are_text() {
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let names = "<gml:name>a &lt; b &#x6771; &unknown; <![CDATA[<c>]]><!-- no --> d</gml:name>";
    let collected = read_gml_with(&building(&format!("{names}{}", bounded_box("f", 2))), options);
    assert_eq!(collected.model().named.attributes[0].1, "a < b 東 &unknown; <c> d");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Bytes that are changed anywhere are an error or a picture with a hole, never a panic.
    #[test]
    fn damage_never_panics(at in 0.0..1.0f64, bytes in proptest::collection::vec(any::<u8>(), 1..4)) {
        let mut text = object(&format!(
            r#"<bldg:Building gml:id="b">{}<bldg:measuredHeight uom="m">6</bldg:measuredHeight></bldg:Building>"#,
            bounded_box("f", 2)
        )).into_bytes();
        let start = (at * (text.len() - bytes.len()) as f64) as usize;
        text[start..start + bytes.len()].copy_from_slice(&bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged.gml");
        std::fs::write(&path, text).unwrap();
        if let Ok(gml) = CityGml::open(&path, 0, ReadOptions::default(), CrsOptions::default()) {
            let _ = gml.extent();
            let _ = read(&gml);
        }
    }
}
