//! The interest: which regions a view wants, in what order.

use crate::geo::RegionKey;

/// The regions that a view wants, nearest first within each list. No region stands in two lists, or twice in one.
///
/// The lists are the reference system's priorities: visible 3 (full), prebuild 2 (full), prefetch 1 (image).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interest {
    /// In the picture: at most [`SLOTS_PER_ZOOM`](crate::limits::SLOTS_PER_ZOOM).
    pub visible: Vec<RegionKey>,
    /// The nearest others, in the frustum or not, built ahead of need: at most [`PREBUILD`](crate::limits::PREBUILD).
    pub prebuild: Vec<RegionKey>,
    /// The nearest after those, whose files are fetched ahead of need: at most
    /// [`PREFETCH`](crate::limits::PREFETCH).
    pub prefetch: Vec<RegionKey>,
    /// How far from the eye the picture is whole, in z17 voxels: nothing nearer lacks a slot. The fog has to close
    /// here. Never above the view's draw distance.
    pub reach_voxels: f64,
}
