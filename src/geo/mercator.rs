//! Web Mercator: between degrees, the world's voxels and true metres.
//!
//! Owns the projection. Receives checked places, yields world positions, and back; it does not know tiles' contents,
//! and heights above a datum are only scaled, never shifted.
//!
//! The world is a square of 2^25 z17 voxels. A position along an edge is also a *fraction* of it, which every zoom
//! shares:
//!
//! ```text
//! fraction   0          0.5           1
//! x          180 W       0        180 E       linear in longitude
//! z, y       85.0511 N   0    85.0511 S       (1 - asinh(tan lat) / pi) / 2
//! ```
//!
//! Transcendentals come from `libm`, so that every machine finds the same bits.

use std::f64::consts::PI;

use super::{GeoError, WORLD_VOXELS};
use crate::limits::{REGION_VOXELS, ZOOM_FULL};

/// Length of the equator on the sphere of Web Mercator (radius 6,378,137 m), in metres.
pub const EQUATOR_M: f64 = 2.0 * PI * 6_378_137.0;

/// Latitude at which the square world ends, in degrees: atan(sinh(pi)).
pub const LAT_MAX_DEG: f64 = 85.051_128_779_806_6;

/// A place on the globe, valid by construction.
///
/// ```
/// use voxatlas::geo::LonLat;
///
/// let tower = LonLat::new(139.745433, 35.658581)?;
/// let [x, z] = tower.to_world();
/// assert_eq!([x.floor(), z.floor()], [29_802_434.0, 13_215_596.0]);
///
/// let error = LonLat::new(35.66, 139.75).unwrap_err();
/// assert_eq!(error.to_string(), "latitude 139.75 is out of range: expected -90..=90 degrees");
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LonLat {
    lon_deg: f64,
    lat_deg: f64,
}

impl LonLat {
    /// Checks and makes a place from degrees east and degrees north.
    ///
    /// # Errors
    ///
    /// The longitude is outside -180..=180, the latitude outside -90..=90, or one is not a number.
    pub fn new(lon_deg: f64, lat_deg: f64) -> Result<Self, GeoError> {
        if !(-180.0..=180.0).contains(&lon_deg) {
            return Err(GeoError::LonOutOfRange { lon_deg });
        }
        if !(-90.0..=90.0).contains(&lat_deg) {
            return Err(GeoError::LatOutOfRange { lat_deg });
        }
        Ok(Self { lon_deg, lat_deg })
    }

    /// Degrees east, -180..=180.
    pub fn lon_deg(self) -> f64 {
        self.lon_deg
    }

    /// Degrees north, -90..=90.
    pub fn lat_deg(self) -> f64 {
        self.lat_deg
    }

    /// World x and z, in z17 voxels: x in 0..2^25 (180 E is 0, the same meridian as 180 W), z in 0..=2^25 (latitudes
    /// beyond 85.0511 degrees lie on the edge).
    pub fn to_world(self) -> [f64; 2] {
        let world = f64::from(WORLD_VOXELS);
        [wrap_x(x_fraction(self.lon_deg) * world), y_fraction(self.lat_deg) * world]
    }

    /// The place at world x and z, in z17 voxels. x wraps, z is clamped to the world; what is not a number counts as 0.
    pub fn from_world(x: f64, z: f64) -> Self {
        let world = f64::from(WORLD_VOXELS);
        let z = if z.is_nan() { 0.0 } else { z.clamp(0.0, world) };
        Self { lon_deg: lon_deg(wrap_x(x) / world), lat_deg: lat_deg(z / world) }
    }
}

/// World x brought into 0..2^25, in z17 voxels; what is not finite becomes 0.
pub fn wrap_x(x: f64) -> f64 {
    let world = f64::from(WORLD_VOXELS);
    let wrapped = if x.is_finite() { x.rem_euclid(world) } else { 0.0 };
    // A tiny negative x rounds up to the whole width.
    if wrapped < world { wrapped } else { 0.0 }
}

/// True edge of a z17 voxel in the tile row at world z, in metres: the scale of everything that stands there, heights
/// included. z beyond the world counts as its edge.
pub fn metres_per_voxel_at(z: f64) -> f64 {
    let n_rows = 1u32 << ZOOM_FULL;
    // The cast saturates, and takes what is not a number for 0.
    let row = ((z / f64::from(REGION_VOXELS)) as u32).min(n_rows - 1);
    EQUATOR_M / f64::from(WORLD_VOXELS) * cos_lat((f64::from(row) + 0.5) / f64::from(n_rows))
}

/// World y, in z17 voxels above the datum, of a height in metres above it, at world z.
pub fn y_from_height_m(height_m: f64, z: f64) -> f64 {
    height_m / metres_per_voxel_at(z)
}

/// Height above the datum, in metres, of world y, at world z.
pub fn height_m_from_y(y: f64, z: f64) -> f64 {
    y * metres_per_voxel_at(z)
}

/// Where a longitude lies along the world's edge, 0 at 180 W, 1 at 180 E.
pub(super) fn x_fraction(lon_deg: f64) -> f64 {
    (lon_deg + 180.0) / 360.0
}

