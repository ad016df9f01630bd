//! The voxels that a triangle touches, exactly.
//!
//! Receives a triangle in whole numbers and a window, visits voxels. A voxel is a box that is open on three sides, so that
//! a face that lies on the plane between two layers of voxels fills one of them: for a roof the one below.
//!
//! ```text
//! x in [i, i + 1)    y in (j, j + 1]    z in [k, k + 1)
//! ```
//!
//! Triangle and box are apart when they are apart along one of thirteen axes: the box's three, the triangle's normal, and
//! the products of the box's axes and the triangle's edges. Along each axis the test is a comparison of whole numbers;
//! where both ends are equal, it is open or closed as the corner of the box is that reaches farthest, as if the open
//! sides stood back by something smaller than any number. Nothing is rounded, so the answer depends on no window.
//!
//! Large triangles are walked rather than searched. Seen along the axis that the triangle faces most, the axes that are
//! perpendicular to it bound the columns of each row; in a column, the plane leaves at most four boxes to be tested.
//!
//! It does not know what a voxel looks like; [`barycentric_at`] tells where on the triangle it is.

use std::ops::{Add, Mul, Neg, RangeInclusive, Sub};

use super::frame::COORDINATE_MAX;
use super::{Triangle, UNITS, Window3};

/// Coordinates up to here, 2,048 voxels from the corner, are counted in i64. With |c| <= C = 2^19 an edge is at most 2 C
/// long along an axis, a normal 2 (2 C)^2 = 8 C^2, and its product with a point 3 * 8 C^2 * C = 24 C^3 < 2^62. In i128 the
/// same holds up to C = 2^40: 24 C^3 < 2^125.
const NARROW_MAX: i64 = 1 << 19;

/// Visits the voxels of a window that a triangle touches, each once, in an order that depends on the triangle alone.
///
/// A triangle may be a segment or a point, and may lie partly or wholly outside the window. One with a coordinate beyond
/// 2^40 units is passed over.
///
/// ```
/// use atlas_tools::geometry::{Window3, voxels_of};
///
/// // A flat roof on the plane between layers 2 and 3.
/// let roof = [[0, 768, 0], [512, 768, 0], [0, 768, 512]];
/// let mut voxels = Vec::new();
/// voxels_of(roof, Window3 { size: [8, 8, 8] }, &mut |voxel| voxels.push(voxel));
/// assert!(voxels.iter().all(|voxel| voxel[1] == 2));
/// assert!(voxels.contains(&[1, 2, 0]) && voxels.contains(&[0, 2, 1]) && voxels.contains(&[0, 2, 0]));
/// ```
pub fn voxels_of(triangle: Triangle, window: Window3, visit: &mut impl FnMut([u32; 3])) {
    let reach = triangle.iter().flatten().map(|c| c.saturating_abs()).max().unwrap_or(0);
    let window_reach = i64::from(window.size.into_iter().max().unwrap_or(0)) * UNITS;
    let reach = reach.max(window_reach);
    if reach <= NARROW_MAX {
        walk::<i64>(triangle, window, visit);
    } else if reach <= COORDINATE_MAX {
        walk::<i128>(triangle, window, visit);
    }
}

/// Where on a triangle the centre of a voxel is: the weights of its corners, none below 0, their sum 1. A centre beside
/// the triangle, or above it, counts as the nearest point of it, or one close to that.
///
/// ```
/// use atlas_tools::geometry::barycentric_at;
///
/// let triangle = [[0, 0, 0], [1024, 0, 0], [0, 0, 1024]];
/// assert_eq!(barycentric_at(triangle, [0, 0, 0]), [0.75, 0.125, 0.125]);
/// assert_eq!(barycentric_at(triangle, [9, 0, 0]), [0.0, 0.95, 0.05]);
/// ```
pub fn barycentric_at(triangle: Triangle, voxel: [u32; 3]) -> [f64; 3] {
    let [a, b, c] = triangle.map(|corner| corner.map(|c| c as f64));
    let centre = voxel.map(|c| f64::from(c) * UNITS as f64 + UNITS as f64 / 2.0);
    let minus = |p: [f64; 3], q: [f64; 3]| -> [f64; 3] { std::array::from_fn(|axis| p[axis] - q[axis]) };
    let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    let (ab, ac, ap) = (minus(b, a), minus(c, a), minus(centre, a));
    let (bb, bc, cc) = (dot(ab, ab), dot(ab, ac), dot(ac, ac));
    let (pb, pc) = (dot(ap, ab), dot(ap, ac));
    let area = bb * cc - bc * bc;
    if area > 0.0 {
        let (at_b, at_c) = ((cc * pb - bc * pc) / area, (bb * pc - bc * pb) / area);
        let weights = [1.0 - at_b - at_c, at_b, at_c].map(|weight| weight.max(0.0));
        let sum: f64 = weights.iter().sum();
        return weights.map(|weight| weight / sum);
    }
    // A segment or a point: along its longer edge.
    let along = |p: f64, whole: f64| if whole > 0.0 { (p / whole).clamp(0.0, 1.0) } else { 0.0 };
    if bb >= cc {
        let at_b = along(pb, bb);
        [1.0 - at_b, at_b, 0.0]
    } else {
        let at_c = along(pc, cc);
        [1.0 - at_c, 0.0, at_c]
    }
}

