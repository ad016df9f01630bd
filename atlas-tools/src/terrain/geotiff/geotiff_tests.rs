use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;

use voxatlas::geo::mercator::EQUATOR_M;
use voxatlas::geo::{LonLat, TileCoord, WORLD_VOXELS};

use super::*;
use crate::crs::{Axis, CrsOptions, FOOT_M};
use crate::real_data::real_data;
use crate::terrain::{ColourTile, Elevation as _, HeightTile, Imagery as _};

const BUDGET: u64 = 1 << 20;

/// Writes TIFF files of one picture, as the specification has them.
#[derive(Clone)]
struct Tiff {
    is_big_endian: bool,
    has_long_offsets: bool,
    /// Tiles of this edge; strips of five rows where there are none.
    tile: Option<usize>,
    is_deflated: bool,
    predictor: u16,
    /// Bits, the format and the number of samples, and what they mean.
    samples: (u16, u16, u16, u16),
    size: [usize; 2],
    /// Chunks that are left out of the file.
    sparse: Vec<usize>,
    /// Further tags: doubles, shorts, text.
    doubles: Vec<(u16, Vec<f64>)>,
    shorts: Vec<(u16, Vec<u16>)>,
    text: Vec<(u16, String)>,
}

const FLOAT: (u16, u16, u16, u16) = (32, 3, 1, 1);
const INT16: (u16, u16, u16, u16) = (16, 2, 1, 1);

/// The length of a z17 voxel in Web Mercator.
const VOXEL_M: f64 = EQUATOR_M / WORLD_VOXELS as f64;

/// The tile that the fixtures begin in, at its corner.
const TILE: (u32, u32) = (116_415, 51_623);

fn tile(dx: i64, dz: i64) -> TileCoord {
    TileCoord::new(17, TILE.0, TILE.1).unwrap().offset_wrapped(dx, dz).unwrap()
}

