//! The program as a user meets it: every test runs the built binary.

mod common;

mod check;
mod encode;
