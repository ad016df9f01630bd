//! Moving the camera: the reference system's overhead and flight modes as a pure state machine.
//!
//! Owns speeds and limits. Receives which keys are down, how far the mouse went and how long the frame took; yields
//! the next pose. It knows no input library, and it does not collide: that is the physics' work.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::{DVec2, DVec3};

use super::{Pose, View};
use crate::geo::{WORLD_VOXELS, mercator};

/// How the camera moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Straight down, north at the top: the reference system's "scroll". Keys and mouse pan, the wheel changes the
    /// height.
    #[default]
    Overhead,
    /// Free: the reference system's "creative". Keys fly level, Space and Shift climb and sink, the mouse turns, the
    /// wheel changes the speed.
    Flight,
}

/// What the person does during one frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each key that can be down; any set of them may be")]
pub struct Input {
    /// W: forward, or north.
    pub forward: bool,
    /// S: back, or south.
    pub back: bool,
    /// A: left, or west.
    pub left: bool,
    /// D: right, or east.
    pub right: bool,
    /// Space: upwards.
    pub up: bool,
    /// Shift: downwards.
    pub down: bool,
    /// How far the mouse moved while it was captured or dragging, in pixels, y downwards.
    pub mouse_px: DVec2,
    /// How far the wheel turned, in notches, positive away from the person.
    pub wheel_notches: f64,
    /// Time since the last frame, in seconds.
    pub elapsed_secs: f64,
}

/// The state of the controls: mode, speed and what a change of mode restores.
#[derive(Debug, Clone, PartialEq)]
pub struct Controls {
    mode: Mode,
    fly_metres_a_sec: f64,
    /// Yaw and pitch when flight was last left.
    flight_angles: (f64, f64),
    /// Whether the overhead view drifts to the west by itself, as the reference system's does.
    pub auto_scroll: bool,
    /// World x of the west and the east end of the drift, in z17 voxels: whoever drifts out of the west comes in from
    /// the east. `None` drifts round the world.
    pub scroll_range: Option<[f64; 2]>,
}

impl Controls {
    /// The longest step of time, in seconds: after a hitch the camera does not leap.
    pub const STEP_SECS_MAX: f64 = 0.03;

    /// Speed of flight until the wheel changes it, in metres a second: 20 times the reference system's MOVE.
    pub const FLY_METRES_A_SEC: f64 = 240.0;

    /// Speed of the overhead drift, in metres a second: the reference system's MOVE.
    pub const SCROLL_METRES_A_SEC: f64 = 12.0;

    /// Radians that the view turns a pixel: the reference system's TURN, 1/250, at flight's rate of 1.5.
    pub const TURN_RAD_A_PX: f64 = 1.5 / 250.0;

    /// Steepest pitch, in radians.
    pub const PITCH_RAD_MAX: f64 = FRAC_PI_2 - 0.01;

    /// Lowest and highest speed of flight, in metres a second.
    const FLY_RANGE: (f64, f64) = (2.0, 8_000.0);

    /// Lowest and highest overhead camera, in metres above the datum.
    const OVERHEAD_RANGE_M: (f64, f64) = (20.0, 50_000.0);

    /// Lowest and highest flight, in metres above the datum.
    const FLIGHT_RANGE_M: (f64, f64) = (-12_000.0, 100_000.0);

    /// Controls in a mode, that restore the pose's angles when flight is next entered.
    pub fn new(mode: Mode, pose: &Pose) -> Self {
        Self {
            mode,
            fly_metres_a_sec: Self::FLY_METRES_A_SEC,
            flight_angles: (pose.yaw_rad, pose.pitch_rad),
            auto_scroll: false,
            scroll_range: None,
        }
    }

    /// How the camera moves.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Speed of flight, in metres a second.
    pub fn fly_metres_a_sec(&self) -> f64 {
        self.fly_metres_a_sec
    }

