//! Sun, sky and windows: who stands in whose light, whatever regions the voxels are cut into and whenever they come.

use std::f64::consts::FRAC_PI_4;

use glam::DVec3;
use voxatlas::gpu::{FrameStyle, Lighting, Picture};
use voxatlas::stream::SlotUpdate;
use voxatlas::view::View;
use voxatlas::voxel::{Region, down_sample};

use crate::picture::{assert_alike, assert_same, differences, leave};
use crate::ray_oracle::{Lens, cast};
use crate::scene::{Dice, Paint, fill, fill_octants, lit, renderer, simply_lit, take, view};

/// Boxes of voxels in the world, up to but without their second corner, and their colours.
struct World(Vec<([i64; 3], [i64; 3], u8)>);

const PALETTE: [[u8; 3]; 4] = [[176, 174, 170], [208, 204, 196], [160, 120, 98], [92, 108, 124]];

impl World {
    /// Houses and a few towers on open ground, as far as `radius` from the world's corner.
    fn new(seed: u64, radius: u32) -> Self {
        let mut dice = Dice::new(seed);
        let edge = i64::from(radius);
        let mut boxes = vec![([-edge, 0, -edge], [edge, 20, edge], 0)];
        for _ in 0..radius * radius / 900 {
            let size = [
                dice.int(6, 30),
                if dice.int(0, 6) == 0 { dice.int(60, 130) } else { dice.int(5, 36) },
                dice.int(6, 30),
            ];
            let at = [0, 0].map(|_| i64::from(dice.int(0, 2 * radius - 30)) - edge);
            let min = [at[0], 20, at[1]];
            let max = std::array::from_fn(|axis| min[axis] + i64::from(size[axis]));
            boxes.push((min, max, dice.int(1, 3) as u8));
        }
        Self(boxes)
    }

    /// The same world, elsewhere.
    fn moved(&self, by: [i64; 3]) -> Self {
        let moved = |corner: [i64; 3]| std::array::from_fn(|axis| corner[axis] + by[axis]);
        Self(self.0.iter().map(|&(min, max, colour)| (moved(min), moved(max), colour)).collect())
    }

    /// What of it lies in the region at `offset`.
    fn region(&self, offset: [i64; 3]) -> Region {
        let mut paint = Paint::new(&PALETTE);
        for &(min, max, colour) in &self.0 {
            let local = |corner: [i64; 3]| -> [u32; 3] {
                std::array::from_fn(|axis| (corner[axis] - offset[axis]).clamp(0, 256) as u32)
            };
            paint.fill(local(min), local(max), |_| colour);
        }
        paint.indexed()
    }

    /// The regions round a corner of the grid, a slot each.
    fn around(&self, corner: [i64; 3]) -> Vec<SlotUpdate> {
        let places =
            [[-1, -1], [0, -1], [-1, 0], [0, 0]].map(|[x, z]| [corner[0] + x * 256, corner[1], corner[2] + z * 256]);
        places.into_iter().enumerate().map(|(at, offset)| fill(at, self.region(offset), offset)).collect()
    }
}

/// Looks over the world from the south, from above and along a street.
fn views(at: [i64; 3]) -> Vec<View> {
    [([10.3, 190.2, 260.4], 3.0, -35.0), ([-90.6, 320.1, 40.5], -70.0, -62.0), ([130.2, 60.5, 160.7], 48.0, -12.0)]
        .map(|(eye, yaw, pitch)| {
            let eye = [0, 1, 2].map(|axis| eye[axis] + at[axis] as f64);
            View { draw_distance_voxels: 1e5, ..view(eye, yaw, pitch, 240, 160) }
        })
        .to_vec()
}

fn low_sun() -> Lighting {
    Lighting { to_sun: DVec3::new(-0.62, 0.4, 0.55).normalize(), ..Lighting::default() }
}

#[test]
fn where_the_world_is_cut_into_regions_does_not_show() {
    let world = World::new(5, 120);
    // The same world about the middle of one region, and about the corner of four.
    let style = FrameStyle::Lit(low_sun());
    let corner = [25_600, 0, 25_600];
    let whole = world.moved([corner[0] + 128, 0, corner[2] + 128]);
    let cut = world.moved(corner);
    let mut whole_pictures = renderer(&[fill(0, whole.region(corner), corner)]);
    let mut cut_pictures = renderer(&cut.around(corner));
    for (idx, (whole, cut)) in views([corner[0] + 128, 0, corner[2] + 128]).iter().zip(views(corner)).enumerate() {
        // Quads end where regions do, and T-junctions stand elsewhere.
        let [whole, cut] = [take(&mut whole_pictures, whole, style), take(&mut cut_pictures, &cut, style)];
        assert_alike(&format!("cut.{idx}"), &cut, &whole, &[(3, 24)]);
    }
}

