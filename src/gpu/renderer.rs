//! The passes of a frame: regions nearest first, then the sky.
//!
//! Owns the pipelines, the depth buffer and the tables of a frame. Receives a view and a texture to draw into; what the
//! slots hold stays in `upload`, what of it is in view in `draw_list`.

use std::ops::Range;
use std::time::Duration;

use super::cells;
use super::device::Gpu;
use super::draw_list::{Runs, draw_list};
use super::error::GpuError;
use super::layout::{Frame, Region};
use super::look::{self, FrameStyle};
use super::shader;
use super::timer::PassTimer;
use super::upload::{Budget, QUAD_BYTES, Slots, WORD_BYTES};
use crate::limits::{GPU_WORD_PAGES, SLOTS_MAX};
use crate::stream::{OctantUpdate, SlotUpdate, UploadStep};
use crate::view::View;

/// Depth of all passes: reverse-Z needs a float.
const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Draws slots.
#[derive(Debug)]
pub struct Renderer {
    gpu: Gpu,
    slots: Slots,
    target_format: wgpu::TextureFormat,
    antialiasing: Antialiasing,
    pipelines: Pipelines,
    tables: Tables,
    draws: Draws,
    attachments: Option<Attachments>,
    timer: Option<PassTimer>,
}

/// What a frame cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct FrameStats {
    /// Slots drawn: those that hold something and may be in view.
    #[serde(rename = "slots")]
    pub n_slots: usize,
    /// Draw calls: one a page of quads, where the adapter draws many ranges at once, else at most six a slot; and one for
    /// the sky.
    #[serde(rename = "draws")]
    pub n_draws: usize,
    /// Ranges of quads that they draw.
    #[serde(rename = "runs")]
    pub n_runs: usize,
    /// Quads handed to the GPU.
    #[serde(rename = "quads")]
    pub n_quads: u64,
    /// Bytes sent to the GPU since the frame before.
    pub uploaded_bytes: u64,
    /// How long the GPU took for a frame a little earlier, where it can tell.
    #[serde(skip)]
    pub gpu_time: Option<Duration>,
}

/// What the renderer takes on the GPU, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Quads, face colours, palettes and solids of the regions in the slots and on their way there, exactly.
    pub regions_bytes: u64,
    /// The pages that they live in, free room included.
    pub pages_bytes: u64,
    /// Depth buffer, samples and tables.
    pub frame_bytes: u64,
}

impl Memory {
    /// Everything that the renderer has created.
    pub fn total_bytes(&self) -> u64 {
        self.pages_bytes + self.frame_bytes
    }
}

/// How edges lose their steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Antialiasing {
    /// They keep them: each pixel is what its middle shows.
    #[default]
    None,
    /// Four samples a pixel where quads end, each pixel shaded once.
    Msaa,
}

impl Antialiasing {
    fn n_samples(self) -> u32 {
        match self {
            Self::None => 1,
            Self::Msaa => 4,
        }
    }
}

/// What is drawn into beside the target.
#[derive(Debug)]
struct Attachments {
    depth: wgpu::TextureView,
    /// The samples, which are resolved into the target.
    samples: Option<wgpu::TextureView>,
    size_px: [u32; 2],
    n_samples: u32,
}

