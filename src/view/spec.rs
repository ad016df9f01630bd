//! A pose as people write it: `--view LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG`.

use std::ops::RangeInclusive;

use glam::DVec3;
use thiserror::Error;

use super::Pose;
use crate::geo::{GeoError, LonLat, mercator};

/// Where a camera stands and where it looks, in degrees and metres.
///
/// ```
/// use voxatlas::view::ViewSpec;
///
/// // From 300 m above the datum, to the north-west, a little downwards.
/// let spec: ViewSpec = "139.749,35.655,300,315,-15".parse()?;
/// assert_eq!(spec.pose().yaw_rad.to_degrees(), 45.0);
/// assert_eq!(spec.to_string(), "139.749,35.655,300,315,-15");
///
/// let error = "139.749,35.655,300,315,-95".parse::<ViewSpec>().unwrap_err();
/// assert_eq!(error.to_string(), "PITCH_DEG -95 is out of range: expected -90..=90");
/// # Ok::<(), voxatlas::view::ViewSpecError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewSpec {
    place: LonLat,
    height_m: f64,
    bearing_deg: f64,
    pitch_deg: f64,
}

impl ViewSpec {
    /// Heights that a camera may have, in metres above the tileset's datum.
    pub const HEIGHT_M: RangeInclusive<f64> = -12_000.0..=1_000_000.0;

    /// Bearings that are read, in degrees; they are kept in 0..360.
    pub const BEARING_DEG: RangeInclusive<f64> = -360.0..=360.0;

    /// Pitches, in degrees: -90 looks straight down.
    pub const PITCH_DEG: RangeInclusive<f64> = -90.0..=90.0;

    /// Checks and makes a view: height above the tileset's datum in metres, bearing clockwise from north and pitch
    /// (negative downwards) in degrees.
    ///
    /// # Errors
    ///
    /// A value is outside its range, or not a number.
    pub fn new(place: LonLat, height_m: f64, bearing_deg: f64, pitch_deg: f64) -> Result<Self, ViewSpecError> {
        check("HEIGHT_M", height_m, Self::HEIGHT_M)?;
        check("BEARING_DEG", bearing_deg, Self::BEARING_DEG)?;
        check("PITCH_DEG", pitch_deg, Self::PITCH_DEG)?;
        Ok(Self { place, height_m, bearing_deg: wrap_deg(bearing_deg), pitch_deg })
    }

    /// The view of a pose. What a pose can hold and a view cannot (heights and pitches out of range) is clamped.
    pub fn of(pose: &Pose) -> Self {
        let eye = pose.eye_in_world;
        let clamp = |value: f64, range: RangeInclusive<f64>| {
            if value.is_nan() { 0.0 } else { value.clamp(*range.start(), *range.end()) }
        };
        Self {
            place: LonLat::from_world(eye.x, eye.z),
            height_m: clamp(mercator::height_m_from_y(eye.y, eye.z), Self::HEIGHT_M),
            bearing_deg: wrap_deg(-pose.yaw_rad.to_degrees()),
            pitch_deg: clamp(pose.pitch_rad.to_degrees(), Self::PITCH_DEG),
        }
    }

    /// The pose of the view: yaw is the negative bearing, heights become voxels by the scale of the tile row.
    pub fn pose(&self) -> Pose {
        let [x, z] = self.place.to_world();
        let yaw_deg = if self.bearing_deg > 180.0 { 360.0 - self.bearing_deg } else { -self.bearing_deg };
        Pose {
            eye_in_world: DVec3::new(x, mercator::y_from_height_m(self.height_m, z), z),
            yaw_rad: yaw_deg.to_radians(),
            pitch_rad: self.pitch_deg.to_radians(),
        }
    }

    /// Where the camera stands.
    pub fn place(&self) -> LonLat {
        self.place
    }

    /// Height above the tileset's datum, in metres.
    pub fn height_m(&self) -> f64 {
        self.height_m
    }

    /// Clockwise from north, in degrees, 0..360.
    pub fn bearing_deg(&self) -> f64 {
        self.bearing_deg
    }

    /// Negative downwards, in degrees, -90..=90.
    pub fn pitch_deg(&self) -> f64 {
        self.pitch_deg
    }
}

impl std::fmt::Display for ViewSpec {
    /// As it is read, to the last bit.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lon_deg, lat_deg) = (self.place.lon_deg(), self.place.lat_deg());
        write!(f, "{lon_deg},{lat_deg},{},{},{}", self.height_m, self.bearing_deg, self.pitch_deg)
    }
}

impl std::str::FromStr for ViewSpec {
    type Err = ViewSpecError;

    fn from_str(text: &str) -> Result<Self, ViewSpecError> {
        const NAMES: [&str; 5] = ["LON", "LAT", "HEIGHT_M", "BEARING_DEG", "PITCH_DEG"];
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() != NAMES.len() {
            return Err(ViewSpecError::FieldCount { text: text.to_owned(), n_found: parts.len() });
        }
        let mut values = [0.0; NAMES.len()];
        for ((value, field), part) in values.iter_mut().zip(NAMES).zip(parts) {
            *value = part.parse().map_err(|_| ViewSpecError::NotANumber { field, text: part.to_owned() })?;
        }
        let [lon_deg, lat_deg, height_m, bearing_deg, pitch_deg] = values;
        Self::new(LonLat::new(lon_deg, lat_deg)?, height_m, bearing_deg, pitch_deg)
    }
}

