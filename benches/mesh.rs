//! The mesher alone: milliseconds a region, on one core.
//!
//! `cargo bench --bench mesh` prints medians; under `cargo test --benches` each scene runs once.

mod clock;
mod scenes;

use std::hint::black_box;
use std::time::Duration;

use clock::{median, timed};
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_occupancy, mesh_octants, mesh_region};

fn main() {
    let n_runs = if std::env::args().any(|arg| arg == "--bench") { 15 } else { 1 };
    let mut scratch = Scratch::new();
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>9} {:>10} {:>10}",
        "scene",
        "occupied",
        "faces",
        "quads",
        "geometry",
        "+ palette",
        "or + RGB",
        "by octant",
        "+ palette",
        "or + RGB"
    );
    for name in scenes::NAMES {
        let region = scenes::scene(name);
        let mut quads = Vec::new();
        let geometry = repeated(n_runs, || {
            quads.clear();
            mesh_occupancy(black_box(&region.occupancy), BorderPolicy::Closed, &mut scratch, &mut quads);
        });
        let [palette, rgb] = [&region, &scenes::in_full_colour(&region)].map(|region| {
            repeated(n_runs, || {
                black_box(mesh_region(black_box(region), BorderPolicy::Closed, &mut scratch));
            })
        });
        let [octants_palette, octants_rgb] = [&region, &scenes::in_full_colour(&region)].map(|region| {
            repeated(n_runs, || {
                black_box(mesh_octants(black_box(region), BorderPolicy::Closed, &mut scratch));
            })
        });
        let n_octant_quads = mesh_octants(&region, BorderPolicy::Closed, &mut scratch).quads.len();
        let n_faces: u64 = quads.iter().map(|&quad| u64::from(quad.width() * quad.height())).sum();
        let [quads_ms, palette_ms, rgb_ms, octants_palette_ms, octants_rgb_ms] =
            [geometry, palette, rgb, octants_palette, octants_rgb].map(|time| time.as_secs_f64() * 1e3);
        println!(
            "{name:<12} {:>7.1} % {n_faces:>9} {:>9} {quads_ms:>7.2} ms {palette_ms:>7.2} ms {rgb_ms:>7.2} ms \
             {n_octant_quads:>9} {octants_palette_ms:>7.2} ms {octants_rgb_ms:>7.2} ms",
            region.occupancy.count() as f64 / 16_777_216.0 * 100.0,
            quads.len(),
        );
    }
}

/// The median time of several runs.
fn repeated(n_runs: usize, mut run: impl FnMut()) -> Duration {
    median((0..n_runs).map(|_| timed(&mut run).1).collect())
}
