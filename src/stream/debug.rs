//! What the stream does, region by region, for those who watch.
//!
//! Owns the listeners, and a record of durations while there are any. Receives the beginnings and ends of tasks, yields
//! [`DebugEvent`]s in the reference system's words. While nobody listens nothing is recorded, measured or allocated.
//!
//! An event is due when the anchor moves, when a task begins, ends or is aborted, and when regions are purged. All that
//! happens within one call of the scene is one event.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::geo::RegionKey;

use super::region::{Level, RegionState, TaskKind};

/// Why a region is there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellCache {
    /// Not ready, and nothing is being done: nothing is held, or only the file.
    Empty,
    /// Its fetch is queued or runs.
    Fetching,
    /// Its build is queued or runs.
    Building,
    /// Ready: it can be drawn, or is known to be empty.
    Cached,
    /// It has been disposed of: the next event does not name it any more.
    Purged,
}

/// One region in an event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DebugCell {
    /// The region.
    #[serde(serialize_with = "as_text")]
    pub region: RegionKey,
    /// Why it is there.
    pub state: CellState,
    /// How far it is.
    pub cache: CellCache,
    /// What its last fetch took, from the queue to the answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_ms: Option<f64>,
    /// What its last build took, from the queue to the answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prebuild_ms: Option<f64>,
}

/// What has just changed, and how all known regions stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebugEvent {
    /// The scene's time, in seconds.
    pub time: f64,
    /// The region that the view wants most, where it wants any.
    #[serde(serialize_with = "as_text_or_null")]
    pub anchor: Option<RegionKey>,
    /// Every region that is known, in the order of the keys.
    pub cells: Vec<DebugCell>,
}

/// One listener, to be named when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(u64);

/// Whoever is told of the events, as [`Scene::listen`](super::Scene::listen) takes it.
pub type Listener = Box<dyn FnMut(&DebugEvent) + Send>;

/// The listeners and the record behind their events.
#[derive(Default)]
pub(super) struct DebugLog {
    listeners: Vec<(ListenerId, Listener)>,
    next_listener: u64,
    cells: BTreeMap<RegionKey, Record>,
    anchor: Option<RegionKey>,
    is_due: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    began: Option<Duration>,
    prefetch: Option<Duration>,
    prebuild: Option<Duration>,
    is_purged: bool,
}

impl DebugLog {
    pub(super) fn listen(&mut self, listener: Listener) -> ListenerId {
        let id = ListenerId(self.next_listener);
        self.next_listener += 1;
        self.listeners.push((id, listener));
        self.is_due = true;
        id
    }

    /// Whether there was such a listener. With the last one the record goes.
    pub(super) fn unlisten(&mut self, id: ListenerId) -> bool {
        let n_before = self.listeners.len();
        self.listeners.retain(|(listener, _)| *listener != id);
        if self.listeners.is_empty() {
            self.cells = BTreeMap::new();
            self.anchor = None;
        }
        self.listeners.len() < n_before
    }

    /// Whether anybody listens.
    pub(super) fn is_on(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// The view wants this region most.
    pub(super) fn anchored(&mut self, anchor: Option<RegionKey>) {
        if self.is_on() && self.anchor != anchor {
            self.anchor = anchor;
            self.is_due = true;
        }
    }

    /// A task was queued.
    pub(super) fn began(&mut self, key: RegionKey, now: Duration) {
        self.note(key, |record| (record.began, record.is_purged) = (Some(now), false));
    }

    /// A task ended, well or badly.
    pub(super) fn ended(&mut self, key: RegionKey, kind: TaskKind, now: Duration) {
        self.note(key, |record| {
            let took = record.began.take().map(|began| now.saturating_sub(began));
            match kind {
                TaskKind::Fetch => record.prefetch = took,
                TaskKind::Build => record.prebuild = took,
            }
        });
    }

    /// A task was aborted.
    pub(super) fn aborted(&mut self, key: RegionKey) {
        self.note(key, |record| record.began = None);
    }

    /// The region was disposed of.
    pub(super) fn purged(&mut self, key: RegionKey) {
        self.note(key, |record| record.is_purged = true);
    }

    fn note(&mut self, key: RegionKey, change: impl FnOnce(&mut Record)) {
        if self.is_on() {
            change(self.cells.entry(key).or_default());
            self.is_due = true;
        }
    }

    /// Tells the listeners what is due, and drops the cells of purged regions. `state_of` says why a region is there,
    /// `region_of` what is known of it.
    pub(super) fn flush<'a>(
        &mut self,
        now: Duration,
        state_of: impl Fn(&RegionKey) -> CellState,
        region_of: impl Fn(&RegionKey) -> Option<&'a RegionState>,
    ) {
        if !self.is_on() || !std::mem::take(&mut self.is_due) {
            return;
        }
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let cell = |(&region, record): (&RegionKey, &Record)| {
            let known = region_of(&region);
            DebugCell {
                region,
                state: state_of(&region),
                cache: known.map_or(CellCache::Purged, cache_of),
                prefetch_ms: record.prefetch.map(millis),
                prebuild_ms: record.prebuild.map(millis),
            }
        };
        let cells = self.cells.iter().map(cell).collect();
        let event = DebugEvent { time: now.as_secs_f64(), anchor: self.anchor, cells };
        for (_, listener) in &mut self.listeners {
            listener(&event);
        }
        // Purged ones, and those that were forgotten because nothing was known of them.
        self.cells.retain(|key, record| !record.is_purged && region_of(key).is_some());
    }
}

impl fmt::Debug for DebugLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugLog").field("n_listeners", &self.listeners.len()).finish_non_exhaustive()
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

fn as_text<S: Serializer>(key: &RegionKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

#[expect(clippy::ref_option, reason = "serde hands on a reference to the field")]
fn as_text_or_null<S: Serializer>(key: &Option<RegionKey>, serializer: S) -> Result<S::Ok, S::Error> {
    match key {
        Some(key) => serializer.collect_str(key),
        None => serializer.serialize_none(),
    }
}
