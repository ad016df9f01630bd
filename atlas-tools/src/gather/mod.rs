//! The gathering of a city: inputs that are read from their beginning to their end, sorted by the tiles that need them.
//!
//! Receives the items of such inputs, one at a time, and keeps them on disk; yields what a tile needs, in the order of
//! the inputs. Memory holds a few numbers for each item. It decides nothing about voxels, and what it yields for a tile
//! does not depend on which other tiles are asked for.

mod lows;
mod piece;
mod problems;
mod spill;
mod tiles;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use rustc_hash::{FxHashMap, FxHashSet};
use voxatlas::geo::{TileCoord, WORLD_VOXELS};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

pub(crate) use piece::Piece;
pub(crate) use problems::Problems;
pub(crate) use tiles::GatheredTiles;

use crate::columns::APRON;
use crate::encode::Counts;
use crate::encode::Plan;
use crate::ground::Base;
use crate::input::{
    Cover, FeatureId, InputError, Item, Prism, Problem, Sink, Stream, Texture, TextureStore, VoxelModel, Wanted,
};
use crate::points::{PointSpill, SpiltPoints};
use crate::terrain::relief::{Relief, ReliefStore};
use lows::Lows;
use piece::Whole;
use spill::{Spill, SpillWriter};

/// How far round its tiles a run reads, in tiles: a building stands on ground up to two tiles away, which stands on
/// bases a tile farther.
const HALO_TILES: f64 = 4.0;

/// What round a tile belongs to it, in voxels: its plan has an apron, and what lies at a border counts on both sides.
const MARGIN: f64 = APRON as f64 + 1.0;

/// Bytes of relief and of points that are kept in memory.
const RELIEF_BYTES: u64 = 64 << 20;
const POINT_BYTES: u64 = 128 << 20;

/// Bytes of decoded images that are kept in memory.
const TEXTURE_BYTES: u64 = 128 << 20;

/// What the gathering of a city needs to know.
pub(crate) struct GatherOptions<'a> {
    /// The tiles.
    pub(crate) plan: &'a Plan,
    /// A folder for what is read.
    pub(crate) scratch: &'a Path,
    /// The names of features that are left out.
    pub(crate) without: &'a [String],
    /// Whether it matters which models are closed.
    pub(crate) with_inside: bool,
    /// Set where the work is to end.
    pub(crate) stop: &'a AtomicBool,
    /// Bytes that are read.
    pub(crate) progress: &'a ProgressBar,
}

/// A city whose inputs were read.
pub(crate) struct Gathered {
    /// Its footprints.
    pub(crate) tiles: GatheredTiles,
    models: Spill<Piece>,
    voxels: Spill<VoxelModel>,
    covers: Spill<Cover>,
    /// Its points.
    pub(crate) points: SpiltPoints,
    /// Its TINs.
    pub(crate) relief: Option<Relief>,
    /// Where things stand.
    pub(crate) bases: Vec<Base>,
    /// The images that surfaces refer to.
    pub(crate) textures: TextureStore,
    /// What was tolerated.
    pub(crate) problems: Problems,
    /// Models, by the lowest tile of the run that each reaches.
    counts: FxHashMap<TileCoord, u64>,
}

impl Gathered {
    /// Reads streams, in their order.
    pub(crate) fn read(streams: &[(usize, Box<dyn Stream>)], options: &GatherOptions<'_>) -> Result<Self, InputError> {
        let mut gather = Gather::new(options)?;
        let wanted = gather.wanted.clone();
        for (_, stream) in streams {
            gather.name = stream.name();
            gather.read_before = options.progress.position();
            stream.read(&wanted, &mut gather)?;
            stream.placers().iter().for_each(|placer| gather.problems.assume(&gather.name, placer));
        }
        gather.finish()
    }

    /// The models that reach a tile.
    pub(crate) fn models(&self, tile: TileCoord) -> Result<Vec<Piece>, InputError> {
        self.models.get(tile)
    }

