//! Who is on screen, and where.
//!
//! Owns the slots, how much of each has been uploaded, and how many bytes are uploaded in one frame. Receives the ready
//! regions in the order of their use, with their upload costs; yields the changes. It holds no geometry: a change names
//! a key, and the scene makes a whole [`SlotUpdate`](super::SlotUpdate) of it.
//!
//! ```text
//! free ──▶ filling ──────────▶ shown ──▶ free
//!          some bytes a frame   from the frame in which the last of them are sent
//! ```
//!
//! An owner is drawn from the frame in which its last byte is sent: there is no slot that is drawn half filled, and none
//! that shows what its owner is not.

use std::collections::BTreeMap;
use std::ops::Range;

/// One step of one slot. Within a frame they are made in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotChange<K> {
    /// It shows nothing any more, and what was uploaded for it is given up.
    Clear {
        /// The slot.
        at: usize,
    },
    /// A part of its next owner is sent. Parts come in order and begin with 0.
    Upload {
        /// The slot.
        at: usize,
        /// Its next owner.
        key: K,
        /// Which of the owner's bytes; never empty.
        bytes: Range<usize>,
    },
    /// All of its owner has been sent: it is drawn from this frame on.
    Show {
        /// The slot.
        at: usize,
        /// Its owner.
        key: K,
    },
}

/// A fixed number of slots, each with at most one owner.
///
/// ```
/// use voxatlas::stream::{SlotChange, Slots};
///
/// let mut slots = Slots::new(2);
/// let mut changes = Vec::new();
/// // Two regions of 5 bytes are ready, 6 bytes may be uploaded a frame: the nearer is shown at once, the other begun.
/// slots.update(&[('a', 5), ('b', 5)], 2, 6, &mut changes);
/// assert_eq!(
///     changes,
///     [
///         SlotChange::Upload { at: 0, key: 'a', bytes: 0..5 },
///         SlotChange::Show { at: 0, key: 'a' },
///         SlotChange::Upload { at: 1, key: 'b', bytes: 0..1 },
///     ]
/// );
/// slots.update(&[('a', 5), ('b', 5)], 2, 6, &mut changes);
/// assert_eq!(
///     changes,
///     [SlotChange::Upload { at: 1, key: 'b', bytes: 1..5 }, SlotChange::Show { at: 1, key: 'b' }]
/// );
/// // `a` leaves the view; `b` keeps its slot.
/// slots.update(&[('b', 5)], 1, 6, &mut changes);
/// assert_eq!(changes, [SlotChange::Clear { at: 0 }]);
/// ```
#[derive(Debug, Clone)]
pub struct Slots<K> {
    owners: Vec<Option<Owner<K>>>,
    /// Invariant: where each owner stands.
    places: BTreeMap<K, usize>,
    /// Working memory: which slots are still wanted.
    is_ready: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner<K> {
    key: K,
    sent_bytes: usize,
    is_shown: bool,
}

impl<K: Copy + Ord> Slots<K> {
    /// `n` free slots.
    pub fn new(n: usize) -> Self {
        Self { owners: vec![None; n], places: BTreeMap::new(), is_ready: vec![false; n] }
    }

    /// Releases the slots whose owners are not in `ready`, and fills slots for the others in their order, as far as the
    /// frame's budget goes: it is never exceeded, and a large region takes several frames. What has begun goes on; a
    /// newcomer takes the lowest free slot. Where there is none, one of the first `n_firm` takes the slot of the last
    /// that comes after those.
    ///
    /// `changes` is cleared first. A budget of 0 counts as 1: a frame always makes progress.
    pub fn update(
        &mut self,
        ready: &[(K, usize)],
        n_firm: usize,
        budget_bytes: usize,
        changes: &mut Vec<SlotChange<K>>,
    ) {
        changes.clear();
        self.release(ready, changes);
        let mut left_bytes = budget_bytes.max(1);
        for (idx, &(key, bytes)) in ready.iter().enumerate() {
            let at = match self.places.get(&key) {
                Some(&at) if self.owners[at].is_some_and(|owner| owner.is_shown) => continue,
                Some(&at) => at,
                None if left_bytes == 0 => break,
                None => {
                    let free = self.owners.iter().position(Option::is_none);
                    let at = free.or_else(|| if idx < n_firm { self.evict(&ready[n_firm..], changes) } else { None });
                    let Some(at) = at else { break };
                    self.owners[at] = Some(Owner { key, sent_bytes: 0, is_shown: false });
                    self.places.insert(key, at);
                    at
                }
            };
            left_bytes -= self.send(at, bytes, left_bytes, changes);
        }
    }

