//! GeoTIFFs of what is seen from above: the height of each column in metres, and the colour of its top.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;

use super::tiff::{Grid, Pixels, TiledTiff};
use super::{Done, Job};
use crate::contents::height_m;
use crate::output::PartFile;
use crate::surface::{Surface, each_surface};

/// Tiles of a raster at most, those between the regions included: a raster of a terabyte when unpacked.
const TILES_MAX: u64 = 1 << 22;

/// Writes both rasters.
pub(super) fn write(job: &Job<'_>) -> anyhow::Result<Done> {
    job.expect_placed()?;
    let tileset = job.regions.tileset();
    let Some(grid) = Grid::around(job.regions.keys()).filter(|grid| grid.n_tiles() <= TILES_MAX) else {
        bail!("{}: the regions lie too far apart for one raster: expected a --bbox or --tiles", job.regions.name());
    };
    let [height_path, colour_path] = ["height", "colour"].map(|what| beside(job.out, what));
    let (height_part, colour_part) = (PartFile::create(&height_path)?, PartFile::create(&colour_path)?);
    let mut heights = TiledTiff::begin(height_part.file(), grid, Pixels::Height).with_context(|| fail(&height_path))?;
    let mut colours = TiledTiff::begin(colour_part.file(), grid, Pixels::Colour).with_context(|| fail(&colour_path))?;
    let mut walk = job.walk("regions");
    each_surface(&mut walk, |tile, surface| {
        heights.add(tile, &height_pixels(tile, tileset.base(), &surface)).with_context(|| fail(&height_path))?;
        colours.add(tile, &colour_pixels(&surface)).with_context(|| fail(&colour_path))
    })?;
    let datum = tileset.voxatlas.as_ref().map_or("unknown", |object| object.datum.as_str());
    let credit = tileset.attribution.as_deref().unwrap_or_default();
    heights
        .end(&format!("Height of the highest voxel in metres above: {datum}"), credit)
        .with_context(|| fail(&height_path))?;
    colours.end("Colour of the highest voxel", credit).with_context(|| fail(&colour_path))?;
    height_part.finish()?;
    colour_part.finish()?;
    let size = format!("{} x {} pixels", grid.n_columns * REGION_VOXELS, grid.n_rows * REGION_VOXELS);
    Ok(Done { files: vec![height_path, colour_path], ..job.done(walk, vec![size]) })
}

/// `city.tif` becomes `city.height.tif`.
fn beside(out: &Path, what: &str) -> PathBuf {
    let extension = out.extension().and_then(|extension| extension.to_str()).unwrap_or("tif");
    out.with_extension(format!("{what}.{extension}"))
}

fn fail(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

/// Metres above the datum, as f32.
fn height_pixels(tile: TileCoord, base: i32, surface: &Surface) -> Vec<u8> {
    let heights = surface.tops().iter().map(|top| top.map_or(f32::NAN, |top| height_m(tile, base, top.y) as f32));
    heights.flat_map(f32::to_le_bytes).collect()
}

fn colour_pixels(surface: &Surface) -> Vec<u8> {
    let colours = surface.tops().iter().map(|top| match top {
        Some(top) => [top.colour[0], top.colour[1], top.colour[2], 255],
        None => [0; 4],
    });
    colours.flatten().collect()
}
