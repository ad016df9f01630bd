//! What people have reported of programs like ours, as it must go here: docs/testing.md lists the reports and their tests.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as their tests do")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use voxatlas::atlas::Tileset;
use voxatlas::geo::{LonLat, TileCoord};
use voxatlas::limits::ZOOM_FULL;

use crate::common::{demo, path, region, run, tree};

/// A square in degrees round a place, closed.
fn square(lon_deg: f64, lat_deg: f64, half_deg: f64) -> Vec<[f64; 2]> {
    let corner = |x: f64, y: f64| [lon_deg + x * half_deg, lat_deg + y * half_deg];
    vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0)]
}

/// A feature with one polygon.
fn feature(rings: &[Vec<[f64; 2]>], properties: &Value) -> Value {
    json!({ "type": "Feature", "properties": properties, "geometry": { "type": "Polygon", "coordinates": rings } })
}

/// Writes a GeoJSON file.
fn put(dir: &Path, name: &str, features: &[Value]) -> PathBuf {
    let file = dir.join(name);
    std::fs::write(&file, json!({ "type": "FeatureCollection", "features": features }).to_string()).unwrap();
    file
}

/// Encodes a file into a folder of the same folder; the folder and the summary.
fn encode(file: &Path, name: &str, flags: &[&str]) -> (PathBuf, Value) {
    let out = file.with_file_name(name);
    let (summary, _) = run(&[&["encode", path(file), "--out", path(&out), "--json"], flags].concat(), 0);
    (out, crate::common::json(&summary))
}

/// The first voxel of air above a place, in voxels above the datum.
fn top(out: &Path, lon_deg: f64, lat_deg: f64) -> u32 {
    let [x, z] = LonLat::new(lon_deg, lat_deg).unwrap().to_world();
    let (tile_x, tile_y) = ((x / 256.0) as u32, (z / 256.0) as u32);
    let region = region(out, &format!("17/{tile_x}/{tile_y}.png"));
    let (x, z) = (x as u32 % 256, z as u32 % 256);
    (0..256).rev().find(|&y| region.occupancy.get(x, y, z)).map_or(0, |y| y + 1) - 32
}

/// What a height in metres comes to at a latitude.
fn voxels(height_m: f64, lat_deg: f64) -> u32 {
    let [x, z] = LonLat::new(0.0, lat_deg).unwrap().to_world();
    let tile = TileCoord::new(ZOOM_FULL, (x / 256.0) as u32, (z / 256.0) as u32).unwrap();
    (height_m / tile.metres_per_voxel()).round() as u32
}

// CesiumGS/cesium#10111, #9875: a colour profile in a file makes browsers and tools change its bytes.
#[test]
fn no_file_of_ours_names_a_colour_space() {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "city.geojson", &[feature(&[square(9.0, 50.0, 5e-4)], &json!({ "height": 20 }))]);
    let (out, _) = encode(&file, "city", &["--ids", "--pyramid"]);
    let known = ["IHDR", "PLTE", "tRNS", "vxMD", "vxOC", "vxID", "vxPY", "IDAT", "IEND"];
    let mut n_files = 0;
    for (name, bytes) in tree(&out).iter().chain(&tree(&demo())).filter(|(name, _)| !name.ends_with("json")) {
        let mut at = 8;
        while at < bytes.len() {
            let n_bytes = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            let chunk = std::str::from_utf8(&bytes[at + 4..at + 8]).unwrap();
            assert!(known.contains(&chunk), "{name} has a chunk {chunk}");
            at += 12 + n_bytes;
        }
        n_files += 1;
    }
    assert!(n_files > 8, "{n_files}");
}

// mapbox/tilebelt#27, MilesMcBain/slippymath#6: longitude 180 and what lies beyond.
#[test]
fn a_house_across_the_antimeridian_stands_on_both_sides() {
    let dir = tempfile::tempdir().unwrap();
    let house = square(180.0, -17.0, 5e-4);
    let file = put(dir.path(), "city.geojson", &[feature(&[house], &json!({ "height": 20 }))]);
    let (out, summary) = encode(&file, "city", &["--pyramid"]);
    assert_eq!((&summary["tiles"], &summary["features"]), (&2.into(), &1.into()));
    for lon_deg in [179.9998, -179.9998] {
        assert_eq!(top(&out, lon_deg, -17.0), voxels(20.0, -17.0), "{lon_deg}");
    }
    run(&["validate", path(&out), "--quiet"], 0);
    // The same house, asked for by a box whose west lies east of its east, and written with the other signs.
    let other = square(-180.0, -17.0, 5e-4);
    let file = put(dir.path(), "other.geojson", &[feature(&[other], &json!({ "height": 20 }))]);
    let (boxed, summary) = encode(&file, "boxed", &["--bbox", "179.999,-17.0005,-179.999,-16.9995"]);
    assert_eq!(summary["tiles"], 2);
    let names = |out: &Path| tree(out).into_keys().filter(|name| name.starts_with("17/")).collect::<Vec<_>>();
    assert_eq!(names(&boxed), names(&out));
    // The document's box is as small as the city is.
    let tileset = Tileset::parse(&std::fs::read(out.join("tiles.json")).unwrap(), "tiles.json").unwrap();
    let [west, _, east, _] = tileset.bounds.unwrap();
    assert!(west > 179.99 && east < -179.99, "{west} {east}");
}

