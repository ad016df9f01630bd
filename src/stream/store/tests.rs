use proptest::prelude::*;

use super::*;

impl Cost for usize {
    fn bytes(&self) -> usize {
        *self
    }
}

const LIMITS: StoreLimits = StoreLimits { bytes: 100, outside: 3, remembered: 2 };

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Removes victims until the limits hold, as the scene does, and says who went. All are equally useful.
fn make_room(store: &mut Store<u32, usize>) -> Vec<Victim<u32>> {
    make_room_by(store, |_| 0.0)
}

fn make_room_by(store: &mut Store<u32, usize>, usefulness: impl Fn(&u32) -> f64) -> Vec<Victim<u32>> {
    let mut victims = Vec::new();
    while let Some(victim) = store.victim(&usefulness) {
        match victim {
            Victim::Outside(key) => drop(store.remove(key)),
            Victim::Wanted(key) => drop(store.update(key, |bytes| *bytes = 0)),
        }
        victims.push(victim);
    }
    victims
}

/// A store in which each (key, bytes, left at) has left the interest.
fn outside(entries: &[(u32, usize, u64)]) -> Store<u32, usize> {
    let mut store = Store::new(LIMITS);
    for &(key, bytes, left_secs) in entries {
        store.want(key, 0, || bytes);
        store.leave(key, secs(left_secs));
    }
    store
}

#[test]
fn the_least_useful_goes_first_then_the_least_recently_wanted() {
    let entries = [(1, 10, 5), (2, 10, 4), (3, 10, 4), (4, 10, 6), (5, 10, 7)];
    assert_eq!(make_room(&mut outside(&entries)), [Victim::Outside(2), Victim::Outside(3)]);
    let usefulness = |key: &u32| f64::from(10 - key / 4);
    assert_eq!(make_room_by(&mut outside(&entries), usefulness), [Victim::Outside(4), Victim::Outside(5)]);
}

#[test]
fn what_is_wanted_is_never_purged_by_count() {
    let mut store = Store::new(LIMITS);
    for key in 0..50 {
        store.want(key, key as usize, || 2);
    }
    assert_eq!(make_room(&mut store), [], "50 entries, 100 bytes");
}

#[test]
fn bytes_are_taken_from_outside_while_the_interest_fits() {
    let mut store = outside(&[(1, 30, 1), (2, 30, 2)]);
    store.want(3, 0, || 60);
    assert_eq!(make_room(&mut store), [Victim::Outside(1)]);
    store.want(4, 1, || 40);
    assert_eq!(make_room(&mut store), [Victim::Outside(2)]);
}

#[test]
fn rank_decides_who_of_the_interest_fits() {
    let mut store = outside(&[(1, 10, 1)]);
    store.want(2, 2, || 60);
    store.want(3, 1, || 0);
    store.want(4, 3, || 20);
    assert_eq!(make_room(&mut store), []);
    store.update(3, |bytes| *bytes = 50);
    assert_eq!(make_room(&mut store), [Victim::Wanted(2)], "neither the small one nor the one outside had to go");
    store.want(5, 0, || 101);
    assert_eq!(make_room(&mut store), [Victim::Wanted(5)], "too big for the whole store");
    assert_eq!(store.bytes_held(), 80);
}

#[test]
fn an_entry_that_comes_back_is_safe_and_its_value_is_kept() {
    let mut store = outside(&[(1, 10, 1), (2, 10, 2), (3, 10, 3)]);
    assert!(!store.want(1, 0, || panic!("it is still there")));
    assert!(store.want(1, 5, || panic!("it is still there")), "it was in the interest");
    store.want(4, 1, || 10);
    store.leave(4, secs(9));
    assert_eq!(make_room(&mut store), []);
    store.leave(1, secs(9));
    assert_eq!(make_room(&mut store), [Victim::Outside(2)]);
    assert_eq!(store.get(&1), Some(&10));
}

#[test]
fn entries_without_bytes_have_a_bound_of_their_own() {
    let mut store = outside(&[(1, 10, 1), (2, 10, 1), (3, 10, 1), (4, 0, 2), (5, 0, 3), (6, 0, 4)]);
    assert_eq!(make_room(&mut store), [Victim::Outside(4)]);
    assert_eq!((store.n_outside(), store.n_remembered()), (3, 2));
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Want(u32, usize, usize),
    Leave(u32),
    Resize(u32, usize),
    Remove(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    let (key, bytes) = (0..16u32, prop_oneof![Just(0), 1..60usize]);
    prop_oneof![
        3 => (key.clone(), 0..30usize, bytes.clone()).prop_map(|(key, rank, bytes)| Operation::Want(key, rank, bytes)),
        3 => key.clone().prop_map(Operation::Leave),
        2 => (key.clone(), bytes).prop_map(|(key, bytes)| Operation::Resize(key, bytes)),
        1 => key.prop_map(Operation::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_account_is_exact_and_the_limits_hold(operations in prop::collection::vec(operation(), 0..80)) {
        let mut store = Store::new(LIMITS);
        for (clock, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Want(key, rank, bytes) => drop(store.want(key, rank, || bytes)),
                Operation::Leave(key) => store.leave(key, secs(clock as u64)),
                Operation::Resize(key, bytes) => drop(store.update(key, |held| *held = bytes)),
                Operation::Remove(key) => drop(store.remove(key)),
            }
            store.check_invariants();
            let wanted_bytes: usize = store.wanted().map(|(_, bytes)| bytes).sum();
            let victims = make_room(&mut store);
            store.check_invariants();
            let has_refused = victims.iter().any(|victim| matches!(victim, Victim::Wanted(_)));
            prop_assert_eq!(has_refused, wanted_bytes > LIMITS.bytes, "the interest loses only what cannot fit");
            prop_assert!(store.bytes_held() <= LIMITS.bytes);
            prop_assert!(store.n_outside() <= LIMITS.outside && store.n_remembered() <= LIMITS.remembered);
        }
    }
}
