//! The loader of native programs.

use std::any::Any;
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use futures_util::FutureExt as _;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tracing::Instrument as _;

use super::build::{BuildError, Extras, build, contradiction};
use crate::atlas::{AtlasMetadata, EncodedAtlas};
use crate::geo::RegionKey;
use crate::mesh::BorderPolicy;
use crate::source::{AtlasSource, Source};
use crate::stream::{Command, Event, LoadError, Outcome, Ticket};

/// Regions whose failure is remembered as logged; beyond them all are forgotten, and some are logged twice.
const LOGGED_MAX: usize = 4_096;

/// Sizes of the loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoaderConfig {
    /// Threads for input and output, at least 1.
    pub io_threads: usize,
    /// Threads for decoding and meshing, at least 1.
    pub cpu_threads: usize,
    /// Events that wait to be taken, at least 1; tasks that end while as many wait stand still until one is taken.
    pub events_max: usize,
    /// Whether regions coarser than zoom 17 keep their voxels, for whoever picks or clips in them: 2 MiB of occupancy
    /// each, and as much and more of colours. Otherwise only their surface is kept.
    pub keep_coarse_voxels: bool,
    /// Whether regions of zoom 17 are also filled with boxes, for [`BoxSlots`](crate::stream::BoxSlots): 24 bytes a box,
    /// some thousands of them in a city.
    pub build_boxes: bool,
}

impl Default for LoaderConfig {
    /// Two threads for input and output, one core left to the frame, 256 events, no voxels of coarse zooms and no
    /// boxes.
    fn default() -> Self {
        let n_cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            io_threads: 2,
            cpu_threads: n_cores.saturating_sub(1).max(1),
            events_max: 256,
            keep_coarse_voxels: false,
            build_boxes: false,
        }
    }
}

/// Runs commands on threads of its own. Dropping it drops all requests, stops all builds at their next step and waits
/// for neither.
pub struct Loader {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    /// Present until the drop.
    runtime: Option<Runtime>,
    pool: ThreadPool,
}

/// What the tasks see.
struct Shared {
    source: Source,
    events: SyncSender<Event>,
    extras: Extras,
    /// The tasks that somebody still wants an answer of.
    running: Mutex<FxHashMap<Ticket, Running>>,
    waker: Mutex<Option<Waker>>,
    logged: Mutex<FxHashSet<RegionKey>>,
    /// Whether a file was found in the wrong place: if one was, all the others probably are too.
    logged_contradiction: AtomicBool,
}

type Waker = Arc<dyn Fn() + Send + Sync>;

/// How a task is stopped.
enum Running {
    Fetch(AbortHandle),
    Build(Arc<AtomicBool>),
}

impl Running {
    fn stop(self) {
        match self {
            Self::Fetch(task) => task.abort(),
            Self::Build(stop) => stop.store(true, Ordering::Relaxed),
        }
    }
}

