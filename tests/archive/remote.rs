//! Archives on web servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use voxatlas::source::{AtlasSource as _, SourceError};
use voxatlas::stream::LoadError;

use crate::files::{N_MANY, atlas, city, key, metadata};
use crate::server::{Ask, Reply, Server, answer, head, part};
use crate::{Reader, kind, open};

const PATH: &str = "/maps/city.pmtiles";
const ETAG: &str = "ETag: \"v1\"\r\n";

/// A server of one archive, without faults.
fn server(file: Vec<u8>, headers: &'static str) -> Server {
    Server::start(move |ask| part(&file, ask, headers))
}

/// The requests since the `n`-th, by their first byte and number of bytes.
fn asked_since(server: &Server, n: usize) -> Vec<(usize, usize)> {
    server.asked()[n..].iter().map(|ask| (ask.range.start, ask.range.len())).collect()
}

#[test]
fn a_tile_costs_one_request_and_an_absent_one_none() {
    let server = server(city(3, "a", &metadata(0, "us")), ETAG);
    let reader = Reader::open(&server.url(PATH));
    assert_eq!(server.asked().len(), 2, "the head and the metadata");
    assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "a")));
    assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "a")));
    assert_eq!(reader.bytes(key(3, 0)), None);
    assert_eq!(
        asked_since(&server, 2).iter().map(|&(_, n_bytes)| n_bytes).collect::<Vec<_>>(),
        [atlas(0, "a").len(); 2]
    );
    // All but the first name the version that they want.
    let tags: Vec<_> = server.asked().into_iter().map(|ask| ask.if_match).collect();
    assert_eq!(tags[0], None);
    assert!(tags[1..].iter().all(|tag| tag.as_deref() == Some("\"v1\"")), "{tags:?}");
}

#[test]
fn a_leaf_directory_is_asked_for_once() {
    let server = server(city(N_MANY, "a", "{}"), ETAG);
    let reader = Reader::open(&server.url(PATH));
    let n_opened = server.asked().len();
    let fetches = (0..5).map(|x| reader.source.fetch(key(x, 0)));
    let fetched = reader.runtime.block_on(futures_util::future::join_all(fetches));
    assert!(fetched.iter().all(|fetched| matches!(fetched, Ok(Some(_)))), "{fetched:?}");
    // Neighbours on the curve lie in one leaf or two.
    let n_asked = server.asked().len() - n_opened;
    assert!((6..=7).contains(&n_asked), "{n_asked}");
    assert_eq!(reader.bytes(key(4, 0)), Some(atlas(4, "a")));
    assert_eq!(server.asked().len() - n_opened, n_asked + 1);
}

#[test]
fn a_query_opens_the_neighbours_too() {
    let (ground, tower) = (city(1, "ground", &metadata(0, "us")), city(1, "tower", &metadata(1, "us")));
    let server = Server::start(move |ask| match ask.path.as_str() {
        "/maps/city.pmtiles?key=7" => part(&ground, ask, ETAG),
        "/maps/city.l1.pmtiles?key=7" => part(&tower, ask, ETAG),
        _ => answer("403 Forbidden", "", b""),
    });
    let reader = Reader::open(&server.url("/maps/city.pmtiles?key=7"));
    assert_eq!(reader.bytes(key(0, 1)), Some(atlas(0, "tower")));
}

/// An answer to the request of a tile, and what it should come to.
type Fault = (fn(&[u8], &Ask) -> Reply, Result<(), (&'static str, &'static str)>);

