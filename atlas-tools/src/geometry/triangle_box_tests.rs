use proptest::prelude::*;

use super::*;

const WINDOW: Window3 = Window3 { size: [6, 6, 6] };

fn voxels(triangle: Triangle, window: Window3) -> Vec<[u32; 3]> {
    let mut voxels = Vec::new();
    voxels_of(triangle, window, &mut |voxel| voxels.push(voxel));
    voxels
}

fn sorted(mut voxels: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
    voxels.sort_unstable();
    voxels
}

/// All boxes of a window against all thirteen axes, each box on its own: the definition, slowly.
fn by_all_axes(triangle: Triangle, window: Window3) -> Vec<[u32; 3]> {
    let corners = triangle.map(|corner| corner.map(i128::from));
    let edge = |a: usize, b: usize| -> [i128; 3] { std::array::from_fn(|axis| corners[b][axis] - corners[a][axis]) };
    let edges = [edge(0, 1), edge(1, 2), edge(2, 0)];
    let unit = |axis: usize| -> [i128; 3] { std::array::from_fn(|other| i128::from(axis == other)) };
    let mut axes = vec![cross(edges[0], edges[1])];
    for axis in 0..3 {
        axes.push(unit(axis));
        axes.extend(edges.map(|edge| cross(edge, unit(axis))));
    }
    let is_apart = |voxel: [u32; 3], axis: [i128; 3]| {
        let along = |point: [i128; 3]| dot(axis, point);
        let triangle = corners.map(along);
        let (min, max) = (triangle.into_iter().min().unwrap(), triangle.into_iter().max().unwrap());
        // The eight corners of the box, each with whether it stands on an open side that this axis sees.
        let corner = |nth: usize| {
            let far: [bool; 3] = std::array::from_fn(|axis| nth >> axis & 1 == 1);
            let at = std::array::from_fn(|axis| (i128::from(voxel[axis]) + i128::from(far[axis])) * 256);
            let is_open = (0..3).any(|side| axis[side] != 0 && far[side] == (side != 1));
            (along(at), is_open)
        };
        let corners: Vec<_> = (0..8).map(corner).collect();
        let (top, bottom) = (corners.iter().map(|c| c.0).max().unwrap(), corners.iter().map(|c| c.0).min().unwrap());
        // An extreme is reached if any corner there is closed.
        let reached = |value: i128| corners.iter().any(|&(at, is_open)| at == value && !is_open);
        min > top || max < bottom || (min == top && !reached(top)) || (max == bottom && !reached(bottom))
    };
    let mut found = Vec::new();
    for x in 0..window.size[0] {
        for y in 0..window.size[1] {
            for z in 0..window.size[2] {
                if !axes.iter().any(|&axis| is_apart([x, y, z], axis)) {
                    found.push([x, y, z]);
                }
            }
        }
    }
    found
}

/// Clips the triangle by the box, in f64: how much of it is left inside a box that is larger by `margin` units.
fn clipped(triangle: Triangle, voxel: [u32; 3], margin: f64) -> bool {
    let mut polygon: Vec<[f64; 3]> = triangle.iter().map(|corner| corner.map(|c| c as f64)).collect();
    for axis in 0..3 {
        let low = f64::from(voxel[axis]) * 256.0 - margin;
        let high = f64::from(voxel[axis] + 1) * 256.0 + margin;
        for (sign, limit) in [(1.0, low), (-1.0, -high)] {
            let depth = |p: &[f64; 3]| sign * p[axis] - limit;
            let mut kept = Vec::new();
            for (a, b) in polygon.iter().zip(polygon.iter().cycle().skip(1)) {
                let (da, db) = (depth(a), depth(b));
                if da >= 0.0 {
                    kept.push(*a);
                }
                if (da > 0.0 && db < 0.0) || (da < 0.0 && db > 0.0) {
                    kept.push(std::array::from_fn(|c| a[c] + (b[c] - a[c]) * (da / (da - db))));
                }
            }
            polygon = kept;
        }
    }
    !polygon.is_empty()
}

