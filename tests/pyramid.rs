//! What a ray cannot pass in a model, it cannot pass in the coarser ones.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "common/shells.rs"]
mod shells;

use std::array::from_fn;
use std::collections::BTreeSet;

use glam::DVec3;
use proptest::prelude::*;
use shells::{SHELL_VOXELS, Touch, ball, below_plane, in_regions, regions, skin, terrain};
use voxatlas::geo::RegionKey;
use voxatlas::physics::{Ray, Solid, cast, cast_in_region};
use voxatlas::voxel::{BrickMask, Region, down_sample};

/// Zooms that are built on top of each other.
const N_ZOOMS: usize = 3;

/// World y of the floor of layer 0.
const BASE: i32 = -32;

/// A skin at full resolution and in the coarser zooms.
struct Model {
    children: Vec<(Region, BrickMask)>,
    coarse: Vec<(Region, BrickMask)>,
    skin: BTreeSet<[i32; 3]>,
}

impl Model {
    fn new(skin: &[[i32; 3]]) -> Self {
        let with_bricks = |region: Region| {
            let bricks = region.occupancy.brick_mask();
            (region, bricks)
        };
        let children: Vec<_> = regions(skin).into_iter().map(with_bricks).collect();
        let mut coarse = vec![with_bricks(down_sample(from_fn(|octant| Some(&children[octant].0))))];
        while coarse.len() < N_ZOOMS {
            let mut alone = [None; 8];
            alone[0] = coarse.last().map(|(region, _)| region);
            coarse.push(with_bricks(down_sample(alone)));
        }
        Self { children, coarse, skin: skin.iter().copied().collect() }
    }

    /// Whether something stops a ray between two points of the cube: first in full resolution, then zoom by zoom.
    fn is_stopped(&self, from: [f64; 3], to: [f64; 3]) -> [bool; 1 + N_ZOOMS] {
        let [from, to] = [from, to].map(|at| DVec3::from_array(in_regions(at)));
        let ray = |from: DVec3, to: DVec3| Ray { origin: from, direction: to - from, t_max: 1.0 };
        let parent = RegionKey::new("16/58207/25811".parse().unwrap(), 0);
        let origin = DVec3::from_array(parent.origin(BASE).map(|c| c as f64));
        let fine = cast(&ray(origin + from, origin + to), BASE, |key| {
            (key.parent() == Some(parent)).then(|| solid(&self.children[key.octant()]))
        });
        from_fn(|zoom| match zoom.checked_sub(1) {
            None => fine.is_some(),
            Some(idx) => {
                let scale = f64::from(2u32 << idx);
                cast_in_region(&ray(from / scale, to / scale), solid(&self.coarse[idx])).is_some()
            }
        })
    }

    /// Whether the coarse voxel round a point, in the coarsest zoom, holds nothing of the skin: then the point is on one
    /// side of it.
    fn is_beside_skin(&self, at: [f64; 3]) -> bool {
        let edge = 1 << N_ZOOMS;
        let low = at.map(|c| (c as i32) & !(edge - 1));
        let mut places =
            (0..edge.pow(3)).map(|i| [low[0] + i % edge, low[1] + i / edge % edge, low[2] + i / edge / edge]);
        places.all(|place| !self.skin.contains(&place))
    }
}

fn solid((region, bricks): &(Region, BrickMask)) -> Solid<'_> {
    Solid { occupancy: &region.occupancy, bricks }
}

/// Points so far from the cube's sides that no coarse voxel round them reaches beyond.
fn point() -> impl Strategy<Value = [f64; 3]> {
    let margin = f64::from(1 << N_ZOOMS);
    let range = margin..f64::from(SHELL_VOXELS) - margin;
    [range.clone(), range.clone(), range]
}

/// Rays between the two sides of a skin.
fn check(touch: Touch, is_body: impl Fn([i32; 3]) -> bool, points: &[[f64; 3]]) -> Result<(), TestCaseError> {
    let model = Model::new(&skin(touch, &is_body));
    let beside = points.iter().filter(|&&at| model.is_beside_skin(at));
    let (inside, outside): (Vec<&[f64; 3]>, Vec<&[f64; 3]>) = beside.partition(|at| is_body(at.map(|c| c as i32)));
    for (from, to) in inside.iter().flat_map(|from| outside.iter().map(move |to| (**from, **to))) {
        for (from, to) in [(from, to), (to, from)] {
            prop_assert_eq!(model.is_stopped(from, to), [true; 1 + N_ZOOMS], "from {:?} to {:?}", from, to);
        }
    }
    Ok(())
}

fn touch() -> impl Strategy<Value = Touch> {
    prop_oneof![Just(Touch::Face), Just(Touch::Edge), Just(Touch::Corner)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_ray_passes_a_sloped_plane(
        normal in [-9i32..10, -9..10, -9..10],
        offset in -60i32..60,
        touch in touch(),
        points in prop::collection::vec(point(), 60),
    ) {
        check(touch, below_plane(normal, offset), &points)?;
    }

    #[test]
    fn no_ray_passes_the_ground(seed in 0i32..1000, touch in touch(), points in prop::collection::vec(point(), 60)) {
        check(touch, terrain(seed), &points)?;
    }

    #[test]
    fn no_ray_leaves_a_ball(radius in 9i32..60, touch in touch(), points in prop::collection::vec(point(), 60)) {
        check(touch, ball(radius), &points)?;
    }
}

#[test]
fn no_ray_passes_the_middle_of_an_open_roof() {
    // A gable roof on nothing, air all round it: only what stands in the way itself can stop a ray.
    for (rise, run) in [(1, 1), (1, 2), (2, 3), (2, 1), (0, 1)] {
        let gable = |[x, y, _]: [i32; 3]| y * run <= 90 * run - (x - 64).abs() * rise;
        let on_roof = |[x, _, z]: &[i32; 3]| (24..104).contains(x) && (24..104).contains(z);
        let roof: Vec<_> = skin(Touch::Face, gable).into_iter().filter(on_roof).collect();
        let model = Model::new(&roof);
        for (x, z) in (0..24).flat_map(|i| (0..24).map(move |j| (34.3 + 2.5 * f64::from(i), 34.6 + 2.5 * f64::from(j))))
        {
            for slope in [-0.1, 0.0, 0.07] {
                let [from, to] = [[x, 120.0, z], [x + slope * 110.0, 8.0, z]];
                // Where the ray meets the roof well inside its edges.
                if (36.0..92.0).contains(&to[0]) {
                    assert_eq!(model.is_stopped(from, to), [true; 1 + N_ZOOMS], "{rise}/{run} at {x}, {z}");
                }
            }
        }
    }
}
