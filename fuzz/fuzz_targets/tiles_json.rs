//! Whatever the bytes are, a tileset document is read or refused, and what is read survives being written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use voxatlas::atlas::Tileset;
use voxatlas::geo::{RegionKey, TileCoord};

fuzz_target!(|data: &[u8]| {
    let Ok(tileset) = Tileset::parse(data, "tiles.json") else { return };
    let again = Tileset::parse(tileset.to_json().as_bytes(), "tiles.json").expect("a document of ours");
    assert_eq!(tileset, again);
    let tile = TileCoord::new(17, 116_415, 51_623).expect("a tile");
    let layers = tileset.voxatlas.iter().flat_map(|object| &object.layers).map(|layer| layer.layer).chain([0, 1]);
    for layer in layers {
        let key = RegionKey::new(tile, layer);
        assert_eq!(tileset.path_of(key), again.path_of(key));
    }
});
