//! Files of every kind, sound and unsound, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use png::{BitDepth, ColorType};

use super::*;
use crate::geo::RegionKey;
use crate::limits::{ATLAS_PIXELS, N_STRIPS};
use crate::voxel::{BrickColours, Colour, ColourDepth, Occupancy, Region};

const N: usize = ATLAS_PIXELS as usize;

fn metadata() -> AtlasMetadata {
    let tile = "17/116415/51623".parse().unwrap();
    AtlasMetadata {
        key: RegionKey::new(tile, -1),
        base: -32,
        voxel_size_m: 0.970_39,
        clipped: 7,
        credit: "© voxatlas tests".to_owned(),
    }
}

/// A slab of ground and hollow houses, some in one brick, some across many; `n_colours` colours.
fn city(depth: ColourDepth, n_colours: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    for (y, z) in (0..32).flat_map(|y| (0..256).map(move |z| (y, z))) {
        *occupancy.row_mut(y, z) = [u64::MAX; 4];
    }
    for house in 0..60u32 {
        let [x0, z0] = [house * 37 % 230, house * 101 % 226];
        let [w, d, h] = [5 + house % 19, 4 + house % 23, 3 + house * house % 200];
        for y in 32..32 + h {
            for z in z0..z0 + d {
                for x in x0..x0 + w {
                    let is_wall = x == x0 || x == x0 + w - 1 || z == z0 || z == z0 + d - 1 || y == 31 + h;
                    occupancy.set(x, y, z, is_wall);
                }
            }
        }
    }
    Region::paint(occupancy, depth, |x, y, z| if y < 30 { 1 } else { (x * 7 + y * 5 + z * 3) % n_colours })
}

/// A city of 40 colours: its file has a palette.
fn indexed_city() -> Region {
    city(ColourDepth::Indexed((0..40).map(|i| [i * 6, 255 - i * 3, i]).collect()), 40)
}

/// A city of more colours than a palette holds: its file is RGBA.
fn direct_city() -> Region {
    city(ColourDepth::Direct, 5000)
}

fn decode_bytes(bytes: Vec<u8>) -> Result<Region, AtlasError> {
    decode(&EncodedAtlas::new(bytes))
}

/// Decodes in steps and says how many there were.
fn decode_in_steps(bytes: &[u8]) -> (usize, Region) {
    let decoder = Decoder::new(bytes).unwrap();
    let n_steps = decoder.n_steps();
    let mut scratch = Scratch::new();
    // Backwards: the order must not matter.
    let strips: Vec<_> = (0..n_steps).rev().map(|step| decoder.decode_strip(step, &mut scratch).unwrap()).collect();
    (n_steps, decoder.assemble(strips).unwrap())
}

/// Checks a region against the image that it must show, given as straight RGBA by texel. Eight rows of every strip are
/// looked at, other ones in each: bands do not know where in the image they lie.
fn check_image(name: &str, region: &Region, pixel: impl Fn(usize, usize) -> [u8; 4]) {
    let mut row = Box::new([0; ATLAS_ROW_BYTES]);
    for v in (0..N).filter(|v| v % 8 == v / 64 % 8) {
        region.atlas_row(v as u32, &mut row);
        for (u, found) in row.as_chunks::<4>().0.iter().enumerate() {
            let [r, g, b, a] = pixel(u, v);
            let expected = if a == 0 { [0; 4] } else { [r, g, b, 255] };
            assert!(*found == expected, "{name}: texel ({u}, {v}) is {found:?}, not {expected:?}");
        }
    }
}

/// The chunks of a sound file: name and data.
fn chunks_of(file: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    chunks::Chunks::new(file).map(|chunk| chunk.map(|chunk| (chunk.name, chunk.data.to_vec())).unwrap()).collect()
}

/// A file of these chunks, with sound CRCs.
fn file_of(chunks: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = chunks::SIGNATURE.to_vec();
    for (name, data) in chunks {
        chunks::write_chunk(&mut file, *name, data);
    }
    file
}

/// The same pixels in one IDAT: only the plain way can decode it.
fn in_one_idat(file: &[u8]) -> Vec<u8> {
    let mut merged: Vec<([u8; 4], Vec<u8>)> = Vec::new();
    for (name, data) in chunks_of(file) {
        match merged.last_mut() {
            Some((last, into)) if *last == name => into.extend(data),
            _ => merged.push((name, data)),
        }
    }
    file_of(&merged)
}

/// A sample of the test images: smooth enough to compress, different in every row and column.
fn sample(u: usize, v: usize, channel: usize) -> u8 {
    ((u >> 4) * 7 + (v >> 3) * 13 + channel * 50 + ((u * v) >> 13)) as u8
}

