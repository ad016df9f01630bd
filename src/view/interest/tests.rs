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
    Interest::compute(view, &TilesetGrid { base: -32, zooms: 17..=17, layers, exists: ANYTHING })
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
    let interest = Interest::compute(&view, &TilesetGrid { base: -32, zooms: 17..=17, layers: &[1, 0, 1], exists });
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
    let interest = Interest::compute(&view, &TilesetGrid { base: -32, zooms: 17..=17, layers: &[0], exists });
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
    let unseen =
        Interest::compute(&view("0,0,10,0,0"), &TilesetGrid { base: 0, zooms: 17..=17, layers: &[], exists: ANYTHING });
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
        let interest =
            Interest::compute(&view, &TilesetGrid { base: i32::MIN, zooms: 17..=17, layers: &layers, exists });
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

/// A whole country, with its pyramid.
const COUNTRY: TilesetGrid<'_, fn(RegionKey) -> bool> =
    TilesetGrid { base: -32, zooms: 12..=17, layers: &[0, 1], exists: ANYTHING };

/// The view of a spec, to the horizon.
fn far_view(spec: &str) -> View {
    View { draw_distance_voxels: 40_000.0, ..view(spec) }
}

fn n_of_zoom(keys: &[RegionKey], zoom: u8) -> usize {
    keys.iter().filter(|key| key.tile.zoom() == zoom).count()
}

#[test]
fn a_pyramid_reaches_the_horizon_from_the_roots_to_what_is_near() {
    let interest = Interest::compute(&far_view("139.7454,35.6585,800,20,-20"), &COUNTRY);
    assert!(interest.reach_voxels > 20_000.0, "{}", interest.reach_voxels);
    let n_roots = n_of_zoom(&interest.visible, 12);
    assert!(interest.visible[..n_roots].iter().all(|key| key.tile.zoom() == 12), "roots come first");
    for zoom in 13..=17 {
        assert!(n_of_zoom(&interest.visible, zoom) >= 12, "zoom {zoom}: {:?}", interest.visible);
    }
    // What is missed most comes first: the parent's voxel in parts of the distance.
    let eye = far_view("139.7454,35.6585,800,20,-20").pose.eye_in_world;
    let missed = |key: &RegionKey| {
        let mut world_box = key.world_box(-32);
        world_box.max[1] = world_box.max[1].min(-32 + 512);
        -2.0 * voxel_of(*key) / distance_to(world_box.relative_to(eye)).max(1.0)
    };
    assert!(interest.visible[n_roots..].is_sorted_by_key(missed));
}

#[test]
fn what_looks_smaller_than_a_pixel_is_not_refined() {
    // Ten kilometres up: two voxels of zoom 16 are far below a pixel.
    let interest = Interest::compute(&far_view("139.7454,35.6585,10000,0,-90"), &COUNTRY);
    assert_eq!((n_of_zoom(&interest.visible, 17), n_of_zoom(&interest.visible, 16)), (0, 0));
    assert!(n_of_zoom(&interest.visible, 14) > 0, "{:?}", interest.visible);
}

#[test]
fn the_zooms_that_a_tileset_claims_are_cut() {
    for (zooms, expected) in [
        (12..=16, 12..=16),
        (0..=17, 12..=17),
        (3..=30, 12..=17),
        (RangeInclusive::new(17, 12), 12..=12),
        (0..=0, 0..=0),
    ] {
        let view = far_view("139.7454,35.6585,300,20,-20");
        let interest = Interest::compute(&view, &TilesetGrid { zooms: zooms.clone(), ..COUNTRY });
        let found: BTreeSet<u8> = interest.visible.iter().map(|key| key.tile.zoom()).collect();
        assert!(found.iter().all(|zoom| expected.contains(zoom)), "{zooms:?}: {found:?}");
        assert!(found.contains(expected.start()), "{zooms:?}: {found:?}");
    }
}

