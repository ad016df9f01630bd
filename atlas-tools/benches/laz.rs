//! A LAZ file as a stream of points, beside the bare reading of the `las` crate.
//!
//! `cargo bench -p atlas-tools --bench laz` prints points a second of both, and the ratio: at least 0.6 is wanted, since
//! everything beyond the unpacking (places in the world, colours, batches) is ours. Times are the best of interleaved
//! runs, on one core. The file is made anew, a walk of four million points over a hillside with colours.
//!
//! Under `cargo test --benches` it runs once, on few points.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use atlas_tools::crs::CrsOptions;
use atlas_tools::input::points::Las;
use atlas_tools::input::{InputError, Item, Problem, Sink, Stream as _, Texture, Wanted};
use las::point::Format;
use las::{Builder, Color, Point, PointDataBuilder, Reader, Transform, Vector, Writer};

/// Interleaved runs of each.
const N_RUNS: usize = 5;

fn main() {
    let is_measured = std::env::args().any(|arg| arg == "--bench");
    let (n_points, n_runs) = if is_measured { (4_000_000, N_RUNS) } else { (20_000, 1) };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("walk.laz");
    write(&path, n_points);
    let crs = CrsOptions { crs: Some("EPSG:6676".to_owned()), ..CrsOptions::default() };
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..n_runs {
        bare = bare.min(timed(|| read_bare(&path), n_points));
        ours = ours.min(timed(|| read_ours(&path, &crs), n_points));
    }
    let rate = |time: Duration| n_points as f64 / time.as_secs_f64() / 1e6;
    println!("{n_points} points of LAZ: bare {:.2} M/s, ours {:.2} M/s", rate(bare), rate(ours));
    println!("ratio {:.2} (wanted: 0.60 or more)", bare.as_secs_f64() / ours.as_secs_f64());
}

fn timed(read: impl FnOnce() -> u64, n_points: u64) -> Duration {
    let start = Instant::now();
    assert_eq!(read(), n_points, "points that were read");
    start.elapsed()
}

fn write(path: &Path, n_points: u64) {
    let mut builder = Builder::from((1, 2));
    builder.point_format = Format::new(3).expect("a format");
    builder.point_format.is_compressed = true;
    let centimetres = Transform { scale: 0.01, offset: 0.0 };
    builder.transforms = Vector { x: centimetres, y: centimetres, z: centimetres };
    let mut writer = Writer::from_path(path, builder.into_header().expect("a header")).expect("a file");
    let mut state = 0x2545_F491u32;
    for nth in 0..n_points {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let step = |shift: u32| f64::from(state >> shift & 255) / 256.0;
        // Lines of a scanner: to and fro, ten points a metre, a line every half metre.
        let (along, line) = ((nth % 4000) as f64 * 0.1, (nth / 4000) as f64 * 0.5);
        let point = Point {
            x: 42_000.0 + along + step(0) * 0.1,
            y: -106_500.0 + line + step(8) * 0.1,
            z: 25.0 + (along + line) * 0.05 + step(16),
            intensity: (state & 0x3FF) as u16,
            color: Some(Color::new(0x6000 + (state & 0xFFF) as u16, 0x5800, 0x4C00 + (state >> 20) as u16)),
            gps_time: Some(nth as f64 * 1e-5),
            ..Point::default()
        };
        writer.write_point(point).expect("room");
    }
    writer.close().expect("room");
}

fn read_bare(path: &Path) -> u64 {
    let mut reader = Reader::from_path(path).expect("a file of ours");
    let mut points = PointDataBuilder::new().for_header(reader.header()).build();
    let mut n_points = 0;
    loop {
        let n = reader.fill_points(16_384, &mut points).expect("sound");
        if n == 0 {
            return n_points;
        }
        n_points += n;
        black_box(points.raw_bytes());
    }
}

fn read_ours(path: &Path, crs: &CrsOptions) -> u64 {
    let mut count = Count(0);
    Las::open(path, crs).and_then(|las| las.read(&Wanted::all(), &mut count)).expect("sound");
    count.0
}

/// Counts points and forgets them.
struct Count(u64);

impl Sink for Count {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        if let Item::Points(points) = black_box(item) {
            self.0 += points.len() as u64;
        }
        Ok(())
    }

    fn texture(&mut self, _: Texture) -> u32 {
        0
    }

    fn problem(&mut self, _: &str, _: Problem) {}

    fn progress(&mut self, _: u64) {}
}