// mapbox/tilebelt#27: rows beyond the last.
#[test]
fn beyond_the_last_row_there_is_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let houses = [feature(&[square(10.0, 86.0, 5e-4)], &json!({ "height": 20 }))];
    let file = put(dir.path(), "pole.geojson", &houses);
    let (_, errors) = run(&["encode", path(&file), "--out", path(&dir.path().join("out"))], 2);
    assert!(errors.contains("nothing that can be encoded"), "{errors}");
    // One that is cut by the last row is there up to it.
    let houses = [feature(&[square(10.0, 85.051, 2e-4)], &json!({ "height": 20 }))];
    let (out, summary) = encode(&put(dir.path(), "edge.geojson", &houses), "edge", &[]);
    assert!(summary["tiles"].as_u64() <= Some(2), "{summary}");
    assert_eq!(top(&out, 10.0, 85.051), voxels(20.0, 85.051));
    run(&["validate", path(&out), "--quiet"], 0);
}

// qgis/QGIS#45151 and MIERUNE/plateau-gis-converter#76: y before x.
#[test]
fn axes_in_the_wrong_order_miss_the_box_and_an_option_mends_them() {
    let dir = tempfile::tempdir().unwrap();
    // Tokyo Tower in EPSG:6677, and the same with y first.
    let ring = square(-7_987.0, -37_968.0, 20.0);
    let swapped = ring.iter().map(|&[x, y]| [y, x]).collect();
    let straight = put(dir.path(), "city.geojson", &[feature(&[ring], &json!({ "height": 20 }))]);
    let swapped = put(dir.path(), "swapped.geojson", &[feature(&[swapped], &json!({ "height": 20 }))]);
    let tokyo = ["--crs", "EPSG:6677", "--bbox", "139.745,35.658,139.746,35.659"];
    let (out, _) = encode(&straight, "straight", &tokyo);
    let refused = dir.path().join("refused");
    let (_, errors) = run(&[&["encode", path(&swapped), "--out", path(&refused)], &tokyo[..]].concat(), 2);
    assert!(errors.contains("holds nothing in 139.745,35.658") && errors.contains("it covers 139.4"), "{errors}");
    let (mended, _) = encode(&swapped, "mended", &[&tokyo[..], &["--axis", "yx"]].concat());
    let picture = |out: &Path| region(out, "17/116415/51623.png").occupancy;
    assert!(picture(&mended) == picture(&out));
}

// MIERUNE/plateau-gis-converter#699: nobody could tell what heights counted from.
#[test]
fn inspect_says_what_heights_count_from() {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "city.geojson", &[feature(&[square(9.0, 50.0, 5e-4)], &json!({ "height": 20 }))]);
    let (out, _) = encode(&file, "city", &[]);
    let (text, _) = run(&["inspect", path(&out)], 0);
    assert!(text.contains("heights   from each building's own ground (flat)"), "{text}");
}

// MIERUNE/point-tiler#80: a panic over an invalid latitude.
#[test]
fn absurd_coordinates_cost_their_feature_alone() {
    let dir = tempfile::tempdir().unwrap();
    let absurd = [[1e300, 20.0], [10.0, -1e300], [10.0, 1e9], [f64::MAX, f64::MIN]];
    let absurd = absurd.map(|[lon_deg, lat_deg]| feature(&[square(lon_deg, lat_deg, 5e-4)], &json!({ "height": 20 })));
    let house = feature(&[square(10.0, 20.0, 5e-4)], &json!({ "height": 20 }));
    let high = feature(&[square(10.001, 20.0, 2e-4)], &json!({ "height": 1e300 }));
    let file = put(dir.path(), "city.geojson", &[&absurd[..], &[house, high]].concat());
    let (out, summary) = encode(&file, "city", &[]);
    assert_eq!(
        (&summary["features"], &summary["problems"]["by_kind"]["bad-coordinate"]["count"]),
        (&2.into(), &4.into())
    );
    assert_eq!(top(&out, 10.0, 20.0), voxels(20.0, 20.0));
    // Where nothing has a place, it is the CRS that is wrong.
    let file = put(dir.path(), "absurd.geojson", &absurd);
    let (_, errors) = run(&["encode", path(&file), "--out", path(&dir.path().join("out"))], 2);
    assert!(errors.contains("lie nowhere on the globe") && errors.contains("--crs"), "{errors}");
}