impl Tiff {
    /// Pixels of so many voxels from the corner of the tile, in Web Mercator.
    fn new(samples: (u16, u16, u16, u16), size: [usize; 2], voxels: f64) -> Self {
        let metres = |tile: u32| f64::from(tile) * 256.0 * VOXEL_M - EQUATOR_M / 2.0;
        let tie = vec![0.0, 0.0, 0.0, metres(TILE.0), -metres(TILE.1), 0.0];
        Self {
            is_big_endian: false,
            has_long_offsets: false,
            tile: None,
            is_deflated: false,
            predictor: 1,
            samples,
            size,
            sparse: Vec::new(),
            doubles: vec![(33_550, vec![voxels * VOXEL_M, voxels * VOXEL_M, 0.0]), (33_922, tie)],
            shorts: vec![(34_735, vec![1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 3857])],
            text: Vec::new(),
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The file in a folder, with the samples of each pixel as little-endian bytes.
    fn write(&self, folder: &Path, sample: impl Fn(usize, usize, usize) -> Vec<u8>) -> PathBuf {
        let path = folder.join("raster.tif");
        std::fs::write(&path, self.bytes(sample)).unwrap();
        path
    }

    fn bytes(&self, sample: impl Fn(usize, usize, usize) -> Vec<u8>) -> Vec<u8> {
        let [width, height] = self.size;
        let [chunk_width, chunk_height] = self.tile.map_or([width, 5], |edge| [edge, edge]);
        let mut chunks = Vec::new();
        for top in (0..height).step_by(chunk_height) {
            for left in (0..width).step_by(chunk_width) {
                // Tiles are whole, strips end with the picture.
                let rows = if self.tile.is_some() { chunk_height } else { chunk_height.min(height - top) };
                let mut chunk = Vec::new();
                for y in top..top + rows {
                    let row = left..left + chunk_width;
                    chunk.extend(self.row(row.flat_map(|x| {
                        let of = |channel| sample(x.min(width - 1), y.min(height - 1), channel);
                        (0..usize::from(self.samples.2)).map(of).collect::<Vec<_>>()
                    })));
                }
                let is_left_out = self.sparse.contains(&chunks.len());
                chunks.push(if is_left_out { Vec::new() } else { self.packed(chunk) });
            }
        }
        let (bits, format, n_samples, photometric) = self.samples;
        let (offsets_tag, counts_tag) = if self.tile.is_some() { (324, 325) } else { (273, 279) };
        let mut shorts = self.shorts.clone();
        shorts.extend([
            (258, vec![bits; usize::from(n_samples)]),
            (259, vec![if self.is_deflated { 8 } else { 1 }]),
            (262, vec![photometric]),
            (277, vec![n_samples]),
            (317, vec![self.predictor]),
            (339, vec![format; usize::from(n_samples)]),
        ]);
        let mut longs = vec![(256, vec![width as u32]), (257, vec![height as u32])];
        match self.tile {
            Some(edge) => longs.extend([(322, vec![edge as u32]), (323, vec![edge as u32])]),
            None => longs.push((278, vec![5])),
        }
        if n_samples == 4 {
            shorts.push((338, vec![2]));
        }
        let mut file = self.head();
        let mut offsets = Vec::new();
        for chunk in &chunks {
            offsets.push(if chunk.is_empty() { 0 } else { file.len() as u32 });
            file.extend(chunk);
        }
        longs.extend([(offsets_tag, offsets), (counts_tag, chunks.iter().map(|chunk| chunk.len() as u32).collect())]);
        self.directory(file, &shorts, &longs)
    }

    fn head(&self) -> Vec<u8> {
        let mut file = if self.is_big_endian { b"MM".to_vec() } else { b"II".to_vec() };
        if self.has_long_offsets {
            file.extend([43u16, 8, 0].map(|number| self.short(number)).concat());
            file.extend([0; 8]);
        } else {
            file.extend(self.short(42));
            file.extend([0; 4]);
        }
        file
    }

    fn directory(&self, mut file: Vec<u8>, shorts: &[(u16, Vec<u16>)], longs: &[(u16, Vec<u32>)]) -> Vec<u8> {
        let mut entries: Vec<(u16, u16, usize, Vec<u8>)> = Vec::new();
        for (tag, values) in shorts {
            entries.push((*tag, 3, values.len(), values.iter().flat_map(|&value| self.short(value)).collect()));
        }
        for (tag, values) in longs {
            entries.push((*tag, 4, values.len(), values.iter().flat_map(|&value| self.long(value)).collect()));
        }
        for (tag, values) in &self.doubles {
            let bytes = values.iter().flat_map(|value| self.ordered(value.to_le_bytes().to_vec()));
            entries.push((*tag, 12, values.len(), bytes.collect()));
        }
        for (tag, text) in &self.text {
            entries.push((*tag, 2, text.len() + 1, [text.as_bytes(), &[0]].concat()));
        }
        entries.sort();
        let room = if self.has_long_offsets { 8 } else { 4 };
        for (_, _, _, bytes) in &mut entries {
            if bytes.len() > room {
                let at = file.len();
                file.extend(&*bytes);
                *bytes = self.offset(at);
            }
            bytes.resize(room, 0);
        }
        let at = self.offset(file.len());
        let place = if self.has_long_offsets { 8 } else { 4 };
        file[place..place + at.len()].copy_from_slice(&at);
        let count =
            |count: usize| if self.has_long_offsets { self.offset(count) } else { self.short(count as u16).to_vec() };
        file.extend(count(entries.len()));
        for (tag, kind, n, bytes) in entries {
            file.extend(self.short(tag));
            file.extend(self.short(kind));
            file.extend(self.offset(n));
            file.extend(bytes);
        }
        file.extend(self.offset(0));
        file
    }

    fn short(&self, number: u16) -> [u8; 2] {
        if self.is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn long(&self, number: u32) -> Vec<u8> {
        self.ordered(number.to_le_bytes().to_vec())
    }

    fn offset(&self, number: usize) -> Vec<u8> {
        if self.has_long_offsets {
            self.ordered((number as u64).to_le_bytes().to_vec())
        } else {
            self.long(number as u32)
        }
    }

    fn ordered(&self, mut little: Vec<u8>) -> Vec<u8> {
        if self.is_big_endian {
            little.reverse();
        }
        little
    }

    /// A row of samples, predicted and in the file's order.
    fn row(&self, samples: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
        let samples: Vec<Vec<u8>> = samples.collect();
        match self.predictor {
            2 => {
                let of = |sample: &Vec<u8>| i16::from_le_bytes([sample[0], sample[1]]);
                let mut before = 0i16;
                let mut row = Vec::new();
                for sample in &samples {
                    row.extend(self.ordered(of(sample).wrapping_sub(before).to_le_bytes().to_vec()));
                    before = of(sample);
                }
                row
            }
            3 => {
                // All first bytes, then all second ones, the most significant first; then differences.
                let plane = |byte: usize| samples.iter().map(move |sample| sample[3 - byte]);
                let planes: Vec<u8> = (0..4).flat_map(plane).collect();
                let before = std::iter::once(0).chain(planes.iter().copied());
                planes.iter().zip(before).map(|(byte, before)| byte.wrapping_sub(before)).collect()
            }
            _ => samples.into_iter().flat_map(|sample| self.ordered(sample)).collect(),
        }
    }

    fn packed(&self, chunk: Vec<u8>) -> Vec<u8> {
        if !self.is_deflated {
            return chunk;
        }
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&chunk).unwrap();
        packed.finish().unwrap()
    }
}

fn open(path: &Path) -> Result<GeoTiffElevation, String> {
    GeoTiffElevation::open(path, &CrsOptions::default(), BUDGET).map_err(|error| error.to_string())
}

fn heights(path: &Path, dx: i64, dz: i64) -> HeightTile {
    open(path).unwrap().tile(tile(dx, dz)).unwrap().unwrap_or_else(HeightTile::empty)
}

/// A slope: one for each pixel to the east, ten to the south.
fn slope(x: usize, y: usize) -> f32 {
    x as f32 + 10.0 * y as f32
}

fn float(value: impl Fn(usize, usize) -> f32) -> impl Fn(usize, usize, usize) -> Vec<u8> {
    move |x, y, _| value(x, y).to_le_bytes().to_vec()
}

#[test]
fn every_way_of_writing_gives_the_same_heights() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, tiff: Tiff| {
        let path = if tiff.samples == INT16 {
            tiff.write(folder.path(), |x, y, _| (slope(x, y) as i16).to_le_bytes().to_vec())
        } else if tiff.samples.0 == 64 {
            tiff.write(folder.path(), |x, y, _| f64::from(slope(x, y)).to_le_bytes().to_vec())
        } else {
            tiff.write(folder.path(), float(slope))
        };
        // A pixel is four voxels: voxel x lies (x + 0.5) / 4 - 0.5 pixels from the first centre.
        let tile = heights(&path, 0, 0);
        for (x, z) in [(2, 2), (3, 2), (77, 129), (100, 9), (145, 65)] {
            let at = |voxel: usize| (voxel as f32 + 0.5) / 4.0 - 0.5;
            let expected = at(x) + 10.0 * at(z);
            let found = tile.at(x, z).unwrap();
            assert!((found - expected).abs() < 0.001, "{name}: {found} at {x}, {z}, expected {expected}");
        }
        // The picture is 37 by 33 pixels: 148 by 132 voxels.
        assert_eq!(
            [(147, 0), (148, 0), (0, 131), (0, 132)].map(|(x, z)| tile.at(x, z).is_some()),
            [true, false, true, false]
        );
    };
    let plain = Tiff::new(FLOAT, [37, 33], 4.0);
    check("strips", plain.clone());
    check("big-endian", plain.clone().set(|tiff| tiff.is_big_endian = true));
    check("BigTIFF", plain.clone().set(|tiff| tiff.has_long_offsets = true));
    check("tiles", plain.clone().set(|tiff| tiff.tile = Some(16)));
    check("deflate", plain.clone().set(|tiff| tiff.is_deflated = true));
    check("doubles", plain.clone().set(|tiff| tiff.samples = (64, 3, 1, 1)));
    check("whole numbers", plain.clone().set(|tiff| tiff.samples = INT16));
    check("predictor 2", plain.clone().set(|tiff| (tiff.samples, tiff.predictor, tiff.tile) = (INT16, 2, Some(32))));
    check("predictor 3", plain.clone().set(|tiff| (tiff.predictor, tiff.is_deflated) = (3, true)));
    check(
        "all at once",
        plain.set(|tiff| {
            (tiff.is_big_endian, tiff.has_long_offsets, tiff.tile) = (true, true, Some(16));
            (tiff.samples, tiff.predictor, tiff.is_deflated) = (INT16, 2, true);
        }),
    );
}

#[test]
fn pixels_that_are_points_lie_half_a_pixel_to_the_north_west() {
    let folder = tempfile::tempdir().unwrap();
    let tiff = Tiff::new(FLOAT, [70, 70], 4.0).set(|tiff| {
        tiff.shorts = vec![(34_735, vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 2, 3072, 0, 1, 3857])];
    });
    let path = tiff.write(folder.path(), float(slope));
    let found = heights(&path, 0, 0).at(40, 0).unwrap();
    assert!((found - (40.5 / 4.0 + 10.0 * 0.5 / 4.0)).abs() < 0.001, "{found}");
}

