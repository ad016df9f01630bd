//! One tileset, streamed into one renderer.
//!
//! ```text
//! View -> Interest -> Scene --Command---> Loader
//!                     Scene <---Event---- Loader
//!                     Scene --SlotUpdate-> Renderer -> frame
//! ```

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::time::{Duration, Instant};

use crate::atlas::{Availability, Presence};
use crate::geo::RegionKey;
use crate::gpu::{FrameStats, FrameStyle, Gpu, GpuError, Memory, Offscreen, Picture, Renderer};
use crate::loader::{Loader, LoaderConfig};
use crate::source::Source;
use crate::stream::{Level, Progress, Scene, SceneConfig};
use crate::view::{Interest, TilesetGrid, View, eased_reach};

/// A tileset being streamed into a renderer: give it a view a frame.
pub struct Session {
    base: i32,
    layers: Vec<i32>,
    availability: Availability,
    interest: Interest,
    scene: Scene,
    loader: Loader,
    renderer: Renderer,
    started: Instant,
    /// How far the drawn picture reaches, in voxels: eased towards the interest's reach. And when it was last eased.
    shown_reach: Option<(f64, Instant)>,
    /// Regions that are loaded and found no room on the GPU, by slot, and why.
    undrawn: BTreeMap<usize, (RegionKey, String)>,
}

impl Session {
    /// Starts streaming `source` into a renderer for targets of `format`.
    ///
    /// # Errors
    ///
    /// The system gives the loader no threads.
    pub fn new(gpu: &Gpu, format: wgpu::TextureFormat, source: Source) -> io::Result<Self> {
        let availability = source.availability().clone();
        let loader_config = LoaderConfig::default();
        let scene = Scene::new(SceneConfig {
            base: source.tileset().base(),
            builds: loader_config.cpu_threads,
            // Viewers that one outage struck must not all come back at one moment.
            seed: RandomState::new().hash_one(()),
            ..SceneConfig::default()
        });
        Ok(Self {
            base: source.tileset().base(),
            layers: availability.layers().collect(),
            availability,
            interest: Interest::default(),
            scene,
            loader: Loader::new(source, &loader_config)?,
            renderer: Renderer::new(gpu, format),
            started: Instant::now(),
            shown_reach: None,
            undrawn: BTreeMap::new(),
        })
    }

