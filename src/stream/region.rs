//! The life of one region, from unknown to drawable.
//!
//! Owns what is held of the region, what is wanted of it and the one task that is under way. Receives requests and the
//! ends of tasks, yields the next task it needs. It knows neither queues nor clocks: the scene runs its tasks and tells
//! it the time.
//!
//! ```text
//!              fetch             build
//!      none ──────────▶ image ──────────▶ full
//!      │  ▲               │
//!      │  └───────────────┤              bad atlas, once: the bytes are dropped
//!      ├────▶ empty ◀─────┤              nothing is there, or only air; doubt() leads back to none
//!      └────▶ error ◀─────┘              third failure, second bad atlas, permanent; retry() leads back to none
//!
//!      fetching = none and a fetch is under way       another failure: stays at its level, and waits before
//!      building = image and a build is under way      it tries again
//!
//!      tune(none)   aborts either task; the level stays
//!      tune(image)  aborts a build; the image stays
//!      dispose()    aborts either task; the level is none
//! ```
//!
//! Three things differ from the reference system. A fetch serves a prefetch and a full load alike, so that changing
//! one's mind while it runs costs nothing; the bytes of an image are built without a second fetch; and what is held
//! survives the loss of interest, until the store disposes of it.

use std::sync::Arc;
use std::time::Duration;

use crate::atlas::EncodedAtlas;
use crate::limits::{BACKOFF_MAX_MILLIS, BACKOFF_MIN_MILLIS, RETRIES_MAX};

use super::protocol::{BuiltRegion, LoadError, Outcome, Ticket};
use super::store::Cost;

/// How far a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Nothing is held.
    None,
    /// The file is held.
    Image,
    /// The region can be drawn.
    Full,
    /// Nothing is there, and that is known: as good as full, with nothing to draw.
    Empty,
    /// Loading was given up; [`RegionState::retry`] starts anew.
    Error,
}

/// How far a region is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Not at all.
    None,
    /// Its file, ahead of need.
    Image,
    /// Ready to be drawn.
    Full,
}

/// The two kinds of work that the scene has done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// Network: bring the file.
    Fetch,
    /// CPU: decode and mesh it.
    Build,
}

/// A task that is under way, waiting in a queue or running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub kind: TaskKind,
    /// Its number; an answer with another one is stale.
    pub ticket: Ticket,
}

/// The state of one region.
#[derive(Debug, Clone)]
pub struct RegionState {
    held: Held,
    request: Request,
    task: Option<Task>,
    /// Failures since the region was last new, full, empty or retried.
    n_failures: u32,
    n_bad_atlases: u32,
    /// The next task may start now or later: the end of a back-off.
    not_before: Duration,
}

#[derive(Debug, Clone)]
enum Held {
    Nothing,
    Image(EncodedAtlas),
    Full(Arc<BuiltRegion>),
    Empty { since: Duration },
    Error { error: LoadError, since: Duration },
}

impl RegionState {
    /// A region of which nothing is known or wanted.
    pub fn new() -> Self {
        Self {
            held: Held::Nothing,
            request: Request::None,
            task: None,
            n_failures: 0,
            n_bad_atlases: 0,
            not_before: Duration::ZERO,
        }
    }

    /// Says how far the region is wanted. Yields the task that this makes needless: it is to be aborted, and its answer
    /// is stale from now on.
    #[must_use = "the task runs on unless it is aborted"]
    pub fn tune(&mut self, request: Request) -> Option<Task> {
        self.request = request;
        let needless = match request {
            Request::None => true,
            Request::Image => self.task.is_some_and(|task| task.kind == TaskKind::Build),
            Request::Full => false,
        };
        if needless { self.task.take() } else { None }
    }

    /// The task that the region needs next, and from when on; `None` while one is under way or the request is met.
    pub fn next_task(&self) -> Option<(TaskKind, Duration)> {
        if self.task.is_some() {
            return None;
        }
        let kind = match (self.request, &self.held) {
            (Request::Image | Request::Full, Held::Nothing) => TaskKind::Fetch,
            (Request::Full, Held::Image(_)) => TaskKind::Build,
            _ => return None,
        };
        Some((kind, self.not_before))
    }

    /// Notes that the task of [`next_task`](Self::next_task) is under way.
    ///
    /// # Panics
    ///
    /// In debug builds: it is not the task that the region needs.
    pub fn begin(&mut self, task: Task) {
        debug_assert_eq!(self.next_task().map(|(kind, _)| kind), Some(task.kind), "the region needs no such task");
        self.task = Some(task);
    }

    /// Takes the end of a task at `now`. `random` is any 64 bits; they spread the waits after failures. Yields the task
    /// that ended, or `None`, and nothing changes, where the ticket is stale.
    pub fn finish(&mut self, ticket: Ticket, outcome: Outcome, now: Duration, random: u64) -> Option<Task> {
        let task = self.task.filter(|task| task.ticket == ticket)?;
        self.task = None;
        match (task.kind, outcome) {
            // An empty file says what a 404 says.
            (TaskKind::Fetch, Outcome::Fetched(atlas)) if atlas.bytes().is_empty() => {
                self.succeed(Held::Empty { since: now });
            }
            (TaskKind::Fetch, Outcome::Fetched(atlas)) => self.held = Held::Image(atlas),
            (TaskKind::Build, Outcome::Built(built)) if !built.is_empty() => self.succeed(Held::Full(built)),
            // An atlas of air is an empty region too, and needs no two mebibytes of zeros.
            (TaskKind::Build, Outcome::Built(_)) | (_, Outcome::Empty) => self.succeed(Held::Empty { since: now }),
            (_, Outcome::Failed(error)) => self.fail(error, now, random),
            (kind, Outcome::Fetched(_) | Outcome::Built(_)) => self.fail(misplaced(kind), now, random),
        }
        Some(task)
    }

