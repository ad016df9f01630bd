//! The scene: compares what is wanted with what is there, and says what to do.
//!
//! Owns the regions' states, the queues, the store and the slots, and lets them know of each other. Receives an
//! [`Interest`] and the time once a frame, and [`Event`]s whenever they come; yields [`Command`]s and [`SlotUpdate`]s.
//! It executes nothing, and reads no clock: all times are durations since one start of the caller's choice, and a time
//! that runs backwards is taken for the latest one seen. What a running task holds is not in the store's account: at
//! most one file a fetch, and one region a build.
//!
//! ```text
//! frame(interest, now):  adopt the interest ─▶ make room ─▶ queue and start tasks ─▶ change slots ─▶ cover
//! handle(event, now):    the region's state ─▶ make room         (what follows from it starts with the next frame)
//! ```
//!
//! **Who is drawn.** Of the visible regions those that are ready, and one more kind: what is on screen and no longer
//! wanted *lingers* while the coarser region that is to stand in for it is not on screen yet. So a view that rises, or
//! whose detail gives way, never tears a hole where something was drawn before.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::geo::RegionKey;
use crate::limits;
use crate::view::{Interest, Outlook};

use super::cover::{Cover, Known};
use super::debug::{CellState, DebugEvent, DebugLog, ListenerId};
use super::hosts::Hosts;
use super::progress::Progress;
use super::protocol::{Command, Event, LoadError, Notice, OctantUpdate, Outcome, SlotUpdate, Ticket, UploadStep};
use super::queue::{Aborted, Priority, Queue, QueueLimits, Urgency};
use super::region::{Level, RegionState, Request, Task, TaskKind};
use super::slots::{SlotChange, Slots};
use super::store::{Store, StoreLimits, Victim};

/// What a scene is allowed, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneConfig {
    /// World y of the floor of layer 0, in z17 voxels: the tileset's base.
    pub base: i32,
    /// Regions on screen at once; what the interest shows beyond it is not loaded.
    pub slots: usize,
    /// Of these, regions of one zoom.
    pub slots_per_zoom: usize,
    /// Fetches of priority above zero that run at once.
    pub tasks_high: usize,
    /// Fetches of priority zero and below that run at once.
    pub tasks_low: usize,
    /// Fetches that run at once at one host; at least 1.
    pub tasks_per_host: usize,
    /// Builds that run at once; at least 1.
    pub builds: usize,
    /// What is kept; of regions without bytes at least [`REMEMBERED_MIN`](limits::REMEMBERED_MIN).
    pub store: StoreLimits,
    /// Bytes uploaded to the GPU in a frame; what is larger takes several.
    pub upload_bytes_per_frame: usize,
    /// Spreads the waits after failures; clients should differ in it, a test fixes it.
    pub seed: u64,
}

