//! `atlas-tools`: makes, inspects, checks and serves voxatlas tilesets.

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Makes, inspects, checks and serves voxatlas tilesets.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Command::Serve(args) => serve::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("atlas-tools: {error:#}");
            ExitCode::from(2)
        }
    }
}
