use proptest::prelude::*;

use super::*;

/// World z at which a voxel is a metre and a bit: the equator.
const EQUATOR_Z: f64 = (1 << 24) as f64;

fn place([x, y, z]: [f64; 3]) -> Place {
    let z = EQUATOR_Z + z;
    Place { x: 1000.0 + x, z, height_m: y * metres_per_voxel_at(EQUATOR_Z) }
}

fn ring(points: &[[f64; 3]]) -> Vec<Place> {
    points.iter().copied().map(place).collect()
}

/// A ring on the ground, x and z.
fn flat_ring(points: &[[f64; 2]]) -> Vec<Place> {
    points.iter().map(|&[x, z]| place([x, 0.0, z])).collect()
}

fn check(rings: &[Vec<Place>]) -> (Vec<[Place; 3]>, Vec<Problem>) {
    let mut problems = Vec::new();
    let triangles = triangulate(rings, &mut |problem| problems.push(problem));
    (triangles, problems)
}

/// The sum of the triangles' areas as vectors: a half of what Newell says of the face.
fn area_vector(triangles: &[[Place; 3]]) -> [f64; 3] {
    let voxel_m = metres_per_voxel_at(EQUATOR_Z);
    let mut sum = [0.0; 3];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|p| [p.x, p.height_m / voxel_m, p.z]);
        let normal = cross(minus(b, a), minus(c, a));
        for axis in 0..3 {
            sum[axis] += normal[axis] / 2.0;
        }
    }
    sum
}

/// The sum of the triangles' areas.
fn area(triangles: &[[Place; 3]]) -> f64 {
    triangles.iter().map(|&triangle| length(area_vector(&[triangle]))).sum()
}

#[track_caller]
fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} is not {b}");
}

const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [0.0, 10.0], [10.0, 10.0], [10.0, 0.0]];

#[test]
fn winding_is_kept_on_every_side() {
    // z, then x: anticlockwise seen from above, a face that looks up.
    let (triangles, problems) = check(&[flat_ring(&SQUARE)]);
    assert_eq!((triangles.len(), problems.len()), (2, 0));
    assert_near(area_vector(&triangles)[1], 100.0);
    let mut turned = flat_ring(&SQUARE);
    turned.reverse();
    assert_near(area_vector(&check(&[turned]).0)[1], -100.0);
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let wall = SQUARE.map(|[a, b]| {
            let mut point = [0.0; 3];
            (point[u], point[v], point[axis]) = (b, a, 0.3 * a);
            point
        });
        let (triangles, problems) = check(&[ring(&wall)]);
        assert_eq!(problems, []);
        assert_near(area_vector(&triangles)[axis], 100.0);
    }
}

#[test]
fn holes_are_left_open_whichever_way_they_turn() {
    let hole = |x: f64, z: f64| vec![[x, z], [x + 2.0, z], [x + 2.0, z + 2.0], [x, z + 2.0]];
    let mut turned = hole(5.0, 5.0);
    turned.reverse();
    let rings = [flat_ring(&SQUARE), flat_ring(&hole(1.0, 1.0)), flat_ring(&turned)];
    let (triangles, problems) = check(&rings);
    assert_eq!(problems, []);
    assert_near(area(&triangles), 92.0);
    assert_near(area_vector(&triangles)[1], 92.0);
    // A hole that touches the outer ring in a corner.
    let (triangles, problems) = check(&[flat_ring(&SQUARE), flat_ring(&[[0.0, 0.0], [3.0, 1.0], [1.0, 3.0]])]);
    assert_eq!(problems, []);
    assert_near(area(&triangles), 96.0);
}

#[test]
fn closed_rings_and_repetitions() {
    let mut closed = flat_ring(&SQUARE);
    closed.push(closed[0]);
    assert_eq!(check(&[closed.clone()]), check(&[flat_ring(&SQUARE)]));
    closed.insert(2, closed[2]);
    closed.push(closed[0]);
    let (triangles, problems) = check(&[closed]);
    assert_eq!(problems, [Problem::DuplicatePoints]);
    assert_near(area(&triangles), 100.0);
}

#[test]
fn what_has_no_area_is_left_out() {
    for points in [&[][..], &[[1.0, 1.0]], &[[1.0, 1.0], [2.0, 2.0]], &[[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [2.0, 2.0]]]
    {
        assert_eq!(check(&[flat_ring(points)]), (vec![], vec![Problem::DegenerateRing]), "{points:?}");
    }
    assert_eq!(check(&[]), (vec![], vec![]));
    let (triangles, problems) = check(&[flat_ring(&SQUARE), flat_ring(&[[1.0, 1.0], [2.0, 2.0]])]);
    assert_eq!(problems, [Problem::DegenerateRing]);
    assert_near(area(&triangles), 100.0);
}

#[test]
fn coordinates_that_are_none_lose_their_ring_only() {
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut square = flat_ring(&SQUARE);
        square[1].height_m = bad;
        assert_eq!(check(&[square.clone()]), (vec![], vec![Problem::BadCoordinate]));
        let (triangles, problems) = check(&[flat_ring(&SQUARE), square]);
        assert_eq!(problems, [Problem::BadCoordinate]);
        assert_near(area(&triangles), 100.0);
    }
}