impl Default for SceneConfig {
    fn default() -> Self {
        Self {
            base: 0,
            slots: limits::SLOTS_MAX,
            slots_per_zoom: limits::SLOTS_PER_ZOOM,
            tasks_high: limits::TASKS_HIGH,
            tasks_low: limits::TASKS_LOW,
            tasks_per_host: limits::TASKS_PER_HOST,
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// For the loader: aborts first, then what starts.
    pub commands: Vec<Command>,
    /// For the renderer, before the updates that show something: parts of regions, each to a slot that shows nothing.
    pub uploads: Vec<UploadStep>,
    /// For the renderer: each is made whole before anything is drawn. Clearings come first; a slot may be cleared and
    /// then show something else.
    pub updates: Vec<SlotUpdate>,
    /// For the renderer, after the updates: slots that stay and draw other octants. They belong to one picture with the
    /// updates: a child appears in the frame in which its parent's octant goes.
    pub octants: Vec<OctantUpdate>,
    /// For whoever runs the stream.
    pub notices: Vec<Notice>,
}

impl Frame {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        let Self { commands, uploads, updates, octants, notices } = self;
        commands.is_empty() && uploads.is_empty() && updates.is_empty() && octants.is_empty() && notices.is_empty()
    }
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
    hosts: Hosts,
    host_of: HostOf,
    slots: Slots<RegionKey>,
    cover: Cover,
    /// What is wanted since the last frame, most useful first, each key once: the interest, then what lingers.
    wanted: Vec<Wanted>,
    /// The same before, while a frame compares the two.
    wanted_before: Vec<Wanted>,
    /// Working memory: which regions the interest has named.
    seen: FxHashSet<RegionKey>,
    /// The places of `wanted`, in the order of the keys.
    ranks: Vec<(RegionKey, u32)>,
    /// The interest's, in the order of the keys.
    refined: Vec<RegionKey>,
    outlook: Outlook,
    /// Every region at level error, wanted or not.
    failed: BTreeSet<RegionKey>,
    /// Running tasks that were given up since the last frame.
    aborts: Vec<Ticket>,
    notices: Vec<Notice>,
    next_ticket: u64,
    n_panics_in_a_row: u32,
    /// Whether something has happened since the last frame that the next one acts on.
    is_stirred: bool,
    /// Whether something has changed that decides on octants, beside the slots.
    is_cover_stale: bool,
    /// What can be drawn, with its upload cost, and the changes that it leads to: working memory.
    ready: Vec<(RegionKey, usize)>,
    changes: Vec<SlotChange<RegionKey>>,
    masks_before: Vec<u8>,
    debug: DebugLog,
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
    /// On screen, and to be replaced.
    Lingering,
}

impl Role {
    fn request(self) -> Request {
        match self {
            Self::Visible | Self::Prebuild | Self::Lingering => Request::Full,
            Self::Prefetch => Request::Image,
        }
    }

    fn priority(self) -> Priority {
        match self {
            Self::Visible => Priority::VISIBLE,
            Self::Prebuild => Priority::PREBUILD,
            Self::Prefetch | Self::Lingering => Priority::PREFETCH,
        }
    }
}

/// Which host a region comes from.
struct HostOf(Box<dyn Fn(RegionKey) -> usize + Send + Sync>);

impl fmt::Debug for HostOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostOf")
    }
}

impl Scene {
    /// A scene that knows no region yet.
    pub fn new(config: SceneConfig) -> Self {
        let queue = |high, low| Queue::new(QueueLimits { high, low, count: limits::INTEREST_MAX });
        Self {
            now: Duration::ZERO,
            started: false,
            store: Store::new(StoreLimits {
                remembered: config.store.remembered.max(limits::REMEMBERED_MIN),
                ..config.store
            }),
            fetches: queue(config.tasks_high, config.tasks_low),
            builds: queue(config.builds.max(1), 0),
            hosts: Hosts::new(config.tasks_per_host),
            host_of: HostOf(Box::new(|_| 0)),
            slots: Slots::new(config.slots),
            cover: Cover::new(config.slots),
            wanted: Vec::new(),
            wanted_before: Vec::new(),
            seen: FxHashSet::default(),
            ranks: Vec::new(),
            refined: Vec::new(),
            outlook: Outlook::default(),
            failed: BTreeSet::new(),
            aborts: Vec::new(),
            notices: Vec::new(),
            next_ticket: 0,
            n_panics_in_a_row: 0,
            is_stirred: false,
            is_cover_stale: false,
            ready: Vec::new(),
            changes: Vec::new(),
            masks_before: vec![0; config.slots],
            debug: DebugLog::default(),
            config,
        }
    }

    /// Tells hosts apart: each has its own limit of fetches, and is left alone as long as it asks for. The numbers of a
    /// tileset's hosts count from 0; those beyond [`HOSTS_MAX`](limits::HOSTS_MAX) share one limit. A region's host must
    /// not change.
    #[must_use]
    pub fn with_hosts(mut self, host_of: impl Fn(RegionKey) -> usize + Send + Sync + 'static) -> Self {
        self.host_of = HostOf(Box::new(host_of));
        self
    }

