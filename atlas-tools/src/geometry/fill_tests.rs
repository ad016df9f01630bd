use proptest::prelude::*;

use super::*;

const WINDOW: Window3 = Window3 { size: [8, 8, 8] };

/// A box as twelve triangles that face outwards.
fn cuboid([x0, y0, z0]: [i64; 3], [x1, y1, z1]: [i64; 3]) -> Vec<Triangle> {
    let corner = |nth: usize| -> [i64; 3] {
        [if nth & 1 == 1 { x1 } else { x0 }, if nth & 2 == 2 { y1 } else { y0 }, if nth & 4 == 4 { z1 } else { z0 }]
    };
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    faces.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).map(|face| face.map(corner)).collect()
}

fn inverted(triangles: &[Triangle]) -> Vec<Triangle> {
    triangles.iter().map(|&[a, b, c]| [a, c, b]).collect()
}

/// The voxels inside, and the columns that leak.
fn filled(triangles: &[Triangle], window: Window3) -> (Vec<[u32; 3]>, u32) {
    let mut voxels = Vec::new();
    let n_leaks = inside_of(triangles, window, &mut |x, z, ys| voxels.extend(ys.map(|y| [x, y, z])));
    (voxels, n_leaks)
}

#[test]
fn a_box_on_voxel_planes_is_filled_exactly() {
    for n in 1..=5u32 {
        let cube = cuboid([256; 3], [256 * (i64::from(n) + 1); 3]);
        assert_eq!(is_closed(&cube), Closed::Yes);
        let (voxels, n_leaks) = filled(&cube, WINDOW);
        assert_eq!((voxels.len() as u32, n_leaks), (n.pow(3), 0));
        assert!(voxels.iter().flatten().all(|c| (1..=n).contains(c)));
    }
}

#[test]
fn centres_on_faces_and_edges_count_to_one_side() {
    // All faces pass through voxel centres: exactly one of two such faces keeps its centres.
    let cube = cuboid([128; 3], [128 + 512; 3]);
    let (voxels, n_leaks) = filled(&cube, WINDOW);
    assert_eq!((voxels.len(), n_leaks), (8, 0));
    // The other half of space, cut by the same face: each centre belongs to one of the two.
    let neighbour = cuboid([640, 128, 128], [1152, 640, 640]);
    let (others, _) = filled(&neighbour, WINDOW);
    assert_eq!(others.len(), 8);
    assert!(others.iter().all(|voxel| !voxels.contains(voxel)));
}

#[test]
fn a_hollow_is_left_empty() {
    let mut solid = cuboid([0; 3], [256 * 5; 3]);
    solid.extend(inverted(&cuboid([256; 3], [256 * 4; 3])));
    assert_eq!(is_closed(&solid), Closed::Yes);
    assert_eq!(filled(&solid, WINDOW).0.len(), 125 - 27);
}

#[test]
fn solids_that_are_not_sound_are_told() {
    let cube = cuboid([256; 3], [1024; 3]);
    assert_eq!(is_closed(&inverted(&cube)), Closed::Inverted);
    assert_eq!(filled(&inverted(&cube), WINDOW), filled(&cube, WINDOW));
    // Without its roof: the columns below it meet the floor only.
    let open: Vec<Triangle> =
        cube.iter().copied().filter(|triangle| triangle.iter().any(|corner| corner[1] != 1024)).collect();
    assert_eq!(open.len(), 10);
    assert_eq!(is_closed(&open), Closed::Open { n_edges: 4 });
    assert_eq!(filled(&open, WINDOW), (Vec::new(), 9));
    assert_eq!(is_closed(&[]), Closed::Empty);
    assert_eq!(is_closed(&[[[1; 3]; 3]]), Closed::Empty);
    assert_eq!(filled(&[[[i64::MIN; 3], [i64::MAX; 3], [0; 3]]], WINDOW), (Vec::new(), 0));
}

