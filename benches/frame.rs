//! What a frame costs: the CPU's time to choose, to encode and to send, and what the GPU is given.
//!
//! `cargo bench --bench frame` prints, for 16 and 96 slots, medians over a flight: CPU time of the choice and the encoding, of
//! the submission, of an upload; draw calls, ranges, quads and bytes; GPU memory; and the time to the finished picture, which
//! on a software driver is the driver's and only for the record. The record follows as JSON; without it no figure counts.
//!
//! Regions are real ones of Tokyo, from the tileset that `VOXATLAS_TILESET` names, or encoded from `VOXATLAS_DATA`; where
//! neither is set, synthetic ones. Under `cargo test --benches` each flight is short.

mod clock;
mod record;
#[expect(dead_code, reason = "other benches paint regions in full colour, too")]
mod scenes;
mod tokyo;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clock::{median, timed};
use glam::DVec3;
use record::Record;
use voxatlas::atlas::{EncodedAtlas, decode};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::gpu::{FrameStats, FrameStyle, Gpu, Lighting, Offscreen, Renderer};
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_region};
use voxatlas::stream::{BuiltRegion, SlotUpdate};
use voxatlas::view::{Pose, View};
use voxatlas::voxel::{Region, Solids};

const WIDTH_PX: u32 = 1280;
const HEIGHT_PX: u32 = 720;

/// Frames before the first that counts: pipelines are compiled, pages come.
const N_WARM_UP: usize = 3;

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    assert!(Record::default().to_json().is_err(), "figures without a record are refused");
    let gpu = Gpu::headless_blocking().unwrap_or_else(|error| panic!("{error}"));
    let (name, regions) = if is_bench { regions(96) } else { ("synthetic".to_owned(), synthetic(2)) };
    let n_frames = if is_bench { 40 } else { 2 };
    println!(
        "{:>5} {:>10} {:>10} {:>12} {:>6} {:>6} {:>9} {:>9} {:>9} {:>11}",
        "slots", "draw", "submit", "upload/MiB", "draws", "runs", "quads", "sent KiB", "GPU MiB", "to picture"
    );
    for n_slots in [16, 96] {
        let n_slots = n_slots.min(if is_bench { 96 } else { 4 });
        fly(&gpu, &name, &regions, n_slots, n_frames);
    }
}

/// Flies over so many slots, and prints what a frame cost.
fn fly(gpu: &Gpu, name: &str, regions: &[Arc<BuiltRegion>], n_slots: usize, n_frames: usize) {
    let mut renderer = Renderer::new(gpu, Offscreen::FORMAT);
    let side = (n_slots as f64).sqrt().ceil() as usize;
    let mut sent_bytes = 0;
    let ((), upload_time) = timed(|| {
        for at in 0..n_slots {
            let region = Arc::clone(&regions[at % regions.len()]);
            sent_bytes += region.gpu_bytes();
            let offset = [(at % side) as i64 * 256, 0, (at / side) as i64 * 256];
            let update = SlotUpdate { at, region: Some(region), offset, octants: SlotUpdate::ALL_OCTANTS };
            renderer.apply(&update).unwrap_or_else(|error| panic!("{error}"));
        }
    });
    let target = Offscreen::new(gpu, WIDTH_PX, HEIGHT_PX).unwrap_or_else(|error| panic!("{error}"));
    let lighting = Lighting::default();
    let (mut draw_times, mut submit_times, mut picture_times) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = FrameStats::default();
    for n in 0..N_WARM_UP + n_frames {
        let began = Instant::now();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let view = view_at(n, side);
        let (stats, draw_time) = timed(|| renderer.draw(&mut encoder, target.view(), &view, FrameStyle::Lit(lighting)));
        let ((), submit_time) = timed(|| {
            gpu.queue.submit([encoder.finish()]);
        });
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap_or_else(|error| panic!("{error}"));
        if n >= N_WARM_UP {
            draw_times.push(draw_time);
            submit_times.push(submit_time);
            picture_times.push(began.elapsed());
            last = stats;
        }
    }
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let (draw, submit, picture) = (median(draw_times), median(submit_times), median(picture_times));
    println!(
        "{n_slots:>5} {:>7.3} ms {:>7.3} ms {:>9.3} ms {:>6} {:>6} {:>9} {:>9.1} {:>9.1} {:>8.1} ms",
        millis(draw),
        millis(submit),
        millis(upload_time) / (sent_bytes as f64 / f64::from(1 << 20)),
        last.n_draws,
        last.n_runs,
        last.n_quads,
        last.uploaded_bytes as f64 / 1024.0,
        renderer.memory().total_bytes() as f64 / f64::from(1 << 20),
        millis(picture),
    );
    let info = gpu.adapter.get_info();
    let record = Record {
        gpu: format!("{} ({:?})", info.name, info.device_type),
        driver: format!("{} {}", info.driver, info.driver_info),
        viewport: format!("{WIDTH_PX} x {HEIGHT_PX}"),
        detail: format!("{n_slots} slots of {name}, {} MiB of regions, full light", sent_bytes >> 20),
        path: "100 m a second eastwards at 220 m, turning".to_owned(),
        warm_up: format!("{N_WARM_UP} frames"),
        duration: format!("{n_frames} frames"),
        ..Record::of_this_machine()
    };
    println!("{}", record.to_json().unwrap_or_else(|error| panic!("{error}: no figure without its record")));
}

/// The flight: eastwards over the southern rows, turning.
fn view_at(n: usize, side: usize) -> View {
    let t = n as f64 / 60.0;
    let span = side as f64 * 256.0;
    View {
        pose: Pose {
            eye_in_world: DVec3::new(span * 0.4 + 100.0 * t, 220.0, span * 0.95),
            yaw_rad: 0.3 - 0.2 * t,
            pitch_rad: -0.3,
        },
        fov_y_rad: 50_f64.to_radians(),
        width_px: WIDTH_PX,
        height_px: HEIGHT_PX,
        draw_distance_voxels: 8_000.0,
    }
}

/// Real regions, or synthetic ones, and what they are.
fn regions(n_max: usize) -> (String, Vec<Arc<BuiltRegion>>) {
    match tokyo::files(n_max) {
        Ok(files) => {
            let decoded = files
                .into_iter()
                .map(|file| decode(&EncodedAtlas::new(file)).unwrap_or_else(|error| panic!("{error}")));
            ("Tokyo".to_owned(), decoded.map(|region| built(&region)).collect())
        }
        Err(why) => {
            println!("no real regions: {why}");
            ("synthetic".to_owned(), synthetic(scenes::NAMES.len() - 1))
        }
    }
}

/// All but noise, which is no city.
fn synthetic(n: usize) -> Vec<Arc<BuiltRegion>> {
    scenes::NAMES.iter().filter(|&&name| name != "noise").take(n).map(|name| built(&scenes::scene(name))).collect()
}

fn built(region: &Region) -> Arc<BuiltRegion> {
    let mesh = mesh_region(region, BorderPolicy::Floored, &mut Scratch::new());
    let key = RegionKey::new(TileCoord::new(17, 0, 0).unwrap_or_else(|error| panic!("{error}")), 0);
    Arc::new(BuiltRegion { key, voxels: None, mesh, solids: Solids::of(&region.occupancy), boxes: None })
}
