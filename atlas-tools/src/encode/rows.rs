//! Three rows of source tiles: the row in work and its neighbours, read when they are needed and dropped after.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use voxatlas::geo::TileCoord;

use super::plan::Plan;
use crate::buildings::{Block, Neighbour};
use crate::input::{Input, SourceTile};

/// What became of a source tile.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// It was read.
    Block(&'a Block),
    /// No input has it: there is nothing.
    Absent,
    /// An input has it and it could not be read: nobody knows what is there.
    Failed,
}

/// The rows in memory.
pub(super) struct Rows<'a> {
    inputs: Vec<&'a dyn Input>,
    plan: &'a Plan,
    /// By row and column, what was read: `None` where that failed. Absent tiles are not entered.
    by_row: BTreeMap<u32, FxHashMap<u32, Option<Block>>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(inputs: Vec<&'a dyn Input>, plan: &'a Plan) -> Self {
        Self { inputs, plan, by_row: BTreeMap::new() }
    }

    /// Moves on to row `y`: drops the rows that are no longer beside it, reads those that are. Yields what failed.
    pub(super) fn advance(&mut self, y: u32) -> Vec<String> {
        let beside = y.saturating_sub(1)..=y.saturating_add(1);
        self.by_row.retain(|row, _| beside.contains(row));
        let mut failures = Vec::new();
        for row in beside {
            if !self.by_row.contains_key(&row) {
                let read = self.read_row(row, &mut failures);
                self.by_row.insert(row, read);
            }
        }
        failures
    }

    /// A tile of the rows in memory.
    pub(super) fn middle(&self, tile: TileCoord) -> Source<'_> {
        match self.by_row.get(&tile.y()).and_then(|row| row.get(&tile.x())) {
            Some(Some(block)) => Source::Block(block),
            Some(None) => Source::Failed,
            None => Source::Absent,
        }
    }

    /// A tile of the row in work and its eight neighbours, as far as they exist.
    pub(super) fn neighbours(&self, tile: TileCoord) -> Vec<Neighbour<'_>> {
        let steps = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| [dx, dy]));
        let neighbours = steps.filter_map(|step| {
            let Source::Block(block) = self.middle(tile.offset_wrapped(step[0], step[1])?) else { return None };
            Some(Neighbour { block, step })
        });
        neighbours.collect()
    }

    /// Reads the tiles of a row that are beside a tile to be made.
    fn read_row(&self, y: u32, failures: &mut Vec<String>) -> FxHashMap<u32, Option<Block>> {
        let wanted = |tile: &TileCoord| {
            let beside = (-1..=1).flat_map(|dy| (-1..=1).filter_map(move |dx| tile.offset_wrapped(dx, dy)));
            beside.into_iter().any(|tile| !self.plan.tiles(tile).is_empty())
        };
        let mut tiles: Vec<_> = self.inputs.iter().flat_map(|input| input.row(y)).filter(wanted).collect();
        tiles.sort();
        tiles.dedup();
        let read: Vec<_> = tiles.par_iter().map(|&tile| (tile, self.read(tile))).collect();
        let mut row = FxHashMap::default();
        for (tile, block) in read {
            let block = block.map_err(|errors| failures.extend(errors)).ok();
            row.insert(tile.x(), block);
        }
        row
    }

    /// Reads a tile from all inputs.
    fn read(&self, tile: TileCoord) -> Result<Block, Vec<String>> {
        let mut source = SourceTile { tile, features: Vec::new() };
        let mut errors = Vec::new();
        for input in &self.inputs {
            match input.read(tile) {
                Ok(features) => source.features.extend(features),
                Err(error) => errors.push(format!("tile {tile}: {error}")),
            }
        }
        if errors.is_empty() { Ok(Block::new(source)) } else { Err(errors) }
    }
}