/// Corners on voxel planes as often as not.
fn coordinate() -> impl Strategy<Value = i64> {
    prop_oneof![-2i64..9, -512i64..2048].prop_map(|c| if c < 9 && c > -3 { c * 256 } else { c })
}

fn corner() -> impl Strategy<Value = [i64; 3]> {
    prop::array::uniform3(coordinate())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_walk_finds_what_all_axes_find(triangle in prop::array::uniform3(corner())) {
        let found = voxels(triangle, WINDOW);
        let unique = sorted(found.clone());
        prop_assert!(unique.windows(2).all(|pair| pair[0] != pair[1]), "visited twice");
        prop_assert_eq!(unique, by_all_axes(triangle, WINDOW));
    }

    #[test]
    fn segments_and_points_too(a in corner(), b in corner(), share in 0..=4i64, order in 0..6usize) {
        let between = std::array::from_fn(|axis| a[axis] + (b[axis] - a[axis]) / 4 * share);
        let mut triangle = [a, b, between];
        triangle.rotate_left(order % 3);
        if order > 2 {
            triangle.swap(0, 1);
        }
        prop_assert_eq!(sorted(voxels(triangle, WINDOW)), by_all_axes(triangle, WINDOW));
        prop_assert_eq!(sorted(voxels([a; 3], WINDOW)), by_all_axes([a; 3], WINDOW));
    }

    #[test]
    fn clipping_agrees_wherever_it_is_sure(triangle in prop::array::uniform3(prop::array::uniform3(-512i64..2048))) {
        let found = voxels(triangle, WINDOW);
        for x in 0..6 {
            for y in 0..6 {
                for z in 0..6 {
                    let is_found = found.contains(&[x, y, z]);
                    prop_assert!(is_found || !clipped(triangle, [x, y, z], -1e-6), "missed {:?}", [x, y, z]);
                    prop_assert!(!is_found || clipped(triangle, [x, y, z], 1e-6), "added {:?}", [x, y, z]);
                }
            }
        }
    }

    #[test]
    fn the_window_does_not_matter(
        triangle in prop::array::uniform3(corner()),
        shift in prop::array::uniform3(-3i64..=3),
        is_wide in any::<bool>(),
    ) {
        // Far away in another count of numbers, too.
        let far = if is_wide { 1i64 << 30 } else { 0 };
        let moved = triangle.map(|corner| std::array::from_fn(|axis| corner[axis] + shift[axis] * 256));
        let expected: Vec<_> = voxels(triangle, WINDOW);
        let shifted = |voxel: [u32; 3]| -> [i64; 3] { std::array::from_fn(|axis| i64::from(voxel[axis]) + shift[axis]) };
        let is_common = |voxel: &[i64; 3]| voxel.iter().all(|c| (0..6).contains(c));
        let here: Vec<[i64; 3]> = expected.into_iter().map(shifted).filter(is_common).collect();
        let back = |voxel: [u32; 3]| -> [i64; 3] { voxel.map(i64::from) };
        let from_other = |voxel: &[i64; 3]| (0..3).all(|axis| (0..6).contains(&(voxel[axis] - shift[axis])));
        let there: Vec<[i64; 3]> = voxels(moved, WINDOW).into_iter().map(back).filter(from_other).collect();
        prop_assert_eq!(here, there);
        let window = Window3 { size: [6, 6, if is_wide { 1 << 24 } else { 6 }] };
        let mut wide = voxels(triangle, window);
        wide.retain(|voxel| voxel[2] < 6);
        prop_assert_eq!(wide, voxels(triangle, WINDOW));
        prop_assert!(voxels(triangle.map(|corner| corner.map(|c| c + far + 6 * 256 * 4)), WINDOW).is_empty());
    }

    #[test]
    fn weights_are_weights(triangle in prop::array::uniform3(corner()), voxel in prop::array::uniform3(0u32..6)) {
        let weights = barycentric_at(triangle, voxel);
        prop_assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)), "{:?}", weights);
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", weights);
    }
}

