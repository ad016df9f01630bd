//! What a view wants: order, caps, disjointness, reach.

use std::cell::Cell;
use std::collections::BTreeSet;

use glam::DVec3;
use proptest::prelude::*;

use super::*;
use crate::geo::WORLD_VOXELS;
use crate::view::{Pose, ViewSpec};

const ANYTHING: fn(RegionKey) -> bool = |_| true;

fn view(spec: &str) -> View {
    view_of(spec.parse::<ViewSpec>().unwrap().pose())
}

fn view_of(pose: Pose) -> View {
    View { pose, fov_y_rad: 50f64.to_radians(), width_px: 1280, height_px: 720, draw_distance_voxels: 2000.0 }
}

fn compute(view: &View, layers: &[i32]) -> Interest {
    Interest::compute(view, &TilesetGrid { base: -32, layers, exists: ANYTHING })
}

/// Every region of the tileset that is in the frustum, by brute force over the neighbourhood.
fn seen_around(view: &View, layers: &[i32]) -> Vec<(f64, RegionKey)> {
    let frustum = Frustum::new(view);
    let eye = view.pose.eye_in_world;
    let centre = tile_of_voxel(17, eye.x.floor() as i64, eye.z.floor() as i64).unwrap();
    let mut seen = Vec::new();
    for (dx, dy) in (-14..=14).flat_map(|dy| (-14..=14).map(move |dx| (dx, dy))) {
        let Some(tile) = centre.offset_wrapped(dx, dy) else { continue };
        for &layer in layers {
            let key = RegionKey::new(tile, layer);
            if frustum.intersects(key.world_box(-32)) {
                seen.push((ground_distance(key.world_box(-32).relative_to(eye)), key));
            }
        }
    }
    seen
}

#[test]
fn looking_down_begins_below_and_goes_round() {
    // The middle of the tower's tile, a little to the east and less to the south.
    let mut view = view("139.745433,35.658581,100,0,-90");
    view.pose.eye_in_world = DVec3::new(116_415.0 * 256.0 + 140.0, 1000.0, 51_623.0 * 256.0 + 130.0);
    let interest = compute(&view, &[0]);
    let tiles: Vec<String> = interest.visible.iter().take(9).map(ToString::to_string).collect();
    assert_eq!(
        tiles,
        [
            "17/116415/51623", // below
            "17/116416/51623", // the nearest sides: east 116, south 126, north 130, west 140
            "17/116415/51624",
            "17/116415/51622",
            "17/116414/51623",
            "17/116416/51624", // then the corners
            "17/116416/51622",
            "17/116414/51624",
            "17/116414/51622",
        ]
    );
}

#[test]
fn ties_go_by_key() {
    let mut view = view("139.745433,35.658581,100,0,-90");
    view.pose.eye_in_world = DVec3::new(116_415.0 * 256.0, 1000.0, 51_623.0 * 256.0);
    let interest = compute(&view, &[0]);
    // The eye stands on a corner: four regions at distance 0.
    let tiles: Vec<String> = interest.visible.iter().take(4).map(ToString::to_string).collect();
    assert_eq!(tiles, ["17/116414/51622", "17/116414/51623", "17/116415/51622", "17/116415/51623"]);
}

#[test]
fn layers_of_a_tile_are_regions_of_their_own() {
    let view = view("139.745433,35.658581,200,0,0");
    let exists = |key: RegionKey| key.layer == 0 || key.tile.to_string() == "17/116415/51623";
    let interest = Interest::compute(&view, &TilesetGrid { base: -32, layers: &[1, 0, 1], exists });
    let tower: Vec<RegionKey> = interest.visible.iter().copied().take(2).collect();
    // The eye is in layer 0; layer 1 stands above it, before every neighbour.
    assert_eq!(tower.iter().map(|key| key.layer).collect::<Vec<_>>(), [0, 1]);
    assert!(tower.iter().all(|key| key.tile.to_string() == "17/116415/51623"));
    assert!(interest.visible[2..].iter().all(|key| key.layer == 0));
}

