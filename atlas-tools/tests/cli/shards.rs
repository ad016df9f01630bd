//! A run that is shared out: the same bytes, however it is done.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as their tests do")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use voxatlas::geo::LonLat;

use crate::common::{atlas_tools, json, path, run, tree};

/// The tile in the middle of the made-up city.
const X: f64 = 116_400.0;
const Y: f64 = 51_600.0;

/// Blocks over 4 x 3 tiles, some across borders, one higher than a layer, one that floats.
fn put_city(file: &Path) {
    let mut text = String::new();
    for n in 0..120u32 {
        let x = X * 256.0 + f64::from(n * 7919 % 1000);
        let z = Y * 256.0 + f64::from(n * 104_729 % 740);
        let (w, d) = (8.0 + f64::from(n * 31 % 60), 8.0 + f64::from(n * 17 % 50));
        let corner = |x: f64, z: f64| {
            let place = LonLat::from_world(x, z);
            format!("[{:.9},{:.9}]", place.lon_deg(), place.lat_deg())
        };
        let ring = [corner(x, z), corner(x + w, z), corner(x + w, z + d), corner(x, z + d), corner(x, z)].join(",");
        let height_m = if n == 7 { 300 } else { 4 + n * 13 % 120 };
        let floats = if n % 11 == 0 { ",\"min_height\":3" } else { "" };
        let feature = format!(
            "{{\"type\":\"Feature\",\"id\":{},\"properties\":{{\"height\":{height_m}{floats}}},\"geometry\":{{\"type\":\"Polygon\",\
             \"coordinates\":[[{ring}]]}}}}\n",
            n + 1
        );
        text += &feature;
    }
    std::fs::write(file, text).unwrap();
}

/// The tiles of a city, and its document.
fn city(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(dir).into_iter().filter(|(name, _)| !name.starts_with("manifest")).collect()
}

/// A folder with the city, its plan in so many shards, and what one process makes of it.
struct Planned {
    dir: tempfile::TempDir,
    whole: BTreeMap<String, Vec<u8>>,
    features: serde_json::Value,
}

impl Planned {
    fn new(shards: &str, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (input, whole) = (dir.path().join("city.geojsonl"), dir.path().join("whole"));
        put_city(&input);
        let (summary, _) =
            run(&[&["encode", path(&input), "--out", path(&whole), "--json", "--jobs", "2"], flags].concat(), 0);
        let plan = dir.path().join("plan.json");
        run(&[&["plan", path(&input), "--shards", shards, "--out", path(&plan), "--quiet"], flags].concat(), 0);
        let whole = city(&whole);
        Self { whole, features: json(&summary)["features"].clone(), dir }
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn encode(&self, shard: &str, flags: &[&str]) {
        let (plan, out) = (self.at("plan.json"), self.at("out"));
        run(&[&["encode", "--plan", &plan, "--shard", shard, "--out", &out, "--quiet"], flags].concat(), 0);
    }

    fn merge(&self, flags: &[&str], code: i32) -> (String, String) {
        run(&[&["merge", "--plan", &self.at("plan.json"), &self.at("out")], flags].concat(), code)
    }

    fn verify(&self, code: i32) -> serde_json::Value {
        json(&run(&["verify", "--plan", &self.at("plan.json"), &self.at("out"), "--json"], code).0)
    }
}

#[test]
fn a_shard_needs_no_input_that_lies_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    // Two blocks, forty tiles from each other.
    let block = |x: f64| {
        let corner = |dx: f64, dz: f64| {
            let place = LonLat::from_world((X + x) * 256.0 + dx, Y * 256.0 + dz);
            format!("[{:.9},{:.9}]", place.lon_deg(), place.lat_deg())
        };
        let ring = [corner(9.0, 9.0), corner(60.0, 9.0), corner(60.0, 70.0), corner(9.0, 9.0)].join(",");
        format!(
            "{{\"type\":\"Feature\",\"properties\":{{\"height\":20}},\"geometry\":{{\"type\":\"Polygon\",\
             \"coordinates\":[[{ring}]]}}}}\n"
        )
    };
    std::fs::write(at("west.geojsonl"), block(0.0)).unwrap();
    std::fs::write(at("east.geojsonl"), block(40.0)).unwrap();
    let inputs = [at("west.geojsonl"), at("east.geojsonl")];
    run(&["encode", &inputs[0], &inputs[1], "--out", &at("whole"), "--quiet"], 0);
    run(&["plan", &inputs[0], &inputs[1], "--shards", "2", "--out", &at("plan.json"), "--quiet"], 0);
    let plan = json(&std::fs::read_to_string(at("plan.json")).unwrap());
    let needs = |shard: usize| plan["shards"][shard]["inputs"].clone();
    assert_eq!(needs(0), serde_json::json!([{ "input": 0 }]));
    assert_eq!(needs(1), serde_json::json!([{ "input": 1 }]));
    for (shard, absent) in [("0", 1), ("1", 0)] {
        let away = format!("{}.away", inputs[absent]);
        std::fs::rename(&inputs[absent], &away).unwrap();
        run(&["encode", "--plan", &at("plan.json"), "--shard", shard, "--out", &at("out"), "--quiet"], 0);
        std::fs::rename(&away, &inputs[absent]).unwrap();
    }
    run(&["merge", "--plan", &at("plan.json"), &at("out"), "--quiet"], 0);
    assert_eq!(city(&dir.path().join("out")), city(&dir.path().join("whole")));
}

