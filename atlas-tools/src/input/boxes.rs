//! Boxes in the coordinates of a file, brought into the world.
//!
//! Owns the caution that this needs: a box of a projected CRS has curved edges in the world. Receives a box, yields one
//! that surely holds it, or nothing where it cannot be placed, and everything must be taken for wanted.

use super::Wanted;
use crate::crs::Placer;

/// Points along an edge at which a curved box is measured.
const SAMPLES: usize = 5;

/// A curved box is taken for this much larger on every side, as a part of its size: more than edges bulge between samples.
const MARGIN: f64 = 0.05;

/// The world's box round one of a file: least and greatest x, then y, in the order of the file's coordinates.
pub(super) fn world_box(placer: &Placer, [x_min, y_min, x_max, y_max]: [f64; 4]) -> Option<[f64; 4]> {
    let samples = if placer.keeps_boxes() { 2 } else { SAMPLES };
    let at = |least: f64, most: f64, nth: usize| least + (most - least) * (nth as f64 / (samples - 1) as f64);
    let [mut west, mut north] = [f64::INFINITY; 2];
    let [mut east, mut south] = [f64::NEG_INFINITY; 2];
    for (column, row) in (0..samples).flat_map(|column| (0..samples).map(move |row| (column, row))) {
        let place = placer.place([at(x_min, x_max, column), at(y_min, y_max, row), 0.0]).ok()?;
        west = west.min(place.x);
        north = north.min(place.z);
        east = east.max(place.x);
        south = south.max(place.z);
    }
    let margin = if placer.keeps_boxes() { 0.0 } else { MARGIN };
    let [dx, dz] = [(east - west) * margin, (south - north) * margin];
    Some([west - dx, north - dz, east + dx, south + dz])
}

/// Whether a box of a file may hold something that is wanted.
pub(super) fn may_meet(placer: &Placer, wanted: &Wanted, file_box: [f64; 4]) -> bool {
    wanted.boxes.is_empty() || world_box(placer, file_box).is_none_or(|world_box| wanted.meets(world_box))
}

#[cfg(test)]
mod tests {
    use voxatlas::geo::LonLat;

    use super::*;
    use crate::crs::{AxisRule, CrsOptions};

    fn placer(crs: &str) -> Placer {
        CrsOptions::default().placer(AxisRule::Traditional, Some(crs), None).unwrap()
    }

    #[test]
    fn degrees_give_the_box_itself_and_projections_one_that_holds_it() {
        let [west, north] = LonLat::new(139.0, 36.0).unwrap().to_world();
        let [east, south] = LonLat::new(140.0, 35.0).unwrap().to_world();
        assert_eq!(world_box(&placer("EPSG:4326"), [139.0, 35.0, 140.0, 36.0]), Some([west, north, east, south]));
        let zone = placer("EPSG:6677");
        let found = world_box(&zone, [-90_000.0, -90_000.0, 90_000.0, 90_000.0]).unwrap();
        for nth in 0..=100 {
            let along = f64::from(nth) * 1800.0 - 90_000.0;
            for at in [[along, -90_000.0], [along, 90_000.0], [-90_000.0, along], [90_000.0, along]] {
                let place = zone.place([at[0], at[1], 0.0]).unwrap();
                assert!((found[0]..=found[2]).contains(&place.x) && (found[1]..=found[3]).contains(&place.z));
            }
        }
    }

    #[test]
    fn what_cannot_be_placed_may_be_wanted() {
        let wanted = Wanted { boxes: vec![[0.0, 0.0, 1.0, 1.0]] };
        assert!(may_meet(&placer("EPSG:4326"), &wanted, [-400.0, -100.0, 400.0, 100.0]));
        assert!(!may_meet(&placer("EPSG:4326"), &wanted, [139.0, 35.0, 140.0, 36.0]));
        assert!(may_meet(&placer("EPSG:4326"), &Wanted::all(), [139.0, 35.0, 140.0, 36.0]));
    }
}
