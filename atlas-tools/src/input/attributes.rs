//! What the attributes of a feature say: heights, storeys, colours.
//!
//! Owns the reading of what people write: `12.5`, `12 m`, `40'`, `5'6"`, `12,5`, `#b0a090`, `light grey`. Receives attributes
//! in the order of the file, yields figures; what cannot be read is a [`Problem`], never a zero. It knows no format.

use serde_json::Value;
use voxatlas::voxel::Colour;

use super::{Height, Problem, ReadOptions};
use crate::crs::FOOT_M;

/// The attributes of a feature, in the order of the file.
pub(super) type Attributes = Vec<(String, Value)>;

/// Attributes that hold the storeys below the underside of a part.
const MIN_LEVEL_FIELDS: [&str; 3] = ["building:min_level", "min_level", "min_floor"];

/// Attributes that hold the colour of walls, then that of roofs.
const WALL_FIELDS: [&str; 5] = ["building:colour", "building:color", "facade_color", "colour", "color"];
const ROOF_FIELDS: [&str; 4] = ["roof:colour", "roof:color", "roof_color", "roof_colour"];

/// What the attributes of a building say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub(super) height: Height,
    pub(super) min_height_m: f64,
    pub(super) wall: Option<Colour>,
    pub(super) roof: Option<Colour>,
}

/// Reads the attributes of a building; `note` is told of those that cannot be read.
pub(super) fn figures(attributes: &Attributes, options: &ReadOptions, note: &mut dyn FnMut(Problem)) -> Figures {
    let stated_m = first(attributes, &options.height_fields, length_of, note);
    let levels = first(attributes, &options.level_fields, number_of, note);
    let from_levels_m = levels.map(|levels| levels * options.level_m).filter(|&height_m| height_m > 0.0);
    let height_m = stated_m.filter(|&height_m| height_m > 0.0).or(from_levels_m).or(stated_m);
    let mut height = Height::from_input(height_m);
    if height.fallback.is_some() {
        height.metres = options.fallback_height_m;
    }
    let min_levels = first(attributes, &MIN_LEVEL_FIELDS, number_of, note).map(|levels| levels * options.level_m);
    let min_height_m = first(attributes, &options.min_height_fields, length_of, note).or(min_levels);
    let mut min_height_m = min_height_m.unwrap_or(0.0).max(0.0);
    if min_height_m >= height.metres {
        note(Problem::BadMinHeight);
        min_height_m = 0.0;
    }
    let chosen = chosen_colour(attributes, options);
    let mut colour = |fields: &[&str]| chosen.or_else(|| first(attributes, fields, colour_of, note));
    Figures { height, min_height_m, wall: colour(&WALL_FIELDS), roof: colour(&ROOF_FIELDS) }
}

/// The colour that the palette of `--color-by` gives.
pub(super) fn chosen_colour(attributes: &Attributes, options: &ReadOptions) -> Option<Colour> {
    let (field, colours) = options.colour_by.as_ref()?;
    let value = value_of(attributes, field).map(text_of);
    value.and_then(|value| colours.get(&value)).or_else(|| colours.get("*")).copied()
}

/// The value of an attribute; one without a value counts as missing.
pub(super) fn value_of<'a>(attributes: &'a Attributes, field: &str) -> Option<&'a Value> {
    let is_there = |value: &Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
    attributes.iter().find(|(name, value)| name == field && is_there(value)).map(|(_, value)| value)
}

/// A value as people write it.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}

/// The first of some attributes that is there and can be read.
fn first<T>(
    attributes: &Attributes,
    fields: &[impl AsRef<str>],
    read: impl Fn(&Value) -> Option<T>,
    note: &mut dyn FnMut(Problem),
) -> Option<T> {
    for field in fields {
        if let Some(value) = value_of(attributes, field.as_ref()) {
            match read(value) {
                Some(found) => return Some(found),
                None => note(Problem::BadAttribute),
            }
        }
    }
    None
}

fn number_of(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| number(value.as_str()?.trim()))?;
    number.is_finite().then_some(number)
}

/// A length in metres, where the value is one.
pub(super) fn length_of(value: &Value) -> Option<f64> {
    let length_m = value.as_f64().or_else(|| length_m(value.as_str()?))?;
    length_m.is_finite().then_some(length_m)
}

fn colour_of(value: &Value) -> Option<Colour> {
    colour(value.as_str()?)
}

