//! One world: a camera, a network and a scene, frame by frame.

use std::collections::VecDeque;
use std::time::Duration;

use voxatlas::geo::RegionKey;
use voxatlas::limits::ERROR_REST_MILLIS;
use voxatlas::stream::{Command, LoadError, RegionState, Scene, SceneConfig, StoreLimits, TaskKind};
use voxatlas::view::{InterestFinder, TilesetGrid};

use crate::camera::Camera;
use crate::checks::Drawn;
use crate::network::{Network, city_holds, host_of};
use crate::random::Random;
use crate::screen::Screen;

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Everything, after every step.
    EveryStep,
    /// What changed after every step, and everything after every 32nd frame.
    EveryStepInFullEvery32,
}

/// Frames within which a view arrives once the network has healed: a small budget of uploads takes hundreds.
const HEAL_FRAMES_MAX: usize = 20_000;

/// Events that are kept to be told.
const STORY_EVENTS: usize = 60;

/// The bottom of layer 0.
const BASE: i32 = -32;

pub(crate) struct World {
    camera: Camera,
    network: Network,
    finder: InterestFinder,
    scene: Scene,
    screen: Screen,
    before: Drawn,
    now: Duration,
    frame_time: Duration,
    coarsest: u8,
    /// Whether the tileset lists what it holds; otherwise everything has to be asked for.
    is_listed: bool,
    n_frames: usize,
    events: VecDeque<String>,
    is_whole_story: bool,
    setting: String,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let config = config(&mut random);
        let camera = Camera::new(Random::new(random.next()));
        let network = Network::new(Random::new(random.next()));
        let coarsest = random.one_of(&[12, 12, 12, 14, 16, 17]);
        let is_listed = !random.once_in(3);
        let frame_time = Duration::from_millis(random.one_of(&[16, 50, 150, 400]));
        let setting = format!(
            "zooms {coarsest}..=17, listed {is_listed}, a frame each {frame_time:?}, {config:?}, {:?}",
            network.weather()
        );
        Self {
            screen: Screen::new(config.slots),
            scene: Scene::new(config).with_hosts(host_of),
            camera,
            network,
            finder: InterestFinder::default(),
            before: Drawn::default(),
            now: Duration::ZERO,
            frame_time,
            coarsest,
            is_listed,
            n_frames: 0,
            events: VecDeque::new(),
            is_whole_story: false,
            setting,
        }
    }

    /// Keeps every event.
    pub(crate) fn with_whole_story(self) -> Self {
        Self { is_whole_story: true, ..self }
    }

    /// Flies about.
    pub(crate) fn run(&mut self, n_frames: usize, check: Check) {
        for _ in 0..n_frames {
            if let Some(news) = self.camera.step(self.frame_time.as_secs_f64()) {
                self.tell(|| news);
            }
            self.frame(check);
            self.pass(self.now + self.frame_time);
        }
    }

    /// Has the network heal, and waits: the whole view arrives.
    pub(crate) fn heal(&mut self) {
        self.network.clear_up();
        self.tell(|| "the network heals".to_owned());
        let patience = self.now + Duration::from_millis(3 * ERROR_REST_MILLIS);
        let n_frames_max = self.n_frames + HEAL_FRAMES_MAX;
        loop {
            assert!(self.n_frames < n_frames_max, "the view has not arrived: {:?}", self.scene.progress());
            self.frame(Check::EveryStep);
            let has_failed = self.scene.failures().any(|(key, error)| {
                self.finder.interest().visible.contains(&key) && !matches!(error, LoadError::OverBudget { .. })
            });
            let next = [self.scene.next_wake(self.now), self.network.next_answer()].into_iter().flatten().min();
            if self.scene.is_complete() && !has_failed && self.scene.next_wake(self.now) != Some(self.now) {
                break;
            }
            let next = next.expect("an incomplete picture has something to wait for");
            assert!(next < patience, "the view has not arrived: {:?}", self.scene.progress());
            self.pass(next.max(self.now));
        }
        if !self.is_short() {
            self.before.check_whole(&self.scene, self.finder.interest());
        }
        self.scene.check_invariants();
    }

    fn frame(&mut self, check: Check) {
        let (scene, is_listed) = (&self.scene, self.is_listed);
        let exists = |key: RegionKey| (!is_listed || city_holds(key)) && scene.may_hold(&key);
        let grid = TilesetGrid { base: BASE, zooms: self.coarsest..=17, layers: &[0, 1], exists };
        self.finder.find(&self.camera.view, &self.camera.motion, &grid);
        let was_short = self.is_short();
        let frame = self.scene.frame(self.finder.interest(), self.now);
        self.n_frames += 1;

        let config = self.scene.config();
        let n_tasks_max = config.tasks_high + config.tasks_low + config.builds;
        let n_starts = frame.commands.iter().filter(|command| !matches!(command, Command::Abort { .. })).count();
        assert!(n_starts <= n_tasks_max, "{n_starts} tasks start in one frame");
        assert!(frame.commands.len() - n_starts <= n_tasks_max, "more aborts than tasks that ran");
        assert!(frame.updates.len() <= 2 * config.slots && frame.octants.len() <= config.slots);
        self.screen.follow(&frame, config.upload_bytes_per_frame);
        for command in frame.commands {
            self.tell(|| command_in_words(&command));
            match command {
                Command::Fetch { ticket, key } => self.network.fetch(ticket, key, self.now),
                Command::Build { ticket, key, atlas } => self.network.build(ticket, key, &atlas, self.now),
                Command::Abort { ticket } => self.network.abort(ticket),
            }
        }
        for update in &frame.updates {
            self.tell(|| match &update.region {
                Some(built) => format!("show {} in {}, octants {:08b}", built.key, update.at, update.octants),
                None => format!("clear {}", update.at),
            });
        }
        for update in &frame.octants {
            self.tell(|| format!("octants {:08b} of {}", update.octants, update.at));
        }
        self.check(check, was_short);
    }

    /// Whether bytes or slots have run out, so that something has to go.
    fn is_short(&self) -> bool {
        self.scene.failures().any(|(_, error)| matches!(error, LoadError::OverBudget { .. }))
            || self.scene.slots().all(|slot| slot.is_some())
    }

    fn check(&mut self, check: Check, was_short: bool) {
        if check == Check::EveryStep || self.n_frames.is_multiple_of(32) {
            self.scene.check_invariants();
        }
        let config = self.scene.config();
        let [here, there, n_builds] = self.network.n_running();
        assert!(here.max(there) <= config.tasks_per_host, "{here} and {there} fetches run at the two hosts");
        // Whatever is wanted has a priority above zero: the low bucket is for those who tune by themselves.
        assert!(here + there <= config.tasks_high, "{here} + {there} fetches run");
        assert!(n_builds <= config.builds, "{n_builds} builds run");
        assert!(self.scene.progress().store_bytes <= config.store.bytes, "the store is within its budget");
        self.screen.check(&self.scene);

        let drawn: Drawn = self.screen.drawn().collect();
        drawn.check_single();
        if !was_short && !self.is_short() {
            drawn.check_holes(&self.before, &self.scene, self.finder.interest());
        }
        self.before = drawn;
    }

    /// Lets time pass and delivers what arrives, late answers to aborted tasks included.
    fn pass(&mut self, until: Duration) {
        while let Some((at, running)) = self.network.answer(until) {
            self.now = self.now.max(at);
            let (key, ticket) = (running.event.key, running.event.ticket);
            let what = format!("{:?}", running.event.outcome);
            let task = self.scene.region(&key).and_then(RegionState::task).filter(|task| task.ticket == ticket);
            let kind = if running.is_build { TaskKind::Build } else { TaskKind::Fetch };
            assert!(task.is_none_or(|task| task.kind == kind && !running.is_aborted), "{key}: {task:?} was aborted");
            let slots: Vec<_> = self.scene.slots().collect();
            let is_taken = self.scene.handle(running.event, self.now);
            assert_eq!(is_taken, task.is_some(), "{key}: only the region's own task changes anything");
            assert!(self.scene.slots().eq(slots), "an answer changes no slot before the next frame");
            self.tell(|| {
                format!("{} {key}: {}", if is_taken { "answer" } else { "stale" }, &what[..what.len().min(60)])
            });
        }
        self.now = until;
    }

    fn tell(&mut self, event: impl FnOnce() -> String) {
        if self.events.len() >= STORY_EVENTS && !self.is_whole_story {
            self.events.pop_front();
        }
        self.events.push_back(format!("{:>9.3} s  {}", self.now.as_secs_f64(), event()));
    }

    /// The setting and the last events.
    pub(crate) fn story(&self) -> String {
        let events: Vec<&str> = self.events.iter().map(String::as_str).collect();
        format!("{}\n{} frames, {} drawn\n{}", self.setting, self.n_frames, self.before.len(), events.join("\n"))
    }
}

fn command_in_words(command: &Command) -> String {
    match command {
        Command::Fetch { ticket, key } => format!("fetch {key} ({})", ticket.0),
        Command::Build { ticket, key, .. } => format!("build {key} ({})", ticket.0),
        Command::Abort { ticket } => format!("abort ({})", ticket.0),
    }
}

fn config(random: &mut Random) -> SceneConfig {
    let default = SceneConfig { base: BASE, seed: random.next(), ..SceneConfig::default() };
    if random.once_in(3) {
        return default;
    }
    SceneConfig {
        tasks_high: random.within(1..8) as usize,
        tasks_low: random.within(0..3) as usize,
        tasks_per_host: random.within(1..6) as usize,
        builds: random.within(1..4) as usize,
        // From a handful of regions to all of them: one has 300 to 800 bytes.
        store: StoreLimits {
            bytes: random.one_of(&[3_000, 20_000, 100_000, 1 << 20]),
            outside: random.within(0..40) as usize,
            remembered: random.within(0..400) as usize,
        },
        upload_bytes_per_frame: random.one_of(&[200, 1_000, 4 << 20]),
        ..default
    }
}
