//! A tiled GeoTIFF in EPSG:3857, written tile by tile: a tile of the map is a tile of the file.
//!
//! ```text
//! "II" 42, where the directory begins; the tiles, each a zlib stream; what the directory points to; the directory
//! ```
//!
//! Tiles that nobody adds are one blank tile, stored once. Pixels are areas: the tiepoint is the north-western corner.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use voxatlas::geo::mercator::EQUATOR_M;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::REGION_VOXELS;

/// The tiles of a raster: a rectangle of one zoom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    zoom: u8,
    first: [u32; 2],
    pub(super) n_columns: u32,
    pub(super) n_rows: u32,
}

impl Grid {
    /// The rectangle round the tiles of some regions of one zoom; `None` without any.
    pub(super) fn around(keys: &[RegionKey]) -> Option<Self> {
        let zoom = keys.first()?.tile.zoom();
        let (xs, ys) = (|| keys.iter().map(|key| key.tile.x()), || keys.iter().map(|key| key.tile.y()));
        let first = [xs().min()?, ys().min()?];
        Some(Self { zoom, first, n_columns: xs().max()? - first[0] + 1, n_rows: ys().max()? - first[1] + 1 })
    }

    pub(super) fn n_tiles(&self) -> u64 {
        u64::from(self.n_columns) * u64::from(self.n_rows)
    }

    /// The tile's place in the file, row by row.
    fn index(&self, tile: TileCoord) -> usize {
        let (column, row) = (tile.x() - self.first[0], tile.y() - self.first[1]);
        row as usize * self.n_columns as usize + column as usize
    }

    /// Metres of a pixel of EPSG:3857, and the easting and northing of the north-western corner.
    fn georeference(&self) -> (f64, [f64; 2]) {
        let tile_m = EQUATOR_M / f64::from(1u32 << self.zoom);
        let west_m = f64::from(self.first[0]) * tile_m - EQUATOR_M / 2.0;
        let north_m = EQUATOR_M / 2.0 - f64::from(self.first[1]) * tile_m;
        (tile_m / f64::from(REGION_VOXELS), [west_m, north_m])
    }
}

/// What the pixels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pixels {
    /// One f32; what is not a number is no data.
    Height,
    /// Red, green, blue and straight alpha, a byte each.
    Colour,
}

impl Pixels {
    fn n_samples(self) -> u16 {
        match self {
            Self::Height => 1,
            Self::Colour => 4,
        }
    }

    /// A tile of nothing.
    fn blank(self) -> Vec<u8> {
        let n_pixels = (REGION_VOXELS * REGION_VOXELS) as usize;
        match self {
            Self::Height => f32::NAN.to_le_bytes().repeat(n_pixels),
            Self::Colour => vec![0; n_pixels * 4],
        }
    }
}

/// A raster that is being written.
pub(super) struct TiledTiff<'a> {
    file: BufWriter<&'a File>,
    grid: Grid,
    pixels: Pixels,
    size_bytes: u64,
    /// Where each tile begins and how many bytes it has; 0, 0 for those not added.
    tiles: Vec<[u32; 2]>,
}

impl<'a> TiledTiff<'a> {
    pub(super) fn begin(file: &'a File, grid: Grid, pixels: Pixels) -> io::Result<Self> {
        let tiles = vec![[0; 2]; grid.n_tiles() as usize];
        let mut tiff = Self { file: BufWriter::new(file), grid, pixels, size_bytes: 0, tiles };
        tiff.put(b"II*\0\0\0\0\0")?;
        Ok(tiff)
    }

    /// Adds the pixels of a tile of the grid, row by row.
    pub(super) fn add(&mut self, tile: TileCoord, pixels: &[u8]) -> io::Result<()> {
        self.tiles[self.grid.index(tile)] = self.put_tile(pixels)?;
        Ok(())
    }

