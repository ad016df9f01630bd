//! A file becomes voxels.
//!
//! ```text
//! cargo run --example decode_atlas [FILE]
//! ```
//!
//! Decodes an atlas, the demo city's centre unless a file is named, and prints what it holds: what the file says of
//! itself, how much of it is occupied, and its roofs from above.

use std::error::Error;

use voxatlas::atlas::{Decoder, EncodedAtlas, decode};
use voxatlas::limits::{N_BRICKS, REGION_VOXELS};
use voxatlas::voxel::Occupancy;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/demo/17/65536/65536.png");

/// Voxels that one character stands for: it is about twice as high as wide.
const CELL: (u32, u32) = (4, 8);

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| DEMO.to_owned());
    let atlas = EncodedAtlas::new(std::fs::read(&path)?);
    println!("{path}: {} bytes", atlas.bytes().len());

    if let Some(metadata) = Decoder::new(atlas.bytes())?.metadata() {
        println!("region {}, {:.3} m a voxel, floor at y = {}", metadata.key, metadata.voxel_size_m, metadata.base);
    }

    let region = decode(&atlas)?;
    let n_bricks = region.occupancy.brick_mask().count();
    println!("{} voxels occupied, in {n_bricks} of {N_BRICKS} bricks", region.occupancy.count());
    println!("{} KiB in memory", region.size_bytes() / 1024);

    println!("from above, north at the top, the higher the denser:");
    for z in (0..REGION_VOXELS).step_by(CELL.1 as usize) {
        let row: String =
            (0..REGION_VOXELS).step_by(CELL.0 as usize).map(|x| ink(height(&region.occupancy, x, z))).collect();
        println!("{}", row.trim_end());
    }
    Ok(())
}

/// One above the highest occupied voxel of a column, 0..=256.
fn height(occupancy: &Occupancy, x: u32, z: u32) -> u32 {
    (0..REGION_VOXELS).rev().find(|&y| occupancy.get(x, y, z)).map_or(0, |y| y + 1)
}

/// From nothing to dense.
fn ink(height: u32) -> char {
    const RAMP: &[u8] = b" .:-=+*#%@";
    // The first 32 voxels are ground.
    let above_ground = height.saturating_sub(32) as usize;
    char::from(RAMP[(above_ground / 12).min(RAMP.len() - 1)])
}
