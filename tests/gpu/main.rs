//! The renderer, on whatever adapter the machine has: in CI lavapipe. Without an adapter these tests fail.
//!
//! One binary: linking wgpu is most of a GPU test's cost.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod atlas_oracle;
mod device;
mod golden;
mod holes;
mod light;
mod picture;
mod pixels;
mod ray_oracle;
mod scene;
#[expect(dead_code, reason = "the pyramid's tests use the others")]
#[path = "../common/shells.rs"]
mod shells;
mod slots;
mod steps;
