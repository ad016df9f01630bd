//! The project's own checks that need a program: `cargo xtask <check>`.

fn main() {}