#[test]
fn shards_are_byte_for_byte_what_one_process_makes() {
    let planned = Planned::new("5", &["--ids"]);
    assert!(
        planned.whole.keys().any(|name| name.contains(".l1."))
            && planned.whole.keys().any(|name| name.contains(".attrs."))
    );
    // In any order, with any number of jobs, one of them twice.
    for (shard, jobs) in [("3", "1"), ("0", "2"), ("4", "1"), ("1", "2"), ("2", "2"), ("3", "2")] {
        planned.encode(shard, &["--jobs", jobs]);
    }
    let (summary, _) = planned.merge(&["--json"], 0);
    assert_eq!(city(&planned.dir.path().join("out")), planned.whole);
    // Each feature is counted once, though many lie in two tiles and some in two shards.
    assert_eq!((&json(&summary)["features"], &planned.features), (&120.into(), &120.into()));
    let report = planned.verify(0);
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0));
    let merged = std::fs::read(planned.at("out/manifest.jsonl")).unwrap();
    planned.merge(&["--quiet"], 0);
    assert_eq!(std::fs::read(planned.at("out/manifest.jsonl")).unwrap(), merged, "merging again changes nothing");
    // More shards than tiles: some are empty, and that is fine.
    let many = Planned::new("40", &[]);
    (0..40).for_each(|shard| many.encode(&shard.to_string(), &[]));
    many.merge(&["--quiet"], 0);
    many.verify(0);
    assert_eq!(city(&many.dir.path().join("out")), many.whole);
}

#[test]
fn what_was_not_carried_out_is_found() {
    let planned = Planned::new("3", &[]);
    planned.encode("0", &[]);
    planned.encode("2", &[]);
    let (_, errors) = planned.merge(&[], 2);
    assert!(errors.contains("shards 1 are missing") && errors.contains("--partial"), "{errors}");
    let (summary, _) = planned.merge(&["--partial", "--json"], 1);
    assert_eq!(json(&summary)["shards_missing"], serde_json::json!([1]));
    let findings = |report: &serde_json::Value| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|finding| format!("{}: {}", finding["tile"], finding["finding"])).collect()
    };
    let missing = findings(&planned.verify(1));
    assert!(missing.iter().any(|finding| finding.ends_with("missing\"")), "{missing:?}");
    planned.encode("1", &[]);
    planned.merge(&["--quiet"], 0);
    planned.verify(0);

    // A file that is not the one that was made, one that is gone, and a neighbour that was made of other data.
    let name = planned.whole.keys().find(|name| name.starts_with("17/")).unwrap();
    let file = planned.dir.path().join("out").join(name);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert!(findings(&planned.verify(1))[0].contains("is not the file that was made"));
    std::fs::remove_file(&file).unwrap();
    assert!(findings(&planned.verify(1))[0].contains("is missing"));
    std::fs::write(&file, &bytes).unwrap();
    let manifest = planned.at("out/manifest.jsonl");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let line = text.lines().nth(2).unwrap();
    let mut record = json(line);
    record["borders"]["west"] = "0123456789abcdef".into();
    record["borders"]["north"] = "0123456789abcdef".into();
    record["borders"]["east"] = "0123456789abcdef".into();
    record["borders"]["south"] = "0123456789abcdef".into();
    std::fs::write(&manifest, text.replace(line, &record.to_string())).unwrap();
    let seams = findings(&planned.verify(1));
    assert!(seams.iter().any(|finding| finding.contains("does not fit its")), "{seams:?}");
}

