//! Room in pages: one address space, whose pages come and go.
//!
//! Owns which ranges are taken, and what its user keeps for each page that any of them touches. Receives lengths in units
//! (quads, words), yields ranges; it knows nothing of wgpu.
//!
//! ```text
//! page       0               1               2
//! units   0 | A A A A B B . C C D D D D D D | . . . . . . . |      D lies in two pages, page 2 is not there
//! ```
//!
//! A range goes to the lowest place that holds it, so that the last pages empty again and can be given back.

use std::collections::BTreeMap;
use std::ops::Range;

/// The free ranges of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FreeList {
    units: u32,
    /// Start -> length. Invariant: no range is empty, they neither overlap nor touch.
    free: BTreeMap<u32, u32>,
}

impl FreeList {
    fn new(units: u32) -> Self {
        assert!(units > 0);
        Self { units, free: BTreeMap::from([(0, units)]) }
    }

    /// Takes the lowest range of `len` units, where there is one.
    fn take(&mut self, len: u32) -> Option<Range<u32>> {
        debug_assert!(len > 0);
        let (&start, &room) = self.free.iter().find(|&(_, &room)| room >= len)?;
        self.free.remove(&start);
        if room > len {
            self.free.insert(start + len, room - len);
        }
        Some(start..start + len)
    }

    /// Gives a range back.
    ///
    /// # Panics
    ///
    /// Part of it is free already.
    fn give_back(&mut self, range: Range<u32>) {
        let Range { mut start, mut end } = range;
        assert!(start < end && end <= self.units, "range {start}..{end} is not of a space of {}", self.units);
        if let Some((&next, &len)) = self.free.range(start..).next() {
            assert!(next >= end, "range {start}..{end} is given back twice");
            if next == end {
                self.free.remove(&next);
                end += len;
            }
        }
        if let Some((&before, &len)) = self.free.range(..start).next_back() {
            assert!(before + len <= start, "range {start}..{end} is given back twice");
            if before + len == start {
                self.free.remove(&before);
                start = before;
            }
        }
        self.free.insert(start, end - start);
    }
}

/// A page that is there.
#[derive(Debug)]
struct Page<P> {
    payload: P,
    used_units: u32,
}

/// An address space of a fixed number of pages, each with what its user keeps for it (a buffer).
#[derive(Debug)]
pub(super) struct Space<P> {
    page_units: u32,
    free: FreeList,
    pages: Vec<Option<Page<P>>>,
    /// Counts the pages that came or went.
    n_changes: u64,
}

impl<P> Space<P> {
    /// A space of at most so many pages, none of them there.
    pub(super) fn new(page_units: u32, n_pages_max: usize) -> Self {
        let units = u32::try_from(u64::from(page_units) * n_pages_max as u64).expect("addresses have 32 bits");
        Self { page_units, free: FreeList::new(units), pages: (0..n_pages_max).map(|_| None).collect(), n_changes: 0 }
    }

    /// Takes `len` units, and makes the pages that they lie in; `None` where no range of them is free.
    ///
    /// # Errors
    ///
    /// What `create` says; nothing is taken then.
    pub(super) fn take<E>(
        &mut self,
        len: u32,
        mut create: impl FnMut() -> Result<P, E>,
    ) -> Result<Option<Range<u32>>, E> {
        if len == 0 {
            return Ok(Some(0..0));
        }
        let Some(range) = self.free.take(len) else { return Ok(None) };
        for page in self.pages_of(&range) {
            if self.pages[page].is_none() {
                match create() {
                    Ok(payload) => {
                        self.pages[page] = Some(Page { payload, used_units: 0 });
                        self.n_changes += 1;
                    }
                    Err(err) => {
                        self.free.give_back(range);
                        self.drop_empty_pages();
                        return Err(err);
                    }
                }
            }
        }
        for (page, part) in self.parts(&range) {
            self.page_mut(page).used_units += part.end - part.start;
        }
        Ok(Some(range))
    }

    /// Gives a range back, and with it the pages that are empty then, save one: a slot that changes hands would otherwise
    /// drop a page and make it anew.
    ///
    /// # Panics
    ///
    /// It was given back already.
    pub(super) fn give_back(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        for (page, part) in self.parts(&range) {
            self.page_mut(page).used_units -= part.end - part.start;
        }
        self.free.give_back(range);
        self.drop_empty_pages();
    }

    /// Drops the pages that nobody uses, but for the first of them.
    fn drop_empty_pages(&mut self) {
        let mut n_empty = 0;
        for slot in &mut self.pages {
            if slot.as_ref().is_some_and(|page| page.used_units == 0) {
                n_empty += 1;
                if n_empty > 1 {
                    *slot = None;
                    self.n_changes += 1;
                }
            }
        }
    }

    fn page_mut(&mut self, page: usize) -> &mut Page<P> {
        self.pages[page].as_mut().expect("a taken range's pages are there")
    }

    fn pages_of(&self, range: &Range<u32>) -> Range<usize> {
        (range.start / self.page_units) as usize..range.end.div_ceil(self.page_units) as usize
    }

