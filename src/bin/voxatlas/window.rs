//! `voxatlas view`: the window, its events and its frames.
//!
//! Calm: a frame is drawn when something has changed (input, an arrived region, the window itself), not for its own
//! sake.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use voxatlas::cli::{self, DRAW_DISTANCE_VOXELS, EventsFile, FOV_Y_RAD, LookArgs};
use voxatlas::gpu::{FrameStats, FrameStyle, Gpu};
use voxatlas::render::Session;
use voxatlas::source::Source;
use voxatlas::view::{Controls, Mode, Pose, View, ViewSpec};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{DeviceEvent, DeviceId, ElementState, KeyEvent, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy, OwnedDisplayHandle};
use winit::keyboard::{KeyCode, PhysicalKey};
use winit::window::{CursorGrabMode, Window, WindowId};

use crate::args::ViewArgs;
use crate::daylight::Daylight;
use crate::hud::{Hud, RegionCounts};
use crate::input::{InputState, LOOK_BUTTON};
use crate::painter::{Overlay, WindowSurface};

/// Frames over which the frame rate is averaged.
const PACE_FRAMES: usize = 30;

/// A pause longer than this is rest, not a slow frame, and does not count into the frame rate.
const REST: Duration = Duration::from_secs(1);

/// A device that is lost twice within this time is broken, and another one would be lost, too.
const LOSS_REST: Duration = Duration::from_secs(5);

/// A graphics device that draws into the window, and the window's surface on it.
fn open_device(
    display: &OwnedDisplayHandle,
    window: &Arc<Window>,
    adapter: Option<&str>,
) -> Result<(Gpu, WindowSurface)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle(Box::new(display.clone())));
    let surface = instance.create_surface(Arc::clone(window)).context("the window cannot be drawn to")?;
    let gpu = pollster::block_on(Gpu::for_surface(&instance, &surface, adapter))?;
    let surface = WindowSurface::new(&gpu, surface, window)?;
    Ok((gpu, surface))
}

