use std::path::{Path, PathBuf};

use voxatlas::geo::TileCoord;
use voxatlas::limits::ZOOM_FULL;

use super::*;
use crate::real_data::real_data;
use crate::terrain::{Elevation as _, HeightTile, Imagery as _};

const BUDGET: u64 = 16 << 20;

fn tile(text: &str) -> TileCoord {
    text.parse().unwrap()
}

fn png(side: u32, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_source_gamma(png::ScaledFloat::new(1.0));
    let pixels: Vec<u8> = (0..side * side).flat_map(|idx| pixel(idx % side, idx / side)).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// A height in whole metres, as Terrarium writes it.
fn terrarium(height_m: i32) -> [u8; 3] {
    let whole = height_m + 32_768;
    [(whole >> 8) as u8, whole as u8, 0]
}

/// A folder of files, each by its path.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn open(path: &Path, encoding: Option<TerrainEncoding>, tile: Option<TileCoord>) -> Result<TerrainTiles, String> {
    TerrainTiles::open(path, encoding, tile, BUDGET).map_err(|error| error.to_string())
}

#[test]
fn addresses_stand_in_names() {
    for (name, expected) in [
        ("gsi-dem-z8-x229-y94.png", Some("8/229/94")),
        ("8_229_94.webp", Some("8/229/94")),
        ("Z8.X229.Y94.PNG", Some("8/229/94")),
        ("fuji.png", None),
        ("8-256-0.png", None),
        ("99-1-1.png", None),
        ("y8-z229-x94.png", None),
    ] {
        assert_eq!(tile_in_name(Path::new(name)), expected.map(tile), "{name}");
    }
}

#[test]
fn heights_cross_the_borders_of_tiles() {
    // A slope of 1 m a pixel to the east over two tiles of zoom 17, one pixel a voxel.
    let files = [0, 1].map(|dx| png(256, |x, _| terrarium((x + 256 * dx) as i32)));
    let folder = folder(&[("17/500/600.png", &files[0]), ("17/501/600.png", &files[1]), ("17/502/600.png", b"")]);
    let tiles = open(folder.path(), None, None).unwrap();
    assert_eq!(tiles.encoding(), Some(TerrainEncoding::Terrarium), "told by the pixels");
    let west = tiles.tile(tile("17/500/600")).unwrap().unwrap();
    assert_eq!((west.at(0, 0), west.at(255, 9)), (Some(0.0), Some(255.0)));
    assert!(tiles.tile(tile("17/502/600")).unwrap().is_none(), "an empty file is no tile");
    assert!(tiles.tile(tile("17/500/601")).unwrap().is_none());
    assert_eq!(tiles.extent(), [128_000.0, 153_600.0, 128_768.0, 153_856.0]);
}

#[test]
fn coarse_tiles_are_sampled_between_their_pixels() {
    let file = png(256, |x, _| terrarium(4 * x as i32));
    let folder = folder(&[("15/100/100.png", &file)]);
    let tiles = open(folder.path(), Some(TerrainEncoding::Terrarium), None).unwrap();
    // Voxels are a quarter of a pixel: 1 m a voxel; the first pixel's centre lies two voxels in.
    let second = tiles.tile(tile("17/401/400")).unwrap().unwrap();
    for x in 0..256u16 {
        assert_eq!(second.at(usize::from(x), 7), Some(f32::from(256 + x) - 1.5), "{x}");
    }
    let first = tiles.tile(tile("17/400/400")).unwrap().unwrap();
    assert_eq!((first.at(0, 0), first.at(2, 0)), (Some(0.0), Some(0.5)), "flat to the edge");
}

#[test]
fn finer_tiles_go_before_coarser_ones_where_they_are() {
    let (coarse, fine) = (png(256, |_, _| terrarium(10)), png(512, |_, _| terrarium(20)));
    let folder = folder(&[("14/50/60.png", &coarse), ("16/200/240.png", &fine)]);
    let tiles = open(folder.path(), Some(TerrainEncoding::Terrarium), None).unwrap();
    assert_eq!(tiles.tile(tile("17/400/480")).unwrap().unwrap().at(9, 9), Some(20.0));
    assert_eq!(tiles.tile(tile("17/404/480")).unwrap().unwrap().at(9, 9), Some(10.0));
}

