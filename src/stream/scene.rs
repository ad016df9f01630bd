//! The scene: compares what is wanted with what is there, and says what to do.
//!
//! Owns the regions' states, the queues, the store and the slots, and lets them know of each other. Receives an
//! [`Interest`] and the time once a frame, and [`Event`]s whenever they come; yields [`Command`]s and [`SlotUpdate`]s.
//! It executes nothing, and reads no clock: all times are durations since one start of the caller's choice, and a time
//! that runs backwards is taken for the latest one seen. What a running task holds is not in the store's account: at
//! most one file a fetch, and one region a build.
//!
//! ```text
//! frame(interest, now):  adopt the interest ─▶ make room ─▶ queue and start tasks ─▶ change slots
//! handle(event, now):    the region's state ─▶ make room         (what follows from it starts with the next frame)
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::geo::RegionKey;
use crate::limits;
use crate::view::Interest;

use super::debug::{CellState, DebugCell, DebugLog};
use super::progress::Progress;
use super::protocol::{Command, Event, LoadError, Outcome, SlotUpdate, Ticket};
use super::queue::{Aborted, Priority, Queue, QueueLimits};
use super::region::{Level, RegionState, Request, Task, TaskKind};
use super::slots::Slots;
use super::store::{Store, StoreLimits, Victim};

/// What a scene is allowed, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneConfig {
    /// World y of the floor of layer 0, in z17 voxels: the tileset's base.
    pub base: i32,
    /// Regions on screen at once; what the interest shows beyond it is not loaded.
    pub slots: usize,
    /// Fetches of priority above zero that run at once.
    pub tasks_high: usize,
    /// Fetches of priority zero and below that run at once.
    pub tasks_low: usize,
    /// Builds that run at once; at least 1.
    pub builds: usize,
    /// What is kept.
    pub store: StoreLimits,
    /// Bytes uploaded to the GPU in a frame; one region passes whatever its size.
    pub upload_bytes_per_frame: usize,
    /// Spreads the waits after failures; clients should differ in it, a test fixes it.
    pub seed: u64,
}

impl Default for SceneConfig {
    fn default() -> Self {
        Self {
            base: 0,
            slots: limits::SLOTS_MAX,
            tasks_high: limits::TASKS_HIGH,
            tasks_low: limits::TASKS_LOW,
            builds: limits::BUILDS,
            store: StoreLimits {
                bytes: limits::STORE_BYTES_MAX,
                outside: limits::PREPURGE,
                remembered: limits::REMEMBERED_MAX,
            },
            upload_bytes_per_frame: limits::UPLOAD_BYTES_PER_FRAME,
            seed: 0,
        }
    }
}

/// What is to be done now, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// For the loader: aborts first, then what starts.
    pub commands: Vec<Command>,
    /// For the renderer: each is made whole before anything is drawn. Clearings come first.
    pub updates: Vec<SlotUpdate>,
}

/// The stream of one view.
///
/// ```
/// use std::time::Duration;
/// use voxatlas::geo::{RegionKey, TileCoord};
/// use voxatlas::stream::{Command, Event, Outcome, Scene, SceneConfig};
/// use voxatlas::view::Interest;
///
/// let tower = RegionKey::new(TileCoord::new(17, 116_415, 51_623)?, 0);
/// let interest = Interest { visible: vec![tower], ..Interest::default() };
/// let mut scene = Scene::new(SceneConfig::default());
///
/// let frame = scene.frame(&interest, Duration::ZERO);
/// let [Command::Fetch { ticket, key }] = frame.commands[..] else { panic!("one region is wanted") };
///
/// // The loader asks the network, and finds the sea.
/// scene.handle(Event { ticket, key, outcome: Outcome::Empty }, Duration::from_millis(90));
/// assert!(scene.is_complete());
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
#[derive(Debug)]
pub struct Scene {
    config: SceneConfig,
    now: Duration,
    /// Whether there was a frame: before it nothing is known to be complete.
    started: bool,
    store: Store<RegionKey, RegionState>,
    fetches: Queue<RegionKey>,
    builds: Queue<RegionKey>,
    slots: Slots<RegionKey>,
    /// The interest of the last frame, most useful first, each key once.
    wanted: Vec<Wanted>,
    /// Every region at level error, wanted or not.
    failed: BTreeSet<RegionKey>,
    /// Running tasks that were given up since the last frame.
    aborts: Vec<Ticket>,
    next_ticket: u64,
    debug: Option<DebugLog>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    key: RegionKey,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Visible,
    Prebuild,
    Prefetch,
}

