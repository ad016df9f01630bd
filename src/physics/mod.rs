//! Rays through voxels.
