//! The ground: river, quays, roadways, pavements, park and plaza.

use super::canvas::{Canvas, Ink};
use super::chance::{noise, unit};
use super::palette::{
    ASPHALT, ASPHALT_SIDE, EARTH, GRASS, GRASS_DARK, GRASS_DRY, KERB, LINE, PATH, PAVEMENT, PLAZA, PLAZA_DARK, POND,
    QUAY, RAIL, SAND, STONE, WATER, WATER_DEEP, YARD,
};
use super::plan::{self, BRIDGES_Z, CITY_VOXELS, LANDMARK, Land, PARK};

/// Ground voxels lie below this: the streets' surface.
pub(super) const GROUND: i32 = 32;

/// The river's surface: water lies below it.
const WATER_LEVEL: i32 = 28;

/// The pond's surface.
const POND_LEVEL: i32 = 31;

/// Lays the ground of the whole city.
pub(super) fn lay(canvas: &mut Canvas) {
    for z in 0..CITY_VOXELS {
        for x in 0..CITY_VOXELS {
            let (surface, ink) = surface(x, z);
            canvas.fill([x, x + 1], [0, surface - 1], [z, z + 1], EARTH);
            canvas.set(x, surface - 1, z, ink);
            if plan::land(x, z) == Land::Quay(1) {
                // The wall that drops to the water.
                canvas.fill([x, x + 1], [WATER_LEVEL - 4, GROUND], [z, z + 1], QUAY);
                canvas.set(x, GROUND, z, STONE);
            }
        }
    }
    for middle in BRIDGES_Z {
        bridge(canvas, middle);
    }
}

/// Height of the first air voxel and the ink of the topmost ground voxel.
fn surface(x: i32, z: i32) -> (i32, Ink) {
    match plan::land(x, z) {
        Land::River => (WATER_LEVEL, if noise(1, x, z, 46) > 0.15 { WATER_DEEP } else { WATER }),
        Land::Quay(n) if n < plan::QUAY - 1 => (GROUND, if n % 4 == 0 { QUAY } else { PAVEMENT }),
        Land::Quay(_) => (GROUND, grass(x, z)),
        Land::Road { from_middle, along, is_avenue } => (GROUND, road(from_middle, along, is_avenue)),
        Land::Crossing => (GROUND, ASPHALT),
        Land::Pavement { is_kerb: true } => (GROUND, KERB),
        Land::Pavement { is_kerb: false } => (GROUND, PAVEMENT),
        Land::Park => park(x, z),
        Land::Plaza => (GROUND, plaza(x, z)),
        Land::Lot => (GROUND, if plan::is_west(x, z) { grass(x, z) } else { YARD }),
    }
}

/// Lanes, their lines, and zebra crossings where they meet.
fn road(from_middle: i32, along: i32, is_avenue: bool) -> Ink {
    let across = from_middle.abs();
    if is_avenue {
        if across == 0 || across == 4 && along.rem_euclid(8) < 3 {
            return LINE;
        }
        return if across >= 7 { ASPHALT_SIDE } else { ASPHALT };
    }
    if across == 0 && along.rem_euclid(9) < 3 { LINE } else { ASPHALT_SIDE }
}

fn grass(x: i32, z: i32) -> Ink {
    match noise(2, x, z, 23) + 0.25 * noise(3, x, z, 5) {
        tone if tone > 0.34 => GRASS_DRY,
        tone if tone < -0.3 => GRASS_DARK,
        _ => GRASS,
    }
}

/// The pond: an ellipse with a wavy shore; how far inside the place is, negative outside.
fn in_pond(x: i32, z: i32) -> f64 {
    let (dx, dz) = (f64::from(x - 494) / 34.0, f64::from(z - 340) / 46.0);
    1.0 - libm::sqrt(dx * dx + dz * dz) + 0.16 * noise(4, x, z, 22)
}

/// Voxels to the nearest path of the park's net.
fn to_path(x: i32, z: i32) -> f64 {
    let (x, z) = (f64::from(x), f64::from(z));
    let promenade = x - (496.0 + 26.0 * libm::sin((z - 185.0) * 0.021));
    let ring = libm::sqrt(((x - 494.0) / 44.0).powi(2) + ((z - 340.0) / 57.0).powi(2)) * 50.0 - 50.0;
    let crossing = z - (262.0 + 10.0 * libm::sin(x * 0.05));
    promenade.abs().min(ring.abs()).min(crossing.abs())
}

/// Whether trees may stand at that place of the park.
pub(super) fn park_is_lawn(x: i32, z: i32) -> bool {
    in_pond(x, z) < -0.12
        && to_path(x, z) > 4.0
        && PARK[0] + 4 < x
        && x < PARK[1] - 4
        && PARK[2] + 4 < z
        && z < PARK[3] - 4
}

fn park(x: i32, z: i32) -> (i32, Ink) {
    let depth = in_pond(x, z);
    if depth > 0.0 {
        return (POND_LEVEL, POND);
    }
    if depth > -0.06 {
        return (GROUND, SAND);
    }
    (GROUND, if to_path(x, z) < 2.0 { PATH } else { grass(x, z) })
}

/// Rings and spokes of two stones round the landmark.
fn plaza(x: i32, z: i32) -> Ink {
    let (dx, dz) = (f64::from(x - LANDMARK[0]), f64::from(z - LANDMARK[1]));
    let radius = libm::sqrt(dx * dx + dz * dz);
    let spoke = (libm::atan2(dz, dx) * 12.0 / std::f64::consts::PI).rem_euclid(2.0) < 1.0;
    let ring = (radius / 9.0).rem_euclid(2.0) < 1.0;
    if radius > 50.0 {
        return if unit(5, x / 6, z / 6) < 0.5 { PAVEMENT } else { PLAZA_DARK };
    }
    if spoke == ring { PLAZA } else { PLAZA_DARK }
}

/// A deck on round arches, with a railing.
fn bridge(canvas: &mut Canvas, middle_z: i32) {
    let (west, east) = (
        (plan::river_middle(middle_z) - plan::river_half(middle_z)) as i32 - 6,
        (plan::river_middle(middle_z) + plan::river_half(middle_z)) as i32 + 7,
    );
    // The banks slant: carry the deck on until both edges of it stand on land.
    let (west, east) = (west - 12, east + 12);
    for x in west..east {
        for from_middle in -11..=11_i32 {
            let z = middle_z + from_middle;
            if !matches!(plan::land(x, z), Land::River | Land::Quay(_)) {
                continue;
            }
            let ink = if from_middle.abs() <= 8 { road(from_middle, x, true) } else { PAVEMENT };
            canvas.fill([x, x + 1], [GROUND - 2, GROUND], [z, z + 1], STONE);
            canvas.set(x, GROUND - 1, z, ink);
            canvas.set(x, GROUND, z, 0);
            if from_middle.abs() == 11 {
                canvas.set(x, GROUND, z, if x.rem_euclid(4) == 0 { STONE } else { RAIL });
            }
            let arch = (x - west).rem_euclid(20) - 10;
            if plan::land(x, z) == Land::River && arch.abs() >= 8 {
                canvas.fill([x, x + 1], [WATER_LEVEL - 4, GROUND - 2], [z, z + 1], QUAY);
            }
        }
    }
}
