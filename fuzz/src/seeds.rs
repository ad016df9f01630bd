//! Writes the files that the targets begin with into `corpus/`.

use voxatlas::atlas::{EncodeOptions, encode, encode_with};
use voxatlas::voxel::Region;
use voxatlas_fuzz::{metadata, post, without_metadata};

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
    write("tiles_json", "plain", br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"]}"#)?;
    write(
        "tiles_json",
        "layers",
        br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "bounds": [139.7, 35.6, 139.8, 35.7], "minzoom": 12,
            "voxatlas": {"format": 1, "base": -32, "datum": "the ground", "layers": [{"layer": 0,
            "tiles": ["{z}/{x}/{y}.png"], "availability": [{"zoom": 17, "bounds": [1, 2, 2, 3], "bitmap": "Dw=="}]}]}}"#,
    )
}
