//! The parent against a plain reading of the rules, and what the rules promise.

use std::array::from_fn;

use proptest::prelude::*;

use super::*;
use crate::voxel::{Colour, ColourDepth};

/// Children of one colour.
fn regions(occupancies: &[Occupancy; 8]) -> [Region; 8] {
    from_fn(|octant| {
        let depth = ColourDepth::Indexed(vec![[10 * octant as u8, 100, 200]]);
        Region::paint(occupancies[octant].clone(), depth, |_, _, _| 0)
    })
}

fn parent_of(occupancies: &[Occupancy; 8]) -> Occupancy {
    let regions = regions(occupancies);
    down_sample(from_fn(|octant| Some(&regions[octant]))).occupancy
}

fn air() -> [Occupancy; 8] {
    from_fn(|_| Occupancy::empty())
}

fn set(children: &mut [Occupancy; 8], at: [u32; 3]) {
    let (octant, [x, y, z]) = child_at(at);
    children[octant].set(x, y, z, true);
}

fn get(children: &[Occupancy; 8], at: [u32; 3]) -> bool {
    let (octant, [x, y, z]) = child_at(at);
    children[octant].get(x, y, z)
}

/// Boxes, sheets, poles and single voxels, in a few places where all kinds of borders are.
fn clutter(seed: u64) -> [Occupancy; 8] {
    let mut state = seed;
    let mut next = move |n: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % n
    };
    let mut children = air();
    for corner in [[0, 0, 0], [500, 500, 500], [250, 250, 250], [0, 250, 500], [122, 124, 123]] {
        for _ in 0..40 {
            let size: [u32; 3] = from_fn(|_| [1, 1, 2, 3, 6][next(5) as usize]);
            let low: [u32; 3] = from_fn(|axis| corner[axis] + next(13 - size[axis]));
            for z in low[2]..low[2] + size[2] {
                for (x, y) in (low[0]..low[0] + size[0]).flat_map(|x| (low[1]..low[1] + size[1]).map(move |y| (x, y))) {
                    set(&mut children, [x, y, z]);
                }
            }
        }
    }
    children
}

/// The coarse voxels round the corners of [`clutter`].
fn clutter_voxels() -> impl Iterator<Item = [u32; 3]> {
    let corners = [[0, 0, 0], [249, 249, 249], [124, 124, 124], [0, 124, 249], [60, 61, 60]];
    corners
        .into_iter()
        .flat_map(|corner| (0..7 * 7 * 7).map(move |i| from_fn(|axis| corner[axis] + i / 7u32.pow(axis as u32) % 7)))
}

/// The children of a coarse voxel, and which of them can be reached from the hub through air, as the rules have it.
fn children_of(at: [u32; 3]) -> [[u32; 3]; 8] {
    from_fn(|child| from_fn(|axis| 2 * at[axis] + u32::from((at[axis].is_multiple_of(2)) != (child >> axis & 1 == 1))))
}

/// Whether a way through air joins the first place to the second without leaving `room`.
fn is_joined(children: &[Occupancy; 8], room: &[[u32; 3]], from: [u32; 3], to: [u32; 3]) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(&at) = seen.get(next) {
        next += 1;
        for place in room {
            let distance: u32 = (0..3).map(|axis| place[axis].abs_diff(at[axis])).sum();
            if distance == 1 && !get(children, *place) && !seen.contains(place) {
                seen.push(*place);
            }
        }
    }
    !get(children, from) && seen.contains(&to)
}

/// The rules, one voxel at a time.
fn is_occupied(children: &[Occupancy; 8], at: [u32; 3]) -> bool {
    let n_of = |at| children_of(at).into_iter().filter(|&child| get(children, child)).count();
    let is_sure = |at| get(children, children_of(at)[0]) || n_of(at) > 4;
    let needs = |axis: usize| {
        let is_even = at[axis].is_multiple_of(2);
        let mut partner = at;
        partner[axis] = if is_even { at[axis].wrapping_sub(1) } else { at[axis] + 1 };
        if partner[axis] >= 256 {
            return get(children, children_of(at)[1 << axis]);
        }
        let room = [children_of(at), children_of(partner)].concat();
        // Ways that go to and fro between the two are not looked for.
        let is_joined = (0..8).filter(|child| child >> axis & 1 == 1).any(|child| {
            is_joined(children, &room[..8], room[0], room[child])
                && is_joined(children, &room[8..], room[8], room[8 + child])
        });
        !is_sure(partner) && !is_joined && (is_even || n_of(partner) == 0)
    };
    n_of(at) > 0 && (is_sure(at) || (0..3).any(needs))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn words_and_single_voxels_agree(seed: u64) {
        let children = clutter(seed);
        let parent = parent_of(&children);
        for at @ [x, y, z] in clutter_voxels() {
            prop_assert_eq!(parent.get(x, y, z), is_occupied(&children, at), "{:?}", at);
        }
    }

    #[test]
    fn coarse_air_that_touches_is_joined_by_fine_air_within(seed: u64) {
        let children = clutter(seed);
        let parent = parent_of(&children);
        for at @ [x, y, z] in clutter_voxels().filter(|&[x, y, z]| !parent.get(x, y, z)) {
            prop_assert!(!get(&children, children_of(at)[0]));
            for axis in 0..3 {
                let mut next = at;
                next[axis] += 1;
                if next[axis] < 256 && !parent.get(next[0], next[1], next[2]) {
                    let room = [children_of(at), children_of(next)].concat();
                    prop_assert!(is_joined(&children, &room, room[0], room[8]), "{:?} and {:?}", [x, y, z], next);
                }
            }
        }
    }
}

