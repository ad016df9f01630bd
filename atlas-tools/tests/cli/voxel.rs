//! `atlas-tools inspect --voxel`, and the files of attributes beside the atlases.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as their tests do")]

use std::path::{Path, PathBuf};

use atlas_tools::attributes_file::{AttributesFile, FeatureAttributes};
use serde_json::{Value, json};
use voxatlas::atlas::{AtlasMetadata, EncodeOptions, FeatureIds, encode_with};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

use crate::common::run;

const TILE: &str = "17/116415/51623";

fn text(path: &Path) -> &str {
    path.to_str().expect("test folders are UTF-8")
}

/// A tileset of one tile in two layers: ground, and a house that is feature 1 of two.
fn tileset(dir: &Path) -> PathBuf {
    let out = dir.join("city");
    std::fs::create_dir_all(out.join("17/116415")).unwrap();
    for layer in 0..2 {
        let mut occupancy = Occupancy::empty();
        for (x, z) in (0..256).flat_map(|x| (0..256).map(move |z| (x, z))) {
            let is_house = x < 20 && z < 30;
            (0..32).for_each(|y| occupancy.set(x, y, z, is_house || layer == 0));
        }
        let region = Region::paint(occupancy, ColourDepth::Direct, |_, _, _| 0x00_33_22_11);
        let ids = FeatureIds::of(&region.occupancy, |x, y, z| (x < 20 && z < 30 && (layer > 0 || y > 9)).then_some(1));
        let key = RegionKey::new(TILE.parse().unwrap(), layer);
        let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
        let file = encode_with(&region, &metadata, EncodeOptions { ids: Some(&ids), ..EncodeOptions::default() });
        let suffix = if layer == 0 { String::new() } else { format!(".l{layer}") };
        std::fs::write(out.join(format!("{TILE}{suffix}.png")), file).unwrap();
    }
    let house = vec![("usage".to_owned(), json!("office")), ("storeys".to_owned(), json!(12))];
    let features = vec![
        FeatureAttributes { id: "shed".to_owned(), attributes: Vec::new() },
        FeatureAttributes { id: "house-7".to_owned(), attributes: house },
    ];
    let attributes = AttributesFile { features }.to_json("attributes").unwrap();
    std::fs::write(out.join(format!("{TILE}.attrs.json")), attributes).unwrap();
    let document = json!({
        "tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "minzoom": 17, "maxzoom": 17,
        "voxatlas": { "format": 1, "base": -32, "datum": "the ground", "layers": [
            { "layer": 0, "tiles": ["{z}/{x}/{y}.png"] }, { "layer": 1, "tiles": ["{z}/{x}/{y}.l1.png"] },
        ]},
    });
    std::fs::write(out.join("tiles.json"), document.to_string()).unwrap();
    out
}

fn ask(args: &[&str], code: i32) -> Value {
    let (out, _) = run(&[&["inspect", "--json"], args].concat(), code);
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_voxel_has_a_colour_a_feature_and_its_attributes() {
    let dir = tempfile::tempdir().unwrap();
    let city = tileset(dir.path());
    let file = city.join(format!("{TILE}.png"));
    let (out, _) = run(&["inspect", text(&file), "--voxel", "19,31,29"], 0);
    for expected in ["#112233", "house-7 (number 1)", "usage: office", "storeys: 12"] {
        assert!(out.contains(expected), "{out}\nexpected: {expected}");
    }
    let layer = city.join(format!("{TILE}.l1.png"));
    for args in [
        &[text(&file), "--voxel", "19,31,29"][..],
        &[text(&layer), "--voxel", "0,0,0"],
        &[text(&city), "--tile", TILE, "--voxel", "19,31,29"],
        &[text(&city), "--tile", TILE, "--layer", "1", "--voxel", "0,0,0"],
    ] {
        let answer = ask(args, 0);
        assert_eq!((&answer["occupied"], &answer["colour"]), (&json!(true), &json!([17, 34, 51])), "{answer}");
        assert_eq!((&answer["feature"], &answer["id"]), (&json!(1), &json!("house-7")), "{answer}");
        assert_eq!(answer["attributes"], json!({"usage": "office", "storeys": 12}));
    }
    let ground = ask(&[text(&file), "--voxel", "20,31,29"], 0);
    assert_eq!(
        (&ground["occupied"], &ground["has_ids"], &ground["feature"]),
        (&json!(true), &json!(true), &Value::Null)
    );
    let air = ask(&[text(&file), "--voxel", "19,32,29"], 0);
    assert_eq!((&air["occupied"], &air["colour"]), (&json!(false), &Value::Null));
    let elsewhere = ask(&[text(&city), "--tile", "17/1/2", "--voxel", "1,2,3"], 0);
    assert_eq!(elsewhere["occupied"], json!(false));
}

#[test]
fn what_cannot_be_answered_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let city = tileset(dir.path());
    let file = city.join(format!("{TILE}.png"));
    let (_, error) = run(&["inspect", text(&city), "--voxel", "1,2,3"], 2);
    assert!(error.contains("--tile"), "{error}");
    for voxel in ["256,0,0", "1,2", "1,2,3,4", "a,b,c", "-1,0,0"] {
        let (_, error) = run(&["inspect", text(&file), &format!("--voxel={voxel}")], 2);
        assert!(error.contains("expected x,y,z, each from 0 to 255"), "{error}");
    }
    let attributes = city.join(format!("{TILE}.attrs.json"));
    std::fs::write(&attributes, "{\"features\": [\n]}\n").unwrap();
    let answer = ask(&[text(&file), "--voxel", "0,31,0"], 1);
    assert_eq!((&answer["feature"], &answer["id"]), (&json!(1), &Value::Null));
    assert!(answer["findings"][0].as_str().unwrap().contains("0 features"), "{answer}");
    std::fs::write(&attributes, "[]").unwrap();
    let (_, error) = run(&["inspect", text(&file), "--voxel", "0,31,0"], 2);
    assert!(error.contains("attrs.json"), "{error}");
}

#[test]
fn attributes_belong_to_a_tileset_and_stay_out_of_archives() {
    let dir = tempfile::tempdir().unwrap();
    let city = tileset(dir.path());
    let (out, _) = run(&["validate", text(&city)], 0);
    assert!(out.contains("2 files checked"), "{out}");
    let archive = dir.path().join("city.pmtiles");
    let (out, _) = run(&["pack", text(&city), text(&archive)], 0);
    assert!(out.contains("1 files of attributes stay in the folder"), "{out}");
    let answer = ask(&[text(&archive), "--tile", TILE, "--voxel", "0,31,0"], 0);
    assert_eq!((&answer["feature"], &answer["id"]), (&json!(1), &Value::Null));

    std::fs::remove_file(city.join(format!("{TILE}.attrs.json"))).unwrap();
    let (out, _) = run(&["validate", text(&city)], 1);
    assert!(out.contains("tells of 2 features, and there is no 17/116415/51623.attrs.json"), "{out}");
}
