//! The ground and its colours: sources that can be asked for any tile, in any order.
//!
//! Owns the two seams that such sources join, [`Elevation`] and [`Imagery`], the values that cross them, and the
//! [`GroundStack`] that lays elevations over each other. Receives the address of a z17 tile, yields one value for the
//! centre of each of its 256 x 256 voxels; what a source yields for a tile depends on no other tile that is asked for. It
//! makes no voxels: a height stays a height in metres until the voxeliser rounds it.
//!
//! ```text
//!   GeoTIFF  ----- sampled at voxel centres ---+
//!   terrain tiles ---------------------------- +-> HeightTile -> GroundStack -> ground of a tile
//!   relief triangles -> pages in a file -------+
//!   GeoTIFF, map tiles ------------------------> ColourTile
//! ```

pub mod fgd;
pub mod geotiff;
pub mod relief;
pub mod tiles;

mod cache;
mod pages;
mod sample;
mod stack;

use voxatlas::geo::TileCoord;
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

pub use stack::GroundStack;

use crate::crs::Placer;
use crate::input::InputError;

/// Columns and rows of a tile.
pub const SIDE: usize = REGION_VOXELS as usize;

/// Columns of a tile in all.
pub const TILE_CELLS: usize = SIDE * SIDE;

/// What stands for "no data" among heights.
pub const NO_DATA: f32 = f32::NAN;

/// A source of heights of the ground.
pub trait Elevation: Send + Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// The box round it, world x and z in z17 voxels: west, north, east, south. East lies beyond the end of the world
    /// where the source crosses the antimeridian.
    fn extent(&self) -> [f64; 4];

    /// How its coordinates and heights are taken; `None` where its format leaves no choice.
    fn placer(&self) -> Option<&Placer> {
        None
    }

    /// The heights of a z17 tile; `None` where the source has none in it.
    ///
    /// # Errors
    ///
    /// The source cannot be read, or is malformed where it covers the tile.
    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError>;
}

/// A source of the ground's and the roofs' colours.
pub trait Imagery: Send + Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// The box round it, as [`Elevation::extent`].
    fn extent(&self) -> [f64; 4];

    /// The colours of a z17 tile; `None` where the source has none in it.
    ///
    /// # Errors
    ///
    /// The source cannot be read, or is malformed where it covers the tile.
    fn tile(&self, tile: TileCoord) -> Result<Option<ColourTile>, InputError>;
}

/// Heights at the centres of the voxels of a z17 tile.
#[derive(Debug, Clone)]
pub struct HeightTile {
    /// Metres above the datum, index x + 256 z; [`NO_DATA`] where the source has none.
    heights_m: Vec<f32>,
}

impl HeightTile {
    /// A tile without any data.
    pub fn empty() -> Self {
        Self { heights_m: vec![NO_DATA; TILE_CELLS] }
    }

    /// The tile of what `height_m` says of each voxel x, z; [`NO_DATA`] where there is nothing.
    pub fn from_fn(mut height_m: impl FnMut(usize, usize) -> f32) -> Self {
        Self { heights_m: (0..TILE_CELLS).map(|idx| height_m(idx % SIDE, idx / SIDE)).collect() }
    }

    /// Takes heights in the order x + 256 z; `None` where they are not those of a tile.
    pub fn from_vec(heights_m: Vec<f32>) -> Option<Self> {
        (heights_m.len() == TILE_CELLS).then_some(Self { heights_m })
    }

    /// The height at a voxel, coordinates 0..256; `None` where there is no data.
    ///
    /// # Panics
    ///
    /// The voxel lies outside the tile.
    pub fn at(&self, x: usize, z: usize) -> Option<f32> {
        assert!(x < SIDE && z < SIDE, "voxel {x}, {z} of a tile of {SIDE}");
        Some(self.heights_m[x + SIDE * z]).filter(|height_m| !height_m.is_nan())
    }

    /// All heights, index x + 256 z; [`NO_DATA`] where there are none.
    pub fn heights_m(&self) -> &[f32] {
        &self.heights_m
    }

    /// Whether no voxel has a height.
    pub fn is_empty(&self) -> bool {
        self.heights_m.iter().all(|height_m| height_m.is_nan())
    }

    /// Whether every voxel has a height.
    pub fn is_whole(&self) -> bool {
        self.heights_m.iter().all(|height_m| !height_m.is_nan())
    }

    /// Takes from another tile what this one lacks.
    pub fn fill_from(&mut self, lower: &Self) {
        for (height_m, &below_m) in self.heights_m.iter_mut().zip(&lower.heights_m) {
            if height_m.is_nan() {
                *height_m = below_m;
            }
        }
    }

    /// The tile, or nothing where it holds nothing.
    pub(crate) fn some_if_any(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }
}

/// Colours at the voxels of a z17 tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColourTile {
    /// Straight-alpha sRGB, index x + 256 z; alpha is 0 where the source has nothing.
    colours: Vec<[u8; 4]>,
}

impl ColourTile {
    /// The tile of what `colour` says of each voxel x, z; alpha 0 where there is nothing.
    pub fn from_fn(mut colour: impl FnMut(usize, usize) -> [u8; 4]) -> Self {
        Self { colours: (0..TILE_CELLS).map(|idx| colour(idx % SIDE, idx / SIDE)).collect() }
    }

    /// The colour at a voxel, coordinates 0..256; `None` where there is none.
    ///
    /// # Panics
    ///
    /// The voxel lies outside the tile.
    pub fn at(&self, x: usize, z: usize) -> Option<[u8; 3]> {
        assert!(x < SIDE && z < SIDE, "voxel {x}, {z} of a tile of {SIDE}");
        let [r, g, b, alpha] = self.colours[x + SIDE * z];
        (alpha > 0).then_some([r, g, b])
    }

    /// All colours, index x + 256 z.
    pub fn colours(&self) -> &[[u8; 4]] {
        &self.colours
    }

    /// The tile, or nothing where it holds nothing.
    pub(crate) fn some_if_any(self) -> Option<Self> {
        self.colours.iter().any(|colour| colour[3] > 0).then_some(self)
    }
}

/// The north-west corner of a z17 tile in the world, in z17 voxels.
///
/// # Panics
///
/// In debug builds, where the tile is of another zoom.
pub(crate) fn corner_of(tile: TileCoord) -> [f64; 2] {
    debug_assert_eq!(tile.zoom(), ZOOM_FULL, "the ground is made at z17 alone");
    [f64::from(tile.x()) * SIDE as f64, f64::from(tile.y()) * SIDE as f64]
}

/// Whether a box meets a z17 tile; x counts modulo the width of the world.
pub(crate) fn meets_tile(extent: [f64; 4], tile: TileCoord) -> bool {
    let [x, z] = corner_of(tile);
    let side = SIDE as f64;
    crate::input::Wanted { boxes: vec![[x, z, x + side, z + side]] }.meets(extent)
}
