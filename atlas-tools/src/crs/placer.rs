//! From the coordinates of one file to places in the world.
//!
//! Owns [`Placer`]: a CRS, the order of the axes and a geoid, settled once. Receives coordinates as the file has them,
//! yields world x and z and metres of height, or says why they are absurd. It remembers nothing between two points.

use std::sync::{Arc, LazyLock};

use proj4rs::Proj;
use voxatlas::geo::mercator::EQUATOR_M;
use voxatlas::geo::{LonLat, WORLD_VOXELS};

use super::definition::{Definition, Kind};
use super::geoid::Geoid;
use super::{Axis, AxisRule, CrsError, CrsOptions, Vertical};
use crate::input::Place;

/// Results may lie this far outside the area of a CRS, in degrees: maps reach beyond borders.
const AREA_MARGIN_DEG: f64 = 2.0;

/// Places that a projection yields are rounded to this part of a voxel, a hundredth of a millimetre: its sines are those of
/// the machine, whose last bits differ.
const ROUNDING_PER_VOXEL: f64 = 65_536.0;

static WGS84: LazyLock<Option<Proj>> =
    LazyLock::new(|| Proj::from_proj_string("+proj=longlat +datum=WGS84 +no_defs").ok());

/// Places coordinates of one CRS.
#[derive(Debug, Clone)]
pub struct Placer {
    definition: Arc<Definition>,
    /// Whether northing or latitude comes first.
    is_swapped: bool,
    geoid: Option<Arc<Geoid>>,
    warnings: Vec<String>,
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
        let mut warnings = definition.warnings.clone();
        if is_ellipsoidal && geoid.is_none() {
            warnings.push(
                "heights are above the ellipsoid and are taken as they are; --geoid brings them to sea level"
                    .to_owned(),
            );
        }
        Ok(Self { definition: Arc::new(definition), is_swapped, geoid, warnings })
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
    /// They are not finite, lie nowhere on the globe, or far from where the CRS is used; or the geoid has no value there.
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
        if let Some(geoid) = &self.geoid {
            let at = LonLat::from_world(x, z);
            height_m -= geoid.height_m(at.lon_deg(), at.lat_deg())?;
        }
        Ok(Place { x, z, height_m })
    }

    /// Appends the places of many coordinates.
    ///
    /// # Errors
    ///
    /// As [`Placer::place`], for the first that fails; those before it were appended.
    pub fn place_all(&self, coordinates: &[[f64; 3]], places: &mut Vec<Place>) -> Result<(), CrsError> {
        places.reserve(coordinates.len());
        for &coordinates in coordinates {
            places.push(self.place(coordinates)?);
        }
        Ok(())
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
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether a box of its coordinates is a box of the world: it is one of degrees or of Web Mercator.
    pub fn keeps_boxes(&self) -> bool {
        matches!(self.definition.kind, Kind::Degrees | Kind::WebMercator)
    }

    fn check_area(&self, x: f64, z: f64, coordinates: [f64; 3]) -> Result<(), CrsError> {
        let Some([west, south, east, north]) = self.definition.area_deg else { return Ok(()) };
        let at = LonLat::from_world(x, z);
        let (lon_deg, lat_deg) = (at.lon_deg(), at.lat_deg());
        let is_beside = [-360.0, 0.0, 360.0]
            .into_iter()
            .any(|turn| (west - AREA_MARGIN_DEG..=east + AREA_MARGIN_DEG).contains(&(lon_deg + turn)));
        if is_beside && (south - AREA_MARGIN_DEG..=north + AREA_MARGIN_DEG).contains(&lat_deg) {
            return Ok(());
        }
        Err(CrsError::OutsideArea { coordinates, crs: self.definition.name.clone(), lon_deg, lat_deg })
    }
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