/// Encodes a test image with the `png` crate, adaptive filters and all.
fn png_of(colour: ColorType, depth: BitDepth, setup: impl Fn(&mut png::Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let (n_bits, n_channels) = (depth as usize, colour.samples());
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, ATLAS_PIXELS, ATLAS_PIXELS);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Adaptive);
    setup(&mut encoder);
    let mut data = vec![0; N * N * n_channels * n_bits / 8];
    for (v, row) in data.chunks_exact_mut(N * n_channels * n_bits / 8).enumerate() {
        for i in 0..N * n_channels {
            // Of small samples the leftmost stands in the highest bits.
            let bits = sample(i / n_channels, v, i % n_channels) >> (8 - n_bits);
            row[i * n_bits / 8] |= bits << (8 - n_bits - i * n_bits % 8);
        }
    }
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    file
}

/// Encodes the same samples interlaced, which the `png` crate does not write.
fn interlaced_png_of(colour_type: u8, n_bits: usize, n_channels: usize, before: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut raw = Vec::new();
    for [u0, v0, du, dv] in
        [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]]
    {
        for v in (v0..N).step_by(dv) {
            raw.push(0);
            let samples = (u0..N).step_by(du).flat_map(|u| (0..n_channels).map(move |channel| sample(u, v, channel)));
            let start = raw.len();
            for (i, sample) in samples.enumerate() {
                if (i * n_bits).is_multiple_of(8) {
                    raw.push(0);
                }
                raw[start + i * n_bits / 8] |= sample >> (8 - n_bits) << (8 - n_bits - i * n_bits % 8);
            }
        }
    }
    let mut idat = Vec::new();
    let mut deflater = flate2::Compress::new(flate2::Compression::fast(), true);
    metadata::deflate_into(&mut deflater, &raw, &mut idat, flate2::FlushCompress::Finish);
    let n = ATLAS_PIXELS.to_be_bytes();
    let header = [&n[..], &n, &[n_bits as u8, colour_type, 0, 0, 1]].concat();
    let chunks = [&[(*b"IHDR", header)], before, &[(*b"IDAT", idat), (*b"IEND", vec![])]].concat();
    file_of(&chunks)
}

/// The palette of the test images, and its transparency: several indices are air, others half transparent.
fn palette() -> (Vec<Colour>, Vec<u8>) {
    (
        (0..=255).map(|i| [i, i ^ 0x5A, 255 - i]).collect(),
        (0..200).map(|i| if i % 3 == 1 { 0 } else { 1 + i }).collect(),
    )
}

#[test]
fn what_is_encoded_is_decoded() {
    for (region, colour_type) in [(indexed_city(), 3), (direct_city(), 6)] {
        let file = encode(&region, &metadata());
        assert_eq!(file[25], colour_type);
        let (n_steps, decoded) = decode_in_steps(&file);
        assert_eq!(n_steps, N_STRIPS, "our own files take the fast way");
        assert_eq!(decoded.first_difference(&region), None);
        assert_eq!(decode_bytes(file.clone()).unwrap(), decoded, "in steps or at once, it is the same");
        assert_eq!(encode(&decoded, &metadata()), file, "encoding again gives the same bytes");
        assert_eq!(Decoder::new(&file).unwrap().metadata(), Some(metadata()));
    }
}

#[test]
fn the_plain_way_gives_the_same_region() {
    for region in [indexed_city(), direct_city()] {
        let file = encode(&region, &metadata());
        let (n_steps, plain) = decode_in_steps(&in_one_idat(&file));
        assert_eq!(n_steps, 1);
        assert_eq!(plain, decode_bytes(file).unwrap(), "stored form included");
    }
}

#[test]
fn other_decoders_see_the_same_pixels() {
    for region in [indexed_city(), direct_city()] {
        let file =
            encode_with(&region, &metadata(), EncodeOptions { with_occupancy: true, ..EncodeOptions::default() });
        let by_image = image::load_from_memory(&file).unwrap().into_rgba8();
        let mut by_png = png::Decoder::new(std::io::Cursor::new(&file));
        by_png.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
        let mut by_png = by_png.read_info().unwrap();
        let mut row = Box::new([0; ATLAS_ROW_BYTES]);
        for v in 0..ATLAS_PIXELS {
            region.atlas_row(v, &mut row);
            assert!(by_png.next_row().unwrap().unwrap().data() == *row, "png, row {v}");
            assert!(by_image.as_raw()[v as usize * ATLAS_ROW_BYTES..][..ATLAS_ROW_BYTES] == *row, "image, row {v}");
        }
    }
}

#[test]
fn an_image_has_the_voxels_of_its_alpha() {
    let mut image = vec![0; N * ATLAS_ROW_BYTES];
    let region = indexed_city();
    for (v, row) in image.as_chunks_mut::<ATLAS_ROW_BYTES>().0.iter_mut().enumerate() {
        region.atlas_row(v as u32, row);
    }
    assert_eq!(occupancy_from_rgba(&image), region.occupancy);
    // A published vector: texel (3299, 548) is voxel (17, 200, 91).
    image.fill(0);
    image[548 * ATLAS_ROW_BYTES + 3299 * 4 + 3] = 1;
    let occupancy = occupancy_from_rgba(&image);
    assert!(occupancy.get(17, 200, 91) && occupancy.count() == 1);
}

