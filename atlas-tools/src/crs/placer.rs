//! From the coordinates of one file to places in the world.
//!
//! Owns [`Placer`]: a CRS, the order of the axes and a geoid, settled once. Receives coordinates as the file has them,
//! yields world x and z and metres of height, or says why they are absurd. It remembers nothing between two calls.

use std::sync::{Arc, LazyLock};

use proj4rs::Proj;
use rustc_hash::FxHashMap;
use voxatlas::geo::mercator::{EQUATOR_M, wrap_x};
use voxatlas::geo::{LonLat, WORLD_VOXELS};

use super::definition::{Definition, Kind};
use super::geoid::Geoid;
use super::{Axis, AxisRule, CrsError, CrsOptions, Vertical};
use crate::input::Place;

/// Results may lie this far outside the area of a CRS, in degrees: maps reach beyond borders.
const AREA_MARGIN_DEG: f64 = 2.0;

/// Places that a projection yields are rounded to this part of a voxel, a hundredth of a millimetre: its sines are
/// those of the machine, whose last bits differ.
const ROUNDING_PER_VOXEL: f64 = 65_536.0;

/// Edge of the cells between whose corners [`Placer::place_all`] interpolates, in the unit of the CRS. Over 64 m, a
/// projection bends by less than a tenth of a millimetre (64^2 / 8 R tan lat), and a point costs a tenth of its exact
/// place.
const CELL: f64 = 64.0;

static WGS84: LazyLock<Option<Proj>> =
    LazyLock::new(|| Proj::from_proj_string("+proj=longlat +datum=WGS84 +no_defs").ok());

/// Places coordinates of one CRS.
#[derive(Debug, Clone)]
pub struct Placer {
    definition: Arc<Definition>,
    /// Whether northing or latitude comes first.
    is_swapped: bool,
    geoid: Option<Arc<Geoid>>,
    /// The area of the CRS in the world: west, north, east, south, west of more than east never.
    area: Option<[f64; 4]>,
    /// Whether heights above the ellipsoid stay what they are.
    is_ellipsoidal: bool,
}

/// A cell of the plane of a CRS: for each corner world x and z, and the geoid's height in metres.
#[derive(Clone, Copy)]
struct Cell {
    corners: [[f64; 3]; 4],
}

impl Placer {
    pub(super) fn new(definition: Definition, options: &CrsOptions, rule: AxisRule) -> Result<Self, CrsError> {
        let is_swapped = match options.axis {
            Axis::Xy => false,
            Axis::Yx => true,
            Axis::Auto => rule == AxisRule::Official && definition.is_northing_first,
        };
        let is_ellipsoidal = match options.vertical_from {
            Some(Vertical::Ellipsoid) => true,
            Some(Vertical::AsIs) => false,
            None => definition.is_ellipsoidal,
        };
        let geoid = match &options.geoid {
            Some(name) if is_ellipsoidal => Some(Arc::new(Geoid::open(name)?)),
            None if options.vertical_from == Some(Vertical::Ellipsoid) => return Err(CrsError::NoGeoid),
            _ => None,
        };
        let is_ellipsoidal = is_ellipsoidal && geoid.is_none();
        let area = definition.area_deg.map(world_area);
        Ok(Self { definition: Arc::new(definition), is_swapped, geoid, area, is_ellipsoidal })
    }

    /// The same with heights of another unit, in metres; for files that say it apart from their CRS.
    #[must_use]
    pub fn with_height_unit_m(mut self, unit_m: f64) -> Self {
        if unit_m.is_finite() && unit_m > 0.0 {
            Arc::make_mut(&mut self.definition).height_factor = unit_m;
        }
        self
    }

    /// What heights are multiplied by to be metres upwards.
    pub fn height_factor(&self) -> f64 {
        self.definition.height_factor
    }

