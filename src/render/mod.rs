//! Where the stream meets the screen: the only place that knows both the loader and the GPU.
//!
//! Owns [`Session`], one tileset being streamed into one renderer, and [`render`], which runs a session until its view
//! is complete, and [`film()`], which flies one along a path. Receives a source and views, yields frames or pictures. It
//! opens no window and writes no file.

mod caption;
mod film;
mod picture;
mod session;

pub use film::{Pace, film};
pub use picture::{RenderError, RenderOptions, Rendered, render};
pub use session::{Failure, Session};
