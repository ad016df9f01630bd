// What a frame, a region and the pages are: group 0 of every pass.
//
// Spaces: `eye` is camera-relative, world axes with the eye at the origin, in world voxels; `region` counts the region's own
// voxels from its lowest corner; `clip` is reverse-Z, depth 1 at the near plane and 0 at infinity.

// Twin: `Frame` in src/gpu/layout.rs.
struct Frame {
    clip_from_eye: mat4x4<f32>,
    eye_from_clip: mat4x4<f32>,
    // By face number. Flat style: the factor of the sRGB bytes, in all three. Lit style: the light of sky and ground, linear.
    ambient: array<vec4<f32>, 6>,
    // By face number: the light of the sun where nothing stands before it, linear.
    direct: array<vec4<f32>, 6>,
    // The sky's colours, linear.
    horizon: vec4<f32>,
    zenith: vec4<f32>,
    // What the sun adds to the sky round it.
    glow: vec4<f32>,
    // Linear light of a lit window.
    window_light: vec4<f32>,
    // Of unit length.
    to_sun: vec3<f32>,
    // Part of the windows that are lit, 0..1.
    windows_lit: f32,
    // The eye within its voxel, 0..1.
    eye_fract: vec3<f32>,
    // Horizontal distances between which the fog closes, in voxels.
    fog_start: f32,
    half_viewport_px: vec2<f32>,
    fog_end: f32,
    // Above this no voxel stands, in eye space.
    top_in_eye: f32,
    // A word's page is its address shifted right by this.
    page_shift: u32,
    // IS_FLAT, HAS_SHADOWS, HAS_OCCLUSION.
    flags: u32,
    // The coarsest zoom of which a region is shown.
    coarsest_zoom: u32,
    unused: u32,
}

const IS_FLAT: u32 = 1u;
const HAS_SHADOWS: u32 = 2u;
const HAS_OCCLUSION: u32 = 4u;

// Twin: `Region` in src/gpu/layout.rs.
struct Region {
    // The region's lowest corner minus the eye's voxel. Integers: exact however far from the world's origin.
    origin_in_eye: vec3<i32>,
    // Edge of the region's voxels, in world voxels: 1 at zoom 17, 32 at zoom 12.
    voxel_edge: i32,
    // Its place in the grid of its zoom: the tile's x, the layer, the tile's y.
    cell: vec3<i32>,
    zoom: u32,
    // What the quads' colour indices count from, in entries.
    colour_base: u32,
    // Where its palette and its solids stand, in words. NO_SOLIDS: it has none.
    palette_base: u32,
    solids_base: u32,
    // Bits 0..8: the octants that are drawn. Bit 8: a colour entry is 0x00BBGGRR, a word, else a palette index, a byte. Bits
    // 16..24: the octants that fade in, 24..32: those that fade out.
    octants_and_depth: u32,
    // A nibble an octant: the sixteenths of the pixels that what fades in has, and what fades out has lost.
    fades: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
}

const N_SLOTS: u32 = 96u;

const NO_SOLIDS: u32 = 0xffffffffu;

@group(0) @binding(0) var<uniform> frame: Frame;

// By slot.
@group(0) @binding(1) var<uniform> regions: array<Region, N_SLOTS>;

fn octant_of(voxel: vec3<u32>) -> u32 {
    let upper = voxel >> vec3<u32>(7u);
    return upper.x | (upper.y << 1u) | (upper.z << 2u);
}

fn region_is_direct(region: Region) -> bool {
    return (region.octants_and_depth & 0x100u) != 0u;
}
