use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

type Changes = Vec<SlotChange<u32>>;

fn ready(keys: &[u32]) -> Vec<(u32, usize)> {
    keys.iter().map(|&key| (key, 10)).collect()
}

/// Updates with all that is ready being firm.
fn update(slots: &mut Slots<u32>, ready: &[(u32, usize)], budget_bytes: usize) -> Changes {
    let mut changes = Vec::new();
    slots.update(ready, ready.len(), budget_bytes, &mut changes);
    slots.check_invariants();
    changes
}

fn clear(at: usize) -> SlotChange<u32> {
    SlotChange::Clear { at }
}

/// Those of the changes that a picture shows.
fn shown(changes: &[SlotChange<u32>]) -> Vec<(usize, u32)> {
    let show = |change: &SlotChange<u32>| match change {
        SlotChange::Show { at, key } => Some((*at, *key)),
        _ => None,
    };
    changes.iter().filter_map(show).collect()
}

#[test]
fn the_lowest_free_slot_is_taken_nearest_first() {
    let mut slots = Slots::new(4);
    assert_eq!(shown(&update(&mut slots, &ready(&[7, 3, 9]), 100)), [(0, 7), (1, 3), (2, 9)]);
    let changes = update(&mut slots, &ready(&[9, 5, 7]), 100);
    assert_eq!((changes[0].clone(), shown(&changes)), (clear(1), vec![(1, 5)]), "who stays keeps the slot");
}

#[test]
fn a_region_larger_than_the_budget_takes_frames_and_is_shown_with_the_last_of_it() {
    let mut slots = Slots::new(8);
    let wanted = [(1, 250), (2, 30)];
    let part = |key, at, bytes| SlotChange::Upload { at, key, bytes };
    assert_eq!(update(&mut slots, &wanted, 100), [part(1, 0, 0..100)], "the nearer one is not overtaken");
    assert_eq!(update(&mut slots, &wanted, 100), [part(1, 0, 100..200)]);
    assert!(slots.is_filling() && !slots.is_shown(&1));
    let changes = update(&mut slots, &wanted, 100);
    let last = SlotChange::Show { at: 0, key: 1 };
    assert_eq!(changes, [part(1, 0, 200..250), last, part(2, 1, 0..30), SlotChange::Show { at: 1, key: 2 }]);
    assert!(!slots.is_filling());
    assert_eq!(update(&mut slots, &wanted, 100), []);
}

#[test]
fn what_is_no_longer_wanted_is_given_up_half_sent() {
    let mut slots = Slots::new(1);
    update(&mut slots, &[(1, 250)], 100);
    let changes = update(&mut slots, &[(2, 10)], 100);
    assert_eq!((changes[0].clone(), shown(&changes)), (clear(0), vec![(0, 2)]));
}

#[test]
fn a_region_of_no_bytes_is_shown_at_once_and_a_budget_of_none_still_moves() {
    let mut slots = Slots::new(2);
    assert_eq!(update(&mut slots, &[(1, 0)], 100), [SlotChange::Show { at: 0, key: 1 }]);
    assert_eq!(update(&mut slots, &[(1, 0), (2, 5)], 0), [SlotChange::Upload { at: 1, key: 2, bytes: 0..1 }]);
}

#[test]
fn more_regions_than_slots_wait_for_one() {
    let mut slots = Slots::new(2);
    assert_eq!(shown(&update(&mut slots, &ready(&[1, 2, 3]), 100)).len(), 2);
    assert_eq!(shown(&update(&mut slots, &ready(&[2, 3]), 100)), [(0, 3)]);
}

#[test]
fn the_firm_take_the_slots_of_those_that_only_linger() {
    let mut slots = Slots::new(2);
    let mut changes = Vec::new();
    slots.update(&ready(&[1, 2]), 2, 100, &mut changes);
    // 1 and 2 linger, the last one goes first.
    slots.update(&ready(&[3, 1, 2]), 1, 100, &mut changes);
    assert_eq!((changes[0].clone(), shown(&changes)), (clear(1), vec![(1, 3)]));
    slots.update(&ready(&[3, 4, 1]), 3, 100, &mut changes);
    assert_eq!(changes, [], "firm ones wait");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_renderer_that_follows_the_changes_sees_the_owners(
        frames in prop::collection::vec((prop::collection::btree_set(0..20u32, 0..8), 0..8usize, 0..60usize), 0..20),
        size in 1..8usize,
    ) {
        let mut slots = Slots::new(size);
        let mut sent: Vec<Option<(u32, usize)>> = vec![None; size];
        let mut mirror = vec![None; size];
        for (keys, n_firm, budget_bytes) in frames {
            let before = slots.clone();
            let ready: Vec<(u32, usize)> = keys.iter().map(|&key| (key, key as usize)).collect();
            let n_firm = n_firm.min(ready.len());
            let mut changes = Vec::new();
            slots.update(&ready, n_firm, budget_bytes, &mut changes);
            slots.check_invariants();

            let mut uploaded_bytes = 0;
            for change in changes {
                match change {
                    SlotChange::Clear { at } => (sent[at], mirror[at]) = (None, None),
                    SlotChange::Upload { at, key, bytes } => {
                        prop_assert_eq!(mirror[at], None, "what is shown is not written to");
                        let so_far = sent[at].map_or(0, |(of, n)| if of == key { n } else { usize::MAX });
                        prop_assert!(bytes.start == so_far && !bytes.is_empty());
                        sent[at] = Some((key, bytes.end));
                        uploaded_bytes += bytes.len();
                    }
                    SlotChange::Show { at, key } => {
                        prop_assert_eq!(sent[at].map_or(0, |(_, n)| n), key as usize, "all of it has been sent");
                        mirror[at] = Some(key);
                    }
                }
            }
            prop_assert!(uploaded_bytes <= budget_bytes.max(1));
            prop_assert_eq!(&mirror, &slots.all_shown().collect::<Vec<_>>());
            for (key, _) in &ready[..n_firm] {
                let (was, is) = (before.slot_of(key), slots.slot_of(key));
                prop_assert!(was.is_none() || was == is, "who stays keeps the slot");
            }
            let owners: BTreeSet<u32> = keys.iter().copied().filter(|key| slots.slot_of(key).is_some()).collect();
            prop_assert_eq!(owners.len() + slots.n_free(), size, "only the ready own slots");
            let lacks = keys.iter().any(|key| !slots.is_shown(key));
            prop_assert!(!lacks || slots.n_free() == 0 || uploaded_bytes > 0, "a frame with room makes progress");
        }
    }
}
