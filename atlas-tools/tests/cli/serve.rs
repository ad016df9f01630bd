//! `atlas-tools serve` as a client on the wire meets it.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{copy_of_demo, demo, path, put, run};

/// The running program; it ends with the test.
struct Server {
    child: Child,
    address: String,
    greeting: String,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_atlas-tools"))
            .args(["serve", path(dir), "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while !greeting.contains("Ctrl-C") {
            assert!(lines.read_line(&mut greeting).unwrap() > 0, "it ended: {greeting}");
        }
        let address = greeting.lines().next().unwrap().rsplit("http://").next().unwrap().to_owned();
        Self { child, address, greeting }
    }

    /// Sends the bytes of a path as they are, which a well-behaved client would clean up first.
    fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let close = "Connection: close";
        let lines = [&["Host: city", close], headers, &["", ""]].concat().join("\r\n");
        write!(stream, "{method} {path} HTTP/1.1\r\n{lines}").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Answer { status, headers: head.lines().filter_map(header).collect(), body: bytes[head_end + 4..].to_vec() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

#[test]
fn a_tileset_goes_out_with_its_document_and_types() {
    let server = Server::start(&demo());
    let document = server.get("/tiles.json");
    assert_eq!((document.status, document.headers["content-type"].as_str()), (200, "application/json"));
    let view: serde_json::Value = serde_json::from_slice(&document.body).unwrap();
    assert_eq!((&view["tilejson"], &view["tiles"][0]), (&"3.0.0".into(), &"{z}/{x}/{y}.png".into()));
    let tile = server.get("/17/65536/65536.png");
    assert_eq!((tile.status, tile.headers["content-type"].as_str()), (200, "image/png"));
    assert!(tile.body == std::fs::read(demo().join("17/65536/65536.png")).unwrap());
    let head = server.ask("HEAD", "/17/65536/65536.png", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.headers["content-length"], tile.body.len().to_string());
    assert_eq!(server.ask("POST", "/tiles.json", &[]).status, 405);
    assert_eq!(server.get("/17/1/1.png").status, 404);
}

#[test]
fn a_png_is_never_packed_again() {
    let dir = tempfile::tempdir().unwrap();
    let city = copy_of_demo(dir.path());
    // A neighbour that a server of packed files would choose.
    put(&city, "17/65536/65536.png.gz", b"packed");
    let server = Server::start(&city);
    let plain = server.get("/17/65536/65536.png");
    for accepted in ["gzip", "gzip, deflate, br, zstd", "*"] {
        let answer = server.ask("GET", "/17/65536/65536.png", &[&format!("Accept-Encoding: {accepted}")]);
        assert!(!answer.headers.contains_key("content-encoding"), "{accepted}");
        assert!(answer.body == plain.body, "{accepted}");
    }
}

#[test]
fn parts_and_versions_are_asked_for() {
    let server = Server::start(&demo());
    let whole = server.get("/17/65536/65536.png");
    let (etag, n_bytes) = (&whole.headers["etag"], whole.body.len());
    let part = |range: &str| server.ask("GET", "/17/65536/65536.png", &[&format!("Range: bytes={range}")]);
    for (range, expected) in [("0-7", 0..8), ("100-199", 100..200), ("-9", n_bytes - 9..n_bytes)] {
        let answer = part(range);
        assert_eq!(answer.status, 206, "{range}");
        assert!(answer.body == whole.body[expected.clone()], "{range}");
        let stated = format!("bytes {}-{}/{n_bytes}", expected.start, expected.end - 1);
        assert_eq!(answer.headers["content-range"], stated);
    }
    assert_eq!(part("99999999-").status, 416);
    let same = server.ask("GET", "/17/65536/65536.png", &[&format!("If-None-Match: {etag}")]);
    assert_eq!((same.status, same.body.len()), (304, 0));
    assert_eq!(server.ask("GET", "/17/65536/65536.png", &["If-None-Match: \"other\""]).status, 200);
    let cross = server.ask("GET", "/tiles.json", &["Origin: https://viewer.example"]);
    assert_eq!(cross.headers["access-control-allow-origin"], "*");
}

#[test]
fn nothing_outside_the_folder_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "secret.json", b"secret");
    let city = copy_of_demo(dir.path());
    let server = Server::start(&city);
    let absolute = format!("/{}", path(&dir.path().join("secret.json")));
    for hidden in [
        "/../secret.json",
        "/17/../../secret.json",
        "/%2e%2e/secret.json",
        "/..%2fsecret.json",
        "/%2e%2e%2fsecret.json",
        "/..%5csecret.json",
        "/17/%2e%2e/%2e%2e/secret.json",
        "/.%2e/secret.json",
        "/%252e%252e/secret.json",
        "/..%00/secret.json",
        "//etc/passwd",
        absolute.as_str(),
    ] {
        let answer = server.get(hidden);
        assert!(answer.status == 404 || answer.status == 400, "{hidden}: {}", answer.status);
        assert!(!answer.body.windows(6).any(|window| window == b"secret"), "{hidden}");
    }
}

#[test]
fn an_archive_goes_out_as_a_file_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("city.pmtiles");
    run(&["pack", path(&demo()), path(&file), "--quiet"], 0);
    let server = Server::start(dir.path());
    assert!(server.greeting.contains(&format!("voxatlas view http://{}/city.pmtiles", server.address)));
    let head = server.ask("GET", "/city.pmtiles", &["Range: bytes=0-6"]);
    assert_eq!((head.status, head.body.as_slice()), (206, &b"PMTiles"[..]));
    assert!(head.headers.contains_key("etag"));
    run(&["diff", path(&demo()), &format!("http://{}/city.pmtiles", server.address), "--quiet"], 0);

    // One archive brings those of its other layers, and nothing that lies beside them.
    put(dir.path(), "secret.json", b"secret");
    let server = Server::start(&file);
    assert!(server.greeting.contains(&format!("voxatlas view http://{}/city.pmtiles", server.address)));
    run(&["diff", path(&demo()), &format!("http://{}/city.pmtiles", server.address), "--quiet"], 0);
    assert_eq!(server.ask("GET", "/city.l1.pmtiles", &["Range: bytes=0-6"]).body, b"PMTiles");
    for hidden in ["/secret.json", "/", "/../secret.json", "/city.pmtiles/../secret.json"] {
        assert_eq!(server.get(hidden).status, 404, "{hidden}");
    }
}
