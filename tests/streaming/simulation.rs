//! Everything round the scene: a server with scripted answers, a loader that runs commands in virtual time, and a
//! renderer that follows the slot updates. After every frame it is checked that they agree.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use voxatlas::atlas::EncodedAtlas;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::mesh::{Face, FaceColours, Quad, RegionMesh};
use voxatlas::stream::{
    BuiltRegion, Command, DebugCell, DebugEvent, Event, Frame, Level, ListenerId, LoadError, Outcome, RegionState,
    Scene, SceneConfig, Ticket,
};
use voxatlas::view::Interest;
use voxatlas::voxel::{ColourDepth, Colours, Occupancy, Region, Solids};

use crate::screen::Screen;

/// Time between two frames.
pub(crate) const FRAME: Duration = Duration::from_millis(16);

/// Time-out of a request, the loader's.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(voxatlas::limits::TIMEOUT_MILLIS);

/// World y of layer 0's floor in these tests.
pub(crate) const BASE: i32 = -32;

pub(crate) fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The region x east and y south of Tokyo Tower.
pub(crate) fn key(x: u32, y: u32) -> RegionKey {
    RegionKey::new(TileCoord::new(17, 116_415 + x, 51_623 + y).expect("a tile"), 0)
}

/// An interest in the row y: 16 regions in view from x on, then 4 to build, then 4 to fetch.
pub(crate) fn row(x: u32, y: u32) -> Interest {
    let keys = |from, n| (from..from + n).map(|x| key(x, y)).collect();
    Interest { visible: keys(x, 16), prebuild: keys(x + 16, 4), prefetch: keys(x + 20, 4), ..Interest::default() }
}

pub(crate) fn visible(keys: impl IntoIterator<Item = RegionKey>) -> Interest {
    Interest { visible: keys.into_iter().collect(), ..Interest::default() }
}

/// What the server says to one request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    File,
    Nothing,
    Reset,
    Busy(Duration),
    Forbidden,
    /// No answer: the loader gives up after [`TIMEOUT`].
    Hang,
}

/// What becomes of one build.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Making {
    Region,
    Panic,
    NoAtlas,
}

/// A running task of the loader.
#[derive(Debug, Clone)]
struct Running {
    ends: Duration,
    is_build: bool,
    event: Event,
}

/// The world round a scene.
pub(crate) struct Simulation {
    pub(crate) scene: Scene,
    pub(crate) now: Duration,
    /// What the server says next, by region; a file where nothing is scripted.
    pub(crate) replies: BTreeMap<RegionKey, VecDeque<Reply>>,
    /// What becomes of the next builds, by region; a region where nothing is scripted.
    pub(crate) makings: BTreeMap<RegionKey, VecDeque<Making>>,
    pub(crate) latency: Duration,
    pub(crate) build_time: Duration,
    /// What listeners were told last.
    pub(crate) heard: Arc<Mutex<Option<DebugEvent>>>,
    listener: Option<ListenerId>,
    /// Every fetch and build that was started.
    pub(crate) fetches: Vec<(Duration, RegionKey)>,
    pub(crate) builds: Vec<(Duration, RegionKey)>,
    /// Tasks that were aborted while they ran.
    pub(crate) aborts: Vec<RegionKey>,
    running: BTreeMap<Ticket, Running>,
    screen: Screen,
}

impl Simulation {
    pub(crate) fn new(mut config: SceneConfig) -> Self {
        config.base = BASE;
        Self {
            screen: Screen::new(config.slots),
            scene: Scene::new(config),
            now: Duration::ZERO,
            replies: BTreeMap::new(),
            makings: BTreeMap::new(),
            latency: millis(100),
            build_time: millis(40),
            heard: Arc::default(),
            listener: None,
            fetches: Vec::new(),
            builds: Vec::new(),
            aborts: Vec::new(),
            running: BTreeMap::new(),
        }
    }

    /// Tells the scene which host a region comes from. To be called first of all.
    pub(crate) fn with_hosts(&mut self, host_of: impl Fn(RegionKey) -> usize + Send + Sync + 'static) {
        self.scene = Scene::new(self.scene.config().clone()).with_hosts(host_of);
    }

    /// Has somebody listen to the scene's debug events, or nobody.
    pub(crate) fn listen(&mut self, on: bool) {
        if let Some(listener) = self.listener.take() {
            assert!(self.scene.unlisten(listener));
        }
        if on {
            let heard = Arc::clone(&self.heard);
            let hear = move |event: &DebugEvent| *heard.lock().expect("nobody panics here") = Some(event.clone());
            self.listener = Some(self.scene.listen(hear));
        }
    }

