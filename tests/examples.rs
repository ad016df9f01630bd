//! The examples run, and print what they promise.
//!
//! `cargo test` builds them beside this test; `cargo test --test examples` alone needs `cargo build --examples` first.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on is a failed test")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn program(example: &str) -> PathBuf {
    // target/<profile>/deps/examples-<hash> -> target/<profile>/examples/<example>
    let test = std::env::current_exe().unwrap();
    let profile_dir = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program: PathBuf =
        [profile_dir, "examples".as_ref(), format!("{example}{}", std::env::consts::EXE_SUFFIX).as_ref()]
            .iter()
            .collect();
    assert!(program.is_file(), "{} is missing: run `cargo build --examples` first", program.display());
    program
}

fn run(example: &str, args: &[&str]) -> Output {
    Command::new(program(example)).args(args).output().unwrap()
}

/// What an example prints; it must succeed.
fn output(example: &str, args: &[&str]) -> String {
    let output = run(example, args);
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn decode_atlas_draws_the_roofs() {
    let text = output("decode_atlas", &[]);
    assert!(text.contains("region 17/65536/65536, "), "{text}");
    let picture: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("from above")).skip(1).collect();
    assert_eq!(picture.len(), 32);
    assert!(picture.iter().any(|line| line.contains('@')), "{text}");

    let failed = run("decode_atlas", &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(!failed.status.success());
}

#[test]
fn mesh_region_counts_faces_and_quads() {
    let text = output("mesh_region", &[]);
    let row = |face: &str| -> Vec<u64> {
        let line = text.lines().find(|line| line.starts_with(face)).unwrap();
        line.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect()
    };
    let sums = |column: usize| -> u64 {
        ["NegX", "PosX", "NegY", "PosY", "NegZ", "PosZ"].map(|f| row(f)[column]).iter().sum()
    };
    assert_eq!(row("all"), [sums(0), sums(1)], "{text}");
    // Every column of the ground has a face that looks up.
    assert!(row("PosY")[0] >= 256 * 256, "{text}");
}

#[cfg(feature = "net")]
#[test]
fn custom_source_makes_a_floor() {
    let text = output("custom_source", &[]);
    assert!(text.starts_with("region 17/65536/65536: ") && text.ends_with(" quads\n"), "{text}");
}

#[cfg(feature = "net")]
#[test]
fn stream_headless_loads_the_demo_city() {
    let text = output("stream_headless", &[]);
    assert!(text.starts_with("Demo city: voxatlas demo city"), "{text}");
    assert!(text.contains("slot  0 "), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.ends_with(" 0 empty, 0 failed") && !last.starts_with("0 drawn"), "{text}");
}

#[cfg(feature = "net")]
#[test]
fn bring_your_own_renderer_is_told_boxes_textures_and_offsets() {
    let text = output("bring_your_own_renderer", &[]);
    // What the updates say in the end is what is drawn.
    let mut slots = std::collections::BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("slot ")) {
        let (slot, content) = line.split_once(": ").unwrap();
        if content == "nothing" {
            slots.remove(slot)
        } else {
            slots.insert(slot, content)
        };
    }
    assert!(slots.len() >= 4, "{text}");
    let counts = text.lines().find(|line| line.contains(" boxes in one call")).unwrap();
    assert!(counts.starts_with(&format!("{} slots, ", slots.len())), "{text}");
    let last_written = text.lines().rfind(|line| line.starts_with("boxes ")).unwrap();
    let n_boxes = last_written.split(" of ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(counts.contains(&format!(", {n_boxes} boxes")) && n_boxes.parse::<u32>().unwrap() > 1_000, "{text}");
    assert!(text.lines().last().unwrap().ends_with("alpha 255"), "the box is found in the texture of its slot: {text}");
}

/// A window needs a display: `xvfb-run` starts one that nobody sees, and stops it.
#[cfg(all(feature = "viewer", target_os = "linux"))]
#[test]
fn view_window_opens_a_window_and_draws_the_demo_city() {
    let output = Command::new("xvfb-run")
        .args(["--auto-servernum", "--server-args=-screen 0 640x480x24"])
        .arg(program("view_window"))
        .arg("--once")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .expect("xvfb-run starts: `make setup` installs it");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let n_drawn: usize = stdout.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0);
    assert!(n_drawn >= 9, "{stdout}{stderr}");
}
