//! Room in pages: a free list a page, and pages on demand.
//!
//! Owns which ranges of which page are taken. Receives lengths in units (quads, words), yields ranges; it knows nothing
//! of wgpu, what a page is stays with its user.
//!
//! ```text
//! page 0  | A A A A | B B | . . . | C C |     free: 6..9
//! page 1  | D D D D D D D D D D | . . . |     free: 10..13
//! ```
//!
//! A length above a page's capacity is the user's to split. A range goes to the lowest place that holds it, in the
//! first page that does, so that late pages empty again and can be given back.

use std::collections::BTreeMap;
use std::ops::Range;

/// The free ranges of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FreeList {
    capacity: u32,
    /// Start -> length. Invariant: no range is empty, they neither overlap nor touch.
    free: BTreeMap<u32, u32>,
}

impl FreeList {
    /// A page with nothing in it.
    pub(super) fn new(capacity: u32) -> Self {
        assert!(capacity > 0);
        Self { capacity, free: BTreeMap::from([(0, capacity)]) }
    }

    /// Takes the lowest range of `len` units, where there is one.
    pub(super) fn take(&mut self, len: u32) -> Option<Range<u32>> {
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
    pub(super) fn give_back(&mut self, range: Range<u32>) {
        let Range { mut start, mut end } = range;
        assert!(start < end && end <= self.capacity, "range {start}..{end} is not of a page of {}", self.capacity);
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

    /// Whether nothing is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.free.get(&0) == Some(&self.capacity)
    }
}

/// A range of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocation {
    /// The page.
    pub(super) page: usize,
    /// In units.
    pub(super) range: Range<u32>,
}

impl Allocation {
    /// Length in units.
    pub(super) fn len(&self) -> u32 {
        self.range.end - self.range.start
    }
}

/// Pages of one capacity, each with what its user keeps for it (a buffer).
#[derive(Debug)]
pub(super) struct Pool<P> {
    page_units: u32,
    /// `None` where a page was given back: the others keep their numbers.
    pages: Vec<Option<(P, FreeList)>>,
}

impl<P> Pool<P> {
    /// A pool without pages.
    pub(super) fn new(page_units: u32) -> Self {
        Self { page_units, pages: Vec::new() }
    }

    /// Capacity of a page, in units.
    pub(super) fn page_units(&self) -> u32 {
        self.page_units
    }

    /// Takes `len` units, from a new page where no page has room.
    ///
    /// # Errors
    ///
    /// What `create` says; nothing is taken then.
    ///
    /// # Panics
    ///
    /// `len` is zero or above the capacity of a page.
    pub(super) fn take<E>(&mut self, len: u32, create: impl FnOnce() -> Result<P, E>) -> Result<Allocation, E> {
        assert!((1..=self.page_units).contains(&len), "{len} units do not fit a page of {}", self.page_units);
        for (page, slot) in self.pages.iter_mut().enumerate() {
            if let Some(range) = slot.as_mut().and_then(|(_, free)| free.take(len)) {
                return Ok(Allocation { page, range });
            }
        }
        let mut free = FreeList::new(self.page_units);
        let range = free.take(len).expect("an empty page has room");
        let payload = create()?;
        let page = self.pages.iter().position(Option::is_none).unwrap_or_else(|| {
            self.pages.push(None);
            self.pages.len() - 1
        });
        self.pages[page] = Some((payload, free));
        Ok(Allocation { page, range })
    }

    /// Gives a range back, and with the last one of a page the page itself, save one: a slot that changes hands would
    /// otherwise drop a page and make it anew.
    ///
    /// # Panics
    ///
    /// It was given back already.
    pub(super) fn give_back(&mut self, allocation: Allocation) {
        let slot = &mut self.pages[allocation.page];
        let (_, free) = slot.as_mut().expect("an allocation's page is there");
        free.give_back(allocation.range);
        if free.is_empty() && self.pages.iter().flatten().filter(|(_, free)| free.is_empty()).count() > 1 {
            self.pages[allocation.page] = None;
        }
    }

