//! What of each slot is drawn, so that every place is drawn once.
//!
//! Owns the masks of octants. Receives who is in the slots and what is known of the rest, yields a mask a slot; it
//! decides neither what is loaded nor who gets a slot.
//!
//! ```text
//! drawn(region):  for each octant
//!                     covered(child there)?   no  ──▶ the region draws the octant, and whatever is below waits
//!                                             yes ──▶ the child draws it, octant by octant
//!
//! covered(child): it is in a slot,
//!                 or is known to be empty,
//!                 or hangs or has failed, while all of its own children in the picture are covered
//! ```
//!
//! A child therefore appears when it alone is ready, a failed one leaves its parent's octant on screen, and one that
//! hangs holds neither its siblings nor, for long, its own children.

use crate::geo::RegionKey;
use crate::limits::ZOOM_FULL;

use super::slots::Slots;

/// What the scene knows of regions that are in no slot.
pub(super) trait Known {
    /// Whether nothing is there, for certain.
    fn is_empty(&self, key: RegionKey) -> bool;
    /// Whether it is wanted in the picture.
    fn is_visible(&self, key: RegionKey) -> bool;
    /// Whether all of it that is in the picture is also wanted at the next zoom.
    fn is_refined(&self, key: RegionKey) -> bool;
}

/// The masks of all slots, and the memory to find them.
#[derive(Debug, Clone)]
pub(super) struct Cover {
    masks: Vec<u8>,
    /// Who is shown where, coarsest first.
    shown: Vec<(RegionKey, usize)>,
}

impl Cover {
    /// Of so many slots, all of them empty.
    pub(super) fn new(n_slots: usize) -> Self {
        Self { masks: vec![0; n_slots], shown: Vec::with_capacity(n_slots) }
    }

    /// Finds the masks. 0 where nothing is shown, or where all of it is drawn by others.
    pub(super) fn update(&mut self, slots: &Slots<RegionKey>, known: &impl Known) -> &[u8] {
        self.masks.fill(0);
        self.shown.clear();
        self.shown.extend(slots.all_shown().enumerate().filter_map(|(at, key)| Some((key?, at))));
        self.shown.sort_unstable();
        for &(key, at) in &self.shown {
            if self.is_open(slots, key) {
                self.masks[at] = own_octants(slots, known, key);
            }
        }
        &self.masks
    }

    /// Whether the nearest region above that is shown leaves this one's place to it. Keys are sorted by zoom first, so
    /// that its mask is already known.
    fn is_open(&self, slots: &Slots<RegionKey>, key: RegionKey) -> bool {
        let mut below = key;
        while let Some(above) = below.parent() {
            if let Some(at) = slots.slot_of(&above).filter(|&at| slots.shown(at).is_some()) {
                // Open where it draws itself and not this octant, or where it is open and draws nothing at all.
                let draws_this = self.masks[at] >> below.octant() & 1 == 1;
                return !draws_this && self.is_open(slots, above);
            }
            below = above;
        }
        true
    }

    /// The masks that were found last.
    pub(super) fn masks(&self) -> &[u8] {
        &self.masks
    }
}

/// The octants that no child covers.
fn own_octants(slots: &Slots<RegionKey>, known: &impl Known, key: RegionKey) -> u8 {
    let Some(children) = key.children().filter(|_| key.tile.zoom() < ZOOM_FULL) else { return u8::MAX };
    let own = |(octant, child): (usize, RegionKey)| u8::from(!is_covered(slots, known, child)) << octant;
    children.into_iter().enumerate().map(own).sum()
}

fn is_covered(slots: &Slots<RegionKey>, known: &impl Known, key: RegionKey) -> bool {
    if slots.is_shown(&key) || known.is_empty(key) {
        return true;
    }
    let Some(children) = key.children().filter(|_| known.is_refined(key)) else { return false };
    children.into_iter().all(|child| !known.is_visible(child) || is_covered(slots, known, child))
}
