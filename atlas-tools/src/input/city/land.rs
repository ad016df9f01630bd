//! What ground looks like by its class, and by the codes that PLATEAU and the OGC's examples write there.
//!
//! Sources: PLATEAU's code lists `Common_landUseType`, `TrafficArea_function` and `AuxiliaryTrafficArea_function`; the
//! code lists in annex C of the CityGML 2.0 standard (OGC 12-019). A code that is not known leaves the kind of its class.

use serde_json::Value;

use crate::input::CoverKind;
use crate::input::attributes::length_of;

/// Plants that are this high are a wood, in metres.
pub(in crate::input) const WOOD_M: f64 = 3.0;

/// What a piece of ground is: the kind of its class, unless an attribute says more.
pub(in crate::input) fn cover_kind(class: &str, kind: CoverKind, attributes: &[(String, Value)]) -> CoverKind {
    let values = |name: &'static str| attributes.iter().filter(move |(key, _)| key == name).map(|(_, value)| value);
    let codes = values("class").chain(values("function")).chain(values("usage"));
    let found = match class {
        "LandUse" => codes.filter_map(code_of).find_map(land_use),
        "PlantCover" => {
            let height_m = values("averageHeight").find_map(length_of);
            height_m.filter(|&height_m| height_m >= WOOD_M).map(|_| CoverKind::Wood)
        }
        "TrafficArea" | "TrafficSpace" => codes.filter_map(code_of).find_map(traffic_area),
        "AuxiliaryTrafficArea" | "AuxiliaryTrafficSpace" => {
            Some(codes.filter_map(code_of).find_map(auxiliary_area).unwrap_or(CoverKind::Paved))
        }
        _ => None,
    };
    found.unwrap_or(kind)
}

fn code_of(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|code| u32::try_from(code).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// PLATEAU's codes have three digits, the OGC's four: 2000 is traffic, 3000 vegetation, 4000 water.
fn land_use(code: u32) -> Option<CoverKind> {
    Some(match code {
        // Rice, other fields, fields of either.
        201 | 202 | 260 => CoverKind::Farm,
        203 => CoverKind::Wood,
        204 | 4000..=4999 => CoverKind::Water,
        205 | 217 | 3000..=3999 => CoverKind::Green,
        215 | 262 => CoverKind::Road,
        216 | 222 | 2000..=2999 => CoverKind::Paved,
        263 => CoverKind::Sand,
        _ => return None,
    })
}

/// PLATEAU's codes have four digits, the OGC's one.
fn traffic_area(code: u32) -> Option<CoverKind> {
    Some(match code {
        1 | 1000..=1999 => CoverKind::Road,
        2..=4 | 2000..=2999 => CoverKind::Path,
        5..=7 => CoverKind::Paved,
        8 | 9 => CoverKind::Rail,
        _ => return None,
    })
}

fn auxiliary_area(code: u32) -> Option<CoverKind> {
    Some(match code {
        // PLATEAU: planted strips. OGC: green areas, flower tubs.
        5000..=5999 | 1020 | 1230 => CoverKind::Green,
        _ => return None,
    })
}