impl Role {
    fn request(self) -> Request {
        match self {
            Self::Visible | Self::Prebuild => Request::Full,
            Self::Prefetch => Request::Image,
        }
    }

    fn priority(self) -> Priority {
        match self {
            Self::Visible => Priority::VISIBLE,
            Self::Prebuild => Priority::PREBUILD,
            Self::Prefetch => Priority::PREFETCH,
        }
    }
}

impl Scene {
    /// A scene that knows no region yet.
    pub fn new(config: SceneConfig) -> Self {
        let queue = |high, low| Queue::new(QueueLimits { high, low, count: limits::INTEREST_MAX });
        Self {
            now: Duration::ZERO,
            started: false,
            store: Store::new(config.store),
            fetches: queue(config.tasks_high, config.tasks_low),
            builds: queue(config.builds.max(1), 0),
            slots: Slots::new(config.slots),
            wanted: Vec::new(),
            failed: BTreeSet::new(),
            aborts: Vec::new(),
            next_ticket: 0,
            debug: None,
            config,
        }
    }

    /// What it was made with.
    pub fn config(&self) -> &SceneConfig {
        &self.config
    }

    // ------------------------------------------------------------------------------------------------------------
    // The frame

    /// Adopts the interest and says what is to be done now. To be called once a frame, also while loading.
    ///
    /// At most [`INTEREST_MAX`](limits::INTEREST_MAX) regions are adopted, and as many visible ones as there are slots;
    /// a region that is named twice counts where it stands first.
    pub fn frame(&mut self, interest: &Interest, now: Duration) -> Frame {
        self.now = self.now.max(now);
        self.started = true;
        self.adopt(interest);
        self.heal();
        self.make_room();
        self.queue_tasks();
        Frame { commands: self.start_tasks(), updates: self.change_slots() }
    }

    fn adopt(&mut self, interest: &Interest) {
        let wanted = wanted_of(interest, self.config.slots);
        let keys: FxHashSet<RegionKey> = wanted.iter().map(|wanted| wanted.key).collect();
        let anchor = wanted.first().map(|wanted| wanted.key);
        for left in std::mem::replace(&mut self.wanted, wanted) {
            if !keys.contains(&left.key) {
                self.leave(left.key, anchor);
            }
        }
        for rank in 0..self.wanted.len() {
            self.want(self.wanted[rank], rank);
        }
    }

    fn leave(&mut self, key: RegionKey, anchor: Option<RegionKey>) {
        self.change(key, |state| state.tune(Request::None));
        if self.store.get(&key).is_some_and(RegionState::is_worth_keeping) {
            self.store.leave(key, self.now, anchor.map_or(0, |anchor| distance_squared(anchor, key)));
        } else {
            self.store.remove(key);
        }
    }

    fn want(&mut self, Wanted { key, role }: Wanted, rank: usize) {
        let was_wanted = self.store.want(key, rank, RegionState::new);
        let rested_before = self.now.checked_sub(Duration::from_millis(limits::ERROR_REST_MILLIS));
        self.change(key, |state| {
            if !was_wanted && state.error_since().is_some_and(|since| Some(since) <= rested_before) {
                state.retry();
            }
            state.tune(role.request())
        });
        self.fetches.tune(&key, role.priority());
        self.builds.tune(&key, role.priority());
        if let Some(debug) = &mut self.debug {
            debug.wanted(key);
        }
    }

    /// Starts regions anew that had no room and would have it now. The more useful ones keep theirs: what is held is
    /// decided by rank alone, so that two regions never take turns in one place.
    fn heal(&mut self) {
        for key in self.refused_with_room() {
            self.change(key, |state| {
                state.retry();
                None
            });
        }
    }

    fn refused_with_room(&self) -> Vec<RegionKey> {
        let mut better_bytes = 0;
        let mut found = Vec::new();
        for (&key, state) in self.store.wanted() {
            if let Some(LoadError::OverBudget { size_bytes, .. }) = state.error()
                && better_bytes + size_bytes <= self.config.store.bytes
            {
                found.push(key);
                better_bytes += size_bytes;
            }
            better_bytes += self.store.bytes_of(&key);
        }
        found
    }

