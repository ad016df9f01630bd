//! Which servers may be asked now.
//!
//! Owns, for each host of a tileset, the number of requests that run and the end of the time for which it asked us to
//! stay away. Receives the starts and ends of fetches and the waits that answers ask for, yields whether a fetch may
//! start. It knows neither URLs nor keys: a host is a number.

use std::time::Duration;

use crate::limits::{HOSTS_MAX, RETRY_AFTER_MILLIS_MAX};

/// The hosts of a tileset, by number; numbers beyond [`HOSTS_MAX`] share one.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    hosts: Vec<Host>,
    /// Requests that run at once at one host, at least 1.
    tasks_max: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Host {
    n_running: usize,
    /// It is not asked before.
    closed_until: Duration,
}

impl Hosts {
    pub(super) fn new(tasks_max: usize) -> Self {
        Self { hosts: vec![Host::default(); HOSTS_MAX], tasks_max: tasks_max.max(1) }
    }

    /// Whether a fetch from the host may start.
    pub(super) fn may_start(&self, host: usize, now: Duration) -> bool {
        let host = &self.hosts[host.min(HOSTS_MAX - 1)];
        host.n_running < self.tasks_max && host.closed_until <= now
    }

    /// A fetch from the host has started.
    pub(super) fn started(&mut self, host: usize) {
        self.hosts[host.min(HOSTS_MAX - 1)].n_running += 1;
    }

    /// A fetch that had started has ended, or was aborted.
    pub(super) fn ended(&mut self, host: usize) {
        let host = &mut self.hosts[host.min(HOSTS_MAX - 1)];
        debug_assert!(host.n_running > 0, "a fetch ends that has not started");
        host.n_running = host.n_running.saturating_sub(1);
    }

    /// The host has asked to be left alone for a while (`Retry-After`): nothing is asked of it, whichever region wants
    /// it, for at most [`RETRY_AFTER_MILLIS_MAX`].
    pub(super) fn close(&mut self, host: usize, now: Duration, wait: Duration) {
        let wait = wait.min(Duration::from_millis(RETRY_AFTER_MILLIS_MAX));
        let host = &mut self.hosts[host.min(HOSTS_MAX - 1)];
        host.closed_until = host.closed_until.max(now.saturating_add(wait));
    }

    /// When a host that is closed now opens again.
    pub(super) fn opens(&self, host: usize, now: Duration) -> Option<Duration> {
        Some(self.hosts[host.min(HOSTS_MAX - 1)].closed_until).filter(|&until| until > now)
    }

    /// Requests that run, at all hosts.
    pub(super) fn n_running(&self) -> usize {
        self.hosts.iter().map(|host| host.n_running).sum()
    }

    /// Checks that no host runs more than it may.
    ///
    /// # Panics
    ///
    /// One does: a bug in the scene.
    pub(super) fn check_invariants(&self) {
        assert!(self.hosts.iter().all(|host| host.n_running <= self.tasks_max), "a host runs more than it may");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_host_runs_so_many_and_others_are_not_held_up() {
        let mut hosts = Hosts::new(2);
        hosts.started(0);
        hosts.started(0);
        assert!(!hosts.may_start(0, SECOND) && hosts.may_start(1, SECOND));
        hosts.ended(0);
        assert!(hosts.may_start(0, SECOND));
        hosts.started(usize::MAX);
        assert_eq!(hosts.n_running(), 2);
        hosts.check_invariants();
    }

    #[test]
    fn a_closed_host_opens_again_and_never_later_than_the_cap() {
        let mut hosts = Hosts::new(4);
        hosts.close(3, SECOND, 5 * SECOND);
        hosts.close(3, 2 * SECOND, SECOND);
        assert_eq!(hosts.opens(3, SECOND), Some(6 * SECOND), "a shorter wait opens nothing");
        assert!(!hosts.may_start(3, 5 * SECOND) && hosts.may_start(2, SECOND) && hosts.may_start(3, 6 * SECOND));
        assert_eq!(hosts.opens(3, 6 * SECOND), None);
        hosts.close(3, 6 * SECOND, Duration::MAX);
        assert_eq!(hosts.opens(3, 6 * SECOND), Some(66 * SECOND));
    }
}
