//! What is kept on disk: as long as the server says, never when it is bad, and never at the cost of an answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use voxatlas::atlas::Tileset;
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::source::{AtlasSource as _, DiskCache, Fetched, HttpOptions, Source, SourceConfig};
use voxatlas::stream::{Command, LoadError, Outcome, Ticket};

use crate::server::{Answer, Server, answer, head};
use crate::{atlas, config, key, narrow_atlas, next_event, path, start};

const GIB: u64 = 1 << 30;

fn with_cache(dir: &Path) -> SourceConfig {
    SourceConfig { cache: Some(DiskCache::new(dir, GIB)), ..config() }
}

const TEMPLATE: &str = "/{z}/{x}/{y}.png";

fn open(server: &Server, config: &SourceConfig) -> Source {
    Source::open_blocking(&server.url(TEMPLATE), config).unwrap()
}

fn fetch(source: &Source, x: u32) -> Fetched {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(source.fetch(key(x)))
}

/// What a program that has just started brings.
fn run(server: &Server, config: &SourceConfig, x: u32) -> Result<Option<Vec<u8>>, LoadError> {
    let config = SourceConfig {
        cache: config.cache.as_ref().map(|cache| DiskCache::new(cache.dir(), cache.bytes_max())),
        ..config.clone()
    };
    fetch(&open(server, &config), x).map(|file| file.map(|file| file.bytes().to_vec()))
}

fn file(headers: &str) -> Answer {
    answer("200 OK", &format!("Content-Type: image/png\r\n{headers}"), atlas())
}

fn n_files(dir: &Path) -> u64 {
    DiskCache::new(dir, GIB).info().unwrap().n_files()
}

/// The files of the cache's answers, ascending by name.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for host in fs::read_dir(dir.join("http-v1")).unwrap() {
        let host = host.unwrap().path();
        if host.is_dir() {
            files.extend(fs::read_dir(host).unwrap().map(|file| file.unwrap().path()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_file_is_asked_for_again_when_the_server_says_so() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let unchanged = |headers: &str| Answer::Raw(head("304 Not Modified", headers));
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let server = start([
        (0, vec![file("Cache-Control: max-age=3600\r\n")]),
        (1, vec![file("Cache-Control: no-cache\r\nETag: \"a\"\r\n"), unchanged("ETag: \"a\"\r\n")]),
        (2, vec![file(&format!("Cache-Control: no-cache\r\nLast-Modified: {date}\r\n")), unchanged("")]),
        // A 304 says how long it holds now.
        (3, vec![file("ETag: \"a\"\r\n"), unchanged("ETag: \"a\"\r\nCache-Control: max-age=3600\r\n")]),
        // A 304 that speaks of another answer is of no use.
        (4, vec![file("ETag: \"a\"\r\n"), unchanged("ETag: \"b\"\r\n"), file("ETag: \"b\"\r\n")]),
        (5, vec![file("Cache-Control: no-store\r\nETag: \"a\"\r\n")]),
        (6, vec![file("Cache-Control: max-age=3600\r\nVary: *\r\n")]),
    ]);
    for x in 0..=6 {
        for _ in 0..3 {
            assert_eq!(run(&server, &config, x).unwrap().as_deref(), Some(atlas()), "{x}");
        }
    }
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|x| server.hits(&path(x))), [1, 3, 3, 2, 4, 3, 3]);
    assert!(server.requests(&path(1))[2].contains("if-none-match: \"a\""));
    assert!(server.requests(&path(2))[1].contains(&format!("if-modified-since: {}", date.to_lowercase())));
    assert!(!server.requests(&path(4))[2].contains("if-none-match"));
    assert!(!server.requests(&path(5))[1].contains("if-none-match"));
}

#[test]
fn a_changed_file_takes_the_place_of_the_kept_one() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let other = [atlas(), b"bytes after the end"].concat();
    let server = start([(
        0,
        vec![file("ETag: \"a\"\r\n"), answer("200 OK", "Cache-Control: max-age=3600\r\nETag: \"b\"\r\n", &other)],
    )]);
    assert_eq!(run(&server, &config, 0).unwrap().as_deref(), Some(atlas()));
    for _ in 0..2 {
        assert_eq!(run(&server, &config, 0).unwrap(), Some(other.clone()));
    }
    assert_eq!((server.hits(&path(0)), n_files(dir.path())), (2, 1));
}