#[test]
fn faces_inside_a_voxel_are_rounded_half_to_even() {
    // A pillar of 40 x 40 on the floor, whose walls and top lie at `low` and `high` along the axis.
    let check = |low: u32, high: u32, expected: [u32; 2]| {
        for axis in 0..3 {
            let mut children = air();
            for (a, b, c) in (0..40)
                .flat_map(|a| (0..40).map(move |b| (a, b)))
                .flat_map(|(a, b)| (low..high).map(move |c| (a, b, c)))
            {
                let mut at = [a, b, c];
                at.rotate_right(2 - axis);
                set(&mut children, at);
            }
            let parent = parent_of(&children);
            let is_occupied = |c: u32| {
                let mut at = [10, 10, c];
                at.rotate_right(2 - axis);
                parent.get(at[0], at[1], at[2])
            };
            let found: Vec<u32> = (0..256).filter(|&c| is_occupied(c)).collect();
            assert_eq!(found, (expected[0]..expected[1]).collect::<Vec<_>>(), "{low}..{high} along {axis}");
        }
    };
    check(0, 32, [0, 16]);
    check(0, 33, [0, 16]);
    check(0, 34, [0, 17]);
    check(0, 35, [0, 18]);
    check(101, 241, [50, 120]);
    check(103, 243, [52, 122]);
    // Across the border of two children, and thin: nothing vanishes.
    check(250, 263, [125, 132]);
    for low in 250..262 {
        for thickness in 1..3 {
            let mut children = air();
            for (x, z) in (0..512).flat_map(|x| (0..40).map(move |z| (x, z))) {
                (low..low + thickness).for_each(|y| set(&mut children, [x, y, z]));
            }
            let parent = parent_of(&children);
            let n = (0..256).filter(|&y| parent.get(100, y, 10)).count();
            assert!((1..=2).contains(&n), "{thickness} at {low}: {n}");
        }
    }
}

#[test]
fn the_ground_keeps_its_height_down_to_the_coarsest_zoom() {
    let mut occupancy = Occupancy::empty();
    for z in 0..256 {
        (0..32).for_each(|y| *occupancy.row_mut(y, z) = [u64::MAX; 4]);
    }
    let mut ground = Region::paint(occupancy, ColourDepth::Indexed(vec![[90, 120, 70]]), |_, _, _| 0);
    for height in [16, 8, 4, 2, 1] {
        let mut children = [None; 8];
        for octant in [0, 1, 4, 5] {
            children[octant] = Some(&ground);
        }
        ground = down_sample(children);
        for y in 0..256 {
            let expected = if y < height { [u64::MAX; 4] } else { [0; 4] };
            assert!((0..256).all(|z| *ground.occupancy.row(y, z) == expected), "height {height}, y {y}");
        }
    }
}

/// One child in octant 0, its voxels in a box painted by a function.
fn painted(depth: ColourDepth, boxes: &[([u32; 3], [u32; 3], u32)]) -> Region {
    let entry_of = |x, y, z| {
        let inside = |&&(low, high, _): &&([u32; 3], [u32; 3], u32)| {
            (0..3).all(|axis| (low[axis]..high[axis]).contains(&[x, y, z][axis]))
        };
        boxes.iter().rev().find(inside).map(|&(_, _, entry)| entry)
    };
    let mut occupancy = Occupancy::empty();
    for &(low, high, _) in boxes {
        for (z, y) in (low[2]..high[2]).flat_map(|z| (low[1]..high[1]).map(move |y| (z, y))) {
            (low[0]..high[0]).for_each(|x| occupancy.set(x, y, z, true));
        }
    }
    Region::paint(occupancy, depth, |x, y, z| entry_of(x, y, z).unwrap_or_default())
}

