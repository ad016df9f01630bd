//! The passes of a frame: regions nearest first, then the sky.
//!
//! Owns the pipelines, the depth buffer and the frame's uniforms. Receives a view and a texture to draw into; what the
//! slots hold stays in `upload`, what of it is in view in `draw_list`.

use std::time::Duration;

use super::device::Gpu;
use super::draw_list::seen_pieces;
use super::error::GpuError;
use super::layout::{Frame, PIECE_STRIDE_BYTES, Piece};
use super::look::{self, FrameStyle};
use super::shader;
use super::timer::PassTimer;
use super::upload::{Budget, QUAD_BYTES, Slots};
use crate::stream::{OctantUpdate, SlotUpdate, UploadStep};
use crate::view::View;

/// Depth of all passes: reverse-Z needs a float.
const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Draws slots.
#[derive(Debug)]
pub struct Renderer {
    gpu: Gpu,
    slots: Slots,
    target_encodes: bool,
    region_pipeline: wgpu::RenderPipeline,
    sky_pipeline: wgpu::RenderPipeline,
    frame_uniform: wgpu::Buffer,
    frame_bind_group: wgpu::BindGroup,
    pieces: PieceUniforms,
    depth: Option<Depth>,
    timer: Option<PassTimer>,
}

/// What a frame cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameStats {
    /// Slots drawn: those that hold something and may be in view.
    pub n_slots: usize,
    /// Draw calls of regions; one a slot, unless a region is larger than a page or some of its octants are left out.
    pub n_draws: usize,
    /// Quads handed to the GPU.
    pub n_quads: u64,
    /// Bytes sent to the GPU since the frame before.
    pub uploaded_bytes: u64,
    /// How long the GPU took for a frame a little earlier, where it can tell.
    pub gpu_time: Option<Duration>,
}

/// What the renderer takes on the GPU, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Quads, face colours and palettes of the regions in the slots and on their way there, exactly.
    pub regions_bytes: u64,
    /// The pages that they live in, free room included.
    pub pages_bytes: u64,
    /// Depth buffer and uniforms.
    pub frame_bytes: u64,
}

impl Memory {
    /// Everything that the renderer has created.
    pub fn total_bytes(&self) -> u64 {
        self.pages_bytes + self.frame_bytes
    }
}

#[derive(Debug)]
struct Depth {
    view: wgpu::TextureView,
    size_px: [u32; 2],
}

/// The uniforms of a frame's pieces, in the order in which they are drawn.
#[derive(Debug)]
struct PieceUniforms {
    layout: wgpu::BindGroupLayout,
    buffer: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
}

impl Renderer {
    /// A renderer for targets of that format, with empty slots.
    pub fn new(gpu: &Gpu, target_format: wgpu::TextureFormat) -> Self {
        Self::with_budget(gpu, target_format, Budget::default())
    }

