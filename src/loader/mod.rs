//! The loader: carries out what the scene commands.
//!
//! Owns the threads: tokio for input and output, rayon for decoding and meshing. Receives
//! [`Command`](crate::stream::Command)s, yields [`Event`](crate::stream::Event)s on a bounded channel. It decides
//! nothing: which task runs, how many at once and whether to try again is the scene's business.

mod build;
mod native;
#[cfg(test)]
mod tests;

pub use native::{Loader, LoaderConfig};
