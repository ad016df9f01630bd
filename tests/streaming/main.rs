//! The stream against a simulated loader, network and renderer, in virtual time: an afternoon over a failing network
//! runs in a second, and runs the same every time.

mod promises;
mod properties;
#[path = "../common/screen.rs"]
mod screen;
mod simulation;
