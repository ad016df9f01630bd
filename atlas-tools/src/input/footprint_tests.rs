use serde_json::json;
use voxatlas::geo::LonLat;

use super::super::collected::Collected;
use super::super::{CoverKind, Fallback};
use super::*;
use crate::crs::{AxisRule, CrsOptions};

fn square(west: f64, south: f64, side: f64) -> Vec<[f64; 3]> {
    let [east, north] = [west + side, south + side];
    vec![[west, south, 0.0], [east, south, 0.0], [east, north, 0.0], [west, north, 0.0], [west, south, 0.0]]
}

fn polygon(rings: Vec<Vec<[f64; 3]>>) -> Flat {
    Flat { polygons: vec![rings], ..Flat::default() }
}

/// Pours shapes of a CRS and says what came of them.
fn pour(crs: &str, shapes: Vec<(Flat, What)>, options: &ReadOptions, wanted: &Wanted) -> Result<Collected, InputError> {
    let placer = CrsOptions::default().placer(AxisRule::Traditional, Some(crs), None).unwrap();
    let mut collected = Collected::default();
    let mut footprints = Footprints::new(Path::new("a.file"), &placer, options, wanted, &mut collected);
    for (nth, (geometry, what)) in (0..).zip(shapes) {
        let attributes = vec![("height".to_owned(), json!(9))];
        let id = FeatureId::Nth { input: 0, nth };
        footprints.add(Shape { id, name: format!("f{nth}"), attributes, geometry }, what)?;
    }
    footprints.finish()?;
    Ok(collected)
}

fn pour_one(geometry: Flat, what: What) -> Collected {
    pour("OGC:CRS84", vec![(geometry, what)], &ReadOptions::default(), &Wanted::all()).unwrap()
}

#[test]
fn a_polygon_becomes_a_prism_with_its_holes() {
    let collected = pour_one(polygon(vec![square(139.0, 35.0, 0.01), square(139.002, 35.002, 0.002)]), What::Building);
    let [prism] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
    assert_eq!(prism.polygons.len(), 1);
    assert_eq!(prism.polygons[0].iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    assert_eq!((prism.height.metres, prism.height.fallback), (9.0, None::<Fallback>));
    assert!(prism.named.attributes.is_empty(), "nobody asked for them");
    assert_eq!(prism.polygons[0][0][0], LonLat::new(139.0, 35.0).unwrap().to_world());
    assert!(collected.problems.is_empty());
}

#[test]
fn bad_rings_are_told_and_the_rest_is_kept() {
    let mut open = square(139.0, 35.0, 0.01);
    open.pop();
    let line = vec![[139.0, 35.0, 0.0], [139.1, 35.0, 0.0], [139.0, 35.0, 0.0]];
    let nowhere = vec![[139.0, f64::NAN, 0.0], [139.1, 35.0, 0.0], [139.0, 35.1, 0.0]];
    let collected = pour_one(polygon(vec![open, line, nowhere]), What::Building);
    assert_eq!(collected.faults(), [Problem::OpenRing, Problem::DegenerateRing, Problem::BadCoordinate]);
    assert_eq!(collected.problems[0].0, "f0");
    assert_eq!(collected.prisms()[0].polygons[0].len(), 1);
}

#[test]
fn what_has_no_area_is_told() {
    let line = Flat { lines: vec![square(139.0, 35.0, 0.1)], ..Flat::default() };
    assert_eq!(pour_one(line, What::Building).faults(), [Problem::UnusedGeometry]);
    assert_eq!(pour_one(Flat::default(), What::Building).faults(), [Problem::NoGeometry]);
    let point = Flat { has_others: true, ..Flat::default() };
    assert_eq!(pour_one(point, What::Building).faults(), [Problem::UnusedGeometry]);
}

#[test]
fn lines_become_ribbons_of_their_width() {
    let line = Flat { lines: vec![vec![[139.0, 35.0, 0.0], [139.001, 35.0, 0.0]]], ..Flat::default() };
    let collected = pour_one(line, What::Line(CoverKind::Road, 6.0));
    let [cover] = collected.covers()[..] else { panic!("{:?}", collected.items) };
    assert_eq!(cover.kind, CoverKind::Road);
    let [_, north, _, south] = bounds(&cover.polygons);
    let width_m = (south - north) * mercator::metres_per_voxel_at(south);
    assert!((width_m - 6.0).abs() < 0.01, "{width_m}");
}

#[test]
fn a_shape_across_the_antimeridian_stays_in_one_piece() {
    let ring = vec![[179.9, 0.0, 0.0], [-179.9, 0.0, 0.0], [-179.9, 0.1, 0.0], [179.9, 0.1, 0.0], [179.9, 0.0, 0.0]];
    let collected = pour_one(polygon(vec![ring]), What::Building);
    let [west, _, east, _] = bounds(&collected.prisms()[0].polygons);
    assert!(east - west < 20_000.0, "{west} {east}");
}

#[test]
fn only_what_is_wanted_and_chosen_is_poured() {
    let shapes = || {
        vec![
            (polygon(vec![square(139.0, 35.0, 0.01)]), What::Building),
            (polygon(vec![square(140.0, 36.0, 0.01)]), What::Cover(CoverKind::Water)),
        ]
    };
    let count = |layers: &[&str], wanted: &Wanted| {
        let layers = layers.iter().map(|&layer| layer.to_owned()).collect();
        let options = ReadOptions { layers, ..ReadOptions::default() };
        pour("OGC:CRS84", shapes(), &options, wanted).unwrap().items.len()
    };
    assert_eq!(count(&[], &Wanted::all()), 2);
    assert_eq!(count(&["water"], &Wanted::all()), 1);
    let [west, south] = LonLat::new(138.9, 34.9).unwrap().to_world();
    let [east, north] = LonLat::new(139.005, 35.005).unwrap().to_world();
    assert_eq!(count(&[], &Wanted { boxes: vec![[west, north, east, south]] }), 1);
}

#[test]
fn a_wrong_crs_is_an_error_with_a_guess() {
    let shapes = vec![(polygon(vec![square(-7986.66, -37967.8, 20.0)]), What::Building)];
    let [west, north] = LonLat::new(139.5, 36.0).unwrap().to_world();
    let [east, south] = LonLat::new(140.0, 35.5).unwrap().to_world();
    let wanted = Wanted { boxes: vec![[west, north, east, south]] };
    let error = pour("OGC:CRS84", shapes, &ReadOptions::default(), &wanted).unwrap_err().to_string();
    assert!(error.starts_with("a.file: ") && error.ends_with("it looks like EPSG:6677"), "{error}");
}

#[test]
fn one_bad_coordinate_among_good_ones_is_no_error() {
    let shapes = vec![
        (polygon(vec![square(500.0, 500.0, 1.0)]), What::Building),
        (polygon(vec![square(139.0, 35.0, 0.01)]), What::Building),
    ];
    let collected = pour("OGC:CRS84", shapes, &ReadOptions::default(), &Wanted::all()).unwrap();
    assert_eq!((collected.prisms().len(), collected.faults()), (1, vec![Problem::BadCoordinate]));
}
