//! `atlas-tools pyramid` as a user meets it.

use std::array::from_fn;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::mvt_writer::{TestFeature, tile};
use crate::common::{X, Y, json as json_of, path, put_city, put_tile, region, run, tree};
use crate::real_data::real_data;
use serde_json::{Value, json};
use voxatlas::atlas::{AtlasMetadata, Availability, Decoder, EncodedAtlas, Presence, Tileset, decode, encode};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{Region, down_sample};

fn tileset(dir: &Path) -> Tileset {
    let document = std::fs::read(dir.join("tiles.json")).expect("there is a document");
    Tileset::parse(&document, "tiles.json").expect("our documents are sound")
}

fn name(zoom: u8, dx: u32, dy: u32) -> String {
    // The city begins at a zoom 16 tile of X, Y.
    let at = |c: u32| if zoom == 17 { c * 2 } else { c >> (16 - zoom) };
    format!("{zoom}/{}/{}.png", at(X) + dx, at(Y) + dy)
}

/// The tileset of the synthetic city, 16 tiles and what stands higher, without a pyramid.
fn city(dir: &Path) -> PathBuf {
    let (input, out) = (dir.join("in"), dir.join("out"));
    put_city(&input);
    run(&["encode", path(&input), "--out", path(&out), "--attribution", "A. Cartographer", "--quiet"], 0);
    out
}

/// By zoom from 16 on: regions, and those that were kept.
fn counts(summary: &Value) -> Vec<[u64; 2]> {
    let zooms = summary["zooms"].as_array().expect("a list");
    zooms.iter().map(|zoom| [&zoom["regions"], &zoom["kept"]].map(|n| n.as_u64().expect("a number"))).collect()
}

#[test]
fn a_city_gets_its_coarser_zooms() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let before = tileset(&out);
    let (summary, _) = run(&["pyramid", path(&out), "--json"], 0);
    assert_eq!(counts(&json_of(&summary)), [[4, 0], [1, 0], [1, 0], [1, 0], [1, 0]]);

    let after = tileset(&out);
    assert_eq!((after.minzoom, after.maxzoom, after.bounds), (12, 17, before.bounds));
    let (was, is) = (Availability::of(&before).unwrap(), Availability::of(&after).unwrap());
    let files = tree(&out);
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "tiles.json") {
        let metadata = Decoder::new(bytes).unwrap().metadata().expect("our files have metadata");
        let key = metadata.key;
        assert_eq!((after.path_of(key).as_ref(), is.presence(key)), (Some(name), Presence::Present));
        assert_eq!((metadata.credit.as_str(), metadata.base), ("A. Cartographer", -32));
        assert_eq!(metadata.voxel_size_m, key.tile.metres_per_voxel());
        if key.tile.zoom() == 17 {
            assert_eq!(was.presence(key), Presence::Present);
            continue;
        }
        // What stands in two layers is one in the layer above.
        let children: Vec<Option<Region>> = key
            .children()
            .unwrap()
            .map(|child| {
                after.path_of(child).filter(|child| files.contains_key(child)).map(|child| region(&out, &child))
            })
            .into();
        let expected = down_sample(from_fn(|octant| children[octant].as_ref()));
        assert_eq!(region(&out, name).first_difference(&expected), None, "{name}");
    }
    // Nobody need ask for what is not there.
    for zoom in 12..17 {
        let tile = format!("{zoom}/0/0").parse().unwrap();
        assert!([0, 1].iter().all(|&layer| is.presence(RegionKey::new(tile, layer)) == Presence::Absent));
    }
    let (text, _) = run(&["validate", path(&out)], 0);
    assert!(text.contains("0 findings"), "{text}");
    let (text, _) = run(&["inspect", path(&out)], 0);
    assert!(text.contains("zooms     12 to 17") && text.contains("4 tiles of zoom 16, 1 tiles of zoom 15"), "{text}");
    let (text, _) = run(&["inspect", path(&out), "--json"], 0);
    assert_eq!(json_of(&text)["layers"][0]["zooms"][1], json!({ "zoom": 16, "tiles": 4 }));
    let (text, _) = run(&["inspect", path(&out.join(name(16, 0, 0))), "--json"], 0);
    assert_eq!(json_of(&text)["children"][0], format!("17/{}/{}", 2 * X, 2 * Y));
}

