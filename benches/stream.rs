//! The frame side of the stream: what the interest, the scene and the handling of results cost in one frame, uploads
//! excluded, with every slot that a view over a country wants.
//!
//! `cargo bench --bench stream` prints medians and worst frames; under `cargo test --benches` each flight is short.

mod clock;
#[path = "../tests/common/loaded.rs"]
mod loaded;

use std::time::Duration;

use clock::{median, timed};
use glam::DVec3;
use loaded::{Loaded, answer};
use voxatlas::view::Pose;

fn main() {
    let n_frames = if std::env::args().any(|arg| arg == "--bench") { 4_000 } else { 200 };
    println!("{:<34} {:>6} {:>10} {:>10} {:>12}", "camera", "slots", "median", "worst", "of it scene");
    let still = |_, pose: Pose| pose;
    let trembling = |n: usize, pose: Pose| Pose { yaw_rad: pose.yaw_rad + 0.002 * (n % 3) as f64 - 0.002, ..pose };
    let flying = |_, pose: Pose| Pose { eye_in_world: pose.eye_in_world + DVec3::new(4.0, 0.0, 0.5), ..pose };
    let turning = |_, pose: Pose| Pose { yaw_rad: pose.yaw_rad + 0.03, ..pose };
    let leaping = |n: usize, pose: Pose| match n % 60 {
        59 => Pose { eye_in_world: pose.eye_in_world + DVec3::new(30_000.0, 0.0, 9_000.0), ..pose },
        _ => pose,
    };
    bench("still", n_frames, still);
    bench("trembling", n_frames, trembling);
    bench("240 m/s, everything answered", n_frames, flying);
    bench("turning, everything answered", n_frames, turning);
    bench("a leap a second", n_frames, leaping);
}

fn bench(name: &str, n_frames: usize, act: impl Fn(usize, Pose) -> Pose) {
    let mut stream = Loaded::new("139.7454,35.6585,800,20,-20");
    let mut times: Vec<Duration> = Vec::with_capacity(n_frames);
    let mut scene_times = times.clone();
    let mut events = Vec::new();
    for n in 0..n_frames {
        let pose = act(n, stream.view.pose);
        let now = stream.now;
        let ((), handling) = timed(|| {
            for event in events.drain(..) {
                stream.scene.handle(event, now);
            }
        });
        let ((), looking) = timed(|| stream.look(pose));
        let (frame, framing) = timed(|| stream.scene.frame(stream.finder.interest(), stream.now));
        times.push(handling + looking + framing);
        scene_times.push(handling + framing);
        events.extend(frame.commands.iter().filter_map(answer));
    }
    let worst = times.iter().max().copied().unwrap_or_default();
    let n_slots = stream.scene.slots().flatten().count();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let [whole, scene] = [times, scene_times].map(|times| millis(median(times)));
    println!("{name:<34} {n_slots:>6} {whole:>7.3} ms {:>7.3} ms {scene:>9.3} ms", millis(worst));
}
