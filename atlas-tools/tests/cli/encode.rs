//! `atlas-tools encode` as a user meets it.

use std::path::Path;

use crate::common::mvt_writer::{TestFeature, tile};
use crate::common::{X, Y, json, path, put_city, put_tile, region, run, tree};
use crate::real_data::real_data;
use voxatlas::atlas::{Availability, Decoder, Presence, Tileset};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_region};
use voxatlas::voxel::{Occupancy, Region};

/// The highest occupied voxel of a column.
fn top(region: &Region, x: u32, z: u32) -> Option<u32> {
    (0..256).rev().find(|&y| region.occupancy.get(x, y, z))
}

#[test]
fn a_city_becomes_a_tileset() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    put_city(&input);
    let (summary, _) = run(
        &["encode", path(&input), "--out", path(&out), "--attribution", "A. Cartographer (CC BY 4.0)", "--json"],
        0,
    );
    let summary = json(&summary);
    assert_eq!(summary["tiles"], 16);
    assert_eq!(summary["features"], 96);
    assert!(summary["feature_copies"].as_u64() > Some(96), "copies across the borders");
    assert_eq!(summary["voxels_clipped"], 0);

    let tileset = Tileset::parse(&std::fs::read(out.join("tiles.json")).unwrap(), "tiles.json").unwrap();
    assert_eq!(tileset.attribution.as_deref(), Some("A. Cartographer (CC BY 4.0)"));
    assert_eq!((tileset.base(), tileset.minzoom, tileset.maxzoom), (-32, 17, 17));
    let availability = Availability::of(&tileset).unwrap();
    assert_eq!(availability.layers().collect::<Vec<_>>(), [0, 1]);
    let files = tree(&out);
    let mut n_bytes = 0;
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "tiles.json") {
        let metadata = Decoder::new(bytes).unwrap().metadata().expect("our files have metadata");
        assert_eq!(tileset.path_of(metadata.key).as_ref(), Some(name));
        assert_eq!(availability.presence(metadata.key), Presence::Present);
        assert_eq!(metadata.credit, "A. Cartographer (CC BY 4.0)");
        assert_eq!(metadata.voxel_size_m, metadata.key.tile.metres_per_voxel());
        n_bytes += bytes.len();
    }
    assert_eq!(summary["files"], files.len() - 1);
    assert_eq!(summary["bytes"], n_bytes);
    let outside = TileCoord::new(17, 2 * X + 4, 2 * Y).unwrap();
    assert_eq!(availability.presence(RegionKey::new(outside, 0)), Presence::Absent);
    run(&["validate", path(&out)], 0);
}

#[test]
fn voxels_stand_where_the_features_are() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    let voxel_m = TileCoord::new(17, 2 * X, 2 * Y).unwrap().metres_per_voxel();
    // Eight units a voxel: from voxel 10 to 20, 250 voxels high; and one of no height.
    let features = [
        TestFeature::block(1, 250.0 * voxel_m, 80, 160, 80),
        TestFeature { height_m: None, ..TestFeature::block(2, 0.0, 800, 800, 8) },
        TestFeature::block(3, 0.0, 880, 800, 8),
        TestFeature::block(4, -3.42, 960, 800, 8),
    ];
    put_tile(&input, [16, X, Y], &tile("bldg", 4096, &features));
    let (summary, _) = run(&["encode", path(&input), "--out", path(&out), "--json"], 0);
    let summary = json(&summary);
    assert_eq!(summary["fallbacks"], serde_json::json!({ "missing": 1, "zero": 1, "negative": 1 }));
    let (low, high) =
        (region(&out, &format!("17/{}/{}.png", 2 * X, 2 * Y)), region(&out, &format!("17/{}/{}.l1.png", 2 * X, 2 * Y)));
    for (x, z) in [(10, 20), (19, 29)] {
        assert_eq!(top(&low, x, z), Some(255));
        assert_eq!(top(&high, x, z), Some(31 + 250 - 256));
    }
    for (x, z) in [(9, 20), (20, 20), (10, 19), (10, 30)] {
        assert_eq!((top(&low, x, z), top(&high, x, z)), (Some(31), None));
    }
    // One storey of three metres.
    for x in [100, 110, 120] {
        assert_eq!(top(&low, x, 100), Some(31 + (3.0 / voxel_m).round() as u32));
    }
    // The other three tiles are ground.
    let ground = region(&out, &format!("17/{}/{}.png", 2 * X + 1, 2 * Y + 1));
    assert_eq!(ground.occupancy.count(), 256 * 256 * 32);

    // Without ground there is one file, and nothing below the datum.
    let bare = dir.path().join("bare");
    let (summary, _) = run(&["encode", path(&input), "--out", path(&bare), "--no-ground", "--json"], 0);
    assert_eq!(json(&summary)["files"], 2);
    assert!((0..32).all(|y| !region(&bare, &format!("17/{}/{}.png", 2 * X, 2 * Y)).occupancy.get(10, y, 20)));
    // Into the folder of an earlier run: what has become empty goes.
    run(&["encode", path(&input), "--out", path(&out), "--no-ground", "--quiet"], 0);
    assert_eq!(tree(&out), tree(&bare));
}

