//! Tile addresses, valid by construction.
//!
//! ```text
//!            x ->  east, wraps at the antimeridian
//!         +----+----+----+----+
//!   y     | 0,0| 1,0| 2,0| 3,0|   85.0511 N     zoom 2: 2^2 columns and rows
//!   |     +----+----+----+----+
//!   v     | 0,1| 1,1| 2,1| 3,1|                 children of 0,0 at zoom 1: 0,0  1,0  0,1  1,1 at zoom 2
//! south   +----+----+----+----+   equator
//! clamps  | 0,2| 1,2| 2,2| 3,2|
//!         +----+----+----+----+
//!         | 0,3| 1,3| 2,3| 3,3|
//!         +----+----+----+----+   85.0511 S
//!       180 W       0       180 E
//! ```

use serde::{Deserialize, Serialize};

use super::{Bbox, GeoError, LonLat, mercator};
use crate::limits::REGION_VOXELS;

/// An XYZ tile address: y grows to the south. Serialised as its text, "17/116415/51623".
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
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

    /// The address of the tile that a TMS source, whose rows grow to the north, calls `y_north`.
    ///
    /// # Errors
    ///
    /// As [`TileCoord::new`], naming the row as it was given.
    pub fn from_tms(zoom: u8, x: u32, y_north: u32) -> Result<Self, GeoError> {
        let flipped = Self::new(zoom, x, y_north)?;
        Ok(Self { y: flipped.tms_y(), ..flipped })
    }

    /// The tile of `zoom` at a place. A place on the edge of two tiles belongs to the eastern, the southern one;
    /// beyond 85.0511 degrees it is the outermost row.
    ///
    /// # Errors
    ///
    /// The zoom is above [`TileCoord::ZOOM_MAX`].
    pub fn at(zoom: u8, place: LonLat) -> Result<Self, GeoError> {
        if zoom > Self::ZOOM_MAX {
            return Err(GeoError::ZoomOutOfRange { zoom });
        }
        let n = 1u32 << zoom;
        let index = |fraction: f64| (fraction * f64::from(n)) as u32;
        Ok(Self {
            zoom,
            // 180 E is 180 W; the world's southern edge belongs to the last row.
            x: index(mercator::x_fraction(place.lon_deg())) % n,
            y: index(mercator::y_fraction(place.lat_deg())).min(n - 1),
        })
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

    /// The row as a TMS source counts it, northwards from 85.0511 degrees south.
    pub fn tms_y(self) -> u32 {
        (1 << self.zoom) - 1 - self.y
    }

    /// The tile of the next coarser zoom that covers this one; zoom 0 has none.
    pub fn parent(self) -> Option<Self> {
        let zoom = self.zoom.checked_sub(1)?;
        Some(Self { zoom, x: self.x >> 1, y: self.y >> 1 })
    }

    /// The four tiles of the next finer zoom, north-west, north-east, south-west, south-east; the deepest zoom has
    /// none.
    pub fn children(self) -> Option<[Self; 4]> {
        if self.zoom == Self::ZOOM_MAX {
            return None;
        }
        Some([(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| Self {
            zoom: self.zoom + 1,
            x: self.x << 1 | dx,
            y: self.y << 1 | dy,
        }))
    }

    /// The tile `dx` columns to the east and `dy` rows to the south. Columns wrap at the antimeridian; beyond the
    /// northernmost and the southernmost row there is none.
    ///
    /// ```
    /// use voxatlas::geo::TileCoord;
    ///
    /// let fiji = TileCoord::new(17, 131_071, 73_000)?;
    /// assert_eq!(fiji.offset_wrapped(1, 0), Some(TileCoord::new(17, 0, 73_000)?));
    /// assert_eq!(TileCoord::new(17, 5, 0)?.offset_wrapped(0, -1), None);
    /// # Ok::<(), voxatlas::geo::GeoError>(())
    /// ```
    pub fn offset_wrapped(self, dx: i64, dy: i64) -> Option<Self> {
        let n = 1i64 << self.zoom;
        // Reduced first: the sum cannot overflow whatever dx is.
        let x = (i64::from(self.x) + dx.rem_euclid(n)).rem_euclid(n) as u32;
        let y = i64::from(self.y).checked_add(dy).filter(|y| (0..n).contains(y))? as u32;
        Some(Self { zoom: self.zoom, x, y })
    }

    /// West, south, east and north of the tile. East of the last column is 180, not -180.
    pub fn bounds(self) -> Bbox {
        let n = f64::from(1u32 << self.zoom);
        let (x, y) = (f64::from(self.x), f64::from(self.y));
        Bbox::from_edges(
            mercator::lon_deg(x / n),
            mercator::lat_deg((y + 1.0) / n),
            mercator::lon_deg((x + 1.0) / n),
            mercator::lat_deg(y / n),
        )
    }

    /// True edge of one of the tile's 256 voxels, in metres, at the centre latitude of the tile's row: 0.970 for a
    /// zoom 17 tile in Tokyo. Voxels are cubes, so heights have the same unit.
    pub fn metres_per_voxel(self) -> f64 {
        self.edge_m() / f64::from(REGION_VOXELS)
    }

    /// True edge of the tile, in metres, at the centre latitude of its row: 305.748 cos(lat) at zoom 17.
    pub fn edge_m(self) -> f64 {
        let n = f64::from(1u32 << self.zoom);
        mercator::EQUATOR_M / n * mercator::cos_lat((f64::from(self.y) + 0.5) / n)
    }
}

impl std::fmt::Display for TileCoord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.zoom, self.x, self.y)
    }
}

