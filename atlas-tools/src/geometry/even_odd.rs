//! Rings in the plane: whether they cross, and the even-odd rule for those that do.
//!
//! Receives rings of points on a grid of whole numbers below 2^23, kept in f64: products of two differences are exact,
//! and so is every answer about sides. Cutting into strips makes new points where edges cross; each is told as a place
//! on an edge, so that whoever knows more of the edge's ends (heights, places in an image) can follow. It does not know
//! space.

use std::ops::Range;

/// A point on the grid.
pub(super) type Point = [f64; 2];

/// Triangles of a face that is cut into strips, a bound on memory and time: 18 MiB.
const STRIPS_MAX: usize = 1 << 18;

/// Crossings that are cut at.
const CROSSINGS_MAX: usize = 1 << 12;

/// A corner of a triangle: a point of the face, or one between two of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corner {
    /// The number of a point in all rings of the face, one after the other.
    pub a: usize,
    /// The number of another, or the same.
    pub b: usize,
    /// How far it is from a to b, 0..=1.
    pub t: f64,
}

impl Corner {
    /// A point itself.
    pub(super) fn at(point: usize) -> Self {
        Self { a: point, b: point, t: 0.0 }
    }
}

/// Twice the area of a ring, above zero where it turns from the first axis to the second.
pub(super) fn doubled_area(ring: &[Point]) -> f64 {
    // Seen from its first point the sum of a triangle is exact.
    let Some(&origin) = ring.first() else { return 0.0 };
    ring.windows(2).map(|pair| turn(origin, pair[0], pair[1])).sum()
}

/// Twice the area of the triangle abc: above zero where it turns from the first axis to the second.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// The edges of a ring.
fn edges(ring: &[Point]) -> impl Iterator<Item = [Point; 2]> + '_ {
    ring.iter().zip(ring.iter().cycle().skip(1)).map(|(&a, &b)| [a, b])
}

/// Whether two edges cross in a point inside both.
fn cross([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
    let opposite = |p: f64, q: f64| (p > 0.0 && q < 0.0) || (p < 0.0 && q > 0.0);
    opposite(turn(a, b, c), turn(a, b, d)) && opposite(turn(c, d, a), turn(c, d, b))
}

/// Calls `meet` for the pairs of edges whose boxes meet, until it answers false.
fn pairs_that_meet(edges: &[[Point; 2]], mut meet: impl FnMut(usize, usize) -> bool) {
    let low = |edge: usize, axis: usize| edges[edge][0][axis].min(edges[edge][1][axis]);
    let high = |edge: usize, axis: usize| edges[edge][0][axis].max(edges[edge][1][axis]);
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by(|&a, &b| low(a, 0).total_cmp(&low(b, 0)).then(a.cmp(&b)));
    for (nth, &a) in order.iter().enumerate() {
        for &b in order[nth + 1..].iter().take_while(|&&b| low(b, 0) <= high(a, 0)) {
            if low(b, 1) <= high(a, 1) && low(a, 1) <= high(b, 1) && !meet(a, b) {
                return;
            }
        }
    }
}

/// How the edges of rings meet, besides each with the next in its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meeting {
    /// Nowhere.
    Apart,
    /// In corners, or along a stretch: whether the rings cross there is for their areas to say.
    Touching,
    /// In a point inside both.
    Crossing,
}

/// How the edges of rings meet.
pub(super) fn meeting(rings: &[&[Point]]) -> Meeting {
    let all: Vec<[Point; 2]> = rings.iter().flat_map(|ring| edges(ring)).collect();
    // By edge: the one that follows it.
    let mut next = Vec::with_capacity(all.len());
    for ring in rings {
        let first = next.len();
        next.extend((1..ring.len()).map(|idx| first + idx));
        next.extend((!ring.is_empty()).then_some(first));
    }
    let mut found = Meeting::Apart;
    pairs_that_meet(&all, |a, b| {
        let touches = match (next[a] == b, next[b] == a) {
            (true, _) => turns_back(all[a], all[b]),
            (_, true) => turns_back(all[b], all[a]),
            _ => touch(all[a], all[b]),
        };
        if touches {
            found = found.max(Meeting::Touching);
        }
        if cross(all[a], all[b]) {
            found = Meeting::Crossing;
        }
        found < Meeting::Crossing
    });
    found
}

/// Whether an edge leads back over the one before it.
fn turns_back([a, b]: [Point; 2], [_, c]: [Point; 2]) -> bool {
    lies_on([a, b], c) || lies_on([b, c], a)
}

/// Whether an end of one edge lies on the other.
fn touch(a: [Point; 2], b: [Point; 2]) -> bool {
    b.iter().any(|&end| lies_on(a, end)) || a.iter().any(|&end| lies_on(b, end))
}

fn lies_on([a, b]: [Point; 2], point: Point) -> bool {
    let within = |axis: usize| (a[axis].min(b[axis])..=a[axis].max(b[axis])).contains(&point[axis]);
    within(0) && within(1) && turn(a, b, point) == 0.0
}

