//! What was read last, within a budget of bytes.
//!
//! Owns [`Cache`]: receives values with their sizes, yields them again until they are the least lately used. It loads
//! nothing itself; what is loaded twice by two threads at once is the same value, and the second one stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Values by key, the least lately used leaving first. Values in use stay alive outside it.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    kept: Mutex<Kept<K, V>>,
    budget_bytes: u64,
}

#[derive(Debug)]
struct Kept<K, V> {
    by_key: BTreeMap<K, Entry<V>>,
    /// By the time of the last use.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    size_bytes: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    size_bytes: u64,
    used: u64,
}

impl<K: Ord + Clone, V> Cache<K, V> {
    /// A cache that keeps up to so many bytes, and always the last value.
    pub(crate) fn new(budget_bytes: u64) -> Self {
        let kept = Kept { by_key: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0, size_bytes: 0 };
        Self { kept: Mutex::new(kept), budget_bytes }
    }

    /// The value of a key: what is kept, or what `load` yields with its size in bytes.
    ///
    /// # Errors
    ///
    /// Those of `load`; nothing is kept then.
    pub(crate) fn get_or<E>(&self, key: &K, load: impl FnOnce() -> Result<(V, u64), E>) -> Result<Arc<V>, E> {
        if let Some(value) = self.lock().get(key) {
            return Ok(value);
        }
        // Not under the lock: other threads go on with what is kept.
        let (value, size_bytes) = load()?;
        let value = Arc::new(value);
        self.lock().put(key, Arc::clone(&value), size_bytes, self.budget_bytes);
        Ok(value)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept<K, V>> {
        // A panic elsewhere leaves whole values: they are put in one piece.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone, V> Kept<K, V> {
    fn get(&mut self, key: &K) -> Option<Arc<V>> {
        let entry = self.by_key.get_mut(key)?;
        self.by_use.remove(&entry.used);
        self.uses += 1;
        entry.used = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(Arc::clone(&entry.value))
    }

    fn put(&mut self, key: &K, value: Arc<V>, size_bytes: u64, budget_bytes: u64) {
        self.uses += 1;
        let entry = Entry { value, size_bytes, used: self.uses };
        if let Some(old) = self.by_key.insert(key.clone(), entry) {
            self.by_use.remove(&old.used);
            self.size_bytes -= old.size_bytes;
        }
        self.by_use.insert(self.uses, key.clone());
        self.size_bytes += size_bytes;
        while self.size_bytes > budget_bytes && self.by_use.len() > 1 {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            if let Some(entry) = self.by_key.remove(&oldest) {
                self.size_bytes -= entry.size_bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Asks for the keys in turn, ten bytes each, and yields those that had to be loaded.
    fn loaded(budget_bytes: u64, keys: &[u32]) -> Vec<u32> {
        let cache = Cache::new(budget_bytes);
        let mut loaded = Vec::new();
        for &key in keys {
            let value = cache.get_or(&key, || {
                loaded.push(key);
                Ok::<_, Infallible>((key * 2, 10))
            });
            assert_eq!(value, Ok(Arc::new(key * 2)));
        }
        loaded
    }

    #[test]
    fn the_least_lately_used_leaves_first() {
        assert_eq!(loaded(20, &[1, 2, 1, 3, 1, 2]), [1, 2, 3, 2]);
        assert_eq!(loaded(30, &[1, 2, 3, 1, 2, 3]), [1, 2, 3]);
        assert_eq!(loaded(0, &[1, 1, 2, 1]), [1, 2, 1], "the last value is kept, whatever the budget");
    }

    #[test]
    fn what_fails_is_not_kept() {
        let cache = Cache::<u32, u32>::new(100);
        assert_eq!(cache.get_or(&1, || Err("broken")), Err("broken"));
        assert_eq!(cache.get_or(&1, || Ok::<_, &str>((5, 1))), Ok(Arc::new(5)));
    }
}