#[test]
fn the_order_of_arrival_does_not_show() {
    let updates = World::new(6, 240).around([0, 0, 0]);
    let expected: Vec<_> = {
        let mut renderer = renderer(&updates);
        views([0; 3]).iter().map(|view| take(&mut renderer, view, lit())).collect()
    };
    for order in [[3, 1, 0, 2], [2, 3, 1, 0]] {
        // Other slots, too, and pictures taken on the way.
        let mut late = renderer(&[]);
        for (slot, idx) in order.into_iter().enumerate() {
            late.apply(&SlotUpdate { at: 90 - slot * 7, ..updates[idx].clone() }).unwrap();
            take(&mut late, &views([0; 3])[0], lit());
        }
        for (view, expected) in views([0; 3]).iter().zip(&expected) {
            assert_same("order", &take(&mut late, view, lit()), expected);
        }
    }
}

/// The pixels that differ between two pictures.
fn changed(a: &Picture, b: &Picture) -> Vec<bool> {
    differences(a, b).iter().map(|&by| by > 0).collect()
}

#[test]
fn shadows_fall_where_rays_say() {
    let region = World::new(7, 128).moved([128, 0, 128]).region([0; 3]);
    let update = fill(0, region.clone(), [0; 3]);
    let mut renderer = renderer(&[update]);
    for to_sun in [DVec3::new(-0.33, 0.77, 0.55), DVec3::new(0.8, 0.25, -0.4), DVec3::new(0.01, 0.9, 0.02)] {
        let to_sun = to_sun.normalize();
        let shadowed = Lighting { to_sun, shadows: true, occlusion: false };
        for (idx, view) in views([128, 0, 128]).iter().enumerate() {
            let lens = Lens::new(view, [0; 3], 1.0);
            let take = |renderer: &mut _, lighting| take(renderer, view, FrameStyle::Lit(lighting));
            let open = take(&mut renderer, shadowed.simple());
            let picture = take(&mut renderer, shadowed);
            let is_darker = changed(&picture, &open);
            let (mut n_wrong, mut n_shadowed) = (0, 0);
            for (at, &is_darker) in is_darker.iter().enumerate() {
                let (x, y) = (at as u32 % view.width_px, at as u32 / view.width_px);
                let direction = lens.direction(f64::from(x) + 0.5, f64::from(y) + 0.5);
                let Some((voxel, face)) = cast(&region, lens.eye, direction) else { continue };
                let normal = if face.is_positive() { 1.0 } else { -1.0 };
                if to_sun[face.axis()] * normal <= 0.0 {
                    continue;
                }
                let plane = f64::from(voxel[face.axis()]) + if face.is_positive() { 1.0 } else { 0.0 };
                let place = lens.eye + direction * ((plane - lens.eye[face.axis()]) / direction[face.axis()]);
                let mut before = place;
                before[face.axis()] += normal * 1e-3;
                let is_shadowed = cast(&region, before, to_sun).is_some();
                n_shadowed += u32::from(is_shadowed);
                n_wrong += u32::from(is_shadowed != is_darker);
            }
            if n_wrong * 200 > view.width_px * view.height_px {
                let at = leave(&format!("shadows.{idx}.png"), &picture);
                panic!("{n_wrong} pixels are in the wrong light, {n_shadowed} in shadow; see {}", at.display());
            }
            assert!(to_sun.y > 0.85 || n_shadowed > 200, "the scene throws shadows: {n_shadowed}");
        }
    }
}

#[test]
fn what_is_loaded_coarsely_alone_throws_its_shadow_too() {
    let world = World(vec![([-300, 0, -300], [600, 20, 600], 0), ([268, 20, 90], [300, 140, 130], 1)]);
    // A tower just east of the region that is seen, and the sun behind it.
    let lighting = Lighting { to_sun: DVec3::new(0.8, 0.5, 0.1).normalize(), ..Lighting::default() };
    let [west, east] = [[0, 0, 0], [256, 0, 0]].map(|offset| world.region(offset));
    let mut children = [None; 8];
    (children[0], children[1]) = (Some(&west), Some(&east));
    let parent = fill_octants(1, 16, down_sample(children), [0; 3], 0);
    let view = View { draw_distance_voxels: 1e5, ..view([120.0, 150.0, 240.0], 0.0, -50.0, 200, 140) };
    let dark = |updates: &[SlotUpdate]| {
        let mut renderer = renderer(updates);
        let open = take(&mut renderer, &view, FrameStyle::Lit(lighting.simple()));
        let picture = take(&mut renderer, &view, FrameStyle::Lit(Lighting { occlusion: false, ..lighting }));
        changed(&picture, &open)
    };
    let near = fill(0, west.clone(), [0; 3]);
    let fine = dark(&[near.clone(), fill(2, east.clone(), [256, 0, 0])]);
    let coarse = dark(&[near.clone(), parent]);
    let alone = dark(&[near]);
    let n = |pixels: &[bool]| pixels.iter().filter(|&&it| it).count();
    let n_differing = fine.iter().zip(&coarse).filter(|(a, b)| a != b).count();
    assert_eq!(n(&alone), 0, "nothing in the west stands in the light");
    assert!(n(&fine) > 500, "the tower's shadow falls over the border: {} pixels", n(&fine));
    assert!(n_differing * 10 < n(&fine), "{n_differing} of {} pixels of shadow differ", n(&fine));
}

