//! The inside of closed solids.
//!
//! Receives all triangles of a solid, tells whether it is closed ([`is_closed`]), and yields the voxels whose centres lie
//! inside it ([`inside_of`]): those with an odd number of surfaces above them. A centre that lies on an edge as seen from
//! above counts to one side of it, always the same, whichever triangle asks: no ray slips between two triangles or meets
//! both. All is whole numbers, and a column knows nothing of the window, so that neighbouring tiles agree. It does not
//! mark the surface itself; see [`voxels_of`](super::voxels_of).

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::frame::COORDINATE_MAX;
use super::{Triangle, UNITS, Window3};

/// Loose edges up to which it is looked whether they meet others along their length: comparing all with all takes time.
const LOOSE_EDGES_MAX: usize = 1 << 10;

/// What the edges of a solid say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Each edge belongs to an even number of triangles: there is an inside.
    Yes,
    /// Closed, but its triangles face inwards. The inside is the same.
    Inverted,
    /// Some edges belong to an odd number of triangles.
    Open {
        /// How many.
        n_edges: usize,
    },
    /// There is nothing: no triangle has three corners.
    Empty,
}

/// Tells whether a solid is closed, by counting the triangles at each edge. Corners are the same where their coordinates
/// are, whether or not the file repeats them, and an edge may meet several that follow one another along it.
pub fn is_closed(triangles: &[Triangle]) -> Closed {
    let mut odd_edges: FxHashSet<Edge> = FxHashSet::default();
    // Six times the volume, seen from the first corner: above zero where the triangles face outwards.
    let mut volume = 0i128;
    let mut is_empty = true;
    let origin = triangles.first().map_or([0; 3], |triangle| triangle[0]);
    for triangle in triangles.iter().filter(|triangle| in_range(triangle)) {
        let [a, b, c] = *triangle;
        is_empty &= a == b || b == c || c == a;
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let edge = [from.min(to), from.max(to)];
            if from != to && !odd_edges.insert(edge) {
                odd_edges.remove(&edge);
            }
        }
        volume = volume.saturating_add(determinant(triangle.map(|corner| minus(corner, origin))));
    }
    let n_edges = n_loose(odd_edges.into_iter().collect());
    match (is_empty, n_edges) {
        (true, _) => Closed::Empty,
        (false, 1..) => Closed::Open { n_edges },
        (false, 0) if volume < 0 => Closed::Inverted,
        (false, 0) => Closed::Yes,
    }
}

/// An edge, its lower corner first.
type Edge = [[i64; 3]; 2];

/// Edges that are left when those that meet others along their length are cut where these begin: cut in the same places,
/// they cancel. A corner counts as on an edge when it is no more than a unit from it, which is what rounding may do.
fn n_loose(mut odd_edges: BTreeSet<Edge>) -> usize {
    if odd_edges.len() > LOOSE_EDGES_MAX {
        return odd_edges.len();
    }
    let corners: BTreeSet<[i64; 3]> = odd_edges.iter().flatten().copied().collect();
    // The longest first: what is cut off may have to be cut again, and is shorter.
    let mut waiting: Vec<Edge> = odd_edges.iter().copied().collect();
    while let Some([a, b]) = waiting.pop() {
        let Some(&c) = corners.iter().find(|&&corner| lies_within([a, b], corner)) else { continue };
        if odd_edges.remove(&[a, b]) {
            for part in [[a.min(c), a.max(c)], [c.min(b), c.max(b)]] {
                if odd_edges.insert(part) {
                    waiting.push(part);
                } else {
                    odd_edges.remove(&part);
                }
            }
        }
    }
    odd_edges.len()
}

/// Whether a corner lies on an edge, between its ends.
fn lies_within([a, b]: Edge, corner: [i64; 3]) -> bool {
    let (whole, part) = (minus(b, a), minus(corner, a));
    let square = |v: [i128; 3]| v.iter().fold(0i128, |sum, &c| sum.saturating_add(c.saturating_mul(c)));
    let along = (0..3).map(|axis| whole[axis] * part[axis]).sum::<i128>();
    let length = square(whole);
    // |whole x part| is the distance times the length.
    (1..length).contains(&along) && square(cross(whole, part)) <= length
}

