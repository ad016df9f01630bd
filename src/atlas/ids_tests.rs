//! Features of voxels: into a file and back, whole and damaged.

use proptest::prelude::*;

use super::ids_chunk::{FEATURE_IDS, FeatureIdsChunk};
use super::metadata::HEAD;
use super::*;
use crate::geo::RegionKey;
use crate::limits::N_BRICKS;
use crate::voxel::{ColourDepth, Occupancy, Region};

fn metadata() -> AtlasMetadata {
    let key = RegionKey::new("17/116415/51623".parse().unwrap(), 0);
    AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() }
}

/// Ground with houses on a grid, some of them hollow, and who they are.
fn street() -> (Region, impl Fn(u32, u32, u32) -> Option<u32>) {
    let house_of = |x: u32, z: u32| (x % 24 < 17 && z % 31 < 22).then(|| x / 24 * 1000 + z / 31);
    let height_of = move |x: u32, z: u32| house_of(x, z).map_or(32, |house| 40 + house * 37 % 90);
    let mut occupancy = Occupancy::empty();
    for (x, z) in (0..256).flat_map(|x| (0..256).map(move |z| (x, z))) {
        let is_hollow = x % 48 > 24 && (1..16).contains(&(x % 24)) && (1..21).contains(&(z % 31));
        for y in 0..height_of(x, z) {
            occupancy.set(x, y, z, y < 32 || !is_hollow || y + 1 == height_of(x, z));
        }
    }
    let region = Region::paint(occupancy, ColourDepth::Direct, |_, y, _| y / 8 * 0x01_02_03);
    (region, move |x, y, z| house_of(x, z).filter(|_| y >= 32))
}

fn encode_ids(region: &Region, ids: &FeatureIds) -> Vec<u8> {
    encode_with(region, &metadata(), EncodeOptions { ids: Some(ids), ..EncodeOptions::default() })
}

/// The chunks of a sound file: name and data.
fn chunks_of(file: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    chunks::Chunks::new(file).map(|chunk| chunk.map(|chunk| (chunk.name, chunk.data.to_vec())).unwrap()).collect()
}

fn file_of(chunks: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = chunks::SIGNATURE.to_vec();
    for (name, data) in chunks {
        chunks::write_chunk(&mut file, *name, data);
    }
    file
}

