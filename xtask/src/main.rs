//! The project's own checks that need a program: `cargo xtask <check>`.

mod licences;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask licences
  licences    every dependency's licence is one that we may pass on under MIT OR Apache-2.0";

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["licences"] {
        return licences::check();
    }
    eprintln!("{USAGE}");
    Ok(ExitCode::from(2))
}