    fn make_room(&mut self) {
        while let Some(victim) = self.store.victim() {
            match victim {
                Victim::Outside(key) => self.purge(key),
                Victim::Wanted(key) => self.refuse(key),
            }
        }
    }

    fn purge(&mut self, key: RegionKey) {
        self.change(key, RegionState::dispose);
        self.store.remove(key);
        if let Some(debug) = &mut self.debug {
            debug.purged(key);
        }
    }

    fn refuse(&mut self, key: RegionKey) {
        let (size_bytes, budget_bytes) = (self.store.bytes_of(&key), self.config.store.bytes);
        let now = self.now;
        self.change(key, |state| state.refuse(LoadError::OverBudget { key, size_bytes, budget_bytes }, now));
    }

    fn queue_tasks(&mut self) {
        for idx in 0..self.wanted.len() {
            let Wanted { key, role } = self.wanted[idx];
            let due = self.store.get(&key).and_then(RegionState::next_task).filter(|&(_, from)| from <= self.now);
            let Some((kind, _)) = due else { continue };
            // Queues hold as many tasks as an interest has regions, so this does not fail; if it did, the region would
            // be asked again in the next frame.
            if self.queue(kind).push(key, role.priority()).is_ok() {
                let task = Task { kind, ticket: Ticket(self.next_ticket) };
                self.next_ticket += 1;
                self.store.update(key, |state| state.begin(task));
                if let Some(debug) = &mut self.debug {
                    debug.began(key, self.now);
                }
            }
        }
    }

    fn start_tasks(&mut self) -> Vec<Command> {
        let mut commands: Vec<Command> = self.aborts.drain(..).map(|ticket| Command::Abort { ticket }).collect();
        while let Some(key) = self.fetches.start() {
            if let Some(Task { ticket, .. }) = self.store.get(&key).and_then(RegionState::task) {
                commands.push(Command::Fetch { ticket, key });
            }
        }
        while let Some(key) = self.builds.start() {
            if let Some(state) = self.store.get(&key)
                && let (Some(Task { ticket, .. }), Some(atlas)) = (state.task(), state.image())
            {
                commands.push(Command::Build { ticket, key, atlas: atlas.clone() });
            }
        }
        commands
    }

    fn change_slots(&mut self) -> Vec<SlotUpdate> {
        let changes = self.slots.update(&self.ready(), self.config.upload_bytes_per_frame);
        let update = |change: super::slots::SlotChange<RegionKey>| SlotUpdate {
            at: change.at,
            region: change.owner.and_then(|key| self.store.get(&key)).and_then(RegionState::built).cloned(),
            offset: change.owner.map_or([0; 3], |key| key.origin(self.config.base)),
            octants: SlotUpdate::ALL_OCTANTS,
        };
        changes.into_iter().map(update).collect()
    }

    /// The visible regions that can be drawn, nearest first, with their upload costs.
    fn ready(&self) -> Vec<(RegionKey, usize)> {
        let upload = |key| Some((key, self.store.get(&key)?.built()?.mesh.gpu_bytes()));
        self.visible().filter_map(upload).collect()
    }

    // ------------------------------------------------------------------------------------------------------------
    // What comes back

    /// Takes the end of a task. False, and nothing changes, where it is stale: of a task that was aborted, has ended
    /// already, or was never started.
    pub fn handle(&mut self, event: Event, now: Duration) -> bool {
        let Event { ticket, key, outcome } = event;
        let current = self.store.get(&key).and_then(RegionState::task).filter(|task| task.ticket == ticket);
        let Some(kind) = current.map(|task| task.kind).filter(|&kind| self.queue(kind).finish(&key)) else {
            return false;
        };
        self.now = self.now.max(now);
        let (now, random) = (self.now, mix(self.config.seed ^ ticket.0));
        self.change(key, |state| {
            state.finish(ticket, checked(outcome, key), now, random);
            None
        });
        if let Some(debug) = &mut self.debug {
            debug.ended(key, kind, now);
        }
        self.make_room();
        true
    }