#[test]
fn rings_that_cross_are_filled_by_the_even_odd_rule() {
    // A figure of eight, whose Newell normal vanishes.
    let eight = [[0.0, 0.0], [10.0, 10.0], [10.0, 0.0], [0.0, 10.0]];
    let (triangles, problems) = check(&[flat_ring(&eight)]);
    assert_eq!(problems, [Problem::CrossingRing]);
    assert_near(area(&triangles), 50.0);
    // A five-pointed star: its middle is wound twice and open.
    let star: Vec<[f64; 2]> = (0..5)
        .map(|n| 2.0 * std::f64::consts::TAU / 5.0 * f64::from(n))
        .map(|angle| [10.0 * libm::cos(angle), 10.0 * libm::sin(angle)])
        .collect();
    let (triangles, problems) = check(&[flat_ring(&star)]);
    assert_eq!(problems, [Problem::CrossingRing]);
    // Five tips, each 4.490 wide and 6.910 high.
    assert!((area(&triangles) - 77.57).abs() < 0.01, "{}", area(&triangles));
    // A hole that sticks out, and one that lies outside.
    let (triangles, problems) =
        check(&[flat_ring(&SQUARE), flat_ring(&[[8.0, 4.0], [12.0, 4.0], [12.0, 6.0], [8.0, 6.0]])]);
    assert_eq!(problems, [Problem::CrossingRing]);
    assert_near(area(&triangles), 100.0 - 4.0 + 4.0);
    let (triangles, problems) =
        check(&[flat_ring(&SQUARE), flat_ring(&[[20.0, 0.0], [22.0, 0.0], [22.0, 2.0], [20.0, 2.0]])]);
    assert_eq!(problems, [Problem::CrossingRing]);
    assert_near(area(&triangles), 104.0);
}

#[test]
fn rings_may_cross_in_a_corner() {
    // A loop that begins and ends in a corner of the ring and lies inside it, wound as the ring is: no two edges cross,
    // and the loop is a hole all the same.
    let square = &[[0.0, 10.0], [10.0, 10.0], [10.0, 0.0]];
    let looped = [&[[0.0, 0.0], [2.0, 4.0], [4.0, 2.0], [0.0, 0.0]][..], square].concat();
    let (triangles, problems) = check(&[flat_ring(&looped)]);
    assert_eq!(problems, [Problem::CrossingRing]);
    assert_near(area(&triangles), 100.0 - 6.0);
    // Wound the other way it is the hole that it seems to be, joined to the ring as files without holes have it.
    let joined = [&[[0.0, 0.0], [4.0, 2.0], [2.0, 4.0], [0.0, 0.0]][..], square].concat();
    let (triangles, problems) = check(&[flat_ring(&joined)]);
    assert_eq!(problems, []);
    assert_near(area(&triangles), 100.0 - 6.0);
}

#[test]
fn a_bent_face_is_told_and_keeps_its_corners() {
    let bent = [[0.0, 0.0, 0.0], [0.0, 0.0, 10.0], [10.0, 4.0, 10.0], [10.0, 0.0, 0.0]];
    let (triangles, problems) = check(&[ring(&bent)]);
    assert_eq!(problems, [Problem::NonPlanarFace]);
    let corners: Vec<Place> = triangles.into_iter().flatten().collect();
    assert!(ring(&bent).iter().all(|corner| corners.contains(corner)));
}