    /// The cells that the listener was told of last.
    pub(crate) fn cells(&self) -> Vec<DebugCell> {
        self.heard.lock().expect("nobody panics here").as_ref().map_or_else(Vec::new, |event| event.cells.clone())
    }

    pub(crate) fn script(&mut self, key: RegionKey, replies: impl IntoIterator<Item = Reply>) {
        self.replies.entry(key).or_default().extend(replies);
    }

    pub(crate) fn script_builds(&mut self, key: RegionKey, makings: impl IntoIterator<Item = Making>) {
        self.makings.entry(key).or_default().extend(makings);
    }

    /// One frame: the scene's commands are begun, its updates drawn, and everything is compared.
    pub(crate) fn frame(&mut self, interest: &Interest) -> Frame {
        let frame = self.scene.frame(interest, self.now);
        for command in &frame.commands {
            self.execute(command);
        }
        self.screen.follow(&frame, self.scene.config().upload_bytes_per_frame);
        self.check(interest);
        frame
    }

    /// Frames every 16 ms, with the answers that fall due between them, for as long as `time`.
    pub(crate) fn run(&mut self, interest: &Interest, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.frame(interest);
            self.pass(FRAME);
        }
    }

    /// Runs until the picture is whole, and yields how long that took.
    pub(crate) fn run_until_complete(&mut self, interest: &Interest) -> Duration {
        let start = self.now;
        self.frame(interest);
        while !self.scene.is_complete() {
            assert!(self.now < start + Duration::from_mins(10), "not complete: {:?}", self.scene.progress());
            self.run(interest, FRAME);
        }
        self.now.saturating_sub(start)
    }

    /// Lets time pass; the answers that fall due are delivered in their order.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some((&ticket, _)) = self.running.iter().min_by_key(|(_, r)| r.ends).filter(|(_, r)| r.ends <= until)
        {
            let Running { ends, event, .. } = self.running.remove(&ticket).expect("it runs");
            self.now = self.now.max(ends);
            self.end(&event);
        }
        self.now = until;
    }

    /// When the next running task ends.
    pub(crate) fn next_answer(&self) -> Option<Duration> {
        self.running.values().map(|running| running.ends).min()
    }

    /// The n-th running task's event, cyclically.
    pub(crate) fn nth_running(&self, n: usize) -> Option<Event> {
        let n_running = self.running.len().max(1);
        self.running.values().nth(n % n_running).map(|running| running.event.clone())
    }

    /// Ends a running task with this event. The scene takes it, unless it has given the task up since the last frame,
    /// for want of room: the loader hears of that with the next one.
    pub(crate) fn end(&mut self, event: &Event) {
        self.running.remove(&event.ticket);
        let task = self.scene.region(&event.key).and_then(RegionState::task);
        let is_current = task.is_some_and(|task| task.ticket == event.ticket);
        let is_refused = self.level(event.key) == Level::Error;
        assert!(is_current || is_refused, "a task that nobody aborted is the region's");
        assert_eq!(self.scene.handle(event.clone(), self.now), is_current);
    }

    fn execute(&mut self, command: &Command) {
        match *command {
            Command::Fetch { ticket, key } => {
                self.fetches.push((self.now, key));
                let reply = self.replies.get_mut(&key).and_then(VecDeque::pop_front).unwrap_or(Reply::File);
                let takes = if matches!(reply, Reply::Hang) { TIMEOUT } else { self.latency };
                self.begin(Event { ticket, key, outcome: answer(key, reply) }, takes, false);
            }
            Command::Build { ticket, key, ref atlas } => {
                self.builds.push((self.now, key));
                assert_eq!(atlas, &file(key), "a region is built from its own file");
                let making = self.makings.get_mut(&key).and_then(VecDeque::pop_front).unwrap_or(Making::Region);
                self.begin(Event { ticket, key, outcome: make(key, making) }, self.build_time, true);
            }
            Command::Abort { ticket } => {
                if let Some(running) = self.running.remove(&ticket) {
                    self.aborts.push(running.event.key);
                }
            }
        }
    }

    fn begin(&mut self, event: Event, takes: Duration, is_build: bool) {
        let key = event.key;
        assert!(self.running.values().all(|running| running.event.key != key), "{key} has one task");
        let before = self.running.insert(event.ticket, Running { ends: self.now + takes, is_build, event });
        assert!(before.is_none(), "tickets are unique");
    }

    /// What has to hold after every frame, whatever happened.
    fn check(&self, interest: &Interest) {
        self.scene.check_invariants();
        let config = self.scene.config();
        let n_builds = self.running.values().filter(|running| running.is_build).count();
        let n_fetches = self.running.len() - n_builds;
        assert!(n_fetches <= config.tasks_high, "{n_fetches} fetches run");
        assert!(n_builds <= config.builds, "{n_builds} builds run");
        assert!(self.scene.progress().store_bytes <= config.store.bytes, "the store is within its budget");

        self.screen.check(&self.scene);
        for (key, _) in self.screen.drawn() {
            let has_ancestor_in_view =
                std::iter::successors(key.parent(), |it| it.parent()).any(|it| interest.visible.contains(&it));
            assert!(interest.visible.contains(&key) || has_ancestor_in_view, "{key} is drawn out of view");
        }
    }

    pub(crate) fn is_drawn(&self, key: RegionKey) -> bool {
        self.screen.drawn().any(|(drawn, octants)| drawn == key && octants != 0)
    }

    /// Whether something is drawn at a region's place: itself, a region below it, or one above it.
    pub(crate) fn is_covered(&self, key: RegionKey) -> bool {
        let is_above = |above: RegionKey, octants: u8| {
            let chain = std::iter::successors(Some(key), |it| it.parent());
            chain
                .zip(std::iter::successors(key.parent(), |it| it.parent()))
                .any(|(child, parent)| parent == above && octants >> child.octant() & 1 == 1)
        };
        let is_below = |below: RegionKey| std::iter::successors(Some(below), |it| it.parent()).any(|it| it == key);
        self.screen.drawn().any(|(drawn, octants)| octants != 0 && (is_below(drawn) || is_above(drawn, octants)))
    }

    pub(crate) fn n_drawn(&self) -> usize {
        self.screen.drawn().filter(|&(_, octants)| octants != 0).count()
    }

    pub(crate) fn n_fetches_of(&self, key: RegionKey) -> usize {
        self.fetches.iter().filter(|(_, fetched)| *fetched == key).count()
    }

    pub(crate) fn n_builds_of(&self, key: RegionKey) -> usize {
        self.builds.iter().filter(|(_, built)| *built == key).count()
    }

    pub(crate) fn level(&self, key: RegionKey) -> Level {
        self.scene.region(&key).map_or(Level::None, RegionState::level)
    }
}

