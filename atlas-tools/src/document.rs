//! `tiles.json`: what a tileset holds.
//!
//! It names neither the time nor the folder: the same regions, the same document.

use std::collections::BTreeSet;

use voxatlas::atlas::{AvailabilityObject, LayerObject, TileBitmap, Tileset, VoxatlasObject};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{ATLAS_FORMAT, ZOOM_FULL};

use crate::tileset_files::layer_suffix;
use crate::voxelise::BASE;

/// The datum of a source that tells no heights of the ground.
pub(crate) const FLAT: &str = "each building's own ground (flat)";

/// The document of some regions, whose heights count from a datum.
pub(crate) fn document(keys: &[RegionKey], attribution: &str, datum: &str) -> Tileset {
    let mut tileset = Tileset {
        tilejson: "3.0.0".to_owned(),
        tiles: Vec::new(),
        scheme: "xyz".to_owned(),
        attribution: (!attribution.is_empty()).then(|| attribution.to_owned()),
        name: None,
        bounds: None,
        minzoom: ZOOM_FULL,
        maxzoom: ZOOM_FULL,
        voxatlas: Some(VoxatlasObject {
            format: ATLAS_FORMAT,
            base: BASE,
            datum: datum.to_owned(),
            layers: Vec::new(),
        }),
    };
    list_regions(&mut tileset, &keys.iter().copied().collect());
    tileset.tiles = layer_object(&tileset, 0).tiles;
    tileset
}

/// Makes a document list exactly these regions: zooms, bounds, layers and which tiles each has at each zoom. Layers that
/// it has keep their templates; layer 0 is always there.
pub(crate) fn list_regions(tileset: &mut Tileset, keys: &BTreeSet<RegionKey>) {
    let zooms = || keys.iter().map(|key| key.tile.zoom());
    tileset.minzoom = zooms().min().unwrap_or(ZOOM_FULL);
    tileset.maxzoom = zooms().max().unwrap_or(ZOOM_FULL);
    let numbers: BTreeSet<i32> = keys.iter().map(|key| key.layer).chain([0]).collect();
    let layers = numbers.into_iter().map(|layer| {
        let tiles = |zoom| {
            let at = move |key: &&RegionKey| key.layer == layer && key.tile.zoom() == zoom;
            keys.iter().filter(at).map(|key| key.tile)
        };
        let zooms = tileset.minzoom..=tileset.maxzoom;
        let finest = zooms.clone().rev().find(|&zoom| tiles(zoom).next().is_some());
        LayerObject {
            bounds: finest.and_then(|zoom| around(tiles(zoom))),
            // A zoom without tiles says so, so that nobody asks for them.
            availability: zooms.filter_map(|zoom| bitmap(zoom, tiles(zoom))).collect(),
            ..layer_object(tileset, layer)
        }
    });
    let layers: Vec<_> = layers.collect();
    tileset.bounds = around(keys.iter().map(|key| key.tile).filter(|tile| tile.zoom() == tileset.maxzoom));
    let (base, datum) = (tileset.base(), "unknown".to_owned());
    let object = VoxatlasObject { format: ATLAS_FORMAT, base, datum, layers: Vec::new() };
    tileset.voxatlas.get_or_insert(object).layers = layers;
}

/// The regions that a document lists.
pub(crate) fn regions(tileset: &Tileset) -> impl Iterator<Item = RegionKey> + '_ {
    bitmaps(tileset)
        .flat_map(|(layer, bitmap)| bitmap.tiles().map(move |tile| RegionKey::new(tile, layer)).collect::<Vec<_>>())
}

/// The bitmaps of a document, each with its layer.
pub(crate) fn bitmaps(tileset: &Tileset) -> impl Iterator<Item = (i32, TileBitmap)> + '_ {
    let layers = tileset.voxatlas.iter().flat_map(|object| &object.layers);
    layers.flat_map(|LayerObject { layer, availability, .. }| {
        // Parsing the document has checked them.
        availability.iter().filter_map(|bitmap| Some((*layer, TileBitmap::decode(bitmap, *layer).ok()?)))
    })
}

/// A layer's object as the document has it, or one with our names.
fn layer_object(tileset: &Tileset, layer: i32) -> LayerObject {
    let known = tileset.voxatlas.iter().flat_map(|object| &object.layers).find(|object| object.layer == layer);
    known.cloned().unwrap_or_else(|| {
        let is_plain = tileset.voxatlas.is_none() && layer == 0;
        let ours = || vec![format!("{{z}}/{{x}}/{{y}}{}.png", layer_suffix(layer))];
        let tiles = if is_plain { tileset.tiles.clone() } else { ours() };
        LayerObject { layer, tiles, bounds: None, availability: Vec::new() }
    })
}

/// The box round some tiles of a zoom, in degrees: the narrowest, whose west lies east of its east where it crosses the
/// antimeridian.
fn around(tiles: impl Iterator<Item = TileCoord> + Clone) -> Option<[f64; 4]> {
    let columns: BTreeSet<u32> = tiles.clone().map(TileCoord::x).collect();
    let (first, last) = (*columns.first()?, *columns.last()?);
    // Round the world from one column to the next there is a gap; what lies outside of the widest holds them all.
    let zoom = tiles.clone().next()?.zoom();
    let n_columns = 1u32 << zoom;
    let (mut west, mut east, mut widest) = (first, last, first + n_columns - last);
    for (before, after) in columns.iter().zip(columns.iter().skip(1)) {
        if after - before > widest {
            (west, east, widest) = (*after, *before, after - before);
        }
    }
    let (north, south) = (tiles.clone().map(TileCoord::y).min()?, tiles.map(TileCoord::y).max()?);
    let [corner, opposite] =
        [(west, north), (east, south)].map(|(x, y)| Some(TileCoord::new(zoom, x, y).ok()?.bounds()));
    let ([west, _, _, north], [_, south, east, _]) = (corner?.to_array(), opposite?.to_array());
    Some([west, south, east, north])
}

fn bitmap(zoom: u8, tiles: impl Iterator<Item = TileCoord>) -> Option<AvailabilityObject> {
    TileBitmap::from_tiles(zoom, tiles).map(|bitmap| bitmap.encode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_the_narrowest() {
        let check = |columns: &[u32], expected: [f64; 2]| {
            let tiles = columns.iter().map(|&x| TileCoord::new(3, x, 3).unwrap());
            let [west, south, east, north] = around(tiles).unwrap();
            assert_eq!([west, east], expected, "{columns:?}");
            assert!(south == 0.0 && north > 40.0);
        };
        check(&[5], [45.0, 90.0]);
        check(&[5, 2], [-90.0, 90.0]);
        check(&[0, 7], [135.0, -135.0]);
        check(&[0, 1, 6], [90.0, -90.0]);
        // Of gaps that are equally wide it is the one at the antimeridian that stays outside.
        check(&[0, 4], [-180.0, 45.0]);
        check(&[0, 1, 2, 3, 4, 5, 6, 7], [-180.0, 180.0]);
        assert_eq!(around(std::iter::empty()), None);
    }
}
