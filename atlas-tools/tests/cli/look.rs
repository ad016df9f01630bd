//! `atlas-tools diff`, `stats`, and what `inspect` and `validate` say of sources of any kind, as a user meets them.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::path::Path;

use serde_json::{Value, json};
use voxatlas::atlas::{self, Decoder, EncodedAtlas};

use crate::common::{copy_of_demo, demo, path, run, serve};

fn json_of(args: &[&str], code: i32) -> Value {
    let (text, _) = run(&[args, &["--json"]].concat(), code);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Changes the voxels of a file.
fn edit(file: &Path, change: impl FnOnce(&mut voxatlas::voxel::Region)) {
    let atlas = EncodedAtlas::new(std::fs::read(file).unwrap());
    let mut region = atlas::decode(&atlas).unwrap();
    let metadata = Decoder::new(atlas.bytes()).unwrap().metadata().unwrap();
    change(&mut region);
    std::fs::write(file, atlas::encode(&region, &metadata)).unwrap();
}

#[test]
fn diff_counts_what_differs_voxel_by_voxel() {
    let dir = tempfile::tempdir().unwrap();
    let city = copy_of_demo(dir.path());
    let same = json_of(&["diff", path(&demo()), path(&city)], 0);
    assert_eq!((&same["compared"], &same["same"], &same["different"]), (&30.into(), &30.into(), &json!([])));

    // Other bytes and the same voxels; two voxels fewer; a file fewer.
    edit(&city.join("17/65535/65535.png"), |_| {});
    edit(&city.join("17/65536/65536.png"), |region| {
        region.occupancy.set(3, 0, 4, false);
        region.occupancy.set(200, 0, 9, false);
    });
    std::fs::remove_file(city.join("17/65537/65537.png")).unwrap();
    let view = json_of(&["diff", path(&demo()), path(&city), "--zoom", "17"], 1);
    assert_eq!((&view["compared"], &view["same"]), (&9.into(), &8.into()));
    assert_eq!(view["only_in_a"], json!(["17/65537/65537"]));
    let different = &view["different"][0];
    assert_eq!(different["voxels"], json!({ "only_in_a": 2, "only_in_b": 0, "recoloured": 0 }));
    assert_eq!((&different["first"]["at"], &different["first"]["b"]), (&json!([3, 0, 4]), &Value::Null));

    let (text, _) = run(&["diff", path(&demo()), path(&city), "--zoom", "17"], 1);
    assert!(
        text.contains("17/65536/65536: 2 voxels only in A, 0 only in B, 0 of another colour; first at 3,0,4"),
        "{text}"
    );
    let file = |name: &str| city.join("17").join(name);
    let (a, b) = (file("65535/65535.png"), file("65536/65535.png"));
    let files = json_of(&["diff", path(&a), path(&b)], 1);
    assert_eq!(files["compared"], 1);
    run(&["diff", path(&a), path(&demo().join("17/65535/65535.png"))], 0);
    run(&["diff", path(&a), path(&dir.path().join("nowhere"))], 2);
}

#[test]
fn an_archive_and_a_server_show_the_same_city() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    run(&["diff", path(&demo()), path(&file), "--quiet"], 0);
    let (folder, archives) = (serve(&demo()), serve(dir.path()));
    let archive = format!("{archives}/city.pmtiles");
    let template = format!("{folder}/{{z}}/{{x}}/{{y}}.png");
    for source in [folder.as_str(), archive.as_str()] {
        run(&["diff", path(&demo()), source, "--quiet"], 0);
        let (text, _) = run(&["validate", source], 0);
        assert!(text.contains("30 files checked, 30 regions listed, 0 findings"), "{text}");
        let (text, _) = run(&["inspect", source], 0);
        assert!(text.contains("voxatlas demo city") && text.contains(source), "{text}");
        let stats = json_of(&["stats", source, "--zoom", "12"], 0);
        assert_eq!((&stats["zooms"][0]["zoom"], &stats["zooms"][0]["regions"]), (&12.into(), &4.into()));
    }
    let (text, _) = run(&["validate", &template, "--tiles", "17/65536/65536,17/65537/65535,17/1/1"], 0);
    assert!(text.contains("2 files checked, 0 regions listed, 0 findings"), "{text}");
    let (_, errors) = run(&["validate", &template], 2);
    assert!(errors.contains("expected --tiles or a --bbox"), "{errors}");
}