    /// The pages in which a range lies, ascending, and which units of each.
    pub(super) fn parts(&self, range: &Range<u32>) -> impl Iterator<Item = (usize, Range<u32>)> + use<P> {
        let (range, page_units) = (range.clone(), self.page_units);
        let pages = if range.is_empty() { 0..0 } else { self.pages_of(&range) };
        pages.map(move |page| {
            let first = page as u32 * page_units;
            (page, range.start.max(first) - first..range.end.min(first + page_units) - first)
        })
    }

    /// What its user keeps for each page, by number; `None` for those that are not there.
    pub(super) fn pages(&self) -> impl Iterator<Item = Option<&P>> {
        self.pages.iter().map(|page| page.as_ref().map(|page| &page.payload))
    }

    /// What its user keeps for a page.
    ///
    /// # Panics
    ///
    /// The page is not there.
    pub(super) fn page(&self, page: usize) -> &P {
        &self.pages[page].as_ref().expect("a taken range's pages are there").payload
    }

    /// Pages that are there.
    pub(super) fn n_pages(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    /// Units of a page.
    pub(super) fn page_units(&self) -> u32 {
        self.page_units
    }

    /// A number that changes whenever pages come or go.
    pub(super) fn n_changes(&self) -> u64 {
        self.n_changes
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    impl<P> Space<P> {
        fn check_invariants(&self, taken: &[Range<u32>]) {
            let mut end_before = None;
            for (&start, &len) in &self.free.free {
                assert!(len > 0 && start + len <= self.free.units, "a free range is in the space and not empty");
                assert!(end_before.is_none_or(|end| end < start), "free ranges touch or overlap at {start}");
                end_before = Some(start + len);
            }
            let mut ranges = taken.to_vec();
            ranges.extend(self.free.free.iter().map(|(&start, &len)| start..start + len));
            ranges.sort_by_key(|range| range.start);
            assert!(
                ranges.windows(2).all(|it| it[0].end == it[1].start),
                "what is taken and what is free fill the space"
            );
            for (idx, page) in self.pages.iter().enumerate() {
                let used: u32 = taken
                    .iter()
                    .flat_map(|it| self.parts(it))
                    .filter(|it| it.0 == idx)
                    .map(|it| it.1.end - it.1.start)
                    .sum();
                assert_eq!(page.as_ref().map_or(0, |page| page.used_units), used, "page {idx}");
            }
            let n_empty = self.pages.iter().flatten().filter(|page| page.used_units == 0).count();
            assert!(n_empty <= 1, "{n_empty} pages are empty and still there");
        }
    }

    #[derive(Debug, Clone)]
    enum Op {
        Take(u32),
        /// Index into those taken, modulo their number.
        GiveBack(usize),
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn ranges_never_overlap_and_pages_come_and_go(
            ops in prop::collection::vec(
                prop_oneof![3 => (1_u32..=90).prop_map(Op::Take), 2 => any::<usize>().prop_map(Op::GiveBack)],
                1..120,
            ),
        ) {
            let mut space = Space::new(40, 20);
            let mut taken: Vec<Range<u32>> = Vec::new();
            for op in ops {
                match op {
                    Op::Take(len) => {
                        let Ok(range) = space.take(len, || Ok::<_, Infallible>(()));
                        match range {
                            Some(range) => taken.push(range),
                            None => prop_assert!(space.free.free.values().all(|&room| room < len)),
                        }
                    }
                    Op::GiveBack(_) if taken.is_empty() => {}
                    Op::GiveBack(idx) => space.give_back(taken.swap_remove(idx % taken.len())),
                }
                space.check_invariants(&taken);
            }
            for range in taken.drain(..) {
                space.give_back(range);
            }
            prop_assert!(space.n_pages() <= 1);
        }
    }

    #[test]
    fn a_freed_gap_is_filled_before_a_page_is_added() {
        let mut space = Space::new(10, 3);
        let take = |space: &mut Space<()>, len| space.take(len, || Ok::<_, Infallible>(())).unwrap().unwrap();
        let a = take(&mut space, 4);
        let b = take(&mut space, 6);
        space.give_back(a);
        assert_eq!(take(&mut space, 3), 0..3);
        assert_eq!(take(&mut space, 2), 10..12);
        space.give_back(b);
        assert_eq!(take(&mut space, 7), 3..10);
        // 15 units need the rest of a page and a part of the next one.
        assert_eq!(take(&mut space, 15), 12..27);
        assert_eq!(space.parts(&(12..27)).collect::<Vec<_>>(), [(1, 2..10), (2, 0..7)]);
        assert_eq!(space.n_pages(), 3);
        assert_eq!(space.take(4, || Ok::<_, Infallible>(())), Ok(None), "three units are free");
    }

    #[test]
    fn a_page_that_cannot_be_made_takes_nothing() {
        let mut space = Space::<()>::new(10, 4);
        let mut n_left = 1;
        let range = space.take(35, || {
            if n_left > 0 {
                n_left -= 1;
                Ok(())
            } else {
                Err("no memory")
            }
        });
        assert_eq!(range, Err("no memory"));
        space.check_invariants(&[]);
        assert!(space.n_pages() <= 1);
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn a_range_is_not_given_back_twice() {
        let mut free = FreeList::new(10);
        let range = free.take(4).unwrap();
        free.give_back(range.clone());
        free.give_back(range);
    }
}
