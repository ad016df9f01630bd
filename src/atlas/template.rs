//! Where a region's file lies: templates such as `{z}/{x}/{y}.png`.
//!
//! A template is a relative path or a URL with placeholders:
//!
//! ```text
//! {z}      the zoom
//! {x}      the column
//! {y}      the row, counted from the north; from the south where the tileset's scheme is "tms"
//! {-y}     the row counted from the south, whatever the scheme
//! {layer}  the signed layer
//! ```

use thiserror::Error;

use crate::geo::{RegionKey, TileCoord};

/// A text that cannot name a region's file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// Every tile would get the same file.
    #[error(
        "the template \"{template}\" has no {missing}: expected a placeholder for the column and one for the row, such as {{z}}/{{x}}/{{y}}.png"
    )]
    PlaceholderMissing {
        /// The template.
        template: String,
        /// What it lacks.
        missing: &'static str,
    },
    /// A placeholder that nobody fills.
    #[error(
        "the template \"{template}\" has the unknown placeholder {placeholder}: expected {{z}}, {{x}}, {{y}}, {{-y}} or {{layer}}"
    )]
    PlaceholderUnknown {
        /// The template.
        template: String,
        /// The placeholder, braces included.
        placeholder: String,
    },
}

/// How rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// From the north: voxatlas, and nearly every web map.
    Xyz,
    /// From the south.
    Tms,
}

/// The row of a tile counted from the south.
///
/// ```
/// use voxatlas::atlas::row_from_south;
/// use voxatlas::geo::TileCoord;
///
/// assert_eq!(row_from_south(TileCoord::new(2, 1, 0)?), 3);
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
pub fn row_from_south(tile: TileCoord) -> u32 {
    (1 << tile.zoom()) - 1 - tile.y()
}

/// Checks that a template names a file of its own for every tile.
///
/// # Errors
///
/// The column or the row has no placeholder, or there is one that nobody fills.
pub fn check_template(template: &str) -> Result<(), TemplateError> {
    let (mut column, mut row) = (false, false);
    for part in parts(template) {
        match part {
            Part::Placeholder("{x}") => column = true,
            Part::Placeholder("{y}" | "{-y}") => row = true,
            Part::Text(_) | Part::Placeholder("{z}" | "{layer}") => {}
            Part::Placeholder(other) => {
                return Err(TemplateError::PlaceholderUnknown {
                    template: template.to_owned(),
                    placeholder: other.to_owned(),
                });
            }
        }
    }
    let missing = |missing| TemplateError::PlaceholderMissing { template: template.to_owned(), missing };
    if !column {
        return Err(missing("{x}"));
    }
    if !row {
        return Err(missing("{y}"));
    }
    Ok(())
}

/// Fills a template. Unknown placeholders stay as they are: see [`check_template`].
///
/// ```
/// use voxatlas::atlas::{Scheme, expand_template};
/// use voxatlas::geo::{RegionKey, TileCoord};
///
/// let key = RegionKey::new(TileCoord::new(17, 116_415, 51_623)?, 1);
/// assert_eq!(expand_template("{z}/{x}/{y}.l{layer}.png", key, Scheme::Xyz), "17/116415/51623.l1.png");
/// # Ok::<(), voxatlas::geo::GeoError>(())
/// ```
pub fn expand_template(template: &str, key: RegionKey, scheme: Scheme) -> String {
    let tile = key.tile;
    let mut filled = String::with_capacity(template.len() + 16);
    for part in parts(template) {
        match part {
            Part::Text(text) => filled.push_str(text),
            Part::Placeholder("{z}") => filled.push_str(&tile.zoom().to_string()),
            Part::Placeholder("{x}") => filled.push_str(&tile.x().to_string()),
            Part::Placeholder("{y}") if scheme == Scheme::Xyz => filled.push_str(&tile.y().to_string()),
            Part::Placeholder("{y}" | "{-y}") => filled.push_str(&row_from_south(tile).to_string()),
            Part::Placeholder("{layer}") => filled.push_str(&key.layer.to_string()),
            Part::Placeholder(other) => filled.push_str(other),
        }
    }
    filled
}

