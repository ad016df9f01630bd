//! Faces in space, with holes, as triangles.
//!
//! Receives the rings of a face, yields triangles that cover it, wound as the outer ring is. A face is seen along the
//! axis that its plane faces most, on a grid of whole numbers fine enough to lose nothing. Faces that ear clipping is sure
//! to manage go that way and keep their edges, so that neighbours still share them; all others are cut into strips by the
//! even-odd rule. What is wrong with a face is told, never a reason to stop. It does not join faces to solids.

use voxatlas::geo::mercator::metres_per_voxel_at;

use super::even_odd::{self, Corner, Meeting, Point};
use crate::input::{Place, Problem};

/// Corners of a face beyond which it is left out: comparing all edges with all would take seconds.
const FACE_POINTS_MAX: usize = 1 << 14;

/// A corner farther from the first one than this is an error of the file: 64 times round the Earth, in voxels.
const REACH_MAX: f64 = (1u64 << 31) as f64;

/// Corners this far from the face's plane are told, in voxels: less does not show in a voxel.
const PLANE_TOLERANCE: f64 = 0.1;

/// Steps of the grid along the longer edge of a face: products of two differences are exact in an f64, and 100 m are
/// known to 24 micrometres.
const GRID: f64 = (1u64 << 22) as f64;

/// Cuts a face into triangles, wound as its first ring, the outer one, is; the other rings are holes. A ring need not
/// repeat its first point.
///
/// `problem` is told what is wrong with the face; where nothing of it can be used there are no triangles.
///
/// ```
/// use atlas_tools::geometry::triangulate;
/// use atlas_tools::input::Place;
///
/// let wall = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)].map(|(x, height_m)| Place { x, z: 7.0, height_m });
/// let triangles = triangulate(&[wall.to_vec()], &mut |problem| panic!("{problem:?}"));
/// assert_eq!(triangles.len(), 2);
/// ```
pub fn triangulate(rings: &[Vec<Place>], problem: &mut dyn FnMut(Problem)) -> Vec<[Place; 3]> {
    let places: Vec<Place> = rings.iter().flatten().copied().collect();
    triangulate_corners(rings, problem)
        .into_iter()
        .map(|triangle| triangle.map(|corner| place_at(&places, corner)))
        .collect()
}

/// Cuts a face into triangles that keep their place in an image: `uvs` holds a place for each point of each ring. Where
/// it does not, the triangles have the image's corner.
pub fn triangulate_textured(
    rings: &[Vec<Place>],
    uvs: &[Vec<[f32; 2]>],
    problem: &mut dyn FnMut(Problem),
) -> (Vec<[Place; 3]>, Vec<[[f32; 2]; 3]>) {
    let places: Vec<Place> = rings.iter().flatten().copied().collect();
    // Rings and uvs are matched by ring: one that is too short must not shift those behind it.
    let uv_of = |(ring_idx, ring): (usize, &Vec<Place>)| -> Vec<[f32; 2]> {
        let given = uvs.get(ring_idx).map_or(&[][..], Vec::as_slice);
        (0..ring.len()).map(|idx| given.get(idx).copied().unwrap_or_default()).collect()
    };
    let flat_uvs: Vec<[f32; 2]> = rings.iter().enumerate().flat_map(uv_of).collect();
    let uv_at = |corner: Corner| -> [f32; 2] {
        let (a, b) = (flat_uvs[corner.a], flat_uvs[corner.b]);
        std::array::from_fn(|axis| a[axis] + (b[axis] - a[axis]) * corner.t as f32)
    };
    let corners = triangulate_corners(rings, problem);
    let triangles = corners.iter().map(|triangle| triangle.map(|corner| place_at(&places, corner))).collect();
    (triangles, corners.iter().map(|triangle| triangle.map(uv_at)).collect())
}

fn place_at(places: &[Place], corner: Corner) -> Place {
    let (a, b) = (places[corner.a], places[corner.b]);
    let between = |a: f64, b: f64| a + (b - a) * corner.t;
    Place { x: between(a.x, b.x), z: between(a.z, b.z), height_m: between(a.height_m, b.height_m) }
}

