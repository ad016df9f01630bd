//! Cameras: still, trembling, flying, turning, rising, and put elsewhere.

use glam::DVec3;
use voxatlas::view::{Motion, Pose, View};

use crate::random::Random;

/// What the camera does for a while.
#[derive(Debug, Clone, Copy)]
enum Act {
    Still,
    Tremble,
    /// Level, this way, at the fly mode's 240 m/s.
    Fly(f64),
    /// So many radians a second.
    Turn(f64),
    /// So many voxels a second.
    Rise(f64),
}

#[derive(Debug)]
pub(crate) struct Camera {
    random: Random,
    act: Act,
    frames_left: u64,
    /// Without trembling.
    steady: Pose,
    pub(crate) view: View,
    pub(crate) motion: Motion,
}

/// The middle of the city: Tokyo Tower's tile.
pub(crate) const CENTRE: DVec3 = DVec3::new(116_415.5 * 256.0, 0.0, 51_623.5 * 256.0);

impl Camera {
    pub(crate) fn new(mut random: Random) -> Self {
        let steady = place(&mut random);
        let draw_distance_voxels = random.one_of(&[2_000.0, 12_000.0, 60_000.0]);
        let (width_px, height_px) = random.one_of(&[(1280, 720), (480, 800), (3840, 1080)]);
        let view =
            View { pose: steady, fov_y_rad: random.between(0.3, 1.3), width_px, height_px, draw_distance_voxels };
        Self { random, act: Act::Still, frames_left: 0, steady, view, motion: Motion::default() }
    }

    /// Moves on by a frame. Says what is new, where something is.
    pub(crate) fn step(&mut self, elapsed_secs: f64) -> Option<String> {
        let news = (self.frames_left == 0).then(|| self.choose());
        self.frames_left -= 1;
        match self.act {
            Act::Still | Act::Tremble => {}
            Act::Fly(way) => {
                let ahead = DVec3::new(libm::sin(way), 0.0, libm::cos(way));
                self.steady.eye_in_world += ahead * (247.0 * elapsed_secs);
            }
            Act::Turn(speed) => self.steady.yaw_rad += speed * elapsed_secs,
            Act::Rise(speed) => self.steady.eye_in_world.y += speed * elapsed_secs,
        }
        let mut pose = self.steady;
        if matches!(self.act, Act::Tremble) {
            pose.eye_in_world += DVec3::splat(self.random.between(-1.0, 1.0));
            pose.yaw_rad += self.random.between(-0.004, 0.004);
        }
        self.motion = self.motion.after(&self.view.pose, &pose, elapsed_secs);
        self.view.pose = pose;
        news
    }

    fn choose(&mut self) -> String {
        let random = &mut self.random;
        self.frames_left = random.within(5..80);
        self.act = match random.within(0..12) {
            0..2 => Act::Still,
            2..4 => Act::Tremble,
            4..7 => Act::Fly(random.between(0.0, std::f64::consts::TAU)),
            7..9 => Act::Turn(random.between(-6.0, 6.0)),
            9..11 => Act::Rise(random.between(-800.0, 1_500.0)),
            _ => {
                self.steady = place(random);
                Act::Still
            }
        };
        format!("camera {:?} for {} frames at {:?}", self.act, self.frames_left, self.steady)
    }
}

/// Somewhere over the city or at its border.
fn place(random: &mut Random) -> Pose {
    let away = |random: &mut Random| random.between(-9_000.0, 9_000.0);
    let height = random.one_of(&[20.0, 120.0, 400.0, 900.0, 3_000.0, 12_000.0]);
    Pose {
        eye_in_world: CENTRE + DVec3::new(away(random), height, away(random)),
        yaw_rad: random.between(-3.1, 3.1),
        pitch_rad: random.between(-1.5, 0.3),
    }
}
