//! `atlas-tools serve`: a tileset over HTTP, to try a viewer with before the files go to a CDN.
//!
//! Files go out as they are, with Range, ETag and If-None-Match, to pages of any origin; what is not there is 404, which
//! readers take for an empty region.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use axum::Router;
use axum::http::{HeaderValue, Method, Response, header};
use axum::middleware::map_response;
use axum::response::Redirect;
use axum::routing::get;
use tokio::net::TcpListener;
use tower_http::cors::{Any, CorsLayer};
use tower_http::services::{ServeDir, ServeFile};
use voxatlas::source::{SourceConfig, SourceSpec};

use crate::archives::{Archives, is_archive};
use crate::outcome::{Outcome, print};
use crate::tileset_files;

/// Serves a tileset, the PMTiles archives in a folder, or one archive with those of its other layers, over HTTP.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atlas-tools serve city
  atlas-tools serve city.pmtiles
  atlas-tools serve city --port 0 --bind 0.0.0.0

Exit codes: 0 ended by Ctrl-C, 2 wrong usage or nothing served.")]
pub struct ServeArgs {
    /// The tileset's folder, the one with tiles.json or PMTiles archives in it, or an archive
    #[arg(value_name = "DIR|FILE.pmtiles")]
    path: PathBuf,
    /// The port; 0 takes one that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The address to listen at; 0.0.0.0 lets other machines in
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
}

/// Serves until Ctrl-C.
///
/// # Errors
///
/// The directory is no tileset, or nobody may listen at the address.
pub fn run(args: &ServeArgs) -> anyhow::Result<Outcome> {
    let served = Served::of(&args.path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let server = Server::bind(args, served).await?;
        print(&server.greeting())?;
        server.run(ctrl_c()).await
    });
    // A reader that hangs in the middle of a file does not keep us.
    runtime.shutdown_background();
    result.map(|()| Outcome::Done)
}

/// Ends at Ctrl-C; never where the system lets nobody listen for it, and its own way of ending us remains.
async fn ctrl_c() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A tileset behind a socket.
struct Server {
    listener: TcpListener,
    address: SocketAddr,
    path: PathBuf,
    served: Served,
}

/// What goes out.
struct Served {
    /// In words.
    name: String,
    /// What a viewer opens, relative to the address: an archive, or nothing for the folder.
    opened: String,
    files: Files,
}

/// The files that go out.
enum Files {
    /// All in a folder.
    Folder(PathBuf),
    /// These archives and nothing beside them, by their names.
    Archives(Vec<(String, PathBuf)>),
}

impl Server {
    async fn bind(args: &ServeArgs, served: Served) -> anyhow::Result<Self> {
        let wanted = SocketAddr::new(args.bind, args.port);
        let listener = TcpListener::bind(wanted)
            .await
            .with_context(|| format!("cannot listen at {wanted}: give another --port, or 0 for one that is free"))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, path: args.path.clone(), served })
    }

    /// Serves until `end`, then drops what is still open.
    async fn run(self, end: impl Future<Output = ()>) -> anyhow::Result<()> {
        tokio::select! {
            served = axum::serve(self.listener, self.served.router()) => Ok(served?),
            () = end => Ok(()),
        }
    }

    fn url(&self) -> String {
        // Everywhere is no address that one can go to.
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }

    fn greeting(&self) -> String {
        let Served { name, opened, .. } = &self.served;
        let (path, url) = (self.path.display(), self.url());
        format!("Serving {name} in {path} at {url}\n\n    voxatlas view {url}{opened}\n\nCtrl-C ends it.\n")
    }
}

impl Served {
    /// Refuses what no viewer could open, before anybody wonders about 404s.
    fn of(path: &Path) -> anyhow::Result<Self> {
        if is_archive(path) && path.is_file() {
            return Self::archive(path);
        }
        let files = Files::Folder(path.to_owned());
        if path.is_dir()
            && !path.join("tiles.json").exists()
            && let Some(archive) = first_archive(path)?
        {
            return Ok(Self { name: "the archives".to_owned(), opened: format!("/{archive}"), files });
        }
        let tileset = tileset_files::document(path)?;
        Ok(Self { name: tileset.name.unwrap_or_else(|| "the tileset".to_owned()), opened: String::new(), files })
    }