#[test]
fn rgba_with_every_alpha() {
    let file = png_of(ColorType::Rgba, BitDepth::Eight, |_| {});
    let rgba = |u, v| std::array::from_fn(|channel| sample(u, v, channel));
    check_image("RGBA", &decode_bytes(file).unwrap(), rgba);
}

#[test]
fn rgb_is_solid_but_for_a_key() {
    let rgb = |u, v| [sample(u, v, 0), sample(u, v, 1), sample(u, v, 2), 255];
    let file = png_of(ColorType::Rgb, BitDepth::Eight, |_| {});
    check_image("RGB", &decode_bytes(file).unwrap(), rgb);
    let [r, g, b, _] = rgb(77, 99);
    // Of the two bytes of a sample, the higher means nothing at eight bits.
    let file = png_of(ColorType::Rgb, BitDepth::Eight, |encoder| encoder.set_trns(vec![9, r, 0, g, 0, b]));
    check_image("RGB with a key", &decode_bytes(file).unwrap(), |u, v| {
        if rgb(u, v) == rgb(77, 99) { [0; 4] } else { rgb(u, v) }
    });
}

#[test]
fn grey_of_every_depth() {
    for depth in [BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight] {
        let n_bits = depth as usize;
        let level = |u, v| sample(u, v, 0) >> (8 - n_bits);
        let grey = |u, v| (u32::from(level(u, v)) * 255 / ((1 << n_bits) - 1)) as u8;
        let file = png_of(ColorType::Grayscale, depth, |_| {});
        check_image("grey", &decode_bytes(file).unwrap(), |u, v| [grey(u, v), grey(u, v), grey(u, v), 255]);
        let file = png_of(ColorType::Grayscale, depth, |encoder| encoder.set_trns(vec![0, 1]));
        check_image("grey with a key", &decode_bytes(file).unwrap(), |u, v| {
            [grey(u, v), grey(u, v), grey(u, v), u8::from(level(u, v) != 1)]
        });
    }
}

#[test]
fn grey_with_alpha() {
    let file = png_of(ColorType::GrayscaleAlpha, BitDepth::Eight, |_| {});
    check_image("grey and alpha", &decode_bytes(file).unwrap(), |u, v| {
        let grey = sample(u, v, 0);
        [grey, grey, grey, sample(u, v, 1)]
    });
}

#[test]
fn palettes_of_every_depth() {
    let (colours, alphas) = palette();
    for depth in [BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight] {
        let n_bits = depth as usize;
        let n_colours = 1 << n_bits;
        let file = png_of(ColorType::Indexed, depth, |encoder| {
            encoder.set_palette(colours[..n_colours].as_flattened().to_vec());
            encoder.set_trns(alphas[..n_colours.min(200)].to_vec());
        });
        check_image("palette", &decode_bytes(file).unwrap(), |u, v| {
            let idx = usize::from(sample(u, v, 0) >> (8 - n_bits));
            let [r, g, b] = colours[idx];
            [r, g, b, alphas.get(idx).copied().unwrap_or(255)]
        });
    }
}

#[test]
fn an_index_beyond_the_palette_is_black() {
    let file = png_of(ColorType::Indexed, BitDepth::Eight, |encoder| encoder.set_palette(vec![200; 3 * 100]));
    check_image("short palette", &decode_bytes(file.clone()).unwrap(), |u, v| {
        if sample(u, v, 0) < 100 { [200, 200, 200, 255] } else { [0, 0, 0, 255] }
    });
    assert!(matches!(inspect(&file).findings[..], [Finding::BeyondPalette { n_colours: 100, .. }]));
}

#[test]
fn interlaced_images() {
    let rgba = |u, v| std::array::from_fn(|channel| sample(u, v, channel));
    let file = interlaced_png_of(6, 8, 4, &[]);
    check_image("interlaced RGBA", &decode_bytes(file).unwrap(), rgba);
    let (colours, alphas) = palette();
    let chunks = [(*b"PLTE", colours[..4].as_flattened().to_vec()), (*b"tRNS", alphas[..4].to_vec())];
    let file = interlaced_png_of(3, 2, 1, &chunks);
    check_image("interlaced palette", &decode_bytes(file).unwrap(), |u, v| {
        let idx = usize::from(sample(u, v, 0) >> 6);
        let [r, g, b] = colours[idx];
        [r, g, b, alphas[idx]]
    });
}

