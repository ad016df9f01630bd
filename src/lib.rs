//! voxatlas streams voxel cities.
//!
//! A Web Mercator tile at zoom 17 is a *region* of 256^3 voxels, stored as one ordinary 4096 x 4096 PNG whose texels
//! are the voxels in Morton order: the *atlas*. This crate moves a region from a URL to the screen, and its modules
//! stand in the order in which a region travels:
//!
//! ```text
//! tile coordinate -> interest -> request queue -> fetch -> decode -> occupancy -> mesh -> slot upload -> draw
//!
//! TileCoord -> RegionKey -> Command -> EncodedAtlas -> Region { occupancy, colours } -> RegionMesh -> SlotUpdate -> draw
//! ```
//!
//! `geo`, `atlas`, `voxel`, `mesh`, `view`, `stream` and `physics` are the **core**: no clock, thread, socket, file or
//! GPU, so that an afternoon of flying over a failing network runs in a second as a deterministic test. The other
//! modules stand behind cargo features:
//!
//! | feature | adds |
//! | --- | --- |
//! | none | the core |
//! | `net` | `source`, `loader`: directory, HTTP and embedded tilesets; tokio and rayon run the scene's commands |
//! | `gpu` | `gpu`: the wgpu renderer |
//! | `net` + `gpu` | `render`: a source streamed into a renderer, for a window or for a picture without one |
//! | `cli` | `cli`: the flags that the command lines share, and their `render` |
//! | `viewer` (default) | all of them and the `voxatlas` program |

pub mod limits;

pub mod geo;

pub mod atlas;
pub mod voxel;

pub mod mesh;

pub mod view;

pub mod stream;

pub mod physics;

#[cfg(feature = "net")]
pub mod source;

#[cfg(feature = "net")]
pub mod loader;

#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(all(feature = "net", feature = "gpu"))]
pub mod render;

#[cfg(feature = "cli")]
pub mod cli;
