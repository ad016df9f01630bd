//! Trees.

use super::canvas::{Canvas, Ink};
use super::chance::{hash, noise, pick, unit};
use super::ground::{self, GROUND};
use super::palette::{BLOSSOM, LEAF, LEAF_DARK, LEAF_LIGHT, LEAF_WARM, TRUNK};
use super::plan::{self, CITY_VOXELS, LANDMARK, Land};

/// Distance between the trees of a row.
const ROW_PITCH: i32 = 11;

/// Plants the park, the quays, the avenues and the plaza.
pub(super) fn plant(canvas: &mut Canvas) {
    for z in 0..CITY_VOXELS {
        for x in 0..CITY_VOXELS {
            if wants_tree(x, z) {
                tree(canvas, x, z);
            }
        }
    }
}

fn wants_tree(x: i32, z: i32) -> bool {
    match plan::land(x, z) {
        // Groves and clearings: a tree where its cell of 5 x 5 has chosen this very place.
        Land::Park => is_cell_choice(x, z, 5) && noise(20, x, z, 37) > -0.25 && ground::park_is_lawn(x, z),
        Land::Quay(n) => n == plan::QUAY - 1 && (x + z).rem_euclid(ROW_PITCH) == 0 && is_cell_choice(x, z, 3),
        Land::Pavement { is_kerb: true } => {
            let beside_avenue = [[1, 0], [-1, 0], [0, 1], [0, -1]]
                .iter()
                .any(|[dx, dz]| matches!(plan::land(x + dx, z + dz), Land::Road { is_avenue: true, .. }));
            beside_avenue && (x.rem_euclid(ROW_PITCH) == 5 || z.rem_euclid(ROW_PITCH) == 5) && unit(21, x, z) < 0.86
        }
        Land::Plaza => {
            let (dx, dz) = ((x - LANDMARK[0]).abs(), (z - LANDMARK[1]).abs());
            dx.max(dz) == 50 && (x + z).rem_euclid(8) == 0
        }
        _ => false,
    }
}

/// Whether a cell of that size has chosen this place of it.
fn is_cell_choice(x: i32, z: i32, size: i32) -> bool {
    let (cx, cz) = (x.div_euclid(size), z.div_euclid(size));
    let choice = pick(22, cx, cz, (size * size) as u32) as i32;
    x.rem_euclid(size) + size * z.rem_euclid(size) == choice
}

/// A trunk and a crown of two tones, lit from above.
pub(super) fn tree(canvas: &mut Canvas, x: i32, z: i32) {
    let (low, high): (Ink, Ink) = match pick(23, x, z, 24) {
        0 => (BLOSSOM, BLOSSOM),
        1 | 2 => (LEAF_WARM, LEAF_LIGHT),
        3..=9 => (LEAF_DARK, LEAF),
        _ => (LEAF, LEAF_LIGHT),
    };
    let radius = 1.7 + 1.5 * unit(24, x, z);
    let middle = GROUND + 3 + (radius + 1.2 * unit(25, x, z)) as i32;
    canvas.fill([x, x + 1], [GROUND, middle], [z, z + 1], TRUNK);
    let reach = radius as i32 + 1;
    for dz in -reach..=reach {
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                let ragged = f64::from(hash(26, x + dx * 7 + dy, z + dz * 5 - dy) % 100) * 0.009;
                let distance = libm::sqrt(f64::from(dx * dx + dz * dz) + f64::from(dy * dy) * 0.8);
                if distance + ragged <= radius + 0.35 {
                    canvas.set(x + dx, middle + dy, z + dz, if dy > 0 { high } else { low });
                }
            }
        }
    }
}