    /// What it was made with.
    pub fn config(&self) -> &SceneConfig {
        &self.config
    }

    /// Allows so many bytes of uploads a frame from now on: for those who measure how long uploads take.
    pub fn set_upload_bytes_per_frame(&mut self, bytes: usize) {
        self.config.upload_bytes_per_frame = bytes;
    }

    // ------------------------------------------------------------------------------------------------------------
    // The frame

    /// Adopts the interest and says what is to be done now. To be called once a frame, also while loading.
    ///
    /// At most [`INTEREST_MAX`](limits::INTEREST_MAX) regions are adopted, and as many visible ones as there are slots,
    /// in all and of their zoom; a region that is named twice counts where it stands first. A frame in which nothing
    /// changes allocates nothing.
    pub fn frame(&mut self, interest: &Interest, now: Duration) -> Frame {
        self.now = self.now.max(now);
        self.started = true;
        self.adopt(interest);
        self.heal();
        self.make_room();
        self.queue_tasks();
        self.is_stirred = false;
        let mut frame = Frame { notices: std::mem::take(&mut self.notices), ..Frame::default() };
        self.start_tasks(&mut frame.commands);
        self.change_slots(&mut frame);
        self.flush_debug();
        frame
    }

    fn adopt(&mut self, interest: &Interest) {
        if self.refined != interest.refined {
            self.refined.clone_from(&interest.refined);
            self.is_cover_stale = true;
        }
        self.outlook = interest.outlook;

        std::mem::swap(&mut self.wanted, &mut self.wanted_before);
        self.take_interest(interest);
        self.add_lingering();
        self.debug.anchored(self.wanted.first().map(|wanted| wanted.key));
        self.is_cover_stale |= self.wanted != self.wanted_before;

        for idx in 0..self.wanted_before.len() {
            let key = self.wanted_before[idx].key;
            if self.rank_of(&key).is_none() {
                self.leave(key);
            }
        }
        for rank in 0..self.wanted.len() {
            self.want(self.wanted[rank], rank);
        }
    }

    /// The interest as one list, most useful first, each region once.
    fn take_interest(&mut self, interest: &Interest) {
        let Self { config, seen, wanted, .. } = self;
        seen.clear();
        wanted.clear();
        let mut n_visible_of_zoom = [0usize; 256];
        for &key in &interest.visible {
            let n = &mut n_visible_of_zoom[usize::from(key.tile.zoom())];
            if *n < config.slots_per_zoom && wanted.len() < config.slots && seen.insert(key) {
                *n += 1;
                wanted.push(Wanted { key, role: Role::Visible });
            }
        }
        for (keys, role) in [(&interest.prebuild, Role::Prebuild), (&interest.prefetch, Role::Prefetch)] {
            wanted.extend(keys.iter().filter(|&&key| seen.insert(key)).map(|&key| Wanted { key, role }));
        }
        wanted.truncate(limits::INTEREST_MAX);
        self.index_ranks();
    }

    fn index_ranks(&mut self) {
        self.ranks.clear();
        self.ranks.extend(self.wanted.iter().enumerate().map(|(rank, wanted)| (wanted.key, rank as u32)));
        self.ranks.sort_unstable();
    }

    fn rank_of(&self, key: &RegionKey) -> Option<usize> {
        let at = self.ranks.binary_search_by(|(ranked, _)| ranked.cmp(key)).ok()?;
        Some(self.ranks[at].1 as usize)
    }

    fn is_visible(&self, key: &RegionKey) -> bool {
        self.rank_of(key).is_some_and(|rank| self.wanted[rank].role == Role::Visible)
    }

