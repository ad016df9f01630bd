//! A picture without a window.

use std::io;

use thiserror::Error;

use super::caption::draw_caption;
use super::film::complete;
use super::session::{Failure, Session};
use crate::gpu::{Antialiasing, FrameStats, FrameStyle, Gpu, GpuError, Memory, Offscreen, Picture};
use crate::source::Source;
use crate::stream::{Listener, Progress};
use crate::view::View;

/// Why there is no picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The graphics driver refuses.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The system gives no threads.
    #[error("the loader cannot start: {0}")]
    Loader(#[from] io::Error),
}

/// How pictures are made.
pub struct RenderOptions {
    /// How they look.
    pub style: FrameStyle,
    /// Words of the name of the adapter that draws; `None` leaves it to the system.
    pub adapter: Option<String>,
    /// How edges are drawn.
    pub antialiasing: Antialiasing,
    /// Pixels in each direction that are drawn for each of theirs, and averaged; at least 1.
    pub supersample: u32,
    /// Whoever is told what the stream does meanwhile; see [`Session::listen`].
    pub listener: Option<Listener>,
}

/// A picture, and what came of the regions in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The picture, the tileset's credit written into it.
    pub picture: Picture,
    /// The visible regions by state.
    pub progress: Progress,
    /// The regions that are missing in it, and why.
    pub failures: Vec<Failure>,
    /// What the renderer took on the GPU.
    pub memory: Memory,
    /// What the frame cost.
    pub stats: FrameStats,
}

/// Streams `source` until `view` is complete, and takes its picture.
///
/// Ends by itself: every region ends ready, empty or failed, and `on_progress` hears of each step towards it.
///
/// # Errors
///
/// No graphics adapter, a size that it cannot draw, or no threads. A region that fails is no error: it is named in
/// [`Rendered::failures`].
pub fn render(
    source: Source,
    view: &View,
    options: RenderOptions,
    mut on_progress: impl FnMut(Progress),
) -> Result<Rendered, RenderError> {
    let gpu = pollster::block_on(Gpu::headless_on(options.adapter.as_deref()))?;
    let target = Offscreen::new(&gpu, view.width_px * options.supersample, view.height_px * options.supersample)?;
    let attribution = source.tileset().attribution.clone();
    let mut session = Session::new(&gpu, Offscreen::FORMAT, source)?;
    session.set_antialiasing(options.antialiasing);
    if let Some(listener) = options.listener {
        session.listen(listener);
    }
    complete(&mut session, view, &mut on_progress);
    on_progress(session.progress());

    let (picture, stats) = session.take_picture(&target, view, options.style)?;
    Ok(Rendered {
        picture: with_caption(picture.averaged(options.supersample), attribution.as_deref()),
        progress: session.progress(),
        failures: session.failures_in_view(),
        memory: session.memory(),
        stats,
    })
}

/// The picture with the tileset's credit written into it, where it has one.
pub(super) fn with_caption(mut picture: Picture, attribution: Option<&str>) -> Picture {
    if let Some(attribution) = attribution {
        draw_caption(&mut picture.rgba, picture.width_px, picture.height_px, attribution);
    }
    picture
}
