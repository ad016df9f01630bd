// The words of all regions, by address. Behind one function, so that a build without storage buffers reads textures.

#import shared/frame.wgsl

@group(0) @binding(3) var<storage, read> words_0: array<u32>;
@group(0) @binding(4) var<storage, read> words_1: array<u32>;
@group(0) @binding(5) var<storage, read> words_2: array<u32>;
@group(0) @binding(6) var<storage, read> words_3: array<u32>;
@group(0) @binding(7) var<storage, read> words_4: array<u32>;
@group(0) @binding(8) var<storage, read> words_5: array<u32>;
@group(0) @binding(9) var<storage, read> words_6: array<u32>;

fn fetch_word(address: u32) -> u32 {
    let at = address & ((1u << frame.page_shift) - 1u);
    switch address >> frame.page_shift {
        case 0u: { return words_0[at]; }
        case 1u: { return words_1[at]; }
        case 2u: { return words_2[at]; }
        case 3u: { return words_3[at]; }
        case 4u: { return words_4[at]; }
        case 5u: { return words_5[at]; }
        default: { return words_6[at]; }
    }
}
