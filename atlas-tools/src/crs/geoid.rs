//! Geoids: how far sea level stands above the ellipsoid.
//!
//! Owns the grids of the formats GTX and GSI's ASCII, and the names of those of Japan. Receives degrees, yields metres,
//! bilinear between the grid's points. A place without a value is an error: to take it for 0 would move a city by 37 m.

use std::path::Path;

use super::CrsError;

/// A geoid file may be this large: the finest of the world, one minute, is 1 GiB; those of countries are far smaller.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// What a GTX file writes where it has no value; GSI's writes 999.
const GTX_NO_DATA: f32 = -88.8888;

/// A geoid.
#[derive(Debug)]
pub(super) struct Geoid {
    name: String,
    model: Model,
}

#[derive(Debug)]
enum Model {
    Grid(Grid),
    #[cfg(feature = "japan-geoid")]
    Japan(japan_geoid::gsi::MemoryGrid<'static>),
}

impl Geoid {
    /// The geoid of a name, or in a file.
    pub(super) fn open(name: &str) -> Result<Self, CrsError> {
        let model = match name {
            "jp2011" | "jp2024" => of_japan(name)?,
            _ => Model::Grid(Grid::open(name)?),
        };
        Ok(Self { name: name.to_owned(), model })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Metres from the ellipsoid up to sea level.
    pub(super) fn height_m(&self, lon_deg: f64, lat_deg: f64) -> Result<f64, CrsError> {
        let height_m = match &self.model {
            Model::Grid(grid) => grid.height_m(lon_deg, lat_deg),
            #[cfg(feature = "japan-geoid")]
            Model::Japan(grid) => {
                let height_m = japan_geoid::Geoid::get_height(grid, lon_deg, lat_deg);
                height_m.is_finite().then_some(height_m)
            }
        };
        height_m.ok_or_else(|| CrsError::OutsideGeoid { name: self.name.clone(), lon_deg, lat_deg })
    }
}

#[cfg(feature = "japan-geoid")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature, this is an error")]
fn of_japan(name: &str) -> Result<Model, CrsError> {
    Ok(Model::Japan(match name {
        "jp2011" => japan_geoid::gsi::load_embedded_gsigeo2011(),
        _ => japan_geoid::gsi::load_embedded_jpgeo2024(),
    }))
}

#[cfg(not(feature = "japan-geoid"))]
fn of_japan(name: &str) -> Result<Model, CrsError> {
    let why = "this build has no geoid of Japan: build with --features japan-geoid, or name a GTX or GSI ASCII file";
    Err(CrsError::BadGeoid { name: name.to_owned(), why: why.to_owned() })
}

/// A grid of heights, row by row from the south, each from the west.
#[derive(Debug, PartialEq)]
struct Grid {
    west_deg: f64,
    south_deg: f64,
    step_lon_deg: f64,
    step_lat_deg: f64,
    n_columns: usize,
    n_rows: usize,
    /// Metres; not a number where there is no value.
    heights_m: Vec<f32>,
}

impl Grid {
    fn open(name: &str) -> Result<Self, CrsError> {
        let bad = |why: String| CrsError::BadGeoid { name: name.to_owned(), why };
        let path = Path::new(name);
        let n_bytes = std::fs::metadata(path).map_err(|error| bad(format!("cannot be read: {error}")))?.len();
        if n_bytes > FILE_BYTES_MAX {
            return Err(bad(format!("{n_bytes} bytes: expected at most {FILE_BYTES_MAX}")));
        }
        let bytes = std::fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        let grid = if is_text(&bytes) { Self::of_gsi(&String::from_utf8_lossy(&bytes)) } else { Self::of_gtx(&bytes) };
        grid.map_err(bad)
    }

    /// GTX, of NOAA's VDatum: a big-endian header of 40 bytes, then floats.
    ///
    /// ```text
    ///   0  f64 south   8  f64 west   16  f64 step north   24  f64 step east   32  i32 rows   36  i32 columns
    /// ```
    fn of_gtx(bytes: &[u8]) -> Result<Self, String> {
        let short = || "too short for GTX: expected a header of 40 bytes, then the grid".to_owned();
        let number = |at: usize| -> Result<f64, String> {
            let field = bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).ok_or_else(short)?;
            Ok(f64::from_be_bytes(field))
        };
        let count = |at: usize| -> Result<usize, String> {
            let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok()).ok_or_else(short)?;
            let count = i32::from_be_bytes(field);
            usize::try_from(count).map_err(|_| format!("{count} rows or columns: expected a GTX or GSI ASCII grid"))
        };
        let [south_deg, west_deg, step_lat_deg, step_lon_deg] = [number(0)?, number(8)?, number(16)?, number(24)?];
        let [n_rows, n_columns] = [count(32)?, count(36)?];
        let values = bytes.get(40..).ok_or_else(short)?;
        let n_expected = n_rows.saturating_mul(n_columns);
        if n_expected.saturating_mul(4) > values.len() {
            return Err(format!("{n_rows} x {n_columns} values in {} bytes: it is cut off, or no GTX", values.len()));
        }
        let height = |four: &[u8]| {
            let height_m = f32::from_be_bytes(four.try_into().unwrap_or_default());
            if (height_m - GTX_NO_DATA).abs() < 1e-3 { f32::NAN } else { height_m }
        };
        let heights_m = values.chunks_exact(4).take(n_expected).map(height).collect();
        Self { west_deg, south_deg, step_lon_deg, step_lat_deg, n_columns, n_rows, heights_m }.checked()
    }

