//! The coordinate reference systems that cities come in: their names, and where on the globe they are meant for.
//!
//! Owns a table of families. Receives a code, yields a name for messages and the area outside of which a result is
//! absurd; a code that is not in it works all the same, with less to say. It knows nothing of projecting.

/// A CRS, or a family of them with codes in a row.
struct Known {
    first: u32,
    last: u32,
    name: &'static str,
    /// What tells the members apart, after the name.
    member: Member,
    /// West, south, east, north, in degrees.
    area_deg: [f64; 4],
}

/// How the members of a family are numbered.
#[derive(Clone, Copy)]
enum Member {
    /// It has but one.
    Single,
    /// Zone I is the first.
    Roman,
    /// UTM zones, the first of which is this; the area is the zone's.
    Utm { first: u32, north: bool },
}

const JAPAN: [f64; 4] = [122.0, 17.0, 158.0, 46.5];
const WORLD: [f64; 4] = [-180.0, -90.0, 180.0, 90.0];
const EUROPE: [f64; 4] = [-16.1, 32.88, 40.18, 84.73];
const OREGON: [f64; 4] = [-124.6, 41.98, -116.47, 46.26];
const NETHERLANDS: [f64; 4] = [3.2, 50.75, 7.22, 53.7];

const fn single(code: u32, name: &'static str, area_deg: [f64; 4]) -> Known {
    Known { first: code, last: code, name, member: Member::Single, area_deg }
}

const fn utm(first: u32, last: u32, name: &'static str, first_zone: u32, north: bool) -> Known {
    Known { first, last, name, member: Member::Utm { first: first_zone, north }, area_deg: WORLD }
}

/// In the order in which they are tried where a CRS is guessed.
const KNOWN: &[Known] = &[
    single(4326, "WGS 84", WORLD),
    single(4979, "WGS 84 (3D)", WORLD),
    single(3857, "WGS 84 / Pseudo-Mercator", [-180.0, -85.06, 180.0, 85.06]),
    single(6668, "JGD2011", JAPAN),
    single(4612, "JGD2000", JAPAN),
    Known {
        first: 6669,
        last: 6687,
        name: "JGD2011 / Japan Plane Rectangular CS",
        member: Member::Roman,
        area_deg: JAPAN,
    },
    Known {
        first: 2443,
        last: 2461,
        name: "JGD2000 / Japan Plane Rectangular CS",
        member: Member::Roman,
        area_deg: JAPAN,
    },
    single(28992, "Amersfoort / RD New", NETHERLANDS),
    single(2056, "CH1903+ / LV95", [5.96, 45.82, 10.49, 47.81]),
    single(21781, "CH1903 / LV03", [5.96, 45.82, 10.49, 47.81]),
    single(2154, "RGF93 v1 / Lambert-93", [-9.86, 41.15, 10.38, 51.56]),
    single(27700, "OSGB36 / British National Grid", [-9.01, 49.75, 2.01, 61.01]),
    single(4258, "ETRS89", EUROPE),
    utm(25828, 25838, "ETRS89 / UTM zone", 28, true),
    single(2992, "NAD83 / Oregon GIC Lambert (ft)", OREGON),
    single(2991, "NAD83 / Oregon LCC (m)", OREGON),
    single(2994, "NAD83(HARN) / Oregon GIC Lambert (ft)", OREGON),
    utm(6688, 6692, "JGD2011 / UTM zone", 51, true),
    utm(26901, 26923, "NAD83 / UTM zone", 1, true),
    utm(32601, 32660, "WGS 84 / UTM zone", 1, true),
    utm(32701, 32760, "WGS 84 / UTM zone", 1, false),
];

/// Vertical CRSs, for messages.
const VERTICAL: &[(u32, &str)] = &[
    (3855, "EGM2008 height"),
    (5701, "ODN height"),
    (5702, "NGVD29 height (ftUS)"),
    (5703, "NAVD88 height"),
    (5709, "NAP height"),
    (5720, "NGF-IGN69 height"),
    (5728, "LN02 height"),
    (5729, "LHN95 height"),
    (5773, "EGM96 height"),
    (5783, "DHHN92 height"),
    (6360, "NAVD88 height (ftUS)"),
    (6695, "JGD2011 (vertical) height"),
    (7837, "DHHN2016 height"),
    (8228, "NAVD88 height (ft)"),
];

const ROMAN: [&str; 19] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII",
    "XVIII", "XIX",
];

fn find(code: u32) -> Option<&'static Known> {
    KNOWN.iter().find(|known| (known.first..=known.last).contains(&code))
}

/// What a horizontal CRS is called.
pub(super) fn name(code: u32) -> Option<String> {
    let known = find(code)?;
    let nth = code - known.first;
    Some(match known.member {
        Member::Single => known.name.to_owned(),
        Member::Roman => format!("{} {}", known.name, ROMAN.get(nth as usize)?),
        Member::Utm { first, north } => format!("{} {}{}", known.name, first + nth, if north { 'N' } else { 'S' }),
    })
}

/// What a vertical CRS is called.
pub(super) fn vertical_name(code: u32) -> Option<&'static str> {
    VERTICAL.iter().find(|&&(known, _)| known == code).map(|&(_, name)| name)
}

/// Where a CRS is meant for: west, south, east, north, in degrees.
pub(super) fn area_deg(code: u32) -> Option<[f64; 4]> {
    let known = find(code)?;
    let Member::Utm { first, north } = known.member else { return Some(known.area_deg) };
    let west = f64::from(first + (code - known.first)) * 6.0 - 186.0;
    // A map that reaches into the next zone keeps to one of them, so that a zone is used beyond its own six degrees.
    let (south, top) = if north { (-1.0, 84.5) } else { (-80.5, 1.0) };
    Some([west - 6.0, south, west + 12.0, top])
}

/// Every code of the table, in the order in which a guess tries them.
pub(super) fn codes() -> impl Iterator<Item = u32> {
    KNOWN.iter().flat_map(|known| known.first..=known.last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_members_of_a_family_apart() {
        assert_eq!(name(6676).unwrap(), "JGD2011 / Japan Plane Rectangular CS VIII");
        assert_eq!(name(6687).unwrap(), "JGD2011 / Japan Plane Rectangular CS XIX");
        assert_eq!(name(32654).unwrap(), "WGS 84 / UTM zone 54N");
        assert_eq!(name(32719).unwrap(), "WGS 84 / UTM zone 19S");
        assert_eq!(name(25832).unwrap(), "ETRS89 / UTM zone 32N");
        assert_eq!(name(1), None);
    }

    #[test]
    fn a_zone_has_an_area_round_its_meridian() {
        assert_eq!(area_deg(32654), Some([132.0, -1.0, 150.0, 84.5]));
        assert!(codes().all(|code| area_deg(code).is_some() && name(code).is_some()));
    }
}
