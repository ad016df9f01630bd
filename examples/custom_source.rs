//! A source of one's own: a city that no server has.
//!
//! ```text
//! cargo run --example custom_source
//! ```
//!
//! Whatever can bring a region's file can be streamed: a database, an archive of another form, or a function. This one
//! makes a chequered floor of atlases in memory; `main` streams one region of it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use voxatlas::atlas::{AtlasMetadata, EncodedAtlas, Tileset, encode};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::source::{AtlasSource, FetchFuture, Source};
use voxatlas::stream::{Command, Outcome, Ticket};
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// A floor of one voxel's height, in every region of layer 0.
struct Floor;

impl AtlasSource for Floor {
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_> {
        Box::pin(async move {
            if key.layer != 0 {
                return Ok(None);
            }
            let mut occupancy = Occupancy::empty();
            (0..256).for_each(|x| (0..256).for_each(|z| occupancy.set(x, 0, z, true)));
            let palette = ColourDepth::Indexed(vec![[230, 230, 225], [70, 80, 95]]);
            let region = Region::paint(occupancy, palette, |x, _, z| (x / 16 + z / 16) % 2);
            let (base, voxel_size_m) = (-32, 1.0);
            let metadata = AtlasMetadata { key, base, voxel_size_m, clipped: 0, credit: String::new() };
            Ok(Some(EncodedAtlas::new(encode(&region, &metadata))))
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let tileset = Tileset::of_template("{z}/{x}/{y}.png")?;
    let source = Source::custom("floor", tileset, Arc::new(Floor))?;
    let loader = Loader::new(source, &LoaderConfig::default())?;
    let key = RegionKey::new(TileCoord::new(17, 65_536, 65_536)?, 0);
    loader.run(Command::Fetch { ticket: Ticket(0), key });
    while let Some(event) = loader.wait_event(Duration::from_mins(1)) {
        match event.outcome {
            Outcome::Fetched(atlas) => loader.run(Command::Build { ticket: Ticket(1), key, atlas }),
            Outcome::Built(built) => {
                println!("region {key}: {} quads", built.mesh.quads.len());
                return Ok(());
            }
            Outcome::Empty => return Err("the floor is everywhere".into()),
            Outcome::Failed(error) => return Err(error.into()),
        }
    }
    Err("nothing came in a minute".into())
}
