// Light, sky and fog, and the one place where colours become what the target stores.

#import shared/frame.wgsl

// Whether the target turns linear colours into sRGB by itself.
override TARGET_ENCODES: bool = false;

fn linear_from_srgb(c: vec3<f32>) -> vec3<f32> {
    let low = c / 12.92;
    let high = pow((c + 0.055) / 1.055, vec3<f32>(2.4));
    return select(high, low, c <= vec3<f32>(0.04045));
}

fn srgb_from_linear(c: vec3<f32>) -> vec3<f32> {
    let low = c * 12.92;
    let high = 1.055 * pow(max(c, vec3<f32>(0.0)), vec3<f32>(1.0 / 2.4)) - 0.055;
    return select(high, low, c <= vec3<f32>(0.0031308));
}

fn target_from_linear(c: vec3<f32>) -> vec4<f32> {
    if TARGET_ENCODES {
        return vec4<f32>(c, 1.0);
    }
    return vec4<f32>(srgb_from_linear(c), 1.0);
}

fn target_from_srgb(c: vec3<f32>) -> vec4<f32> {
    if TARGET_ENCODES {
        return vec4<f32>(linear_from_srgb(c), 1.0);
    }
    return vec4<f32>(c, 1.0);
}

// The sky in a direction of eye space, linear. Below the horizon it stays the horizon's.
fn sky(direction: vec3<f32>) -> vec3<f32> {
    let height = clamp(direction.y / max(length(direction), 1e-6), 0.0, 1.0);
    // Most of the change is near the horizon, where the air is thick.
    let to_zenith = 1.0 - (1.0 - height) * (1.0 - height) * (1.0 - height);
    return mix(frame.horizon.rgb, frame.zenith.rgb, to_zenith);
}

// How much of what stands there the fog hides, 0..1. Distance is measured along the ground: what is loaded ends at a
// distance along the ground, and an overhead view must not drown.
fn fog(position_in_eye: vec3<f32>) -> f32 {
    return smoothstep(frame.fog_start, frame.fog_end, length(position_in_eye.xz));
}