fn alone(child: &Region) -> Region {
    let mut children = [None; 8];
    children[0] = Some(child);
    down_sample(children)
}

const EARTH: Colour = [80, 60, 40];
const WALL: Colour = [200, 190, 180];
const ROOF: Colour = [160, 60, 50];

fn house(top: u32) -> Region {
    let depth = ColourDepth::Indexed(vec![EARTH, WALL, ROOF]);
    painted(
        depth,
        &[([0; 3], [64, 32, 64], 0), ([16, 32, 16], [48, top, 48], 1), ([16, top - 1, 16], [48, top, 48], 2)],
    )
}

#[test]
fn what_is_seen_has_the_colour_of_what_was_seen() {
    // The top stays, and the roof's one voxel is half of the children, all of those with a face to air.
    let parent = alone(&house(40));
    assert_eq!(parent.colours.get(16, 19, 16), ROOF);
    assert_eq!(parent.colours.get(8, 17, 16), WALL);
    assert_eq!(parent.colours.get(4, 15, 4), EARTH);
    // The top is rounded down, and the roof goes with it.
    let parent = alone(&house(41));
    assert!(parent.occupancy.get(16, 19, 16) && !parent.occupancy.get(16, 20, 16));
    assert_eq!(parent.colours.get(16, 19, 16), ROOF);
    // The top is rounded up.
    let parent = alone(&house(43));
    assert!(parent.occupancy.get(16, 21, 16) && !parent.occupancy.get(16, 22, 16));
    assert_eq!(parent.colours.get(16, 21, 16), ROOF);
}

#[test]
fn colours_are_means_and_stay_in_the_palettes() {
    // Two by two tiles of two colours: every mean lies between them.
    let tiles = |depth: ColourDepth, entries: [u32; 2]| {
        let mut region = painted(depth.clone(), &[([0; 3], [64, 2, 64], 0)]);
        region = Region::paint(region.occupancy, depth, |x, _, z| entries[((x + z) % 2) as usize]);
        alone(&region).colours.get(8, 0, 8)
    };
    assert_eq!(tiles(ColourDepth::Direct, [0x00_10_20_30, 0x00_20_40_61]), [0x49, 0x30, 0x18]);
    let palette = vec![[0, 0, 0], [100, 100, 100], [200, 200, 200], [98, 101, 103]];
    assert_eq!(
        tiles(ColourDepth::Indexed(palette), [0, 2]),
        [0, 0, 0],
        "a colour that no voxel has is none of the palette's"
    );
}

#[test]
fn the_kind_of_colours_is_that_of_the_children() {
    let indexed = house(40);
    let direct = painted(ColourDepth::Direct, &[([0; 3], [8, 8, 8], 0x0003_0201)]);
    assert!(matches!(alone(&indexed).colours.depth(), ColourDepth::Indexed(palette) if palette.len() == 3));
    let mut children = [None; 8];
    (children[2], children[7]) = (Some(&indexed), Some(&direct));
    let parent = down_sample(children);
    assert_eq!(*parent.colours.depth(), ColourDepth::Direct);
    assert_eq!((parent.colours.get(16, 128 + 19, 16), parent.colours.get(129, 129, 129)), (ROOF, [1, 2, 3]));
    assert_eq!(down_sample([None; 8]), Region::empty());
}

#[test]
fn palettes_that_are_too_large_together_keep_what_is_seen_most() {
    // Cubes of 2 x 2 x 2, 256 colours a child; in the first child a colour of the second has a single voxel.
    let child = |blue: u8| {
        let palette = (0..=255).map(|i| [i, 255 - i, blue]).collect();
        let base = painted(ColourDepth::Indexed(vec![[0; 3]]), &[([0; 3], [256, 2, 256], 0)]);
        Region::paint(base.occupancy, ColourDepth::Indexed(palette), |x, _, z| {
            // Few colours have most of the plane, so that it is clear which stay.
            let cell = x / 2 + 128 * (z / 2);
            if cell < 256 { cell } else { cell % 100 }
        })
    };
    let (first, second) = (child(0), child(90));
    let mut children = [None; 8];
    (children[0], children[1]) = (Some(&first), Some(&second));
    let parent = down_sample(children);
    let ColourDepth::Indexed(palette) = parent.colours.depth() else { panic!("indexed children") };
    assert_eq!(palette.len(), 255);
    assert!(palette.is_sorted());
    for cell in (256..400).step_by(7) {
        let [x, z] = [cell % 128, cell / 128];
        let i = (cell % 100) as u8;
        assert_eq!(parent.colours.get(x, 0, z), [i, 255 - i, 0]);
        assert_eq!(parent.colours.get(128 + x, 0, z), [i, 255 - i, 90]);
    }
    assert_eq!(down_sample(children), parent);
}