    /// The place of three coordinates, in the order that the format and `--axis` say.
    ///
    /// x goes on beyond the world's ends for longitudes outside -180..=180, so that a shape stays in one piece.
    ///
    /// # Errors
    ///
    /// They are not finite, lie nowhere on the globe, or far from where the CRS is used; or the geoid has no value
    /// there.
    pub fn place(&self, coordinates: [f64; 3]) -> Result<Place, CrsError> {
        let [first, second, up] = coordinates;
        if !coordinates.iter().all(|number| number.is_finite()) {
            return Err(CrsError::NotFinite { coordinates });
        }
        let off_globe = || CrsError::OffGlobe { coordinates, crs: self.definition.name.clone() };
        let [x, y] = if self.is_swapped { [second, first] } else { [first, second] };
        let mut height_m = up * self.definition.height_factor;
        let place = match &self.definition.kind {
            Kind::Degrees => of_degrees(x, y),
            Kind::WebMercator => of_web_mercator(x, y),
            Kind::Proj(proj) => of_projection(proj, [x, y, 0.0]).map(|(place, _)| place),
            Kind::Geocentric(proj) => of_projection(proj, [x, y, up]).map(|(place, ellipsoidal_m)| {
                height_m = ellipsoidal_m;
                place
            }),
        };
        let [x, z] = place.ok_or_else(off_globe)?;
        self.check_area(x, z, coordinates)?;
        Ok(Place { x, z, height_m: height_m - self.geoid_m(x, z)? })
    }

    /// The height of sea level above what heights are measured from, at a place of the world.
    fn geoid_m(&self, x: f64, z: f64) -> Result<f64, CrsError> {
        let Some(geoid) = &self.geoid else { return Ok(0.0) };
        let at = LonLat::from_world(x, z);
        geoid.height_m(at.lon_deg(), at.lat_deg())
    }

    /// Appends the places of many coordinates, as of a point cloud. In a projected CRS they are interpolated within
    /// cells that are fixed in its plane: a tenth of a millimetre from their exact places, and the same whatever else
    /// is in the call.
    ///
    /// # Errors
    ///
    /// As [`Placer::place`], for the first that fails; those before it were appended.
    pub fn place_all(&self, coordinates: &[[f64; 3]], places: &mut Vec<Place>) -> Result<(), CrsError> {
        places.reserve(coordinates.len());
        let is_projected = matches!(&self.definition.kind, Kind::Proj(proj) if !proj.is_latlong());
        if !is_projected {
            for &coordinates in coordinates {
                places.push(self.place(coordinates)?);
            }
            return Ok(());
        }
        let mut cells: FxHashMap<[i64; 2], Option<Cell>> = FxHashMap::default();
        // Points come in swaths: mostly the next one lies in the same cell.
        let mut last = None;
        for &coordinates in coordinates {
            let [first, second, up] = coordinates;
            let [x, y] = if self.is_swapped { [second, first] } else { [first, second] };
            let [column, row] = [(x / CELL).floor(), (y / CELL).floor()];
            // The casts saturate, and take what is not a number for 0: such points are left to [`Placer::place`].
            let key = [column as i64, row as i64];
            let cell = match last {
                Some((last_key, cell)) if last_key == key => cell,
                _ => *cells.entry(key).or_insert_with(|| self.cell(key)),
            };
            last = Some((key, cell));
            places.push(match cell.filter(|_| coordinates.iter().all(|number| number.is_finite())) {
                Some(cell) => {
                    let [world_x, world_z, geoid_m] = cell.at(x / CELL - column, y / CELL - row);
                    Place { x: world_x, z: world_z, height_m: up * self.definition.height_factor - geoid_m }
                }
                None => self.place(coordinates)?,
            });
        }
        Ok(())
    }

