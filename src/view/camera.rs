//! The camera: where it stands, where it looks, what its lens covers.

use glam::{DVec3, Mat4, Vec3};

/// Where the camera stands and where it looks.
///
/// Yaw 0 looks north (-z) and grows to the left (+pi/2 is west, as in the reference system); pitch is positive upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// The eye in the world, in z17 voxels.
    pub eye_in_world: DVec3,
    /// Rotation about +y, in radians.
    pub yaw_rad: f64,
    /// Elevation of the line of sight, in radians, within +-(pi/2 - 0.01).
    pub pitch_rad: f64,
}

impl Pose {
    /// The unit vector of the line of sight: (-sin yaw cos pitch, sin pitch, -cos yaw cos pitch).
    pub fn forward(&self) -> DVec3 {
        let (sin_yaw, cos_yaw) = (libm::sin(self.yaw_rad), libm::cos(self.yaw_rad));
        let (sin_pitch, cos_pitch) = (libm::sin(self.pitch_rad), libm::cos(self.pitch_rad));
        DVec3::new(-sin_yaw * cos_pitch, sin_pitch, -cos_yaw * cos_pitch)
    }
}

/// One picture to be taken: a pose, a lens and a viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Eye and line of sight.
    pub pose: Pose,
    /// Vertical field of view, in radians.
    pub fov_y_rad: f64,
    /// Viewport width, in pixels, at least 1.
    pub width_px: u32,
    /// Viewport height, in pixels, at least 1.
    pub height_px: u32,
    /// Nothing farther from the eye than this is drawn, in z17 voxels: the fog has closed.
    pub draw_distance_voxels: f64,
}

impl View {
    /// Distance of the near plane, in voxels (the reference system's).
    pub const NEAR_VOXELS: f32 = 0.1;

    /// From camera-relative axes (world axes, the eye at the origin) to clip space: reverse-Z, depth 1 at the near
    /// plane and 0 at infinity.
    pub fn clip_from_eye(&self) -> Mat4 {
        let aspect = self.width_px as f32 / self.height_px as f32;
        let clip_from_view = glam::camera::rh::proj::directx::perspective_infinite_reverse(
            self.fov_y_rad as f32,
            aspect,
            Self::NEAR_VOXELS,
        );
        let view_from_eye = glam::camera::rh::view::look_to_mat4(Vec3::ZERO, self.pose.forward().as_vec3(), Vec3::Y);
        clip_from_view * view_from_eye
    }
}
