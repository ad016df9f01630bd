//! From file bytes to a region, and back, and from regions to the one of the coarser zoom, on one core.
//!
//! The scene is a ground slab with 250 hollow buildings, 2 % occupied. `cargo bench --bench decode`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use voxatlas::atlas::{AtlasMetadata, Decoder, EncodedAtlas, Scratch, decode, encode};
use voxatlas::geo::RegionKey;
use voxatlas::limits::REGION_VOLUME;
use voxatlas::voxel::{ColourDepth, Occupancy, Region, down_sample};

/// A pseudo-random sequence that is the same everywhere.
fn random(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

/// A ground slab and hollow buildings; every building in the shades of one colour.
fn city(n_tones: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    let mut tone = vec![0u32; 256 * 256];
    for z in 0..256 {
        *occupancy.row_mut(0, z) = [u64::MAX; 4];
        *occupancy.row_mut(1, z) = [u64::MAX; 4];
    }
    let mut state = 0x2545_F491;
    for building in 0..250u32 {
        let [w, d, h] = [6, 6, 8].map(|least| least + random(&mut state) % (least * 3));
        let [x0, z0] = [w, d].map(|size| random(&mut state) % (256 - size));
        for (z, x) in (z0..z0 + d).flat_map(|z| (x0..x0 + w).map(move |x| (z, x))) {
            let is_wall = x == x0 || x == x0 + w - 1 || z == z0 || z == z0 + d - 1;
            tone[(z * 256 + x) as usize] = building;
            for y in if is_wall { 2 } else { h }..=h {
                occupancy.set(x, y, z, true);
            }
        }
    }
    Region::paint(occupancy, ColourDepth::Direct, |x, y, z| {
        let base = tone[(z * 256 + x) as usize] * 7 + u32::from(y % 3 == 0) * 3 + (x / 9 + z / 9) % 3;
        base % n_tones * 0x01_04_0B
    })
}

fn decoding(criterion: &mut Criterion) {
    let key = RegionKey::new("17/116415/51623".parse().expect("a tile"), 0);
    let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
    let mut group = criterion.benchmark_group("city_shell");
    group.throughput(Throughput::Elements(REGION_VOLUME as u64)).sample_size(20);
    for (kind, n_tones) in [("indexed", 250), ("rgba", 20_000)] {
        let region = city(n_tones);
        let file = encode(&region, &metadata);
        eprintln!("{kind}: {} voxels, {} bytes", region.occupancy.count(), file.len());
        let mut scratch = Scratch::new();
        group.bench_function(format!("{kind}/strips"), |bencher| {
            bencher.iter(|| {
                let decoder = Decoder::new(&file).expect("a file of ours");
                let strips: Vec<_> =
                    (0..decoder.n_steps()).map(|i| decoder.decode_strip(i, &mut scratch).expect("sound")).collect();
                decoder.assemble(strips).expect("sound")
            });
        });
        let atlas = EncodedAtlas::new(file.clone());
        group.bench_function(format!("{kind}/decode"), |bencher| bencher.iter(|| decode(&atlas).expect("sound")));
        let foreign = {
            let image = image::load_from_memory(&file).expect("sound");
            let mut file = std::io::Cursor::new(Vec::new());
            image.write_to(&mut file, image::ImageFormat::Png).expect("written to memory");
            EncodedAtlas::new(file.into_inner())
        };
        group.bench_function(format!("{kind}/plain"), |bencher| bencher.iter(|| decode(&foreign).expect("sound")));
        let sound = decode(&atlas).expect("sound");
        let mut children = [None; 8];
        for octant in [0, 1, 4, 5] {
            children[octant] = Some(&sound);
        }
        group.bench_function(format!("{kind}/down_sample"), |bencher| bencher.iter(|| down_sample(children)));
        group.bench_function(format!("{kind}/encode"), |bencher| bencher.iter(|| encode(&region, &metadata)));
    }
    group.finish();
}

criterion_group!(benches, decoding);
criterion_main!(benches);