    /// The models of voxels that reach a tile.
    pub(crate) fn voxels(&self, tile: TileCoord) -> Result<Vec<VoxelModel>, InputError> {
        self.voxels.get(tile)
    }

    /// The pieces of ground in a tile.
    pub(crate) fn covers(&self, tile: TileCoord) -> Result<Vec<Cover>, InputError> {
        self.covers.get(tile)
    }

    /// What is counted in a tile beside its footprints.
    pub(crate) fn counts(&self, tile: TileCoord) -> Counts {
        let features = self.counts.get(&tile).copied().unwrap_or_default();
        Counts { features, feature_copies: features, ..Counts::default() }
    }
}

/// The gathering itself.
struct Gather<'a> {
    options: &'a GatherOptions<'a>,
    name: String,
    read_before: u64,
    wanted: Wanted,
    /// The tiles to make.
    own: FxHashSet<TileCoord>,
    /// The source tiles of the tiles to make, and those beside them.
    sources: BTreeSet<TileCoord>,
    prisms: SpillWriter<Prism>,
    models: SpillWriter<Piece>,
    voxels: SpillWriter<VoxelModel>,
    covers: SpillWriter<Cover>,
    points: PointSpill,
    lows: Lows,
    relief: ReliefStore,
    bases: Vec<Base>,
    textures: TextureStore,
    problems: Problems,
    counts: FxHashMap<TileCoord, u64>,
    /// The models that are counted: a building comes in as many models as it has parts.
    counted: FxHashSet<FeatureId>,
}

impl<'a> Gather<'a> {
    fn new(options: &'a GatherOptions<'a>) -> Result<Self, InputError> {
        let own: FxHashSet<TileCoord> = options.plan.own().collect();
        let relief_tiles = near(options.plan.own(), HALO_TILES as i64);
        Ok(Self {
            options,
            name: String::new(),
            read_before: 0,
            wanted: wanted(options.plan),
            own,
            sources: sources(options.plan),
            prisms: SpillWriter::new(options.scratch)?,
            models: SpillWriter::new(options.scratch)?,
            voxels: SpillWriter::new(options.scratch)?,
            covers: SpillWriter::new(options.scratch)?,
            points: PointSpill::new(options.scratch, POINT_BYTES, Some(options.plan.own().collect())),
            lows: Lows::default(),
            relief: ReliefStore::new(options.scratch, RELIEF_BYTES, Some(relief_tiles)),
            bases: Vec::new(),
            textures: TextureStore::new(TEXTURE_BYTES),
            problems: Problems::default(),
            counts: FxHashMap::default(),
            counted: FxHashSet::default(),
        })
    }

    fn finish(mut self) -> Result<Gathered, InputError> {
        self.bases.extend(self.lows.bases());
        Ok(Gathered {
            tiles: GatheredTiles::new(self.prisms.finish()?, self.options.plan.source_zoom()),
            models: self.models.finish()?,
            voxels: self.voxels.finish()?,
            covers: self.covers.finish()?,
            points: self.points.finish()?,
            relief: self.relief.finish(),
            bases: self.bases,
            textures: self.textures,
            problems: self.problems,
            counts: self.counts,
        })
    }

    /// The tiles to make that a box reaches.
    fn reached(&self, bounds: [f64; 4]) -> Vec<TileCoord> {
        tiles_in(grown(bounds, MARGIN), ZOOM_FULL, |tile| self.own.contains(&tile), self.own.iter().copied())
    }

    /// Counts a thing in the lowest tile of the run that it reaches.
    fn count(&mut self, id: FeatureId, bounds: [f64; 4]) {
        if !self.counted.insert(id) {
            return;
        }
        let all = self.options.plan.all();
        let reached = tiles_in(bounds, ZOOM_FULL, |tile| all.contains(&tile), all.iter().copied());
        if let Some(lowest) = reached.into_iter().min() {
            *self.counts.entry(lowest).or_default() += 1;
        }
    }

