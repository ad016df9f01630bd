//! Pictures without a window.
//!
//! Owns a texture to draw into and the way back from it. Yields RGBA8 rows without padding; it writes no file.

use std::sync::mpsc;
use std::time::Duration;

use super::device::Gpu;
use super::error::GpuError;
use super::look::FrameStyle;
use super::renderer::{FrameStats, Renderer};
use crate::view::View;

/// How long a callback may take once the GPU is done: a driver that never answers is an error and no hang.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A texture to draw into, and to read.
#[derive(Debug)]
pub struct Offscreen {
    gpu: Gpu,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
}

/// A picture on the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Width, in pixels.
    pub width_px: u32,
    /// Height, in pixels.
    pub height_px: u32,
    /// Red, green, blue and alpha (always 255), 8 bits sRGB, row by row from the top.
    pub rgba: Vec<u8>,
}

impl Offscreen {
    /// The format of the texture: bytes as they come.
    pub const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

    /// A texture of that size.
    ///
    /// # Errors
    ///
    /// A side is 0 or above the device's limit (8192).
    pub fn new(gpu: &Gpu, width_px: u32, height_px: u32) -> Result<Self, GpuError> {
        Self::with_format(gpu, Self::FORMAT, width_px, height_px)
    }

    /// [`new`](Self::new) in one of the two RGBA8 formats, for a renderer of that format.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_format(
        gpu: &Gpu,
        format: wgpu::TextureFormat,
        width_px: u32,
        height_px: u32,
    ) -> Result<Self, GpuError> {
        debug_assert_eq!(format.remove_srgb_suffix(), Self::FORMAT, "pictures are RGBA8");
        let side_px_max = gpu.device.limits().max_texture_dimension_2d;
        if !(1..=side_px_max).contains(&width_px) || !(1..=side_px_max).contains(&height_px) {
            return Err(GpuError::PictureSize { width_px, height_px, side_px_max });
        }
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: width_px, height: height_px, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        Ok(Self { gpu: gpu.clone(), texture, view })
    }

    /// What to draw into.
    pub fn view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// Width and height in pixels.
    pub fn size_px(&self) -> (u32, u32) {
        (self.texture.width(), self.texture.height())
    }

    /// Draws one frame and reads it. `view` has the texture's size, the renderer its [`FORMAT`](Self::FORMAT).
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn take(
        &self,
        renderer: &mut Renderer,
        view: &View,
        style: FrameStyle,
    ) -> Result<(Picture, FrameStats), GpuError> {
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let stats = renderer.draw(&mut encoder, &self.view, view, style);
        self.gpu.queue.submit([encoder.finish()]);
        Ok((self.read()?, stats))
    }

    /// Reads what was drawn; waits until the GPU is done.
    ///
    /// # Errors
    ///
    /// The device is lost or has no memory for the way back.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self) -> Result<Picture, GpuError> {
        let readback = |what: String| GpuError::Readback { what };
        let (width_px, height_px) = (self.texture.width(), self.texture.height());
        let row_bytes = width_px * 4;
        let padded_bytes = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.gpu.try_create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture rows"),
            size: u64::from(padded_bytes) * u64::from(height_px),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        })?;
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(padded_bytes),
                    rows_per_image: None,
                },
            },
            self.texture.size(),
        );
        self.gpu.queue.submit([encoder.finish()]);
        let (mapped, answer) = mpsc::sync_channel(1);
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver waits below; it is gone only after an error that is reported there.
            let _ = mapped.send(result);
        });
        self.gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|err| readback(err.to_string()))?;
        // Another thread that polls may have taken the callback and be about to run it.
        answer
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|_| readback("the driver gave no answer".to_owned()))?
            .map_err(|err| readback(err.to_string()))?;
        let bytes = buffer.get_mapped_range(..).map_err(|err| readback(err.to_string()))?;
        if let Some(reason) = self.gpu.lost() {
            return Err(readback(format!("the device is lost ({reason})")));
        }
        let rows = bytes.chunks_exact(padded_bytes as usize);
        let rgba = rows.flat_map(|row| &row[..row_bytes as usize]).copied().collect();
        Ok(Picture { width_px, height_px, rgba })
    }
}

impl Picture {
    /// The colour of a pixel, counted from the top left.
    ///
    /// # Panics
    ///
    /// The pixel lies outside.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        assert!(x < self.width_px && y < self.height_px);
        let at = (y as usize * self.width_px as usize + x as usize) * 4;
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }

    /// The picture with `n` x `n` pixels averaged to one, in linear light; what is left over at the right and at the bottom
    /// goes.
    ///
    /// # Panics
    ///
    /// `n` is 0, or above 256.
    #[must_use]
    pub fn averaged(self, n: u32) -> Self {
        assert!((1..=256).contains(&n));
        if n == 1 {
            return self;
        }
        let (width_px, height_px) = (self.width_px / n, self.height_px / n);
        let linear = linear_of_bytes();
        let mut rgba = Vec::with_capacity(width_px as usize * height_px as usize * 4);
        for y in 0..height_px {
            for x in 0..width_px {
                let mut sums = [0_u32; 3];
                for row in y * n..(y + 1) * n {
                    let first = (row as usize * self.width_px as usize + (x * n) as usize) * 4;
                    for pixel in self.rgba[first..first + 4 * n as usize].as_chunks::<4>().0 {
                        for (sum, &byte) in sums.iter_mut().zip(pixel) {
                            *sum += u32::from(linear[usize::from(byte)]);
                        }
                    }
                }
                rgba.extend(sums.map(|sum| byte_of_linear(&linear, sum / (n * n))));
                rgba.push(u8::MAX);
            }
        }
        Self { width_px, height_px, rgba }
    }
}

/// Linear light of each sRGB byte, 0..=65535.
fn linear_of_bytes() -> [u16; 256] {
    std::array::from_fn(|byte| {
        let srgb = byte as f64 / 255.0;
        let linear = if srgb <= 0.04045 { srgb / 12.92 } else { libm::pow((srgb + 0.055) / 1.055, 2.4) };
        (linear * 65_535.0).round() as u16
    })
}

/// The byte whose light is nearest.
fn byte_of_linear(linear: &[u16; 256], light: u32) -> u8 {
    let above = linear.partition_point(|&it| u32::from(it) < light).min(255);
    let below = above.saturating_sub(1);
    let distance = |byte: usize| u32::from(linear[byte]).abs_diff(light);
    if distance(below) < distance(above) { below as u8 } else { above as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_way_through_light() {
        let linear = linear_of_bytes();
        assert!((0..=255_u8).all(|byte| byte_of_linear(&linear, u32::from(linear[usize::from(byte)])) == byte));
    }

    #[test]
    fn pixels_are_averaged_as_light() {
        let pixels = [[0, 10, 200, 255], [255, 10, 200, 255], [255, 10, 200, 255], [0, 10, 200, 255]];
        let picture = Picture { width_px: 2, height_px: 2, rgba: pixels.concat() };
        // Half the light of white is 188, not 128.
        assert_eq!(picture.clone().averaged(2), Picture { width_px: 1, height_px: 1, rgba: vec![188, 10, 200, 255] });
        assert_eq!(picture.clone().averaged(1), picture);
    }
}