#[test]
fn a_trembling_camera_changes_nothing() {
    let zoom_17 = TilesetGrid { zooms: 17..=17, ..COUNTRY };
    for (spec, grid) in [
        ("139.7454,35.6585,60,20,-5", &COUNTRY),
        ("139.7454,35.6585,800,200,-30", &COUNTRY),
        ("139.7454,35.6585,3000,70,-89", &COUNTRY),
        ("139.7454,35.6585,60,20,-5", &zoom_17),
        ("139.7454,35.6585,300,110,-35", &zoom_17),
    ] {
        let still = far_view(spec);
        let mut finder = InterestFinder::default();
        let (mut motion, mut last) = (Motion::default(), still.pose);
        let mut settled = None;
        for n in 0..450u32 {
            // A hand that shakes by half a degree, and four voxels of wind.
            let shake = |k: f64| libm::sin(f64::from(n) * k);
            let pose = Pose {
                eye_in_world: still.pose.eye_in_world + DVec3::new(shake(1.7), shake(2.3), shake(3.1)) * 4.0,
                yaw_rad: still.pose.yaw_rad + 0.008 * shake(2.9),
                pitch_rad: still.pose.pitch_rad + 0.008 * shake(1.3),
            };
            motion = motion.after(&last, &pose, 1.0 / 60.0);
            last = pose;
            let found = finder.find(&View { pose, ..still }, &motion, grid);
            let visible: BTreeSet<RegionKey> = found.visible.iter().copied().collect();
            // What it sees at the edges while it first shakes may come in, and stays.
            if n >= 150 {
                let settled = settled.get_or_insert_with(|| visible.clone());
                assert_eq!(&visible, settled, "{spec}, step {n}");
            }
        }
        let still: BTreeSet<RegionKey> =
            finder.find(&still, &Motion::default(), grid).visible.iter().copied().collect();
        assert_eq!(Some(still), settled, "{spec}");
    }
}

#[test]
fn what_lies_ahead_comes_before_what_is_left_behind() {
    let view = far_view("139.7454,35.6585,2000,0,-89");
    let ahead = Motion { velocity_voxels_per_sec: DVec3::new(247.0, 0.0, 0.0), ..Motion::default() };
    let grid = TilesetGrid { zooms: 17..=17, layers: &[0], ..COUNTRY };
    let mut finder = InterestFinder::default();
    let eye = view.pose.eye_in_world;
    let mean_x = |keys: &[RegionKey]| {
        let first = &keys[..8];
        first.iter().map(|key| key.world_box(-32).min[0] as f64 + 128.0 - eye.x).sum::<f64>() / first.len() as f64
    };
    let still = mean_x(&finder.find(&view, &Motion::default(), &grid).visible.clone());
    let flying = mean_x(&finder.find(&view, &ahead, &grid).visible.clone());
    assert!(flying > still, "{flying} {still}");
}

