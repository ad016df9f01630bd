//! From the voxels of a tile to the pixels of a raster.
//!
//! A CRS bends little within 16 voxels, less than a tenth of a millimetre: it is asked at the corners of such squares
//! alone, and what lies between is straight. The corners are the same for neighbouring tiles, so that nothing steps there.

use voxatlas::geo::TileCoord;

use super::transform::ModelTransform;
use crate::crs::{CrsError, Placer};
use crate::terrain::{SIDE, corner_of};

/// Voxels along the edge of a square that is taken as straight.
const STEP: usize = 16;

/// Corners along the edge of a tile.
const NODES: usize = SIDE / STEP + 1;

/// Where a place lies in a raster, and how its values become heights there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    /// Pixels from the raster's outer corner.
    pub(super) u: f64,
    /// Pixels from the raster's outer corner.
    pub(super) v: f64,
    /// What a value is multiplied by to be metres.
    pub(super) scale: f64,
    /// Metres that are added then: less the geoid.
    pub(super) offset_m: f64,
}

/// The way into a raster from anywhere in a tile.
#[derive(Debug)]
pub(super) struct Warp {
    /// At the corners of the squares, index x + NODES * z; `None` where the CRS does not reach.
    nodes: Vec<Option<Spot>>,
}

impl Warp {
    /// The way into a raster of so many pixels; `None` where it does not reach into the tile.
    ///
    /// # Errors
    ///
    /// The geoid has no value somewhere in the raster.
    pub(super) fn new(
        tile: TileCoord,
        placer: &Placer,
        transform: ModelTransform,
        [width, height]: [u32; 2],
    ) -> Result<Option<Self>, CrsError> {
        let [west, north] = corner_of(tile);
        let mut nodes = Vec::with_capacity(NODES * NODES);
        let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for idx in 0..NODES * NODES {
            let at = |idx: usize| (idx * STEP) as f64;
            let world = [west + at(idx % NODES), north + at(idx / NODES)];
            let node = node(world, placer, transform, [width, height])?;
            if let Some(Spot { u, v, .. }) = node {
                bounds = [bounds[0].min(u), bounds[1].min(v), bounds[2].max(u), bounds[3].max(v)];
            }
            nodes.push(node);
        }
        let [left, top, right, bottom] = bounds;
        let reaches = right > 0.0 && bottom > 0.0 && left < f64::from(width) && top < f64::from(height);
        Ok(reaches.then_some(Self { nodes }))
    }

    /// The place in the raster of x, z voxels from the tile's corner.
    pub(super) fn at(&self, x: f64, z: f64) -> Option<Spot> {
        let cell = |coordinate: f64| ((coordinate / STEP as f64) as usize).min(NODES - 2);
        let (column, row) = (cell(x), cell(z));
        let (right, down) = (x / STEP as f64 - column as f64, z / STEP as f64 - row as f64);
        let node = |dx: usize, dz: usize| self.nodes[column + dx + NODES * (row + dz)];
        let [a, b, c, d] = [node(0, 0)?, node(1, 0)?, node(0, 1)?, node(1, 1)?];
        let mix = |of: fn(&Spot) -> f64| {
            let upper = of(&a) + (of(&b) - of(&a)) * right;
            let lower = of(&c) + (of(&d) - of(&c)) * right;
            upper + (lower - upper) * down
        };
        Some(Spot {
            u: mix(|spot| spot.u),
            v: mix(|spot| spot.v),
            scale: mix(|spot| spot.scale),
            offset_m: mix(|spot| spot.offset_m),
        })
    }

    /// How many pixels lie along the edge of a voxel, in the middle of the tile.
    pub(super) fn pixels_a_voxel(&self) -> f64 {
        let middle = SIDE as f64 / 2.0;
        let (Some(here), Some(east), Some(south)) =
            (self.at(middle, middle), self.at(middle + 1.0, middle), self.at(middle, middle + 1.0))
        else {
            return 1.0;
        };
        let far = |other: Spot| libm::hypot(other.u - here.u, other.v - here.v);
        far(east).max(far(south))
    }
}

fn node(
    [x, z]: [f64; 2],
    placer: &Placer,
    transform: ModelTransform,
    [width, height]: [u32; 2],
) -> Result<Option<Spot>, CrsError> {
    let Ok(coordinates) = placer.unplace(x, z) else { return Ok(None) };
    let [u, v] = transform.to_pixels(coordinates);
    let height_m = |raw: f64| placer.place([coordinates[0], coordinates[1], raw]).map(|place| place.height_m);
    match (height_m(0.0), height_m(1.0)) {
        (Ok(offset_m), Ok(one_m)) => Ok(Some(Spot { u, v, scale: one_m - offset_m, offset_m })),
        // Outside the raster nobody asks for the geoid.
        (Err(error), _) | (_, Err(error)) => {
            let is_inside = (0.0..=f64::from(width)).contains(&u) && (0.0..=f64::from(height)).contains(&v);
            if is_inside { Err(error) } else { Ok(None) }
        }
    }
}
