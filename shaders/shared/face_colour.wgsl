// A face's colour.

#import shared/frame.wgsl
#import shared/quad.wgsl
#import shared/words.wgsl

// A palette index or 0x00BBGGRR.
fn fetch_entry(region: Region, idx: u32) -> u32 {
    if region_is_direct(region) {
        return fetch_word(idx);
    }
    return (fetch_word(idx / 4u) >> (idx % 4u * 8u)) & 0xffu;
}

// sRGB, 0..1, of a cell of a quad.
fn face_colour(region: Region, quad: vec3<u32>, cell: vec2<u32>) -> vec3<f32> {
    var entry = quad_colour(quad);
    if !quad_is_uniform(quad) {
        entry = fetch_entry(region, region.colour_base + entry + cell.y * quad_size(quad).x + cell.x);
    }
    if !region_is_direct(region) {
        entry = fetch_word(region.palette_base + (entry & 0xffu));
    }
    return unpack4x8unorm(entry).rgb;
}
