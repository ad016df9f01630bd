//! Tile addresses and region keys, valid by construction.

use thiserror::Error;

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
}

/// An XYZ tile address: y grows to the south.
///
/// ```
/// use voxatlas::geo::TileCoord;
///
/// let tower = TileCoord::new(17, 116_415, 51_623)?;
/// assert_eq!(tower.to_string(), "17/116415/51623");
/// assert_eq!("17/116415/51623".parse(), Ok(tower));
/// assert!(TileCoord::new(1, 2, 0).is_err());
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileCoord {
    zoom: u8,
    x: u32,
    y: u32,
}

impl TileCoord {
    /// The deepest addressable zoom.
    pub const ZOOM_MAX: u8 = 30;

    /// Checks and makes an address.
    ///
    /// # Errors
    ///
    /// The zoom is above [`TileCoord::ZOOM_MAX`], or x or y is not below 2^zoom.
    pub fn new(zoom: u8, x: u32, y: u32) -> Result<Self, GeoError> {
        if zoom > Self::ZOOM_MAX {
            return Err(GeoError::ZoomOutOfRange { zoom });
        }
        if x >> zoom != 0 || y >> zoom != 0 {
            return Err(GeoError::TileOutOfRange { zoom, x, y });
        }
        Ok(Self { zoom, x, y })
    }

    /// The zoom, 0..=30.
    pub fn zoom(self) -> u8 {
        self.zoom
    }

    /// The column, eastwards from the antimeridian.
    pub fn x(self) -> u32 {
        self.x
    }

    /// The row, southwards from 85.0511 degrees north.
    pub fn y(self) -> u32 {
        self.y
    }
}

impl std::fmt::Display for TileCoord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.zoom, self.x, self.y)
    }
}

impl std::str::FromStr for TileCoord {
    type Err = GeoError;

    fn from_str(text: &str) -> Result<Self, GeoError> {
        let syntax = || GeoError::TileSyntax { text: text.to_owned() };
        let mut parts = text.split('/');
        let mut next = || parts.next().ok_or_else(syntax);
        let (zoom, x, y) = (next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(syntax());
        }
        Self::new(
            zoom.parse().map_err(|_| syntax())?,
            x.parse().map_err(|_| syntax())?,
            y.parse().map_err(|_| syntax())?,
        )
    }
}

/// The address of a region: a tile and a signed layer of the vertical octree.
///
/// Layer L at zoom z spans the tileset's base + L * 256 * 2^(17-z) up to the next layer, in z17 voxels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionKey {
    /// The tile.
    pub tile: TileCoord,
    /// The layer, 0 at the tileset's base, negative below it.
    pub layer: i32,
}

impl RegionKey {
    /// The region of `tile` in `layer`.
    pub fn new(tile: TileCoord, layer: i32) -> Self {
        Self { tile, layer }
    }
}

impl std::fmt::Display for RegionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.tile)?;
        if self.layer != 0 { write!(f, " layer {}", self.layer) } else { Ok(()) }
    }
}
