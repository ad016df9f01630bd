//! What a cache keeps of archives on servers: their parts, each a file of its own and never of two versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use voxatlas::source::{AtlasSource as _, DiskCache, Source, SourceConfig};

use crate::files::{atlas, city, key, metadata};
use crate::server::{Server, part};
use crate::{Reader, config, kind};

const PATH: &str = "/city.pmtiles";

fn with_cache(dir: &TempDir) -> SourceConfig {
    SourceConfig { cache: Some(DiskCache::new(dir.path(), 1 << 30)), ..config() }
}

/// A server of archives, and the switch that says of which.
fn server(headers: [&'static str; 2]) -> (Server, Arc<AtomicUsize>) {
    let versions = [city(4, "old", &metadata(0, "us")), city(5, "other", &metadata(0, "us"))];
    let version = Arc::new(AtomicUsize::new(0));
    let switch = Arc::clone(&version);
    let server = Server::start(move |ask| {
        let version = version.load(Ordering::SeqCst);
        part(&versions[version], ask, headers[version])
    });
    (server, switch)
}

const LASTING: [&str; 2] =
    ["Cache-Control: max-age=3600\r\nETag: \"v1\"\r\n", "Cache-Control: max-age=3600\r\nETag: \"v2\"\r\n"];

#[test]
fn parts_that_last_are_not_asked_for_again() {
    let dir = TempDir::new().unwrap();
    let (server, _) = server(LASTING);
    let mut n_asked = 0;
    for run in 0..2 {
        let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
        n_asked = if run == 0 { server.asked().len() } else { n_asked };
    }
    assert_eq!(server.asked().len(), n_asked);
}

#[test]
fn parts_that_do_not_last_are_asked_about() {
    let dir = TempDir::new().unwrap();
    let (server, _) = server(["Cache-Control: no-cache\r\nETag: \"v1\"\r\n", ""]);
    for _ in 0..2 {
        let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
    }
    let asked = server.asked();
    let (first, second) = asked.split_at(asked.len() / 2);
    assert!(first.iter().all(|ask| ask.if_none_match.is_none()));
    assert!(second.iter().all(|ask| ask.if_none_match.as_deref() == Some("\"v1\"")), "{second:?}");
}

#[test]
fn offline_the_parts_that_are_kept_are_all_there_is() {
    let dir = TempDir::new().unwrap();
    let (server, _) = server(["Cache-Control: no-cache\r\nETag: \"v1\"\r\n", ""]);
    let url = server.url(PATH);
    Reader::with(&url, &with_cache(&dir)).bytes(key(1, 0)).unwrap();
    drop(server);
    let offline = SourceConfig { is_offline: true, ..with_cache(&dir) };
    let reader = Reader::with(&url, &offline);
    assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
    let error = reader.fetch(key(2, 0)).unwrap_err();
    assert!(kind(&error) == "permanent" && error.to_string().contains("--offline"), "{error}");
    let nothing = SourceConfig { cache: None, ..offline };
    let error = Source::open_blocking(&url, &nothing).unwrap_err().to_string();
    assert!(error.contains("city.pmtiles") && error.contains("--offline"), "{error}");
}

#[test]
fn kept_parts_of_an_archive_that_was_replaced_are_never_mixed_in() {
    let dir = TempDir::new().unwrap();
    let (server, version) = server(LASTING);
    Reader::with(&server.url(PATH), &with_cache(&dir)).bytes(key(1, 0)).unwrap();
    version.store(1, Ordering::SeqCst);

    // By their head the kept parts still hold, but none of them belongs to a tile that is only now asked for.
    let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
    assert_eq!(reader.bytes(key(2, 0)), Some(atlas(2, "other")));
    assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "other")));
    let n_asked = server.asked().len();
    let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
    assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "other")));
    assert_eq!(server.asked().len(), n_asked);
}

#[test]
fn a_kept_tile_that_is_no_atlas_is_fetched_anew() {
    let dir = TempDir::new().unwrap();
    let (server, _) = server(LASTING);
    let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
    for n_rejected in 0..3 {
        let n_asked = server.asked().len();
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
        assert_eq!(server.asked().len(), n_asked + 1, "{n_rejected}");
        assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
        assert_eq!(server.asked().len(), n_asked + 1, "{n_rejected}");
        reader.source.reject(key(1, 0));
    }
}

#[test]
fn a_head_that_arrived_damaged_is_not_kept() {
    let dir = TempDir::new().unwrap();
    let file = city(4, "old", &metadata(0, "us"));
    let mut damaged = file.clone();
    damaged[130] ^= 0xFF;
    let server = Server::start(move |ask| part(if ask.n_before == 0 { &damaged } else { &file }, ask, LASTING[0]));
    let error = Source::open_blocking(&server.url(PATH), &with_cache(&dir)).unwrap_err().to_string();
    assert!(error.contains("city.pmtiles"), "{error}");
    let reader = Reader::with(&server.url(PATH), &with_cache(&dir));
    assert_eq!(reader.bytes(key(1, 0)), Some(atlas(1, "old")));
}