impl Attachments {
    fn new(gpu: &Gpu, size_px: [u32; 2], n_samples: u32, format: wgpu::TextureFormat) -> Self {
        let view = |label, format| {
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size_px[0], height: size_px[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: n_samples,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let samples = (n_samples > 1).then(|| view("samples", format));
        Self { depth: view("depth", DEPTH_FORMAT), samples, size_px, n_samples }
    }

    fn size_bytes(&self) -> u64 {
        let n_texels = self.size_px.iter().map(|&px| u64::from(px)).product::<u64>() * u64::from(self.n_samples);
        n_texels * if self.samples.is_some() { 8 } else { 4 }
    }
}

#[derive(Debug)]
struct Pipelines {
    regions: wgpu::RenderPipeline,
    fading_regions: wgpu::RenderPipeline,
    sky: wgpu::RenderPipeline,
}

impl Renderer {
    /// A renderer for targets of that format, with empty slots.
    pub fn new(gpu: &Gpu, target_format: wgpu::TextureFormat) -> Self {
        Self::with_budget(gpu, target_format, Budget::default())
    }

    /// [`new`](Self::new) with other limits than those of [`limits`](crate::limits).
    ///
    /// # Panics
    ///
    /// The size of pages is not as [`Budget::page_bytes`] says.
    pub fn with_budget(gpu: &Gpu, target_format: wgpu::TextureFormat, budget: Budget) -> Self {
        Self::with_draws(gpu, target_format, budget, Draws::new(gpu, gpu.draws_many()))
    }

    /// A renderer that draws as on adapters which cannot draw many ranges in one call: for comparisons.
    pub fn without_multi_draw(gpu: &Gpu, target_format: wgpu::TextureFormat) -> Self {
        Self::with_draws(gpu, target_format, Budget::default(), Draws::new(gpu, false))
    }

    fn with_draws(gpu: &Gpu, target_format: wgpu::TextureFormat, budget: Budget, draws: Draws) -> Self {
        let slots = Slots::new(gpu, budget);
        let tables = Tables::new(gpu, &slots);
        Self {
            slots,
            target_format,
            antialiasing: Antialiasing::None,
            pipelines: Pipelines::new(gpu, &tables, target_format, 1),
            tables,
            draws,
            attachments: None,
            timer: PassTimer::new(gpu),
            gpu: gpu.clone(),
        }
    }

    /// Draws edges so from the next frame on.
    pub fn set_antialiasing(&mut self, antialiasing: Antialiasing) {
        if antialiasing != self.antialiasing {
            self.antialiasing = antialiasing;
            self.pipelines = Pipelines::new(&self.gpu, &self.tables, self.target_format, antialiasing.n_samples());
        }
    }

    /// Sends a part of a mesh ahead of the update that shows it. The first part takes the room of all; until the update
    /// the slot shows nothing, and another region's part or update gives the room back.
    ///
    /// No more bytes are sent than the parts so far name. A part that does not begin where the last one ended sends nothing: the update sends what is missing.
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
    /// The slot is [`SLOTS_MAX`] or above, or the mesh breaks its own invariants.
    pub fn apply(&mut self, update: &SlotUpdate) -> Result<(), GpuError> {
        self.slots.apply(update)
    }

    /// Draws other octants of a slot's region from the next frame on. A slot that shows nothing stays as it is.
    ///
    /// # Panics
    ///
    /// The slot is [`SLOTS_MAX`] or above.
    pub fn set_octants(&mut self, update: &OctantUpdate) {
        self.slots.set_octants(update);
    }

    /// Sets the time, from any start that does not change: from now on what is drawn of a slot fades in and out, while both
    /// zooms are there. `None`, as at the start, ends all fades: changes are seen at once.
    pub fn set_time(&mut self, now: Option<Duration>) {
        self.slots.set_time(now);
    }

    /// Whether the next frame of the same slots and view would differ: something fades.
    pub fn is_fading(&self) -> bool {
        self.slots.is_fading()
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
        self.attach(view);
        let runs = if self.draws.is_multi { Runs::Exact } else { Runs::Few };
        let list = draw_list(&self.slots, view, &style, runs);
        let frame = look::frame(view, &style, &list, self.slots.words().page_units());
        let mut uploaded_bytes = self.slots.take_uploaded_bytes();
        uploaded_bytes += self.tables.update(&self.gpu, &self.slots, &frame, &list.regions);
        uploaded_bytes += self.draws.update(&self.gpu, &self.slots, &list.runs);
        let mut stats = FrameStats {
            n_slots: list.n_slots,
            n_draws: self.draws.n_calls(),
            n_runs: list.runs.len(),
            n_quads: list.runs.iter().map(|run| run.len() as u64).sum(),
            uploaded_bytes,
            gpu_time: self.timer.as_ref().and_then(PassTimer::last),
        };

        let mut pass = self.begin_pass(encoder, target, style);
        pass.set_bind_group(0, &self.tables.bind_group, &[]);
        pass.set_pipeline(if list.is_fading { &self.pipelines.fading_regions } else { &self.pipelines.regions });
        self.draws.encode(&mut pass, &self.slots);
        if let FrameStyle::Lit(_) = style {
            pass.set_pipeline(&self.pipelines.sky);
            pass.draw(0..3, 0..1);
            stats.n_draws += 1;
        }
        drop(pass);

        if let Some(timer) = &mut self.timer {
            timer.end_pass(encoder);
        }
        stats
    }

    /// What is on the GPU now.
    pub fn memory(&self) -> Memory {
        let attachments_bytes = self.attachments.as_ref().map_or(0, Attachments::size_bytes);
        Memory {
            regions_bytes: self.slots.used_bytes(),
            pages_bytes: self.slots.reserved_bytes(),
            frame_bytes: attachments_bytes + self.tables.size_bytes() + self.draws.size_bytes(),
        }
    }

    fn attach(&mut self, view: &View) {
        let (size_px, n_samples) = ([view.width_px, view.height_px], self.antialiasing.n_samples());
        if self.attachments.as_ref().is_none_or(|it| (it.size_px, it.n_samples) != (size_px, n_samples)) {
            self.attachments = Some(Attachments::new(&self.gpu, size_px, n_samples, self.target_format));
        }
    }

    fn begin_pass<'encoder>(
        &self,
        encoder: &'encoder mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        style: FrameStyle,
    ) -> wgpu::RenderPass<'encoder> {
        let samples = self.attachments.as_ref().and_then(|it| it.samples.as_ref());
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("regions"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: samples.unwrap_or(target),
                depth_slice: None,
                resolve_target: samples.map(|_| target),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(look::clear_colour(style, self.target_format.is_srgb())),
                    store: if samples.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store },
                },
            })],
            depth_stencil_attachment: self.attachments.as_ref().map(|it| wgpu::RenderPassDepthStencilAttachment {
                view: &it.depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            timestamp_writes: self.timer.as_ref().map(PassTimer::timestamp_writes),
            occlusion_query_set: None,
            multiview_mask: None,
        })
    }
}

