//! The bar that long work shows.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over so many things of a kind, "tiles". Hidden where it is not wanted, and by indicatif itself where the
/// standard error is no terminal.
pub fn bar(n: u64, kind: &str, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(n), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {kind}, {{per_sec}}, {{eta}} left")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
