//! Who is on screen, and where.
//!
//! Owns the slots, and how many bytes of them change in one frame. Receives the ready regions in view, nearest first,
//! with their upload costs; yields the changes. It holds no geometry: a change names a key, and the scene makes a whole
//! [`SlotUpdate`](super::SlotUpdate) of it.
//!
//! An owner is drawn from the frame in which it gets its slot: there is no slot that is taken but not filled, and none
//! that shows what its owner is not.

/// One slot that changes hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotChange<K> {
    /// The slot.
    pub at: usize,
    /// Its new owner, `None` where it is cleared.
    pub owner: Option<K>,
}

/// A fixed number of slots, each with at most one owner.
///
/// ```
/// use voxatlas::stream::{SlotChange, Slots};
///
/// let mut slots = Slots::new(2);
/// // Two regions of 5 bytes are ready, 6 bytes may be uploaded a frame: one at a time, nearest first.
/// assert_eq!(slots.update(&[('a', 5), ('b', 5)], 6), [SlotChange { at: 0, owner: Some('a') }]);
/// assert_eq!(slots.update(&[('a', 5), ('b', 5)], 6), [SlotChange { at: 1, owner: Some('b') }]);
/// // `a` leaves the view; `b` keeps its slot.
/// assert_eq!(slots.update(&[('b', 5)], 6), [SlotChange { at: 0, owner: None }]);
/// ```
#[derive(Debug, Clone)]
pub struct Slots<K> {
    owners: Vec<Option<K>>,
}

impl<K: Copy + Eq> Slots<K> {
    /// `n` free slots.
    pub fn new(n: usize) -> Self {
        Self { owners: vec![None; n] }
    }

    /// Releases the slots whose owners are not in `ready`, and gives the lowest free ones to newcomers in their order
    /// while their bytes fit the frame's budget. The first newcomer of a frame passes whatever its size, so that a big
    /// one is late by a frame rather than for ever.
    ///
    /// A slot changes at most once a call. Clearings come first: what they free may serve the newcomers.
    pub fn update(&mut self, ready: &[(K, usize)], budget_bytes: usize) -> Vec<SlotChange<K>> {
        let is_ready = |owner: K| ready.iter().any(|&(key, _)| key == owner);
        let released: Vec<usize> =
            (0..self.owners.len()).filter(|&at| self.owners[at].is_some_and(|owner| !is_ready(owner))).collect();
        for &at in &released {
            self.owners[at] = None;
        }
        let newcomers = self.admit(ready, budget_bytes);
        let cleared = released.into_iter().filter(|&at| self.owners[at].is_none());
        cleared.map(|at| SlotChange { at, owner: None }).chain(newcomers).collect()
    }

    fn admit(&mut self, ready: &[(K, usize)], budget_bytes: usize) -> Vec<SlotChange<K>> {
        let mut newcomers = Vec::new();
        let mut left_bytes = budget_bytes;
        for &(key, bytes) in ready {
            if self.slot_of(&key).is_some() {
                continue;
            }
            let Some(at) = self.owners.iter().position(Option::is_none) else { break };
            if bytes > left_bytes && !newcomers.is_empty() {
                break;
            }
            left_bytes = left_bytes.saturating_sub(bytes);
            self.owners[at] = Some(key);
            newcomers.push(SlotChange { at, owner: Some(key) });
        }
        newcomers
    }

    /// The slot that a key owns.
    pub fn slot_of(&self, key: &K) -> Option<usize> {
        self.owners.iter().position(|owner| owner.as_ref() == Some(key))
    }

    /// The owner of every slot.
    pub fn owners(&self) -> &[Option<K>] {
        &self.owners
    }

    /// Checks that no key owns two slots.
    ///
    /// # Panics
    ///
    /// One does: a bug in this module.
    pub fn check_invariants(&self) {
        for (at, owner) in self.owners.iter().enumerate() {
            if let Some(owner) = owner {
                assert_eq!(self.slot_of(owner), Some(at), "a key owns one slot");
            }
        }
    }
}

#[cfg(test)]
mod tests;
