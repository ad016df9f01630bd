//! What coordinates look like, for a message where the CRS is missing or wrong.
//!
//! Owns the trying. Receives samples and perhaps the box where they should be, yields words; nothing is ever placed by
//! a guess.

use voxatlas::geo::LonLat;

use super::{Axis, AxisRule, CrsOptions, Placer, known};

/// Samples beyond these add nothing.
const SAMPLES_MAX: usize = 64;

/// Zones of one family give the same numbers in different places: without a box, only these can be named, each alone
/// in its country.
const ALONE: [u32; 3] = [28992, 2056, 2154];

/// What the samples look like, such as `looks like EPSG:6677, x and y swapped`. `near` is the box where they should
/// lie: west, south, east, north in degrees; without it only what can hardly be anything else is named.
pub fn guess(samples: &[[f64; 3]], near: Option<[f64; 4]>) -> Option<String> {
    let samples = samples.get(..samples.len().min(SAMPLES_MAX))?;
    if samples.is_empty() {
        return None;
    }
    match near {
        Some(near) => guess_in(samples, near),
        None => guess_anywhere(samples),
    }
}

/// The first CRS, in the order of the table, that puts every sample into the box; unswapped before swapped.
fn guess_in(samples: &[[f64; 3]], near: [f64; 4]) -> Option<String> {
    [Axis::Xy, Axis::Yx].into_iter().find_map(|axis| {
        let code = known::codes().find(|&code| lands(samples, code, axis, near))?;
        Some(words(code, axis))
    })
}

/// Without a box, the one CRS whose own area holds the samples, whatever the order of the axes.
fn guess_anywhere(samples: &[[f64; 3]]) -> Option<String> {
    let holds = |at: usize, limit: f64| samples.iter().all(|sample| sample[at].abs() <= limit);
    if holds(0, 180.0) && holds(1, 180.0) {
        return match (holds(0, 90.0), holds(1, 90.0)) {
            (false, true) => Some(words(4326, Axis::Xy)),
            (true, false) => Some(words(4326, Axis::Yx)),
            _ => None,
        };
    }
    let mut found = None;
    for code in ALONE {
        for axis in [Axis::Xy, Axis::Yx] {
            let area = known::area_deg(code)?;
            if lands(samples, code, axis, area) && found.replace(words(code, axis)).is_some() {
                return None;
            }
        }
    }
    found
}

fn lands(samples: &[[f64; 3]], code: u32, axis: Axis, [west, south, east, north]: [f64; 4]) -> bool {
    let options = CrsOptions { crs: Some(format!("EPSG:{code}")), axis, ..CrsOptions::default() };
    let Ok(placer) = options.placer(AxisRule::Traditional, None, None) else { return false };
    let is_inside = |placer: &Placer, sample: &[f64; 3]| {
        placer.place(*sample).is_ok_and(|place| {
            let at = LonLat::from_world(place.x, place.z);
            let is_beside = if west <= east {
                (west..=east).contains(&at.lon_deg())
            } else {
                at.lon_deg() >= west || at.lon_deg() <= east
            };
            is_beside && (south..=north).contains(&at.lat_deg())
        })
    };
    samples.iter().all(|sample| is_inside(&placer, sample))
}

fn words(code: u32, axis: Axis) -> String {
    let is_degrees = matches!(code, 4326 | 4979 | 6668 | 4612 | 4258);
    match (is_degrees, axis) {
        (true, Axis::Yx) => format!("looks like EPSG:{code}, latitude before longitude"),
        (true, _) => format!("looks like EPSG:{code}, longitude before latitude"),
        (false, Axis::Yx) => format!("looks like EPSG:{code}, x and y swapped"),
        (false, _) => format!("looks like EPSG:{code}"),
    }
}
