//! Triangles of the ground to heights at voxel centres.
//!
//! Owns [`ReliefStore`], into which the triangles of all inputs are poured, and [`Relief`], which is an [`Elevation`]
//! afterwards. A triangle gives a height to each centre that it covers in plan; a centre on an edge belongs to the
//! triangle whose west or south edge it is, in whole numbers, so that a mesh has neither cracks nor doubled centres.
//! Where triangles lie over each other the higher counts, whatever their order. It mends no mesh: a hole stays a hole.
//!
//! ```text
//!   o   o   o   o        o centre of a voxel
//!     +-------+          row by row, from the first centre that is not west of one edge
//!   o  \* | */  o        to the last one that is west of the other
//!       \ | /
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use voxatlas::geo::{TileCoord, WORLD_VOXELS};
use voxatlas::limits::ZOOM_FULL;

use super::pages::Pages;
use super::{Elevation, HeightTile, SIDE};
use crate::input::{InputError, Place, Problem};

/// Units of the grid to which corners are rounded, a voxel: about a millimetre each.
const UNITS: i64 = 1024;

/// The widest triangle, in voxels: some kilometres, far more than a relief is drawn with. What is wider is a mistake, and
/// would fill a disk.
pub const TRIANGLE_VOXELS_MAX: i64 = 8192;

/// Where the corners of triangles may lie, in voxels from the world's corner: beyond an end where one crosses the
/// antimeridian.
const REACH_VOXELS: f64 = 2.0 * WORLD_VOXELS as f64;

/// Heights that are still being gathered.
#[derive(Debug)]
pub struct ReliefStore {
    pages: Pages,
    tiles: Option<BTreeSet<TileCoord>>,
    /// World x and z, in voxels.
    extent: Option<[f64; 4]>,
    /// The rows of the triangle in hand.
    spans: Vec<Span>,
}

/// The centres of one row that a triangle covers, in voxels of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    z: i64,
    from: i64,
    to: i64,
}

impl ReliefStore {
    /// An empty store that keeps up to so many bytes in memory and the rest in a temporary file in the folder `scratch`;
    /// it passes over all z17 tiles but those of `tiles`, where there are any.
    pub fn new(scratch: &Path, budget_bytes: u64, tiles: Option<BTreeSet<TileCoord>>) -> Self {
        Self { pages: Pages::new(scratch, budget_bytes), tiles, extent: None, spans: Vec::new() }
    }

    /// Takes a triangle in, or says why it is left out. One that stands upright covers nothing and is no problem.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be used.
    pub fn add(&mut self, triangle: &[Place; 3]) -> Result<Option<Problem>, InputError> {
        let Some(plan) = Plan::new(triangle) else { return Ok(Some(Problem::BadCoordinate)) };
        self.spans.clear();
        plan.spans(&mut self.spans);
        for (x, z) in tiles_of(&self.spans) {
            let side = SIDE as i64;
            let n_tiles = 1i64 << ZOOM_FULL;
            let Some(tile) = u32::try_from(z).ok().and_then(|z| {
                // Columns wrap; rows beyond the world are nowhere.
                TileCoord::new(ZOOM_FULL, x.rem_euclid(n_tiles) as u32, z).ok()
            }) else {
                continue;
            };
            if self.tiles.as_ref().is_some_and(|tiles| !tiles.contains(&tile)) {
                continue;
            }
            let (west, north) = (x * side, z * side);
            let page = self.pages.page_mut(tile)?;
            for span in self.spans.iter().filter(|span| (north..north + side).contains(&span.z)) {
                let row = ((span.z - north) * side) as usize;
                for column in span.from.max(west)..span.to.min(west + side) {
                    let height_m = plan.height_m(column, span.z) as f32;
                    let kept_m = &mut page[row + (column - west) as usize];
                    // No data is not greater than anything.
                    if kept_m.is_nan() || height_m > *kept_m {
                        *kept_m = height_m;
                    }
                }
            }
        }
        self.note_extent(triangle);
        Ok(None)
    }

    /// The heights of all triangles; `None` where there were none.
    pub fn finish(self) -> Option<Relief> {
        Some(Relief { extent: self.extent?, pages: Mutex::new(self.pages) })
    }

    fn note_extent(&mut self, triangle: &[Place; 3]) {
        let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let [west, north, east, south] = self.extent.unwrap_or(start);
        self.extent = Some(triangle.iter().fold([west, north, east, south], |[west, north, east, south], place| {
            [west.min(place.x), north.min(place.z), east.max(place.x), south.max(place.z)]
        }));
    }
}

/// The columns and rows of the tiles in which spans cover anything, unwrapped.
fn tiles_of(spans: &[Span]) -> Vec<(i64, i64)> {
    let side = SIDE as i64;
    let mut tiles = Vec::new();
    for span in spans {
        let z = span.z.div_euclid(side);
        for x in span.from.div_euclid(side)..=(span.to - 1).div_euclid(side) {
            // Rows follow each other: what was listed lies near the end.
            if !tiles.iter().rev().any(|&tile| tile == (x, z)) {
                tiles.push((x, z));
            }
        }
    }
    tiles
}

