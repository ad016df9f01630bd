//! Where the sun stands, for a place and a time.
//!
//! The formulas of NOAA's solar calculator (Meeus, Astronomical Algorithms, in low precision): within a hundredth of a degree
//! for a century round the year 2000, and with the refraction of average air. Transcendentals come from `libm`: the same bits
//! on every machine.

use glam::DVec3;

use super::LonLat;

/// Where the sun stands in the sky of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SunPosition {
    /// Clockwise from north, in degrees, 0..360.
    pub azimuth_deg: f64,
    /// Above the horizon, in degrees, as it looks through the air.
    pub elevation_deg: f64,
}

impl SunPosition {
    /// At so many seconds after 1970-01-01T00:00:00Z.
    ///
    /// ```
    /// use voxatlas::geo::{LonLat, SunPosition};
    ///
    /// // Noon at Tokyo Tower on midsummer's day: 2026-06-21T11:44:00+09:00.
    /// let tower = LonLat::new(139.7454, 35.6586)?;
    /// let sun = SunPosition::at(tower, 1_782_009_840.0);
    /// assert!((sun.elevation_deg - 77.8).abs() < 0.1);
    /// # Ok::<(), voxatlas::geo::GeoError>(())
    /// ```
    pub fn at(place: LonLat, unix_secs: f64) -> Self {
        let centuries = (unix_secs / 86_400.0 + 2_440_587.5 - 2_451_545.0) / 36_525.0;
        let Ephemeris { declination_rad, equation_of_time_minutes } = Ephemeris::at(centuries);
        let minutes_of_day = unix_secs.rem_euclid(86_400.0) / 60.0;
        let solar_minutes = minutes_of_day + equation_of_time_minutes + 4.0 * place.lon_deg();
        let hour_angle_rad = (solar_minutes / 4.0 - 180.0).to_radians();

        let lat_rad = place.lat_deg().to_radians();
        let (sin_lat, cos_lat) = (libm::sin(lat_rad), libm::cos(lat_rad));
        let (sin_declination, cos_declination) = (libm::sin(declination_rad), libm::cos(declination_rad));
        let (sin_hour, cos_hour) = (libm::sin(hour_angle_rad), libm::cos(hour_angle_rad));
        let east = -cos_declination * sin_hour;
        let north = sin_declination * cos_lat - cos_declination * cos_hour * sin_lat;
        let up = sin_lat * sin_declination + cos_lat * cos_declination * cos_hour;
        let true_elevation_deg = libm::asin(up.clamp(-1.0, 1.0)).to_degrees();
        Self {
            azimuth_deg: libm::atan2(east, north).to_degrees().rem_euclid(360.0),
            elevation_deg: true_elevation_deg + refraction_deg(true_elevation_deg),
        }
    }

    /// The direction to it, of unit length: +x east, +y up, +z south.
    pub fn direction(self) -> DVec3 {
        let (azimuth_rad, elevation_rad) = (self.azimuth_deg.to_radians(), self.elevation_deg.to_radians());
        let along = libm::cos(elevation_rad);
        DVec3::new(along * libm::sin(azimuth_rad), libm::sin(elevation_rad), -along * libm::cos(azimuth_rad))
    }
}

/// What the sun does at a moment, the same for all places.
struct Ephemeris {
    declination_rad: f64,
    equation_of_time_minutes: f64,
}

