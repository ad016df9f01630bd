//! What is in regions, in numbers: voxels, bricks, colours and heights.
//!
//! Receives regions one by one and adds them up; sums are whole numbers, so that their order is no matter. It names no
//! file and prints nothing but histograms.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};
use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::{BrickColours, Colour, Region};

use crate::surface::Surface;

/// The colours of voxels, with how many have each. Ascending, so that nothing depends on the order in which regions were
/// counted.
pub type ColourCounts = BTreeMap<Colour, u64>;

/// Counts the colours of a region's voxels.
pub fn count_colours(region: &Region) -> ColourCounts {
    let mut entries: BTreeMap<u32, u64> = BTreeMap::new();
    for [bx, by, bz] in region.occupancy.brick_mask().iter() {
        let rows = region.occupancy.brick_rows(bx, by, bz);
        if let BrickColours::Uniform(entry) = region.colours.brick(bx, by, bz) {
            let n: u32 = rows.iter().map(|row| row.count_ones()).sum();
            *entries.entry(entry).or_default() += u64::from(n);
            continue;
        }
        for (row_idx, mut row) in rows.into_iter().enumerate() {
            let (y, z) = (by * 16 + row_idx as u32 % 16, bz * 16 + row_idx as u32 / 16);
            while row != 0 {
                let x = bx * 16 + row.trailing_zeros();
                row &= row - 1;
                *entries.entry(region.colours.entry(x, y, z)).or_default() += 1;
            }
        }
    }
    let mut counts = ColourCounts::new();
    for (entry, n) in entries {
        *counts.entry(region.colours.depth().colour(entry)).or_default() += n;
    }
    counts
}

/// What is in some regions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Occupied voxels.
    pub voxels: u64,
    /// Bricks that hold one.
    pub bricks: u64,
    /// Their colours.
    pub colours: ColourCounts,
}

impl Contents {
    /// What is in a region.
    pub fn of(region: &Region) -> Self {
        Self {
            voxels: region.occupancy.count(),
            bricks: u64::from(region.occupancy.brick_mask().count()),
            colours: count_colours(region),
        }
    }

    /// Adds what is in others.
    pub fn add(&mut self, other: Self) {
        self.voxels += other.voxels;
        self.bricks += other.bricks;
        for (colour, n) in other.colours {
            *self.colours.entry(colour).or_default() += n;
        }
    }

    /// The colours of most voxels, at most so many; equals by their values.
    pub fn top_colours(&self, n_max: usize) -> Vec<ColourShare> {
        let mut colours: Vec<_> = self.colours.iter().map(|(&colour, &voxels)| (colour, voxels)).collect();
        colours.sort_by_key(|&(colour, voxels)| (std::cmp::Reverse(voxels), colour));
        colours.truncate(n_max);
        colours
            .into_iter()
            .map(|([r, g, b], voxels)| ColourShare { colour: format!("#{r:02x}{g:02x}{b:02x}"), voxels })
            .collect()
    }
}

/// How many voxels have a colour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColourShare {
    /// As in style sheets, "#c8c4bb".
    pub colour: String,
    /// Voxels.
    pub voxels: u64,
}

/// How high columns reach: how many end at each decimetre above the datum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heights(BTreeMap<i64, u64>);

/// Widths of a bar, in decimetres, of which the narrowest that gives few bars is taken.
const BAR_WIDTHS_DM: [i64; 8] = [10, 20, 50, 100, 200, 500, 1_000, 2_000];

/// Bars of a histogram at most, unless heights lie further apart than the widest bars take in.
const BARS_MAX: i64 = 24;

/// Characters of the longest bar.
const BAR_CHARACTERS: u64 = 40;

impl Heights {
    /// Adds the columns of a tile, of a tileset with that base.
    pub fn add(&mut self, tile: TileCoord, base: i32, surface: &Surface) {
        let mut by_y: BTreeMap<i64, u64> = BTreeMap::new();
        for top in surface.tops().iter().flatten() {
            *by_y.entry(top.y).or_default() += 1;
        }
        for (y, n) in by_y {
            let decimetres = libm::round(height_m(tile, base, y) * 10.0) as i64;
            *self.0.entry(decimetres).or_default() += n;
        }
    }

    /// Columns that hold a voxel.
    pub fn n_columns(&self) -> u64 {
        self.0.values().sum()
    }