/// The whole numbers that a walk counts in.
pub(super) trait Whole:
    Copy + Ord + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + From<i64>
{
    /// Divides, rounded down; the divisor is above zero.
    fn div_floor(self, divisor: Self) -> Self;

    /// As an i64, the nearest one there is.
    fn narrow(self) -> i64;
}

impl Whole for i64 {
    fn div_floor(self, divisor: Self) -> Self {
        self.div_euclid(divisor)
    }

    fn narrow(self) -> i64 {
        self
    }
}

impl Whole for i128 {
    fn div_floor(self, divisor: Self) -> Self {
        self.div_euclid(divisor)
    }

    fn narrow(self) -> i64 {
        self.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// Sides of a voxel that do not belong to it: the far ones along x and z, the near one along y.
const OPEN_FAR: [bool; 3] = [true, false, true];

/// An axis along which triangle and box may be apart: a box with its lowest corner at voxel `p` is apart from the
/// triangle unless `low <= normal . p <= high`, all in voxels times the normal.
#[derive(Debug, Clone, Copy)]
struct Slab<I> {
    normal: [I; 3],
    low: I,
    high: I,
}

impl<I: Whole> Slab<I> {
    /// The places of boxes that are not apart from the triangle along `normal`.
    ///
    /// A box at p covers [normal . p + near, normal . p + far], the triangle [min, max]. They meet when
    /// normal . p + far >= min and normal . p + near <= max, each without the equality where the corner is open. All is
    /// whole, so that n > m is n >= m + 1; and normal . p is a multiple of UNITS times a whole number.
    fn new(normal: [I; 3], triangle: &[[I; 3]; 3]) -> Self {
        let zero = I::from(0);
        let (mut near, mut far) = (zero, zero);
        let (mut near_open, mut far_open) = (false, false);
        for axis in 0..3 {
            let reach = normal[axis] * I::from(UNITS);
            // Towards the far side of the box along this axis lies the far corner if the normal points there.
            let (positive, negative) = (normal[axis] > zero, normal[axis] < zero);
            let (at_far, at_near) = if OPEN_FAR[axis] { (positive, negative) } else { (negative, positive) };
            far_open |= at_far;
            near_open |= at_near;
            if positive {
                far = far + reach;
            } else {
                near = near + reach;
            }
        }
        let along = |point: &[I; 3]| dot(normal, *point);
        let [a, b, c] = [along(&triangle[0]), along(&triangle[1]), along(&triangle[2])];
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        let units = I::from(UNITS);
        let open = |is_open: bool| I::from(i64::from(is_open));
        // UNITS * n >= value is n >= ceil(value / UNITS).
        let low = -(-(min - far + open(far_open))).div_floor(units);
        let high = (max - near - open(near_open)).div_floor(units);
        Self { normal, low, high }
    }

    fn at(&self, p: [I; 3]) -> I {
        dot(self.normal, p)
    }

    fn meets(&self, at: I) -> bool {
        self.low <= at && at <= self.high
    }

    /// The places along `axis` at which boxes are not apart, the other coordinates of p given and its own 0; `None` where
    /// the axis does not matter.
    fn range(&self, axis: usize, p: [I; 3]) -> Option<RangeInclusive<i64>> {
        let (step, at) = (self.normal[axis], self.at(p));
        let zero = I::from(0);
        let (low, high) = (self.low - at, self.high - at);
        if step > zero {
            Some((-(-low).div_floor(step)).narrow()..=high.div_floor(step).narrow())
        } else if step < zero {
            let (step, low, high) = (-step, -high, -low);
            Some((-(-low).div_floor(step)).narrow()..=high.div_floor(step).narrow())
        } else if self.meets(at) {
            None
        } else {
            // Nowhere, written so that no narrowing takes it for a place.
            Some(RangeInclusive::new(1, 0))
        }
    }
}

fn dot<I: Whole>(a: [I; 3], b: [I; 3]) -> I {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<I: Whole>(a: [I; 3], b: [I; 3]) -> [I; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn narrowed(range: RangeInclusive<i64>, by: Option<RangeInclusive<i64>>) -> RangeInclusive<i64> {
    match by {
        Some(by) => *range.start().max(by.start())..=*range.end().min(by.end()),
        None => range,
    }
}

fn walk<I: Whole>(triangle: Triangle, window: Window3, visit: &mut impl FnMut([u32; 3])) {
    let corners = triangle.map(|corner| corner.map(I::from));
    let round: [Slab<I>; 3] = std::array::from_fn(|axis| Slab::new(unit(axis), &corners));
    let in_window =
        |axis: usize| round[axis].low.narrow().max(0)..=round[axis].high.narrow().min(i64::from(window.size[axis]) - 1);
    let bounds = [in_window(0), in_window(1), in_window(2)];
    if bounds.iter().any(RangeInclusive::is_empty) {
        return;
    }
    if round.iter().all(|slab| slab.low == slab.high) {
        // It lies in one voxel, as most do of a model with finer detail than voxels.
        return visit(bounds.map(|range| *range.start() as u32));
    }
    Walk::new(&corners, bounds).run(visit);
}

fn unit<I: Whole>(axis: usize) -> [I; 3] {
    std::array::from_fn(|other| I::from(i64::from(other == axis)))
}

/// A walk over the voxels of a window.
struct Walk<I> {
    /// The axis of the rows, that of the columns in a row, and that of the boxes in a column.
    axes: [usize; 3],
    /// The box round the triangle, in voxels of the window.
    bounds: [RangeInclusive<i64>; 3],
    /// What bounds the columns of a row: the axes that are perpendicular to the columns.
    rows: [Slab<I>; 3],
    /// The triangle's plane.
    plane: Slab<I>,
    /// All other axes.
    rest: [[Slab<I>; 3]; 2],
}

impl<I: Whole> Walk<I> {
    fn new(corners: &[[I; 3]; 3], bounds: [RangeInclusive<i64>; 3]) -> Self {
        let minus = |a: [I; 3], b: [I; 3]| -> [I; 3] { std::array::from_fn(|axis| a[axis] - b[axis]) };
        let edges = [0, 1, 2].map(|idx| minus(corners[(idx + 1) % 3], corners[idx]));
        let normal = cross(edges[0], edges[1]);
        let axes = axes_of(normal, edges);
        let slabs_along = |axis: usize| edges.map(|edge| Slab::new(cross(edge, unit(axis)), corners));
        Self {
            rows: slabs_along(axes[2]),
            rest: [slabs_along(axes[0]), slabs_along(axes[1])],
            plane: Slab::new(normal, corners),
            axes,
            bounds,
        }
    }

    fn run(&self, visit: &mut impl FnMut([u32; 3])) {
        let [row_axis, column_axis, _] = self.axes;
        let mut p = [I::from(0); 3];
        for row in self.bounds[row_axis].clone() {
            p[row_axis] = I::from(row);
            let bounds = self.bounds[column_axis].clone();
            let columns = self.rows.iter().fold(bounds, |range, slab| narrowed(range, slab.range(column_axis, p)));
            for column in columns {
                self.column([row, column], visit);
            }
        }
    }

    fn column(&self, [row, column]: [i64; 2], visit: &mut impl FnMut([u32; 3])) {
        let [row_axis, column_axis, axis] = self.axes;
        let mut p = [I::from(0); 3];
        p[row_axis] = I::from(row);
        p[column_axis] = I::from(column);
        let mut boxes = narrowed(self.bounds[axis].clone(), self.plane.range(axis, p));
        if self.plane.normal[axis] == I::from(0) {
            // A segment: its plane bounds nothing, the other axes do.
            boxes = self.rest.as_flattened().iter().fold(boxes, |range, slab| narrowed(range, slab.range(axis, p)));
        }
        for at in boxes {
            p[axis] = I::from(at);
            if self.rest.as_flattened().iter().all(|slab| slab.meets(slab.at(p))) {
                let mut voxel = [0; 3];
                voxel[row_axis] = row as u32;
                voxel[column_axis] = column as u32;
                voxel[axis] = at as u32;
                visit(voxel);
            }
        }
    }
}

/// The axes of rows, columns and boxes: boxes along the one that the triangle faces most, or, where it is a segment, along
/// which it is longest.
fn axes_of<I: Whole>(normal: [I; 3], edges: [[I; 3]; 3]) -> [usize; 3] {
    let size = |c: I| if c < I::from(0) { -c } else { c };
    let longest = |axis: usize| edges.iter().map(|edge| size(edge[axis])).fold(I::from(0), I::max);
    let is_flat = normal.iter().all(|&c| c == I::from(0));
    let weights: [I; 3] = std::array::from_fn(|axis| if is_flat { longest(axis) } else { size(normal[axis]) });
    let axis =
        if weights[1] >= weights[0] && weights[1] >= weights[2] { 1 } else { usize::from(weights[2] > weights[0]) * 2 };
    // Rows along z and columns along x where the boxes stand, so that neighbours in memory follow one another.
    match axis {
        0 => [2, 1, 0],
        1 => [2, 0, 1],
        _ => [1, 0, 2],
    }
}

#[cfg(test)]
#[path = "triangle_box_tests.rs"]
mod tests;
