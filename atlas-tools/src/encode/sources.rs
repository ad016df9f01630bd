//! All that a run reads: the source tiles, what was gathered, the ground and its colours.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Colour;

use super::plan::Plan;
use super::record::Counts;
use super::settings::{GroundMode, Settings};
use crate::columns::{APRON, Columns, SIDE};
use crate::gather::{GatherOptions, Gathered, Problems};
use crate::ground::Ground;
use crate::input::{Cover, Described, FeatureId, Input, InputError, Opened, Polygon};
use crate::look::{self, Tint};
use crate::raster::{self, Raster, Window};
use crate::scatter::{Dot, NO_FEATURE, Scatter};
use crate::surfaces;
use crate::terrain::{Elevation, GroundStack, Imagery};

/// The rank of a voxel model, and of points: above all surfaces.
const VOXEL_RANK: u8 = 100;
const POINT_RANK: u8 = 101;

/// Bytes of elevation that are kept in memory.
const ELEVATION_BYTES: u64 = 128 << 20;

/// Columns along a tile's edge.
const EDGE: usize = REGION_VOXELS as usize;

/// What a run reads.
pub(super) struct Sources {
    tiled: Vec<(usize, Box<dyn Input>)>,
    gathered: Gathered,
    imagery: Vec<Box<dyn Imagery>>,
    /// Where the ground is.
    pub(super) ground: Ground,
    /// Whether the ground is made of voxels.
    pub(super) has_ground: bool,
    /// Whether the ground is guessed from what stands on it, rather than told: a matter of the kinds of the inputs alone.
    pub(super) is_ground_guessed: bool,
}

/// What a tile has beside its plan.
#[derive(Default)]
pub(super) struct Models {
    /// Their voxels.
    pub(super) scatter: Scatter,
    /// What the dots' features are called.
    pub(super) features: Vec<(FeatureId, Described)>,
    /// Points of point clouds in the tile.
    pub(super) n_points: u64,
    /// The columns, of the tile's plan with its apron, over which a model stands.
    covered: Vec<bool>,
}

impl Models {
    /// Tells a plan where models stand, so that the ground around them looks built up.
    pub(super) fn cover(&self, columns: &mut Columns) {
        if !self.covered.is_empty() {
            columns.cover(&self.covered);
        }
    }
}

impl Sources {
    /// Reads what has to be read from its beginning to its end, and opens the rest.
    pub(super) fn open(
        opened: Opened,
        plan: &Plan,
        settings: &Settings,
        scratch: &Path,
        stop: &AtomicBool,
        progress: &ProgressBar,
    ) -> Result<Self, InputError> {
        let Opened { tiled, streams, elevations, imagery, has_own_heights, .. } = opened;
        let has_terrain = !elevations.is_empty();
        let options = GatherOptions {
            plan,
            scratch,
            without: &settings.read.without,
            with_inside: settings.fill,
            stop,
            progress,
        };
        let mut gathered = Gathered::read(&streams, &options)?;
        let mut stack: Vec<Box<dyn Elevation>> = elevations;
        if let Some(relief) = gathered.relief.take() {
            stack.insert(0, Box::new(relief));
        }
        let bases = std::mem::take(&mut gathered.bases);
        // Whether the ground is flat depends on the kinds of the inputs alone: each shard of a run decides alike.
        let flat_m = settings.ground_height_m.or((!has_terrain && !has_own_heights).then_some(0.0));
        let ground = match settings.ground {
            GroundMode::Flat => Ground::flat(settings.ground_height_m.unwrap_or(0.0)),
            GroundMode::Auto | GroundMode::None => Ground::new(GroundStack::new(stack, ELEVATION_BYTES), bases, flat_m),
        };
        Ok(Self {
            tiled,
            gathered,
            imagery,
            ground,
            has_ground: settings.ground != GroundMode::None,
            is_ground_guessed: settings.ground == GroundMode::Auto && !has_terrain && has_own_heights,
        })
    }

    /// The inputs that are asked for a source tile at a time.
    pub(super) fn tiled(&self) -> impl Iterator<Item = &dyn Input> {
        self.tiled.iter().map(|(_, input)| input.as_ref()).chain([&self.gathered.tiles as &dyn Input])
    }

    /// What was tolerated while reading.
    pub(super) fn problems(&self) -> &Problems {
        &self.gathered.problems
    }

