//! What can be wrong with a place.

use thiserror::Error;

use super::TileCoord;

/// A coordinate that names no place.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GeoError {
    /// The zoom lies above the deepest one that is addressable.
    #[error("zoom {zoom} is out of range: expected 0..={max}", max = TileCoord::ZOOM_MAX)]
    ZoomOutOfRange {
        /// What was asked for.
        zoom: u8,
    },
    /// The column or row lies outside the zoom's tile matrix.
    #[error("tile {zoom}/{x}/{y} is out of range: at zoom {zoom} x and y are below {n}", n = 1u64 << zoom)]
    TileOutOfRange {
        /// The zoom.
        zoom: u8,
        /// The column.
        x: u32,
        /// The row.
        y: u32,
    },
    /// The text is not `z/x/y`.
    #[error("\"{text}\" is no tile: expected z/x/y, such as 17/116415/51623")]
    TileSyntax {
        /// What was given.
        text: String,
    },
    /// The longitude is not a number, or lies outside the globe.
    #[error("longitude {lon_deg} is out of range: expected -180..=180 degrees")]
    LonOutOfRange {
        /// What was given, in degrees.
        lon_deg: f64,
    },
    /// The latitude is not a number, or lies outside the globe.
    #[error("latitude {lat_deg} is out of range: expected -90..=90 degrees")]
    LatOutOfRange {
        /// What was given, in degrees.
        lat_deg: f64,
    },
    /// The box's southern edge lies north of its northern edge.
    #[error("south {south_deg} lies north of north {north_deg}: a box is west,south,east,north")]
    BboxUpsideDown {
        /// The southern edge, in degrees.
        south_deg: f64,
        /// The northern edge, in degrees.
        north_deg: f64,
    },
    /// The text is not `W,S,E,N`.
    #[error("\"{text}\" is no box: expected west,south,east,north in degrees, such as 139.74,35.65,139.75,35.66")]
    BboxSyntax {
        /// What was given.
        text: String,
    },
}
