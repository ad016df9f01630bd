//! Point clouds: LAS 1.0 to 1.4, LAZ, and COPC.
//!
//! Owns [`Las`], a [`crate::input::Stream`] of points. Points that are noise or withheld are left out and counted; the
//! others have the file's colour, or that of their class, or a grey of their intensity. It thins nothing and builds no
//! tree: what lies in one voxel is for [`crate::points`] to join.
//!
//! ```text
//!   header, records -> CRS, colouring, extent      (once, when it is opened)
//!   points -> batches of 16,384 -> Placer -> Item::Points
//! ```

mod colouring;
mod copc;
mod file;
mod las;

pub use self::las::Las;

#[cfg(test)]
#[path = "points_tests.rs"]
mod tests;
