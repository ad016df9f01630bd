//! What stays loaded, and what goes first.
//!
//! Owns the values by key and the account of their bytes. Receives what is wanted and what no longer is, yields the
//! least useful entry while a limit is exceeded. It does not know what the values are, only what they cost.
//!
//! ```text
//! who goes:
//!   outside the interest   the least useful to the view of this moment first, then the least recently wanted
//!   in the interest        who does not fit into the byte budget beside the better ranked; never for a count
//! ```
//!
//! How useful an entry is the caller says, when it is asked who goes: what the view is turning to stays, however long
//! ago it was last seen. There are few entries to ask about, since their number is limited.
//!
//! Entries of no bytes (empty regions, errors) are only remembered: they have a generous bound of their own, so that an
//! hour over the sea does not push a loaded city out.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::time::Duration;

use rustc_hash::FxHashMap;

/// What a value takes.
pub trait Cost {
    /// Bytes held now; must be cheap to ask.
    fn bytes(&self) -> usize;
}

/// How much a [`Store`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of all entries together.
    pub bytes: usize,
    /// Entries with bytes outside the interest (the reference system's PREPURGE).
    pub outside: usize,
    /// Entries without bytes outside the interest.
    pub remembered: usize,
}

/// The entry that is to go first while a limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim<K> {
    /// Nobody wants it: remove it.
    Outside(K),
    /// It is wanted, but everything held is, and together it is too much: empty it.
    Wanted(K),
}

/// Values by key, accounted in bytes.
///
/// The store names its victims and leaves the removal to the caller, who may have tasks to stop; between the caller's
/// operations it may hold more than its limits.
#[derive(Debug, Clone)]
pub struct Store<K, V> {
    limits: StoreLimits,
    entries: FxHashMap<K, Entry<V>>,
    /// Invariant: the sum over the entries.
    bytes_held: usize,
    /// Entries of the interest, most useful first.
    wanted: BTreeSet<(usize, K)>,
    /// Entries with bytes outside the interest, the least recently wanted first.
    outside: BTreeSet<(Duration, K)>,
    /// Entries without bytes outside the interest, the least recently wanted first.
    remembered: BTreeSet<(Duration, K)>,
}

#[derive(Debug, Clone)]
struct Entry<V> {
    value: V,
    bytes: usize,
    standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Wanted { rank: usize },
    Outside { since: Duration },
}

impl<K: Copy + Ord + Hash, V: Cost> Store<K, V> {
    /// A store of nothing.
    pub fn new(limits: StoreLimits) -> Self {
        Self {
            limits,
            entries: FxHashMap::default(),
            bytes_held: 0,
            wanted: BTreeSet::new(),
            outside: BTreeSet::new(),
            remembered: BTreeSet::new(),
        }
    }

    /// The limits.
    pub fn limits(&self) -> StoreLimits {
        self.limits
    }

    /// Takes the key into the interest with a rank (0 is the most useful; ranks should be unique), with a new value
    /// where there is none. Whether it was in the interest before.
    pub fn want(&mut self, key: K, rank: usize, new: impl FnOnce() -> V) -> bool {
        let before = self.entries.get(&key).map(|entry| entry.standing);
        if before.is_none() {
            let value = new();
            let bytes = value.bytes();
            self.bytes_held += bytes;
            self.entries.insert(key, Entry { value, bytes, standing: Standing::Wanted { rank } });
            self.wanted.insert((rank, key));
        } else {
            self.stand(key, Standing::Wanted { rank });
        }
        matches!(before, Some(Standing::Wanted { .. }))
    }

    /// Lets the key leave the interest, at `now`.
    pub fn leave(&mut self, key: K, now: Duration) {
        self.stand(key, Standing::Outside { since: now });
    }

