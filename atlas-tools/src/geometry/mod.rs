//! Faces, triangles and solids: what lies between the surfaces of a model and its voxels.
//!
//! Owns three steps, each of them pure. Faces with holes become triangles ([`triangulate()`]), triangles the voxels that
//! they touch ([`voxels_of`]), closed solids the voxels inside them ([`inside_of`]). The last two count in whole numbers,
//! so that a model voxelised a tile at a time is the same as one voxelised at once. Nothing here knows colours or files.
//!
//! ```text
//! rings --triangulate--> triangles --Frame--> 1/256 voxels, whole --voxels_of, inside_of--> voxels of a window
//! ```

mod even_odd;
mod fill;
mod frame;
mod triangle_box;
mod triangulate;

pub use even_odd::Corner;
pub use fill::{Closed, inside_of, is_closed};
pub use frame::{Frame, UNITS, Window3};
pub use triangle_box::{barycentric_at, voxels_of};
pub use triangulate::{triangulate, triangulate_corners, triangulate_textured};

/// A triangle in units of 1/256 voxel from a window's corner: x east, y up, z south.
pub type Triangle = [[i64; 3]; 3];
