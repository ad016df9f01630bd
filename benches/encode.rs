//! From a region to a file, on one core, beside the same picture as a plain PNG; and from a file to the feature at a voxel.
//!
//! `cargo bench --bench encode` prints a line a data set: time and size of our file, those of the `png` crate's at its
//! default ("balanced") compression, and the ratios; then what the ids of features add and how long a click takes. At
//! most 90 ms an indexed atlas, 1.02 times the plain size and 5 ms a click are wanted. Times are medians of interleaved
//! runs.
//!
//! Data sets are those of `pipeline`. Under `cargo test --benches` everything runs once, on one region.

mod clock;
mod scenes;
mod tokyo;

use std::hint::black_box;
use std::time::Duration;

use clock::{median, timed};
use voxatlas::atlas::{self, AtlasMetadata, Decoder, EncodeOptions, EncodedAtlas, FeatureIds};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::ATLAS_PIXELS;
use voxatlas::voxel::Region;

/// Interleaved runs of each on a data set.
const N_RUNS: usize = 5;

/// Regions of a tileset that are measured, from its smallest file to its largest.
const TILES_MAX: usize = 9;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        let set = DataSet::of("city_shell", scenes::scene("city_shell"));
        set.print_sizes(1);
        return set.print_ids(1);
    }
    let mut sets = Vec::new();
    for name in scenes::NAMES {
        let region = scenes::scene(name);
        sets.push(DataSet::of(&format!("{name}, rgba"), scenes::in_full_colour(&region)));
        sets.push(DataSet::of(&format!("{name}, palette"), region));
    }
    match tokyo::files(TILES_MAX) {
        Ok(files) => {
            let regions =
                files.into_iter().map(|file| atlas::decode(&EncodedAtlas::new(file)).expect("a file of ours"));
            let regions: Vec<Region> = regions.collect();
            sets.push(DataSet { name: format!("tokyo, {} regions", regions.len()), regions });
        }
        Err(reason) => println!("tokyo: SKIPPED ({reason})\n"),
    }
    println!("A region to a file, on one core:");
    println!("{:<20} {:>9} {:>9} {:>9} {:>9} {:>11} {:>11}", "", "ours", "", "plain", "", "time", "size");
    for set in &sets {
        set.print_sizes(N_RUNS);
    }
    println!("\nThe features of each voxel, blocks of 12 x 12 columns:");
    println!("{:<20} {:>9} {:>12} {:>9}", "", "added", "encoding", "a click");
    for set in &sets {
        set.print_ids(N_RUNS);
    }
}

/// Regions that are measured together.
struct DataSet {
    name: String,
    regions: Vec<Region>,
}

fn metadata() -> AtlasMetadata {
    let tile = TileCoord::new(17, 116_415, 51_623).expect("a tile");
    let key = RegionKey::new(tile, 0);
    AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() }
}

/// Which feature a voxel belongs to, as if the city were blocks of one size on a grid with streets between them.
fn feature_of(x: u32, y: u32, z: u32) -> Option<u32> {
    (y >= 32 && x % 16 < 12 && z % 16 < 12).then_some(x / 16 + z / 16 * 16)
}

impl DataSet {
    fn of(name: &str, region: Region) -> Self {
        Self { name: name.to_owned(), regions: vec![region] }
    }

    fn print_sizes(&self, n_runs: usize) {
        let plain: Vec<Plain> = self.regions.iter().map(Plain::of).collect();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut our_bytes, mut their_bytes) = (0, 0);
        for _ in 0..n_runs {
            let files = || self.regions.iter().map(|region| black_box(atlas::encode(region, &metadata())).len());
            let (bytes, time) = timed(|| files().sum::<usize>());
            our_bytes = bytes;
            ours.push(time);
            let (bytes, time) = timed(|| plain.iter().map(|plain| black_box(plain.encode()).len()).sum::<usize>());
            their_bytes = bytes;
            theirs.push(time);
        }
        let [ours, theirs] = [ours, theirs].map(|times| self.millis(median(times)));
        let kib = |bytes: usize| bytes as f64 / self.regions.len() as f64 / 1024.0;
        println!(
            "{:<20} {ours:>6.1} ms {:>5.0} KiB {theirs:>6.1} ms {:>5.0} KiB {:>9.2} x {:>9.3} x",
            self.name,
            kib(our_bytes),
            kib(their_bytes),
            ours / theirs,
            our_bytes as f64 / their_bytes as f64
        );
    }

    fn print_ids(&self, n_runs: usize) {
        let ids: Vec<_> = self.regions.iter().map(|region| FeatureIds::of(&region.occupancy, feature_of)).collect();
        let with_ids = |region: &Region, ids: &FeatureIds| {
            atlas::encode_with(region, &metadata(), EncodeOptions { ids: Some(ids), ..EncodeOptions::default() })
        };
        let files: Vec<_> = self.regions.iter().zip(&ids).map(|(region, ids)| with_ids(region, ids)).collect();
        let bare: usize = self.regions.iter().map(|region| atlas::encode(region, &metadata()).len()).sum();
        let added = files.iter().map(Vec::len).sum::<usize>() - bare;
        let (mut encoding, mut clicks) = (Vec::new(), Vec::new());
        for _ in 0..n_runs {
            let all = || {
                for region in &self.regions {
                    black_box(FeatureIds::of(&region.occupancy, feature_of));
                }
            };
            encoding.push(timed(all).1);
            let places = [[9, 33, 9], [130, 40, 70], [251, 35, 251]];
            // The file lies in memory and the region is drawn, so its occupancy is at hand: what a viewer has.
            let answer = |(file, region): (&Vec<u8>, &Region)| {
                let ids = Decoder::new(file).and_then(|decoder| decoder.feature_ids()).expect("sound").expect("ids");
                let found = places.map(|place| ids.feature_at(&region.occupancy, place));
                for (place, found) in places.iter().zip(found) {
                    let [x, y, z] = *place;
                    assert_eq!(found, feature_of(x, y, z).filter(|_| region.occupancy.get(x, y, z)), "{place:?}");
                }
            };
            clicks.push(timed(|| files.iter().zip(&self.regions).for_each(answer)).1);
        }
        println!(
            "{:<20} {:>5.1} KiB {:>9.2} ms {:>6.2} ms",
            self.name,
            added as f64 / self.regions.len() as f64 / 1024.0,
            self.millis(median(encoding)),
            self.millis(median(clicks))
        );
    }

    fn millis(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.regions.len() as f64
    }
}

/// The picture of an atlas, as any program has it that writes PNG.
struct Plain {
    colour_type: png::ColorType,
    palette: Vec<u8>,
    pixels: Vec<u8>,
}

impl Plain {
    fn of(region: &Region) -> Self {
        let file = atlas::encode(region, &metadata());
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("its size is known")];
        reader.next_frame(&mut pixels).expect("a PNG");
        let info = reader.info();
        Self { colour_type: info.color_type, palette: info.palette.as_deref().unwrap_or_default().to_vec(), pixels }
    }

    fn encode(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, ATLAS_PIXELS, ATLAS_PIXELS);
        encoder.set_color(self.colour_type);
        encoder.set_depth(png::BitDepth::Eight);
        if self.colour_type == png::ColorType::Indexed {
            encoder.set_palette(self.palette.clone());
            encoder.set_trns(vec![0]);
        }
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header().expect("memory");
        writer.write_image_data(&self.pixels).expect("memory");
        writer.finish().expect("memory");
        file
    }
}
