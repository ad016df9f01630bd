//! The stream for people who bring a renderer made for the reference system: its boxes, and its slot updates.
//!
//! Owns the boxes of the slots and what the next commit changes. Receives the scene's frames, yields flat arrays and
//! [`BoxUpdate`]s; it draws nothing, holds no texture, and its boxes come ready with the region.
//!
//! ```text
//! Scene ──Frame──▶ apply ──▶ staged ──commit──▶ pos, scl, aid, count     geometry  ┐
//!                                               updates: at ┬─ atlas     colours   ├ of one moment
//!                                                           └─ offset    place     ┘
//! ```
//!
//! **A slot's geometry, atlas and offset change together, with the commit.** In the reference system updates come at
//! once while the old mesh is still drawn: after a turn of 180 degrees up to 12 of 16 regions showed another's colours.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::atlas::ATLAS_ROW_BYTES;
use crate::geo::RegionKey;
use crate::limits::{ATLAS_PIXELS, ZOOM_FULL};
use crate::mesh::{BoxBuffers, BoxMesh};
use crate::voxel::Region;

use super::protocol::{BuiltRegion, SlotUpdate};
use super::scene::Frame;

/// Why a frame cannot be shown as boxes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BoxError {
    /// A region of a coarser zoom, whose voxels are larger than 1.
    #[error("region {key} is of zoom {}, expected 17: give the interest `TilesetGrid {{ zooms: 17..=17, .. }}`", key.tile.zoom())]
    Coarse {
        /// The region.
        key: RegionKey,
    },
    /// A region that was built without boxes, or without voxels.
    #[error("region {key} comes without boxes: start the loader with `LoaderConfig {{ build_boxes: true, .. }}`")]
    NoBoxes {
        /// The region.
        key: RegionKey,
    },
}

/// The image of a region's colours, to be expanded when and as far as it is wanted.
///
/// It holds the region as it was decoded, a few MiB, and no image: all 4096 rows in RGBA8 are 64 MiB.
#[derive(Clone, PartialEq)]
pub struct AtlasHandle(Arc<BuiltRegion>);

impl AtlasHandle {
    /// Rows of the image, each [`ATLAS_ROW_BYTES`] long.
    pub const N_ROWS: u32 = ATLAS_PIXELS;

    /// The image of a region, where its voxels were kept.
    pub fn new(built: Arc<BuiltRegion>) -> Option<Self> {
        built.voxels.is_some().then_some(Self(built))
    }

    /// The region.
    pub fn key(&self) -> RegionKey {
        self.0.key
    }

    /// The voxels that the image is made of.
    #[expect(clippy::missing_panics_doc, reason = "it never does: `new` makes no handle without voxels")]
    pub fn voxels(&self) -> &Region {
        self.0.voxels.as_ref().expect("a handle's region has voxels")
    }

    /// Writes row `v` of the image, 0 the top one: straight-alpha sRGB, alpha 255 where a voxel is, zeros where none is.
    ///
    /// # Panics
    ///
    /// `v` is 4096 or more.
    pub fn write_row(&self, v: u32, row: &mut [u8; ATLAS_ROW_BYTES]) {
        self.voxels().atlas_row(v, row);
    }

    /// The whole image, row by row from the top: 64 MiB.
    pub fn to_rgba(&self) -> Vec<u8> {
        let mut image = vec![0; ATLAS_ROW_BYTES * Self::N_ROWS as usize];
        for (v, row) in image.as_chunks_mut().0.iter_mut().enumerate() {
            self.write_row(v as u32, row);
        }
        image
    }
}

impl fmt::Debug for AtlasHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtlasHandle({})", self.key())
    }
}

/// A slot's new atlas and offset: the reference system's `{at, atlas, offset}`.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxUpdate {
    /// The slot: what `aid` holds.
    pub at: usize,
    /// Its texture; `None` where the slot shows nothing any more.
    pub atlas: Option<AtlasHandle>,
    /// World position of the region's lowest corner, in z17 voxels. Take [`EyeOrigin::relative`](crate::geo::EyeOrigin)
    /// of it before it becomes an f32.
    pub offset: [i64; 3],
}

