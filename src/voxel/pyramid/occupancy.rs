//! Which voxels of the parent are occupied, 64 at a time. The rule stands in the documentation of the module above.
//!
//! Children of a coarse voxel are named as seen from its hub: bit a of a child's number is set where it is the one
//! nearer to the partner along axis a. So child 0 is the hub, children 1, 2 and 4 touch it, and partners touch each other
//! with children of the same numbers.

use std::array::from_fn;

use super::Fine;
use crate::limits::REGION_VOXELS;
use crate::voxel::Occupancy;

/// A bit for each of the 256 coarse voxels of a row.
type Lanes = [u64; 4];

const NONE: Lanes = [0; 4];
const ALL: Lanes = [u64::MAX; 4];

/// The even lanes of a word.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// What coarse voxels of a row must know of each other.
#[derive(Debug, Clone)]
struct Row {
    /// Any child is occupied.
    any: Lanes,
    /// The hub is, or more than half of the children.
    sure: Lanes,
    /// By child: it is air, and joined to the hub by air within the coarse voxel.
    reach: [Lanes; 8],
}

/// Air.
const AIR: Row = Row { any: NONE, sure: NONE, reach: [ALL; 8] };

/// What lies beyond the parent, as far as it may be relied on: were it left out, then its straight way to the border is
/// air.
const OUTSIDE: Row = Row { any: NONE, sure: NONE, reach: [NONE, ALL, ALL, NONE, ALL, NONE, NONE, NONE] };

/// Works through the parent two slabs of partners at a time.
pub(super) fn down_sample(fine: Fine<'_>) -> Occupancy {
    let mut coarse = Occupancy::empty();
    let mut slabs: [Vec<Row>; 2] = from_fn(|_| vec![AIR; REGION_VOXELS as usize]);
    for z in 0..REGION_VOXELS {
        let is_even = z % 2 == 0;
        // An odd slab comes first of its pair; the very first has no partner.
        if z == 0 || !is_even {
            for (slab, z) in slabs.iter_mut().zip(z..REGION_VOXELS) {
                slab.iter_mut().zip(0..).for_each(|(row, y)| *row = Row::of(fine, y, z));
            }
        }
        let own = usize::from(z != 0 && is_even);
        let is_at_border = z == 0 || z == REGION_VOXELS - 1;
        for y in 0..REGION_VOXELS {
            let row = &slabs[own][y as usize];
            let beyond_y = partner(y).map_or(&OUTSIDE, |y| &slabs[own][y as usize]);
            let beyond_z = if is_at_border { &OUTSIDE } else { &slabs[1 - own][y as usize] };
            *coarse.row_mut(y, z) = row.occupied([beyond_y, beyond_z], [y % 2 == 0, is_even]);
        }
    }
    coarse
}

/// The partner of a coordinate, where the parent holds it.
fn partner(k: u32) -> Option<u32> {
    let partner = if k.is_multiple_of(2) { k.checked_sub(1)? } else { k + 1 };
    (partner < REGION_VOXELS).then_some(partner)
}

impl Row {
    /// Looks at the children of the coarse row (y, z).
    fn of(fine: Fine<'_>, y: u32, z: u32) -> Self {
        let children = children(fine, y, z);
        let any = children.iter().fold(NONE, |all, child| from_fn(|w| all[w] | child[w]));
        if any == NONE {
            return AIR;
        }
        let most = more_than_half(&children);
        let sure = from_fn(|w| children[0][w] | most[w]);
        if sure == ALL {
            return Self { any, sure, reach: [NONE; 8] };
        }
        Self { any, sure, reach: reach(&children) }
    }

    /// The coarse voxels that are occupied, from the rows of the partners along y and z, and whether this one is the even
    /// one of each pair.
    fn occupied(&self, [beyond_y, beyond_z]: [&Self; 2], [is_even_y, is_even_z]: [bool; 2]) -> Lanes {
        if (0..4).all(|w| self.any[w] & !self.sure[w] == 0) {
            return self.sure;
        }
        let lanes = |is_even| if is_even { ALL } else { NONE };
        let beyond_x = self.beyond_x();
        let [x, y, z] = [
            self.needed(&beyond_x, 0, [EVEN; 4]),
            self.needed(beyond_y, 1, lanes(is_even_y)),
            self.needed(beyond_z, 2, lanes(is_even_z)),
        ];
        from_fn(|w| self.sure[w] | x[w] | y[w] | z[w])
    }