    /// GSI's ASCII: south, west, step north, step east, rows, columns, kind, version; then as many numbers. The steps
    /// are rounded to six places, 0.016667 for a minute, and are brought back to a whole part of a degree.
    fn of_gsi(text: &str) -> Result<Self, String> {
        let (header, body) = text.trim_start().split_once('\n').unwrap_or((text, ""));
        let bad_header = || {
            format!(
                "the first line is \"{}\": expected south, west, steps, rows and columns",
                super::reference::shortened(header)
            )
        };
        let fields: Vec<f64> =
            header.split_whitespace().take(6).map(str::parse).collect::<Result<_, _>>().map_err(|_| bad_header())?;
        let &[south_deg, west_deg, step_lat_deg, step_lon_deg, n_rows, n_columns] = fields.as_slice() else {
            return Err(bad_header());
        };
        let whole = |step_deg: f64| if step_deg > 0.0 { 1.0 / (1.0 / step_deg).round().max(1.0) } else { step_deg };
        let mut heights_m = Vec::new();
        for word in body.split_whitespace() {
            let height_m: f32 = word.parse().map_err(|_| {
                let word = super::reference::shortened(word);
                format!("value {} is \"{word}\": expected a number", heights_m.len() + 1)
            })?;
            heights_m.push(if height_m >= 999.0 { f32::NAN } else { height_m });
        }
        // As whole numbers they are exact; everything else is caught by the count of values.
        let [n_rows, n_columns] = [n_rows as usize, n_columns as usize];
        if n_rows.saturating_mul(n_columns) != heights_m.len() {
            return Err(format!("{} values: expected {n_rows} rows of {n_columns}", heights_m.len()));
        }
        let [step_lat_deg, step_lon_deg] = [whole(step_lat_deg), whole(step_lon_deg)];
        Self { west_deg, south_deg, step_lon_deg, step_lat_deg, n_columns, n_rows, heights_m }.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let is_place = (-360.0..=360.0).contains(&self.west_deg) && (-90.0..=90.0).contains(&self.south_deg);
        let is_step = [self.step_lon_deg, self.step_lat_deg].into_iter().all(|step| step > 0.0 && step <= 90.0);
        if !is_place || !is_step || self.n_columns < 2 || self.n_rows < 2 {
            return Err(format!(
                "a grid of {} x {} from {} E, {} N in steps of {} and {} degrees: expected a GTX or GSI ASCII file",
                self.n_columns, self.n_rows, self.west_deg, self.south_deg, self.step_lon_deg, self.step_lat_deg
            ));
        }
        Ok(self)
    }

    fn height_m(&self, lon_deg: f64, lat_deg: f64) -> Option<f64> {
        // Whichever turn of the globe the grid counts its longitudes in.
        let east = (lon_deg - self.west_deg).rem_euclid(360.0) / self.step_lon_deg;
        let north = (lat_deg - self.south_deg) / self.step_lat_deg;
        let (column, east) = cell(east, self.n_columns)?;
        let (row, north) = cell(north, self.n_rows)?;
        let at = |row: usize, column: usize, weight: f64| {
            // A corner that counts for nothing may have no value.
            if weight == 0.0 {
                return Some(0.0);
            }
            let height_m = f64::from(*self.heights_m.get(row * self.n_columns + column)?);
            height_m.is_finite().then_some(height_m * weight)
        };
        Some(
            at(row, column, (1.0 - east) * (1.0 - north))?
                + at(row, column + 1, east * (1.0 - north))?
                + at(row + 1, column, (1.0 - east) * north)?
                + at(row + 1, column + 1, east * north)?,
        )
    }
}

/// The cell of a grid, and how far in it.
fn cell(at: f64, n_points: usize) -> Option<(usize, f64)> {
    let last = n_points.checked_sub(1)? as f64;
    // Rounding leaves the last point a little outside.
    if !(-1e-9..=last + 1e-9).contains(&at) {
        return None;
    }
    let whole = at.clamp(0.0, last - 1.0).floor();
    Some((whole as usize, (at - whole).clamp(0.0, 1.0)))
}

/// Whether a file is text: GTX begins with floats, whose bytes are not.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(40)).unwrap_or_default();
    !start.is_empty() && start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

#[cfg(test)]
#[path = "geoid_tests.rs"]
mod tests;
