//! Damaged atlas files: whatever is done to the bytes, decoding neither panics nor shows another picture.
//!
//! The stable twin of the fuzz target `decode_atlas`. Checksums do the work, so the mutations include what checksums of
//! single chunks do not see: chunks that are swapped, repeated, left out, or damaged and given a new CRC.

use std::sync::LazyLock;

use proptest::prelude::*;
use voxatlas::atlas::{AtlasMetadata, EncodeOptions, EncodedAtlas, FeatureIds, decode, encode_with, inspect};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// What is done to a file. Places are fractions of what there is, in 1/65536.
#[derive(Debug, Clone)]
enum Mutation {
    /// One bit is flipped.
    Flip { at: u16, bit: u8 },
    /// Only so much is kept.
    Truncate { at: u16 },
    /// Bytes are taken out.
    Delete { at: u16, n_bytes: u16 },
    /// Bytes are put in.
    Insert { at: u16, bytes: Vec<u8> },
    /// Bytes are overwritten by others of the file.
    Copy { from: u16, to: u16, n_bytes: u16 },
    /// Two chunks change places.
    SwapChunks { first: u16, second: u16 },
    /// An IDAT is left out.
    DropIdat { at: u16 },
    /// An IDAT comes twice.
    RepeatIdat { at: u16 },
    /// An IDAT is damaged and given a sound CRC.
    ForgeIdat { at: u16, byte: u16, bit: u8 },
    /// A chunk says that it has another length.
    Length { at: u16, length: u32 },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use any as a;
    prop_oneof![
        (a::<u16>(), 0u8..8).prop_map(|(at, bit)| Mutation::Flip { at, bit }),
        a::<u16>().prop_map(|at| Mutation::Truncate { at }),
        (a::<u16>(), 1u16..300).prop_map(|(at, n_bytes)| Mutation::Delete { at, n_bytes }),
        (a::<u16>(), prop::collection::vec(a::<u8>(), 1..40)).prop_map(|(at, bytes)| Mutation::Insert { at, bytes }),
        (a::<u16>(), a::<u16>(), 1u16..300).prop_map(|(from, to, n_bytes)| Mutation::Copy { from, to, n_bytes }),
        (a::<u16>(), a::<u16>()).prop_map(|(first, second)| Mutation::SwapChunks { first, second }),
        a::<u16>().prop_map(|at| Mutation::DropIdat { at }),
        a::<u16>().prop_map(|at| Mutation::RepeatIdat { at }),
        (a::<u16>(), a::<u16>(), 0u8..8).prop_map(|(at, byte, bit)| Mutation::ForgeIdat { at, byte, bit }),
        (a::<u16>(), a::<u32>()).prop_map(|(at, length)| Mutation::Length { at, length }),
    ]
}

/// The place that a fraction names among `n`.
fn place(at: u16, n: usize) -> usize {
    usize::from(at) * n / (1 << 16)
}

/// Where the chunks of a sound PNG lie.
fn chunk_ranges(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 8;
    while let Some(&length) = file.get(at..).and_then(|rest| rest.first_chunk()) {
        let end = at + 12 + u32::from_be_bytes(length) as usize;
        ranges.push(at..end);
        at = end;
    }
    ranges
}

