use proptest::prelude::*;

use super::*;

/// The change that gives slot `at` to `owner`, or clears it.
fn change(at: usize, owner: impl Into<Option<u32>>) -> SlotChange<u32> {
    SlotChange { at, owner: owner.into() }
}

fn ready(keys: &[u32]) -> Vec<(u32, usize)> {
    keys.iter().map(|&key| (key, 10)).collect()
}

#[test]
fn the_lowest_free_slot_is_taken_nearest_first() {
    let mut slots = Slots::new(4);
    assert_eq!(slots.update(&ready(&[7, 3, 9]), 100), [change(0, 7), change(1, 3), change(2, 9)]);
    assert_eq!(slots.update(&ready(&[9, 5, 7]), 100), [change(1, 5)], "who stays keeps the slot");
}

#[test]
fn a_reused_slot_changes_once_and_others_are_cleared_first() {
    let mut slots = Slots::new(3);
    slots.update(&ready(&[1, 2, 3]), 100);
    assert_eq!(slots.update(&ready(&[3, 4]), 100), [change(1, None), change(0, 4)]);
    assert_eq!(slots.update(&[], 100), [change(0, None), change(2, None)]);
    assert_eq!(slots.owners(), [None; 3]);
}

#[test]
fn a_frame_uploads_its_budget_and_at_least_one() {
    let mut slots = Slots::new(8);
    let wanted = [(1, 30), (2, 70), (3, 1), (4, 500), (5, 1)];
    assert_eq!(slots.update(&wanted, 100), [change(0, 1), change(1, 2)]);
    assert_eq!(slots.update(&wanted, 100), [change(2, 3)], "the nearer one is not overtaken");
    assert_eq!(slots.update(&wanted, 100), [change(3, 4)], "the big one passes alone");
    assert_eq!(slots.update(&wanted, 0), [change(4, 5)]);
    assert_eq!(slots.update(&wanted, 0), []);
}

#[test]
fn more_regions_than_slots_wait_for_one() {
    let mut slots = Slots::new(2);
    assert_eq!(slots.update(&ready(&[1, 2, 3]), 100).len(), 2);
    assert_eq!(slots.update(&ready(&[2, 3]), 100), [change(0, 3)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_renderer_that_follows_the_changes_sees_the_owners(
        frames in prop::collection::vec((prop::collection::btree_set(0..20u32, 0..8), 0..60usize), 0..20),
        size in 1..8usize,
    ) {
        let mut slots = Slots::new(size);
        let mut mirror = vec![None; size];
        for (keys, budget_bytes) in frames {
            let before = slots.clone();
            let ready: Vec<(u32, usize)> = keys.iter().map(|&key| (key, key as usize)).collect();
            let changes = slots.update(&ready, budget_bytes);
            slots.check_invariants();

            let mut touched = std::collections::BTreeSet::new();
            for change in &changes {
                prop_assert!(touched.insert(change.at), "a slot changes once a frame");
                mirror[change.at] = change.owner;
            }
            prop_assert_eq!(&mirror[..], slots.owners());
            let uploads: Vec<usize> = changes.iter().filter_map(|change| change.owner).map(|key| key as usize).collect();
            prop_assert!(uploads.len() <= 1 || uploads.iter().sum::<usize>() <= budget_bytes);
            for key in &keys {
                let (was, is) = (before.slot_of(key), slots.slot_of(key));
                prop_assert!(was.is_none() || was == is, "who stays keeps the slot");
            }
            prop_assert!(slots.owners().iter().flatten().all(|owner| keys.contains(owner)));
            let lacks = keys.iter().any(|key| slots.slot_of(key).is_none());
            let has_room = slots.owners().iter().any(Option::is_none);
            prop_assert!(!lacks || !has_room || !uploads.is_empty(), "a frame with room makes progress");
        }
    }
}
