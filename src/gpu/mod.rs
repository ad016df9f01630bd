//! The renderer: slots of instanced quads, drawn with wgpu.
//!
//! Owns the device, the pages that regions live in, and the passes. Receives [`SlotUpdate`](crate::stream::SlotUpdate)s
//! and what goes with them and a [`View`](crate::view::View), yields a picture in a texture. It opens no window, loads no file and decides
//! nothing about what is to be seen: the scene has done that.
//!
//! ```text
//! UploadStep, SlotUpdate, OctantUpdate -> upload (pages of quads, and of words: face colours, palettes, solids)
//! View -> frame uniform, slots, octants and faces that may be seen, nearest first -> region pass -> sky -> texture
//! ```
//!
//! One frame is: any number of [`Renderer::upload`], [`Renderer::apply`] and [`Renderer::set_octants`], one [`Renderer::draw`] into an encoder, and the submission of that
//! encoder before the next `apply` or `draw`. All the writes of a frame are ordered before its submission, so that a
//! slot's geometry, colours and offset change together.

mod cells;
mod device;
mod draw_list;
mod error;
mod headless;
mod layout;
mod look;
mod renderer;
mod resident;
pub mod shader;
mod space;
mod timer;
mod upload;

pub use device::Gpu;
pub use error::GpuError;
pub use headless::{Offscreen, Picture};
pub use look::{FrameStyle, Lighting};
pub use renderer::{Antialiasing, FrameStats, Memory, Renderer};
pub use upload::Budget;
