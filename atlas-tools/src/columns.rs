//! The plan of a zoom 17 tile: where the ground is in every column of voxels, what is built on it, and how high.
//!
//! Receives a neighbourhood of source tiles and the ground, yields [`Columns`]: 256 x 256 columns and an apron round
//! them, so that what is decided at a border knows both sides. Each column takes its height from the clipped copies of
//! its own source tile alone, apron included, and in the voxels of its own row of tiles: both tiles at a border see the
//! same city. It knows no colours.
//!
//! ```text
//!   0         APRON                   APRON + 256       SIDE
//!   |  apron  |  column (0, 0) ...    |     apron       |      x east, z south; y in voxels above the datum
//! ```

use rustc_hash::FxHashMap;
use voxatlas::geo::TileCoord;
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use crate::buildings::Neighbourhood;
use crate::footings::{Footing, Footings};
use crate::ground::Ground;
use crate::input::{Feature, InputError, SOURCE_EXTENT};
use crate::raster::{Raster, Window, columns};

/// Columns round the tile that are known too: what decides whether ground is a street or open land (see
/// [`crate::spaces`]) lies no farther away.
pub const APRON: usize = 68;

/// Columns along an edge, aprons included.
pub const SIDE: usize = REGION_VOXELS as usize + 2 * APRON;

/// Marks a column of open ground.
const NO_BUILDING: u32 = u32::MAX;

/// How far a guessed ground may be off, in voxels: what lies deeper below it is a cellar.
const GUESS_ERROR: i32 = 8;

/// Marks a column without ground.
const NO_GROUND: i32 = i32::MIN;

/// Heights are cut to this many voxels above and below the datum: far beyond every layer, and sums of two still fit.
pub const HEIGHT_VOXELS_MAX: i32 = 1 << 24;

/// Voxels of a building in a column: y in `bottom..top`, above the datum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The lowest voxel; the ground's top face where it stands on the ground.
    pub bottom: i32,
    /// One above the highest voxel.
    pub top: i32,
    /// An index into the buildings.
    pub building: u32,
    /// The feature that put it there: the features of a neighbourhood are numbered block after block.
    pub feature: u32,
}

/// The plan of a tile and its apron.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// The y of the ground's top face, or [`NO_GROUND`]; index x + SIDE * z.
    grounds: Vec<i32>,
    /// The highest span; a building of [`NO_BUILDING`] where the ground is open.
    highest: Vec<Span>,
    /// The spans below the highest, from high to low, where something floats.
    lower: FxHashMap<u32, Vec<Span>>,
    /// Whether something else stands on a column; index x + SIDE * z, empty where nothing does anywhere.
    covered: Vec<bool>,
}

impl Columns {
    /// Open ground whose top face is at the datum.
    pub fn open() -> Self {
        Self::on(vec![0; SIDE * SIDE])
    }

    fn on(grounds: Vec<i32>) -> Self {
        let open = |&ground: &i32| {
            let top = if ground == NO_GROUND { 0 } else { ground };
            Span { bottom: top, top, building: NO_BUILDING, feature: 0 }
        };
        let highest = grounds.iter().map(open).collect();
        Self { grounds, highest, lower: FxHashMap::default(), covered: Vec::new() }
    }

