//! Which tiles are made, grouped by the source tiles that they are made from.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use voxatlas::geo::{Bbox, TileCoord};
use voxatlas::limits::ZOOM_FULL;

/// Tiles of one run at most: a hundred times a large city. Beyond that someone asked for a coarser tile than they meant.
const TILES_MAX: u64 = 1 << 22;

/// The tiles of a run, and which of them are made here.
#[derive(Debug, Clone)]
pub struct Plan {
    /// All tiles of the run, zoom 17, in any shard.
    all: BTreeSet<TileCoord>,
    source_zoom: u8,
    /// By source row and column, the zoom 17 tiles to make here, row by row.
    own: BTreeMap<(u32, u32), Vec<TileCoord>>,
}

impl Plan {
    /// All tiles of a run, of which `own` are made here, from source tiles of a zoom.
    pub fn new(all: BTreeSet<TileCoord>, own: impl IntoIterator<Item = TileCoord>, source_zoom: u8) -> Self {
        let mut plan = Self { all, source_zoom, own: BTreeMap::new() };
        for tile in own {
            let source = plan.source_of(tile);
            plan.own.entry((source.y(), source.x())).or_default().push(tile);
        }
        plan.own.values_mut().for_each(|tiles| tiles.sort_by_key(|tile| (tile.y(), tile.x())));
        plan
    }

    /// The zoom of the source tiles.
    pub fn source_zoom(&self) -> u8 {
        self.source_zoom
    }

    /// Tiles to make here.
    pub fn n_tiles(&self) -> usize {
        self.own.values().map(Vec::len).sum()
    }

    /// The tiles to make here.
    pub fn own(&self) -> impl Iterator<Item = TileCoord> + '_ {
        self.own.values().flatten().copied()
    }

    /// All tiles of the run.
    pub fn all(&self) -> &BTreeSet<TileCoord> {
        &self.all
    }

    /// The source rows that are to be made, from the north.
    pub fn source_rows(&self) -> impl Iterator<Item = u32> {
        let rows: BTreeSet<u32> = self.own.keys().map(|&(y, _)| y).collect();
        rows.into_iter()
    }

    /// The source tiles of a row that are to be made, from the west.
    pub fn sources(&self, y: u32) -> impl Iterator<Item = TileCoord> + '_ {
        let row = self.own.range((y, 0)..=(y, u32::MAX));
        row.filter_map(move |(&(y, x), _)| TileCoord::new(self.source_zoom, x, y).ok())
    }

    /// The tiles to make here from a source tile.
    pub fn tiles(&self, source: TileCoord) -> &[TileCoord] {
        self.own.get(&(source.y(), source.x())).map_or(&[], Vec::as_slice)
    }

    /// The lowest tile of the run that a source tile covers: its features are counted there.
    pub fn lowest_in(&self, source: TileCoord) -> Option<TileCoord> {
        let step = ZOOM_FULL - source.zoom();
        let edge = 1 << step;
        let [x, y] = [source.x() << step, source.y() << step];
        // Tiles sort by column, then by row.
        (x..x + edge).find_map(|x| {
            let from = TileCoord::new(ZOOM_FULL, x, y).ok()?;
            let to = TileCoord::new(ZOOM_FULL, x, y + edge - 1).ok()?;
            self.all.range(from..=to).next().copied()
        })
    }

    fn source_of(&self, tile: TileCoord) -> TileCoord {
        let climb = std::iter::successors(Some(tile), |tile| tile.parent());
        climb.take_while(|tile| tile.zoom() >= self.source_zoom).last().unwrap_or(tile)
    }
}

/// What a command line asks for.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// What lies in a box.
    Bbox(Bbox),
    /// These tiles, a coarser one for the zoom 17 tiles in it.
    Tiles(&'a [TileCoord]),
    /// What the inputs hold.
    Everything,
}

/// The zoom 17 tiles that are asked for, of inputs that hold `held`: tiles of any zoom up to 17.
pub(super) fn chosen(
    asked: Asked<'_>,
    held: impl FnOnce() -> anyhow::Result<BTreeSet<TileCoord>>,
) -> anyhow::Result<BTreeSet<TileCoord>> {
    match asked {
        Asked::Bbox(bbox) => {
            let range = bbox.tiles(ZOOM_FULL)?;
            check_count(range.n_left())?;
            Ok(range.collect())
        }
        Asked::Tiles(list) => below(list.iter().copied()),
        Asked::Everything => below(held()?.iter().copied()),
    }
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

pub(super) fn check_count(n_tiles: u64) -> anyhow::Result<()> {
    if n_tiles > TILES_MAX {
        bail!("{n_tiles} tiles are asked for, expected at most {TILES_MAX} a run: choose a smaller --bbox, or --tiles");
    }
    Ok(())
}