/// The file of a region: other bytes for every key.
pub(crate) fn file(key: RegionKey) -> EncodedAtlas {
    EncodedAtlas::new(format!("the atlas of {key}").into_bytes())
}

fn answer(key: RegionKey, reply: Reply) -> Outcome {
    let transient = |status, retry_after| {
        Outcome::Failed(LoadError::Transient { what: format!("{key}: {status}; expected an atlas"), retry_after })
    };
    match reply {
        Reply::File => Outcome::Fetched(file(key)),
        Reply::Nothing => Outcome::Empty,
        Reply::Reset => transient("connection reset", None),
        Reply::Busy(retry_after) => transient("503", Some(retry_after)),
        Reply::Hang => transient("no answer within 8 s", None),
        Reply::Forbidden => Outcome::Failed(LoadError::Permanent { what: format!("{key}: 403; expected an atlas") }),
    }
}

pub(crate) fn make(key: RegionKey, making: Making) -> Outcome {
    match making {
        Making::Region => Outcome::Built(built(key)),
        Making::Panic => Outcome::Failed(LoadError::Panicked { what: format!("{key}: the decoder panicked") }),
        Making::NoAtlas => Outcome::Failed(LoadError::BadAtlas { what: format!("{key}: HTML; expected an atlas") }),
    }
}

/// A built region with as many quads as its key says, 3 to 34 of them. Regions are shared between the tests of a
/// thread: an occupancy takes 2 MiB, and nobody here looks at it.
pub(crate) fn built(key: RegionKey) -> Arc<BuiltRegion> {
    thread_local! {
        static BUILT: RefCell<BTreeMap<RegionKey, Arc<BuiltRegion>>> = const { RefCell::new(BTreeMap::new()) };
    }
    let new = || {
        let n_quads = 3 + (key.tile.x() * 7 + key.tile.y() * 5) as usize % 32;
        let quads = vec![Quad::new([0; 3], Face::PosY, 1, 1); n_quads];
        Arc::new(BuiltRegion {
            key,
            voxels: Some(Region { occupancy: Occupancy::empty(), colours: Colours::new(ColourDepth::Direct) }),
            mesh: RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, false),
            solids: Solids::default(),
            boxes: None,
        })
    };
    BUILT.with_borrow_mut(|built| Arc::clone(built.entry(key).or_insert_with(new)))
}