/// Runs the viewer until its window is closed.
pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    let source = cli::source(&args.source)?;
    let first_view = cli::first_view(&args.source, &source)?;
    let events = args.watch.events.as_deref().map(EventsFile::create).transpose()?;
    let event_loop = EventLoop::<Wake>::with_user_event().build().context(
        "no window can be opened: is a display running (DISPLAY or WAYLAND_DISPLAY)? `voxatlas render` needs none",
    )?;
    event_loop.set_control_flow(ControlFlow::Wait);
    let mut viewer = Viewer {
        proxy: event_loop.create_proxy(),
        start: Some(Start { source, events, size_px: args.size, look: args.look.clone() }),
        first_view,
        running: None,
        failure: None,
    };
    event_loop.run_app(&mut viewer).context("the window system ended the viewer")?;
    match viewer.failure {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The loader has something to say.
#[derive(Debug)]
struct Wake;

/// What the first window is made from.
struct Start {
    source: Source,
    events: Option<EventsFile>,
    size_px: (u32, u32),
    look: LookArgs,
}

/// The event handler: nothing before the window exists, everything after.
struct Viewer {
    proxy: EventLoopProxy<Wake>,
    start: Option<Start>,
    first_view: ViewSpec,
    running: Option<Running>,
    /// Why the viewer ended, where it did not end by the user's wish.
    failure: Option<anyhow::Error>,
}

impl Viewer {
    fn fail(&mut self, event_loop: &ActiveEventLoop, failure: anyhow::Error) {
        self.failure = Some(failure);
        event_loop.exit();
    }
}

impl ApplicationHandler<Wake> for Viewer {
    fn new_events(&mut self, _: &ActiveEventLoop, cause: StartCause) {
        if let (StartCause::ResumeTimeReached { .. }, Some(running)) = (cause, &self.running) {
            running.window.request_redraw();
        }
    }

    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        // Comes again after a suspension; the window and the stream are still there then.
        let Some(start) = self.start.take() else { return };
        match Running::start(event_loop, start, self.first_view, self.proxy.clone()) {
            Ok(running) => self.running = Some(running),
            Err(failure) => self.fail(event_loop, failure),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(running) = &mut self.running else { return };
        match running.on_window_event(&event) {
            Ok(Flow::Go) => {}
            Ok(Flow::Exit) => event_loop.exit(),
            Err(failure) => self.fail(event_loop, failure),
        }
    }

    fn device_event(&mut self, _: &ActiveEventLoop, _: DeviceId, event: DeviceEvent) {
        if let (Some(running), DeviceEvent::MouseMotion { delta }) = (&mut self.running, event) {
            running.on_mouse_motion(delta);
        }
    }

    fn user_event(&mut self, _: &ActiveEventLoop, Wake: Wake) {
        if let Some(running) = &self.running {
            running.window.request_redraw();
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(running) = &self.running {
            event_loop.set_control_flow(running.control_flow());
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        // The surface goes before the event loop that its display belongs to.
        self.running = None;
    }
}

/// Whether an event ends the viewer.
enum Flow {
    Go,
    Exit,
}

/// An open window and the stream that it shows.
struct Running {
    window: Arc<Window>,
    display: OwnedDisplayHandle,
    gpu: Gpu,
    surface: WindowSurface,
    overlay: Overlay,
    session: Session,
    attribution: String,
    first_pose: Pose,
    pose: Pose,
    controls: Controls,
    input: InputState,
    /// The pointer is held by the window, and the mouse turns the view.
    looks: bool,
    help: bool,
    daylight: Daylight,
    /// Whether the hour is shown.
    shows_hour: bool,
    last_frame: Instant,
    /// When the graphics device was last lost.
    last_loss: Option<Instant>,
    /// Durations of the last frames, rests left out.
    pace: VecDeque<Duration>,
    /// When the session wants a frame although nothing happens: the end of a back-off.
    wake_at: Option<Instant>,
}

impl Running {
    fn start(
        event_loop: &ActiveEventLoop,
        Start { source, events, size_px, look }: Start,
        first_view: ViewSpec,
        proxy: EventLoopProxy<Wake>,
    ) -> Result<Self> {
        let title =
            source.tileset().name.as_ref().map_or_else(|| "voxatlas".to_owned(), |name| format!("{name} - voxatlas"));
        let attributes =
            Window::default_attributes().with_title(title).with_inner_size(PhysicalSize::new(size_px.0, size_px.1));
        let window = Arc::new(event_loop.create_window(attributes).context("the window system gives no window")?);
        let display = event_loop.owned_display_handle();
        let (gpu, surface) = open_device(&display, &window, look.adapter.as_deref())?;
        let daylight = Daylight::new(look, gpu.is_software());
        let overlay = Overlay::new(&gpu, surface.format(), &window);
        let attribution = source.tileset().attribution.clone().unwrap_or_default();
        let mut session = Session::new(&gpu, surface.format(), source).context("the loader cannot start")?;
        session.set_antialiasing(daylight.antialiasing());
        if let Some(events) = events {
            session.listen(events.into_listener());
        }
        session.set_waker(move || {
            // The loop is gone where this fails, and with it whoever would draw.
            let _ = proxy.send_event(Wake);
        });
        let pose = first_view.pose();
        Ok(Self {
            window,
            display,
            gpu,
            surface,
            overlay,
            session,
            attribution,
            first_pose: pose,
            pose,
            controls: Controls::new(Mode::Flight, &pose),
            input: InputState::default(),
            looks: false,
            help: false,
            daylight,
            shows_hour: false,
            last_frame: Instant::now(),
            last_loss: None,
            pace: VecDeque::new(),
            wake_at: None,
        })
    }

    fn on_window_event(&mut self, event: &WindowEvent) -> Result<Flow> {
        self.overlay.on_window_event(&self.window, event);
        match event {
            WindowEvent::CloseRequested => return Ok(Flow::Exit),
            WindowEvent::RedrawRequested => self.frame()?,
            WindowEvent::Resized(size) => self.surface.resize(&self.gpu, size.width, size.height),
            WindowEvent::KeyboardInput { event, .. } => self.on_key(event),
            WindowEvent::MouseInput { button, state, .. } if *button == LOOK_BUTTON => {
                if *state == ElementState::Pressed && !self.overlay.takes_pointer() {
                    self.hold_pointer(true);
                }
            }
            WindowEvent::MouseWheel { delta, .. } => self.input.wheel(*delta),
            WindowEvent::Focused(false) => {
                self.input.release_all();
                self.hold_pointer(false);
            }
            // The slider follows the pointer.
            WindowEvent::CursorMoved { .. } if self.shows_hour => {}
            _ => return Ok(Flow::Go),
        }
        if !matches!(event, WindowEvent::RedrawRequested) {
            self.window.request_redraw();
        }
        Ok(Flow::Go)
    }

    fn on_key(&mut self, event: &KeyEvent) {
        self.input.key(event);
        if event.state != ElementState::Pressed || event.repeat {
            return;
        }
        match event.physical_key {
            PhysicalKey::Code(KeyCode::Escape) => self.hold_pointer(false),
            PhysicalKey::Code(KeyCode::F1) => self.help = !self.help,
            PhysicalKey::Code(KeyCode::Tab) => {
                let other = if self.controls.mode() == Mode::Flight { Mode::Overhead } else { Mode::Flight };
                self.pose = self.controls.set_mode(other, &self.pose);
            }
            PhysicalKey::Code(KeyCode::KeyL) => self.shows_hour = !self.shows_hour,
            PhysicalKey::Code(KeyCode::KeyP) => self.controls.auto_scroll = !self.controls.auto_scroll,
            PhysicalKey::Code(KeyCode::Home) => {
                self.controls = Controls::new(Mode::Flight, &self.first_pose);
                self.pose = self.first_pose;
            }
            PhysicalKey::Code(KeyCode::KeyR) => {
                self.session.retry_failed();
            }
            _ => {}
        }
    }

    fn on_mouse_motion(&mut self, delta_px: (f64, f64)) {
        if self.looks {
            self.input.mouse(delta_px);
            self.window.request_redraw();
        }
    }

    /// Takes or frees the pointer. Where the window system can do neither of the two ways of holding it, the mouse
    /// still turns the view, and the pointer runs on.
    fn hold_pointer(&mut self, hold: bool) {
        let grabbed = if hold {
            self.window
                .set_cursor_grab(CursorGrabMode::Locked)
                .or_else(|_| self.window.set_cursor_grab(CursorGrabMode::Confined))
        } else {
            self.window.set_cursor_grab(CursorGrabMode::None)
        };
        if let Err(error) = grabbed {
            tracing::debug!("the pointer is not held: {error}");
        }
        self.window.set_cursor_visible(!hold);
        self.looks = hold;
    }

    /// One frame: move, stream, draw, show.
    fn frame(&mut self) -> Result<()> {
        if self.gpu.lost().is_some() {
            self.replace_device()?;
        }
        let now = Instant::now();
        let elapsed = now - self.last_frame;
        self.last_frame = now;
        if elapsed < REST {
            self.pace.push_back(elapsed);
            if self.pace.len() > PACE_FRAMES {
                self.pace.pop_front();
            }
        } else {
            self.pace.clear();
        }

        self.pose = self.controls.step(&self.view(), &self.input.take(elapsed));
        let view = self.view();
        self.session.advance(&view);
        self.wake_at = self.session.next_wake();

        let Some(target) = self.surface.acquire(&self.gpu) else {
            self.window.request_redraw();
            return Ok(());
        };
        let target_view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let place = ViewSpec::of(&self.pose).place();
        let stats =
            self.session.draw(&mut encoder, &target_view, &view, FrameStyle::Lit(self.daylight.lighting(place)));
        let hud_is_moving = self.paint_hud(stats, &mut encoder, &target_view);
        self.gpu.queue.submit([encoder.finish()]);
        self.window.pre_present_notify();
        self.gpu.queue.present(target);

        if hud_is_moving || self.needs_next_frame() {
            self.window.request_redraw();
        }
        Ok(())
    }

    /// Starts anew on the graphics device that is there now. What is loaded stays; only what was on the device is sent
    /// again.
    fn replace_device(&mut self) -> Result<()> {
        let reason = self.gpu.lost().unwrap_or_default().to_owned();
        if self.last_loss.is_some_and(|at| at.elapsed() < LOSS_REST) {
            anyhow::bail!("the graphics device is lost again and again: {reason}");
        }
        self.last_loss = Some(Instant::now());
        let (gpu, surface) = open_device(&self.display, &self.window, self.daylight.adapter())
            .with_context(|| format!("the graphics device was lost ({reason}), and none takes its place"))?;
        self.overlay = Overlay::new(&gpu, surface.format(), &self.window);
        self.session.replace_device(&gpu, surface.format());
        (self.gpu, self.surface) = (gpu, surface);
        Ok(())
    }

    fn view(&self) -> View {
        let (width_px, height_px) = self.surface.size_px();
        View { pose: self.pose, fov_y_rad: FOV_Y_RAD, width_px, height_px, draw_distance_voxels: DRAW_DISTANCE_VOXELS }
    }

    /// Paints the words over the picture; whether they still move.
    fn paint_hud(&mut self, frame: FrameStats, encoder: &mut wgpu::CommandEncoder, target: &wgpu::TextureView) -> bool {
        let progress = self.session.progress();
        let failures: Vec<String> = self.session.failures().iter().map(ToString::to_string).collect();
        let here = ViewSpec::of(&self.pose);
        let hour = self.shows_hour.then(|| self.daylight.hour(here.place()));
        let mut hud = Hud {
            hour,
            frame,
            frames_per_second: self.frames_per_second(),
            mode: match self.controls.mode() {
                Mode::Overhead => "overhead",
                Mode::Flight => "flight",
            },
            regions: RegionCounts {
                drawn: progress.n_drawn,
                empty: progress.n_empty,
                loading: progress.n_visible() - progress.n_settled(),
                failed: progress.n_failed,
            },
            place: (here.place().lon_deg(), here.place().lat_deg(), here.height_m()),
            attribution: &self.attribution,
            failures: &failures,
            help: self.help,
        };
        let size_px = self.surface.size_px();
        let is_moving = self.overlay.paint(&self.gpu, encoder, target, size_px, &self.window, |ui| hud.show(ui.ctx()));
        match hud.hour.filter(|_| hud.hour != hour) {
            Some(hour) => {
                self.daylight.set_hour(here.place(), hour);
                true
            }
            None => is_moving,
        }
    }

    fn frames_per_second(&self) -> Option<f32> {
        let total: Duration = self.pace.iter().sum();
        (!self.pace.is_empty() && !total.is_zero()).then(|| self.pace.len() as f32 / total.as_secs_f32())
    }

    /// Whether the picture goes on changing without another event.
    fn needs_next_frame(&self) -> bool {
        let scrolls = self.controls.mode() == Mode::Overhead && self.controls.auto_scroll;
        self.input.is_active() || scrolls || self.session.is_moving()
    }

    fn control_flow(&self) -> ControlFlow {
        // One frame more after the last one of a movement, to say that the picture is at rest.
        let rests_at = (!self.pace.is_empty()).then(|| self.last_frame + REST);
        self.wake_at.into_iter().chain(rests_at).min().map_or(ControlFlow::Wait, ControlFlow::WaitUntil)
    }
}
