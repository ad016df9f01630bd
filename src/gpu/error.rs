//! What can go wrong between us and the graphics driver.

use thiserror::Error;

/// Why there is no device, no room or no picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No graphics driver answered.
    #[error(
        "no graphics adapter was found: {what}. A Vulkan, Metal or DirectX 12 driver is needed; without a graphics card, \
         install a software one (Debian, Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1; Fedora: dnf install \
         mesa-vulkan-drivers vulkan-loader)"
    )]
    NoAdapter {
        /// What the drivers answered.
        what: String,
    },
    /// No adapter has the name that was asked for.
    #[error("no graphics adapter is called `{name}`; there {}", listed(.adapters))]
    NoSuchAdapter {
        /// What was asked for.
        name: String,
        /// The adapters that there are, with their backends.
        adapters: Vec<String>,
    },
    /// The adapter gives no device within WebGPU's default limits.
    #[error("the graphics adapter `{adapter}` gives no device with the default limits of WebGPU: {what}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the driver answered.
        what: String,
    },
    /// The adapter cannot show pictures in the window.
    #[error("the graphics adapter `{adapter}` cannot draw into this window")]
    NoSurface {
        /// The adapter's name.
        adapter: String,
    },
    /// The picture has no pixels or more than a texture can have.
    #[error("a picture of {width_px} x {height_px} pixels cannot be drawn: each side must be within 1..={side_px_max}")]
    PictureSize {
        /// Width asked for, in pixels.
        width_px: u32,
        /// Height asked for, in pixels.
        height_px: u32,
        /// The device's limit, in pixels.
        side_px_max: u32,
    },
    /// A region finds no room: the regions on the GPU reach their budget.
    #[error("a region of {size_bytes} bytes finds no room on the GPU: {used_bytes} of {budget_bytes} bytes are in use")]
    NoRoom {
        /// What the region takes.
        size_bytes: u64,
        /// What the other regions take.
        used_bytes: u64,
        /// The budget.
        budget_bytes: u64,
    },
    /// The driver has no memory for another page.
    #[error("the graphics driver has no memory for another {size_bytes} bytes: {what}")]
    OutOfMemory {
        /// What was asked for.
        size_bytes: u64,
        /// What the driver answered.
        what: String,
    },
    /// A picture could not be read back.
    #[error("the picture could not be read back from the GPU: {what}")]
    Readback {
        /// What the driver answered.
        what: String,
    },
}

fn listed(adapters: &[String]) -> String {
    match adapters {
        [] => "is none".to_owned(),
        [one] => format!("is {one}"),
        several => format!("are {}", several.join(", ")),
    }
}