    /// Keeps on screen what is not visible any more and has no successor yet.
    fn add_lingering(&mut self) {
        let n_wanted = self.wanted.len();
        for at in 0..self.config.slots {
            let Some(key) = self.slots.shown(at) else { continue };
            if !self.is_visible(&key) && self.waits_for_successor(key) && self.wanted.len() < limits::INTEREST_MAX {
                self.wanted.push(Wanted { key, role: Role::Lingering });
            }
        }
        if self.wanted.len() > n_wanted {
            // What was also wanted ahead of need is named twice now: it is there, so that the lower rank loses nothing.
            let lingering = self.wanted.split_off(n_wanted);
            self.wanted.retain(|wanted| lingering.iter().all(|it| it.key != wanted.key));
            self.wanted.extend(lingering);
            self.index_ranks();
        }
    }

    /// Whether the nearest region above that is in the picture is still to come, or never will.
    fn waits_for_successor(&self, key: RegionKey) -> bool {
        let mut above = key.parent();
        while let Some(key) = above {
            if self.is_visible(&key) {
                return !self.slots.is_shown(&key) && !self.is_known_empty(&key);
            }
            above = key.parent();
        }
        false
    }

    fn leave(&mut self, key: RegionKey) {
        self.change(key, |state| state.tune(Request::None));
        if self.store.get(&key).is_some_and(RegionState::is_worth_keeping) {
            self.store.leave(key, self.now);
        } else {
            self.forget(key);
        }
    }

    fn want(&mut self, Wanted { key, role }: Wanted, rank: usize) {
        let is_new = !self.store.want(key, rank, RegionState::new);
        let is_doubtful = !self.is_known_empty(&key) && self.level_of(&key) == Level::Empty;
        let is_tuned = self.store.get(&key).is_some_and(|state| state.request() == role.request());
        if is_new || is_doubtful || !is_tuned {
            self.change(key, |state| {
                if is_doubtful {
                    state.doubt();
                }
                state.tune(role.request())
            });
        }
        if let Some(task) = self.store.get(&key).and_then(RegionState::task) {
            let urgency = self.urgency(key, role, rank);
            self.queue(task.kind).tune(&key, urgency);
        }
    }

    fn urgency(&self, key: RegionKey, role: Role, rank: usize) -> Urgency {
        let n_failures = self.store.get(&key).map_or(0, RegionState::n_failures);
        Urgency { priority: role.priority(), n_failures, rank: rank as u32 }
    }

    /// Starts regions anew whose errors are old, or that had no room and would have it now. The more useful ones keep
    /// theirs: what is held is decided by rank alone, so that two regions never take turns in one place.
    fn heal(&mut self) {
        if self.failed.is_empty() {
            return;
        }
        let rested = |state: &RegionState| heals_at(state).is_some_and(|at| at <= self.now);
        let is_rested = |&&key: &&RegionKey| self.store.is_wanted(&key) && self.store.get(&key).is_some_and(rested);
        let mut healed: Vec<RegionKey> = self.failed.iter().filter(is_rested).copied().collect();
        healed.extend(self.refused_with_room());
        for key in healed {
            self.change(key, |state| {
                state.retry();
                None
            });
        }
    }

    fn refused_with_room(&self) -> Vec<RegionKey> {
        let mut found = Vec::new();
        if self.failed.is_empty() {
            return found;
        }
        let mut better_bytes = 0;
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
        while let Some(victim) = self.store.victim(|&key| self.outlook.usefulness(key)) {
            match victim {
                Victim::Outside(key) => self.purge(key),
                Victim::Wanted(key) => self.refuse(key),
            }
        }
    }

    fn purge(&mut self, key: RegionKey) {
        self.change(key, RegionState::dispose);
        self.forget(key);
    }

    fn forget(&mut self, key: RegionKey) {
        self.store.remove(key);
        self.failed.remove(&key);
        self.debug.purged(key);
    }

    fn refuse(&mut self, key: RegionKey) {
        let (size_bytes, budget_bytes) = (self.store.bytes_of(&key), self.config.store.bytes);
        let now = self.now;
        self.change(key, |state| state.refuse(LoadError::OverBudget { key, size_bytes, budget_bytes }, now));
    }

