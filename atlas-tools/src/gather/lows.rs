//! The low points of point clouds: where the ground is, as far as points know.
//!
//! Receives all points, keeps the lowest of each small square, yields bases. Where points tell that they lie on the
//! ground the others of that neighbourhood do not count: a roof is no ground. It keeps no points.

use std::collections::BTreeMap;

use crate::ground::Base;
use crate::input::CloudPoint;

/// Edge of a square, in voxels.
const CELL: f64 = 16.0;

/// Squares along the edge of a neighbourhood.
const BLOCK: i64 = 4;

/// The lowest points.
#[derive(Debug, Default)]
pub(super) struct Lows {
    by_cell: BTreeMap<[i64; 2], Low>,
}

/// The lowest points of a square: of those on the ground, and of all.
#[derive(Debug, Clone, Copy, Default)]
struct Low {
    ground: Option<Base>,
    any: Option<Base>,
}

impl Lows {
    /// Takes points in.
    pub(super) fn add(&mut self, points: &[CloudPoint]) {
        for point in points {
            let place = point.place;
            let base = Base { x: place.x, z: place.z, height_m: place.height_m };
            let low = self.by_cell.entry([place.x, place.z].map(|along| (along / CELL).floor() as i64)).or_default();
            low.any = Some(lower(low.any, base));
            if point.is_ground {
                low.ground = Some(lower(low.ground, base));
            }
        }
    }

    /// Where the ground is.
    pub(super) fn bases(&self) -> impl Iterator<Item = Base> + '_ {
        let block = |cell: &[i64; 2]| cell.map(|along| along.div_euclid(BLOCK));
        let classified: std::collections::BTreeSet<[i64; 2]> =
            self.by_cell.iter().filter(|(_, low)| low.ground.is_some()).map(|(cell, _)| block(cell)).collect();
        self.by_cell
            .iter()
            .filter_map(move |(cell, low)| low.ground.or(low.any.filter(|_| !classified.contains(&block(cell)))))
    }
}

/// The lower of two, at one height the one farther west and north: the order of the points does not matter.
fn lower(known: Option<Base>, base: Base) -> Base {
    let order = |base: &Base| [base.height_m, base.x, base.z];
    known.filter(|known| order(known) <= order(&base)).unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Place;

    fn point(x: f64, height_m: f64, is_ground: bool) -> CloudPoint {
        CloudPoint { place: Place { x, z: 5.0, height_m }, colour: [0; 3], is_ground }
    }

    #[test]
    fn roofs_do_not_count_beside_points_on_the_ground() {
        let mut lows = Lows::default();
        // A square with ground, one of a roof beside it, and one far away of which nothing is told.
        lows.add(&[point(3.0, 7.0, true), point(4.0, 1.0, false), point(20.0, 30.0, false), point(900.0, 40.0, false)]);
        let heights: Vec<_> = lows.bases().map(|base| base.height_m).collect();
        assert_eq!(heights, [7.0, 40.0]);
    }
}
