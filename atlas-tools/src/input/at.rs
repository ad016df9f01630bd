//! Where a model stands that knows no place of its own.
//!
//! Owns [`At`], what `--at` and its kin say, and the step from a model's own axes to the world. Bearings turn clockwise
//! from north, as compasses do; models of voxels turn by quarters only, since a voxel has no other way to stand. It does
//! not know any format.
//!
//! ```text
//!            north                    y-up        z-up
//!              |                east    x           x
//!              |                up      y           z
//!   west ------+------ east     south   z          -y
//! ```

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use voxatlas::geo::LonLat;
use voxatlas::geo::mercator::metres_per_voxel_at;

use super::{FeatureId, Named, Place, ReadOptions};

/// Where the origin of a model stands, and how it is turned and scaled.
///
/// ```
/// use atlas_tools::input::At;
///
/// let at: At = "139.745433,35.658581,18.5".parse()?;
/// let place = at.with_bearing_deg(90.0)?.frame().place([0.0, 1.0, -10.0]);
/// // Ten metres to the model's north, which looks east: 10.3 voxels of the world.
/// assert!((place.x - (29_802_434.5 + 10.3)).abs() < 0.6 && place.height_m == 19.5);
/// # Ok::<(), atlas_tools::input::AtError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawAt", into = "RawAt")]
pub struct At {
    place: LonLat,
    height_m: f64,
    bearing_deg: f64,
    scale: f64,
}

/// Why a model cannot stand there.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum AtError {
    /// The text is not of the form that is expected.
    #[error("\"{text}\" is no place: expected LON,LAT or LON,LAT,HEIGHT_M, such as 139.7454,35.6586,18.5")]
    Malformed {
        /// What was given.
        text: String,
    },
    /// The place lies nowhere on the globe.
    #[error("{0}; expected LON,LAT, in this order")]
    OffGlobe(#[from] voxatlas::geo::GeoError),
    /// A figure is no finite number.
    #[error("the {what} {value} is no number that can be used: expected {expected}")]
    BadFigure {
        /// Which figure.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
}

impl At {
    /// A model that faces north, one of its units a metre.
    ///
    /// # Errors
    ///
    /// The place lies nowhere on the globe, or the height is no finite number.
    pub fn new(lon_deg: f64, lat_deg: f64, height_m: f64) -> Result<Self, AtError> {
        let place = LonLat::new(lon_deg, lat_deg)?;
        let height_m = finite("height", height_m)?;
        Ok(Self { place, height_m, bearing_deg: 0.0, scale: 1.0 })
    }

    /// Turns the model clockwise: its north looks towards this bearing.
    ///
    /// # Errors
    ///
    /// It is no finite number.
    pub fn with_bearing_deg(self, bearing_deg: f64) -> Result<Self, AtError> {
        Ok(Self { bearing_deg: finite("bearing", bearing_deg)?, ..self })
    }

    /// Makes one of the model's units this many metres.
    ///
    /// # Errors
    ///
    /// It is no finite number above zero.
    pub fn with_scale(self, scale: f64) -> Result<Self, AtError> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(AtError::BadFigure { what: "scale", value: scale, expected: "metres a unit, above zero" });
        }
        Ok(Self { scale, ..self })
    }

    /// The bearing of the model's north, in degrees.
    pub fn bearing_deg(&self) -> f64 {
        self.bearing_deg
    }

    /// The model's axes in the world.
    pub fn frame(&self) -> AtFrame {
        let [x, z] = self.place.to_world();
        let voxel_m = metres_per_voxel_at(z);
        let [cos, sin] = turn(self.bearing_deg);
        AtFrame {
            origin: Place { x, z, height_m: self.height_m },
            cos,
            sin,
            unit_m: self.scale,
            unit_voxels: self.scale / voxel_m,
        }
    }

    /// Quarters of a turn clockwise, 0..4; `None` where the bearing is no whole number of them.
    pub fn quarters(&self) -> Option<u32> {
        let quarters = self.bearing_deg / 90.0;
        (quarters == libm::round(quarters)).then(|| quarters.rem_euclid(4.0) as u32)
    }
}

