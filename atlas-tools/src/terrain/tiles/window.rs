//! The pixels round a z17 tile, whatever tiles and zoom they lie in.
//!
//! Owns the choice of the zoom and the way from a voxel to a pixel. It does not know what a pixel means.

use std::path::Path;
use std::sync::Arc;

use voxatlas::geo::TileCoord;
use voxatlas::limits::ZOOM_FULL;

use super::store::{TileStore, malformed};
use crate::input::InputError;
use crate::terrain::SIDE;
use crate::terrain::cache::Cache;

/// The finest zoom that is read: 64 of its tiles lie in a z17 tile, each pixel about a tenth of a metre.
const ZOOM_MAX: u8 = 20;

/// A square of pixels.
pub(super) trait Grid: Sized {
    /// Pixels along an edge.
    fn side(&self) -> u32;

    /// Bytes in memory.
    fn size_bytes(&self) -> u64;
}

/// Turns the bytes of a tile's file into its grid; told what the file is called.
pub(super) type Decode<G> = Box<dyn Fn(&Path, &[u8]) -> Result<G, InputError> + Send + Sync>;

/// Tiles that are decoded as they are needed.
pub(super) struct TileGrids<G> {
    store: TileStore,
    decode: Decode<G>,
    /// In the order in which they are tried.
    zooms: Vec<u8>,
    kept: Cache<TileCoord, Option<G>>,
}

impl<G: Grid> TileGrids<G> {
    /// Tiles of a store, decoded ones kept within a budget of bytes.
    ///
    /// # Errors
    ///
    /// No zoom can be used, or the first tile is malformed.
    pub(super) fn new(store: TileStore, decode: Decode<G>, budget_bytes: u64) -> Result<Self, InputError> {
        let usable: Vec<u8> = store.zooms().into_iter().filter(|&zoom| zoom <= ZOOM_MAX).collect();
        if usable.is_empty() {
            let what = format!("tiles of zoom {:?} alone: expected some of a zoom up to {ZOOM_MAX}", store.zooms());
            return Err(malformed(store.path(), what));
        }
        let mut grids = Self { store, decode, zooms: usable, kept: Cache::new(budget_bytes) };
        let mut side = SIDE as u32;
        // One that cannot be read costs those who need it; all of them are no data.
        let mut failed = None;
        for tile in grids.store.some_tiles() {
            match grids.load(tile) {
                Ok(grid) => {
                    let Some(grid) = grid.as_ref() else { continue };
                    side = grid.side();
                    failed = None;
                    break;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        grids.zooms.sort_by_key(|&zoom| {
            let is_fine = pixels_a_voxel(zoom, side) >= 1.0;
            // Fine ones from the coarsest, then coarse ones from the finest: what is finer than the voxels was made
            // smaller by whoever made the tiles, better than a few samples could.
            if is_fine { (0, i16::from(zoom)) } else { (1, -i16::from(zoom)) }
        });
        Ok(grids)
    }

    /// Where the tiles lie.
    pub(super) fn store(&self) -> &TileStore {
        &self.store
    }

    /// The pixels round a z17 tile; `None` where no zoom has any in it.
    ///
    /// # Errors
    ///
    /// A tile that is needed cannot be read or is malformed.
    pub(super) fn window(&self, tile: TileCoord) -> Result<Option<Window<'_, G>>, InputError> {
        for &zoom in &self.zooms {
            for source in tiles_under(tile, zoom) {
                if let Some(grid) = self.load(source)?.as_ref() {
                    return Ok(Some(Window { grids: self, zoom, side: grid.side(), near: Vec::new() }));
                }
            }
        }
        Ok(None)
    }

    fn load(&self, tile: TileCoord) -> Result<Arc<Option<G>>, InputError> {
        self.kept.get_or(&tile, || {
            let Some((name, bytes)) = self.store.read(tile)? else { return Ok((None, 64)) };
            let grid = (self.decode)(&name, &bytes)?;
            let size_bytes = grid.size_bytes();
            Ok((Some(grid), size_bytes))
        })
    }
}

/// How many pixels of a zoom lie along the edge of a z17 voxel.
fn pixels_a_voxel(zoom: u8, side: u32) -> f64 {
    f64::from(side) / SIDE as f64 * libm::exp2(f64::from(zoom) - f64::from(ZOOM_FULL))
}

/// The tiles of a zoom that a z17 tile lies in, or that lie in it.
fn tiles_under(tile: TileCoord, zoom: u8) -> Vec<TileCoord> {
    if zoom <= ZOOM_FULL {
        let up = ZOOM_FULL - zoom;
        return TileCoord::new(zoom, tile.x() >> up, tile.y() >> up).into_iter().collect();
    }
    let down = zoom - ZOOM_FULL;
    let n = 1u32 << down;
    let places = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
    places.filter_map(|(x, y)| TileCoord::new(zoom, (tile.x() << down) + x, (tile.y() << down) + y).ok()).collect()
}

/// The pixels of one zoom.
pub(super) struct Window<'a, G> {
    grids: &'a TileGrids<G>,
    zoom: u8,
    side: u32,
    /// The tiles that were needed so far: a handful.
    near: Vec<(TileCoord, Arc<Option<G>>)>,
}

impl<G: Grid> Window<'_, G> {
    /// How many pixels lie along the edge of a voxel.
    pub(super) fn pixels_a_voxel(&self) -> f64 {
        pixels_a_voxel(self.zoom, self.side)
    }

    /// Reads the pixel x, y of this zoom's whole world, x wrapping; `None` where there is no tile.
    ///
    /// # Errors
    ///
    /// The tile cannot be read, is malformed, or is of another size than its neighbours.
    pub(super) fn pixel<T>(
        &mut self,
        x: i64,
        y: i64,
        read: impl FnOnce(&G, u32, u32) -> T,
    ) -> Result<Option<T>, InputError> {
        let side = i64::from(self.side);
        let n_tiles = 1i64 << self.zoom;
        let Ok(row) = u32::try_from(y.div_euclid(side)) else { return Ok(None) };
        let column = x.div_euclid(side).rem_euclid(n_tiles) as u32;
        let Ok(tile) = TileCoord::new(self.zoom, column, row) else { return Ok(None) };
        let grid = self.near(tile)?;
        Ok(grid.as_ref().as_ref().map(|grid| read(grid, x.rem_euclid(side) as u32, y.rem_euclid(side) as u32)))
    }

    fn near(&mut self, tile: TileCoord) -> Result<&Arc<Option<G>>, InputError> {
        let idx = if let Some(idx) = self.near.iter().position(|&(near, _)| near == tile) {
            idx
        } else {
            let grid = self.grids.load(tile)?;
            if let Some(found) = grid.as_ref().as_ref().map(Grid::side).filter(|&side| side != self.side) {
                let what = format!("tile {tile} of {found} pixels, expected {} as its neighbours have", self.side);
                return Err(malformed(self.grids.store.path(), what));
            }
            self.near.push((tile, grid));
            self.near.len() - 1
        };
        // The next pixel asks for the same tile, nearly always.
        self.near.swap(0, idx);
        Ok(&self.near[0].1)
    }
}
