//! What a view can show of a box: the frustum, and the reference system's sphere test.
//!
//! Owns the visibility of boxes. Receives a view or a matrix, yields yes, no or how nearly; occlusion is none of its
//! business.

use glam::DVec3;

use super::View;
use crate::geo::WorldBox;
use crate::limits::REGION_VOXELS;

/// Room that the planes leave, in voxels: more than the f32 arithmetic of the GPU can be off within the reach of any
/// view, so that nothing is culled of which a pixel would show.
const SLACK_VOXELS: f64 = 0.01;

/// The room that a view covers: five planes through the eye and a draw distance along the ground.
///
/// Conservative: a box of which any point is in the picture always passes; a box near an edge of the frustum may pass
/// in vain.
#[derive(Debug, Clone, Copy)]
pub struct Frustum {
    eye: DVec3,
    /// Unit normals that point inwards: left, right, bottom, top, ahead. The last excludes what is behind the eye and so
    /// wide that it crosses all others.
    normals: [DVec3; 5],
    draw_distance_voxels: f64,
}

impl Frustum {
    /// The frustum of a view.
    pub fn new(view: &View) -> Self {
        let half = view.half_extents();
        let (forward, right, up) = (view.pose.forward(), view.pose.right(), view.pose.up());
        let normals =
            [forward * half.x + right, forward * half.x - right, forward * half.y + up, forward * half.y - up, forward]
                .map(DVec3::normalize);
        Self { eye: view.pose.eye_in_world, normals, draw_distance_voxels: view.draw_distance_voxels }
    }

    /// Whether some of the box may be in the picture.
    ///
    /// ```
    /// use glam::DVec3;
    /// use voxatlas::geo::RegionKey;
    /// use voxatlas::view::{Frustum, View, ViewSpec};
    ///
    /// let spec: ViewSpec = "139.745433,35.658581,100,0,0".parse()?; // looks north
    /// let view = View {
    ///     pose: spec.pose(),
    ///     fov_y_rad: 0.9,
    ///     width_px: 1280,
    ///     height_px: 720,
    ///     draw_distance_voxels: 2000.0,
    /// };
    /// let [here, north, south] = ["17/116415/51623", "17/116415/51622", "17/116415/51624"]
    ///     .map(|tile| RegionKey::new(tile.parse().unwrap(), 0).world_box(-32));
    /// let frustum = Frustum::new(&view);
    /// assert!(frustum.intersects(here) && frustum.intersects(north) && !frustum.intersects(south));
    /// # Ok::<(), voxatlas::view::ViewSpecError>(())
    /// ```
    pub fn intersects(&self, world_box: WorldBox) -> bool {
        let corners = world_box.relative_to(self.eye);
        let is_beyond = ground_distance(corners) > self.draw_distance_voxels;
        let is_outside = self.normals.iter().any(|&normal| farthest_along(corners, normal) < -SLACK_VOXELS);
        // What is not a number is neither, and keeps the box.
        !is_beyond && !is_outside
    }

    /// How nearly the box is in the picture: 1 where it passes the planes, falling to 0 where it lies outside of one
    /// by some three degrees. Continuous in the pose, whatever the draw distance.
    pub(super) fn nearness(&self, world_box: WorldBox) -> f64 {
        let corners = world_box.relative_to(self.eye);
        // The edge of the box is added so that one beside the eye does not jump.
        let edge = (world_box.max[0] - world_box.min[0]) as f64;
        let margin = 0.06 * (ground_distance(corners) + edge);
        let nearness =
            |&normal: &DVec3| (1.0 + (farthest_along(corners, normal) + SLACK_VOXELS) / margin).clamp(0.0, 1.0);
        self.normals.iter().map(nearness).product()
    }
}

/// Distance along the ground from the origin to a box, 0 above and below it.
pub(super) fn ground_distance([min, max]: [DVec3; 2]) -> f64 {
    let gap = |min: f64, max: f64| min.max(-max).max(0.0);
    let (x, z) = (gap(min.x, max.x), gap(min.z, max.z));
    // `f64::sqrt` is exactly rounded everywhere, unlike `hypot`.
    (x * x + z * z).sqrt()
}

/// Height between the origin and a box, 0 beside it.
pub(super) fn height_distance([min, max]: [DVec3; 2]) -> f64 {
    min.y.max(-max.y).max(0.0)
}

/// How far the corner that lies farthest along a direction lies along it.
fn farthest_along([min, max]: [DVec3; 2], direction: DVec3) -> f64 {
    (min * direction).max(max * direction).element_sum()
}

