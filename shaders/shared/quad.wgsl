// The packed quad. Twin: `Quad` in src/mesh/quad.rs, which has the table of its bits.

const QUAD_UNIFORM: u32 = 0x80000000u;

fn quad_min(quad: vec3<u32>) -> vec3<u32> {
    return (vec3<u32>(quad.x) >> vec3<u32>(0u, 8u, 16u)) & vec3<u32>(0xffu);
}

// 0 -x, 1 +x, 2 -y, 3 +y, 4 -z, 5 +z.
fn quad_face(quad: vec3<u32>) -> u32 {
    return (quad.x >> 24u) & 7u;
}

// Width and height in voxels, 1..=256.
fn quad_size(quad: vec3<u32>) -> vec2<u32> {
    return ((vec2<u32>(quad.y) >> vec2<u32>(0u, 8u)) & vec2<u32>(0xffu)) + 1u;
}

// The slot of its region, which the upload adds.
fn quad_slot(quad: vec3<u32>) -> u32 {
    return (quad.y >> 16u) & 0xffu;
}

fn quad_is_uniform(quad: vec3<u32>) -> bool {
    return (quad.y & QUAD_UNIFORM) != 0u;
}

// The entry of all its faces where it is uniform, else the index of the first one's.
fn quad_colour(quad: vec3<u32>) -> u32 {
    return quad.z;
}

// The unit vector of the face's axis, of its width and of its height.
fn face_normal_axis(face: u32) -> vec3<u32> {
    return vec3<u32>(vec3<u32>(face / 2u) == vec3<u32>(0u, 1u, 2u));
}

fn face_width_axis(face: u32) -> vec3<u32> {
    let is_x = u32(face / 2u == 0u);
    return vec3<u32>(1u - is_x, is_x, 0u);
}

fn face_height_axis(face: u32) -> vec3<u32> {
    let is_z = u32(face / 2u == 2u);
    return vec3<u32>(0u, is_z, 1u - is_z);
}

// 1 where the face looks along its axis, else -1.
fn face_sign(face: u32) -> i32 {
    return i32(face % 2u) * 2 - 1;
}

// +1 where width, height and outward normal are right-handed, else -1: from outside, height lies to the left of width.
fn face_handedness(face: u32) -> i32 {
    // x faces have (y, z), z faces (x, y), both right-handed; y faces (x, z), which is not.
    return face_sign(face) * select(1, -1, face / 2u == 1u);
}

// A corner in region space; `unit` is (0 or 1, 0 or 1).
fn quad_corner(quad: vec3<u32>, unit: vec2<u32>) -> vec3<i32> {
    let face = quad_face(quad);
    let extent = quad_size(quad) * unit;
    let corner = quad_min(quad)
        + face_width_axis(face) * extent.x
        + face_height_axis(face) * extent.y
        + face_normal_axis(face) * (face % 2u);
    return vec3<i32>(corner);
}

// The voxel of a cell in region space.
fn quad_voxel(quad: vec3<u32>, cell: vec2<u32>) -> vec3<u32> {
    let face = quad_face(quad);
    return quad_min(quad) + face_width_axis(face) * cell.x + face_height_axis(face) * cell.y;
}

// A place on a face in region space; `within` is the place in the cell, 0..1.
fn face_place(quad: vec3<u32>, cell: vec2<u32>, within: vec2<f32>) -> vec3<f32> {
    let face = quad_face(quad);
    return vec3<f32>(quad_voxel(quad, cell) + face_normal_axis(face) * (face % 2u))
        + vec3<f32>(face_width_axis(face)) * within.x
        + vec3<f32>(face_height_axis(face)) * within.y;
}
