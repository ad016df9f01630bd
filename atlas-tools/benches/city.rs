//! Whole cities from their data to a tileset: time, and the most memory that is held.
//!
//! `cargo bench -p atlas-tools --bench city` prints a line a data set. Wanted on two cores: the Tokyo strip, 880 tiles with
//! its pyramid into a PMTiles archive, in 6 minutes; 1 GB of CityGML and 50 million points, both made here, in 1 GiB of
//! memory. Each runs in a process of its own (peak memory is known on Linux only). Tokyo needs `VOXATLAS_DATA`; names of
//! data sets as arguments choose among them.
//!
//! Under `cargo test --benches` the two that are made here run once, small.

#[path = "../../benches/memory/mod.rs"]
mod memory;

#[path = "../tests/city/generator.rs"]
mod generator;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use atlas_tools::encode::{self, EncodeArgs};
use atlas_tools::outcome::Outcome;
use clap::Parser;
use memory::resident_kib;

/// Set in a process that encodes.
const CHILD: &str = "VOXATLAS_BENCH_CHILD";

/// The strip of Tokyo that all figures are given for.
const TOKYO: &str = "139.5868,35.6507,139.8889,35.6684";

const GIB: f64 = (1 << 30) as f64;

/// `atlas-tools encode` by itself.
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: EncodeArgs,
}

fn main() {
    if std::env::var_os(CHILD).is_some() {
        let outcome = encode::run(&Cli::parse().args).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(matches!(outcome, Outcome::Done), "every tile is made");
        return println!("{}", resident_kib("VmHWM:").map_or_else(|| "-".to_owned(), |kib| kib.to_string()));
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let is_measured = args.iter().any(|arg| arg == "--bench");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| *asked == name);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    println!("{:<10} {:>12} {:>10} {:>8} {:>12}", "", "input", "", "wall", "peak memory");

    if is_measured && is_asked("tokyo") {
        match std::env::var_os("VOXATLAS_DATA") {
            Some(data) => {
                let input = Path::new(&data).join("tokyo_plateau_mvt");
                encoded("tokyo", "880 tiles", &input, &path("tokyo.pmtiles"), &["--bbox", TOKYO, "--pyramid"]);
            }
            None => println!("tokyo: SKIPPED (needs VOXATLAS_DATA)"),
        }
    }
    if is_asked("citygml") {
        let file = path("city.gml");
        let mut out = BufWriter::new(File::create(&file).expect("a file"));
        let n_bytes = if is_measured { 1 << 30 } else { 1 << 18 };
        let written = generator::write_city(&mut out, n_bytes).and_then(|written| out.flush().map(|()| written));
        let what = format!("{} buildings", written.expect("room for the city").n_buildings);
        encoded("citygml", &what, &file, &path("citygml"), &[]);
        std::fs::remove_file(&file).expect("the file is ours");
    }
    if is_asked("points") {
        let file = path("walk.las");
        let n_points = if is_measured { 50_000_000 } else { 20_000 };
        write_points(&file, n_points);
        encoded("points", &format!("{n_points} points"), &file, &path("points"), &["--crs", "EPSG:6676"]);
    }
}

/// Encodes an input in a process of its own, and prints a line.
fn encoded(name: &str, what: &str, input: &Path, out: &Path, flags: &[&str]) {
    let start = Instant::now();
    let exe = std::env::current_exe().expect("this program");
    let mut command = Command::new(exe);
    command.env(CHILD, "1").arg(input).arg("--out").arg(out).args(["--quiet"]).args(flags);
    let output = command.output().expect("a child process");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let wall_s = start.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    let peak = text.trim().parse::<f64>().map_or_else(|_| "-".to_owned(), |kib| format!("{:.0} MiB", kib / 1024.0));
    println!("{name:<10} {what:>20} {:>6.2} GiB {wall_s:>6.0} s {peak:>10}", size_bytes(input) as f64 / GIB);
}

fn size_bytes(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).expect("an input");
    if metadata.is_file() {
        return metadata.len();
    }
    let entries = std::fs::read_dir(path).expect("a folder");
    entries.map(|entry| size_bytes(&entry.expect("an entry").path())).sum()
}

/// Lines of a scanner over a hillside, LAS 1.2 with colours: ten points a metre, a line every half metre, 400 m long.
fn write_points(path: &Path, n_points: u64) {
    const RECORD_BYTES: u16 = 26;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).expect("a file"));
    let [x0, y0] = [42_000.0, -106_500.0];
    let mut header = vec![0u8; 227];
    header[..4].copy_from_slice(b"LASF");
    header[24..26].copy_from_slice(&[1, 2]);
    header[94..96].copy_from_slice(&227u16.to_le_bytes());
    header[96..100].copy_from_slice(&227u32.to_le_bytes());
    header[104] = 2;
    header[105..107].copy_from_slice(&RECORD_BYTES.to_le_bytes());
    for at in [107, 111] {
        header[at..at + 4].copy_from_slice(&(n_points as u32).to_le_bytes());
    }
    let n_lines = n_points.div_ceil(4000);
    let bounds = [x0 + 400.0, x0, y0 + n_lines as f64 * 0.5, y0, 3000.0, 0.0];
    let numbers = [0.01, 0.01, 0.01, x0, y0, 0.0].into_iter().chain(bounds);
    for (nth, number) in numbers.enumerate() {
        header[131 + 8 * nth..][..8].copy_from_slice(&f64::to_le_bytes(number));
    }
    out.write_all(&header).expect("room");
    let mut state = 0x2545_F491u32;
    for nth in 0..n_points {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let noise = |shift: u32| (state >> shift & 15) as i32;
        let [along, line] = [(nth % 4000) as i32 * 10, (nth / 4000) as i32 * 50];
        let place = [along + noise(0), line + noise(4), 2500 + (along + line) / 40 + noise(8) * 8];
        let mut record = [0; RECORD_BYTES as usize];
        for (axis, place) in place.into_iter().enumerate() {
            record[4 * axis..][..4].copy_from_slice(&place.to_le_bytes());
        }
        for (channel, value) in [0x60, 0x58, 0x4C].into_iter().enumerate() {
            record[21 + 2 * channel] = value + noise(12 + 4 * channel as u32) as u8;
        }
        out.write_all(&record).expect("room");
    }
    out.flush().expect("room");
}