    /// The y of the ground's top face at a column, `None` where there is no ground; coordinates -68..324 from the
    /// tile's north-west corner.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn ground(&self, x: i32, z: i32) -> Option<i32> {
        Some(self.grounds[idx(x, z)]).filter(|&ground| ground != NO_GROUND)
    }

    /// Uncovers what stands at a column at a height of its own, with its lowest voxel at `y`: a ground that was only guessed
    /// from what stands around buries it by little, and goes down to it.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn uncover(&mut self, x: i32, z: i32, y: i32) {
        let at = idx(x, z);
        let ground = self.grounds[at];
        if ground == NO_GROUND || !(1..=GUESS_ERROR).contains(&ground.saturating_sub(y)) {
            return;
        }
        self.grounds[at] = y;
        if self.highest[at].building == NO_BUILDING {
            self.highest[at].top = y;
        }
    }

    /// The y of the highest top face at a column: a building's, or the ground's; 0 where there is neither.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn top(&self, x: i32, z: i32) -> i32 {
        self.highest[idx(x, z)].top
    }

    /// The highest building at a column, if there is one.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn building(&self, x: i32, z: i32) -> Option<usize> {
        let building = self.highest[idx(x, z)].building;
        (building != NO_BUILDING).then_some(building as usize)
    }

    /// Tells over which columns something stands that is not of this plan; index x + SIDE * z.
    pub fn cover(&mut self, covered: &[bool]) {
        self.covered = covered.to_vec();
    }

    /// Whether anything stands on a column.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn is_built(&self, x: i32, z: i32) -> bool {
        self.building(x, z).is_some() || self.covered.get(idx(x, z)).copied().unwrap_or(false)
    }

    /// The spans of a column, from high to low; none overlaps another.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron.
    pub fn spans(&self, x: i32, z: i32) -> impl Iterator<Item = Span> + '_ {
        let at = idx(x, z);
        let highest = Some(self.highest[at]).filter(|span| span.building != NO_BUILDING);
        highest.into_iter().chain(self.lower.get(&(at as u32)).into_iter().flatten().copied())
    }

    /// Builds on the ground of a column, `height` voxels high.
    ///
    /// # Panics
    ///
    /// The column lies outside the apron, or has no ground.
    pub fn build(&mut self, x: i32, z: i32, height: i32, building: usize) {
        let at = idx(x, z);
        let bottom = self.grounds[at];
        assert_ne!(bottom, NO_GROUND, "there is ground");
        self.highest[at] = Span { bottom, top: bottom + height, building: building as u32, feature: 0 };
    }

    /// Cuts the tile's own columns to y in `range`; how many voxels that took away.
    pub fn clip(&mut self, range: std::ops::Range<i32>) -> u64 {
        let mut clipped = 0;
        let mut cut = |span: &mut Span| {
            let kept = Span {
                bottom: span.bottom.clamp(range.start, range.end),
                top: span.top.clamp(range.start, range.end),
                ..*span
            };
            let n_voxels = |span: &Span| i64::from(span.top) - i64::from(span.bottom);
            clipped += (n_voxels(span) - n_voxels(&kept)).max(0) as u64;
            *span = kept;
        };
        let edge = REGION_VOXELS as i32;
        for (x, z) in (0..edge).flat_map(|z| (0..edge).map(move |x| (x, z))) {
            let at = idx(x, z);
            cut(&mut self.highest[at]);
            self.lower.get_mut(&(at as u32)).into_iter().flatten().for_each(&mut cut);
            if self.grounds[at] != NO_GROUND {
                self.grounds[at] = self.grounds[at].clamp(range.start, range.end);
            }
        }
        clipped
    }

    /// The lowest and the highest y of the tile's own columns: from the lowest top face of the ground or underside of a
    /// span to the highest top face. `None` where there is nothing at all.
    pub fn y_range(&self) -> Option<std::ops::Range<i32>> {
        let edge = REGION_VOXELS as i32;
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for (x, z) in (0..edge).flat_map(|z| (0..edge).map(move |x| (x, z))) {
            let ground = self.ground(x, z).map(|ground| (ground, ground));
            for (bottom, top) in self.spans(x, z).map(|span| (span.bottom, span.top)).chain(ground) {
                (low, high) = (low.min(bottom), high.max(top));
            }
        }
        (low <= high).then_some(low..high)
    }

    /// The lowest top face of the ground in the tile and the one column round it.
    pub fn ground_min(&self) -> Option<i32> {
        let range = -1..=REGION_VOXELS as i32;
        range.clone().flat_map(|z| range.clone().map(move |x| (x, z))).filter_map(|(x, z)| self.ground(x, z)).min()
    }

    /// Whether a building stands on the tile.
    pub fn has_buildings(&self) -> bool {
        let edge = REGION_VOXELS as i32;
        (0..edge).any(|z| (0..edge).any(|x| self.building(x, z).is_some()))
    }

    /// Rasterises the buildings of a neighbourhood whose middle holds `tile`, a zoom 17 tile.
    ///
    /// Where features overlap the highest counts, of equally high ones that of the building with the lowest key: the
    /// order of the input does not matter.
    ///
    /// # Errors
    ///
    /// The terrain cannot be read.
    pub fn rasterise(
        tile: TileCoord,
        middle: TileCoord,
        neighbourhood: &Neighbourhood<'_>,
        ground: &Ground,
        footings: &Footings,
    ) -> Result<Self, InputError> {
        let window = window_of(tile, middle);
        let scales = row_scales(tile);
        let mut plan = Self::on(grounds(tile, ground, &scales)?);
        let mut floating: FxHashMap<u32, Vec<Span>> = FxHashMap::default();
        let mut raster = Raster::default();
        let mut first_feature = 0;
        let key = |building: u32| neighbourhood.buildings[building as usize].key;
        for (block_idx, neighbour) in neighbourhood.blocks.iter().enumerate() {
            let first = first_feature;
            first_feature += neighbour.block.source.features.len() as u32;
            let [x0, z0] = neighbour.corner();
            // The columns whose source tile this is.
            let columns_of = |low: i64, origin: i64| {
                let from = (low - origin) / window.voxel_units;
                let to = (low + SOURCE_EXTENT - origin) / window.voxel_units;
                (from.clamp(0, SIDE as i64) as usize)..(to.clamp(0, SIDE as i64) as usize)
            };
            let (xs, zs) = (columns_of(x0, window.west), columns_of(z0, window.north));
            if xs.is_empty() || zs.is_empty() {
                continue;
            }
            let mut part = window.part(xs.clone(), zs.clone());
            part.west -= x0;
            part.north -= z0;
            for (feature_idx, feature) in neighbour.block.source.features.iter().enumerate() {
                if !reaches(feature, &part) {
                    continue;
                }
                let building = neighbourhood.building_of(block_idx, feature_idx);
                let footing = footings.of(feature.id);
                let mut add = |at: usize, scale: f64| {
                    let Some(standing) = plan.standing(at, feature, footing, ground, scale) else { return };
                    let span = Span { building, feature: first + feature_idx as u32, ..standing };
                    if feature.min_height_m > 0.0 {
                        floating.entry(at as u32).or_default().push(span);
                        return;
                    }
                    let old = plan.highest[at];
                    let is_lower = |other: Span| other.building != NO_BUILDING && key(other.building) <= key(building);
                    if old.building == NO_BUILDING || span.top > old.top || (span.top == old.top && !is_lower(old)) {
                        plan.highest[at] = span;
                    }
                };
                for polygon in &feature.polygons {
                    raster.fill(polygon, &part, |z, mask| {
                        let row = zs.start + z;
                        columns(mask, |x| add((xs.start + x) + SIDE * row, scales[row]));
                    });
                }
            }
        }
        // In an order of their own: each column is stacked by itself.
        let mut floating: Vec<(u32, Vec<Span>)> = floating.into_iter().collect();
        floating.sort_unstable_by_key(|(at, _)| *at);
        for (at, spans) in floating {
            plan.stack(at, spans, &key);
        }
        Ok(plan)
    }

    /// The voxels of a feature in a column; `None` where the ground has buried it.
    fn standing(&self, at: usize, feature: &Feature, footing: Footing, ground: &Ground, voxel_m: f64) -> Option<Span> {
        let surface = self.grounds[at];
        let foot_m = match footing {
            Footing::At(height_m) => height_m,
            Footing::Follows if surface == NO_GROUND => ground.fallback_m(),
            Footing::Follows => f64::from(surface) * voxel_m,
        };
        let foot = voxels(foot_m, voxel_m);
        let bottom = match (feature.min_height_m > 0.0, surface) {
            (true, _) => voxels(foot_m + feature.min_height_m, voxel_m),
            (false, NO_GROUND) => foot,
            (false, surface) => surface,
        };
        // What is lower than a voxel still stands.
        let least = if feature.min_height_m > 0.0 { bottom } else { foot };
        let top = voxels(foot_m + feature.height.metres, voxel_m).max(least + 1);
        (bottom < top).then_some(Span { bottom, top, building: NO_BUILDING, feature: 0 })
    }

    /// Joins what floats over a column with what stands on it.
    fn stack(&mut self, at: u32, mut spans: Vec<Span>, key: &impl Fn(u32) -> crate::input::FeatureId) {
        let standing = self.highest[at as usize];
        spans.extend(Some(standing).filter(|span| span.building != NO_BUILDING));
        spans.sort_by(|a, b| {
            b.top.cmp(&a.top).then(key(a.building).cmp(&key(b.building))).then(a.bottom.cmp(&b.bottom))
        });
        let mut kept: Vec<Span> = Vec::new();
        for span in spans {
            // From the top down, each fills what those above it left.
            let ceiling = kept.last().map_or(i32::MAX, |above| above.bottom);
            let span = Span { top: span.top.min(ceiling), ..span };
            if span.bottom < span.top {
                kept.push(span);
            }
        }
        let mut kept = kept.into_iter();
        if let Some(highest) = kept.next() {
            self.highest[at as usize] = highest;
        }
        let lower: Vec<Span> = kept.collect();
        if !lower.is_empty() {
            self.lower.insert(at, lower);
        }
    }
}

