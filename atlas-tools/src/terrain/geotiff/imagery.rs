//! A GeoTIFF of colours as imagery.

use std::path::Path;

use tiff::ColorType;
use tiff::decoder::DecodingResult;
use voxatlas::geo::TileCoord;

use super::elevation::{extent, placer};
use super::raster::{Colouring, Header, Raster};
use super::warp::Warp;
use crate::crs::{CrsOptions, Placer};
use crate::input::InputError;
use crate::terrain::sample::{ColourMean, samples_along};
use crate::terrain::{ColourTile, Imagery, SIDE};

/// An aerial photograph, or a map.
pub struct GeoTiffImagery {
    header: Header,
    /// The picture at its own size, then its overviews.
    rasters: Vec<Raster<[u8; 4]>>,
    placer: Placer,
    extent: [f64; 4],
}

impl GeoTiffImagery {
    /// Opens a GeoTIFF or COG of 8-bit grey, RGB, RGBA, YCbCr or palette colours; chunks are kept within a budget of bytes.
    ///
    /// # Errors
    ///
    /// It cannot be read, its colours are of another kind, or nothing says where it lies.
    pub fn open(path: &Path, crs: &CrsOptions, budget_bytes: u64) -> Result<Self, InputError> {
        let header = Header::read(path)?;
        let placer = placer(&header, crs)?;
        let n_levels = header.levels.len() as u64;
        let rasters = header.levels.iter().map(|&level| {
            let said = |what| InputError::Malformed { path: path.to_owned(), what };
            let pixels = Pixels::of(&header).map_err(said)?;
            let n_samples = pixels.n_samples();
            let convert = move |chunks: Vec<DecodingResult>| pixels.colours(chunks);
            Raster::new(&header, level, n_samples, Box::new(convert), budget_bytes / n_levels)
        });
        let rasters = rasters.collect::<Result<Vec<_>, _>>()?;
        let extent = extent(&header, &placer)?;
        Ok(Self { header, rasters, placer, extent })
    }

    /// What messages call its CRS.
    pub fn crs(&self) -> String {
        self.placer.describe()
    }
}

impl Imagery for GeoTiffImagery {
    fn name(&self) -> String {
        self.header.path.display().to_string()
    }

    fn extent(&self) -> [f64; 4] {
        self.extent
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<ColourTile>, InputError> {
        let level = |idx: usize| {
            let level = self.header.levels[idx];
            let warp = Warp::new(tile, &self.placer, self.header.transform_of(level), level.size);
            warp.map_err(|error| error.in_file(&self.header.path))
        };
        let Some(mut warp) = level(0)? else { return Ok(None) };
        let mut raster = &self.rasters[0];
        // The smallest picture that is at least as fine as the voxels: it was averaged by whoever made it.
        for (idx, smaller) in self.rasters.iter().enumerate().skip(1).rev() {
            if let Some(coarse) = level(idx)?.filter(|warp| warp.pixels_a_voxel() >= 1.0) {
                (warp, raster) = (coarse, smaller);
                break;
            }
        }
        let n = samples_along(warp.pixels_a_voxel());
        let mut window = raster.window();
        let mut colours = vec![[0; 4]; SIDE * SIDE];
        for (idx, colour) in colours.iter_mut().enumerate() {
            let mut mean = ColourMean::default();
            for sample in 0..n * n {
                let within = |idx: u32| (f64::from(idx) + 0.5) / f64::from(n);
                let (x, z) = ((idx % SIDE) as f64 + within(sample % n), (idx / SIDE) as f64 + within(sample / n));
                let pixel = match warp.at(x, z) {
                    Some(spot) => window.pixel(spot.u.floor() as i64, spot.v.floor() as i64)?,
                    None => None,
                };
                mean.add(pixel.unwrap_or([0; 4]));
            }
            *colour = mean.colour();
        }
        Ok(ColourTile::from_fn(|x, z| colours[x + SIDE * z]).some_if_any())
    }
}

/// How samples become colours.
#[derive(Debug, Clone)]
struct Pixels {
    kind: Kind,
    /// Samples of a pixel in a chunk.
    stride: usize,
    is_planar: bool,
    /// What stands for no data, in every sample.
    no_data: Option<u8>,
}

#[derive(Debug, Clone)]
enum Kind {
    Grey,
    Rgb,
    Rgba,
    YCbCr,
    Palette(Vec<[u8; 3]>),
}

impl Pixels {
    fn of(header: &Header) -> Result<Self, String> {
        let n_samples = header.n_samples;
        let kind = match &header.colour {
            Colouring::Palette(map) if map.len() == 768 => Kind::Palette(
                (0..256).map(|idx| [0, 1, 2].map(|channel| (map[idx + 256 * channel] >> 8) as u8)).collect(),
            ),
            Colouring::Palette(map) => {
                return Err(format!("a palette of {} colours: expected 8 bits a pixel, 256 colours", map.len() / 3));
            }
            Colouring::Of(ColorType::Gray(8) | ColorType::Multiband { bit_depth: 8, .. }) => {
                // Bands without a meaning: three or more are taken for red, green and blue, as every viewer does.
                if n_samples < 3 { Kind::Grey } else { Kind::Rgb }
            }
            Colouring::Of(ColorType::RGB(8)) => Kind::Rgb,
            Colouring::Of(ColorType::RGBA(8)) => Kind::Rgba,
            Colouring::Of(ColorType::YCbCr(8)) => Kind::YCbCr,
            Colouring::Of(other) => {
                return Err(format!(
                    "colours of the kind {other:?}: expected 8 bits of grey, RGB, RGBA, YCbCr or a palette"
                ));
            }
        };
        let is_planar = header.n_planes_of_pixel() > 1;
        let stride = if is_planar { 1 } else { usize::from(n_samples) };
        let no_data = header.no_data.filter(|value| (0.0..=255.0).contains(value)).map(|value| value as u8);
        Ok(Self { kind, stride, is_planar, no_data })
    }

