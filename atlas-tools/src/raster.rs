//! Polygons to voxels: an even-odd scanline fill at voxel centres, in whole numbers.
//!
//! Receives a polygon in the units of its source tile and a window of voxels, yields the rows of voxels whose centres
//! it covers. A centre on an edge belongs to the polygon whose west or south edge it is, so that polygons that share an
//! edge neither overlap nor leave a gap. Nothing is rounded: the same voxels on every machine.
//!
//! ```text
//!   -- row r's centre --o-----o--|--o-----o-----o--|--o---      o centre, | edge crossed
//!                       0     0     1     1     1     0         crossings to the west, modulo 2
//! ```
//!
//! Holes, self-crossings and rings that repeat points need no care: only the parity counts.

use crate::input::Polygon;

/// A window of voxels in the plane, placed in the frame of a source tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The west edge of the first column, in source units.
    pub west: i64,
    /// The north edge of the first row, in source units.
    pub north: i64,
    /// The edge of a voxel, in source units: even, so that centres are whole.
    pub voxel_units: i64,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Window {
    /// The window cut down to the columns and rows of `[x0, x1) x [z0, z1)`, in its own voxels.
    pub fn part(&self, x: std::ops::Range<usize>, z: std::ops::Range<usize>) -> Self {
        Self {
            west: self.west + x.start as i64 * self.voxel_units,
            north: self.north + z.start as i64 * self.voxel_units,
            width: x.len(),
            height: z.len(),
            ..*self
        }
    }

    /// The first column whose centre is not west of `x` where `x = numerator / denominator`, clamped to the window.
    fn column_from(&self, numerator: i64, denominator: i64) -> usize {
        let half = self.voxel_units / 2;
        let offset = numerator - (self.west + half) * denominator;
        div_ceil(offset, self.voxel_units * denominator).clamp(0, self.width as i64) as usize
    }

    /// The first row whose centre is south of `y`, clamped to the window: a centre on a north edge stays outside.
    fn row_from(&self, y: i64) -> usize {
        let half = self.voxel_units / 2;
        ((y - self.north - half).div_euclid(self.voxel_units) + 1).clamp(0, self.height as i64) as usize
    }
}

fn div_ceil(numerator: i64, denominator: i64) -> i64 {
    -(-numerator).div_euclid(denominator)
}

/// Fills polygons; keeps its working memory between them.
#[derive(Debug, Default)]
pub struct Raster {
    /// Where the parity changes: `words` a row, bit x for column x.
    toggles: Vec<u64>,
}

impl Raster {
    /// Calls `row(z, mask)` for every row of the window in which the polygon covers a centre: bit x % 64 of word x / 64
    /// is column x.
    pub fn fill(&mut self, polygon: &Polygon, window: &Window, mut row: impl FnMut(usize, &[u64])) {
        let rows = rows_of(polygon, window);
        if rows.is_empty() {
            return;
        }
        // One more bit than columns: a crossing east of the last centre changes nothing that is looked at.
        let words = window.width / 64 + 1;
        self.toggles.clear();
        self.toggles.resize(words * rows.len(), 0);
        for ([x0, y0], [x1, y1]) in polygon.edges() {
            let (x0, y0, x1, y1) = (i64::from(x0), i64::from(y0), i64::from(x1), i64::from(y1));
            let (top, bottom) = if y0 < y1 { ([x0, y0], [x1, y1]) } else { ([x1, y1], [x0, y0]) };
            let (dx, dy) = (bottom[0] - top[0], bottom[1] - top[1]);
            for z in window.row_from(top[1])..window.row_from(bottom[1]) {
                let centre = window.north + z as i64 * window.voxel_units + window.voxel_units / 2;
                let x = window.column_from(top[0] * dy + dx * (centre - top[1]), dy);
                self.toggles[(z - rows.start) * words + x / 64] ^= 1 << (x % 64);
            }
        }
        for (z, toggles) in rows.zip(self.toggles.chunks_exact_mut(words)) {
            if parity(toggles, window.width) {
                row(z, toggles);
            }
        }
    }
}

/// The rows of the window whose centres lie within the polygon's height.
fn rows_of(polygon: &Polygon, window: &Window) -> std::ops::Range<usize> {
    let ys = || polygon.rings.iter().flatten().map(|point| i64::from(point[1]));
    match (ys().min(), ys().max()) {
        (Some(north), Some(south)) => window.row_from(north)..window.row_from(south),
        _ => 0..0,
    }
}

/// Turns toggles into the parity of the toggles at or before each bit; whether any of the `width` bits is set.
fn parity(toggles: &mut [u64], width: usize) -> bool {
    let mut carry = 0;
    let mut any = false;
    for (word_idx, word) in toggles.iter_mut().enumerate() {
        let mut bits = *word;
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits ^= carry;
        carry = 0u64.wrapping_sub(bits >> 63);
        let columns = width - (word_idx * 64).min(width);
        if columns < 64 {
            bits &= (1 << columns) - 1;
        }
        any |= bits != 0;
        *word = bits;
    }
    any
}

