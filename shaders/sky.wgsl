// The sky, where nothing was drawn: one triangle at infinity.

#import shared/frame.wgsl
#import shared/light.wgsl

struct Fragment {
    @builtin(position) position: vec4<f32>,
    @location(0) ndc: vec2<f32>,
}

@vertex
fn vs_main(@builtin(vertex_index) corner_idx: u32) -> Fragment {
    // (-1, -1), (3, -1), (-1, 3): covers the screen.
    let ndc = vec2<f32>(f32(corner_idx & 1u) * 4.0 - 1.0, f32(corner_idx >> 1u) * 4.0 - 1.0);
    return Fragment(vec4<f32>(ndc, 0.0, 1.0), ndc);
}

@fragment
fn fs_main(in: Fragment) -> @location(0) vec4<f32> {
    // A point on the near plane.
    let near = frame.eye_from_clip * vec4<f32>(in.ndc, 1.0, 1.0);
    let direction = near.xyz / near.w;
    return target_from_linear(sky(direction) + sun_disc(direction));
}
