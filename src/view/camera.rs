//! The camera: where it stands, where it looks, what its lens covers.
//!
//! ```text
//!            yaw 0, north -z                     pixels
//!                  |                        (0, 0) +-------------+
//!  yaw +90,        |        yaw -90,               |             |  x to the right, y downwards
//!  west -x  -------+------- east +x                |      + centre of the view
//!                  |                               |             |  the centre of a pixel is at + 0.5
//!            yaw 180, south +z                     +-------------+ (width, height)
//! ```

use glam::{DVec2, DVec3, Mat4, Vec3};

use crate::geo::WORLD_VOXELS;

/// Where the camera stands and where it looks.
///
/// Yaw 0 looks north (-z) and grows to the left (+pi/2 is west, as in the reference system); pitch is positive upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// The eye in the world, in z17 voxels.
    pub eye_in_world: DVec3,
    /// Rotation about +y, in radians.
    pub yaw_rad: f64,
    /// Elevation of the line of sight, in radians, within +-pi/2. The [`Controls`](super::Controls) stay 0.01 inside.
    pub pitch_rad: f64,
}

impl Pose {
    /// The unit vector of the line of sight: (-sin yaw cos pitch, sin pitch, -cos yaw cos pitch).
    pub fn forward(&self) -> DVec3 {
        let (sin_yaw, cos_yaw) = (libm::sin(self.yaw_rad), libm::cos(self.yaw_rad));
        let (sin_pitch, cos_pitch) = (libm::sin(self.pitch_rad), libm::cos(self.pitch_rad));
        DVec3::new(-sin_yaw * cos_pitch, sin_pitch, -cos_yaw * cos_pitch)
    }

    /// The unit vector to the right of the picture, always level.
    pub fn right(&self) -> DVec3 {
        DVec3::new(libm::cos(self.yaw_rad), 0.0, -libm::sin(self.yaw_rad))
    }

    /// The unit vector to the top of the picture. Unlike what a look-at matrix makes of +y, it exists also where the
    /// camera looks straight down.
    pub fn up(&self) -> DVec3 {
        self.right().cross(self.forward())
    }
}

/// One picture to be taken: a pose, a lens and a viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Eye and line of sight.
    pub pose: Pose,
    /// Vertical field of view, in radians, above 0 and below pi.
    pub fov_y_rad: f64,
    /// Viewport width, in pixels, at least 1.
    pub width_px: u32,
    /// Viewport height, in pixels, at least 1.
    pub height_px: u32,
    /// Nothing farther from the eye than this is drawn, in z17 voxels: the fog has closed. Measured **along the
    /// ground** (x and z only), so that a camera high above still sees what lies below it.
    pub draw_distance_voxels: f64,
}

impl View {
    /// Distance of the near plane, in voxels (the reference system's).
    pub const NEAR_VOXELS: f32 = 0.1;

    /// Tangents of half the horizontal and half the vertical field of view.
    pub fn half_extents(&self) -> DVec2 {
        let tan_y = libm::tan(self.fov_y_rad / 2.0);
        DVec2::new(tan_y * f64::from(self.width_px.max(1)) / f64::from(self.height_px.max(1)), tan_y)
    }

    /// From camera-relative axes (world axes, the eye at the origin) to clip space: reverse-Z, depth 1 at the near
    /// plane and 0 at infinity.
    pub fn clip_from_eye(&self) -> Mat4 {
        let half = self.half_extents();
        let clip_from_view = glam::camera::rh::proj::directx::perspective_infinite_reverse(
            self.fov_y_rad as f32,
            (half.x / half.y) as f32,
            Self::NEAR_VOXELS,
        );
        let [right, up, back] = [self.pose.right(), self.pose.up(), -self.pose.forward()].map(DVec3::as_vec3);
        let eye_from_view =
            Mat4::from_cols(right.extend(0.0), up.extend(0.0), back.extend(0.0), Vec3::ZERO.extend(1.0));
        // A rotation: its transpose undoes it.
        clip_from_view * eye_from_view.transpose()
    }

    /// The unit vector from the eye through a point of the picture, in pixels; the centre of pixel (i, j) is
    /// (i + 0.5, j + 0.5).
    pub fn ray_through(&self, point_px: DVec2) -> DVec3 {
        let half = self.half_extents();
        let size = DVec2::new(f64::from(self.width_px.max(1)), f64::from(self.height_px.max(1)));
        let x = (2.0 * point_px.x / size.x - 1.0) * half.x;
        let y = (1.0 - 2.0 * point_px.y / size.y) * half.y;
        (self.pose.forward() + self.pose.right() * x + self.pose.up() * y).normalize()
    }

