//! Four synthetic regions, from the easiest to the worst, made from nothing but integers: the same on every machine.
//!
//! | scene | what it is | occupied | exposed faces |
//! | --- | --- | --- | --- |
//! | `city_shell` | ground and 250 hollow buildings | 2.2 % | 0.77 million |
//! | `city_solid` | the same buildings, filled, on deeper ground | 9.9 % | 0.37 million |
//! | `terrain` | hills of fractal noise over caves | 34 % | 0.55 million |
//! | `noise` | every tenth voxel, at random | 10 % | 9.07 million |

use voxatlas::voxel::{ColourDepth, Occupancy, Region};

/// Edge of a region, in voxels.
const SIDE: usize = 256;

/// The names of all scenes, from the easiest to the worst.
pub(crate) const NAMES: [&str; 4] = ["city_shell", "city_solid", "terrain", "noise"];

/// The scene of that name.
///
/// # Panics
///
/// There is none.
pub(crate) fn scene(name: &str) -> Region {
    let volume = match name {
        "city_shell" => city(1, true),
        "city_solid" => city(11, false),
        "terrain" => terrain(),
        "noise" => noise(),
        _ => panic!("no scene is called {name}"),
    };
    volume.into_region()
}

/// A palette index for every voxel, 0 for air.
struct Volume(Vec<u8>);

impl Volume {
    fn air() -> Self {
        Self(vec![0; SIDE.pow(3)])
    }

    fn set(&mut self, [x, y, z]: [usize; 3], colour: u8) {
        self.0[x + SIDE * (y + SIDE * z)] = colour;
    }

    /// A region in at most 255 colours.
    fn into_region(self) -> Region {
        let mut occupancy = Occupancy::empty();
        for (row, words) in self.0.chunks_exact(SIDE).zip(occupancy.rows_mut()) {
            for (x, &colour) in row.iter().enumerate() {
                words[x / 64] |= u64::from(colour != 0) << (x % 64);
            }
        }
        let palette = (0..=255u8).map(|i| [96 + i / 2, 90 + (i ^ 0x15) / 2, 80 + i.rotate_left(3) / 2]).collect();
        Region::paint(occupancy, ColourDepth::Indexed(palette), |x, y, z| {
            let [x, y, z] = [x, y, z].map(|c| c as usize);
            u32::from(self.0[x + SIDE * (y + SIDE * z)])
        })
    }
}

/// The region with one voxel in a thousand in a colour of its own, too many for a palette.
pub(crate) fn in_full_colour(region: &Region) -> Region {
    Region::paint(region.occupancy.clone(), ColourDepth::Direct, |x, y, z| {
        let [r, g, b] = region.colours.get(x, y, z);
        let mix = hash(u64::from(x) << 32 | u64::from(y), u64::from(z));
        if mix.is_multiple_of(1000) { (mix >> 40) as u32 } else { u32::from_le_bytes([r, g, b, 0]) }
    })
}

/// 250 buildings, which may overlap, on a slab of ground: most square to the streets, a third turned by 45 degrees.
fn city(ground: usize, is_hollow: bool) -> Volume {
    let mut random = Random(7);
    let mut volume = Volume::air();
    for z in 0..SIDE {
        for x in 0..SIDE {
            for y in 0..ground {
                let is_street = x % 40 < 7 || z % 40 < 7;
                volume.set([x, y, z], if is_street { 1 } else { 2 + (hash(x as u64, z as u64) % 4) as u8 });
            }
        }
    }
    for number in 0..250 {
        // A few towers among many houses.
        let height = 8 + random.below(14) + if random.below(12) == 0 { 30 + random.below(110) } else { 0 };
        let size = [10 + random.below(13), height, 10 + random.below(13)];
        let min = [random.below(SIDE - size[0]), ground, random.below(SIDE - size[2])];
        let tone = 8 + random.below(40) as u8 * 6;
        let has = |x: usize, z: usize| x < size[0] && z < size[2] && (number % 3 > 0 || is_in_diamond(x, z, size));
        for (x, z) in (0..size[2]).flat_map(|z| (0..size[0]).map(move |x| (x, z))).filter(|&(x, z)| has(x, z)) {
            let is_wall = !(has(x.wrapping_sub(1), z) && has(x + 1, z) && has(x, z.wrapping_sub(1)) && has(x, z + 1));
            for y in 0..height {
                if !is_hollow || is_wall || y == height - 1 {
                    volume.set([min[0] + x, min[1] + y, min[2] + z], facade([x, y, z], size, tone));
                }
            }
        }
    }
    volume
}

