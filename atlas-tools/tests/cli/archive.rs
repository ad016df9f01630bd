//! `atlas-tools pack`, `unpack`, and `inspect` and `validate` of archives, as a user meets them.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use pmtiles::{AsyncPmTilesReader, MmapBackend, TileCoord};
use serde_json::Value;

use crate::common::{copy_of_demo, demo, path, put, run, tree};
use crate::real_data::real_data;

#[test]
fn pack_then_unpack_is_the_identity() {
    let dir = tempfile::tempdir().unwrap();
    let (file, again) = (dir.path().join("a/city.pmtiles"), dir.path().join("b/city.pmtiles"));
    let (text, errors) = run(&["pack", path(&demo()), path(&file)], 0);
    assert!(
        text.contains("city.pmtiles: layer 0, 29 tiles") && text.contains("city.l1.pmtiles: layer 1, 1 tiles"),
        "{text}"
    );
    assert_eq!(errors, "");
    // Any archive of the tileset stands for all of it.
    for (name, out) in [("city.pmtiles", "out"), ("city.l1.pmtiles", "out1")] {
        let out = dir.path().join(out);
        let (text, _) = run(&["unpack", path(&file.with_file_name(name)), path(&out), "--json"], 0);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["tiles"], 30);
        assert!(tree(&out) == tree(&demo()));
    }
    // The same folder, the same bytes; nothing is left beside them.
    run(&["pack", path(&demo()), path(&again), "--quiet"], 0);
    assert!(tree(&dir.path().join("a")) == tree(&dir.path().join("b")));
    assert_eq!(tree(&dir.path().join("a")).len(), 2);
}

#[test]
fn an_archive_of_ours_is_read_by_others() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let backend = MmapBackend::try_from(&file).await.unwrap();
        let reader = Arc::new(AsyncPmTilesReader::try_from_source(backend).await.unwrap());
        let header = reader.get_header();
        assert_eq!((header.min_zoom, header.max_zoom, header.clustered()), (12, 17, true));
        assert_eq!(header.n_addressed_tiles().unwrap().get(), 29);
        let metadata: Value = serde_json::from_str(&reader.get_metadata().await.unwrap()).unwrap();
        assert_eq!(metadata["attribution"], "voxatlas demo city");
        assert_eq!(metadata["voxatlas"]["archive"]["files"][1]["file"], "city.l1.pmtiles");
        for (name, bytes) in tree(&demo()).into_iter().filter(|(name, _)| name.ends_with("5.png")) {
            let numbers: Vec<u32> = name.split(['/', '.']).filter_map(|part| part.parse().ok()).collect();
            let tile = TileCoord::new(numbers[0] as u8, numbers[1], numbers[2]).unwrap();
            assert!(reader.get_tile(tile).await.unwrap().unwrap() == bytes, "{name}");
        }
    });
}

#[test]
fn equal_tiles_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    let tile = std::fs::read(demo().join("17/65536/65536.png")).unwrap();
    put(&city, "tiles.json", br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "minzoom": 12, "maxzoom": 17}"#);
    for name in ["17/4/4.png", "17/5/4.png", "17/900/900.png", "12/0/0.png"] {
        put(&city, name, &tile);
    }
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&city), path(&file), "--quiet"], 0);
    assert!(file.metadata().unwrap().len() < 17_000 + tile.len() as u64);
    let (text, _) = run(&["inspect", path(&file)], 0);
    for expected in
        ["4, 1 different", "12: 1 tiles", "17: 3 tiles", "12 to 17", "PMTiles 3 of PNG images, in the order"]
    {
        assert!(text.contains(expected), "{text}\nexpected: {expected}");
    }
    let out = dir.path().join("out");
    run(&["unpack", path(&file), path(&out), "--quiet"], 0);
    let (mut found, mut expected) = (tree(&out), tree(&city));
    let documents = [&mut found, &mut expected].map(|tree| tree.remove("tiles.json").unwrap());
    assert!(found == expected);
    let documents = documents.map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
    assert_eq!(documents[0]["tiles"], documents[1]["tiles"]);
    assert_eq!(documents[0]["minzoom"], 12);
}