#[test]
fn what_the_view_turns_to_is_more_useful_than_what_it_turns_from() {
    let view = far_view("139.7454,35.6585,300,0,-10");
    let turning = Motion { yaw_rad_per_sec: 2.0, ..Motion::default() };
    let mut finder = InterestFinder::default();
    let outlook = finder.find(&view, &turning, &COUNTRY).outlook;
    // Looking north and turning to the left: west is ahead.
    let [west, east, south, far_west] = ["17/116408/51623", "17/116422/51623", "17/116415/51630", "17/116300/51623"]
        .map(|tile| outlook.usefulness(RegionKey::new(tile.parse().unwrap(), 0)));
    assert!(west > east && west > south && west > far_west, "{west} {east} {south} {far_west}");
    let coarse = outlook.usefulness(RegionKey::new("14/14551/6452".parse().unwrap(), 0));
    assert!(coarse > west, "what covers more is missed more");
    assert_eq!(Outlook::default().usefulness(RegionKey::new("0/0/0".parse().unwrap(), 0)), 0.0);
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
        let grid = TilesetGrid { base: -32, zooms: 17..=17, layers: &[0, 1, -1], exists };
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
    fn a_pyramid_s_lists_are_capped_disjoint_and_closed(
        eye in any_eye(), yaw in -3.2..3.2, pitch in -1.57..1.57, draw in 0.0..90_000.0, hidden in any::<u32>(),
        coarsest in 12u8..=17, steps in prop::collection::vec((-900.0..900.0, -0.5..0.5), 1..4),
    ) {
        let exists = |key: RegionKey| (key.tile.x() * 31 + key.tile.y() * 17) % 16 != hidden % 16;
        let grid = TilesetGrid { base: -32, zooms: coarsest..=17, layers: &[0, 1, -1], exists };
        let mut finder = InterestFinder::default();
        let mut pose = Pose { eye_in_world: eye, yaw_rad: yaw, pitch_rad: pitch };
        let mut motion = Motion::default();
        for (step, turn) in steps {
            let next = Pose { eye_in_world: pose.eye_in_world + DVec3::new(step, step / 3.0, -step), yaw_rad: pose.yaw_rad + turn, ..pose };
            motion = motion.after(&pose, &next, 0.1);
            pose = next;
            let view = View { draw_distance_voxels: draw, ..view_of(pose) };
            let interest = finder.find(&view, &motion, &grid).clone();
            let lists = [&interest.visible, &interest.prebuild, &interest.prefetch];
            let all: Vec<RegionKey> = lists.into_iter().flatten().copied().collect();
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
            prop_assert!(all.iter().all(|&key| exists(key) && (coarsest..=17).contains(&key.tile.zoom())));
            prop_assert!(interest.prebuild.len() <= PREBUILD && interest.prefetch.len() <= PREFETCH);
            for zoom in coarsest..=17 {
                prop_assert!(n_of_zoom(&interest.visible, zoom) <= SLOTS_PER_ZOOM);
            }
            for key in &interest.visible {
                let parent = key.parent().filter(|parent| parent.tile.zoom() >= coarsest);
                prop_assert!(parent.is_none_or(|parent| interest.visible.contains(&parent)), "{} has no parent", key);
            }
            for refined in &interest.refined {
                prop_assert!(interest.visible.contains(refined));
                let is_needed = |child: &RegionKey| {
                    let span = child.span_y(-32);
                    // The layers' span is that of three regions of zoom 17.
                    let stands = span.start < 480 && span.end > -288;
                    let fine = child.tile.zoom() == 17 && Frustum::new(&view).intersects(child.world_box(-32));
                    exists(*child) && stands && fine
                };
                for child in refined.children().unwrap().iter().filter(|child| is_needed(child)) {
                    prop_assert!(interest.visible.contains(child), "{} is refined without {}", refined, child);
                }
            }
        }
    }

    #[test]
    fn no_root_within_the_reach_lacks_a_slot(
        (x, z) in (29_802_000.0..29_803_000.0, 13_215_000.0..13_216_000.0), y in -100.0..3000.0,
        yaw in -3.2..3.2, pitch in -1.57..1.57, coarsest in 12u8..17,
    ) {
        let view = View {
            draw_distance_voxels: 60_000.0,
            ..view_of(Pose { eye_in_world: DVec3::new(x, y, z), yaw_rad: yaw, pitch_rad: pitch })
        };
        let interest = Interest::compute(&view, &TilesetGrid { zooms: coarsest..=17, ..COUNTRY });
        let frustum = Frustum::new(&view);
        let centre = tile_of_voxel(coarsest, x as i64, z as i64).unwrap();
        for (dx, dy) in (-12..=12).flat_map(|dy| (-12..=12).map(move |dx| (dx, dy))) {
            let Some(tile) = centre.offset_wrapped(dx, dy) else { continue };
            let key = RegionKey::new(tile, 0);
            // As high as the layers of the tileset.
            let world_box = WorldBox { max: { let mut max = key.world_box(-32).max; max[1] = 480; max }, ..key.world_box(-32) };
            let distance = ground_distance(world_box.relative_to(view.pose.eye_in_world));
            if frustum.intersects(world_box) {
                prop_assert!(distance >= interest.reach_voxels || interest.visible.contains(&key), "{} at {}", key, distance);
            }
        }
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