#[test]
fn images_follow_their_corners() {
    let uvs = vec![[0.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    let at = |uv: [f32; 2]| place([f64::from(uv[0]) * 10.0, 0.0, f64::from(uv[1]) * 10.0]);
    let (triangles, found) = triangulate_textured(&[flat_ring(&SQUARE)], std::slice::from_ref(&uvs), &mut |_| {});
    assert_eq!(triangles.len(), found.len());
    for (corner, uv) in triangles.iter().flatten().zip(found.iter().flatten()) {
        assert_eq!(*corner, at(*uv));
    }
    // Crossing edges make a new point, half-way in the image too.
    let eight = [SQUARE[0], SQUARE[2], SQUARE[3], SQUARE[1]];
    let crossed = vec![uvs[0], uvs[2], uvs[3], uvs[1]];
    let (triangles, found) = triangulate_textured(&[flat_ring(&eight)], &[crossed], &mut |_| {});
    assert!(found.iter().flatten().any(|uv| (uv[0] - 0.5).abs() < 1e-6 && (uv[1] - 0.5).abs() < 1e-6));
    for (corner, uv) in triangles.iter().flatten().zip(found.iter().flatten()) {
        assert!((corner.x - at(*uv).x).abs() < 1e-5 && (corner.z - at(*uv).z).abs() < 1e-5);
    }
    // Too few of them: the image's corner.
    let (_, found) = triangulate_textured(&[flat_ring(&SQUARE)], &[], &mut |_| {});
    assert!(found.iter().flatten().all(|uv| *uv == [0.0, 0.0]));
}

#[test]
fn too_large_a_face_is_left_out() {
    let points: Vec<[f64; 2]> = (0..20_000).map(|n| [f64::from(n), f64::from(n % 2) + 1.0]).collect();
    assert_eq!(check(&[flat_ring(&points)]), (vec![], vec![Problem::UntriangulatedFace]));
}

/// A ring round the origin that does not cross itself: a distance for each of its directions.
fn star_shaped(distances: &[f64], scale: f64) -> Vec<[f64; 2]> {
    let step = std::f64::consts::TAU / distances.len() as f64;
    let at = |(n, distance): (usize, &f64)| {
        let angle = step * n as f64;
        [scale * distance * libm::sin(angle), scale * distance * libm::cos(angle)]
    };
    distances.iter().enumerate().map(at).collect()
}

fn ring_area(points: &[[f64; 2]]) -> f64 {
    doubled(points).abs() / 2.0
}

fn doubled(points: &[[f64; 2]]) -> f64 {
    points.iter().zip(points.iter().cycle().skip(1)).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn simple_faces_are_covered_once_and_share_their_edges(
        distances in prop::collection::vec(5.0..20.0f64, 3..120),
        slope in [-2.0..2.0f64, -2.0..2.0f64],
        has_hole in any::<bool>(),
    ) {
        let outer = star_shaped(&distances, 1.0);
        let hole = star_shaped(&distances, 0.5);
        let lift = |points: &[[f64; 2]]| -> Vec<Place> {
            points.iter().map(|&[x, z]| place([x, slope[0] * x + slope[1] * z, z])).collect()
        };
        let mut rings = vec![lift(&outer)];
        let mut expected = ring_area(&outer);
        if has_hole {
            rings.push(lift(&hole));
            expected -= ring_area(&hole);
        }
        let (triangles, problems) = check(&rings);
        prop_assert_eq!(problems, []);
        // Seen from above.
        let seen: f64 = triangles.iter().map(|&triangle| area_vector(&[triangle])[1].abs()).sum();
        prop_assert!((seen - expected).abs() < 1e-3 * expected, "{} is not {}", seen, expected);
        prop_assert!((area_vector(&triangles)[1].abs() - expected).abs() < 1e-3 * expected);
        prop_assert_eq!(triangles.len(), if has_hole { 2 * distances.len() } else { distances.len() - 2 });
    }

    #[test]
    fn anything_is_survived(
        rings in prop::collection::vec(prop::collection::vec([0i8..6, 0i8..6, 0i8..3], 0..24), 0..4),
    ) {
        // On a coarse grid: edges overlap, points repeat, everything touches.
        let rings: Vec<Vec<Place>> = rings
            .iter()
            .map(|points| points.iter().map(|point| place(point.map(f64::from))).collect())
            .collect();
        let (triangles, _) = check(&rings);
        prop_assert!(triangles.iter().flatten().all(|corner| corner.x.is_finite() && corner.height_m.is_finite()));
    }

    #[test]
    fn crossing_rings_cover_what_the_even_odd_rule_says(points in prop::collection::vec([0i8..9, 0i8..9], 3..14)) {
        let points: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::from)).collect();
        let (triangles, problems) = check(&[flat_ring(&points)]);
        if problems.contains(&Problem::DegenerateRing) {
            return Ok(());
        }
        // By counting: at points that lie on no edge.
        let is_in = |ring: &[[f64; 2]], [x, z]: [f64; 2]| {
            ring.iter().zip(ring.iter().cycle().skip(1)).fold(false, |inside, (a, b)| {
                let crosses = (a[1] > z) != (b[1] > z) && x < (b[0] - a[0]) * (z - a[1]) / (b[1] - a[1]) + a[0];
                inside ^ crosses
            })
        };
        for (x, z) in (0..100).map(|n| (f64::from(n / 10) - 0.337, f64::from(n % 10) - 0.219)) {
            let n_covering = triangles
                .iter()
                .filter(|triangle| is_in(&triangle.map(|p| [p.x - 1000.0, p.z - EQUATOR_Z]), [x, z]))
                .count();
            prop_assert_eq!(n_covering, usize::from(is_in(&points, [x, z])), "{} {}", x, z);
        }
    }
}
