//! A view becomes regions, without a window.
//!
//! ```text
//! cargo run --example stream_headless [SOURCE [LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG]]
//! ```
//!
//! Streams what one view wants, of the demo city unless a SOURCE is named, and prints what happens until the picture is
//! complete. The loop is that of a viewer: once a frame the scene compares what is wanted with what is there, its
//! commands go to the loader, and the loader's events come back.

use std::error::Error;
use std::time::{Duration, Instant};

use voxatlas::atlas::Presence;
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::source::{Source, SourceConfig};
use voxatlas::stream::{Command, Event, Outcome, Scene, SceneConfig};
use voxatlas::view::{Interest, TilesetGrid, View, ViewSpec};

/// Over the middle of the demo city, towards the north-west.
const DEMO_VIEW: &str = "0.0032,-0.0047,330,334,-22";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let source = args.next().unwrap_or_else(|| "demo".to_owned());
    let spec: ViewSpec = args.next().as_deref().unwrap_or(DEMO_VIEW).parse()?;
    let view =
        View { pose: spec.pose(), fov_y_rad: 0.9, width_px: 1280, height_px: 720, draw_distance_voxels: 2_000.0 };

    let source = Source::open_blocking(&source, &SourceConfig::default())?;
    let tileset = source.tileset();
    println!("{}: {}", tileset.name.as_deref().unwrap_or(source.name()), tileset.attribution.as_deref().unwrap_or(""));
    let (base, availability) = (tileset.base(), source.availability().clone());
    let layers: Vec<i32> = availability.layers().collect();
    let zooms = tileset.minzoom..=tileset.maxzoom;
    let exists = |key| availability.presence(key) != Presence::Absent;
    let grid = TilesetGrid { base, zooms, layers: &layers, exists };

    let mut scene = Scene::new(SceneConfig { base, ..SceneConfig::default() });
    let loader = Loader::new(source, &LoaderConfig::default())?;
    let started = Instant::now();
    loop {
        // A camera that moves has another interest every frame; this one stands still.
        let frame = scene.frame(&Interest::compute(&view, &grid), started.elapsed());
        for command in frame.commands {
            if let Command::Fetch { key, .. } = &command {
                println!("fetch  {key}");
            }
            loader.run(command);
        }
        for update in frame.updates {
            if let Some(built) = update.region {
                println!(
                    "slot {:>2} {}: {} quads at {:?}",
                    update.at,
                    built.key,
                    built.mesh.quads.len(),
                    update.offset
                );
            }
        }
        if scene.is_complete() {
            break;
        }
        // A viewer draws here. Without a picture there is nothing to do until something arrives or a back-off ends.
        let now = started.elapsed();
        let wait = scene.next_wake(now).map_or(Duration::MAX, |wake| wake.saturating_sub(now));
        if let Some(event) = loader.wait_event(wait.min(Duration::from_secs(1))) {
            report(&event);
            scene.handle(event, started.elapsed());
        }
    }
    let progress = scene.progress();
    println!("{} drawn, {} empty, {} failed", progress.n_drawn, progress.n_empty, progress.n_failed);
    Ok(())
}

fn report(event: &Event) {
    match &event.outcome {
        Outcome::Fetched(atlas) => println!("got    {}: {} bytes", event.key, atlas.bytes().len()),
        Outcome::Empty => println!("empty  {}", event.key),
        Outcome::Built(built) => println!("built  {}: {} quads", event.key, built.mesh.quads.len()),
        Outcome::Failed(error) => println!("failed {}: {error}", event.key),
    }
}