    fn archive(path: &Path) -> anyhow::Result<Self> {
        let spec = SourceSpec::Archive(path.to_owned());
        let document = Archives::open(&spec, &SourceConfig::default())?.document;
        let own = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let others = document.files().iter().filter(|file| file.layer != document.layer());
        let names = others.map(|file| file.file.clone()).chain([own.clone()]);
        let archives: Vec<_> = names.map(|name| (name.clone(), path.with_file_name(name))).collect();
        if let Some((name, _)) = archives.iter().find(|(name, _)| name.contains(['{', '}', '%', '?', '#'])) {
            bail!("\"{name}\": expected a name without {{ }} % ? #, since it stands in a URL");
        }
        let name = document.tileset().name.clone().unwrap_or_else(|| "the tileset".to_owned());
        Ok(Self { name, opened: format!("/{own}"), files: Files::Archives(archives) })
    }

    fn router(&self) -> Router {
        let cors = CorsLayer::new()
            .allow_origin(Any)
            .allow_methods([Method::GET, Method::HEAD])
            .allow_headers(Any)
            .expose_headers([header::ACCEPT_RANGES, header::CONTENT_LENGTH, header::CONTENT_RANGE, header::ETAG]);
        let router = match &self.files {
            Files::Folder(folder) => Router::new()
                .route("/", get(async || Redirect::temporary("/tiles.json")))
                .fallback_service(ServeDir::new(folder).append_index_html_on_directories(false)),
            Files::Archives(archives) => archives.iter().fold(Router::new(), |router, (name, path)| {
                router.route_service(&format!("/{name}"), ServeFile::new(path))
            }),
        };
        router.layer(map_response(revalidate)).layer(cors)
    }
}

/// The archive with the shortest name: `city.pmtiles` before `city.l1.pmtiles`.
fn first_archive(dir: &Path) -> anyhow::Result<Option<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let name = entry.with_context(|| dir.display().to_string())?.file_name();
        names.extend(name.to_str().filter(|name| is_archive(Path::new(name))).map(str::to_owned));
    }
    Ok(names.into_iter().min_by_key(|name| (name.len(), name.clone())))
}

