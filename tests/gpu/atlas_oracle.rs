//! The first oracle: the same surface, coloured the reference system's way, by a fetch from the whole 4096 x 4096 atlas
//! texture. In the flat style the pictures are equal byte for byte.

use bytemuck::{Pod, Zeroable};
use voxatlas::gpu::{Offscreen, shader};
use voxatlas::limits::{GPU_WORD_PAGES, SLOTS_MAX};
use voxatlas::mesh::Face;
use voxatlas::stream::{BuiltRegion, SlotUpdate};
use voxatlas::view::View;
use voxatlas::voxel::Region;

use crate::picture::assert_same;
use crate::scene::{FLAT, city, fill, gpu, random_views, renderer, rubble, take, views};

const ATLAS_PIXELS: u32 = 4096;

/// In place of `shared/face_colour.wgsl`.
const FACE_COLOUR: &str = "
#import shared/frame.wgsl
#import shared/quad.wgsl

@group(1) @binding(0) var atlas: texture_2d<f32>;

fn xyz2m(voxel: vec3<u32>) -> u32 {
    var m = 0u;
    for (var bit = 0u; bit < 8u; bit++) {
        let bits = (voxel >> vec3<u32>(bit)) & vec3<u32>(1u);
        m |= (bits.x | (bits.y << 1u) | (bits.z << 2u)) << (3u * bit);
    }
    return m;
}

fn m2uv(m: u32) -> vec2<u32> {
    var uv = vec2<u32>(0u);
    for (var bit = 0u; bit < 12u; bit++) {
        uv |= ((vec2<u32>(m) >> vec2<u32>(2u * bit, 2u * bit + 1u)) & vec2<u32>(1u)) << vec2<u32>(bit);
    }
    return uv;
}

fn face_colour(region: Region, quad: vec3<u32>, cell: vec2<u32>) -> vec3<f32> {
    return textureLoad(atlas, m2uv(xyz2m(quad_voxel(quad, cell))), 0).rgb;
}
";

/// As `Frame` in `shaders/shared/frame.wgsl`, filled here once more from its description.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Frame {
    clip_from_eye: [f32; 16],
    eye_from_clip: [f32; 16],
    ambient: [[f32; 4]; 6],
    direct: [[f32; 4]; 6],
    sky: [[f32; 4]; 4],
    sun: [f32; 4],
    eye_fract: [f32; 3],
    fog_start: f32,
    half_viewport_px: [f32; 2],
    fog_end: f32,
    top_in_eye: f32,
    page_shift: u32,
    flags: u32,
    unused: [u32; 2],
}

const IS_FLAT: u32 = 1;

/// As `Region` there.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RegionOnGpu {
    origin_in_eye: [i32; 3],
    voxel_edge: i32,
    unused: [u32; 7],
    octants_and_depth: u32,
    fades: [u32; 4],
}

/// The region's atlas image, texel by texel from the definition.
fn atlas_rgba(region: &Region) -> Vec<u8> {
    let spread = |bits: u32, axis: u32| (0..8).map(|bit| (bits >> bit & 1) << (3 * bit + axis)).sum::<u32>();
    let gather = |m: u32, first: u32| (0..12).map(|bit| (m >> (2 * bit + first) & 1) << bit).sum::<u32>();
    let mut rgba = vec![0; (ATLAS_PIXELS * ATLAS_PIXELS * 4) as usize];
    for z in 0..256 {
        for y in 0..256 {
            for x in 0..256 {
                if region.occupancy.get(x, y, z) {
                    let m = spread(x, 0) | spread(y, 1) | spread(z, 2);
                    let at = (gather(m, 1) * ATLAS_PIXELS + gather(m, 0)) as usize * 4;
                    rgba[at..at + 3].copy_from_slice(&region.colours.get(x, y, z));
                    rgba[at + 3] = 255;
                }
            }
        }
    }
    rgba
}

/// One region, drawn from its atlas texture.
struct AtlasRenderer {
    pipeline: wgpu::RenderPipeline,
    frame: wgpu::Buffer,
    regions: wgpu::Buffer,
    quads: wgpu::Buffer,
    n_quads: u32,
    bind_groups: [wgpu::BindGroup; 2],
    offset: [i64; 3],
}

