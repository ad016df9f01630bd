use pmtiles::{PmTilesWriter, TileType};
use proptest::prelude::*;

use super::super::{MvtDir, ReadOptions};
use super::*;
use crate::real_data::real_data;

fn selection() -> LayerSelection {
    LayerSelection {
        layers: vec!["bldg".to_owned()],
        read: ReadOptions { height_fields: vec!["z".to_owned()], ..ReadOptions::default() },
    }
}

/// A tile of one square, in the protobuf of MVT: layer `bldg`, attribute `z` of 12.
fn tile_bytes() -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let geometry = [9, 50, 34, 26, 100, 0, 0, 100, 99, 0, 15];
    let feature = [&[8, 7, 24, 3][..], &field(2, &[0, 0]), &field(4, &geometry)].concat();
    let value = [&[3 << 3 | 1][..], &12_f64.to_le_bytes()].concat();
    let layer = [field(1, b"bldg"), field(2, &feature), field(3, b"z"), field(4, &value), vec![120, 2]].concat();
    field(3, &layer)
}

/// Packs tiles into an archive; their content is packed where `is_packed` says so.
fn pack(path: &Path, kind: TileType, is_packed: bool, tiles: &[(TileCoord, Vec<u8>)]) {
    let mut writer = PmTilesWriter::new(kind);
    if !is_packed {
        writer = writer.tile_compression(pmtiles::Compression::None);
    }
    let mut stream = writer.create(File::create(path).unwrap()).unwrap();
    for (tile, bytes) in tiles {
        let tile = pmtiles::TileCoord::new(tile.zoom(), tile.x(), tile.y()).unwrap();
        stream.add_tile(tile, bytes).unwrap();
    }
    stream.finalize().unwrap();
}

fn small_archive(is_packed: bool) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.pmtiles");
    let coarse = TileCoord::new(14, 3, 5).unwrap();
    let tiles = [(3, 5), (4, 5), (4, 9)].map(|(x, y)| (TileCoord::new(16, x, y).unwrap(), tile_bytes()));
    let mut all = vec![(coarse, tile_bytes())];
    all.extend(tiles);
    all.sort_by_key(|(tile, _)| {
        TileId::from(pmtiles::TileCoord::new(tile.zoom(), tile.x(), tile.y()).unwrap()).value()
    });
    pack(&path, TileType::Mvt, is_packed, &all);
    (folder, path)
}

#[test]
fn the_bytes_that_are_told_are_all_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.pmtiles");
    let tile = |n: u32| TileCoord::new(16, 64 + n, 64).unwrap();
    // Tiles of a content of their own, far from each other in the file.
    let padded = |n: u32| {
        let noise = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ n as u8);
        let mut bytes = tile_bytes();
        // A field that no reader knows.
        let mut length = noise.len();
        bytes.extend([0xFA, 0x01]);
        while length >= 128 {
            bytes.push(length as u8 | 128);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(noise);
        bytes
    };
    let mut all: Vec<_> = (0..8).map(|n| (tile(n), padded(n))).collect();
    all.sort_by_key(|(tile, _)| TileId::from(pmtiles::TileCoord::new(16, tile.x(), tile.y()).unwrap()).value());
    pack(&path, TileType::Mvt, false, &all);
    let archive = MvtArchive::open(&path, 0, selection()).unwrap();
    let wanted = BTreeSet::from([tile(2), tile(5), TileCoord::new(16, 9, 9).unwrap()]);
    let ranges = archive.bytes(&wanted).unwrap();
    let n_kept = super::super::byte_ranges::keep_only(&path, &ranges);
    assert!((200_000..450_000).contains(&n_kept), "{n_kept}");
    let archive = MvtArchive::open(&path, 0, selection()).unwrap();
    assert!(wanted.iter().all(|&wanted| archive.read(wanted).is_ok()));
    assert!(archive.read(tile(0)).is_err() || archive.read(tile(7)).is_err());
}