    /// Starts a region in error anew, with all its tries. Whether it was in error.
    pub fn retry(&mut self, key: RegionKey) -> bool {
        let mut was_error = false;
        self.change(key, |state| {
            was_error = state.retry();
            None
        });
        self.forget_if_idle(key);
        was_error
    }

    /// Starts all regions in error anew, and yields how many they were. Those outside the interest are forgotten, and
    /// load like new ones when they come back.
    pub fn retry_failed(&mut self) -> usize {
        let failed: Vec<RegionKey> = self.failed.iter().copied().collect();
        failed.into_iter().filter(|&key| self.retry(key)).count()
    }

    fn forget_if_idle(&mut self, key: RegionKey) {
        if !self.store.is_wanted(&key) && !self.store.get(&key).is_some_and(RegionState::is_worth_keeping) {
            self.store.remove(key);
        }
    }

    /// The one place where a region's state changes: stops the task that the change makes needless, and keeps the index
    /// of failures.
    fn change(&mut self, key: RegionKey, change: impl FnOnce(&mut RegionState) -> Option<Task>) {
        let needless = self.store.update(key, change).flatten();
        if let Some(Task { kind, ticket }) = needless {
            if self.queue(kind).abort(&key) == Some(Aborted::Running) {
                self.aborts.push(ticket);
            }
            if let Some(debug) = &mut self.debug {
                debug.aborted(key);
            }
        }
        if self.store.get(&key).is_some_and(|state| state.level() == Level::Error) {
            self.failed.insert(key);
        } else {
            self.failed.remove(&key);
        }
    }

