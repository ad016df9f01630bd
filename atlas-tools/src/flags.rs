//! The flags that several commands have, each with one spelling and one meaning.
//!
//! Owns `--json`, `--quiet`, `--bbox`, `--tiles`, `--zoom` and `--jobs`, and the block of them, with those of the network,
//! that every command has which reads the regions of a source. Yields what was asked for in the types of the
//! library. Flags that mean something else in each command, such as `--force`, stand with their commands.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use clap::Args;
use indicatif::ProgressBar;
use voxatlas::cli::NetArgs;
use voxatlas::geo::{Bbox, TileCoord};

use crate::outcome::print;
use crate::progress;

/// How much a command says, and in what form.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputFlags {
    /// Prints the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Prints no progress and no summary
    #[arg(long)]
    pub quiet: bool,
}

impl OutputFlags {
    /// Prints what came of a command: as JSON, as text, or, where `--quiet` was given alone, not at all.
    ///
    /// # Errors
    ///
    /// The standard output cannot be written to.
    pub fn say(self, json: impl FnOnce() -> String, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.json {
            print(&json())?;
        } else if !self.quiet {
            print(&text())?;
        }
        Ok(())
    }

    /// The bar of long work over so many things of a kind; hidden where nothing but JSON or nothing is wanted.
    pub fn bar(self, n: u64, kind: &str) -> ProgressBar {
        progress::bar(n, kind, self.quiet)
    }
}

/// How many things are worked on at once.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct JobsFlag {
    /// Regions worked on at once; of a web server also the requests [default: one a processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Which regions of a tileset are meant.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectionFlags {
    /// Only what lies in this box, in degrees; west may lie east of east, across the antimeridian
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, conflicts_with = "tiles")]
    pub bbox: Option<Bbox>,
    /// Only these tiles; a coarser one stands for those in it
    #[arg(long, value_name = "Z/X/Y,...", value_delimiter = ',')]
    pub tiles: Vec<TileCoord>,
    /// The zoom of the regions [default: the finest]
    #[arg(long, value_name = "Z")]
    pub zoom: Option<u8>,
}

/// The flags of a command that reads the regions of a source.
#[derive(Debug, Args)]
pub struct ReadingFlags {
    /// Which regions
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// How many at once
    #[command(flatten)]
    pub jobs: JobsFlag,
    /// How much the command says
    #[command(flatten)]
    pub output: OutputFlags,
    /// How web servers are asked
    #[command(flatten)]
    pub net: NetArgs,
}

impl SelectionFlags {
    /// The zoom that is meant, of a tileset whose finest is `zoom_max`.
    pub fn zoom_of(&self, zoom_max: u8) -> u8 {
        self.zoom.unwrap_or(zoom_max)
    }

    /// Whether nothing restricts the regions of a zoom.
    pub fn is_everything(&self) -> bool {
        self.bbox.is_none() && self.tiles.is_empty()
    }

    /// Whether a tile is among those that are meant.
    pub fn contains(&self, tile: TileCoord) -> bool {
        let in_box = self.bbox.is_none_or(|bbox| bbox.tiles(tile.zoom()).is_ok_and(|range| range.contains(tile)));
        let in_tiles = self.tiles.is_empty() || self.tiles.iter().any(|&other| is_within(tile, other));
        in_box && in_tiles
    }

    /// The tiles that are named, at a zoom, at most `n_max`; `None` where there are more, or nothing restricts them.
    pub fn tiles_at(&self, zoom: u8, n_max: u64) -> Option<BTreeSet<TileCoord>> {
        if let Some(bbox) = self.bbox {
            let range = bbox.tiles(zoom).ok()?;
            return (range.n_left() <= n_max).then(|| range.collect());
        }
        let mut tiles = BTreeSet::new();
        for &tile in &self.tiles {
            let n = zoom
                .checked_sub(tile.zoom())
                .map_or(1, |deeper| 1u64.checked_shl(2 * u32::from(deeper)).unwrap_or(u64::MAX));
            if n.saturating_add(tiles.len() as u64) > n_max {
                return None;
            }
            tiles.extend(within(tile, zoom));
        }
        (!tiles.is_empty()).then_some(tiles)
    }
}

/// Whether a tile is the other, or lies in it.
fn is_within(tile: TileCoord, other: TileCoord) -> bool {
    let Some(deeper) = tile.zoom().checked_sub(other.zoom()) else { return false };
    (tile.x() >> deeper, tile.y() >> deeper) == (other.x(), other.y())
}

/// The tiles of a zoom that lie in a tile; none of a coarser zoom.
fn within(tile: TileCoord, zoom: u8) -> impl Iterator<Item = TileCoord> {
    let deeper = zoom.checked_sub(tile.zoom());
    let n = deeper.map_or(0, |deeper| 1u32 << deeper);
    let (x, y) = (tile.x() * n, tile.y() * n);
    (0..n).flat_map(move |dy| (0..n).filter_map(move |dx| TileCoord::new(zoom, x + dx, y + dy).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(texts: &[&str]) -> SelectionFlags {
        let tiles = texts.iter().map(|text| text.parse().unwrap()).collect();
        SelectionFlags { tiles, ..SelectionFlags::default() }
    }

    #[test]
    fn a_coarse_tile_stands_for_those_in_it() {
        let flags = tiles(&["16/58207/25811"]);
        let named: Vec<_> = flags.tiles_at(17, 100).unwrap().into_iter().map(|tile| tile.to_string()).collect();
        assert_eq!(named, ["17/116414/51622", "17/116414/51623", "17/116415/51622", "17/116415/51623"]);
        assert!(flags.contains("17/116415/51623".parse().unwrap()));
        assert!(!flags.contains("17/116416/51623".parse().unwrap()));
        assert!(!flags.contains("15/29103/12905".parse().unwrap()));
        assert_eq!(flags.tiles_at(17, 3), None);
        assert_eq!(tiles(&["0/0/0"]).tiles_at(30, 1 << 20), None);
    }

    #[test]
    fn a_box_names_its_tiles() {
        let bbox = "139.744,35.658,139.747,35.660".parse().unwrap();
        let flags = SelectionFlags { bbox: Some(bbox), ..SelectionFlags::default() };
        assert_eq!(flags.tiles_at(17, 4).unwrap().len(), 4);
        assert_eq!(flags.tiles_at(17, 3), None);
        assert!(flags.contains("17/116415/51622".parse().unwrap()) && !flags.is_everything());
    }
}