    /// [`new`](Self::new) with other limits than those of [`limits`](crate::limits).
    pub fn with_budget(gpu: &Gpu, target_format: wgpu::TextureFormat, budget: Budget) -> Self {
        let device = &gpu.device;
        let frame_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("frame"),
            entries: &[uniform_entry(false, size_of::<Frame>())],
        });
        let piece_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("piece"),
            entries: &[uniform_entry(true, size_of::<Piece>())],
        });
        let colours_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("face colours"),
            entries: &[storage_entry(0), storage_entry(1)],
        });
        let frame_uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("frame"),
            size: size_of::<Frame>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let frame_bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("frame"),
            layout: &frame_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: frame_uniform.as_entire_binding() }],
        });
        let target_encodes = target_format.is_srgb();
        let region_pipeline = pipeline(
            gpu,
            &PipelineParts {
                label: "regions",
                source: &shader::compose("region.wgsl"),
                bind_group_layouts: &[Some(&frame_layout), Some(&piece_layout), Some(&colours_layout)],
                vertex_buffers: &[Some(wgpu::VertexBufferLayout {
                    array_stride: QUAD_BYTES,
                    step_mode: wgpu::VertexStepMode::Instance,
                    attributes: &wgpu::vertex_attr_array![0 => Uint32x3],
                })],
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                depth_write: true,
                depth_compare: wgpu::CompareFunction::Greater,
                target_format,
            },
        );
        let sky_pipeline = pipeline(
            gpu,
            &PipelineParts {
                label: "sky",
                source: &shader::compose("sky.wgsl"),
                bind_group_layouts: &[Some(&frame_layout)],
                vertex_buffers: &[],
                topology: wgpu::PrimitiveTopology::TriangleList,
                depth_write: false,
                // Infinity is 0, what the depth buffer was cleared to.
                depth_compare: wgpu::CompareFunction::GreaterEqual,
                target_format,
            },
        );
        Self {
            slots: Slots::new(gpu, &colours_layout, budget),
            target_encodes,
            region_pipeline,
            sky_pipeline,
            frame_uniform,
            frame_bind_group,
            pieces: PieceUniforms::new(gpu, piece_layout, crate::limits::SLOTS_MAX as u64),
            depth: None,
            timer: PassTimer::new(gpu),
            gpu: gpu.clone(),
        }
    }

    /// Sends a part of a mesh ahead of the update that shows it. The first part takes the room of all; until the update
    /// the slot shows nothing, and another region's part or update gives the room back.
    ///
    /// No more bytes are sent than the parts so far name, but for 4 at each border of the pages of a region that needs
    /// several. A part that does not begin where the last one ended sends nothing: the update sends what is missing.
    ///
    /// # Errors
    ///
    /// There is no room. The slot is empty then.
    ///
    /// # Panics
    ///
    /// As [`apply`](Self::apply).
    pub fn upload(&mut self, step: &UploadStep) -> Result<(), GpuError> {
        self.slots.upload(step)
    }

    /// Makes a slot hold what the update says: geometry, colours and offset change together, with the next frame. What
    /// was not [sent before](Self::upload) is sent now.
    ///
    /// # Errors
    ///
    /// There is no room. The slot is empty then: what it held before belongs to another region.
    ///
    /// # Panics
    ///
    /// The slot is [`SLOTS_MAX`](crate::limits::SLOTS_MAX) or above, or the mesh breaks its own invariants.
    pub fn apply(&mut self, update: &SlotUpdate) -> Result<(), GpuError> {
        self.slots.apply(update)
    }

    /// Draws other octants of a slot's region from the next frame on. A slot that shows nothing stays as it is.
    ///
    /// # Panics
    ///
    /// The slot is [`SLOTS_MAX`](crate::limits::SLOTS_MAX) or above.
    pub fn set_octants(&mut self, update: &OctantUpdate) {
        self.slots.set_octants(update);
    }

    /// Encodes one frame. `target` has the view's size and the format given to [`new`](Self::new); all of it is drawn.
    ///
    /// The encoder must be submitted before the next [`apply`](Self::apply) or `draw`.
    pub fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        view: &View,
        style: FrameStyle,
    ) -> FrameStats {
        if let Some(timer) = &mut self.timer {
            timer.begin_frame(&self.gpu);
        }
        self.resize_depth(view);
        let frame = look::frame(view, style);
        self.gpu.queue.write_buffer(&self.frame_uniform, 0, bytemuck::bytes_of(&frame));
        let mut uploaded_bytes = self.slots.take_uploaded_bytes() + size_of::<Frame>() as u64;
        let seen = seen_pieces(&self.slots, view, style);
        uploaded_bytes += self.pieces.upload(&self.gpu, seen.iter().map(|it| it.uniform));
        let mut stats = FrameStats {
            n_slots: seen.iter().filter(|it| it.is_first).count(),
            uploaded_bytes,
            gpu_time: self.timer.as_ref().and_then(PassTimer::last),
            ..FrameStats::default()
        };

        let mut pass = self.begin_pass(encoder, target, style);
        pass.set_pipeline(&self.region_pipeline);
        pass.set_bind_group(0, &self.frame_bind_group, &[]);
        for (idx, seen) in seen.iter().enumerate() {
            pass.set_bind_group(1, &self.pieces.bind_group, &[(idx as u64 * PIECE_STRIDE_BYTES) as u32]);
            pass.set_bind_group(2, self.slots.colours_bind_group(seen.piece), &[]);
            pass.set_vertex_buffer(0, self.slots.quad_page(seen.piece).slice(..));
            for run in seen.runs() {
                stats.n_draws += 1;
                stats.n_quads += run.len() as u64;
                pass.draw(0..4, run);
            }
        }
        if style == FrameStyle::Lit {
            pass.set_pipeline(&self.sky_pipeline);
            pass.draw(0..3, 0..1);
        }
        drop(pass);

        if let Some(timer) = &mut self.timer {
            timer.end_pass(encoder);
        }
        stats
    }

    /// What is on the GPU now.
    pub fn memory(&self) -> Memory {
        let depth_bytes =
            self.depth.as_ref().map_or(0, |it| it.size_px.iter().map(|&px| u64::from(px)).product::<u64>() * 4);
        Memory {
            regions_bytes: self.slots.used_bytes(),
            pages_bytes: self.slots.reserved_bytes(),
            frame_bytes: depth_bytes + self.frame_uniform.size() + self.pieces.buffer.size(),
        }
    }

    fn resize_depth(&mut self, view: &View) {
        let size_px = [view.width_px, view.height_px];
        if self.depth.as_ref().is_some_and(|depth| depth.size_px == size_px) {
            return;
        }
        let texture = self.gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("depth"),
            size: wgpu::Extent3d { width: size_px[0], height: size_px[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: DEPTH_FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        self.depth = Some(Depth { view: texture.create_view(&wgpu::TextureViewDescriptor::default()), size_px });
    }

    fn begin_pass<'encoder>(
        &self,
        encoder: &'encoder mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        style: FrameStyle,
    ) -> wgpu::RenderPass<'encoder> {
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("regions"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(look::clear_colour(style, self.target_encodes)),
                    store: wgpu::StoreOp::Store,
                },
            })],
            depth_stencil_attachment: self.depth.as_ref().map(|depth| wgpu::RenderPassDepthStencilAttachment {
                view: &depth.view,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            timestamp_writes: self.timer.as_ref().map(PassTimer::timestamp_writes),
            occlusion_query_set: None,
            multiview_mask: None,
        })
    }
}

