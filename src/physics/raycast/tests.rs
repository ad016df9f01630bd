//! The ray caster against exact arithmetic, against itself without skipping, and on the rules for edges.

use proptest::prelude::*;

use super::*;

/// A region with some voxels, and its bricks.
fn region(voxels: &[[u32; 3]]) -> (Occupancy, BrickMask) {
    let mut occupancy = Occupancy::empty();
    for &[x, y, z] in voxels {
        occupancy.set(x, y, z, true);
    }
    let bricks = occupancy.brick_mask();
    (occupancy, bricks)
}

fn check(voxels: &[[u32; 3]], origin: [f64; 3], direction: [f64; 3], expected: Option<([i64; 3], Option<Face>, f64)>) {
    let (occupancy, bricks) = region(voxels);
    let ray = Ray { origin: DVec3::from_array(origin), direction: DVec3::from_array(direction), t_max: 1000.0 };
    let hit = cast_in_region(&ray, Solid { occupancy: &occupancy, bricks: &bricks });
    assert_eq!(hit.map(|hit| (hit.voxel, hit.face, hit.t)), expected, "{origin:?} -> {direction:?}");
}

#[test]
fn along_each_axis_the_near_face_is_hit() {
    let voxel = [[100, 101, 102]];
    let at = [100, 101, 102];
    for (origin, direction, face) in [
        ([50.5, 101.5, 102.5], [1.0, 0.0, 0.0], Face::NegX),
        ([151.0, 101.5, 102.5], [-1.0, 0.0, 0.0], Face::PosX),
        ([100.5, 51.5, 102.5], [0.0, 1.0, 0.0], Face::NegY),
        ([100.5, 151.5, 102.5], [-0.0, -1.0, 0.0], Face::PosY),
        ([100.5, 101.5, 52.5], [0.0, -0.0, 1.0], Face::NegZ),
        ([100.5, 101.5, 152.5], [0.0, 0.0, -1.0], Face::PosZ),
    ] {
        let t = if origin[0] == 151.0 { 50.0 } else { 49.5 };
        check(&voxel, origin, direction, Some((at, Some(face), t)));
        check(&voxel, origin, direction.map(|c| -c), None);
        // Twice the direction: half the t.
        check(&voxel, origin, direction.map(|c| 2.0 * c), Some((at, Some(face), t / 2.0)));
    }
}

#[test]
fn a_ray_that_begins_inside_hits_at_once() {
    check(&[[7, 7, 7]], [7.5, 7.0, 7.999], [0.3, -0.2, 0.1], Some(([7, 7, 7], None, 0.0)));
    check(&[[7, 7, 7]], [7.5, 7.5, 7.5], [0.0, 0.0, 0.0], Some(([7, 7, 7], None, 0.0)));
    check(&[[7, 7, 7]], [8.5, 7.5, 7.5], [0.0, 0.0, 0.0], None);
}

#[test]
fn a_plane_belongs_to_its_positive_side() {
    // The ray runs in the plane x = 8, between voxels 7 and 8.
    let along = ([8.0, 7.5, 0.5], [0.0, 0.0, 1.0]);
    check(&[[8, 7, 20]], along.0, along.1, Some(([8, 7, 20], Some(Face::NegZ), 19.5)));
    check(&[[7, 7, 20]], along.0, along.1, None);
    // It begins in the plane and goes to the negative side: out of voxel 8, at once into 7.
    check(&[[7, 7, 7]], [8.0, 7.5, 7.5], [-1.0, 0.0, 0.0], Some(([7, 7, 7], Some(Face::PosX), 0.0)));
}

#[test]
fn through_an_edge_x_comes_before_y_before_z() {
    // Exactly through the edge x = 8, y = 8; and through the corner 8, 8, 8.
    let edge = ([6.0, 6.0, 7.5], [1.0, 1.0, 0.0]);
    check(&[[8, 7, 7], [7, 8, 7]], edge.0, edge.1, Some(([8, 7, 7], Some(Face::NegX), 2.0)));
    check(&[[7, 8, 7]], edge.0, edge.1, None);
    check(&[[7, 8, 7], [8, 8, 7]], edge.0, edge.1, Some(([8, 8, 7], Some(Face::NegY), 2.0)));
    // No ray slips between two voxels that touch along the edge: to either diagonal one of them stands in its way.
    let falling = ([6.0, 10.0, 7.5], [1.0, -1.0, 0.0]);
    check(&[[7, 7, 7], [8, 8, 7]], falling.0, falling.1, Some(([8, 8, 7], Some(Face::NegX), 2.0)));
    let corner = ([4.0, 4.0, 4.0], [1.0, 1.0, 1.0]);
    check(&[[8, 7, 7]], corner.0, corner.1, Some(([8, 7, 7], Some(Face::NegX), 4.0)));
    check(&[[8, 8, 7]], corner.0, corner.1, Some(([8, 8, 7], Some(Face::NegY), 4.0)));
    check(&[[8, 8, 8]], corner.0, corner.1, Some(([8, 8, 8], Some(Face::NegZ), 4.0)));
    check(&[[7, 7, 8]], corner.0, corner.1, None);
    // The same through the corner of four bricks and of the region: skipping changes nothing.
    check(&[[16, 15, 15]], corner.0, corner.1, Some(([16, 15, 15], Some(Face::NegX), 12.0)));
    check(&[[16, 16, 15]], corner.0, corner.1, Some(([16, 16, 15], Some(Face::NegY), 12.0)));
    check(&[[0, 0, 0]], [-3.0; 3], [1.0; 3], Some(([0, 0, 0], Some(Face::NegZ), 3.0)));
}

