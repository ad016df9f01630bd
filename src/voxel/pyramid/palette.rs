//! From the colours that were mixed to those of a palette.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::limits::PALETTE_COLOURS_MAX;
use crate::voxel::{Colour, ColourDepth};

/// How many voxels have each colour.
#[derive(Debug, Default)]
pub(super) struct Counts {
    by_entry: FxHashMap<u32, u64>,
    /// The entry that came last, and how often since another: neighbours mostly share a colour.
    run: (u32, u64),
}

/// A palette, and the index in it for each colour that was counted.
pub(super) struct Snapped {
    /// Ascending.
    pub(super) palette: Vec<Colour>,
    /// By entry of [`ColourDepth::Direct`].
    pub(super) index_of: FxHashMap<u32, u8>,
}

impl Counts {
    /// Counts `n` voxels of a colour, an entry of [`ColourDepth::Direct`].
    pub(super) fn add(&mut self, entry: u32, n: u64) {
        if self.run.0 != entry {
            self.end_run();
        }
        self.run = (entry, self.run.1 + n);
    }

    fn end_run(&mut self) {
        let (entry, n) = std::mem::take(&mut self.run);
        if n > 0 {
            *self.by_entry.entry(entry).or_default() += n;
        }
    }

    /// Chooses the nearest colour of the palette for each. Of a palette that is too large those stay that most voxels
    /// have.
    pub(super) fn snapped_to(mut self, mut palette: Vec<Colour>) -> Snapped {
        self.end_run();
        let mut counts: Vec<(u32, u64)> = self.by_entry.into_iter().collect();
        counts.sort_unstable();
        if palette.len() > PALETTE_COLOURS_MAX {
            let mut n_voxels: Vec<_> = palette.iter().map(|&colour| (Reverse(0), colour)).collect();
            for &(entry, n) in &counts {
                n_voxels[nearest(&palette, entry)].0.0 += n;
            }
            n_voxels.sort_unstable();
            palette = n_voxels.into_iter().take(PALETTE_COLOURS_MAX).map(|(_, colour)| colour).collect();
            palette.sort_unstable();
        }
        let index_of = counts.into_iter().map(|(entry, _)| (entry, nearest(&palette, entry) as u8)).collect();
        Snapped { palette, index_of }
    }
}

/// The index of the colour of an ascending palette that is nearest to an entry of [`ColourDepth::Direct`], by the
/// square of the distance in sRGB; of several the first.
fn nearest(palette: &[Colour], entry: u32) -> usize {
    let wanted = ColourDepth::Direct.colour(entry);
    palette.binary_search(&wanted).unwrap_or_else(|_| {
        let distance = |colour: &Colour| -> u32 {
            (0..3).map(|channel| u32::from(colour[channel].abs_diff(wanted[channel])).pow(2)).sum()
        };
        (0..palette.len()).min_by_key(|&idx| distance(&palette[idx])).unwrap_or_default()
    })
}
