//! What was typed, and what it means.

use clap::{Args, Parser, Subcommand};
use voxatlas::cli::{LookArgs, RenderArgs, SourceArgs, WatchArgs, parse_size};

use crate::cache::CacheCommand;

/// Stream voxel cities: fly over a tileset, or make a picture of it.
#[derive(Debug, Parser)]
#[command(name = "voxatlas", version, about, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    view: ViewArgs,
}

impl Cli {
    /// The command; without one, the viewer.
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or(Command::View(self.view))
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open a window on a tileset (the default).
    View(ViewArgs),
    /// Make a picture without a window.
    Render(RenderArgs),
    /// Look at what is kept on disk of web servers' answers, or remove it.
    Cache(CacheCommand),
}

/// Arguments of `voxatlas view`.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// The window's size in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    pub(crate) size: (u32, u32),
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(line.split_whitespace()).map(Cli::into_command)
    }

    #[test]
    fn without_a_command_it_views_the_demo_city() {
        let Ok(Command::View(args)) = parse("voxatlas") else { panic!("the viewer is the default") };
        assert_eq!((args.source.source, args.size), (None, (1280, 720)));
    }

    #[test]
    fn a_western_longitude_needs_no_trick() {
        let line = "voxatlas render city --view -122.4194,37.7749,300,45,-30 --size 640x360 --out a.png";
        let Ok(Command::Render(args)) = parse(line) else { panic!("it parses") };
        assert!(args.source.view.is_some());
        assert_eq!(args.size, (640, 360));
    }

    #[test]
    fn wrong_values_are_refused_with_what_was_expected() {
        for (line, expected) in [
            ("voxatlas view --size 0x10", "expected WxH"),
            ("voxatlas view --size 99999x10", "expected WxH"),
            ("voxatlas view --timeout never", "expected seconds"),
            ("voxatlas view --timeout 0", "expected seconds"),
            ("voxatlas render", "--out"),
            ("voxatlas render --out a --path b --frames 0", "1..=99999"),
            ("voxatlas render --out a --realtime", "--path"),
            ("voxatlas render --out a --path b --view 0,0,9,0,0", "cannot be used with"),
            ("voxatlas view --view 1,2", "LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG"),
        ] {
            let message = parse(line).expect_err(line).to_string();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
