//! `render`: pictures without a window.

use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;

use super::{
    DRAW_DISTANCE_VOXELS, EventsFile, FOV_Y_RAD, Light, LookArgs, SourceArgs, WatchArgs, first_view, parse_size,
    source as open_source,
};
use crate::gpu::{FrameStats, FrameStyle, Picture};
use crate::limits::SUPERSAMPLE_MAX;
use crate::render::{Failure, Pace, RenderOptions, Rendered, film, render as render_picture};
use crate::stream::Progress;
use crate::view::{CameraPath, Pose, View, ViewSpec};

/// Arguments of `voxatlas render` and `atlas-tools render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// The picture's size in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    pub size: (u32, u32),
    /// The PNG to write; with --path a directory, for 0001.png and so on
    #[arg(long, value_name = "FILE.png|DIR")]
    pub out: PathBuf,
    /// Fly along a path: a file with a view a line, spelled as for --view
    #[arg(long, value_name = "FILE", conflicts_with = "view")]
    pub path: Option<PathBuf>,
    /// Pictures to take along the path, the first at its start and the last at its end
    #[arg(long, value_name = "N", default_value = "12", requires = "path", value_parser = clap::value_parser!(u32).range(1..=99_999))]
    pub frames: u32,
    /// Metres a second along the path
    #[arg(long, value_name = "METRES_PER_SECOND", default_value = "240", requires = "path")]
    pub speed: f64,
    /// Fly by the clock and show what has arrived, instead of waiting at each picture until it is complete
    #[arg(long, requires = "path")]
    pub realtime: bool,
    /// Draw so many pixels in each direction for one, and average them: edges without steps, at N x N the cost
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=SUPERSAMPLE_MAX))]
    pub supersample: u32,
    /// How the picture looks.
    #[command(flatten)]
    pub look: LookArgs,
    /// Print a JSON summary on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(long)]
    pub quiet: bool,
    /// What is written of the stream.
    #[command(flatten)]
    pub watch: WatchArgs,
    /// What is drawn, and from where.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Renders the picture, or the film, writes it, and says what came of it. Yields whether every region could be drawn.
///
/// # Errors
///
/// The source or the path cannot be opened, there is no adapter to draw with, or a picture cannot be written.
pub fn render(args: &RenderArgs) -> Result<bool> {
    let began = Instant::now();
    let source = open_source(&args.source)?;
    let source_name = source.name().to_owned();
    let report = |out: &Path, pose: &Pose, rendered: &Rendered, began: Instant| -> Result<()> {
        let view = ViewSpec::of(pose).to_string();
        report(args, &source_name, out, view, rendered, began)
    };
    let shows_progress = !args.quiet && !args.json && std::io::stderr().is_terminal();
    let lens = |pose| View {
        pose,
        fov_y_rad: FOV_Y_RAD,
        width_px: args.size.0,
        height_px: args.size.1,
        draw_distance_voxels: DRAW_DISTANCE_VOXELS,
    };
    let listener = args.watch.events.as_deref().map(EventsFile::create).transpose()?.map(EventsFile::into_listener);
    let options = |pose: &Pose| RenderOptions {
        style: FrameStyle::Lit(args.look.lighting(ViewSpec::of(pose).place(), Light::Full)),
        adapter: args.look.adapter.clone(),
        antialiasing: args.look.antialiasing(Light::Full),
        supersample: args.supersample,
        listener,
    };
    let mut has_failures = false;
    if let Some(file) = &args.path {
        let path = read_path(file, args.speed)?;
        std::fs::create_dir_all(&args.out).with_context(|| format!("{} cannot be made", args.out.display()))?;
        let pace = if args.realtime { Pace::Clock } else { Pace::Waiting };
        let on_progress = |idx: usize, progress| {
            if shows_progress {
                show(&format!("picture {} of {}: ", idx + 1, args.frames), progress);
            }
        };
        let on_picture = |idx: usize, pose: &Pose, rendered: Rendered| -> Result<()> {
            has_failures |= !rendered.failures.is_empty();
            let out = args.out.join(format!("{:04}.png", idx + 1));
            write_png(&out, &rendered.picture)?;
            report(&out, pose, &rendered, began)
        };
        let first = path.pose_at(0.0);
        let n_pictures = args.frames as usize;
        film(source, &path, &lens(first), n_pictures, pace, options(&first), on_progress, on_picture)?;
    } else {
        let pose = first_view(&args.source, &source)?.pose();
        let rendered = render_picture(source, &lens(pose), options(&pose), |progress| {
            if shows_progress {
                show("", progress);
            }
        })?;
        if shows_progress {
            eprintln!();
        }
        write_png(&args.out, &rendered.picture)?;
        report(&args.out, &pose, &rendered, began)?;
        has_failures = !rendered.failures.is_empty();
    }
    Ok(!has_failures)
}

