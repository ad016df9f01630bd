//! One build: from a file to a region that can be drawn, in steps that can be stopped between.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::atlas::{self, AtlasError, Decoder, EncodedAtlas};
use crate::geo::RegionKey;
use crate::mesh::{self, BorderPolicy, try_mesh_region};
use crate::stream::BuiltRegion;

/// Why a build yields no region.
#[derive(Debug)]
pub(super) enum BuildError {
    /// Nobody wants it any more.
    Aborted,
    /// The file is no atlas.
    Bad(AtlasError),
}

/// Decodes the strips in parallel on the pool of this thread, then meshes. `stop` is looked at before every step.
pub(super) fn build(
    key: RegionKey,
    file: &EncodedAtlas,
    border: BorderPolicy<'_>,
    stop: &Arc<AtomicBool>,
) -> Result<BuiltRegion, BuildError> {
    let go_on = || if stop.load(Ordering::Relaxed) { Err(BuildError::Aborted) } else { Ok(()) };
    go_on()?;
    let decoder = Decoder::new(file.bytes()).map_err(bad)?.stop_when(Arc::clone(stop));
    let decode = |step| with_scratch(&ATLAS_SCRATCH, |scratch| decoder.decode_strip(step, scratch));
    let strips = (0..decoder.n_steps()).into_par_iter().map(decode).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let region = decoder.assemble(strips).map_err(bad)?;
    let mesh = with_scratch(&MESH_SCRATCH, |scratch| try_mesh_region(&region, border, scratch, go_on))?;
    Ok(BuiltRegion { key, region, mesh })
}

fn bad(error: AtlasError) -> BuildError {
    match error {
        AtlasError::Aborted => BuildError::Aborted,
        error => BuildError::Bad(error),
    }
}

type Kept<T> = Cell<Option<Box<T>>>;

thread_local! {
    static ATLAS_SCRATCH: Kept<atlas::Scratch> = const { Cell::new(None) };
    static MESH_SCRATCH: Kept<mesh::Scratch> = const { Cell::new(None) };
}

/// Lends this thread's working memory. A step that panics takes it along, so that no later one sees it half written.
fn with_scratch<T: Default, R>(kept: &'static std::thread::LocalKey<Kept<T>>, step: impl FnOnce(&mut T) -> R) -> R {
    let mut scratch = kept.take().unwrap_or_default();
    let result = step(&mut scratch);
    kept.set(Some(scratch));
    result
}
