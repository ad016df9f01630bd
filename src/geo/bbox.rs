//! Boxes in degrees, and the tiles that they cover.

use super::{GeoError, LonLat, TileCoord, mercator};

/// How near to a tile's edge a box's edge counts as lying on it, as a fraction of the world: 0.3 mm at the equator.
/// Latitudes of tile edges are irrational, so a box that was made from tiles comes back an ulp or two beside them.
const ON_EDGE: f64 = 7.5e-12;

/// A box in degrees, as in `--bbox W,S,E,N`.
///
/// West may lie east of east: then the box crosses the antimeridian (as in GeoJSON).
///
/// ```
/// use voxatlas::geo::{Bbox, TileCoord};
///
/// let shiba: Bbox = "139.744,35.658,139.747,35.660".parse()?;
/// let tiles: Vec<String> = shiba.tiles(17)?.map(|tile| tile.to_string()).collect();
/// assert_eq!(tiles, ["17/116415/51622", "17/116416/51622", "17/116415/51623", "17/116416/51623"]);
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bbox {
    /// All in degrees.
    west: f64,
    south: f64,
    east: f64,
    north: f64,
}

impl Bbox {
    /// Checks and makes a box from its edges in degrees.
    ///
    /// # Errors
    ///
    /// An edge lies off the globe, or south lies north of north.
    pub fn new(west_deg: f64, south_deg: f64, east_deg: f64, north_deg: f64) -> Result<Self, GeoError> {
        LonLat::new(west_deg, south_deg)?;
        LonLat::new(east_deg, north_deg)?;
        if south_deg > north_deg {
            return Err(GeoError::BboxUpsideDown { south_deg, north_deg });
        }
        Ok(Self { west: west_deg, south: south_deg, east: east_deg, north: north_deg })
    }

    /// A box whose edges are known to be sound.
    pub(super) fn from_edges(west: f64, south: f64, east: f64, north: f64) -> Self {
        Self { west, south, east, north }
    }

    /// The western edge, in degrees.
    pub fn west_deg(self) -> f64 {
        self.west
    }

    /// The southern edge, in degrees.
    pub fn south_deg(self) -> f64 {
        self.south
    }

    /// The eastern edge, in degrees; less than the western where the box crosses the antimeridian.
    pub fn east_deg(self) -> f64 {
        self.east
    }

    /// The northern edge, in degrees.
    pub fn north_deg(self) -> f64 {
        self.north
    }

    /// West, south, east, north, in degrees: the order of TileJSON and GeoJSON.
    pub fn to_array(self) -> [f64; 4] {
        [self.west, self.south, self.east, self.north]
    }

    /// Whether the place lies in the box, its edges included.
    pub fn contains(self, place: LonLat) -> bool {
        let lon_deg = place.lon_deg();
        let in_lon = if self.west <= self.east {
            (self.west..=self.east).contains(&lon_deg)
        } else {
            lon_deg >= self.west || lon_deg <= self.east
        };
        in_lon && (self.south..=self.north).contains(&place.lat_deg())
    }

    /// The tiles of `zoom` that the box covers, row by row from the north-west; in a box that crosses the
    /// antimeridian a row runs from the box's west through it.
    ///
    /// An edge of the box that lies on the edge of a tile adds no tile beyond it, so the bounds of a tile cover that
    /// tile alone. A box without width or height still covers the tile in which it lies. Latitudes beyond 85.0511
    /// degrees count as the outermost row.
    ///
    /// # Errors
    ///
    /// The zoom is above [`TileCoord::ZOOM_MAX`].
    pub fn tiles(self, zoom: u8) -> Result<TileRange, GeoError> {
        if zoom > TileCoord::ZOOM_MAX {
            return Err(GeoError::ZoomOutOfRange { zoom });
        }
        let n = 1u32 << zoom;
        let west = mercator::x_fraction(self.west);
        let mut east = mercator::x_fraction(self.east);
        if self.east < self.west {
            east += 1.0;
        }
        let (x_first, n_columns) = covered(west, east, n);
        let (y_first, n_rows) = covered(mercator::y_fraction(self.north), mercator::y_fraction(self.south), n);
        let y_first = y_first.min(n - 1);
        Ok(TileRange {
            zoom,
            x_first: x_first % n,
            y_first,
            n_columns: n_columns.min(n),
            n_rows: n_rows.min(n - y_first),
            next: 0,
        })
    }
}