/// A `vxID` chunk of these numbers, for whatever pixels.
fn chunk_of(numbers: &[u64], after: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &number in numbers {
        let mut rest = number;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    let mut data = HEAD.to_vec();
    let mut deflater = flate2::Compress::new(flate2::Compression::fast(), true);
    metadata::deflate_into(&mut deflater, &bytes, &mut data, flate2::FlushCompress::Finish);
    data.extend_from_slice(after);
    data
}

/// What is said of the data of a chunk.
fn read(data: &[u8]) -> Result<FeatureIds, String> {
    let mut file = Vec::new();
    let crc = chunks::write_chunk(&mut file, FEATURE_IDS, data);
    let chunk = chunks::Chunk { name: FEATURE_IDS, data, at_byte: 0, crc };
    FeatureIdsChunk::from_chunk(&chunk).map(|chunk| chunk.ids)
}

#[test]
fn every_voxel_has_the_feature_that_it_was_given() {
    let (region, feature_of) = street();
    let ids = FeatureIds::of(&region.occupancy, &feature_of);
    let file = encode_ids(&region, &ids);
    let decoder = Decoder::new(&file).unwrap();
    let read = decoder.feature_ids().unwrap().unwrap();
    assert_eq!(read, ids);
    for (x, y, z) in (0..256).flat_map(|x| (0..13).map(move |i| (x, (x * 7 + i * 29) % 160, (x * 11 + i * 53) % 256))) {
        let expected = feature_of(x, y, z).filter(|_| region.occupancy.get(x, y, z));
        assert_eq!(read.feature_at(&region.occupancy, [x, y, z]), expected, "({x}, {y}, {z})");
    }
    assert_eq!(ids.n_features(), 10_009);
}

#[test]
fn each_occupied_voxel_is_asked_for_once_and_air_never() {
    let (region, _) = street();
    let mut asked = Occupancy::empty();
    FeatureIds::of(&region.occupancy, |x, y, z| {
        assert!(!asked.get(x, y, z), "({x}, {y}, {z}) again");
        asked.set(x, y, z, true);
        None
    });
    assert_eq!(asked, region.occupancy);
}

#[test]
fn ids_change_nothing_else() {
    let (region, feature_of) = street();
    let plain = encode(&region, &metadata());
    let file = encode_ids(&region, &FeatureIds::of(&region.occupancy, feature_of));
    assert_eq!(decode(&EncodedAtlas::new(file.clone())), decode(&EncodedAtlas::new(plain.clone())));
    assert_eq!(Decoder::new(&file).unwrap().n_steps(), crate::limits::N_STRIPS, "in strips");
    let without: Vec<_> = chunks_of(&file).into_iter().filter(|(name, _)| *name != FEATURE_IDS).collect();
    assert_eq!(file_of(&without), plain);
    let report = inspect(&file);
    assert!(report.is_sound(), "{:?}", report.findings);
    let features = report.features.unwrap();
    assert_eq!(features.n_features, 10_009);
    assert!(features.voxels > 100_000 && features.runs > 1000, "{features:?}");

    assert_eq!(FeatureIds::of_file(&plain), Ok(None));
    assert_eq!(inspect(&plain).features, None);
}

#[test]
fn air_and_voxels_of_no_feature_cost_next_to_nothing() {
    let empty = Occupancy::empty();
    let none = FeatureIds::of(&empty, |_, _, _| unreachable!("air belongs to nobody"));
    assert_eq!((none.n_runs(), none.n_features(), none.feature_at(&empty, [1, 2, 3])), (0, 0, None));
    let full = {
        let mut occupancy = Occupancy::empty();
        occupancy.rows_mut().fill([u64::MAX; 4]);
        occupancy
    };
    for feature in [None, Some(u32::MAX - 1)] {
        let ids = FeatureIds::of(&full, |_, _, _| feature);
        assert_eq!(ids.n_runs(), N_BRICKS);
        assert!(FeatureIdsChunk::to_chunk_data(&ids).len() < 100);
        assert_eq!(ids.feature_at(&full, [255, 255, 255]), feature);
        assert_eq!(read(&FeatureIdsChunk::to_chunk_data(&ids)), Ok(ids));
    }
}

#[test]
fn ids_of_other_pixels_are_refused_and_the_picture_stays() {
    let (region, feature_of) = street();
    let file = encode_ids(&region, &FeatureIds::of(&region.occupancy, feature_of));
    let other = Region::paint(region.occupancy.clone(), ColourDepth::Direct, |_, _, _| 0x0A_0B_0C);
    let mut chunks = chunks_of(&encode(&other, &metadata()));
    chunks.insert(3, chunks_of(&file).into_iter().find(|(name, _)| *name == FEATURE_IDS).unwrap());
    let stale = file_of(&chunks);
    let error = FeatureIds::of_file(&stale).unwrap_err();
    assert!(matches!(&error, AtlasError::BadChunk { chunk, .. } if chunk == "vxID"), "{error}");
    assert!(error.to_string().contains("other pixels"), "{error}");
    assert_eq!(decode(&EncodedAtlas::new(stale.clone())).unwrap().first_difference(&other), None);
    let report = inspect(&stale);
    assert!(matches!(&report.findings[..], [Finding::IgnoredChunk { chunk, .. }] if chunk == "vxID"));
    assert_eq!(report.features, None);
}

#[test]
fn ids_of_other_voxels_are_found_by_inspecting() {
    let (region, _) = street();
    let mut dug = region.occupancy.clone();
    dug.set(3, 5, 7, false);
    let ids = FeatureIds::of(&dug, |_, _, _| None);
    // The encoder would not take them: the chunk of another file, bound to these pixels.
    let mut chunks = chunks_of(&encode_ids(&region, &FeatureIds::of(&region.occupancy, |_, _, _| None)));
    let chunk = chunks.iter_mut().find(|(name, _)| *name == FEATURE_IDS).unwrap();
    let bound = [&chunk.1[..HEAD.len()], &FeatureIdsChunk::to_chunk_data(&ids)[HEAD.len()..]].concat();
    chunk.1 = bound;
    let file = file_of(&chunks);
    assert_eq!(FeatureIds::of_file(&file), Ok(Some(ids)));
    let findings = inspect(&file).findings;
    assert!(matches!(&findings[..], [Finding::FeatureMismatch { what }] if what.contains("(0, 0, 0)")), "{findings:?}");
}

#[test]
fn a_version_that_is_not_known_is_no_chunk() {
    let (region, feature_of) = street();
    let mut chunks = chunks_of(&encode_ids(&region, &FeatureIds::of(&region.occupancy, feature_of)));
    chunks.iter_mut().find(|(name, _)| *name == FEATURE_IDS).unwrap().1[0] = 2;
    let file = file_of(&chunks);
    assert_eq!(FeatureIds::of_file(&file), Ok(None));
    assert!(matches!(&inspect(&file).findings[..], [Finding::IgnoredChunk { chunk, .. }] if chunk == "vxID"));
}

#[test]
fn what_is_no_sound_chunk_is_named() {
    let one_run = |length: u64, code: u64| {
        let mut numbers = vec![0; N_BRICKS];
        numbers[0] = 1;
        numbers.extend([length, code]);
        numbers
    };
    let check = |data: &[u8], expected: &str| {
        let error = read(data).unwrap_err();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    };
    assert!(read(&chunk_of(&one_run(4096, 16), &[])).is_ok());
    check(&[], "too short");
    check(&HEAD, "break off");
    check(&chunk_of(&vec![0; 4095], &[]), "break off");
    check(&chunk_of(&[4097], &[]), "4097 runs of a brick");
    check(&chunk_of(&one_run(0, 0), &[]), "no voxel");
    check(&chunk_of(&one_run(4097, 0), &[]), "4097 voxels of a run: expected at most 4096");
    check(&chunk_of(&one_run(7, 1), &[]), "feature 1 of the latest 1");
    check(&chunk_of(&one_run(7, 17), &[]), "out of range");
    check(&chunk_of(&one_run(7, 16 + 2 * (1 << 32)), &[]), "out of range");
    check(&chunk_of(&one_run(7, 1 << 40), &[]), "more than 5 bytes");
    check(&chunk_of(&[&one_run(7, 0)[..], &[0]].concat(), &[]), "follow");
    check(&chunk_of(&one_run(7, 0), &[0]), "follow");
    let sound = chunk_of(&one_run(7, 0), &[]);
    check(&sound[..sound.len() - 2], "end well");
    let mut two_runs = vec![0; N_BRICKS];
    two_runs[9] = 2;
    check(&chunk_of(&[&two_runs[..], &[4000, 97, 0, 0]].concat(), &[]), "97 voxels of a run: expected at most 96");
}

/// Cuts a region into boxes and gives each a feature, or none, or air.
fn boxes() -> impl Strategy<Value = Vec<([u32; 6], Option<Option<u32>>)>> {
    let feature = prop_oneof![
        Just(None),
        Just(Some(None)),
        (0u32..40).prop_map(|feature| Some(Some(feature))),
        (0u32..u32::MAX).prop_map(|feature| Some(Some(feature))),
    ];
    let span = || (0u32..256, 1u32..90);
    let bounds = (span(), span(), span())
        .prop_map(|((x, w), (y, h), (z, d))| [x, (x + w).min(256), y, (y + h).min(256), z, (z + d).min(256)]);
    prop::collection::vec((bounds, feature), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn features_come_back(boxes in boxes(), probes in prop::collection::vec(prop::array::uniform3(0u32..256), 64)) {
        let mut occupancy = Occupancy::empty();
        for ([x0, x1, y0, y1, z0, z1], feature) in &boxes {
            for (z, y) in (*z0..*z1).flat_map(|z| (*y0..*y1).map(move |y| (z, y))) {
                (*x0..*x1).for_each(|x| occupancy.set(x, y, z, feature.is_some()));
            }
        }
        // Of boxes that overlap the last one counts.
        let feature_of = |x: u32, y: u32, z: u32| {
            let inside = |[x0, x1, y0, y1, z0, z1]: &[u32; 6]| {
                (*x0..*x1).contains(&x) && (*y0..*y1).contains(&y) && (*z0..*z1).contains(&z)
            };
            boxes.iter().rev().find(|(bounds, _)| inside(bounds)).and_then(|(_, feature)| feature.flatten())
        };
        let ids = FeatureIds::of(&occupancy, feature_of);
        prop_assert_eq!(ids.check(&occupancy), Ok(()));
        let read = read(&FeatureIdsChunk::to_chunk_data(&ids));
        prop_assert_eq!(read.as_ref(), Ok(&ids));
        let corners = boxes.iter().map(|([x, _, y, _, z, _], _)| [*x, *y, *z]);
        for [x, y, z] in corners.chain(probes.iter().copied()) {
            let expected = feature_of(x, y, z).filter(|_| occupancy.get(x, y, z));
            prop_assert_eq!(ids.feature_at(&occupancy, [x, y, z]), expected, "({}, {}, {})", x, y, z);
        }
    }

    #[test]
    fn damaged_numbers_are_an_error_or_other_features(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut occupancy = Occupancy::empty();
        (0..40u32).for_each(|i| occupancy.set(i * 5, i * 3, i, true));
        let ids = FeatureIds::of(&occupancy, |x, _, _| Some(x % 7));
        let mut data = FeatureIdsChunk::to_chunk_data(&ids);
        let at = at.index(data.len());
        data[at] = byte;
        if let Ok(ids) = read(&data) {
            (0..256).for_each(|i| {
                let _ = ids.feature_at(&occupancy, [i, i * 3 % 256, i / 5]);
            });
        }
    }
}