impl Pipelines {
    fn new(gpu: &Gpu, tables: &Tables, target_format: wgpu::TextureFormat, n_samples: u32) -> Self {
        let regions = |label, has_fades| {
            let parts = PipelineParts {
                label,
                source: &shader::compose("region.wgsl"),
                layout: &tables.layout,
                vertex_buffers: &[Some(wgpu::VertexBufferLayout {
                    array_stride: QUAD_BYTES,
                    step_mode: wgpu::VertexStepMode::Instance,
                    attributes: &wgpu::vertex_attr_array![0 => Uint32x3],
                })],
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                depth_write: true,
                depth_compare: wgpu::CompareFunction::Greater,
                target_format,
                n_samples,
                constants: &[("HAS_FADES", f64::from(u8::from(has_fades)))],
            };
            pipeline(gpu, &parts)
        };
        let (fading_regions, regions) = (regions("fading regions", true), regions("regions", false));
        let sky = pipeline(
            gpu,
            &PipelineParts {
                label: "sky",
                source: &shader::compose("sky.wgsl"),
                layout: &tables.layout,
                vertex_buffers: &[],
                topology: wgpu::PrimitiveTopology::TriangleList,
                depth_write: false,
                // Infinity is 0, what the depth buffer was cleared to.
                depth_compare: wgpu::CompareFunction::GreaterEqual,
                target_format,
                n_samples,
                constants: &[],
            },
        );
        Self { regions, fading_regions, sky }
    }
}

