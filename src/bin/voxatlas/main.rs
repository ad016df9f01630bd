//! The `voxatlas` program: a window on a voxel city, or a picture of it.
//!
//! Exit codes: 0 done, 1 done but regions failed, 2 usage or fatal.

mod args;
mod cache;
mod daylight;
mod hud;
mod input;
mod painter;
mod window;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::fmt::format;
use tracing_subscriber::fmt::format::FmtSpan;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    init_log();
    let outcome = match cli.into_command() {
        Command::View(args) => window::run(&args),
        Command::Render(args) => {
            voxatlas::cli::render(&args).map(|is_whole| if is_whole { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        Command::Cache(command) => cache::run(&command),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// The log goes to standard error; `RUST_LOG` chooses what of it, warnings by default. Of a span it tells the end, and how
/// long it was busy and idle.
fn init_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,wgpu_hal=error"));
    let is_coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured)
        // Given whole: `without_time` of the subscriber would take the spans' times away, too.
        .event_format(format().with_target(false).without_time())
        .with_span_events(FmtSpan::CLOSE)
        .init();
}
