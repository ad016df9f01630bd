//! A renderer for the tests of the stream: follows what a frame says, and checks that it may be followed.

use std::sync::Arc;

use voxatlas::geo::RegionKey;
use voxatlas::stream::{BuiltRegion, Frame, Scene, SlotUpdate};

/// What a renderer holds, slot by slot.
#[derive(Debug)]
pub(crate) struct Screen {
    slots: Vec<Option<SlotUpdate>>,
    /// What has been uploaded for a slot that shows nothing yet, and how much of it.
    staged: Vec<Option<(RegionKey, usize)>>,
}

impl Screen {
    pub(crate) fn new(n_slots: usize) -> Self {
        Self { slots: vec![None; n_slots], staged: vec![None; n_slots] }
    }

    /// Does what a renderer does: clearings, uploads, what is shown, octants.
    pub(crate) fn follow(&mut self, frame: &Frame, budget_bytes: usize) {
        let upload_bytes: usize = frame.uploads.iter().map(|step| step.bytes.len()).sum();
        assert!(upload_bytes <= budget_bytes.max(1), "{upload_bytes} bytes uploaded in one frame");
        for update in frame.updates.iter().filter(|update| update.region.is_none()) {
            (self.slots[update.at], self.staged[update.at]) = (None, None);
        }
        for step in &frame.uploads {
            assert!(self.slots[step.at].is_none(), "what is shown is not written to");
            let so_far = self.staged[step.at].map_or(0, |(key, sent)| if key == step.region.key { sent } else { 0 });
            assert_eq!(step.bytes.start, so_far, "parts come in order");
            self.staged[step.at] = Some((step.region.key, step.bytes.end));
        }
        for update in &frame.updates {
            let Some(built) = &update.region else { continue };
            assert_eq!(self.staged[update.at], Some((built.key, built.gpu_bytes())), "all of it is there");
            self.slots[update.at] = Some(update.clone());
            self.staged[update.at] = None;
        }
        for change in &frame.octants {
            let shown = self.slots[change.at].as_mut().expect("only what is shown has octants");
            assert_ne!(shown.octants, change.octants, "a change changes something");
            shown.octants = change.octants;
        }
    }

    /// Every slot shows what the scene believes, at its own place.
    pub(crate) fn check(&self, scene: &Scene) {
        let shown = self.slots.iter().map(|slot| Some((slot.as_ref()?.region.as_ref()?.key, slot.as_ref()?.octants)));
        assert!(shown.eq(scene.slots()), "the screen shows what the scene says");
        for update in self.slots.iter().flatten() {
            let Some(BuiltRegion { key, .. }) = update.region.as_ref().map(Arc::as_ref) else { continue };
            assert_eq!(update.offset, key.origin(scene.config().base), "{key} stands at its place");
        }
    }

    /// What is in the slots: regions and the octants that are drawn of them, none perhaps.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = (RegionKey, u8)> + '_ {
        self.slots.iter().flatten().filter_map(|update| Some((update.region.as_ref()?.key, update.octants)))
    }
}
