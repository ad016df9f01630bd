//! Which task runs next.
//!
//! Owns the tasks' order and the number that runs at once; two queues of this kind serve the stream, one for network
//! tasks and one for CPU jobs. Receives keys and how urgent they are, yields keys to start. It does not know what a task
//! does, and it never stops a running one for the sake of another.
//!
//! ```text
//! priority > 0   high bucket   at most `limits.high` are started
//! priority <= 0  low bucket    at most `limits.low` are started
//!
//! within a bucket: higher priority first, then the untried before the tried, then by rank, then first come, first
//! served
//! ```
//!
//! That the untried come first keeps servers which hang from holding the queue: however many tasks have failed, one
//! that may succeed is never behind them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use thiserror::Error;

/// How urgent a task is: higher comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i8);

impl Priority {
    /// The region is in view.
    pub const VISIBLE: Self = Self(3);
    /// The region is built ahead of need.
    pub const PREBUILD: Self = Self(2);
    /// The region's file is fetched ahead of need.
    pub const PREFETCH: Self = Self(1);
    /// The reference system's word for "stop": a region tuned to it has its task aborted.
    pub const ABORT: Self = Self(-1);

    /// Whether tasks of this priority belong to the high bucket.
    pub fn is_high(self) -> bool {
        self.0 > 0
    }
}

/// Where among the waiting tasks one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Urgency {
    /// Higher comes first.
    pub priority: Priority,
    /// How often it has failed: fewer comes first.
    pub n_failures: u32,
    /// Its place among all that is wanted: lower comes first.
    pub rank: u32,
}

impl From<Priority> for Urgency {
    /// A task that has never failed, before all ranked ones of its priority.
    fn from(priority: Priority) -> Self {
        Self { priority, n_failures: 0, rank: 0 }
    }
}

/// How many tasks a [`Queue`] starts and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Tasks of priority above zero that run at once.
    pub high: usize,
    /// Tasks of priority zero and below that run at once.
    pub low: usize,
    /// Tasks held, waiting and running together.
    pub count: usize,
}

/// Why a [`Queue`] did not take a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue holds as many tasks as it may.
    #[error("the queue is full: it holds {count} tasks")]
    Full {
        /// Its bound.
        count: usize,
    },
    /// The queue already has a task of this key: tune it instead.
    #[error("the queue already has this task")]
    Duplicate,
}

/// Where a task was when it was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aborted {
    /// It had not started: nobody needs to be told.
    Waiting,
    /// It had started: whoever runs it is to be told.
    Running,
}

/// Tasks in order of priority, with a bound on how many run at once.
///
/// Retuning a running task moves it between the buckets without stopping it, so that a bucket may for a while run more
/// than its limit; the sum of both limits holds always.
///
/// ```
/// use voxatlas::stream::{Priority, Queue, QueueLimits};
///
/// let mut queue = Queue::new(QueueLimits { high: 1, low: 1, count: 8 });
/// queue.push("near", Priority::PREFETCH)?;
/// queue.push("in view", Priority::VISIBLE)?;
/// assert_eq!(queue.start(), Some("in view"));
/// assert_eq!(queue.start(), None, "one at a time");
/// queue.finish(&"in view");
/// assert_eq!(queue.start(), Some("near"));
/// # Ok::<(), voxatlas::stream::QueueError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Queue<K> {
    limits: QueueLimits,
    tasks: BTreeMap<K, Task>,
    /// Waiting tasks of the high and of the low bucket. Invariant: exactly the tasks that do not run.
    waiting: [BTreeMap<Place, K>; 2],
    /// Running tasks of the high and of the low bucket.
    n_running: [usize; 2],
    next_arrival: u64,
}

/// A task's place in its bucket: arrivals are unique.
type Place = (Reverse<Priority>, u32, u32, u64);

#[derive(Debug, Clone, Copy)]
struct Task {
    urgency: Urgency,
    /// Kept when the task is retuned: who came first stays first among equals.
    arrival: u64,
    running: bool,
}

impl Task {
    fn place(&self) -> Place {
        (Reverse(self.urgency.priority), self.urgency.n_failures, self.urgency.rank, self.arrival)
    }

    fn bucket(&self) -> usize {
        bucket(self.urgency.priority)
    }
}

const HIGH: usize = 0;
const LOW: usize = 1;

fn bucket(priority: Priority) -> usize {
    if priority.is_high() { HIGH } else { LOW }
}

impl<K: Copy + Ord> Queue<K> {
    /// A queue without tasks.
    pub fn new(limits: QueueLimits) -> Self {
        Self {
            limits,
            tasks: BTreeMap::new(),
            waiting: [BTreeMap::new(), BTreeMap::new()],
            n_running: [0; 2],
            next_arrival: 0,
        }
    }

    /// Adds a task, to wait for its turn.
    ///
    /// # Errors
    ///
    /// The queue is full, or has a task of this key.
    pub fn push(&mut self, key: K, urgency: impl Into<Urgency>) -> Result<(), QueueError> {
        if self.tasks.contains_key(&key) {
            return Err(QueueError::Duplicate);
        }
        if self.tasks.len() >= self.limits.count {
            return Err(QueueError::Full { count: self.limits.count });
        }
        let task = Task { urgency: urgency.into(), arrival: self.next_arrival, running: false };
        self.next_arrival += 1;
        self.waiting[task.bucket()].insert(task.place(), key);
        self.tasks.insert(key, task);
        Ok(())
    }