/// Has readers ask again whether a file has changed, at the price of a 304: it may be encoded anew at any time.
async fn revalidate<B>(mut response: Response<B>) -> Response<B> {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;

    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use voxatlas::geo::RegionKey;
    use voxatlas::source::{AtlasSource as _, Source};

    use super::*;

    const ATLAS: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

    fn tileset() -> TempDir {
        let dir = TempDir::new().unwrap();
        let tileset = voxatlas::atlas::Tileset::of_template("{z}/{x}/{y}.png").unwrap();
        fs::write(dir.path().join("tiles.json"), tileset.to_json()).unwrap();
        fs::create_dir_all(dir.path().join("17/1")).unwrap();
        fs::write(dir.path().join("17/1/2.png"), ATLAS).unwrap();
        dir
    }

    fn args(dir: &Path) -> ServeArgs {
        ServeArgs { path: dir.to_owned(), port: 0, bind: Ipv4Addr::LOCALHOST.into() }
    }

    async fn bind(args: &ServeArgs) -> anyhow::Result<Server> {
        Server::bind(args, Served::of(&args.path)?).await
    }

    /// Runs a test's client beside a server of `dir`.
    fn beside_server<F: Future<Output = ()>>(dir: &Path, client: impl FnOnce(String, SocketAddr) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = bind(&args(dir)).await.unwrap();
            let client = client(server.url(), server.address);
            server.run(client).await.unwrap();
        });
    }

    struct Answer {
        status: u16,
        headers: HashMap<String, String>,
        body: Vec<u8>,
    }

    async fn ask(address: SocketAddr, method: &str, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let head_end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..head_end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Answer { status, headers: lines.filter_map(header).collect(), body: answer[head_end + 4..].to_vec() }
    }

    #[test]
    fn files_go_out_whole_in_parts_or_not_at_all() {
        let dir = tileset();
        beside_server(dir.path(), async |_, address| {
            let whole = ask(address, "GET", "/17/1/2.png", "").await;
            assert_eq!((whole.status, whole.body.as_slice()), (200, ATLAS));
            assert_eq!(whole.headers["content-type"], "image/png");
            assert_eq!(whole.headers["accept-ranges"], "bytes");

            let part = ask(address, "GET", "/17/1/2.png", "Range: bytes=8-11\r\n").await;
            assert_eq!((part.status, part.body.as_slice()), (206, &ATLAS[8..12]));
            assert_eq!(part.headers["content-range"], format!("bytes 8-11/{}", ATLAS.len()));
            assert_eq!(ask(address, "GET", "/17/1/2.png", "Range: bytes=99-\r\n").await.status, 416);

            let etag = &whole.headers["etag"];
            let same = ask(address, "GET", "/17/1/2.png", &format!("If-None-Match: {etag}\r\n")).await;
            assert_eq!((same.status, same.body.len()), (304, 0));
            let other = ask(address, "GET", "/17/1/2.png", "If-None-Match: \"other\"\r\n").await;
            assert_eq!(other.status, 200);

            for missing in ["/17/1/3.png", "/17/1/", "/../secret", "/%2e%2e/secret"] {
                assert_eq!(ask(address, "GET", missing, "").await.status, 404, "{missing}");
            }
            let document = ask(address, "GET", "/tiles.json", "").await;
            assert_eq!((document.status, document.headers["content-type"].as_str()), (200, "application/json"));
            assert_eq!(ask(address, "GET", "/", "").await.headers["location"], "/tiles.json");
        });
    }

    #[test]
    fn pages_of_any_origin_may_read() {
        let dir = tileset();
        beside_server(dir.path(), async |_, address| {
            let origin = "Origin: https://viewer.example\r\n";
            for path in ["/17/1/2.png", "/17/1/3.png"] {
                let answer = ask(address, "GET", path, origin).await;
                assert_eq!(answer.headers["access-control-allow-origin"], "*", "{path}");
                assert!(answer.headers["access-control-expose-headers"].contains("etag"), "{path}");
            }
            let preflight =
                format!("{origin}Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: range\r\n");
            let answer = ask(address, "OPTIONS", "/17/1/2.png", &preflight).await;
            assert_eq!((answer.status, answer.headers["access-control-allow-headers"].as_str()), (200, "*"));
        });
    }

    #[test]
    fn a_source_opens_the_printed_url() {
        let dir = tileset();
        beside_server(dir.path(), async |url, _| {
            let source = Source::open(&url, &SourceConfig::default()).await.unwrap();
            let key = |tile: &str| RegionKey::new(tile.parse().unwrap(), 0);
            assert_eq!(source.fetch(key("17/1/2")).await.unwrap().unwrap().bytes(), ATLAS);
            assert_eq!(source.fetch(key("17/1/3")).await, Ok(None));
        });
    }

    #[test]
    fn archives_are_served_in_parts() {
        let dir = TempDir::new().unwrap();
        for name in ["city.l1.pmtiles", "city.pmtiles"] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            let mut writer = pmtiles::PmTilesWriter::new(pmtiles::TileType::Png).create(file).unwrap();
            writer.add_tile(pmtiles::TileCoord::new(17, 1, 2).unwrap(), ATLAS).unwrap();
            writer.finalize().unwrap();
        }
        beside_server(dir.path(), async |url, _| {
            let source = Source::open(&format!("{url}/city.pmtiles"), &SourceConfig::default()).await.unwrap();
            let key = |tile: &str| RegionKey::new(tile.parse().unwrap(), 0);
            assert_eq!(source.fetch(key("17/1/2")).await.unwrap().unwrap().bytes(), ATLAS);
            assert_eq!(source.fetch(key("17/1/3")).await, Ok(None));
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(bind(&args(dir.path()))).unwrap();
        let line = format!("    voxatlas view {}/city.pmtiles", server.url());
        assert!(server.greeting().lines().any(|found| found == line), "{}", server.greeting());
    }

    #[test]
    fn the_greeting_can_be_pasted() {
        let dir = tileset();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(bind(&args(dir.path()))).unwrap();
        let line = format!("    voxatlas view http://127.0.0.1:{}", server.address.port());
        assert!(server.greeting().lines().any(|found| found == line));

        let everywhere = ServeArgs { bind: Ipv4Addr::UNSPECIFIED.into(), ..args(dir.path()) };
        let server = runtime.block_on(bind(&everywhere)).unwrap();
        assert_eq!(server.url(), format!("http://127.0.0.1:{}", server.address.port()));
    }

    #[test]
    fn what_is_no_tileset_is_refused() {
        let check = |dir: &Path, expected: &str| {
            let text = Served::of(dir).err().unwrap().to_string();
            assert!(text.contains(expected) && text.contains(&dir.display().to_string()), "{text}");
        };
        let dir = TempDir::new().unwrap();
        check(dir.path(), "is no tileset: it has no tiles.json");
        check(&dir.path().join("missing"), "is no directory");
        fs::write(dir.path().join("tiles.json"), "{}").unwrap();
        check(dir.path(), "is no tileset document: missing field `tilejson`");
    }

    #[test]
    fn a_port_in_use_is_named() {
        let dir = tileset();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let first = runtime.block_on(bind(&args(dir.path()))).unwrap();
        let second = ServeArgs { port: first.address.port(), ..args(dir.path()) };
        let text = runtime.block_on(bind(&second)).err().unwrap().to_string();
        assert!(text.contains(&first.address.to_string()) && text.contains("another --port"), "{text}");
    }
}
