//! The second oracle: a ray a pixel, walked through the voxels on the CPU in f64.
//!
//! It knows nothing of quads, pools, depth buffers or f32. At most one pixel in a thousand may differ (in five hundred,
//! where the picture is small), and only within 0.02 pixel of a voxel edge, where rounding decides.

use glam::DVec3;
use voxatlas::mesh::Face;
use voxatlas::stream::SlotUpdate;
use voxatlas::view::View;
use voxatlas::voxel::{Colour, Region};

use crate::picture::leave;
use crate::pixels::light;
use crate::scene::{
    FLAT, MAGENTA, city, coarse_views, fill, fill_octants, random_views, renderer, rubble, take, voxels_in,
};

/// A voxel and the face that a ray meets.
pub(crate) type Hit = ([u32; 3], Face);

/// What a ray from `eye` meets first, both relative to the region's lowest corner, in its own voxels.
pub(crate) fn cast(region: &Region, eye: DVec3, direction: DVec3) -> Option<Hit> {
    let [mut enter, mut leave] = [0.0_f64, f64::INFINITY];
    let mut enter_axis = 0;
    for axis in 0..3 {
        let [near, far] = {
            let t = [0.0, 256.0].map(|plane| (plane - eye[axis]) / direction[axis]);
            if t[0] <= t[1] { t } else { [t[1], t[0]] }
        };
        if near > enter {
            (enter, enter_axis) = (near, axis);
        }
        leave = leave.min(far);
    }
    if enter >= leave {
        return None;
    }
    let mut voxel = (eye + direction * enter).floor().to_array().map(|it| (it as i32).clamp(0, 255));
    let step = direction.to_array().map(|it| if it < 0.0 { -1 } else { 1 });
    let per_voxel = direction.to_array().map(f64::recip);
    if enter > 0.0 {
        voxel[enter_axis] = if step[enter_axis] > 0 { 0 } else { 255 };
    }
    let mut axis = enter_axis;
    loop {
        let [x, y, z] = voxel.map(|it| it as u32);
        if region.occupancy.get(x, y, z) {
            return Some(([x, y, z], Face::ALL[axis * 2 + usize::from(step[axis] < 0)]));
        }
        let crossing = |axis: usize| {
            let plane = f64::from(voxel[axis] + i32::from(step[axis] > 0));
            (plane - eye[axis]) * per_voxel[axis]
        };
        let [x, y, z] = [0, 1, 2].map(crossing);
        axis = if x < y && x < z { 0 } else { 1 + usize::from(z <= y) };
        voxel[axis] += step[axis];
        if !(0..256).contains(&voxel[axis]) {
            return None;
        }
    }
}

fn colour(region: &Region, hit: Option<Hit>) -> Colour {
    let Some(([x, y, z], face)) = hit else {
        return MAGENTA;
    };
    region.colours.get(x, y, z).map(|byte| (f64::from(byte) * light(face)).round() as u8)
}

/// Rays of a view.
pub(crate) struct Lens {
    pub(crate) eye: DVec3,
    forward: DVec3,
    right: DVec3,
    up: DVec3,
    half_px: [f64; 2],
}

impl Lens {
    pub(crate) fn new(view: &View, offset: [i64; 3], voxel_edge: f64) -> Self {
        let forward = view.pose.forward();
        let right = forward.cross(DVec3::Y).normalize();
        let half_px = [f64::from(view.width_px) / 2.0, f64::from(view.height_px) / 2.0];
        let pixel = (view.fov_y_rad / 2.0).tan() / half_px[1];
        Self {
            eye: (view.pose.eye_in_world - DVec3::from_array(offset.map(|it| it as f64))) / voxel_edge,
            forward,
            right: right * pixel,
            up: right.cross(forward) * pixel,
            half_px,
        }
    }

    /// Through a place on the picture, in pixels from its top left.
    pub(crate) fn direction(&self, x_px: f64, y_px: f64) -> DVec3 {
        self.forward + self.right * (x_px - self.half_px[0]) - self.up * (y_px - self.half_px[1])
    }
}

fn check(name: &str, update: &SlotUpdate) {
    let built = update.region.as_deref().unwrap();
    let Region { occupancy: _, colours } = built.voxels.clone().unwrap();
    let region = &Region { occupancy: voxels_in(built.voxels.as_ref().unwrap(), update.octants), colours };
    let voxel_edge = built.key.edge_voxels() as f64 / 256.0;
    let mut renderer = renderer(std::slice::from_ref(update));
    let mut views = coarse_views(update.offset, voxel_edge, 480, 270);
    if voxel_edge == 1.0 {
        views.extend(random_views(6, update.offset, 240, 135));
    }
    for (idx, view) in views.iter().enumerate() {
        let lens = Lens::new(view, update.offset, voxel_edge);
        let [x, y, z] = lens.eye.floor().to_array().map(|it| it as i64);
        let in_region = [x, y, z].iter().all(|it| (0..256).contains(it));
        if in_region && region.occupancy.get(x as u32, y as u32, z as u32) {
            // From within a solid the picture shows what lies beyond it: there a face is seen from outside only.
            continue;
        }
        let picture = take(&mut renderer, view, FLAT);
        let (mut n_differing, mut far_from_edges) = (0, Vec::new());
        for (y, x) in (0..view.height_px).flat_map(|y| (0..view.width_px).map(move |x| (y, x))) {
            let shown = picture.pixel(x, y);
            let hit_at = |dx: f64, dy: f64| {
                cast(region, lens.eye, lens.direction(f64::from(x) + 0.5 + dx, f64::from(y) + 0.5 + dy))
            };
            let hit = hit_at(0.0, 0.0);
            let expected = colour(region, hit);
            if (0..3).all(|i| shown[i].abs_diff(expected[i]) <= 1) {
                continue;
            }
            n_differing += 1;
            let ring = (0..16).map(|i| (f64::from(i) * std::f64::consts::TAU / 16.0).sin_cos());
            if ring.into_iter().all(|(sin, cos)| hit_at(0.02 * cos, 0.02 * sin) == hit) {
                far_from_edges.push((x, y, shown, expected));
            }
        }
        // A smaller picture has more edges a pixel.
        let share = if view.width_px < 480 { 500 } else { 1_000 };
        if !far_from_edges.is_empty() || n_differing * share > view.width_px * view.height_px {
            let at = leave(&format!("ray_oracle.{name}.{idx}.png"), &picture);
            panic!(
                "{name}, view {idx}: {n_differing} pixels differ, {} of them far from any edge, the first (x, y, \
                 shown, expected) {:?}; see {}",
                far_from_edges.len(),
                far_from_edges.first(),
                at.display()
            );
        }
    }
}

#[test]
fn rays_see_the_city_that_is_drawn() {
    check("city", &fill(0, city(8).indexed(), [10_000_000, 0, 10_000_000]));
}

#[test]
fn rays_see_the_rubble_that_is_drawn() {
    check("rubble", &fill(0, rubble(9, 150).direct(), [-700, 3, 5]));
}

#[test]
fn rays_see_the_coarse_octants_that_are_drawn() {
    for (zoom, octants) in [(16, 0b1101_1010), (12, 0b0010_0101), (12, 0xFF)] {
        let offset = [8192 * 1_200, -32, 8192 * 1_300];
        check(&format!("city.{zoom}"), &fill_octants(0, zoom, city(8).indexed(), offset, octants));
    }
    check("rubble.14", &fill_octants(0, 14, rubble(13, 150).direct(), [-70_016, 96, 32], 0b0110_1011));
}
