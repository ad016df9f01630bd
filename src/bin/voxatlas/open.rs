//! From what was typed to an open source and a first view of it.

use anyhow::{Context as _, Result};
use voxatlas::geo::{LonLat, mercator};
use voxatlas::limits::{INTEREST_TILES, N_ZOOMS, REGION_VOXELS};
use voxatlas::source::Source;
use voxatlas::view::ViewSpec;

use crate::args::SourceArgs;

/// What stands for the embedded demo city.
const DEMO: &str = "demo";

/// Vertical field of view, in radians: 50 degrees, the reference system's newest default.
pub(crate) const FOV_Y_RAD: f64 = 50.0 * std::f64::consts::PI / 180.0;

/// How far one would like to see, in voxels: as far as regions of the coarsest zoom are looked for, 80 km. Where a tileset
/// has no pyramid, the interest draws it in.
pub(crate) const DRAW_DISTANCE_VOXELS: f64 = ((INTEREST_TILES * REGION_VOXELS as usize) << (N_ZOOMS - 1)) as f64;

/// The demo city from its best side: over the old town, the tower and the park, towards the high-rises.
const DEMO_VIEW: &str = "0.0036,-0.0050,330,331,-17";

/// Where a tileset without a `--view` is looked at from: this far south-east of its middle and this high, in metres.
const FIRST_DISTANCE_M: f64 = 420.0;
const FIRST_HEIGHT_M: f64 = 300.0;
const NORTH_WEST_DEG: f64 = 315.0;
const FIRST_PITCH_DEG: f64 = -30.0;

/// Opens what was typed, or the demo city.
pub(crate) fn source(args: &SourceArgs) -> Result<Source> {
    let text = args.source.as_deref().unwrap_or(DEMO);
    Ok(Source::open_blocking(text, &args.net.config()?)?)
}

/// The view that was typed, or one of the middle of the tileset from the south-east.
///
/// # Errors
///
/// The tileset says neither where it is nor which tiles it has.
pub(crate) fn first_view(args: &SourceArgs, source: &Source) -> Result<ViewSpec> {
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
