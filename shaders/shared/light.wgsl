// Sky, fog and tone, and the one place where colours become what the target stores.

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

// Linear light above which highlights are drawn in.
const SHOULDER: f32 = 0.72;

// The tone curve: colours stay what they are up to the shoulder, then what is brighter closes on white, all channels alike, so
// that hues hold.
fn tone(c: vec3<f32>) -> vec3<f32> {
    let peak = max(c.r, max(c.g, c.b));
    if peak <= SHOULDER {
        return c;
    }
    let room = 1.0 - SHOULDER;
    let drawn_in = 1.0 - room * room / (peak - SHOULDER + room);
    // What is far too bright for its hue pales.
    let paled = 1.0 - 1.0 / (0.12 * (peak - drawn_in) + 1.0);
    return mix(c * (drawn_in / peak), vec3<f32>(drawn_in), paled);
}

fn target_from_linear(c: vec3<f32>) -> vec4<f32> {
    let toned = tone(c);
    if TARGET_ENCODES {
        return vec4<f32>(toned, 1.0);
    }
    return vec4<f32>(srgb_from_linear(toned), 1.0);
}

fn target_from_srgb(c: vec3<f32>) -> vec4<f32> {
    if TARGET_ENCODES {
        return vec4<f32>(linear_from_srgb(c), 1.0);
    }
    return vec4<f32>(c, 1.0);
}

// The sky in a direction of eye space, linear. Below the horizon it stays the horizon's.
fn sky(direction: vec3<f32>) -> vec3<f32> {
    let unit = direction / max(length(direction), 1e-6);
    let height = clamp(unit.y, 0.0, 1.0);
    // Most of the change is near the horizon, where the air is thick.
    let down = 1.0 - height;
    let plain = mix(frame.horizon.rgb, frame.zenith.rgb, 1.0 - down * down * down);
    // Round the sun's foot on the horizon the air is bright, less the higher one looks.
    let at_horizon = vec3<f32>(unit.x, max(unit.y, 0.0), unit.z);
    let towards = max(dot(at_horizon / max(length(at_horizon), 1e-6), frame.to_sun), 0.0);
    let near_sun = pow(towards, 6.0) * 0.55 + pow(towards, 64.0) * 0.45;
    return plain + frame.glow.rgb * near_sun * (down * down * 0.8 + 0.2);
}

// The sun itself, of which half a degree is seen.
fn sun_disc(direction: vec3<f32>) -> vec3<f32> {
    let towards = dot(normalize(direction), frame.to_sun);
    let above = smoothstep(-0.01, 0.01, frame.to_sun.y) * step(0.0, direction.y);
    return frame.glow.rgb * (smoothstep(0.99995, 0.99998, towards) * 8.0 * above);
}

// Where the air of a fine day hides all but a third, in voxels: thirty kilometres or so.
const VISIBILITY_VOXELS: f32 = 32000.0;

// How much of what stands there the air hides, 0..1. Distance is measured along the ground: what is loaded ends at a distance
// along the ground, and an overhead view must not drown.
fn fog(position_in_eye: vec3<f32>) -> f32 {
    let distance = length(position_in_eye.xz);
    // Haze that the eye reads distance from, and the wall of it where the picture ends.
    let far = distance / frame.fog_end;
    let haze = 1.0 - exp(-distance / VISIBILITY_VOXELS - far * far);
    return max(haze, smoothstep(frame.fog_start, frame.fog_end, distance));
}
