//! What the command lines of `voxatlas` and `atlas-tools` have in common, so that a flag is one flag everywhere.
//!
//! Owns the flags about web servers, sources, views and the look, and `render` from its arguments to its exit code. Receives what
//! was typed, yields configurations, open sources and pictures. It parses no command line as a whole: each program has
//! its own.

mod net;

#[cfg(feature = "gpu")]
mod events;
#[cfg(feature = "gpu")]
mod look;
#[cfg(feature = "gpu")]
mod open;
#[cfg(feature = "gpu")]
mod render;

pub use net::{CacheArgs, NetArgs, Size};

#[cfg(feature = "gpu")]
pub use events::EventsFile;
#[cfg(feature = "gpu")]
pub use look::{Antialias, Light, LookArgs};
#[cfg(feature = "gpu")]
pub use open::{DRAW_DISTANCE_VOXELS, FOV_Y_RAD, SourceArgs, WatchArgs, first_view, parse_size, source};
#[cfg(feature = "gpu")]
pub use render::{RenderArgs, render};
