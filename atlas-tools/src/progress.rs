//! The bar that long work shows.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of tiles; none where `quiet`. Hidden by indicatif itself where the standard error is no terminal.
pub fn tiles(n_tiles: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(n_tiles), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:40} {pos}/{len} tiles, {elapsed}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
