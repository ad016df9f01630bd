//! Chance that always falls the same way: hashes of places.

/// A hash of a place and a purpose, uniform over all u32.
pub(super) fn hash(seed: u32, x: i32, z: i32) -> u32 {
    let mut h = u64::from(seed) << 32 ^ (u64::from(x as u32) << 16) ^ u64::from(z as u32).rotate_left(40);
    // The finaliser of splitmix64.
    h = (h ^ h >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h = (h ^ h >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (h ^ h >> 31) as u32
}

/// A number of 0..n.
pub(super) fn pick(seed: u32, x: i32, z: i32, n: u32) -> u32 {
    ((u64::from(hash(seed, x, z)) * u64::from(n)) >> 32) as u32
}

/// A number of 0.0..1.0.
pub(super) fn unit(seed: u32, x: i32, z: i32) -> f64 {
    f64::from(hash(seed, x, z)) / 4_294_967_296.0
}

/// Smooth noise of -1.0..1.0 with hills `period` voxels wide.
pub(super) fn noise(seed: u32, x: i32, z: i32, period: i32) -> f64 {
    let (cx, cz) = (x.div_euclid(period), z.div_euclid(period));
    let ease = |t: f64| t * t * (3.0 - 2.0 * t);
    let fx = ease(f64::from(x.rem_euclid(period)) / f64::from(period));
    let fz = ease(f64::from(z.rem_euclid(period)) / f64::from(period));
    let corner = |dx, dz| unit(seed, cx + dx, cz + dz) * 2.0 - 1.0;
    let north = corner(0, 0) * (1.0 - fx) + corner(1, 0) * fx;
    let south = corner(0, 1) * (1.0 - fx) + corner(1, 1) * fx;
    north * (1.0 - fz) + south * fz
}
