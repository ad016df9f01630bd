//! All that decides what a run makes: what a plan file carries from one machine to the others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use voxatlas::geo::{Bbox, LonLat, TileCoord};
use voxatlas::limits::ZOOM_FULL;

use super::Needs;
use super::plan::{Asked, check_count, chosen};
use super::record::sha256;
use super::settings::Settings;
use crate::input::{self, InputFile, Opened, Wanted};

/// The zoom of the source tiles into which footprints are sorted where no input has source tiles of its own.
const SOURCE_ZOOM: u8 = 16;

/// The inputs, the settings and the tiles of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The inputs, in the order of the command line.
    pub inputs: Vec<InputFile>,
    /// The settings.
    pub settings: Settings,
    /// The zoom of the source tiles.
    pub source_zoom: u8,
    /// What heights count from, in words.
    pub datum: String,
    /// The tiles, zoom 17, in Morton order, each once.
    pub tiles: Vec<TileCoord>,
}

impl Job {
    /// Chooses the tiles of a run: the job, and its inputs to be asked what tiles need of them.
    ///
    /// # Errors
    ///
    /// An input cannot be used, or holds nothing of what is asked for.
    pub fn new(paths: &[PathBuf], settings: Settings, asked: Asked<'_>) -> anyhow::Result<(Self, Needs)> {
        let inputs = input::expand(paths)?;
        let opened = input::open(&inputs, &settings, None)?;
        let source_zoom = common_zoom(&opened)?;
        let held = held(&opened, asked)?;
        let all = chosen(asked, || held.for_everything())?;
        check_holds(&opened, &held, asked, &all)?;
        let mut tiles: Vec<TileCoord> = all.into_iter().collect();
        tiles.sort_by_key(|tile| morton(*tile));
        let datum = opened.datum().unwrap_or_else(|| crate::document::FLAT.to_owned());
        let needs = Needs::new(opened, inputs.len(), held.extents);
        Ok((Self { inputs, settings, source_zoom, datum, tiles }, needs))
    }

