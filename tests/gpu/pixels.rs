//! Pictures of which every pixel is known.

use std::f64::consts::FRAC_PI_2;

use glam::DVec3;
use voxatlas::gpu::{Offscreen, Picture, Renderer};
use voxatlas::mesh::Face;
use voxatlas::stream::SlotUpdate;
use voxatlas::view::{Pose, View};
use voxatlas::voxel::{Occupancy, Region};

use crate::picture::{assert_alike, assert_same};
use crate::scene::{
    FLAT, MAGENTA, Paint, city, clear, coarse_views, fill, fill_octants, gpu, lit, renderer, rubble, take, view, views,
};

/// dot(normalize(-0.33, 0.77, 0.55), n) * 0.5 + 0.5
pub(crate) fn light(face: Face) -> f64 {
    let sun = DVec3::new(-0.33, 0.77, 0.55).normalize();
    let along = sun[face.axis()] * if face.is_positive() { 1.0 } else { -1.0 };
    along * 0.5 + 0.5
}

/// A picture of one side of a region in which each pixel is one voxel face: from so far that the field of view covers
/// as many voxels as pixels.
fn face_on(face: Face, side_px: u32) -> View {
    let distance = 400.0;
    let half = f64::from(side_px) / 2.0;
    let centre = DVec3::splat(128.0);
    let mut eye = centre;
    eye[face.axis()] = if face.is_positive() { 256.0 + distance } else { -distance };
    let (yaw_rad, pitch_rad) = match face {
        Face::PosZ => (0.0, 0.0),
        Face::NegZ => (2.0 * FRAC_PI_2, 0.0),
        Face::PosX => (FRAC_PI_2, 0.0),
        Face::NegX => (-FRAC_PI_2, 0.0),
        Face::PosY => (0.0, -FRAC_PI_2),
        Face::NegY => (0.0, FRAC_PI_2),
    };
    View {
        pose: Pose { eye_in_world: eye, yaw_rad, pitch_rad },
        fov_y_rad: 2.0 * (half / distance).atan(),
        width_px: side_px,
        height_px: side_px,
        draw_distance_voxels: 2000.0,
    }
}

/// The voxel that a pixel of [`face_on`] shows: each view's right and down, by hand.
fn voxel_at(face: Face, px: u32, py: u32) -> [u32; 3] {
    match face {
        Face::PosZ => [px, 255 - py, 255],
        Face::NegZ => [255 - px, 255 - py, 0],
        Face::PosX => [255, 255 - py, 255 - px],
        Face::NegX => [0, 255 - py, px],
        Face::PosY => [px, 255, py],
        Face::NegY => [px, 0, 255 - py],
    }
}

#[test]
fn every_pixel_of_a_face_on_view_is_its_voxel() {
    // A shell whose voxels all differ from their neighbours, in patches of one colour here and there, so that greedy
    // quads of every size, uniform or not, come up.
    let palette: Vec<[u8; 3]> = (0..251).map(|i| [i as u8, (i * 3 % 256) as u8, (255 - i) as u8]).collect();
    let mut paint = Paint::new(&palette);
    let colour = |[x, y, z]: [u32; 3]| {
        if (x / 32 + y / 32 + z / 32) % 3 == 0 { 17 } else { ((x * 7 + y * 11 + z * 23) % 251) as u8 }
    };
    for axis in 0..3 {
        for at in [0, 255] {
            let (mut min, mut max) = ([0; 3], [256; 3]);
            (min[axis], max[axis]) = (at, at + 1);
            // Leave gaps, so that no side is a single quad.
            paint.fill(min, max, colour);
        }
    }
    for (name, region) in [("indexed", paint.indexed()), ("direct", paint.direct())] {
        let mut renderer = renderer(&[fill(0, region, [0; 3])]);
        for face in Face::ALL {
            let picture = take(&mut renderer, &face_on(face, 256), FLAT);
            let pixel = |idx: u32| {
                let voxel = voxel_at(face, idx % 256, idx / 256);
                let [r, g, b] =
                    palette[usize::from(colour(voxel))].map(|byte| (f64::from(byte) * light(face)).round() as u8);
                [r, g, b, 255]
            };
            let expected = Picture { width_px: 256, height_px: 256, rgba: (0..1 << 16).flat_map(pixel).collect() };
            // A product within an f32's error of one half may round either way.
            assert_alike(&format!("face_on.{name}.{face:?}"), &picture, &expected, &[(1, 0), (0, 650)]);
        }
    }
}

