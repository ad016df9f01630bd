//! What the stream does, region by region, for someone who watches.
//!
//! Owns a bounded record of durations and disposals while debugging is on, and nothing while it is off. Receives the
//! beginnings and ends of tasks, yields [`DebugCell`]s with the reference system's words. Nobody is called back: who
//! wants to watch takes a snapshot when it suits them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::geo::RegionKey;
use crate::limits::DEBUG_CELLS_MAX;

use super::region::{Level, RegionState, TaskKind};

/// Why a region is there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellState {
    /// In view.
    Visible,
    /// Built ahead of need.
    Prebuild,
    /// Fetched ahead of need.
    Prefetch,
    /// Not wanted now.
    Idle,
    /// Given up.
    Error,
}

/// How far a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellCache {
    /// Not ready, and nothing is being done: nothing is held, or only the file.
    Empty,
    /// Its fetch is queued or runs.
    Fetching,
    /// Its build is queued or runs.
    Building,
    /// Ready: it can be drawn, or is known to be empty.
    Cached,
    /// It was held, and has been disposed of since.
    Purged,
}

/// One region in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugCell {
    /// The region.
    pub key: RegionKey,
    /// Why it is there.
    pub state: CellState,
    /// How far it is.
    pub cache: CellCache,
    /// What its last fetch took, from the queue to the answer.
    pub prefetch: Option<Duration>,
    /// What its last build took, from the queue to the answer.
    pub prebuild: Option<Duration>,
}

/// The record behind the snapshots: at most [`DEBUG_CELLS_MAX`] regions, the longest untouched go first.
#[derive(Debug, Clone, Default)]
pub(super) struct DebugLog {
    cells: BTreeMap<RegionKey, Record>,
    /// Every cell's last touch. Invariant: one entry a cell.
    touches: BTreeSet<(u64, RegionKey)>,
    next_touch: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    touch: u64,
    began: Option<Duration>,
    prefetch: Option<Duration>,
    prebuild: Option<Duration>,
    purged: bool,
}

impl DebugLog {
    /// The region is wanted.
    pub(super) fn wanted(&mut self, key: RegionKey) {
        self.record(key);
    }

    /// A task was queued.
    pub(super) fn began(&mut self, key: RegionKey, now: Duration) {
        let record = self.record(key);
        record.began = Some(now);
        record.purged = false;
    }

    /// A task ended, well or badly.
    pub(super) fn ended(&mut self, key: RegionKey, kind: TaskKind, now: Duration) {
        let record = self.record(key);
        let took = record.began.take().map(|began| now.saturating_sub(began));
        match kind {
            TaskKind::Fetch => record.prefetch = took,
            TaskKind::Build => record.prebuild = took,
        }
    }

    /// A task was aborted.
    pub(super) fn aborted(&mut self, key: RegionKey) {
        self.record(key).began = None;
    }

    /// The region was disposed of.
    pub(super) fn purged(&mut self, key: RegionKey) {
        self.record(key).purged = true;
    }

    /// All cells, in the order of the keys; `state_of` says why a region is there, `region_of` what is known of it.
    pub(super) fn cells<'a>(
        &self,
        state_of: impl Fn(&RegionKey) -> CellState,
        region_of: impl Fn(&RegionKey) -> Option<&'a RegionState>,
    ) -> Vec<DebugCell> {
        let cell = |(&key, record): (&RegionKey, &Record)| DebugCell {
            key,
            state: state_of(&key),
            cache: region_of(&key).map_or(if record.purged { CellCache::Purged } else { CellCache::Empty }, cache_of),
            prefetch: record.prefetch,
            prebuild: record.prebuild,
        };
        self.cells.iter().map(cell).collect()
    }

    fn record(&mut self, key: RegionKey) -> &mut Record {
        let touch = self.next_touch;
        self.next_touch += 1;
        if let Some(record) = self.cells.get(&key) {
            self.touches.remove(&(record.touch, key));
        } else if self.cells.len() >= DEBUG_CELLS_MAX
            && let Some((_, oldest)) = self.touches.pop_first()
        {
            self.cells.remove(&oldest);
        }
        self.touches.insert((touch, key));
        let record = self.cells.entry(key).or_default();
        record.touch = touch;
        record
    }
}

fn cache_of(state: &RegionState) -> CellCache {
    match (state.task().map(|task| task.kind), state.level()) {
        (Some(TaskKind::Fetch), _) => CellCache::Fetching,
        (Some(TaskKind::Build), _) => CellCache::Building,
        (None, Level::Full | Level::Empty) => CellCache::Cached,
        (None, Level::None | Level::Image | Level::Error) => CellCache::Empty,
    }
}