#[test]
fn a_small_tileset_is_seen_whole_and_without_fog() {
    let view = view("139.745433,35.658581,1500,0,-90");
    let exists =
        |key: RegionKey| (116_414..=116_416).contains(&key.tile.x()) && (51_622..=51_624).contains(&key.tile.y());
    let interest = Interest::compute(&view, &TilesetGrid { base: -32, layers: &[0], exists });
    assert_eq!((interest.visible.len(), interest.prebuild.len(), interest.prefetch.len()), (9, 0, 0));
    assert_eq!(interest.reach_voxels, 2000.0);
}

#[test]
fn sixteen_regions_reach_about_a_kilometre() {
    for (spec, least) in [
        ("139.745,35.658,60,0,-5", 700.0),
        ("139.745,35.658,300,45,-20", 550.0),
        // From 800 m straight down the fog closes round what lies below.
        ("139.745,35.658,800,0,-90", 300.0),
    ] {
        let interest = compute(&view(spec), &[0]);
        assert_eq!(interest.visible.len(), SLOTS_PER_ZOOM, "{spec}");
        assert!(interest.reach_voxels > least && interest.reach_voxels < 1500.0, "{spec}: {}", interest.reach_voxels);
    }
}

#[test]
fn a_view_that_stands_nowhere_wants_nothing() {
    for eye in [DVec3::NAN, DVec3::splat(f64::INFINITY), DVec3::new(0.0, f64::NEG_INFINITY, 0.0)] {
        let interest = compute(&view_of(Pose { eye_in_world: eye, yaw_rad: 0.0, pitch_rad: 0.0 }), &[0]);
        assert_eq!(interest, Interest::default());
    }
    let unseen = Interest::compute(&view("0,0,10,0,0"), &TilesetGrid { base: 0, layers: &[], exists: ANYTHING });
    assert_eq!((unseen.visible.len(), unseen.prefetch.len(), unseen.reach_voxels), (0, 0, 2000.0));
}

#[test]
fn the_work_is_bounded_whatever_the_tileset_and_the_view_claim() {
    let mut view = view("139.745,35.658,60,0,-5");
    let layers: Vec<i32> = (-50_000..50_000).collect();
    for draw_distance in [f64::INFINITY, f64::NAN, 1e300, -1.0, 0.0] {
        view.draw_distance_voxels = draw_distance;
        let n_asked = Cell::new(0usize);
        let exists = |_| {
            n_asked.set(n_asked.get() + 1);
            true
        };
        let interest = Interest::compute(&view, &TilesetGrid { base: i32::MIN, layers: &layers, exists });
        let square = 2 * INTEREST_TILES + 3;
        assert!(n_asked.get() <= square * square * LAYERS_MAX, "{draw_distance}: {}", n_asked.get());
        assert!((0.0..=INTEREST_TILES as f64 * 256.0).contains(&interest.reach_voxels), "{draw_distance}");
    }
}

#[test]
fn the_reach_grows_gently_and_shrinks_at_once() {
    assert_eq!(eased_reach(900.0, 800.0, 0.016), 800.0);
    let grown = eased_reach(800.0, 900.0, 0.016);
    assert!(grown > 800.0 && grown < 810.0, "{grown}");
    assert!(eased_reach(800.0, 900.0, 60.0) > 899.9);
    assert_eq!(eased_reach(f64::NAN, 900.0, 0.016), 900.0);
    assert_eq!(eased_reach(800.0, 900.0, -1.0), 800.0);
}

/// Turns or moves the camera in small steps and yields the largest step of the reach.
fn largest_jump(from: &str, step: impl Fn(&mut Pose), n_steps: usize) -> f64 {
    let mut view = view(from);
    let mut last = compute(&view, &[0]).reach_voxels;
    let mut jump: f64 = 0.0;
    for _ in 0..n_steps {
        step(&mut view.pose);
        let reach = compute(&view, &[0]).reach_voxels;
        jump = jump.max((reach - last).abs());
        last = reach;
    }
    jump
}

#[test]
fn the_fog_never_pops() {
    // Steps so small that only a leap can exceed a voxel or two: a region that enters the picture shifts the plain
    // answer, the distance of the first one without a slot, by tens to hundreds at once.
    let step_rad = 0.006f64.to_radians();
    let turn = |pose: &mut Pose| pose.yaw_rad += step_rad;
    let tilt = |pose: &mut Pose| pose.pitch_rad += step_rad / 2.0;
    let fly = |pose: &mut Pose| pose.eye_in_world += DVec3::new(0.048, 0.004, -0.034);
    for (from, jump) in [
        ("turn at 60 m", largest_jump("139.745,35.658,60,0,-5", turn, 4_000)),
        ("turn at 300 m", largest_jump("139.7442,35.6577,300,0,-30", turn, 4_000)),
        ("tilt", largest_jump("139.745,35.658,300,30,-55", tilt, 6_000)),
        ("fly at 60 m", largest_jump("139.745,35.658,60,20,-15", fly, 4_000)),
        ("fly at 300 m", largest_jump("139.745,35.658,300,20,-50", fly, 4_000)),
    ] {
        assert!(jump < 5.0, "{from}: {jump}");
    }
}

