//! What a person waits for, beside the reference system's figures under the same latencies.
//!
//! Everything runs in virtual time, so that the figures are exact and the same everywhere: `cargo bench --bench
//! scenarios` prints them, and `cargo test --benches` holds us to them. The reference's were measured with a worker that
//! decodes at once and the latencies named here.

#[path = "../tests/common/screen.rs"]
mod screen;
#[expect(dead_code, reason = "the harness of the stream's tests, of which this uses a part")]
#[path = "../tests/streaming/simulation.rs"]
mod simulation;

use std::collections::BTreeSet;
use std::time::Duration;

use simulation::{FRAME, Reply, Simulation, key, millis, row};
use voxatlas::geo::RegionKey;
use voxatlas::stream::{Command, SceneConfig};
use voxatlas::view::Interest;

fn main() {
    println!("{:<52} {:>22} {:>16}", "scenario", "reference", "ours");
    first_region();
    hanging_tile();
    teleport();
    back_and_forth();
    turn();
}

fn print(scenario: &str, reference: &str, ours: &str) {
    println!("{scenario:<52} {reference:>22} {ours:>16}");
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// A scene whose files take so long, and whose builds take no time, as the reference's worker in its measurements.
fn simulation(latency_millis: u64) -> Simulation {
    let mut sim = Simulation::new(SceneConfig::default());
    sim.latency = millis(latency_millis);
    sim.build_time = Duration::ZERO;
    sim
}

/// Runs until so many regions are drawn, and says how long that took.
fn time_to_draw(sim: &mut Simulation, interest: &Interest, n_regions: usize) -> Duration {
    let start = sim.now;
    while sim.n_drawn() < n_regions {
        sim.frame(interest);
        sim.pass(FRAME);
        assert!(sim.now < start + Duration::from_mins(1), "{n_regions} regions are not drawn");
    }
    sim.now.saturating_sub(FRAME + start)
}

fn first_region() {
    // Four rounds of four, each a round trip, before the reference shows anything.
    let mut sim = simulation(200);
    let first = time_to_draw(&mut sim, &row(0, 0), 1);
    let all = first + time_to_draw(&mut sim, &row(0, 0), 16);
    assert!(first <= millis(200) + 3 * FRAME);
    print("first region on screen, 200 ms a tile", "0.80 s (all 16)", &seconds(first));
    print("all 16 on screen, 200 ms a tile", "0.80 s", &seconds(all));
}

fn hanging_tile() {
    let mut sim = simulation(200);
    sim.script(key(0, 0), [Reply::Hang, Reply::Hang, Reply::Hang]);
    let first = time_to_draw(&mut sim, &row(0, 0), 1);
    let others = first + time_to_draw(&mut sim, &row(0, 0), 15);
    assert!(first <= millis(200) + 3 * FRAME, "one round trip");
    print("first picture, the nearest of 16 tiles hangs", "24.0 s", &seconds(first));
    print("the other 15 on screen", "24.0 s", &seconds(others));
}

fn teleport() {
    let mut sim = simulation(400);
    sim.run(&row(0, 0), millis(200));
    let asked_at = sim.now;
    let frame = sim.frame(&row(0, 500));
    let n_requests = frame.commands.iter().filter(|command| matches!(command, Command::Fetch { .. })).count();
    assert_eq!((n_requests, sim.now.saturating_sub(asked_at)), (4, Duration::ZERO));
    print("teleport while loading, first request, 400 ms a tile", "1.6 s", "the next frame");
}

fn back_and_forth() {
    let mut sim = simulation(100);
    for turn in 0..12 {
        // The reference's tiles: 24 active regions, two columns on, two columns back.
        sim.run(&row(turn % 2 * 2, 0), millis(3_000));
    }
    let distinct: BTreeSet<RegionKey> = sim.fetches.iter().map(|&(_, key)| key).collect();
    assert_eq!(sim.fetches.len(), distinct.len());
    let ours = format!("{} for {}", sim.fetches.len(), distinct.len());
    print("requests, two tiles there and back six times", "78 for 38 distinct", &ours);
}

fn turn() {
    let mut sim = simulation(200);
    sim.run_until_complete(&row(0, 0));
    // Turned about: 12 of the 16 regions are others.
    let there = row(0, 0).visible[..4].iter().copied().chain((0..12).map(|x| key(x, 1))).collect();
    let interest = Interest { visible: there, ..Interest::default() };
    let mut n_wrong_frames = 0;
    for _ in 0..60 {
        // The harness fails where a slot shows another's geometry, colours or place; what is left is to see that none of
        // the old regions stays on screen under a new one's name.
        sim.frame(&interest);
        n_wrong_frames += usize::from((4..16).any(|x| sim.is_drawn(key(x, 0))));
        sim.pass(FRAME);
    }
    assert_eq!(n_wrong_frames, 0);
    assert_eq!(sim.n_drawn(), 16);
    print("180 degree turn, regions drawn wrong", "12 of 16 for 570 ms", "0");
}
