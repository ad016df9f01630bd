//! One build: from a file to a region that can be drawn, in steps that can be stopped between.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::atlas::row_from_south;
use crate::atlas::{self, AtlasError, AtlasMetadata, Decoder, EncodedAtlas};
use crate::geo::RegionKey;
use crate::limits::ZOOM_FULL;
use crate::mesh::{self, BorderPolicy, try_mesh_boxes, try_mesh_octants, try_mesh_region};
use crate::stream::BuiltRegion;
use crate::voxel::Solids;

/// Why a build yields no region.
#[derive(Debug)]
pub(super) enum BuildError {
    /// Nobody wants it any more.
    Aborted,
    /// The file is no atlas.
    Bad(AtlasError),
}

/// What a build makes and keeps beside what is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras {
    /// The voxels of regions coarser than zoom 17.
    pub(super) coarse_voxels: bool,
    /// The boxes of regions of zoom 17.
    pub(super) boxes: bool,
}

/// Decodes the strips in parallel on the pool of this thread, then meshes. `stop` is looked at before every step, and
/// `metadata_seen` hears what the file says of itself.
pub(super) fn build(
    key: RegionKey,
    file: &EncodedAtlas,
    border: BorderPolicy<'_>,
    extras: Extras,
    stop: &Arc<AtomicBool>,
    metadata_seen: impl FnOnce(&AtlasMetadata),
) -> Result<BuiltRegion, BuildError> {
    let go_on = || if stop.load(Ordering::Relaxed) { Err(BuildError::Aborted) } else { Ok(()) };
    go_on()?;
    let region = tracing::debug_span!("decode", bytes = file.bytes().len()).in_scope(|| {
        let decoder = Decoder::new(file.bytes()).map_err(bad)?.stop_when(Arc::clone(stop));
        if let Some(metadata) = decoder.metadata() {
            metadata_seen(&metadata);
        }
        let decode = |step| with_scratch(&ATLAS_SCRATCH, |scratch| decoder.decode_strip(step, scratch));
        let strips = (0..decoder.n_steps()).into_par_iter().map(decode).collect::<Result<Vec<_>, _>>().map_err(bad)?;
        decoder.assemble(strips).map_err(bad)
    })?;
    let is_coarse = key.tile.zoom() < ZOOM_FULL;
    let mesh = tracing::debug_span!("mesh").in_scope(|| {
        with_scratch(&MESH_SCRATCH, |scratch| {
            // Finer regions may stand in for some octants of a coarse one.
            let mesh = if is_coarse { try_mesh_octants } else { try_mesh_region };
            mesh(&region, border, scratch, go_on)
        })
    })?;
    let solids = tracing::debug_span!("solids").in_scope(|| Solids::of(&region.occupancy));
    let has_boxes = extras.boxes && !is_coarse;
    let fill = || tracing::debug_span!("boxes").in_scope(|| try_mesh_boxes(&region.occupancy, go_on));
    let boxes = has_boxes.then(fill).transpose()?.map(Arc::new);
    let keeps_voxels = extras.coarse_voxels || !is_coarse;
    Ok(BuiltRegion { key, voxels: keeps_voxels.then_some(region), mesh, solids, boxes })
}

/// What is wrong where a file says that it is of another place: rows counted from the wrong side, files mixed up, or a
/// tileset whose document was written for others. The file is drawn where it was found all the same.
pub(super) fn contradiction(metadata: &AtlasMetadata, key: RegionKey, base: i32) -> Option<String> {
    if metadata.key != key {
        let flipped = row_from_south(key.tile) == metadata.key.tile.y() && metadata.key.tile.x() == key.tile.x();
        let hint = if flipped { ": are its rows counted from the south (scheme \"tms\", or {-y})?" } else { "" };
        return Some(format!("the file says that it is region {}, and was found as {key}{hint}", metadata.key));
    }
    let file_base = metadata.base;
    (file_base != base)
        .then(|| format!("the file says that its tileset's base is {file_base}, the tileset says {base}"))
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
