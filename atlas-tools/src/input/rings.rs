//! Rings and lines in the plane of the world: mended, measured, made wide.
//!
//! Owns the tolerance for what people draw. Receives a ring of places, yields it without repeated points, or nothing, and says what
//! was wrong; the even-odd rule copes with the rest. It moves no point.

use super::Problem;

/// Pairs of edges that are compared, for each edge of a ring on the average: enough for every real ring, and a bound for
/// those that were drawn to have none.
const COMPARISONS_PER_EDGE_MAX: usize = 64;

/// A ring that the even-odd rule can fill, or nothing; `note` is told what was wrong with it.
pub(super) fn mended(mut ring: Vec<[f64; 2]>, note: &mut dyn FnMut(Problem)) -> Option<Vec<[f64; 2]>> {
    if ring.len() > 1 {
        if ring.first() == ring.last() {
            ring.pop();
        } else {
            note(Problem::OpenRing);
        }
    }
    let n_points = ring.len();
    ring.dedup();
    while ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    if ring.len() < n_points {
        note(Problem::DuplicatePoints);
    }
    if ring.len() < 3 || (area(&ring) == 0.0 && !crosses(&ring)) {
        note(Problem::DegenerateRing);
        return None;
    }
    if crosses(&ring) {
        note(Problem::CrossingRing);
    }
    Some(ring)
}

/// Twice the signed area, relative to the first point, so that large coordinates cancel.
fn area(ring: &[[f64; 2]]) -> f64 {
    let Some(&[x0, z0]) = ring.first() else { return 0.0 };
    ring.windows(2)
        .map(|pair| {
            let [[ax, az], [bx, bz]] = [pair[0], pair[1]].map(|[x, z]| [x - x0, z - z0]);
            ax * bz - bx * az
        })
        .sum()
}

/// Whether two edges of a ring cross. Edges that only touch do not.
fn crosses(ring: &[[f64; 2]]) -> bool {
    let n_edges = ring.len();
    let edge = |nth: usize| [ring[nth], ring[(nth + 1) % n_edges]];
    let west = |nth: usize| edge(nth)[0][0].min(edge(nth)[1][0]);
    let east = |nth: usize| edge(nth)[0][0].max(edge(nth)[1][0]);
    // From west to east, an edge is compared with those that begin before it ends.
    let mut order: Vec<usize> = (0..n_edges).collect();
    order.sort_by(|&a, &b| west(a).total_cmp(&west(b)));
    let mut n_left = n_edges.saturating_mul(COMPARISONS_PER_EDGE_MAX);
    for (nth, &a) in order.iter().enumerate() {
        let until = east(a);
        for &b in order[nth + 1..].iter().take_while(|&&b| west(b) <= until) {
            if n_left == 0 {
                return false;
            }
            n_left -= 1;
            if edges_cross(edge(a), edge(b)) {
                return true;
            }
        }
    }
    false
}

fn edges_cross([a, b]: [[f64; 2]; 2], [c, d]: [[f64; 2]; 2]) -> bool {
    let side = |p: [f64; 2], q: [f64; 2], r: [f64; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
    let are_apart = |first: f64, second: f64| (first > 0.0 && second < 0.0) || (first < 0.0 && second > 0.0);
    are_apart(side(a, b, c), side(a, b, d)) && are_apart(side(c, d, a), side(c, d, b))
}

/// Appends a line made wide: a rectangle for each piece and an octagon for each bend. They overlap, as polygons may.
pub(super) fn ribbon(line: &[[f64; 2]], half_width: f64, polygons: &mut Vec<Vec<Vec<[f64; 2]>>>) {
    // The corners of an octagon, as parts of its radius: the sine and cosine of 22.5 degrees.
    const OCTAGON: [[f64; 2]; 8] = {
        const C: f64 = 0.923_879_532_511_286_7;
        const S: f64 = 0.382_683_432_365_089_8;
        [[C, S], [S, C], [-S, C], [-C, S], [-C, -S], [-S, -C], [S, -C], [C, -S]]
    };
    for pair in line.windows(2) {
        let [[ax, az], [bx, bz]] = [pair[0], pair[1]];
        let length = ((bx - ax) * (bx - ax) + (bz - az) * (bz - az)).sqrt();
        if length > 0.0 {
            let [dx, dz] = [(bx - ax) / length * half_width, (bz - az) / length * half_width];
            let ring = vec![[ax - dz, az + dx], [bx - dz, bz + dx], [bx + dz, bz - dx], [ax + dz, az - dx]];
            polygons.push(vec![ring]);
        }
    }
    if line.len() > 2 {
        for &[x, z] in &line[1..line.len() - 1] {
            polygons.push(vec![OCTAGON.map(|[dx, dz]| [x + dx * half_width, z + dz * half_width]).to_vec()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(ring: &[[f64; 2]], expected_points: Option<usize>, expected: &[Problem]) {
        let mut problems = Vec::new();
        let found = mended(ring.to_vec(), &mut |problem| problems.push(problem));
        assert_eq!(found.map(|ring| ring.len()), expected_points, "{ring:?}");
        assert_eq!(problems, expected, "{ring:?}");
    }

    #[test]
    fn rings_are_mended_and_their_faults_told() {
        let [a, b, c, d] = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];
        check(&[a, b, c, d, a], Some(4), &[]);
        check(&[a, b, c, d], Some(4), &[Problem::OpenRing]);
        check(&[a, b, b, c, d, a], Some(4), &[Problem::DuplicatePoints]);
        check(&[a, a, b, c, d, a, a], Some(4), &[Problem::DuplicatePoints]);
        check(&[a, c, b, d, a], Some(4), &[Problem::CrossingRing]);
        check(&[a, b, a], None, &[Problem::DegenerateRing]);
        check(&[a, b, [2.0, 0.0], a], None, &[Problem::DegenerateRing]);
        check(&[a, a, a, a], None, &[Problem::DuplicatePoints, Problem::DegenerateRing]);
        check(&[a], None, &[Problem::DegenerateRing]);
        check(&[], None, &[Problem::DegenerateRing]);
    }

    #[test]
    fn a_ring_that_touches_itself_does_not_cross() {
        check(&[[0.0, 0.0], [4.0, 0.0], [2.0, 2.0], [4.0, 4.0], [0.0, 4.0], [2.0, 2.0], [0.0, 0.0]], Some(6), &[]);
    }

    #[test]
    fn a_ribbon_is_as_wide_as_asked() {
        let mut polygons = Vec::new();
        ribbon(&[[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]], 2.0, &mut polygons);
        assert_eq!(polygons.len(), 3, "two pieces and a bend");
        assert_eq!(polygons[0][0], [[0.0, 2.0], [10.0, 2.0], [10.0, -2.0], [0.0, -2.0]]);
        polygons.clear();
        ribbon(&[[0.0, 0.0], [0.0, 0.0]], 2.0, &mut polygons);
        assert!(polygons.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_ring_is_mended_or_left_out(ring in prop::collection::vec(prop::array::uniform2(-9.0..9.0f64), 0..40)) {
            let mended = mended(ring.clone(), &mut |_| ());
            if let Some(mended) = mended {
                prop_assert!(mended.len() >= 3 && mended.iter().all(|point| ring.contains(point)));
            }
        }
    }
}