/// Visits the inside of a closed solid as runs of voxels that stand on one another: x, z, and the range of y. A voxel
/// belongs to it when its centre does. Returns the columns of the window in which the surface does not close, as that of
/// a solid may that is not quite closed: these are left empty.
///
/// ```
/// use atlas_tools::geometry::{Window3, inside_of};
///
/// let corners = [[0, 0, 0], [512, 0, 0], [0, 512, 0], [0, 0, 512]];
/// let tetrahedron = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]].map(|face| face.map(|idx: usize| corners[idx]));
/// let mut runs = Vec::new();
/// let n_leaks = inside_of(&tetrahedron, Window3 { size: [2, 2, 2] }, &mut |x, z, y| runs.push((x, z, y)));
/// assert_eq!((n_leaks, runs), (0, vec![(0, 0, 0..1)]));
/// ```
pub fn inside_of(triangles: &[Triangle], window: Window3, visit: &mut impl FnMut(u32, u32, Range<u32>)) -> u32 {
    let mut surfaces: Vec<([u32; 2], u32)> = Vec::new();
    for triangle in triangles.iter().filter(|triangle| in_range(triangle)) {
        surfaces_of(triangle, window, &mut surfaces);
    }
    surfaces.sort_unstable();
    let mut n_leaks = 0;
    for column in surfaces.chunk_by(|a, b| a.0 == b.0) {
        if column.len() % 2 == 1 {
            n_leaks += 1;
            continue;
        }
        let [z, x] = column[0].0;
        for pair in column.chunks_exact(2) {
            let run = pair[0].1..pair[1].1;
            if !run.is_empty() {
                visit(x, z, run);
            }
        }
    }
    n_leaks
}

/// Adds the columns of a window whose centre lines pass through a triangle, as z and x, and the lowest voxel whose centre
/// is above it, 0..=height of the window.
fn surfaces_of(triangle: &Triangle, window: Window3, surfaces: &mut Vec<([u32; 2], u32)>) {
    let normal = cross(minus(triangle[1], triangle[0]), minus(triangle[2], triangle[0]));
    if normal[1] == 0 {
        return;
    }
    let [xs, zs] = [0, 2].map(|axis| centres_between(triangle, axis, window.size[axis]));
    for z in zs {
        for x in xs.clone() {
            let centre = [x, z].map(|c| i64::from(c) * UNITS + UNITS / 2);
            if covers(triangle, centre) {
                surfaces.push(([z, x], first_above(triangle, normal, centre, window.size[1])));
            }
        }
    }
}

/// The voxels along an axis whose centres may lie in a triangle.
fn centres_between(triangle: &Triangle, axis: usize, size: u32) -> Range<u32> {
    let values = || triangle.iter().map(|corner| corner[axis]);
    let (low, high) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
    let voxel = |c: i64| (c - UNITS / 2).div_euclid(UNITS).clamp(-1, i64::from(size));
    let (from, to) = (voxel(low).max(0), (voxel(high) + 1).min(i64::from(size)));
    from as u32..to.max(from) as u32
}

/// Whether a vertical line at x and z passes through a triangle: whether a ray from there towards +x meets an odd number of
/// its edges. Each edge answers for itself, whichever triangle it belongs to and in which direction.
fn covers(triangle: &Triangle, [x, z]: [i64; 2]) -> bool {
    let mut is_inside = false;
    for idx in 0..3 {
        let (a, b) = (triangle[idx], triangle[(idx + 1) % 3]);
        if (a[2] > z) == (b[2] > z) {
            continue;
        }
        let (low, high) = if a[2] < b[2] { (a, b) } else { (b, a) };
        // Above zero where the edge passes on the far side of the point.
        let far = i128::from(low[0] - x) * i128::from(high[2] - low[2])
            + i128::from(z - low[2]) * i128::from(high[0] - low[0]);
        is_inside ^= far > 0;
    }
    is_inside
}

/// The lowest voxel of a column whose centre is above a triangle's plane, 0..=size.
fn first_above(triangle: &Triangle, normal: [i128; 3], [x, z]: [i64; 2], size: u32) -> u32 {
    let [x0, y0, z0] = triangle[0];
    // The plane's height less y0, times normal[1].
    let rise = -(normal[0] * i128::from(x - x0) + normal[2] * i128::from(z - z0));
    let (rise, divisor) = if normal[1] > 0 { (rise, normal[1]) } else { (-rise, -normal[1]) };
    // Voxel j is above where UNITS * j + UNITS / 2 > y0 + rise / divisor: the first is one more than the last that is not.
    let last_below = (rise + i128::from(y0 - UNITS / 2) * divisor).div_euclid(divisor * i128::from(UNITS));
    (last_below + 1).clamp(0, i128::from(size)) as u32
}

fn in_range(triangle: &Triangle) -> bool {
    triangle.iter().flatten().all(|c| (-COORDINATE_MAX..=COORDINATE_MAX).contains(c))
}

fn minus(a: [i64; 3], b: [i64; 3]) -> [i128; 3] {
    std::array::from_fn(|axis| i128::from(a[axis]) - i128::from(b[axis]))
}

fn cross(a: [i128; 3], b: [i128; 3]) -> [i128; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn determinant([a, b, c]: [[i128; 3]; 3]) -> i128 {
    let normal = cross(b, c);
    a[0] * normal[0] + a[1] * normal[1] + a[2] * normal[2]
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
