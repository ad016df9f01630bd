//! A picture of regions from above: a pixel a column, its colour shaded by relief and height.
//!
//! Receives surfaces, yields an RGBA PNG whose pixels are transparent where there is nothing. It is no map: it has no
//! projection, scale or credit of its own.

use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::{Context as _, bail};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Colour;

use crate::output::PartFile;
use crate::surface::Surface;

/// Pixels of a picture at most: half a gigabyte while it is made.
const PIXELS_MAX: u64 = 64 << 20;

/// What a slope of one voxel up towards the light from the north-west adds, and how many voxels count.
const LIGHT_OF_SLOPE: f64 = 0.06;
const SLOPE_MAX: i64 = 4;

/// Light on the lowest ground, and what the highest roofs have more.
const LIGHT_LOW: f64 = 0.72;
const LIGHT_OF_HEIGHT: f64 = 0.30;

/// A picture that is being put together.
#[derive(Debug)]
pub struct Preview {
    first: [u32; 2],
    width_px: usize,
    height_px: usize,
    tops: Vec<Option<(i64, Colour)>>,
}

impl Preview {
    /// An empty picture of the tiles of these regions, which are of one zoom.
    ///
    /// # Errors
    ///
    /// It would be larger than a picture may be.
    pub fn new(keys: &[RegionKey]) -> anyhow::Result<Self> {
        let (xs, ys) = (|| keys.iter().map(|key| key.tile.x()), || keys.iter().map(|key| key.tile.y()));
        let first = [xs().min().unwrap_or(0), ys().min().unwrap_or(0)];
        let edge =
            |last: Option<u32>, first: u32| u64::from(last.unwrap_or(first) - first + 1) * u64::from(REGION_VOXELS);
        let (width, height) = (edge(xs().max(), first[0]), edge(ys().max(), first[1]));
        if width * height > PIXELS_MAX {
            bail!(
                "the picture would have {width} x {height} pixels: expected at most {PIXELS_MAX} in all, by --bbox, --tiles or \
                 a coarser --zoom"
            );
        }
        let tops = vec![None; (width * height) as usize];
        Ok(Self { first, width_px: width as usize, height_px: height as usize, tops })
    }

    /// Adds a tile.
    pub fn add(&mut self, tile: TileCoord, surface: &Surface) {
        let edge = REGION_VOXELS as usize;
        let (left, upper) = ((tile.x() - self.first[0]) as usize * edge, (tile.y() - self.first[1]) as usize * edge);
        for (row, tops) in surface.tops().chunks_exact(edge).enumerate() {
            let begin = (upper + row) * self.width_px + left;
            for (pixel, top) in self.tops[begin..begin + edge].iter_mut().zip(tops) {
                *pixel = top.map(|top| (top.y, top.colour));
            }
        }
    }

    /// Writes the picture.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let part = PartFile::create(path)?;
        let write = || -> io::Result<()> {
            let (width, height) = (self.width_px as u32, self.height_px as u32);
            let mut encoder = png::Encoder::new(BufWriter::new(part.file()), width, height);
            encoder.set_color(png::ColorType::Rgba);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.pixels())?;
            Ok(writer.finish()?)
        };
        write().with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(part.finish()?)
    }

    fn pixels(&self) -> Vec<u8> {
        let (low, high) = self.range();
        let at = |x: usize, y: usize| self.tops[y * self.width_px + x];
        let mut pixels = vec![0; self.tops.len() * 4];
        for y in 0..self.height_px {
            for x in 0..self.width_px {
                let Some((top, colour)) = at(x, y) else { continue };
                let north_west = if x > 0 && y > 0 { at(x - 1, y - 1).map_or(top, |(top, _)| top) } else { top };
                let slope = (top - north_west).clamp(-SLOPE_MAX, SLOPE_MAX) as f64;
                let height = ((top - low) as f64 / (high - low).max(1) as f64).clamp(0.0, 1.0);
                let light = LIGHT_LOW + LIGHT_OF_HEIGHT * height + LIGHT_OF_SLOPE * slope;
                let [r, g, b] = colour.map(|channel| (f64::from(channel) * light).clamp(0.0, 255.0) as u8);
                pixels[(y * self.width_px + x) * 4..][..4].copy_from_slice(&[r, g, b, 255]);
            }
        }
        pixels
    }

    /// The heights between which light grows: a lone tower does not darken the city.
    fn range(&self) -> (i64, i64) {
        let mut tops: Vec<i64> = self.tops.iter().flatten().map(|&(top, _)| top).collect();
        if tops.is_empty() {
            return (0, 1);
        }
        let high = (tops.len() - 1) * 99 / 100;
        let low = *tops.iter().min().unwrap_or(&0);
        let (_, high, _) = tops.select_nth_unstable(high);
        (low, *high)
    }
}
