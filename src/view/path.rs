//! A flight: views that a camera passes one after the other.
//!
//! Owns the way between the views. Receives views and a speed, yields a pose for every moment; it knows no clock.

use thiserror::Error;

use super::{Pose, ViewSpec, ViewSpecError};
use crate::geo::{WORLD_VOXELS, mercator};

/// Slowest that a view is left behind where the camera only turns, in degrees a second: a leg without a length would
/// take no time at all.
const TURN_DEG_PER_SEC: f64 = 30.0;

/// Views in the order in which they are passed, with the legs between them.
///
/// ```
/// use voxatlas::view::CameraPath;
///
/// let path = CameraPath::parse(
///     "# along the bay\n\
///      139.70,35.66,800,90,-20\n\
///      139.80,35.66,800,90,-20\n",
///     240.0,
/// )?;
/// // Nine kilometres at 240 m/s.
/// assert!((path.duration_secs() - 37.7).abs() < 0.2);
/// # Ok::<(), voxatlas::view::CameraPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CameraPath {
    /// At least two.
    stops: Vec<Stop>,
}

/// A view and when it is passed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stop {
    at_secs: f64,
    pose: Pose,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CameraPathError {
    /// A line is no view.
    #[error("line {line}: {source}")]
    View {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: ViewSpecError,
    },
    /// A path leads from somewhere to somewhere.
    #[error("found {n} views, expected at least two, each a line LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG")]
    TooShort {
        /// Views that were found.
        n: usize,
    },
    /// The speed is no speed.
    #[error("found a speed of {metres_per_sec} m/s, expected one above 0")]
    Speed {
        /// What was found.
        metres_per_sec: f64,
    },
}

impl CameraPath {
    /// Reads a path: a view a line, in the spelling of [`ViewSpec`]; empty lines and those that begin with `#` are
    /// passed over. The camera keeps the speed in true metres a second, and turns as it goes.
    ///
    /// # Errors
    ///
    /// A line is no view, there are fewer than two, or the speed is not above 0.
    pub fn parse(text: &str, metres_per_sec: f64) -> Result<Self, CameraPathError> {
        if !(metres_per_sec > 0.0 && metres_per_sec.is_finite()) {
            return Err(CameraPathError::Speed { metres_per_sec });
        }
        let mut stops: Vec<Stop> = Vec::new();
        for (idx, line) in text.lines().enumerate() {
            let line_text = line.trim();
            if line_text.is_empty() || line_text.starts_with('#') {
                continue;
            }
            let spec: ViewSpec = line_text.parse().map_err(|source| CameraPathError::View { line: idx + 1, source })?;
            let pose = spec.pose();
            let at_secs = stops.last().map_or(0.0, |last| last.at_secs + leg_secs(&last.pose, &pose, metres_per_sec));
            stops.push(Stop { at_secs, pose });
        }
        if stops.len() < 2 {
            return Err(CameraPathError::TooShort { n: stops.len() });
        }
        Ok(Self { stops })
    }

    /// How long the flight takes.
    pub fn duration_secs(&self) -> f64 {
        self.stops.last().map_or(0.0, |stop| stop.at_secs)
    }

    /// Where the camera is after so many seconds: at the first view before the start, at the last after the end.
    pub fn pose_at(&self, secs: f64) -> Pose {
        let next = self.stops.partition_point(|stop| stop.at_secs <= secs).min(self.stops.len() - 1);
        let (from, to) = (self.stops[next.saturating_sub(1)], self.stops[next]);
        let leg_secs = to.at_secs - from.at_secs;
        let part = if leg_secs > 0.0 { ((secs - from.at_secs) / leg_secs).clamp(0.0, 1.0) } else { 1.0 };
        let [east, turn] = shorter_way(&from.pose, &to.pose);
        let mut eye_in_world = from.pose.eye_in_world.lerp(to.pose.eye_in_world, part);
        eye_in_world.x = from.pose.eye_in_world.x + east * part;
        Pose {
            eye_in_world,
            yaw_rad: from.pose.yaw_rad + turn * part,
            pitch_rad: from.pose.pitch_rad + (to.pose.pitch_rad - from.pose.pitch_rad) * part,
        }
    }
}