    /// A cell, where all of its corners have a place.
    fn cell(&self, [column, row]: [i64; 2]) -> Option<Cell> {
        let mut corners = [[0.0; 3]; 4];
        for (corner, [dx, dy]) in corners.iter_mut().zip([[0, 0], [1, 0], [0, 1], [1, 1]]) {
            let [x, y] = [column.checked_add(dx)?, row.checked_add(dy)?].map(|number| number as f64 * CELL);
            let coordinates = if self.is_swapped { [y, x, 0.0] } else { [x, y, 0.0] };
            let place = self.place(coordinates).ok()?;
            *corner = [place.x, place.z, -place.height_m];
        }
        Some(Cell { corners })
    }

    /// The way back: the first two coordinates, as [`Placer::place`] takes them, of world x and z. x wraps.
    ///
    /// # Errors
    ///
    /// They are not finite, or the CRS has no coordinates there; or it is geocentric, where a height would be needed.
    pub fn unplace(&self, x: f64, z: f64) -> Result<[f64; 2], CrsError> {
        let coordinates = [x, z, 0.0];
        if !(x.is_finite() && z.is_finite()) {
            return Err(CrsError::NotFinite { coordinates });
        }
        let at = LonLat::from_world(x, z);
        let found = match &self.definition.kind {
            Kind::Degrees => Some([at.lon_deg(), at.lat_deg()]),
            Kind::WebMercator => Some(to_web_mercator(wrap_x(x), z)),
            Kind::Proj(proj) => to_projection(proj, at),
            Kind::Geocentric(_) => None,
        };
        let found = found.filter(|found| found.iter().all(|number| number.is_finite()));
        let [x, y] = found.ok_or_else(|| CrsError::NoCoordinates {
            lon_deg: at.lon_deg(),
            lat_deg: at.lat_deg(),
            crs: self.definition.name.clone(),
        })?;
        Ok(if self.is_swapped { [y, x] } else { [x, y] })
    }

    /// What messages call the CRS: `EPSG:7415 Amersfoort / RD New + NAP height`.
    pub fn describe(&self) -> String {
        let mut text = self.definition.name.clone();
        if self.is_swapped {
            text.push_str(", northing or latitude first");
        }
        if let Some(geoid) = &self.geoid {
            text.push_str(", ellipsoidal heights less the geoid ");
            text.push_str(geoid.name());
        }
        text
    }

    /// What a user should know of the places: ellipsoidal heights without a geoid, datum shifts that are not exact.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.definition.warnings.clone();
        if self.is_ellipsoidal {
            let kept = "heights are above the ellipsoid and are taken as they are; --geoid brings them to sea level";
            warnings.push(kept.to_owned());
        }
        warnings
    }

    /// The CRS whose heights are above the ellipsoid and stay so; `None` where they are not.
    pub fn ellipsoidal(&self) -> Option<&str> {
        self.is_ellipsoidal.then_some(self.definition.name.as_str())
    }

    /// The same for a file whose heights are passed over: nothing is to be said of them.
    #[must_use]
    pub fn without_heights(self) -> Self {
        Self { geoid: None, is_ellipsoidal: false, ..self }
    }

    /// Whether a box of its coordinates is a box of the world: it is one of degrees or of Web Mercator.
    pub fn keeps_boxes(&self) -> bool {
        matches!(self.definition.kind, Kind::Degrees | Kind::WebMercator)
    }

    fn check_area(&self, x: f64, z: f64, coordinates: [f64; 3]) -> Result<(), CrsError> {
        let Some([west, north, east, south]) = self.area else { return Ok(()) };
        let world = f64::from(WORLD_VOXELS);
        let is_beside = [-world, 0.0, world].into_iter().any(|turn| (west..=east).contains(&(x + turn)));
        if is_beside && (north..=south).contains(&z) {
            return Ok(());
        }
        let at = LonLat::from_world(x, z);
        Err(CrsError::OutsideArea {
            coordinates,
            crs: self.definition.name.clone(),
            lon_deg: at.lon_deg(),
            lat_deg: at.lat_deg(),
        })
    }
}