    /// Changes the mode and yields the pose to go on from: the place stays; overhead turns to the north and straight
    /// down, flight turns back to where it last looked.
    pub fn set_mode(&mut self, mode: Mode, pose: &Pose) -> Pose {
        if self.mode == mode {
            return *pose;
        }
        self.mode = mode;
        let (yaw_rad, pitch_rad) = match mode {
            Mode::Overhead => {
                self.flight_angles = (pose.yaw_rad, pose.pitch_rad);
                (0.0, -Self::PITCH_RAD_MAX)
            }
            Mode::Flight => self.flight_angles,
        };
        Pose { yaw_rad, pitch_rad, ..*pose }
    }

    /// The pose after one frame. Whatever the input, it is finite, in the world and within the mode's limits, as long
    /// as the view's pose is finite.
    pub fn step(&mut self, view: &View, input: &Input) -> Pose {
        let secs = finite(input.elapsed_secs).clamp(0.0, Self::STEP_SECS_MAX);
        let mouse_px = DVec2::new(finite(input.mouse_px.x), finite(input.mouse_px.y));
        let input = Input { mouse_px, wheel_notches: finite(input.wheel_notches).clamp(-100.0, 100.0), ..*input };
        match self.mode {
            Mode::Overhead => self.step_overhead(view, &input, secs),
            Mode::Flight => self.step_flight(&view.pose, &input, secs),
        }
    }

    fn step_flight(&mut self, pose: &Pose, input: &Input, secs: f64) -> Pose {
        let (slowest, fastest) = Self::FLY_RANGE;
        self.fly_metres_a_sec = (self.fly_metres_a_sec * libm::pow(1.25, input.wheel_notches)).clamp(slowest, fastest);
        // The mouse to the right turns to the right, which is negative yaw; downwards looks down.
        let yaw_rad = wrap_angle(pose.yaw_rad - input.mouse_px.x * Self::TURN_RAD_A_PX);
        let pitch_rad =
            (pose.pitch_rad - input.mouse_px.y * Self::TURN_RAD_A_PX).clamp(-Self::PITCH_RAD_MAX, Self::PITCH_RAD_MAX);
        // Level whatever the pitch: in the reference system forward slows by the cosine of the pitch and diagonals are
        // faster; here every direction has the same speed.
        let step = self.fly_metres_a_sec * secs;
        let level = Pose { yaw_rad, pitch_rad: 0.0, ..*pose };
        let along = (level.forward() * axis(input.forward, input.back) + level.right() * axis(input.right, input.left))
            .normalize_or_zero();
        let moved_m = (along + DVec3::Y * axis(input.up, input.down)) * step;
        let eye_in_world = moved(pose.eye_in_world, moved_m, Self::FLIGHT_RANGE_M);
        Pose { eye_in_world, yaw_rad, pitch_rad }
    }

    fn step_overhead(&mut self, view: &View, input: &Input, secs: f64) -> Pose {
        let eye = view.pose.eye_in_world;
        let height_m = mercator::height_m_from_y(eye.y, eye.z);
        let seen_m = 2.0 * height_m.max(Self::OVERHEAD_RANGE_M.0) * view.half_extents().y;

        // A notch is a tenth of the height; Space and Shift go as fast as the height doubles in a second.
        let exponent = -input.wheel_notches * libm::log2(1.1) + axis(input.up, input.down) * secs;
        let climbed_m = height_m * (libm::exp2(exponent) - 1.0);

        // One height of the picture a second; and the ground follows the mouse to the pixel.
        let keys = DVec2::new(axis(input.right, input.left), axis(input.back, input.forward)).normalize_or_zero();
        let drag_m = -input.mouse_px * seen_m / f64::from(view.height_px.max(1));
        let pan_m = keys * seen_m * secs + drag_m;
        let panned = moved(eye, DVec3::new(pan_m.x, climbed_m, pan_m.y), Self::OVERHEAD_RANGE_M);

        let eye_in_world = if self.auto_scroll { self.scrolled(panned, secs) } else { panned };
        Pose { eye_in_world, yaw_rad: 0.0, pitch_rad: -Self::PITCH_RAD_MAX }
    }

