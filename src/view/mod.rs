//! Who looks: camera, frustum, controls and interest.
//!
//! Owns the answer to "which regions does this view want, in what order". Receives a camera and a viewport, yields an
//! ordered set of region keys; it does not know what is loaded.

mod camera;
mod controls;
mod frustum;
mod interest;
mod motion;
mod path;
mod spec;

pub use camera::{Pose, View};
pub use controls::{Controls, Input, Mode};
pub use frustum::{Frustum, region_sphere_visible};
pub use interest::{Interest, InterestFinder, Outlook, TilesetGrid, eased_reach};
pub use motion::Motion;
pub use path::{CameraPath, CameraPathError};
pub use spec::{ViewSpec, ViewSpecError};