impl Cell {
    /// Between the corners, `east` and `north` as parts of the cell's edge.
    fn at(&self, east: f64, north: f64) -> [f64; 3] {
        let [south_west, south_east, north_west, north_east] = self.corners;
        std::array::from_fn(|nth| {
            let south = south_west[nth] + (south_east[nth] - south_west[nth]) * east;
            let top = north_west[nth] + (north_east[nth] - north_west[nth]) * east;
            south + (top - south) * north
        })
    }
}

/// An area in degrees as one of the world, with its margin: west, north, east, south.
fn world_area([west, south, east, north]: [f64; 4]) -> [f64; 4] {
    let x = |lon_deg: f64| (lon_deg + 180.0) / 360.0 * f64::from(WORLD_VOXELS);
    // Latitudes beyond the world lie on its edge.
    let z = |lat_deg: f64| LonLat::new(0.0, lat_deg.clamp(-90.0, 90.0)).map_or(0.0, |at| at.to_world()[1]);
    [x(west - AREA_MARGIN_DEG), z(north + AREA_MARGIN_DEG), x(east + AREA_MARGIN_DEG), z(south - AREA_MARGIN_DEG)]
}

/// World x and z of degrees. A shape may go on beyond 180 degrees, but not round the globe twice.
fn of_degrees(lon_deg: f64, lat_deg: f64) -> Option<[f64; 2]> {
    if !(-360.0..=360.0).contains(&lon_deg) {
        return None;
    }
    let [_, z] = LonLat::new(0.0, lat_deg).ok()?.to_world();
    Some([(lon_deg + 180.0) / 360.0 * f64::from(WORLD_VOXELS), z])
}

/// World x and z of metres of Web Mercator: the world's own projection.
fn of_web_mercator(x_m: f64, y_m: f64) -> Option<[f64; 2]> {
    let world = f64::from(WORLD_VOXELS);
    let [x, z] = [(0.5 + x_m / EQUATOR_M) * world, (0.5 - y_m / EQUATOR_M) * world];
    // A hundredth of a millimetre beyond the edge is the edge: the number of metres is rounded.
    let is_inside = (-world / 2.0..=world * 1.5).contains(&x) && (-0.01..=world + 0.01).contains(&z);
    is_inside.then(|| [x, z.clamp(0.0, world)])
}

/// World x and z, and the height above the ellipsoid, of what only `proj4rs` knows.
fn of_projection(proj: &Proj, [x, y, up]: [f64; 3]) -> Option<([f64; 2], f64)> {
    let mut point = if proj.is_latlong() {
        if x.abs() > 360.0 || y.abs() > 90.0 {
            return None;
        }
        (x.to_radians(), y.to_radians(), up)
    } else {
        (x, y, up)
    };
    proj4rs::transform::transform(proj, WGS84.as_ref()?, &mut point).ok()?;
    let [x, z] = of_degrees(point.0.to_degrees(), point.1.to_degrees())?;
    let rounded = |number: f64| (number * ROUNDING_PER_VOXEL).round() / ROUNDING_PER_VOXEL;
    Some(([rounded(x), rounded(z)], point.2))
}

/// Metres of Web Mercator of world x and z.
fn to_web_mercator(x: f64, z: f64) -> [f64; 2] {
    let world = f64::from(WORLD_VOXELS);
    [(x / world - 0.5) * EQUATOR_M, (0.5 - z / world) * EQUATOR_M]
}

/// The coordinates of a place in what only `proj4rs` knows.
fn to_projection(proj: &Proj, at: LonLat) -> Option<[f64; 2]> {
    let mut point = (at.lon_deg().to_radians(), at.lat_deg().to_radians(), 0.0);
    proj4rs::transform::transform(WGS84.as_ref()?, proj, &mut point).ok()?;
    Some(if proj.is_latlong() { [point.0.to_degrees(), point.1.to_degrees()] } else { [point.0, point.1] })
}
