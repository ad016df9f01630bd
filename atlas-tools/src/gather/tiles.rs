//! Gathered footprints as source tiles: what the encoder asks for, as of a folder of vector tiles.

use std::collections::BTreeSet;
use std::sync::Arc;

use voxatlas::geo::{TileCoord, WORLD_VOXELS};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use super::spill::Spill;
use crate::input::{COORDINATE_MAX, Described, Feature, Input, InputError, Polygon, Prism, SOURCE_EXTENT};

/// Footprints by source tile.
pub(crate) struct GatheredTiles {
    prisms: Spill<Prism>,
    zoom: u8,
    tiles: BTreeSet<(u32, u32)>,
}

impl GatheredTiles {
    pub(super) fn new(prisms: Spill<Prism>, zoom: u8) -> Self {
        let tiles = prisms.tiles().map(|tile| (tile.y(), tile.x())).collect();
        Self { prisms, zoom, tiles }
    }

    fn tile_at(&self, (y, x): (u32, u32)) -> Option<TileCoord> {
        TileCoord::new(self.zoom, x, y).ok()
    }
}

impl Input for GatheredTiles {
    fn name(&self) -> String {
        "the gathered footprints".to_owned()
    }

    fn zoom(&self) -> u8 {
        self.zoom
    }

    fn tiles(&self) -> Vec<TileCoord> {
        self.tiles.iter().filter_map(|&place| self.tile_at(place)).collect()
    }

    fn row(&self, y: u32) -> Vec<TileCoord> {
        self.tiles.range((y, 0)..=(y, u32::MAX)).filter_map(|&place| self.tile_at(place)).collect()
    }

    fn read(&self, tile: TileCoord) -> Result<Vec<Feature>, InputError> {
        Ok(self.prisms.get(tile)?.into_iter().map(|prism| feature(prism, tile)).collect())
    }
}

/// A footprint in the frame of a source tile: each corner at the nearest unit of the world.
fn feature(prism: Prism, tile: TileCoord) -> Feature {
    let voxel_units = (SOURCE_EXTENT >> (ZOOM_FULL - tile.zoom())) / i64::from(REGION_VOXELS);
    let world = i64::from(WORLD_VOXELS) * voxel_units;
    let corner = [tile.x(), tile.y()].map(|place| i64::from(place) * SOURCE_EXTENT);
    // The cast saturates.
    let units = |along: f64| libm::round(along * voxel_units as f64) as i64;
    let first = prism.polygons.iter().flatten().flatten().next().map_or(0, |place| units(place[0]) - corner[0]);
    // Towards this tile, where the shape lies on the other side of the antimeridian.
    let turn = -libm::round(first as f64 / world as f64) as i64 * world;
    let point = |[x, z]: [f64; 2]| {
        let place = [units(x).saturating_sub(corner[0]).saturating_add(turn), units(z).saturating_sub(corner[1])];
        place.map(|along| along.clamp(-COORDINATE_MAX, COORDINATE_MAX) as i32)
    };
    let polygons = prism
        .polygons
        .into_iter()
        .map(|rings| Polygon { rings: rings.into_iter().map(|ring| ring.into_iter().map(point).collect()).collect() });
    let described = Described { name: prism.named.name, attributes: prism.named.attributes };
    Feature {
        min_height_m: prism.min_height_m,
        wall: prism.wall,
        roof: prism.roof,
        described: Some(Arc::new(described)),
        ..Feature::standing(prism.named.id, prism.height, polygons.collect())
    }
}
