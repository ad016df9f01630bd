// What a frame and a piece are: group 0 and group 1 of every pass.
//
// Spaces: `eye` is camera-relative, world axes with the eye at the origin, in world voxels; `region` counts the region's own
// voxels from its lowest corner; `clip` is reverse-Z, depth 1 at the near plane and 0 at infinity.

// Twin: `Frame` in src/gpu/layout.rs.
struct Frame {
    clip_from_eye: mat4x4<f32>,
    eye_from_clip: mat4x4<f32>,
    // By face number. Flat style: the factor of the sRGB bytes, in all three. Lit style: linear light.
    face_light: array<vec4<f32>, 6>,
    // The sky's colours, linear.
    horizon: vec4<f32>,
    zenith: vec4<f32>,
    // The eye within its voxel, 0..1.
    eye_fract: vec3<f32>,
    // Horizontal distances between which the fog closes, in voxels.
    fog_start: f32,
    half_viewport_px: vec2<f32>,
    fog_end: f32,
    // 1: flat style.
    is_flat: u32,
}

// Twin: `Piece` in src/gpu/layout.rs.
struct Piece {
    // The region's lowest corner minus the eye's voxel. Integers: exact however far from the world's origin.
    origin_in_eye: vec3<i32>,
    // Edge of the region's voxels, in world voxels: 1 at zoom 17, 32 at zoom 12.
    voxel_edge: i32,
    // What the quads' colour indices count from, in entries. May wrap round.
    colour_base: u32,
    // Where the slot's palette stands.
    palette_base: u32,
    // 1: an entry is 0x00BBGGRR, a word; 0: an entry is a palette index, a byte.
    is_direct: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
