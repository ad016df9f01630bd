//! The landmark: a television tower with a sphere, 310 voxels tall, so that it goes on in layer 1.

use super::canvas::{Canvas, Ink};
use super::ground::GROUND;
use super::palette::{
    BEACON, MAST_RED, MAST_WHITE, SPHERE_GLASS, STEEL, STEEL_DARK, TOWER_SHADE, TOWER_WHITE, WINDOW, WINDOW_LIGHT,
};
use super::plan::LANDMARK;

/// Heights above the ground, in voxels.
const SPHERE_MIDDLE: i32 = 206;
const SPHERE_RADIUS: f64 = 17.0;
const DECK: std::ops::Range<i32> = 236..244;
const SHAFT_TOP: i32 = 250;
const MAST_TOP: i32 = 310;

/// Builds the tower.
pub(super) fn build(canvas: &mut Canvas) {
    for y in 0..MAST_TOP {
        let radius = shaft_radius(y);
        disc(canvas, y, radius, |dx, dz, rim| shaft_ink(y, dx, dz, rim));
    }
    for dy in -(SPHERE_RADIUS as i32)..=SPHERE_RADIUS as i32 {
        let y = SPHERE_MIDDLE + dy;
        let radius = libm::sqrt(SPHERE_RADIUS * SPHERE_RADIUS - f64::from(dy * dy));
        disc(canvas, y, radius, |dx, dz, _| sphere_ink(dy, dx, dz));
    }
    for y in DECK {
        let radius = if y == DECK.start || y == DECK.end - 1 { 8.0 } else { 9.0 };
        let ink = if (DECK.start + 3..DECK.end - 2).contains(&y) { WINDOW } else { STEEL };
        disc(canvas, y, radius, |_, _, _| ink);
    }
    pavilion(canvas);
}

/// A foot that sweeps out like a trumpet, a slender shaft, a mast in steps.
fn shaft_radius(y: i32) -> f64 {
    match y {
        0..SHAFT_TOP => {
            let flare = 12.0 * libm::exp(-f64::from(y) / 16.0);
            7.4 - 3.0 * f64::from(y) / f64::from(SHAFT_TOP) + flare
        }
        SHAFT_TOP..272 => 2.6,
        272..292 => 1.6,
        _ => 0.7,
    }
}

fn shaft_ink(y: i32, dx: i32, dz: i32, rim: bool) -> Ink {
    if y >= SHAFT_TOP {
        return if y == MAST_TOP - 1 {
            BEACON
        } else if (y - SHAFT_TOP) / 10 % 2 == 0 {
            MAST_RED
        } else {
            MAST_WHITE
        };
    }
    // Windows of the stairs climb round the shaft; every twelfth course stands in the shade of a joint.
    let bearing = libm::atan2(f64::from(dz), f64::from(dx));
    let stair = (f64::from(y) / 26.0 + bearing / std::f64::consts::TAU).rem_euclid(1.0) < 0.06;
    match () {
        () if rim && stair && y > 20 => WINDOW_LIGHT,
        () if y % 12 == 0 => TOWER_SHADE,
        () => TOWER_WHITE,
    }
}

fn sphere_ink(dy: i32, dx: i32, dz: i32) -> Ink {
    let bearing = libm::atan2(f64::from(dz), f64::from(dx)) * 14.0 / std::f64::consts::PI;
    let rib = bearing.rem_euclid(2.0) < 0.5;
    match dy {
        -2..=0 | 4..=6 => SPHERE_GLASS,
        1 | 3 => STEEL_DARK,
        _ if rib => STEEL_DARK,
        _ => STEEL,
    }
}

/// The entrance hall round the foot.
fn pavilion(canvas: &mut Canvas) {
    for y in 0..7 {
        let ink = if y == 6 || y == 0 { TOWER_SHADE } else { WINDOW };
        disc(canvas, y, 24.0, |dx, dz, rim| {
            let pier = (libm::atan2(f64::from(dz), f64::from(dx)) * 18.0 / std::f64::consts::PI).rem_euclid(2.0) < 0.5;
            if y == 6 {
                TOWER_WHITE
            } else if rim && pier {
                TOWER_SHADE
            } else {
                ink
            }
        });
    }
}

/// Paints a disc of the tower's storey `y`; `ink_of(dx, dz, whether it is the rim)`.
fn disc(canvas: &mut Canvas, y: i32, radius: f64, ink_of: impl Fn(i32, i32, bool) -> Ink) {
    let reach = radius as i32 + 1;
    for dz in -reach..=reach {
        for dx in -reach..=reach {
            let distance = libm::sqrt(f64::from(dx * dx + dz * dz));
            if distance <= radius + 0.3 {
                let ink = ink_of(dx, dz, distance > radius - 1.0);
                canvas.set(LANDMARK[0] + dx, GROUND + y, LANDMARK[1] + dz, ink);
            }
        }
    }
}
