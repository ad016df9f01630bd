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

/// Places that lie no farther apart are the same to a guess: JGD2000 and JGD2011, ETRS89 and WGS 84.
const SAME_DEG: f64 = 1e-4;

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

/// What coordinates look like instead that `placer` brought into a box of the world (west, north, east, south), where
/// they should lie in a box of degrees: west, south, east, north.
pub fn guess_again(placer: &Placer, [west, north, east, south]: [f64; 4], near: [f64; 4]) -> Option<String> {
    let along = |from: f64, to: f64| [from, f64::midpoint(from, to), to];
    let places = along(north, south).into_iter().flat_map(|z| along(west, east).map(|x| [x, z]));
    // The way back is there for all but geocentric coordinates.
    let samples: Option<Vec<_>> =
        places.map(|[x, z]| placer.unplace(x, z).ok().map(|[first, second]| [first, second, 0.0])).collect();
    guess(&samples?, Some(near))
}

/// The first CRS, in the order of the table, that puts every sample into the box, unswapped before swapped; or else the
/// one that puts them round the box, or across its edge, nearest to its middle: a map of a part is asked for by a box
/// of that part.
fn guess_in(samples: &[[f64; 3]], near: [f64; 4]) -> Option<String> {
    let candidates = || [Axis::Xy, Axis::Yx].into_iter().flat_map(|axis| known::codes().map(move |code| (code, axis)));
    let around = || {
        let found = candidates().filter_map(|(code, axis)| Some((offset_deg(samples, code, axis, near)?, code, axis)));
        // Families that differ by centimetres put them in the same place: the first one counts.
        let nearest = found.reduce(|best, next| if next.0 < best.0 - SAME_DEG { next } else { best });
        nearest.map(|(_, code, axis)| (code, axis))
    };
    let inside = candidates().find(|&(code, axis)| lands(samples, code, axis, near));
    inside.or_else(around).map(|(code, axis)| words(code, axis))
}

/// How far the middle of the samples would lie from that of a box that they meet, in degrees.
fn offset_deg(samples: &[[f64; 3]], code: u32, axis: Axis, [west, south, east, north]: [f64; 4]) -> Option<f64> {
    let placer = placer(code, axis)?;
    let places: Option<Vec<LonLat>> = samples.iter().map(|sample| place(&placer, sample)).collect();
    let corners = places?.into_iter().map(|at| [at.lon_deg(), at.lat_deg(), at.lon_deg(), at.lat_deg()]);
    let [w, s, e, n] = corners.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
    let meets = w <= east && e >= west && s <= north && n >= south;
    let [dx, dy] = [f64::midpoint(w, e) - f64::midpoint(west, east), f64::midpoint(s, n) - f64::midpoint(south, north)];
    meets.then(|| dx.hypot(dy))
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
    let Some(placer) = placer(code, axis) else { return false };
    let is_inside = |at: LonLat| {
        let is_beside = if west <= east {
            (west..=east).contains(&at.lon_deg())
        } else {
            at.lon_deg() >= west || at.lon_deg() <= east
        };
        is_beside && (south..=north).contains(&at.lat_deg())
    };
    samples.iter().all(|sample| place(&placer, sample).is_some_and(is_inside))
}

fn placer(code: u32, axis: Axis) -> Option<Placer> {
    let options = CrsOptions { crs: Some(format!("EPSG:{code}")), axis, ..CrsOptions::default() };
    options.placer(AxisRule::Traditional, None, None).ok()
}

fn place(placer: &Placer, sample: &[f64; 3]) -> Option<LonLat> {
    placer.place(*sample).ok().map(|place| LonLat::from_world(place.x, place.z))
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