/// Where a latitude lies along the world's edge, 0 in the north, 1 in the south; clamped there.
pub(super) fn y_fraction(lat_deg: f64) -> f64 {
    if lat_deg >= LAT_MAX_DEG {
        return 0.0;
    }
    if lat_deg <= -LAT_MAX_DEG {
        return 1.0;
    }
    let northing = libm::asinh(libm::tan(lat_deg.to_radians()));
    ((1.0 - northing / PI) / 2.0).clamp(0.0, 1.0)
}

/// The longitude at a fraction of the world's edge, in degrees.
pub(super) fn lon_deg(x_fraction: f64) -> f64 {
    x_fraction * 360.0 - 180.0
}

/// The latitude at a fraction of the world's edge, in degrees.
pub(super) fn lat_deg(y_fraction: f64) -> f64 {
    libm::atan(libm::sinh(PI * (1.0 - 2.0 * y_fraction))).to_degrees()
}

/// The cosine of the latitude at a fraction of the world's edge: how much smaller than at the equator everything is.
pub(super) fn cos_lat(y_fraction: f64) -> f64 {
    1.0 / libm::cosh(PI * (1.0 - 2.0 * y_fraction))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn published_corners_of_the_reference_scope() {
        // World (0, 0, 0) of the reference system is the north-west corner of tile 116326, 51545.
        for (tile_x, tile_y, lat_deg, lon_deg) in
            [(116_326, 51_545, 35.833_402, 139.498_901), (116_509, 51_695, 35.498_692, 140.001_526)]
        {
            let place = LonLat::from_world(f64::from(tile_x * 256), f64::from(tile_y * 256));
            assert!((place.lat_deg() - lat_deg).abs() < 0.000_001, "{place:?}");
            assert!((place.lon_deg() - lon_deg).abs() < 0.000_001, "{place:?}");
        }
    }

    #[test]
    fn places_off_the_globe_are_refused_by_value() {
        for (lon_deg, lat_deg, expected) in [
            (180.5, 0.0, "longitude 180.5 is out of range: expected -180..=180 degrees"),
            (f64::NAN, 0.0, "longitude NaN is out of range: expected -180..=180 degrees"),
            (0.0, -90.01, "latitude -90.01 is out of range: expected -90..=90 degrees"),
            (0.0, f64::INFINITY, "latitude inf is out of range: expected -90..=90 degrees"),
        ] {
            assert_eq!(LonLat::new(lon_deg, lat_deg).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_world_wraps_and_ends() {
        let world = f64::from(WORLD_VOXELS);
        assert_eq!(LonLat::new(180.0, 0.0).unwrap().to_world(), [0.0, world / 2.0]);
        assert_eq!(LonLat::new(-180.0, 90.0).unwrap().to_world(), [0.0, 0.0]);
        assert_eq!(LonLat::new(0.0, -88.0).unwrap().to_world(), [world / 2.0, world]);
        assert_eq!(LonLat::from_world(world + 1.0, 0.0), LonLat::from_world(1.0, -5.0));
        assert_eq!(LonLat::from_world(f64::NAN, f64::NAN), LonLat::from_world(0.0, 0.0));
        assert_eq!(wrap_x(-1e-30), 0.0);
        assert_eq!(LAT_MAX_DEG, lat_deg(0.0));
    }

    #[test]
    fn heights_are_scaled_by_the_row() {
        let z = 51_623.5 * 256.0;
        assert!((y_from_height_m(333.0, z) - 343.16).abs() < 0.01, "{}", y_from_height_m(333.0, z));
        // One scale for the whole row: no step inside a tile.
        assert_eq!(metres_per_voxel_at(51_623.0 * 256.0), metres_per_voxel_at(51_623.999 * 256.0));
        for z in [f64::NAN, f64::NEG_INFINITY, -1.0, 1e300] {
            assert!((0.0..0.11).contains(&metres_per_voxel_at(z)), "{z}");
        }
    }

    proptest! {
        #[test]
        fn a_world_position_survives_degrees_to_a_micrometre(
            x in 0.0..f64::from(WORLD_VOXELS),
            z in 0.0..f64::from(WORLD_VOXELS),
        ) {
            let [x_back, z_back] = LonLat::from_world(x, z).to_world();
            let error_m = (x_back - x).hypot(z_back - z) * metres_per_voxel_at(z);
            prop_assert!(error_m < 1e-6, "{} m", error_m);
        }

        #[test]
        fn degrees_survive_the_world_to_a_micrometre(lon in -180.0..180.0, lat in -LAT_MAX_DEG..LAT_MAX_DEG) {
            let place = LonLat::new(lon, lat).unwrap();
            let [x, z] = place.to_world();
            let back = LonLat::from_world(x, z);
            let metres_a_degree = EQUATOR_M / 360.0;
            let error_m = (back.lon_deg() - lon).hypot(back.lat_deg() - lat) * metres_a_degree;
            prop_assert!(error_m < 1e-6, "{} m", error_m);
        }

        #[test]
        fn heights_return(height_m in -11_000.0..100_000.0, z in 0.0..f64::from(WORLD_VOXELS)) {
            let back = height_m_from_y(y_from_height_m(height_m, z), z);
            prop_assert!((back - height_m).abs() < 1e-9);
        }
    }
}
