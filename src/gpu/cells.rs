//! Which region stands where: the hash table that the shaders ask when a ray leaves its region.
//!
//! Twin: `find_answering` in `shaders/shared/solids.wgsl`. Linear probing, and never more than three eighths full, so that a
//! look-up ends after one or two entries.

use super::resident::Cell;
use crate::limits::SLOTS_MAX;

/// Entries of the table; a constant of the shaders.
pub(super) const N_CELLS: usize = 256;

const _: () = assert!(N_CELLS.is_power_of_two() && N_CELLS >= 2 * SLOTS_MAX, "the table stays sparse");

/// Nothing stands there.
const EMPTY: [i32; 4] = [0, 0, 0, -1];

/// The table: x, layer, z, and zoom << 8 | slot.
pub(super) type Table = [[i32; 4]; N_CELLS];

/// The table of these regions and their slots.
pub(super) fn table(residents: impl Iterator<Item = (Cell, usize)>) -> Table {
    let mut table = [EMPTY; N_CELLS];
    for (cell, slot) in residents {
        let mut at = hash(cell);
        while table[at][3] >= 0 {
            at = (at + 1) % N_CELLS;
        }
        let [x, layer, z] = cell.at;
        table[at] = [x, layer, z, i32::from(cell.zoom) << 8 | slot as i32];
    }
    table
}

fn hash(cell: Cell) -> usize {
    let factors = [0x9e37_79b1_u32, 0x85eb_ca77, 0xc2b2_ae3d];
    let mixed = cell.at.iter().zip(factors).fold(0, |mixed, (&c, factor)| mixed ^ (c as u32).wrapping_mul(factor));
    let mixed = mixed ^ u32::from(cell.zoom).wrapping_mul(0x27d4_eb2f);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d);
    (mixed ^ mixed >> 12) as usize % N_CELLS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the shader does.
    fn find(table: &Table, cell: Cell) -> Option<usize> {
        let mut at = hash(cell);
        loop {
            let [x, layer, z, last] = table[at];
            if last < 0 {
                return None;
            }
            if [x, layer, z] == cell.at && last >> 8 == i32::from(cell.zoom) {
                return Some((last & 0xFF) as usize);
            }
            at = (at + 1) % N_CELLS;
        }
    }

    #[test]
    fn every_region_is_found_and_no_other() {
        let cell = |i: i32| Cell { zoom: 12 + (i % 6) as u8, at: [116_400 + i % 7, i % 3 - 1, 51_600 + i / 7] };
        let slots = |i: i32| (i * 5 % SLOTS_MAX as i32) as usize;
        let table = table((0..SLOTS_MAX as i32).map(|i| (cell(i), slots(i))));
        for i in 0..SLOTS_MAX as i32 {
            assert_eq!(find(&table, cell(i)), Some(slots(i)));
            assert_eq!(find(&table, Cell { zoom: 11, ..cell(i) }), None);
            assert_eq!(find(&table, Cell { at: [3, 4, 5], ..cell(i) }), None);
        }
    }
}
