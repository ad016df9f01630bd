use super::*;
use crate::geo::{RegionKey, TileCoord};
use crate::mesh::{Face, FaceColours, Quad, RegionMesh};
use crate::voxel::{ColourDepth, Colours, Occupancy, Region, Solids};

/// All outcomes, requests and calls that can meet a region.
const OPERATIONS: [&str; 13] = [
    "tune none",
    "tune image",
    "tune full",
    "fetched",
    "nothing",
    "built",
    "air",
    "transient",
    "panicked",
    "bad atlas",
    "permanent",
    "retry",
    "dispose",
];

/// What each operation of [`OPERATIONS`] makes of a region. The columns stand in their order; `!` says that the task
/// under way is to be aborted. The reference system's diagram is in here, edge by edge:
///
/// none -> fetching (image and full), fetching -> image, fetching -> building, building -> full, building -> error
/// (the third failure, below), building -> purged by tune(none), error -> purged and purged -> none by dispose().
const TRANSITIONS: &str = "
    start           | none     image    full     | fetched  nothing built air   | transient panicked bad     permanent | retry    dispose
    none            | none     fetching fetching | none     none    none  none  | none      none     none    none      | none     none
    fetching image  | none!    fetching fetching | image    empty   error error | waiting   waiting  waiting error     | fetching none!
    fetching full   | none!    fetching fetching | building empty   error error | waiting   waiting  waiting error     | fetching none!
    image           | image    image    building | image    image   image image | image     image    image   image     | image    none
    building        | image!   image!   building | error    empty   full  empty | waiting   waiting  waiting error     | building none!
    full            | full     full     full     | full     full    full  full  | full      full     full    full      | full     none
    empty           | empty    empty    empty    | empty    empty   empty empty | empty     empty    empty   empty     | empty    none
    error           | error    error    error    | error    error   error error | error     error    error   error     | fetching none
    waiting to fetch| none     waiting  waiting  | waiting  waiting waiting waiting | waiting waiting waiting waiting  | waiting  none
    waiting to build| image    image    waiting  | waiting  waiting waiting waiting | waiting waiting waiting waiting  | waiting  none
";

/// A region with the clock and the scene's part of the work: a task that is due begins at once.
struct Bench {
    state: RegionState,
    now: Duration,
    next_ticket: u64,
    aborted: bool,
}

impl Bench {
    fn new() -> Self {
        Self { state: RegionState::new(), now: Duration::from_secs(1), next_ticket: 1, aborted: false }
    }

    fn after(operations: &[&str]) -> Self {
        let mut bench = Self::new();
        for operation in operations {
            bench.apply(operation);
        }
        bench
    }

    fn apply(&mut self, operation: &str) {
        let aborted = match operation {
            "tune none" => self.state.tune(Request::None),
            "tune image" => self.state.tune(Request::Image),
            "tune full" => self.state.tune(Request::Full),
            "dispose" => self.state.dispose(),
            "retry" => {
                self.state.retry();
                None
            }
            outcome => {
                // A region without a task hears from an older one.
                let ticket = self.state.task().map_or(Ticket(0), |task| task.ticket);
                self.state.finish(ticket, self::outcome(outcome), self.now, 0);
                None
            }
        };
        self.aborted = aborted.is_some();
        self.begin_if_due();
    }

    fn begin_if_due(&mut self) {
        if let Some((kind, _)) = self.state.next_task().filter(|&(_, from)| from <= self.now) {
            self.state.begin(Task { kind, ticket: Ticket(self.next_ticket) });
            self.next_ticket += 1;
        }
    }

    /// Lets a back-off pass.
    fn wait(&mut self) {
        let (_, from) = self.state.next_task().expect("the region waits for a task");
        self.now = self.now.max(from);
        self.begin_if_due();
    }

    fn phase(&self) -> &'static str {
        match (self.state.task().map(|task| task.kind), self.state.level()) {
            (Some(TaskKind::Fetch), _) => "fetching",
            (Some(TaskKind::Build), _) => "building",
            (None, _) if self.state.next_task().is_some() => "waiting",
            (None, Level::None) => "none",
            (None, Level::Image) => "image",
            (None, Level::Full) => "full",
            (None, Level::Empty) => "empty",
            (None, Level::Error) => "error",
        }
    }
}

fn what() -> String {
    "17/1/2.png: 503".to_owned()
}

fn transient(retry_after: Option<Duration>) -> Outcome {
    Outcome::Failed(LoadError::Transient { what: what(), retry_after })
}