impl std::fmt::Display for Bbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{},{}", self.west, self.south, self.east, self.north)
    }
}

impl std::str::FromStr for Bbox {
    type Err = GeoError;

    fn from_str(text: &str) -> Result<Self, GeoError> {
        let syntax = || GeoError::BboxSyntax { text: text.to_owned() };
        let edges: Vec<f64> =
            text.split(',').map(|edge| edge.trim().parse().map_err(|_| syntax())).collect::<Result<_, _>>()?;
        let [west_deg, south_deg, east_deg, north_deg] = edges[..] else {
            return Err(syntax());
        };
        Self::new(west_deg, south_deg, east_deg, north_deg)
    }
}

/// The first of `n` tiles along the world's edge that from..to covers, and how many: at least one.
fn covered(from: f64, to: f64, n: u32) -> (u32, u32) {
    let n = f64::from(n);
    let first = ((from + ON_EDGE) * n).floor().max(0.0);
    let end = ((to - ON_EDGE) * n).ceil().max(first + 1.0);
    (first as u32, (end - first) as u32)
}

/// The tiles that a box covers at one zoom, row by row: an iterator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileRange {
    zoom: u8,
    /// Below 2^zoom.
    x_first: u32,
    y_first: u32,
    /// 1..=2^zoom; columns wrap.
    n_columns: u32,
    /// 1..=2^zoom - y_first.
    n_rows: u32,
    /// How many have been yielded.
    next: u64,
}

impl TileRange {
    /// Columns of the range.
    pub fn n_columns(&self) -> u32 {
        self.n_columns
    }

    /// Rows of the range.
    pub fn n_rows(&self) -> u32 {
        self.n_rows
    }

    /// Tiles that are still to come.
    pub fn n_left(&self) -> u64 {
        u64::from(self.n_columns) * u64::from(self.n_rows) - self.next
    }

    /// Whether the tile is one of the range, yielded already or not.
    pub fn contains(&self, tile: TileCoord) -> bool {
        let n = 1u32 << self.zoom;
        tile.zoom() == self.zoom
            && (tile.x().wrapping_sub(self.x_first) & (n - 1)) < self.n_columns
            && tile.y().checked_sub(self.y_first).is_some_and(|row| row < self.n_rows)
    }
}

impl Iterator for TileRange {
    type Item = TileCoord;