    /// What its user keeps for a page.
    ///
    /// # Panics
    ///
    /// The page is not there.
    pub(super) fn page(&self, page: usize) -> &P {
        &self.pages[page].as_ref().expect("an allocation's page is there").0
    }

    /// Pages there are.
    pub(super) fn n_pages(&self) -> usize {
        self.pages.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    impl FreeList {
        fn free_units(&self) -> u32 {
            self.free.values().sum()
        }

        fn check_invariants(&self) {
            let mut end_before = None;
            for (&start, &len) in &self.free {
                assert!(len > 0, "an empty free range at {start}");
                assert!(start + len <= self.capacity, "a free range beyond the page");
                assert!(end_before.is_none_or(|end| end < start), "free ranges touch or overlap at {start}");
                end_before = Some(start + len);
            }
        }
    }

    impl<P> Pool<P> {
        fn used_units(&self) -> u64 {
            self.pages.iter().flatten().map(|(_, free)| u64::from(self.page_units - free.free_units())).sum()
        }

        fn check_invariants(&self, taken: &[Allocation]) {
            let n_empty = self.pages.iter().flatten().filter(|(_, free)| free.is_empty()).count();
            assert!(n_empty <= 1, "{n_empty} pages are empty and still there");
            for (page, slot) in self.pages.iter().enumerate() {
                let mut ranges: Vec<_> = taken.iter().filter(|it| it.page == page).map(|it| it.range.clone()).collect();
                ranges.sort_by_key(|range| range.start);
                assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "taken ranges overlap: {ranges:?}");
                let Some((_, free)) = slot else {
                    assert!(ranges.is_empty(), "page {page} went while in use");
                    continue;
                };
                free.check_invariants();
                let used: u32 = ranges.iter().map(|range| range.end - range.start).sum();
                assert_eq!(used + free.free_units(), self.page_units, "taken and free units fill page {page}");
                for range in ranges {
                    assert!(
                        free.free.iter().all(|(&start, &len)| range.end <= start || start + len <= range.start),
                        "{range:?} is taken and free"
                    );
                }
            }
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
                prop_oneof![3 => (1_u32..=40).prop_map(Op::Take), 2 => any::<usize>().prop_map(Op::GiveBack)],
                1..120,
            ),
        ) {
            let mut pool = Pool::new(40);
            let mut taken = Vec::new();
            for op in ops {
                match op {
                    Op::Take(len) => {
                        let Ok(allocation) = pool.take(len, || Ok::<_, Infallible>(()));
                        prop_assert_eq!(allocation.len(), len);
                        taken.push(allocation);
                    }
                    Op::GiveBack(_) if taken.is_empty() => {}
                    Op::GiveBack(idx) => pool.give_back(taken.swap_remove(idx % taken.len())),
                }
                pool.check_invariants(&taken);
                prop_assert_eq!(pool.used_units(), taken.iter().map(|it| u64::from(it.len())).sum::<u64>());
            }
            for allocation in taken.drain(..) {
                pool.give_back(allocation);
            }
            prop_assert!(pool.n_pages() <= 1);
        }
    }

    #[test]
    fn a_freed_gap_is_filled_before_a_page_is_added() {
        let mut pool = Pool::new(10);
        let take = |pool: &mut Pool<()>, len| pool.take(len, || Ok::<_, Infallible>(())).unwrap();
        let a = take(&mut pool, 4);
        let b = take(&mut pool, 6);
        pool.give_back(a);
        assert_eq!(take(&mut pool, 3), Allocation { page: 0, range: 0..3 });
        assert_eq!(take(&mut pool, 2), Allocation { page: 1, range: 0..2 });
        pool.give_back(b);
        assert_eq!(take(&mut pool, 7), Allocation { page: 0, range: 3..10 });
    }

    #[test]
    fn a_page_that_cannot_be_made_takes_nothing() {
        let mut pool = Pool::<()>::new(10);
        assert_eq!(pool.take(3, || Err("no memory")), Err("no memory"));
        assert_eq!((pool.n_pages(), pool.used_units()), (0, 0));
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