    /// Gives a task another urgency, whether it waits or runs. Whether there is such a task.
    pub fn tune(&mut self, key: &K, urgency: impl Into<Urgency>) -> bool {
        let Some(task) = self.tasks.get_mut(key) else {
            return false;
        };
        let urgency = urgency.into();
        if task.urgency == urgency {
            return true;
        }
        let (from, place) = (task.bucket(), task.place());
        task.urgency = urgency;
        let to = task.bucket();
        if task.running {
            self.n_running[from] -= 1;
            self.n_running[to] += 1;
        } else {
            self.waiting[from].remove(&place);
            self.waiting[to].insert(task.place(), *key);
        }
        true
    }

    /// Takes the next task that may run now, if any; it runs until [`finish`](Self::finish) or [`abort`](Self::abort).
    pub fn start(&mut self) -> Option<K> {
        self.start_where(|_| true)
    }

    /// As [`start`](Self::start), passing over the tasks that `may_start` holds back: they keep their places.
    pub fn start_where(&mut self, may_start: impl Fn(&K) -> bool) -> Option<K> {
        let (bucket, place) = self.startable(may_start)?;
        let key = self.waiting[bucket].remove(&place)?;
        if let Some(task) = self.tasks.get_mut(&key) {
            task.running = true;
        }
        self.n_running[bucket] += 1;
        Some(key)
    }

    /// Whether [`start`](Self::start) would yield a task.
    pub fn can_start(&self) -> bool {
        self.can_start_where(|_| true)
    }

    /// Whether [`start_where`](Self::start_where) would yield a task.
    pub fn can_start_where(&self, may_start: impl Fn(&K) -> bool) -> bool {
        self.startable(may_start).is_some()
    }

    fn startable(&self, may_start: impl Fn(&K) -> bool) -> Option<(usize, Place)> {
        if self.n_running() >= self.limits.high + self.limits.low {
            return None;
        }
        let limits = [self.limits.high, self.limits.low];
        let mut open = [HIGH, LOW].into_iter().filter(|&b| self.n_running[b] < limits[b]);
        open.find_map(|b| {
            let (place, _) = self.waiting[b].iter().find(|(_, key)| may_start(key))?;
            Some((b, *place))
        })
    }

    /// Forgets a running task that has ended. False, and nothing changes, where no such task runs.
    pub fn finish(&mut self, key: &K) -> bool {
        self.is_running(key) && self.abort(key).is_some()
    }

    /// Forgets a task and says where it was; its room is free at once.
    pub fn abort(&mut self, key: &K) -> Option<Aborted> {
        let task = self.tasks.remove(key)?;
        let bucket = task.bucket();
        if task.running {
            self.n_running[bucket] -= 1;
            Some(Aborted::Running)
        } else {
            self.waiting[bucket].remove(&task.place());
            Some(Aborted::Waiting)
        }
    }

    /// Whether the queue has a task of this key.
    pub fn contains(&self, key: &K) -> bool {
        self.tasks.contains_key(key)
    }

    /// Whether a task of this key runs.
    pub fn is_running(&self, key: &K) -> bool {
        self.tasks.get(key).is_some_and(|task| task.running)
    }

    /// The priority of this key's task.
    pub fn priority(&self, key: &K) -> Option<Priority> {
        self.tasks.get(key).map(|task| task.urgency.priority)
    }

    /// The keys of the tasks that wait, in the order in which they would start.
    pub fn waiting(&self) -> impl Iterator<Item = &K> {
        self.waiting.iter().flat_map(BTreeMap::values)
    }

    /// The keys of all tasks, in the order of the keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.tasks.keys()
    }

    /// Tasks that run.
    pub fn n_running(&self) -> usize {
        self.n_running[HIGH] + self.n_running[LOW]
    }

    /// Tasks that wait.
    pub fn n_waiting(&self) -> usize {
        self.waiting[HIGH].len() + self.waiting[LOW].len()
    }

    /// Checks that the parts agree with each other and with the limits; linear in the number of tasks.
    ///
    /// # Panics
    ///
    /// They do not: a bug in this module.
    pub fn check_invariants(&self) {
        assert!(self.tasks.len() <= self.limits.count, "more tasks than the queue may hold");
        assert!(self.n_running() <= self.limits.high + self.limits.low, "more tasks run than may");
        assert_eq!(self.n_running() + self.n_waiting(), self.tasks.len(), "a task runs or waits");
        for b in [HIGH, LOW] {
            let n_running = self.tasks.values().filter(|task| task.running && task.bucket() == b).count();
            assert_eq!(self.n_running[b], n_running, "running tasks of bucket {b}");
            for (place, key) in &self.waiting[b] {
                let task = self.tasks.get(key).expect("a waiting key has a task");
                assert!(!task.running && task.place() == *place && task.bucket() == b, "a task out of place");
            }
        }
    }
}

#[cfg(test)]
mod tests;