    /// Writes the directory. `description` says what the pixels mean, `credit` whose they are.
    pub(super) fn end(mut self, description: &str, credit: &str) -> io::Result<()> {
        if self.tiles.contains(&[0; 2]) {
            let blank = self.put_tile(&self.pixels.blank())?;
            self.tiles.iter_mut().filter(|tile| **tile == [0; 2]).for_each(|tile| *tile = blank);
        }
        let mut directory = Directory::default();
        self.describe(&mut directory);
        directory.text(270, description);
        directory.text(305, "voxatlas atlas-tools");
        if !credit.is_empty() {
            directory.text(33432, credit);
        }
        directory.entries.sort_by_key(|&(tag, ..)| tag);
        self.align()?;
        let mut entries = Vec::new();
        for (tag, kind, count, bytes) in directory.entries {
            let mut value = [0; 4];
            if bytes.len() <= 4 {
                value[..bytes.len()].copy_from_slice(&bytes);
            } else {
                value = self.position()?.to_le_bytes();
                self.put(&bytes)?;
                self.align()?;
            }
            entries.extend(tag.to_le_bytes());
            entries.extend(kind.to_le_bytes());
            entries.extend(count.to_le_bytes());
            entries.extend(value);
        }
        let at = self.position()?;
        self.put(&((entries.len() / 12) as u16).to_le_bytes())?;
        self.put(&entries)?;
        self.put(&[0; 4])?;
        self.position()?;
        self.file.seek(SeekFrom::Start(4))?;
        self.file.write_all(&at.to_le_bytes())?;
        self.file.flush()
    }

    fn describe(&self, directory: &mut Directory) {
        let n_samples = self.pixels.n_samples();
        let (bits, format, photometric) = match self.pixels {
            Pixels::Height => (32, 3, 1),
            Pixels::Colour => (8, 1, 2),
        };
        directory.longs(256, &[self.grid.n_columns * REGION_VOXELS]);
        directory.longs(257, &[self.grid.n_rows * REGION_VOXELS]);
        directory.shorts(258, &vec![bits; usize::from(n_samples)]);
        directory.shorts(259, &[8]);
        directory.shorts(262, &[photometric]);
        directory.shorts(277, &[n_samples]);
        directory.shorts(284, &[1]);
        directory.shorts(322, &[REGION_VOXELS as u16]);
        directory.shorts(323, &[REGION_VOXELS as u16]);
        directory.longs(324, &self.tiles.iter().map(|tile| tile[0]).collect::<Vec<_>>());
        directory.longs(325, &self.tiles.iter().map(|tile| tile[1]).collect::<Vec<_>>());
        directory.shorts(339, &vec![format; usize::from(n_samples)]);
        match self.pixels {
            // Straight alpha.
            Pixels::Colour => directory.shorts(338, &[2]),
            Pixels::Height => directory.text(42113, "nan"),
        }
        let (pixel_m, [west_m, north_m]) = self.grid.georeference();
        directory.doubles(33550, &[pixel_m, pixel_m, 0.0]);
        directory.doubles(33922, &[0.0, 0.0, 0.0, west_m, north_m, 0.0]);
        // Version 1.1.0 with four keys: a projected system, pixels are areas, EPSG:3857, metres.
        let keys = [[1, 1, 0, 4], [1024, 0, 1, 1], [1025, 0, 1, 1], [3072, 0, 1, 3857], [3076, 0, 1, 9001]];
        directory.shorts(34735, keys.as_flattened());
    }

    fn put_tile(&mut self, pixels: &[u8]) -> io::Result<[u32; 2]> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(pixels)?;
        let packed = packed.finish()?;
        let at = self.position()?;
        self.put(&packed)?;
        Ok([at, packed.len() as u32])
    }

    /// Where the next byte goes.
    fn position(&self) -> io::Result<u32> {
        u32::try_from(self.size_bytes).map_err(|_| {
            io::Error::other("more than 4 GiB, which the format has no number for: expected fewer regions")
        })
    }

    /// Values begin at even places.
    fn align(&mut self) -> io::Result<()> {
        if self.size_bytes.is_multiple_of(2) { Ok(()) } else { self.put(&[0]) }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size_bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

/// The entries of a directory: tag, type, count, and the values' bytes.
#[derive(Default)]
struct Directory {
    entries: Vec<(u16, u16, u32, Vec<u8>)>,
}

impl Directory {
    fn shorts(&mut self, tag: u16, values: &[u16]) {
        self.add(tag, 3, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    fn longs(&mut self, tag: u16, values: &[u32]) {
        self.add(tag, 4, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    fn doubles(&mut self, tag: u16, values: &[f64]) {
        self.add(tag, 12, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    /// Text ends with a zero, and has none before.
    fn text(&mut self, tag: u16, text: &str) {
        let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).chain([0]).collect();
        self.add(tag, 2, bytes.len(), bytes);
    }

    fn add(&mut self, tag: u16, kind: u16, count: usize, bytes: Vec<u8>) {
        self.entries.push((tag, kind, count as u32, bytes));
    }
}
