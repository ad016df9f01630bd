//! Geometries of `GeoJSON`, whatever their kind, and the properties beside them.
//!
//! Owns the reading of nested lists of numbers without a heap's worth of values for each. Receives JSON through serde,
//! yields a [`Flat`]. It checks shapes of lists, not of rings.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::attributes::Attributes;
use super::footprint::Flat;

/// Properties in the order of the file; a map would sort them.
#[derive(Debug, Default)]
pub(super) struct Properties(pub(super) Attributes);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PropertiesVisitor)
    }
}

struct PropertiesVisitor;

impl<'de> Visitor<'de> for PropertiesVisitor {
    type Value = Properties;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
        let mut properties = Attributes::new();
        while let Some(property) = map.next_entry()? {
            properties.push(property);
        }
        Ok(Properties(properties))
    }
}

/// A geometry as it is written.
#[derive(Debug, Deserialize)]
pub(super) struct RawGeometry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    coordinates: Nested,
    #[serde(default)]
    geometries: Vec<RawGeometry>,
}

/// A number, a position, or a list of such.
#[derive(Debug, Default)]
enum Nested {
    #[default]
    Nothing,
    Number(f64),
    Position([f64; 3]),
    List(Vec<Nested>),
}

impl RawGeometry {
    /// Whether it says that it is one.
    pub(super) fn is_geometry(&self) -> bool {
        !self.kind.is_empty() && !matches!(self.kind.as_str(), "Feature" | "FeatureCollection")
    }

    /// Appends its polygons and lines; false where its coordinates are not what its kind has.
    pub(super) fn flatten(self, flat: &mut Flat) -> bool {
        match self.kind.as_str() {
            "Polygon" => self.coordinates.rings().is_some_and(|rings| add_polygon(rings, flat)),
            "MultiPolygon" => self.coordinates.list().is_some_and(|polygons| {
                polygons.into_iter().all(|polygon| polygon.rings().is_some_and(|rings| add_polygon(rings, flat)))
            }),
            "LineString" => self.coordinates.positions().map(|line| flat.lines.push(line)).is_some(),
            "MultiLineString" => self.coordinates.rings().map(|lines| flat.lines.extend(lines)).is_some(),
            "GeometryCollection" => self.geometries.into_iter().all(|geometry| geometry.flatten(flat)),
            "Point" | "MultiPoint" => {
                flat.has_others = true;
                true
            }
            _ => false,
        }
    }
}

/// A polygon of nothing is an empty geometry, as the specification allows.
fn add_polygon(rings: Vec<Vec<[f64; 3]>>, flat: &mut Flat) -> bool {
    if !rings.is_empty() {
        flat.polygons.push(rings);
    }
    true
}

impl Nested {
    fn list(self) -> Option<Vec<Self>> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    fn positions(self) -> Option<Vec<[f64; 3]>> {
        let position = |nested| if let Self::Position(position) = nested { Some(position) } else { None };
        self.list()?.into_iter().map(position).collect()
    }

    fn rings(self) -> Option<Vec<Vec<[f64; 3]>>> {
        self.list()?.into_iter().map(Self::positions).collect()
    }
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NestedVisitor)
    }
}

struct NestedVisitor;

impl<'de> Visitor<'de> for NestedVisitor {
    type Value = Nested;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("numbers, or lists of them")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Nested, E> {
        Ok(Nested::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Nested, E> {
        Ok(Nested::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Nested, E> {
        Ok(Nested::Number(number as f64))
    }

    /// Where a number should be, some writers write `null`: it lies nowhere.
    fn visit_unit<E>(self) -> Result<Nested, E> {
        Ok(Nested::Number(f64::NAN))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nested, A::Error> {
        let mut position = [0.0; 3];
        let mut n_numbers = 0;
        let mut nested = Vec::new();
        while let Some(next) = list.next_element()? {
            match next {
                Nested::Number(number) => {
                    if let Some(place) = position.get_mut(n_numbers) {
                        *place = number;
                    }
                    n_numbers += 1;
                }
                other => nested.push(other),
            }
        }
        match (n_numbers, nested.is_empty()) {
            (0, _) => Ok(Nested::List(nested)),
            (2.., true) => Ok(Nested::Position(position)),
            _ => Err(serde::de::Error::custom("a position of one number, or numbers among lists")),
        }
    }
}
