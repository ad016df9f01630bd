use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::geo::TileCoord;

/// What begins like an atlas; nobody decodes it here.
const ATLAS: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

fn key(x: u32, layer: i32) -> RegionKey {
    RegionKey::new(TileCoord::new(17, x, 0).unwrap(), layer)
}

fn write(dir: &Path, path: &str, bytes: &[u8]) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A directory with the document of a template, and one atlas.
fn city(template: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "tiles.json", Tileset::of_template(template).unwrap().to_json().as_bytes());
    write(dir.path(), "17/0/0.png", ATLAS);
    dir
}

fn open(text: &str) -> Result<Source, SourceError> {
    Source::open_blocking(text, &SourceConfig { file_bytes_max: 100, ..SourceConfig::default() })
}

fn open_dir(dir: &Path) -> Source {
    open(dir.to_str().unwrap()).unwrap()
}

fn fetch(source: &Source, key: RegionKey) -> Fetched {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(source.fetch(key))
}

#[test]
fn a_directory_is_opened_by_any_of_its_names() {
    let dir = city("{z}/{x}/{y}.png");
    let path = dir.path().to_str().unwrap();
    for text in [
        path,
        &format!("{path}/"),
        &format!("{path}/tiles.json"),
        &format!("file://{path}"),
        &format!("{path}/{{z}}/{{x}}/{{y}}.png"),
    ] {
        let source = open(text).unwrap();
        assert_eq!(source.tileset().base(), -32, "{text}");
        assert_eq!(fetch(&source, key(0, 0)).unwrap().unwrap().bytes(), ATLAS, "{text}");
        assert_eq!(fetch(&source, key(1, 0)), Ok(None), "{text}");
        assert!(source.name_of(key(1, 0)).ends_with("17/1/0.png"), "{text}");
    }
}

#[test]
fn the_lowest_layer_has_a_floor_that_nobody_sees() {
    let dir = city("{z}/{x}/{y}.l{layer}.png");
    let source = open_dir(dir.path());
    assert!(source.is_lowest(key(0, 0)) && !source.is_lowest(key(0, 1)) && !source.is_lowest(key(0, -1)));
}

#[test]
fn odd_files_are_empty_or_named() {
    let dir = city("{z}/{x}/{y}.png");
    let source = open_dir(dir.path());
    let check_failed = |x: u32, expected: &str| {
        let error = fetch(&source, key(x, 0)).unwrap_err();
        let text = error.to_string();
        let path = format!("17/{x}/0.png");
        assert!(
            text.contains(dir.path().to_str().unwrap()) && text.contains(&path) && text.contains(expected),
            "{text}"
        );
        error
    };

    write(dir.path(), "17/1/0.png", b"");
    assert_eq!(fetch(&source, key(1, 0)), Ok(None));
    write(dir.path(), "17/2", b"a file where a directory is looked for");
    assert_eq!(fetch(&source, key(2, 0)), Ok(None));

    write(dir.path(), "17/3/0.png", b"<html>");
    assert!(matches!(check_failed(3, "found an HTML page, expected an atlas"), LoadError::BadAtlas { .. }));
    write(dir.path(), "17/4/0.png", &[ATLAS, &[0; 100]].concat());
    assert!(matches!(check_failed(4, "118 bytes, expected at most 100"), LoadError::BadAtlas { .. }));
    fs::create_dir_all(dir.path().join("17/5/0.png")).unwrap();
    assert!(matches!(check_failed(5, "found no plain file"), LoadError::Permanent { .. }));

    fs::remove_dir_all(dir.path()).unwrap();
    assert!(matches!(check_failed(0, "is gone"), LoadError::Transient { .. }));
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_not_waited_for() {
    let dir = city("{z}/{x}/{y}.png");
    fs::create_dir_all(dir.path().join("17/1")).unwrap();
    let pipe = dir.path().join("17/1/0.png");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = fetch(&open_dir(dir.path()), key(1, 0)).unwrap_err().to_string();
    assert!(error.contains("found no plain file"), "{error}");
}

#[test]
fn a_document_may_not_send_readers_through_the_disk() {
    for template in ["../{z}/{x}/{y}.png", "/etc/{x}/{y}", "file:///etc/{x}/{y}"] {
        let dir = city(template);
        let error = open(dir.path().to_str().unwrap()).unwrap_err();
        assert!(matches!(&error, SourceError::Place { .. }), "{error}");
    }
}

#[test]
fn what_cannot_be_opened_is_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().to_str().unwrap();
    let check = |text: &str, expected: &str| {
        let error = open(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(path, &format!("{path}/tiles.json was not found: expected a tileset's document"));
    check("localhost:8080", "a server's address begins with http://");
    check(&format!("{path}/{{z}}.png"), "was not found");
    check(&format!("{path}/{{x}}.png"), "has no {y}");
    write(dir.path(), "tiles.json", b"{}");
    check(path, "tiles.json is no tileset document: missing field `tilejson`");
}

#[test]
fn the_demo_city_is_inside() {
    let source = Source::open_blocking("demo", &SourceConfig::default()).unwrap();
    assert!(source.tileset().attribution.is_some());
    let mut n_regions = 0;
    for object in &source.tileset().voxatlas.as_ref().unwrap().layers {
        for bitmap in &object.availability {
            for tile in crate::atlas::TileBitmap::decode(bitmap, object.layer).unwrap().tiles() {
                let key = RegionKey::new(tile, object.layer);
                assert!(fetch(&source, key).unwrap().is_some(), "{} is missing", source.name_of(key));
                n_regions += 1;
            }
        }
    }
    assert!(n_regions > 9, "nine tiles, and a landmark above one of them: {n_regions}");
    assert_eq!(fetch(&source, key(0, 0)), Ok(None));
}
