//! A city on servers, and a network that delays, reorders, loses and breaks what they say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use voxatlas::atlas::EncodedAtlas;
use voxatlas::geo::RegionKey;
use voxatlas::limits::TIMEOUT_MILLIS;
use voxatlas::mesh::{Face, FaceColours, Quad, RegionMesh};
use voxatlas::stream::{BuiltRegion, Event, LoadError, Outcome, Ticket};
use voxatlas::voxel::Solids;

use crate::random::{Random, hash};

/// How a world's network is.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    latency_millis: (u64, u64),
    /// One in so many answers; 0 is never.
    resets: u64,
    server_errors: u64,
    too_many: u64,
    hangs: u64,
    bad_files: u64,
    panics: u64,
    forbidden: u64,
}

impl Weather {
    pub(crate) fn of(random: &mut Random) -> Self {
        let latency = random.one_of(&[(2, 6), (20, 60), (80, 90), (30, 900), (400, 401)]);
        let mut rate = |often: u64| if random.once_in(2) { 0 } else { random.within(often..often * 12) };
        Self {
            latency_millis: latency,
            resets: rate(4),
            server_errors: rate(5),
            too_many: rate(20),
            hangs: rate(6),
            bad_files: rate(10),
            panics: rate(10),
            forbidden: rate(30),
        }
    }

    /// What comes after the storm.
    fn fair(&self) -> Self {
        let Self { latency_millis, .. } = *self;
        Self {
            latency_millis,
            resets: 0,
            server_errors: 0,
            too_many: 0,
            hangs: 0,
            bad_files: 0,
            panics: 0,
            forbidden: 0,
        }
    }
}

/// The tasks that run, and how each will end.
#[derive(Debug)]
pub(crate) struct Network {
    random: Random,
    weather: Weather,
    /// By the time at which they end, then by ticket.
    running: BTreeMap<(Duration, Ticket), Running>,
}

#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) event: Event,
    pub(crate) is_build: bool,
    /// Nobody waits for the answer, which comes all the same.
    pub(crate) is_aborted: bool,
}

impl Network {
    pub(crate) fn new(mut random: Random) -> Self {
        let weather = Weather::of(&mut random);
        Self { random, weather, running: BTreeMap::new() }
    }

    pub(crate) fn weather(&self) -> &Weather {
        &self.weather
    }

    pub(crate) fn clear_up(&mut self) {
        self.weather = self.weather.fair();
    }

    pub(crate) fn fetch(&mut self, ticket: Ticket, key: RegionKey, now: Duration) {
        let (low, high) = self.weather.latency_millis;
        let mut takes = Duration::from_millis(self.random.within(low..high + 1));
        let Weather { resets, server_errors, too_many, hangs, forbidden, .. } = self.weather.clone();
        let mut is = |one_in: u64| one_in > 0 && self.random.once_in(one_in);
        let transient = |what: &str, retry_after| LoadError::Transient {
            what: format!("{key}: {what}; expected an atlas"),
            retry_after,
        };
        let outcome = if is(hangs) {
            takes = Duration::from_millis(TIMEOUT_MILLIS);
            Outcome::Failed(transient("no answer", None))
        } else if is(resets) {
            Outcome::Failed(transient("reset", None))
        } else if is(server_errors) {
            Outcome::Failed(transient("503", None))
        } else if is(too_many) {
            let wait = Duration::from_millis(self.random.within(100..20_000));
            Outcome::Failed(transient("429", Some(wait)))
        } else if is(forbidden) {
            Outcome::Failed(LoadError::Permanent { what: format!("{key}: 403; expected an atlas") })
        } else if city_holds(key) {
            Outcome::Fetched(file(key))
        } else {
            Outcome::Empty
        };
        self.begin(ticket, key, outcome, false, now + takes);
    }

