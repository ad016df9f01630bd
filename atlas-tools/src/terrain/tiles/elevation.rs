//! Tiles of heights as an elevation.

use std::path::Path;

use voxatlas::geo::TileCoord;

use super::encoding::TerrainEncoding;
use super::gsi_text::{self, TEXT_SIDE};
use super::picture::Picture;
use super::store::{TileStore, malformed};
use super::window::{Grid, TileGrids};
use crate::input::InputError;
use crate::terrain::sample::bilinear;
use crate::terrain::{Elevation, HeightTile, NO_DATA, corner_of};

/// Endings of files that hold heights.
const ENDINGS: [&str; 4] = ["png", "webp", "txt", "csv"];

/// Pixels of heights.
#[derive(Debug)]
struct HeightGrid {
    side: u32,
    /// Metres, row by row; NaN where there is no data.
    heights_m: Vec<f32>,
}

impl Grid for HeightGrid {
    fn side(&self) -> u32 {
        self.side
    }

    fn size_bytes(&self) -> u64 {
        size_of_val(self.heights_m.as_slice()) as u64
    }
}

/// Terrain tiles: pictures whose colours are heights, or the text tiles of GSI Japan.
pub struct TerrainTiles {
    grids: TileGrids<HeightGrid>,
    encoding: Option<TerrainEncoding>,
}

impl TerrainTiles {
    /// Opens a folder of tiles, an archive, or one tile, which lies at `tile` or where its name says. Pictures are read in
    /// an encoding, or in the one that the path or the first tiles give away. Decoded tiles are kept within a budget of
    /// bytes.
    ///
    /// # Errors
    ///
    /// There is no tile, the first one is malformed, or nothing tells the encoding of pictures.
    pub fn open(
        path: &Path,
        encoding: Option<TerrainEncoding>,
        tile: Option<TileCoord>,
        budget_bytes: u64,
    ) -> Result<Self, InputError> {
        let store = TileStore::open(path, tile, &ENDINGS)?;
        let encoding = match encoding.or_else(|| TerrainEncoding::in_path(path)) {
            Some(encoding) => Some(encoding),
            None => guess(&store)?,
        };
        let decode = move |name: &Path, bytes: &[u8]| grid(name, bytes, encoding);
        let grids = TileGrids::new(store, Box::new(decode), budget_bytes)?;
        Ok(Self { grids, encoding })
    }

    /// The encoding of its pictures; `None` where all of the first tiles are text.
    pub fn encoding(&self) -> Option<TerrainEncoding> {
        self.encoding
    }
}

impl Elevation for TerrainTiles {
    fn name(&self) -> String {
        self.grids.store().path().display().to_string()
    }

    fn extent(&self) -> [f64; 4] {
        self.grids.store().extent()
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let Some(mut window) = self.grids.window(tile)? else { return Ok(None) };
        let pixels = window.pixels_a_voxel();
        let [west, north] = corner_of(tile);
        let mut failed = None;
        let heights = HeightTile::from_fn(|x, z| {
            if failed.is_some() {
                return NO_DATA;
            }
            let (u, v) = ((west + x as f64 + 0.5) * pixels, (north + z as f64 + 0.5) * pixels);
            let height_m = bilinear(u, v, |x, y| {
                let height_m = window.pixel(x, y, |grid, x, y| grid.heights_m[(y * grid.side + x) as usize])?;
                Ok(height_m.filter(|height_m| !height_m.is_nan()).map(f64::from))
            });
            match height_m {
                Ok(height_m) => height_m.map_or(NO_DATA, |height_m| height_m as f32),
                Err(error) => {
                    failed = Some(error);
                    NO_DATA
                }
            }
        });
        failed.map_or(Ok(heights.some_if_any()), Err)
    }
}

/// Whether a file is a text tile: its ending says so, since a text tells nothing else.
fn is_text(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("txt") || ending.eq_ignore_ascii_case("csv"))
}

/// The encoding that the first tiles give away; `None` where they are all text.
fn guess(store: &TileStore) -> Result<Option<TerrainEncoding>, InputError> {
    let mut has_pictures = false;
    let mut failed = None;
    for tile in store.some_tiles() {
        let Some((name, bytes)) = store.read(tile)?.filter(|(name, _)| !is_text(name)) else { continue };
        let picture = match Picture::decode(&bytes) {
            Ok(picture) => picture,
            Err(what) => {
                failed = failed.or_else(|| Some(malformed(&name, what)));
                continue;
            }
        };
        has_pictures = true;
        if let Some(encoding) = TerrainEncoding::in_pixels(&picture) {
            return Ok(Some(encoding));
        }
    }
    if has_pictures {
        let what = "heights in an encoding that neither path nor pixels tell: expected --terrain-encoding terrarium, mapbox or gsi";
        return Err(malformed(store.path(), what.to_owned()));
    }
    failed.map_or(Ok(None), Err)
}

fn grid(name: &Path, bytes: &[u8], encoding: Option<TerrainEncoding>) -> Result<HeightGrid, InputError> {
    let wrong = |what| malformed(name, what);
    if is_text(name) {
        let heights = gsi_text::decode(bytes).map_err(wrong)?;
        let heights_m = heights.into_iter().map(|height_m| height_m.unwrap_or(NO_DATA)).collect();
        return Ok(HeightGrid { side: TEXT_SIDE as u32, heights_m });
    }
    let picture = Picture::decode(bytes).map_err(wrong)?;
    let (width, height) = (picture.width(), picture.height());
    if width != height {
        return Err(wrong(format!("{width} x {height} pixels, expected a square tile")));
    }
    let Some(encoding) = encoding else {
        return Err(wrong(
            "a picture among text tiles: expected --terrain-encoding terrarium, mapbox or gsi".to_owned(),
        ));
    };
    let heights_m = picture.pixels().map(|pixel| encoding.height_m(pixel).unwrap_or(NO_DATA)).collect();
    Ok(HeightGrid { side: width, heights_m })
}
