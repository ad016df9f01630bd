//! How long a body may take.

use std::time::Duration;

use tokio::time::Instant;

use super::seconds;
use crate::source::SourceConfig;

/// How long a body may still take. It has credit for one time-out of standing still; time spends it, bytes earn it back
/// at the lowest rate that counts as progress.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the credit is spent.
    spent_at: Instant,
    /// The end of the request, whatever the credit.
    end_at: Instant,
    credit_max: Duration,
    bytes_per_sec: u64,
    total: Duration,
}

impl Pace {
    pub(super) fn new(config: &SourceConfig, started: Instant, now: Instant) -> Self {
        Self {
            spent_at: now + config.timeout,
            end_at: started + config.timeout_total,
            credit_max: config.timeout,
            bytes_per_sec: config.progress_bytes_per_sec.max(1),
            total: config.timeout_total,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.spent_at.min(self.end_at)
    }

    pub(super) fn advance(&mut self, n_bytes: usize, now: Instant) {
        let earned = Duration::from_secs_f64(n_bytes as f64 / self.bytes_per_sec as f64);
        self.spent_at = (self.spent_at + earned).min(now + self.credit_max);
    }

    /// What was found when the deadline passed.
    pub(super) fn verdict(&self, n_bytes: usize) -> String {
        if self.end_at < self.spent_at {
            return format!("{n_bytes} bytes of the body within {}", seconds(self.total));
        }
        format!(
            "a body that stands still: {n_bytes} bytes so far, and for {} fewer than {} bytes a second",
            seconds(self.credit_max),
            self.bytes_per_sec
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_may_be_slow_but_not_stand_still() {
        let config = SourceConfig {
            timeout: Duration::from_secs(8),
            timeout_total: Duration::from_mins(1),
            progress_bytes_per_sec: 1_024,
            ..SourceConfig::default()
        };
        let started = Instant::now();
        let at = |secs| started + Duration::from_secs(secs);

        // Eight seconds of silence end it, however much came before.
        let mut pace = Pace::new(&config, started, at(1));
        assert_eq!(pace.deadline(), at(9));
        pace.advance(1 << 20, at(2));
        assert_eq!(pace.deadline(), at(10));

        // 2 KiB a second keep it alive up to the end of the request.
        let mut pace = Pace::new(&config, started, at(0));
        for second in 1..=59 {
            pace.advance(2_048, at(second));
            assert!(pace.deadline() > at(second));
        }
        assert_eq!(pace.deadline(), at(60));
        assert!(pace.verdict(120_832).contains("120832 bytes of the body within 60 s"), "{pace:?}");

        // 512 bytes a second spend the credit in twice its time.
        let mut pace = Pace::new(&config, started, at(0));
        let dead = (1..=30).find(|&second| {
            let is_late = pace.deadline() <= at(second);
            pace.advance(512, at(second));
            is_late
        });
        assert_eq!(dead, Some(15));
        assert!(pace.verdict(7_168).contains("stands still: 7168 bytes so far"), "{pace:?}");
    }
}