/// Whether each hole lies in the outer ring, the first, and in no other hole, for rings that do not cross. Holes may touch
/// other rings.
pub(super) fn holes_nest(rings: &[&[Point]]) -> bool {
    let Some((outer, holes)) = rings.split_first() else { return true };
    holes.iter().enumerate().all(|(idx, hole)| {
        let others = holes.iter().enumerate().filter(|&(other, _)| other != idx);
        lies_in(hole, outer) && others.into_iter().all(|(_, other)| !lies_in(hole, other))
    })
}

/// Whether a ring lies in another that it does not cross: by the first of its points, or of the middles of its edges, that
/// is not on the other's edges. A ring that has none lies on it, and counts as inside.
fn lies_in(ring: &[Point], other: &[Point]) -> bool {
    let middles = edges(ring).map(|[a, b]| [f64::midpoint(a[0], b[0]), f64::midpoint(a[1], b[1])]);
    ring.iter().copied().chain(middles).find_map(|point| side(point, other)).unwrap_or(true)
}

/// Whether a point lies in a ring, by the even-odd rule; `None` on its edges.
fn side(point: Point, ring: &[Point]) -> Option<bool> {
    let mut is_inside = false;
    for [a, b] in edges(ring) {
        let turned = turn(a, b, point);
        if lies_on([a, b], point) {
            return None;
        }
        if (a[1] > point[1]) != (b[1] > point[1]) {
            is_inside ^= (turned > 0.0) == (b[1] > a[1]);
        }
    }
    Some(is_inside)
}

/// An edge that rises.
#[derive(Debug, Clone, Copy)]
struct Rising {
    /// The numbers of its lower and its upper point.
    ends: [usize; 2],
    low: Point,
    high: Point,
}

impl Rising {
    fn share(&self, level: f64) -> f64 {
        ((level - self.low[1]) / (self.high[1] - self.low[1])).clamp(0.0, 1.0)
    }

    fn at(&self, level: f64) -> f64 {
        self.low[0] + (self.high[0] - self.low[0]) * self.share(level)
    }

    fn corner(&self, level: f64) -> Corner {
        let [a, b] = self.ends;
        match self.share(level) {
            0.0 => Corner::at(a),
            1.0 => Corner::at(b),
            t => Corner { a, b, t },
        }
    }
}

/// Cuts what the rings enclose by the even-odd rule into triangles: between two levels at which nothing crosses and no
/// edge ends, the edges stand side by side and every second gap is filled. `None` where that would be too many.
///
/// ```text
///    \  ####|        /      level
///     \ ####|       /
///      \####|######/        level
/// ```
pub(super) fn strips(points: &[Point], rings: &[Range<usize>]) -> Option<Vec<[Corner; 3]>> {
    let mut rising = rising_edges(points, rings);
    let levels = levels(points, &rising)?;
    rising.sort_by(|a, b| a.low[1].total_cmp(&b.low[1]).then(a.ends.cmp(&b.ends)));
    let mut waiting = rising.iter().copied().peekable();
    let mut active: Vec<Rising> = Vec::new();
    let mut triangles = Vec::new();
    for pair in levels.windows(2) {
        let &[low, high] = pair else { continue };
        active.retain(|edge| edge.high[1] > low);
        while let Some(edge) = waiting.next_if(|edge| edge.low[1] <= low) {
            active.push(edge);
        }
        if triangles.len() + active.len() > STRIPS_MAX {
            return None;
        }
        let middle = f64::midpoint(low, high);
        active.sort_by(|a, b| a.at(middle).total_cmp(&b.at(middle)).then(a.ends.cmp(&b.ends)));
        for sides in active.chunks_exact(2) {
            let (left, right) = (sides[0], sides[1]);
            if left.at(low) != right.at(low) {
                triangles.push([left.corner(low), right.corner(low), right.corner(high)]);
            }
            if left.at(high) != right.at(high) {
                triangles.push([left.corner(low), right.corner(high), left.corner(high)]);
            }
        }
    }
    Some(triangles)
}

fn rising_edges(points: &[Point], rings: &[Range<usize>]) -> Vec<Rising> {
    let edges = rings.iter().flat_map(|ring| ring.clone().zip(ring.clone().cycle().skip(1)));
    let rising = edges.filter(|&(a, b)| points[a][1] != points[b][1]).map(|(a, b)| {
        let (low, high) = if points[a][1] < points[b][1] { (a, b) } else { (b, a) };
        Rising { ends: [low, high], low: points[low], high: points[high] }
    });
    rising.collect()
}

/// The levels at which edges end or cross, from below; `None` where too many cross.
fn levels(points: &[Point], rising: &[Rising]) -> Option<Vec<f64>> {
    let mut levels: Vec<f64> = points.iter().map(|point| point[1]).collect();
    let segments: Vec<[Point; 2]> = rising.iter().map(|edge| [edge.low, edge.high]).collect();
    let mut n_crossings = 0;
    pairs_that_meet(&segments, |a, b| {
        if cross(segments[a], segments[b]) {
            let ([p, q], [r, s]) = (segments[a], segments[b]);
            let (before, after) = (turn(r, s, p), turn(r, s, q));
            levels.push(p[1] + (q[1] - p[1]) * (before / (before - after)));
            n_crossings += 1;
        }
        n_crossings <= CROSSINGS_MAX
    });
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    (n_crossings <= CROSSINGS_MAX).then_some(levels)
}
