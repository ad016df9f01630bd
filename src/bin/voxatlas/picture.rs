//! `voxatlas render`: a picture without a window.

use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Serialize;
use voxatlas::gpu::{FrameStyle, Picture};
use voxatlas::render::{Failure, Rendered, render};
use voxatlas::stream::Progress;
use voxatlas::view::View;

use crate::args::RenderArgs;
use crate::open::{self, DRAW_DISTANCE_VOXELS, FOV_Y_RAD};

/// Renders the picture, writes it, and says what came of it.
pub(crate) fn run(args: &RenderArgs) -> Result<ExitCode> {
    let began = Instant::now();
    let source = open::source(&args.source)?;
    let source_name = source.name().to_owned();
    let spec = open::first_view(&args.source, &source)?;
    let view = View {
        pose: spec.pose(),
        fov_y_rad: FOV_Y_RAD,
        width_px: args.size.0,
        height_px: args.size.1,
        draw_distance_voxels: DRAW_DISTANCE_VOXELS,
    };
    let shows_progress = !args.quiet && !args.json && std::io::stderr().is_terminal();
    let rendered = render(source, &view, FrameStyle::Lit, |progress| {
        if shows_progress {
            show(progress);
        }
    })?;
    if shows_progress {
        eprintln!();
    }
    write_png(&args.out, &rendered.picture)?;

    let Rendered { progress, failures, memory, gpu_time, .. } = &rendered;
    if args.json {
        let summary = Summary {
            source: &source_name,
            out: &args.out,
            view: spec.to_string(),
            width_px: args.size.0,
            height_px: args.size.1,
            regions_drawn: progress.n_drawn,
            regions_empty: progress.n_empty,
            regions_failed: failures.len(),
            failures,
            gpu_regions_bytes: memory.regions_bytes,
            gpu_frame_millis: gpu_time.map(|time| time.as_secs_f64() * 1e3),
            elapsed_secs: began.elapsed().as_secs_f64(),
        };
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        for failure in failures {
            eprintln!("failed: {failure}");
        }
        if !args.quiet {
            eprintln!("{}: {} regions drawn, {} failed", args.out.display(), progress.n_drawn, failures.len());
        }
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
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
    regions_failed: usize,
    failures: &'a [Failure],
    gpu_regions_bytes: u64,
    gpu_frame_millis: Option<f64>,
    elapsed_secs: f64,
}

fn show(progress: Progress) {
    let mut stderr = std::io::stderr().lock();
    // Progress that cannot be shown is no reason to stop.
    let _ =
        write!(stderr, "\r{} of {} regions", progress.n_settled(), progress.n_visible()).and_then(|()| stderr.flush());
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
