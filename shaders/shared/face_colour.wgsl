// A face's colour from the pools: group 2. Behind one function, so that a build without storage buffers reads textures.

#import shared/frame.wgsl
#import shared/quad.wgsl

// A page of face colours: bytes or words, as the piece says.
@group(2) @binding(0) var<storage, read> colour_page: array<u32>;
// 256 words a slot, 0x00BBGGRR.
@group(2) @binding(1) var<storage, read> palettes: array<u32>;

fn fetch_entry(piece: Piece, idx: u32) -> u32 {
    if piece.is_direct != 0u {
        return colour_page[idx];
    }
    return (colour_page[idx / 4u] >> (idx % 4u * 8u)) & 0xffu;
}

// sRGB, 0..1, of a cell of a quad.
fn face_colour(piece: Piece, quad: vec3<u32>, cell: vec2<u32>) -> vec3<f32> {
    var entry = quad_colour(quad);
    if !quad_is_uniform(quad) {
        entry = fetch_entry(piece, piece.colour_base + entry + cell.y * quad_size(quad).x + cell.x);
    }
    if piece.is_direct == 0u {
        entry = palettes[piece.palette_base + (entry & 0xffu)];
    }
    return unpack4x8unorm(entry).rgb;
}
