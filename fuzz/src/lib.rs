//! What the fuzz targets and their seeds share: the scenes, and the repair of checksums.
//!
//! Run a target with `cargo +nightly fuzz run decode_atlas`, after `cargo run --bin seeds` in this folder has written
//! the files to begin with.

use voxatlas::atlas::AtlasMetadata;
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// The metadata of every file made here.
pub fn metadata() -> AtlasMetadata {
    let key = RegionKey::new("17/116415/51623".parse().expect("a tile"), 0);
    AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: "credit".to_owned() }
}

/// A post in so many colours: a small file of every kind of brick.
pub fn post(n_colours: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    for (y, z) in (0..64).flat_map(|y| (0..64).map(move |z| (y, z))) {
        occupancy.row_mut(y, z)[0] = u64::MAX >> (y % 32);
    }
    Region::paint(occupancy, ColourDepth::Direct, |x, y, z| if y < 16 { 5 } else { (x + y * 7 + z * 3) % n_colours })
}

/// Where a PNG's chunks lie, as far as they are whole.
fn chunks(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 8;
    while let Some(&length) = file.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let end = at + 12 + u32::from_be_bytes(length) as usize;
        if end > file.len() {
            break;
        }
        ranges.push(at..end);
        at = end;
    }
    ranges
}

/// Gives every chunk of a PNG the CRC of its bytes, and vxMD and vxID that of the IDATs' CRCs, so that mutations get past both.
pub fn repair_crcs(file: &mut [u8]) {
    let mut pixel_crc = crc32fast::Hasher::new();
    // They stand before the IDATs that they are bound to, so they come first.
    let (idats, others): (Vec<_>, Vec<_>) = chunks(file).into_iter().partition(|chunk| name(file, chunk) == b"IDAT");
    for chunk in idats {
        pixel_crc.update(&repair_crc(file, &chunk));
    }
    let pixel_crc = pixel_crc.finalize().to_be_bytes();
    for chunk in others {
        if matches!(name(file, &chunk), b"vxMD" | b"vxID") && chunk.len() > 17 {
            file[chunk.start + 9..chunk.start + 13].copy_from_slice(&pixel_crc);
        }
        repair_crc(file, &chunk);
    }
}

fn repair_crc(file: &mut [u8], chunk: &std::ops::Range<usize>) -> [u8; 4] {
    let (body, crc) = file[chunk.start + 4..chunk.end].split_at_mut(chunk.len() - 8);
    let sound = crc32fast::hash(body).to_be_bytes();
    crc.copy_from_slice(&sound);
    sound
}

fn name<'f>(file: &'f [u8], chunk: &std::ops::Range<usize>) -> &'f [u8] {
    &file[chunk.start + 4..chunk.start + 8]
}

/// The same file without the chunk that tells of strips: it is decoded the plain way.
pub fn without_metadata(file: &[u8]) -> Vec<u8> {
    let kept = chunks(file).into_iter().filter(|chunk| name(file, chunk) != b"vxMD");
    kept.fold(file[..8.min(file.len())].to_vec(), |mut kept, chunk| {
        kept.extend_from_slice(&file[chunk]);
        kept
    })
}