/// A number with a decimal point or a decimal comma; of a list, `3;4`, the greatest counts.
fn number(text: &str) -> Option<f64> {
    let one = |text: &str| {
        let text = text.trim();
        // A comma is a decimal comma unless it parts thousands: "1,234.5".
        let plain = match (text.matches(',').count(), text.contains('.')) {
            (0, _) => text.to_owned(),
            (1, false) => text.replace(',', "."),
            _ => text.replace(',', ""),
        };
        let is_plain = plain.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        plain.parse::<f64>().ok().filter(|number| is_plain && number.is_finite())
    };
    text.split(';').map(one).try_fold(f64::NEG_INFINITY, |most, number| Some(most.max(number?)))
}

/// A length in metres, as people write it: without a unit in metres, with one in that: `12 m`, `40'`, `40 ft`, `5'6"`.
pub(super) fn length_m(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches('~').trim_end_matches('.').replace(['\u{2019}', '\u{2032}'], "'");
    let text = text.replace(['\u{201d}', '\u{2033}'], "\"");
    if let Some((feet, inches)) = text.split_once('\'') {
        let feet = number(feet)?;
        let inches = inches.trim().trim_end_matches('"').trim();
        let inches = if inches.is_empty() { 0.0 } else { number(inches)? };
        let length_m = (feet.abs() + inches / 12.0) * FOOT_M;
        return Some(if feet.is_sign_negative() { -length_m } else { length_m });
    }
    let at = text.find(|letter: char| letter.is_alphabetic() && !matches!(letter, 'e' | 'E')).unwrap_or(text.len());
    let at = text.find('"').map_or(at, |quote| quote.min(at));
    let (figure, unit) = text.split_at_checked(at)?;
    let factor = match unit.trim().trim_end_matches('.').to_ascii_lowercase().as_str() {
        "" | "m" | "metre" | "metres" | "meter" | "meters" | "mtr" => 1.0,
        "cm" => 0.01,
        "km" => 1000.0,
        "ft" | "foot" | "feet" => FOOT_M,
        "\"" | "in" | "inch" | "inches" => FOOT_M / 12.0,
        _ => return None,
    };
    Some(number(figure.trim())? * factor)
}

/// A colour: `#rgb`, `#rrggbb` (with or without transparency, which is dropped), or a name of CSS, however it is spaced.
pub fn colour(text: &str) -> Option<Colour> {
    let text = text.trim();
    let digits = text.strip_prefix('#').or_else(|| (text.len() == 6).then_some(text));
    if let Some(digits) = digits
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        let number = u32::from_str_radix(digits, 16).ok()?;
        let byte = |shift: u32| (number >> shift) as u8;
        let nibble = |shift: u32| (number >> shift & 15) as u8 * 17;
        return match digits.len() {
            3 => Some([nibble(8), nibble(4), nibble(0)]),
            4 => Some([nibble(12), nibble(8), nibble(4)]),
            6 => Some([byte(16), byte(8), byte(0)]),
            8 => Some([byte(24), byte(16), byte(8)]),
            _ => None,
        };
    }
    let name: String =
        text.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect();
    let at = NAMES.binary_search_by_key(&name.as_str(), |&(name, _)| name).ok()?;
    NAMES.get(at).map(|&(_, rgb)| [(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8])
}

