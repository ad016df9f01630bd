//! `atlas-tools demo`: writes the demo city, the tileset that the viewer shows when it is given none.
//!
//! A made-up city of three by three regions at 0 N 0 E. Made by rules and hashes of places alone: the same bytes on
//! every machine.
//!
//! ```text
//! plan (what each square metre is for) -> ground -> green, houses, landmark -> canvas -> regions -> files -> pyramid
//! ```

mod canvas;
mod chance;
mod green;
mod ground;
mod houses;
mod landmark;
mod palette;
mod plan;

use std::sync::atomic::AtomicBool;

use clap::Args;
use rayon::prelude::*;
use voxatlas::atlas::{self, AtlasMetadata};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{REGION_VOXELS, ZOOM_COARSEST, ZOOM_FULL};
use voxatlas::voxel::Region;

use crate::document::{FLAT, document};
use crate::flags::OutputFlags;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::pyramid;
use crate::tileset_files::file_name;
use crate::voxelise::BASE;
use canvas::Canvas;

/// The north-western tile: the city's middle lies close to 0 N 0 E, where no real city is.
const FIRST_TILE: [u32; 2] = [65_535, 65_535];

/// Regions along an edge of the city.
const N_REGIONS: u32 = plan::CITY_VOXELS as u32 / REGION_VOXELS;

/// What the tileset says of itself.
const NAME: &str = "Demo city";
const CREDIT: &str = "voxatlas demo city";
const DATUM: &str = "street level";

/// Writes the demo city with its pyramid: streets, blocks, high-rises, a park, a river and a tower that goes on in layer
/// 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools demo --out demo && voxatlas view demo

Exit codes: 0 done, 2 wrong usage or nothing done.")]
pub struct DemoArgs {
    /// What receives {z}/{x}/{y}.png and tiles.json: a folder, or s3://, gs://, az://; files of the same names are replaced
    #[arg(long, value_name = "DIR|URL")]
    pub out: String,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Runs the command.
///
/// # Errors
///
/// The output cannot be written.
pub fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let out = Output::create(&args.out)?;
    let regions = city()?;
    let files: Vec<Vec<u8>> = regions.par_iter().map(|(key, region)| atlas::encode(region, &metadata(*key))).collect();
    for ((key, _), file) in regions.iter().zip(&files) {
        out.write(&file_name(*key), file)?;
    }
    let written: Vec<_> = regions.iter().map(|(key, _)| *key).collect();
    let mut document = document(&written, CREDIT, FLAT);
    document.name = Some(NAME.to_owned());
    if let Some(object) = &mut document.voxatlas {
        DATUM.clone_into(&mut object.datum);
    }
    out.write("tiles.json", document.to_json().as_bytes())?;
    let stop = AtomicBool::new(false);
    let pyramid =
        pyramid::Build { out: &out, min_zoom: ZOOM_COARSEST, share: None, force: false, quiet: true, stop: &stop }
            .run(document)?;

    let bytes: usize = files.iter().map(Vec::len).sum();
    args.output.say(
        || format!("{}\n", serde_json::json!({ "regions": regions.len(), "bytes": bytes, "pyramid": pyramid })),
        || format!("{}: {} regions, {bytes} bytes\n{}", args.out, regions.len(), pyramid.to_text()),
    )?;
    Ok(Outcome::Done)
}

/// The city's regions, by column, layer and row.
fn city() -> anyhow::Result<Vec<(RegionKey, Region)>> {
    let mut canvas = Canvas::new(N_REGIONS);
    ground::lay(&mut canvas);
    green::plant(&mut canvas);
    houses::build(&mut canvas);
    landmark::build(&mut canvas);
    canvas
        .into_regions(palette::PALETTE)
        .map(|([column, layer, row], region)| {
            let tile = TileCoord::new(ZOOM_FULL, FIRST_TILE[0] + column, FIRST_TILE[1] + row)?;
            Ok((RegionKey::new(tile, layer as i32), region))
        })
        .collect()
}

fn metadata(key: RegionKey) -> AtlasMetadata {
    AtlasMetadata { key, base: BASE, voxel_size_m: key.tile.metres_per_voxel(), clipped: 0, credit: CREDIT.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_city_that_is_compiled_in_is_the_one_that_is_made() {
        let dir = tempfile::tempdir().unwrap();
        run(&DemoArgs { out: dir.path().display().to_string(), output: OutputFlags { json: false, quiet: true } })
            .unwrap();
        let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/demo");
        let mut n_files = 0;
        let mut bytes = 0;
        for (name, made) in files(dir.path()) {
            let kept = std::fs::read(committed.join(&name)).unwrap_or_default();
            assert!(made == kept, "{name}: run `cargo run -p atlas-tools -- demo --out data/demo`");
            n_files += 1;
            bytes += made.len();
        }
        assert_eq!(n_files, files(&committed).len());
        assert!(n_files > 10 && bytes < 3_000_000, "{n_files} files, {bytes} bytes");
    }

    #[test]
    fn the_landmark_goes_on_above_256_voxels() {
        let regions = city().unwrap();
        let above: Vec<_> = regions.iter().filter(|(key, _)| key.layer == 1).collect();
        assert_eq!(above.len(), 1);
        let occupied = &above[0].1.occupancy;
        let [x, z] = plan::LANDMARK.map(|at| (at % 256) as u32);
        assert!(occupied.get(x, 0, z) && occupied.get(x, 80, z) && !occupied.get(x, 90, z));
    }

    /// All files below a folder: their paths relative to it, and their bytes.
    fn files(root: &std::path::Path) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.push((name, std::fs::read(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}
