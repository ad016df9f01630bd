//! One tileset, streamed into one renderer.
//!
//! ```text
//! View -> Interest -> Scene --Command---> Loader
//!                     Scene <---Event---- Loader
//!                     Scene --SlotUpdate-> Renderer -> frame
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crate::atlas::{Availability, Presence};
use crate::geo::RegionKey;
use crate::gpu::{Antialiasing, FrameStats, FrameStyle, Gpu, GpuError, Memory, Offscreen, Picture, Renderer};
use crate::limits::{UPLOAD_BYTES_PER_FRAME, UPLOAD_MILLIS_PER_FRAME};
use crate::loader::{Loader, LoaderConfig};
use crate::source::{AtlasSource as _, Source};
use crate::stream::{DebugEvent, Frame, ListenerId, Notice, Progress, Scene, SceneConfig};
use crate::view::{Interest, InterestFinder, Motion, Pose, TilesetGrid, View, eased_reach};

/// A tileset being streamed into a renderer: give it a view a frame.
pub struct Session {
    base: i32,
    layers: Vec<i32>,
    zooms: RangeInclusive<u8>,
    availability: Availability,
    finder: InterestFinder,
    /// How the camera moves, and where it stood when.
    motion: Motion,
    last_look: Option<(Pose, Instant)>,
    scene: Scene,
    loader: Loader,
    renderer: Renderer,
    antialiasing: Antialiasing,
    started: Instant,
    /// How far the drawn picture reaches, in voxels: eased towards the interest's reach. And when it was last eased.
    shown_reach: Option<(f64, Instant)>,
    uploads: UploadPace,
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
        })
        .with_hosts({
            let source = source.clone();
            move |key| source.host_of(key)
        });
        Ok(Self {
            base: source.tileset().base(),
            layers: availability.layers().collect(),
            zooms: source.tileset().minzoom..=source.tileset().maxzoom,
            availability,
            finder: InterestFinder::default(),
            motion: Motion::default(),
            last_look: None,
            scene,
            loader: Loader::new(source, &loader_config)?,
            renderer: Renderer::new(gpu, format),
            antialiasing: Antialiasing::default(),
            started: Instant::now(),
            shown_reach: None,
            uploads: UploadPace::default(),
        })
    }

    /// Draws edges so from the next frame on.
    pub fn set_antialiasing(&mut self, antialiasing: Antialiasing) {
        self.antialiasing = antialiasing;
        self.renderer.set_antialiasing(antialiasing);
    }

    /// Goes on with another device, after one was lost: what is loaded stays, and is sent to it.
    pub fn replace_device(&mut self, gpu: &Gpu, format: wgpu::TextureFormat) {
        self.renderer = Renderer::new(gpu, format);
        self.renderer.set_antialiasing(self.antialiasing);
        self.scene.lose_slots();
    }

    /// Has `waker` called, on a thread of the loader, whenever there is something to [`advance`](Self::advance) for.
    pub fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.loader.set_waker(waker);
    }

    /// Has `listener` told what the stream does, region by region; see [`Scene::listen`]. It is called within
    /// [`advance`](Self::advance) and [`wait`](Self::wait), and is not to hold them up.
    pub fn listen(&mut self, listener: impl FnMut(&DebugEvent) + Send + 'static) -> ListenerId {
        self.scene.listen(listener)
    }

    /// Stops telling a listener. Whether there was one.
    pub fn unlisten(&mut self, id: ListenerId) -> bool {
        self.scene.unlisten(id)
    }

    /// One step of the stream: takes what has arrived, asks for what the view wants, uploads what fits the frame.
    pub fn advance(&mut self, view: &View) {
        let _span = tracing::debug_span!("advance").entered();
        while let Some(event) = self.loader.try_event() {
            self.scene.handle(event, self.started.elapsed());
        }
        let now = Instant::now();
        self.look(view, now);
        let target = self.interest().reach_voxels;
        let shown = self.shown_reach.map_or(target, |(shown, at)| {
            let eased = eased_reach(shown, target, (now - at).as_secs_f64());
            if target - eased < REACH_SETTLED_VOXELS { target } else { eased }
        });
        self.shown_reach = Some((shown, now));

        self.scene.set_upload_bytes_per_frame(self.uploads.bytes_per_frame());
        let frame = self.scene.frame(self.finder.interest(), self.started.elapsed());
        self.renderer.set_time(Some(self.started.elapsed()));
        self.carry_out(frame);
    }

    /// Finds what the view wants, and how it moves.
    fn look(&mut self, view: &View, now: Instant) {
        let Self { base, layers, zooms, availability, scene, .. } = self;
        if let Some((pose, at)) = self.last_look.replace((view.pose, now)) {
            self.motion = self.motion.after(&pose, &view.pose, (now - at).as_secs_f64());
        }
        // Neither what the tileset lists as absent nor what was asked and found empty takes a slot.
        let exists = |key: RegionKey| availability.presence(key) != Presence::Absent && scene.may_hold(&key);
        let grid = TilesetGrid { base: *base, zooms: zooms.clone(), layers, exists };
        self.finder.find(view, &self.motion, &grid);
    }

    fn interest(&self) -> &Interest {
        self.finder.interest()
    }

    fn carry_out(&mut self, frame: Frame) {
        for command in frame.commands {
            self.loader.run(command);
        }
        for Notice::Panics { n } in frame.notices {
            tracing::error!("{n} jobs have panicked in a row: a bug, or a broken machine; loading goes on");
        }
        let started = Instant::now();
        let sent_bytes: usize = frame.uploads.iter().map(|step| step.bytes.len()).sum();
        let _span = (sent_bytes > 0).then(|| tracing::debug_span!("upload", bytes = sent_bytes).entered());
        let (cleared, shown): (Vec<_>, Vec<_>) = frame.updates.iter().partition(|update| update.region.is_none());
        let mut refused = Vec::new();
        for update in cleared {
            // Nothing is asked for: it cannot fail.
            let _ = self.renderer.apply(update);
        }
        for step in &frame.uploads {
            if let Err(error) = self.renderer.upload(step) {
                refused.push((step.region.key, error.to_string()));
            }
        }
        for update in shown {
            let key = update.region.as_ref().map(|built| built.key);
            if let (Err(error), Some(key)) = (self.renderer.apply(update), key) {
                refused.push((key, error.to_string()));
            }
        }
        for update in &frame.octants {
            self.renderer.set_octants(update);
        }
        self.uploads.measured(sent_bytes, started.elapsed());
        for (key, what) in refused {
            tracing::warn!("{key} is not drawn: {what}");
            self.scene.refuse_upload(key, what);
        }
    }

    /// Waits for something to [`advance`](Self::advance) for: an answer of the loader, or the end of a back-off.
    pub fn wait(&mut self) {
        self.wait_at_most(WAIT_MAX);
    }

    /// As [`wait`](Self::wait), but no longer than `at_most`.
    pub fn wait_at_most(&mut self, at_most: Duration) {
        let now = self.started.elapsed();
        let timeout = self.scene.next_wake(now).map_or(at_most, |wake| wake.saturating_sub(now).min(at_most));
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
        let _span = tracing::debug_span!("draw").entered();
        let reach_voxels = self.shown_reach.map_or(0.0, |(shown, _)| shown);
        self.renderer.draw(encoder, target, &Self::with_reach(view, reach_voxels), style)
    }

    /// Draws the view, its fog and its fades settled, into a texture of its own and reads it. The texture may have more pixels than the
    /// view, in the same shape: what is loaded is what the view wants.
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
        self.renderer.set_time(None);
        let (width_px, height_px) = target.size_px();
        let view = View { width_px, height_px, ..Self::with_reach(view, self.interest().reach_voxels) };
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

    /// Whether the next frame of the same view would differ: the fog still gives way, something fades, or uploads wait for
    /// their frame.
    pub fn is_moving(&self) -> bool {
        let now = self.started.elapsed();
        self.renderer.is_fading()
            || self.shown_reach.is_some_and(|(shown, _)| shown < self.interest().reach_voxels)
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
        self.scene.failures().map(|(key, error)| Failure { key, what: error.to_string() }).collect()
    }

    /// Those of the [`failures`](Self::failures) that the last view shows. Regions fetched ahead may or may not have failed
    /// by the time a picture is whole.
    pub fn failures_in_view(&self) -> Vec<Failure> {
        let mut failures = self.failures();
        failures.retain(|failure| self.interest().visible.contains(&failure.key));
        failures
    }

    /// Tries all failed regions again.
    pub fn retry_failed(&mut self) -> usize {
        self.scene.retry_failed()
    }
}

