//! Rays through voxels.
//!
//! Owns the exact walk of a ray over the grid: it serves picking, and it is the CPU's judge of the picture. Receives
//! occupancies, yields hits; it does not know colours, meshes or the GPU.

mod raycast;

pub use raycast::{Hit, Ray, Solid, cast, cast_in_region};