/// Group 0: what a frame is, which regions there are, and all that they have in pages.
#[derive(Debug)]
struct Tables {
    layout: wgpu::BindGroupLayout,
    frame: wgpu::Buffer,
    regions: wgpu::Buffer,
    cells: wgpu::Buffer,
    /// Bound where a page is not there.
    no_page: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    /// Of the pages that are bound, and of the slots that the cells tell.
    pages_bound: u64,
    cells_written: Option<u64>,
}

impl Tables {
    fn new(gpu: &Gpu, slots: &Slots) -> Self {
        let uniform = |binding, size_bytes| layout_entry(binding, wgpu::BufferBindingType::Uniform, size_bytes);
        let mut entries = vec![
            uniform(0, size_of::<Frame>()),
            uniform(1, size_of::<[Region; SLOTS_MAX]>()),
            uniform(2, size_of::<cells::Table>()),
        ];
        let page = wgpu::BufferBindingType::Storage { read_only: true };
        entries
            .extend((0..GPU_WORD_PAGES).map(|page_idx| layout_entry(3 + page_idx as u32, page, WORD_BYTES as usize)));
        let layout = gpu
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("tables"), entries: &entries });
        let buffer = |label, size_bytes: usize, usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size_bytes as u64,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let frame = buffer("frame", size_of::<Frame>(), wgpu::BufferUsages::UNIFORM);
        let regions = buffer("regions", size_of::<[Region; SLOTS_MAX]>(), wgpu::BufferUsages::UNIFORM);
        let cells = buffer("cells", size_of::<cells::Table>(), wgpu::BufferUsages::UNIFORM);
        let no_page = buffer("no page", WORD_BYTES as usize, wgpu::BufferUsages::STORAGE);
        let bind_group = bind(gpu, &layout, [&frame, &regions, &cells], &no_page, slots);
        let pages_bound = slots.words().n_changes();
        Self { layout, frame, regions, cells, no_page, bind_group, pages_bound, cells_written: None }
    }

    /// Sends what a frame needs, binds the pages that have come, and yields how many bytes were sent.
    fn update(&mut self, gpu: &Gpu, slots: &Slots, frame: &Frame, regions: &[Region; SLOTS_MAX]) -> u64 {
        if self.pages_bound != slots.words().n_changes() {
            self.pages_bound = slots.words().n_changes();
            self.bind_group = bind(gpu, &self.layout, [&self.frame, &self.regions, &self.cells], &self.no_page, slots);
        }
        let mut sent_bytes = 0;
        let mut write = |buffer, bytes: &[u8]| {
            gpu.queue.write_buffer(buffer, 0, bytes);
            sent_bytes += bytes.len() as u64;
        };
        write(&self.frame, bytemuck::bytes_of(frame));
        write(&self.regions, bytemuck::cast_slice(regions));
        if self.cells_written != Some(slots.n_changes()) {
            self.cells_written = Some(slots.n_changes());
            let table = cells::table(slots.residents().map(|(slot, resident)| (resident.cell, slot)));
            write(&self.cells, bytemuck::cast_slice(&table));
        }
        sent_bytes
    }

    fn size_bytes(&self) -> u64 {
        self.frame.size() + self.regions.size() + self.cells.size() + self.no_page.size()
    }
}

fn bind(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    uniforms: [&wgpu::Buffer; 3],
    no_page: &wgpu::Buffer,
    slots: &Slots,
) -> wgpu::BindGroup {
    let pages = slots.words().pages().map(|page| page.unwrap_or(no_page));
    let entries: Vec<_> = uniforms
        .into_iter()
        .chain(pages)
        .enumerate()
        .map(|(idx, buffer)| wgpu::BindGroupEntry { binding: idx as u32, resource: buffer.as_entire_binding() })
        .collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("tables"), layout, entries: &entries })
}

/// The draw calls of a frame.
#[derive(Debug)]
struct Draws {
    /// Whether the adapter draws many ranges in one call, and says so.
    is_multi: bool,
    /// What is drawn of each page: its number, and ranges within it.
    by_page: Vec<(usize, Vec<Range<u32>>)>,
    /// The ranges as the GPU reads them, page by page.
    args: wgpu::Buffer,
}

