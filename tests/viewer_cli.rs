//! Goal: the `voxatlas` program keeps its word: pictures, messages and exit codes.
//! Method: the built program is run on the demo city, whole and damaged, without a window.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The demo city, as it lies in the repository.
fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/demo")
}

/// A copy of the demo city that a test may damage.
fn copy_of_demo(to: &Path) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    copy(&demo(), to);
}

fn voxatlas(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_voxatlas"));
    command
        .args(args)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env_remove("RUST_LOG")
        .env_remove("VOXATLAS_TOKEN");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Renders a small picture of the source; the summary and the pixels.
fn render(source: &str, out: &Path, expected_code: i32) -> (serde_json::Value, image::RgbaImage) {
    let output = voxatlas(&[
        "render",
        source,
        "--view",
        "0.0036,-0.0050,330,331,-17",
        "--size",
        "320x180",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(expected_code), "{}", text(&output.stderr));
    let summary = serde_json::from_slice(&output.stdout).expect("one JSON object on the standard output");
    (summary, image::open(out).unwrap().into_rgba8())
}

#[test]
fn the_demo_city_is_drawn_the_same_from_the_program_and_from_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (summary, built_in) = render("demo", &dir.path().join("a.png"), 0);
    assert_eq!(summary["regions_failed"], 0);
    assert!(summary["regions_drawn"].as_u64().unwrap() >= 9, "{summary}");
    let (_, from_files) = render(demo().to_str().unwrap(), &dir.path().join("b.png"), 0);
    assert_eq!(built_in.dimensions(), (320, 180));
    assert!(built_in == from_files, "same regions, same picture");

    // Blue sky along the top, roofs and streets below.
    let is_sky = |x: u32, y: u32| {
        let [r, _, b, _] = built_in.get_pixel(x, y).0;
        b > r
    };
    assert!((0..320).all(|x| is_sky(x, 0)));
    assert!((0..320).filter(|&x| !is_sky(x, 140)).count() > 100);
}

#[test]
fn a_damaged_region_is_named_and_costs_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    copy_of_demo(&city);
    let damaged = city.join("17/65536/65536.png");
    let bytes = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();

    let (summary, _) = render(city.to_str().unwrap(), &dir.path().join("a.png"), 1);
    assert_eq!(summary["regions_failed"], 1);
    assert_eq!(summary["failures"][0]["key"], "17/65536/65536");
    let what = summary["failures"][0]["what"].as_str().unwrap();
    assert!(what.contains("65536.png"), "{what}");
    assert!(summary["regions_drawn"].as_u64().unwrap() >= 8, "{summary}");
}

