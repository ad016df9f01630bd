//! `atlas-tools`: makes, inspects, checks and serves voxatlas tilesets.
//!
//! Exit codes: 0 done, 1 done with findings or failed tiles, 2 wrong usage or nothing done.

use std::process::ExitCode;

use atlas_tools::outcome::{FATAL, Outcome};
use atlas_tools::{decode, demo, diff, encode, inspect, manual, pack, pyramid, serve, shards, stats, unpack, validate};
use clap::{CommandFactory as _, Parser, Subcommand};

/// Makes, inspects, checks and serves voxatlas tilesets: cities as 256^3-voxel regions in ordinary PNG files.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
#[command(after_help = after_help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Encode(encode::EncodeArgs),
    Plan(shards::PlanArgs),
    Merge(shards::MergeArgs),
    Verify(shards::VerifyArgs),
    Pyramid(pyramid::PyramidArgs),
    Inspect(inspect::InspectArgs),
    Validate(validate::ValidateArgs),
    Decode(decode::DecodeArgs),
    Diff(diff::DiffArgs),
    Stats(stats::StatsArgs),
    /// Makes a picture, or a film, without a window.
    #[cfg(feature = "gpu")]
    #[command(after_help = "\
Examples:
  atlas-tools render city --view 139.7454,35.6586,300,315,-30 --size 1280x720 --out tower.png
  atlas-tools render city --path flight.txt --frames 24 --out frames

Exit codes: 0 done, 1 done but regions failed, 2 wrong usage or no picture.")]
    Render(voxatlas::cli::RenderArgs),
    Pack(pack::PackArgs),
    Unpack(unpack::UnpackArgs),
    Demo(demo::DemoArgs),
    Serve(serve::ServeArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

/// What stands below the list of commands: what this build lacks, and the exit codes.
fn after_help() -> String {
    let lacking = [
        (cfg!(feature = "gpu"), "gpu", "render: pictures without a window"),
        (cfg!(feature = "mbtiles"), "mbtiles", "MBTiles in pack and unpack"),
        (cfg!(feature = "object-store"), "object-store", "s3://, gs:// and az:// in encode, pyramid and demo"),
        (cfg!(feature = "geoparquet"), "geoparquet", "GeoParquet in encode"),
        (cfg!(feature = "japan-geoid"), "japan-geoid", "the geoids of Japan in encode"),
    ];
    let lacking: Vec<String> = lacking
        .iter()
        .filter(|(is_there, ..)| !is_there)
        .map(|(_, feature, what)| format!("  {what}: cargo install --path atlas-tools --features {feature}"))
        .collect();
    let lacking =
        if lacking.is_empty() { String::new() } else { format!("Not in this build:\n{}\n\n", lacking.join("\n")) };
    format!("{lacking}Exit codes: 0 done, 1 done with findings or failed tiles, 2 wrong usage or nothing done.")
}

fn main() -> ExitCode {
    // clap itself exits with 2 where the usage is wrong.
    match run(Cli::parse().command) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FATAL)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Encode(args) => encode::run(&args),
        Command::Plan(args) => shards::run_plan(&args),
        Command::Merge(args) => shards::run_merge(&args),
        Command::Verify(args) => shards::run_verify(&args),
        Command::Pyramid(args) => pyramid::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Stats(args) => stats::run(&args),
        #[cfg(feature = "gpu")]
        Command::Render(args) => voxatlas::cli::render(&args).map(|is_whole| Outcome::with_findings(!is_whole)),
        Command::Pack(args) => pack::run(&args),
        Command::Unpack(args) => unpack::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(&args, Cli::command()),
    }
}
