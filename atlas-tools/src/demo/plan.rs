//! The demo city's plan: what each square metre of ground is for.
//!
//! ```text
//!      0        200      304   432      560   688   768   x
//!    0 +---------~~~-------+-----+--------+-----+----+
//!      | houses  ~~~ quay  |  mid town    |  towers  |
//!  176 +====bridge=========+=====+========+=====+====+   avenues
//!      | houses    ~~~     |     |  park  | towers   |
//!  304 |           ~~~     +-----+  with  +-----+----+
//!      |          ~~~      |plaza|  pond  |          |
//!  432 +====bridge=========+=====+========+=====+====+
//!      | houses  ~~~       |  mid town    |          |
//!  768 +--------~~~--------+-----+--------+-----+----+
//!    z
//! ```

/// Edge of the city, in voxels: three regions.
pub(super) const CITY_VOXELS: i32 = 768;

/// The landmark's foot.
pub(super) const LANDMARK: [i32; 2] = [368, 368];

/// Avenues by the middle of their roadway, on both axes.
const AVENUES_X: [i32; 4] = [304, 432, 560, 688];
const AVENUES_Z: [i32; 6] = [48, 176, 304, 432, 560, 688];

/// The avenues that cross the river.
pub(super) const BRIDGES_Z: [i32; 3] = [176, 432, 688];

/// Half widths of roadways, and the pavement beside them.
const AVENUE_HALF: i32 = 8;
const STREET_HALF: i32 = 4;
const LANE_HALF: i32 = 3;
const PAVEMENT: i32 = 3;

/// Distance between a street and the avenues beside it, and between the lanes of the west bank.
const STREET_OFFSET: i32 = 64;
const LANE_PITCH: i32 = 48;

/// The park and the plaza, each as x from, x to, z from, z to: what lies inside has no streets.
pub(super) const PARK: [i32; 4] = [441, 551, 185, 423];
pub(super) const PLAZA: [i32; 4] = [313, 423, 313, 423];

/// What a square metre is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Land {
    /// The river.
    River,
    /// The wall and promenade beside it, `n` voxels from the water.
    Quay(i32),
    /// A roadway: voxels from its middle line, along which coordinate it runs, and whether it is an avenue.
    Road { from_middle: i32, along: i32, is_avenue: bool },
    /// Where two roadways cross.
    Crossing,
    /// Beside a roadway; whether it touches it.
    Pavement { is_kerb: bool },
    /// The park.
    Park,
    /// The landmark's plaza.
    Plaza,
    /// Ground to build on.
    Lot,
}

/// The middle of the river at that row.
pub(super) fn river_middle(z: i32) -> f64 {
    let z = f64::from(z);
    196.0 + 52.0 * libm::sin(z * 0.0088 - 0.9) + 8.0 * libm::sin(z * 0.027)
}

/// Half the river's width at that row.
pub(super) fn river_half(z: i32) -> f64 {
    24.0 + 4.0 * libm::sin(f64::from(z) * 0.0121 + 1.0)
}

/// Voxels from the river's edge, negative in the water.
fn from_river(x: i32, z: i32) -> i32 {
    let distance = (f64::from(x) + 0.5 - river_middle(z)).abs() - river_half(z);
    distance.ceil() as i32
}

/// Whether the place lies west of the river.
pub(super) fn is_west(x: i32, z: i32) -> bool {
    f64::from(x) < river_middle(z)
}

/// Width of the promenade on both banks.
pub(super) const QUAY: i32 = 9;

/// What the ground at (x, z) is for.
pub(super) fn land(x: i32, z: i32) -> Land {
    let from_river = from_river(x, z);
    if from_river <= 0 {
        return Land::River;
    }
    if from_river <= QUAY {
        return Land::Quay(from_river);
    }
    for (area, land) in [(PARK, Land::Park), (PLAZA, Land::Plaza)] {
        if (area[0]..area[1]).contains(&x) && (area[2]..area[3]).contains(&z) {
            return land;
        }
    }
    let (along_z, along_x) = (road_near(x, z, true), road_near(z, x, false));
    match (along_z, along_x) {
        (Some(a), Some(b)) if a.is_on() && b.is_on() => Land::Crossing,
        (Some(road), _) if road.is_on() => road.land(z),
        (_, Some(road)) if road.is_on() => road.land(x),
        (Some(road), _) | (_, Some(road)) => Land::Pavement { is_kerb: road.from_middle.abs() == road.half + 1 },
        _ => Land::Lot,
    }
}

/// A roadway close by: a place on it or on its pavement.
#[derive(Clone, Copy)]
struct Road {
    from_middle: i32,
    half: i32,
    is_avenue: bool,
}

impl Road {
    fn is_on(self) -> bool {
        self.from_middle.abs() <= self.half
    }

    fn land(self, along: i32) -> Land {
        Land::Road { from_middle: self.from_middle, along, is_avenue: self.is_avenue }
    }
}

/// The roadway across which `across` measures, if one is near; `runs_north` tells which of the two directions.
fn road_near(across: i32, along: i32, runs_north: bool) -> Option<Road> {
    let (x, z) = if runs_north { (across, along) } else { (along, across) };
    let road = |middle: i32, half: i32, is_avenue: bool| {
        let from_middle = across - middle;
        (from_middle.abs() <= half + PAVEMENT).then_some(Road { from_middle, half, is_avenue })
    };
    if is_west(x, z) {
        if !runs_north && let Some(&middle) = BRIDGES_Z.iter().find(|&&middle| (across - middle).abs() <= 24) {
            return road(middle, AVENUE_HALF, true);
        }
        let middle = across.div_euclid(LANE_PITCH) * LANE_PITCH + LANE_PITCH / 2;
        return road(middle, LANE_HALF, false);
    }
    let avenues: &[i32] = if runs_north { &AVENUES_X } else { &AVENUES_Z };
    avenues.iter().find_map(|&middle| road(middle, AVENUE_HALF, true)).or_else(|| {
        // Streets halve the blocks between the avenues, but end at the park and the plaza.
        avenues.iter().find_map(|&middle| road(middle + STREET_OFFSET, STREET_HALF, false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_city_has_everything_it_promises() {
        let mut counts = std::collections::BTreeMap::new();
        for z in 0..CITY_VOXELS {
            for x in 0..CITY_VOXELS {
                let name = format!("{:?}", land(x, z));
                let kind = name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
                *counts.entry(kind).or_insert(0) += 1;
            }
        }
        let total = CITY_VOXELS * CITY_VOXELS;
        for (kind, percent_min) in [
            ("River", 5),
            ("Quay", 1),
            ("Road", 15),
            ("Crossing", 1),
            ("Pavement", 8),
            ("Park", 4),
            ("Plaza", 2),
            ("Lot", 30),
        ] {
            let share = counts.get(kind).copied().unwrap_or(0) * 100 / total;
            assert!(share >= percent_min, "{kind}: {share} % of {counts:?}");
        }
    }
}