#[test]
fn no_data_is_left_out_and_values_are_scaled() {
    let folder = tempfile::tempdir().unwrap();
    let notes = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.1</Item>\
                 <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">100</Item>\
                 <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">foot</Item></GDALMetadata>";
    let tiff = Tiff::new(INT16, [8, 8], 1.0).set(|tiff| {
        tiff.text = vec![(42_113, "-9999".to_owned()), (42_112, notes.to_owned())];
    });
    let value = |x: usize, y: usize| if (x, y) == (3, 3) { -9999i16 } else { 50 };
    let path = tiff.write(folder.path(), |x, y, _| value(x, y).to_le_bytes().to_vec());
    let tile = heights(&path, 0, 0);
    assert_eq!(tile.at(3, 3), None);
    for (x, z) in [(2, 3), (4, 4), (0, 7)] {
        let found = f64::from(tile.at(x, z).unwrap());
        assert!((found - 105.0 * FOOT_M).abs() < 1e-4, "{found}: neighbours do not count what is no data");
    }
    // A float's own largest number, written in decimals, and what no file names.
    let marked =
        Tiff::new(FLOAT, [2, 1], 1.0).set(|tiff| tiff.text = vec![(42_113, "-3.40282346638529e+38".to_owned())]);
    let path = marked.write(folder.path(), float(|x, _| if x == 0 { f32::MIN } else { 1e30 }));
    assert!(open(&path).unwrap().tile(tile_0()).unwrap().is_none());
}

