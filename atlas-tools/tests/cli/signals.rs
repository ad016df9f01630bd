//! Ctrl-C and SIGTERM in the middle of the work: what is there is whole, and the next run ends with the same bytes.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as their tests do")]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{X, Y, json, path, put_city, run, tree};

/// Runs the program and sends it a signal as soon as something is there; its exit code and standard error.
fn stopped(args: &[&str], signal: &str, is_time: impl Fn() -> bool) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atlas-tools"));
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !is_time() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    // It fails where the program has ended, and then the test sees that.
    Command::new("kill").args([signal, &pid]).stderr(Stdio::null()).status().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Whether a folder holds a file of such a name, however deep.
fn has(dir: &Path, is_it: fn(&str) -> bool) -> bool {
    std::fs::read_dir(dir).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name().into_string().unwrap();
            is_it(&name) || entry.path().is_dir() && has(&entry.path(), is_it)
        })
    })
}

fn is_picture(name: &str) -> bool {
    !name.starts_with('.') && Path::new(name).extension().is_some_and(|extension| extension == "png")
}

fn is_leftover(name: &str) -> bool {
    name.starts_with('.')
}

/// Runs a command that a signal ends, and checks that it says so and leaves nothing that is not whole.
fn stop(args: &[&str], signal: &str, dir: &Path, is_time: impl Fn() -> bool) {
    let (code, errors) = stopped(args, signal, is_time);
    assert_eq!(code, Some(2), "{args:?}: {errors}");
    assert!(errors.contains("interrupted after") && errors.contains("whole"), "{args:?}: {errors}");
    assert!(!has(dir, is_leftover), "{args:?}: {:?}", tree(dir).into_keys());
}

#[test]
fn a_run_that_is_stopped_goes_on_with_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    put_city(&at("in"));
    let (input, whole, out) = (at("in"), at("whole"), at("out"));
    let tiles = format!("16/{X}/{Y},16/{}/{Y}", X + 1);
    let job = [path(&input), "--tiles", &tiles];
    let encode = |out: &Path, more: &[&str]| run(&[&["encode", "--out", path(out)], &job[..], more].concat(), 0).0;
    encode(&whole, &["--quiet"]);
    let whole = tree(&whole);
    let args = [&["encode", "--out", path(&out), "--jobs", "1"], &job[..]].concat();
    stop(&args, "-TERM", &out, || has(&out, is_picture));
    assert!(!out.join("tiles.json").exists());
    let summary = json(&encode(&out, &["--resume", "--json"]));
    assert!(summary["tiles_kept"].as_u64() >= Some(1), "{summary}");
    assert!(tree(&out) == whole);

    // A shard of a plan.
    let (plan, shared) = (at("plan.json"), at("shared"));
    run(&[&["plan", "--shards", "1", "--out", path(&plan), "--quiet"], &job[..]].concat(), 0);
    let args = ["encode", "--plan", path(&plan), "--shard", "0", "--out", path(&shared), "--jobs", "1"];
    stop(&args, "-INT", &shared, || has(&shared, is_picture));
    run(&[&args, &["--resume", "--quiet"][..]].concat(), 0);
    run(&["merge", "--plan", path(&plan), path(&shared), "--quiet"], 0);
    let mut merged = tree(&shared);
    merged.retain(|name, _| !name.starts_with("manifest"));
    assert!(merged == whole);

    // The pyramid of it, whose document is the last that is written.
    let document = whole["tiles.json"].clone();
    let args = ["pyramid", path(&out), "--jobs", "1"];
    stop(&args, "-TERM", &out, || has(&out.join("16"), is_picture));
    assert!(std::fs::read(out.join("tiles.json")).unwrap() == document);
    run(&args, 0);
    let other = at("whole");
    run(&["pyramid", path(&other), "--quiet"], 0);
    assert!(tree(&out) == tree(&other));
}

#[test]
fn a_file_of_a_command_that_is_stopped_is_whole_or_absent() {
    let dir = tempfile::tempdir().unwrap();
    let (city, out) = (dir.path().join("city"), dir.path().join("out"));
    put_city(&dir.path().join("in"));
    let tiles = format!("16/{X}/{Y}");
    run(&["encode", path(&dir.path().join("in")), "--out", path(&city), "--tiles", &tiles, "--quiet"], 0);
    for name in ["city.vox", "city.npy"] {
        let file = out.join(name);
        stop(&["decode", path(&city), "--out", path(&file), "--jobs", "1"], "-INT", &out, || has(&out, |_| true));
        assert!(!file.is_file());
    }
    std::fs::remove_dir_all(&out).unwrap();
    // Which may have ended before the signal comes.
    let archive = out.join("city.pmtiles");
    let (code, errors) = stopped(&["pack", path(&city), path(&archive), "--quiet"], "-TERM", || has(&out, |_| true));
    assert!(!has(&out, is_leftover), "{:?}", tree(&out).into_keys());
    match code {
        Some(0) => drop(run(&["validate", path(&archive), "--quiet"], 0)),
        _ => {
            assert!(code == Some(2) && !archive.exists() && errors.contains("interrupted after"), "{code:?}: {errors}");
        }
    }
}
