//! The recipes of docs/encoding.md: each runs, its tileset is sound, and what stands there stands in the right place.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as their tests do")]

use std::path::{Path, PathBuf};

use voxatlas::geo::TileCoord;

use crate::common::{json, path, region, run};
use crate::real_data::real_data;

/// Encodes real data and checks what comes out; yields the summary.
fn encode(data: &Path, inputs: &[&str], flags: &[&str], out: &Path) -> serde_json::Value {
    let inputs: Vec<PathBuf> = inputs.iter().map(|input| data.join(input)).collect();
    let inputs: Vec<&str> = inputs.iter().map(|input| path(input)).collect();
    let (summary, _) = run(&[&["encode"], inputs.as_slice(), flags, &["--out", path(out), "--json"]].concat(), 0);
    run(&["validate", path(out), "--quiet"], 0);
    json(&summary)
}

/// The box of the tiles that a tileset lists: west, north, east, south.
fn tiles(out: &Path) -> [u32; 4] {
    let text = std::fs::read_to_string(out.join("tiles.json")).unwrap();
    let document = json(&text);
    let layers = document["voxatlas"]["layers"].as_array().unwrap();
    // Layer 0 is always listed, also where nothing is in it.
    let layers = layers.iter().filter(|layer| layer["bounds"].is_array());
    let bounds = layers.flat_map(|layer| layer["availability"].as_array().unwrap()).map(|zoom| {
        let bounds: Vec<u32> =
            zoom["bounds"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as u32).collect();
        [bounds[0], bounds[1], bounds[2], bounds[3]]
    });
    bounds.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]).unwrap()
}

/// The highest voxel of a tile, in metres above the datum.
fn top_m(out: &Path, tile: &str, layer: i32) -> f64 {
    let suffix = if layer == 0 { String::new() } else { format!(".l{layer}") };
    let region = region(out, &format!("{tile}{suffix}.png"));
    let highest = (0..256u32).rev().find(|&y| (0..256).any(|z| *region.occupancy.row(y, z) != [0; 4])).unwrap();
    let voxel_m = tile.parse::<TileCoord>().unwrap().metres_per_voxel();
    f64::from(highest as i32 + 1 - 32 + 256 * layer) * voxel_m
}

#[test]
fn yokosuka_from_citygml() {
    let Some(data) = real_data("recipes::yokosuka_from_citygml") else { return };
    let dir = tempfile::tempdir().unwrap();
    let summary = encode(&data, &["plateau_citygml/52397519_bldg_6697_op.gml"], &["--fill", "--ids"], dir.path());
    assert_eq!(summary["features"], 13);
    assert_eq!(tiles(dir.path()), [116_412, 51_800, 116_413, 51_802]);
    let highest = (116_412..=116_413)
        .flat_map(|x| (51_800..=51_802).map(move |y| format!("17/{x}/{y}")))
        .map(|tile| top_m(dir.path(), &tile, 0))
        .fold(0.0, f64::max);
    // The source says 21.73 m; a voxel is 0.97 m.
    assert!((21.7..23.0).contains(&highest), "{highest}");
}

#[test]
fn yokosuka_terrain_from_a_tin() {
    let Some(data) = real_data("recipes::yokosuka_terrain_from_a_tin") else { return };
    let dir = tempfile::tempdir().unwrap();
    encode(&data, &["plateau_citygml/523965_dem_6697_05_op.gml"], &[], dir.path());
    let [west, north, east, south] = tiles(dir.path());
    assert!(west >= 116_394 && north >= 51_824 && east <= 116_399 && south <= 51_830, "{west} {north} {east} {south}");
    let tiles = (west..=east).flat_map(|x| (north..=south).map(move |y| format!("17/{x}/{y}")));
    let there = tiles.filter(|tile| dir.path().join(format!("{tile}.png")).is_file());
    let highest = there.map(|tile| top_m(dir.path(), &tile, 0)).fold(f64::MIN, f64::max);
    assert!((23.5..25.0).contains(&highest), "the source says 24.2 m: {highest}");
}

#[test]
fn delft_and_3dbag_from_cityjson() {
    let Some(data) = real_data("recipes::delft_and_3dbag_from_cityjson") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (delft, bag) = (dir.path().join("delft"), dir.path().join("3dbag"));
    let summary = encode(&data, &["cityjson_cjio/delft.json"], &[], &delft);
    assert!(summary["features"].as_u64().unwrap() >= 300, "{summary}");
    // The buildings; land and water go on beyond them.
    let [west, north, east, south] = tiles(&delft);
    assert!(
        west <= 67_124 && north <= 43_286 && east >= 67_126 && south >= 43_288 && east - west < 6 && south - north < 6
    );
    encode(&data, &["cityjsonseq_3dbag/3dbag_b2.city.jsonl"], &[], &bag);
    assert_eq!(tiles(&bag), [67_126, 43_293, 67_126, 43_293]);
    let highest = top_m(&bag, "17/67126/43293", 0);
    assert!((13.0..14.7).contains(&highest), "the source says 13.1 m: {highest}");
    // Without a CRS there is no place.
    let rotterdam = data.join("cityjson_cjio/rotterdam_subset.json");
    let (_, errors) = run(&["encode", path(&rotterdam), "--out", path(&delft)], 2);
    assert!(errors.contains("rotterdam_subset.json") && errors.contains("--crs"), "{errors}");
}

