//! Voxels become quads.
//!
//! ```text
//! cargo run --example mesh_region [FILE]
//! ```
//!
//! Meshes an atlas, the demo city's centre unless a file is named, and prints how many faces can be seen, how many
//! quads they are merged into, and what both take on the GPU.

use std::error::Error;

use voxatlas::atlas::{EncodedAtlas, decode};
use voxatlas::mesh::{BorderPolicy, Face, Quad, Scratch, mesh_region};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/demo/17/65536/65536.png");

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| DEMO.to_owned());
    let region = decode(&EncodedAtlas::new(std::fs::read(&path)?))?;

    // Nobody sees the floor of the lowest layer from below; the other sides are closed, whatever the neighbours are.
    let mesh = mesh_region(&region, BorderPolicy::Floored, &mut Scratch::new());

    println!("{path}: {} voxels", region.occupancy.count());
    println!("face       faces    quads");
    for face in Face::ALL {
        let quads = || mesh.quads.iter().filter(|quad| quad.face() == face);
        println!(
            "{:<6} {:>9} {:>8}",
            format!("{face:?}"),
            quads().map(|&quad| n_faces(quad)).sum::<u64>(),
            quads().count()
        );
    }
    let (faces, quads) = (mesh.quads.iter().map(|&quad| n_faces(quad)).sum::<u64>(), mesh.quads.len());
    println!("all    {faces:>9} {quads:>8}");

    let n_uniform = mesh.quads.iter().filter(|quad| quad.uniform_entry().is_some()).count();
    println!("{n_uniform} quads are of one colour, the others hold {} face colours", mesh.face_colours.len());
    println!("{} KiB on the GPU", mesh.gpu_bytes() / 1024);
    Ok(())
}

fn n_faces(quad: Quad) -> u64 {
    u64::from(quad.width()) * u64::from(quad.height())
}