fn read_path(file: &Path, metres_per_sec: f64) -> Result<CameraPath> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    CameraPath::parse(&text, metres_per_sec).with_context(|| format!("{} is no camera path", file.display()))
}

/// Says what a picture shows and what it lacks.
fn report(
    args: &RenderArgs,
    source: &str,
    out: &Path,
    view: String,
    rendered: &Rendered,
    began: Instant,
) -> Result<()> {
    let Rendered { progress, failures, memory, stats, .. } = rendered;
    if args.json {
        let summary = Summary {
            source,
            out,
            view,
            width_px: args.size.0,
            height_px: args.size.1,
            regions_drawn: progress.n_drawn,
            regions_empty: progress.n_empty,
            regions_pending: progress.n_visible() - progress.n_settled(),
            regions_failed: failures.len(),
            failures,
            gpu_regions_bytes: memory.regions_bytes,
            gpu_pages_bytes: memory.pages_bytes,
            gpu_frame_millis: stats.gpu_time.map(|time| time.as_secs_f64() * 1e3),
            frame: *stats,
            elapsed_secs: began.elapsed().as_secs_f64(),
        };
        println!("{}", serde_json::to_string(&summary)?);
        return Ok(());
    }
    for failure in failures {
        eprintln!("failed: {failure}");
    }
    if !args.quiet {
        let pending = match progress.n_visible() - progress.n_settled() {
            0 => String::new(),
            n => format!(", {n} on their way"),
        };
        eprintln!("{}: {} regions drawn, {} failed{pending}", out.display(), progress.n_drawn, failures.len());
    }
    Ok(())
}

/// What `--json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    source: &'a str,
    out: &'a Path,
    view: String,
    width_px: u32,
    height_px: u32,
    regions_drawn: usize,
    regions_empty: usize,
    regions_pending: usize,
    regions_failed: usize,
    failures: &'a [Failure],
    gpu_regions_bytes: u64,
    gpu_pages_bytes: u64,
    gpu_frame_millis: Option<f64>,
    #[serde(flatten)]
    frame: FrameStats,
    elapsed_secs: f64,
}

fn show(what: &str, progress: Progress) {
    let mut stderr = std::io::stderr().lock();
    let (n_settled, n_visible) = (progress.n_settled(), progress.n_visible());
    // Progress that cannot be shown is no reason to stop.
    let _ = write!(stderr, "\r{what}{n_settled} of {n_visible} regions").and_then(|()| stderr.flush());
}

/// Writes beside the file and renames, so that a full disk leaves no half picture.
fn write_png(path: &Path, picture: &Picture) -> Result<()> {
    let context = || format!("{} cannot be written", path.display());
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let written = encode_png(Path::new(&unfinished), picture).and_then(|()| Ok(std::fs::rename(&unfinished, path)?));
    if written.is_err() {
        // The error that is reported is the first one.
        let _ = std::fs::remove_file(&unfinished);
    }
    written.with_context(context)
}

fn encode_png(path: &Path, picture: &Picture) -> Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), picture.width_px, picture.height_px);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.rgba)?;
    writer.finish()?;
    Ok(())
}