#[test]
fn colour_profiles_change_nothing() {
    for region in [indexed_city(), direct_city()] {
        let file = encode(&region, &metadata());
        let mut chunks = chunks_of(&file);
        let profiles = [
            (*b"gAMA", 45_455_u32.to_be_bytes().to_vec()),
            (
                *b"cHRM",
                [31_270_u32, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6000].map(u32::to_be_bytes).concat(),
            ),
            (*b"cICP", vec![9, 16, 0, 1]),
            (*b"sRGB", vec![2]),
            (*b"iCCP", b"odd\0\0x\x9c\x03\0\0\0\0\x01".to_vec()),
            (*b"tEXt", b"Comment\0of no consequence".to_vec()),
        ];
        chunks.splice(1..1, profiles);
        let with_profiles = file_of(&chunks);
        let expected = decode_bytes(file).unwrap();
        assert_eq!(decode_bytes(with_profiles.clone()).unwrap(), expected, "the fast way");
        assert_eq!(decode_bytes(in_one_idat(&with_profiles)).unwrap(), expected, "the plain way");
    }
}

#[test]
fn webp_is_decoded_like_png() {
    let region = direct_city();
    let mut image = vec![0; N * ATLAS_ROW_BYTES];
    for (v, row) in image.as_chunks_mut::<ATLAS_ROW_BYTES>().0.iter_mut().enumerate() {
        region.atlas_row(v as u32, row);
    }
    let mut file = Vec::new();
    image_webp::WebPEncoder::new(&mut file)
        .encode(&image, ATLAS_PIXELS, ATLAS_PIXELS, image_webp::ColorType::Rgba8)
        .unwrap();
    let (n_steps, decoded) = decode_in_steps(&file);
    assert_eq!(n_steps, 1);
    assert_eq!(decoded, decode_bytes(encode(&region, &metadata())).unwrap());
    let report = inspect(&file);
    assert_eq!((report.kind, report.findings), (Some(ImageKind::Webp), vec![]));
    assert!(matches!(decode_bytes(file[..file.len() / 2].to_vec()), Err(AtlasError::Webp { .. })));
}

#[test]
fn webp_of_the_reference_encoder() {
    let files: [&[u8]; 2] = [
        include_bytes!("../../tests/fixtures/lossy_alpha.webp"),
        include_bytes!("../../tests/fixtures/near_lossless.webp"),
    ];
    for file in files {
        let region = decode_bytes(file.to_vec()).unwrap();
        assert_eq!(region.occupancy.count(), 64 * 64 * 64);
        for [x, y, z] in (0..64u32).flat_map(|i| [[i, i * 7 % 64, i * 11 % 64], [i * 5 % 64, 63 - i, i]]) {
            assert!(region.occupancy.get(x, y, z));
            let [u, v] = texel_from_voxel(x, y, z);
            // Where the two colours meet, lossy compression blends them.
            if (250..262).contains(&v) || u > 500 {
                continue;
            }
            let expected: Colour = if v < 256 { [180, 120, 60] } else { [40, 90, 200] };
            let found = region.colours.get(x, y, z);
            assert!(found.iter().zip(expected).all(|(&a, b)| a.abs_diff(b) <= 8), "({x}, {y}, {z}): {found:?}");
        }
    }
}

#[test]
fn webp_without_alpha_is_solid() {
    let rgb: Vec<u8> = (0..N * N).flat_map(|i| [0, 1, 2].map(|channel| sample(i % N, i / N, channel))).collect();
    let mut file = Vec::new();
    image_webp::WebPEncoder::new(&mut file)
        .encode(&rgb, ATLAS_PIXELS, ATLAS_PIXELS, image_webp::ColorType::Rgb8)
        .unwrap();
    check_image("RGB WebP", &decode_bytes(file).unwrap(), |u, v| {
        [sample(u, v, 0), sample(u, v, 1), sample(u, v, 2), 255]
    });
}

#[test]
fn files_that_are_no_atlas_are_named() {
    let begins_with = |text: &str| AtlasError::NotAnImage { begins_with: text.to_owned() };
    assert_eq!(decode_bytes(vec![]), Err(AtlasError::Empty));
    assert_eq!(decode_bytes(b"<!DOCTYPE html>\n<title>x".to_vec()), Err(begins_with("\"<!DOCTYPE html>\"")));
    assert_eq!(decode_bytes(vec![0xFF, 0xD8, 0xFF, 0xE0]), Err(begins_with("ff d8 ff e0")));
    let truncated = AtlasError::Truncated { at_byte: 5, expected: "the rest of the signature".to_owned() };
    assert_eq!(decode_bytes(chunks::SIGNATURE[..5].to_vec()), Err(truncated));
    let (size_bytes, limit_bytes) = ((80 << 20) + 1, 80 << 20);
    assert_eq!(decode_bytes(vec![0; size_bytes]), Err(AtlasError::TooLarge { size_bytes, limit_bytes }));

    let mut narrow = Vec::new();
    png::Encoder::new(&mut narrow, 4095, 4096).write_header().unwrap().write_image_data(&vec![0; 4095 * 4096]).unwrap();
    assert_eq!(decode_bytes(narrow), Err(AtlasError::WrongSize { width: 4095, height: 4096 }));
    let mut small = Vec::new();
    image_webp::WebPEncoder::new(&mut small).encode(&[0; 12], 2, 2, image_webp::ColorType::Rgb8).unwrap();
    assert_eq!(decode_bytes(small), Err(AtlasError::WrongSize { width: 2, height: 2 }));

    let mut deep = chunks_of(&encode(&Region::empty(), &metadata()));
    deep[0].1[8..10].copy_from_slice(&[16, 6]);
    assert_eq!(decode_bytes(file_of(&deep)), Err(AtlasError::UnsupportedDepth { bit_depth: 16 }));
    let mut animated = chunks_of(&encode(&Region::empty(), &metadata()));
    animated.insert(1, (*b"acTL", vec![0, 0, 0, 2, 0, 0, 0, 0]));
    assert_eq!(decode_bytes(file_of(&animated)), Err(AtlasError::Animated));
}