    /// The voxels that the second rule occupies, looking along one axis.
    fn needed(&self, beyond: &Self, axis: usize, is_even: Lanes) -> Lanes {
        from_fn(|w| {
            let sides = (0..8).filter(|child| child >> axis & 1 == 1);
            let joined = sides.fold(0, |joined, child| joined | self.reach[child][w] & beyond.reach[child][w]);
            self.any[w] & !beyond.sure[w] & !joined & (is_even[w] | !beyond.any[w])
        })
    }

    /// The partners along x, each in the lane of its partner.
    fn beyond_x(&self) -> Self {
        Self {
            any: swapped(self.any, OUTSIDE.any[0]),
            sure: swapped(self.sure, OUTSIDE.sure[0]),
            reach: from_fn(|child| swapped(self.reach[child], OUTSIDE.reach[child][0])),
        }
    }
}

/// The lanes 2j - 1 and 2j swapped; `outside` is shifted in at both ends.
fn swapped(lanes: Lanes, outside: u64) -> Lanes {
    from_fn(|w| {
        let before = if w == 0 { outside } else { lanes[w - 1] };
        let after = lanes.get(w + 1).copied().unwrap_or(outside);
        (lanes[w] << 1 | before >> 63) & EVEN | (lanes[w] >> 1 | after << 63) & !EVEN
    })
}

/// The children of a coarse row, by number.
fn children(fine: Fine<'_>, y: u32, z: u32) -> [Lanes; 8] {
    let mut children = [NONE; 8];
    for (pair_idx, pair) in children.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        // The hub of an even coordinate is its upper child.
        let side = |k: u32, near: usize| 2 * k + ((k & 1) ^ 1 ^ near as u32);
        let row = fine.row(side(y, pair_idx & 1), side(z, pair_idx >> 1));
        for (w, [first, second]) in row.as_chunks::<2>().0.iter().enumerate() {
            let [low, high] = [0, 1].map(|side| every_second(first >> side) | every_second(second >> side) << 32);
            pair[0][w] = high & EVEN | low & !EVEN;
            pair[1][w] = low & EVEN | high & !EVEN;
        }
    }
    children
}

/// The even bits of a word, moved together.
fn every_second(word: u64) -> u64 {
    let mut bits = word & EVEN;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) & 0xFFFF_FFFF
}

/// Where five or more of the seven children beside the hub are occupied: it is asked where the hub is air.
fn more_than_half(children: &[Lanes; 8]) -> Lanes {
    /// Sum and carry.
    fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
        (a ^ b ^ c, a & b | c & (a | b))
    }
    from_fn(|w| {
        let [_, a, b, c, d, e, f, g] = children.map(|child| child[w]);
        let (sum_0, carry_0) = add(a, b, c);
        let (sum_1, carry_1) = add(d, e, f);
        let (ones, carry_2) = add(sum_0, sum_1, g);
        let (twos, fours) = add(carry_0, carry_1, carry_2);
        fours & (ones | twos)
    })
}

/// By child: it is joined to the hub by air.
fn reach(children: &[Lanes; 8]) -> [Lanes; 8] {
    let mut reach = [NONE; 8];
    for w in 0..4 {
        let air: [u64; 8] = from_fn(|child| !children[child][w]);
        let mut joined = [0; 8];
        joined[0] = air[0];
        // In a cube no way that has no short cut is longer than four steps.
        for _ in 0..4 {
            for child in 1..8 {
                joined[child] |= air[child] & (joined[child ^ 1] | joined[child ^ 2] | joined[child ^ 4]);
            }
        }
        for child in 0..8 {
            reach[child][w] = joined[child];
        }
    }
    reach
}