impl Loader {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// The system gives no threads.
    pub fn new(source: Source, config: &LoaderConfig) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.io_threads.max(1))
            .thread_name("voxatlas-io")
            .enable_all()
            .build()?;
        let pool = ThreadPoolBuilder::new()
            .num_threads(config.cpu_threads.max(1))
            .thread_name(|idx| format!("voxatlas-cpu-{idx}"))
            // Builds catch their own panics; what is left is a waker's, and must not end the program.
            .panic_handler(|panic| tracing::error!("a loader thread panicked: {}", panic_message(&*panic)))
            .build()
            .map_err(io::Error::other)?;
        let (sender, events) = sync_channel(config.events_max.max(1));
        let shared = Arc::new(Shared {
            source,
            events: sender,
            extras: Extras { coarse_voxels: config.keep_coarse_voxels, boxes: config.build_boxes },
            running: Mutex::default(),
            waker: Mutex::default(),
            logged: Mutex::default(),
            logged_contradiction: AtomicBool::new(false),
        });
        Ok(Self { shared, events, runtime: Some(runtime), pool })
    }

    /// Has `waker` called, on one of the loader's threads, whenever an event can be taken: for event loops that sleep.
    pub fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        *lock(&self.shared.waker) = Some(Arc::new(waker));
    }

    /// Carries out a command. Returns at once.
    pub fn run(&self, command: Command) {
        match command {
            Command::Fetch { ticket, key } => self.fetch(ticket, key),
            Command::Build { ticket, key, atlas } => self.build(ticket, key, atlas),
            Command::Abort { ticket } => {
                let running = lock(&self.shared.running).remove(&ticket);
                if let Some(running) = running {
                    running.stop();
                }
            }
        }
    }

    /// Takes an event, where one waits.
    pub fn try_event(&self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Takes an event, waiting for one as long as `timeout`.
    pub fn wait_event(&self, timeout: Duration) -> Option<Event> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Tasks whose answer has not been sent.
    pub fn n_running(&self) -> usize {
        lock(&self.shared.running).len()
    }

    /// The source that it fetches from.
    pub fn source(&self) -> &Source {
        &self.shared.source
    }

    fn fetch(&self, ticket: Ticket, key: RegionKey) {
        let Some(runtime) = &self.runtime else { return };
        let shared = Arc::clone(&self.shared);
        // No child of the frame that asks for it: it lives longer.
        let span = tracing::debug_span!(parent: None, "fetch", region = %key, ticket = ticket.0);
        // Held until the handle is in, so that a task that ends at once finds it there to take out.
        let mut running = lock(&self.shared.running);
        let fetch = async move {
            let fetch = AssertUnwindSafe(async { shared.source.fetch(key).await });
            let outcome = match fetch.catch_unwind().await {
                Ok(Ok(Some(atlas))) => Outcome::Fetched(atlas),
                Ok(Ok(None)) => Outcome::Empty,
                Ok(Err(error)) => Outcome::Failed(error),
                Err(panic) => shared.panicked(key, &*panic),
            };
            shared.finish(ticket, key, outcome);
        };
        let task = runtime.spawn(fetch.instrument(span));
        running.insert(ticket, Running::Fetch(task.abort_handle()));
    }

    fn build(&self, ticket: Ticket, key: RegionKey, atlas: EncodedAtlas) {
        let shared = Arc::clone(&self.shared);
        let stop = Arc::new(AtomicBool::new(false));
        lock(&self.shared.running).insert(ticket, Running::Build(Arc::clone(&stop)));
        let span = tracing::debug_span!(parent: None, "build", region = %key, ticket = ticket.0);
        self.pool.spawn_fifo(move || {
            let _in_span = span.enter();
            let border = if shared.source.is_lowest(key) { BorderPolicy::Floored } else { BorderPolicy::Closed };
            let see = |metadata: &AtlasMetadata| shared.check_identity(key, metadata);
            let outcome = match catch_unwind(AssertUnwindSafe(|| build(key, &atlas, border, shared.extras, &stop, see)))
            {
                Ok(Ok(built)) => Outcome::Built(Arc::new(built)),
                Ok(Err(BuildError::Aborted)) => return,
                Ok(Err(BuildError::Bad(error))) => {
                    shared.source.reject(key);
                    let what = format!("{}: {error}", shared.source.name_of(key));
                    Outcome::Failed(LoadError::BadAtlas { what })
                }
                Err(panic) => shared.panicked(key, &*panic),
            };
            shared.finish(ticket, key, outcome);
        });
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        let running = std::mem::take(&mut *lock(&self.shared.running));
        running.into_values().for_each(Running::stop);
        // Nobody waits for a server that hangs, or a name look-up. A task that waits for room in the channel finds it
        // closed as soon as the receiver goes, right after this.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("source", &self.shared.source).finish_non_exhaustive()
    }
}

impl Shared {
    /// Answers a task, unless it was aborted. Waits where the channel is full: whoever does not take events is not
    /// given more to hold.
    fn finish(&self, ticket: Ticket, key: RegionKey, outcome: Outcome) {
        if lock(&self.running).remove(&ticket).is_none() {
            return;
        }
        self.log(key, &outcome);
        if self.events.send(Event { ticket, key, outcome }).is_ok() {
            let waker = lock(&self.waker).clone();
            if let Some(wake) = waker {
                wake();
            }
        }
    }

    fn panicked(&self, key: RegionKey, panic: &(dyn Any + Send)) -> Outcome {
        let what = format!("{}: the job of region {key} panicked: {}", self.source.name_of(key), panic_message(panic));
        Outcome::Failed(LoadError::Panicked { what })
    }

    /// Warns of the first file that says that it belongs elsewhere.
    fn check_identity(&self, key: RegionKey, metadata: &AtlasMetadata) {
        if let Some(what) = contradiction(metadata, key, self.source.tileset().base())
            && !self.logged_contradiction.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{}: {what}", self.source.name_of(key));
        }
    }

    /// Warns of a region's first failure only: retries would say the same again.
    fn log(&self, key: RegionKey, outcome: &Outcome) {
        let mut logged = lock(&self.logged);
        match outcome {
            Outcome::Failed(error) if logged.contains(&key) => tracing::debug!("region {key} failed again: {error}"),
            Outcome::Failed(error) => {
                if logged.len() >= LOGGED_MAX {
                    logged.clear();
                }
                logged.insert(key);
                tracing::warn!("region {key} failed: {error}");
            }
            // A file that arrives may still be bad: only what can be drawn has healed.
            Outcome::Fetched(_) => {}
            Outcome::Empty | Outcome::Built(_) => {
                logged.remove(&key);
            }
        }
    }
}

/// A panic while a lock is held leaves maps that are whole: every change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