#[test]
fn validate_finds_faults_on_a_server_and_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let city = copy_of_demo(dir.path());
    let damaged = city.join("17/65536/65536.png");
    let bytes = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    std::fs::remove_file(city.join("17/65537/65537.png")).unwrap();
    std::fs::copy(city.join("17/65535/65535.png"), city.join("17/65535/65536.png")).unwrap();
    let url = serve(&city);
    let (text, _) = run(&["validate", &url, "--jobs", "4"], 1);
    for expected in [
        "17/65537/65537.png: missing, though it is listed",
        "17/65535/65536.png: says that it holds 17/65535/65535",
        "17/65536/65536.png: ",
        "is out of date",
    ] {
        assert!(text.contains(expected), "{text}\nexpected: {expected}");
    }
    let (text, _) = run(&["validate", path(&damaged)], 1);
    assert!(text.contains("1 files checked") && text.contains("65536.png: "), "{text}");
    run(&["validate", path(&city.join("17/65535/65535.png"))], 0);
    let (_, errors) = run(&["validate", path(&dir.path().join("nowhere"))], 2);
    assert!(errors.contains("nowhere"), "{errors}");
    let (_, errors) = run(&["validate", "http://127.0.0.1:9/city"], 2);
    assert!(errors.contains("127.0.0.1:9"), "{errors}");
}

#[test]
fn stats_add_up() {
    let view = json_of(&["stats", path(&demo()), "--zoom", "17"], 0);
    let zoom = &view["zooms"][0];
    assert_eq!((&zoom["regions"], view["zooms"].as_array().unwrap().len()), (&10.into(), 1));
    let (mut bytes, mut voxels) = (0, 0);
    for (_, file) in crate::common::tree(&demo()).into_iter().filter(|(name, _)| name.starts_with("17/")) {
        bytes += file.len() as u64;
        voxels += atlas::decode(&EncodedAtlas::new(file)).unwrap().occupancy.count();
    }
    assert_eq!((&zoom["bytes"]["total"], &zoom["voxels"]["total"]), (&bytes.into(), &voxels.into()));
    assert_eq!(view["finest"]["voxels"], voxels);
    assert!(zoom["faces"]["total"].as_u64() > zoom["quads"]["total"].as_u64());
    assert_eq!(view["finest"]["heights"]["columns"], 9 * 256 * 256);
    let (text, _) = run(&["stats", path(&demo())], 0);
    assert!(text.contains("17: 10 regions") && text.contains("12: 4 regions") && text.contains("median"), "{text}");
}

#[test]
fn inspect_counts_and_draws() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("new/tower.png");
    let file = demo().join("17/65536/65536.png");
    let view = json_of(&["inspect", path(&file), "--preview", path(&picture), "--top", "3"], 0);
    assert_eq!(view["content"]["top_colours"].as_array().unwrap().len(), 3);
    assert_eq!(view["content"]["occupied"], view["voxels"]["occupied"]);
    assert_eq!(view["content"]["heights"]["columns"], 256 * 256);
    assert_eq!(image::image_dimensions(&picture).unwrap(), (256, 256));

    // A tileset is read only when asked to.
    let view = json_of(&["inspect", path(&demo())], 0);
    assert_eq!((&view["content"], &view["files"]), (&Value::Null, &30.into()));
    let city = dir.path().join("city.png");
    let source = demo();
    let args = ["inspect", path(&source), "--tiles", "17/65535/65535,17/65536/65536", "--preview", path(&city)];
    let view = json_of(&args, 0);
    assert_eq!(view["content"]["regions"], 3);
    let pixels = image::open(&city).unwrap().into_rgba8();
    assert_eq!(pixels.dimensions(), (512, 512));
    // North-west and south-east are drawn, the other two tiles are not.
    let alpha = |x, y| pixels.get_pixel(x, y).0[3];
    assert_eq!([alpha(9, 9), alpha(300, 9), alpha(9, 300), alpha(300, 300)], [255, 0, 0, 255]);
    let (_, errors) = run(&["inspect", path(&demo()), "--zoom", "3", "--voxels"], 2);
    assert!(errors.contains("no region of it is meant"), "{errors}");
}

#[test]
fn every_command_shows_how_it_is_used() {
    let (help, _) = run(&["--help"], 0);
    let commands: Vec<_> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() >= 12 && commands.contains(&"decode"), "{help}");
    for command in commands {
        let (help, _) = run(&[command, "--help"], 0);
        assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{command}\n{help}");
        assert!(help.contains(&format!("  atlas-tools {command}")), "{command}\n{help}");
    }
}

#[test]
fn completions_and_manual_pages_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        let (text, _) = run(&["completions", shell], 0);
        assert!(text.contains("atlas-tools") && text.contains("decode"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    run(&["man", "--out", path(dir.path()), "--quiet"], 0);
    let pages = crate::common::tree(dir.path());
    for name in ["atlas-tools.1", "atlas-tools-encode.1", "atlas-tools-decode.1"] {
        let page = String::from_utf8(pages[name].clone()).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!pages.contains_key("atlas-tools-help.1"));
}

#[cfg(feature = "gpu")]
#[test]
fn render_draws_as_the_viewer_does() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.png");
    let view = "0.0036,-0.0050,330,331,-17";
    let summary = json_of(&["render", path(&demo()), "--view", view, "--size", "320x180", "--out", path(&out)], 0);
    assert_eq!(summary["regions_failed"], 0);
    assert!(summary["regions_drawn"].as_u64().unwrap() >= 9, "{summary}");
    assert_eq!(image::image_dimensions(&out).unwrap(), (320, 180));
}