    fn release(&mut self, ready: &[(K, usize)], changes: &mut Vec<SlotChange<K>>) {
        self.is_ready.fill(false);
        for (key, _) in ready {
            if let Some(&at) = self.places.get(key) {
                self.is_ready[at] = true;
            }
        }
        for at in 0..self.owners.len() {
            if self.owners[at].is_some() && !self.is_ready[at] {
                self.clear(at, changes);
            }
        }
    }

    fn clear(&mut self, at: usize, changes: &mut Vec<SlotChange<K>>) {
        if let Some(owner) = self.owners[at].take() {
            self.places.remove(&owner.key);
            changes.push(SlotChange::Clear { at });
        }
    }

    /// Frees the slot of the last of these that has one.
    fn evict(&mut self, yielding: &[(K, usize)], changes: &mut Vec<SlotChange<K>>) -> Option<usize> {
        let at = yielding.iter().rev().find_map(|(key, _)| self.places.get(key).copied())?;
        self.clear(at, changes);
        Some(at)
    }

    /// Sends as much of an owner as is left of the budget, shows it where that is all of it, and yields what was sent.
    fn send(&mut self, at: usize, total_bytes: usize, left_bytes: usize, changes: &mut Vec<SlotChange<K>>) -> usize {
        let Some(owner) = &mut self.owners[at] else { return 0 };
        let first = owner.sent_bytes;
        let end = total_bytes.min(first.saturating_add(left_bytes));
        owner.sent_bytes = end;
        if end > first {
            changes.push(SlotChange::Upload { at, key: owner.key, bytes: first..end });
        }
        if end >= total_bytes {
            owner.is_shown = true;
            changes.push(SlotChange::Show { at, key: owner.key });
        }
        end.saturating_sub(first)
    }

    /// The slot that a key owns, whether it is shown already or not.
    pub fn slot_of(&self, key: &K) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// Whether a key is drawn.
    pub fn is_shown(&self, key: &K) -> bool {
        self.slot_of(key).and_then(|at| self.shown(at)).is_some()
    }

    /// Who is drawn from a slot.
    pub fn shown(&self, at: usize) -> Option<K> {
        self.owners.get(at).copied().flatten().filter(|owner| owner.is_shown).map(|owner| owner.key)
    }

    /// Who is drawn, by slot: exactly what a renderer shows after the last changes.
    pub fn all_shown(&self) -> impl Iterator<Item = Option<K>> + '_ {
        (0..self.owners.len()).map(|at| self.shown(at))
    }

    /// Whether an owner is not shown yet: the next frame goes on with it.
    pub fn is_filling(&self) -> bool {
        self.owners.iter().flatten().any(|owner| !owner.is_shown)
    }

    /// Slots without an owner.
    pub fn n_free(&self) -> usize {
        self.owners.len() - self.places.len()
    }

    /// Checks that no key owns two slots and that the index is whole.
    ///
    /// # Panics
    ///
    /// It is not: a bug in this module.
    pub fn check_invariants(&self) {
        assert_eq!(self.places.len(), self.owners.iter().flatten().count(), "an owner stands in the index once");
        for (at, owner) in self.owners.iter().enumerate() {
            if let Some(owner) = owner {
                assert_eq!(self.places.get(&owner.key), Some(&at), "a key owns one slot");
            }
        }
    }
}

#[cfg(test)]
mod tests;