#[test]
fn an_archive_is_packed_from_a_folder_that_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (input, archive) = (dir.path().join("in"), dir.path().join("new/city.pmtiles"));
    let (folder, unpacked) = (dir.path().join("out"), dir.path().join("new/city.pmtiles.tiles"));
    put_city(&input);
    run(&["encode", path(&input), "--out", path(&archive), "--quiet"], 0);
    assert!(archive.is_file() && !unpacked.exists());
    run(&["encode", path(&input), "--out", path(&folder), "--quiet"], 0);
    run(&["diff", path(&folder), path(&archive), "--quiet"], 0);

    // What an interrupted run leaves is not overwritten unasked, and is gone on from.
    let before = std::fs::read(&archive).unwrap();
    std::fs::create_dir(&unpacked).unwrap();
    let (_, errors) = run(&["encode", path(&input), "--out", path(&archive), "--quiet"], 2);
    assert!(errors.contains("city.pmtiles.tiles: is there") && errors.contains("--resume"), "{errors}");
    run(&["encode", path(&input), "--out", path(&archive), "--resume", "--quiet"], 0);
    assert!(!unpacked.exists());
    assert_eq!(std::fs::read(&archive).unwrap(), before);
}

#[test]
fn aerial_images_colour_ground_and_roofs() {
    let dir = tempfile::tempdir().unwrap();
    let (input, aerial, out) = (dir.path().join("in"), dir.path().join("aerial"), dir.path().join("out"));
    // Eight units a voxel: from voxel 64 to 192, over the middle of the image.
    put_tile(&input, [16, X, Y], &tile("bldg", 4096, &[TestFeature::block(1, 20.0, 512, 512, 1024)]));
    let colour = |x: u32, z: u32| if (x < 128) == (z < 128) { [40, 120, 50] } else { [150, 80, 70] };
    let image = image::RgbImage::from_fn(256, 256, |x, z| image::Rgb(colour(x, z)));
    let file = aerial.join(format!("17/{}/{}.png", 2 * X, 2 * Y));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    image.save(&file).unwrap();
    run(&["encode", path(&input), "--ortho", path(&aerial), "--out", path(&out), "--quiet"], 0);
    let seen = region(&out, &format!("17/{}/{}.png", 2 * X, 2 * Y));
    for (x, z) in [(3, 3), (200, 3), (70, 70), (180, 70), (70, 180), (180, 180), (3, 250)] {
        let top = top(&seen, x, z).unwrap();
        assert_eq!(seen.colours.get(x, top, z), colour(x, z), "{x},{z}");
    }
    // Walls keep their look, and so does what the image does not show.
    assert!((33..40).all(|y| [[40, 120, 50], [150, 80, 70]].iter().all(|c| seen.colours.get(100, y, 64) != *c)));
    let beside = format!("17/{}/{}.png", 2 * X + 1, 2 * Y);
    let plain = dir.path().join("plain");
    run(&["encode", path(&input), "--out", path(&plain), "--quiet"], 0);
    assert_eq!(tree(&plain)[&beside], tree(&out)[&beside]);
}

#[test]
fn jobs_and_neighbours_change_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in");
    put_city(&input);
    let encode = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let args = [&["encode", path(&input), "--out", path(&out), "--quiet"], more].concat();
        assert_eq!(run(&args, 0), (String::new(), String::new()), "--quiet says nothing");
        tree(&out)
    };
    // Where four source tiles meet.
    let middle = |dx: u32, dy: u32| format!("17/{}/{}", 2 * X + 1 + dx, 2 * Y + 1 + dy);
    let tiles = [middle(0, 0), middle(1, 0), middle(0, 1), middle(1, 1)].join(",");
    let whole = encode("one", &["--tiles", &tiles, "--jobs", "1"]);
    assert_eq!(encode("three", &["--tiles", &tiles, "--jobs", "3"]), whole);
    for (x, y) in [(2 * X + 1, 2 * Y + 1), (2 * X + 2, 2 * Y + 1)] {
        let name = format!("17/{x}/{y}");
        let alone = encode(&format!("alone-{x}"), &["--tiles", &name]);
        let pictures = alone.iter().filter(|(name, _)| *name != "tiles.json").count();
        assert!(pictures >= 1);
        for (name, bytes) in alone.iter().filter(|(name, _)| *name != "tiles.json") {
            assert!(whole[name] == *bytes, "{name} differs when it is made alone");
        }
    }
    // A coarser tile stands for those in it, a box for those that it covers.
    let quarter = encode("quarter", &["--tiles", &format!("16/{X}/{Y}")]);
    let names: Vec<_> = quarter.keys().filter(|name| !name.contains(".l")).cloned().collect();
    assert_eq!(names.len(), 5);
    let bounds = TileCoord::new(16, X, Y).unwrap().bounds().to_string();
    assert_eq!(encode("box", &["--bbox", &bounds]), quarter);
}