    /// The eye after drifting to the west. The reference system sticks at the edge for good; this comes round.
    fn scrolled(&self, eye: DVec3, secs: f64) -> DVec3 {
        let drift = Self::SCROLL_METRES_A_SEC * secs / mercator::metres_per_voxel_at(eye.z);
        let x = match self.scroll_range {
            // Only who drifts across the west end jumps: a person who panned out of the range stays outside.
            Some([west, east]) => {
                let (width, beyond_west) = (mercator::wrap_x(east - west), mercator::wrap_x(eye.x - west));
                if beyond_west < drift && width > 0.0 { eye.x - drift + width } else { eye.x - drift }
            }
            None => eye.x - drift,
        };
        eye.with_x(mercator::wrap_x(x))
    }
}

/// 1, 0 or -1, as two opposite keys are down.
fn axis(positive: bool, negative: bool) -> f64 {
    f64::from(i8::from(positive) - i8::from(negative))
}

/// The eye moved by metres east, up and south, kept in the world and within heights above the datum in metres.
fn moved(eye: DVec3, by_m: DVec3, (low_m, high_m): (f64, f64)) -> DVec3 {
    let scale = mercator::metres_per_voxel_at(eye.z);
    let to = eye + by_m / scale;
    DVec3::new(
        mercator::wrap_x(to.x),
        to.y.clamp(low_m / scale, high_m / scale),
        to.z.clamp(0.0, f64::from(WORLD_VOXELS)),
    )
}