#[test]
fn what_does_not_belong_is_named_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let city = copy_of_demo(dir.path());
    std::fs::remove_file(city.join("17/65535/65535.png")).unwrap();
    put(&city, "17/65535/65536.png", b"");
    put(&city, "17/65535/65537.png", b"<html>");
    put(&city, "17/9/9.png", b"\x89PNG\r\n\x1a\n");
    put(&city, "17/.1.png.77.part", b"half");
    put(&city, "notes.txt", b"mine");
    let file = city.join("city.pmtiles");
    let (text, _) = run(&["pack", path(&city), path(&file), "--json"], 1);
    let summary: Value = serde_json::from_str(&text).unwrap();
    let findings = summary["findings"].as_array().unwrap();
    let check = |file: &str, expected: &str| {
        let found =
            findings.iter().find(|finding| finding["file"] == file).map(|finding| finding["finding"].to_string());
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{file}: {found:?}");
    };
    check("17/65535/65535.png", "missing, though tiles.json lists 17/65535/65535");
    check("17/65535/65536.png", "empty");
    check("17/65535/65537.png", "neither a PNG nor a WebP");
    check("17/9/9.png", "tiles.json does not list 17/9/9");
    check("17/.1.png.77.part", "left by a run");
    check("notes.txt", "no file of the tileset");
    assert_eq!((findings.len(), &summary["archives"][0]["tiles"]), (6, &26.into()));

    // Packed again into its own folder, the archives are none of the findings.
    let (_, errors) = run(&["pack", path(&city), path(&file), "--force", "--quiet"], 1);
    assert!(errors.contains("warning: notes.txt") && !errors.contains("pmtiles"), "{errors}");
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    let check = |args: &[&str], expected: &str| {
        let (_, errors) = run(args, 2);
        assert!(errors.contains(expected), "{errors}");
    };
    check(&["pack", path(dir.path()), path(&file)], "is no tileset: it has no tiles.json");
    check(
        &["pack", path(&demo()), path(&dir.path().join("city.zip"))],
        "expected a name such as city.pmtiles or city.mbtiles",
    );
    check(&["pack", path(&demo()), path(&dir.path().join("100%.pmtiles"))], "without / \\ : ? # %");
    check(&["pack", path(&demo())], "Usage");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    check(&["pack", path(&demo()), path(&file)], "is there already: --force replaces it");
    let out = dir.path().join("out");
    put(&out, "mine.txt", b"mine");
    check(&["unpack", path(&file), path(&out)], "holds something already");
    run(&["unpack", path(&file), path(&out), "--force", "--quiet"], 0);

    let city = copy_of_demo(dir.path());
    put(&city, "17/65536/65537.png", b"RIFF\0\0\0\0WEBPVP8L");
    let mixed = dir.path().join("mixed.pmtiles");
    check(&["pack", path(&city), path(&mixed)], "an archive holds one");
    put(&city, "tiles.json", br#"{"tilejson": "3.0.0", "tiles": ["https://host/{z}/{x}/{y}.png"]}"#);
    check(&["pack", path(&city), path(&mixed)], "expected files in the folder");
    let names: Vec<String> = tree(dir.path()).into_keys().filter(|name| name.contains("mixed")).collect();
    assert_eq!(names, Vec::<String>::new());
}

#[test]
fn unpack_refuses_archives_that_lie() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    let out = dir.path().join("out");
    let check = |file: &Path, expected: &str| {
        let (_, errors) = run(&["unpack", path(file), path(&out), "--quiet"], 2);
        assert!(errors.contains(path(file)) && errors.contains(expected), "{errors}");
        assert!(!out.join("tiles.json").exists());
    };
    let bytes = std::fs::read(&file).unwrap();
    let cut = dir.path().join("cut.pmtiles");
    std::fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    check(&cut, "lie beyond its end");
    std::fs::rename(dir.path().join("city.l1.pmtiles"), dir.path().join("kept")).unwrap();
    let (_, errors) = run(&["unpack", path(&file), path(&out)], 2);
    assert!(errors.contains("city.l1.pmtiles was not found"), "{errors}");
    std::fs::copy(&file, dir.path().join("city.l1.pmtiles")).unwrap();
    let (_, errors) = run(&["unpack", path(&file), path(&out)], 2);
    assert!(errors.contains("found layer 0 of a tileset, expected layer 1"), "{errors}");

    // A template that leads out of the folder.
    let evil = dir.path().join("evil.pmtiles");
    let metadata = r#"{"tilejson": "3.0.0", "tiles": ["../{z}/{x}/{y}.png"]}"#;
    let mut archive = std::fs::File::create(&evil).unwrap();
    let mut writer = pmtiles::PmTilesWriter::new(pmtiles::TileType::Png).metadata(metadata).create(&archive).unwrap();
    writer.add_tile(TileCoord::new(17, 1, 1).unwrap(), b"\x89PNG\r\n\x1a\n").unwrap();
    writer.finalize().unwrap();
    archive.flush().unwrap();
    let (_, errors) = run(&["unpack", path(&evil), path(&out)], 2);
    assert!(errors.contains("expected a path within the folder"), "{errors}");
    assert!(!dir.path().join("17").exists());
}