#[test]
fn jobs_and_ways_change_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let bare = tree(&out);
    run(&["pyramid", path(&out), "--jobs", "1", "--quiet"], 0);
    let whole = tree(&out);
    assert_eq!(run(&["pyramid", path(&out), "--jobs", "3", "--force", "--quiet"], 0), (String::new(), String::new()));
    assert_eq!(tree(&out), whole);
    let at_once = dir.path().join("at-once");
    let input = dir.path().join("in");
    let (summary, _) = run(
        &["encode", path(&input), "--out", path(&at_once), "--attribution", "A. Cartographer", "--pyramid", "--json"],
        0,
    );
    assert_eq!(counts(&json_of(&summary)["pyramid"]).len(), 5);
    assert_eq!(tree(&at_once), whole);
    // The finest zoom is not touched.
    for (name, bytes) in bare.iter().filter(|(name, _)| *name != "tiles.json") {
        assert!(whole[name] == *bytes, "{name}");
    }
}

#[test]
fn a_run_goes_on_where_another_ended() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let document = std::fs::read(out.join("tiles.json")).unwrap();
    run(&["pyramid", path(&out), "--quiet"], 0);
    let whole = tree(&out);

    // As an interrupted run leaves it, and with a file that was cut later.
    std::fs::write(out.join("tiles.json"), document).unwrap();
    for name in [name(16, 1, 0), name(13, 0, 0), name(12, 0, 0)] {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    let cut = out.join(name(14, 0, 0));
    let half = std::fs::metadata(&cut).unwrap().len() / 2;
    std::fs::File::options().write(true).open(&cut).unwrap().set_len(half).unwrap();
    let (summary, _) = run(&["pyramid", path(&out), "--json"], 0);
    assert_eq!(counts(&json_of(&summary)), [[4, 3], [1, 1], [1, 0], [1, 0], [1, 0]]);
    assert_eq!(tree(&out), whole);
    let (summary, _) = run(&["pyramid", path(&out), "--json"], 0);
    assert_eq!(counts(&json_of(&summary)), [[4, 4], [1, 1], [1, 1], [1, 1], [1, 1]]);

    // A tile is made anew, and another: what covers them is out of date, and made anew.
    let changed = out.join(name(17, 3, 3));
    let metadata = Decoder::new(&whole[&name(17, 3, 3)]).unwrap().metadata().unwrap();
    std::fs::write(&changed, encode(&Region::empty(), &metadata)).unwrap();
    let (text, _) = run(&["validate", path(&out)], 1);
    let child = format!("17/{}/{}", 2 * X + 3, 2 * Y + 3);
    assert!(text.contains(&format!("{}: is out of date: {child} has changed since", name(16, 1, 1))), "{text}");
    let (summary, _) = run(&["pyramid", path(&out), "--json"], 0);
    assert_eq!(counts(&json_of(&summary))[..2], [[4, 3], [1, 0]]);
    run(&["validate", path(&out)], 0);
    std::fs::write(&changed, &whole[&name(17, 3, 3)]).unwrap();
    run(&["pyramid", path(&out), "--quiet"], 0);
    assert_eq!(tree(&out), whole);
}

#[test]
fn fewer_zooms_leave_no_others_behind() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    run(&["pyramid", path(&out), "--quiet"], 0);
    // Somebody's own file, which only has such a name.
    let foreign = out.join("13/1/2.png");
    std::fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    std::fs::write(&foreign, b"mine").unwrap();
    let (summary, _) = run(&["pyramid", path(&out), "--min-zoom", "15", "--json"], 0);
    assert_eq!((counts(&json_of(&summary)).len(), &json_of(&summary)["removed"]), (2, &json!(3)));
    assert_eq!(tileset(&out).minzoom, 15);
    assert!(foreign.exists() && !out.join(name(14, 0, 0)).exists() && out.join(name(15, 0, 0)).exists());
    std::fs::remove_file(&foreign).unwrap();
    run(&["validate", path(&out)], 0);
}

#[test]
fn a_bad_file_costs_itself_alone() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let good = std::fs::read(out.join(name(17, 0, 0))).unwrap();
    for bad in [Some(&b""[..]), Some(b"<!DOCTYPE html>"), Some(&good[..good.len() / 2]), None] {
        let file = out.join(name(17, 0, 0));
        match bad {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        // It stays a failure until it is mended.
        for _ in 0..2 {
            let (summary, errors) = run(&["pyramid", path(&out), "--json"], 1);
            let failures = json_of(&summary)["failures"].as_array().unwrap().clone();
            assert_eq!(failures.len(), 1);
            assert!(failures[0].as_str().unwrap().starts_with(&name(17, 0, 0)) && errors.contains(&name(17, 0, 0)));
        }
        // It is air in what covers it, the others are there.
        let parent = region(&out, &name(16, 0, 0));
        assert!(!parent.occupancy.get(20, 10, 20) && parent.occupancy.get(200, 10, 20));
        assert_eq!(tileset(&out).minzoom, 12);
    }
    std::fs::write(out.join(name(17, 0, 0)), &good).unwrap();
    let (text, _) = run(&["validate", path(&out)], 1);
    assert!(text.contains("was made without 17/"), "{text}");
    run(&["pyramid", path(&out), "--quiet"], 0);
    run(&["validate", path(&out)], 0);
}