fn outcome(name: &str) -> Outcome {
    match name {
        "fetched" => Outcome::Fetched(EncodedAtlas::new(*b"an atlas")),
        "empty file" => Outcome::Fetched(EncodedAtlas::new(*b"")),
        "nothing" => Outcome::Empty,
        "built" => Outcome::Built(Arc::new(built(vec![Quad::new([0; 3], Face::PosY, 1, 1)]))),
        "air" => Outcome::Built(Arc::new(built(Vec::new()))),
        "transient" => transient(None),
        "panicked" => Outcome::Failed(LoadError::Panicked { what: what() }),
        "bad atlas" => Outcome::Failed(LoadError::BadAtlas { what: what() }),
        "permanent" => Outcome::Failed(LoadError::Permanent { what: what() }),
        other => panic!("no outcome is called {other}"),
    }
}

fn built(quads: Vec<Quad>) -> BuiltRegion {
    BuiltRegion {
        key: RegionKey::new(TileCoord::new(17, 1, 2).unwrap(), 0),
        voxels: Some(Region { occupancy: Occupancy::empty(), colours: Colours::new(ColourDepth::Direct) }),
        mesh: RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, false),
        solids: Solids::default(),
        boxes: None,
    }
}

fn start(name: &str) -> Bench {
    Bench::after(match name {
        "none" => &[],
        "fetching image" => &["tune image"],
        "fetching full" => &["tune full"],
        "image" => &["tune image", "fetched"],
        "building" => &["tune full", "fetched"],
        "full" => &["tune full", "fetched", "built"],
        "empty" => &["tune full", "nothing"],
        "error" => &["tune full", "permanent"],
        "waiting to fetch" => &["tune full", "transient"],
        "waiting to build" => &["tune full", "fetched", "panicked"],
        other => panic!("no state is called {other}"),
    })
}

