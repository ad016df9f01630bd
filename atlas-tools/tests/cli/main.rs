//! The program as a user meets it: every test runs the built binary.

mod common;
#[path = "../../../tests/common/real_data.rs"]
mod real_data;

mod archive;
mod check;
mod decode;
mod encode;
mod look;
mod pyramid;
mod recipes;
mod reports;
mod serve;
mod shards;
#[cfg(unix)]
mod signals;
#[cfg(feature = "object-store")]
mod store;
#[cfg(feature = "gpu")]
mod views;
mod voxel;