#[test]
fn what_is_no_ray_hits_nothing() {
    let full = [[0, 0, 0]];
    check(&full, [f64::NAN, 0.5, 0.5], [1.0, 0.0, 0.0], None);
    check(&full, [0.5, f64::INFINITY, 0.5], [1.0, 0.0, 0.0], None);
    check(&full, [0.5; 3], [f64::NAN, 0.0, 0.0], None);
    check(&full, [-5.0, 0.5, 0.5], [f64::INFINITY, 0.0, 0.0], None);
    check(&full, [1e300, 0.5, 0.5], [-1.0, 0.0, 0.0], None);
    // A direction so short that the plane is beyond every number, and the end of the ray.
    check(&full, [-5.0, 0.5, 0.5], [1e-310, 0.0, 0.0], None);
    check(&full, [-1000.5, 0.5, 0.5], [1.0, 0.0, 0.0], None);
    check(&full, [-1000.0, 0.5, 0.5], [1.0, 0.0, 0.0], Some(([0, 0, 0], Some(Face::NegX), 1000.0)));
}

#[test]
fn an_endless_ray_through_nothing_ends() {
    let ray = Ray {
        origin: DVec3::new(29_802_394.5, 100.0, 13_215_602.5),
        direction: DVec3::new(0.6, 0.0, 0.8),
        t_max: f64::INFINITY,
    };
    let mut n_asked = 0;
    let hit = cast(&ray, -32, |_| {
        n_asked += 1;
        None
    });
    assert_eq!(hit, None);
    assert!(n_asked > 1000 && n_asked < 300_000, "{n_asked}");
}

#[test]
fn the_next_region_is_found_across_the_antimeridian_and_above() {
    let (occupancy, bricks) = region(&[[5, 6, 7]]);
    let solid = Solid { occupancy: &occupancy, bricks: &bricks };
    let first = RegionKey::new("17/0/500".parse().unwrap(), 1);
    let world = f64::from(WORLD_VOXELS);
    // From the last column, and from layer 0 (its ceiling is at y = 224), to the east and upwards.
    let origin = DVec3::new(world - 20.0, 205.5, 500.0 * 256.0 + 7.5);
    let direction = DVec3::new(25.5, 25.0, 0.0);
    let hit = cast(&Ray { origin, direction, t_max: 2.0 }, -32, |key| (key == first).then_some(solid)).unwrap();
    assert_eq!(hit.voxel, [i64::from(WORLD_VOXELS) + 5, 230, 500 * 256 + 7]);
    assert_eq!(first.local(-32, hit.voxel), Some([5, 6, 7]));
    assert_eq!((hit.face, hit.t), (Some(Face::NegX), 25.0 / 25.5));
}

/// Where a ray with small whole numbers is inside of a closed voxel: from and to as fractions with one denominator
/// (exact), `None` where it misses it. Coordinates are in eighths.
fn exact_span(origin: [i64; 3], direction: [i64; 3], voxel: [i64; 3]) -> Option<(i64, i64, i64)> {
    let n: i64 = direction.iter().filter(|&&d| d != 0).map(|d| d.abs()).product();
    let (mut from, mut to) = (0, i64::MAX);
    for axis in 0..3 {
        let (low, high) = (voxel[axis] * 8 - origin[axis], voxel[axis] * 8 + 8 - origin[axis]);
        let d = direction[axis];
        if d == 0 {
            // In the plane of its lower side counts as inside, of its upper side as outside: the rule of the floor.
            if !(low..high).contains(&0) {
                return None;
            }
        } else {
            let (a, b) = (low * (n / d), high * (n / d));
            from = from.max(a.min(b));
            to = to.min(a.max(b));
        }
    }
    (from <= to && n > 0).then_some((from, to, n * 8))
}

fn small_world() -> impl Strategy<Value = Vec<[u32; 3]>> {
    // Around the corner of eight bricks, so that both skipping and stepping happen.
    prop::collection::vec([10u32..22, 10u32..22, 10u32..22], 1..40)
}