#[test]
fn absence_is_remembered_for_a_while() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let server = start([
        (0, vec![answer("404 Not Found", "", b"<html>none</html>")]),
        (1, vec![answer("410 Gone", "", b"")]),
        (2, vec![Answer::Raw(head("204 No Content", ""))]),
        (3, vec![answer("200 OK", "", b"")]),
        (4, vec![answer("404 Not Found", "Cache-Control: no-cache\r\n", b"")]),
        (5, vec![answer("404 Not Found", "Cache-Control: no-store\r\n", b"")]),
        (6, vec![answer("403 Forbidden", "", b"")]),
    ]);
    for x in 0..=5 {
        for _ in 0..2 {
            assert_eq!(run(&server, &config, x), Ok(None), "{x}");
        }
    }
    assert_eq!([0, 1, 2, 3, 4, 5].map(|x| server.hits(&path(x))), [1, 1, 1, 1, 2, 2]);

    // Status 403 is an absence where the user says so, and not because it once was.
    let mut http = HttpOptions::default();
    http.is_forbidden_missing = true;
    let lenient = SourceConfig { http, ..config.clone() };
    for _ in 0..2 {
        assert_eq!(run(&server, &lenient, 6), Ok(None));
    }
    assert_eq!(server.hits(&path(6)), 1);
    let error = run(&server, &config, 6).unwrap_err();
    assert!(matches!(error, LoadError::Permanent { .. }), "{error}");

    // A document that was missing may be there the next moment.
    let document = Tileset::of_template("{z}/{x}/{y}.png").unwrap().to_json();
    let answers = vec![answer("404 Not Found", "", b""), answer("200 OK", "", document.as_bytes())];
    let server = Server::start([("/tiles.json".to_owned(), answers)]);
    assert!(Source::open_blocking(&server.url("/"), &config).is_err());
    Source::open_blocking(&server.url("/"), &config).unwrap();
}

#[test]
fn bad_files_are_never_kept() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let lasting = "Cache-Control: max-age=3600\r\n";
    let bad = |body: &[u8]| answer("200 OK", lasting, body);
    let mut flipped = atlas().to_vec();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let server = Server::start([
        (path(0), vec![bad(&atlas()[..200]), file(lasting)]),
        (path(1), vec![bad(b"<!doctype html><title>Sign in</title>"), file(lasting)]),
        (path(2), vec![bad(&flipped), file(lasting)]),
        // Its checksums are right: only a decoder sees what is wrong.
        (path(3), vec![bad(&narrow_atlas()), file(lasting)]),
        // The same behind a redirect that is kept as well.
        (path(4), vec![answer("301 Moved Permanently", &format!("Location: /moved.png\r\n{lasting}"), b"")]),
        ("/moved.png".to_owned(), vec![bad(&narrow_atlas()), file(lasting)]),
    ]);
    let loader = Loader::new(open(&server, &config), &LoaderConfig::default()).unwrap();
    let load = |ticket: u64, x: u32| {
        loader.run(Command::Fetch { ticket: Ticket(ticket), key: key(x) });
        match next_event(&loader).outcome {
            Outcome::Fetched(atlas) => {
                loader.run(Command::Build { ticket: Ticket(ticket), key: key(x), atlas });
                next_event(&loader).outcome
            }
            outcome => outcome,
        }
    };
    for x in 0..=4 {
        let first = load(u64::from(x) * 2, x);
        assert!(matches!(first, Outcome::Failed(LoadError::BadAtlas { .. })), "{x}: {first:?}");
        assert_eq!(n_files(dir.path()), u64::from(x), "{x}");
        let second = load(u64::from(x) * 2 + 1, x);
        assert!(matches!(second, Outcome::Built(_)), "{x}: {second:?}");
        assert_eq!(n_files(dir.path()), u64::from(x) + 1 + u64::from(x == 4), "{x}");
    }
    assert_eq!((server.hits("/moved.png"), server.hits(&path(4))), (2, 2));
}

