//! Archives in files of this machine.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use voxatlas::source::AtlasSource as _;

use crate::files::{N_MANY, atlas, city, key, metadata};
use crate::{Reader, kind, open};

/// Replaces a file at once, with another time of change and another size.
fn put(dir: &Path, name: &str, bytes: &[u8]) {
    fs::write(dir.join("part"), bytes).unwrap();
    fs::rename(dir.join("part"), dir.join(name)).unwrap();
}

fn two_layers() -> TempDir {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "city.pmtiles", &city(3, "ground", &metadata(0, "us")));
    put(dir.path(), "city.l1.pmtiles", &city(1, "tower", &metadata(1, "us")));
    dir
}

fn text(dir: &TempDir, name: &str) -> String {
    dir.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn any_archive_of_a_tileset_opens_all_of_it() {
    let dir = two_layers();
    let path = text(&dir, "city.pmtiles");
    for text in [&path, &text(&dir, "city.l1.pmtiles"), &format!("file://{path}")] {
        let reader = Reader::open(text);
        let tileset = reader.source.tileset();
        assert_eq!((tileset.base(), tileset.attribution.as_deref()), (-32, Some("us")), "{text}");
        assert_eq!(reader.source.availability().layers().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "ground")));
        assert_eq!(reader.bytes(key(3, 0)), None);
        assert_eq!(reader.bytes(key(0, 1)), Some(atlas(0, "tower")));
        assert_eq!(reader.bytes(key(1, 1)), None);
        assert_eq!(reader.bytes(key(0, 2)), None);
        assert!(reader.source.name_of(key(1, 1)).ends_with("city.l1.pmtiles 17/116416/51623"));
    }
}

#[test]
fn an_archive_alone_may_have_any_name() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "50% #1?.PMTILES", &city(1, "a", r#"{"name": "of another maker", "attribution": "them"}"#));
    let reader = Reader::open(&text(&dir, "50% #1?.PMTILES"));
    assert_eq!(reader.source.tileset().attribution.as_deref(), Some("them"));
    assert_eq!(reader.bytes(key(0, 0)), Some(atlas(0, "a")));
}

#[test]
fn tiles_below_leaf_directories_are_found() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "city.pmtiles", &city(N_MANY, "a", "{}"));
    let reader = Reader::open(&text(&dir, "city.pmtiles"));
    for x in (0..N_MANY).step_by(999) {
        assert_eq!(reader.bytes(key(x, 0)), Some(atlas(x, "a")));
    }
    assert_eq!(reader.bytes(key(N_MANY, 0)), None);
}

#[test]
fn a_file_that_is_replaced_is_read_anew() {
    let dir = two_layers();
    let reader = Reader::open(&text(&dir, "city.pmtiles"));
    assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "ground")));
    put(dir.path(), "city.pmtiles", &city(9, "another ground", &metadata(0, "us")));
    assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "another ground")));
    assert_eq!(reader.bytes(key(8, 0)), Some(atlas(8, "another ground")));

    // What is drawn stands on the old base and under the old credit.
    put(dir.path(), "city.pmtiles", &city(9, "their ground", &metadata(0, "them")));
    let error = reader.fetch(key(2, 0)).unwrap_err();
    assert!(kind(&error) == "permanent" && error.to_string().contains("open the source anew"), "{error}");

    fs::remove_file(dir.path().join("city.pmtiles")).unwrap();
    let error = reader.fetch(key(2, 0)).unwrap_err();
    assert!(kind(&error) == "transient" && error.to_string().contains("city.pmtiles was not found"), "{error}");
    put(dir.path(), "city.pmtiles", &city(3, "new ground", &metadata(0, "us")));
    assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "new ground")));
}

#[test]
fn a_missing_or_wrong_neighbour_costs_its_layer_alone() {
    let dir = two_layers();
    fs::remove_file(dir.path().join("city.l1.pmtiles")).unwrap();
    let reader = Reader::open(&text(&dir, "city.pmtiles"));
    assert!(reader.bytes(key(0, 0)).is_some());
    let error = reader.fetch(key(0, 1)).unwrap_err();
    assert!(kind(&error) == "transient" && error.to_string().contains("city.l1.pmtiles was not found"), "{error}");

    put(dir.path(), "city.l1.pmtiles", &city(1, "ground", &metadata(0, "us")));
    let error = reader.fetch(key(0, 1)).unwrap_err();
    assert!(kind(&error) == "permanent" && error.to_string().contains("expected one of layer 1"), "{error}");
    assert!(reader.bytes(key(0, 0)).is_some());
}

#[test]
fn what_is_no_archive_is_named() {
    let dir = TempDir::new().unwrap();
    let check = |bytes: &[u8], expected: &str| {
        put(dir.path(), "city.pmtiles", bytes);
        let error = open(&text(&dir, "city.pmtiles")).unwrap_err().to_string();
        assert!(error.contains("city.pmtiles: found") && error.contains(expected), "{error}");
    };
    let good = city(3, "a", "{}");
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    check(b"", "an empty file");
    check(b"<!DOCTYPE html>", "an HTML page");
    check(b"PK\x03\x04 a zip", "begin with 50 4b");
    check(&good[..100], "100 bytes, expected a header of 127");
    check(&with(7, 2), "version 2");
    check(&with(97, 3), "directories packed with Brotli");
    check(&with(98, 2), "tiles packed with Gzip, expected images as they are");
    check(&with(98, 0), "tiles packed with Unknown");
    check(&with(98, 77), "invalid compression");
    check(&with(99, 1), "tiles of type Mvt, expected Png or Webp");
    check(&with(99, 77), "invalid tile type");
    check(&good[..good.len() - 1], "lie beyond its end");
    let error = open(&text(&dir, "nowhere.pmtiles")).unwrap_err().to_string();
    assert!(error.contains("nowhere.pmtiles was not found: expected a PMTiles archive"), "{error}");
    let error = open(&format!("{}/.", dir.path().display()).replace("/.", "/x.pmtiles/y.pmtiles")).unwrap_err();
    assert!(error.to_string().contains("was not found"), "{error}");
    fs::create_dir(dir.path().join("folder.pmtiles")).unwrap();
    let error = open(&text(&dir, "folder.pmtiles")).unwrap_err().to_string();
    assert!(error.contains("found no plain file"), "{error}");
}

#[test]
fn metadata_send_nobody_through_the_disk() {
    let dir = TempDir::new().unwrap();
    for name in ["../city.l1.pmtiles", "/etc/passwd", "https://evil/x.pmtiles"] {
        put(dir.path(), "city.pmtiles", &city(1, "a", &metadata(0, "us").replace("city.l1.pmtiles", name)));
        let error = open(&text(&dir, "city.pmtiles")).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("beside this one"), "{error}");
    }
}