fn idx(x: i32, z: i32) -> usize {
    let (x, z) = ((x + APRON as i32) as usize, (z + APRON as i32) as usize);
    assert!(x < SIDE && z < SIDE, "column outside the apron");
    x + SIDE * z
}

/// The edge of a voxel in each row of columns, in metres: that of the tile in which the row lies.
fn row_scales(tile: TileCoord) -> Vec<f64> {
    let beside = [-1, 0, 1].map(|dy| tile.offset_wrapped(0, dy).unwrap_or(tile).metres_per_voxel());
    let of_row = |row: usize| match row {
        ..APRON => beside[0],
        row if row < APRON + REGION_VOXELS as usize => beside[1],
        _ => beside[2],
    };
    (0..SIDE).map(of_row).collect()
}

/// The top faces of the ground.
fn grounds(tile: TileCoord, ground: &Ground, scales: &[f64]) -> Result<Vec<i32>, InputError> {
    let mut tops = vec![NO_GROUND; SIDE * SIDE];
    let edge = REGION_VOXELS as usize;
    for (step_x, step_z) in (-1..=1).flat_map(|dz| (-1..=1).map(move |dx| (dx, dz))) {
        let Some(beside) = tile.offset_wrapped(step_x, step_z) else { continue };
        let surface = ground.surface(beside)?;
        let columns_of = |step: i64| match step {
            -1 => 0..APRON,
            0 => APRON..APRON + edge,
            _ => APRON + edge..SIDE,
        };
        // APRON is less than a tile: the western neighbour shows its last columns.
        let within = |at: usize| (at + edge - APRON) % edge;
        for row in columns_of(step_z) {
            for column in columns_of(step_x) {
                if let Some(height_m) = surface.height_m(within(column), within(row)) {
                    tops[column + SIDE * row] = voxels(height_m, scales[row]);
                }
            }
        }
    }
    Ok(tops)
}