#[test]
fn validate_checks_the_tiles_of_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    let (text, _) = run(&["validate", path(&file)], 0);
    assert!(text.contains("30 files checked, 30 regions listed, 0 findings"), "{text}");

    // A flipped bit in the pixels of a tile, and a tile in another's place.
    let city = copy_of_demo(dir.path());
    let mut flipped = std::fs::read(city.join("17/65536/65536.png")).unwrap();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    put(&city, "17/65536/65536.png", &flipped);
    std::fs::copy(city.join("17/65535/65535.png"), city.join("17/65535/65536.png")).unwrap();
    std::fs::remove_file(city.join("17/65536/65536.l1.png")).unwrap();
    run(&["pack", path(&city), path(&file), "--force", "--quiet"], 1);
    let (text, _) = run(&["validate", path(&file)], 1);
    for expected in [
        "city.pmtiles 17/65536/65536: ",
        "city.pmtiles 17/65535/65536: says that it holds 17/65535/65535",
        "city.l1.pmtiles 17/65536/65536: missing, though the metadata list it",
    ] {
        assert!(text.contains(expected), "{text}\nexpected: {expected}");
    }
}

#[test]
fn the_tokyo_strip_survives_its_archive() {
    let Some(data) = real_data("archive::the_tokyo_strip_survives_its_archive") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (city, file, out) = (dir.path().join("city"), dir.path().join("tokyo.pmtiles"), dir.path().join("out"));
    let input = data.join("tokyo_plateau_mvt");
    run(&["encode", path(&input), "--out", path(&city), "--bbox", "139.744,35.656,139.749,35.660", "--quiet"], 0);
    run(&["pack", path(&city), path(&file), "--quiet"], 0);
    run(&["unpack", path(&file), path(&out), "--quiet"], 0);
    assert!(tree(&city).len() > 4 && tree(&out) == tree(&city));
}

#[test]
fn an_archive_that_claims_the_world_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let (lie, out) = (dir.path().join("lie.pmtiles"), dir.path().join("out"));
    let archive = std::fs::File::create(&lie).unwrap();
    let mut writer = pmtiles::PmTilesWriter::new(pmtiles::TileType::Png).create(&archive).unwrap();
    let tile = std::fs::read(demo().join("17/65535/65535.png")).unwrap();
    // Thousands of tiles have the same content: one run.
    let first = pmtiles::TileId::from(TileCoord::new(11, 0, 0).unwrap()).value();
    for id in first..first + (1 << 14) {
        writer.add_tile(pmtiles::TileId::new(id).unwrap().into(), &tile).unwrap();
    }
    writer.finalize().unwrap();
    let (_, errors) = run(&["unpack", path(&lie), path(&out), "--quiet"], 2);
    assert!(errors.contains("claim to be 16384 tiles") && errors.contains("--force"), "{errors}");
    assert!(!out.exists());
}

#[cfg(feature = "mbtiles")]
#[test]
fn a_database_gives_back_what_was_packed() {
    let dir = tempfile::tempdir().unwrap();
    let (file, again, out) =
        (dir.path().join("a/city.mbtiles"), dir.path().join("b/city.mbtiles"), dir.path().join("out"));
    let (text, _) = run(&["pack", path(&demo()), path(&file)], 0);
    assert!(
        text.contains("city.mbtiles: layer 0, 29 tiles") && text.contains("city.l1.mbtiles: layer 1, 1 tiles"),
        "{text}"
    );
    run(&["pack", path(&demo()), path(&again), "--quiet"], 0);
    assert!(tree(&dir.path().join("a")) == tree(&dir.path().join("b")));
    run(&["unpack", path(&file), path(&out), "--quiet"], 0);
    assert!(tree(&out) == tree(&demo()));
    let (_, errors) = run(&["pack", path(&demo()), path(&file)], 2);
    assert!(errors.contains("--force"), "{errors}");
    std::fs::remove_file(dir.path().join("a/city.l1.mbtiles")).unwrap();
    let (_, errors) = run(&["unpack", path(&file), path(&out), "--force"], 2);
    assert!(errors.contains("city.l1.mbtiles: expected an MBTiles database"), "{errors}");
}

#[cfg(not(feature = "mbtiles"))]
#[test]
fn a_build_without_databases_says_how_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.mbtiles");
    let (_, errors) = run(&["pack", path(&demo()), path(&file)], 2);
    assert!(errors.contains("--features mbtiles"), "{errors}");
}