#[test]
fn offline_the_cache_is_all_there_is() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let offline = SourceConfig { is_offline: true, ..config.clone() };
    let document = Tileset::of_template("{z}/{x}/{y}.png").unwrap().to_json();
    let mut server = Server::start([
        ("/tiles.json".to_owned(), vec![answer("200 OK", "Cache-Control: no-cache\r\n", document.as_bytes())]),
        (path(0), vec![file("Cache-Control: no-cache\r\n")]),
        (path(1), vec![answer("404 Not Found", "Cache-Control: no-cache\r\n", b"")]),
        (path(2), vec![file("")]),
    ]);
    let url = server.url("/tiles.json");
    let source = Source::open_blocking(&url, &config).unwrap();
    assert_eq!(fetch(&source, 0).unwrap().unwrap().bytes(), atlas());
    assert_eq!(fetch(&source, 1), Ok(None));
    let n_requests = server.n_requests();

    let check = || {
        let source = Source::open_blocking(&url, &offline).unwrap();
        assert_eq!(fetch(&source, 0).unwrap().unwrap().bytes(), atlas());
        assert_eq!(fetch(&source, 1), Ok(None));
        let error = fetch(&source, 2).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, LoadError::Permanent { .. }), "{text}");
        for expected in ["/17/2/0.png", "nothing in the cache in", dir.path().to_str().unwrap(), "--offline"] {
            assert!(text.contains(expected), "{text}");
        }
    };
    check();
    assert_eq!(server.n_requests(), n_requests);
    server.kill();
    check();

    let empty = TempDir::new().unwrap();
    for cache in [None, Some(DiskCache::new(empty.path(), GIB))] {
        let nothing = SourceConfig { cache, ..offline.clone() };
        let text = Source::open_blocking(&url, &nothing).unwrap_err().to_string();
        assert!(text.contains("tiles.json") && text.contains("--offline"), "{text}");
    }
}

#[test]
fn a_damaged_file_is_fetched_anew() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let server = start([(0, vec![file("Cache-Control: max-age=3600\r\nETag: \"a\"\r\n")])]);
    let offline = SourceConfig { is_offline: true, ..config.clone() };
    run(&server, &config, 0).unwrap();
    let kept = files(dir.path()).pop().unwrap();
    let whole = fs::read(&kept).unwrap();
    let head_bytes = whole.len() - atlas().len();
    let flip = |at: usize| {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        damaged
    };
    let mut damages: Vec<Vec<u8>> = (0..head_bytes).step_by(3).map(flip).collect();
    damages.extend([head_bytes, head_bytes + 99, whole.len() - 1].map(flip));
    damages.extend([0, 5, 28, head_bytes, whole.len() - 1].map(|length| whole[..length].to_vec()));
    damages.push([whole.as_slice(), b"more"].concat());
    damages.push(b"another file altogether".repeat(40));
    for (n_damaged, damaged) in damages.iter().enumerate() {
        fs::write(&kept, damaged).unwrap();
        assert!(run(&server, &offline, 0).is_err(), "damage {n_damaged}");
        fs::write(&kept, damaged).unwrap();
        assert_eq!(run(&server, &config, 0).unwrap().as_deref(), Some(atlas()), "damage {n_damaged}");
        assert_eq!(server.hits(&path(0)), n_damaged + 2, "damage {n_damaged}");
        assert_eq!(run(&server, &offline, 0).unwrap().as_deref(), Some(atlas()), "damage {n_damaged}");
    }

    // Found out when the server has already said that it is unchanged.
    let server = start([(
        0,
        vec![
            file("ETag: \"a\"\r\n"),
            Answer::Raw(head("304 Not Modified", "ETag: \"a\"\r\n")),
            file("ETag: \"a\"\r\n"),
        ],
    )]);
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    run(&server, &config, 0).unwrap();
    let kept = files(dir.path()).pop().unwrap();
    let mut damaged = fs::read(&kept).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&kept, damaged).unwrap();
    assert_eq!(run(&server, &config, 0).unwrap().as_deref(), Some(atlas()));
    assert_eq!(server.hits(&path(0)), 3);
}

