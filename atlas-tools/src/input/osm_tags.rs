//! What a thing is, by the tags of OpenStreetMap, which many other data sets borrow.
//!
//! Owns the table from tags to buildings and kinds of ground, and the usual widths of roads. Receives attributes, yields
//! [`What`], or nothing for what has no volume and no look. Heights and colours are read elsewhere.

use super::CoverKind;
use super::attributes::{Attributes, length_m, text_of, value_of};

/// Keys whose values name kinds of ground, the more telling first.
const AREA_KEYS: [&str; 10] =
    ["natural", "waterway", "leisure", "landuse", "amenity", "highway", "place", "railway", "aeroway", "man_made"];

/// Keys that say that a thing is no building.
const OTHER_KEYS: [&str; 6] = ["natural", "waterway", "leisure", "landuse", "highway", "railway"];

/// What a shape is made into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    /// A building.
    Building,
    /// A part of a building, which replaces its outline.
    Part,
    /// A piece of ground.
    Cover(CoverKind),
    /// A line on the ground, this wide in metres.
    Line(CoverKind, f64),
}

impl What {
    /// The word for it where feature types are chosen.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Part => "building:part",
            Self::Cover(kind) | Self::Line(kind, _) => match kind {
                CoverKind::Other => "other",
                CoverKind::Farm => "farm",
                CoverKind::Green => "green",
                CoverKind::Wood => "wood",
                CoverKind::Sand => "sand",
                CoverKind::Water => "water",
                CoverKind::Paved => "paved",
                CoverKind::Rail => "rail",
                CoverKind::Path => "path",
                CoverKind::Road => "road",
            },
        }
    }
}

/// What a thing of OpenStreetMap is; `is_area` says whether its geometry is one.
pub(super) fn what(tags: &Attributes, is_area: bool) -> Option<What> {
    let tag = |key: &str| value_of(tags, key).map(text_of).filter(|value| value != "no");
    // What is below ground is not seen.
    let is_below = tag("tunnel").is_some_and(|value| value != "building_passage")
        || tag("location").is_some_and(|value| value == "underground")
        || tag("layer").and_then(|layer| layer.parse::<f64>().ok()).is_some_and(|layer| layer < 0.0);
    if is_below {
        return None;
    }
    if is_area {
        if tag("building:part").is_some() {
            return Some(What::Part);
        }
        if tag("building").is_some() {
            return Some(What::Building);
        }
    }
    if let Some(highway) = tag("highway")
        && !(is_area && tag("area").is_some_and(|area| area == "yes"))
    {
        return highway_width(&highway).map(|usual| line(tags, usual));
    }
    if let Some(railway) = tag("railway").filter(|railway| !is_area || !railway.contains("platform")) {
        return match railway.as_str() {
            "rail" | "light_rail" | "tram" | "narrow_gauge" | "monorail" => Some(What::Line(CoverKind::Rail, 4.0)),
            _ => None,
        };
    }
    if let Some(waterway) = tag("waterway").filter(|_| !is_area) {
        let width_m = match waterway.as_str() {
            "river" => 12.0,
            "canal" => 8.0,
            "stream" | "ditch" | "drain" => 2.0,
            _ => return None,
        };
        return Some(line(tags, (CoverKind::Water, width_m)));
    }
    if !is_area {
        return None;
    }
    AREA_KEYS.into_iter().find_map(|key| cover_of_word(&tag(key)?)).map(What::Cover)
}

/// What a shape of another data set is: a building, unless it bears tags of OpenStreetMap that say otherwise.
pub(super) fn what_of_any(attributes: &Attributes, is_area: bool) -> Option<What> {
    let is_building = ["building", "building:part"].into_iter().any(|key| value_of(attributes, key).is_some());
    if !is_building && OTHER_KEYS.into_iter().any(|key| value_of(attributes, key).is_some()) {
        return what(attributes, is_area);
    }
    Some(if value_of(attributes, "building:part").is_some() { What::Part } else { What::Building })
}

/// The kind of ground that a word names, in OpenStreetMap or Overture.
pub(super) fn cover_of_word(word: &str) -> Option<CoverKind> {
    Some(match word {
        "water" | "bay" | "riverbank" | "dock" | "basin" | "reservoir" | "salt_pond" | "swimming_pool" | "lake"
        | "river" | "canal" | "pond" | "ocean" | "stream" => CoverKind::Water,
        "wood" | "forest" | "tree_row" => CoverKind::Wood,
        "grass" | "meadow" | "village_green" | "recreation_ground" | "cemetery" | "flowerbed" | "greenfield"
        | "park" | "garden" | "pitch" | "golf_course" | "playground" | "common" | "dog_park" | "scrub"
        | "grassland" | "heath" | "wetland" | "fell" | "grave_yard" | "shrub" | "recreation" => CoverKind::Green,
        "farmland" | "farmyard" | "orchard" | "vineyard" | "allotments" | "plant_nursery" | "agriculture" | "crop"
        | "horticulture" => CoverKind::Farm,
        "sand" | "beach" | "bare_rock" | "scree" | "shingle" | "construction" | "brownfield" | "quarry"
        | "landfill" | "barren" | "dune" => CoverKind::Sand,
        "parking" | "square" | "pedestrian" | "footway" | "service" | "platform" | "apron" | "runway" | "taxiway"
        | "pier" | "bridge" | "fuel" => CoverKind::Paved,
        _ => return None,
    })
}

