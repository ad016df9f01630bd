//! The surface of a region: greedy quads over the exposed faces, and a colour for each face.
//!
//! Owns [`RegionMesh`], what the GPU draws. Receives an [`Occupancy`](crate::voxel::Occupancy) and
//! [`Colours`](crate::voxel::Colours), yields flat buffers; it does not know slots, cameras or wgpu.

mod quad;

pub use quad::{Face, FaceColours, Quad, RegionMesh};