    fn queue_tasks(&mut self) {
        for rank in 0..self.wanted.len() {
            let Wanted { key, role } = self.wanted[rank];
            let due = self.store.get(&key).and_then(RegionState::next_task).filter(|&(_, from)| from <= self.now);
            let Some((kind, _)) = due else { continue };
            let urgency = self.urgency(key, role, rank);
            // Queues hold as many tasks as an interest has regions, so this does not fail; if it did, the region would
            // be asked again in the next frame.
            if self.queue(kind).push(key, urgency).is_ok() {
                let task = Task { kind, ticket: Ticket(self.next_ticket) };
                self.next_ticket += 1;
                self.store.update(key, |state| state.begin(task));
                self.debug.began(key, self.now);
            }
        }
    }

    fn start_tasks(&mut self, commands: &mut Vec<Command>) {
        commands.extend(self.aborts.drain(..).map(|ticket| Command::Abort { ticket }));
        loop {
            let (hosts, host_of, now) = (&self.hosts, &self.host_of.0, self.now);
            let Some(key) = self.fetches.start_where(|&key| hosts.may_start(host_of(key), now)) else { break };
            self.hosts.started((self.host_of.0)(key));
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
    }

    fn change_slots(&mut self, frame: &mut Frame) {
        let n_firm = self.find_ready();
        let budget_bytes = self.config.upload_bytes_per_frame;
        let mut changes = std::mem::take(&mut self.changes);
        self.slots.update(&self.ready, n_firm, budget_bytes, &mut changes);
        self.masks_before.copy_from_slice(self.cover.masks());
        if self.is_cover_stale || !changes.is_empty() {
            self.is_cover_stale = false;
            let mut cover = std::mem::replace(&mut self.cover, Cover::new(0));
            cover.update(&self.slots, self);
            self.cover = cover;
        }
        for change in &changes {
            self.tell_change(change, frame);
        }
        self.changes = changes;
        // Clearings first: what they free may be needed.
        frame.updates.sort_by_key(|update| update.region.is_some());
        for (at, (&octants, &before)) in self.cover.masks().iter().zip(&self.masks_before).enumerate() {
            if octants != before && self.slots.shown(at).is_some() && frame.updates.iter().all(|it| it.at != at) {
                frame.octants.push(OctantUpdate { at, octants });
            }
        }
        // Half of a region, or another one that finds a free slot, waits for the next frame; and what lingers goes with
        // the frame after the one that shows its successor.
        let is_lingering = self.wanted.last().is_some_and(|wanted| wanted.role == Role::Lingering);
        self.is_stirred = self.slots.is_filling()
            || is_lingering && !self.changes.is_empty()
            || self.slots.n_free() > 0 && self.ready.iter().any(|(key, _)| self.slots.slot_of(key).is_none());
    }

    fn tell_change(&self, change: &SlotChange<RegionKey>, frame: &mut Frame) {
        let built = |key: &RegionKey| self.store.get(key).and_then(RegionState::built).cloned();
        match change {
            SlotChange::Clear { at } => {
                frame.updates.push(SlotUpdate { at: *at, region: None, offset: [0; 3], octants: 0 });
            }
            SlotChange::Upload { at, key, bytes } => {
                frame.uploads.extend(built(key).map(|region| UploadStep { at: *at, region, bytes: bytes.clone() }));
            }
            SlotChange::Show { at, key } => frame.updates.push(SlotUpdate {
                at: *at,
                region: built(key),
                offset: key.origin(self.config.base),
                octants: self.cover.masks()[*at],
            }),
        }
    }

    /// Finds what can be drawn: visible regions in their order, then what lingers. Yields the number of the first.
    fn find_ready(&mut self) -> usize {
        let Self { store, wanted, ready, .. } = self;
        let with_cost = |wanted: &Wanted| Some((wanted.key, store.get(&wanted.key)?.built()?.gpu_bytes()));
        let of_role = |role: Role| wanted.iter().filter(move |wanted| wanted.role == role);
        ready.clear();
        ready.extend(of_role(Role::Visible).filter_map(with_cost));
        let n_visible = ready.len();
        ready.extend(of_role(Role::Lingering).filter_map(with_cost));
        n_visible
    }

    /// Forgets what the renderer holds: with the next frames all of it is sent anew. For a graphics device that was lost.
    pub fn lose_slots(&mut self) {
        self.slots = Slots::new(self.config.slots);
        self.cover = Cover::new(self.config.slots);
        self.is_cover_stale = true;
        self.is_stirred = true;
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
        if kind == TaskKind::Fetch {
            let host = (self.host_of.0)(key);
            self.hosts.ended(host);
            if let Outcome::Failed(LoadError::Transient { retry_after: Some(wait), .. }) = outcome {
                self.hosts.close(host, self.now, wait);
            }
        }
        self.count_panics(&outcome);
        let (now, random) = (self.now, mix(self.config.seed ^ ticket.0));
        self.change(key, |state| {
            state.finish(ticket, checked(outcome, key), now, random);
            None
        });
        self.debug.ended(key, kind, now);
        self.make_room();
        self.flush_debug();
        true
    }

    fn count_panics(&mut self, outcome: &Outcome) {
        if !matches!(outcome, Outcome::Failed(LoadError::Panicked { .. })) {
            self.n_panics_in_a_row = 0;
            return;
        }
        self.n_panics_in_a_row += 1;
        if self.n_panics_in_a_row == limits::PANICS_IN_A_ROW {
            self.notices.push(Notice::Panics { n: self.n_panics_in_a_row });
        }
    }

    /// Notes that a region found no room on the GPU: it is in error, and what it would have replaced is drawn instead.
    /// `what` says what it takes and what there is.
    pub fn refuse_upload(&mut self, key: RegionKey, what: String) {
        let now = self.now;
        self.change(key, |state| state.refuse(LoadError::NoRoom { key, what }, now));
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
            self.forget(key);
        }
    }