/// The cosine and sine of a bearing, exact for quarters.
fn turn(bearing_deg: f64) -> [f64; 2] {
    match bearing_deg.rem_euclid(360.0) {
        0.0 => [1.0, 0.0],
        90.0 => [0.0, 1.0],
        180.0 => [-1.0, 0.0],
        270.0 => [0.0, -1.0],
        bearing_deg => {
            let bearing_rad = bearing_deg.to_radians();
            [libm::cos(bearing_rad), libm::sin(bearing_rad)]
        }
    }
}

fn finite(what: &'static str, value: f64) -> Result<f64, AtError> {
    let expected = "a finite one";
    if value.is_finite() { Ok(value) } else { Err(AtError::BadFigure { what, value, expected }) }
}

impl FromStr for At {
    type Err = AtError;

    fn from_str(text: &str) -> Result<Self, AtError> {
        let malformed = || AtError::Malformed { text: text.to_owned() };
        let figures: Result<Vec<f64>, _> = text.split(',').map(|figure| figure.trim().parse::<f64>()).collect();
        match figures.map_err(|_| malformed())?[..] {
            [lon_deg, lat_deg] => Self::new(lon_deg, lat_deg, 0.0),
            [lon_deg, lat_deg, height_m] => Self::new(lon_deg, lat_deg, height_m),
            _ => Err(malformed()),
        }
    }
}

/// How a plan writes it.
#[derive(Serialize, Deserialize)]
struct RawAt {
    lon_deg: f64,
    lat_deg: f64,
    height_m: f64,
    bearing_deg: f64,
    scale: f64,
}

impl TryFrom<RawAt> for At {
    type Error = AtError;

    fn try_from(raw: RawAt) -> Result<Self, AtError> {
        Self::new(raw.lon_deg, raw.lat_deg, raw.height_m)?.with_bearing_deg(raw.bearing_deg)?.with_scale(raw.scale)
    }
}

impl From<At> for RawAt {
    fn from(at: At) -> Self {
        let (lon_deg, lat_deg) = (at.place.lon_deg(), at.place.lat_deg());
        Self { lon_deg, lat_deg, height_m: at.height_m, bearing_deg: at.bearing_deg, scale: at.scale }
    }
}

/// A model's axes in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtFrame {
    /// Where the model's origin stands.
    pub origin: Place,
    cos: f64,
    sin: f64,
    unit_m: f64,
    /// One of the model's units, in z17 voxels of the world.
    pub unit_voxels: f64,
}

impl AtFrame {
    /// The place of a point of the model: to its east, up, and to its south, in its own units.
    pub fn place(&self, [east, up, south]: [f64; 3]) -> Place {
        Place {
            x: self.origin.x + (east * self.cos - south * self.sin) * self.unit_voxels,
            z: self.origin.z + (east * self.sin + south * self.cos) * self.unit_voxels,
            height_m: self.origin.height_m + up * self.unit_m,
        }
    }
}

/// Which axis of a model points up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Up {
    /// y, and z to the south.
    #[default]
    Y,
    /// z, and y to the north.
    Z,
}

impl Up {
    /// A point of a model as east, up, south.
    pub fn turned(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Y => [x, y, z],
            Self::Z => [x, z, -y],
        }
    }
}

impl FromStr for Up {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "y" | "Y" => Ok(Self::Y),
            "z" | "Z" => Ok(Self::Z),
            _ => Err(format!("\"{text}\" is no axis that can point up: expected y or z")),
        }
    }
}

/// A voxel of a model, x east, y up, z south, turned clockwise by quarters about the edge at which x and z are 0.
pub(super) fn turned_voxel([x, y, z]: [i32; 3], quarters: u32) -> [i32; 3] {
    // The voxel that begins at x ends at x + 1: mirrored, it begins at -x - 1.
    match quarters % 4 {
        1 => [!z, y, x],
        2 => [!x, y, !z],
        3 => [z, y, !x],
        _ => [x, y, z],
    }
}

