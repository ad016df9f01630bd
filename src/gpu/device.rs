//! The graphics device: how it is found, and what it says when something breaks.
//!
//! Owns the instance, adapter, device and queue. Receives a surface where there is a window, yields a [`Gpu`] that is
//! cheap to clone. It recreates nothing: a lost device is reported, and whoever owns the window starts anew.
//!
//! The limits asked for are WebGPU's defaults and never the adapter's own: a software driver is far more generous than
//! a browser, and what relies on that breaks later.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::error::GpuError;

/// What it takes to draw many ranges in one call. The first of the two is about more than that, and says by the way that such
/// a call is the driver's own and not a loop of many.
const FEATURES_MULTI_DRAW: wgpu::Features =
    wgpu::Features::MULTI_DRAW_INDIRECT_COUNT.union(wgpu::Features::INDIRECT_FIRST_INSTANCE);

/// Features used where they are offered.
const FEATURES_OPTIONAL: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY.union(FEATURES_MULTI_DRAW);

/// A graphics device and its queue. Clones are handles on the same device.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// The adapter behind the device.
    pub adapter: wgpu::Adapter,
    /// Where resources are created.
    pub device: wgpu::Device,
    /// Where work is submitted.
    pub queue: wgpu::Queue,
    health: Arc<Health>,
}

/// What the driver reported through its callbacks, from whatever thread.
#[derive(Debug, Default)]
struct Health {
    lost: OnceLock<String>,
    n_errors: AtomicU64,
    last_error: Mutex<String>,
}

impl Gpu {
    /// A device without a window.
    ///
    /// # Errors
    ///
    /// No adapter, or none that gives a device.
    pub async fn headless() -> Result<Self, GpuError> {
        Self::headless_on(None).await
    }