/// The reference system's test of a region against a view: `culling(VP, rx, ry, rz)`, true where it may be seen.
///
/// `clip_from_world` is column-major; `offset` is the region's lowest corner. The region counts as the sphere round its
/// centre, and as unseen where that lies wholly outside of one of the planes row 3 +- row 0, 1, 2.
pub fn region_sphere_visible(clip_from_world: &[f64; 16], offset: [f64; 3]) -> bool {
    let half = f64::from(REGION_VOXELS) / 2.0;
    let centre = DVec3::from_array(offset) + DVec3::splat(half);
    let radius = half * 3f64.sqrt();
    let row = |i: usize| {
        (DVec3::new(clip_from_world[i], clip_from_world[4 + i], clip_from_world[8 + i]), clip_from_world[12 + i])
    };
    let (normal_w, offset_w) = row(3);
    (0..3).map(row).all(|(normal, offset)| {
        [1.0, -1.0].iter().all(|sign| {
            let (plane, distance) = (normal_w + normal * *sign, offset_w + offset * sign);
            let length = if plane.length() == 0.0 { 1.0 } else { plane.length() };
            (plane.dot(centre) + distance) / length + radius >= 0.0
        })
    })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use glam::{DMat4, DVec2};
    use proptest::prelude::*;

    use super::*;
    use crate::view::Pose;

    const EYE: DVec3 = DVec3::new(29_802_394.0, 100.0, 13_215_602.0);

    fn view(eye_in_world: DVec3, yaw_rad: f64, pitch_rad: f64) -> View {
        View {
            pose: Pose { eye_in_world, yaw_rad, pitch_rad },
            fov_y_rad: 50f64.to_radians(),
            width_px: 1280,
            height_px: 720,
            draw_distance_voxels: 2000.0,
        }
    }

    fn cube(min: [i64; 3], edge: i64) -> WorldBox {
        WorldBox { min, max: min.map(|c| c + edge) }
    }

    #[test]
    fn what_is_behind_beside_or_far_is_culled() {
        let frustum = Frustum::new(&view(DVec3::ZERO, 0.0, 0.0));
        for (min, seen) in [
            ([-128, -128, -512], true),   // ahead
            ([-128, -128, -128], true),   // around the eye
            ([-128, -128, 1], false),     // just behind
            ([-1200, -128, -300], false), // far to the left
            ([-128, 400, -600], false),   // far above
            ([-128, -128, -2255], true),  // its near face within the draw distance
            ([-128, -128, -2257], false), // beyond
        ] {
            assert_eq!(frustum.intersects(cube(min, 256)), seen, "{min:?}");
            assert_eq!(frustum.nearness(cube(min, 256)) == 1.0, seen || min[2] == -2257, "{min:?}");
        }
    }

    #[test]
    fn height_does_not_count_as_distance() {
        let down = Frustum::new(&view(DVec3::new(0.0, 90_000.0, 0.0), 0.0, -1.57));
        assert!(down.intersects(cube([0, 0, 0], 256)));
    }

    #[test]
    fn a_pose_that_is_no_number_culls_nothing() {
        assert!(Frustum::new(&view(EYE, f64::NAN, 0.0)).intersects(cube([29_802_240, 0, 13_215_488], 256)));
    }

    #[test]
    fn the_reference_culls_by_spheres() {
        // Its projection (50 degrees, GL depth -1..1) from 100 above the origin, looking north.
        let (near, far, f) = (0.1, 4000.0, 1.0 / libm::tan(25f64.to_radians()));
        let projection = DMat4::from_cols_array(&[
            f,
            0.0,
            0.0,
            0.0,
            0.0,
            f,
            0.0,
            0.0,
            0.0,
            0.0,
            (near + far) / (near - far),
            -1.0,
            0.0,
            0.0,
            2.0 * near * far / (near - far),
            0.0,
        ]);
        let clip_from_world = (projection * DMat4::from_translation(DVec3::new(0.0, -100.0, 0.0))).to_cols_array();
        for (offset, seen) in [
            ([-128.0, 0.0, -1000.0], true),
            ([-128.0, 0.0, 90.0], true), // behind, but its sphere (radius 221.7) still reaches over the eye
            ([-128.0, 0.0, 94.0], false), // and here no longer
            ([-128.0, 0.0, -4340.0], true), // centre 4212 ahead, minus the radius: within far = 4000
            ([-128.0, 0.0, -4360.0], false),
            ([900.0, 0.0, -300.0], false),
        ] {
            assert_eq!(region_sphere_visible(&clip_from_world, offset), seen, "{offset:?}");
        }
        // Planes without a normal cull nothing.
        assert!(region_sphere_visible(&[0.0; 16], [0.0; 3]));
    }

    proptest! {
        #[test]
        fn a_box_of_which_a_pixel_shows_a_point_passes(
            // Half of the eyes stand exactly on a border of regions, some in a corner of four.
            on_border in any::<[bool; 2]>(),
            eye in [-1000.0..1000.0, -300.0..900.0, -1000.0..1000.0],
            (yaw, pitch) in (-3.2..3.2, -FRAC_PI_2..FRAC_PI_2),
            px in (0.0..1280.0, 0.0..720.0), t in 0.1..1999.0, layer_edge in prop::sample::select(vec![16i64, 256, 512]),
        ) {
            let mut eye = EYE + DVec3::from_array(eye);
            if on_border[0] { eye.x = (eye.x / 256.0).round() * 256.0; }
            if on_border[1] { eye.z = (eye.z / 256.0).round() * 256.0; }
            let view = view(eye, yaw, pitch);
            let point = eye + view.ray_through(DVec2::new(px.0, px.1)) * t;
            let min = crate::geo::voxel_of(point).unwrap().map(|c| c.div_euclid(layer_edge) * layer_edge);
            let frustum = Frustum::new(&view);
            prop_assert!(frustum.intersects(cube(min, layer_edge)));
            prop_assert_eq!(frustum.nearness(cube(min, layer_edge)), 1.0);
        }

        #[test]
        fn the_world_wraps_for_the_frustum(x in 0i64..131_072, yaw in -3.2..3.2) {
            let world = f64::from(crate::geo::WORLD_VOXELS);
            let at = |x: f64| Frustum::new(&view(DVec3::new(x, 100.0, 1e7), yaw, 0.0));
            let near = cube([x * 256, 0, 9_999_872], 256);
            let eye_x = (x as f64 - 1.5) * 256.0;
            prop_assert_eq!(at(eye_x).intersects(near), at(eye_x + world).intersects(near));
        }
    }
}
