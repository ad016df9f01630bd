//! Every fault of a network or a server costs one region, is named, and leaves the others alone.
//!
//! Real requests go to a server of this process that misbehaves on purpose. Its pauses are the fault itself; no test
//! waits for a time to pass to see a result.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on is a failed test")]

mod cache;
mod options;
mod server;
mod tls;

use std::io::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use voxatlas::atlas::{AtlasMetadata, EncodedAtlas, Tileset, encode};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::source::{Source, SourceConfig, SourceError};
use voxatlas::stream::{Command, Event, LoadError, Outcome, Scene, SceneConfig, Ticket};
use voxatlas::view::Interest;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

use server::{Answer, Happened, PATIENCE, Server, answer, head};

fn key(x: u32) -> RegionKey {
    RegionKey::new(TileCoord::new(17, x, 0).unwrap(), 0)
}

fn path(x: u32) -> String {
    format!("/17/{x}/0.png")
}

/// A small atlas: a block of one colour.
fn atlas() -> &'static [u8] {
    static ATLAS: OnceLock<Vec<u8>> = OnceLock::new();
    ATLAS.get_or_init(|| {
        let mut occupancy = Occupancy::empty();
        for (x, y, z) in (0..8).flat_map(|x| (0..8).flat_map(move |y| (0..8).map(move |z| (x, y, z)))) {
            occupancy.set(x, y, z, true);
        }
        let region = Region::paint(occupancy, ColourDepth::Indexed(vec![[200, 190, 180]]), |_, _, _| 0);
        let metadata = AtlasMetadata { key: key(0), base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
        encode(&region, &metadata)
    })
}

/// The same, with another width in a header whose checksum is right.
fn narrow_atlas() -> Vec<u8> {
    let mut file = atlas().to_vec();
    file[16..20].copy_from_slice(&4_095u32.to_be_bytes());
    let crc = crc32fast::hash(&file[12..29]);
    file[29..33].copy_from_slice(&crc.to_be_bytes());
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn good() -> Answer {
    answer("200 OK", "Content-Type: image/png\r\n", atlas())
}

/// Short enough that nobody waits, long enough for a loopback under load.
fn config() -> SourceConfig {
    SourceConfig {
        timeout: Duration::from_secs(2),
        timeout_total: Duration::from_secs(4),
        file_bytes_max: 1 << 20,
        ..SourceConfig::default()
    }
}

fn start(answers: impl IntoIterator<Item = (u32, Vec<Answer>)>) -> Server {
    Server::start(answers.into_iter().map(|(x, answers)| (path(x), answers)))
}

fn loader(server: &Server, config: &SourceConfig) -> Loader {
    let source = Source::open_blocking(&server.url("/{z}/{x}/{y}.png"), config).unwrap();
    Loader::new(source, &LoaderConfig::default()).unwrap()
}

fn next_event(loader: &Loader) -> Event {
    loader.wait_event(PATIENCE).expect("a task should have ended")
}

/// What a fault should come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Built,
    Empty,
    Transient(Option<u64>),
    Permanent,
    BadAtlas,
}

fn kind_of(outcome: &Outcome) -> (Kind, String) {
    match outcome {
        Outcome::Built(built) => {
            assert!(!built.mesh.quads.is_empty());
            (Kind::Built, String::new())
        }
        Outcome::Empty => (Kind::Empty, String::new()),
        Outcome::Failed(error) => {
            let kind = match error {
                LoadError::Transient { retry_after, .. } => Kind::Transient(retry_after.map(|wait| wait.as_secs())),
                LoadError::Permanent { .. } => Kind::Permanent,
                LoadError::BadAtlas { .. } => Kind::BadAtlas,
                other => panic!("{other}"),
            };
            (kind, error.to_string())
        }
        Outcome::Fetched(_) => panic!("files are built"),
    }
}