#[test]
fn validate_knows_what_a_pyramid_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    put_tile(&input, [16, X, Y], &tile("bldg", 4096, &[TestFeature::block(1, 20.0, 80, 160, 80)]));
    run(&["encode", path(&input), "--out", path(&out), "--pyramid", "--quiet"], 0);
    run(&["validate", path(&out)], 0);
    let document = std::fs::read_to_string(out.join("tiles.json")).unwrap();
    let mut value: Value = json_of(&document);

    // Zoom 14 is neither listed nor there, zoom 13 has nothing that it could be made of.
    let bitmaps = value["voxatlas"]["layers"][0]["availability"].as_array_mut().unwrap();
    bitmaps.retain(|bitmap| bitmap["zoom"] != 14);
    std::fs::write(out.join("tiles.json"), value.to_string()).unwrap();
    std::fs::remove_file(out.join(name(14, 0, 0))).unwrap();
    let (text, _) = run(&["validate", path(&out)], 1);
    for expected in [
        format!("{}: missing, though there are regions of zoom 15 in it, 1 of them", name(14, 0, 0)),
        format!("{}: covers nothing: there is no region of zoom 14 in it", name(13, 0, 0)),
        format!(
            "{}: was made of {}, which is not there any more",
            name(13, 0, 0),
            name(14, 0, 0).trim_end_matches(".png")
        ),
    ] {
        assert!(text.contains(&expected), "{text}\nexpected: {expected}");
    }
    // Both come back.
    run(&["pyramid", path(&out), "--quiet"], 0);
    run(&["validate", path(&out)], 0);
    assert_eq!(std::fs::read_to_string(out.join("tiles.json")).unwrap(), document);
}

#[test]
fn layers_below_the_ground_and_high_above_find_their_place() {
    let dir = tempfile::tempdir().unwrap();
    // Without a list of what there is: the files tell.
    let document = json!({
        "tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"],
        "voxatlas": { "format": 1, "base": -32, "datum": "the sea", "layers": [
            { "layer": -3, "tiles": ["{z}/{x}/{y}.l-3.png"] },
            { "layer": 0, "tiles": ["{z}/{x}/{y}.png"] },
            { "layer": 5, "tiles": ["{z}/{x}/{y}.l5.png"] },
        ] },
    });
    std::fs::write(dir.path().join("tiles.json"), document.to_string()).unwrap();
    let put = |name: &str, layer: i32| {
        let key = RegionKey::new("17/116415/51623".parse().unwrap(), layer);
        let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, encode(&Region::empty(), &metadata)).unwrap();
    };
    put("17/116415/51623.l-3.png", -3);
    put("17/116415/51623.l5.png", 5);
    run(&["pyramid", path(dir.path()), "--min-zoom", "14", "--quiet"], 0);
    let names: Vec<String> =
        tree(dir.path()).into_keys().filter(|name| name.starts_with("16") || name.starts_with("14")).collect();
    assert_eq!(
        names,
        ["14/14551/6452.l-1.png", "14/14551/6452.png", "16/58207/25811.l-2.png", "16/58207/25811.l2.png"]
    );
    let layers: Vec<_> = tileset(dir.path()).voxatlas.unwrap().layers.into_iter().map(|layer| layer.layer).collect();
    assert_eq!(layers, [-3, -2, -1, 0, 1, 2, 5]);
    run(&["validate", path(dir.path())], 0);
}

