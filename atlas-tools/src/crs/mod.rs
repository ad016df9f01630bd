//! Where things are: from the coordinates of a file to places in the world.
//!
//! Owns what `--crs`, `--axis`, `--vertical-from` and `--geoid` say, and [`Placer`], which every format hands its
//! coordinates to. Receives the CRS that a file names, in any of the usual ways of writing it (a code, a URN, a URL,
//! WKT, a PROJ string, PROJJSON), and yields world x and z with metres of height. It never guesses silently: a file
//! without a CRS is an error, and [`guess()`] only says what the numbers look like.
//!
//! ```text
//!   text --reference--> code, PROJ string, WKT --definition--> projection, axes, units --placer--> Place
//! ```

mod definition;
mod geoid;
mod guess;
mod known;
mod placer;
mod reference;
mod registry;
mod wkt;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::input::InputError;

pub use guess::{guess, guess_again};
pub use placer::Placer;

/// Metres in an international foot.
pub const FOOT_M: f64 = 0.3048;

/// Metres in a foot of the US survey.
pub const US_FOOT_M: f64 = 1200.0 / 3937.0;

/// What the command line says of the coordinates of its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrsOptions {
    /// The CRS of every input, whatever the files say.
    pub crs: Option<String>,
    /// The order of the axes.
    pub axis: Axis,
    /// What heights are measured from; `None`: what the CRS says.
    pub vertical_from: Option<Vertical>,
    /// The geoid for ellipsoidal heights: `jp2011`, `jp2024`, or a file in the format GTX or that of GSI's ASCII grids.
    pub geoid: Option<String>,
}

/// The order of the first two coordinates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// As the format and the CRS have it.
    #[default]
    Auto,
    /// Easting or longitude comes first.
    Xy,
    /// Northing or latitude comes first.
    Yx,
}

/// What heights are measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Vertical {
    /// The ellipsoid: a geoid is taken away.
    Ellipsoid,
    /// The tileset's own datum: heights stay as they are, whatever the CRS says.
    AsIs,
}

/// The order of axes that a format keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisRule {
    /// The order of the CRS's own definition: GML. EPSG:6697 is latitude, longitude; EPSG:6677 northing, easting.
    Official,
    /// Easting or longitude first whatever the definition says: every other format.
    Traditional,
}

impl CrsOptions {
    /// A placer for a file that says `of_file` (or nothing), in a format that fixes `of_format` (or nothing) and orders
    /// axes by `rule`. `--crs` wins over the file, and the file over its format.
    ///
    /// A geoid is loaded anew for each placer: make one a file, not one a feature.
    ///
    /// # Errors
    ///
    /// Nothing names a CRS; the CRS is unknown or unsupported; the geoid is missing or cannot be read.
    pub fn placer(&self, rule: AxisRule, of_file: Option<&str>, of_format: Option<&str>) -> Result<Placer, CrsError> {
        let given = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let text = given(self.crs.as_deref())
            .or_else(|| given(of_file))
            .or_else(|| given(of_format))
            .ok_or(CrsError::Missing)?;
        let definition = definition::Definition::of(&reference::parse(&text)?)?;
        placer::Placer::new(definition, self, rule)
    }
}

/// Why coordinates cannot be placed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrsError {
    /// Neither the file nor its format nor the command line names a CRS.
    #[error("no CRS: the file names none, and its format fixes none: expected --crs, such as --crs EPSG:6677")]
    Missing,
    /// The text names no CRS.
    #[error(
        "\"{text}\" is no known CRS: expected EPSG:code, EPSG:code+code, OGC:CRS84, an OGC URN or URL, a PROJ string or WKT"
    )]
    Unknown {
        /// What was found, shortened.
        text: String,
    },
    /// The CRS is known, but cannot be used.
    #[error("the CRS {crs} cannot be used: {why}")]
    Unsupported {
        /// The CRS.
        crs: String,
        /// Why, and what to do.
        why: String,
    },
    /// A coordinate is no finite number.
    #[error("the coordinates ({}, {}, {}) are not finite numbers", coordinates[0], coordinates[1], coordinates[2])]
    NotFinite {
        /// As the file has them.
        coordinates: [f64; 3],
    },
    /// The coordinates lie nowhere on the globe.
    #[error(
        "the coordinates ({}, {}) lie nowhere on the globe in {crs}: is that its CRS (--crs), and the order of its axes (--axis)?",
        coordinates[0], coordinates[1]
    )]
    OffGlobe {
        /// As the file has them.
        coordinates: [f64; 3],
        /// The CRS.
        crs: String,
    },
    /// The coordinates lie far from where the CRS is used.
    #[error(
        "the coordinates ({}, {}) in {crs} would be {lon_deg:.5} E, {lat_deg:.5} N, far from where it is used: is that its CRS (--crs), and the order of its axes (--axis)?",
        coordinates[0], coordinates[1]
    )]
    OutsideArea {
        /// As the file has them.
        coordinates: [f64; 3],
        /// The CRS.
        crs: String,
        /// Where they would lie.
        lon_deg: f64,
        /// Where they would lie.
        lat_deg: f64,
    },
    /// The CRS has no coordinates at a place.
    #[error("{lon_deg:.5} E, {lat_deg:.5} N has no coordinates in {crs}: is that its CRS (--crs)?")]
    NoCoordinates {
        /// The place.
        lon_deg: f64,
        /// The place.
        lat_deg: f64,
        /// The CRS.
        crs: String,
    },
    /// Heights are ellipsoidal, and no geoid was named.
    #[error("--vertical-from ellipsoid needs --geoid: jp2011, jp2024, or a GTX or GSI ASCII file")]
    NoGeoid,
    /// The geoid cannot be used.
    #[error("geoid {name}: {why}")]
    BadGeoid {
        /// Its name or file.
        name: String,
        /// What was found and what was expected.
        why: String,
    },
    /// The geoid is not known at a place.
    #[error("the geoid {name} has no value at {lon_deg:.5} E, {lat_deg:.5} N: take one that covers the data (--geoid)")]
    OutsideGeoid {
        /// Its name or file.
        name: String,
        /// The place.
        lon_deg: f64,
        /// The place.
        lat_deg: f64,
    },
}

impl CrsError {
    /// The error as that of a file.
    pub fn in_file(&self, path: &Path) -> InputError {
        InputError::Malformed { path: path.to_owned(), what: self.to_string() }
    }
}

#[cfg(test)]
#[path = "crs_tests.rs"]
mod tests;
