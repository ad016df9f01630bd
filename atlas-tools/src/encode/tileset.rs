//! `tiles.json`: what the run wrote.

use voxatlas::atlas::{LayerObject, TileBitmap, Tileset, VoxatlasObject};
use voxatlas::geo::TileCoord;
use voxatlas::limits::{ATLAS_FORMAT, ZOOM_FULL};

use crate::voxelise::BASE;

/// The datum of a source that has no terrain.
const DATUM: &str = "each building's own ground (flat)";

/// The document of some regions. It names neither the time nor the folder: the same regions, the same document.
pub(crate) fn document(written: &[(TileCoord, u32)], attribution: &str) -> Tileset {
    let n_layers = written.iter().map(|&(_, layer)| layer + 1).max().unwrap_or(1);
    let layers: Vec<_> = (0..n_layers).map(|layer| layer_object(written, layer)).collect();
    Tileset {
        tilejson: "3.0.0".to_owned(),
        tiles: layers[0].tiles.clone(),
        scheme: "xyz".to_owned(),
        attribution: (!attribution.is_empty()).then(|| attribution.to_owned()),
        name: None,
        bounds: layers[0].bounds,
        minzoom: ZOOM_FULL,
        maxzoom: ZOOM_FULL,
        voxatlas: Some(VoxatlasObject { format: ATLAS_FORMAT, base: BASE, datum: DATUM.to_owned(), layers }),
    }
}

fn layer_object(written: &[(TileCoord, u32)], layer: u32) -> LayerObject {
    let tiles = || written.iter().filter(|&&(_, other)| other == layer).map(|&(tile, _)| tile);
    let edges = tiles().map(|tile| tile.bounds().to_array());
    let suffix = if layer == 0 { String::new() } else { format!(".l{layer}") };
    LayerObject {
        layer: layer as i32,
        tiles: vec![format!("{{z}}/{{x}}/{{y}}{suffix}.png")],
        bounds: edges.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]),
        availability: TileBitmap::from_tiles(ZOOM_FULL, tiles()).map(|bitmap| bitmap.encode()).into_iter().collect(),
    }
}