    fn prism(&mut self, prism: &Prism) -> Result<(), InputError> {
        let Some(bounds) = around(prism.polygons.iter().flatten().flatten().copied()) else { return Ok(()) };
        let sources = &self.sources;
        let tiles =
            tiles_in(bounds, self.options.plan.source_zoom(), |tile| sources.contains(&tile), sources.iter().copied());
        self.prisms.put(prism, tiles)
    }

    fn model(&mut self, model: &crate::input::Model) -> Result<(), InputError> {
        let mut found = Vec::new();
        let whole = Whole::of(model, self.options.with_inside, &mut |problem| found.push(problem));
        for problem in found {
            self.problem(&model.named.name, problem);
        }
        let Some(whole) = whole else { return Ok(()) };
        self.bases.extend(whole.bases(model));
        for tile in self.reached(whole.bounds) {
            let piece = whole.piece(model, grown(beside(box_of(tile), whole.bounds), MARGIN));
            self.models.put(&piece, [tile])?;
        }
        self.count(whole.id, whole.bounds);
        Ok(())
    }
}

impl Sink for Gather<'_> {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Err(InputError::Interrupted);
        }
        let name = match &item {
            Item::Prism(prism) => Some(&prism.named.name),
            Item::Model(model) => Some(&model.named.name),
            Item::Cover(cover) => Some(&cover.named.name),
            Item::Voxels(model) => Some(&model.named.name),
            Item::Relief(_) | Item::Points(_) => None,
        };
        if name.is_some_and(|name| self.options.without.contains(name)) {
            return Ok(());
        }
        match item {
            Item::Prism(prism) => self.prism(&prism),
            Item::Model(model) => self.model(&model),
            Item::Cover(cover) => {
                let Some(bounds) = around(cover.polygons.iter().flatten().flatten().copied()) else { return Ok(()) };
                let tiles = self.reached(bounds);
                self.covers.put(&cover, tiles)
            }
            Item::Relief(triangles) => {
                for triangle in &triangles {
                    if let Some(problem) = self.relief.add(triangle)? {
                        self.problem("", problem);
                    }
                }
                Ok(())
            }
            Item::Points(points) => {
                self.lows.add(&points);
                for _ in 0..self.points.add(&points)? {
                    self.problem("", Problem::BadCoordinate);
                }
                Ok(())
            }
            Item::Voxels(model) => {
                let edge = model.edge;
                let corners = model.voxels.iter().flat_map(|([x, _, z], _)| {
                    let place = |step: i32| {
                        [model.corner.x + f64::from(x + step) * edge, model.corner.z + f64::from(z + step) * edge]
                    };
                    [place(0), place(1)]
                });
                let Some(bounds) = around(corners) else { return Ok(()) };
                let tiles = self.reached(bounds);
                self.count(model.named.id, bounds);
                self.voxels.put(&model, tiles)
            }
        }
    }

    fn texture(&mut self, texture: Texture) -> u32 {
        self.textures.number(texture)
    }

    fn problem(&mut self, feature: &str, problem: Problem) {
        self.problems.add(&self.name, feature, problem);
    }

    fn progress(&mut self, bytes: u64) {
        self.options.progress.set_position(self.read_before + bytes);
    }
}

/// The box of a tile in the world: west, north, east, south, in z17 voxels.
pub(crate) fn box_of(tile: TileCoord) -> [f64; 4] {
    let edge = f64::from(REGION_VOXELS << (ZOOM_FULL - tile.zoom().min(ZOOM_FULL)));
    let [west, north] = [tile.x(), tile.y()].map(|place| f64::from(place) * edge);
    [west, north, west + edge, north + edge]
}

/// The source tiles of the tiles to make, and those beside them.
pub(crate) fn sources(plan: &Plan) -> BTreeSet<TileCoord> {
    let own = plan.source_rows().flat_map(|y| plan.sources(y));
    let beside =
        |source: TileCoord| (-1..=1).flat_map(move |dy| (-1..=1).filter_map(move |dx| source.offset_wrapped(dx, dy)));
    own.flat_map(beside).collect()
}

/// What a run reads for the tiles that it makes.
pub(crate) fn wanted(plan: &Plan) -> Wanted {
    Wanted { boxes: boxes_near(sources(plan).into_iter()) }
}