/// Cuts a face into triangles whose corners say which points of the face they are, for whoever knows more of them than
/// their place: see [`triangulate`].
pub fn triangulate_corners(rings: &[Vec<Place>], problem: &mut dyn FnMut(Problem)) -> Vec<[Corner; 3]> {
    let Some(rings) = cleaned(rings, problem) else { return Vec::new() };
    if rings.iter().map(Vec::len).sum::<usize>() > FACE_POINTS_MAX {
        problem(Problem::UntriangulatedFace);
        return Vec::new();
    }
    let Some(plane) = Plane::of(&rings[0]) else {
        problem(Problem::DegenerateRing);
        return Vec::new();
    };
    if rings.iter().flatten().any(|point| plane.distance(point.at) > PLANE_TOLERANCE) {
        problem(Problem::NonPlanarFace);
    }
    if let [ring] = &rings[..]
        && let [a, b, c] = ring[..]
    {
        return vec![[a, b, c].map(|point| Corner::at(point.source))];
    }
    let flat = flattened(&rings, plane.seen_along());
    let mut triangles = match ears(&flat) {
        Some(triangles) => triangles,
        None => strips(&flat, problem),
    };
    for triangle in &mut triangles {
        if (even_odd::doubled_area(&triangle.map(|corner| corner_on(&flat, corner))) > 0.0) != plane.faces_up() {
            triangle.swap(1, 2);
        }
    }
    triangles.into_iter().map(|triangle| triangle.map(|corner| in_source(&flat, corner))).collect()
}

/// A point of a ring.
#[derive(Debug, Clone, Copy)]
struct RingPoint {
    /// Its number in all rings, one after the other.
    source: usize,
    /// In voxels from the first point of the face: x east, y up, z south.
    at: [f64; 3],
}

/// The rings without what repeats, in voxels; `None` where the outer one is of no use.
fn cleaned(rings: &[Vec<Place>], problem: &mut dyn FnMut(Problem)) -> Option<Vec<Vec<RingPoint>>> {
    let origin = rings.first()?.first().copied();
    let Some(origin) = origin else {
        problem(Problem::DegenerateRing);
        return None;
    };
    let voxel_m = metres_per_voxel_at(origin.z);
    let mut kept = Vec::with_capacity(rings.len());
    let mut n_before = 0;
    for (ring_idx, ring) in rings.iter().enumerate() {
        let points = ring.iter().enumerate().map(|(idx, place)| RingPoint {
            source: n_before + idx,
            at: [place.x - origin.x, (place.height_m - origin.height_m) / voxel_m, place.z - origin.z],
        });
        let kept_ring = clean_ring(points.collect(), problem);
        n_before += ring.len();
        match kept_ring {
            Some(ring) => kept.push(ring),
            None if ring_idx == 0 => return None,
            None => {}
        }
    }
    Some(kept)
}

fn clean_ring(mut ring: Vec<RingPoint>, problem: &mut dyn FnMut(Problem)) -> Option<Vec<RingPoint>> {
    if ring.iter().flat_map(|point| point.at).any(|c| !c.is_finite() || c.abs() > REACH_MAX) {
        problem(Problem::BadCoordinate);
        return None;
    }
    // The point that closes a ring is no duplicate, any other repetition is.
    if ring.len() > 1 && ring[0].at == ring[ring.len() - 1].at {
        ring.pop();
    }
    let n_before = ring.len();
    ring.dedup_by(|b, a| a.at == b.at);
    while ring.len() > 1 && ring[0].at == ring[ring.len() - 1].at {
        ring.pop();
    }
    if ring.len() < n_before {
        problem(Problem::DuplicatePoints);
    }
    if ring.len() < 3 {
        problem(Problem::DegenerateRing);
        return None;
    }
    Some(ring)
}

/// The plane of a face.
#[derive(Debug, Clone, Copy)]
struct Plane {
    /// Of length 1.
    normal: [f64; 3],
    /// A point on it: the middle of the outer ring's points.
    middle: [f64; 3],
}

impl Plane {
    /// The plane of a ring, by Newell's sum; where that vanishes, as in a figure of eight, by the three points that lie
    /// farthest apart. `None` where all points lie on a line.
    fn of(ring: &[RingPoint]) -> Option<Self> {
        let mut normal = [0.0; 3];
        let mut middle = [0.0; 3];
        for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            let (a, b) = (a.at, b.at);
            for axis in 0..3 {
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                normal[axis] += (a[u] - b[u]) * (a[v] + b[v]);
                middle[axis] += a[axis] / ring.len() as f64;
            }
        }
        let span = farthest(ring);
        let least = 1e-9 * dot(span, span);
        if length(normal) <= least {
            normal = ring.iter().map(|point| cross(span, minus(point.at, ring[0].at))).fold([0.0; 3], longer);
        }
        let size = length(normal);
        (size > least).then(|| Self { normal: normal.map(|c| c / size), middle })
    }

    fn distance(&self, point: [f64; 3]) -> f64 {
        dot(self.normal, minus(point, self.middle)).abs()
    }

    /// The axis along which the face is seen at its largest.
    fn seen_along(&self) -> usize {
        let [x, y, z] = self.normal.map(f64::abs);
        if y >= x && y >= z { 1 } else { usize::from(z > x) * 2 }
    }

    /// Whether the outer ring turns anticlockwise as seen along that axis.
    fn faces_up(&self) -> bool {
        self.normal[self.seen_along()] > 0.0
    }
}

