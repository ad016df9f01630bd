//! The stream: from what is wanted to what is drawn, without a clock, a thread or a socket.
//!
//! Owns the request queue, the regions' states, the store and the slots. Once a frame it receives an interest and the
//! time and yields [`Command`]s for the loader and [`SlotUpdate`]s for the renderer; results return as one closed enum
//! of [`Event`]s. It executes nothing itself.
//!
//! [`Queue`], [`Store`] and [`Slots`] are generic over the key and know no region; only [`Scene`] joins them.

mod boxes;
mod cover;
mod debug;
mod hosts;
mod progress;
mod protocol;
mod queue;
mod region;
mod scene;
mod slots;
mod store;

pub use boxes::{AtlasHandle, BoxError, BoxSlots, BoxUpdate};
pub use debug::{CellCache, CellState, DebugCell, DebugEvent, Listener, ListenerId};
pub use progress::Progress;
pub use protocol::{
    BuiltRegion, Command, Event, LoadError, Notice, OctantUpdate, Outcome, SlotUpdate, Ticket, UploadStep,
};
pub use queue::{Aborted, Priority, Queue, QueueError, QueueLimits, Urgency};
pub use region::{Level, RegionState, Request, Task, TaskKind, backoff};
pub use scene::{Frame, Scene, SceneConfig};
pub use slots::{SlotChange, Slots};
pub use store::{Cost, Store, StoreLimits, Victim};
