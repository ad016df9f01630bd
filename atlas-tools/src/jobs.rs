//! The threads that a command works on.

use std::num::NonZeroUsize;

use anyhow::Context;

/// A pool of so many threads, one a processor where nothing is said.
///
/// # Errors
///
/// The system refuses a thread.
pub fn pool(jobs: Option<NonZeroUsize>, name: &'static str) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.map_or(0, NonZeroUsize::get))
        .thread_name(move |idx| format!("{name}-{idx}"))
        .build()
        .context("the worker threads cannot be started")
}