/// From one pose to the other: east in voxels and the turn of the yaw in radians, each the shorter way round.
fn shorter_way(from: &Pose, to: &Pose) -> [f64; 2] {
    let wrapped = |way: f64, round: f64| way - libm::round(way / round) * round;
    [
        wrapped(to.eye_in_world.x - from.eye_in_world.x, f64::from(WORLD_VOXELS)),
        wrapped(to.yaw_rad - from.yaw_rad, std::f64::consts::TAU),
    ]
}

fn leg_secs(from: &Pose, to: &Pose, metres_per_sec: f64) -> f64 {
    let [east, turn] = shorter_way(from, to);
    let mut way = to.eye_in_world - from.eye_in_world;
    way.x = east;
    let middle_z = f64::midpoint(from.eye_in_world.z, to.eye_in_world.z);
    let way_m = way.length() * mercator::metres_per_voxel_at(middle_z);
    let turn_deg = turn.abs().max((to.pitch_rad - from.pitch_rad).abs()).to_degrees();
    (way_m / metres_per_sec).max(turn_deg / TURN_DEG_PER_SEC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flight_passes_its_views_at_an_even_speed() {
        let text = "139.70,35.66,800,350,-20\n\n# a bend\n139.80,35.66,800,10,-20\n139.80,35.70,200,180,-60\n";
        let path = CameraPath::parse(text, 240.0).unwrap();
        let first: ViewSpec = "139.70,35.66,800,350,-20".parse().unwrap();
        assert_eq!(path.pose_at(-5.0), first.pose());
        assert_eq!(path.pose_at(0.0), first.pose());
        let last: ViewSpec = "139.80,35.70,200,180,-60".parse().unwrap();
        let end = path.pose_at(path.duration_secs() + 1.0);
        assert!((end.eye_in_world - last.pose().eye_in_world).length() < 1e-6);
        // Over north, the shorter way: half way through it looks straight there.
        let bend = path.stops[1].at_secs;
        let middle = path.pose_at(bend / 2.0);
        assert!(
            middle.yaw_rad.to_degrees().rem_euclid(360.0).min(360.0 - middle.yaw_rad.to_degrees().rem_euclid(360.0))
                < 1e-6
        );
        let step = |secs: f64| (path.pose_at(secs + 1.0).eye_in_world - path.pose_at(secs).eye_in_world).length();
        assert!((step(3.0) - step(20.0)).abs() < 1e-6 && (step(3.0) - 247.4).abs() < 1.0, "{}", step(3.0));
    }

    #[test]
    fn a_turn_on_the_spot_takes_time_and_the_antimeridian_is_no_wall() {
        let turn = CameraPath::parse("0,0,100,0,0\n0,0,100,90,0", 240.0).unwrap();
        assert!((turn.duration_secs() - 3.0).abs() < 1e-9);
        let across = CameraPath::parse("179.99,0,100,90,0\n-179.99,0,100,90,0", 100.0).unwrap();
        assert!(across.duration_secs() < 30.0, "{}", across.duration_secs());
    }

    #[test]
    fn what_is_no_path_is_named() {
        let check = |text: &str, speed: f64, expected: &str| {
            let error = CameraPath::parse(text, speed).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", 240.0, "found 0 views, expected at least two");
        check("0,0,100,0,0", 240.0, "found 1 views");
        check("0,0,100,0,0\n# x\n1,2", 240.0, "line 3: ");
        check("0,0,100,0,0\n0,0,100,9,0", 0.0, "a speed of 0 m/s");
        check("0,0,100,0,0\n0,0,100,9,0", f64::NAN, "a speed of NaN m/s");
    }
}
