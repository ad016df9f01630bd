//! Morton order: from a voxel to its texel and back.
//!
//! ```text
//! bit     23 22 21   ...   5  4  3   2  1  0
//! voxel   z7 y7 x7   ...  z1 y1 x1  z0 y0 x0      m = Morton code
//! texel   vb ub va   ...  v2 u2 v1  u1 v0 u0      u = even bits, v = odd bits
//! ```
//!
//! Voxel coordinates are region-local, 0..256; texel coordinates 0..4096, row v = 0 the top row of the image. Bits above
//! those ranges are ignored.

/// The Morton code of a voxel, 0..2^24 (the reference system's `xyz2m`).
///
/// ```
/// use voxatlas::atlas::{morton_from_voxel, texel_from_morton};
///
/// assert_eq!(morton_from_voxel(17, 200, 91), 5_790_757);
/// assert_eq!(texel_from_morton(5_790_757), [3299, 548]);
/// ```
pub const fn morton_from_voxel(x: u32, y: u32, z: u32) -> u32 {
    spread_by_3(x) | spread_by_3(y) << 1 | spread_by_3(z) << 2
}

/// The voxel [x, y, z] of a Morton code (the reference system's `m2xyz`).
pub const fn voxel_from_morton(m: u32) -> [u32; 3] {
    [gather_by_3(m), gather_by_3(m >> 1), gather_by_3(m >> 2)]
}

/// The Morton code of a texel (the reference system's `uv2m`).
pub const fn morton_from_texel(u: u32, v: u32) -> u32 {
    spread_by_2(u) | spread_by_2(v) << 1
}

/// The texel [u, v] of a Morton code (the reference system's `m2uv`).
pub const fn texel_from_morton(m: u32) -> [u32; 2] {
    [gather_by_2(m), gather_by_2(m >> 1)]
}

/// The texel [u, v] of a voxel.
pub const fn texel_from_voxel(x: u32, y: u32, z: u32) -> [u32; 2] {
    texel_from_morton(morton_from_voxel(x, y, z))
}

/// The voxel [x, y, z] of a texel.
pub const fn voxel_from_texel(u: u32, v: u32) -> [u32; 3] {
    voxel_from_morton(morton_from_texel(u, v))
}

/// Bit i of the low eight moves to bit 3 i.
const fn spread_by_3(value: u32) -> u32 {
    let value = value & 0xFF;
    let value = (value | value << 8) & 0x00_F00F;
    let value = (value | value << 4) & 0x0C_30C3;
    (value | value << 2) & 0x24_9249
}

/// Bit 3 i moves to bit i: the inverse of [`spread_by_3`].
const fn gather_by_3(value: u32) -> u32 {
    let value = value & 0x24_9249;
    let value = (value | value >> 2) & 0x0C_30C3;
    let value = (value | value >> 4) & 0x00_F00F;
    (value | value >> 8) & 0xFF
}

/// Bit i of the low twelve moves to bit 2 i.
const fn spread_by_2(value: u32) -> u32 {
    let value = value & 0xFFF;
    let value = (value | value << 8) & 0x0F_00FF;
    let value = (value | value << 4) & 0x0F_0F0F;
    let value = (value | value << 2) & 0x33_3333;
    (value | value << 1) & 0x55_5555
}

/// Bit 2 i moves to bit i: the inverse of [`spread_by_2`].
const fn gather_by_2(value: u32) -> u32 {
    let value = value & 0x55_5555;
    let value = (value | value >> 1) & 0x33_3333;
    let value = (value | value >> 2) & 0x0F_0F0F;
    let value = (value | value >> 4) & 0x0F_00FF;
    (value | value >> 8) & 0xFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference system's published vectors.
    #[test]
    fn published_vectors() {
        fn check([x, y, z]: [u32; 3], m: u32, texel: [u32; 2]) {
            assert_eq!(morton_from_voxel(x, y, z), m, "({x}, {y}, {z})");
            assert_eq!(voxel_from_morton(m), [x, y, z], "{m}");
            assert_eq!(texel_from_morton(m), texel, "{m}");
            assert_eq!(morton_from_texel(texel[0], texel[1]), m, "{texel:?}");
            assert_eq!(texel_from_voxel(x, y, z), texel);
            assert_eq!(voxel_from_texel(texel[0], texel[1]), [x, y, z]);
        }
        check([0, 0, 0], 0, [0, 0]);
        check([1, 0, 0], 1, [1, 0]);
        check([0, 1, 0], 2, [0, 1]);
        check([0, 0, 1], 4, [2, 0]);
        check([2, 0, 0], 8, [0, 2]);
        check([1, 2, 3], 53, [7, 4]);
        check([17, 200, 91], 5_790_757, [3299, 548]);
        check([255, 0, 0], 2_396_745, [585, 1170]);
        check([0, 255, 0], 4_793_490, [2340, 585]);
        check([0, 0, 255], 9_586_980, [1170, 2340]);
        check([255, 255, 255], 16_777_215, [4095, 4095]);
    }

    #[test]
    fn bijective_over_every_code() {
        for m in 0..1 << 24 {
            let ([x, y, z], [u, v]) = (voxel_from_morton(m), texel_from_morton(m));
            assert!(x < 256 && y < 256 && z < 256 && u < 4096 && v < 4096);
            assert!(morton_from_voxel(x, y, z) == m && morton_from_texel(u, v) == m, "{m}");
        }
    }

    #[test]
    fn higher_bits_are_ignored() {
        assert_eq!(morton_from_voxel(256 + 17, 512 + 200, 1024 + 91), 5_790_757);
        assert_eq!(morton_from_texel(4096 + 3299, 8192 + 548), 5_790_757);
        assert_eq!(voxel_from_morton((1 << 24) + 53), [1, 2, 3]);
    }
}