/// An angle brought into -pi..pi.
fn wrap_angle(angle_rad: f64) -> f64 {
    (angle_rad + PI).rem_euclid(TAU) - PI
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geo::RegionKey;
    use crate::view::ViewSpec;

    fn view(spec: &str) -> View {
        View {
            pose: spec.parse::<ViewSpec>().unwrap().pose(),
            fov_y_rad: 50f64.to_radians(),
            width_px: 1280,
            height_px: 720,
            draw_distance_voxels: 2000.0,
        }
    }

    /// Metres east, up and south that the camera went in a second of such frames.
    fn metres_in_a_second(controls: &mut Controls, view: &View, input: Input) -> DVec3 {
        let mut now = *view;
        for _ in 0..50 {
            now.pose = controls.step(&now, &Input { elapsed_secs: 0.02, ..input });
        }
        let went = now.pose.eye_in_world - view.pose.eye_in_world;
        went * mercator::metres_per_voxel_at(view.pose.eye_in_world.z)
    }

    fn check_flight(spec: &str, input: Input, expected_m: [f64; 3]) {
        let view = view(spec);
        let went = metres_in_a_second(&mut Controls::new(Mode::Flight, &view.pose), &view, input);
        assert!(went.abs_diff_eq(DVec3::from_array(expected_m), 0.2), "{spec} {input:?}: {went}");
    }

    #[test]
    fn flight_goes_240_true_metres_a_second_in_every_direction() {
        let none = Input::default();
        let diagonal = 240.0 / 2f64.sqrt();
        check_flight("139.745,35.658,300,0,0", none, [0.0; 3]);
        check_flight("139.745,35.658,300,0,0", Input { forward: true, ..none }, [0.0, 0.0, -240.0]);
        check_flight("24.94,60.17,300,0,0", Input { forward: true, ..none }, [0.0, 0.0, -240.0]);
        check_flight("24.94,60.17,300,90,0", Input { forward: true, ..none }, [240.0, 0.0, 0.0]);
        check_flight("24.94,60.17,300,90,0", Input { left: true, ..none }, [0.0, 0.0, -240.0]);
        check_flight("24.94,60.17,300,0,0", Input { forward: true, right: true, ..none }, [diagonal, 0.0, -diagonal]);
        // Looking up does not climb, looking down does not slow.
        check_flight("24.94,60.17,300,180,60", Input { forward: true, ..none }, [0.0, 0.0, 240.0]);
        check_flight("24.94,60.17,300,180,-80", Input { forward: true, up: true, ..none }, [0.0, 240.0, 240.0]);
        check_flight("24.94,60.17,300,0,0", Input { down: true, ..none }, [0.0, -240.0, 0.0]);
        // Opposite keys cancel.
        check_flight("24.94,60.17,300,0,0", Input { forward: true, back: true, ..none }, [0.0; 3]);
    }

    #[test]
    fn the_mouse_turns_and_stops_before_the_zenith() {
        let view = view("139.745,35.658,300,0,0");
        let mut controls = Controls::new(Mode::Flight, &view.pose);
        let turned = controls.step(&view, &Input { mouse_px: DVec2::new(10.0, 20.0), ..Input::default() });
        assert!((turned.yaw_rad - -0.06).abs() < 1e-12 && (turned.pitch_rad - -0.12).abs() < 1e-12);
        let up = controls.step(&view, &Input { mouse_px: DVec2::new(0.0, -1e6), ..Input::default() });
        assert_eq!(up.pitch_rad, Controls::PITCH_RAD_MAX);
        let round = controls.step(&view, &Input { mouse_px: DVec2::new(-1e6, 0.0), ..Input::default() });
        assert!(round.yaw_rad.abs() <= PI);
    }

    #[test]
    fn the_wheel_changes_the_speed_of_flight() {
        let view = view("139.745,35.658,300,0,0");
        let mut controls = Controls::new(Mode::Flight, &view.pose);
        controls.step(&view, &Input { wheel_notches: 1.0, ..Input::default() });
        assert_eq!(controls.fly_metres_a_sec(), 300.0);
        controls.step(&view, &Input { wheel_notches: -1e9, ..Input::default() });
        assert_eq!(controls.fly_metres_a_sec(), 2.0);
    }

    #[test]
    fn a_hitch_moves_no_farther_than_the_longest_step() {
        let view = view("139.745,35.658,300,90,0");
        let mut controls = Controls::new(Mode::Flight, &view.pose);
        let input = Input { forward: true, elapsed_secs: 5.0, ..Input::default() };
        let went = controls.step(&view, &input).eye_in_world.x - view.pose.eye_in_world.x;
        assert!((went * 0.9704 - 240.0 * 0.03).abs() < 0.01, "{went}");
    }

    #[test]
    fn overhead_pans_by_the_picture_and_looks_straight_down() {
        let view = view("139.745,35.658,800,77,-20");
        let mut controls = Controls::new(Mode::Overhead, &view.pose);
        let seen_m = 2.0 * 800.0 * libm::tan(25f64.to_radians());
        let went = metres_in_a_second(&mut controls, &view, Input { right: true, ..Input::default() });
        assert!(went.abs_diff_eq(DVec3::new(seen_m, 0.0, 0.0), 1.0), "{went}");
        let pose = controls.step(&view, &Input::default());
        assert_eq!((pose.yaw_rad, pose.pitch_rad), (0.0, -Controls::PITCH_RAD_MAX));
        // Dragging: the ground point under the pointer stays under it.
        let straight = View { pose, ..view };
        let grabbed = pose.eye_in_world + straight.ray_through(DVec2::new(640.0, 360.0)) * pose.eye_in_world.y;
        let dragged = controls.step(&straight, &Input { mouse_px: DVec2::new(100.0, -50.0), ..Input::default() });
        let (px, _) = View { pose: dragged, ..view }.project(grabbed).unwrap();
        assert!(px.abs_diff_eq(DVec2::new(740.0, 310.0), 0.2), "{px}");
    }

    #[test]
    fn the_wheel_and_the_keys_change_the_overhead_height() {
        let height_m = |pose: &Pose| ViewSpec::of(pose).height_m();
        let view = view("139.745,35.658,800,0,-90");
        let mut controls = Controls::new(Mode::Overhead, &view.pose);
        let nearer = controls.step(&view, &Input { wheel_notches: 1.0, ..Input::default() });
        assert!((height_m(&nearer) - 800.0 / 1.1).abs() < 1e-6);
        let lowest = controls.step(&view, &Input { wheel_notches: 1e9, ..Input::default() });
        assert!((height_m(&lowest) - 20.0).abs() < 1e-6);
        let went = metres_in_a_second(&mut controls, &view, Input { up: true, ..Input::default() });
        assert!((went.y - 800.0).abs() < 0.1, "{went}");
    }

    #[test]
    fn the_drift_goes_west_and_comes_round() {
        let view = view("139.745,35.658,800,0,-90");
        let mut controls = Controls::new(Mode::Overhead, &view.pose);
        controls.auto_scroll = true;
        let went = metres_in_a_second(&mut controls, &view, Input::default());
        assert!(went.abs_diff_eq(DVec3::new(-12.0, 0.0, 0.0), 0.01), "{went}");

        let x = view.pose.eye_in_world.x;
        controls.scroll_range = Some([x - 5.0, x + 1000.0]);
        let went = metres_in_a_second(&mut controls, &view, Input::default());
        let expected = -12.0 + 1005.0 * mercator::metres_per_voxel_at(view.pose.eye_in_world.z);
        assert!((went.x - expected).abs() < 0.01, "{went} {expected}");
        // Across the antimeridian, and from outside of the range.
        let mut fiji = view;
        fiji.pose.eye_in_world.x = 3.0;
        controls.scroll_range = Some([f64::from(WORLD_VOXELS) - 2.0, 500.0]);
        assert!((metres_in_a_second(&mut controls, &fiji, Input::default()).x / 0.9704 - (502.0 - 12.366)).abs() < 0.1);
        controls.scroll_range = Some([1000.0, 2000.0]);
        fiji.pose.eye_in_world.x = 900.0;
        assert!((metres_in_a_second(&mut controls, &fiji, Input::default()).x - -12.0).abs() < 0.01);
    }

    #[test]
    fn modes_keep_the_place_and_flight_its_angles() {
        let view = view("139.745,35.658,800,30,-15");
        let mut controls = Controls::new(Mode::Flight, &view.pose);
        let down = controls.set_mode(Mode::Overhead, &view.pose);
        assert_eq!((down.eye_in_world, down.yaw_rad), (view.pose.eye_in_world, 0.0));
        assert_eq!(controls.set_mode(Mode::Overhead, &down), down);
        assert_eq!(controls.set_mode(Mode::Flight, &down), view.pose);
    }

    fn any_f64() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>(), -1000.0..1000.0]
    }

    proptest! {
        #[test]
        fn no_input_leaves_the_world(
            keys in any::<[bool; 6]>(), mouse in [any_f64(), any_f64()], wheel in any_f64(), elapsed in any_f64(),
            (lon, lat) in (-180.0..=180.0, -90.0..=90.0), overhead in any::<bool>(), auto_scroll in any::<bool>(),
        ) {
            let mut view = view(&format!("{lon},{lat},300,10,-10"));
            let mode = if overhead { Mode::Overhead } else { Mode::Flight };
            let mut controls = Controls::new(mode, &view.pose);
            controls.auto_scroll = auto_scroll;
            let [forward, back, left, right, up, down] = keys;
            let input = Input {
                forward, back, left, right, up, down,
                mouse_px: DVec2::from_array(mouse), wheel_notches: wheel, elapsed_secs: elapsed,
            };
            for _ in 0..3 {
                view.pose = controls.step(&view, &input);
                let eye = view.pose.eye_in_world;
                prop_assert!(eye.is_finite() && view.pose.yaw_rad.is_finite());
                prop_assert!(view.pose.pitch_rad.abs() <= Controls::PITCH_RAD_MAX);
                prop_assert!((0.0..f64::from(WORLD_VOXELS)).contains(&eye.x));
                prop_assert!((0.0..=f64::from(WORLD_VOXELS)).contains(&eye.z));
                if eye.z < f64::from(WORLD_VOXELS) {
                    prop_assert!(RegionKey::at(17, -32, crate::geo::voxel_of(eye).unwrap()).is_some());
                }
            }
        }
    }
}