/// Calls `column(x)` for every set bit of a row, from the west.
pub fn columns(mask: &[u64], mut column: impl FnMut(usize)) {
    for (word_idx, &word) in mask.iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            column(word_idx * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Window = Window { west: -64, north: -32, voxel_units: 16, width: 70, height: 20 };

    fn filled(polygon: &Polygon, window: &Window) -> Vec<(usize, usize)> {
        let mut cells = Vec::new();
        Raster::default().fill(polygon, window, |z, mask| columns(mask, |x| cells.push((x, z))));
        cells
    }

    /// The definition, one centre at a time: is the number of edges that cross the centre's row at or west of it odd?
    fn brute_force(polygon: &Polygon, window: &Window) -> Vec<(usize, usize)> {
        let covered = |x: usize, z: usize| {
            let px = i128::from(window.west + x as i64 * window.voxel_units + window.voxel_units / 2);
            let py = i128::from(window.north + z as i64 * window.voxel_units + window.voxel_units / 2);
            let crossings = polygon.edges().filter(|&(a, b)| {
                let (ax, ay, bx, by) = (i128::from(a[0]), i128::from(a[1]), i128::from(b[0]), i128::from(b[1]));
                let spans = (ay < py && py <= by) || (by < py && py <= ay);
                // (px - ax) * (by - ay) >= (bx - ax) * (py - ay), with the sign of by - ay.
                spans && ((px - ax) * (by - ay) - (bx - ax) * (py - ay)) * (by - ay).signum() >= 0
            });
            crossings.count() % 2 == 1
        };
        let cells = (0..window.height).flat_map(|z| (0..window.width).map(move |x| (x, z)));
        cells.filter(|&(x, z)| covered(x, z)).collect()
    }

    fn square(x0: i32, y0: i32, x1: i32, y1: i32) -> Vec<[i32; 2]> {
        vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
    }

    #[test]
    fn edges_through_centres_belong_to_the_west_and_the_south() {
        let window = Window { west: 0, north: 0, voxel_units: 2, width: 3, height: 3 };
        // From centre (0, 0) to centre (2, 2): the west and south edges count, the east and north edges do not.
        let polygon = Polygon { rings: vec![square(1, 1, 5, 5)] };
        assert_eq!(filled(&polygon, &window), [(0, 1), (1, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn holes_crossings_and_repeats_are_filled_by_parity() {
        let window = Window { west: 0, north: 0, voxel_units: 2, width: 4, height: 4 };
        let count = |rings: Vec<Vec<[i32; 2]>>| filled(&Polygon { rings }, &window).len();
        assert_eq!(count(vec![square(0, 0, 8, 8)]), 16);
        assert_eq!(count(vec![square(0, 0, 8, 8), square(2, 2, 6, 6)]), 12, "a hole");
        assert_eq!(count(vec![vec![[0, 0], [0, 0], [8, 0], [8, 8], [8, 8], [0, 8], [0, 0]]]), 16, "repeated points");
        assert_eq!(count(vec![vec![[0, 0], [8, 8], [8, 0], [0, 8]]]), filled_bow_tie(), "a self-crossing");
        assert_eq!(count(vec![]), 0);
        assert_eq!(count(vec![vec![[3, 3]]]), 0, "a point");
        assert_eq!(count(vec![vec![[0, 0], [8, 8]]]), 0, "a line there and back");
    }

    fn filled_bow_tie() -> usize {
        let window = Window { west: 0, north: 0, voxel_units: 2, width: 4, height: 4 };
        brute_force(&Polygon { rings: vec![vec![[0, 0], [8, 8], [8, 0], [0, 8]]] }, &window).len()
    }

    #[test]
    fn a_window_cuts_and_never_shifts() {
        let polygon = Polygon { rings: vec![vec![[-300, -300], [900, -10], [500, 700]]] };
        let whole = filled(&polygon, &WINDOW);
        let part = filled(&polygon, &WINDOW.part(3..41, 5..9));
        let expected: Vec<_> = whole
            .iter()
            .filter(|(x, z)| (3..41).contains(x) && (5..9).contains(z))
            .map(|(x, z)| (x - 3, z - 5))
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(part, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn fills_what_the_definition_covers(
            // Coarse coordinates make edges through centres, shared points and flat edges common.
            rings in prop::collection::vec(prop::collection::vec(prop::array::uniform2(-20i32..160), 0..8), 0..4),
            step in prop::sample::select(vec![1, 3, 8]),
        ) {
            let rings: Vec<Vec<_>> =
                rings.iter().map(|ring| ring.iter().map(|p| [p[0] * step - 100, p[1] * step - 60]).collect()).collect();
            let polygon = Polygon { rings };
            prop_assert_eq!(filled(&polygon, &WINDOW), brute_force(&polygon, &WINDOW));
        }

        #[test]
        fn polygons_that_share_an_edge_share_no_voxel_and_leave_no_gap(
            outline in prop::array::uniform4(prop::array::uniform2(-40i32..200)),
        ) {
            let [a, b, c, d] = outline;
            let halves = [Polygon { rings: vec![vec![a, b, c]] }, Polygon { rings: vec![vec![a, c, d]] }];
            let whole = filled(&Polygon { rings: vec![vec![a, b, c, d]] }, &WINDOW);
            let [mut left, right] = halves.map(|half| filled(&half, &WINDOW));
            // By parity the whole is the symmetric difference of its halves, whatever its shape.
            for cell in right {
                if let Some(at) = left.iter().position(|&other| other == cell) {
                    left.swap_remove(at);
                } else {
                    left.push(cell);
                }
            }
            left.sort_by_key(|&(x, z)| (z, x));
            prop_assert_eq!(left, whole);
        }

        #[test]
        fn far_coordinates_do_not_overflow(
            ring in prop::collection::vec(prop::array::uniform2(-(1i32 << 29)..=(1 << 29)), 3..6),
        ) {
            let polygon = Polygon { rings: vec![ring] };
            prop_assert_eq!(filled(&polygon, &WINDOW), brute_force(&polygon, &WINDOW));
        }
    }
}