/// The faces of a box, two triangles each.
fn box_faces([x0, y0, z0]: [i64; 3], [x1, y1, z1]: [i64; 3]) -> Vec<Triangle> {
    let corner = |nth: usize| -> [i64; 3] {
        [if nth & 1 == 1 { x1 } else { x0 }, if nth & 2 == 2 { y1 } else { y0 }, if nth & 4 == 4 { z1 } else { z0 }]
    };
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    faces.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).map(|face| face.map(corner)).collect()
}

#[test]
fn faces_on_voxel_planes_fill_one_layer() {
    // North and west faces fill the layer inside the box, south and east faces the one outside; a roof fills the layer
    // below it, and a floor too.
    let mut found: Vec<_> =
        box_faces([256, 256, 256], [768, 768, 768]).into_iter().flat_map(|face| voxels(face, WINDOW)).collect();
    found.sort_unstable();
    found.dedup();
    let shell = |voxel: &[u32; 3]| {
        let [x, y, z] = *voxel;
        let within = (1..=3).contains(&x) && (0..=2).contains(&y) && (1..=3).contains(&z);
        within && (x == 1 || x == 3 || y == 0 || y == 2 || z == 1 || z == 3)
    };
    let all = (0..216).map(|nth| [nth / 36, nth / 6 % 6, nth % 6]);
    assert_eq!(found, all.filter(shell).collect::<Vec<_>>());
}

#[test]
fn a_wall_across_many_windows_is_one_wall() {
    // Ten kilometres of wall, counted in i128, against its own mirror image cut into pieces.
    let wall = [[-3_000_000, -40, 700], [3_000_001, -40, 900], [3_000_001, 700, 900]];
    let window = Window3 { size: [256, 256, 256] };
    let mut beside = Vec::new();
    for tile in -2i64..=2 {
        let moved = wall.map(|[x, y, z]| [x - tile * 65_536, y, z]);
        beside.extend(
            voxels(moved, window).into_iter().map(|[x, y, z]| [i64::from(x) + tile * 256, i64::from(y), i64::from(z)]),
        );
    }
    let whole = wall.map(|[x, y, z]| [x + 2 * 65_536, y, z]);
    let mut at_once: Vec<_> = voxels(whole, Window3 { size: [5 * 256, 256, 256] })
        .into_iter()
        .map(|[x, y, z]| [i64::from(x) - 512, i64::from(y), i64::from(z)])
        .collect();
    beside.sort_unstable();
    at_once.sort_unstable();
    assert!(!at_once.is_empty());
    assert_eq!(beside, at_once);
}

#[test]
fn absurd_coordinates_are_passed_over() {
    assert!(voxels([[0, 0, 0], [i64::MAX, 0, 0], [0, i64::MIN, 0]], WINDOW).is_empty());
    let far = 1i64 << 40;
    let large = [[-far, 100, -far], [far, 100, -far], [0, 100, far]];
    assert_eq!(voxels(large, WINDOW).len(), 36);
    assert!(voxels(large, Window3 { size: [0, 6, 6] }).is_empty());
}

#[test]
fn weights_follow_the_corners() {
    let wall = [[0, 0, 128], [1024, 0, 128], [0, 1024, 128]];
    assert_eq!(barycentric_at(wall, [0, 0, 0]), [0.75, 0.125, 0.125]);
    // Beside the long edge, and at the far end of a segment.
    let [a, b, c] = barycentric_at(wall, [3, 3, 0]);
    assert_eq!((a, b, c), (0.0, 0.5, 0.5));
    assert_eq!(barycentric_at([[0, 0, 0], [0, 0, 0], [512, 0, 0]], [5, 0, 0]), [0.0, 0.0, 1.0]);
    assert_eq!(barycentric_at([[7, 7, 7]; 3], [0, 0, 0]), [1.0, 0.0, 0.0]);
}
