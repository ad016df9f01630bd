//! Boxes in the coordinates of a file, brought into the world.
//!
//! Owns the caution that this needs: a box of a projected CRS has curved edges in the world. Receives a box, yields one
//! that surely holds it, or nothing where it cannot be placed, and everything must be taken for wanted.

use super::Wanted;
use crate::crs::Placer;

/// Points along an edge at which a curved box is measured.
const SAMPLES: usize = 5;

/// The world's box round one of a file: least and greatest x, then y, in the order of the file's coordinates.
///
/// A curved box is taken for larger than its samples by twice what a curve with their bends leaves the chords between
/// them: a few voxels for a country, nothing for a town, so that it also tells which tiles there are.
pub(super) fn world_box(placer: &Placer, [x_min, y_min, x_max, y_max]: [f64; 4]) -> Option<[f64; 4]> {
    let samples = if placer.keeps_boxes() { 2 } else { SAMPLES };
    let at = |least: f64, most: f64, nth: usize| least + (most - least) * (nth as f64 / (samples - 1) as f64);
    let places: Vec<[f64; 2]> = (0..samples * samples)
        .map(|nth| {
            let place = placer.place([at(x_min, x_max, nth % samples), at(y_min, y_max, nth / samples), 0.0]).ok()?;
            Some([place.x, place.z])
        })
        .collect::<Option<_>>()?;
    let bends = |axis: usize| {
        let bend = |nth: usize, step: usize| {
            (places[nth - step][axis] - 2.0 * places[nth][axis] + places[nth + step][axis]).abs()
        };
        let inner = |along: usize| (1..samples - 1).contains(&along);
        let along_x = (0..places.len()).filter(|nth| inner(nth % samples)).map(|nth| bend(nth, 1));
        let along_y = (0..places.len()).filter(|nth| inner(nth / samples)).map(|nth| bend(nth, samples));
        along_x.chain(along_y).fold(0.0, f64::max)
    };
    // A parabola leaves its chord by an eighth of its second difference.
    let [dx, dz] = [bends(0) / 4.0, bends(1) / 4.0];
    let whole =
        places.iter().fold([f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY], |found, at| {
            [found[0].min(at[0]), found[1].min(at[1]), found[2].max(at[0]), found[3].max(at[1])]
        });
    Some([whole[0] - dx, whole[1] - dz, whole[2] + dx, whole[3] + dz])
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
    fn the_box_of_a_town_is_as_large_as_the_town() {
        let zone = placer("EPSG:28992");
        let found = world_box(&zone, [84_616.0, 447_422.0, 85_140.0, 447_750.0]).unwrap();
        let corners = [[84_616.0, 447_422.0], [85_140.0, 447_422.0], [84_616.0, 447_750.0], [85_140.0, 447_750.0]];
        let places = corners.map(|[x, y]| zone.place([x, y, 0.0]).unwrap());
        let least = |axis: fn(&crate::input::Place) -> f64| places.iter().map(axis).fold(f64::INFINITY, f64::min);
        let most = |axis: fn(&crate::input::Place) -> f64| places.iter().map(axis).fold(f64::NEG_INFINITY, f64::max);
        let expected = [least(|at| at.x), least(|at| at.z), most(|at| at.x), most(|at| at.z)];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.1, "{found} {expected}");
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