const FAULTS: &[Fault] = &[
    (|file, ask| part(file, ask, ETAG), Ok(())),
    (|_, _| answer("302 Found", "Location: /elsewhere\r\n", b""), Ok(())),
    // The whole file, and no end of it: what is refused before it is read costs no time-out.
    (
        |_, _| Reply::hang(head("200 OK", "Content-Length: 83000000000\r\n")),
        Err(("permanent", "does not support Range requests")),
    ),
    (|_, _| answer("206 Partial Content", "", b"0123456789a"), Err(("permanent", "without a Content-Range"))),
    (
        |_, _| answer("206 Partial Content", "Content-Type: multipart/byteranges; boundary=x\r\n", b"--x"),
        Err(("permanent", "without a Content-Range")),
    ),
    (
        |_, _| answer("206 Partial Content", "Content-Range: bytes 0-10/*\r\n", b"0123456789a"),
        Err(("permanent", "found status 206 with bytes 0-10, expected bytes ")),
    ),
    (
        |file, ask| {
            let end = ask.range.start + 5;
            part(file, &Ask { range: ask.range.start..end, ..ask.clone() }, ETAG)
        },
        Err(("permanent", "found status 206 with bytes ")),
    ),
    (
        |_, ask| {
            let headers = format!("Content-Range: bytes {}-{}/*\r\n", ask.range.start, ask.range.end - 1);
            answer("206 Partial Content", &headers, b"short")
        },
        Err(("transient", "5 bytes, although the head says 1")),
    ),
    (
        |_, ask| {
            let headers = format!("Content-Range: bytes {}-{}/*\r\n", ask.range.start, ask.range.end - 1);
            answer("206 Partial Content", &headers, &[0; 5_000])
        },
        Err(("bad atlas", "a body of 5000 bytes, expected at most 1")),
    ),
    (
        |_, ask| {
            let headers = format!(
                "Content-Range: bytes {}-{}/*\r\nContent-Encoding: gzip\r\n",
                ask.range.start,
                ask.range.end - 1
            );
            answer("206 Partial Content", &headers, b"0123456789a")
        },
        Err(("transient", "of the body")),
    ),
    (
        |_, ask| {
            let headers = format!("Content-Range: bytes {}-{}/*\r\n", ask.range.start, ask.range.end - 1);
            answer("206 Partial Content", &headers, format!("{:1$}", "<html>", ask.range.len()).as_bytes())
        },
        Err(("bad atlas", "found an HTML page, expected an atlas")),
    ),
    (|_, _| Reply::hang(Vec::new()), Err(("transient", "no answer within 2 s"))),
    (|_, _| Reply::raw(b"SSH-2.0\r\n".to_vec()), Err(("transient", "expected a PMTiles archive"))),
    (|_, _| answer("503 Service Unavailable", "Retry-After: 7\r\n", b""), Err(("transient", "status 503"))),
    (|_, _| answer("429 Too Many Requests", "", b""), Err(("transient", "status 429"))),
    (|_, _| answer("403 Forbidden", "", b""), Err(("permanent", "status 403"))),
    (|_, _| answer("400 Bad Request", "", b""), Err(("permanent", "status 400"))),
];

#[test]
fn every_fault_has_a_name_and_costs_one_tile() {
    let file = city(FAULTS.len() as u32 + 1, "a", "{}");
    // The tiles all have 11 or 12 bytes; the fault of each is found by where its bytes begin.
    let begins: Vec<usize> = (0..FAULTS.len() as u32)
        .map(|x| {
            let atlas = atlas(x, "a");
            file.windows(atlas.len()).position(|bytes| bytes == atlas).unwrap()
        })
        .collect();
    let server = Server::start(move |ask| {
        let x = begins.iter().position(|&begin| begin == ask.range.start);
        match x.filter(|_| ask.path == PATH) {
            Some(x) => FAULTS[x].0(&file, ask),
            None => part(&file, ask, ETAG),
        }
    });
    let reader = Reader::open(&server.url(PATH));
    // All at once: a fault that held up its neighbours would fail them with a time-out.
    let fetches = (0..FAULTS.len() as u32).map(|x| reader.source.fetch(key(x, 0)));
    let fetched = reader.runtime.block_on(futures_util::future::join_all(fetches));
    let mut surprises = Vec::new();
    for (x, (fetched, (_, expected))) in fetched.iter().zip(FAULTS).enumerate() {
        let is_expected = match (fetched, expected) {
            (Ok(Some(found)), Ok(())) => found.bytes() == atlas(x as u32, "a"),
            (Err(error), Err((expected_kind, text))) => {
                let shown = error.to_string();
                kind(error) == *expected_kind && shown.contains(text) && shown.contains(PATH)
            }
            _ => false,
        };
        if !is_expected {
            surprises.push(format!("{x}: {fetched:?}, expected {expected:?}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    let retry_after = fetched.iter().find_map(|fetched| match fetched {
        Err(LoadError::Transient { retry_after, .. }) => *retry_after,
        _ => None,
    });
    assert_eq!(retry_after.map(|wait| wait.as_secs()), Some(7));
}

#[test]
fn a_server_that_cannot_is_named_at_once() {
    let check = |reply: fn(&Ask) -> Reply, expected: &str| {
        let server = Server::start(reply);
        let error = open(&server.url(PATH)).unwrap_err();
        assert!(error.to_string().contains(&server.url(PATH)) && error.to_string().contains(expected), "{error}");
        assert_eq!(server.asked().len(), 1);
        error
    };
    check(|_| Reply::hang(head("200 OK", "Content-Length: 83000000000\r\n")), "does not support Range requests");
    check(|ask| part(b"", ask, ""), "status 416");
    check(|ask| part(b"<html>Sign in", ask, ""), "an HTML page, expected a PMTiles archive");
    let error = check(|_| answer("404 Not Found", "", b""), "was not found: expected a PMTiles archive");
    assert!(matches!(error, SourceError::NotFound { .. }));
    let round = Server::start(|_| answer("302 Found", "Location: /maps/city.pmtiles\r\n", b""));
    assert!(open(&round.url(PATH)).unwrap_err().to_string().contains("too many redirects"));
}

/// An archive that is replaced once `n_old` requests were answered.
fn replaced(n_old: usize, headers: [&'static str; 2]) -> Server {
    let versions = [city(3, "old", &metadata(0, "us")), city(4, "other", &metadata(0, "us"))];
    Server::start(move |ask| {
        let version = usize::from(ask.n_before >= n_old);
        part(&versions[version], ask, headers[version])
    })
}

#[test]
fn a_replaced_archive_is_read_anew_and_never_mixed() {
    for headers in [
        ["ETag: \"v1\"\r\n", "ETag: \"v2\"\r\n"],
        ["ETag: W/\"v1\"\r\n", "ETag: W/\"v2\"\r\n"],
        ["Last-Modified: Fri, 31 Jul 2026 10:00:00 GMT\r\n", "Last-Modified: Fri, 31 Jul 2026 10:00:09 GMT\r\n"],
        // Their sizes alone tell them apart.
        ["", ""],
    ] {
        let server = replaced(3, headers);
        let reader = Reader::open(&server.url(PATH));
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")), "{headers:?}");
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "other")), "{headers:?}");
        // The tile that had changed, then head, metadata and the tile.
        assert_eq!(server.asked().len(), 3 + 4, "{headers:?}");
        assert_eq!(reader.bytes(key(3, 0)), Some(atlas(3, "other")), "{headers:?}");
        assert_eq!(server.asked().len(), 3 + 4 + 1, "{headers:?}");
    }
}

