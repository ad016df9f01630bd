// The surface of regions: one instance a quad, four vertices each, a triangle strip.
//
// The interpolated position never decides on a voxel alone: the packed quad goes flat to the fragment, which clamps
// the cell to the quad's own range.

#import shared/frame.wgsl
#import shared/quad.wgsl
#import shared/face_colour.wgsl
#import shared/light.wgsl

// Group 1, at a dynamic offset.
@group(1) @binding(0) var<uniform> piece: Piece;

// How far edges move outwards, in pixels. Rasterisers snap corners to 1/256 pixel, and where a corner meets the middle
// of another quad's edge the two snap apart: without this, one pixel in a thousand along such edges shows what lies
// behind. Measured inside a cave of T-junctions, 1,500 views of 320 x 320: 1 hole at 0.75 / 256, none at 1 / 256.
const OUTWARDS_PX: f32 = 1.0 / 256.0;

struct Fragment {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) quad: vec3<u32>,
    // In cells from the quad's first corner.
    @location(1) cell: vec2<f32>,
    @location(2) position_in_eye: vec3<f32>,
}

// Integers up to the last step: a corner has the same bits in all the regions that share it, coarse or fine.
fn corner_in_eye(quad: vec3<u32>, unit: vec2<u32>) -> vec3<f32> {
    return vec3<f32>(piece.origin_in_eye + quad_corner(quad, unit) * piece.voxel_edge) - frame.eye_fract;
}

fn clip_from_corner(quad: vec3<u32>, unit: vec2<u32>) -> vec4<f32> {
    return frame.clip_from_eye * vec4<f32>(corner_in_eye(quad, unit), 1.0);
}

// The unit direction on screen, in pixels, in which the edge from `a` to `b` runs. No division by w: it holds for
// corners behind the eye too.
fn edge_direction(a: vec4<f32>, b: vec4<f32>) -> vec2<f32> {
    let d = (b.xy * a.w - a.xy * b.w) * frame.half_viewport_px;
    let len = length(d);
    return d * select(0.0, 1.0 / len, len > 0.0);
}

@vertex
fn vs_main(@builtin(vertex_index) corner_idx: u32, @location(0) quad: vec3<u32>) -> Fragment {
    let unit = vec2<u32>(corner_idx & 1u, corner_idx >> 1u);
    let face = quad_face(quad);
    let corner = corner_in_eye(quad, unit);

    var out: Fragment;
    out.quad = quad;
    out.cell = vec2<f32>(quad_size(quad) * unit);
    out.position_in_eye = corner;

    // A face that looks away is decided on exactly, before its corners move.
    let plane = dot(corner, vec3<f32>(face_normal_axis(face)));
    if plane * f32(face_sign(face)) >= 0.0 {
        out.position = vec4<f32>(2.0, 2.0, 2.0, 1.0);
        return out;
    }

    let clip = frame.clip_from_eye * vec4<f32>(corner, 1.0);
    let along_w = edge_direction(clip, clip_from_corner(quad, vec2<u32>(1u - unit.x, unit.y)));
    let along_h = edge_direction(clip, clip_from_corner(quad, vec2<u32>(unit.x, 1u - unit.y)));
    // 1 where the other edge lies to the left of the first one, seen from outside: then the right side is outside.
    let side = f32(face_handedness(face) * select(-1, 1, unit.x == unit.y));
    let normal_w = side * vec2<f32>(along_w.y, -along_w.x);
    let normal_h = side * vec2<f32>(-along_h.y, along_h.x);
    // Where the two moved edges meet; held back where they are nearly parallel.
    let outwards = (normal_w + normal_h) / max(1.0 + dot(normal_w, normal_h), 0.125);
    out.position = clip;
    out.position += vec4<f32>(outwards * OUTWARDS_PX / frame.half_viewport_px * clip.w, 0.0, 0.0);
    return out;
}

@fragment
fn fs_main(in: Fragment) -> @location(0) vec4<f32> {
    let cell_last = quad_size(in.quad) - 1u;
    let cell = min(vec2<u32>(max(in.cell, vec2<f32>(0.0))), cell_last);
    let colour = face_colour(piece, in.quad, cell);
    let light = frame.face_light[quad_face(in.quad)].rgb;
    if frame.is_flat != 0u {
        return target_from_srgb(colour * light);
    }
    let lit = linear_from_srgb(colour) * light;
    return target_from_linear(mix(lit, sky(in.position_in_eye), fog(in.position_in_eye)));
}