impl From<TileCoord> for String {
    fn from(tile: TileCoord) -> Self {
        tile.to_string()
    }
}

impl TryFrom<String> for TileCoord {
    type Error = GeoError;

    fn try_from(text: String) -> Result<Self, GeoError> {
        text.parse()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_tile() -> impl Strategy<Value = TileCoord> {
        (0..=TileCoord::ZOOM_MAX, any::<u32>(), any::<u32>())
            .prop_map(|(zoom, x, y)| TileCoord::new(zoom, x & ((1 << zoom) - 1), y & ((1 << zoom) - 1)).unwrap())
    }

    fn tile(text: &str) -> TileCoord {
        text.parse().unwrap()
    }

    #[test]
    fn texts_that_are_no_tile_are_refused_by_name() {
        for (text, expected) in [
            ("17/1", "\"17/1\" is no tile: expected z/x/y, such as 17/116415/51623"),
            ("17/1/2/3", "\"17/1/2/3\" is no tile: expected z/x/y, such as 17/116415/51623"),
            ("17/-1/2", "\"17/-1/2\" is no tile: expected z/x/y, such as 17/116415/51623"),
            ("31/0/0", "zoom 31 is out of range: expected 0..=30"),
            ("3/8/0", "tile 3/8/0 is out of range: at zoom 3 x and y are below 8"),
        ] {
            assert_eq!(text.parse::<TileCoord>().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_tower_stands_in_its_tile() {
        let place = LonLat::new(139.745_433, 35.658_581).unwrap();
        assert_eq!(TileCoord::at(17, place), Ok(tile("17/116415/51623")));
        assert_eq!(TileCoord::at(0, place), Ok(tile("0/0/0")));
        assert_eq!(TileCoord::at(31, place), Err(GeoError::ZoomOutOfRange { zoom: 31 }));
    }

    #[test]
    fn the_ends_of_the_world_have_tiles() {
        for (lon_deg, lat_deg, expected) in [
            (-180.0, 90.0, "17/0/0"),
            (180.0, 90.0, "17/0/0"),
            (-180.0, -90.0, "17/0/131071"),
            (179.999_999, -85.06, "17/131071/131071"),
            (0.0, 0.0, "17/65536/65536"),
        ] {
            let place = LonLat::new(lon_deg, lat_deg).unwrap();
            assert_eq!(TileCoord::at(17, place), Ok(tile(expected)), "{lon_deg},{lat_deg}");
        }
    }

    #[test]
    fn neighbours_wrap_east_and_end_north() {
        for (from, (dx, dy), expected) in [
            ("17/0/0", (-1, 0), Some("17/131071/0")),
            ("17/131071/9", (1, 1), Some("17/0/10")),
            ("17/5/0", (0, -1), None),
            ("17/5/131071", (0, 1), None),
            ("0/0/0", (7, 0), Some("0/0/0")),
            ("17/5/5", (i64::MAX, 0), Some("17/4/5")),
            ("17/5/5", (i64::MIN, 0), Some("17/5/5")),
            ("17/5/5", (0, i64::MAX), None),
            ("17/5/5", (0, i64::MIN), None),
        ] {
            assert_eq!(tile(from).offset_wrapped(dx, dy), expected.map(tile), "{from} + {dx},{dy}");
        }
    }

    #[test]
    fn tms_counts_rows_from_the_south() {
        assert_eq!(tile("17/116415/51623").tms_y(), 79_448);
        assert_eq!(TileCoord::from_tms(17, 116_415, 79_448), Ok(tile("17/116415/51623")));
        assert!(TileCoord::from_tms(2, 0, 4).is_err());
    }

    #[test]
    fn a_voxel_is_smaller_towards_the_poles() {
        for (lon_deg, lat_deg, expected_m) in [
            (139.745_433, 35.658_581, 0.970),
            (4.356, 52.011, 0.735),
            (24.941, 60.170, 0.594),
            (8.541, 47.376, 0.809),
            (0.0, -0.000_1, 1.194),
        ] {
            let tile = TileCoord::at(17, LonLat::new(lon_deg, lat_deg).unwrap()).unwrap();
            assert!((tile.metres_per_voxel() - expected_m).abs() < 0.000_6, "{tile}: {}", tile.metres_per_voxel());
        }
        // At the tower's own row; and the reference's figures for the edges of its scope, half a row from the centres.
        assert!((tile("17/116415/51623").edge_m() - 248.419).abs() < 0.005);
        assert!((tile("17/116326/51545").metres_per_voxel() - 0.968_27).abs() < 0.000_02);
        assert!((tile("17/116508/51694").metres_per_voxel() - 0.972_34).abs() < 0.000_02);
        // A voxel of the next coarser zoom is twice as large; the rows of one parent differ by some micrometres.
        let (fine, coarse) = (tile("17/116415/51623"), tile("16/58207/25811"));
        assert!((coarse.metres_per_voxel() / fine.metres_per_voxel() - 2.0).abs() < 0.000_1);
    }

    proptest! {
        #[test]
        fn the_parent_of_each_child_is_the_tile(tile in any_tile()) {
            if let Some(children) = tile.children() {
                prop_assert!(children.iter().all(|child| child.parent() == Some(tile)));
                prop_assert!(children.is_sorted_by_key(|child| (child.y(), child.x())));
            } else {
                prop_assert_eq!(tile.zoom(), TileCoord::ZOOM_MAX);
            }
        }

        #[test]
        fn a_tile_holds_the_middle_of_its_bounds(tile in any_tile()) {
            let bounds = tile.bounds();
            let lon_deg = f64::midpoint(bounds.west_deg(), bounds.east_deg());
            let lat_deg = f64::midpoint(bounds.south_deg(), bounds.north_deg());
            prop_assert_eq!(TileCoord::at(tile.zoom(), LonLat::new(lon_deg, lat_deg).unwrap()), Ok(tile));
        }

        #[test]
        fn an_offset_is_undone_by_its_opposite(tile in any_tile(), dx in any::<i32>(), dy in -9i64..9) {
            let dx = i64::from(dx);
            if let Some(other) = tile.offset_wrapped(dx, dy) {
                prop_assert_eq!(other.offset_wrapped(-dx, -dy), Some(tile));
            }
        }

        #[test]
        fn a_printed_tile_reads_back(tile in any_tile()) {
            prop_assert_eq!(tile.to_string().parse(), Ok(tile));
            prop_assert_eq!(TileCoord::from_tms(tile.zoom(), tile.x(), tile.tms_y()), Ok(tile));
        }
    }
}
