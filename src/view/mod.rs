//! Who looks: camera, frustum and interest.
//!
//! Owns the answer to "which regions does this view want, in what order". Receives a camera and a viewport, yields an
//! ordered set of region keys; it does not know what is loaded.

mod camera;
mod interest;

pub use camera::{Pose, View};
pub use interest::Interest;