// mapbox/mapbox-gl-js#8821, #3385: the same house is higher in Helsinki than in Kampala.
#[test]
fn a_house_is_as_high_at_any_latitude() {
    let dir = tempfile::tempdir().unwrap();
    for (lon_deg, lat_deg, name) in [(32.58, 0.3, "kampala"), (24.94, 60.17, "helsinki"), (18.07, -33.9, "cape")] {
        let house = feature(&[square(lon_deg, lat_deg, 2e-4)], &json!({ "height": 100 }));
        let file = put(dir.path(), &format!("{name}.geojson"), &[house]);
        let (out, _) = encode(&file, name, &[]);
        let [x, z] = LonLat::new(lon_deg, lat_deg).unwrap().to_world();
        let tile = TileCoord::new(ZOOM_FULL, (x / 256.0) as u32, (z / 256.0) as u32).unwrap();
        let height_m = f64::from(top(&out, lon_deg, lat_deg)) * tile.metres_per_voxel();
        assert!((height_m - 100.0).abs() <= tile.metres_per_voxel() / 2.0, "{name}: {height_m}");
    }
}

// cityjson/cjio#147, #192: one bad ring stops the batch. Kekscom/osmbuildings#81, mapbox-gl-js#4506: heights that are none.
#[test]
fn bad_rings_and_heights_are_counted_and_the_rest_stands() {
    let dir = tempfile::tempdir().unwrap();
    let at = |dx: f64, dy: f64| [9.0 + dx * 1e-4, 50.0 + dy * 1e-4];
    let house = |dx: f64, dy: f64| square(at(dx, dy)[0], at(dx, dy)[1], 1e-4);
    let tall = |rings: &[Vec<[f64; 2]>]| feature(rings, &json!({ "height": 30 }));
    let bow_tie = vec![at(-1.0, -1.0), at(1.0, 1.0), at(1.0, -1.0), at(-1.0, 1.0), at(-1.0, -1.0)];
    let mut open = house(4.0, 0.0);
    open.pop();
    let twice: Vec<_> = house(8.0, 0.0).into_iter().flat_map(|point| [point, point]).collect();
    let flat = vec![at(12.0, 0.0), at(13.0, 0.0), at(12.0, 0.0)];
    let court = square(at(0.0, 4.0)[0], at(0.0, 4.0)[1], 4e-5);
    let mut features = vec![
        tall(&[bow_tie]),
        tall(&[open]),
        tall(&[twice]),
        tall(&[flat]),
        tall(&[house(0.0, 4.0), court]),
        tall(&[]),
        json!({ "type": "Feature", "properties": {}, "geometry": null }),
    ];
    // What is written of a height, and what it comes to; storeys are 3 m each.
    let heights = [
        (json!({ "height": "12 m" }), 12.0),
        (json!({ "height": "40'" }), 12.192),
        (json!({ "height": "12,5" }), 12.5),
        (json!({ "building:levels": "5" }), 15.0),
        (json!({}), 3.0),
        (json!({ "height": null }), 3.0),
        (json!({ "height": 0 }), 3.0),
        (json!({ "height": -3.42 }), 3.0),
    ];
    let places = (0..).map(|nth| (f64::from(nth) * 3.0, -8.0));
    features.extend(heights.iter().zip(places.clone()).map(|((text, _), (dx, dy))| feature(&[house(dx, dy)], text)));
    let file = put(dir.path(), "city.geojson", &features);
    let (out, summary) = encode(&file, "city", &[]);

    let count = |kind: &str| summary["problems"]["by_kind"][kind]["count"].clone();
    for kind in ["crossing-ring", "open-ring", "duplicate-points", "degenerate-ring"] {
        assert_eq!(count(kind), 1, "{kind}: {summary}");
    }
    assert_eq!(summary["fallbacks"], json!({ "missing": 2, "zero": 1, "negative": 1 }));
    let top_at = |dx: f64, dy: f64| top(&out, at(dx, dy)[0], at(dx, dy)[1]);
    let full = voxels(30.0, 50.0);
    assert_eq!([top_at(-0.7, 0.0), top_at(0.7, 0.0), top_at(4.0, 0.0), top_at(8.0, 0.0)], [full; 4]);
    // The wings of the tie stand and what lies between them does not; a court is open.
    assert_eq!([top_at(0.0, 0.7), top_at(12.5, 0.0), top_at(0.0, 4.0)], [0; 3]);
    assert_eq!(top_at(0.7, 4.0), full);
    for ((text, height_m), (dx, dy)) in heights.iter().zip(places) {
        assert_eq!(top_at(dx, dy), voxels(*height_m, 50.0), "{text}");
    }
    let (text, _) = run(&["encode", path(&file), "--out", path(&out)], 0);
    assert!(text.contains("4 heights became 3 m: 2 missing, 1 zero, 1 negative"), "{text}");
    assert!(text.contains("tolerated 1 x ring that crosses itself"), "{text}");
}

// citygml4j/citygml-tools#18: a city that does not fit into memory.
#[test]
fn memory_that_is_short_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let houses = (0..6).map(|nth| feature(&[square(9.0 + f64::from(nth) * 1e-3, 50.0, 2e-4)], &json!({ "height": 9 })));
    let file = put(dir.path(), "city.geojson", &houses.collect::<Vec<_>>());
    let (roomy, _) = encode(&file, "roomy", &["--jobs", "2"]);
    let scratch = dir.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let (short, _) = encode(&file, "short", &["--max-memory", "1MiB", "--scratch", path(&scratch)]);
    assert_eq!(tree(&short), tree(&roomy));
    assert!(tree(&scratch).is_empty(), "what was kept while reading is removed");
}
