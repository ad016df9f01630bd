//! Heights and colours from the attributes of a city object.
//!
//! Receives attributes as the file has them, yields what an item needs of them.

use serde_json::Value;
use voxatlas::voxel::Colour;

use crate::input::{Height, ReadOptions};

/// Attributes in the order of the file.
pub(in crate::input) type Attributes = Vec<(String, Value)>;

/// The number that a value holds, where it holds one.
pub(in crate::input) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().replace(',', ".").parse().ok(),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

/// The height of an object that has nothing but a footprint.
pub(in crate::input) fn height(read: &ReadOptions, attributes: &Attributes) -> Height {
    let first = |names: &[String]| {
        let values = names.iter().flat_map(|name| attributes.iter().filter(move |(key, _)| key == name));
        values.filter_map(|(_, value)| number(value)).next()
    };
    let levels = || first(&read.level_fields).map(|levels| levels * read.level_m);
    let height = Height::from_input(first(&read.height_fields).or_else(levels));
    Height { metres: height.fallback.map_or(height.metres, |_| read.fallback_height_m), ..height }
}

/// The colour that `--color-by` gives the object.
pub(in crate::input) fn colour(read: &ReadOptions, attributes: &Attributes) -> Option<Colour> {
    let (field, colours) = read.colour_by.as_ref()?;
    let (_, value) = attributes.iter().find(|(key, _)| key == field)?;
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    colours.get(text.trim()).or_else(|| colours.get("*")).copied()
}