/// The names of CSS Color Module Level 3.
#[rustfmt::skip]
#[expect(clippy::unreadable_literal, reason = "colours as six digits, as everybody writes them")]
const NAMES: &[(&str, u32)] = &[
    ("aliceblue", 0xF0F8FF), ("antiquewhite", 0xFAEBD7), ("aqua", 0x00FFFF), ("aquamarine", 0x7FFFD4),
    ("azure", 0xF0FFFF), ("beige", 0xF5F5DC), ("bisque", 0xFFE4C4), ("black", 0x000000),
    ("blanchedalmond", 0xFFEBCD), ("blue", 0x0000FF), ("blueviolet", 0x8A2BE2), ("brown", 0xA52A2A),
    ("burlywood", 0xDEB887), ("cadetblue", 0x5F9EA0), ("chartreuse", 0x7FFF00), ("chocolate", 0xD2691E),
    ("coral", 0xFF7F50), ("cornflowerblue", 0x6495ED), ("cornsilk", 0xFFF8DC), ("crimson", 0xDC143C),
    ("cyan", 0x00FFFF), ("darkblue", 0x00008B), ("darkcyan", 0x008B8B), ("darkgoldenrod", 0xB8860B),
    ("darkgray", 0xA9A9A9), ("darkgreen", 0x006400), ("darkgrey", 0xA9A9A9), ("darkkhaki", 0xBDB76B),
    ("darkmagenta", 0x8B008B), ("darkolivegreen", 0x556B2F), ("darkorange", 0xFF8C00), ("darkorchid", 0x9932CC),
    ("darkred", 0x8B0000), ("darksalmon", 0xE9967A), ("darkseagreen", 0x8FBC8F), ("darkslateblue", 0x483D8B),
    ("darkslategray", 0x2F4F4F), ("darkslategrey", 0x2F4F4F), ("darkturquoise", 0x00CED1), ("darkviolet", 0x9400D3),
    ("deeppink", 0xFF1493), ("deepskyblue", 0x00BFFF), ("dimgray", 0x696969), ("dimgrey", 0x696969),
    ("dodgerblue", 0x1E90FF), ("firebrick", 0xB22222), ("floralwhite", 0xFFFAF0), ("forestgreen", 0x228B22),
    ("fuchsia", 0xFF00FF), ("gainsboro", 0xDCDCDC), ("ghostwhite", 0xF8F8FF), ("gold", 0xFFD700),
    ("goldenrod", 0xDAA520), ("gray", 0x808080), ("green", 0x008000), ("greenyellow", 0xADFF2F), ("grey", 0x808080),
    ("honeydew", 0xF0FFF0), ("hotpink", 0xFF69B4), ("indianred", 0xCD5C5C), ("indigo", 0x4B0082),
    ("ivory", 0xFFFFF0), ("khaki", 0xF0E68C), ("lavender", 0xE6E6FA), ("lavenderblush", 0xFFF0F5),
    ("lawngreen", 0x7CFC00), ("lemonchiffon", 0xFFFACD), ("lightblue", 0xADD8E6), ("lightcoral", 0xF08080),
    ("lightcyan", 0xE0FFFF), ("lightgoldenrodyellow", 0xFAFAD2), ("lightgray", 0xD3D3D3), ("lightgreen", 0x90EE90),
    ("lightgrey", 0xD3D3D3), ("lightpink", 0xFFB6C1), ("lightsalmon", 0xFFA07A), ("lightseagreen", 0x20B2AA),
    ("lightskyblue", 0x87CEFA), ("lightslategray", 0x778899), ("lightslategrey", 0x778899),
    ("lightsteelblue", 0xB0C4DE), ("lightyellow", 0xFFFFE0), ("lime", 0x00FF00), ("limegreen", 0x32CD32),
    ("linen", 0xFAF0E6), ("magenta", 0xFF00FF), ("maroon", 0x800000), ("mediumaquamarine", 0x66CDAA),
    ("mediumblue", 0x0000CD), ("mediumorchid", 0xBA55D3), ("mediumpurple", 0x9370DB), ("mediumseagreen", 0x3CB371),
    ("mediumslateblue", 0x7B68EE), ("mediumspringgreen", 0x00FA9A), ("mediumturquoise", 0x48D1CC),
    ("mediumvioletred", 0xC71585), ("midnightblue", 0x191970), ("mintcream", 0xF5FFFA), ("mistyrose", 0xFFE4E1),
    ("moccasin", 0xFFE4B5), ("navajowhite", 0xFFDEAD), ("navy", 0x000080), ("oldlace", 0xFDF5E6),
    ("olive", 0x808000), ("olivedrab", 0x6B8E23), ("orange", 0xFFA500), ("orangered", 0xFF4500),
    ("orchid", 0xDA70D6), ("palegoldenrod", 0xEEE8AA), ("palegreen", 0x98FB98), ("paleturquoise", 0xAFEEEE),
    ("palevioletred", 0xDB7093), ("papayawhip", 0xFFEFD5), ("peachpuff", 0xFFDAB9), ("peru", 0xCD853F),
    ("pink", 0xFFC0CB), ("plum", 0xDDA0DD), ("powderblue", 0xB0E0E6), ("purple", 0x800080), ("red", 0xFF0000),
    ("rosybrown", 0xBC8F8F), ("royalblue", 0x4169E1), ("saddlebrown", 0x8B4513), ("salmon", 0xFA8072),
    ("sandybrown", 0xF4A460), ("seagreen", 0x2E8B57), ("seashell", 0xFFF5EE), ("sienna", 0xA0522D),
    ("silver", 0xC0C0C0), ("skyblue", 0x87CEEB), ("slateblue", 0x6A5ACD), ("slategray", 0x708090),
    ("slategrey", 0x708090), ("snow", 0xFFFAFA), ("springgreen", 0x00FF7F), ("steelblue", 0x4682B4),
    ("tan", 0xD2B48C), ("teal", 0x008080), ("thistle", 0xD8BFD8), ("tomato", 0xFF6347), ("turquoise", 0x40E0D0),
    ("violet", 0xEE82EE), ("wheat", 0xF5DEB3), ("white", 0xFFFFFF), ("whitesmoke", 0xF5F5F5), ("yellow", 0xFFFF00),
    ("yellowgreen", 0x9ACD32),
];

#[cfg(test)]
#[path = "attributes_tests.rs"]
mod tests;
