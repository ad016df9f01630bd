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

/// The region as an RGBA image.
fn expand(region: &Region) -> Vec<u8> {
    let mut image = vec![0; N * N * 4];
    for (v, row) in image.as_chunks_mut::<ATLAS_ROW_BYTES>().0.iter_mut().enumerate() {
        region.atlas_row(v as u32, row);
    }
    image
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
