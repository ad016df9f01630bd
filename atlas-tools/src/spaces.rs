//! The spaces between the buildings: how near the next wall is, and how wide the gap.
//!
//! Receives a plan, yields a [`Space`] a column. Vector tiles of buildings know no streets; but gaps between buildings
//! are streets where they are narrow, and squares, parks, rails or water where they are wide. A column is open land
//! where a disc of a given radius, free of buildings, covers it: so open land reaches up to the walls around it, and
//! does not draw a ring round every lonely house.
//!
//! ```text
//!   ####      ####   a street: no disc fits        #########   #  building
//!   ####      ####                                 .........   .  open land: discs sweep it
//!   ####  ##  ####                                 .... ....
//! ```

use crate::columns::{APRON, Columns, SIDE};

/// Radius of the disc that makes open land, in voxels: streets are up to twice as wide, and a crossing of two avenues
/// is still a street.
const OPEN_RADIUS: i32 = 34;

/// Radius of the disc that makes the middle of a wide street, in voxels.
const WIDE_RADIUS: i32 = 8;

/// The space round a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Voxels to the nearest building, rounded down; what is farther than the disc of open land reaches is cut to its radius.
    pub wall_voxels: u32,
    /// A gap of 16 voxels or more.
    pub is_wide: bool,
    /// A gap of 68 voxels or more.
    pub is_open: bool,
}

/// The spaces of a tile.
#[derive(Debug)]
pub struct Spaces {
    /// Squared distances to the nearest building, index x + SIDE * z, aprons included.
    walls: Vec<u32>,
    wide: Vec<bool>,
    open: Vec<bool>,
}

impl Spaces {
    /// Measures the spaces of a plan.
    pub fn new(columns: &Columns) -> Self {
        let apron = APRON as i32;
        let walls = squared_distances(|x, z| columns.is_built(x - apron, z - apron), OPEN_RADIUS);
        let swept = |radius: i32| {
            // Where a disc may stand; then what any of them covers.
            let far = (radius * radius) as u32;
            let reach = squared_distances(|x, z| walls[(x + SIDE as i32 * z) as usize] >= far, radius);
            reach.iter().map(|&distance| distance < far).collect()
        };
        let (wide, open) = (swept(WIDE_RADIUS), swept(OPEN_RADIUS));
        Self { walls, wide, open }
    }

    /// The space at a column of the tile; coordinates 0..256.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn at(&self, x: i32, z: i32) -> Space {
        let apron = APRON as i32;
        let idx = ((x + apron) + SIDE as i32 * (z + apron)) as usize;
        Space { wall_voxels: self.walls[idx].isqrt(), is_wide: self.wide[idx], is_open: self.open[idx] }
    }
}

const _: () = assert!(2 * OPEN_RADIUS <= APRON as i32, "the tile's discs, and what may touch them, lie in the apron");

/// The squared distance from every column to the nearest one for which `is_goal` holds, cut to the square of `reach`.
///
/// First along z, then the best of a row: exact, since the square is least where both parts are.
fn squared_distances(is_goal: impl Fn(i32, i32) -> bool, reach: i32) -> Vec<u32> {
    let side = SIDE as i32;
    let idx = |x: i32, z: i32| (x + side * z) as usize;
    let mut along_z = vec![reach; SIDE * SIDE];
    for x in 0..side {
        let mut since = reach;
        // Southwards, then back: each column takes the nearer of the goals on its two sides.
        for z in (0..side).chain((0..side).rev()) {
            since = if is_goal(x, z) { 0 } else { (since + 1).min(along_z[idx(x, z)]) };
            along_z[idx(x, z)] = since;
        }
    }
    let mut squares = vec![(reach * reach) as u32; SIDE * SIDE];
    for z in 0..side {
        for x in 0..side {
            let cell = &mut squares[idx(x, z)];
            // Outwards, until no column of the row can be nearer.
            for dx in 0..reach {
                if dx * dx >= *cell as i32 {
                    break;
                }
                for other in [x - dx, x + dx] {
                    if (0..side).contains(&other) {
                        *cell = (*cell).min((dx * dx + along_z[idx(other, z)].pow(2)) as u32);
                    }
                }
            }
        }
    }
    squares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Open ground with buildings on the columns for which `built` holds.
    fn plan(built: impl Fn(i32, i32) -> bool) -> Columns {
        let mut columns = Columns::open();
        let range = -(APRON as i32)..(SIDE - APRON) as i32;
        for (x, z) in range.clone().flat_map(|z| range.clone().map(move |x| (x, z))) {
            if built(x, z) {
                columns.build(x, z, 10, 0);
            }
        }
        columns
    }

    #[test]
    fn narrow_gaps_are_streets_and_wide_ones_open() {
        let check = |width: i32, is_wide: bool, is_open: bool| {
            let spaces = Spaces::new(&plan(|x, _| !(100..100 + width).contains(&x)));
            let middle = spaces.at(100 + width / 2, 128);
            assert_eq!((middle.is_wide, middle.is_open), (is_wide, is_open), "a gap of {width}");
            // Open land reaches up to the walls.
            assert_eq!(spaces.at(100, 128).is_open, is_open);
            assert_eq!(spaces.at(100, 128).wall_voxels, 1);
            assert_eq!(spaces.at(101, 128).wall_voxels, 2.min((width - 1) as u32));
        };
        check(8, false, false);
        check(18, true, false);
        check(62, true, false);
        check(70, true, true);
    }

    #[test]
    fn a_lonely_house_has_no_ring() {
        let spaces = Spaces::new(&plan(|x, z| (120..130).contains(&x) && (120..130).contains(&z)));
        for (x, z) in [(119, 125), (115, 115), (131, 131), (200, 30)] {
            assert!(spaces.at(x, z).is_open, "{x} {z}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]

        #[test]
        fn distances_are_exact(goals in prop::collection::vec((0..SIDE as i32, 0..SIDE as i32), 0..40), reach in 1i32..20) {
            let squares = squared_distances(|x, z| goals.contains(&(x, z)), reach);
            for z in (0..SIDE as i32).step_by(7) {
                for x in (0..SIDE as i32).step_by(5) {
                    let nearest = goals.iter().map(|&(gx, gz)| (gx - x).pow(2) + (gz - z).pow(2)).min();
                    let expected = nearest.unwrap_or(i32::MAX).min(reach * reach) as u32;
                    prop_assert_eq!(squares[(x + SIDE as i32 * z) as usize], expected);
                }
            }
        }
    }
}