/// The name of a part of a model, also as an attribute where these are wanted: a model has no others.
pub(super) fn named(id: FeatureId, name: String, read: &ReadOptions) -> Named {
    let attribute = || ("name".to_owned(), name.as_str().into());
    let attributes = if read.with_attributes && !name.is_empty() { vec![attribute()] } else { Vec::new() };
    Named { id, name, attributes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> At {
        text.parse().unwrap()
    }

    #[test]
    fn places_are_read_and_refused_by_value() {
        assert_eq!(at("4.36, 52.01"), At::new(4.36, 52.01, 0.0).unwrap());
        assert_eq!(at("4.36,52.01,-3").frame().origin.height_m, -3.0);
        for text in ["", "1", "1,2,3,4", "a,b", "1;2"] {
            let error = text.parse::<At>().unwrap_err().to_string();
            assert!(error.contains("expected LON,LAT"), "{error}");
        }
        let swapped = "35.66,139.75".parse::<At>().unwrap_err().to_string();
        assert!(swapped.contains("latitude 139.75") && swapped.contains("in this order"), "{swapped}");
        assert!("1,2,inf".parse::<At>().is_err());
        assert!(at("1,2").with_scale(0.0).is_err() && at("1,2").with_bearing_deg(f64::NAN).is_err());
    }

    #[test]
    fn axes_and_bearings() {
        // On the equator a voxel is 1.194 m.
        let voxel_m = metres_per_voxel_at(f64::from(1 << 24));
        let step = |bearing_deg: f64, point: [f64; 3]| {
            let frame = at("0,0").with_bearing_deg(bearing_deg).unwrap().with_scale(2.0).unwrap().frame();
            let place = frame.place(point);
            [place.x - frame.origin.x, place.height_m, place.z - frame.origin.z]
        };
        let near = |a: [f64; 3], b: [f64; 3]| (0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-6);
        let north = [0.0, 3.0, -voxel_m];
        assert!(near(step(0.0, north), [0.0, 6.0, -2.0]));
        assert!(near(step(90.0, north), [2.0, 6.0, 0.0]), "{:?}", step(90.0, north));
        assert!(near(step(-180.0, north), [0.0, 6.0, 2.0]));
        let half = 2.0 * std::f64::consts::FRAC_1_SQRT_2;
        assert!(near(step(405.0, north), [half, 6.0, -half]));
        assert_eq!(Up::Z.turned([1.0, 2.0, 3.0]), [1.0, 3.0, -2.0]);
        assert!("x".parse::<Up>().is_err());
    }

    #[test]
    fn voxels_turn_as_places_do() {
        for (bearing_deg, quarters) in [(0.0, 0), (90.0, 1), (180.0, 2), (-90.0, 3), (720.0, 0)] {
            let at = at("0,0").with_bearing_deg(bearing_deg).unwrap();
            assert_eq!(at.quarters(), Some(quarters));
            let frame = at.frame();
            let voxel = [3, -2, 7];
            let middle = frame.place(voxel.map(|c| f64::from(c) + 0.5));
            let turned = turned_voxel(voxel, quarters).map(f64::from);
            let expected = [turned[0] + 0.5, turned[2] + 0.5];
            let found = [middle.x - frame.origin.x, middle.z - frame.origin.z].map(|c| c / frame.unit_voxels);
            assert!((0..2).all(|axis| (found[axis] - expected[axis]).abs() < 1e-6), "{bearing_deg}");
        }
        assert_eq!(at("0,0").with_bearing_deg(45.0).unwrap().quarters(), None);
    }

    #[test]
    fn plans_keep_it() {
        let at = at("139.7,35.6,12").with_bearing_deg(30.0).unwrap().with_scale(0.0254).unwrap();
        let json = serde_json::to_string(&at).unwrap();
        assert_eq!(serde_json::from_str::<At>(&json).unwrap(), at);
        assert!(serde_json::from_str::<At>(&json.replace("139.7", "339.7")).is_err());
    }
}