fn tile_0() -> TileCoord {
    tile(0, 0)
}

#[test]
fn chunks_that_are_left_out_hold_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let tiff = Tiff::new(FLOAT, [32, 16], 1.0).set(|tiff| (tiff.tile, tiff.sparse) = (Some(16), vec![1]));
    let path = tiff.write(folder.path(), float(|_, _| 7.0));
    let tile = heights(&path, 0, 0);
    assert_eq!([tile.at(15, 5), tile.at(16, 5), tile.at(5, 16)], [Some(7.0), None, None]);
}

#[test]
fn rasters_in_other_projections_lie_where_they_are() {
    // A square of 4 km round Tokyo Tower in JGD2011 zone IX, 40 m a pixel; the value is the easting.
    let folder = tempfile::tempdir().unwrap();
    let tower = LonLat::new(139.745_433, 35.658_581).unwrap().to_world();
    let placer = CrsOptions::default().placer(crate::crs::AxisRule::Traditional, Some("EPSG:6677"), None).unwrap();
    let [easting, northing] = placer.unplace(tower[0], tower[1]).unwrap();
    let tie = vec![0.0, 0.0, 0.0, easting - 2000.0, northing + 2000.0, 0.0];
    let tiff = Tiff::new(FLOAT, [100, 100], 1.0).set(|tiff| {
        tiff.doubles = vec![(33_550, vec![40.0, 40.0, 0.0]), (33_922, tie)];
        tiff.shorts = vec![(34_735, vec![1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 6677])];
    });
    let path = tiff.write(folder.path(), float(|x, _| x as f32 * 40.0 - 1980.0));
    let elevation = open(&path).unwrap();
    assert!(elevation.crs().starts_with("EPSG:6677"), "{}", elevation.crs());
    let tile = TileCoord::new(17, (tower[0] / 256.0) as u32, (tower[1] / 256.0) as u32).unwrap();
    let (x, z) = ((tower[0] % 256.0) as usize, (tower[1] % 256.0) as usize);
    let found = elevation.tile(tile).unwrap().unwrap().at(x, z).unwrap();
    assert!(found.abs() < 1.0, "{found} m from the tower");
    let [west, north, east, south] = elevation.extent();
    let metres = 0.9704;
    assert!(((east - west) * metres - 4000.0).abs() < 30.0 && ((south - north) * metres - 4000.0).abs() < 30.0);
    assert!(elevation.tile(tile.offset_wrapped(20, 0).unwrap()).unwrap().is_none());
}