#[test]
fn what_cannot_be_done_ends_with_2_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().to_str().unwrap();
    let nowhere = dir.path().join("missing/a.png");
    let nowhere = nowhere.to_str().unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["render", "--size", "32x18", "--out", "a.png", "--events", nowhere], nowhere),
        (&["render", empty, "--out", "a.png"], "tiles.json"),
        (&["render", "ftp://host/city", "--out", "a.png"], "ftp"),
        (&["render", "--size", "32x18", "--out", nowhere], "a.png"),
        (&["render", "https://127.0.0.1:9/{z}/{x}/{y}.png", "--out", "a.png"], "--view"),
        (&["render", "--view", "1,2,3", "--out", "a.png"], "LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG"),
        (&["fly"], "error"),
    ];
    for (args, expected) in cases {
        let output = voxatlas(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn without_a_display_the_viewer_says_so() {
    let output = voxatlas(&["view"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("DISPLAY") && stderr.contains("voxatlas render"), "{stderr}");
}

/// What each region was in turn, in the words of the events, and the last thing that was said of it.
fn stories(events: &Path) -> BTreeMap<String, (Vec<String>, serde_json::Value)> {
    let mut stories: BTreeMap<String, (Vec<String>, serde_json::Value)> = BTreeMap::new();
    let mut time = 0.0;
    for line in std::fs::read_to_string(events).unwrap().lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("each line is a JSON object");
        assert!(event["time"].as_f64().unwrap() >= time, "time goes on: {line}");
        time = event["time"].as_f64().unwrap();
        for cell in event["cells"].as_array().unwrap() {
            let (story, last) = stories.entry(cell["region"].as_str().unwrap().to_owned()).or_default();
            let cache = cell["cache"].as_str().unwrap();
            if story.last().is_none_or(|last| last != cache) {
                story.push(cache.to_owned());
            }
            *last = cell.clone();
        }
    }
    stories
}

#[test]
fn events_tell_the_story_of_each_region() {
    let dir = tempfile::tempdir().unwrap();
    let (events, out) = (dir.path().join("events.jsonl"), dir.path().join("out"));
    let [events_text, out_text] = [&events, &out].map(|path| path.to_str().unwrap());
    let path = dir.path().join("path.txt");
    std::fs::write(&path, "0.0036,-0.0050,330,331,-17\n0.0034,-0.0048,330,331,-17\n").unwrap();
    let ways: [&[&str]; 2] =
        [&["--view", "0.0036,-0.0050,330,331,-17"], &["--path", path.to_str().unwrap(), "--frames", "2"]];
    for way in ways {
        let output = voxatlas(
            &[&["render", "--size", "320x180", "--quiet", "--events", events_text, "--out", out_text][..], way]
                .concat(),
        );
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(0) && !stderr.contains("--events"), "{stderr}");
        let stories = stories(&events);
        let visible: Vec<_> = stories.values().filter(|(_, last)| last["state"] == "visible").collect();
        assert!(visible.len() >= 9, "{stories:?}");
        for (story, last) in visible {
            assert_eq!(story.as_slice(), ["fetching", "empty", "building", "cached"], "{last}");
            assert!(
                last["prefetch_ms"].as_f64().unwrap() >= 0.0 && last["prebuild_ms"].as_f64().unwrap() > 0.0,
                "{last}"
            );
        }
        // The next way makes a folder of it.
        let _ = std::fs::remove_file(&out);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_events_and_not_the_picture() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.png");
    let output =
        voxatlas(&["render", "--size", "64x36", "--quiet", "--events", "/dev/full", "--out", out.to_str().unwrap()]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches("--events: /dev/full: ").count(), 1, "{stderr}");
    assert!(image::open(out).is_ok());
}

#[test]
fn the_log_tells_of_each_fetch_and_build_how_long_it_took() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.png");
    let output = command(&["render", "--size", "64x36", "--quiet", "--out", out.to_str().unwrap()])
        .env("RUST_LOG", "voxatlas=debug")
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    let ended = |span: &str, end: &str| -> BTreeSet<&str> {
        let ends = stderr.lines().filter(|line| line.contains("time.busy=")).filter_map(|line| line.split_once(end));
        ends.filter_map(|(head, _)| Some(head.split_once(span)?.1.split_once(" ticket=")?.0)).collect()
    };
    let [fetched, built] = ["fetch{region=", "build{region="].map(|span| ended(span, "}: close"));
    assert!(!built.is_empty() && built.is_subset(&fetched), "{stderr}");
    for step in ["}:decode{bytes=", "}:mesh: close"] {
        assert_eq!(ended("build{region=", step), built, "{step}: {stderr}");
    }
    assert!(stderr.contains("advance: close") && stderr.contains("advance:upload{bytes="), "{stderr}");
}

#[test]
fn a_city_that_was_seen_is_there_without_its_server() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let server = Files::serve(demo());
    let picture = |name: &str, extra: &[&str]| {
        let out = dir.path().join(name);
        let url = server.url();
        let args = ["render", url.as_str(), "--view", "0.0036,-0.0050,330,331,-17", "--size", "64x36", "--quiet"];
        let tail = ["--out", out.to_str().unwrap(), "--cache-dir", cache.to_str().unwrap()];
        let output = voxatlas(&[&args, tail.as_slice(), extra].concat());
        (output.status.code(), text(&output.stderr), std::fs::read(out).ok())
    };
    let (code, stderr, first) = picture("a.png", &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let n_requests = server.n_requests();
    assert!(n_requests > 9);
    for extra in [[].as_slice(), &["--offline"]] {
        let (code, stderr, again) = picture("b.png", extra);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(again == first, "{extra:?}: another picture");
    }
    assert_eq!(server.n_requests(), n_requests);

    let run = |action: &str| {
        let output = voxatlas(&["cache", action, "--cache-dir", cache.to_str().unwrap(), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let info = run("info");
    assert_eq!((info["files"].as_u64(), &info["hosts"][0]["host"]), (Some(n_requests as u64), &server.host().into()));
    assert_eq!(run("clear")["files"], info["files"]);
    assert_eq!(run("info")["files"], 0);
    let (code, stderr, _) = picture("c.png", &["--offline"]);
    assert!(code == Some(2) && stderr.contains("tiles.json") && stderr.contains("--offline"), "{code:?} {stderr}");
}

#[test]
fn no_message_shows_a_secret() {
    for args in [
        ["render", "--header", "hidden-1", "--out", "a.png"],
        ["render", "--proxy", "hidden-1", "--out", "a.png"],
        ["render", "--token", "hidden-1\n", "--out", "a.png/b.png/"],
    ] {
        let output = voxatlas(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!text(&output.stderr).contains("hidden-1"), "{}", text(&output.stderr));
    }
}

/// A server of the files of a folder, which hold for an hour. It ends with the test.
struct Files {
    address: std::net::SocketAddr,
    n_requests: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Files {
    fn serve(dir: PathBuf) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let n_requests = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
        let counted = std::sync::Arc::clone(&n_requests);
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming() {
                    counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    // A client that leaves early costs nobody else an answer.
                    let _ = stream.and_then(|stream| answer(stream, &dir));
                }
            })
            .unwrap();
        Self { address, n_requests }
    }

    fn host(&self) -> String {
        self.address.to_string()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn n_requests(&self) -> usize {
        self.n_requests.load(std::sync::atomic::Ordering::SeqCst)
    }
}

/// Answers one request and closes the connection.
fn answer(mut stream: std::net::TcpStream, dir: &Path) -> std::io::Result<()> {
    use std::io::{BufRead as _, Write as _};
    let mut lines = std::io::BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, body) = match std::fs::read(dir.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nCache-Control: max-age=3600\r\n");
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes())?;
    stream.write_all(&body)
}
