//! The `voxatlas` program.

fn main() {}
