//! What web servers answered, kept on disk.
//!
//! Owns a folder with one file an answer: [`entry`] is the file, [`folder`] the folder and its size, [`freshness`] what
//! HTTP says of an answer's age. Receives answers that somebody has found good, yields them until the server says that
//! they are too old. It asks no server, and nothing depends on it: whatever is wrong with the folder, the program goes on
//! without it.
//!
//! There is no index that could be damaged or that two programs could quarrel over. A file's name is the hash of what was
//! asked, it is renamed into its place when it is whole, it is checked when it is read, and the time of its last use is
//! the file's own.

mod entry;
mod folder;
mod freshness;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

pub(super) use entry::{EntryName, Head, Stored};
pub use folder::{CacheInfo, HostInfo};
pub(super) use freshness::{Verdict, is_absence_believed, judge, may_keep, renewed};

use folder::Folder;

/// A cache folder that could not be looked through or cleared.
#[derive(Debug, Error)]
#[error("the cache in {}: {reason}", dir.display())]
pub struct CacheError {
    /// The folder.
    pub dir: PathBuf,
    /// What the system says.
    pub reason: std::io::Error,
}

/// A cache of what web servers answered. Cheap to clone; clones are the same cache.
///
/// Several programs may use one folder at once. Whatever is wrong with it costs a warning and its use, never an answer.
#[derive(Clone)]
pub struct DiskCache(Arc<Shared>);

struct Shared {
    folder: Folder,
    bytes_max: u64,
    /// Whether writing has failed: a full disk would fail every time.
    is_read_only: AtomicBool,
    /// Present once the folder has been looked through.
    usage: Mutex<Option<Usage>>,
}

/// What the folder holds, as far as this program knows.
#[derive(Clone, Copy)]
struct Usage {
    bytes: u64,
    /// Written since the folder was looked through: others may have written as much.
    written_bytes: u64,
}

/// How much of the cache is written before the folder is looked through again: an eighth.
const WRITTEN_SHARE: u64 = 8;

impl DiskCache {
    /// The cache in a folder that need not exist, of at most so many bytes. Nothing is read or written yet.
    pub fn new(dir: impl Into<PathBuf>, bytes_max: u64) -> Self {
        Self(Arc::new(Shared {
            folder: Folder::new(dir.into()),
            bytes_max,
            is_read_only: AtomicBool::new(false),
            usage: Mutex::default(),
        }))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.0.folder.dir()
    }

    /// What it may take, in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.0.bytes_max
    }

    /// What is in it. A folder that does not exist holds nothing.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn info(&self) -> Result<CacheInfo, CacheError> {
        self.0.folder.info().map_err(|reason| self.error(reason))
    }

    /// Removes everything in it, and tells what that was. Other files in the folder stay.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or files cannot be removed.
    pub fn clear(&self) -> Result<CacheInfo, CacheError> {
        let info = self.info()?;
        self.0.folder.clear().map_err(|reason| self.error(reason))?;
        *self.usage() = None;
        Ok(info)
    }

    /// An answer, and marks it as used. One that is damaged is removed.
    pub(super) async fn find(&self, name: EntryName) -> Option<Stored> {
        self.on_disk(move |shared| {
            let found = shared.folder.find(&name);
            found.unwrap_or_else(|what| {
                shared.discard(&name, &what);
                None
            })
        })
        .await?
    }

    /// The body of an answer, which is kept anew where it has got another head; `None` where it is damaged, and then it
    /// is removed.
    pub(super) async fn body(&self, name: EntryName, stored: Stored, renewed: Option<Head>) -> Option<Vec<u8>> {
        self.on_disk(move |shared| match stored.into_body() {
            Ok(body) => {
                if let Some(head) = renewed {
                    shared.put(&name, &head, &body);
                }
                Some(body)
            }
            Err(what) => {
                shared.discard(&name, &what);
                None
            }
        })
        .await?
    }

    /// Keeps an answer whose body is good, where that can be.
    pub(super) async fn put(
        &self,
        name: EntryName,
        head: Head,
        body: impl AsRef<[u8]> + Send + 'static,
        is_good: fn(&[u8]) -> bool,
    ) {
        self.on_disk(move |shared| {
            if is_good(body.as_ref()) {
                shared.put(&name, &head, body.as_ref());
            }
        })
        .await;
    }

    /// Forgets an answer that was found to be no good.
    pub(super) fn remove(&self, name: &EntryName) {
        self.0.folder.remove(name);
    }

    /// As [`find`](Self::find), on a thread that may block.
    pub(super) fn find_blocking(&self, name: &EntryName) -> Option<Stored> {
        self.0.folder.find(name).ok().flatten()
    }

    /// Runs on a thread that may block; `None` where the runtime is being shut down.
    async fn on_disk<T: Send + 'static>(&self, work: impl FnOnce(&Shared) -> T + Send + 'static) -> Option<T> {
        let shared = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || work(&shared)).await.ok()
    }

    fn usage(&self) -> std::sync::MutexGuard<'_, Option<Usage>> {
        self.0.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, reason: std::io::Error) -> CacheError {
        CacheError { dir: self.dir().to_owned(), reason }
    }
}

impl Shared {
    fn put(&self, name: &EntryName, head: &Head, body: &[u8]) {
        if self.is_read_only.load(Ordering::Relaxed) {
            return;
        }
        match self.folder.put(name, head, body, self.bytes_max) {
            Ok(bytes) => self.account(bytes),
            Err(error) if self.is_read_only.swap(true, Ordering::Relaxed) => tracing::debug!("{error}"),
            Err(error) => tracing::warn!(
                "the cache in {} cannot be written, so that nothing more is kept: {error}",
                self.folder.dir().display()
            ),
        }
    }

    /// Adds to what is used, and makes room where that is too much.
    fn account(&self, bytes: u64) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let known = usage.map(|known| Usage {
            bytes: known.bytes.saturating_add(bytes),
            written_bytes: known.written_bytes.saturating_add(bytes),
        });
        let is_sure = |known: &Usage| {
            known.bytes <= self.bytes_max && known.written_bytes.saturating_mul(WRITTEN_SHARE) <= self.bytes_max
        };
        *usage = Some(
            known
                .filter(is_sure)
                .unwrap_or_else(|| Usage { bytes: self.folder.evict(self.bytes_max), written_bytes: 0 }),
        );
    }

    fn discard(&self, name: &EntryName, what: &str) {
        tracing::warn!("the cache in {}: {what}: removed, to be fetched anew", self.folder.dir().display());
        self.folder.remove(name);
    }
}

impl PartialEq for DiskCache {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for DiskCache {}

impl std::fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskCache")
            .field("dir", &self.dir())
            .field("bytes_max", &self.0.bytes_max)
            .finish_non_exhaustive()
    }
}