#[test]
fn a_killed_shard_goes_on_from_its_whole_tiles() {
    let planned = Planned::new("1", &[]);
    let manifest = planned.at("out/manifest-0.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_atlas-tools"))
        .args([
            "encode",
            "--plan",
            &planned.at("plan.json"),
            "--shard",
            "0",
            "--out",
            &planned.at("out"),
            "--jobs",
            "1",
        ])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let n_lines = || std::fs::read_to_string(&manifest).map_or(0, |text| text.lines().count());
    while n_lines() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What was being written when the program was ended does not count.
    write!(std::fs::File::options().append(true).open(&manifest).unwrap(), "{{\"tile\":\"17/116").unwrap();
    let (summary, _) = run(
        &[
            "encode",
            "--plan",
            &planned.at("plan.json"),
            "--shard",
            "0",
            "--out",
            &planned.at("out"),
            "--resume",
            "--json",
        ],
        0,
    );
    assert!(json(&summary)["tiles_kept"].as_u64().unwrap() >= 3, "{summary}");
    assert_eq!(json(&summary)["features"], planned.features);
    planned.merge(&["--quiet"], 0);
    planned.verify(0);
    assert_eq!(city(&planned.dir.path().join("out")), planned.whole);
}

#[test]
fn wrong_usage_of_shards_is_named() {
    let planned = Planned::new("2", &[]);
    let (plan, out) = (planned.at("plan.json"), planned.at("out"));
    let check = |args: &[&str], expected: &str| {
        let (_, errors) = run(args, 2);
        assert!(errors.contains(expected), "{args:?}: {errors}\nexpected: {expected}");
    };
    check(&["encode", "--plan", &plan, "--shard", "2", "--out", &out], "--shard is 2, the plan has 2 shards");
    check(&["encode", "--plan", &plan, "--shard", "x", "--out", &out], "expected a number from 0, or auto");
    check(&["encode", "--plan", &plan, "--out", &out], "--shard");
    check(&["encode", "--plan", &plan, "--shard", "0", "--pyramid", "--out", &out], "cannot be used with");
    // A plan says all that decides how a tile looks; what is said beside it would be of no effect.
    let beside = [
        "city.geojson",
        "--bbox=139,35,140,36",
        "--tiles=17/1/1",
        "--crs=EPSG:6677",
        "--axis=auto",
        "--at=139,35",
        "--up=y",
        "--height-field=h",
        "--encoding=utf-8",
        "--lod=1",
        "--fill",
        "--ids",
        "--ground=auto",
        "--no-ground",
        "--ground-height=0",
        "--ortho=a.tif",
        "--overflow=stack",
        "--attribution=A",
    ];
    for flag in beside {
        let expected = format!(
            "cannot be used with '{}",
            flag.split('=').next().filter(|name| name.starts_with('-')).unwrap_or("[INPUT]")
        );
        check(&["encode", "--plan", &plan, "--shard", "0", "--out", &out, flag], &expected);
    }
    check(&["encode", "--plan", &planned.at("city.geojsonl"), "--shard", "0", "--out", &out], "no plan");
    check(&["merge", "--plan", &plan, &planned.at("whole")], "are missing");
    let output = Command::new(env!("CARGO_BIN_EXE_atlas-tools"))
        .args(["encode", "--plan", &plan, "--shard", "auto", "--out", &out, "--quiet"])
        .env("JOB_COMPLETION_INDEX", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Path::new(&planned.at("out/manifest-1.jsonl")).is_file());
    // Another plan's shards are not taken for this one's.
    let other = Planned::new("2", &["--no-ground"]);
    std::fs::copy(planned.at("out/manifest-1.jsonl"), {
        std::fs::create_dir_all(other.at("out")).unwrap();
        other.at("out/manifest-1.jsonl")
    })
    .unwrap();
    let (_, errors) = other.merge(&[], 2);
    assert!(errors.contains("made by another plan"), "{errors}");
    assert_eq!(atlas_tools(&["plan", "--shards", "0", &plan]).status.code(), Some(2));
}

#[test]
fn a_pyramid_is_shared_out_too() {
    let planned = Planned::new("1", &[]);
    let (whole, shared) = (planned.at("whole"), planned.at("shared"));
    run(&["encode", &planned.at("city.geojsonl"), "--out", &shared, "--quiet"], 0);
    run(&["pyramid", &whole, "--quiet"], 0);
    let before = std::fs::read(Path::new(&shared).join("tiles.json")).unwrap();
    for shard in ["1", "0", "2"] {
        run(&["pyramid", &shared, "--shards", "3", "--shard", shard, "--min-zoom", "14", "--quiet"], 0);
    }
    assert_eq!(std::fs::read(Path::new(&shared).join("tiles.json")).unwrap(), before, "nobody has joined them yet");
    let (summary, _) = run(&["pyramid", &shared, "--json"], 0);
    let summary = json(&summary);
    for zoom in summary["zooms"].as_array().unwrap().iter().filter(|zoom| zoom["zoom"].as_u64() >= Some(14)) {
        assert_eq!(zoom["kept"], zoom["regions"], "what the shares made is kept: {summary}");
    }
    assert_eq!(city(Path::new(&shared)), city(Path::new(&whole)));
    let (_, errors) = run(&["pyramid", &shared, "--shards", "3", "--shard", "3"], 2);
    assert!(errors.contains("3 shards"), "{errors}");
}
