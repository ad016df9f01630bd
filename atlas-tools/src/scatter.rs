//! Voxels that come one by one: from surfaces, points and models of voxels.
//!
//! Receives dots in any order, yields them sorted, one a voxel. Where several lie in one voxel the one of the highest
//! rank shows, among those the uppermost, then the one of the lowest feature and colour: the order of the input does not
//! matter.

use std::cmp::Reverse;
use std::ops::Range;

use crate::look::Tint;

/// Marks a dot that belongs to no feature.
pub const NO_FEATURE: u32 = u32::MAX;

/// One voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dot {
    /// Voxels above the datum.
    pub y: i32,
    /// Voxels south of the tile's north edge, -1..=256.
    pub z: i16,
    /// Voxels east of the tile's west edge, -1..=256.
    pub x: i16,
    /// Its colour.
    pub tint: Tint,
    /// An index into the tile's features, or [`NO_FEATURE`].
    pub feature: u32,
    /// The higher shows.
    pub rank: u8,
    /// How high in the voxel its surface lies, in 1/256; 0 where that does not matter. The higher of one rank shows: it is
    /// what one sees from above.
    pub rise: u8,
}

/// The dots of a tile and of the one column round it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scatter {
    /// By y, then z, then x, each voxel once.
    dots: Vec<Dot>,
}

impl Scatter {
    /// Sorts dots and keeps one a voxel.
    pub fn new(mut dots: Vec<Dot>) -> Self {
        dots.sort_unstable_by_key(|dot| (dot.y, dot.z, dot.x, Reverse((dot.rank, dot.rise)), dot.feature, dot.tint));
        dots.dedup_by_key(|dot| (dot.y, dot.z, dot.x));
        Self { dots }
    }

    /// Its dots.
    pub fn dots(&self) -> &[Dot] {
        &self.dots
    }

    /// The dots with y in a range.
    pub fn between(&self, y: Range<i32>) -> &[Dot] {
        let at = |y: i32| self.dots.partition_point(|dot| dot.y < y);
        &self.dots[at(y.start)..at(y.end).max(at(y.start))]
    }

    /// The lowest and the highest y of the tile's own dots.
    pub fn y_range(&self) -> Option<Range<i32>> {
        let own = || self.dots.iter().filter(|dot| is_own(dot)).map(|dot| dot.y);
        Some(own().next()?..own().next_back()? + 1)
    }

    /// Leaves out what lies outside a range of y; how many of the tile's own voxels that took away.
    pub fn clip(&mut self, y: &Range<i32>) -> u64 {
        let before = self.dots.iter().filter(|dot| is_own(dot)).count();
        self.dots.retain(|dot| y.contains(&dot.y));
        (before - self.dots.iter().filter(|dot| is_own(dot)).count()) as u64
    }
}

/// Whether a dot lies in the tile itself.
pub fn is_own(dot: &Dot) -> bool {
    (0..256).contains(&dot.x) && (0..256).contains(&dot.z)
}

/// The dot at a place, in dots sorted as [`Scatter`] sorts them.
pub fn find(dots: &[Dot], [x, y, z]: [i32; 3]) -> Option<&Dot> {
    let key = |dot: &Dot| (dot.y, i32::from(dot.z), i32::from(dot.x));
    dots.binary_search_by(|dot| key(dot).cmp(&(y, z, x))).ok().map(|at| &dots[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(x: i16, y: i32, z: i16, rank: u8, red: u8) -> Dot {
        Dot { x, y, z, rank, rise: 0, feature: 0, tint: Tint::Colour([red, 0, 0]) }
    }

    #[test]
    fn the_highest_rank_shows_whatever_the_order() {
        let dots = vec![dot(3, 4, 5, 1, 10), dot(3, 4, 5, 2, 20), dot(3, 4, 5, 2, 19), dot(-1, 9, 5, 0, 1)];
        let scatter = Scatter::new(dots.clone());
        assert_eq!(scatter, Scatter::new(dots.iter().rev().copied().collect()));
        assert_eq!(find(scatter.dots(), [3, 4, 5]).unwrap().tint, Tint::Colour([19, 0, 0]));
        assert_eq!(find(scatter.dots(), [3, 5, 5]), None);
        let upper = Dot { rise: 3, ..dot(3, 4, 5, 2, 99) };
        let both = Scatter::new([dots, vec![upper]].concat());
        assert_eq!(find(both.dots(), [3, 4, 5]), Some(&upper));
        // The apron does not make a tile higher.
        assert_eq!(scatter.y_range(), Some(4..5));
        assert_eq!(
            (scatter.between(0..5).len(), scatter.between(5..10).len(), scatter.between(10..20).len()),
            (1, 1, 0)
        );
    }

    #[test]
    fn clipping_counts_the_tiles_own_voxels() {
        let mut scatter = Scatter::new(vec![dot(0, 300, 0, 0, 0), dot(-1, 300, 0, 0, 0), dot(0, 3, 0, 0, 0)]);
        assert_eq!(scatter.clip(&(0..256)), 1);
        assert_eq!(scatter.dots().len(), 1);
    }
}