/// A line of its stated width, that of its lanes, or the usual one.
fn line(tags: &Attributes, (kind, usual_m): (CoverKind, f64)) -> What {
    let tag = |key: &str| value_of(tags, key).map(text_of);
    let stated_m = tag("width").and_then(|text| length_m(&text));
    let lanes_m = tag("lanes").and_then(|text| text.parse::<f64>().ok()).map(|lanes| lanes * 3.25);
    let width_m = stated_m.or(lanes_m).filter(|width_m| (0.5..=100.0).contains(width_m)).unwrap_or(usual_m);
    What::Line(kind, width_m)
}

/// The usual width of a road, in metres.
fn highway_width(class: &str) -> Option<(CoverKind, f64)> {
    Some(match class.trim_end_matches("_link") {
        "motorway" => (CoverKind::Road, 15.0),
        "trunk" => (CoverKind::Road, 14.0),
        "primary" => (CoverKind::Road, 12.0),
        "secondary" => (CoverKind::Road, 10.0),
        "tertiary" => (CoverKind::Road, 8.0),
        "residential" | "unclassified" | "road" | "busway" => (CoverKind::Road, 6.0),
        "living_street" => (CoverKind::Road, 5.0),
        "service" => (CoverKind::Road, 4.0),
        "pedestrian" => (CoverKind::Path, 5.0),
        "track" => (CoverKind::Path, 3.0),
        "footway" | "path" | "cycleway" | "steps" | "bridleway" => (CoverKind::Path, 2.0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Attributes {
        pairs.iter().map(|&(key, value)| (key.to_owned(), Value::from(value))).collect()
    }

    #[test]
    fn tags_say_what_a_thing_is() {
        let area = |pairs: &[(&str, &str)]| what(&tags(pairs), true);
        let line = |pairs: &[(&str, &str)]| what(&tags(pairs), false);
        assert_eq!(area(&[("building", "yes")]), Some(What::Building));
        assert_eq!(area(&[("building:part", "yes"), ("building", "yes")]), Some(What::Part));
        assert_eq!(area(&[("building", "no")]), None);
        assert_eq!(area(&[("building", "yes"), ("location", "underground")]), None);
        assert_eq!(area(&[("natural", "water")]), Some(What::Cover(CoverKind::Water)));
        assert_eq!(area(&[("leisure", "park")]), Some(What::Cover(CoverKind::Green)));
        assert_eq!(area(&[("landuse", "forest")]), Some(What::Cover(CoverKind::Wood)));
        assert_eq!(area(&[("landuse", "residential")]), None);
        assert_eq!(area(&[("highway", "pedestrian"), ("area", "yes")]), Some(What::Cover(CoverKind::Paved)));
        assert_eq!(line(&[("highway", "residential")]), Some(What::Line(CoverKind::Road, 6.0)));
        assert_eq!(line(&[("highway", "primary"), ("lanes", "4")]), Some(What::Line(CoverKind::Road, 13.0)));
        assert_eq!(line(&[("highway", "primary"), ("width", "9,5 m")]), Some(What::Line(CoverKind::Road, 9.5)));
        assert_eq!(line(&[("highway", "primary"), ("width", "4000")]), Some(What::Line(CoverKind::Road, 12.0)));
        assert_eq!(line(&[("highway", "primary"), ("tunnel", "yes")]), None);
        assert_eq!(line(&[("railway", "rail")]), Some(What::Line(CoverKind::Rail, 4.0)));
        assert_eq!(line(&[("railway", "subway")]), None);
        assert_eq!(line(&[("building", "yes")]), None);
        assert_eq!(line(&[("name", "nothing")]), None);
    }

    #[test]
    fn other_data_sets_hold_buildings_unless_they_say_otherwise() {
        assert_eq!(what_of_any(&tags(&[("height", "3")]), true), Some(What::Building));
        assert_eq!(what_of_any(&tags(&[("landuse", "grass")]), true), Some(What::Cover(CoverKind::Green)));
        assert_eq!(what_of_any(&tags(&[("landuse", "grass"), ("building", "yes")]), true), Some(What::Building));
        assert_eq!(what_of_any(&tags(&[("highway", "footway")]), false), Some(What::Line(CoverKind::Path, 2.0)));
        assert_eq!(what_of_any(&tags(&[("landuse", "industrial")]), true), None);
    }
}