proptest! {
    #[test]
    fn hits_are_those_of_exact_arithmetic(
        voxels in small_world(),
        origin in [0i64..256, 0..256, 0..256],
        direction in [-5i64..=5, -5..=5, -5..=5],
    ) {
        prop_assume!(direction != [0; 3]);
        let (occupancy, bricks) = region(&voxels);
        // Origins in eighths and small whole directions meet edges and corners all the time.
        let ray = Ray {
            origin: DVec3::from_array(origin.map(|c| c as f64 / 8.0)),
            direction: DVec3::from_array(direction.map(|c| c as f64)),
            t_max: 1000.0,
        };
        let hit = cast_in_region(&ray, Solid { occupancy: &occupancy, bricks: &bricks });
        let spans: Vec<_> = voxels.iter()
            .filter_map(|voxel| exact_span(origin, direction, voxel.map(i64::from)).map(|span| (voxel.map(i64::from), span)))
            .collect();
        // What the ray runs through for some length must be hit, or something before it.
        let first_through = spans.iter().filter(|(_, (from, to, _))| from < to)
            .map(|(_, (from, _, n))| *from as f64 / *n as f64).fold(f64::INFINITY, f64::min);
        match hit {
            None => prop_assert_eq!(first_through, f64::INFINITY),
            Some(hit) => {
                let (_, (from, _, n)) = spans.iter().find(|(voxel, _)| *voxel == hit.voxel).copied()
                    .ok_or_else(|| TestCaseError::fail("the voxel that was hit is not occupied, or not touched"))?;
                let t = from as f64 / n as f64;
                prop_assert!((hit.t - t).abs() <= 1e-12 * t.max(1.0), "{} is not {}", hit.t, t);
                prop_assert!(hit.t <= first_through + 1e-12 * hit.t.max(1.0));
                // The ray really enters through that face.
                match hit.face {
                    None => prop_assert!(voxel_of(ray.origin) == Some(hit.voxel)),
                    Some(face) => {
                        let axis = face.axis();
                        let plane = hit.voxel[axis] + i64::from(face.is_positive());
                        prop_assert_eq!(hit.t, (plane as f64 - ray.origin[axis]) / ray.direction[axis]);
                        prop_assert_eq!(face.is_positive(), ray.direction[axis] < 0.0);
                    }
                }
            }
        }
    }

    #[test]
    fn skipping_changes_nothing(
        voxels in small_world(),
        origin in [-300.0..300.0, -300.0..300.0, -300.0..300.0],
        at in [10.0..22.0, 10.0..22.0, 10.0..22.0],
        on_grid in any::<bool>(),
    ) {
        let (occupancy, bricks) = region(&voxels);
        let mut all_bricks = BrickMask::default();
        for brick in 0..4096 {
            all_bricks.insert(brick % 16, brick / 16 % 16, brick / 256);
        }
        let snap = |c: f64| if on_grid { c.round() } else { c };
        let origin = DVec3::from_array(origin.map(snap));
        let ray = Ray { origin, direction: DVec3::from_array(at.map(snap)) - origin, t_max: 2.0 };
        let skipping = cast_in_region(&ray, Solid { occupancy: &occupancy, bricks: &bricks });
        prop_assert_eq!(skipping, cast_in_region(&ray, Solid { occupancy: &occupancy, bricks: &all_bricks }));
        // And voxel by voxel without regions either.
        let mut walker = Walker::new(&ray, [0; 3]).unwrap();
        let stepped = loop {
            let [x, y, z] = walker.voxel;
            if walker.voxel.iter().all(|c| (0..256).contains(c)) && occupancy.get(x as u32, y as u32, z as u32) {
                break Some(Hit { voxel: walker.voxel, face: walker.face, t: walker.t });
            }
            if walker.leave_block(1).is_none() {
                break None;
            }
        };
        prop_assert_eq!(skipping, stepped);
    }

    #[test]
    fn the_world_is_the_region_moved(
        voxels in small_world(), from in [-40i64..290, -40..290, -40..290], at in [80i64..176, 80..176, 80..176], base in -3i32..3,
    ) {
        let (occupancy, bricks) = region(&voxels);
        let solid = Solid { occupancy: &occupancy, bricks: &bricks };
        let key = RegionKey::new("17/116415/51623".parse().unwrap(), 1);
        let base = base * 32;
        let offset = DVec3::from_array(key.origin(base).map(|c| c as f64));
        // Eighths of a voxel: exact in both places.
        let origin = DVec3::from_array(from.map(|c| c as f64 + 0.125));
        let local = Ray { origin, direction: DVec3::from_array(at.map(|c| c as f64 / 8.0)) - origin, t_max: 3.0 };
        let world = Ray { origin: origin + offset, ..local };
        let expected = cast_in_region(&local, solid);
        let hit = cast(&world, base, |asked| (asked == key).then_some(solid));
        let moved = expected.map(|hit| Hit { voxel: std::array::from_fn(|axis| hit.voxel[axis] + key.origin(base)[axis]), ..hit });
        prop_assert_eq!(hit, moved);
    }
}
