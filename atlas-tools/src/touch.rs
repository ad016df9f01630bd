//! Which polygons touch: the pairs whose boundaries share a point or of which one lies inside the other.
//!
//! Receives polygons of several owners in one frame, joins the owners in a [`Groups`]. Exact, in whole numbers. A grid
//! brings edges that may meet together, and owners that are already joined are not compared again, so that the work
//! stays near linear in a dense city.

use rustc_hash::FxHashMap;

use crate::input::Polygon;

/// Disjoint sets of the numbers 0..n; a set is named by its lowest member, whatever the order of the unions.
#[derive(Debug, Clone)]
pub struct Groups {
    parents: Vec<u32>,
}

impl Groups {
    /// n sets of one member.
    pub fn new(n: usize) -> Self {
        Self { parents: (0..n as u32).collect() }
    }

    /// The lowest member of the set of `member`.
    pub fn find(&mut self, member: u32) -> u32 {
        let mut at = member;
        while self.parents[at as usize] != at {
            let grandparent = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = grandparent;
            at = grandparent;
        }
        at
    }

    /// Makes one set of the sets of two members.
    pub fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

/// A polygon with the number of its owner and the place of its frame in the common one.
#[derive(Debug, Clone, Copy)]
pub struct Owned<'a> {
    /// Who it belongs to.
    pub owner: u32,
    /// The polygon.
    pub polygon: &'a Polygon,
    /// Added to its points, in units.
    pub offset: [i64; 2],
}

impl Owned<'_> {
    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let at = |point: [i32; 2]| [i64::from(point[0]) + self.offset[0], i64::from(point[1]) + self.offset[1]];
        self.polygon.edges().map(move |(a, b)| Edge { a: at(a), b: at(b) })
    }
}

/// Edge of a grid cell, in units: 9.5 m at zoom 16 in Tokyo, a few edges of a few polygons.
const CELL_UNITS: i64 = 1024;

/// Cells that one edge or polygon is entered in at most; what is longer is compared with everything, since there are
/// few of those in real data and a hostile file must not fill memory.
const CELLS_MAX: i64 = 4096;

#[derive(Debug, Clone, Copy)]
struct Edge {
    a: [i64; 2],
    b: [i64; 2],
}

impl Edge {
    fn bounds(&self) -> Bounds {
        Bounds {
            low: [self.a[0].min(self.b[0]), self.a[1].min(self.b[1])],
            high: [self.a[0].max(self.b[0]), self.a[1].max(self.b[1])],
        }
    }

    /// Whether two edges share a point.
    fn meets(&self, other: &Self) -> bool {
        let sides = |edge: &Self, p: [i64; 2]| {
            let cross = (i128::from(edge.b[0] - edge.a[0]) * i128::from(p[1] - edge.a[1]))
                - (i128::from(edge.b[1] - edge.a[1]) * i128::from(p[0] - edge.a[0]));
            cross.signum()
        };
        let (a, b) = (sides(self, other.a), sides(self, other.b));
        let (c, d) = (sides(other, self.a), sides(other, self.b));
        // On one line (all four zero) they meet exactly where their bounds do.
        self.bounds().meets(&other.bounds()) && a * b <= 0 && c * d <= 0
    }
}

#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: [i64; 2],
    high: [i64; 2],
}

impl Bounds {
    fn meets(&self, other: &Self) -> bool {
        (0..2).all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }

    /// The grid cells that it reaches, or none where they are more than [`CELLS_MAX`].
    fn cells(&self) -> Option<impl Iterator<Item = [i64; 2]> + use<>> {
        let [low, high] = [self.low, self.high].map(|point| point.map(|value| value.div_euclid(CELL_UNITS)));
        let n = (high[0] - low[0] + 1).saturating_mul(high[1] - low[1] + 1);
        (n <= CELLS_MAX).then(|| (low[1]..=high[1]).flat_map(move |y| (low[0]..=high[0]).map(move |x| [x, y])))
    }
}

