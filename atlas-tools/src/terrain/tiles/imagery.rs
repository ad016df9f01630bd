//! Map tiles as imagery.

use std::path::Path;

use voxatlas::geo::TileCoord;

use super::picture::Picture;
use super::store::{TileStore, malformed};
use super::window::{Grid, TileGrids};
use crate::input::InputError;
use crate::terrain::sample::{ColourMean, samples_along};
use crate::terrain::{ColourTile, Imagery, corner_of};

/// Endings of files that hold pictures.
const ENDINGS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

impl Grid for Picture {
    fn side(&self) -> u32 {
        self.width()
    }

    fn size_bytes(&self) -> u64 {
        4 * u64::from(self.width()) * u64::from(self.height())
    }
}

/// Raster tiles of a map or of aerial photographs.
pub struct MapTiles {
    grids: TileGrids<Picture>,
}

impl MapTiles {
    /// Opens a folder of tiles, an archive, or one tile, which lies at `tile` or where its name says. Decoded tiles are
    /// kept within a budget of bytes.
    ///
    /// # Errors
    ///
    /// There is no tile, or the first one is malformed.
    pub fn open(path: &Path, tile: Option<TileCoord>, budget_bytes: u64) -> Result<Self, InputError> {
        let store = TileStore::open(path, tile, &ENDINGS)?;
        Ok(Self { grids: TileGrids::new(store, Box::new(square), budget_bytes)? })
    }
}

impl Imagery for MapTiles {
    fn name(&self) -> String {
        self.grids.store().path().display().to_string()
    }

    fn extent(&self) -> [f64; 4] {
        self.grids.store().extent()
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<ColourTile>, InputError> {
        let Some(mut window) = self.grids.window(tile)? else { return Ok(None) };
        let pixels = window.pixels_a_voxel();
        let n = samples_along(pixels);
        let [west, north] = corner_of(tile);
        let mut failed = None;
        let colours = ColourTile::from_fn(|x, z| {
            let mut mean = ColourMean::default();
            for sample in 0..n * n {
                let within = |idx: u32| (f64::from(idx) + 0.5) / f64::from(n);
                let u = (west + x as f64 + within(sample % n)) * pixels;
                let v = (north + z as f64 + within(sample / n)) * pixels;
                if failed.is_none() {
                    match window.pixel(u.floor() as i64, v.floor() as i64, Picture::at) {
                        Ok(colour) => mean.add(colour.unwrap_or([0; 4])),
                        Err(error) => failed = Some(error),
                    }
                }
            }
            mean.colour()
        });
        failed.map_or(Ok(colours.some_if_any()), Err)
    }
}

fn square(name: &Path, bytes: &[u8]) -> Result<Picture, InputError> {
    let picture = Picture::decode(bytes).map_err(|what| malformed(name, what))?;
    let (width, height) = (picture.width(), picture.height());
    if width != height {
        return Err(malformed(name, format!("{width} x {height} pixels, expected a square tile")));
    }
    Ok(picture)
}