    /// Samples of a pixel that are read.
    fn n_samples(&self) -> u16 {
        match self.kind {
            Kind::Grey | Kind::Palette(_) => 1,
            Kind::Rgb | Kind::YCbCr => 3,
            Kind::Rgba => 4,
        }
    }

    fn colours(&self, chunks: Vec<DecodingResult>) -> Result<Vec<[u8; 4]>, String> {
        let planes = chunks.into_iter().map(|chunk| match chunk {
            DecodingResult::U8(samples) => Ok(samples),
            _ => Err("samples that are no bytes: expected 8 bits each".to_owned()),
        });
        let planes = planes.collect::<Result<Vec<_>, _>>()?;
        let n_samples = usize::from(self.n_samples());
        if self.is_planar {
            let n_pixels = planes.iter().map(Vec::len).min().unwrap_or(0);
            let sample = |idx: usize, channel: usize| planes[channel.min(planes.len() - 1)][idx];
            return Ok((0..n_pixels).map(|idx| self.colour(|channel| sample(idx, channel), n_samples)).collect());
        }
        let pixels = planes.first().map_or(&[][..], Vec::as_slice).chunks_exact(self.stride);
        Ok(pixels.map(|pixel| self.colour(|channel| pixel[channel.min(pixel.len() - 1)], n_samples)).collect())
    }

    fn colour(&self, sample: impl Fn(usize) -> u8, n_samples: usize) -> [u8; 4] {
        if self.no_data.is_some_and(|no_data| (0..n_samples.min(3)).all(|channel| sample(channel) == no_data)) {
            return [0; 4];
        }
        match &self.kind {
            Kind::Grey => [sample(0), sample(0), sample(0), 255],
            Kind::Rgb => [sample(0), sample(1), sample(2), 255],
            Kind::Rgba => [sample(0), sample(1), sample(2), sample(3)],
            Kind::YCbCr => rgb_of_ycbcr([sample(0), sample(1), sample(2)]),
            Kind::Palette(palette) => {
                let [r, g, b] = palette[usize::from(sample(0))];
                [r, g, b, 255]
            }
        }
    }
}

/// BT.601 over the full range, as JPEG has it, in whole numbers.
fn rgb_of_ycbcr([y, cb, cr]: [u8; 3]) -> [u8; 4] {
    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
    let channel = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    [channel(y + 91_881 * cr), channel(y - 22_554 * cb - 46_802 * cr), channel(y + 116_130 * cb), 255]
}