#[test]
fn chunks_out_of_place_are_named() {
    fn check(edit: impl FnOnce(&mut Vec<([u8; 4], Vec<u8>)>), expected: &str) {
        let mut chunks = chunks_of(&encode(&Region::empty(), &metadata()));
        edit(&mut chunks);
        let error = decode_bytes(file_of(&chunks)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    check(|chunks| chunks.swap(0, 1), "the PLTE chunk at byte 8 comes first: expected IHDR");
    check(|chunks| chunks.insert(1, chunks[1].clone()), "comes twice");
    check(|chunks| chunks[0].1[9] = 5, "has colour type 5 at 8 bits");
    check(|chunks| chunks[0].1[10] = 1, "has methods 1, 0, 0");
    check(|chunks| chunks[0].1.truncate(12), "has 12 bytes: expected 13");
    check(|chunks| drop(chunks.remove(1)), "the PLTE chunk at byte");
    check(|chunks| chunks[1].1.push(0), "has 4 bytes: expected 3, 6, .. 768");
    check(|chunks| chunks[0].1[9] = 6, "has 1 bytes: not the transparency of a Rgba image");
    check(|chunks| chunks.insert(20, (*b"tEXt", vec![])), "the IDAT chunk at byte");
    check(|chunks| chunks.insert(3, (*b"ABCD", vec![])), "the ABCD chunk at byte");
    check(|chunks| chunks.retain(|(name, _)| name != b"IDAT"), "comes before any IDAT");
    check(|chunks| chunks.swap(1, 67), "follows the pixels: expected before them");
    check(|chunks| drop(chunks.remove(30)), "not a sound PNG");
}

#[test]
fn a_file_cut_anywhere_is_truncated() {
    let file = encode(&indexed_city(), &metadata());
    for at_byte in (1..file.len()).step_by(file.len() / 97) {
        let error = decode_bytes(file[..at_byte].to_vec()).unwrap_err();
        assert!(matches!(error, AtlasError::Truncated { at_byte: found, .. } if found == at_byte), "{error}");
    }
}

#[test]
fn a_flipped_bit_in_what_counts_is_a_wrong_crc() {
    let file = encode(&indexed_city(), &metadata());
    for chunk in chunks::Chunks::new(&file).map(Result::unwrap).filter(|chunk| !chunk.data.is_empty()) {
        let mut flipped = file.clone();
        flipped[chunk.at_byte + 8 + chunk.data.len() / 2] ^= 0x10;
        match decode_bytes(flipped) {
            Ok(region) => {
                assert_eq!(&chunk.name, b"vxMD", "the pixels do not depend on it");
                assert_eq!(region, decode_bytes(file.clone()).unwrap());
            }
            Err(AtlasError::BadCrc { chunk: name, at_byte, found, .. }) => {
                assert_eq!((name, at_byte, found), (chunk.name_text(), chunk.at_byte, chunk.crc));
            }
            Err(other) => panic!("{}: {other}", chunk.name_text()),
        }
    }
}

/// The uncompressed rows of a file: filter types and pixels.
fn raw_of(file: &[u8]) -> Vec<u8> {
    let idats: Vec<u8> = chunks_of(file).into_iter().filter(|(name, _)| name == b"IDAT").flat_map(|c| c.1).collect();
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&idats[..]), &mut raw).unwrap();
    raw
}

/// Replaces a file's IDATs and binds its metadata chunk to them, so that everything looks sound.
fn with_idats(file: &[u8], idats: Vec<Vec<u8>>) -> Vec<u8> {
    let crc_of = |data: &Vec<u8>| chunks::write_chunk(&mut Vec::new(), *b"IDAT", data);
    let crc = metadata::crc_of_crcs(idats.iter().map(crc_of));
    let mut chunks = chunks_of(file);
    let first = chunks.iter().position(|(name, _)| name == b"IDAT").unwrap();
    chunks.retain(|(name, _)| name != b"IDAT");
    chunks.splice(first..first, idats.into_iter().map(|data| (*b"IDAT", data)));
    let (_, data) = chunks.iter_mut().find(|(name, _)| name == b"vxMD").unwrap();
    data[metadata::IDAT_CRC].copy_from_slice(&crc.to_be_bytes());
    file_of(&chunks)
}

