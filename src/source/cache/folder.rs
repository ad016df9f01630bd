//! The folder of the cache: files by host, bounded in size, the least recently used going first.
//!
//! ```text
//! DIR/http-v1/CACHEDIR.TAG
//! DIR/http-v1/tiles.example%3A8080/0a1b...
//! ```

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, DirEntry, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry::{self, EntryName, Head, Stored, host_of};
use crate::limits::{CACHE_BLOCK_BYTES, CACHE_KEPT_PERCENT, CACHE_UNFINISHED_SECS};

/// The part of the folder that is ours; another form of the files gets another name.
const ROOT: &str = "http-v1";

/// What the name of an unfinished file begins with.
const UNFINISHED: &str = "part-";

/// Tells programs that copy folders to leave this one out: <https://bford.info/cachedir/>.
const TAG: (&str, &[u8]) = ("CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55\n");

/// What a cache holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheInfo {
    /// Its hosts, ascending by name.
    pub hosts: Vec<HostInfo>,
}

/// What a cache holds of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInfo {
    /// The host, with its port where it is not the usual one.
    pub host: String,
    /// Answers that are kept.
    pub n_files: u64,
    /// What they take on disk, in bytes.
    pub bytes: u64,
}

impl CacheInfo {
    /// Answers that are kept.
    pub fn n_files(&self) -> u64 {
        self.hosts.iter().map(|host| host.n_files).sum()
    }

    /// What all take on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.hosts.iter().map(|host| host.bytes).sum()
    }
}

/// A folder with files of answers.
pub(super) struct Folder {
    dir: PathBuf,
    root: PathBuf,
}

/// A file that may be evicted.
struct Resident {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Folder {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { root: dir.join(ROOT), dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, name: &EntryName) -> PathBuf {
        self.root.join(&name.host).join(&name.file)
    }

    /// An answer, marked as used.
    pub(super) fn find(&self, name: &EntryName) -> Result<Option<Stored>, String> {
        let stored = Stored::open(&self.path(name))?;
        if let Some(stored) = &stored {
            stored.touch();
        }
        Ok(stored)
    }

    /// Writes an answer; the bytes that it takes. One that is larger than the whole cache is left out.
    pub(super) fn put(&self, name: &EntryName, head: &Head, body: &[u8], bytes_max: u64) -> io::Result<u64> {
        let path = self.path(name);
        let dir = path.parent().unwrap_or(&self.root);
        let Some(prefix) = entry::prefix(head, body) else { return Ok(0) };
        let bytes = on_disk_bytes((prefix.len() + body.len()) as u64);
        if bytes > bytes_max {
            return Ok(0);
        }
        self.create(dir)?;
        // Removes itself unless it is put into its place, so that a full disk is left as it was.
        let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(dir)?;
        unfinished.write_all(&prefix)?;
        unfinished.write_all(body)?;
        unfinished.persist(path).map_err(|error| error.error)?;
        Ok(bytes)
    }

    /// Makes the folder of a host: for this user alone, since URLs and atlases may be private.
    fn create(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
        fs::write(self.root.join(TAG.0), TAG.1)
    }

    /// Removes an answer, where it is and where that is allowed.
    pub(super) fn remove(&self, name: &EntryName) {
        let _ = fs::remove_file(self.path(name));
    }

    /// Removes the least recently used until `bytes_max` is kept with room to spare, where it is exceeded, and what
    /// programs that died have left. Yields the bytes that remain.
    pub(super) fn evict(&self, bytes_max: u64) -> u64 {
        let now = SystemTime::now();
        let mut residents = Vec::new();
        // What cannot be listed is not ours to remove.
        let _ = self.for_each(|_, file, metadata| {
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_unfinished = file.file_name().to_string_lossy().starts_with(UNFINISHED);
            let is_left = is_unfinished && now.duration_since(used).is_ok_and(|age| age >= UNFINISHED_AGE);
            if is_left && fs::remove_file(file.path()).is_ok() {
                return;
            }
            residents.push(Resident { used, path: file.path(), bytes: on_disk_bytes(metadata.len()) });
        });
        let mut bytes: u64 = residents.iter().map(|resident| resident.bytes).sum();
        if bytes <= bytes_max {
            return bytes;
        }
        let kept_bytes = bytes_max / 100 * CACHE_KEPT_PERCENT;
        residents.sort_unstable_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for resident in residents {
            if bytes <= kept_bytes {
                break;
            }
            // Another program may have been quicker; either way it is gone, or it stays and is counted.
            if fs::remove_file(&resident.path).is_ok() || !resident.path.exists() {
                bytes -= resident.bytes;
            }
        }
        bytes
    }

    pub(super) fn info(&self) -> io::Result<CacheInfo> {
        let mut hosts: BTreeMap<String, HostInfo> = BTreeMap::new();
        self.for_each(|host, _, metadata| {
            let host = host_of(host);
            let info = hosts.entry(host.clone()).or_insert(HostInfo { host, n_files: 0, bytes: 0 });
            info.n_files += 1;
            info.bytes += on_disk_bytes(metadata.len());
        })?;
        Ok(CacheInfo { hosts: hosts.into_values().collect() })
    }

    pub(super) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Calls with the folder's name, the file and what is known of it, for every file of every host.
    fn for_each(&self, mut each: impl FnMut(&str, &DirEntry, &Metadata)) -> io::Result<()> {
        let hosts = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            hosts => hosts?,
        };
        for host in hosts {
            let host = host?;
            if !host.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(host.path())? {
                let file = file?;
                // A file that another program has just removed is none.
                if let Ok(metadata) = file.metadata()
                    && metadata.is_file()
                {
                    each(&host.file_name().to_string_lossy(), &file, &metadata);
                }
            }
        }
        Ok(())
    }
}

const UNFINISHED_AGE: Duration = Duration::from_secs(CACHE_UNFINISHED_SECS);

/// What a file takes on disk.
fn on_disk_bytes(len_bytes: u64) -> u64 {
    len_bytes.next_multiple_of(CACHE_BLOCK_BYTES).max(CACHE_BLOCK_BYTES)
}