#[test]
fn a_folder_that_cannot_be_used_costs_no_answer() {
    let dir = TempDir::new().unwrap();
    let file_as_folder = dir.path().join("file");
    fs::write(&file_as_folder, b"in the way").unwrap();
    let server = start([(0, vec![file("Cache-Control: max-age=3600\r\n")]), (1, vec![file("")])]);
    let config = SourceConfig { cache: Some(DiskCache::new(file_as_folder.join("cache"), GIB)), ..config() };
    let source = open(&server, &config);
    for x in [0, 1, 0] {
        assert_eq!(fetch(&source, x).unwrap().unwrap().bytes(), atlas());
    }
    assert_eq!(server.hits(&path(0)), 2);
    assert_eq!(fs::read(&file_as_folder).unwrap(), b"in the way");
}

#[test]
fn the_least_recently_used_goes_first() {
    let dir = TempDir::new().unwrap();
    let server = start((0..8).map(|x| (x, vec![file("Cache-Control: max-age=3600\r\n")])));
    run(&server, &with_cache(dir.path()), 0).unwrap();
    let file_bytes = DiskCache::new(dir.path(), GIB).info().unwrap().bytes();
    let bytes_max = file_bytes * 5;
    let small = SourceConfig { cache: Some(DiskCache::new(dir.path(), bytes_max)), ..config() };
    for x in 1..5 {
        run(&server, &small, x).unwrap();
    }
    // All were used long ago, then tile 0 again.
    for file in files(dir.path()) {
        fs::File::options().write(true).open(file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    run(&server, &small, 0).unwrap();
    for x in 5..8 {
        run(&server, &small, x).unwrap();
        assert!(small.cache.as_ref().unwrap().info().unwrap().bytes() <= bytes_max);
    }
    for x in [0, 5, 6, 7] {
        run(&server, &small, x).unwrap();
        assert_eq!(server.hits(&path(x)), 1, "{x}");
    }
    assert!((1..5).any(|x| fetch_is_asked(&server, &small, x)), "something has gone");

    // What is larger than the whole cache is not kept, and takes nobody's place.
    let tiny = TempDir::new().unwrap();
    let config = SourceConfig { cache: Some(DiskCache::new(tiny.path(), 4_096)), ..config() };
    if atlas().len() > 4_096 {
        run(&server, &config, 0).unwrap();
        assert_eq!(n_files(tiny.path()), 0);
    }
}

fn fetch_is_asked(server: &Server, config: &SourceConfig, x: u32) -> bool {
    let before = server.hits(&path(x));
    run(server, config, x).unwrap();
    server.hits(&path(x)) > before
}

#[test]
fn what_programs_that_died_have_left_is_removed() {
    let dir = TempDir::new().unwrap();
    let server = start((0..2).map(|x| (x, vec![file("Cache-Control: max-age=3600\r\n")])));
    run(&server, &with_cache(dir.path()), 0).unwrap();
    let host = files(dir.path())[0].parent().unwrap().to_owned();
    let (old, new) = (host.join("part-old"), host.join("part-new"));
    fs::write(&old, b"half").unwrap();
    fs::write(&new, b"half").unwrap();
    let two_hours_ago = SystemTime::now() - Duration::from_hours(2);
    fs::File::options().write(true).open(&old).unwrap().set_modified(two_hours_ago).unwrap();
    run(&server, &with_cache(dir.path()), 1).unwrap();
    assert!(!old.exists() && new.exists());
}

#[test]
fn another_users_answer_is_another_answer() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let other = [atlas(), b"for one's eyes only"].concat();
    let server = start([(
        0,
        vec![
            answer("404 Not Found", "", b""),
            answer("200 OK", "Cache-Control: max-age=3600\r\n", &other),
            file("Cache-Control: max-age=3600\r\n"),
        ],
    )]);
    let with_token = |token: &str| {
        let mut http = HttpOptions::default();
        http.set_token(token).unwrap();
        SourceConfig { http, ..config.clone() }
    };
    for _ in 0..2 {
        assert_eq!(run(&server, &config, 0), Ok(None));
        assert_eq!(run(&server, &with_token("hidden-1"), 0).unwrap(), Some(other.clone()));
        assert_eq!(run(&server, &with_token("hidden-2"), 0).unwrap().as_deref(), Some(atlas()));
    }
    assert_eq!(server.hits(&path(0)), 3);
    for file in files(dir.path()) {
        let content = fs::read(&file).unwrap();
        assert!(!content.windows(6).any(|bytes| bytes == b"hidden") && !file.to_string_lossy().contains("hidden"));
    }
}

#[test]
fn a_redirect_that_lasts_is_kept_too() {
    let dir = TempDir::new().unwrap();
    let config = with_cache(dir.path());
    let lasting = "Cache-Control: max-age=3600\r\n";
    let server = start([
        (0, vec![answer("301 Moved Permanently", &format!("Location: /17/1/0.png\r\n{lasting}"), b"")]),
        (1, vec![file(lasting)]),
        (2, vec![answer("302 Found", "Location: /17/1/0.png\r\n", b"")]),
    ]);
    for x in [0, 0, 2, 2] {
        assert_eq!(run(&server, &config, x).unwrap().as_deref(), Some(atlas()));
    }
    assert_eq!([0, 1, 2].map(|x| server.hits(&path(x))), [1, 1, 2]);
}

#[test]
fn programs_may_share_a_folder() {
    let dir = TempDir::new().unwrap();
    let server = start((0..6).map(|x| (x, vec![file("Cache-Control: max-age=3600\r\n")])));
    run(&server, &with_cache(dir.path()), 0).unwrap();
    // Room for three of six, so that each evicts what others read.
    let bytes_max = DiskCache::new(dir.path(), GIB).info().unwrap().bytes() * 3;
    std::thread::scope(|scope| {
        for n_program in 0..4 {
            let (dir, url) = (dir.path(), server.url(TEMPLATE));
            scope.spawn(move || {
                let cache = Some(DiskCache::new(dir, bytes_max));
                let source = Source::open_blocking(&url, &SourceConfig { cache, ..config() }).unwrap();
                for step in 0..30 {
                    let x = (step * (n_program + 1)) % 6;
                    assert_eq!(fetch(&source, x).unwrap().unwrap().bytes(), atlas());
                }
            });
        }
    });
    let left: Vec<PathBuf> = files(dir.path());
    assert!(left.iter().all(|file| !file.to_string_lossy().contains("part-")), "{left:?}");
}

#[test]
fn the_cache_tells_what_it_holds_and_forgets_it() {
    let dir = TempDir::new().unwrap();
    let cache = DiskCache::new(dir.path().join("cache"), GIB);
    assert_eq!(cache.info().unwrap().n_files(), 0);
    let config = SourceConfig { cache: Some(cache.clone()), ..config() };
    let servers = [0, 1].map(|_| start((0..3).map(|x| (x, vec![file("Cache-Control: max-age=3600\r\n")]))));
    for (server, n_tiles) in servers.iter().zip([1, 3]) {
        for x in 0..n_tiles {
            run(server, &config, x).unwrap();
        }
    }
    let info = cache.info().unwrap();
    let mut hosts: Vec<(String, u64)> =
        info.hosts.iter().map(|host| (format!("http://{}", host.host), host.n_files)).collect();
    hosts.sort_by_key(|&(_, n_files)| n_files);
    assert_eq!(hosts, [(servers[0].url(""), 1), (servers[1].url(""), 3)]);
    assert!(info.bytes() >= 4 * atlas().len() as u64);

    let beside = dir.path().join("cache/notes.txt");
    fs::write(&beside, b"not ours").unwrap();
    assert_eq!(cache.clear().unwrap(), info);
    assert_eq!(cache.info().unwrap().n_files(), 0);
    assert!(beside.exists());
    run(&servers[0], &config, 0).unwrap();
    assert_eq!((cache.info().unwrap().n_files(), servers[0].hits(&path(0))), (1, 2));
}
