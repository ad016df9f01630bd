//! Random lives of a scene: interests that jump, answers in any order, doubled, late and forged, failures of every
//! kind, and leaps of time. The invariants hold after every step, and a fair loader always brings the picture home.

use std::time::Duration;

use proptest::prelude::*;
use voxatlas::geo::RegionKey;
use voxatlas::limits::{PREPURGE, REGION_VOXELS};
use voxatlas::stream::{BuiltRegion, Event, Frame, LoadError, Outcome, Scene, SceneConfig, StoreLimits, Ticket};
use voxatlas::view::Interest;

use crate::simulation::{FRAME, Making, Simulation, built, file, key, make, millis};

/// The regions of these worlds: a square of 5 x 5.
const SIDE: u32 = 5;

#[derive(Debug, Clone)]
enum Operation {
    /// Looks at a place, and draws a frame.
    Look(Interest),
    /// Draws another frame of the same view.
    Draw,
    /// Ends the n-th running task, as it would or in another way.
    End(usize, Ending),
    /// Says the last answer once more.
    Repeat,
    /// An answer to a task that may exist, or not.
    Forge(u64, RegionKey, Ending),
    Wait(u64),
    /// Tells the scene of an earlier time.
    Back(u64),
    RetryFailed,
    /// Has somebody listen, or nobody.
    Listen(bool),
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Well,
    File,
    EmptyFile,
    Nothing,
    Region,
    Reset,
    Busy(u64),
    Forbidden,
    Panic,
    NoAtlas,
}

impl Ending {
    fn outcome(self, key: RegionKey, well: Outcome) -> Outcome {
        let what = || format!("{key}: as scripted");
        match self {
            Self::Well => well,
            Self::File => Outcome::Fetched(file(key)),
            Self::EmptyFile => Outcome::Fetched(voxatlas::atlas::EncodedAtlas::new(Vec::new())),
            Self::Nothing => Outcome::Empty,
            Self::Region => make(key, Making::Region),
            Self::Reset => Outcome::Failed(LoadError::Transient { what: what(), retry_after: None }),
            Self::Busy(wait) => Outcome::Failed(LoadError::Transient { what: what(), retry_after: Some(millis(wait)) }),
            Self::Forbidden => Outcome::Failed(LoadError::Permanent { what: what() }),
            Self::Panic => make(key, Making::Panic),
            Self::NoAtlas => make(key, Making::NoAtlas),
        }
    }
}

fn region_key() -> impl Strategy<Value = RegionKey> {
    // Half of them of a pyramid: these have ancestors among each other.
    (0..SIDE, 0..SIDE, 0..2i32, 0..6u32).prop_map(|(x, y, layer, n_up)| {
        let mut key = RegionKey { layer, ..key(x, y) };
        for _ in 3..n_up {
            key = key.parent().expect("zoom 17 has five above it");
        }
        key
    })
}

/// Any lists, also ones that name a region twice and more regions than there are slots.
fn interest() -> impl Strategy<Value = Interest> {
    let keys = |n: usize| prop::collection::vec(region_key(), 0..n);
    (keys(8), keys(4), keys(4)).prop_map(|(visible, prebuild, prefetch)| Interest {
        visible,
        prebuild,
        prefetch,
        ..Interest::default()
    })
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        12 => Just(Ending::Well),
        1 => Just(Ending::File),
        1 => Just(Ending::EmptyFile),
        2 => Just(Ending::Nothing),
        1 => Just(Ending::Region),
        3 => Just(Ending::Reset),
        1 => (0..40_000u64).prop_map(Ending::Busy),
        1 => Just(Ending::Forbidden),
        2 => Just(Ending::Panic),
        2 => Just(Ending::NoAtlas),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => interest().prop_map(Operation::Look),
        6 => Just(Operation::Draw),
        12 => (any::<usize>(), ending()).prop_map(|(n, ending)| Operation::End(n, ending)),
        2 => Just(Operation::Repeat),
        2 => (0..60u64, region_key(), ending()).prop_map(|(n, key, ending)| Operation::Forge(n, key, ending)),
        3 => prop_oneof![0..400u64, 0..50_000u64].prop_map(Operation::Wait),
        1 => (0..50_000u64).prop_map(Operation::Back),
        1 => Just(Operation::RetryFailed),
        1 => any::<bool>().prop_map(Operation::Listen),
    ]
}

fn config() -> impl Strategy<Value = SceneConfig> {
    // A little more than the largest region of these tests.
    let region_bytes = built(key(0, 0)).size_bytes() + 1_000;
    let store = (1..24usize, 0..6usize, 0..6usize).prop_map(move |(n_regions, outside, remembered)| StoreLimits {
        bytes: n_regions * region_bytes,
        outside: outside.min(PREPURGE),
        remembered,
    });
    (1..6usize, 1..5usize, 1..3usize, store, 64..1_000usize, any::<u64>()).prop_map(
        |(slots, tasks_high, builds, store, upload_bytes_per_frame, seed)| SceneConfig {
            slots,
            tasks_high,
            builds,
            store,
            upload_bytes_per_frame,
            seed,
            ..SceneConfig::default()
        },
    )
}

/// Everything that can be asked of a scene, in words.
fn observe(scene: &Scene, now: Duration) -> String {
    let keys =
        (0..SIDE).flat_map(|x| (0..SIDE).flat_map(move |y| [0, 1].map(|layer| RegionKey { layer, ..key(x, y) })));
    let regions: Vec<String> = keys
        .filter_map(|key| scene.region(&key))
        .map(|s| {
            let built = s.built().map(|built: &std::sync::Arc<BuiltRegion>| built.key);
            format!("{:?}", (s.level(), s.request(), s.task(), s.n_failures(), s.next_task(), built))
        })
        .collect();
    let failures: Vec<_> = scene.failures().collect();
    let slots: Vec<_> = scene.slots().collect();
    format!("{regions:?} {failures:?} {:?} {slots:?} {:?}", scene.progress(), scene.next_wake(now))
}

