//! `atlas-tools inspect` and `validate` as a user meets them.

use std::path::{Path, PathBuf};

use crate::common::mvt_writer::{TestFeature, tile};
use crate::common::{X, Y, path, put_tile, run};
use serde_json::Value;

/// A tileset of four regions.
fn tileset(dir: &Path) -> PathBuf {
    let (input, out) = (dir.join("in"), dir.join("out"));
    put_tile(&input, [16, X, Y], &tile("bldg", 4096, &[TestFeature::block(1, 20.0, 80, 160, 80)]));
    run(&["encode", path(&input), "--out", path(&out), "--quiet", "--attribution", "A. Cartographer"], 0);
    out
}

fn name(dx: u32, dy: u32) -> String {
    format!("17/{}/{}.png", 2 * X + dx, 2 * Y + dy)
}

#[test]
fn inspect_says_what_a_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let out = tileset(dir.path());
    let file = out.join(name(0, 0));
    let (text, _) = run(&["inspect", path(&file)], 0);
    for expected in ["4096 x 4096, palette", "in strips", &format!("17/{}/{}", 2 * X, 2 * Y), "A. Cartographer", "vxMD"]
    {
        assert!(text.contains(expected), "{text}\nexpected: {expected}");
    }
    let (text, _) = run(&["inspect", path(&file), "--json"], 0);
    let view: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&view["kind"], &view["width"], &view["metadata"]["base"]),
        (&"PNG".into(), &4096.into(), &(-32).into())
    );
    assert_eq!(view["findings"], serde_json::json!([]));
    assert!(view["voxels"]["colours"].as_u64().unwrap() <= 255);

    let (text, _) = run(&["inspect", path(&out)], 0);
    assert!(text.contains("0: 4 tiles") && text.contains("A. Cartographer"), "{text}");
    let (text, _) = run(&["inspect", path(&out), "--json"], 0);
    let view: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&view["files"], &view["layers"][0]["tiles"]), (&4.into(), &4.into()));
}

#[test]
fn inspect_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.png");
    std::fs::write(&page, b"<!DOCTYPE html><title>404</title>").unwrap();
    let (text, _) = run(&["inspect", path(&page)], 1);
    assert!(text.contains("no image") && text.contains("finding"), "{text}");
    let (_, errors) = run(&["inspect", path(&dir.path().join("nowhere"))], 2);
    assert!(errors.contains("nowhere"), "{errors}");
    let (_, errors) = run(&["inspect", path(dir.path())], 2);
    assert!(errors.contains("no tiles.json"), "{errors}");
}

#[test]
fn validate_finds_every_kind_of_fault() {
    let dir = tempfile::tempdir().unwrap();
    let out = tileset(dir.path());
    let (text, _) = run(&["validate", path(&out)], 0);
    assert!(text.contains("4 files checked, 4 regions listed, 0 findings"), "{text}");

    // One is missing, one is cut, one has a flipped bit, and one stands where another should.
    std::fs::remove_file(out.join(name(0, 0))).unwrap();
    let cut = std::fs::read(out.join(name(1, 0))).unwrap();
    std::fs::write(out.join(name(1, 0)), &cut[..cut.len() / 2]).unwrap();
    let mut flipped = std::fs::read(out.join(name(0, 1))).unwrap();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    std::fs::write(out.join(name(0, 1)), &flipped).unwrap();
    std::fs::copy(out.join(name(1, 1)), out.join("17/1.png")).unwrap();
    let unlisted = out.join(format!("17/{}/{}.png", 2 * X, 5));
    std::fs::write(&unlisted, b"").unwrap();
    std::fs::write(out.join("17/.9.png.123.part"), b"half").unwrap();

    let (text, _) = run(&["validate", path(&out), "--json"], 1);
    let report: Value = serde_json::from_str(&text).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let of = |file: &str| -> String {
        let texts = findings.iter().filter(|finding| finding["file"] == file);
        texts.map(|finding| finding["finding"].as_str().unwrap().to_owned() + "\n").collect()
    };
    let check = |file: &str, expected: &str| {
        assert!(of(file).contains(expected), "{file}: {}\nexpected: {expected}\n{text}", of(file));
    };
    check(&name(0, 0), "missing");
    check(&name(1, 0), "truncated");
    check(&name(0, 1), "CRC");
    check("17/1.png", "another place");
    check(&format!("17/{}/5.png", 2 * X), "does not list");
    check(&format!("17/{}/5.png", 2 * X), "empty");
    check("17/.9.png.123.part", "left by a run");
    assert_eq!(of(&name(1, 1)), "");

    std::fs::write(out.join("tiles.json"), b"{}").unwrap();
    let (text, _) = run(&["validate", path(&out)], 1);
    assert!(text.contains("tiles.json is no tileset document"), "{text}");
    run(&["validate", path(&out.join("nowhere"))], 2);
    run(&["validate", path(&out.join("tiles.json"))], 2);
}
