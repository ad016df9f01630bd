//! Which boxes a view can see.

use glam::{DMat4, DVec3, DVec4};

use crate::view::View;

/// The five planes of a view without a far end, in camera-relative axes: `dot(plane, (p, 1)) >= 0` inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frustum([DVec4; 5]);

impl Frustum {
    pub(super) fn new(view: &View) -> Self {
        let clip_from_eye: DMat4 = view.clip_from_eye().as_dmat4();
        let [x, y, z, w] = [0, 1, 2, 3].map(|row| clip_from_eye.row(row));
        // Reverse-Z: the near plane is z = w.
        Self([w + x, w - x, w + y, w - y, w - z])
    }

    /// Whether some of the box may be inside. Never false for a box of which something is; now and then true for one
    /// that passes a corner of the frustum outside.
    pub(super) fn may_see(&self, min: DVec3, max: DVec3) -> bool {
        self.0.iter().all(|plane| {
            let farthest_inwards = DVec3::select(plane.truncate().cmpge(DVec3::ZERO), max, min);
            plane.dot(farthest_inwards.extend(1.0)) >= 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::view::Pose;

    fn view(yaw_rad: f64, pitch_rad: f64) -> View {
        View {
            pose: Pose { eye_in_world: DVec3::ZERO, yaw_rad, pitch_rad },
            fov_y_rad: 0.9,
            width_px: 160,
            height_px: 90,
            draw_distance_voxels: 1000.0,
        }
    }

    #[test]
    fn what_is_behind_or_beside_is_not_seen() {
        let frustum = Frustum::new(&view(0.0, 0.0));
        let check = |centre: [f64; 3], seen: bool| {
            let centre = DVec3::from(centre);
            assert_eq!(frustum.may_see(centre - 1.0, centre + 1.0), seen, "{centre}");
        };
        check([0.0, 0.0, -50.0], true);
        check([0.0, 0.0, 50.0], false);
        check([60.0, 0.0, -50.0], false);
        check([40.0, 0.0, -50.0], true);
        check([0.0, 40.0, -50.0], false);
        check([0.0, 0.0, 0.0], true);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_box_with_a_visible_point_is_seen(
            yaw in -3.2..3.2_f64,
            pitch in -1.5..1.5_f64,
            ndc in prop::array::uniform2(-0.999..0.999_f64),
            depth in 0.001..0.999_f64,
            below in prop::array::uniform3(0.0..100.0_f64),
            above in prop::array::uniform3(0.0..100.0_f64),
        ) {
            let view = view(yaw, pitch);
            let eye_from_clip = view.clip_from_eye().as_dmat4().inverse();
            let point = eye_from_clip * DVec4::new(ndc[0], ndc[1], depth, 1.0);
            let point = point.truncate() / point.w;
            prop_assert!(Frustum::new(&view).may_see(point - DVec3::from(below), point + DVec3::from(above)));
        }
    }
}