#[test]
fn a_broken_tile_is_an_error_for_those_that_need_it() {
    let file = png(256, |_, _| terrarium(10));
    // The last is the one that is looked at first.
    let last: (&str, &[u8]) = ("16/9/0.png", b"<html>");
    let folder = folder(&[("16/1/0.png", &file), ("16/2/0.png", &file[..400]), ("16/5/0.png", &file), last]);
    let tiles = open(folder.path(), Some(TerrainEncoding::Terrarium), None).unwrap();
    let outcome = |x: u32| tiles.tile(TileCoord::new(ZOOM_FULL, x, 0).unwrap());
    assert!(outcome(2).is_ok());
    assert!(outcome(10).is_ok());
    for x in [3, 4, 5] {
        // Tile 3 touches the broken one: its last pixels lie between both.
        let error = outcome(x).unwrap_err().to_string();
        assert!(error.contains("16/2/0.png: malformed PNG: "), "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_remedy() {
    let (plain, oblong) = (png(8, |_, _| [1, 140, 0]), b"GIF89a".as_slice());
    let folder = folder(&[
        ("fuji.png", &plain),
        ("tiles/12/7/8.png", oblong),
        ("text-3-1-1.txt", b"1,2"),
        ("empty/readme.md", b""),
        ("plain/3/1/1.png", &plain),
    ]);
    for (path, expected) in [
        (
            "fuji.png",
            "a tile without a place: expected its address in its name, such as z8-x229-y94.png, or --tile z/x/y",
        ),
        ("tiles", "no picture: expected a PNG, JPEG or WebP file"),
        ("text-3-1-1.txt", "line 1: 2 values, expected 256"),
        ("empty", "no tile found: expected {z}/{x}/{y}.png, .webp, .txt, .csv"),
        (
            "plain",
            "heights in an encoding that neither path nor pixels tell: expected --terrain-encoding terrarium, mapbox or gsi",
        ),
    ] {
        let error = open(&folder.path().join(path), None, None).err().unwrap();
        assert!(error.ends_with(expected), "{path}: {error}");
    }
    assert!(open(&folder.path().join("nothing"), None, None).err().unwrap().contains("cannot be read"));
}

#[test]
fn pictures_finer_than_the_voxels_are_averaged() {
    // Zoom 18: two by two pixels a voxel, black and white in columns.
    let stripes = png(256, |x, _| if x % 2 == 0 { [0; 3] } else { [255; 3] });
    let folder = folder(&[("18/800/900.png", &stripes)]);
    let tiles = MapTiles::open(folder.path(), None, BUDGET).unwrap();
    let colours = tiles.tile(tile("17/400/450")).unwrap().unwrap();
    assert_eq!(colours.at(5, 5), Some([128; 3]));
    assert_eq!(colours.at(128, 5), None, "the tile covers a quarter");
    assert!(tiles.tile(tile("17/401/450")).unwrap().is_none());
}

#[test]
fn pictures_coarser_than_the_voxels_keep_their_colours() {
    let checks = png(256, |x, y| if (x + y) % 2 == 0 { [9, 8, 7] } else { [200, 100, 50] });
    let folder = folder(&[("16/200/225.png", &checks)]);
    let tiles = MapTiles::open(folder.path(), None, BUDGET).unwrap();
    let colours = tiles.tile(tile("17/400/450")).unwrap().unwrap();
    for (x, z, expected) in [(0, 0, [9, 8, 7]), (1, 1, [9, 8, 7]), (2, 1, [200, 100, 50]), (255, 255, [9, 8, 7])] {
        assert_eq!(colours.at(x, z), Some(expected), "{x} {z}");
    }
}

fn dem_tiles(test: &str) -> Option<PathBuf> {
    Some(real_data(test)?.join("dem_tiles"))
}

fn heights(tiles: &TerrainTiles, z17: &str) -> HeightTile {
    tiles.tile(tile(z17)).unwrap().unwrap_or_else(HeightTile::empty)
}

#[test]
fn gsi_writes_the_same_heights_as_picture_and_as_text() {
    let Some(data) = dem_tiles("terrain::gsi_writes_the_same_heights_as_picture_and_as_text") else { return };
    let picture = open(&data.join("gsi-dem-z8-x229-y94.png"), None, None).unwrap();
    let text = open(&data.join("gsi-dem-z8-x229-y94.txt"), None, None).unwrap();
    assert_eq!((picture.encoding(), text.encoding()), (Some(TerrainEncoding::Gsi), Some(TerrainEncoding::Gsi)));
    assert_eq!(picture.extent(), text.extent());
    // Each pixel is two z17 tiles wide: some tiles all over.
    let mut n_data = 0;
    for (x, y) in (0..10).flat_map(|y| (0..10).map(move |x| (x, y))) {
        let z17 = format!("17/{}/{}", 229 * 512 + 51 * x + 3, 94 * 512 + 51 * y + 5);
        let (a, b) = (heights(&picture, &z17), heights(&text, &z17));
        for (a, b) in a.heights_m().iter().zip(b.heights_m()) {
            assert_eq!(a.is_nan(), b.is_nan(), "{z17}");
            assert!(a.is_nan() || (a - b).abs() < 0.0101, "{z17}: {a} and {b}");
            n_data += usize::from(!a.is_nan());
        }
    }
    assert!(n_data > 1 << 21, "{n_data}");
}

#[test]
fn fuji_is_as_high_as_it_is() {
    let Some(data) = dem_tiles("terrain::fuji_is_as_high_as_it_is") else { return };
    let path = data.join("fuji.png");
    let error = open(&path, None, Some(tile("10/906/404"))).err().unwrap();
    assert!(error.ends_with("expected --terrain-encoding terrarium, mapbox or gsi"), "{error}");
    let fuji = open(&path, Some(TerrainEncoding::Mapbox), Some(tile("10/906/404"))).unwrap();
    // The highest pixel, by itself: one is 64 voxels wide, and its centre the corner of four.
    let picture = Picture::decode(&std::fs::read(&path).unwrap()).unwrap();
    let height_m = |pixel: [u8; 4]| TerrainEncoding::Mapbox.height_m(pixel).unwrap();
    let highest = picture.pixels().map(height_m).enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!((3740.0..=3751.5).contains(&highest.1), "{highest:?}");
    let voxel = [906 * 512 + highest.0 as u32 % 512, 404 * 512 + highest.0 as u32 / 512].map(|pixel| pixel * 64 + 32);
    let tile = heights(&fuji, &format!("17/{}/{}", voxel[0] / 256, voxel[1] / 256));
    let found = tile.at((voxel[0] % 256) as usize, (voxel[1] % 256) as usize).unwrap();
    assert!((found - highest.1).abs() < 3.0, "{found} m, expected {} m", highest.1);
}