#[test]
fn every_transition() {
    let mut n_checked = 0;
    for line in TRANSITIONS.lines().map(str::trim).filter(|line| !line.is_empty()).skip(1) {
        let (name, cells) = line.split_once('|').unwrap();
        let cells: Vec<&str> = cells.split_whitespace().filter(|&cell| cell != "|").collect();
        assert_eq!(cells.len(), OPERATIONS.len(), "{name}");
        for (operation, expected) in OPERATIONS.iter().zip(cells) {
            let mut bench = start(name.trim());
            bench.apply(operation);
            let found = format!("{}{}", bench.phase(), if bench.aborted { "!" } else { "" });
            assert_eq!(found, expected, "{name}, then {operation}");
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, 10 * OPERATIONS.len());
}

#[test]
fn stale_answers_change_nothing() {
    for outcome_name in ["fetched", "nothing", "built", "air", "transient", "panicked", "bad atlas", "permanent"] {
        for name in ["fetching image", "fetching full", "building"] {
            let mut bench = start(name);
            let before = (bench.phase(), bench.state.n_failures(), bench.state.bytes());
            let old = Ticket(bench.next_ticket + 7);
            assert_eq!(bench.state.finish(old, outcome(outcome_name), bench.now, 0), None);
            assert_eq!(
                (bench.phase(), bench.state.n_failures(), bench.state.bytes()),
                before,
                "{name}: {outcome_name}"
            );
        }
    }
    // Aborted and asked for again: the first answer is stale, the second counts.
    let mut bench = start("fetching full");
    let first = bench.state.task().unwrap().ticket;
    bench.apply("tune none");
    bench.apply("tune full");
    assert_eq!(bench.state.finish(first, outcome("nothing"), bench.now, 0), None);
    assert_eq!(bench.phase(), "fetching");
    bench.apply("nothing");
    assert_eq!(bench.phase(), "empty");
}

/// Applies outcomes one after the other, waiting out the back-offs, and yields where that ends.
fn after_outcomes(outcomes: &[&str]) -> Bench {
    let mut bench = start("fetching full");
    for outcome in outcomes {
        if bench.phase() == "waiting" {
            bench.wait();
        }
        bench.apply(outcome);
    }
    bench
}

#[test]
fn failures_are_retried_until_the_third() {
    for (outcomes, expected) in [
        (&["transient"][..], "waiting"),
        (&["transient", "transient"], "waiting"),
        (&["transient", "transient", "transient"], "error"),
        (&["transient", "transient", "fetched", "built"], "full"),
        (&["fetched", "panicked", "panicked", "panicked"], "error"),
        (&["fetched", "panicked", "built"], "full"),
        // A bad file is fetched once more.
        (&["fetched", "bad atlas"], "waiting"),
        (&["fetched", "bad atlas", "fetched", "built"], "full"),
        (&["fetched", "bad atlas", "fetched", "bad atlas"], "error"),
        // All kinds add up.
        (&["transient", "fetched", "panicked", "bad atlas"], "error"),
        (&["transient", "permanent"], "error"),
        (&["empty file"], "empty"),
    ] {
        assert_eq!(after_outcomes(outcomes).phase(), expected, "{outcomes:?}");
    }
}

#[test]
fn a_bad_atlas_is_fetched_anew_and_a_panic_builds_the_same_bytes() {
    let mut bench = after_outcomes(&["fetched", "bad atlas"]);
    assert_eq!(bench.state.level(), Level::None);
    bench.wait();
    assert_eq!(bench.phase(), "fetching");

    let mut bench = after_outcomes(&["fetched", "panicked"]);
    assert_eq!(bench.state.level(), Level::Image);
    bench.wait();
    assert_eq!(bench.phase(), "building");
}

#[test]
fn success_and_retry_forgive() {
    let mut bench = after_outcomes(&["transient", "transient", "transient"]);
    assert_eq!(bench.state.error(), Some(&LoadError::Transient { what: what(), retry_after: None }));
    assert_eq!(bench.state.error_since(), Some(bench.now));
    bench.apply("retry");
    assert_eq!((bench.phase(), bench.state.n_failures()), ("fetching", 0));

    let bench = after_outcomes(&["transient", "transient", "fetched", "built"]);
    assert_eq!(bench.state.n_failures(), 0);
}

#[test]
fn a_back_off_survives_a_look_away() {
    let mut bench = start("waiting to fetch");
    let until = bench.state.next_task();
    bench.apply("tune none");
    assert!(bench.state.is_worth_keeping());
    bench.apply("tune full");
    assert_eq!(bench.state.next_task(), until);
}

#[test]
fn waits_double_with_jitter_between_their_bounds() {
    for (n_failures, least, most) in
        [(1, 180, 360), (2, 360, 720), (3, 720, 1_440), (6, 5_000, 5_000), (u32::MAX, 5_000, 5_000)]
    {
        let (least, most) = (Duration::from_millis(least), Duration::from_millis(most));
        let waits: Vec<Duration> = (0..2_000).map(|random| backoff(n_failures, random * 0x9E37_79B9)).collect();
        assert!(waits.iter().all(|wait| (least..=most).contains(wait)), "after {n_failures} failures");
        assert!(least == most || waits.iter().any(|&wait| wait > least), "clients are spread");
    }
}

#[test]
fn the_server_may_ask_for_a_longer_wait() {
    let check = |retry_after: Duration, expected: Duration| {
        let mut bench = start("fetching full");
        let ticket = bench.state.task().unwrap().ticket;
        bench.state.finish(ticket, transient(Some(retry_after)), bench.now, 0);
        let (_, from) = bench.state.next_task().unwrap();
        assert_eq!(from, bench.now.saturating_add(expected));
    };
    check(Duration::from_secs(20), Duration::from_secs(20));
    check(Duration::ZERO, Duration::from_millis(BACKOFF_MIN_MILLIS));
    check(Duration::MAX, Duration::MAX);
}

#[test]
fn bytes_are_those_of_what_is_held() {
    for (name, bytes) in [("none", 0), ("fetching full", 0), ("image", 8), ("building", 8), ("empty", 0), ("error", 0)]
    {
        assert_eq!(start(name).state.bytes(), bytes, "{name}");
    }
    let full = start("full").state;
    assert_eq!(full.bytes(), full.built().unwrap().size_bytes());
    assert!(full.bytes() > 2 << 20, "the occupancy alone takes 2 MiB");
}

#[test]
fn a_refused_region_is_in_error_and_stops() {
    let key = RegionKey::new(TileCoord::new(17, 1, 2).unwrap(), 0);
    let error = LoadError::OverBudget { key, size_bytes: 8, budget_bytes: 4 };
    let mut bench = start("building");
    let task = bench.state.task();
    assert_eq!(bench.state.refuse(error.clone(), bench.now), task);
    assert_eq!((bench.phase(), bench.state.error(), bench.state.bytes()), ("error", Some(&error), 0));
}
