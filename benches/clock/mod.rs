//! How long a piece of work keeps one core busy.

use std::time::Duration;

/// Runs `work` and yields what it made and the time that it took.
///
/// On Linux the time is that of the thread on its core, page faults included: what else runs on the machine then hardly
/// counts. Elsewhere it is that of the wall.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let made = work();
    (made, now().saturating_sub(start))
}

#[cfg(target_os = "linux")]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

#[cfg(not(target_os = "linux"))]
fn now() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// The middle one of several times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
