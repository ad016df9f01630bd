//! How the camera moves, and where it will soon be.
//!
//! Owns the estimate. Receives a pose a frame and the time between them, yields a smoothed [`Motion`]; it moves nothing
//! itself. The interest leans on it: what lies ahead is loaded before what is left behind.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::DVec3;

use super::Pose;
use crate::geo::WORLD_VOXELS;

/// How far ahead the interest looks, in seconds: about what a region takes from request to picture.
const LEAD_SECS: f64 = 0.5;

/// Farthest that the interest looks ahead, in voxels: two regions. Beyond it a guess is worth little.
const LEAD_VOXELS_MAX: f64 = 512.0;

/// Widest that the interest looks ahead, in radians: a quarter turn.
const LEAD_RAD_MAX: f64 = FRAC_PI_2;

/// Time over which the estimate forgets, in seconds: long against a trembling hand, short against a change of mind.
const SMOOTHING_SECS: f64 = 0.25;

/// Faster than this nobody flies, in voxels a second: the camera was put elsewhere. Seventy times the fly mode's speed.
const TELEPORT_VOXELS_PER_SEC: f64 = 16_384.0;

/// Longest time between two poses that still says something about a speed, in seconds.
const GAP_SECS_MAX: f64 = 1.0;

/// How a camera moves and turns. The default is still.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Motion {
    /// In world axes, in z17 voxels a second.
    pub velocity_voxels_per_sec: DVec3,
    /// Growth of the yaw, in radians a second.
    pub yaw_rad_per_sec: f64,
    /// Growth of the pitch, in radians a second.
    pub pitch_rad_per_sec: f64,
}

impl Motion {
    /// The estimate after a step from one pose to the next within `elapsed_secs`. A step that no flight makes, one that
    /// took no time and one that took too long say nothing: the camera counts as still.
    ///
    /// ```
    /// use glam::DVec3;
    /// use voxatlas::view::{Motion, Pose};
    ///
    /// let mut pose = Pose { eye_in_world: DVec3::new(29_802_394.0, 300.0, 13_215_602.0), yaw_rad: 0.0, pitch_rad: 0.0 };
    /// let mut motion = Motion::default();
    /// for _ in 0..120 {
    ///     let next = Pose { eye_in_world: pose.eye_in_world + DVec3::new(4.0, 0.0, 0.0), ..pose };
    ///     motion = motion.after(&pose, &next, 1.0 / 60.0);
    ///     pose = next;
    /// }
    /// assert!((motion.velocity_voxels_per_sec.x - 240.0).abs() < 1.0);
    /// assert!((motion.foresee(&pose).eye_in_world.x - pose.eye_in_world.x - 120.0).abs() < 1.0);
    /// ```
    pub fn after(self, from: &Pose, to: &Pose, elapsed_secs: f64) -> Self {
        let world = f64::from(WORLD_VOXELS);
        let mut step = to.eye_in_world - from.eye_in_world;
        step.x -= libm::round(step.x / world) * world;
        let is_flight = elapsed_secs > 0.0
            && elapsed_secs <= GAP_SECS_MAX
            && step.length() <= TELEPORT_VOXELS_PER_SEC * elapsed_secs
            && (to.yaw_rad - from.yaw_rad).is_finite()
            && (to.pitch_rad - from.pitch_rad).is_finite();
        if !is_flight {
            return Self::default();
        }
        let yaw = to.yaw_rad - from.yaw_rad;
        let yaw = yaw - libm::round(yaw / TAU) * TAU;
        let part = 1.0 - libm::exp(-elapsed_secs / SMOOTHING_SECS);
        let ease = |old: f64, new: f64| old + (new - old) * part;
        Self {
            velocity_voxels_per_sec: self.velocity_voxels_per_sec.lerp(step / elapsed_secs, part),
            yaw_rad_per_sec: ease(self.yaw_rad_per_sec, yaw / elapsed_secs),
            pitch_rad_per_sec: ease(self.pitch_rad_per_sec, (to.pitch_rad - from.pitch_rad) / elapsed_secs),
        }
    }

    /// Where a camera at `pose` will be in half a second, or two regions farther on if that is less.
    pub fn foresee(&self, pose: &Pose) -> Pose {
        let turn = |rad_per_sec: f64| (rad_per_sec * LEAD_SECS).clamp(-LEAD_RAD_MAX, LEAD_RAD_MAX);
        let lead = (self.velocity_voxels_per_sec * LEAD_SECS).clamp_length_max(LEAD_VOXELS_MAX);
        let yaw_rad = pose.yaw_rad + turn(self.yaw_rad_per_sec);
        Pose {
            eye_in_world: pose.eye_in_world + lead,
            yaw_rad: yaw_rad - libm::round(yaw_rad / TAU) * TAU,
            pitch_rad: (pose.pitch_rad + turn(self.pitch_rad_per_sec)).clamp(-PI / 2.0, PI / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSE: Pose =
        Pose { eye_in_world: DVec3::new(29_802_394.0, 300.0, 13_215_602.0), yaw_rad: 0.5, pitch_rad: -0.4 };

    #[test]
    fn a_teleport_is_no_flight() {
        let far = Pose { eye_in_world: POSE.eye_in_world + DVec3::new(0.0, 0.0, 5000.0), ..POSE };
        let moving = Motion { velocity_voxels_per_sec: DVec3::X, ..Motion::default() };
        for (to, secs) in [(far, 0.016), (POSE, 0.0), (POSE, 3.0), (Pose { yaw_rad: f64::NAN, ..POSE }, 0.016)] {
            assert_eq!(moving.after(&POSE, &to, secs), Motion::default());
        }
    }

    #[test]
    fn trembling_leads_nowhere() {
        let trembled = Pose { eye_in_world: POSE.eye_in_world + DVec3::splat(0.5), yaw_rad: 0.501, ..POSE };
        let mut motion = Motion::default();
        for _ in 0..100 {
            motion = motion.after(&POSE, &trembled, 0.016).after(&trembled, &POSE, 0.016);
            let ahead = motion.foresee(&POSE);
            assert!((ahead.eye_in_world - POSE.eye_in_world).length() < 2.0);
            assert!((ahead.yaw_rad - POSE.yaw_rad).abs() < 0.01);
        }
    }

    #[test]
    fn turning_and_the_antimeridian_go_the_shorter_way() {
        let (west, east) = (Pose { yaw_rad: 3.1, ..POSE }, Pose { yaw_rad: -3.1, ..POSE });
        assert!(Motion::default().after(&west, &east, 0.1).yaw_rad_per_sec > 0.0);
        let world = f64::from(WORLD_VOXELS);
        let edge = |x: f64| Pose { eye_in_world: DVec3::new(x, 300.0, 5000.0), ..POSE };
        let motion = Motion::default().after(&edge(world - 2.0), &edge(3.0), 0.1);
        assert!(motion.velocity_voxels_per_sec.x > 0.0 && motion.velocity_voxels_per_sec.x < 60.0);
    }
}