    /// The height in metres below which so many of a hundred columns end; `None` without columns.
    pub fn percentile_m(&self, percent: u64) -> Option<f64> {
        let rank = (self.n_columns() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.0.iter().find(|&(_, &n)| {
            seen += n;
            seen >= rank
        });
        at.map(|(&decimetres, _)| decimetres as f64 / 10.0)
    }

    /// Bars of equal width: where each that is not empty begins in metres, and its columns.
    fn bars(&self) -> (f64, Vec<(f64, u64)>) {
        let (Some((&low, _)), Some((&high, _))) = (self.0.first_key_value(), self.0.last_key_value()) else {
            return (1.0, Vec::new());
        };
        let n_bars = |width: i64| high.div_euclid(width) - low.div_euclid(width) + 1;
        let width = BAR_WIDTHS_DM.into_iter().find(|&width| n_bars(width) <= BARS_MAX).unwrap_or(BAR_WIDTHS_DM[7]);
        let mut bars: BTreeMap<i64, u64> = BTreeMap::new();
        for (decimetres, n) in &self.0 {
            *bars.entry(decimetres.div_euclid(width)).or_default() += n;
        }
        let bars = bars.into_iter().map(|(bar, n)| ((bar * width) as f64 / 10.0, n)).collect();
        (width as f64 / 10.0, bars)
    }

    /// The histogram for JSON.
    pub fn to_json(&self) -> Value {
        let (width_m, bars) = self.bars();
        let bars: Vec<_> =
            bars.into_iter().map(|(from_m, columns)| json!({ "from_m": from_m, "columns": columns })).collect();
        let percentiles: BTreeMap<String, Option<f64>> =
            [0, 50, 90, 99, 100].map(|percent| (format!("p{percent}_m"), self.percentile_m(percent))).into();
        json!({ "columns": self.n_columns(), "percentiles": percentiles, "bar_m": width_m, "bars": bars })
    }

    /// The histogram for people, a line a bar.
    pub fn to_text(&self) -> String {
        let (width_m, bars) = self.bars();
        let most = bars.iter().map(|&(_, n)| n).max().unwrap_or(1).max(1);
        let mut text = String::new();
        for (from_m, n) in bars {
            let bar = "#".repeat((u128::from(n) * u128::from(BAR_CHARACTERS)).div_ceil(u128::from(most)) as usize);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:>10} {n:>10}  {bar}", format!("{from_m}-{}", from_m + width_m));
        }
        text
    }
}

/// Metres above the datum of a height in voxels of the tile's zoom above the base.
pub fn height_m(tile: TileCoord, base: i32, y: i64) -> f64 {
    let z17_voxels = voxatlas::geo::RegionKey::new(tile, 0).edge_voxels() as f64 / f64::from(REGION_VOXELS);
    (f64::from(base) / z17_voxels + y as f64) * tile.metres_per_voxel()
}

#[cfg(test)]
mod tests {
    use voxatlas::voxel::{ColourDepth, Occupancy};

    use super::*;

    fn region() -> Region {
        let mut occupancy = Occupancy::empty();
        for x in 0..64 {
            for y in 0..=x {
                occupancy.set(x, y, 3, true);
            }
        }
        Region::paint(occupancy, ColourDepth::Direct, |x, _, _| if x < 16 { 0x00_00_FF } else { 0x00_FF_00 + x / 40 })
    }

    #[test]
    fn voxels_bricks_and_colours_are_counted() {
        let contents = Contents::of(&region());
        assert_eq!((contents.voxels, contents.bricks), (64 * 65 / 2, 4 + 3 + 2 + 1));
        assert_eq!(contents.colours.values().sum::<u64>(), contents.voxels);
        assert_eq!(contents.colours[&[255, 0, 0]], 16 * 17 / 2);
        let top = contents.top_colours(2);
        assert_eq!((top.len(), top[0].colour.as_str()), (2, "#01ff00"));
        let mut twice = contents.clone();
        twice.add(contents.clone());
        assert_eq!(twice.voxels, 2 * contents.voxels);
        assert_eq!(twice.colours[&[255, 0, 0]], 2 * contents.colours[&[255, 0, 0]]);
    }

    #[test]
    fn heights_are_metres_above_the_datum() {
        let tile: TileCoord = "17/65536/65536".parse().unwrap();
        let mut heights = Heights::default();
        heights.add(tile, -32, &Surface::of(0, &region()));
        assert_eq!(heights.n_columns(), 64);
        let voxel_m = tile.metres_per_voxel();
        assert!((heights.percentile_m(0).unwrap() - -31.0 * voxel_m).abs() < 0.06);
        assert!((heights.percentile_m(50).unwrap() - 0.0).abs() < 0.06);
        assert!((heights.percentile_m(100).unwrap() - 32.0 * voxel_m).abs() < 0.06);
        let view = heights.to_json();
        let columns: u64 = view["bars"].as_array().unwrap().iter().map(|bar| bar["columns"].as_u64().unwrap()).sum();
        assert_eq!((columns, &view["columns"]), (64, &64.into()));
        assert!(heights.to_text().lines().count() <= 24);
        assert_eq!(Heights::default().percentile_m(50), None);
        assert_eq!(Heights::default().to_text(), "");
    }

    #[test]
    fn a_coarse_tile_has_the_heights_of_its_fine_ones() {
        let (fine, coarse): (TileCoord, TileCoord) =
            ("17/116414/51622".parse().unwrap(), "16/58207/25811".parse().unwrap());
        let difference = height_m(fine, -32, 132) - height_m(coarse, -32, 66);
        assert!(difference.abs() < 0.01, "{difference}");
    }
}