    pub(crate) fn build(&mut self, ticket: Ticket, key: RegionKey, atlas: &EncodedAtlas, now: Duration) {
        assert_eq!(atlas, &file(key), "{key} is built from its own file");
        let takes = Duration::from_millis(self.random.within(3..40));
        let Weather { bad_files, panics, .. } = self.weather;
        let mut is = |one_in: u64| one_in > 0 && self.random.once_in(one_in);
        let outcome = if is(bad_files) {
            Outcome::Failed(LoadError::BadAtlas { what: format!("{key}: HTML; expected an atlas") })
        } else if is(panics) {
            Outcome::Failed(LoadError::Panicked { what: format!("{key}: the decoder panicked") })
        } else {
            Outcome::Built(Arc::new(built(key)))
        };
        self.begin(ticket, key, outcome, true, now + takes);
    }

    fn begin(&mut self, ticket: Ticket, key: RegionKey, outcome: Outcome, is_build: bool, ends: Duration) {
        let running = Running { event: Event { ticket, key, outcome }, is_build, is_aborted: false };
        assert!(self.running.insert((ends, ticket), running).is_none(), "tickets are unique");
    }

    /// Some stop at once, some answer nevertheless.
    pub(crate) fn abort(&mut self, ticket: Ticket) {
        let Some(at) = self.running.keys().find(|(_, running)| *running == ticket).copied() else { return };
        if self.random.once_in(2) {
            self.running.remove(&at);
        } else if let Some(running) = self.running.get_mut(&at) {
            running.is_aborted = true;
        }
    }

    /// The next answer that comes until then, and when.
    pub(crate) fn answer(&mut self, until: Duration) -> Option<(Duration, Running)> {
        let entry = self.running.first_entry().filter(|entry| entry.key().0 <= until)?;
        let ((at, _), running) = entry.remove_entry();
        Some((at, running))
    }

    pub(crate) fn next_answer(&self) -> Option<Duration> {
        self.running.keys().next().map(|(ends, _)| *ends)
    }

    /// Fetches from each of two hosts, and builds, that somebody waits for.
    pub(crate) fn n_running(&self) -> [usize; 3] {
        let mut n = [0; 3];
        for running in self.running.values().filter(|running| !running.is_aborted) {
            n[if running.is_build { 2 } else { host_of(running.event.key) }] += 1;
        }
        n
    }
}

/// Two servers share the city, by the regions' columns.
pub(crate) fn host_of(key: RegionKey) -> usize {
    key.tile.x() as usize % 2
}

/// Where the city stands: blocks of one zoom-14 tile, most of them in layer 0 and some of it in layer 1. A coarser region
/// holds what lies in it.
pub(crate) fn city_holds(key: RegionKey) -> bool {
    if key.tile.zoom() < 14 {
        return key.children().is_some_and(|children| children.into_iter().any(city_holds));
    }
    let up = key.tile.zoom() - 14;
    let (x, y) = (key.tile.x() >> up, key.tile.y() >> up);
    let block = hash(u64::from(x) << 20 | u64::from(y));
    match key.layer {
        0 => !block.is_multiple_of(4),
        // High houses: the whole block's, so that zoom 16 (whose layer 0 is as high as both) need not look down.
        1 if key.tile.zoom() == 17 => block % 4 == 1,
        _ => false,
    }
}

pub(crate) fn file(key: RegionKey) -> EncodedAtlas {
    EncodedAtlas::new(format!("the atlas of {key}").into_bytes())
}

/// A region of as many quads as its key says.
fn built(key: RegionKey) -> BuiltRegion {
    let n = 3 + hash(u64::from(key.tile.x()) << 32 | u64::from(key.tile.y())) as u32 % 60;
    let low_corner = |octant: u32| [octant & 1, octant >> 1 & 1, octant >> 2].map(|half| half * 128);
    let quads = (0..n).map(|idx| Quad::new(low_corner(idx * 8 / n), Face::PosY, 1, 1)).collect();
    BuiltRegion {
        key,
        voxels: None,
        mesh: RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, key.tile.zoom() < 17),
        solids: Solids::default(),
        boxes: None,
    }
}