impl PieceUniforms {
    fn new(gpu: &Gpu, layout: wgpu::BindGroupLayout, n_pieces: u64) -> Self {
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pieces"),
            size: n_pieces * PIECE_STRIDE_BYTES,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bind_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("piece"),
            layout: &layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: 0,
                    size: wgpu::BufferSize::new(size_of::<Piece>() as u64),
                }),
            }],
        });
        Self { layout, buffer, bind_group }
    }

    /// Sends the pieces of a frame and yields how many bytes; grows where there are more than ever before.
    fn upload(&mut self, gpu: &Gpu, pieces: impl ExactSizeIterator<Item = Piece>) -> u64 {
        let n_pieces = pieces.len() as u64;
        if n_pieces * PIECE_STRIDE_BYTES > self.buffer.size() {
            *self = Self::new(gpu, self.layout.clone(), n_pieces.next_power_of_two());
        }
        let mut bytes = vec![0; (n_pieces * PIECE_STRIDE_BYTES) as usize];
        for (piece, bytes) in pieces.zip(bytes.chunks_exact_mut(PIECE_STRIDE_BYTES as usize)) {
            bytes[..size_of::<Piece>()].copy_from_slice(bytemuck::bytes_of(&piece));
        }
        gpu.queue.write_buffer(&self.buffer, 0, &bytes);
        bytes.len() as u64
    }
}

struct PipelineParts<'a> {
    label: &'a str,
    source: &'a str,
    bind_group_layouts: &'a [Option<&'a wgpu::BindGroupLayout>],
    vertex_buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    topology: wgpu::PrimitiveTopology,
    depth_write: bool,
    depth_compare: wgpu::CompareFunction,
    target_format: wgpu::TextureFormat,
}

fn pipeline(gpu: &Gpu, parts: &PipelineParts<'_>) -> wgpu::RenderPipeline {
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(parts.label),
        source: wgpu::ShaderSource::Wgsl(parts.source.into()),
    });
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(parts.label),
        bind_group_layouts: parts.bind_group_layouts,
        immediate_size: 0,
    });
    let constants = [("TARGET_ENCODES", f64::from(u8::from(parts.target_format.is_srgb())))];
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(parts.label),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: parts.vertex_buffers,
        },
        primitive: wgpu::PrimitiveState { topology: parts.topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(parts.depth_write),
            depth_compare: Some(parts.depth_compare),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs_main"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
            targets: &[Some(wgpu::ColorTargetState {
                format: parts.target_format,
                blend: None,
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn uniform_entry(has_dynamic_offset: bool, size_bytes: usize) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: 0,
        visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset,
            min_binding_size: wgpu::BufferSize::new(size_bytes as u64),
        },
        count: None,
    }
}

fn storage_entry(binding: u32) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::FRAGMENT,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: true },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