    /// Has `waker` called, on a thread of the loader, whenever there is something to [`advance`](Self::advance) for.
    pub fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.loader.set_waker(waker);
    }

    /// One step of the stream: takes what has arrived, asks for what the view wants, uploads what fits the frame.
    pub fn advance(&mut self, view: &View) {
        while let Some(event) = self.loader.try_event() {
            self.scene.handle(event, self.started.elapsed());
        }
        self.interest = Interest::compute(
            view,
            &TilesetGrid {
                base: self.base,
                layers: &self.layers,
                // Neither what the tileset lists as absent nor what was asked and found empty takes a slot.
                exists: |key| {
                    self.availability.presence(key) != Presence::Absent
                        && self.scene.region(&key).is_none_or(|region| region.level() != Level::Empty)
                },
            },
        );
        let now = Instant::now();
        let target = self.interest.reach_voxels;
        let shown = self.shown_reach.map_or(target, |(shown, at)| {
            let eased = eased_reach(shown, target, (now - at).as_secs_f64());
            if target - eased < REACH_SETTLED_VOXELS { target } else { eased }
        });
        self.shown_reach = Some((shown, now));

        let frame = self.scene.frame(&self.interest, self.started.elapsed());
        for command in frame.commands {
            self.loader.run(command);
        }
        for update in &frame.updates {
            self.undrawn.remove(&update.at);
            if let (Err(error), Some(built)) = (self.renderer.apply(update), &update.region) {
                tracing::warn!("{} is not drawn: {error}", built.key);
                self.undrawn.insert(update.at, (built.key, error.to_string()));
            }
        }
    }

    /// Waits for something to [`advance`](Self::advance) for: an answer of the loader, or the end of a back-off.
    pub fn wait(&mut self) {
        let now = self.started.elapsed();
        let timeout = self.scene.next_wake(now).map_or(WAIT_MAX, |wake| wake.saturating_sub(now).min(WAIT_MAX));
        if let Some(event) = self.loader.wait_event(timeout) {
            self.scene.handle(event, self.started.elapsed());
        }
    }

    /// Draws the view, as far as it has arrived. `target` has the view's size and the session's format.
    pub fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        view: &View,
        style: FrameStyle,
    ) -> FrameStats {
        let reach_voxels = self.shown_reach.map_or(0.0, |(shown, _)| shown);
        self.renderer.draw(encoder, target, &Self::with_reach(view, reach_voxels), style)
    }

    /// Draws the view, its fog settled, into a texture of its own and reads it.
    ///
    /// # Errors
    ///
    /// The device is lost or has no memory for the way back.
    pub fn take_picture(
        &mut self,
        target: &Offscreen,
        view: &View,
        style: FrameStyle,
    ) -> Result<(Picture, FrameStats), GpuError> {
        let view = Self::with_reach(view, self.interest.reach_voxels);
        target.take(&mut self.renderer, &view, style)
    }

    /// The view with its fog drawn in to `reach_voxels`.
    fn with_reach(view: &View, reach_voxels: f64) -> View {
        View { draw_distance_voxels: view.draw_distance_voxels.min(reach_voxels), ..*view }
    }

    /// Whether the picture of the last view is whole: every visible region is drawn, empty or failed.
    pub fn is_complete(&self) -> bool {
        self.scene.is_complete()
    }

    /// Whether the next frame of the same view would differ: the fog still gives way, or uploads wait for their frame.
    pub fn is_moving(&self) -> bool {
        let now = self.started.elapsed();
        self.shown_reach.is_some_and(|(shown, _)| shown < self.interest.reach_voxels)
            || self.scene.next_wake(now).is_some_and(|wake| wake <= now)
    }

    /// The visible regions by state.
    pub fn progress(&self) -> Progress {
        self.scene.progress()
    }

    /// What the renderer takes on the GPU.
    pub fn memory(&self) -> Memory {
        self.renderer.memory()
    }

    /// When the stream wants to be advanced although nothing arrives.
    pub fn next_wake(&self) -> Option<Instant> {
        self.scene.next_wake(self.started.elapsed()).map(|wake| self.started + wake)
    }

    /// The regions that are not drawn and why, in the order of their keys.
    pub fn failures(&self) -> Vec<Failure> {
        let mut failures: Vec<Failure> = self
            .scene
            .failures()
            .map(|(key, error)| Failure { key, what: error.to_string() })
            .chain(self.undrawn.values().map(|(key, what)| Failure { key: *key, what: what.clone() }))
            .collect();
        failures.sort_by_key(|failure| failure.key);
        failures
    }

    /// Those of the [`failures`](Self::failures) that the last view shows. Regions fetched ahead may or may not have failed
    /// by the time a picture is whole.
    pub fn failures_in_view(&self) -> Vec<Failure> {
        let mut failures = self.failures();
        failures.retain(|failure| self.interest.visible.contains(&failure.key));
        failures
    }

    /// Tries all failed regions again.
    pub fn retry_failed(&mut self) -> usize {
        self.scene.retry_failed()
    }
}

/// The fog's last steps are none that anyone sees, in voxels.
const REACH_SETTLED_VOXELS: f64 = 0.5;

/// Longest sleep of [`Session::wait`]: nothing is expected that late, and a lost wake-up must not hang a picture.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A region that is not drawn.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The region.
    #[serde(serialize_with = "as_text")]
    pub key: RegionKey,
    /// What was found and what was expected.
    pub what: String,
}

fn as_text<S: serde::Serializer>(key: &RegionKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}