/// The boxes in the world round some tiles, as far as what stands in these depends on.
fn boxes_near(tiles: impl Iterator<Item = TileCoord>) -> Vec<[f64; 4]> {
    // Tiles of one row beside each other make one box: readers ask for each feature.
    let mut rows: std::collections::BTreeMap<u32, Vec<TileCoord>> = std::collections::BTreeMap::new();
    tiles.for_each(|tile| rows.entry(tile.y()).or_default().push(tile));
    let mut boxes: Vec<[f64; 4]> = Vec::new();
    for mut row in rows.into_values() {
        row.sort_unstable();
        for [west, north, east, south] in row.into_iter().map(box_of) {
            match boxes.last_mut().filter(|last| last[1] == north && last[2] == west) {
                Some(last) => last[2] = east,
                None => boxes.push([west, north, east, south]),
            }
        }
    }
    boxes.into_iter().map(|bounds| grown(bounds, HALO_TILES * f64::from(REGION_VOXELS))).collect()
}

/// The box of a tile, moved by whole worlds to where the shape with that box sees it: shapes go on beyond the
/// antimeridian.
pub(crate) fn beside(tile: [f64; 4], shape: [f64; 4]) -> [f64; 4] {
    let world = f64::from(WORLD_VOXELS);
    let middle = |[west, _, east, _]: [f64; 4]| f64::midpoint(west, east);
    let turns = ((middle(shape) - middle(tile)) / world).round();
    [tile[0] + turns * world, tile[1], tile[2] + turns * world, tile[3]]
}

fn grown([west, north, east, south]: [f64; 4], by: f64) -> [f64; 4] {
    [west - by, north - by, east + by, south + by]
}

/// The box round some places.
pub(crate) fn around(places: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 4]> {
    let whole = places.filter(|place| place.iter().all(|value| value.is_finite()));
    whole.map(|[x, z]| [x, z, x, z]).reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])
}

/// The tiles of a zoom that meet a box and are among `known`, in order. Walks the box or the known tiles, whichever are
/// fewer: a box may cover a continent.
fn tiles_in(
    bounds: [f64; 4],
    zoom: u8,
    is_known: impl Fn(TileCoord) -> bool,
    known: impl ExactSizeIterator<Item = TileCoord>,
) -> Vec<TileCoord> {
    let edge = f64::from(REGION_VOXELS << (ZOOM_FULL - zoom));
    let [west, north, east, south] = bounds.map(|along| (along / edge).floor() as i64);
    let n_tiles = ((east - west + 1) as i128) * ((south - north + 1) as i128);
    let side = 1i64 << zoom;
    let mut tiles: Vec<TileCoord> = if n_tiles > known.len() as i128 {
        let meets = |tile: &TileCoord| {
            let shape = beside(box_of(*tile), bounds);
            shape[0] <= bounds[2] && shape[2] >= bounds[0] && shape[1] <= bounds[3] && shape[3] >= bounds[1]
        };
        known.filter(meets).collect()
    } else {
        let rows = north.max(0)..=south.min(side - 1);
        let places = rows.flat_map(|y| (west..=east).map(move |x| (x.rem_euclid(side), y)));
        places
            .filter_map(|(x, y)| TileCoord::new(zoom, x as u32, y as u32).ok())
            .filter(|&tile| is_known(tile))
            .collect()
    };
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}

/// Some tiles and all that lie within so many tiles of one of them.
fn near(tiles: impl Iterator<Item = TileCoord>, reach: i64) -> BTreeSet<TileCoord> {
    // Whole rows first, then columns: each tile is looked at a few times rather than (2 reach + 1)^2 times.
    let spread = |tiles: BTreeSet<TileCoord>, [dx, dy]: [i64; 2]| -> BTreeSet<TileCoord> {
        tiles.iter().flat_map(|tile| (-reach..=reach).filter_map(|n| tile.offset_wrapped(n * dx, n * dy))).collect()
    };
    spread(spread(tiles.collect(), [1, 0]), [0, 1])
}
