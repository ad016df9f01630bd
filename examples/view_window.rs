//! The smallest window on a voxel city: a [`Session`] does the streaming and the drawing, winit and wgpu the rest.
//!
//! ```sh
//! cargo run --example view_window              # the demo city
//! cargo run --example view_window -- SOURCE    # a directory, a tiles.json or a URL
//! ```
//!
//! With `--once` it ends as soon as the picture is whole.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use voxatlas::gpu::{FrameStyle, Gpu, Lighting};
use voxatlas::render::Session;
use voxatlas::source::{Source, SourceConfig};
use voxatlas::view::{View, ViewSpec};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

/// Longitude, latitude, height in metres, bearing and pitch in degrees: the demo city's tower.
const VIEW: &str = "0.0036,-0.0050,330,331,-17";

fn main() -> Result<()> {
    let (flags, sources): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let source = Source::open_blocking(sources.first().map_or("demo", String::as_str), &SourceConfig::default())?;
    let event_loop = EventLoop::new()?;
    let mut app = App { source: Some(source), once: flags.iter().any(|flag| flag == "--once"), shown: None };
    event_loop.run_app(&mut app)?;
    Ok(())
}

struct App {
    /// Until the window exists.
    source: Option<Source>,
    once: bool,
    shown: Option<Shown>,
}

struct Shown {
    window: Arc<Window>,
    gpu: Gpu,
    surface: wgpu::Surface<'static>,
    session: Session,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(source) = self.source.take() {
            self.shown = Some(Shown::open(event_loop, source).expect("a window opens"));
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(shown) = &mut self.shown else { return };
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(_) => shown.configure(),
            WindowEvent::RedrawRequested => {
                let is_complete = shown.draw();
                if is_complete && self.once {
                    println!("{} regions drawn", shown.session.progress().n_drawn);
                    event_loop.exit();
                }
            }
            _ => {}
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        self.shown = None;
    }
}

impl Shown {
    fn open(event_loop: &ActiveEventLoop, source: Source) -> Result<Self> {
        let window = Arc::new(event_loop.create_window(Window::default_attributes().with_title("view_window"))?);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle(Box::new(
            event_loop.owned_display_handle(),
        )));
        let surface = instance.create_surface(Arc::clone(&window)).context("the window cannot be drawn to")?;
        let gpu = pollster::block_on(Gpu::for_surface(&instance, &surface, None))?;
        let size = window.inner_size();
        let format = gpu.surface_configuration(&surface, size.width, size.height)?.format;
        let session = Session::new(&gpu, format, source)?;
        let shown = Self { window, gpu, surface, session };
        shown.configure();
        Ok(shown)
    }

    fn configure(&self) {
        let size = self.window.inner_size();
        if let Ok(config) = self.gpu.surface_configuration(&self.surface, size.width, size.height) {
            self.surface.configure(&self.gpu.device, &config);
        }
        self.window.request_redraw();
    }

    /// One frame; whether the picture is whole.
    fn draw(&mut self) -> bool {
        let size = self.window.inner_size();
        let view = View {
            pose: VIEW.parse::<ViewSpec>().expect("the view is well-formed").pose(),
            fov_y_rad: 50f64.to_radians(),
            width_px: size.width.max(1),
            height_px: size.height.max(1),
            draw_distance_voxels: 2_000.0,
        };
        self.session.advance(&view);
        let is_complete = self.session.is_complete();
        if let wgpu::CurrentSurfaceTexture::Success(target) = self.surface.get_current_texture() {
            let target_view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            self.session.draw(&mut encoder, &target_view, &view, FrameStyle::Lit(Lighting::default()));
            self.gpu.queue.submit([encoder.finish()]);
            self.gpu.queue.present(target);
        }
        self.window.request_redraw();
        is_complete
    }
}