#[test]
fn far_from_the_origin_is_the_same_picture() {
    let region = rubble(11, 150).indexed();
    let mut here = renderer(&[fill(0, region.clone(), [0; 3])]);
    // Ten million voxels, the world's farthest corner, and far beyond f32.
    for offset in [[10_000_000, 0, 10_000_000], [(1 << 25) - 256, 4096, (1 << 25) - 256], [-(1 << 41), -300, 1 << 40]] {
        let mut there = renderer(&[fill(0, region.clone(), offset)]);
        for style in [FLAT, lit()] {
            for (near, far) in views([0; 3], 160, 90).iter().zip(views(offset, 160, 90)) {
                // Both eyes at the same place in their voxel: f64 has fewer bits for it far out.
                let eye_in_world = far.pose.eye_in_world - DVec3::from_array(offset.map(|it| it as f64));
                let near = View { pose: Pose { eye_in_world, ..near.pose }, ..*near };
                assert_same("far_from_origin", &take(&mut there, &far, style), &take(&mut here, &near, style));
            }
        }
    }
}

/// The fine regions that look the same as a coarse one: each of its voxels becomes eight.
fn doubled(coarse: &Region, offset: [i64; 3]) -> Vec<SlotUpdate> {
    let double = |octant: u32| {
        let min = [octant & 1, octant >> 1 & 1, octant >> 2];
        let coarse_voxel = |x: u32, y: u32, z: u32| [min[0] * 128 + x / 2, min[1] * 128 + y / 2, min[2] * 128 + z / 2];
        let mut occupancy = Occupancy::empty();
        for (z, y) in (0..256).flat_map(|z| (0..256).map(move |y| (z, y))) {
            for x in 0..256 {
                let [cx, cy, cz] = coarse_voxel(x, y, z);
                if coarse.occupancy.get(cx, cy, cz) {
                    occupancy.set(x, y, z, true);
                }
            }
        }
        let region = Region::paint(occupancy, coarse.colours.depth().clone(), |x, y, z| {
            let [x, y, z] = coarse_voxel(x, y, z);
            coarse.colours.entry(x, y, z)
        });
        let corner = [0, 1, 2].map(|axis| offset[axis] + i64::from(min[axis]) * 256);
        fill(octant as usize, region, corner)
    };
    (0..8).map(double).collect()
}

#[test]
fn a_coarse_region_is_the_picture_of_its_voxels_drawn_finely() {
    let region = city(21).indexed();
    let offset = [10_000_000, -32, 10_000_000];
    let mut fine = renderer(&doubled(&region, offset));
    let mut coarse = renderer(&[fill_octants(0, 16, region, offset, SlotUpdate::ALL_OCTANTS)]);
    // In the lit style a voxel of two metres has other corners than eight of one.
    for (idx, view) in coarse_views(offset, 2.0, 240, 180).iter().enumerate() {
        let [coarse, fine] = [&mut coarse, &mut fine].map(|it| take(it, view, FLAT));
        // Their quads end at other voxels here and there, and so do the T-junctions between them.
        assert_alike(&format!("coarse.{idx}"), &coarse, &fine, &[(0, 8)]);
    }
}

#[test]
fn a_target_that_encodes_srgb_itself_shows_the_same() {
    let update = fill(0, city(2).indexed(), [0; 3]);
    let format = wgpu::TextureFormat::Rgba8UnormSrgb;
    let mut encoding = Renderer::new(gpu(), format);
    encoding.apply(&update).unwrap();
    let mut plain = renderer(&[update]);
    for style in [FLAT, lit()] {
        let view = view([250.0, 130.0, 300.0], 30.0, -25.0, 200, 150);
        let (picture, _) =
            Offscreen::with_format(gpu(), format, 200, 150).unwrap().take(&mut encoding, &view, style).unwrap();
        assert_alike("srgb_target", &picture, &take(&mut plain, &view, style), &[(1, 0)]);
    }
}

#[test]
fn an_empty_scene_is_its_background() {
    let view = view([0.0; 3], 0.0, 0.0, 64, 64);
    let mut renderer = renderer(&[clear(3)]);
    let picture = take(&mut renderer, &view, FLAT);
    assert!(picture.rgba.chunks(4).all(|it| it[..3] == MAGENTA));

    let sky = take(&mut renderer, &view, lit());
    let brightness = |y| sky.pixel(32, y).map(u32::from).iter().sum::<u32>();
    assert!(brightness(33) > brightness(0) + 60, "the horizon is pale, the sky above it deeper");
    assert_eq!(sky.pixel(32, 40), sky.pixel(5, 63), "below the horizon there is only haze");
}

#[test]
fn fog_closes_at_the_draw_distance() {
    // A street of cities to the north; what lies beyond the draw distance must be the sky, to within rounding.
    let mut streets = renderer(&[fill(0, city(1).indexed(), [0; 3]), fill(1, city(2).indexed(), [0, 0, -256])]);
    let mut sky = renderer(&[]);
    let mut view = view([128.0, 40.0, 500.0], 0.0, 0.0, 160, 120);
    view.draw_distance_voxels = 244.0;
    let [fogged, plain] = [&mut streets, &mut sky].map(|it| take(it, &view, lit()));
    assert_alike("fog", &fogged, &plain, &[(1, 0)]);
    view.draw_distance_voxels = 900.0;
    let clear = take(&mut streets, &view, lit());
    assert_ne!(clear, take(&mut sky, &view, lit()));
}
