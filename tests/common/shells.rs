//! Thin shells across eight regions: skins one voxel thick, of any slope, with two sides that nobody can see through.
//!
//! Taken in with `#[path]` by the tests of the pyramid.

use std::array::from_fn;

use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// Edge of the cube in which shells stand, in voxels. It lies round the corner at which the eight regions meet.
pub(crate) const SHELL_VOXELS: i32 = 128;

/// The cube's lowest corner, in voxels of the eight regions' common cube.
const FIRST: i32 = 256 - SHELL_VOXELS / 2;

/// What has to touch the other side to be part of a skin: the wider, the thicker and the better joined the skin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Touch {
    /// A face: the thinnest skin that stops every ray; its voxels may touch each other with a corner alone.
    Face,
    /// A face or an edge.
    Edge,
    /// A face, an edge or a corner: its voxels touch each other with faces.
    Corner,
}

/// The body's side of the border between a body and what is not body, in the coordinates of the cube, 0..128.
pub(crate) fn skin(touch: Touch, is_body: impl Fn([i32; 3]) -> bool) -> Vec<[i32; 3]> {
    // With one voxel round the cube, so that the cube's own sides have no skin.
    let edge = SHELL_VOXELS + 2;
    let idx = |[x, y, z]: [i32; 3]| (x + 1 + edge * (y + 1 + edge * (z + 1))) as usize;
    let all = |range: std::ops::Range<i32>| {
        let (ys, xs) = (range.clone(), range.clone());
        range.flat_map(move |z| {
            let xs = xs.clone();
            ys.clone().flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
        })
    };
    let body: Vec<bool> = all(-1..SHELL_VOXELS + 1).map(&is_body).collect();
    let n_axes_max = match touch {
        Touch::Face => 1,
        Touch::Edge => 2,
        Touch::Corner => 3,
    };
    let steps: Vec<[i32; 3]> =
        all(-1..2).filter(|step| (1..=n_axes_max).contains(&step.iter().filter(|&&d| d != 0).count())).collect();
    let beside = |at: [i32; 3], step: &[i32; 3]| from_fn(|axis| at[axis] + step[axis]);
    let is_skin = |at: &[i32; 3]| body[idx(*at)] && steps.iter().any(|step| !body[idx(beside(*at, step))]);
    all(0..SHELL_VOXELS).filter(is_skin).collect()
}

/// A half space below a plane: its normal need not be a unit vector.
pub(crate) fn below_plane(normal: [i32; 3], offset: i32) -> impl Fn([i32; 3]) -> bool {
    move |at| (0..3).map(|axis| normal[axis] * (at[axis] - SHELL_VOXELS / 2)).sum::<i32>() <= offset
}

/// A ball round the middle of the cube.
pub(crate) fn ball(radius: i32) -> impl Fn([i32; 3]) -> bool {
    move |at| at.iter().map(|c| (2 * c + 1 - SHELL_VOXELS).pow(2)).sum::<i32>() <= (2 * radius).pow(2)
}

/// Ground with hills, cliffs and steps.
pub(crate) fn terrain(seed: i32) -> impl Fn([i32; 3]) -> bool {
    // A triangle wave.
    let wave = |c: i32, length: i32, height: i32| {
        let at = c.rem_euclid(2 * length);
        at.min(2 * length - at) * height / length
    };
    move |[x, y, z]| {
        let hills = wave(x + seed, 23, 19) + wave(x + 2 * z - seed, 31, 11) + wave(z + 3 * seed, 9, 14);
        let cliff = if (x - z + seed).rem_euclid(64) < 20 { 17 } else { 0 };
        y < 30 + hills + cliff
    }
}

/// The eight regions, by octant, with these voxels of the cube occupied.
pub(crate) fn regions(voxels: &[[i32; 3]]) -> Vec<Region> {
    let mut occupancies: [Occupancy; 8] = from_fn(|_| Occupancy::empty());
    for voxel in voxels {
        let [x, y, z] = voxel.map(|c| (c + FIRST) as u32);
        let octant = x / 256 + y / 256 * 2 + z / 256 * 4;
        occupancies[octant as usize].set(x % 256, y % 256, z % 256, true);
    }
    let paint = |occupancy| Region::paint(occupancy, ColourDepth::Indexed(vec![[150, 140, 130]]), |_, _, _| 0);
    occupancies.map(paint).into()
}

/// A point of the cube in the eight regions' common cube, in their voxels.
pub(crate) fn in_regions(at: [f64; 3]) -> [f64; 3] {
    at.map(|c| c + f64::from(FIRST))
}