/// From the first point of a ring to the one farthest from it.
fn farthest(ring: &[RingPoint]) -> [f64; 3] {
    ring.iter().map(|point| minus(point.at, ring[0].at)).fold([0.0; 3], longer)
}

fn longer(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    if dot(b, b) > dot(a, a) { b } else { a }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: [f64; 3]) -> f64 {
    libm::sqrt(dot(a, a))
}

/// A face as it is seen along an axis.
struct Flat {
    /// All points, a ring after the other, on the grid.
    points: Vec<Point>,
    /// The number of each point in the source.
    sources: Vec<usize>,
    /// Where each ring ends in them.
    ends: Vec<usize>,
}

impl Flat {
    fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        std::iter::once(0).chain(self.ends.iter().copied()).zip(self.ends.iter().copied()).map(|(from, to)| from..to)
    }
}

fn flattened(rings: &[Vec<RingPoint>], axis: usize) -> Flat {
    let axes = [(axis + 1) % 3, (axis + 2) % 3];
    let values = |axis: usize| rings.iter().flatten().map(move |point| point.at[axis]);
    let lows = axes.map(|axis| values(axis).fold(f64::INFINITY, f64::min));
    let highs = axes.map(|axis| values(axis).fold(f64::NEG_INFINITY, f64::max));
    let scale = GRID / (highs[0] - lows[0]).max(highs[1] - lows[1]);
    let on_grid = |point: &RingPoint| [0, 1].map(|at| libm::round((point.at[axes[at]] - lows[at]) * scale));
    let ends = rings.iter().scan(0, |end, ring| {
        *end += ring.len();
        Some(*end)
    });
    Flat {
        points: rings.iter().flatten().map(on_grid).collect(),
        sources: rings.iter().flatten().map(|point| point.source).collect(),
        ends: ends.collect(),
    }
}

/// Where a corner lies on the grid.
fn corner_on(flat: &Flat, corner: Corner) -> Point {
    let (a, b) = (flat.points[corner.a], flat.points[corner.b]);
    std::array::from_fn(|axis| a[axis] + (b[axis] - a[axis]) * corner.t)
}

fn in_source(flat: &Flat, corner: Corner) -> Corner {
    Corner { a: flat.sources[corner.a], b: flat.sources[corner.b], t: corner.t }
}

/// Clips ears, where no edges cross and each hole lies in the outer ring and in no other hole: all else may lead the
/// clipper astray. `None` too where the ears do not add up to the face.
fn ears(flat: &Flat) -> Option<Vec<[Corner; 3]>> {
    let rings: Vec<&[Point]> = flat.ranges().map(|range| &flat.points[range]).collect();
    let meeting = even_odd::meeting(&rings);
    if meeting == Meeting::Crossing || !even_odd::holes_nest(&rings) {
        return None;
    }
    let coordinates: Vec<f64> = flat.points.iter().flatten().copied().collect();
    let indices = earcutr::earcut(&coordinates, &flat.ends[..flat.ends.len() - 1], 2).ok()?;
    let triangles: Vec<[Corner; 3]> =
        indices.chunks_exact(3).map(|three| [three[0], three[1], three[2]].map(Corner::at)).collect();
    let area = |ring: &[Point]| even_odd::doubled_area(ring).abs();
    let covered = covered(flat, &triangles);
    let face = area(rings[0]) - rings[1..].iter().map(|hole| area(hole)).sum::<f64>();
    let is_whole = covered == face && (meeting == Meeting::Apart || is_covered_once(flat, covered));
    is_whole.then_some(triangles)
}

/// Twice the area of triangles, counted as often as it is covered.
fn covered(flat: &Flat, triangles: &[[Corner; 3]]) -> f64 {
    triangles.iter().map(|triangle| even_odd::doubled_area(&triangle.map(|corner| corner_on(flat, corner))).abs()).sum()
}

/// Whether ears that cover so much cover nothing twice. Rings that touch may cross in the corner where they do, and then
/// the ears add up to their areas, but to more than what the even-odd rule fills.
fn is_covered_once(flat: &Flat, ears: f64) -> bool {
    let ranges: Vec<_> = flat.ranges().collect();
    let by_rule = even_odd::strips(&flat.points, &ranges).map(|strips| covered(flat, &strips));
    by_rule.is_none_or(|by_rule| (ears - by_rule).abs() <= 1.0 + 1e-6 * ears)
}

/// Cuts a face into strips, whatever its rings do.
fn strips(flat: &Flat, problem: &mut dyn FnMut(Problem)) -> Vec<[Corner; 3]> {
    problem(Problem::CrossingRing);
    let ranges: Vec<_> = flat.ranges().collect();
    even_odd::strips(&flat.points, &ranges).unwrap_or_else(|| {
        problem(Problem::UntriangulatedFace);
        Vec::new()
    })
}

#[cfg(test)]
#[path = "triangulate_tests.rs"]
mod tests;
