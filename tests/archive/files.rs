//! Archives for the tests: one as a writer makes it, and ones that no writer would make.

use std::io::Cursor;

use pmtiles::{PmTilesWriter, TileCoord as PmTile, TileId, TileType};
use voxatlas::atlas::Tileset;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::source::archive::{ArchiveDocument, LayerFile};

/// The first tile that the archives hold.
const FIRST: [u32; 2] = [116_415, 51_623];

/// The `n`-th region, in rows of 128.
pub(crate) fn key(n: u32, layer: i32) -> RegionKey {
    RegionKey::new(TileCoord::new(17, FIRST[0] + n % 128, FIRST[1] + n / 128).unwrap(), layer)
}

/// What begins like an atlas and is as long as it says; nobody decodes it here.
pub(crate) fn atlas(x: u32, version: &str) -> Vec<u8> {
    let form = [b"WEBP".as_slice(), format!("{version} {x}").as_bytes()].concat();
    [b"RIFF", (form.len() as u32).to_le_bytes().as_slice(), &form].concat()
}

/// The document of layers 0 and 1.
pub(crate) fn tiles_json(attribution: &str) -> String {
    let mut tileset = Tileset::of_template("{z}/{x}/{y}.l{layer}.png").unwrap();
    tileset.attribution = Some(attribution.to_owned());
    tileset.to_json()
}

/// The metadata of the archive of a layer, which names `city.pmtiles` and `city.l1.pmtiles`.
pub(crate) fn metadata(layer: i32, attribution: &str) -> String {
    let files = [(0, "city.pmtiles"), (1, "city.l1.pmtiles")];
    let files = files.map(|(layer, file)| LayerFile { layer, file: file.to_owned() });
    ArchiveDocument::new(tiles_json(attribution).as_bytes(), "tiles.json", layer, files.into()).unwrap().to_metadata()
}

/// An archive of the first `n_tiles` tiles, as the writer makes it.
pub(crate) fn city(n_tiles: u32, version: &str, metadata: &str) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer =
        PmTilesWriter::new(TileType::Png).metadata(metadata).min_zoom(17).max_zoom(17).create(&mut bytes).unwrap();
    let mut xs: Vec<u32> = (0..n_tiles).collect();
    xs.sort_by_key(|&x| id(key(x, 0).tile));
    for x in xs {
        let tile = key(x, 0).tile;
        writer.add_tile(PmTile::new(tile.zoom(), tile.x(), tile.y()).unwrap(), &atlas(x, version)).unwrap();
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}

/// So many tiles that the root directory holds leaf directories alone.
pub(crate) const N_MANY: u32 = 17_000;

pub(crate) fn id(tile: TileCoord) -> u64 {
    TileId::from(PmTile::new(tile.zoom(), tile.x(), tile.y()).unwrap()).value()
}

/// An archive that is written byte by byte, so that it can say anything. Nothing in it is packed.
#[derive(Default)]
pub(crate) struct Raw {
    /// (tile id, run, length, offset); a run of 0 is a leaf directory.
    pub(crate) root: Vec<(u64, u64, u64, u64)>,
    pub(crate) leaves: Vec<u8>,
    pub(crate) metadata: String,
    pub(crate) data: Vec<u8>,
}

impl Raw {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let root = directory(&self.root);
        let mut bytes = b"PMTiles\x03".to_vec();
        let mut at = 127u64;
        for section in [root.as_slice(), self.metadata.as_bytes(), &self.leaves, &self.data] {
            bytes.extend_from_slice(&at.to_le_bytes());
            bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
            at += section.len() as u64;
        }
        // Three counts that are unknown; clustered, nothing packed, nothing packed, PNG; zooms.
        bytes.extend_from_slice(&[0; 24]);
        bytes.extend_from_slice(&[1, 1, 1, 2, 17, 17]);
        bytes.resize(127, 0);
        [bytes, root, self.metadata.clone().into_bytes(), self.leaves.clone(), self.data.clone()].concat()
    }
}

/// A directory, every offset in full.
pub(crate) fn directory(entries: &[(u64, u64, u64, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |mut number: u64| {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    };
    put(entries.len() as u64);
    let mut last = 0;
    for &(tile_id, ..) in entries {
        put(tile_id - last);
        last = tile_id;
    }
    for &(_, run, ..) in entries {
        put(run);
    }
    for &(.., length, _) in entries {
        put(length);
    }
    for &(.., offset) in entries {
        put(offset + 1);
    }
    bytes
}