#[test]
fn what_cannot_be_read_is_told_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let plain = Tiff::new(FLOAT, [8, 8], 1.0);
    let error = |tiff: &Tiff| {
        let path = tiff.write(folder.path(), float(slope));
        open(&path).err().unwrap()
    };
    let unplaced = plain.clone().set(|tiff| tiff.doubles.clear());
    assert!(error(&unplaced).contains("expected ModelPixelScale with ModelTiepoint"), "{}", error(&unplaced));
    let without_crs = plain.clone().set(|tiff| tiff.shorts.clear());
    assert!(error(&without_crs).contains("expected --crs"), "{}", error(&without_crs));
    let path = without_crs.write(folder.path(), float(slope));
    let given = CrsOptions { crs: Some("EPSG:3857".to_owned()), axis: Axis::Auto, ..CrsOptions::default() };
    assert!(GeoTiffElevation::open(&path, &given, BUDGET).is_ok());
    std::fs::write(&path, b"no picture").unwrap();
    assert!(open(&path).err().unwrap().contains("no TIFF that can be read"));
    assert!(open(&folder.path().join("nothing.tif")).err().unwrap().contains("cannot be read"));
    let imagery = GeoTiffImagery::open(&plain.write(folder.path(), float(slope)), &CrsOptions::default(), BUDGET);
    assert!(imagery.err().unwrap().to_string().contains("expected 8 bits of grey, RGB, RGBA, YCbCr or a palette"));
}

#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let tiff = Tiff::new(FLOAT, [20, 20], 1.0).set(|tiff| (tiff.tile, tiff.is_deflated) = (Some(16), true));
    let bytes = tiff.bytes(float(slope));
    let path = folder.path().join("damaged.tif");
    for (at, xor) in (0..bytes.len()).step_by(3).flat_map(|at| [(at, 0xFF), (at, 1)]) {
        let mut damaged = bytes.clone();
        damaged[at] ^= xor;
        std::fs::write(&path, &damaged).unwrap();
        let _ = open(&path).and_then(|elevation| elevation.tile(tile_0()).map_err(|error| error.to_string()));
        std::fs::write(&path, &bytes[..at]).unwrap();
        let _ = open(&path).and_then(|elevation| elevation.tile(tile_0()).map_err(|error| error.to_string()));
    }
}

fn colours(tiff: &Tiff, sample: impl Fn(usize, usize, usize) -> Vec<u8>) -> ColourTile {
    let folder = tempfile::tempdir().unwrap();
    let path = tiff.write(folder.path(), sample);
    let imagery = GeoTiffImagery::open(&path, &CrsOptions::default(), BUDGET).unwrap();
    imagery.tile(tile_0()).unwrap().unwrap()
}