    fn queue(&mut self, kind: TaskKind) -> &mut Queue<RegionKey> {
        match kind {
            TaskKind::Fetch => &mut self.fetches,
            TaskKind::Build => &mut self.builds,
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // What can be asked

    /// Whether the picture is whole: every visible region is drawn, known to be empty, or in error. False before the
    /// first frame.
    pub fn is_complete(&self) -> bool {
        self.started && self.progress().is_complete()
    }

    /// How far the visible regions are, and what the store holds.
    pub fn progress(&self) -> Progress {
        let mut progress =
            Progress { n_outside: self.store.n_outside(), store_bytes: self.store.bytes_held(), ..Progress::default() };
        for key in self.visible() {
            let state = self.store.get(&key);
            let is_running = self.fetches.is_running(&key) || self.builds.is_running(&key);
            let is_drawn = self.slots.slot_of(&key).is_some();
            progress.add(state, is_running, is_drawn, self.now);
        }
        progress
    }

    /// The time at which the next frame would do something although neither the interest changes nor an event comes:
    /// `now` where there is something to do at once, the end of a back-off, or `None` where only events help.
    pub fn next_wake(&self, now: Duration) -> Option<Duration> {
        let now = self.now.max(now);
        let at_once = !self.aborts.is_empty()
            || self.fetches.can_start()
            || self.builds.can_start()
            || self.has_slot_changes()
            || !self.refused_with_room().is_empty();
        if at_once {
            return Some(now);
        }
        self.store.wanted().filter_map(|(_, state)| state.next_task()).map(|(_, from)| from.max(now)).min()
    }

    fn has_slot_changes(&self) -> bool {
        let ready = self.ready();
        ready.iter().any(|(key, _)| self.slots.slot_of(key).is_none())
            || self.slots.owners().iter().flatten().any(|owner| !ready.iter().any(|(key, _)| key == owner))
    }

    /// The regions in error and why, wanted or not, in the order of the keys.
    pub fn failures(&self) -> impl Iterator<Item = (RegionKey, &LoadError)> {
        self.failed.iter().filter_map(|&key| Some((key, self.store.get(&key)?.error()?)))
    }

    /// What is known of a region: its level, and at level full its voxels and mesh, for picking and collision.
    pub fn region(&self, key: &RegionKey) -> Option<&RegionState> {
        self.store.get(key)
    }

    /// The owner of every slot: exactly what the renderer shows after the last frame's updates.
    pub fn slots(&self) -> &[Option<RegionKey>] {
        self.slots.owners()
    }

    fn visible(&self) -> impl Iterator<Item = RegionKey> {
        self.wanted.iter().take_while(|wanted| wanted.role == Role::Visible).map(|wanted| wanted.key)
    }

    /// Switches the debug record on, or off, which drops it.
    pub fn set_debug(&mut self, on: bool) {
        self.debug = if on { self.debug.take().or_else(|| Some(DebugLog::default())) } else { None };
    }

    /// A snapshot of the regions that were wanted since debugging was switched on, in the order of the keys; nothing
    /// while it is off.
    pub fn debug_cells(&self) -> Vec<DebugCell> {
        let state_of = |key: &RegionKey| {
            if self.failed.contains(key) {
                return CellState::Error;
            }
            match self.wanted.iter().find(|wanted| wanted.key == *key).map(|wanted| wanted.role) {
                Some(Role::Visible) => CellState::Visible,
                Some(Role::Prebuild) => CellState::Prebuild,
                Some(Role::Prefetch) => CellState::Prefetch,
                None => CellState::Idle,
            }
        };
        self.debug.as_ref().map_or_else(Vec::new, |debug| debug.cells(state_of, |key| self.store.get(key)))
    }

    /// Checks that all parts agree with each other and with the limits; linear in the number of known regions.
    ///
    /// # Panics
    ///
    /// They do not: a bug in this module.
    pub fn check_invariants(&self) {
        self.store.check_invariants();
        self.fetches.check_invariants();
        self.builds.check_invariants();
        self.slots.check_invariants();
        assert!(self.store.victim().is_none(), "the store is within its limits");
        for (queue, kind) in [(&self.fetches, TaskKind::Fetch), (&self.builds, TaskKind::Build)] {
            for key in queue.keys() {
                let task = self.store.get(key).and_then(RegionState::task);
                assert_eq!(task.map(|task| task.kind), Some(kind), "{key}: a queued task is the region's one task");
            }
        }
        let wanted: BTreeSet<RegionKey> = self.wanted.iter().map(|wanted| wanted.key).collect();
        assert_eq!(wanted.len(), self.wanted.len(), "a region is wanted once");
        for (key, state) in self.store.iter() {
            let is_queued = self.fetches.contains(key) || self.builds.contains(key);
            assert_eq!(state.task().is_some(), is_queued, "{key}: a task stands in a queue");
            assert_eq!(self.store.is_wanted(key), wanted.contains(key), "{key}: the store knows who is wanted");
            assert_eq!(state.request() != Request::None, wanted.contains(key), "{key}: only the wanted are requested");
            assert_eq!(state.level() == Level::Error, self.failed.contains(key), "{key}: failures are indexed");
            assert!(state.n_failures() < limits::RETRIES_MAX, "{key}: the last failure is an error");
        }
        assert!(wanted.iter().all(|key| self.store.get(key).is_some()), "the store knows the wanted");
        assert!(self.failed.iter().all(|key| self.store.get(key).is_some()), "the store knows the failed");
    }
}

/// The interest as one list, most useful first, each region once.
fn wanted_of(interest: &Interest, n_slots: usize) -> Vec<Wanted> {
    let mut seen = FxHashSet::default();
    let lists = [
        (&interest.visible, Role::Visible, n_slots),
        (&interest.prebuild, Role::Prebuild, usize::MAX),
        (&interest.prefetch, Role::Prefetch, usize::MAX),
    ];
    let mut wanted = Vec::new();
    for (keys, role, n_max) in lists {
        let new = keys.iter().filter(|&&key| seen.insert(key)).map(|&key| Wanted { key, role }).take(n_max);
        wanted.extend(new);
    }
    wanted.truncate(limits::INTEREST_MAX);
    wanted
}

/// A built region must be the one that was asked for: the wrong city on screen is worse than a gap.
fn checked(outcome: Outcome, key: RegionKey) -> Outcome {
    match outcome {
        Outcome::Built(built) if built.key != key => Outcome::Failed(LoadError::Permanent {
            what: format!("the loader built {} where {key} was asked for", built.key),
        }),
        outcome => outcome,
    }
}

/// Squared distance between two regions' corners, in voxels: exact, and the same on every machine.
fn distance_squared(a: RegionKey, b: RegionKey) -> u64 {
    let (a, b) = (a.origin(0), b.origin(0));
    (0..3).fold(0u64, |sum, axis| {
        let along = a[axis].abs_diff(b[axis]);
        sum.saturating_add(along.saturating_mul(along))
    })
}

/// SplitMix64's finaliser: turns a seed and a ticket into bits that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
