//! `voxatlas cache`: what is kept of web servers' answers, and an end to it.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use voxatlas::cli::{CacheArgs, Size};
use voxatlas::source::{CacheInfo, DiskCache};

/// Arguments of `voxatlas cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Tell where the cache is, what it may take, and what it holds of which host
    Info(ActionArgs),
    /// Remove all that it holds
    Clear(ActionArgs),
}

#[derive(Debug, Args)]
struct ActionArgs {
    #[command(flatten)]
    cache: CacheArgs,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    dir: &'a std::path::Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_max: Option<u64>,
    files: u64,
    bytes: u64,
    hosts: Vec<OfHost<'a>>,
}

#[derive(Serialize)]
struct OfHost<'a> {
    host: &'a str,
    files: u64,
    bytes: u64,
}

/// Tells or clears.
pub(crate) fn run(command: &CacheCommand) -> Result<ExitCode> {
    match &command.action {
        Action::Info(args) => {
            let cache = args.cache.open()?;
            let info = cache.info()?;
            if args.json {
                print_json(&cache, &info, Some(cache.bytes_max()))?;
            } else {
                println!("{}: {} of at most {}", cache.dir().display(), amount(&info), Size(cache.bytes_max()));
                for host in &info.hosts {
                    println!("  {}: {} files, {}", host.host, host.n_files, mib(host.bytes));
                }
            }
        }
        Action::Clear(args) => {
            let cache = args.cache.open()?;
            let info = cache.clear()?;
            if args.json {
                print_json(&cache, &info, None)?;
            } else {
                println!("{}: removed {}", cache.dir().display(), amount(&info));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(cache: &DiskCache, info: &CacheInfo, bytes_max: Option<u64>) -> Result<()> {
    let hosts = info.hosts.iter().map(|host| OfHost { host: &host.host, files: host.n_files, bytes: host.bytes });
    let summary =
        Summary { dir: cache.dir(), bytes_max, files: info.n_files(), bytes: info.bytes(), hosts: hosts.collect() };
    println!("{}", serde_json::to_string(&summary)?);
    Ok(())
}

fn amount(info: &CacheInfo) -> String {
    format!("{} files, {}", info.n_files(), mib(info.bytes()))
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