    fn succeed(&mut self, held: Held) {
        self.held = held;
        self.forgive();
    }

    fn forgive(&mut self) {
        self.n_failures = 0;
        self.n_bad_atlases = 0;
        self.not_before = Duration::ZERO;
    }

    fn fail(&mut self, error: LoadError, now: Duration, random: u64) {
        self.n_failures += 1;
        let (hopeless, retry_after) = match &error {
            LoadError::Transient { retry_after, .. } => (false, *retry_after),
            LoadError::Panicked { .. } => (false, None),
            LoadError::Permanent { .. } | LoadError::OverBudget { .. } | LoadError::NoRoom { .. } => (true, None),
            LoadError::BadAtlas { .. } => {
                // The bytes are to blame: the next try must not build the same ones.
                self.held = Held::Nothing;
                self.n_bad_atlases += 1;
                (self.n_bad_atlases > 1, None)
            }
        };
        if hopeless || self.n_failures >= RETRIES_MAX {
            self.give_up(error, now);
        } else {
            let wait = backoff(self.n_failures, random).max(retry_after.unwrap_or_default());
            self.not_before = now.saturating_add(wait);
        }
    }

    fn give_up(&mut self, error: LoadError, now: Duration) {
        self.held = Held::Error { error, since: now };
        self.forgive();
    }

    /// Drops what is held because there is no room for it, which is an error until [`retry`](Self::retry). Yields the
    /// task that is to be aborted.
    #[must_use = "the task runs on unless it is aborted"]
    pub fn refuse(&mut self, error: LoadError, now: Duration) -> Option<Task> {
        self.give_up(error, now);
        self.task.take()
    }

    /// Starts an erroneous region anew, with all its tries. Whether it was in error.
    pub fn retry(&mut self) -> bool {
        let was_error = matches!(self.held, Held::Error { .. });
        if was_error {
            self.held = Held::Nothing;
        }
        was_error
    }

    /// Forgets that nothing was there: by now there may be. Whether that was known.
    pub fn doubt(&mut self) -> bool {
        let was_empty = matches!(self.held, Held::Empty { .. });
        if was_empty {
            self.held = Held::Nothing;
        }
        was_empty
    }

    /// Forgets everything: level none, and nothing wanted. Yields the task that is to be aborted.
    #[must_use = "the task runs on unless it is aborted"]
    pub fn dispose(&mut self) -> Option<Task> {
        std::mem::take(self).task
    }

    /// How far it is.
    pub fn level(&self) -> Level {
        match self.held {
            Held::Nothing => Level::None,
            Held::Image(_) => Level::Image,
            Held::Full(_) => Level::Full,
            Held::Empty { .. } => Level::Empty,
            Held::Error { .. } => Level::Error,
        }
    }

    /// How far it is wanted.
    pub fn request(&self) -> Request {
        self.request
    }

    /// The task that is under way.
    pub fn task(&self) -> Option<Task> {
        self.task
    }

    /// Failures so far, below [`RETRIES_MAX`].
    pub fn n_failures(&self) -> u32 {
        self.n_failures
    }

    /// The file, at level image.
    pub fn image(&self) -> Option<&EncodedAtlas> {
        if let Held::Image(atlas) = &self.held { Some(atlas) } else { None }
    }

    /// What can be drawn, at level full.
    pub fn built(&self) -> Option<&Arc<BuiltRegion>> {
        if let Held::Full(built) = &self.held { Some(built) } else { None }
    }

    /// Why loading was given up, at level error.
    pub fn error(&self) -> Option<&LoadError> {
        if let Held::Error { error, .. } = &self.held { Some(error) } else { None }
    }

    /// When loading was given up, at level error.
    pub fn error_since(&self) -> Option<Duration> {
        if let Held::Error { since, .. } = self.held { Some(since) } else { None }
    }

    /// When it was found to be empty, at level empty.
    pub fn empty_since(&self) -> Option<Duration> {
        if let Held::Empty { since } = self.held { Some(since) } else { None }
    }

    /// Whether a new state would know less: something is held, or a failure asks for patience.
    pub fn is_worth_keeping(&self) -> bool {
        self.level() != Level::None || self.n_failures > 0
    }
}

impl Default for RegionState {
    fn default() -> Self {
        Self::new()
    }
}

impl Cost for RegionState {
    fn bytes(&self) -> usize {
        match &self.held {
            Held::Image(atlas) => atlas.bytes().len(),
            Held::Full(built) => built.size_bytes(),
            Held::Nothing | Held::Empty { .. } | Held::Error { .. } => 0,
        }
    }
}

/// The wait after the n-th failure in a row, n from 1: [`BACKOFF_MIN_MILLIS`] doubled n - 1 times, up to twice as long
/// by `random`, so that clients which failed together do not return together; at most [`BACKOFF_MAX_MILLIS`].
pub fn backoff(n_failures: u32, random: u64) -> Duration {
    let doublings = n_failures.saturating_sub(1).min(16);
    let least_millis = (BACKOFF_MIN_MILLIS << doublings).min(BACKOFF_MAX_MILLIS);
    let millis = (least_millis + random % (least_millis + 1)).min(BACKOFF_MAX_MILLIS);
    Duration::from_millis(millis)
}

fn misplaced(kind: TaskKind) -> LoadError {
    let what = match kind {
        TaskKind::Fetch => "the loader answered a fetch with a built region; expected a file",
        TaskKind::Build => "the loader answered a build with a file; expected a built region",
    };
    LoadError::Permanent { what: what.to_owned() }
}

#[cfg(test)]
mod tests;