/// Applies an operation; `interest` and `last` are what the view and the last answer were.
fn apply(sim: &mut Simulation, operation: Operation, interest: &mut Interest, last: &mut Option<Event>) {
    match operation {
        Operation::Look(next) => {
            *interest = next;
            sim.frame(interest);
        }
        Operation::Draw => {
            let is_quiet = sim.scene.next_wake(sim.now) != Some(sim.now);
            let frame = sim.frame(interest);
            assert!(!is_quiet || frame == Frame::default(), "next_wake promised a quiet frame: {frame:?}");
        }
        Operation::End(n, ending) => {
            let Some(event) = sim.nth_running(n) else { return };
            let event = Event { outcome: ending.outcome(event.key, event.outcome), ..event };
            sim.end(&event);
            *last = Some(event);
        }
        Operation::Repeat => {
            if let Some(event) = last.clone() {
                expect_stale(sim, event);
            }
        }
        Operation::Forge(n, key, ending) => {
            let is_running = (0..).map_while(|n| sim.nth_running(n)).take(16).any(|event| event.ticket == Ticket(n));
            if !is_running {
                let outcome = ending.outcome(key, Outcome::Empty);
                expect_stale(sim, Event { ticket: Ticket(n), key, outcome });
            }
        }
        Operation::Wait(wait) => sim.now += millis(wait),
        Operation::Back(wait) => {
            let earlier = sim.now.saturating_sub(millis(wait));
            expect_stale(sim, Event { ticket: Ticket(u64::MAX), key: key(0, 0), outcome: Outcome::Empty });
            assert!(sim.scene.next_wake(earlier) >= sim.scene.next_wake(Duration::ZERO));
        }
        Operation::RetryFailed => {
            let n_failed = sim.scene.failures().count();
            assert_eq!(sim.scene.retry_failed(), n_failed);
            assert_eq!(sim.scene.failures().count(), 0);
        }
        Operation::Listen(on) => sim.listen(on),
    }
}

fn expect_stale(sim: &mut Simulation, event: Event) {
    let before = observe(&sim.scene, sim.now);
    assert!(!sim.scene.handle(event, sim.now), "a stale answer");
    assert_eq!(observe(&sim.scene, sim.now), before, "a stale answer changes nothing");
}

/// A loader that answers everything, and a loop that sleeps when it may: the picture must become whole.
fn bring_home(sim: &mut Simulation, interest: &Interest) {
    for _ in 0..400 {
        sim.frame(interest);
        if sim.scene.is_complete() {
            return;
        }
        let next = [sim.scene.next_wake(sim.now), sim.next_answer()].into_iter().flatten().min();
        let next = next.expect("an incomplete picture has something to wait for");
        let wait = next.saturating_sub(sim.now);
        sim.pass(wait);
    }
    panic!("the picture is not whole after 400 frames: {:?}", sim.scene.progress());
}

proptest! {
    // A failing input becomes a test, not a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scene_survives_anything(
        config in config(),
        operations in prop::collection::vec(operation(), 0..120),
    ) {
        let mut sim = Simulation::new(config);
        let mut interest = Interest::default();
        let mut last = None;
        for operation in operations {
            apply(&mut sim, operation, &mut interest, &mut last);
            sim.scene.check_invariants();
        }

        bring_home(&mut sim, &interest);
        let progress = sim.scene.progress();
        prop_assert_eq!(progress.n_settled(), progress.n_visible());

        // With all sins forgiven and nothing else wrong, only the want of room keeps a region from the screen.
        sim.scene.retry_failed();
        bring_home(&mut sim, &interest);
        for (key, error) in sim.scene.failures() {
            prop_assert!(matches!(error, LoadError::OverBudget { .. }), "{}: {}", key, error);
        }
        let nearest = interest.visible.first();
        let is_settled = nearest.is_none_or(|&key| sim.is_covered(key) || sim.scene.progress().n_empty > 0);
        prop_assert!(is_settled, "one region always has room");
    }

    #[test]
    fn a_flight_over_a_failing_network_ends_in_a_whole_picture(
        seed in any::<u64>(),
        steps in prop::collection::vec((0..3u32, 0..3u32, 1..40u64), 1..12),
        endings in prop::collection::vec(ending(), 1..40),
    ) {
        let mut sim = Simulation::new(SceneConfig { seed, ..SceneConfig::default() });
        let (mut x, mut y) = (0, 0);
        let mut endings = endings.into_iter().cycle();
        for (dx, dy, n_frames) in steps {
            (x, y) = (x + dx, y + dy);
            let around: Vec<RegionKey> = (0..24).map(|n| key(x + n % 5, y + n / 5)).collect();
            let interest = Interest {
                visible: around[..16].to_vec(),
                prebuild: around[16..20].to_vec(),
                prefetch: around[20..].to_vec(),
                ..Interest::default()
            };
            for n in 0..n_frames {
                sim.frame(&interest);
                if let (0, Some(event)) = (n % 3, sim.nth_running(n as usize)) {
                    let outcome = endings.next().unwrap_or(Ending::Well).outcome(event.key, event.outcome);
                    sim.end(&Event { outcome, ..event });
                }
                sim.pass(FRAME);
            }
            bring_home(&mut sim, &interest);
            prop_assert!(sim.scene.progress().n_outside <= PREPURGE);
        }
    }
}

#[test]
fn the_regions_of_these_tests_take_at_least_their_occupancy() {
    assert!(built(key(0, 0)).size_bytes() > (REGION_VOXELS as usize).pow(3) / 8);
}