/// Compresses rows in pieces that end in a flush of that kind.
fn deflate_pieces<'r>(pieces: impl Iterator<Item = &'r [u8]>, flush: flate2::FlushCompress) -> Vec<Vec<u8>> {
    let mut deflater = flate2::Compress::new(flate2::Compression::fast(), true);
    let mut idats: Vec<Vec<u8>> = pieces
        .map(|piece| {
            let mut idat = Vec::new();
            metadata::deflate_into(&mut deflater, piece, &mut idat, flush);
            idat
        })
        .collect();
    metadata::deflate_into(&mut deflater, &[], idats.last_mut().unwrap(), flate2::FlushCompress::Finish);
    idats
}

/// Checks that a file looks as if it were in strips, that it is not, and that it shows the region all the same.
fn check_lie(file: &[u8], expected: &Region) {
    let (n_steps, region) = decode_in_steps(file);
    assert_eq!(n_steps, N_STRIPS, "nothing is noticed before the strips are inflated");
    assert_eq!(region, *expected);
    assert_eq!(decode_bytes(file.to_vec()).unwrap(), *expected);
    let report = inspect(file);
    assert!(matches!(report.findings[..], [Finding::BrokenStrips { .. }]), "{:?}", report.findings);
}

#[test]
fn strips_that_lean_on_each_other_are_decoded_the_plain_way() {
    for region in [indexed_city(), direct_city()] {
        let file = encode(&region, &metadata());
        let (raw, expected) = (raw_of(&file), decode_bytes(file.clone()).unwrap());
        let strips = || raw.chunks_exact(raw.len() / N_STRIPS);
        let honest = with_idats(&file, deflate_pieces(strips(), flate2::FlushCompress::Full));
        assert_eq!(decode_in_steps(&honest), (N_STRIPS, expected.clone()));
        assert_eq!(inspect(&honest).findings, []);
        check_lie(&with_idats(&file, deflate_pieces(strips(), flate2::FlushCompress::Sync)), &expected);
    }
}

#[test]
fn strips_of_other_rows_are_decoded_the_plain_way() {
    let file = encode(&indexed_city(), &metadata());
    let (raw, expected) = (raw_of(&file), decode_bytes(file.clone()).unwrap());
    let (strip, row) = (raw.len() / N_STRIPS, raw.len() / N);
    let edges: Vec<usize> = (0..=N_STRIPS).map(|i| if i == 20 { i * strip - row } else { i * strip }).collect();
    let pieces = edges.windows(2).map(|edge| &raw[edge[0]..edge[1]]);
    check_lie(&with_idats(&file, deflate_pieces(pieces, flate2::FlushCompress::Full)), &expected);
}

#[test]
fn filtered_strips_are_decoded_the_plain_way() {
    let file = encode(&indexed_city(), &metadata());
    let (mut raw, expected) = (raw_of(&file), decode_bytes(file.clone()).unwrap());
    let row = &mut raw[2000 * (N + 1)..][..=N];
    row[0] = 1;
    for u in (2..=N).rev() {
        row[u] = row[u].wrapping_sub(row[u - 1]);
    }
    let pieces = raw.chunks_exact(raw.len() / N_STRIPS);
    check_lie(&with_idats(&file, deflate_pieces(pieces, flate2::FlushCompress::Full)), &expected);
}

#[test]
fn a_final_block_hidden_in_a_strip_is_noticed() {
    let file = encode(&indexed_city(), &metadata());
    let raw = raw_of(&file);
    let strip = raw.len() / N_STRIPS;
    let mut idats = deflate_pieces(raw.chunks_exact(strip), flate2::FlushCompress::Full);
    let mut deflater = flate2::Compress::new(flate2::Compression::fast(), false);
    idats[10].clear();
    metadata::deflate_into(&mut deflater, &raw[10 * strip..][..strip], &mut idats[10], flate2::FlushCompress::Finish);
    idats[10].extend([0, 0, 0xFF, 0xFF]);
    let error = decode_bytes(with_idats(&file, idats)).unwrap_err();
    assert!(matches!(error, AtlasError::Png { .. }), "the stream ends there for everybody: {error}");
}

#[test]
fn idats_in_another_order_are_noticed() {
    let file = encode(&indexed_city(), &metadata());
    let first = chunks_of(&file).iter().position(|(name, _)| name == b"IDAT").unwrap();
    let mut swapped = chunks_of(&file);
    swapped.swap(first + 3, first + 40);
    let mut repeated = chunks_of(&file);
    repeated[first + 3] = repeated[first + 40].clone();
    for chunks in [swapped, repeated] {
        let file = file_of(&chunks);
        let error = decode_bytes(file.clone()).unwrap_err();
        assert!(matches!(error, AtlasError::Png { .. }), "every CRC is sound, the Adler-32 is not: {error}");
        let findings = inspect(&file).findings;
        assert!(matches!(findings[..], [Finding::BrokenStrips { .. }, Finding::Undecodable(_)]), "{findings:?}");
    }
}