/// Whether (x, z) lies in the diamond that touches the middle of each side of a footprint.
fn is_in_diamond(x: usize, z: usize, size: [usize; 3]) -> bool {
    (2 * x + 1).abs_diff(size[0]) * size[2] + (2 * z + 1).abs_diff(size[2]) * size[0] <= size[0] * size[2]
}

/// Windows between piers, a darker ground floor and a roof a tone apart.
fn facade([x, y, z]: [usize; 3], size: [usize; 3], tone: u8) -> u8 {
    let is_window = y % 3 == 1 && (x + z) % 3 != 0;
    match y {
        _ if y == size[1] - 1 => tone + 1,
        0..3 => tone + 2,
        _ if is_window => tone + 3,
        _ => tone,
    }
}

/// Hills, hollowed out.
fn terrain() -> Volume {
    let mut volume = Volume::air();
    for z in 0..SIDE {
        for x in 0..SIDE {
            let height = 62 + 108 * fractal_noise([x, 0, z], 128) / ONE;
            for y in 0..height {
                let is_cave = y > 2 && fractal_noise([x, 512 + 2 * y, z], 64) < ONE * 3 / 8;
                if !is_cave {
                    // Speckled soil over layers of rock.
                    let is_soil = height - y < 3;
                    let speckle = (hash(x as u64 ^ (y as u64) << 8, z as u64) % 6) as u8;
                    volume.set([x, y, z], if is_soil { 10 + speckle } else { 40 + (y / 4) as u8 });
                }
            }
        }
    }
    volume
}

/// Every tenth voxel.
fn noise() -> Volume {
    let mut random = Random(11);
    let mut volume = Volume::air();
    for cell in &mut volume.0 {
        let bits = random.next();
        if (bits >> 32) * 10 < 1 << 32 {
            *cell = 1 + (bits % 255) as u8;
        }
    }
    volume
}

/// The unit of the fixed-point noise.
const ONE: usize = 1 << 12;

/// Four octaves of value noise, 0..[`ONE`], the coarsest with this cell, a power of two.
fn fractal_noise(at: [usize; 3], cell: usize) -> usize {
    (0..4).map(|octave| value_noise(at, cell >> octave, octave) >> (octave + 1)).sum::<usize>()
}

/// Random values at the corners of cells, smoothly blended between them, 0..[`ONE`].
fn value_noise(at: [usize; 3], cell: usize, seed: usize) -> usize {
    let corner = at.map(|c| c / cell);
    let weight = at.map(|c| {
        let t = c % cell * ONE / cell;
        t * t / ONE * (3 * ONE - 2 * t) / ONE
    });
    (0..8)
        .map(|i| {
            let bits = [i & 1, i >> 1 & 1, i >> 2];
            let value = hash(
                ((corner[0] + bits[0]) as u64) << 32 | (corner[1] + bits[1]) as u64,
                ((corner[2] + bits[2]) as u64) << 8 | seed as u64,
            ) % ONE as u64;
            (0..3).fold(value as usize, |value, axis| {
                value * if bits[axis] == 1 { weight[axis] } else { ONE - weight[axis] } / ONE
            })
        })
        .sum()
}

/// Mixes two numbers.
fn hash(a: u64, b: u64) -> u64 {
    Random(a.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ b).next()
}

/// SplitMix64 (Steele, Lea and Flood).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
