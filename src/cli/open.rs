//! From what was typed to an open source and a first view of it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use super::NetArgs;
use crate::geo::{LonLat, mercator};
use crate::limits::{INTEREST_TILES, N_ZOOMS, REGION_VOXELS};
use crate::source::Source;
use crate::view::ViewSpec;

/// What stands for the embedded demo city.
const DEMO: &str = "demo";

/// Vertical field of view, in radians: 50 degrees, the reference system's newest default.
pub const FOV_Y_RAD: f64 = 50.0 * std::f64::consts::PI / 180.0;

/// How far one would like to see, in voxels: as far as regions of the coarsest zoom are looked for, 80 km. Where a tileset
/// has no pyramid, the interest draws it in.
pub const DRAW_DISTANCE_VOXELS: f64 = ((INTEREST_TILES * REGION_VOXELS as usize) << (N_ZOOMS - 1)) as f64;

/// The demo city from its best side: over the old town, the tower and the park, towards the high-rises.
const DEMO_VIEW: &str = "0.0036,-0.0050,330,331,-17";

/// Where a tileset without a `--view` is looked at from: this far south-east of its middle and this high, in metres.
const FIRST_DISTANCE_M: f64 = 420.0;
const FIRST_HEIGHT_M: f64 = 300.0;
const NORTH_WEST_DEG: f64 = 315.0;
const FIRST_PITCH_DEG: f64 = -30.0;

/// What every command that opens a tileset takes.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// A directory, a tiles.json, a .pmtiles archive, a URL of these, or a URL template such as https://host/{z}/{x}/{y}.png; without it the
    /// embedded demo city
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// Where to look from: longitude, latitude, height above the tileset's datum in metres, bearing clockwise from
    /// north and pitch (negative looks down) in degrees
    #[arg(long, value_name = "LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG", allow_hyphen_values = true)]
    pub view: Option<ViewSpec>,
    /// How web servers are asked.
    #[command(flatten)]
    pub net: NetArgs,
}

/// What every command that streams takes.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Write what the stream does, region by region, to a file: a JSON object a line; an old file is overwritten
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

/// Opens what was typed, or the demo city.
///
/// # Errors
///
/// An option is wrong, or there is no source.
pub fn source(args: &SourceArgs) -> Result<Source> {
    let text = args.source.as_deref().unwrap_or(DEMO);
    Ok(Source::open_blocking(text, &args.net.config()?)?)
}

/// The view that was typed, or one of the middle of the tileset from the south-east.
///
/// # Errors
///
/// The tileset says neither where it is nor which tiles it has.
pub fn first_view(args: &SourceArgs, source: &Source) -> Result<ViewSpec> {
    if let Some(view) = args.view {
        return Ok(view);
    }
    if args.source.as_deref().is_none_or(|text| text == DEMO) {
        return Ok(DEMO_VIEW.parse()?);
    }
    let [west, south, east, north] = source.tileset().bounds.with_context(|| {
        format!("{} does not say where it lies: add --view LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG", source.name())
    })?;
    let east = if east < west { east + 360.0 } else { east };
    let middle_lon = f64::midpoint(west, east);
    let middle =
        LonLat::new(if middle_lon > 180.0 { middle_lon - 360.0 } else { middle_lon }, f64::midpoint(south, north))?;
    let [x, z] = middle.to_world();
    let aside = FIRST_DISTANCE_M * std::f64::consts::FRAC_1_SQRT_2 / mercator::metres_per_voxel_at(z);
    let place = LonLat::from_world(x + aside, z + aside);
    Ok(ViewSpec::new(place, FIRST_HEIGHT_M, NORTH_WEST_DEG, FIRST_PITCH_DEG)?)
}

/// The largest picture edge, in pixels: what every adapter's default limits allow.
const SIZE_PX_MAX: u32 = 8192;

/// Reads a picture's size in pixels, `WxH`.
///
/// # Errors
///
/// The text is no size, or one that no adapter draws.
pub fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let parse = |part: &str| part.parse().ok().filter(|px| (1..=SIZE_PX_MAX).contains(px));
    text.split_once(['x', 'X'])
        .and_then(|(width, height)| Some((parse(width)?, parse(height)?)))
        .ok_or_else(|| format!("expected WxH in pixels, each 1 to {SIZE_PX_MAX}, such as 1280x720"))
}
