//! From a file's bytes to occupancy and mesh, on one core, beside what one would build from ready-made crates.
//!
//! `cargo bench --bench pipeline` prints one line a data set and peer, which ends in the ratio of the peer's time to
//! ours. All read the same file. Times are medians of interleaved runs; peak memory is that of a child process which
//! runs one pipeline once, above what it held with the file in memory (Linux only).
//!
//! Data sets: the four synthetic regions of `scenes`, in palette colours and in full colour, and real regions of Tokyo,
//! from the tileset that `VOXATLAS_TILESET` names, or encoded from `VOXATLAS_DATA` where that is set.
//!
//! Under `cargo test --benches` every pipeline runs once on one region. In either case all must find the same voxels
//! and cover as many faces.

mod clock;
mod memory;
mod peers;
mod scenes;
mod tokyo;

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use clock::{median, timed};
use memory::resident_kib;
use peers::{BinaryGreedy, BlockMesh, Ours, Pipeline};
use voxatlas::atlas::{self, AtlasMetadata};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::mesh::{self, BorderPolicy, mesh_occupancy, mesh_region};
use voxatlas::voxel::Region;

/// Interleaved runs of each pipeline on a data set.
const N_RUNS: usize = 9;

/// Regions of a tileset that are measured, from its smallest file to its largest.
const TILES_MAX: usize = 9;

/// Names the pipeline that a child process is to run.
const CHILD: &str = "VOXATLAS_BENCH_CHILD";

/// Ours first, then the peers.
const NAMES: [&str; 3] = ["voxatlas", "png + table + binary-greedy-meshing", "png + table + block-mesh"];

fn main() {
    if let Some(name) = std::env::var_os(CHILD) {
        return print_peak(&name.to_string_lossy());
    }
    if !std::env::args().any(|arg| arg == "--bench") {
        let set = DataSet::of_region("city_shell", "palette", &scenes::scene("city_shell"));
        return set.check_that_all_agree();
    }

    let mut sets = Vec::new();
    for name in scenes::NAMES {
        let region = scenes::scene(name);
        sets.push(DataSet::of_region(name, "rgba", &scenes::in_full_colour(&region)));
        sets.push(DataSet::of_region(name, "palette", &region));
    }
    match tokyo::files(TILES_MAX) {
        Ok(files) => {
            let name = format!("tokyo, {} regions", files.len());
            sets.push(DataSet { name, colours: "as encoded", files });
        }
        Err(reason) => println!("tokyo: SKIPPED ({reason})\n"),
    }

    println!("Our stages, in ms a region:");
    println!("{:<18} {:<10} {:>7} {:>8} {:>8} {:>14}", "", "", "MiB", "decode", "quads", "face colours");
    for set in &sets {
        set.print_stages();
    }
    println!("\nBytes to occupancy and mesh, a region; peak memory above the file:");
    println!("{:<18} {:<10} {:<36} {:>9} {:>9} {:>9} {:>9}", "", "", "", "ours", "", "peer", "");
    for set in &sets {
        set.check_that_all_agree();
        set.print_ratios();
    }
}

/// Files that are measured together.
struct DataSet {
    name: String,
    colours: &'static str,
    files: Vec<Vec<u8>>,
}

impl DataSet {
    fn of_region(name: &str, colours: &'static str, region: &Region) -> Self {
        let tile = TileCoord::new(17, 116_415, 51_623).expect("a tile");
        let metadata = AtlasMetadata {
            key: RegionKey::new(tile, 0),
            base: -32,
            voxel_size_m: 0.97,
            clipped: 0,
            credit: String::new(),
        };
        Self { name: name.to_owned(), colours, files: vec![atlas::encode(region, &metadata)] }
    }

    /// Runs every pipeline once on each file.
    fn check_that_all_agree(&self) {
        for file in &self.files {
            let counts = NAMES.map(|name| {
                let mut pipeline = pipeline(name);
                pipeline.run(file);
                pipeline.count()
            });
            assert!(counts[0].0 > 0, "{} is not empty", self.name);
            for (name, count) in NAMES.iter().zip(counts) {
                assert_eq!(count, counts[0], "{}: voxels and faces that {name} finds, against ours", self.name);
            }
        }
    }