#[test]
fn wrong_usage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let check = |document: &str, args: &[&str], expected: &str| {
        std::fs::write(dir.path().join("tiles.json"), document).unwrap();
        let (_, errors) = run(&[&["pyramid", path(dir.path())], args].concat(), 2);
        assert!(errors.contains(expected), "{errors}\nexpected: {expected}");
    };
    let templates = |template: &str| json!({ "tilejson": "3.0.0", "tiles": [template] }).to_string();
    let plain = templates("{z}/{x}/{y}.png");
    check(&plain, &[], "there is no region of zoom 17");
    check(&plain, &["--min-zoom", "17"], "12..=16");
    check(&plain, &["--min-zoom", "11"], "12..=16");
    check("{}", &[], "no tileset document");
    put_tile(dir.path(), [17, 5, 6], b"");
    std::fs::rename(dir.path().join("17/5/6.pbf"), dir.path().join("17/5/6.png")).unwrap();
    let listed = |template: &str| {
        let availability = [json!({ "zoom": 17, "bounds": [5, 6, 5, 6], "bitmap": "AQ==" })];
        let layers = [json!({ "layer": 0, "tiles": [template], "availability": availability })];
        let object = json!({ "format": 1, "base": -32, "datum": "", "layers": layers });
        json!({ "tilejson": "3.0.0", "tiles": [template], "voxatlas": object }).to_string()
    };
    check(&listed("https://example.org/{z}/{x}/{y}.png"), &[], "outside of the tileset's folder");
    check(&listed("../{z}/{x}/{y}.png"), &[], "outside of the tileset's folder");
    check(&listed("/tmp/{z}/{x}/{y}.png"), &[], "outside of the tileset's folder");
    check(&listed("17_{x}_{y}.png"), &[], "has no place for a zoom");
    check(&listed("{z}/{x}/{y}.webp"), &[], "names no PNG files");
    let (_, errors) = run(&["pyramid", "/nowhere"], 2);
    assert!(errors.contains("/nowhere is no directory"), "{errors}");
    // A server is read from, and not written to.
    let (_, errors) = run(&["pyramid", "https://example.org/city"], 2);
    assert!(errors.contains("expected a folder, s3://, gs:// or az://"), "{errors}");
    std::fs::remove_file(dir.path().join("tiles.json")).unwrap();
    let (_, errors) = run(&["pyramid", path(dir.path())], 2);
    assert!(errors.contains("no tiles.json"), "{errors}");
}

/// The top of each column of a zoom, in z17 voxels above the base, by column and row of voxels; columns of air are not
/// entered.
fn tops(dir: &Path, zoom: u8) -> BTreeMap<[u32; 2], i64> {
    let mut tops = BTreeMap::new();
    for (name, bytes) in tree(&dir.join(zoom.to_string())) {
        let key = Decoder::new(&bytes).expect("our files decode").metadata().expect("our files have metadata").key;
        let region = decode(&EncodedAtlas::new(bytes)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (row_idx, row) in region.occupancy.rows().iter().enumerate() {
            let (y, z) = (row_idx as i64 % 256, row_idx as u32 / 256);
            let top = (i64::from(key.layer) * 256 + y + 1) << (17 - zoom);
            for (word_idx, &word) in row.iter().enumerate() {
                let mut rest = word;
                while rest != 0 {
                    let x = word_idx as u32 * 64 + rest.trailing_zeros();
                    let column = tops.entry([key.tile.x() * 256 + x, key.tile.y() * 256 + z]).or_insert(top);
                    *column = top.max(*column);
                    rest &= rest - 1;
                }
            }
        }
    }
    tops
}

#[test]
fn tokyo_is_neither_lifted_nor_lowered() {
    let Some(data) = real_data("atlas-tools: pyramid::tokyo_is_neither_lifted_nor_lowered") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (data.join("tokyo_plateau_mvt"), dir.path().join("out"));
    // Sixteen tiles, the tower and the densest one among them.
    run(&["encode", path(&input), "--out", path(&out), "--tiles", "15/29103/12905", "--pyramid", "--quiet"], 0);
    run(&["validate", path(&out)], 0);
    let fine = tops(&out, 17);
    assert_eq!(fine.len(), 1024 * 1024);
    for zoom in (12..17).rev() {
        let step = 17 - zoom;
        let coarse = tops(&out, zoom);
        // What any child alone would give: the highest of each coarse column, rounded up.
        let mut by_any_child = BTreeMap::<[u32; 2], i64>::new();
        for (column, top) in &fine {
            let highest = by_any_child.entry(column.map(|c| c >> step)).or_default();
            *highest = (*highest).max(((top + (1 << step) - 1) >> step) << step);
        }
        let bias_voxels = |tops: &BTreeMap<[u32; 2], i64>| {
            let differences = fine.iter().map(|(column, top)| tops[&column.map(|c| c >> step)] - top);
            differences.sum::<i64>() as f64 / fine.len() as f64 / f64::from(1 << step)
        };
        let [ours, any_child] = [&coarse, &by_any_child].map(bias_voxels);
        eprintln!("zoom {zoom}: {ours:+.3} voxels; any child alone {any_child:+.3}");
        assert!(ours.abs() <= 0.5, "zoom {zoom}: {ours}");
        assert!(any_child > 0.5, "zoom {zoom}: {any_child}: so this shows nothing");
        // The ground is where it was.
        assert!(coarse.values().all(|&top| top >= 32), "zoom {zoom}");
        let n_ground =
            fine.iter().filter(|&(column, &top)| top == 32 && coarse[&column.map(|c| c >> step)] == 32).count();
        assert!(n_ground > 10_000, "zoom {zoom}: {n_ground}");
    }
}