/// What the slots show, as boxes.
///
/// The regions must be of zoom 17 and come with boxes: the interest is given `17..=17` as its zooms, the loader
/// `build_boxes`. A frame then goes as in the reference system, with a commit between:
///
/// ```
/// # use std::time::Duration;
/// # use voxatlas::stream::{BoxSlots, Scene, SceneConfig};
/// # use voxatlas::view::Interest;
/// # let (mut scene, interest, now) = (Scene::new(SceneConfig::default()), Interest::default(), Duration::ZERO);
/// let mut boxes = BoxSlots::new(scene.config().slots);
/// // Once a frame:
/// let frame = scene.frame(&interest, now);
/// boxes.apply(&frame)?;
/// if boxes.commit() {
///     for update in boxes.updates() {
///         // update.at, update.atlas, update.offset: the slot's texture and place
///     }
///     let buffers = boxes.buffers();
///     // buffers.pos(), buffers.scl(), buffers.aid(), buffers.count(): the instances
/// }
/// # Ok::<(), voxatlas::stream::BoxError>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoxSlots {
    buffers: BoxBuffers,
    /// What each slot holds with the next commit, and whether it is drawn.
    slots: Vec<Slot>,
    /// Slots whose atlas the next commit changes.
    staged: BTreeMap<usize, BoxUpdate>,
    /// Those that the last one changed.
    updates: Vec<BoxUpdate>,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    boxes: Option<Arc<BoxMesh>>,
    octants: u8,
}

impl BoxSlots {
    /// So many slots, all of them empty: those of the scene.
    pub fn new(n_slots: usize) -> Self {
        Self {
            buffers: BoxBuffers::new(n_slots),
            slots: vec![Slot::default(); n_slots],
            staged: BTreeMap::new(),
            updates: Vec::new(),
        }
    }

    /// Takes in what a frame changes; it shows with the next commit. Uploads are left out: those are for
    /// [quads](crate::mesh::RegionMesh).
    ///
    /// # Errors
    ///
    /// A region is coarse or has no boxes; nothing is taken in then.
    ///
    /// # Panics
    ///
    /// The frame names a slot that there is not: it comes from a scene with more of them.
    pub fn apply(&mut self, frame: &Frame) -> Result<(), BoxError> {
        frame.updates.iter().filter_map(|update| update.region.as_deref()).try_for_each(check)?;
        for update in &frame.updates {
            self.stage(update);
        }
        for change in &frame.octants {
            self.slots[change.at].octants = change.octants;
            self.merge(change.at);
        }
        Ok(())
    }

    fn stage(&mut self, SlotUpdate { at, region, offset, octants }: &SlotUpdate) {
        let boxes = region.as_ref().and_then(|built| built.boxes.clone());
        self.slots[*at] = Slot { boxes, octants: *octants };
        self.merge(*at);
        let atlas = region.clone().and_then(AtlasHandle::new);
        self.staged.insert(*at, BoxUpdate { at: *at, atlas, offset: *offset });
    }

    /// A region of zoom 17 is one surface: drawn whole, or not at all.
    fn merge(&mut self, at: usize) {
        match &self.slots[at] {
            Slot { boxes: Some(boxes), octants: 1.. } => self.buffers.merge(Arc::clone(boxes), at),
            _ => self.buffers.remove(at),
        }
    }

    /// What the next commit will change: for renderers that fill a spare texture over several frames, and commit then.
    pub fn staged(&self) -> impl Iterator<Item = &BoxUpdate> {
        self.staged.values()
    }

    /// Shows all that was taken in. Whether anything has changed: then the [updates](Self::updates) and the
    /// [arrays](Self::buffers) belong into one picture.
    pub fn commit(&mut self) -> bool {
        self.updates.clear();
        self.updates.extend(std::mem::take(&mut self.staged).into_values());
        let has_moved = self.buffers.commit();
        has_moved || !self.updates.is_empty()
    }

    /// What the last commit changed, by slot.
    pub fn updates(&self) -> &[BoxUpdate] {
        &self.updates
    }

    /// The boxes since the last commit.
    pub fn buffers(&self) -> &BoxBuffers {
        &self.buffers
    }
}

fn check(built: &BuiltRegion) -> Result<(), BoxError> {
    let key = built.key;
    if key.tile.zoom() != ZOOM_FULL {
        return Err(BoxError::Coarse { key });
    }
    if built.boxes.is_none() || built.voxels.is_none() {
        return Err(BoxError::NoBoxes { key });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