    fn print_stages(&self) {
        let is_plain = |file: &&Vec<u8>| atlas::Decoder::new(file).is_ok_and(|decoder| decoder.n_steps() == 1);
        let n_plain = self.files.iter().filter(is_plain).count();
        if n_plain > 0 {
            println!(
                "{n_plain} of the next {} files are not in strips: another program or version wrote them",
                self.files.len()
            );
        }
        let mut ours = Ours::new();
        let mut scratch = mesh::Scratch::new();
        let mut times: [Vec<Duration>; 3] = Default::default();
        for _ in 0..N_RUNS {
            let mut sums = [Duration::ZERO; 3];
            for file in &self.files {
                let (region, decode) = timed(|| ours.decode(file));
                let mut quads = Vec::new();
                let ((), geometry) =
                    timed(|| mesh_occupancy(&region.occupancy, BorderPolicy::Closed, &mut scratch, &mut quads));
                drop(quads);
                let (mesh, whole) = timed(|| mesh_region(&region, BorderPolicy::Closed, &mut scratch));
                black_box(mesh);
                for (sum, time) in sums.iter_mut().zip([decode, geometry, whole.saturating_sub(geometry)]) {
                    *sum += time;
                }
            }
            for (times, sum) in times.iter_mut().zip(sums) {
                times.push(sum);
            }
        }
        let [decode, geometry, colours] = times.map(|times| self.millis(median(times)));
        let mib = self.files.iter().map(Vec::len).sum::<usize>() as f64 / self.files.len() as f64 / f64::from(1 << 20);
        println!("{:<18} {:<10} {mib:>7.2} {decode:>8.2} {geometry:>8.2} {colours:>14.2}", self.name, self.colours);
    }

    fn print_ratios(&self) {
        let mut pipelines = NAMES.map(pipeline);
        let mut times: [Vec<Duration>; NAMES.len()] = Default::default();
        for _ in 0..N_RUNS {
            for (pipeline, times) in pipelines.iter_mut().zip(&mut times) {
                let runs = self.files.iter().map(|file| timed(|| pipeline.run(black_box(file))).1);
                times.push(runs.sum());
            }
        }
        let times = times.map(|times| self.millis(median(times)));
        let peaks = NAMES.map(|name| self.peak(name));
        for peer in 1..NAMES.len() {
            println!(
                "{:<18} {:<10} {:<36} {:>6.1} ms {:>9} {:>6.1} ms {:>9} {:>6.1} x",
                self.name,
                self.colours,
                NAMES[peer],
                times[0],
                peaks[0],
                times[peer],
                peaks[peer],
                times[peer] / times[0]
            );
        }
    }

    fn millis(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.files.len() as f64
    }

    /// The peak memory of a pipeline on the set's largest file.
    fn peak(&self, name: &str) -> String {
        let largest = self.files.iter().max_by_key(|file| file.len()).expect("a data set has a file");
        let path = std::env::temp_dir().join(format!("voxatlas-bench-{}.png", std::process::id()));
        std::fs::write(&path, largest).expect("room for a temporary file");
        let exe = std::env::current_exe().expect("this program");
        let output = Command::new(exe).arg(&path).env(CHILD, name).output().expect("a child process");
        std::fs::remove_file(&path).expect("the temporary file is ours");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// The pipeline of that name, with fresh buffers.
fn pipeline(name: &str) -> Box<dyn Pipeline> {
    match name {
        "voxatlas" => Box::new(Ours::new()),
        "png + table + binary-greedy-meshing" => Box::new(BinaryGreedy::new()),
        "png + table + block-mesh" => Box::new(BlockMesh::new()),
        _ => panic!("no pipeline is called {name}"),
    }
}

/// In a child process: runs the pipeline on the file that the first argument names, and prints its peak memory.
fn print_peak(name: &str) {
    let path = std::env::args_os().nth(1).expect("the file's path");
    let file = std::fs::read(path).expect("the file");
    let before = resident_kib("VmRSS:");
    pipeline(name).run(&file);
    match (before, resident_kib("VmHWM:")) {
        (Some(before), Some(peak)) => println!("{} MiB", peak.saturating_sub(before) / 1024),
        _ => println!("-"),
    }
}
