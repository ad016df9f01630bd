//! A flight as pictures.

use std::time::{Duration, Instant};

use super::picture::{RenderError, RenderOptions, Rendered, with_caption};
use super::session::Session;
use crate::gpu::{Gpu, Offscreen};
use crate::source::Source;
use crate::stream::Progress;
use crate::view::{CameraPath, Pose, View};

/// How the flight goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The camera waits at each picture until its view is complete: a film without a gap, whatever the network.
    Waiting,
    /// The camera takes off when its first view is complete, then flies by the clock, as a person would, and each picture
    /// shows what has arrived by then.
    Clock,
}

/// Longest time between two steps of a flight by the clock: a frame at 60 Hz.
const STEP: Duration = Duration::from_millis(16);

/// Flies along a path over `source` and takes `n_pictures` of it, the first at its start and the last at its end, evenly
/// spaced in time. `lens` says what size they have and how far they see; its pose counts for nothing.
///
/// `on_picture` takes each with its number, counted from 0, and where it was taken, and may end the flight with an error of its own;
/// `on_progress` hears how far the view is while the camera waits.
///
/// # Errors
///
/// No graphics adapter, a size that it cannot draw, no threads, or what `on_picture` says. A region that fails is no
/// error: it is named in [`Rendered::failures`].
#[expect(clippy::too_many_arguments, reason = "a film is a source, a flight, a camera and two listeners")]
pub fn film<E: From<RenderError>>(
    source: Source,
    path: &CameraPath,
    lens: &View,
    n_pictures: usize,
    pace: Pace,
    options: RenderOptions,
    mut on_progress: impl FnMut(usize, Progress),
    mut on_picture: impl FnMut(usize, &Pose, Rendered) -> Result<(), E>,
) -> Result<(), E> {
    let gpu = pollster::block_on(Gpu::headless_on(options.adapter.as_deref())).map_err(RenderError::from)?;
    let target = Offscreen::new(&gpu, lens.width_px * options.supersample, lens.height_px * options.supersample)
        .map_err(RenderError::from)?;
    let attribution = source.tileset().attribution.clone();
    let mut session = Session::new(&gpu, Offscreen::FORMAT, source).map_err(RenderError::from)?;
    session.set_antialiasing(options.antialiasing);
    if let Some(listener) = options.listener {
        session.listen(listener);
    }
    let view_at = |secs: f64| View { pose: path.pose_at(secs), ..*lens };
    let mut took_off = None;
    for idx in 0..n_pictures {
        let due_secs = path.duration_secs() * idx as f64 / (n_pictures.max(2) - 1) as f64;
        let view = match took_off {
            Some(at) if pace == Pace::Clock => {
                fly_until(&mut session, due_secs, at, view_at, |it| on_progress(idx, it))
            }
            _ => {
                let view = view_at(due_secs);
                complete(&mut session, &view, |it| on_progress(idx, it));
                view
            }
        };
        took_off.get_or_insert_with(Instant::now);
        on_progress(idx, session.progress());
        let (picture, stats) = session.take_picture(&target, &view, options.style).map_err(RenderError::from)?;
        let rendered = Rendered {
            picture: with_caption(picture.averaged(options.supersample), attribution.as_deref()),
            progress: session.progress(),
            failures: session.failures_in_view(),
            memory: session.memory(),
            stats,
        };
        on_picture(idx, &view.pose, rendered)?;
    }
    Ok(())
}

/// Streams until the view is complete.
pub(super) fn complete(session: &mut Session, view: &View, mut on_progress: impl FnMut(Progress)) {
    session.advance(view);
    while !session.is_complete() {
        on_progress(session.progress());
        session.wait();
        session.advance(view);
    }
}

/// Flies by the clock, whatever has arrived, and yields the view that was reached when the time came.
fn fly_until(
    session: &mut Session,
    due_secs: f64,
    took_off: Instant,
    view_at: impl Fn(f64) -> View,
    mut on_progress: impl FnMut(Progress),
) -> View {
    loop {
        let secs = took_off.elapsed().as_secs_f64();
        let view = view_at(secs);
        session.advance(&view);
        if secs >= due_secs {
            return view;
        }
        on_progress(session.progress());
        session.wait_at_most(STEP.min(Duration::from_secs_f64(due_secs - secs)));
    }
}
