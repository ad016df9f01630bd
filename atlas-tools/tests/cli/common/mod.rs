//! What the tests of the program share: running it, and cities made for them.

pub(crate) mod mvt_writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mvt_writer::TestFeature;

/// Runs the program.
pub(crate) fn atlas_tools(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_atlas-tools")).args(args).output().expect("the program starts")
}

/// Runs the program, which must end with this code; its standard output and its standard error.
pub(crate) fn run(args: &[&str], code: i32) -> (String, String) {
    let output = atlas_tools(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\nstdout: {out}\nstderr: {err}");
    (out, err)
}

/// Writes a vector tile into a folder.
pub(crate) fn put_tile(dir: &Path, [z, x, y]: [u32; 3], bytes: &[u8]) -> PathBuf {
    let path = dir.join(format!("{z}/{x}/{y}.pbf"));
    std::fs::create_dir_all(path.parent().expect("a tile has a folder")).expect("the folder is made");
    std::fs::write(&path, bytes).expect("the tile is written");
    path
}

/// The column and row of the synthetic city's first tile, at zoom 16.
pub(crate) const X: u32 = 58_000;
pub(crate) const Y: u32 = 25_800;

/// A city of 2 x 2 tiles with buffers: blocks of many heights, a pair across each border, one higher than a layer.
pub(crate) fn put_city(dir: &Path) {
    for (tx, ty) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let mut features = Vec::new();
        for id in 0..96u64 {
            let spread = |step: u64, n: u64| (id * step % n) as i32;
            let (x, y) = (spread(1_733, 7_900), spread(4_211, 7_800));
            let side = 60 + spread(37, 240);
            let height_m = if id == 7 { 300.0 } else { 3.0 + f64::from(spread(11, 80)) };
            let block = TestFeature::block(1_000 - id, height_m, x - tx * 4096, y - ty * 4096, side);
            features.extend(clipped(block));
        }
        put_tile(dir, [16, X + tx as u32, Y + ty as u32], &mvt_writer::tile("bldg", 4096, &features));
    }
}

/// A square cut at the tile's buffer, or nothing where it lies outside.
fn clipped(mut block: TestFeature) -> Option<TestFeature> {
    let ring = &mut block.rings[0];
    for value in ring.iter_mut().flatten() {
        *value = (*value).clamp(-80, 4096 + 80);
    }
    (ring[0][0] < ring[1][0] && ring[1][1] < ring[2][1]).then_some(block)
}

/// Every file below a folder, with its bytes.
pub(crate) fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fn below(dir: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).expect("the folder is read") {
            let path = entry.expect("the entry is read").path();
            let name = format!("{prefix}{}", path.file_name().expect("it has a name").to_string_lossy());
            if path.is_dir() {
                below(&path, &format!("{name}/"), files);
            } else {
                files.insert(name, std::fs::read(&path).expect("the file is read"));
            }
        }
    }
    let mut files = BTreeMap::new();
    below(dir, "", &mut files);
    files
}

/// What a program printed as JSON.
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON: {error}: {text}"))
}

/// A region of a tileset.
pub(crate) fn region(dir: &Path, name: &str) -> voxatlas::voxel::Region {
    let bytes = std::fs::read(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    voxatlas::atlas::decode(&voxatlas::atlas::EncodedAtlas::new(bytes)).expect("our files decode")
}

/// A path as an argument.
pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("test folders are UTF-8")
}

/// The demo city, as it lies in the repository.
pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/demo")
}

/// A copy of the demo city that may be spoilt.
pub(crate) fn copy_of_demo(dir: &Path) -> PathBuf {
    let copy = dir.join("demo");
    for (name, bytes) in tree(&demo()) {
        put(&copy, &name, &bytes);
    }
    copy
}

/// Writes a file into a folder.
pub(crate) fn put(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is made");
    std::fs::write(path, bytes).expect("the file is written");
}

/// Serves a folder over HTTP for as long as the tests run; its URL.
pub(crate) fn serve(dir: &Path) -> String {
    let files = tower_http::services::ServeDir::new(dir);
    format!("http://{}", in_background(axum::Router::new().fallback_service(files)))
}

/// Runs a server on a thread of its own for as long as the tests run.
pub(crate) fn in_background(router: axum::Router) -> std::net::SocketAddr {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let name = "test-server".to_owned();
    let serve = move || runtime.block_on(async { axum::serve(listener, router).await.expect("it serves") });
    std::thread::Builder::new().name(name).spawn(serve).expect("a thread");
    address
}