#[test]
fn edges_may_meet_others_along_their_length() {
    // A cube whose floor is cut into four, its walls not; the middle of a slanted edge is rounded to a unit.
    let cube = cuboid([0; 3], [1024; 3]);
    let slanted: Vec<Triangle> =
        cube.iter().map(|triangle| triangle.map(|[x, y, z]| [x + z / 3, y, z - x / 5])).collect();
    for solid in [cube, slanted] {
        let cut: Vec<Triangle> = solid
            .iter()
            .flat_map(|&[a, b, c]| {
                if [a, b, c].iter().any(|corner| corner[1] != 0) {
                    return vec![[a, b, c]];
                }
                let middle = |p: [i64; 3], q: [i64; 3]| std::array::from_fn(|axis| i64::midpoint(p[axis], q[axis]));
                let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                vec![[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
        assert_eq!(cut.len(), 18);
        assert_eq!(is_closed(&cut), Closed::Yes);
        let without_one = &cut[..cut.len() - 1];
        assert!(matches!(is_closed(without_one), Closed::Open { .. }));
    }
}

/// A solid with a fan of slanted faces: a pyramid over any polygon, whose floor is a fan too.
fn pyramid(base: &[[i64; 2]], floor: i64, apex: [i64; 3]) -> Vec<Triangle> {
    let at = |[x, z]: [i64; 2]| [x, floor, z];
    let mut triangles = Vec::new();
    for (&a, &b) in base.iter().zip(base.iter().cycle().skip(1)) {
        triangles.push([at(a), at(b), apex]);
        triangles.push([at(b), at(a), at(base[0])]);
    }
    triangles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_column_of_a_closed_solid_leaks_and_windows_agree(
        base in prop::collection::vec([0i64..9, 0i64..9], 3..7),
        floor in -256i64..512,
        apex in prop::array::uniform3(-256i64..2304),
        shift in prop::array::uniform3(-4i64..=4),
    ) {
        // Corners lie on centres and voxel planes, where ties are.
        let base: Vec<[i64; 2]> = base.into_iter().map(|point| point.map(|c| c * 128)).collect();
        let solid = pyramid(&base, floor, apex);
        let is_open = matches!(is_closed(&solid), Closed::Open { .. });
        prop_assert!(!is_open);
        let (here, n_leaks) = filled(&solid, WINDOW);
        prop_assert_eq!(n_leaks, 0);
        let moved: Vec<Triangle> = solid
            .iter()
            .map(|triangle| triangle.map(|corner| std::array::from_fn(|axis| corner[axis] + 256 * shift[axis])))
            .collect();
        let (there, _) = filled(&moved, WINDOW);
        for voxel in here {
            let to: [i64; 3] = std::array::from_fn(|axis| i64::from(voxel[axis]) + shift[axis]);
            if to.iter().all(|c| (0..8).contains(c)) {
                prop_assert!(there.contains(&to.map(|c| c as u32)));
            }
        }
    }

    #[test]
    fn a_tetrahedron_is_filled_where_its_planes_say(corners in prop::array::uniform4(prop::array::uniform3(-300i64..2300))) {
        let solid = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]].map(|face| face.map(|idx: usize| corners[idx]));
        let (found, n_leaks) = filled(&solid, WINDOW);
        prop_assert_eq!(n_leaks, 0);
        let side = |[a, b, c]: Triangle, p: [i64; 3]| {
            determinant([minus(b, a), minus(c, a), minus(p, a)]).signum()
        };
        for (x, y, z) in (0..512u32).map(|nth| (nth / 64, nth / 8 % 8, nth % 8)) {
            let centre = [x, y, z].map(|c| i64::from(c) * 256 + 128);
            let sides = solid.map(|face| side(face, centre));
            // On a plane the answer is a convention.
            if !sides.contains(&0) {
                let is_inside = sides.iter().all(|&side| side == sides[0]);
                prop_assert_eq!(found.contains(&[x, y, z]), is_inside);
            }
        }
    }
}