#[test]
fn corners_are_darker_than_open_ground() {
    let world =
        World(vec![([0, 0, 0], [256, 20, 256], 0), ([0, 20, 0], [256, 60, 100], 0), ([140, 20, 0], [256, 60, 256], 0)]);
    let mut renderer = renderer(&[fill(0, world.region([0; 3]), [0; 3])]);
    let sunless = Lighting { to_sun: DVec3::new(0.0, -0.1, -1.0).normalize(), ..Lighting::default() };
    let view = View { draw_distance_voxels: 1e5, ..view([128.0, 46.0, 112.0], -20.0, -89.9, 200, 200) };
    let picture = take(&mut renderer, &view, FrameStyle::Lit(sunless));
    let shade = |at: DVec3| {
        let (px, _) = view.project(at).unwrap();
        picture.pixel(px.x as u32, px.y as u32).map(u32::from).iter().sum::<u32>()
    };
    let open = shade(DVec3::new(128.5, 20.0, 112.5));
    let edge = shade(DVec3::new(128.5, 20.0, 100.2));
    let corner = shade(DVec3::new(139.8, 20.0, 100.2));
    assert!(open > edge + 20 && edge > corner + 10, "open {open}, at a wall {edge}, in a corner {corner}");
    // A voxel away from the wall nothing is lost.
    assert!(shade(DVec3::new(128.5, 20.0, 102.5)).abs_diff(open) <= 3);
    let simple = take(&mut renderer, &view, FrameStyle::Lit(sunless.simple()));
    assert_ne!(simple, picture);
}

#[test]
fn night_falls_and_windows_are_lit() {
    let wall = World(vec![([0, 0, 0], [256, 20, 256], 0), ([40, 20, 60], [200, 120, 100], 1)]);
    let mut boxes = wall.0.clone();
    for (x, y) in (0..30).flat_map(|x| (0..20).map(move |y| (44 + x * 5, 22 + y * 4))) {
        boxes.push(([x, y, 99], [x + 3, y + 2, 100], 3));
    }
    let mut renderer = renderer(&[fill(0, World(boxes).region([0; 3]), [0; 3])]);
    let view = View { draw_distance_voxels: 1e5, ..view([120.0, 70.0, 200.0], 0.0, 0.0, 240, 200) };
    let at = |elevation_deg: f64| {
        let (y, along) = elevation_deg.to_radians().sin_cos();
        let to_sun = DVec3::new(-along * FRAC_PI_4.cos(), y, along * FRAC_PI_4.sin());
        Lighting { to_sun, ..Lighting::default() }
    };
    let mut picture_at = |elevation_deg| take(&mut renderer, &view, FrameStyle::Lit(at(elevation_deg)));
    let mean = |picture: &Picture| {
        picture.rgba.chunks(4).map(|it| u64::from(it[0]) + u64::from(it[1]) + u64::from(it[2])).sum::<u64>()
    };
    let [noon, dusk, night] = [50.0, -4.0, -20.0].map(&mut picture_at);
    assert!(mean(&noon) > mean(&dusk) * 3 / 2 && mean(&dusk) > mean(&night) * 3 / 2);
    let n_bright =
        |picture: &Picture| picture.rgba.chunks(4).filter(|it| it[0] > 150 && it[0].saturating_sub(it[2]) > 20).count();
    let n_lit = n_bright(&night);
    assert!((300..6000).contains(&n_lit), "{n_lit} pixels of lit windows");
    assert!(night.pixel(120, 10).iter().all(|&it| it < 60), "the sky is dark");
    assert!(mean(&night) > 0);
}

#[test]
fn simple_light_has_neither_shadows_nor_corners() {
    let mut renderer = renderer(&World::new(8, 240).around([0; 3]));
    let view = views([0; 3])[0];
    let [full, simple] = [lit(), simply_lit()].map(|style| take(&mut renderer, &view, style));
    let n_changed = changed(&full, &simple).iter().filter(|&&it| it).count();
    assert!(n_changed > 1_200, "{n_changed} pixels are darker in full light");
    let is_darker = full.rgba.iter().zip(&simple.rgba).all(|(full, simple)| full <= simple);
    assert!(is_darker, "nothing that stands before a light makes it brighter");
}