    /// The one place where a region's state changes: stops the task that the change makes needless, and keeps the index
    /// of failures.
    fn change(&mut self, key: RegionKey, change: impl FnOnce(&mut RegionState) -> Option<Task>) {
        let before = self.level_of(&key);
        let needless = self.store.update(key, change).flatten();
        let level = self.level_of(&key);
        // What is drawn may change, and with it what of others is.
        let is_seen = before != level && [before, level].iter().any(|it| matches!(it, Level::Full | Level::Empty));
        self.is_stirred |= is_seen;
        self.is_cover_stale |= is_seen;
        if let Some(Task { kind, ticket }) = needless {
            if self.queue(kind).abort(&key) == Some(Aborted::Running) {
                self.aborts.push(ticket);
                if kind == TaskKind::Fetch {
                    self.hosts.ended((self.host_of.0)(key));
                }
            }
            self.debug.aborted(key);
        }
        if level == Level::Error {
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
            let is_drawn = self.slots.is_shown(&key);
            progress.add(state, is_running, is_drawn, self.now);
        }
        progress
    }

    /// The time at which the next frame would do something although neither the interest changes nor an event comes:
    /// `now` where there is something to do at once, the end of a back-off, or `None` where only events help.
    pub fn next_wake(&self, now: Duration) -> Option<Duration> {
        let now = self.now.max(now);
        let may_start = |&key: &RegionKey| self.hosts.may_start((self.host_of.0)(key), now);
        if self.is_stirred
            || !self.aborts.is_empty()
            || !self.notices.is_empty()
            || self.fetches.can_start_where(may_start)
            || self.builds.can_start()
        {
            return Some(now);
        }
        let tries = self.store.wanted().filter_map(|(_, state)| state.next_task()).map(|(_, from)| from);
        let openings = self.fetches.waiting().filter_map(|&key| self.hosts.opens((self.host_of.0)(key), now));
        let failed = self.failed.iter().filter(|key| self.store.is_wanted(key));
        let healings = failed.filter_map(|key| heals_at(self.store.get(key)?));
        tries.chain(openings).chain(healings).min().map(|wake| wake.max(now))
    }