    /// A device without a window, of the adapter whose name holds these words; of the system's choice for `None`.
    ///
    /// # Errors
    ///
    /// No adapter, none of that name, or none that gives a device.
    pub async fn headless_on(adapter: Option<&str>) -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        Self::new(&instance, None, adapter).await
    }

    /// [`headless`](Self::headless), for callers that may block.
    ///
    /// # Errors
    ///
    /// No adapter, or none that gives a device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn headless_blocking() -> Result<Self, GpuError> {
        pollster::block_on(Self::headless())
    }

    /// A device that can show pictures in `surface`, which `instance` has created; of the adapter whose name holds these
    /// words, or of the system's choice for `None`.
    ///
    /// # Errors
    ///
    /// No adapter that can draw into the surface, none of that name, or none that gives a device.
    pub async fn for_surface(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface<'_>,
        adapter: Option<&str>,
    ) -> Result<Self, GpuError> {
        Self::new(instance, Some(surface), adapter).await
    }

    async fn new(
        instance: &wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
        adapter: Option<&str>,
    ) -> Result<Self, GpuError> {
        let adapter = match adapter {
            Some(name) => adapter_named(instance, surface, name).await?,
            None => instance
                .request_adapter(&wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    force_fallback_adapter: false,
                    compatible_surface: surface,
                    apply_limit_buckets: false,
                })
                .await
                .map_err(|err| GpuError::NoAdapter { what: err.to_string() })?,
        };
        let info = adapter.get_info();
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("voxatlas"),
                required_features: adapter.features() & FEATURES_OPTIONAL,
                required_limits: wgpu::Limits::default(),
                ..Default::default()
            })
            .await
            .map_err(|err| GpuError::NoDevice { adapter: info.name.clone(), what: err.to_string() })?;
        tracing::info!(adapter = %info.name, backend = %info.backend, kind = ?info.device_type, driver = %info.driver_info, "graphics device");

        let health = Arc::new(Health::default());
        // Without a handler a native build panics, and a browser says nothing at all.
        device.on_uncaptured_error(Arc::new({
            let health = Arc::clone(&health);
            move |err: wgpu::Error| health.report(&err)
        }));
        device.set_device_lost_callback({
            let health = Arc::clone(&health);
            move |reason, message| health.lose(reason, &message)
        });
        Ok(Self { adapter, device, queue, health })
    }

    /// How to configure `surface` for a window of that size: vsync, and a format that stores bytes as they come where
    /// there is one, because the HUD blends in sRGB.
    ///
    /// # Errors
    ///
    /// The adapter cannot draw into the surface.
    pub fn surface_configuration(
        &self,
        surface: &wgpu::Surface<'_>,
        width_px: u32,
        height_px: u32,
    ) -> Result<wgpu::SurfaceConfiguration, GpuError> {
        let mut config = surface
            .get_default_config(&self.adapter, width_px.max(1), height_px.max(1))
            .ok_or_else(|| GpuError::NoSurface { adapter: self.adapter_name() })?;
        let formats = surface.get_capabilities(&self.adapter).formats;
        let plain = [wgpu::TextureFormat::Bgra8Unorm, wgpu::TextureFormat::Rgba8Unorm];
        if let Some(format) = plain.into_iter().find(|format| formats.contains(format)) {
            config.format = format;
        }
        config.present_mode = wgpu::PresentMode::AutoVsync;
        Ok(config)
    }

    /// The adapter's name, as the driver gives it.
    pub fn adapter_name(&self) -> String {
        self.adapter.get_info().name
    }

    /// Whether pictures are drawn by the CPU.
    pub fn is_software(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// Whether many ranges of a vertex buffer are drawn in one call.
    pub(super) fn draws_many(&self) -> bool {
        self.device.features().contains(FEATURES_MULTI_DRAW)
    }

    /// Why the device is lost, once it is. Nothing drawn from then on is to be trusted.
    ///
    /// The reason given by a browser is no guide to who did it, so it is only text.
    pub fn lost(&self) -> Option<&str> {
        self.health.lost.get().map(String::as_str)
    }

    /// Errors that the driver reported outside of any call, since the start. Each stands in the log.
    pub fn n_errors(&self) -> u64 {
        self.health.n_errors.load(Ordering::Relaxed)
    }

    /// The last of them, in the driver's words.
    pub fn last_error(&self) -> Option<String> {
        let last = self.health.last_error.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (!last.is_empty()).then(|| last.clone())
    }

    /// A buffer, or the driver's word that there is no memory for it.
    pub(super) fn try_create_buffer(&self, desc: &wgpu::BufferDescriptor<'_>) -> Result<wgpu::Buffer, GpuError> {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            let buffer = self.device.create_buffer(desc);
            // Natively the answer is there at once.
            match pollster::block_on(scope.pop()) {
                None => Ok(buffer),
                Some(err) => Err(GpuError::OutOfMemory { size_bytes: desc.size, what: err.to_string() }),
            }
        }
        // A browser answers later: there the error reaches the handler.
        #[cfg(target_arch = "wasm32")]
        Ok(self.device.create_buffer(desc))
    }
}

/// The first adapter whose name holds these words, in whatever case.
async fn adapter_named(
    instance: &wgpu::Instance,
    surface: Option<&wgpu::Surface<'_>>,
    name: &str,
) -> Result<wgpu::Adapter, GpuError> {
    let mut adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
    adapters.retain(|adapter| surface.is_none_or(|surface| adapter.is_surface_supported(surface)));
    let name_of = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        format!("{} ({})", info.name, info.backend)
    };
    let found = adapters.iter().position(|adapter| name_of(adapter).to_lowercase().contains(&name.to_lowercase()));
    match found {
        Some(idx) => Ok(adapters.swap_remove(idx)),
        None => {
            Err(GpuError::NoSuchAdapter { name: name.to_owned(), adapters: adapters.iter().map(name_of).collect() })
        }
    }
}

impl Health {
    /// Counts an error and logs it, unless it is the one before once more: a broken frame repeats itself sixty times a
    /// second.
    fn report(&self, err: &wgpu::Error) {
        self.n_errors.fetch_add(1, Ordering::Relaxed);
        let text = err.to_string();
        let mut last = self.last_error.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *last != text {
            tracing::error!("graphics: {text}");
            *last = text;
        }
    }

    fn lose(&self, reason: wgpu::DeviceLostReason, message: &str) {
        let text = format!("{reason:?}: {message}");
        tracing::error!("the graphics device is lost ({text})");
        // Only the first reason counts.
        let _ = self.lost.set(text);
    }
}
