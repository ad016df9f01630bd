// The surface of regions: one instance a quad, four vertices each, a triangle strip.
//
// The interpolated position never decides on a voxel alone: the packed quad goes flat to the fragment, which clamps
// the cell to the quad's own range.

#import shared/frame.wgsl
#import shared/quad.wgsl
#import shared/face_colour.wgsl
#import shared/light.wgsl
#import shared/shade.wgsl

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
fn corner_in_eye(region: Region, quad: vec3<u32>, unit: vec2<u32>) -> vec3<f32> {
    return vec3<f32>(region.origin_in_eye + quad_corner(quad, unit) * region.voxel_edge) - frame.eye_fract;
}

fn clip_from_corner(region: Region, quad: vec3<u32>, unit: vec2<u32>) -> vec4<f32> {
    return frame.clip_from_eye * vec4<f32>(corner_in_eye(region, quad, unit), 1.0);
}

// Whether a quad belongs to an octant that others draw, or that is out of sight.
fn is_masked(region: Region, quad: vec3<u32>) -> bool {
    return ((region.octants_and_depth >> octant_of(quad_min(quad))) & 1u) == 0u;
}

// Whether any octant fades: a pipeline of its own, since a pixel that may be left out costs the early depth test.
override HAS_FADES: bool = false;

// Whether a pixel is left to the region of another zoom, which has the others: a fixed pattern of the screen, and what fades in
// here and out there is decided by one number.
fn is_left_out(region: Region, quad: vec3<u32>, position: vec4<f32>) -> bool {
    let octant = octant_of(quad_min(quad));
    let sixteenths = (region.fades >> (octant * 4u)) & 15u;
    let noise = fract(52.9829189 * fract(dot(floor(position.xy), vec2<f32>(0.06711056, 0.00583715))));
    let is_early = u32(noise * 16.0) < sixteenths;
    let fades_in = ((region.octants_and_depth >> (16u + octant)) & 1u) == 1u;
    let fades_out = ((region.octants_and_depth >> (24u + octant)) & 1u) == 1u;
    return (fades_in && !is_early) || (fades_out && is_early);
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
    let region = regions[quad_slot(quad)];
    let corner = corner_in_eye(region, quad, unit);

    var out: Fragment;
    out.quad = quad;
    out.cell = vec2<f32>(quad_size(quad) * unit);
    out.position_in_eye = corner;

    // A face that looks away is decided on exactly, before its corners move.
    let plane = dot(corner, vec3<f32>(face_normal_axis(face)));
    if plane * f32(face_sign(face)) >= 0.0 || is_masked(region, quad) {
        out.position = vec4<f32>(2.0, 2.0, 2.0, 1.0);
        return out;
    }

    let clip = frame.clip_from_eye * vec4<f32>(corner, 1.0);
    let along_w = edge_direction(clip, clip_from_corner(region, quad, vec2<u32>(1u - unit.x, unit.y)));
    let along_h = edge_direction(clip, clip_from_corner(region, quad, vec2<u32>(unit.x, 1u - unit.y)));
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

// Minification above which a pixel is taken to show more than one voxel of a quad.
const MINIFIED: f32 = 0.5;

// Linear, of the part of a quad that a pixel shows: the mean of four places on a rotated grid. Far walls have more voxels than
// pixels, and one of them alone would flicker as the eye moves.
fn minified_colour(region: Region, quad: vec3<u32>, cell: vec2<f32>, across: vec2<f32>, down: vec2<f32>) -> vec3<f32> {
    let last = quad_size(quad) - 1u;
    var sum = vec3<f32>(0.0);
    for (var n = 0u; n < 4u; n++) {
        let x = f32(n) * 0.25 - 0.375;
        let y = f32((n * 2u + n / 2u + 1u) % 4u) * 0.25 - 0.375;
        let tap = min(vec2<u32>(max(cell + across * x + down * y, vec2<f32>(0.0))), last);
        sum += linear_from_srgb(face_colour(region, quad, tap));
    }
    return sum * 0.25;
}

@fragment
fn fs_main(in: Fragment) -> @location(0) vec4<f32> {
    let across = dpdx(in.cell);
    let down = dpdy(in.cell);
    let region = regions[quad_slot(in.quad)];
    if HAS_FADES && is_left_out(region, in.quad, in.position) {
        discard;
    }
    let face = quad_face(in.quad);
    let size = quad_size(in.quad);
    let cell = min(vec2<u32>(max(in.cell, vec2<f32>(0.0))), size - 1u);
    let colour = face_colour(region, in.quad, cell);
    if (frame.flags & IS_FLAT) != 0u {
        return target_from_srgb(colour * frame.ambient[face].rgb);
    }
    let voxel = vec3<i32>(quad_voxel(in.quad, cell));
    let within = clamp(in.cell - vec2<f32>(cell), vec2<f32>(0.0), vec2<f32>(1.0));
    // Steps of the cell from pixel to pixel.
    let minification = sqrt(max(dot(across, across), dot(down, down)));
    var light = frame.ambient[face].rgb;
    if (frame.flags & HAS_OCCLUSION) != 0u {
        var openness = OPENNESS_FAR;
        let detail = 1.0 - smoothstep(0.6, 1.6, minification);
        if detail > 0.0 {
            openness = mix(openness, sky_openness(region, face, voxel, within), detail);
        }
        light *= openness;
    }
    let direct = frame.direct[face].rgb;
    if direct.g > 0.0 {
        if (frame.flags & HAS_SHADOWS) == 0u || sees_sun(region, face, voxel, face_place(in.quad, cell, within)) {
            light += direct;
        }
    }
    var albedo = linear_from_srgb(colour);
    if minification > MINIFIED {
        albedo = minified_colour(region, in.quad, in.cell, across, down);
    }
    let lit = albedo * light + window_light(region, face, voxel, colour);
    return target_from_linear(mix(lit, sky(in.position_in_eye), fog(in.position_in_eye)));
}