    /// The regions in error and why, wanted or not, in the order of the keys.
    pub fn failures(&self) -> impl Iterator<Item = (RegionKey, &LoadError)> {
        self.failed.iter().filter_map(|&key| Some((key, self.store.get(&key)?.error()?)))
    }

    /// What is known of a region: its level, and at level full its voxels and mesh, for picking and collision.
    pub fn region(&self, key: &RegionKey) -> Option<&RegionState> {
        self.store.get(key)
    }

    /// Whether a region may hold anything, as far as answers tell: false where one said that nothing is there, for as
    /// long as that is believed. For the interest, which leaves such regions out.
    pub fn may_hold(&self, key: &RegionKey) -> bool {
        !self.is_known_empty(key)
    }

    fn is_known_empty(&self, key: &RegionKey) -> bool {
        let since = self.store.get(key).and_then(RegionState::empty_since);
        since.is_some_and(|since| self.now < since + Duration::from_millis(limits::EMPTY_REST_MILLIS))
    }

    fn level_of(&self, key: &RegionKey) -> Level {
        self.store.get(key).map_or(Level::None, RegionState::level)
    }

    /// What every slot shows, exactly as the renderer does after the last frame: the region and its octants.
    pub fn slots(&self) -> impl Iterator<Item = Option<(RegionKey, u8)>> + '_ {
        let masks = self.cover.masks();
        self.slots.all_shown().enumerate().map(|(at, key)| Some((key?, masks[at])))
    }

    fn visible(&self) -> impl Iterator<Item = RegionKey> {
        self.wanted.iter().take_while(|wanted| wanted.role == Role::Visible).map(|wanted| wanted.key)
    }

    /// Has `listener` told what changes, from the next frame on: when the region that is wanted most is another, when a
    /// task begins, ends or is aborted, and when regions are purged; at most once a call of [`frame`](Self::frame) or
    /// [`handle`](Self::handle), within it.
    pub fn listen(&mut self, listener: impl FnMut(&DebugEvent) + Send + 'static) -> ListenerId {
        self.debug.listen(Box::new(listener))
    }

    /// Stops telling a listener. Whether there was one.
    pub fn unlisten(&mut self, id: ListenerId) -> bool {
        self.debug.unlisten(id)
    }

    fn flush_debug(&mut self) {
        if !self.debug.is_on() {
            return;
        }
        let mut debug = std::mem::take(&mut self.debug);
        let state_of = |key: &RegionKey| {
            if self.failed.contains(key) {
                return CellState::Error;
            }
            match self.rank_of(key).map(|rank| self.wanted[rank].role) {
                Some(Role::Visible) => CellState::Visible,
                Some(Role::Prebuild) => CellState::Prebuild,
                Some(Role::Prefetch) => CellState::Prefetch,
                Some(Role::Lingering) | None => CellState::Idle,
            }
        };
        debug.flush(self.now, state_of, |key| self.store.get(key));
        self.debug = debug;
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
        self.hosts.check_invariants();
        assert!(self.store.victim(|_| 0.0).is_none(), "the store is within its limits");
        let n_fetching = self.fetches.n_running();
        assert_eq!(self.hosts.n_running(), n_fetching, "hosts know the fetches that run");
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

impl Known for Scene {
    fn is_empty(&self, key: RegionKey) -> bool {
        self.is_known_empty(&key)
    }

    fn is_visible(&self, key: RegionKey) -> bool {
        Scene::is_visible(self, &key)
    }

    fn is_refined(&self, key: RegionKey) -> bool {
        self.refined.binary_search(&key).is_ok()
    }
}

/// When a region in error is tried anew by itself.
fn heals_at(state: &RegionState) -> Option<Duration> {
    match state.error() {
        // It is tried as soon as there is room.
        None | Some(LoadError::OverBudget { .. }) => None,
        Some(_) => Some(state.error_since()?.saturating_add(Duration::from_millis(limits::ERROR_REST_MILLIS))),
    }
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

/// SplitMix64's finaliser: turns a seed and a ticket into bits that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
