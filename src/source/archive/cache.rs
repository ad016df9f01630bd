//! The directories of one archive that are kept in memory, bounded in bytes, the least recently used going first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::Directory;
use super::once::{Load, Once};
use super::place::ReadError;

/// What a slot costs beside its directory, in bytes: so that failed loads are bounded too.
const SLOT_BYTES: usize = 256;

/// Directories by their offset.
#[derive(Debug)]
pub(super) struct DirectoryCache {
    slots: Mutex<Slots>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Slots {
    by_offset: BTreeMap<u64, Slot>,
    /// Of all slots.
    size_bytes: usize,
    /// Counts the uses.
    now: u64,
}

#[derive(Debug)]
struct Slot {
    directory: Arc<Once<Arc<Directory>>>,
    size_bytes: usize,
    used_at: u64,
}

impl DirectoryCache {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { slots: Mutex::default(), bytes_max }
    }

    /// The directory at `offset`, loaded where it is not here.
    pub(super) async fn get(
        &self,
        offset: u64,
        load: impl FnOnce() -> Load<Arc<Directory>>,
    ) -> Result<Arc<Directory>, ReadError> {
        let slot = self.lock().touch(offset);
        let loaded = slot.get(load).await;
        let mut slots = self.lock();
        slots.weigh(offset, SLOT_BYTES + loaded.as_ref().map_or(0, |directory| directory.size_bytes()));
        slots.evict(offset, self.bytes_max);
        loaded
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(super) fn size_bytes(&self) -> usize {
        self.lock().size_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // Nothing in here panics while it is held.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn touch(&mut self, offset: u64) -> Arc<Once<Arc<Directory>>> {
        self.now += 1;
        let slot = self.by_offset.entry(offset).or_insert_with(|| {
            self.size_bytes += SLOT_BYTES;
            Slot { directory: Arc::new(Once::absent()), size_bytes: SLOT_BYTES, used_at: 0 }
        });
        slot.used_at = self.now;
        Arc::clone(&slot.directory)
    }

    fn weigh(&mut self, offset: u64, size_bytes: usize) {
        // It may have been evicted while it was loaded.
        if let Some(slot) = self.by_offset.get_mut(&offset) {
            self.size_bytes = self.size_bytes - slot.size_bytes + size_bytes;
            slot.size_bytes = size_bytes;
        }
    }

    fn evict(&mut self, kept: u64, bytes_max: usize) {
        while self.size_bytes > bytes_max {
            let others = self.by_offset.iter().filter(|&(&offset, _)| offset != kept);
            let Some((&oldest, _)) = others.min_by_key(|(_, slot)| slot.used_at) else { return };
            if let Some(slot) = self.by_offset.remove(&oldest) {
                self.size_bytes -= slot.size_bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A directory of 100 entries, 2,400 bytes.
    fn directory() -> Directory {
        let ones = [1; 100];
        Directory::parse(&[&[100][..], &ones, &ones, &ones, &ones].concat()).unwrap()
    }

    #[tokio::test]
    async fn the_least_recently_used_goes_first_and_the_budget_holds() {
        let size_bytes = SLOT_BYTES + directory().size_bytes();
        let cache = DirectoryCache::new(3 * size_bytes);
        let n_loads = Arc::new(AtomicUsize::new(0));
        let get = async |offset: u64| {
            let n_loads = Arc::clone(&n_loads);
            let load = async move {
                n_loads.fetch_add(1, Ordering::Relaxed);
                Ok(Arc::new(directory()))
            };
            cache.get(offset, || Box::pin(load)).await.unwrap();
        };
        for offset in [1, 2, 3, 1, 4] {
            get(offset).await;
            assert!(cache.size_bytes() <= 3 * size_bytes);
        }
        assert_eq!(n_loads.load(Ordering::Relaxed), 4);
        // 2 had to go, 1 was used after it.
        get(1).await;
        assert_eq!(n_loads.load(Ordering::Relaxed), 4);
        get(2).await;
        assert_eq!(n_loads.load(Ordering::Relaxed), 5);
    }

    #[tokio::test]
    async fn failed_loads_are_tried_anew_and_bounded() {
        let cache = DirectoryCache::new(10 * SLOT_BYTES);
        for offset in 0..100 {
            let failed = cache.get(offset, || Box::pin(async { Err(ReadError::Absent) })).await;
            assert_eq!(failed.unwrap_err(), ReadError::Absent);
        }
        assert!(cache.size_bytes() <= 11 * SLOT_BYTES, "{}", cache.size_bytes());
        assert!(cache.get(0, || Box::pin(async { Ok(Arc::new(directory())) })).await.is_ok());
    }
}
