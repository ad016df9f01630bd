//! What decoding takes in memory, counted by the allocator itself: one test a file of this kind, since the count is the
//! process's.

#[path = "common/counting.rs"]
mod counting;

use counting::peak_of;
use voxatlas::atlas::{AtlasError, AtlasMetadata, EncodedAtlas, decode, encode, inspect};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

const MIB: usize = 1 << 20;

/// A ground slab and towers on a grid, in so many colours.
fn city(n_colours: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    for z in 0..256u32 {
        for x in 0..256u32 {
            let (i, j) = (x / 20, z / 20);
            let is_street = x % 20 < 4 || z % 20 < 4;
            let height = if is_street { 32 } else { 36 + (i * 37 + j * 101) % 90 };
            for y in 0..height {
                occupancy.set(x, y, z, true);
            }
        }
    }
    Region::paint(
        occupancy,
        ColourDepth::Direct,
        |x, y, z| {
            if y < 24 { 0 } else { (x * 7 + y * 131 + z * 17) % n_colours * 251 }
        },
    )
}

fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&name[..], data].concat();
    [&(data.len() as u32).to_be_bytes()[..], &body, &crc32fast::hash(&body).to_be_bytes()].concat()
}

fn png_of(colour_type: u8, interlace: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
    let n = 4096u32.to_be_bytes();
    let header = chunk(*b"IHDR", &[&n[..], &n, &[8, colour_type, 0, 0, interlace]].concat());
    [&b"\x89PNG\r\n\x1a\n"[..], &header, &chunks.concat(), &chunk(*b"IEND", &[])].concat()
}

/// A zlib stream of so many zeros.
fn zeros(n_bytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(1));
    let piece = vec![0; MIB];
    for _ in 0..n_bytes / MIB {
        std::io::Write::write_all(&mut encoder, &piece).expect("written to memory");
    }
    encoder.finish().expect("written to memory")
}

/// Checks that a bad file fails and takes no more than so much.
fn check_hostile(name: &str, file: Vec<u8>, limit_bytes: usize) {
    let atlas = EncodedAtlas::new(file);
    let (peak_bytes, result) = peak_of(|| decode(&atlas));
    assert!(result.is_err(), "{name} was decoded");
    assert!(peak_bytes <= limit_bytes, "{name}: {peak_bytes} bytes");
    let (peak_bytes, report) = peak_of(|| inspect(atlas.bytes()));
    assert!(!report.is_sound(), "{name}");
    assert!(peak_bytes <= limit_bytes + 8 * MIB, "{name}, inspected: {peak_bytes} bytes");
}

#[test]
fn decoding_stays_within_its_memory() {
    let key = RegionKey::new("17/116415/51623".parse().unwrap(), 0);
    let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
    for (n_colours, name) in [(200, "indexed"), (5000, "RGBA")] {
        let atlas = EncodedAtlas::new(encode(&city(n_colours), &metadata));
        let (peak_bytes, region) = peak_of(|| decode(&atlas));
        let above_result = peak_bytes - region.unwrap().size_bytes();
        println!("{name} strips: {:.1} MiB above file and result", above_result as f64 / MIB as f64);
        assert!(above_result <= 4 * MIB, "{name}: {above_result} bytes above the result");
    }

    // The plain way of a PNG holds 64 rows as well.
    let foreign = {
        let image = image::load_from_memory(&encode(&city(5000), &metadata)).unwrap();
        let mut file = std::io::Cursor::new(Vec::new());
        image.write_to(&mut file, image::ImageFormat::Png).unwrap();
        EncodedAtlas::new(file.into_inner())
    };
    let (peak_bytes, region) = peak_of(|| decode(&foreign));
    assert!(peak_bytes - region.unwrap().size_bytes() <= 6 * MIB, "plain way: {peak_bytes} bytes");

    // Files that ask for much.
    let air = Region::empty().size_bytes();
    check_hostile("a bomb", png_of(6, 0, &[chunk(*b"IDAT", &zeros(400 * MIB))]), air + 6 * MIB);
    check_hostile("an interlaced bomb", png_of(6, 1, &[chunk(*b"IDAT", &zeros(400 * MIB))]), air + 6 * MIB);
    let bomb = [&[1, 0, 0, 0, 0][..], &zeros(400 * MIB)].concat();
    check_hostile("an occupancy bomb", png_of(6, 0, &[chunk(*b"vxOC", &bomb), chunk(*b"IDAT", b"x")]), air + 6 * MIB);
    check_hostile("a feature bomb", png_of(6, 0, &[chunk(*b"vxID", &bomb), chunk(*b"IDAT", b"x")]), air + 6 * MIB);
    check_hostile("a million chunks", png_of(6, 0, &vec![chunk(*b"teSt", &[]); 1_000_000]), air + 6 * MIB);
    check_hostile(
        "many kinds of chunk",
        png_of(6, 0, &{
            let pair = [chunk(*b"teSt", &[]), chunk(*b"tfSt", &[])].concat();
            vec![pair; 500_000]
        }),
        air + 6 * MIB,
    );
    check_hostile("a million IDATs", png_of(6, 0, &vec![chunk(*b"IDAT", &[]); 1_000_000]), air + 6 * MIB);
    check_hostile("a long EXIF", png_of(6, 0, &[chunk(*b"eXIf", &vec![0; 60 * MIB]), chunk(*b"IDAT", b"x")]), 40 * MIB);
    let mut endless = png_of(6, 0, &[chunk(*b"IDAT", b"x")]);
    endless[33..37].copy_from_slice(&u32::MAX.to_be_bytes());
    check_hostile("an endless chunk", endless, MIB);
    // RIFF, VP8X with a canvas of 2^24 x 2^24.
    let canvas = [&b"RIFF\xFF\xFF\xFF\xFFWEBPVP8X\x0A\0\0\0\x10\0\0\0"[..], &[0xFF; 6]].concat();
    let atlas = EncodedAtlas::new(canvas);
    let (peak_bytes, result) = peak_of(|| decode(&atlas));
    assert!(matches!(result, Err(AtlasError::WrongSize { .. } | AtlasError::Webp { .. })), "{result:?}");
    assert!(peak_bytes <= MIB, "a vast canvas: {peak_bytes} bytes");
}