#[test]
fn other_chunkings_and_versions_are_decoded_the_plain_way() {
    let file = encode(&indexed_city(), &metadata());
    let expected = decode_bytes(file.clone()).unwrap();
    let check = |chunks: &[([u8; 4], Vec<u8>)]| assert_eq!(decode_in_steps(&file_of(chunks)), (1, expected.clone()));
    let mut split = chunks_of(&file);
    let tail = split[20].1.split_off(10);
    split.insert(21, (*b"IDAT", tail));
    check(&split);
    let is_metadata = |(name, _): &&mut ([u8; 4], Vec<u8>)| name == b"vxMD";
    let mut newer = chunks_of(&file);
    newer.iter_mut().find(is_metadata).unwrap().1[0] = 2;
    check(&newer);
    let mut unstripped = chunks_of(&file);
    unstripped.iter_mut().find(is_metadata).unwrap().1[6] = 0;
    check(&unstripped);
    assert_eq!(inspect(&file_of(&unstripped)).findings, [], "it does not claim to be in strips");
    let mut short = chunks_of(&file);
    short.iter_mut().find(is_metadata).unwrap().1.truncate(20);
    check(&short);
    assert!(matches!(inspect(&file_of(&short)).findings[..], [Finding::IgnoredChunk { .. }]));
}

#[test]
fn geometry_is_ahead_of_colours() {
    let region = direct_city();
    let file = encode_with(&region, &metadata(), EncodeOptions { with_occupancy: true, ..EncodeOptions::default() });
    let first_idat = chunks::Chunks::new(&file).map(Result::unwrap).find(|chunk| &chunk.name == b"IDAT").unwrap();
    assert_eq!(occupancy_ahead(&file[..first_idat.at_byte]), Some(region.occupancy.clone()));
    assert_eq!(occupancy_ahead(&file[..first_idat.at_byte - 1]), None, "not whole yet");
    assert_eq!(decode_in_steps(&file), (N_STRIPS, decode_bytes(encode(&region, &metadata())).unwrap()));
    let report = inspect(&file);
    assert!(report.has_occupancy_chunk && report.is_sound(), "{:?}", report.findings);

    // The same chunk in a file with other pixels.
    let mut other = chunks_of(&encode(&indexed_city(), &metadata()));
    let stale = chunks_of(&file).into_iter().find(|(name, _)| name == b"vxOC").unwrap();
    other.insert(1, stale);
    let other = file_of(&other);
    assert_eq!(decode_bytes(other.clone()).unwrap().first_difference(&indexed_city()), None);
    assert!(matches!(inspect(&other).findings[..], [Finding::OccupancyMismatch { .. }]));
}

#[test]
fn a_coarse_file_says_what_it_was_made_of() {
    let mark = FileMark::of(b"a child").unwrap();
    assert_ne!(FileMark::of(b"b child").unwrap(), mark);
    assert_eq!(FileMark::of(b""), None);
    let lineage = Lineage { rules: 3, children: [None, Some(mark), None, None, None, None, None, Some(mark)] };
    let region = indexed_city();
    let file = encode_with(&region, &metadata(), EncodeOptions { lineage: Some(lineage), ..EncodeOptions::default() });
    assert_eq!(Lineage::of_file(&file), Some(lineage));
    assert_eq!(decode_in_steps(&file), (N_STRIPS, decode_bytes(encode(&region, &metadata())).unwrap()));
    let report = inspect(&file);
    assert!(report.lineage == Some(lineage) && report.is_sound(), "{:?}", report.findings);

    // Whatever is not the file that was written makes no statement.
    assert_eq!(Lineage::of_file(&encode(&region, &metadata())), None);
    assert_eq!(Lineage::of_file(&file[..file.len() - 1]), None);
    assert_eq!(Lineage::of_file(&[&file[..], b"x"].concat()), None);
    for at in (8..file.len()).step_by(file.len() / 60) {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        assert_eq!(Lineage::of_file(&damaged), None, "byte {at}");
    }
    let mut other = chunks_of(&encode(&direct_city(), &metadata()));
    other.insert(1, chunks_of(&file).into_iter().find(|(name, _)| name == b"vxPY").unwrap());
    let other = file_of(&other);
    assert_eq!(Lineage::of_file(&other), None);
    let report = inspect(&other);
    assert_eq!(report.lineage, None);
    assert!(matches!(report.findings[..], [Finding::IgnoredChunk { .. }]), "{:?}", report.findings);
}