    /// A hash of all of it.
    pub fn hash(&self) -> String {
        // Plain values: nothing in them can fail to be JSON.
        sha256(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// The place in the order of tiles at which a shard begins; that of the shard after the last is the end.
    pub fn shard_start(&self, shard: usize, n_shards: usize) -> usize {
        (self.tiles.len() as u128 * shard as u128 / n_shards.max(1) as u128) as usize
    }

    /// The tiles of a shard: a run of them in Morton order, so that they lie together.
    pub fn shard(&self, shard: usize, n_shards: usize) -> &[TileCoord] {
        &self.tiles[self.shard_start(shard, n_shards)..self.shard_start(shard + 1, n_shards)]
    }
}

/// The place of a tile on the Morton curve of its zoom.
fn morton(tile: TileCoord) -> u64 {
    let spread = |value: u32| (0..32).fold(0u64, |bits, bit| bits | u64::from(value >> bit & 1) << (2 * bit));
    spread(tile.x()) | spread(tile.y()) << 1
}

fn common_zoom(opened: &Opened) -> anyhow::Result<u8> {
    let mut tiled = opened.tiled.iter().map(|(_, input)| input);
    let Some(first) = tiled.next() else { return Ok(SOURCE_ZOOM) };
    if let Some(other) = tiled.find(|input| input.zoom() != first.zoom()) {
        bail!(
            "{} has zoom {}, {} has zoom {}: inputs of one run share a zoom",
            first.name(),
            first.zoom(),
            other.name(),
            other.zoom()
        );
    }
    Ok(first.zoom())
}

/// What inputs hold.
#[derive(Debug, Default)]
struct Held {
    /// Source tiles.
    tiles: BTreeSet<TileCoord>,
    /// Boxes in the world, with what messages call them.
    things: Vec<(String, [f64; 4])>,
    /// Boxes of elevations and images.
    rasters: Vec<(String, [f64; 4])>,
    /// The boxes in the world of inputs that are read from their beginning to their end, in their order.
    extents: Vec<Option<[f64; 4]>>,
}

fn held(opened: &Opened, asked: Asked<'_>) -> anyhow::Result<Held> {
    let mut held = Held::default();
    held.tiles.extend(opened.tiled.iter().flat_map(|(_, input)| input.tiles()));
    for (_, stream) in &opened.streams {
        let extent = stream.extent().map_err(|error| match asked {
            // Where the data should be, the same complaint comes with a guess.
            Asked::Bbox(bbox) => input::extent::complaint(stream.as_ref(), bbox).unwrap_or(error),
            _ => error,
        })?;
        held.extents.push(extent);
        held.things.extend(extent.map(|extent| (stream.name(), extent)));
    }
    held.rasters.extend(opened.elevations.iter().map(|elevation| (elevation.name(), elevation.extent())));
    Ok(held)
}

impl Held {
    /// The tiles of a run that asks for nothing in particular: those of what stands on the ground, or else of the ground
    /// itself.
    fn for_everything(&self) -> anyhow::Result<BTreeSet<TileCoord>> {
        let mut tiles = self.tiles.clone();
        let is_bare = tiles.is_empty() && self.things.is_empty();
        for (name, extent) in if is_bare { &self.rasters } else { &self.things } {
            tiles.extend(
                tiles_of(*extent).map_err(|error| error.context(format!("{name} covers {}", degrees(*extent))))?,
            );
        }
        Ok(tiles)
    }
}

/// The zoom 17 tiles that a box in the world meets.
fn tiles_of([west, north, east, south]: [f64; 4]) -> anyhow::Result<Vec<TileCoord>> {
    let edge = f64::from(voxatlas::limits::REGION_VOXELS);
    let side = 1i64 << ZOOM_FULL;
    let [west, north, east, south] = [west, north, east, south].map(|along| (along / edge).floor() as i64);
    let rows = north.max(0)..=south.min(side - 1);
    let columns = west..=east.min(west + side - 1);
    check_count((rows.clone().count() as u64).saturating_mul((columns.end() - columns.start() + 1) as u64))?;
    let places = rows.flat_map(|y| columns.clone().map(move |x| (x.rem_euclid(side), y)));
    places.map(|(x, y)| Ok(TileCoord::new(ZOOM_FULL, x as u32, y as u32)?)).collect()
}

/// A box in the world in degrees, in words.
fn degrees([west, north, east, south]: [f64; 4]) -> String {
    let (low, high) = (LonLat::from_world(west, south), LonLat::from_world(east, north));
    format!("{:.4},{:.4},{:.4},{:.4}", low.lon_deg(), low.lat_deg(), high.lon_deg(), high.lat_deg())
}

/// Whether a box lies farther from all tiles than parts of one data set do: a hundred tiles, 30 km.
fn is_far(extent: &[f64; 4], all: &BTreeSet<TileCoord>) -> bool {
    const FAR: f64 = 100.0 * 256.0;
    let near = Wanted { boxes: vec![[extent[0] - FAR, extent[1] - FAR, extent[2] + FAR, extent[3] + FAR]] };
    !all.iter().any(|tile| near.meets(crate::gather::box_of(*tile)))
}

/// Refuses a run whose tiles meet nothing that the inputs hold: coordinates of the wrong CRS land elsewhere.
fn check_holds(opened: &Opened, held: &Held, asked: Asked<'_>, all: &BTreeSet<TileCoord>) -> anyhow::Result<()> {
    let has_source = |tile: &TileCoord| {
        let climb = std::iter::successors(Some(*tile), |tile| tile.parent());
        climb.into_iter().any(|tile| held.tiles.contains(&tile))
    };
    let meets = |extent: &[f64; 4]| {
        all.iter().any(|tile| {
            let [west, north, east, south] = crate::gather::beside(crate::gather::box_of(*tile), *extent);
            west <= extent[2] && east >= extent[0] && north <= extent[3] && south >= extent[1]
        })
    };
    let words = match asked {
        Asked::Bbox(bbox) => format!("nothing in {bbox}"),
        Asked::Tiles(_) => "none of the tiles of --tiles".to_owned(),
        Asked::Everything => "nothing".to_owned(),
    };
    // One that misses all of it is an error though others do not: its CRS is wrong.
    for ((_, stream), extent) in opened.streams.iter().zip(&held.extents) {
        let Some(extent) = extent.filter(|extent| !meets(extent)) else { continue };
        if opened.streams.len() > 1 && !is_far(&extent, all) {
            continue;
        }
        let guess = match asked {
            Asked::Bbox(bbox) => stream.guess(bbox.to_array()),
            _ => None,
        };
        let guess = guess.map_or_else(String::new, |guess| format!("; {guess}"));
        bail!("{} holds {words}: it covers {}{guess}", stream.name(), degrees(extent));
    }
    let holds_any =
        all.iter().any(has_source) || held.things.iter().chain(&held.rasters).any(|(_, extent)| meets(extent));
    if holds_any {
        return Ok(());
    }
    let edges = held.tiles.iter().map(|tile| tile.bounds().to_array());
    let around = edges.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
    let mut covered: Vec<String> =
        around.map(|[w, s, e, n]| format!("{w:.4},{s:.4},{e:.4},{n:.4}")).into_iter().collect();
    covered.extend(held.things.iter().chain(&held.rasters).map(|(_, extent)| degrees(*extent)));
    if covered.is_empty() {
        bail!("the inputs hold nothing that can be encoded");
    }
    bail!("the input holds {words}: it covers {}", covered.join(" and "))
}

impl Job {
    /// The box round the tiles, in degrees.
    pub fn bbox(&self) -> Option<Bbox> {
        let edges = self.tiles.iter().map(|tile| tile.bounds().to_array());
        let [w, s, e, n] = edges.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
        Bbox::new(w, s, e, n).ok()
    }
}
