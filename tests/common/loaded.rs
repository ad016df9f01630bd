//! A scene whose picture is whole: every slot that a view over a country wants is filled.

#![allow(dead_code, reason = "shared by a test and a bench, which use different parts")]

use std::sync::Arc;
use std::time::Duration;

use voxatlas::atlas::EncodedAtlas;
use voxatlas::geo::RegionKey;
use voxatlas::mesh::{Face, FaceColours, Quad, RegionMesh};
use voxatlas::stream::{BuiltRegion, Command, Event, Frame, Outcome, Scene, SceneConfig};
use voxatlas::view::{InterestFinder, Motion, Pose, TilesetGrid, View, ViewSpec};
use voxatlas::voxel::Solids;

/// Time between two frames.
pub(crate) const FRAME: Duration = Duration::from_millis(16);

/// A view and its stream.
pub(crate) struct Loaded {
    pub(crate) view: View,
    pub(crate) motion: Motion,
    pub(crate) finder: InterestFinder,
    pub(crate) scene: Scene,
    pub(crate) now: Duration,
}

impl Loaded {
    /// Has everything answered until nothing is left to do.
    pub(crate) fn new(spec: &str) -> Self {
        let mut loaded = Self::begun(spec);
        loaded.settle();
        loaded
    }

    /// A view of which nothing has been asked for.
    pub(crate) fn begun(spec: &str) -> Self {
        let pose = spec.parse::<ViewSpec>().expect("a view").pose();
        let view = View { pose, fov_y_rad: 0.9, width_px: 1920, height_px: 1080, draw_distance_voxels: 60_000.0 };
        let config = SceneConfig { base: -32, ..SceneConfig::default() };
        let (finder, motion) = (InterestFinder::default(), Motion::default());
        Self { view, motion, finder, scene: Scene::new(config), now: Duration::ZERO }
    }

    /// Stands still until nothing is left to do.
    pub(crate) fn settle(&mut self) {
        while {
            self.step(self.view.pose);
            !self.is_settled()
        } {}
    }

    fn is_settled(&self) -> bool {
        self.scene.is_complete() && self.scene.next_wake(self.now).is_none()
    }

    /// One frame with the camera at `pose`; its tasks are answered at once, after it.
    pub(crate) fn step(&mut self, pose: Pose) {
        let frame = self.frame(pose);
        for command in &frame.commands {
            if let Some(event) = answer(command) {
                self.scene.handle(event, self.now);
            }
        }
    }

    /// One frame: what a frame costs beside its uploads.
    pub(crate) fn frame(&mut self, pose: Pose) -> Frame {
        self.look(pose);
        self.scene.frame(self.finder.interest(), self.now)
    }

    /// The first half of a frame: what the view wants.
    pub(crate) fn look(&mut self, pose: Pose) {
        self.motion = self.motion.after(&self.view.pose, &pose, FRAME.as_secs_f64());
        self.view.pose = pose;
        self.now += FRAME;
        let scene = &self.scene;
        let exists = |key: RegionKey| scene.may_hold(&key);
        let grid = TilesetGrid { base: -32, zooms: 12..=17, layers: &[0, 1], exists };
        self.finder.find(&self.view, &self.motion, &grid);
    }
}

/// What a loader says at once.
pub(crate) fn answer(command: &Command) -> Option<Event> {
    let (ticket, key, outcome) = match *command {
        Command::Fetch { ticket, key } => (ticket, key, Outcome::Fetched(EncodedAtlas::new(vec![1]))),
        Command::Build { ticket, key, .. } => (ticket, key, Outcome::Built(Arc::new(built(key)))),
        Command::Abort { .. } => return None,
    };
    Some(Event { ticket, key, outcome })
}

fn built(key: RegionKey) -> BuiltRegion {
    let low_corner = |octant: u32| [octant & 1, octant >> 1 & 1, octant >> 2].map(|half| half * 128);
    let quads = (0..800).map(|idx| Quad::new(low_corner(idx / 100), Face::PosY, 1, 1)).collect();
    let mesh = RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, key.tile.zoom() < 17);
    BuiltRegion { key, voxels: None, mesh, solids: Solids::default(), boxes: None }
}