    /// Where a world position appears in the picture, in pixels, with its depth along the line of sight in voxels;
    /// possibly outside of the viewport. `None` for what is nearer than the near plane or behind the eye. x goes the
    /// shorter way round the world.
    pub fn project(&self, position_in_world: DVec3) -> Option<(DVec2, f64)> {
        let world = f64::from(WORLD_VOXELS);
        let mut offset = position_in_world - self.pose.eye_in_world;
        offset.x -= libm::round(offset.x / world) * world;
        let depth = offset.dot(self.pose.forward());
        if depth.is_nan() || depth < f64::from(Self::NEAR_VOXELS) {
            return None;
        }
        let half = self.half_extents();
        let x = offset.dot(self.pose.right()) / (depth * half.x);
        let y = offset.dot(self.pose.up()) / (depth * half.y);
        let size = DVec2::new(f64::from(self.width_px.max(1)), f64::from(self.height_px.max(1)));
        Some(((DVec2::new(x, -y) + 1.0) / 2.0 * size, depth))
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use proptest::prelude::*;

    use super::*;

    fn view(yaw_rad: f64, pitch_rad: f64) -> View {
        View {
            pose: Pose { eye_in_world: DVec3::new(29_802_394.0, 300.0, 13_215_602.0), yaw_rad, pitch_rad },
            fov_y_rad: 50f64.to_radians(),
            width_px: 1280,
            height_px: 720,
            draw_distance_voxels: 2000.0,
        }
    }

    #[test]
    fn yaw_turns_left_and_pitch_up() {
        for ((yaw_rad, pitch_rad), expected) in [
            ((0.0, 0.0), DVec3::NEG_Z),
            ((FRAC_PI_2, 0.0), DVec3::NEG_X),
            ((-FRAC_PI_2, 0.0), DVec3::X),
            ((0.0, FRAC_PI_2), DVec3::Y),
            ((1.0, -FRAC_PI_2), DVec3::NEG_Y),
        ] {
            let pose = view(yaw_rad, pitch_rad).pose;
            assert!(pose.forward().abs_diff_eq(expected, 1e-12), "{yaw_rad} {pitch_rad}: {}", pose.forward());
        }
        // Looking straight down, facing north: north is the top of the picture, east its right.
        let down = view(0.0, -FRAC_PI_2).pose;
        assert!(down.up().abs_diff_eq(DVec3::NEG_Z, 1e-12) && down.right().abs_diff_eq(DVec3::X, 1e-12));
    }

    #[test]
    fn the_line_of_sight_is_the_centre_of_the_picture() {
        let view = view(0.3, -0.2);
        let (px, depth) = view.project(view.pose.eye_in_world + view.pose.forward() * 64.0).unwrap();
        assert!(px.abs_diff_eq(DVec2::new(640.0, 360.0), 1e-6), "{px}");
        assert!((depth - 64.0).abs() < 1e-6);
        assert_eq!(view.project(view.pose.eye_in_world - view.pose.forward()), None);
        assert_eq!(view.project(DVec3::NAN), None);
    }

    #[test]
    fn what_lies_beyond_the_antimeridian_is_near() {
        let mut view = view(-FRAC_PI_2, 0.0);
        view.pose.eye_in_world.x = f64::from(WORLD_VOXELS) - 10.0;
        let (px, depth) = view.project(view.pose.eye_in_world.with_x(10.0)).unwrap();
        assert!(px.abs_diff_eq(DVec2::new(640.0, 360.0), 1e-6) && (depth - 20.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn a_ray_goes_where_its_pixel_shows(
            yaw in -3.2..3.2, pitch in -FRAC_PI_2..FRAC_PI_2, px in (0.0..1280.0, 0.0..720.0), t in 1.0..3000.0f64,
        ) {
            let view = view(yaw, pitch);
            let point = DVec2::new(px.0, px.1);
            let (back, _) = view.project(view.pose.eye_in_world + view.ray_through(point) * t).unwrap();
            prop_assert!(back.abs_diff_eq(point, 1e-3), "{} -> {}", point, back);
        }

        #[test]
        fn the_matrix_agrees_with_the_projection(
            yaw in -3.2..3.2, pitch in -FRAC_PI_2..FRAC_PI_2, px in (0.0..1280.0, 0.0..720.0), t in 1.0..3000.0f64,
        ) {
            let view = view(yaw, pitch);
            let offset: DVec3 = view.ray_through(DVec2::new(px.0, px.1)) * t;
            let clip: glam::Vec4 = view.clip_from_eye() * offset.as_vec3().extend(1.0);
            let ndc = clip.truncate().as_dvec3() / f64::from(clip.w);
            let expected = DVec2::new(px.0 / 640.0 - 1.0, 1.0 - px.1 / 360.0);
            prop_assert!(ndc.truncate().abs_diff_eq(expected, 1e-3), "{} -> {}", expected, ndc);
            // Reverse-Z without a far plane: near / depth.
            let depth = offset.dot(view.pose.forward());
            prop_assert!((ndc.z - f64::from(View::NEAR_VOXELS) / depth).abs() < 1e-5);
        }
    }
}