impl Ephemeris {
    /// At so many Julian centuries after J2000.
    fn at(t: f64) -> Self {
        let mean_longitude_rad = (280.466_46 + t * (36_000.769_83 + t * 0.000_303_2)).rem_euclid(360.0).to_radians();
        let mean_anomaly_rad = (357.529_11 + t * (35_999.050_29 - t * 0.000_153_7)).rem_euclid(360.0).to_radians();
        let eccentricity = 0.016_708_634 - t * (0.000_042_037 + t * 0.000_000_126_7);
        let centre_deg = libm::sin(mean_anomaly_rad) * (1.914_602 - t * (0.004_817 + t * 0.000_014))
            + libm::sin(2.0 * mean_anomaly_rad) * (0.019_993 - t * 0.000_101)
            + libm::sin(3.0 * mean_anomaly_rad) * 0.000_289;
        let node_rad = (125.04 - 1_934.136 * t).to_radians();
        let apparent_longitude_rad =
            (mean_longitude_rad.to_degrees() + centre_deg - 0.005_69 - 0.004_78 * libm::sin(node_rad)).to_radians();
        let mean_obliquity_deg = 23.0 + (26.0 + (21.448 - t * (46.815 + t * (0.000_59 - t * 0.001_813))) / 60.0) / 60.0;
        let obliquity_rad = (mean_obliquity_deg + 0.002_56 * libm::cos(node_rad)).to_radians();

        let y = libm::pow(libm::tan(obliquity_rad / 2.0), 2.0);
        let equation_of_time_rad = y * libm::sin(2.0 * mean_longitude_rad)
            - 2.0 * eccentricity * libm::sin(mean_anomaly_rad)
            + 4.0 * eccentricity * y * libm::sin(mean_anomaly_rad) * libm::cos(2.0 * mean_longitude_rad)
            - 0.5 * y * y * libm::sin(4.0 * mean_longitude_rad)
            - 1.25 * eccentricity * eccentricity * libm::sin(2.0 * mean_anomaly_rad);
        Self {
            declination_rad: libm::asin(libm::sin(obliquity_rad) * libm::sin(apparent_longitude_rad)),
            equation_of_time_minutes: 4.0 * equation_of_time_rad.to_degrees(),
        }
    }
}

/// How much higher the sun looks than it stands, in degrees.
fn refraction_deg(elevation_deg: f64) -> f64 {
    let tan = libm::tan(elevation_deg.to_radians());
    let seconds = if elevation_deg > 85.0 {
        0.0
    } else if elevation_deg > 5.0 {
        58.1 / tan - 0.07 / libm::pow(tan, 3.0) + 0.000_086 / libm::pow(tan, 5.0)
    } else if elevation_deg > -0.575 {
        let e = elevation_deg;
        1735.0 + e * (-518.2 + e * (103.4 + e * (-12.79 + e * 0.711)))
    } else {
        -20.774 / tan
    };
    seconds / 3600.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lon: f64, lat: f64, unix_secs: f64, azimuth_deg: f64, elevation_deg: f64, tolerance_deg: f64) {
        let found = SunPosition::at(LonLat::new(lon, lat).unwrap(), unix_secs);
        assert!((found.azimuth_deg - azimuth_deg).abs() < tolerance_deg, "{found:?}, expected {azimuth_deg}");
        assert!((found.elevation_deg - elevation_deg).abs() < tolerance_deg, "{found:?}, expected {elevation_deg}");
    }

    #[test]
    fn the_worked_example_of_nrel() {
        // Reda and Andreas, Solar Position Algorithm, table A5.1: 2003-10-17T12:30:30-07:00.
        check(-105.1786, 39.742_476, 1_066_419_030.0, 194.340_24, 90.0 - 50.111_62, 0.02);
    }

    #[test]
    fn the_sun_is_overhead_where_it_must_be() {
        // The March equinox of 2024 was on the 20th at 03:06 UTC; at 12:07 UTC the sun crosses the meridian of Greenwich.
        let found = SunPosition::at(LonLat::new(0.0, 0.0).unwrap(), 1_710_936_450.0);
        assert!(found.elevation_deg > 89.7, "{found:?}");
        // The June solstice of 2024, noon on the tropic of Cancer at 0 degrees: 12:01:50 UTC on the 20th.
        let found = SunPosition::at(LonLat::new(0.0, 23.436).unwrap(), 1_718_884_910.0);
        assert!(found.elevation_deg > 89.9, "{found:?}");
    }

    #[test]
    fn it_sets_in_tokyo_when_the_almanac_says() {
        // National Astronomical Observatory of Japan: sunset on 2024-06-21 in Tokyo is 19:00, sunrise 4:25 (JST); the
        // upper rim stands on the horizon then, the centre a quarter of a degree below.
        for (unix_secs, azimuth_deg) in [(1_718_964_000.0, 299.9), (1_718_911_500.0, 60.1)] {
            check(139.7414, 35.6581, unix_secs, azimuth_deg, -0.27, 0.35);
        }
    }

    #[test]
    fn directions_have_unit_length_and_the_worlds_axes() {
        for (azimuth_deg, elevation_deg, expected) in
            [(0.0, 0.0, DVec3::NEG_Z), (90.0, 0.0, DVec3::X), (180.0, 0.0, DVec3::Z), (10.0, 90.0, DVec3::Y)]
        {
            let found = SunPosition { azimuth_deg, elevation_deg }.direction();
            assert!(found.abs_diff_eq(expected, 1e-12), "{azimuth_deg} {elevation_deg}: {found}");
        }
    }
}
