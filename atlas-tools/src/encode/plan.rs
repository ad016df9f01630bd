//! Which tiles are made, grouped by the source tiles that they are made from.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use voxatlas::geo::{Bbox, TileCoord};
use voxatlas::limits::ZOOM_FULL;

use crate::input::Input;

/// Tiles of one run at most: a hundred times a large city. Beyond that someone asked for a coarser tile than they meant.
const TILES_MAX: u64 = 1 << 22;

/// The tiles of a run.
#[derive(Debug)]
pub(super) struct Plan {
    source_zoom: u8,
    /// By source row and column, the zoom 17 tiles to make, row by row.
    tiles: BTreeMap<(u32, u32), Vec<TileCoord>>,
}

impl Plan {
    /// Chooses the tiles of a box, of a list, or of everything that the inputs hold.
    pub(super) fn new(inputs: &[Box<dyn Input>], bbox: Option<Bbox>, list: &[TileCoord]) -> anyhow::Result<Self> {
        let source_zoom = common_zoom(inputs)?;
        let sources: BTreeSet<TileCoord> = inputs.iter().flat_map(|input| input.tiles()).collect();
        let chosen: BTreeSet<TileCoord> = match bbox {
            Some(bbox) => {
                let range = bbox.tiles(ZOOM_FULL)?;
                check_count(range.n_left())?;
                range.collect()
            }
            None if list.is_empty() => below(sources.iter().copied())?,
            None => below(list.iter().copied())?,
        };
        let mut plan = Self { source_zoom, tiles: BTreeMap::new() };
        for tile in chosen {
            let source = plan.source_of(tile);
            plan.tiles.entry((source.y(), source.x())).or_default().push(tile);
        }
        plan.tiles.values_mut().for_each(|tiles| tiles.sort_by_key(|tile| (tile.y(), tile.x())));
        let holds_data =
            |&(y, x): &(u32, u32)| TileCoord::new(source_zoom, x, y).is_ok_and(|tile| sources.contains(&tile));
        if !plan.tiles.keys().any(holds_data) {
            let asked =
                bbox.map_or_else(|| "none of the tiles of --tiles".to_owned(), |bbox| format!("nothing in {bbox}"));
            bail!("the input holds {asked}: it covers {}", covered(&sources));
        }
        Ok(plan)
    }

    /// Tiles to make.
    pub(super) fn n_tiles(&self) -> usize {
        self.tiles.values().map(Vec::len).sum()
    }

    /// The source rows that are to be made, from the north.
    pub(super) fn source_rows(&self) -> impl Iterator<Item = u32> {
        let rows: BTreeSet<u32> = self.tiles.keys().map(|&(y, _)| y).collect();
        rows.into_iter()
    }

    /// The source tiles of a row that are to be made, from the west.
    pub(super) fn sources(&self, y: u32) -> impl Iterator<Item = TileCoord> + '_ {
        let row = self.tiles.range((y, 0)..=(y, u32::MAX));
        row.filter_map(move |(&(y, x), _)| TileCoord::new(self.source_zoom, x, y).ok())
    }

    /// The tiles to make from a source tile.
    pub(super) fn tiles(&self, source: TileCoord) -> &[TileCoord] {
        self.tiles.get(&(source.y(), source.x())).map_or(&[], Vec::as_slice)
    }

    fn source_of(&self, tile: TileCoord) -> TileCoord {
        let climb = std::iter::successors(Some(tile), |tile| tile.parent());
        climb.take_while(|tile| tile.zoom() >= self.source_zoom).last().unwrap_or(tile)
    }
}

fn common_zoom(inputs: &[Box<dyn Input>]) -> anyhow::Result<u8> {
    let Some(first) = inputs.first() else { bail!("no input") };
    if let Some(other) = inputs.iter().find(|input| input.zoom() != first.zoom()) {
        bail!(
            "{} has zoom {}, {} has zoom {}: inputs of one run share a zoom",
            first.name(),
            first.zoom(),
            other.name(),
            other.zoom()
        );
    }
    Ok(first.zoom())
}

/// The zoom 17 tiles below some tiles.
fn below(tiles: impl Iterator<Item = TileCoord> + Clone) -> anyhow::Result<BTreeSet<TileCoord>> {
    let mut count = 0u64;
    for tile in tiles.clone() {
        if tile.zoom() > ZOOM_FULL {
            bail!("tile {tile} is finer than a region: expected a zoom of at most {ZOOM_FULL}");
        }
        count = count.saturating_add(1 << (2 * (ZOOM_FULL - tile.zoom())));
    }
    check_count(count)?;
    let mut all = BTreeSet::new();
    for tile in tiles {
        let step = ZOOM_FULL - tile.zoom();
        for (dx, dy) in (0..1 << step).flat_map(|dy| (0..1 << step).map(move |dx| (dx, dy))) {
            all.insert(TileCoord::new(ZOOM_FULL, (tile.x() << step) + dx, (tile.y() << step) + dy)?);
        }
    }
    Ok(all)
}

fn check_count(n_tiles: u64) -> anyhow::Result<()> {
    if n_tiles > TILES_MAX {
        bail!("{n_tiles} tiles are asked for: expected at most {TILES_MAX} a run");
    }
    Ok(())
}

/// The box round some tiles, in words.
fn covered(tiles: &BTreeSet<TileCoord>) -> String {
    let edges = tiles.iter().map(|tile| tile.bounds().to_array());
    let around = edges.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
    around.map_or_else(String::new, |[west, south, east, north]| format!("{west:.4},{south:.4},{east:.4},{north:.4}"))
}
