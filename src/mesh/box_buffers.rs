//! The boxes of several regions as one set of flat arrays: the reference system's `pos`, `scl`, `aid` and `count`.
//!
//! Owns the arrays, and which boxes each slot will have with the next commit. Receives boxes and slots, yields arrays
//! that stay as they are until a commit; it knows neither regions nor where they stand.
//!
//! ```text
//! merge, remove ──▶ slots ──commit──▶ pos | scl | aid
//!                                     slot 0 ... | slot 1 ... | slot 4 ...      by slot, whatever the order of merging
//! ```
//!
//! A commit writes from the lowest slot that has changed on; what stands before stays where it is.

use std::ops::Range;
use std::sync::Arc;

use crate::mesh::BoxMesh;

/// Boxes by slot, to be drawn with one instanced call: 28 bytes a box.
///
/// Box `i` has its centre at `pos[3 * i..][..3]` and its size at `scl[3 * i..][..3]`, in voxels from its region's lowest
/// corner; `aid[i]` is its slot, by which a shader finds its atlas and offset. Before the first commit there is no box
/// (the reference system begins with one of size 1).
///
/// ```
/// use std::sync::Arc;
/// use voxatlas::mesh::{BoxBuffers, mesh_boxes};
/// use voxatlas::voxel::Occupancy;
///
/// let mut occupancy = Occupancy::empty();
/// occupancy.set(10, 20, 30, true);
///
/// let mut buffers = BoxBuffers::new(16);
/// buffers.merge(Arc::new(mesh_boxes(&occupancy)), 3);
/// assert_eq!(buffers.count(), 0, "nothing is shown before the commit");
///
/// assert!(buffers.commit());
/// assert_eq!((buffers.pos(), buffers.scl(), buffers.aid()), (&[10.5, 20.5, 30.5][..], &[1.0; 3][..], &[3.0][..]));
/// ```
#[derive(Debug, Clone)]
pub struct BoxBuffers {
    /// What each slot holds with the next commit.
    slots: Vec<Option<Arc<BoxMesh>>>,
    /// The lowest slot that has changed since the last commit.
    first_changed: Option<usize>,
    pos: Vec<f32>,
    scl: Vec<f32>,
    aid: Vec<f32>,
    /// For each slot the end of its boxes in the arrays.
    ends: Vec<usize>,
    /// Boxes that the arrays have room for.
    capacity: usize,
    overflow: bool,
    /// The boxes that the last commit wrote.
    written: Range<usize>,
}

impl BoxBuffers {
    /// So many slots, all of them empty.
    pub fn new(n_slots: usize) -> Self {
        Self {
            slots: vec![None; n_slots],
            first_changed: None,
            pos: Vec::new(),
            scl: Vec::new(),
            aid: Vec::new(),
            ends: vec![0; n_slots],
            capacity: 0,
            overflow: false,
            written: 0..0,
        }
    }

    /// Gives a slot its boxes, from the next commit on, in place of those that it has.
    ///
    /// # Panics
    ///
    /// There is no such slot.
    pub fn merge(&mut self, boxes: Arc<BoxMesh>, slot: usize) {
        self.set(slot, Some(boxes));
    }

    /// Takes a slot's boxes away, from the next commit on. An empty slot may be named.
    ///
    /// # Panics
    ///
    /// There is no such slot.
    pub fn remove(&mut self, slot: usize) {
        self.set(slot, None);
    }

    fn set(&mut self, slot: usize, boxes: Option<Arc<BoxMesh>>) {
        let is_same = match (&self.slots[slot], &boxes) {
            (None, None) => true,
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            _ => false,
        };
        if !is_same {
            self.slots[slot] = boxes;
            self.first_changed = Some(self.first_changed.map_or(slot, |first| first.min(slot)));
        }
    }

    /// Shows what was merged and removed since the last commit, all of it at once. Whether there was anything.
    pub fn commit(&mut self) -> bool {
        self.overflow = false;
        let Some(first) = self.first_changed.take() else {
            self.written = self.count()..self.count();
            return false;
        };
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.truncate(start);
        let n_coming: usize = self.slots[first..].iter().flatten().map(|boxes| boxes.len()).sum();
        self.make_room(start + n_coming);
        for slot in first..self.slots.len() {
            if let Some(boxes) = &self.slots[slot] {
                self.pos.extend_from_slice(&boxes.pos);
                self.scl.extend_from_slice(&boxes.scl);
                self.aid.resize(self.pos.len() / 3, slot as f32);
            }
            self.ends[slot] = self.aid.len();
        }
        self.written = start..self.count();
        true
    }

    fn truncate(&mut self, n_boxes: usize) {
        self.pos.truncate(3 * n_boxes);
        self.scl.truncate(3 * n_boxes);
        self.aid.truncate(n_boxes);
    }

    /// Doubles, so that a growing city moves its boxes a few times only.
    fn make_room(&mut self, n_boxes: usize) {
        if n_boxes > self.capacity {
            self.capacity = n_boxes.max(2 * self.capacity);
            self.overflow = true;
            self.pos.reserve_exact(3 * self.capacity - self.pos.len());
            self.scl.reserve_exact(3 * self.capacity - self.scl.len());
            self.aid.reserve_exact(self.capacity - self.aid.len());
        }
    }

    /// The centres, x, y, z a box.
    pub fn pos(&self) -> &[f32] {
        &self.pos
    }

    /// The sizes along x, y, z, a box each.
    pub fn scl(&self) -> &[f32] {
        &self.scl
    }

