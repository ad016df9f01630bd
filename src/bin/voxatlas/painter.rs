//! The window's surface, and egui painted over the city.

use std::sync::Arc;

use anyhow::Result;
use egui_wgpu::ScreenDescriptor;
use voxatlas::gpu::Gpu;
use winit::window::Window;

/// The surface of a window and its configuration.
pub(crate) struct WindowSurface {
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
}

impl WindowSurface {
    /// Configures the window's surface for its present size.
    pub(crate) fn new(gpu: &Gpu, surface: wgpu::Surface<'static>, window: &Window) -> Result<Self> {
        let size = window.inner_size();
        let config = gpu.surface_configuration(&surface, size.width, size.height)?;
        surface.configure(&gpu.device, &config);
        Ok(Self { surface, config })
    }

    /// The format that is drawn to.
    pub(crate) fn format(&self) -> wgpu::TextureFormat {
        self.config.format
    }

    /// Width and height in pixels.
    pub(crate) fn size_px(&self) -> (u32, u32) {
        (self.config.width, self.config.height)
    }

    /// Follows the window's size.
    pub(crate) fn resize(&mut self, gpu: &Gpu, width_px: u32, height_px: u32) {
        if width_px > 0 && height_px > 0 {
            self.config.width = width_px;
            self.config.height = height_px;
            self.surface.configure(&gpu.device, &self.config);
        }
    }

    /// The texture of the next frame, or `None` where this frame is to be skipped.
    pub(crate) fn acquire(&self, gpu: &Gpu) -> Option<wgpu::SurfaceTexture> {
        use wgpu::CurrentSurfaceTexture as Current;
        match self.surface.get_current_texture() {
            Current::Success(texture) => Some(texture),
            Current::Suboptimal(texture) => {
                // Drawn all the same: the resize event that caused it configures the surface anew.
                Some(texture)
            }
            Current::Outdated | Current::Lost => {
                self.surface.configure(&gpu.device, &self.config);
                None
            }
            Current::Timeout | Current::Occluded | Current::Validation => None,
        }
    }
}

/// egui, from window events to triangles over the picture.
pub(crate) struct Overlay {
    context: egui::Context,
    state: egui_winit::State,
    renderer: egui_wgpu::Renderer,
}

impl Overlay {
    /// An overlay for `window`, drawn to `format`.
    pub(crate) fn new(gpu: &Gpu, format: wgpu::TextureFormat, window: &Arc<Window>) -> Self {
        let context = egui::Context::default();
        let state = egui_winit::State::new(context.clone(), egui::ViewportId::ROOT, window, None, None, None);
        let renderer = egui_wgpu::Renderer::new(&gpu.device, format, egui_wgpu::RendererOptions::default());
        Self { context, state, renderer }
    }

    /// Hands an event to egui. Whether egui calls it used up does not matter: it claims the Tab key even so.
    pub(crate) fn on_window_event(&mut self, window: &Window, event: &winit::event::WindowEvent) {
        let _ = self.state.on_window_event(window, event);
    }

    /// Whether the pointer is at something that takes clicks.
    pub(crate) fn takes_pointer(&self) -> bool {
        self.context.egui_wants_pointer_input()
    }

    /// Lays out and paints one frame of interface over `target`. Whether the next frame would differ: what is shown for
    /// the first time is only measured then, and finds its place in the frame after.
    #[expect(clippy::iter_over_hash_type, reason = "textures are changed and freed each on its own, in any order")]
    pub(crate) fn paint(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        size_px: (u32, u32),
        window: &Window,
        interface: impl FnMut(&mut egui::Ui),
    ) -> bool {
        let output = self.context.run_ui(self.state.take_egui_input(window), interface);
        self.state.handle_platform_output(window, output.platform_output);
        let is_moving = output.viewport_output.values().any(|viewport| viewport.repaint_delay.is_zero());
        let triangles = self.context.tessellate(output.shapes, output.pixels_per_point);
        let screen =
            ScreenDescriptor { size_in_pixels: [size_px.0, size_px.1], pixels_per_point: output.pixels_per_point };
        let mut textures = output.textures_delta;
        for (id, deltas) in textures.set.drain() {
            for delta in deltas {
                self.renderer.update_texture(&gpu.device, &gpu.queue, id, &delta);
            }
        }
        let callbacks = self.renderer.update_buffers(&gpu.device, &gpu.queue, encoder, &triangles, &screen);
        debug_assert!(callbacks.is_empty(), "the interface has no paint callbacks");
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("interface"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: target,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
                })],
                ..Default::default()
            })
            .forget_lifetime();
        self.renderer.render(&mut pass, &triangles, &screen);
        drop(pass);
        for id in textures.free.drain() {
            self.renderer.free_texture(&id);
        }
        is_moving
    }
}
