//! The surface of a region: greedy quads over the exposed faces, and a colour for each face.
//!
//! Owns [`RegionMesh`], what the GPU draws. Receives an [`Occupancy`](crate::voxel::Occupancy) and
//! [`Colours`](crate::voxel::Colours), yields flat buffers; it does not know slots, cameras or wgpu.

mod quad;

mod border;
mod faces;
mod quads;

mod face_colour;
mod octants;
mod region;

mod box_buffers;
mod boxes;

#[cfg(test)]
mod tests;

pub use border::{BorderPlanes, BorderPolicy};
pub use box_buffers::BoxBuffers;
pub use boxes::{BoxMesh, mesh_boxes, try_mesh_boxes};
pub use octants::{mesh_octants, try_mesh_octants};
pub use quad::{Face, FaceColours, Quad, QuadEnds, RegionMesh};
pub use region::{Scratch, mesh_occupancy, mesh_region, try_mesh_region};