#[test]
fn nirayama_and_autzen_from_points() {
    let Some(data) = real_data("recipes::nirayama_and_autzen_from_points") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (nirayama, autzen) = (dir.path().join("nirayama"), dir.path().join("autzen"));
    let summary = encode(&data, &["pointcloud_jp/nirayama.las"], &["--crs", "EPSG:6676"], &nirayama);
    assert_eq!(summary["points"], 105_106);
    assert_eq!(tiles(&nirayama), [116_130, 51_899, 116_130, 51_899]);
    let summary = encode(&data, &["pointcloud/autzen_trim.laz"], &[], &autzen);
    assert_eq!(summary["points"], 110_000);
    assert_eq!(tiles(&autzen), [20_726, 47_634, 20_727, 47_635]);
    let (_, errors) = run(&["encode", path(&data.join("pointcloud_jp/nirayama.las")), "--out", path(&nirayama)], 2);
    assert!(errors.contains("no CRS"), "{errors}");
}

#[test]
fn fuji_and_gsi_from_images_of_elevations() {
    let Some(data) = real_data("recipes::fuji_and_gsi_from_images_of_elevations") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (fuji, gsi) = (dir.path().join("fuji"), dir.path().join("gsi"));
    let place = ["--tile", "10/906/404", "--terrain-encoding", "mapbox", "--bbox", "138.7262,35.3580,138.7330,35.3635"];
    encode(&data, &["dem_tiles/fuji.png"], &place, &fuji);
    // The summit, 3,776 m; the image has 3,751 m.
    let [west, north, east, south] = tiles(&fuji);
    let keys = (west..=east).flat_map(|x| (north..=south).map(move |y| format!("17/{x}/{y}")));
    let layers = keys.flat_map(|tile| (10..20).map(move |layer| (tile.clone(), layer)));
    let there = layers.filter(|(tile, layer)| fuji.join(format!("{tile}.l{layer}.png")).is_file());
    let highest = there.map(|(tile, layer)| top_m(&fuji, &tile, layer)).fold(0.0, f64::max);
    assert!((3_700.0..3_753.0).contains(&highest), "{highest}");
    encode(&data, &["dem_tiles/gsi-dem-z8-x229-y94.png"], &["--tiles", "17/117500/48300"], &gsi);
    assert_eq!(tiles(&gsi), [117_500, 48_300, 117_500, 48_300]);
}

#[test]
fn a_model_stands_where_it_is_told_to() {
    let Some(data) = real_data("recipes::a_model_stands_where_it_is_told_to") else { return };
    let dir = tempfile::tempdir().unwrap();
    let summary =
        encode(&data, &["gltf/VirtualCity.glb"], &["--at", "139.7454,35.6586", "--without", "skbox"], dir.path());
    assert!(summary["features"].as_u64().unwrap() > 100, "{summary}");
    let [west, north, east, south] = tiles(dir.path());
    // 166 m wide round the tower: it meets the tower's tile and the one beside it.
    assert!(west <= 116_415 && east >= 116_415 && north <= 51_623 && south >= 51_623 && east - west <= 1);
    let (_, errors) = run(&["encode", path(&data.join("gltf/VirtualCity.glb")), "--out", path(dir.path())], 2);
    assert!(errors.contains("--at LON,LAT"), "{errors}");
}

#[test]
fn buildings_stand_on_the_terrain_with_points_on_top() {
    let Some(data) = real_data("recipes::buildings_stand_on_the_terrain_with_points_on_top") else { return };
    let dir = tempfile::tempdir().unwrap();
    // A house of ten metres on the slope of Fuji.
    let house = dir.path().join("house.geojson");
    let ring = "[[138.7400,35.3600],[138.7403,35.3600],[138.7403,35.3602],[138.7400,35.3602],[138.7400,35.3600]]";
    std::fs::write(
        &house,
        format!(
            "{{\"type\":\"FeatureCollection\",\"features\":[{{\"type\":\"Feature\",\"id\":1,\"properties\":{{\"height\":\"10 m\"}},\
             \"geometry\":{{\"type\":\"Polygon\",\"coordinates\":[{ring}]}}}}]}}"
        ),
    )
    .unwrap();
    let (bare, built) = (dir.path().join("bare"), dir.path().join("built"));
    let fuji = data.join("dem_tiles/fuji.png");
    let flags = ["--tile", "10/906/404", "--terrain-encoding", "mapbox", "--bbox", "138.7401,35.3601,138.7402,35.3601"];
    run(&[&["encode", path(&fuji), "--out", path(&bare), "--quiet"], flags.as_slice()].concat(), 0);
    run(&[&["encode", path(&fuji), path(&house), "--out", path(&built), "--quiet"], flags.as_slice()].concat(), 0);
    let (text, _) = run(&["diff", path(&bare), path(&built), "--json"], 1);
    let n_different = json(&text)["voxels"]["only_in_b"].as_u64().unwrap_or_default();
    // 27 m x 22 m, less what the slope has buried; a voxel is 0.97 m.
    assert!((600..8_000).contains(&n_different), "{text}");
}
