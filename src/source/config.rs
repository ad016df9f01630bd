//! How a source is asked, how patient it is, and what it remembers on disk.

use std::time::Duration;

use super::cache::DiskCache;
use super::options::HttpOptions;
use crate::limits::{ATLAS_FILE_BYTES_MAX, PROGRESS_BYTES_PER_SEC, TIMEOUT_MILLIS, TIMEOUT_TOTAL_MILLIS};

/// Limits of one request, and what all requests have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceConfig {
    /// Time to the head of the answer, redirects included, and how long a body may stand still (`--timeout`).
    pub timeout: Duration,
    /// Time for the whole request.
    pub timeout_total: Duration,
    /// Slower than this, in bytes a second, a body counts as standing still.
    pub progress_bytes_per_sec: u64,
    /// Largest atlas file, in bytes; what is larger is not read to its end.
    pub file_bytes_max: usize,
    /// How web servers are asked.
    pub http: HttpOptions,
    /// Where the answers of web servers are kept; `None` keeps none.
    pub cache: Option<DiskCache>,
    /// Whether the cache is all there is: no server is asked, however old an answer is (`--offline`).
    pub is_offline: bool,
}

impl SourceConfig {
    /// The defaults with another `--timeout`; the time for the whole request is never below it.
    pub fn with_timeout(timeout: Duration) -> Self {
        let config = Self::default();
        Self { timeout, timeout_total: config.timeout_total.max(timeout), ..config }
    }
}

impl Default for SourceConfig {
    /// Eight seconds, sixty in all, 1 KiB a second, [`ATLAS_FILE_BYTES_MAX`], nobody's headers, and no cache.
    fn default() -> Self {
        Self {
            timeout: Duration::from_millis(TIMEOUT_MILLIS),
            timeout_total: Duration::from_millis(TIMEOUT_TOTAL_MILLIS),
            progress_bytes_per_sec: PROGRESS_BYTES_PER_SEC,
            file_bytes_max: ATLAS_FILE_BYTES_MAX,
            http: HttpOptions::default(),
            cache: None,
            is_offline: false,
        }
    }
}