/// The window of a tile and its apron, in the frame of the source tile that holds it.
fn window_of(tile: TileCoord, middle: TileCoord) -> Window {
    let zoom_step = ZOOM_FULL - middle.zoom();
    let tile_units = SOURCE_EXTENT >> zoom_step;
    let voxel_units = tile_units / i64::from(REGION_VOXELS);
    let within = |child: u32, parent: u32| i64::from(child) - (i64::from(parent) << zoom_step);
    Window {
        west: within(tile.x(), middle.x()) * tile_units - APRON as i64 * voxel_units,
        north: within(tile.y(), middle.y()) * tile_units - APRON as i64 * voxel_units,
        voxel_units,
        width: SIDE,
        height: SIDE,
    }
}

/// Whether the box round a feature meets the window.
fn reaches(feature: &Feature, window: &Window) -> bool {
    let points = || feature.polygons.iter().flat_map(|polygon| polygon.rings.iter().flatten());
    let meets = |axis: usize, from: i64, n: usize| {
        let values = || points().map(|point| i64::from(point[axis]));
        let to = from + n as i64 * window.voxel_units;
        values().min().is_some_and(|low| low < to) && values().max().is_some_and(|high| high > from)
    };
    meets(0, window.west, window.width) && meets(1, window.north, window.height)
}

/// A height in whole voxels, the nearest: what stands in the data stands in the city.
pub fn voxels(height_m: f64, voxel_m: f64) -> i32 {
    // The cast saturates, and takes what is no number for 0.
    ((height_m / voxel_m).round() as i32).clamp(-HEIGHT_VOXELS_MAX, HEIGHT_VOXELS_MAX)
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
