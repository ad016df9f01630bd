// What light reaches a face: the sky past its neighbours, the sun past everything, and at night what is lit within.

#import shared/frame.wgsl
#import shared/quad.wgsl
#import shared/solids.wgsl

// Light of the sky at a corner by how many of the three voxels round it are solid; two sides close it whatever the third.
const OPENNESS: vec4<f32> = vec4<f32>(1.0, 0.82, 0.67, 0.54);

// What is taken for it where voxels are smaller than pixels: the mean of a city's faces.
const OPENNESS_FAR: f32 = 0.9;

fn corner_openness(side_a: bool, side_b: bool, corner: bool) -> f32 {
    let n = select(u32(side_a) + u32(side_b) + u32(corner), 3u, side_a && side_b);
    return OPENNESS[n];
}

// How much of the sky's light reaches a place on a face, past the voxels that stand on the plane of the face. `voxel` is the
// face's own; `within` is the place in its cell, 0..1.
fn sky_openness(region: Region, face: u32, voxel: vec3<i32>, within: vec2<f32>) -> f32 {
    let before = voxel + vec3<i32>(face_normal_axis(face)) * face_sign(face);
    let w = vec3<i32>(face_width_axis(face));
    let h = vec3<i32>(face_height_axis(face));
    let left = is_solid(region, before - w);
    let right = is_solid(region, before + w);
    let below = is_solid(region, before - h);
    let above = is_solid(region, before + h);
    let low = mix(
        corner_openness(left, below, is_solid(region, before - w - h)),
        corner_openness(right, below, is_solid(region, before + w - h)),
        within.x,
    );
    let high = mix(
        corner_openness(left, above, is_solid(region, before - w + h)),
        corner_openness(right, above, is_solid(region, before + w + h)),
        within.x,
    );
    return mix(low, high, within.y);
}

// Whether the sun sees a place on a face; `place` counts in region space.
fn sees_sun(region: Region, face: u32, voxel: vec3<i32>, place: vec3<f32>) -> bool {
    let before = voxel + vec3<i32>(face_normal_axis(face)) * face_sign(face);
    let top = (frame.top_in_eye + frame.eye_fract.y - f32(region.origin_in_eye.y)) / f32(region.voxel_edge);
    return is_open(region, place, before, frame.to_sun, top);
}

// Glass, as far as a colour tells: dark, and bluish beside the wall that it is in.
fn is_glass(srgb: vec3<f32>) -> bool {
    let luma = dot(srgb, vec3<f32>(0.2126, 0.7152, 0.0722));
    return luma < 0.66 && srgb.b > srgb.r - 0.03 && srgb.b > srgb.g - 0.01;
}

fn lattice_hash(p: vec3<i32>) -> f32 {
    var h = u32(p.x) * 0x9e3779b1u ^ u32(p.y) * 0x85ebca77u ^ u32(p.z) * 0xc2b2ae3du;
    h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12u)) * 0x297a2d39u;
    return f32((h ^ (h >> 15u)) >> 8u) / 16777216.0;
}

// What a lit window sends out, linear. Windows are on walls, under more wall; whole rooms are lit or dark, three metres high and
// a few wide, and floors are left early or late together.
fn window_light(region: Region, face: u32, voxel: vec3<i32>, srgb: vec3<f32>) -> vec3<f32> {
    if frame.windows_lit <= 0.0 || face / 2u == 1u || !is_glass(srgb) {
        return vec3<f32>(0.0);
    }
    if !is_solid(region, voxel + vec3<i32>(0, 1, 0)) {
        return vec3<f32>(0.0);
    }
    // In world voxels, so that a room is the same at every zoom.
    let place = (region.cell * 256 + voxel) * region.voxel_edge;
    let storey = vec3<i32>(place.x >> 5u, place.y / 3, place.z >> 5u);
    let room = vec3<i32>(place.x / 3, storey.y, place.z / 3);
    let still_there = lattice_hash(storey);
    if lattice_hash(room) >= frame.windows_lit * (0.25 + 1.5 * still_there * still_there) {
        return vec3<f32>(0.0);
    }
    let tint = lattice_hash(room + vec3<i32>(7919));
    // Most rooms are warm and dim; a few are lit like offices.
    let colour = mix(vec3<f32>(1.0, 0.70, 0.38), vec3<f32>(0.84, 0.88, 0.88), step(0.85, tint));
    return frame.window_light.rgb * colour * (0.14 + 0.5 * fract(tint * 7.0) * fract(tint * 7.0));
}
