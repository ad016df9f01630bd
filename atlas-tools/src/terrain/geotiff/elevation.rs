//! A GeoTIFF of heights as an elevation.

use std::path::Path;

use tiff::decoder::DecodingResult;
use voxatlas::geo::TileCoord;

use super::raster::{Header, Raster};
use super::warp::Warp;
use crate::crs::{AxisRule, CrsError, CrsOptions, Placer};
use crate::input::InputError;
use crate::terrain::sample::bilinear;
use crate::terrain::{Elevation, HeightTile, NO_DATA, SIDE};

/// Values beyond this, in either direction, are no heights in any unit: the largest float, and other marks of no data that
/// files forget to name.
const VALUE_MAX: f64 = 1e6;

/// A raster of heights: its first band.
pub struct GeoTiffElevation {
    header: Header,
    raster: Raster<f32>,
    placer: Placer,
    extent: [f64; 4],
}

impl GeoTiffElevation {
    /// Opens a GeoTIFF or COG; chunks are kept within a budget of bytes.
    ///
    /// Heights are in the unit of its vertical keys, or in the one that GDAL notes, or in that of its CRS.
    ///
    /// # Errors
    ///
    /// It cannot be read, its values are no numbers of a kind that is known, or nothing says where it lies.
    pub fn open(path: &Path, crs: &CrsOptions, budget_bytes: u64) -> Result<Self, InputError> {
        let header = Header::read(path)?;
        let placer = placer(&header, crs)?;
        let convert = heights_of(&header);
        let raster = Raster::new(&header, header.levels[0], 1, Box::new(convert), budget_bytes)?;
        let extent = extent(&header, &placer)?;
        Ok(Self { header, raster, placer, extent })
    }

    /// What messages call its CRS.
    pub fn crs(&self) -> String {
        self.placer.describe()
    }
}

impl Elevation for GeoTiffElevation {
    fn name(&self) -> String {
        self.header.path.display().to_string()
    }

    fn extent(&self) -> [f64; 4] {
        self.extent
    }

    fn placer(&self) -> Option<&Placer> {
        Some(&self.placer)
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let warp = Warp::new(tile, &self.placer, self.header.transform, self.header.levels[0].size);
        let Some(warp) = warp.map_err(|error| error.in_file(&self.header.path))? else { return Ok(None) };
        let mut window = self.raster.window();
        let mut heights_m = vec![NO_DATA; SIDE * SIDE];
        for (idx, height_m) in heights_m.iter_mut().enumerate() {
            let Some(spot) = warp.at((idx % SIDE) as f64 + 0.5, (idx / SIDE) as f64 + 0.5) else { continue };
            let pixel = |x, y| Ok(window.pixel(x, y)?.filter(|value| !value.is_nan()).map(f64::from));
            if let Some(value) = bilinear(spot.u, spot.v, pixel)? {
                *height_m = (value * spot.scale + spot.offset_m) as f32;
            }
        }
        Ok(HeightTile::from_vec(heights_m).and_then(HeightTile::some_if_any))
    }
}

/// The placer of a raster's coordinates and heights.
pub(super) fn placer(header: &Header, crs: &CrsOptions) -> Result<Placer, InputError> {
    let in_file = |error: CrsError| error.in_file(&header.path);
    // What the command line names goes before keys that cannot be read.
    let of_file = match header.keys.crs() {
        Err(_) if crs.crs.is_some() => None,
        found => found.map_err(|what| InputError::Malformed { path: header.path.clone(), what })?,
    };
    let placer = crs.placer(AxisRule::Traditional, of_file.as_deref(), None).map_err(in_file)?;
    let unit_m = header.keys.height_unit_m().filter(|_| crs.crs.is_none()).or(header.unit_m);
    Ok(unit_m.map_or(placer.clone(), |unit_m| placer.with_height_unit_m(unit_m)))
}

/// The box round a raster in the world: places along its edges, each in one piece with the one before.
pub(super) fn extent(header: &Header, placer: &Placer) -> Result<[f64; 4], InputError> {
    const STEPS: u32 = 256;
    let [width, height] = header.levels[0].size.map(f64::from);
    let world = f64::from(voxatlas::geo::WORLD_VOXELS);
    let edge = |[u0, v0]: [f64; 2], [u1, v1]: [f64; 2]| {
        (0..STEPS).map(move |step| {
            let along = f64::from(step) / f64::from(STEPS);
            [u0 + (u1 - u0) * along, v0 + (v1 - v0) * along]
        })
    };
    let corners = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
    let mut found: Option<([f64; 4], f64)> = None;
    let mut failed = None;
    for [u, v] in (0..4).flat_map(|idx| edge(corners[idx], corners[(idx + 1) % 4])) {
        let [x, y] = header.transform.to_model([u, v]);
        match placer.place([x, y, 0.0]) {
            Ok(place) => {
                let ([west, north, east, south], before) =
                    found.unwrap_or(([f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY], place.x));
                // The shorter way, over the antimeridian where that is it.
                let x = place.x - ((place.x - before) / world).round() * world;
                found = Some(([west.min(x), north.min(place.z), east.max(x), south.max(place.z)], x));
            }
            // The corners of a raster may lie where its CRS does not reach, and hold no data.
            Err(error) => failed = Some(error),
        }
    }
    match (found, failed) {
        (Some((extent, _)), _) => Ok(extent),
        (None, Some(error)) => Err(error.in_file(&header.path)),
        (None, None) => Ok([0.0; 4]),
    }
}

/// Turns a chunk into heights in the file's unit, NaN where there is no data.
fn heights_of(header: &Header) -> impl Fn(Vec<DecodingResult>) -> Result<Vec<f32>, String> + Send + Sync + use<> {
    let (no_data, scale, offset) = (header.no_data, header.scale, header.offset);
    let stride = if header.n_planes_of_pixel() > 1 { 1 } else { usize::from(header.n_samples) };
    move |chunks| {
        let height_m = |value: f64| {
            let is_data = value.is_finite() && value.abs() < VALUE_MAX && Some(value) != no_data;
            if is_data { (value * scale + offset) as f32 } else { NO_DATA }
        };
        // A file names its mark in decimals; as a float of its own width it may be another.
        let no_data_f32 = no_data.map(|no_data| no_data as f32);
        let of_f32 = |value: f32| if Some(value) == no_data_f32 { NO_DATA } else { height_m(f64::from(value)) };
        macro_rules! heights {
            ($values:expr, $of:expr) => {
                $values.into_iter().step_by(stride).map($of).collect()
            };
        }
        Ok(match chunks.into_iter().next() {
            Some(DecodingResult::F32(values)) => heights!(values, of_f32),
            Some(DecodingResult::F64(values)) => heights!(values, height_m),
            Some(DecodingResult::I8(values)) => heights!(values, |value| height_m(f64::from(value))),
            Some(DecodingResult::U8(values)) => heights!(values, |value| height_m(f64::from(value))),
            Some(DecodingResult::I16(values)) => heights!(values, |value| height_m(f64::from(value))),
            Some(DecodingResult::U16(values)) => heights!(values, |value| height_m(f64::from(value))),
            Some(DecodingResult::I32(values)) => heights!(values, |value| height_m(f64::from(value))),
            Some(DecodingResult::U32(values)) => heights!(values, |value| height_m(f64::from(value))),
            _ => return Err("values of 16-bit floats or 64-bit integers: expected heights of 8 to 64 bits".to_owned()),
        })
    }
}
