//! Writes the files that the targets begin with into `corpus/`.

use std::io::Cursor;

use pmtiles::{Compression, PmTilesWriter, TileCoord, TileType};
use voxatlas::atlas::{EncodeOptions, FeatureIds, encode, encode_with};
use voxatlas::voxel::Region;
use voxatlas_fuzz::{metadata, post, without_metadata};

/// An archive of two tiles of one content and one of another.
fn archive(packing: Compression) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let writer = PmTilesWriter::new(TileType::Png).internal_compression(packing);
    let mut writer = writer.create(&mut bytes).expect("memory takes everything");
    for (x, content) in [(0, b"one"), (1, b"one"), (2, b"two")] {
        let tile = TileCoord::new(3, x, 0).expect("a tile");
        writer.add_tile(tile, content).expect("memory takes everything");
    }
    writer.finalize().expect("memory takes everything");
    bytes.into_inner()
}

fn main() -> std::io::Result<()> {
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let folder = std::path::Path::new("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)
    };
    for (name, region) in [("air", Region::empty()), ("indexed", post(20)), ("rgba", post(1000))] {
        let file = encode(&region, &metadata());
        // The first byte says whether the target repairs the CRCs.
        write("decode_atlas", name, &[&[1][..], &file].concat())?;
        write("decode_atlas", &format!("{name}-plain"), &[&[1][..], &without_metadata(&file)].concat())?;
    }
    let with_occupancy = encode_with(&post(20), &metadata(), EncodeOptions { with_occupancy: true, ..EncodeOptions::default() });
    write("decode_atlas", "occupancy", &[&[1][..], &with_occupancy].concat())?;
    let ids = FeatureIds::of(&post(20).occupancy, |x, y, z| (y > 3).then_some(x / 5 + z / 9 * 10));
    let with_ids = encode_with(&post(20), &metadata(), EncodeOptions { ids: Some(&ids), ..EncodeOptions::default() });
    write("decode_atlas", "ids", &[&[1][..], &with_ids].concat())?;
    for (name, packing) in [("gzip", Compression::Gzip), ("plain", Compression::None)] {
        write("archive", name, &archive(packing))?;
    }
    write("tiles_json", "plain", br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"]}"#)?;
    write(
        "tiles_json",
        "layers",
        br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "bounds": [139.7, 35.6, 139.8, 35.7], "minzoom": 12,
            "voxatlas": {"format": 1, "base": -32, "datum": "the ground", "layers": [{"layer": 0,
            "tiles": ["{z}/{x}/{y}.png"], "availability": [{"zoom": 17, "bounds": [1, 2, 2, 3], "bitmap": "Dw=="}]}]}}"#,
    )
}