impl Mutation {
    fn apply(&self, file: &mut Vec<u8>) {
        let n = file.len();
        let chunks = if file.starts_with(b"\x89PNG") { chunk_ranges(file) } else { std::iter::once(0..n).collect() };
        let idats: Vec<_> =
            chunks.iter().filter(|chunk| file[chunk.start + 4..].starts_with(b"IDAT")).cloned().collect();
        match self {
            Self::Flip { at, bit } => file[place(*at, n)] ^= 1 << bit,
            Self::Truncate { at } => file.truncate(place(*at, n)),
            Self::Delete { at, n_bytes } => {
                let start = place(*at, n);
                file.drain(start..n.min(start + usize::from(*n_bytes)));
            }
            Self::Insert { at, bytes } => {
                let start = place(*at, n);
                file.splice(start..start, bytes.iter().copied());
            }
            Self::Copy { from, to, n_bytes } => {
                let n_bytes = usize::from(*n_bytes).min(n);
                let (from, to) = (place(*from, n - n_bytes), place(*to, n - n_bytes));
                file.copy_within(from..from + n_bytes, to);
            }
            Self::SwapChunks { first, second } => {
                let (first, second) = (place(*first, chunks.len()), place(*second, chunks.len()));
                let (first, second) = (first.min(second), first.max(second));
                if first < second {
                    let (a, b) = (chunks[first].clone(), chunks[second].clone());
                    let swapped = [&file[b.clone()], &file[a.end..b.start], &file[a.clone()]].concat();
                    file.splice(a.start..b.end, swapped);
                }
            }
            _ if idats.is_empty() => {}
            Self::DropIdat { at } => drop(file.drain(idats[place(*at, idats.len())].clone())),
            Self::RepeatIdat { at } => {
                let range = idats[place(*at, idats.len())].clone();
                let again = file[range.clone()].to_vec();
                file.splice(range.end..range.end, again);
            }
            Self::ForgeIdat { at, byte, bit } => {
                let range = idats[place(*at, idats.len())].clone();
                let (body, crc) = file[range.start + 4..range.end].split_at_mut(range.len() - 8);
                body[4 + place(*byte, body.len() - 4)] ^= 1 << bit;
                crc.copy_from_slice(&crc32fast::hash(body).to_be_bytes());
            }
            Self::Length { at, length } => {
                let start = chunks[place(*at, chunks.len())].start;
                file[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    }
}

/// A small scene of that many colours, with a hill and a tower.
fn scene(n_colours: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    for z in 0..256u32 {
        for x in 0..256u32 {
            let height = 3 + (x / 8 * (255 - x) / 255 + z / 16) % 23;
            for y in 0..height {
                occupancy.set(x, y, z, true);
            }
        }
    }
    for y in 0..200 {
        occupancy.set(100 + y % 3, y, 70 + y % 5, true);
    }
    Region::paint(occupancy, ColourDepth::Direct, |x, y, z| (x / 5 + y * 3 + z / 7) % n_colours * 77)
}

/// Files of every way of decoding, and what they show.
static FILES: LazyLock<Vec<(&str, Vec<u8>, Region)>> = LazyLock::new(|| {
    let key = RegionKey::new("17/116415/51623".parse().expect("a tile"), 0);
    let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: "credit".to_owned() };
    let mut files = Vec::new();
    for (name, n_colours) in [("indexed strips", 20), ("RGBA strips", 2000)] {
        let region = scene(n_colours);
        let ids = FeatureIds::of(&region.occupancy, |x, y, z| (y > 9).then_some(x / 9 + z / 5 * 30));
        let options = EncodeOptions { with_occupancy: true, ids: Some(&ids), ..EncodeOptions::default() };
        let file = encode_with(&region, &metadata, options);
        files.push((name, file, region));
    }
    let image = image::load_from_memory(&files[1].1).expect("a file of ours");
    let mut foreign = std::io::Cursor::new(Vec::new());
    image.write_to(&mut foreign, image::ImageFormat::Png).expect("written to memory");
    files.push(("foreign PNG", foreign.into_inner(), files[1].2.clone()));
    let mut webp = Vec::new();
    image_webp::WebPEncoder::new(&mut webp)
        .encode(image.as_bytes(), 4096, 4096, image_webp::ColorType::Rgba8)
        .expect("written to memory");
    files.push(("WebP", webp, files[1].2.clone()));
    files
});

/// Decodes a damaged file; what comes out must be the picture or an error.
fn check(file_idx: usize, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let (name, file, region) = &FILES[file_idx];
    let mut damaged = file.clone();
    for mutation in mutations {
        if damaged.len() > 100 {
            mutation.apply(&mut damaged);
        }
        // Structural mutations need a structure: one that breaks it is the last.
        if !matches!(mutation, Mutation::SwapChunks { .. } | Mutation::DropIdat { .. } | Mutation::RepeatIdat { .. }) {
            break;
        }
    }
    // Features are those of the file, or there are none.
    if let Ok(Some(ids)) = FeatureIds::of_file(&damaged) {
        prop_assert_eq!(Ok(Some(ids)), FeatureIds::of_file(file), "{} tells other features", name);
    }
    // WebP has no checksum: its pixels may change, the decoder must live.
    if let Ok(decoded) = decode(&EncodedAtlas::new(damaged))
        && *name != "WebP"
    {
        prop_assert_eq!(decoded.first_difference(region), None, "{} shows another picture", name);
    }
    Ok(())
}

#[test]
fn undamaged_files_show_their_picture() {
    for (name, file, region) in &*FILES {
        let decoded = decode(&EncodedAtlas::new(file.clone())).unwrap();
        assert_eq!(decoded.first_difference(region), None, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_strips_never_show_another_picture(
        file_idx in 0usize..2,
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        check(file_idx, &mutations)?;
    }

    #[test]
    fn a_report_of_a_damaged_file_names_what_is_wrong(mutation in mutation()) {
        let mut damaged = FILES[0].1.clone();
        mutation.apply(&mut damaged);
        let report = inspect(&damaged);
        let is_decoded = decode(&EncodedAtlas::new(damaged.clone())).is_ok();
        prop_assert_eq!(report.voxels.is_some(), is_decoded);
        prop_assert_eq!(report.is_sound(), damaged == FILES[0].1 || is_decoded && report.findings.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_foreign_files_neither_panic_nor_show_another_picture(
        file_idx in 2usize..4,
        mutations in prop::collection::vec(mutation(), 1..3),
    ) {
        check(file_idx, &mutations)?;
    }
}