/// A triangle seen from above, in whole units from a corner of its own, so that products of differences fit.
#[derive(Debug)]
struct Plan {
    /// The voxel at which units are counted from, in the world.
    origin: [i64; 2],
    corners: [[i64; 2]; 3],
    heights_m: [f64; 3],
    /// Twice the area, with the sign of the order of the corners.
    area: i64,
}

impl Plan {
    /// `None` where a corner is no place, or the triangle is wider than any.
    fn new(triangle: &[Place; 3]) -> Option<Self> {
        let is_place = |place: &Place| {
            place.x.abs() <= REACH_VOXELS && place.z.abs() <= REACH_VOXELS && (place.height_m as f32).is_finite()
        };
        if !triangle.iter().all(is_place) {
            return None;
        }
        let least = |coordinate: fn(&Place) -> f64| triangle.iter().map(coordinate).fold(f64::INFINITY, f64::min);
        let origin = [least(|place| place.x).floor() as i64, least(|place| place.z).floor() as i64];
        let units = |coordinate: f64, origin: i64| ((coordinate - origin as f64) * UNITS as f64).round() as i64;
        let corners = triangle.map(|place| [units(place.x, origin[0]), units(place.z, origin[1])]);
        if corners.iter().flatten().any(|&unit| unit > TRIANGLE_VOXELS_MAX * UNITS) {
            return None;
        }
        let heights_m = triangle.map(|place| place.height_m);
        let area = cross(corners[0], corners[1], corners[2]);
        Some(Self { origin, corners, heights_m, area })
    }

    /// Adds the centres that the triangle covers, row by row.
    fn spans(&self, spans: &mut Vec<Span>) {
        if self.area == 0 {
            return;
        }
        let rows = |corner: [i64; 2]| row_from(corner[1]);
        let from = self.corners.map(rows).into_iter().min().unwrap_or(0);
        let to = self.corners.map(rows).into_iter().max().unwrap_or(0);
        for z in from..to {
            let mut columns = [0; 2];
            let mut n = 0;
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                let (a, b) = (self.corners[a], self.corners[b]);
                let (top, bottom) = if a[1] < b[1] { (a, b) } else { (b, a) };
                if (row_from(top[1])..row_from(bottom[1])).contains(&z) {
                    columns[n] = column_from(top, bottom, z);
                    n += 1;
                }
            }
            debug_assert_eq!(n, 2, "a row that a triangle spans meets two of its edges");
            let [west, east] = [columns[0].min(columns[1]), columns[0].max(columns[1])];
            if west < east {
                spans.push(Span { z: z + self.origin[1], from: west + self.origin[0], to: east + self.origin[0] });
            }
        }
    }

    /// The height of the triangle's plane at the centre of a voxel that it covers.
    fn height_m(&self, x: i64, z: i64) -> f64 {
        let centre = [(x - self.origin[0]) * UNITS + UNITS / 2, (z - self.origin[1]) * UNITS + UNITS / 2];
        let [a, b, c] = self.corners;
        let [a_m, b_m, c_m] = self.heights_m;
        let (towards_b, towards_c) = (cross(a, centre, c), cross(a, b, centre));
        let height_m = a_m + ((b_m - a_m) * towards_b as f64 + (c_m - a_m) * towards_c as f64) / self.area as f64;
        // Rounding must not lift a centre of a needle above its corners.
        height_m.clamp(a_m.min(b_m).min(c_m), a_m.max(b_m).max(c_m))
    }
}

/// Twice the signed area of a triangle.
fn cross(a: [i64; 2], b: [i64; 2], c: [i64; 2]) -> i64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// The first row whose centre is south of `z`: a centre on a north edge stays outside.
fn row_from(z: i64) -> i64 {
    (z - UNITS / 2).div_euclid(UNITS) + 1
}

/// The first column whose centre is not west of where an edge crosses the centres of a row.
fn column_from(top: [i64; 2], bottom: [i64; 2], z: i64) -> i64 {
    let (dx, dz) = (bottom[0] - top[0], bottom[1] - top[1]);
    let centre = z * UNITS + UNITS / 2;
    let crossing = top[0] * dz + dx * (centre - top[1]);
    let offset = crossing - UNITS / 2 * dz;
    -(-offset).div_euclid(UNITS * dz)
}

/// The ground's own surface, gathered.
#[derive(Debug)]
pub struct Relief {
    extent: [f64; 4],
    pages: Mutex<Pages>,
}

impl Elevation for Relief {
    fn name(&self) -> String {
        "relief".to_owned()
    }

    fn extent(&self) -> [f64; 4] {
        self.extent
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(pages.read(tile)?.and_then(HeightTile::from_vec).and_then(HeightTile::some_if_any))
    }
}

#[cfg(test)]
#[path = "relief_tests.rs"]
mod tests;