/// Eyes over Tokyo, at the antimeridian, at the poles and off the world.
fn any_eye() -> impl Strategy<Value = DVec3> {
    let world = f64::from(WORLD_VOXELS);
    let x = prop_oneof![29_802_000.0..29_803_000.0, -900.0..900.0, world - 900.0..world + 900.0, any::<f64>()];
    let z = prop_oneof![13_215_000.0..13_216_000.0, -900.0..900.0, world - 900.0..world + 900.0, any::<f64>()];
    (x, prop_oneof![-500.0..5000.0, any::<f64>()], z).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

proptest! {
    #[test]
    fn lists_are_capped_disjoint_ordered_and_in_the_world(
        eye in any_eye(), yaw in -3.2..3.2, pitch in -1.57..1.57, draw in 0.0..4000.0, hidden in any::<u32>(),
    ) {
        let mut view = view_of(Pose { eye_in_world: eye, yaw_rad: yaw, pitch_rad: pitch });
        view.draw_distance_voxels = draw;
        // Every sixteenth region or so is known to be empty. Asking outside the world would have panicked: keys are
        // valid by construction.
        let exists = |key: RegionKey| (key.tile.x() * 31 + key.tile.y() * 17) % 16 != hidden % 16;
        let grid = TilesetGrid { base: -32, layers: &[0, 1, -1], exists };
        let interest = Interest::compute(&view, &grid);
        prop_assert!(interest.visible.len() <= SLOTS_PER_ZOOM);
        prop_assert!(interest.prebuild.len() <= PREBUILD && interest.prefetch.len() <= PREFETCH);
        prop_assert!(interest.prefetch.is_empty() || interest.prebuild.len() == PREBUILD);
        let lists = [&interest.visible, &interest.prebuild, &interest.prefetch];
        let all: Vec<RegionKey> = lists.into_iter().flatten().copied().collect();
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        prop_assert!(all.iter().all(|&key| exists(key) && key.tile.zoom() == 17));
        let distance = |key: &RegionKey| ground_distance(key.world_box(-32).relative_to(eye));
        for list in lists {
            prop_assert!(list.is_sorted_by_key(distance));
        }
        prop_assert!((0.0..=draw).contains(&interest.reach_voxels));
        prop_assert_eq!(&interest, &Interest::compute(&view, &grid));
    }

    #[test]
    fn nothing_within_the_reach_lacks_a_slot(
        (x, z) in (29_802_000.0..29_803_000.0, 13_215_000.0..13_216_000.0), y in -100.0..3000.0,
        yaw in -3.2..3.2, pitch in -1.57..1.57, two_layers in any::<bool>(),
    ) {
        let view = view_of(Pose { eye_in_world: DVec3::new(x, y, z), yaw_rad: yaw, pitch_rad: pitch });
        let layers: &[i32] = if two_layers { &[0, 1] } else { &[0] };
        let interest = compute(&view, layers);
        let mut seen = seen_around(&view, layers);
        for (distance, key) in &seen {
            prop_assert!(*distance >= interest.reach_voxels || interest.visible.contains(key), "{} at {}", key, distance);
        }
        // And the slots are all used while something is left to show.
        prop_assert_eq!(interest.visible.len(), seen.len().min(SLOTS_PER_ZOOM));
        // The nearest are taken: none that is left out is nearer than one that is in.
        seen.retain(|(_, key)| !interest.visible.contains(key));
        let left_out = seen.iter().map(|(distance, _)| *distance).fold(f64::INFINITY, f64::min);
        let eye = view.pose.eye_in_world;
        let last = interest.visible.last().map_or(0.0, |key| ground_distance(key.world_box(-32).relative_to(eye)));
        prop_assert!(last <= left_out);
    }
}