#[test]
fn an_archive_that_changes_all_the_time_is_given_up_for_now() {
    let file = city(3, "a", &metadata(0, "us"));
    let n_opened = 2;
    let server = Server::start(move |ask| {
        let headers = if ask.n_before < n_opened { ETAG.to_owned() } else { format!("ETag: \"{}\"\r\n", ask.n_before) };
        part(&file, &Ask { if_match: None, ..ask.clone() }, &headers)
    });
    let reader = Reader::open(&server.url(PATH));
    let error = reader.fetch(key(1, 0)).unwrap_err();
    assert!(kind(&error) == "transient" && error.to_string().contains("another version at each try"), "{error}");
    assert!(server.asked().len() < 12, "{}", server.asked().len());
}

#[test]
fn fetches_that_need_one_directory_wait_for_one_request() {
    let file = city(N_MANY, "a", "{}");
    let leaves_at = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    let server =
        Server::start(
            move |ask| {
                if ask.range.start >= leaves_at { Reply::hang(Vec::new()) } else { part(&file, ask, ETAG) }
            },
        );
    let reader = Reader::open(&server.url(PATH));
    let n_opened = server.asked().len();
    // The first tile alone, so that all ask for the same leaf.
    let fetches = (0..5).map(|_| reader.source.fetch(key(0, 0)));
    let fetched = reader.runtime.block_on(futures_util::future::join_all(fetches));
    assert!(fetched.iter().all(|fetched| matches!(fetched, Err(LoadError::Transient { .. }))), "{fetched:?}");
    assert_eq!(server.asked().len() - n_opened, 1);
    // An error is not kept.
    assert!(reader.fetch(key(0, 0)).is_err());
    assert_eq!(server.asked().len() - n_opened, 2);
}

#[test]
fn a_fetch_that_is_dropped_drops_its_request() {
    let file = city(N_MANY, "a", "{}");
    let leaves_at = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    let is_healed = Arc::new(AtomicUsize::new(0));
    let healed = Arc::clone(&is_healed);
    let server = Server::start(move |ask| {
        let hangs = ask.range.start >= leaves_at && healed.load(Ordering::SeqCst) == 0;
        if hangs { Reply::hang(Vec::new()) } else { part(&file, ask, ETAG) }
    });
    let reader = Reader::open(&server.url(PATH));
    let n_opened = server.asked().len();
    reader.runtime.block_on(async {
        let mut fetch = reader.source.fetch(key(0, 0));
        // Polled until the server has the request, then dropped.
        std::future::poll_fn(|context| {
            let _ = fetch.as_mut().poll(context);
            if server.asked().len() > n_opened {
                return std::task::Poll::Ready(());
            }
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    });
    assert!(server.next_left().range.start >= leaves_at);
    is_healed.store(1, Ordering::SeqCst);
    assert_eq!(reader.bytes(key(0, 0)), Some(atlas(0, "a")));
}
