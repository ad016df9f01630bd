//! How patient a source is.

use std::time::Duration;

use crate::limits::{ATLAS_FILE_BYTES_MAX, PROGRESS_BYTES_PER_SEC, TIMEOUT_MILLIS, TIMEOUT_TOTAL_MILLIS};

/// Limits of one request.
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
}

impl SourceConfig {
    /// The defaults with another `--timeout`; the time for the whole request is never below it.
    pub fn with_timeout(timeout: Duration) -> Self {
        let config = Self::default();
        Self { timeout, timeout_total: config.timeout_total.max(timeout), ..config }
    }
}

impl Default for SourceConfig {
    /// Eight seconds, sixty in all, 1 KiB a second, and [`ATLAS_FILE_BYTES_MAX`].
    fn default() -> Self {
        Self {
            timeout: Duration::from_millis(TIMEOUT_MILLIS),
            timeout_total: Duration::from_millis(TIMEOUT_TOTAL_MILLIS),
            progress_bytes_per_sec: PROGRESS_BYTES_PER_SEC,
            file_bytes_max: ATLAS_FILE_BYTES_MAX,
        }
    }
}
