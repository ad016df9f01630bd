//! What the scene says to the loader and the renderer, and what it hears back.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::atlas::EncodedAtlas;
use crate::geo::RegionKey;
use crate::mesh::{BoxMesh, RegionMesh};
use crate::voxel::{Region, Solids};

/// The number of one task. An answer whose ticket is no longer the region's is stale and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What the loader is to do, at once: the scene has already queued and limited it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Fetch the region's file. Answered by `Fetched`, `Empty` or `Failed`.
    Fetch {
        /// To be given back.
        ticket: Ticket,
        /// What to fetch.
        key: RegionKey,
    },
    /// Decode and mesh a file. Answered by `Built` or `Failed`.
    Build {
        /// To be given back.
        ticket: Ticket,
        /// The region that the file is of.
        key: RegionKey,
        /// The file.
        atlas: EncodedAtlas,
    },
    /// Stop that task at the next chance; whatever it still answers is stale. A task that has just ended may be named.
    Abort {
        /// The task.
        ticket: Ticket,
    },
}

/// The end of a task.
#[derive(Debug, Clone)]
pub struct Event {
    /// The task.
    pub ticket: Ticket,
    /// Its region.
    pub key: RegionKey,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a task.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A fetch brought a file.
    Fetched(EncodedAtlas),
    /// A fetch found that nothing is there: 204, 404, 410, a missing file or an empty body.
    Empty,
    /// A build is done.
    Built(Arc<BuiltRegion>),
    /// The task failed.
    Failed(LoadError),
}

/// A region that can be drawn: what [`Outcome::Built`] carries and a [`SlotUpdate`] hands on.
#[derive(Debug, PartialEq)]
pub struct BuiltRegion {
    /// Which region.
    pub key: RegionKey,
    /// Its voxels, for clipping, picking and collision; `None` where only the surface was kept, as of coarse zooms.
    pub voxels: Option<Region>,
    /// Its surface.
    pub mesh: RegionMesh,
    /// Where its voxels stop light.
    pub solids: Solids,
    /// The boxes that fill it, where they were asked for: for renderers made for the reference system, see
    /// [`BoxSlots`](super::BoxSlots).
    pub boxes: Option<Arc<BoxMesh>>,
}

impl BuiltRegion {
    /// Whether there is nothing to draw and nothing to touch.
    pub fn is_empty(&self) -> bool {
        self.mesh.quads.is_empty() && self.voxels.as_ref().is_none_or(|voxels| voxels.occupancy.is_empty())
    }

    /// Bytes that it takes on the GPU: its mesh, then its solids.
    pub fn gpu_bytes(&self) -> usize {
        self.mesh.gpu_bytes() + self.solids.size_bytes()
    }

    /// Bytes that it takes on the CPU, for budgets.
    pub fn size_bytes(&self) -> usize {
        let voxels_bytes = self.voxels.as_ref().map_or(0, Region::size_bytes);
        voxels_bytes + self.gpu_bytes() + self.boxes.as_ref().map_or(0, |boxes| boxes.size_bytes())
    }
}

/// Why a task failed, and whether to try again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Worth another try: resets, time-outs, 408, 425, 429, 5xx.
    #[error("{what}")]
    Transient {
        /// The URL or file, what was found and what was expected.
        what: String,
        /// What the server asked us to wait, already capped.
        retry_after: Option<Duration>,
    },
    /// Another try would bring the same: 403 and other 4xx.
    #[error("{what}")]
    Permanent {
        /// The URL or file, what was found and what was expected.
        what: String,
    },
    /// The file arrived and is no atlas. It is fetched once more, then it is an error.
    #[error("{what}")]
    BadAtlas {
        /// The URL or file, what was found and what was expected.
        what: String,
    },
    /// The job panicked; the pool lives on.
    #[error("{what}")]
    Panicked {
        /// The region and the panic's message.
        what: String,
    },
    /// There is no room for it on the GPU. Reported to the scene by whoever uploads.
    #[error("{key} is not drawn: {what}")]
    NoRoom {
        /// The region.
        key: RegionKey,
        /// What it takes, and what there is.
        what: String,
    },
    /// Regions that are more useful fill the store. Made by the scene, which tries again by itself when there is room.
    #[error("{key}: no room for its {size_bytes} bytes beside nearer regions: the budget is {budget_bytes} bytes")]
    OverBudget {
        /// The region.
        key: RegionKey,
        /// What it takes.
        size_bytes: usize,
        /// What all regions may take.
        budget_bytes: usize,
    },
}

/// Something that whoever runs the stream should know: no region's business, and nothing that the scene can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// So many jobs have panicked in a row: not one bad file, but a bug or a broken machine. Loading goes on.
    Panics {
        /// How many, at least [`PANICS_IN_A_ROW`](crate::limits::PANICS_IN_A_ROW).
        n: u32,
    },
}

/// A change of one slot, to be made whole: geometry, colours and offset together.
///
/// Who brings a renderer that wants the reference system's boxes and texture hands it to [`BoxSlots`](super::BoxSlots).
#[derive(Debug, Clone, PartialEq)]
pub struct SlotUpdate {
    /// The slot, 0..[`SLOTS_MAX`](crate::limits::SLOTS_MAX).
    pub at: usize,
    /// What it now holds; `None` clears it.
    pub region: Option<Arc<BuiltRegion>>,
    /// World position of the region's lowest corner, in z17 voxels.
    pub offset: [i64; 3],
    /// A bit for each octant that is drawn, in the order of [`RegionKey::octant`]. A region that is one surface is
    /// drawn whole where any bit is set.
    pub octants: u8,
}

impl SlotUpdate {
    /// The whole region is drawn.
    pub const ALL_OCTANTS: u8 = 0xFF;
}

/// A change of what is drawn of a slot's region, which stays, from the next frame on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OctantUpdate {
    /// The slot.
    pub at: usize,
    /// As in [`SlotUpdate::octants`].
    pub octants: u8,
}

/// A part of a region to be sent to the GPU now, ahead of the [`SlotUpdate`] that shows it.
///
/// The slot was cleared before, and shows nothing until that update arrives. The parts of a region come in order: the first
/// begins at 0, each begins where the one before ended, and the last ends at [`gpu_bytes`](BuiltRegion::gpu_bytes).
#[derive(Debug, Clone, PartialEq)]
pub struct UploadStep {
    /// The slot.
    pub at: usize,
    /// The region that the slot will hold.
    pub region: Arc<BuiltRegion>,
    /// The part, counted in the region's bytes on the GPU.
    pub bytes: Range<usize>,
}
