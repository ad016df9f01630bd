//! How far the picture is, in numbers for the HUD.
//!
//! Owns the counts. Receives the visible regions' states one by one, yields sums; it does not know the scene.

use std::time::Duration;

use super::region::{Level, RegionState, TaskKind};

/// The visible regions by state, each counted once, and what the store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Drawn from a slot.
    pub n_drawn: usize,
    /// Loaded, and uploaded within the next frames.
    pub n_ready: usize,
    /// Known to be empty.
    pub n_empty: usize,
    /// In error.
    pub n_failed: usize,
    /// Being fetched.
    pub n_fetching: usize,
    /// Being decoded and meshed.
    pub n_building: usize,
    /// Waiting for their turn in a queue.
    pub n_queued: usize,
    /// Waiting for another try after a failure.
    pub n_backing_off: usize,
    /// Loaded regions kept outside the interest.
    pub n_outside: usize,
    /// Bytes that all loaded regions take on the CPU.
    pub store_bytes: usize,
}

impl Progress {
    /// All visible regions.
    pub fn n_visible(&self) -> usize {
        self.n_settled() + self.n_ready + self.n_fetching + self.n_building + self.n_queued + self.n_backing_off
    }

    /// Visible regions on which nothing more will be done: drawn, empty or failed.
    pub fn n_settled(&self) -> usize {
        self.n_drawn + self.n_empty + self.n_failed
    }

    /// Whether all visible regions are settled.
    pub fn is_complete(&self) -> bool {
        self.n_settled() == self.n_visible()
    }

    pub(super) fn add(&mut self, state: Option<&RegionState>, is_running: bool, is_drawn: bool, now: Duration) {
        let level = state.map_or(Level::None, RegionState::level);
        let task = state.and_then(RegionState::task).map(|task| task.kind);
        let waits = state.and_then(RegionState::next_task).is_some_and(|(_, from)| from > now);
        let count = match (level, task) {
            (Level::Full, _) if is_drawn => &mut self.n_drawn,
            (Level::Full, _) => &mut self.n_ready,
            (Level::Empty, _) => &mut self.n_empty,
            (Level::Error, _) => &mut self.n_failed,
            (_, Some(TaskKind::Fetch)) if is_running => &mut self.n_fetching,
            (_, Some(TaskKind::Build)) if is_running => &mut self.n_building,
            _ if waits => &mut self.n_backing_off,
            _ => &mut self.n_queued,
        };
        *count += 1;
    }
}
