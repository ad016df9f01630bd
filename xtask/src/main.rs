//! The project's own checks that need a program: `cargo xtask <check>`.

mod licences;
mod mutants;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask licences | mutants
  licences    every dependency's licence is one that we may pass on under MIT OR Apache-2.0
  mutants     the simulation finds bugs that are planted in the stream, one at a time (some minutes)";

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["licences"] => licences::check(),
        ["mutants"] => mutants::run().map(|()| ExitCode::SUCCESS),
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}