#[test]
fn gzip_and_the_zooms_folder_are_read_too() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, zipped) = (dir.path().join("plain"), dir.path().join("zipped"));
    let bytes = tile("bldg", 4096, &[TestFeature::block(1, 20.0, 80, 160, 80)]);
    put_tile(&plain, [16, X, Y], &bytes);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &bytes).unwrap();
    put_tile(&zipped, [16, X, Y], &encoder.finish().unwrap());
    // A generalised copy at a coarser zoom is not the data.
    put_tile(&zipped, [14, X / 4, Y / 4], b"not even a tile");
    let encode = |input: &Path, name: &str| {
        let out = dir.path().join(name);
        run(&["encode", path(input), "--out", path(&out), "--quiet"], 0);
        tree(&out)
    };
    let expected = encode(&plain, "a");
    assert_eq!(encode(&zipped, "b"), expected);
    assert_eq!(encode(&plain.join("16"), "c"), expected);
    // The same data twice is the same city, and its features are counted once.
    let out = dir.path().join("d");
    let (summary, _) = run(&["encode", path(&plain), path(&plain), "--out", path(&out), "--json"], 0);
    assert_eq!(json(&summary)["features"], 1);
    assert_eq!(tree(&out), expected);
}

#[test]
fn a_bad_tile_costs_itself_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    put_city(&input);
    put_tile(&input, [16, X + 1, Y + 1], &[0x1A, 200, 1]);
    let (summary, errors) = run(&["encode", path(&input), "--out", path(&out), "--json"], 1);
    let summary = json(&summary);
    assert_eq!((&summary["tiles_failed"], &summary["failures"].as_array().unwrap().len()), (&4.into(), &1));
    let bad = format!("{}.pbf", Y + 1);
    assert!(errors.contains(&bad) && errors.contains("200 bytes wanted"), "{errors}");
    let files = tree(&out);
    assert!(!files.contains_key(&format!("17/{}/{}.png", 2 * X + 2, 2 * Y + 2)), "nobody knows what is there");
    assert_eq!(files.keys().filter(|name| name.starts_with("17/") && !name.contains(".l")).count(), 12);
    run(&["validate", path(&out)], 0);
    // Mended, the same command makes what is missing, and what comes out is what a first run would have made.
    put_city(&input);
    let (summary, _) = run(&["encode", path(&input), "--out", path(&out), "--resume", "--json"], 0);
    // Here every other tile lies beside the bad one, and may look otherwise when it can be read.
    assert_eq!((&json(&summary)["tiles_kept"], &json(&summary)["tiles"]), (&0.into(), &16.into()));
    let whole = dir.path().join("whole");
    run(&["encode", path(&input), "--out", path(&whole), "--quiet"], 0);
    assert_eq!(tree(&out), tree(&whole));
}

#[test]
fn wrong_usage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (input, empty, out) = (dir.path().join("in"), dir.path().join("empty"), dir.path().join("out"));
    put_city(&input);
    std::fs::create_dir(&empty).unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let check = |args: &[&str], expected: &str| {
        let (_, errors) = run(&[&["encode"], args].concat(), 2);
        assert!(errors.matches("os error").count() <= 1, "a cause is named once: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}\nexpected: {expected}");
    };
    let (input, empty, out, file) = (path(&input), path(&empty), path(&out), path(&file));
    check(&[input], "--out");
    check(&["--out", out], "INPUT");
    check(&[input, "--out", out, "--bbox", "1,2,3"], "1,2,3");
    check(&[input, "--out", out, "--bbox", "0,0,1,1", "--tiles", "17/1/1"], "cannot be used with");
    check(&[input, "--out", out, "--tiles", "17/1"], "17/1");
    check(&[input, "--out", out, "--jobs", "0"], "--jobs");
    check(&[input, "--out", out, "--encoding", "klingon"], "expected a label such as Shift_JIS");
    check(&[empty, "--out", out], "of no format that is known");
    check(&["/nowhere", "--out", out], "/nowhere: cannot be read");
    check(&[file, "--out", out], "of no format that is known");
    check(&[input, "--out", file], "cannot be written");
    check(
        &[input, "--out", out, "--bbox", "-0.2,51.4,0.1,51.6"],
        "the input holds nothing in -0.2,51.4,0.1,51.6: it covers 138.6",
    );
    check(&[input, "--out", out, "--tiles", "17/5/5"], "none of the tiles");
    check(&[input, "--out", out, "--tiles", "18/5/5"], "finer than a region");
    check(&[input, "--out", out, "--tiles", "0/0/0"], "at most");
    assert!(!Path::new(out).join("tiles.json").exists());
}