    /// The slots, one a box.
    pub fn aid(&self) -> &[f32] {
        &self.aid
    }

    /// The number of boxes.
    pub fn count(&self) -> usize {
        self.aid.len()
    }

    /// The boxes of one slot, by their numbers: for renderers that leave out slots outside of the view.
    ///
    /// # Panics
    ///
    /// There is no such slot.
    pub fn of_slot(&self, slot: usize) -> Range<usize> {
        let start = slot.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[slot]
    }

    /// The boxes that the last commit wrote, by their numbers: all others stand where they stood.
    pub fn written(&self) -> Range<usize> {
        self.written.clone()
    }

    /// Whether the arrays were reallocated by the last commit. A renderer's own buffers are then to be made anew, for
    /// [`capacity`](Self::capacity) boxes, and filled whole; otherwise [`written`](Self::written) is all there is to send.
    pub fn overflow(&self) -> bool {
        self.overflow
    }

    /// The boxes that the arrays have room for; it only grows.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const N_SLOTS: usize = 5;

    /// Boxes that are told apart by their mark.
    fn boxes(n: usize, mark: f32) -> Arc<BoxMesh> {
        let numbers = |first: f32| (0..3 * n).map(|idx| first + idx as f32).collect();
        Arc::new(BoxMesh { pos: numbers(mark), scl: numbers(mark + 0.5) })
    }

    type Slots = [Option<Arc<BoxMesh>>; N_SLOTS];

    /// Merged in the order of the slots into buffers that held nothing.
    fn afresh(slots: &Slots) -> BoxBuffers {
        let mut buffers = BoxBuffers::new(N_SLOTS);
        for (slot, boxes) in slots.iter().enumerate() {
            if let Some(boxes) = boxes {
                buffers.merge(Arc::clone(boxes), slot);
            }
        }
        buffers.commit();
        buffers
    }

    fn arrays(buffers: &BoxBuffers) -> [Vec<f32>; 3] {
        [buffers.pos(), buffers.scl(), buffers.aid()].map(<[f32]>::to_vec)
    }

    #[derive(Debug, Clone)]
    enum Step {
        Merge { slot: usize, n: usize },
        Remove { slot: usize },
        Commit,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..N_SLOTS, 0usize..40).prop_map(|(slot, n)| Step::Merge { slot, n }),
            2 => (0..N_SLOTS).prop_map(|slot| Step::Remove { slot }),
            3 => Just(Step::Commit),
        ]
    }

    proptest! {
        #[test]
        fn any_order_of_changes_ends_as_if_built_afresh(steps in prop::collection::vec(step(), 1..60)) {
            let mut buffers = BoxBuffers::new(N_SLOTS);
            let mut slots = Slots::default();
            let mut uploaded = arrays(&buffers);
            for (idx, step) in steps.into_iter().enumerate() {
                let (before, capacity) = (arrays(&buffers), buffers.capacity());
                match step {
                    Step::Merge { slot, n } => {
                        slots[slot] = Some(boxes(n, 1000.0 * idx as f32));
                        buffers.merge(Arc::clone(slots[slot].as_ref().unwrap()), slot);
                        prop_assert_eq!(arrays(&buffers), before, "nothing is shown before the commit");
                    }
                    Step::Remove { slot } => {
                        slots[slot] = None;
                        buffers.remove(slot);
                        prop_assert_eq!(arrays(&buffers), before, "nothing goes before the commit");
                    }
                    Step::Commit => {
                        let has_changed = buffers.commit();
                        let after = arrays(&buffers);
                        prop_assert_eq!(&after, &arrays(&afresh(&slots)));
                        prop_assert!(has_changed || after == before);
                        prop_assert_eq!(buffers.overflow(), buffers.capacity() > capacity);
                        prop_assert!(buffers.capacity() >= buffers.count());

                        // A renderer that sends only what was written has the same.
                        let written = buffers.written();
                        for (array, (mine, width)) in uploaded.iter_mut().zip(after.iter().zip([3, 3, 1])) {
                            array.truncate(width * written.start);
                            array.extend(&mine[width * written.start..width * written.end]);
                        }
                        prop_assert_eq!(&uploaded, &after);
                        for (slot, boxes) in slots.iter().enumerate() {
                            let range = buffers.of_slot(slot);
                            prop_assert_eq!(range.len(), boxes.as_ref().map_or(0, |boxes| boxes.len()));
                            prop_assert!(buffers.aid()[range].iter().all(|&aid| aid == slot as f32));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_changes_nothing_commits_nothing() {
        let mut buffers = BoxBuffers::new(2);
        assert!(!buffers.commit());
        let some = boxes(3, 0.0);
        buffers.merge(Arc::clone(&some), 1);
        assert!(buffers.commit() && buffers.overflow());
        buffers.merge(some, 1);
        buffers.remove(0);
        assert!(!buffers.commit());
        assert_eq!((buffers.overflow(), buffers.written(), buffers.count()), (false, 3..3, 3));
    }

    #[test]
    fn room_doubles_and_stays() {
        let mut buffers = BoxBuffers::new(1);
        let mut capacities = Vec::new();
        for n in [10, 11, 20, 21, 90, 5, 90] {
            buffers.merge(boxes(n, 0.0), 0);
            buffers.commit();
            capacities.push((buffers.capacity(), buffers.overflow()));
        }
        let expected = [(10, true), (20, true), (20, false), (40, true), (90, true), (90, false), (90, false)];
        assert_eq!(capacities, expected);
    }
}