/// Joins the owners of polygons that touch.
pub fn join_touching(polygons: &[Owned<'_>], groups: &mut Groups) {
    join_boundaries(polygons, groups);
    join_contained(polygons, groups);
}

fn join_boundaries(polygons: &[Owned<'_>], groups: &mut Groups) {
    let mut cells: FxHashMap<[i64; 2], Vec<(u32, Edge)>> = FxHashMap::default();
    let mut long: Vec<(u32, Edge)> = Vec::new();
    let join = |groups: &mut Groups, (a_owner, a): (u32, Edge), (b_owner, b): (u32, Edge)| {
        // Bounds first: most pairs of a cell do not even come near each other.
        if a.bounds().meets(&b.bounds()) && groups.find(a_owner) != groups.find(b_owner) && a.meets(&b) {
            groups.union(a_owner, b_owner);
        }
    };
    for owned in polygons {
        for edge in owned.edges() {
            let entry = (owned.owner, edge);
            match edge.bounds().cells() {
                Some(reached) => {
                    for cell in reached {
                        let others = cells.entry(cell).or_default();
                        for &other in others.iter() {
                            join(groups, entry, other);
                        }
                        others.push(entry);
                    }
                }
                None => long.push(entry),
            }
        }
    }
    for (idx, &entry) in long.iter().enumerate() {
        for &other in &long[..idx] {
            join(groups, entry, other);
        }
        for owned in polygons {
            for edge in owned.edges() {
                join(groups, entry, (owned.owner, edge));
            }
        }
    }
}

/// Joins polygons of which one lies inside the other: boundaries apart, so that any of its points tells.
fn join_contained(polygons: &[Owned<'_>], groups: &mut Groups) {
    let mut cells: FxHashMap<[i64; 2], Vec<u32>> = FxHashMap::default();
    let mut large = Vec::new();
    let bounds: Vec<Option<Bounds>> = polygons.iter().map(bounds_of).collect();
    for (idx, bounds) in bounds.iter().enumerate() {
        match bounds.map(|bounds| bounds.cells()) {
            Some(Some(reached)) => reached.for_each(|cell| cells.entry(cell).or_default().push(idx as u32)),
            Some(None) => large.push(idx as u32),
            None => {}
        }
    }
    for inner in polygons {
        // Every ring of a polygon may lie elsewhere; its first one is the outer.
        let Some(edge) = inner.edges().next() else { continue };
        let point = edge.a;
        let near = cells.get(&point.map(|value| value.div_euclid(CELL_UNITS)));
        for &outer_idx in near.into_iter().flatten().chain(&large) {
            let outer = &polygons[outer_idx as usize];
            let inside =
                bounds[outer_idx as usize].is_some_and(|bounds| bounds.meets(&Bounds { low: point, high: point }));
            if inside && groups.find(outer.owner) != groups.find(inner.owner) && contains(outer, point) {
                groups.union(outer.owner, inner.owner);
            }
        }
    }
}

fn bounds_of(owned: &Owned<'_>) -> Option<Bounds> {
    owned.edges().map(|edge| edge.bounds()).reduce(|a, b| Bounds {
        low: [a.low[0].min(b.low[0]), a.low[1].min(b.low[1])],
        high: [a.high[0].max(b.high[0]), a.high[1].max(b.high[1])],
    })
}

/// Whether a point that lies on no edge is inside, by the even-odd rule.
fn contains(owned: &Owned<'_>, [px, py]: [i64; 2]) -> bool {
    let crosses = |edge: &Edge| {
        let (top, bottom) = if edge.a[1] < edge.b[1] { (edge.a, edge.b) } else { (edge.b, edge.a) };
        top[1] < py
            && py <= bottom[1]
            && i128::from(px - top[0]) * i128::from(bottom[1] - top[1])
                >= i128::from(bottom[0] - top[0]) * i128::from(py - top[1])
    };
    owned.edges().filter(crosses).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn square(x: i32, y: i32, side: i32) -> Polygon {
        Polygon { rings: vec![vec![[x, y], [x + side, y], [x + side, y + side], [x, y + side]]] }
    }

    /// The group of each polygon, the polygons being owners 0, 1, 2...
    fn groups_of(polygons: &[Polygon]) -> Vec<u32> {
        let owned: Vec<_> = polygons
            .iter()
            .enumerate()
            .map(|(idx, polygon)| Owned { owner: idx as u32, polygon, offset: [0, 0] })
            .collect();
        let mut groups = Groups::new(polygons.len());
        join_touching(&owned, &mut groups);
        (0..polygons.len() as u32).map(|idx| groups.find(idx)).collect()
    }

    #[test]
    fn what_shares_a_point_touches() {
        let check = |a: Polygon, b: Polygon, touch: bool| {
            assert_eq!(groups_of(&[a.clone(), b.clone()])[1] == 0, touch, "{a:?} {b:?}");
            assert_eq!(groups_of(&[b, a])[1] == 0, touch);
        };
        check(square(0, 0, 10), square(10, 0, 10), true);
        check(square(0, 0, 10), square(10, 10, 10), true);
        check(square(0, 0, 10), square(11, 0, 10), false);
        check(square(0, 0, 10), square(5, 10, 3), true);
        check(square(0, 0, 100), square(40, 40, 10), true);
        let mut courtyard = square(0, 0, 100);
        courtyard.rings.extend(square(20, 20, 60).rings);
        check(courtyard.clone(), square(40, 40, 10), false);
        check(courtyard, square(40, 40, 40), true);
        // Longer than the grid takes, on both sides.
        check(square(-400_000_000, -400_000_000, 800_000_000), square(3, 3, 5), true);
        check(square(-400_000_000, -400_000_000, 399_999_999), square(3, 3, 5), false);
    }

    #[test]
    fn groups_are_named_by_their_lowest_member() {
        let row: Vec<_> = [30, 20, 10, 0, 100].iter().map(|&x| square(x, 0, 10)).collect();
        assert_eq!(groups_of(&row), [0, 0, 0, 0, 4]);
    }

    #[test]
    fn frames_are_offset() {
        let (a, b) = (square(0, 0, 10), square(-10, 0, 10));
        let mut groups = Groups::new(2);
        let owned = [Owned { owner: 0, polygon: &a, offset: [0, 0] }, Owned { owner: 1, polygon: &b, offset: [30, 0] }];
        join_touching(&owned, &mut groups);
        assert_eq!(groups.find(1), 1);
        join_touching(&[owned[0], Owned { offset: [20, 0], ..owned[1] }], &mut groups);
        assert_eq!(groups.find(1), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Squares, of which everybody can say whether they touch, over many grid cells.
        #[test]
        fn squares_touch_where_their_bounds_meet(
            squares in prop::collection::vec((0i32..40, 0i32..40, 1i32..6), 1..24),
        ) {
            let polygons: Vec<_> = squares.iter().map(|&(x, y, side)| square(x * 300, y * 300, side * 300)).collect();
            let mut expected = Groups::new(polygons.len());
            for (i, &(ax, ay, a)) in squares.iter().enumerate() {
                for (j, &(bx, by, b)) in squares.iter().enumerate() {
                    if ax <= bx + b && bx <= ax + a && ay <= by + b && by <= ay + a {
                        expected.union(i as u32, j as u32);
                    }
                }
            }
            let expected: Vec<_> = (0..polygons.len() as u32).map(|idx| expected.find(idx)).collect();
            prop_assert_eq!(groups_of(&polygons), expected);
        }
    }
}