#[test]
fn every_fault_has_a_name_and_costs_one_region() {
    let png = "Content-Type: image/png\r\n";
    let truncated = &atlas()[..atlas().len() / 2];
    let page = b"<!DOCTYPE html><title>Sign in to the hotel's network</title>";
    let chunked = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n0\r\n\r\n"].concat();
    let transient = Kind::Transient(None);
    let cut_short = format!("after {} bytes of the body", atlas().len());
    let round = answer("302 Found", "Location: /round\r\n", b"");
    let (later, before) =
        ("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    let faults: Vec<(Answer, Kind, &str)> = vec![
        (good(), Kind::Built, ""),
        (answer("200 OK", png, truncated), Kind::BadAtlas, "truncated"),
        (answer("200 OK", png, &narrow_atlas()), Kind::BadAtlas, "4095"),
        (answer("200 OK", "Content-Type: text/html\r\n", page), Kind::BadAtlas, "found status 200 with an HTML page"),
        (answer("200 OK", "Content-Type: text/html\r\n", atlas()), Kind::Built, ""),
        (Answer::Hang(Vec::new()), transient, "found no answer within 2 s"),
        (Answer::Hang(head("200 OK", "Content-Length: 9999\r\n")), transient, "a body that stands still: 0 bytes"),
        (Answer::Drip(head("200 OK", "Content-Length: 99999\r\n"), 1), transient, "fewer than 1024 bytes a second"),
        (Answer::Drip(head("200 OK", "Content-Length: 999999\r\n"), 200), transient, "bytes of the body within 4 s"),
        (Answer::Reset(Vec::new()), transient, "expected an atlas"),
        (Answer::Reset(head("200 OK", "Content-Length: 9999\r\n")), transient, "after 0 bytes of the body"),
        (Answer::Raw(Vec::new()), transient, "expected an atlas"),
        (Answer::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), transient, "expected an atlas"),
        (Answer::Raw([head("200 OK", "Content-Length: 999999\r\n"), atlas().to_vec()].concat()), transient, &cut_short),
        (answer("503 Service Unavailable", "", b"busy"), transient, "found status 503 Service Unavailable"),
        (answer("503 Service Unavailable", "Retry-After: 7\r\n", b""), Kind::Transient(Some(7)), "status 503"),
        (answer("429 Too Many Requests", "Retry-After: 7200\r\n", b""), Kind::Transient(Some(60)), "status 429"),
        (answer("503 Service Unavailable", later, b""), Kind::Transient(Some(60)), "status 503"),
        (answer("503 Service Unavailable", before, b""), Kind::Transient(Some(0)), "status 503"),
        (answer("502 Bad Gateway", "Retry-After: soon\r\n", b""), transient, "status 502"),
        (answer("408 Request Timeout", "", b""), transient, "status 408"),
        (answer("425 Too Early", "", b""), transient, "status 425"),
        (answer("500 Internal Server Error", "", b""), transient, "status 500"),
        (answer("403 Forbidden", "", b""), Kind::Permanent, "found status 403 Forbidden, expected an atlas"),
        (answer("401 Unauthorized", "", b""), Kind::Permanent, "status 401"),
        (answer("206 Partial Content", png, atlas()), Kind::Permanent, "status 206"),
        (answer("404 Not Found", "Content-Type: text/html\r\n", page), Kind::Empty, ""),
        (answer("410 Gone", "", b""), Kind::Empty, ""),
        (Answer::Raw(head("204 No Content", "")), Kind::Empty, ""),
        (answer("200 OK", png, b""), Kind::Empty, ""),
        (answer("200 OK", "Content-Encoding: gzip\r\n", &gzip(atlas())), Kind::Built, ""),
        (answer("200 OK", "Content-Encoding: gzip\r\n", &gzip(&[0; 4 << 20])), Kind::BadAtlas, "more than 1048576"),
        (answer("200 OK", "Content-Encoding: gzip\r\n", b"no gzip"), transient, "of the body"),
        (answer("200 OK", png, &gzip(atlas())), Kind::Built, ""),
        (answer("200 OK", png, &gzip(&gzip(atlas()))), Kind::BadAtlas, "found status 200 with a gzip file"),
        (answer("200 OK", png, &gzip(atlas())[..99]), Kind::BadAtlas, "found status 200 with a gzip file"),
        (answer("200 OK", png, &gzip(&[0; 4 << 20])), Kind::BadAtlas, "more than 1048576 bytes when inflated"),
        (answer("200 OK", png, &gzip(b"")), Kind::Empty, ""),
        (Answer::Trickle(head("200 OK", png), atlas().to_vec(), atlas().len() / 8), Kind::Built, ""),
        (answer("302 Found", "Location: /17/0/0.png\r\n", b""), Kind::Built, ""),
        (answer("302 Found", "Location: /17/99/0.png\r\n", b""), Kind::Empty, ""),
        (round.clone(), Kind::Permanent, "too many redirects"),
        (answer("308 Permanent Redirect", "Location: ../0/0.png\r\n", b""), Kind::Built, ""),
        (answer("302 Found", "", b""), Kind::Permanent, "found status 302"),
        (answer("302 Found", "Location: file:///etc/passwd\r\n", b""), Kind::Permanent, "a redirect to no http(s) URL"),
        (answer("304 Not Modified", "", b""), Kind::Permanent, "found status 304"),
        (Answer::Raw([head("200 OK", png), atlas().to_vec()].concat()), Kind::Built, ""),
        (Answer::Raw([head("200 OK", "Transfer-Encoding: chunked\r\n"), chunked(atlas())].concat()), Kind::Built, ""),
        (Answer::Hang(head("200 OK", "Content-Length: 2000000\r\n")), Kind::BadAtlas, "a body of 2000000 bytes"),
        (Answer::Drip(head("200 OK", ""), 1 << 18), Kind::BadAtlas, "a body of more than 1048576 bytes"),
        (good(), Kind::Built, ""),
    ];
    let n_faults = faults.len() as u32;
    let answers = (0..).zip(&faults).map(|(x, (answer, _, _))| (path(x), vec![answer.clone()]));
    let server = Server::start(answers.chain([("/round".to_owned(), vec![round.clone()])]));
    let loader = loader(&server, &config());

    // All at once: a fault that held up its neighbours would fail them with a time-out.
    for x in 0..n_faults {
        loader.run(Command::Fetch { ticket: Ticket(u64::from(x)), key: key(x) });
    }
    let (mut n_ended, mut surprises) = (0, Vec::new());
    while n_ended < n_faults {
        let Event { ticket, key, outcome } = next_event(&loader);
        assert_eq!(ticket.0 % 1_000, u64::from(key.tile.x()));
        if let Outcome::Fetched(atlas) = outcome {
            loader.run(Command::Build { ticket: Ticket(ticket.0 + 1_000), key, atlas });
            continue;
        }
        n_ended += 1;
        let (kind, text) = kind_of(&outcome);
        let (_, expected_kind, expected_text) = &faults[key.tile.x() as usize];
        let is_named = matches!(kind, Kind::Built | Kind::Empty) || text.contains(&server.url(&path(key.tile.x())));
        if kind != *expected_kind || !text.contains(expected_text) || !is_named {
            surprises.push(format!("{kind:?}: {text}: expected {expected_kind:?}: {expected_text}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(loader.n_running(), 0);
}

/// Runs a scene until its picture is complete.
fn run_scene(scene: &mut Scene, interest: &Interest, loader: &Loader, started: Instant) {
    loop {
        for command in scene.frame(interest, started.elapsed()).commands {
            loader.run(command);
        }
        scene.check_invariants();
        if scene.is_complete() {
            return;
        }
        let now = started.elapsed();
        let wait = scene.next_wake(now).map_or(PATIENCE, |wake| wake.saturating_sub(now));
        if let Some(event) = loader.wait_event(wait) {
            scene.handle(event, started.elapsed());
        } else {
            assert!(wait < PATIENCE, "nothing happens any more");
        }
    }
}

fn drawn(scene: &Scene) -> Vec<u32> {
    let mut columns: Vec<u32> = scene.slots().flatten().map(|(key, _)| key.tile.x()).collect();
    columns.sort_unstable();
    columns
}

fn interest(columns: impl IntoIterator<Item = u32>) -> Interest {
    Interest { visible: columns.into_iter().map(key).collect(), ..Interest::default() }
}

#[test]
fn a_view_loses_only_the_regions_that_fail() {
    let busy = || answer("503 Service Unavailable", "Retry-After: 0\r\n", b"");
    let truncated = answer("200 OK", "", &atlas()[..1_000]);
    let server = start([
        (0, vec![good()]),
        (1, vec![Answer::Hang(Vec::new())]),
        (2, vec![truncated.clone()]),
        (3, vec![answer("200 OK", "Content-Type: text/html\r\n", b"<html>")]),
        (4, vec![answer("200 OK", "", &narrow_atlas())]),
        // These heal: a busy server, a lost connection, and a file that was being written.
        (5, vec![busy(), busy(), good()]),
        (6, vec![Answer::Reset(Vec::new()), good()]),
        (7, vec![truncated, good()]),
        (8, vec![Answer::Raw(head("204 No Content", ""))]),
        (10, vec![good()]),
    ]);
    // Three time-outs make an error, so they are short; a good region that misses one under load has two more tries.
    let loader = loader(&server, &SourceConfig { timeout: Duration::from_millis(700), ..config() });
    let mut scene = Scene::new(SceneConfig { base: loader.source().tileset().base(), ..SceneConfig::default() });
    run_scene(&mut scene, &interest(0..=10), &loader, Instant::now());

    assert_eq!(drawn(&scene), [0, 5, 6, 7, 10]);
    let failures: Vec<(u32, String)> = scene.failures().map(|(key, error)| (key.tile.x(), error.to_string())).collect();
    assert_eq!(failures.iter().map(|&(x, _)| x).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (x, text) in failures {
        assert!(text.contains(&server.url(&path(x))), "{text}");
    }
    assert_eq!(scene.progress().n_empty, 2);
    assert_eq!(server.hits(&path(5)), 3);
}

#[test]
fn a_killed_server_costs_what_is_not_loaded_and_nothing_on_screen() {
    let mut server = start((0..4).map(|x| (x, vec![good()])).chain([(4, vec![Answer::Hang(Vec::new())])]));
    let loader = loader(&server, &SourceConfig { timeout: PATIENCE, ..config() });
    let (mut scene, started) = (Scene::new(SceneConfig::default()), Instant::now());
    run_scene(&mut scene, &interest(0..4), &loader, started);
    assert_eq!(drawn(&scene), [0, 1, 2, 3]);

    // One request hangs when the server goes, another comes after.
    for command in scene.frame(&interest(0..6), started.elapsed()).commands {
        loader.run(command);
    }
    assert_eq!(server.next_happened(), Happened::Asked(path(4)));
    server.kill();
    run_scene(&mut scene, &interest(0..6), &loader, started);
    assert_eq!(drawn(&scene), [0, 1, 2, 3]);
    let failed: Vec<u32> = scene.failures().map(|(key, _)| key.tile.x()).collect();
    assert!(failed.contains(&4), "{failed:?}");
    for (_, error) in scene.failures() {
        assert!(matches!(error, LoadError::Transient { .. }), "{error}");
    }
}

#[test]
fn an_abort_drops_the_request() {
    let server = start([(0, vec![Answer::Hang(Vec::new())]), (1, vec![good()])]);
    let loader = loader(&server, &SourceConfig { timeout: PATIENCE, ..SourceConfig::default() });
    loader.run(Command::Fetch { ticket: Ticket(0), key: key(0) });
    assert_eq!(server.next_happened(), Happened::Asked(path(0)));
    loader.run(Command::Abort { ticket: Ticket(0) });
    assert_eq!(server.next_happened(), Happened::Left(path(0)));
    assert_eq!(loader.n_running(), 0);

    loader.run(Command::Fetch { ticket: Ticket(1), key: key(1) });
    assert_eq!(next_event(&loader).ticket, Ticket(1));
}

#[test]
fn dropping_the_loader_waits_for_no_server() {
    let server = start([
        (0, vec![Answer::Hang(Vec::new())]),
        (1, vec![Answer::Hang(head("200 OK", "Content-Length: 9999\r\n"))]),
    ]);
    // A drop that waited for the requests would take an hour.
    let hour = Duration::from_hours(1);
    let loader = loader(&server, &SourceConfig { timeout: hour, timeout_total: hour, ..SourceConfig::default() });
    let mut asked = Vec::new();
    for x in 0..2 {
        loader.run(Command::Fetch { ticket: Ticket(u64::from(x)), key: key(x) });
        asked.push(server.next_happened());
    }
    assert_eq!(asked, [Happened::Asked(path(0)), Happened::Asked(path(1))]);
    drop(loader);
    for _ in 0..2 {
        assert!(matches!(server.next_happened(), Happened::Left(_)));
    }
}

#[test]
fn documents_are_opened_or_their_faults_named() {
    let tileset =
        Tileset { attribution: Some("Somebody".into()), ..Tileset::of_template("t/{z}/{x}/{y}.png").unwrap() };
    let document = |headers: &str, body: &[u8]| vec![answer("200 OK", headers, body)];
    let answers = [
        ("/city/tiles.json", document("", tileset.to_json().as_bytes())),
        ("/city/t/17/0/0.png", vec![good()]),
        ("/zipped/tiles.json", document("Content-Encoding: gzip\r\n", &gzip(tileset.to_json().as_bytes()))),
        ("/moved/tiles.json", vec![answer("301 Moved Permanently", "Location: /city/tiles.json\r\n", b"")]),
        ("/page/tiles.json", document("Content-Type: text/html\r\n", b"<!doctype html>")),
        ("/huge/tiles.json", vec![Answer::Hang(head("200 OK", "Content-Length: 99999999\r\n"))]),
        ("/broken/tiles.json", document("", b"{\"tilejson\": 3}")),
        ("/locked/tiles.json", vec![answer("403 Forbidden", "", b"")]),
    ];
    let server = Server::start(answers.map(|(path, answers)| (path.to_owned(), answers)));
    let open = |path: &str| Source::open_blocking(&server.url(path), &config());

    for path in ["/city", "/city/", "/city/tiles.json", "/zipped"] {
        let source = open(path).unwrap();
        assert_eq!(source.tileset(), &tileset, "{path}");
    }
    open("/moved").unwrap();

    // Relative templates start from the document, and only listed layers are asked for.
    let loader = Loader::new(open("/city").unwrap(), &LoaderConfig::default()).unwrap();
    loader.run(Command::Fetch { ticket: Ticket(0), key: key(0) });
    let Outcome::Fetched(file) = next_event(&loader).outcome else { panic!("the file is there") };
    assert_eq!(file, EncodedAtlas::new(atlas()));
    loader.run(Command::Fetch { ticket: Ticket(1), key: RegionKey { layer: 1, ..key(0) } });
    assert!(matches!(next_event(&loader).outcome, Outcome::Empty));
    assert_eq!(server.hits("/city/t/17/0/0.png"), 1);

    let check = |path: &str, expected: &str| {
        let text = open(path).unwrap_err().to_string();
        assert!(text.contains(&server.url(path)) && text.contains(expected), "{text}");
    };
    check("/none", "was not found: expected a tileset's document");
    check("/page", "found status 200 with an HTML page, expected a tileset's document");
    check("/huge", "99999999 bytes");
    check("/broken", "is no tileset document: invalid type: integer `3`, expected a string at line 1 column 14");
    check("/locked", "found status 403 Forbidden");
    assert!(matches!(open("/none"), Err(SourceError::NotFound { .. })));

    let mut server = server;
    let url = server.url("/city");
    server.kill();
    let text = Source::open_blocking(&url, &config()).unwrap_err().to_string();
    assert!(text.contains(&url) && text.to_lowercase().contains("refused"), "{text}");
}