/// The tile of a layer whose file a template puts at `path`: [`expand_template`] the other way round. `zoom` is that of
/// templates without a `{z}`.
pub(super) fn tile_of_path(template: &str, path: &str, layer: i32, zoom: u8, scheme: Scheme) -> Option<TileCoord> {
    let (mut rest, mut z, mut x, mut y, mut y_north) = (path, u32::from(zoom), None, None, None);
    for part in parts(template) {
        let name = match part {
            Part::Text(text) => {
                rest = rest.strip_prefix(text)?;
                continue;
            }
            Part::Placeholder(name) => name,
        };
        if name == "{layer}" {
            rest = rest.strip_prefix(&layer.to_string())?;
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().ok()?;
        rest = &rest[end..];
        match name {
            "{z}" => z = number,
            "{x}" => x = Some(number),
            "{y}" if scheme == Scheme::Xyz => y = Some(number),
            "{y}" | "{-y}" => y_north = Some(number),
            _ => return None,
        }
    }
    let zoom = u8::try_from(z).ok()?;
    let tile = match (y, y_north) {
        (Some(y), _) => TileCoord::new(zoom, x?, y).ok()?,
        (None, y_north) => TileCoord::from_tms(zoom, x?, y_north?).ok()?,
    };
    // Numbers with leading zeros, or that differ between two places, are no file of this template.
    (rest.is_empty() && expand_template(template, RegionKey::new(tile, layer), scheme) == path).then_some(tile)
}

enum Part<'a> {
    Text(&'a str),
    /// Braces included.
    Placeholder(&'a str),
}

/// Cuts a template at its placeholders. A brace without its partner is text.
fn parts(template: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        // The innermost pair, so that the text "{{x}" is a brace and a placeholder.
        let pair = rest.find('}').and_then(|close| Some((rest[..close].rfind('{')?, close + 1)));
        let (part, end) = match pair {
            _ if rest.is_empty() => return None,
            Some((0, end)) => (Part::Placeholder(&rest[..end]), end),
            Some((open, _)) => (Part::Text(&rest[..open]), open),
            None => {
                let end = rest.find('}').map_or(rest.len(), |close| close + 1);
                (Part::Text(&rest[..end]), end)
            }
        };
        rest = &rest[end..];
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(zoom: u8, x: u32, y: u32, layer: i32) -> RegionKey {
        RegionKey::new(TileCoord::new(zoom, x, y).unwrap(), layer)
    }

    #[test]
    fn templates_expand() {
        let tower = key(17, 116_415, 51_623, -2);
        let check = |template: &str, scheme, expected: &str| {
            assert_eq!(check_template(template), Ok(()));
            assert_eq!(expand_template(template, tower, scheme), expected);
        };
        check("{z}/{x}/{y}.png", Scheme::Xyz, "17/116415/51623.png");
        check("{z}/{x}/{y}.png", Scheme::Tms, "17/116415/79448.png");
        check("{z}/{x}/{-y}.png", Scheme::Xyz, "17/116415/79448.png");
        check("{z}/{x}/{-y}.png", Scheme::Tms, "17/116415/79448.png");
        check("{z}/{x}/{y}.l{layer}.png", Scheme::Xyz, "17/116415/51623.l-2.png");
        check("https://host/17_{x}_{y}.webp?v={z}", Scheme::Xyz, "https://host/17_116415_51623.webp?v=17");
        check("}{x}{{y}}{", Scheme::Xyz, "}116415{51623}{");
    }

    #[test]
    fn paths_of_no_tile_are_passed_over() {
        let check = |template: &str, path: &str, expected: Option<&str>| {
            let tile = tile_of_path(template, path, 1, 17, Scheme::Xyz);
            assert_eq!(tile.map(|tile| tile.to_string()).as_deref(), expected, "{path}");
        };
        check("17_{x}_{y}.webp", "17_3_4.webp", Some("17/3/4"));
        check("{z}/{x}/{y}.png", "17/3/04.png", None);
        check("{z}/{x}/{y}.png", "17/3/4.l1.png", None);
        check("{z}/{x}/{y}.png", "17/3/4.png~", None);
        check("{z}/{x}/{y}.png", "17/3/999999.png", None);
        check("{z}/{x}/{y}.png", "17/3/.png", None);
        check("{z}/{x}/{y}.l{layer}.png", "17/3/4.l2.png", None);
        check("{z}/{x}/{y}.l{layer}.png", "17/3/4.l1.png", Some("17/3/4"));
        check("{x}/{y}/{x}.png", "3/4/5.png", None);
    }

    #[test]
    fn bad_templates_are_named() {
        let check = |template: &str, expected: &str| {
            let text = check_template(template).unwrap_err().to_string();
            assert!(text.contains(template) && text.contains(expected), "{text}");
        };
        check("{z}/{y}.png", "has no {x}");
        check("{z}/{x}.png", "has no {y}");
        check("https://{s}.host/{z}/{x}/{y}.png", "unknown placeholder {s}");
        check("{x}/{y}/{Z}", "unknown placeholder {Z}");
    }

    proptest! {
        #[test]
        fn counting_from_the_south_twice_changes_nothing(zoom in 0u8..=30, x: u32, y: u32) {
            let mask = ((1u64 << zoom) - 1) as u32;
            let tile = TileCoord::new(zoom, x & mask, y & mask).unwrap();
            let flipped = TileCoord::new(zoom, tile.x(), row_from_south(tile)).unwrap();
            prop_assert_eq!(row_from_south(flipped), tile.y());
        }

        #[test]
        fn any_text_is_checked_and_expanded_without_panic(template in "[{}xyz-]{0,24}") {
            let _ = check_template(&template);
            let filled = expand_template(&template, key(3, 5, 6, 0), Scheme::Xyz);
            let is_left = ["{x}", "{y}", "{-y}", "{z}"].iter().any(|placeholder| filled.contains(placeholder));
            prop_assert!(!is_left, "{}", filled);
        }

        #[test]
        fn a_path_leads_back_to_its_tile(zoom in 0u8..=30, x: u32, y: u32, layer in -9i32..9, idx in 0usize..4, tms: bool) {
            let template = ["{z}/{x}/{y}.png", "{z}/{x}/{-y}.l{layer}.png", "a{x}_{y}{z}.webp", "{z}{x}/{x}-{y}"][idx];
            let mask = ((1u64 << zoom) - 1) as u32;
            let key = key(zoom, x & mask, y & mask, layer);
            let scheme = if tms { Scheme::Tms } else { Scheme::Xyz };
            let path = expand_template(template, key, scheme);
            let found = tile_of_path(template, &path, layer, 17, scheme);
            // Two numbers without anything between them cannot be told apart.
            if idx < 2 {
                prop_assert_eq!(found, Some(key.tile));
            } else if let Some(found) = found {
                prop_assert_eq!(expand_template(template, RegionKey::new(found, layer), scheme), path);
            }
        }

        #[test]
        fn tiles_never_share_a_file(a in (0u32..1 << 17, 0u32..1 << 17), b in (0u32..1 << 17, 0u32..1 << 17)) {
            let file = |(x, y)| expand_template("{z}/{x}/{y}.png", key(17, x, y, 0), Scheme::Tms);
            prop_assert_eq!(file(a) == file(b), a == b);
        }
    }
}