#[test]
fn tokyo_tower_is_whole() {
    let Some(data) = real_data("atlas-tools: encode::tokyo_tower_is_whole") else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let input = data.join("tokyo_plateau_mvt");
    let (summary, _) = run(&["encode", path(&input), "--out", path(&out), "--tiles", "17/116415/51623", "--json"], 0);
    let summary = json(&summary);
    // Its source tile, 16/58207/25811.
    assert_eq!((&summary["features"], &summary["feature_copies"]), (&6197.into(), &6197.into()));
    let high = region(&out, "17/116415/51623.l1.png");
    let top = (0..256).rev().find(|&y| (0..256).any(|z| high.occupancy.row(y, z).iter().any(|&word| word != 0)));
    let voxel_m = "17/116415/51623".parse::<TileCoord>().unwrap().metres_per_voxel();
    // 333.42 m above ground whose top is at y = 32: the highest voxel of layer 1 ends there.
    assert_eq!(top, Some(32 + (333.417_276_59 / voxel_m).round() as u32 - 1 - 256));
    // Above the deck it is slender, and painted as a mast.
    let at_290_m = (32.0 + 290.0 / voxel_m) as u32 - 256;
    let n_voxels: u32 =
        (0..256).map(|z| high.occupancy.row(at_290_m, z).iter().map(|word| word.count_ones()).sum::<u32>()).sum();
    assert!((1..40).contains(&n_voxels), "{n_voxels}");
    run(&["validate", path(&out)], 0);
}

#[test]
fn tokyo_tiles_do_not_depend_on_each_other() {
    let Some(data) = real_data("atlas-tools: encode::tokyo_tiles_do_not_depend_on_each_other") else { return };
    let dir = tempfile::tempdir().unwrap();
    let input = data.join("tokyo_plateau_mvt");
    let encode = |name: &str, tiles: &str| {
        let out = dir.path().join(name);
        run(&["encode", path(&input), "--out", path(&out), "--tiles", tiles, "--quiet"], 0);
        tree(&out)
    };
    // Four source tiles meet at this corner, in the densest part of the city.
    let corner = ["17/116415/51623", "17/116416/51623", "17/116415/51624", "17/116416/51624"];
    let together = encode("together", &corner.join(","));
    for name in corner {
        let alone = encode(&name.replace('/', "-"), name);
        assert!(alone[&format!("{name}.png")] == together[&format!("{name}.png")], "{name}");
    }
}

/// Every exposed face of a closed region, counted the plain way.
fn n_exposed_faces(occupancy: &Occupancy) -> u64 {
    let is_air = |[x, y, z]: [i32; 3]| {
        [x, y, z].iter().any(|at| !(0..256).contains(at)) || !occupancy.get(x as u32, y as u32, z as u32)
    };
    let mut n_faces = 0;
    for (row_idx, row) in occupancy.rows().iter().enumerate() {
        let (y, z) = (row_idx as i32 % 256, row_idx as i32 / 256);
        for x in (0..256).filter(|&x| row[x as usize / 64] >> (x % 64) & 1 == 1) {
            let beside = [[x - 1, y, z], [x + 1, y, z], [x, y - 1, z], [x, y + 1, z], [x, y, z - 1], [x, y, z + 1]];
            n_faces += beside.into_iter().filter(|&neighbour| is_air(neighbour)).count() as u64;
        }
    }
    n_faces
}

