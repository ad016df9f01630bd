//! What a user adds to requests reaches the server that the user named, and no other.

use std::fs;

use tempfile::TempDir;
use voxatlas::atlas::Tileset;
use voxatlas::source::{AtlasSource as _, Fetched, HttpOptions, Source, SourceConfig};
use voxatlas::stream::LoadError;

use crate::server::{Answer, Server, answer};
use crate::{atlas, config, good, key, path, start};

const SECRETS: [&str; 2] = ["authorization: bearer hidden-token", "x-api-key: hidden-key"];

fn options() -> HttpOptions {
    let mut http = HttpOptions::default();
    http.set_token("hidden-token").unwrap();
    http.add_header("X-Api-Key: hidden-key").unwrap();
    http.set_contact("maps@city.example").unwrap();
    http
}

fn with(http: HttpOptions) -> SourceConfig {
    SourceConfig { http, ..config() }
}

fn fetch(source: &Source, x: u32) -> Fetched {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(source.fetch(key(x)))
}

fn is_found(source: &Source, x: u32) -> bool {
    fetch(source, x).unwrap().is_some_and(|file| file.bytes() == atlas())
}

/// Whether all that is secret came with the last request for a path; that some of it did is a failure.
fn heard_secrets(server: &Server, path: &str) -> bool {
    let requests = server.requests(path);
    let request = requests.last().unwrap();
    assert!(request.contains("(+maps@city.example)"), "{request}");
    let heard = SECRETS.map(|secret| request.contains(secret));
    assert_eq!(heard[0], heard[1], "{request}");
    assert!(heard[0] || !request.contains("hidden"), "{request}");
    heard[0]
}

fn document(template: &str) -> Vec<Answer> {
    vec![answer("200 OK", "", Tileset::of_template(template).unwrap().to_json().as_bytes())]
}

#[test]
fn headers_go_to_the_named_server_alone() {
    let other = start((0..3).map(|x| (x, vec![good()])));
    let moved = |to: &str| vec![answer("302 Found", &format!("Location: {to}\r\n"), b"")];
    let server = Server::start([
        (path(0), vec![good()]),
        (path(1), moved(&other.url(&path(1)))),
        (path(2), moved("/17/0/0.png")),
        ("/city/tiles.json".to_owned(), document("../{z}/{x}/{y}.png")),
        ("/elsewhere/tiles.json".to_owned(), document(&other.url("/{z}/{x}/{y}.png"))),
        ("/moved/tiles.json".to_owned(), moved(&other.url("/tiles.json"))),
    ]);
    let open = |text: &str| Source::open_blocking(text, &with(options())).unwrap();

    let typed = open(&server.url("/{z}/{x}/{y}.png"));
    assert!(is_found(&typed, 0) && heard_secrets(&server, &path(0)));
    // Behind a redirect: this server again, or another one.
    assert!(is_found(&typed, 2) && heard_secrets(&server, &path(0)));
    assert!(is_found(&typed, 1) && heard_secrets(&server, &path(1)) && !heard_secrets(&other, &path(1)));

    let city = open(&server.url("/city"));
    assert!(heard_secrets(&server, "/city/tiles.json"));
    assert!(is_found(&city, 0) && heard_secrets(&server, &path(0)));

    let elsewhere = open(&server.url("/elsewhere"));
    assert!(is_found(&elsewhere, 2) && !heard_secrets(&other, &path(2)));

    let error = Source::open_blocking(&server.url("/moved"), &with(options())).unwrap_err().to_string();
    assert!(error.contains("was not found") && !heard_secrets(&other, "/tiles.json"), "{error}");

    // A document on disk may be anybody's.
    let dir = TempDir::new().unwrap();
    let text = Tileset::of_template(&other.url("/{z}/{x}/{y}.png")).unwrap().to_json();
    fs::write(dir.path().join("tiles.json"), text).unwrap();
    assert!(is_found(&open(dir.path().to_str().unwrap()), 0) && !heard_secrets(&other, &path(0)));
}

#[test]
fn no_error_shows_a_secret() {
    let server = start([(0, vec![answer("401 Unauthorized", "", b"")]), (1, vec![Answer::Reset(Vec::new())])]);
    let url = server.url("/{z}/{x}/{y}.png").replace("://", "://anna:hidden-password@");
    let config = with(options());
    let source = Source::open_blocking(&url, &config).unwrap();
    for x in [0, 1] {
        let error = fetch(&source, x).unwrap_err();
        assert!(!format!("{error} {error:?} {config:?}").contains("hidden"), "{error}");
    }
}

#[test]
fn status_403_is_an_absence_where_the_user_says_so() {
    let server = start([(0, vec![answer("403 Forbidden", "", b"<Error>AccessDenied</Error>")])]);
    let open = |is_forbidden_missing: bool| {
        let mut http = HttpOptions::default();
        http.is_forbidden_missing = is_forbidden_missing;
        Source::open_blocking(&server.url("/{z}/{x}/{y}.png"), &with(http)).unwrap()
    };
    assert!(matches!(fetch(&open(false), 0), Err(LoadError::Permanent { .. })));
    assert_eq!(fetch(&open(true), 0), Ok(None));
}

#[test]
fn a_proxy_is_asked_for_every_server() {
    let place = "http://city.example/17/0/0.png";
    let proxy = Server::start([(place.to_owned(), vec![good()])]);
    let mut http = options();
    http.proxy = Some(proxy.url("/").parse().unwrap());
    let source = Source::open_blocking("http://city.example/{z}/{x}/{y}.png", &with(http)).unwrap();
    assert!(is_found(&source, 0) && heard_secrets(&proxy, place));
}

#[test]
fn rows_from_the_south_are_found() {
    // Tile 17/0/131071 is the southernmost, row 0 from there.
    let south = voxatlas::geo::RegionKey::new(voxatlas::geo::TileCoord::new(17, 0, 131_071).unwrap(), 0);
    let tms = Tileset { scheme: "tms".into(), ..Tileset::of_template("{z}/{x}/{y}.png").unwrap() };
    let server = Server::start([
        (path(0), vec![good()]),
        ("/tiles.json".to_owned(), vec![answer("200 OK", "", tms.to_json().as_bytes())]),
    ]);
    for text in ["/tiles.json", "/{z}/{x}/{-y}.png", "/%7Bz%7D/%7Bx%7D/%7B-y%7D.png"] {
        let source = Source::open_blocking(&server.url(text), &config()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let file = runtime.block_on(source.fetch(south)).unwrap().unwrap();
        assert_eq!(file.bytes(), atlas(), "{text}");
    }
    assert_eq!(server.hits(&path(0)), 3);
}