#[test]
fn colours_of_every_kind_are_read() {
    let at = |x: usize, y: usize| (x * 8 + y) as u8;
    let rgb = colours(&Tiff::new((8, 1, 3, 2), [8, 8], 1.0), |x, y, channel| vec![at(x, y) + 64 * channel as u8]);
    assert_eq!((rgb.at(2, 3), rgb.at(8, 0)), (Some([19, 83, 147]), None));
    let grey = colours(&Tiff::new((8, 1, 1, 1), [8, 8], 2.0), |x, y, _| vec![at(x, y)]);
    assert_eq!((grey.at(4, 6), grey.at(5, 7)), (Some([19; 3]), Some([19; 3])), "coarser: the nearest");
    let alpha = |x: usize, channel: usize| if channel == 3 { vec![if x < 4 { 0 } else { 255 }] } else { vec![9] };
    let rgba = colours(&Tiff::new((8, 1, 4, 2), [8, 8], 1.0), |x, _, channel| alpha(x, channel));
    assert_eq!((rgba.at(3, 0), rgba.at(4, 0)), (None, Some([9; 3])));
    for has_long_offsets in [false, true] {
        // Colour n is (n, 2 n, 255 - n), in 16 bits.
        let wide = |value: usize| (value as u16) << 8 | 0x55;
        let map = (0..256).map(wide).chain((0..256).map(|n| wide(2 * n % 256))).chain((0..256).map(|n| wide(255 - n)));
        let tiff = Tiff::new((8, 1, 1, 3), [8, 8], 1.0).set(|tiff| {
            tiff.shorts.push((320, map.collect()));
            (tiff.has_long_offsets, tiff.is_big_endian) = (has_long_offsets, has_long_offsets);
        });
        assert_eq!(colours(&tiff, |x, y, _| vec![at(x, y)]).at(2, 3), Some([19, 38, 236]));
    }
}

#[test]
fn colours_finer_than_the_voxels_are_averaged() {
    let tiff = Tiff::new((8, 1, 3, 2), [16, 16], 0.5);
    let tile = colours(&tiff, |x, _, _| vec![if x % 2 == 0 { 0 } else { 255 }]);
    assert_eq!((tile.at(3, 3), tile.at(8, 0)), (Some([128; 3]), None));
}

#[test]
fn the_raster_of_san_francisco_is_where_it_says() {
    let Some(data) = real_data("terrain::the_raster_of_san_francisco_is_where_it_says") else { return };
    let elevation = open(&data.join("dem_geotiff/elev.tif")).unwrap();
    assert!(elevation.crs().contains("3857"), "{}", elevation.crs());
    // By tifffile 2026: pixel (column, row) and its value; column 0, row 0 lies at -13630156.55, 4553034.75.
    for (column, row, expected) in
        [(0, 0, 0.779_148_6), (200, 100, 0.828_795_1), (17, 300, 6.793_551_4), (511, 511, 68.819_214)]
    {
        let (x_m, y_m) = (
            -13_630_156.552_455_971 + (f64::from(column) + 0.5) * 6.721_808_968_646_656,
            4_553_034.750_441_906 - (f64::from(row) + 0.5) * 6.059_025_744_365_499,
        );
        let world = f64::from(WORLD_VOXELS);
        let (x, z) = ((x_m / EQUATOR_M + 0.5) * world, (0.5 - y_m / EQUATOR_M) * world);
        let tile = TileCoord::new(17, (x / 256.0) as u32, (z / 256.0) as u32).unwrap();
        let found = elevation.tile(tile).unwrap().unwrap().at((x % 256.0) as usize, (z % 256.0) as usize).unwrap();
        // The voxel's centre lies within a tenth of a pixel of the pixel's.
        assert!((found - expected as f32).abs() < 1.5, "{column}, {row}: {found}, expected {expected}");
    }
}