/// A text or a value that names no view.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ViewSpecError {
    /// Not five values.
    #[error(
        "\"{text}\" has {n_found} of the 5 values of a view: expected LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG, \
         such as 139.749,35.655,300,315,-15"
    )]
    FieldCount {
        /// What was given.
        text: String,
        /// How many values it has.
        n_found: usize,
    },
    /// A value is no number.
    #[error("{field} \"{text}\" is not a number")]
    NotANumber {
        /// Which.
        field: &'static str,
        /// What was given.
        text: String,
    },
    /// A value is outside its range.
    #[error("{field} {value} is out of range: expected {min}..={max}")]
    OutOfRange {
        /// Which.
        field: &'static str,
        /// What was given.
        value: f64,
        /// The least that is taken.
        min: f64,
        /// The most that is taken.
        max: f64,
    },
    /// The longitude or the latitude is off the globe.
    #[error(transparent)]
    Place(#[from] GeoError),
}

fn check(field: &'static str, value: f64, range: RangeInclusive<f64>) -> Result<(), ViewSpecError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ViewSpecError::OutOfRange { field, value, min: *range.start(), max: *range.end() })
}

/// Degrees brought into 0..360; what is not finite becomes 0.
fn wrap_deg(deg: f64) -> f64 {
    let wrapped = deg.rem_euclid(360.0);
    // A tiny negative angle rounds up to the whole turn. Adding 0 makes -0 a plain 0.
    if wrapped < 360.0 { wrapped + 0.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_names_no_view_is_refused_by_field() {
        for (text, expected) in [
            (
                "1,2,3",
                "\"1,2,3\" has 3 of the 5 values of a view: expected LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG, such as \
                 139.749,35.655,300,315,-15",
            ),
            ("1,2,3,north,5", "BEARING_DEG \"north\" is not a number"),
            ("1,2,,4,5", "HEIGHT_M \"\" is not a number"),
            ("190,2,3,4,5", "longitude 190 is out of range: expected -180..=180 degrees"),
            ("139,-91,3,4,5", "latitude -91 is out of range: expected -90..=90 degrees"),
            ("1,2,2000000,4,5", "HEIGHT_M 2000000 is out of range: expected -12000..=1000000"),
            ("1,2,nan,4,5", "HEIGHT_M NaN is out of range: expected -12000..=1000000"),
            ("1,2,3,400,5", "BEARING_DEG 400 is out of range: expected -360..=360"),
            ("1,2,3,4,90.5", "PITCH_DEG 90.5 is out of range: expected -90..=90"),
        ] {
            assert_eq!(text.parse::<ViewSpec>().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn bearings_turn_clockwise_from_north() {
        for (bearing, forward) in [
            ("0", DVec3::NEG_Z),
            ("360", DVec3::NEG_Z),
            ("90", DVec3::X),
            ("180", DVec3::Z),
            ("-90", DVec3::NEG_X),
            ("270", DVec3::NEG_X),
        ] {
            let spec: ViewSpec = format!("-122.41,37.77,100,{bearing},0").parse().unwrap();
            assert!(spec.pose().forward().abs_diff_eq(forward, 1e-12), "{bearing}");
        }
        let down: ViewSpec = " -0.12, 51.5, 800, 0, -90 ".parse().unwrap();
        assert!(down.pose().forward().abs_diff_eq(DVec3::NEG_Y, 1e-12));
    }

    #[test]
    fn the_height_is_in_true_metres() {
        let spec: ViewSpec = "139.745433,35.658581,333,0,0".parse().unwrap();
        assert!((spec.pose().eye_in_world.y - 343.16).abs() < 0.01);
    }

    #[test]
    fn any_pose_has_a_view_that_reads_back() {
        for eye in [DVec3::NAN, DVec3::splat(f64::INFINITY), DVec3::splat(-1e300), DVec3::new(-5.0, 1e9, 1e9)] {
            for angle in [f64::NAN, f64::NEG_INFINITY, -1e-300, 1e300] {
                let spec = ViewSpec::of(&Pose { eye_in_world: eye, yaw_rad: angle, pitch_rad: angle });
                assert_eq!(spec.to_string().parse(), Ok(spec), "{eye} {angle}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_view_survives_its_pose_and_its_text(
            lon in -180.0..180.0, lat in -85.0..85.0, height in ViewSpec::HEIGHT_M, bearing in ViewSpec::BEARING_DEG,
            pitch in ViewSpec::PITCH_DEG,
        ) {
            let spec = ViewSpec::new(LonLat::new(lon, lat).unwrap(), height, bearing, pitch).unwrap();
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
            let back = ViewSpec::of(&spec.pose());
            prop_assert!((back.place().lon_deg() - lon).abs() < 1e-9 && (back.place().lat_deg() - lat).abs() < 1e-9);
            prop_assert!((back.height_m() - height).abs() < 1e-6);
            let turn = (back.bearing_deg() - spec.bearing_deg()).abs();
            prop_assert!(turn.min(360.0 - turn) < 1e-9);
            prop_assert!((back.pitch_deg() - pitch).abs() < 1e-9);
        }
    }
}