#[test]
fn tokyo_regions_are_meshed_whole_and_within_the_gpu_budget() {
    let Some(data) = real_data("atlas-tools: encode::tokyo_regions_are_meshed_whole_and_within_the_gpu_budget") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let input = data.join("tokyo_plateau_mvt");
    // The densest tile, the tower's two layers are in it, and quieter ones to the west.
    let tiles = ["17/116415/51623", "17/116416/51622", "17/116380/51621"];
    run(&["encode", path(&input), "--out", path(&out), "--tiles", &tiles.join(","), "--quiet"], 0);
    let names = tiles.iter().map(|tile| format!("{tile}.png")).chain(["17/116415/51623.l1.png".to_owned()]);
    let mut scratch = Scratch::new();
    for name in names {
        let region = region(&out, &name);
        let mesh = mesh_region(&region, BorderPolicy::Closed, &mut scratch);
        let covered: u64 = mesh.quads.iter().map(|quad| u64::from(quad.width() * quad.height())).sum();
        assert_eq!(covered, n_exposed_faces(&region.occupancy), "{name}");
        for &quad in mesh.quads.iter().step_by(17) {
            let (i, j) = (quad.width() - 1, quad.height() - 1);
            let [x, y, z] = quad.voxel(i, j);
            assert!(region.occupancy.get(x, y, z), "{name}");
            assert_eq!(mesh.face_colours.of_cell(quad, i, j), region.colours.get(x, y, z), "{name}");
        }
        assert!(mesh.gpu_bytes() <= 2 << 20, "{name}: {} bytes", mesh.gpu_bytes());
    }
}

#[test]
fn data_that_land_outside_the_box_are_an_error_with_a_guess() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("delft.geojson"), dir.path().join("out"));
    let square =
        |a: &str, b: &str, c: &str, d: &str| format!(r#"{{"type":"Polygon","coordinates":[[{a},{b},{c},{d},{a}]]}}"#);
    let check = |text: String, more: &[&str], expected: &str| {
        std::fs::write(&input, text).unwrap();
        let args = ["encode", path(&input), "--bbox", "4.35,51.99,4.38,52.02", "--out", path(&out)];
        let (_, errors) = run(&[&args, more].concat(), 2);
        assert!(errors.contains(expected), "{errors}");
        assert!(!out.exists(), "nothing is begun");
    };
    let swapped = square("[52.0,4.36]", "[52.01,4.36]", "[52.01,4.37]", "[52.0,4.37]");
    check(swapped, &[], "looks like EPSG:4326, latitude before longitude");
    let metres = square("[84816,447523]", "[84916,447523]", "[84916,447623]", "[84816,447623]");
    check(metres.clone(), &["--crs", "EPSG:3857"], "looks like EPSG:28992");
    // Degrees that are none.
    check(metres, &[], "looks like EPSG:28992");
}

#[test]
fn what_is_assumed_of_heights_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) = (dir.path().join("city.city.json"), dir.path().join("out"));
    let faces = "[[[0,1,2,3]],[[4,7,6,5]],[[0,4,5,1]],[[1,5,6,2]],[[2,6,7,3]],[[3,7,4,0]]]";
    let vertices = "[[0,0,40],[0,100,40],[100,100,40],[100,0,40],[0,0,50],[0,100,50],[100,100,50],[100,0,50]]";
    let text = format!(
        r#"{{"type":"CityJSON","version":"2.0","transform":{{"scale":[1e-6,1e-6,1],"translate":[139.0,35.0,0]}},
        "metadata":{{"referenceSystem":"https://www.opengis.net/def/crs/EPSG/0/4979"}},"vertices":{vertices},
        "CityObjects":{{"b":{{"type":"Building","geometry":[{{"type":"Solid","lod":"1","boundaries":[{faces}]}}]}}}}}}"#
    );
    std::fs::write(&input, text).unwrap();
    let encode = |more: &[&str]| run(&[&["encode", path(&input), "--out", path(&out)], more].concat(), 0);
    let (summary, _) = encode(&["--json"]);
    let assumed = json(&summary)["problems"]["assumed"].clone();
    let (what, inputs) = assumed.as_object().unwrap().iter().next().expect("something was assumed");
    assert!(what.contains("above the ellipsoid") && what.contains("--geoid"), "{what}");
    assert_eq!(inputs, &serde_json::json!([path(&input)]));
    let (words, errors) = encode(&[]);
    assert!((words + &errors).contains(&format!("{what}: {}", path(&input))));
    let (words, _) = run(&["inspect", path(&out)], 0);
    assert!(words.contains("that of EPSG:4979 WGS 84 (3D) is the ellipsoid"), "{words}");

    let (summary, _) = encode(&["--json", "--vertical-from", "as-is"]);
    assert_eq!(json(&summary)["problems"]["assumed"], serde_json::json!({}));
    let (words, _) = run(&["inspect", path(&out)], 0);
    assert!(!words.contains("ellipsoid"), "{words}");
}