    fn next(&mut self) -> Option<TileCoord> {
        if self.n_left() == 0 {
            return None;
        }
        let n_columns = u64::from(self.n_columns);
        let (column, row) = ((self.next % n_columns) as u32, (self.next / n_columns) as u32);
        self.next += 1;
        let x = (self.x_first + column) & ((1 << self.zoom) - 1);
        let tile = TileCoord::new(self.zoom, x, self.y_first + row);
        debug_assert!(tile.is_ok(), "the range lies in the zoom's matrix");
        tile.ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n_left = usize::try_from(self.n_left());
        (n_left.unwrap_or(usize::MAX), n_left.ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bbox: &str, zoom: u8, expected: &[&str]) {
        let tiles: Vec<String> = bbox.parse::<Bbox>().unwrap().tiles(zoom).unwrap().map(|t| t.to_string()).collect();
        assert_eq!(tiles, expected, "{bbox} at zoom {zoom}");
    }

    #[test]
    fn boxes_cover_what_they_touch() {
        check("-180,-90,180,90", 1, &["1/0/0", "1/1/0", "1/0/1", "1/1/1"]);
        // Its east and its south lie on edges: nothing beyond is added.
        check("-180,0,0,85.06", 1, &["1/0/0"]);
        check("0,-1,90,0", 2, &["2/2/2"]);
        // Across the antimeridian, rows run from the box's west.
        check("170,-10,-170,10", 2, &["2/3/1", "2/0/1", "2/3/2", "2/0/2"]);
        // Both names of the antimeridian.
        check("180,10,-180,10", 1, &["1/0/0"]);
        check("180,10,180,10", 1, &["1/0/0"]);
        // Round the world and back into the first column: each column once.
        check("10,1,9,2", 1, &["1/1/0", "1/0/0"]);
        // No extent, on a corner and inside a tile; poles.
        check("0,0,0,0", 1, &["1/1/1"]);
        check("5,5,5,5", 1, &["1/1/0"]);
        check("0,89,1,90", 1, &["1/1/0"]);
        check("0,-90,1,-89", 1, &["1/1/1"]);
    }

    #[test]
    fn texts_that_are_no_box_are_refused_by_name() {
        for (text, expected) in [
            (
                "1,2,3",
                "\"1,2,3\" is no box: expected west,south,east,north in degrees, such as 139.74,35.65,139.75,35.66",
            ),
            (
                "a,2,3,4",
                "\"a,2,3,4\" is no box: expected west,south,east,north in degrees, such as 139.74,35.65,139.75,35.66",
            ),
            ("1,4,3,2", "south 4 lies north of north 2: a box is west,south,east,north"),
            ("1,2,200,4", "longitude 200 is out of range: expected -180..=180 degrees"),
            ("1,nan,2,4", "latitude NaN is out of range: expected -90..=90 degrees"),
        ] {
            assert_eq!(text.parse::<Bbox>().unwrap_err().to_string(), expected);
        }
        assert_eq!("1,2,3,4".parse::<Bbox>().unwrap().tiles(31), Err(GeoError::ZoomOutOfRange { zoom: 31 }));
    }

    #[test]
    fn a_box_across_the_antimeridian_contains_both_sides() {
        let fiji: Bbox = "177,-20,-178,-15".parse().unwrap();
        for (lon_deg, inside) in [(179.0, true), (-179.0, true), (177.0, true), (0.0, false), (-177.9, false)] {
            assert_eq!(fiji.contains(LonLat::new(lon_deg, -17.0).unwrap()), inside, "{lon_deg}");
        }
        assert!(!fiji.contains(LonLat::new(179.0, -21.0).unwrap()));
    }

    proptest! {
        #[test]
        fn the_bounds_of_a_block_of_tiles_cover_that_block(
            zoom in 0u8..=22, x in any::<u32>(), y in any::<u32>(), w in 1u32..5, h in 1u32..5,
        ) {
            let n = 1u32 << zoom;
            let (w, h) = (w.min(n), h.min(n));
            let (x, y) = (x % (n - w + 1), y % (n - h + 1));
            let first = TileCoord::new(zoom, x, y).unwrap();
            let last = TileCoord::new(zoom, x + w - 1, y + h - 1).unwrap();
            let (from, to) = (first.bounds(), last.bounds());
            let bbox = Bbox::new(from.west_deg(), to.south_deg(), to.east_deg(), from.north_deg()).unwrap();
            // Also after a trip through text, as `tiles.json` and `--bbox` make it.
            let bbox: Bbox = bbox.to_string().parse().unwrap();
            let tiles: Vec<TileCoord> = bbox.tiles(zoom).unwrap().collect();
            let expected: Vec<TileCoord> = (0..h)
                .flat_map(|dy| (0..w).map(move |dx| TileCoord::new(zoom, x + dx, y + dy).unwrap()))
                .collect();
            prop_assert_eq!(tiles, expected);
        }

        #[test]
        fn every_place_of_a_box_lies_in_a_tile_of_it(
            west in -180.0..180.0, width in 0.0..2.0, south in -89.0..88.0, height in 0.0..1.0,
            (fx, fy) in (0.0..1.0, 0.0..1.0),
        ) {
            let wrapped = |lon: f64| if lon > 180.0 { lon - 360.0 } else { lon };
            let bbox = Bbox::new(west, south, wrapped(west + width), south + height).unwrap();
            let place = LonLat::new(wrapped(west + fx * width), south + fy * height).unwrap();
            let range = bbox.tiles(9).unwrap();
            prop_assert!(range.contains(TileCoord::at(9, place).unwrap()));
            prop_assert!(range.clone().all(|tile| range.contains(tile)));
            prop_assert_eq!(range.clone().count() as u64, range.n_left());
        }
    }
}
