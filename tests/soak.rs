//! A long flight through the real loader and a local web server: memory is flat after the warm-up, and every budget
//! holds in every frame.
//!
//! ```text
//! cargo test -p voxatlas --test soak                     1,000 regions
//! cargo test -p voxatlas --test soak -- --ignored        20,000 regions
//! ```

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on is a failed test")]

use std::collections::HashSet;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse as _;
use glam::DVec3;
use voxatlas::atlas::{AtlasMetadata, encode};
use voxatlas::geo::RegionKey;
use voxatlas::limits::{PREPURGE, SLOTS_MAX};
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::source::{Source, SourceConfig};
use voxatlas::stream::{Outcome, Scene, SceneConfig, StoreLimits};
use voxatlas::view::{InterestFinder, Motion, TilesetGrid, View, ViewSpec};
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// Other files than these the city has not: what a region holds is not what this is about.
const N_FILES: u32 = 4;

/// What the store may hold, in bytes: less than one view wants, so that the budget is at work all the time.
const STORE_BYTES: usize = 160 << 20;

/// How much more the process may take after the warm-up, in bytes: an allocator keeps pages, a leak of one region in
/// ten would be twice as much.
const GROWTH_BYTES_MAX: u64 = 96 << 20;

/// Houses of some height, in some colours.
fn city_block(n: u32) -> Vec<u8> {
    let mut occupancy = Occupancy::empty();
    for (x, z) in (0..256).flat_map(|x| (0..256).map(move |z| (x, z))) {
        let (i, j) = (x / 24, z / 24);
        let is_street = x % 24 < 6 || z % 24 < 6;
        let height = if is_street { 2 } else { 6 + (i * 7 + j * 13 + n * 5) % 40 };
        for y in 0..height {
            occupancy.set(x, y, z, true);
        }
    }
    let palette = (0..64).map(|idx| [idx * 3, 90 + idx, 200 - idx]).collect();
    let region = Region::paint(occupancy, ColourDepth::Indexed(palette), |x, y, z| (x / 24 + z / 24 + y / 3) % 64);
    let key = RegionKey::new("17/0/0".parse().unwrap(), 0);
    let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 1.0, clipped: 0, credit: String::new() };
    encode(&region, &metadata)
}

/// Serves a tileset of all zooms without end, one of a few files everywhere; and the sea here and there.
fn serve(runtime: &tokio::runtime::Runtime) -> String {
    let files: Vec<Bytes> = (0..N_FILES).map(|n| Bytes::from(city_block(n))).collect();
    let answer = move |uri: Uri| {
        let files = files.clone();
        async move {
            let numbers: Vec<u32> = uri.path().split(['/', '.']).filter_map(|part| part.parse().ok()).collect();
            match numbers[..] {
                [_, x, y] if (x * 31 + y * 17) % 23 == 0 => StatusCode::NOT_FOUND.into_response(),
                [_, x, y] => files[((x + y) % N_FILES) as usize].clone().into_response(),
                _ => r#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "minzoom": 12, "maxzoom": 17}"#
                    .into_response(),
            }
        }
    };
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

/// What the process holds in memory, in bytes; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Flies west until so many different regions have been built. After a fifth of them memory may not grow.
fn fly_over(n_regions: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let source = Source::open_blocking(&serve(&runtime), &SourceConfig::default()).unwrap();
    let zooms = source.tileset().minzoom..=source.tileset().maxzoom;
    let loader_config = LoaderConfig::default();
    let loader = Loader::new(source, &loader_config).unwrap();
    let store = StoreLimits { bytes: STORE_BYTES, outside: PREPURGE, remembered: 500 };
    let config = SceneConfig { base: -32, builds: loader_config.cpu_threads, store, ..SceneConfig::default() };
    let mut scene = Scene::new(config);
    let mut finder = InterestFinder::default();
    let mut view = View {
        pose: "139.7454,35.6585,260,270,-35".parse::<ViewSpec>().unwrap().pose(),
        fov_y_rad: 0.9,
        width_px: 640,
        height_px: 360,
        draw_distance_voxels: 12_000.0,
    };

    let started = Instant::now();
    let (mut built, mut n_requests) = (HashSet::new(), 0);
    let (mut warm_bytes, mut most_bytes) = (None, 0);
    let mut last_news = Instant::now();
    while built.len() < n_regions {
        let before = view.pose;
        // Eight metres a frame: as fast as the loader brings regions, which is the point.
        view.pose.eye_in_world += DVec3::new(-8.0, 0.0, 1.0);
        let motion = Motion::default().after(&before, &view.pose, 1.0 / 30.0);
        let exists = |key: RegionKey| scene.may_hold(&key);
        finder.find(&view, &motion, &TilesetGrid { base: -32, zooms: zooms.clone(), layers: &[0], exists });
        let frame = scene.frame(finder.interest(), started.elapsed());
        for command in frame.commands {
            n_requests += 1;
            loader.run(command);
        }
        while let Some(event) = loader.wait_event(Duration::from_millis(1)) {
            if let Outcome::Built(region) = &event.outcome {
                built.insert(region.key);
                last_news = Instant::now();
            }
            scene.handle(event, started.elapsed());
        }
        assert!(
            last_news.elapsed() < Duration::from_mins(1),
            "nothing has been built for a minute: {:?}",
            scene.progress()
        );

        let progress = scene.progress();
        assert!(progress.store_bytes <= STORE_BYTES && progress.n_outside <= PREPURGE, "{progress:?}");
        assert!(scene.slots().flatten().count() <= SLOTS_MAX);
        assert!(loader.n_running() <= 5 + 2 * loader_config.cpu_threads, "{} tasks run", loader.n_running());
        if built.len() > n_regions / 5
            && let Some(bytes) = resident_bytes()
        {
            warm_bytes.get_or_insert(bytes);
            most_bytes = most_bytes.max(bytes);
        }
    }
    scene.check_invariants();
    assert!(n_requests > n_regions, "every region was asked for and built");
    if let Some(warm_bytes) = warm_bytes {
        let mib = |bytes: u64| bytes >> 20;
        println!("{} MiB when warm, {} MiB at most, {} regions", mib(warm_bytes), mib(most_bytes), built.len());
        let grown = most_bytes.saturating_sub(warm_bytes);
        assert!(grown <= GROWTH_BYTES_MAX, "memory grew from {} to {} MiB", mib(warm_bytes), mib(most_bytes));
    }
}

#[test]
fn a_thousand_regions_leave_memory_flat() {
    fly_over(1_000);
}

#[test]
#[ignore = "three minutes: run by hand before a release"]
fn twenty_thousand_regions_leave_memory_flat() {
    fly_over(20_000);
}