/// How many bytes a frame may upload so that it takes no longer than it should: the scene counts bytes, and only here is
/// a clock.
#[derive(Debug, Default)]
struct UploadPace {
    /// The slower of what was measured lately, in bytes a second; unknown before the first upload.
    bytes_per_sec: Option<f64>,
}

impl UploadPace {
    fn bytes_per_frame(&self) -> usize {
        let in_time = self.bytes_per_sec.map_or(f64::INFINITY, |rate| rate * UPLOAD_MILLIS_PER_FRAME / 1e3);
        (in_time as usize).clamp(UPLOAD_BYTES_MIN, UPLOAD_BYTES_PER_FRAME)
    }

    /// So many bytes took so long: believed at once where it is slower than before, else little by little.
    fn measured(&mut self, bytes: usize, took: Duration) {
        if bytes >= UPLOAD_BYTES_MIN {
            let rate = bytes as f64 / took.as_secs_f64().max(1e-6);
            let before = self.bytes_per_sec.unwrap_or(rate);
            self.bytes_per_sec = Some(if rate < before { rate } else { before + (rate - before) / 8.0 });
        }
    }
}

/// A frame uploads at least so much, in bytes, however slow the device is: one region of central Tokyo. On a software
/// driver, which draws two frames a second, less would have a city arrive in minutes.
const UPLOAD_BYTES_MIN: usize = 512 << 10;

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