#[test]
fn the_deepest_zoom_is_listed_and_read() {
    for is_packed in [true, false] {
        let (_folder, path) = small_archive(is_packed);
        let archive = MvtArchive::open(&path, 2, selection()).unwrap();
        let tile = |x, y| TileCoord::new(16, x, y).unwrap();
        assert_eq!(archive.zoom(), 16);
        assert_eq!(archive.tiles(), [tile(3, 5), tile(4, 5), tile(4, 9)]);
        assert_eq!(archive.row(5), [tile(3, 5), tile(4, 5)]);
        let features = archive.read(tile(4, 9)).unwrap();
        assert_eq!((features.len(), features[0].height.metres), (1, 12.0));
        assert!(archive.read(tile(9, 9)).unwrap().is_empty());
        assert!(archive.read(TileCoord::new(14, 3, 5).unwrap()).unwrap().is_empty());
    }
}

#[test]
fn other_archives_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.pmtiles");
    let fails = |expected: &str| {
        let error = MvtArchive::open(&path, 0, selection()).unwrap_err().to_string();
        assert!(error.contains("city.pmtiles") && error.contains(expected), "{error}");
    };
    pack(&path, TileType::Png, false, &[(TileCoord::new(16, 1, 1).unwrap(), vec![1])]);
    fails("an archive of PNG tiles: expected vector tiles");
    pack(&path, TileType::Mvt, false, &[(TileCoord::new(8, 1, 1).unwrap(), tile_bytes())]);
    fails("found only zoom 8");
    std::fs::write(&path, b"PMTiles").unwrap();
    fails("shorter than the header");
    std::fs::write(&path, [0; 200]).unwrap();
    fails("no PMTiles archive");
}

#[test]
fn an_archive_that_is_cut_off_is_an_error_of_its_tiles() {
    let (_folder, path) = small_archive(false);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let archive = MvtArchive::open(&path, 0, selection()).unwrap();
    let error = archive.read(TileCoord::new(16, 4, 9).unwrap()).unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
}

#[test]
fn runs_that_claim_the_world_are_refused() {
    let entry = Entry { tile_id: 0, run: u64::MAX, offset: 0, length: 1 };
    let place = Place { offset: 0, length: 1 };
    assert!(tiles_of(&[entry], 16, place).unwrap_err().contains("4294967296 tiles"));
    assert_eq!(entry.tiles_of(0), Some(0..1));
    assert_eq!(entry.tiles_of(1), Some(1..5));
}

#[test]
fn the_tokyo_strip_is_the_same_from_an_archive() {
    let Some(data) = real_data("input::mvt_archive::the_tokyo_strip_is_the_same_from_an_archive") else { return };
    let dir = MvtDir::open(&data.join("tokyo_plateau_mvt"), 0, selection()).unwrap();
    let mut tiles: Vec<_> = dir
        .tiles()
        .into_iter()
        .map(|tile| {
            let path = data.join(format!("tokyo_plateau_mvt/16/{}/{}.pbf", tile.x(), tile.y()));
            (tile, std::fs::read(path).unwrap())
        })
        .collect();
    tiles.sort_by_key(|(tile, _)| {
        TileId::from(pmtiles::TileCoord::new(tile.zoom(), tile.x(), tile.y()).unwrap()).value()
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokyo.pmtiles");
    pack(&path, TileType::Mvt, true, &tiles);
    let archive = MvtArchive::open(&path, 0, selection()).unwrap();
    assert_eq!((archive.zoom(), archive.tiles()), (16, dir.tiles()));
    let mut n_features = 0;
    for tile in archive.tiles() {
        let features = archive.read(tile).unwrap();
        assert_eq!(features, dir.read(tile).unwrap(), "{tile}");
        n_features += features.len();
    }
    assert_eq!(n_features, 341_895);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_damage_panics(at in 0..400usize, with in any::<[u8; 2]>()) {
        let (_folder, path) = small_archive(false);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at % (bytes.len() - 2);
        bytes[at..at + 2].copy_from_slice(&with);
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(archive) = MvtArchive::open(&path, 0, selection()) {
            for tile in archive.tiles().into_iter().take(100) {
                let _ = archive.read(tile);
            }
        }
    }
}