impl AtlasRenderer {
    fn new(update: &SlotUpdate) -> Self {
        let BuiltRegion { voxels, mesh, .. } = update.region.as_deref().unwrap();
        let device = &gpu().device;
        let buffer = |size, usage| {
            let usage = usage | wgpu::BufferUsages::COPY_DST;
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let frame = buffer(size_of::<Frame>() as u64, wgpu::BufferUsages::UNIFORM);
        let regions = buffer((size_of::<RegionOnGpu>() * SLOTS_MAX) as u64, wgpu::BufferUsages::UNIFORM);
        // Neither rays nor palettes are asked for in the flat style.
        let cells = buffer(256 * 16, wgpu::BufferUsages::UNIFORM);
        let no_page = buffer(4, wgpu::BufferUsages::STORAGE);
        let quads = buffer(size_of_val(mesh.quads.as_slice()) as u64, wgpu::BufferUsages::VERTEX);
        gpu().queue.write_buffer(&quads, 0, bytemuck::cast_slice(&mesh.quads));

        let size = wgpu::Extent3d { width: ATLAS_PIXELS, height: ATLAS_PIXELS, depth_or_array_layers: 1 };
        let atlas = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("atlas"),
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(ATLAS_PIXELS * 4), rows_per_image: None };
        gpu().queue.write_texture(atlas.as_image_copy(), &atlas_rgba(voxels.as_ref().unwrap()), layout, size);
        let atlas = atlas.create_view(&wgpu::TextureViewDescriptor::default());

        let pipeline = pipeline();
        let bind_group = |idx, resources: &[wgpu::BindingResource<'_>]| {
            let entries =
                (0..).zip(resources).map(|(binding, it)| wgpu::BindGroupEntry { binding, resource: it.clone() });
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(idx),
                entries: &entries.collect::<Vec<_>>(),
            })
        };
        let mut tables = vec![frame.as_entire_binding(), regions.as_entire_binding(), cells.as_entire_binding()];
        tables.extend((0..GPU_WORD_PAGES).map(|_| no_page.as_entire_binding()));
        let bind_groups = [bind_group(0, &tables), bind_group(1, &[wgpu::BindingResource::TextureView(&atlas)])];
        Self { frame, regions, quads, n_quads: mesh.quads.len() as u32, bind_groups, pipeline, offset: update.offset }
    }

    fn take(&self, view: &View) -> voxatlas::gpu::Picture {
        let eye = view.pose.eye_in_world;
        let eye_voxel = eye.floor().to_array().map(|it| it as i64);
        let sun = glam::Vec3::new(-0.33, 0.77, 0.55).normalize();
        let light = |face: Face| {
            let along = if face.is_positive() { sun[face.axis()] } else { -sun[face.axis()] };
            [along * 0.5 + 0.5; 4]
        };
        let frame = Frame {
            clip_from_eye: view.clip_from_eye().to_cols_array(),
            ambient: Face::ALL.map(light),
            eye_fract: (eye - eye.floor()).as_vec3().to_array(),
            half_viewport_px: [view.width_px as f32 / 2.0, view.height_px as f32 / 2.0],
            flags: IS_FLAT,
            ..Frame::zeroed()
        };
        let origin_in_eye = [0, 1, 2].map(|axis| (self.offset[axis] - eye_voxel[axis]) as i32);
        gpu().queue.write_buffer(&self.frame, 0, bytemuck::bytes_of(&frame));
        let region =
            RegionOnGpu { origin_in_eye, voxel_edge: 1, unused: [0; 7], octants_and_depth: 0xFF, fades: [0; 4] };
        gpu().queue.write_buffer(&self.regions, 0, bytemuck::bytes_of(&region));

        let target = Offscreen::new(gpu(), view.width_px, view.height_px).unwrap();
        let depth = gpu().device.create_texture(&wgpu::TextureDescriptor {
            label: Some("depth"),
            size: wgpu::Extent3d { width: view.width_px, height: view.height_px, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Depth32Float,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let mut encoder = gpu().device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let magenta = wgpu::Color { r: 1.0, g: 0.0, b: 1.0, a: 1.0 };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("atlas oracle"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target.view(),
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(magenta), store: wgpu::StoreOp::Store },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &depth.create_view(&wgpu::TextureViewDescriptor::default()),
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        for (idx, bind_group) in (0..).zip(&self.bind_groups) {
            pass.set_bind_group(idx, bind_group, &[]);
        }
        pass.set_vertex_buffer(0, self.quads.slice(..));
        pass.draw(0..4, 0..self.n_quads);
        drop(pass);
        gpu().queue.submit([encoder.finish()]);
        target.read().unwrap()
    }
}

fn pipeline() -> wgpu::RenderPipeline {
    let source = shader::compose_with("region.wgsl", &[("shared/face_colour.wgsl", FACE_COLOUR)]);
    let module = gpu().device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("atlas oracle"),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    gpu().device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("atlas oracle"),
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: 12,
                step_mode: wgpu::VertexStepMode::Instance,
                attributes: &wgpu::vertex_attr_array![0 => Uint32x3],
            })],
        },
        primitive: wgpu::PrimitiveState { topology: wgpu::PrimitiveTopology::TriangleStrip, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: wgpu::TextureFormat::Depth32Float,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Greater),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(Offscreen::FORMAT.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn check(name: &str, region: Region) {
    // A real tile's place: Tokyo Tower.
    let update = fill(0, region, [116_415 * 256, 0, 51_623 * 256]);
    let atlas = AtlasRenderer::new(&update);
    let mut renderer = renderer(std::slice::from_ref(&update));
    let views = views(update.offset, 320, 180).into_iter().chain(random_views(5, update.offset, 160, 90));
    for (idx, view) in views.enumerate() {
        assert_same(&format!("atlas_oracle.{name}.{idx}"), &take(&mut renderer, &view, FLAT), &atlas.take(&view));
    }
}

#[test]
fn an_indexed_region_is_coloured_as_from_its_atlas() {
    check("indexed", city(5).indexed());
}

#[test]
fn a_direct_region_is_coloured_as_from_its_atlas() {
    check("direct", rubble(6, 300).direct());
}