#[test]
fn a_set_flag_stops_both_ways() {
    let file = encode(&indexed_city(), &metadata());
    for file in [in_one_idat(&file), file] {
        let stop = Arc::new(AtomicBool::new(false));
        let decoder = Decoder::new(&file).unwrap().stop_when(Arc::clone(&stop));
        let mut scratch = Scratch::new();
        assert!(decoder.decode_strip(0, &mut scratch).is_ok());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(decoder.decode_strip(0, &mut scratch).unwrap_err(), AtlasError::Aborted);
    }
}

#[test]
fn a_report_says_what_a_file_is() {
    let region = indexed_city();
    let file = encode(&region, &metadata());
    let report = inspect(&file);
    assert_eq!(report.findings, []);
    let header = report.header.unwrap();
    assert_eq!((header.width, header.height, header.bit_depth), (4096, 4096, 8));
    assert_eq!((header.colour_type, header.is_interlaced), (ColourType::Indexed, false));
    assert_eq!((report.kind, report.not_in_strips, report.metadata), (Some(ImageKind::Png), None, Some(metadata())));
    let names: Vec<_> = report.chunks.iter().map(|chunk| (chunk.name.as_str(), chunk.n_chunks)).collect();
    assert_eq!(names, [("IHDR", 1), ("PLTE", 1), ("tRNS", 1), ("vxMD", 1), ("IDAT", 64), ("IEND", 1)]);
    let bytes: usize = report.chunks.iter().map(|chunk| chunk.data_bytes + 12 * chunk.n_chunks).sum();
    assert_eq!(bytes + 8, file.len());
    let voxels = report.voxels.unwrap();
    assert_eq!((voxels.occupied, voxels.colours), (region.occupancy.count(), 40));
    assert_eq!(voxels.bricks, region.occupancy.brick_mask().count());
}

#[test]
fn a_report_names_everything_that_is_wrong() {
    let file = png_of(ColorType::Rgba, BitDepth::Eight, |_| {});
    let n_coloured = (0..N * N).filter(|i| sample(i % N, i / N, 3) == 0).count() as u64;
    assert!(matches!(inspect(&file).findings[..], [Finding::TransparentColours { n, .. }] if n == n_coloured));

    let mut trailing = encode(&Region::empty(), &metadata());
    let at_byte = trailing.len();
    trailing.extend([1, 2, 3]);
    assert_eq!(inspect(&trailing).findings, [Finding::TrailingBytes { at_byte, n_bytes: 3 }]);

    let mut damaged = encode(&Region::empty(), &metadata());
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let report = inspect(&damaged);
    assert!(matches!(report.findings[..], [Finding::BadChunk(AtlasError::BadCrc { .. })]), "{:?}", report.findings);
    assert_eq!(report.metadata, Some(metadata()), "the rest is reported all the same");

    let html = inspect(b"<html>");
    assert_eq!((html.kind, html.findings.len()), (None, 1));
}

#[test]
fn equal_voxels_give_equal_bytes_whatever_the_palette() {
    let colours: Vec<Colour> = (0..40).map(|i| [i * 6, 255 - i * 3, i]).collect();
    let region = indexed_city();
    let reversed = Region::paint(
        region.occupancy.clone(),
        ColourDepth::Indexed(colours.iter().rev().copied().chain([[1, 2, 3]; 100]).collect()),
        |x, y, z| 39 - region.colours.entry(x, y, z),
    );
    let direct = Region::paint(region.occupancy.clone(), ColourDepth::Direct, |x, y, z| {
        let [r, g, b] = region.colours.get(x, y, z);
        u32::from_le_bytes([r, g, b, 0])
    });
    let file = encode(&region, &metadata());
    assert!(encode(&reversed, &metadata()) == file && encode(&direct, &metadata()) == file);
}

#[test]
fn a_palette_holds_255_colours_and_no_more() {
    let mut occupancy = Occupancy::empty();
    occupancy.set_brick_rows(3, 4, 5, &[0xFFFF; 256]);
    let region = |n: u32| Region::paint(occupancy.clone(), ColourDepth::Direct, |x, y, _| (x + 16 * (y % 16)) % n);
    for (n, colour_type) in [(255, 3), (256, 6)] {
        let file = encode(&region(n), &metadata());
        assert_eq!(file[25], colour_type, "{n} colours");
        assert_eq!(decode_bytes(file).unwrap().first_difference(&region(n)), None);
    }
}

#[test]
fn regions_of_one_kind_are_small() {
    let full = {
        let mut occupancy = Occupancy::empty();
        occupancy.rows_mut().fill([u64::MAX; 4]);
        Region::paint(occupancy, ColourDepth::Indexed(vec![[9, 9, 9]]), |_, _, _| 0)
    };
    for region in [Region::empty(), full] {
        let file = encode(&region, &metadata());
        let decoded = decode_bytes(file).unwrap();
        assert_eq!(decoded.first_difference(&region), None);
        assert!(matches!(decoded.colours.brick(7, 7, 7), BrickColours::Air | BrickColours::Uniform(_)));
        assert!(decoded.size_bytes() < 3 << 20, "no page is kept");
    }
}
