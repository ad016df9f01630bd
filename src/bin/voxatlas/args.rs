//! What was typed, and what it means.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use voxatlas::view::ViewSpec;

use crate::args_net::NetArgs;
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

/// What every command that opens a tileset takes.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// A directory, a tiles.json, a .pmtiles archive, a URL of these, or a URL template such as https://host/{z}/{x}/{y}.png; without it the
    /// embedded demo city
    #[arg(value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Where to look from: longitude, latitude, height above the tileset's datum in metres, bearing clockwise from
    /// north and pitch (negative looks down) in degrees
    #[arg(long, value_name = "LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG", allow_hyphen_values = true)]
    pub(crate) view: Option<ViewSpec>,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// What every command that streams takes.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Write what the stream does, region by region, to a file: a JSON object a line; an old file is overwritten
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
}

/// Arguments of `voxatlas view`.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// The window's size in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    pub(crate) size: (u32, u32),
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Arguments of `voxatlas render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The picture's size in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    pub(crate) size: (u32, u32),
    /// The PNG to write; with --path a directory, for 0001.png and so on
    #[arg(long, value_name = "FILE.png|DIR")]
    pub(crate) out: PathBuf,
    /// Fly along a path: a file with a view a line, spelled as for --view
    #[arg(long, value_name = "FILE", conflicts_with = "view")]
    pub(crate) path: Option<PathBuf>,
    /// Pictures to take along the path, the first at its start and the last at its end
    #[arg(long, value_name = "N", default_value = "12", requires = "path", value_parser = clap::value_parser!(u32).range(1..=99_999))]
    pub(crate) frames: u32,
    /// Metres a second along the path
    #[arg(long, value_name = "METRES_PER_SECOND", default_value = "240", requires = "path")]
    pub(crate) speed: f64,
    /// Fly by the clock and show what has arrived, instead of waiting at each picture until it is complete
    #[arg(long, requires = "path")]
    pub(crate) realtime: bool,
    /// Print a JSON summary on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The largest picture edge, in pixels: what every adapter's default limits allow.
const SIZE_PX_MAX: u32 = 8192;

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let parse = |part: &str| part.parse().ok().filter(|px| (1..=SIZE_PX_MAX).contains(px));
    text.split_once(['x', 'X'])
        .and_then(|(width, height)| Some((parse(width)?, parse(height)?)))
        .ok_or_else(|| format!("expected WxH in pixels, each 1 to {SIZE_PX_MAX}, such as 1280x720"))
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