/// Bytes of one range.
const ARGS_BYTES: u64 = size_of::<wgpu::util::DrawIndirectArgs>() as u64;

impl Draws {
    fn new(gpu: &Gpu, is_multi: bool) -> Self {
        Self { is_multi, by_page: Vec::new(), args: args_buffer(gpu, 1024) }
    }

    /// Takes up the runs of a frame, and yields how many bytes were sent.
    fn update(&mut self, gpu: &Gpu, slots: &Slots, runs: &[Range<u32>]) -> u64 {
        for (_, ranges) in &mut self.by_page {
            ranges.clear();
        }
        for run in runs {
            for (page, range) in slots.quads().parts(run) {
                match self.by_page.iter_mut().find(|(it, _)| *it == page) {
                    Some((_, ranges)) => ranges.push(range),
                    None => self.by_page.push((page, vec![range])),
                }
            }
        }
        self.by_page.retain(|(_, ranges)| !ranges.is_empty());
        if !self.is_multi {
            return 0;
        }
        let args: Vec<u8> = self
            .by_page
            .iter()
            .flat_map(|(_, ranges)| ranges)
            .flat_map(|range| [4, range.end - range.start, 0, range.start].map(u32::to_le_bytes))
            .flatten()
            .collect();
        if args.len() as u64 > self.args.size() {
            self.args = args_buffer(gpu, (args.len() as u64 / ARGS_BYTES).next_power_of_two());
        }
        gpu.queue.write_buffer(&self.args, 0, &args);
        args.len() as u64
    }

    fn n_calls(&self) -> usize {
        if self.is_multi { self.by_page.len() } else { self.by_page.iter().map(|(_, ranges)| ranges.len()).sum() }
    }

    fn encode(&self, pass: &mut wgpu::RenderPass<'_>, slots: &Slots) {
        let mut first = 0;
        for (page, ranges) in &self.by_page {
            pass.set_vertex_buffer(0, slots.quads().page(*page).slice(..));
            if self.is_multi {
                pass.multi_draw_indirect(&self.args, first * ARGS_BYTES, ranges.len() as u32);
                first += ranges.len() as u64;
            } else {
                for range in ranges {
                    pass.draw(0..4, range.clone());
                }
            }
        }
    }

    fn size_bytes(&self) -> u64 {
        self.args.size()
    }
}

fn args_buffer(gpu: &Gpu, n_ranges: u64) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("draws"),
        size: n_ranges * ARGS_BYTES,
        usage: wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

struct PipelineParts<'a> {
    label: &'a str,
    source: &'a str,
    layout: &'a wgpu::BindGroupLayout,
    vertex_buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    topology: wgpu::PrimitiveTopology,
    depth_write: bool,
    depth_compare: wgpu::CompareFunction,
    target_format: wgpu::TextureFormat,
    n_samples: u32,
    /// Of the fragment shader.
    constants: &'a [(&'a str, f64)],
}

fn pipeline(gpu: &Gpu, parts: &PipelineParts<'_>) -> wgpu::RenderPipeline {
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(parts.label),
        source: wgpu::ShaderSource::Wgsl(parts.source.into()),
    });
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(parts.label),
        bind_group_layouts: &[Some(parts.layout)],
        immediate_size: 0,
    });
    let mut constants = parts.constants.to_vec();
    constants.push(("TARGET_ENCODES", f64::from(u8::from(parts.target_format.is_srgb()))));
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
        multisample: wgpu::MultisampleState { count: parts.n_samples, ..Default::default() },
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

fn layout_entry(binding: u32, ty: wgpu::BufferBindingType, size_bytes: usize) -> wgpu::BindGroupLayoutEntry {
    let visibility = match ty {
        wgpu::BufferBindingType::Uniform => wgpu::ShaderStages::VERTEX_FRAGMENT,
        wgpu::BufferBindingType::Storage { .. } => wgpu::ShaderStages::FRAGMENT,
    };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(size_bytes as u64),
        },
        count: None,
    }
}