    fn stand(&mut self, key: K, standing: Standing) {
        // Nearly every entry stands where it stood a frame ago.
        if self.entries.get(&key).is_none_or(|entry| entry.standing == standing) {
            return;
        }
        self.unlist(key);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.standing = standing;
        }
        self.list(key);
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// Whether the key is in the interest.
    pub fn is_wanted(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.standing, Standing::Wanted { .. }))
    }

    /// Bytes of a key's value, 0 where there is none.
    pub fn bytes_of(&self, key: &K) -> usize {
        self.entries.get(key).map_or(0, |entry| entry.bytes)
    }

    /// Changes a value and accounts for what it now costs. `None` where there is no such key.
    pub fn update<R>(&mut self, key: K, change: impl FnOnce(&mut V) -> R) -> Option<R> {
        let entry = self.entries.get_mut(&key)?;
        let result = change(&mut entry.value);
        let bytes = entry.value.bytes();
        // Most changes cost nothing: the entry stays where it is listed.
        if bytes != entry.bytes {
            self.unlist(key);
            if let Some(entry) = self.entries.get_mut(&key) {
                self.bytes_held = self.bytes_held - entry.bytes + bytes;
                entry.bytes = bytes;
            }
            self.list(key);
        }
        Some(result)
    }

    /// Forgets a key and yields its value.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.unlist(key);
        let entry = self.entries.remove(&key)?;
        self.bytes_held -= entry.bytes;
        Some(entry.value)
    }

    /// What is to go next, `None` while every limit holds. `usefulness` says how much an entry outside the interest
    /// would be missed: more is better.
    pub fn victim(&self, usefulness: impl Fn(&K) -> f64) -> Option<Victim<K>> {
        if self.remembered.len() > self.limits.remembered {
            return self.remembered.first().map(|&(_, key)| Victim::Outside(key));
        }
        if self.bytes_held > self.limits.bytes {
            let wanted = self.first_that_does_not_fit().map(Victim::Wanted);
            return wanted.or_else(|| self.least_useful(usefulness));
        }
        if self.outside.len() > self.limits.outside { self.least_useful(usefulness) } else { None }
    }

    fn least_useful(&self, usefulness: impl Fn(&K) -> f64) -> Option<Victim<K>> {
        // The first of equals: the one that was wanted longest ago.
        let rated = self.outside.iter().map(|&(_, key)| (usefulness(&key), key));
        rated.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, key)| Victim::Outside(key))
    }

    /// The first entry of the interest that has no room beside the better ranked. It is asked before those outside:
    /// they need not go for one that cannot stay, and neither need small ones of lower rank.
    fn first_that_does_not_fit(&self) -> Option<K> {
        let mut bytes = 0;
        let mut keys = self.wanted.iter().map(|&(_, key)| key);
        keys.find(|key| {
            bytes += self.bytes_of(key);
            bytes > self.limits.bytes
        })
    }

    /// The entries of the interest, most useful first.
    pub fn wanted(&self) -> impl Iterator<Item = (&K, &V)> {
        self.wanted
            .iter()
            .filter_map(|(_, key)| self.entries.get_key_value(key))
            .map(|(key, entry)| (key, &entry.value))
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    /// Bytes of all entries.
    pub fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// Entries with bytes outside the interest.
    pub fn n_outside(&self) -> usize {
        self.outside.len()
    }

    /// Entries without bytes outside the interest.
    pub fn n_remembered(&self) -> usize {
        self.remembered.len()
    }

    fn list(&mut self, key: K) {
        let Some(entry) = self.entries.get(&key) else { return };
        match entry.standing {
            Standing::Wanted { rank } => self.wanted.insert((rank, key)),
            Standing::Outside { since } if entry.bytes > 0 => self.outside.insert((since, key)),
            Standing::Outside { since } => self.remembered.insert((since, key)),
        };
    }

    fn unlist(&mut self, key: K) {
        let Some(entry) = self.entries.get(&key) else { return };
        match entry.standing {
            Standing::Wanted { rank } => self.wanted.remove(&(rank, key)),
            Standing::Outside { since } if entry.bytes > 0 => self.outside.remove(&(since, key)),
            Standing::Outside { since } => self.remembered.remove(&(since, key)),
        };
    }

    /// Checks that the account is exact and that every entry stands in its one list; linear in the entries.
    ///
    /// # Panics
    ///
    /// It is not, or does not: a bug in this module.
    pub fn check_invariants(&self) {
        let mut bytes_held = 0;
        #[expect(clippy::iter_over_hash_type, reason = "each is looked at on its own")]
        for (&key, entry) in &self.entries {
            assert_eq!(entry.bytes, entry.value.bytes(), "an entry's bytes are what its value costs");
            bytes_held += entry.bytes;
            let listed = match entry.standing {
                Standing::Wanted { rank } => self.wanted.contains(&(rank, key)),
                Standing::Outside { since } if entry.bytes > 0 => self.outside.contains(&(since, key)),
                Standing::Outside { since } => self.remembered.contains(&(since, key)),
            };
            assert!(listed, "an entry stands in the list of its standing");
        }
        assert_eq!(self.bytes_held, bytes_held, "bytes are accounted exactly");
        let n_listed = self.wanted.len() + self.outside.len() + self.remembered.len();
        assert_eq!(n_listed, self.entries.len(), "an entry stands in one list only");
    }
}

#[cfg(test)]
mod tests;