    /// What is counted in a tile beside its footprints.
    pub(super) fn counts(&self, tile: TileCoord) -> Counts {
        self.gathered.counts(tile)
    }

    /// What a tile has beside its plan.
    pub(super) fn models(&self, tile: TileCoord) -> Result<Models, InputError> {
        let mut models = Models::default();
        let mut dots = Vec::new();
        for piece in self.gathered.models(tile)? {
            let feature = models.features.len() as u32;
            surfaces::dots_of(&piece, tile, feature, &self.gathered.textures, &mut dots);
            models.covered.resize(SIDE * SIDE, false);
            let apron = APRON as i64;
            surfaces::covered(&piece, tile, -apron, SIDE as u32, |x, z| {
                models.covered[(x + apron) as usize + SIDE * (z + apron) as usize] = true;
            });
            models.features.push((piece.whole.id, piece.whole.described));
        }
        for model in self.gathered.voxels(tile)? {
            let feature = models.features.len() as u32;
            crate::cubes::dots_of(&model, tile, feature, VOXEL_RANK, &mut dots);
            let described = Described { name: model.named.name, attributes: model.named.attributes };
            models.features.push((model.named.id, described));
        }
        models.n_points = self.gathered.points.n_points(tile);
        let points = self.gathered.points.bins(tile)?.voxels();
        dots.extend(points.into_iter().map(|voxel| Dot {
            x: voxel.x,
            y: voxel.y,
            z: voxel.z,
            tint: Tint::Colour(voxel.colour),
            feature: NO_FEATURE,
            rank: POINT_RANK,
            rise: 0,
        }));
        models.scatter = Scatter::new(dots);
        Ok(models)
    }

    /// The colours of a tile as images from above have them, the first image that knows a column counts; by column
    /// x + 256 z, empty where none knows any.
    pub(super) fn ortho(&self, tile: TileCoord) -> Result<Vec<Option<Colour>>, InputError> {
        let mut seen: Vec<Option<Colour>> = Vec::new();
        for image in &self.imagery {
            let Some(colours) = image.tile(tile)? else { continue };
            seen.resize(EDGE * EDGE, None);
            for (idx, colour) in seen.iter_mut().enumerate().filter(|(_, colour)| colour.is_none()) {
                *colour = colours.at(idx % EDGE, idx / EDGE);
            }
        }
        Ok(seen)
    }

    /// The tints of a tile's ground where features tell them, by column x + 256 z; empty where none tells any.
    pub(super) fn cover(&self, tile: TileCoord) -> Result<Vec<Option<Tint>>, InputError> {
        let mut covers = self.gathered.covers(tile)?;
        if covers.is_empty() {
            return Ok(Vec::new());
        }
        // The later kind shows, of one kind the later feature.
        covers.sort_by_key(|cover| (cover.kind, cover.named.id));
        let mut tints = vec![None; EDGE * EDGE];
        let mut raster = Raster::default();
        for cover in &covers {
            let tint = cover.colour.map_or_else(|| Tint::Ink(look::cover(cover.kind)), Tint::Colour);
            fill(cover, tile, &mut raster, |idx| tints[idx] = Some(tint));
        }
        Ok(tints)
    }
}

/// Calls `column(x + 256 z)` for the columns of a tile that a piece of ground covers.
fn fill(cover: &Cover, tile: TileCoord, raster: &mut Raster, mut column: impl FnMut(usize)) {
    let units = f64::from(crate::geometry::UNITS as i32);
    let window = Window { west: 0, north: 0, voxel_units: crate::geometry::UNITS, width: EDGE, height: EDGE };
    let bounds = crate::gather::around(cover.polygons.iter().flatten().flatten().copied());
    let Some(bounds) = bounds else { return };
    let [west, north, ..] = crate::gather::beside(crate::gather::box_of(tile), bounds);
    for rings in &cover.polygons {
        // The cast saturates.
        let point = |[x, z]: [f64; 2]| {
            [(x - west) * units, (z - north) * units]
                .map(|along| (libm::round(along) as i32).clamp(-(1 << 29), 1 << 29))
        };
        let polygon = Polygon { rings: rings.iter().map(|ring| ring.iter().copied().map(point).collect()).collect() };
        raster.fill(&polygon, &window, |z, mask| raster::columns(mask, |x| column(x + EDGE * z)));
    }
}
