//! The ways in which people and files write the name of a CRS.
//!
//! Owns the reading of such text. Receives it, yields a [`Reference`]; whether there is such a CRS, it does not know.

use super::CrsError;

/// What a text refers to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reference {
    /// A code of EPSG, and perhaps one for heights.
    Epsg {
        /// The code: horizontal, or compound.
        code: u32,
        /// The code of the heights, where they are named apart.
        vertical: Option<u32>,
        /// Whether the way of writing means easting or longitude first, whatever the definition says.
        is_traditional: bool,
    },
    /// Longitude and latitude in degrees, whatever the format's rule.
    Crs84 {
        /// Whether heights above the ellipsoid are part of it: CRS84h.
        is_ellipsoidal: bool,
    },
    /// A PROJ string.
    Proj(String),
    /// Well-known text, of either version.
    Wkt(String),
}

/// Reads the name of a CRS.
pub(super) fn parse(text: &str) -> Result<Reference, CrsError> {
    let text = text.trim().trim_start_matches('\u{feff}').trim_end_matches('\0').trim();
    let unknown = || CrsError::Unknown { text: shortened(text) };
    if text.starts_with("+proj") || text.starts_with("proj=") || text.starts_with("+init") {
        return of_proj(text).ok_or_else(unknown);
    }
    if text.starts_with('{') {
        return of_projjson(text).ok_or_else(unknown);
    }
    if text.contains('[') || text.contains('(') {
        return Ok(Reference::Wkt(text.to_owned()));
    }
    let upper = text.to_ascii_uppercase();
    if upper.ends_with("CRS84") || upper.ends_with("CRS84H") || upper == "CRS:84" {
        return Ok(Reference::Crs84 { is_ellipsoidal: upper.ends_with('H') });
    }
    if matches!(upper.as_str(), "WGS84" | "WGS 84") {
        return Ok(Reference::Epsg { code: 4326, vertical: None, is_traditional: false });
    }
    of_codes(&upper).ok_or_else(unknown)
}

/// `EPSG:6697`, `urn:ogc:def:crs:EPSG::6697`, `http://www.opengis.net/def/crs/EPSG/0/6697`, `6697`, and two of them in
/// one text, joined by `+`, `,` or `&`.
fn of_codes(upper: &str) -> Option<Reference> {
    let is_esri = upper.contains("ESRI");
    let is_epsg = upper.contains("EPSG");
    if !is_esri && !is_epsg && !upper.bytes().all(|byte| byte.is_ascii_digit() || byte == b'+') {
        return None;
    }
    let mut codes = upper
        .split([',', '&', '+'])
        .filter(|part| part.contains("EPSG") || part.contains("ESRI") || part.trim().parse::<u32>().is_ok())
        .map(trailing_number);
    let code = codes.next()??;
    let vertical = codes.next().map_or(Some(None), |code| code.map(Some))?;
    if codes.next().is_some() {
        return None;
    }
    // Esri numbers the projection of web maps after its own fashion; its other numbers mean nothing to EPSG.
    let code = match code {
        900_913 | 102_100 | 102_113 => 3857,
        _ if is_esri => return None,
        code => code,
    };
    Some(Reference::Epsg { code, vertical, is_traditional: upper.contains("EPSG.XML#") })
}

fn trailing_number(text: &str) -> Option<u32> {
    let text = text.trim();
    let n_other = text.trim_end_matches(|digit: char| digit.is_ascii_digit()).len();
    text.get(n_other..)?.parse().ok()
}

/// A PROJ string, or the old `+init=epsg:n`, which always meant longitude first.
fn of_proj(text: &str) -> Option<Reference> {
    let init = text.split_whitespace().find_map(|token| token.trim_start_matches('+').strip_prefix("init="));
    match init {
        Some(init) => match of_codes(&init.to_ascii_uppercase())? {
            Reference::Epsg { code, vertical, .. } => Some(Reference::Epsg { code, vertical, is_traditional: true }),
            _ => None,
        },
        None => Some(Reference::Proj(text.to_owned())),
    }
}

/// PROJJSON, as `GeoParquet` has it: by its id, or by the ids of its components.
fn of_projjson(text: &str) -> Option<Reference> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    if let Some(reference) = of_projjson_id(&json) {
        return Some(reference);
    }
    let mut codes = json.get("components")?.as_array()?.iter().map(of_projjson_id);
    match (codes.next()??, codes.next()??) {
        (Reference::Epsg { code, .. }, Reference::Epsg { code: vertical, .. }) => {
            Some(Reference::Epsg { code, vertical: Some(vertical), is_traditional: false })
        }
        _ => None,
    }
}

fn of_projjson_id(json: &serde_json::Value) -> Option<Reference> {
    let id = json.get("id")?;
    let authority = id.get("authority")?.as_str()?;
    let code = id.get("code")?;
    let code = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
    match authority {
        "OGC" if code.starts_with("CRS84") => Some(Reference::Crs84 { is_ellipsoidal: code.ends_with('h') }),
        "EPSG" => Some(Reference::Epsg { code: code.parse().ok()?, vertical: None, is_traditional: false }),
        _ => None,
    }
}

/// Text short enough for a message.
pub(super) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsg(code: u32) -> Reference {
        Reference::Epsg { code, vertical: None, is_traditional: false }
    }

    #[test]
    fn the_usual_ways_of_writing_mean_the_same() {
        for text in [
            "EPSG:6697",
            "epsg:6697",
            " EPSG:6697\n",
            "EPSG::6697",
            "6697",
            "urn:ogc:def:crs:EPSG::6697",
            "urn:ogc:def:crs:EPSG:9.8:6697",
            "urn:x-ogc:def:crs:EPSG:6697",
            "http://www.opengis.net/def/crs/EPSG/0/6697",
            "https://www.opengis.net/def/crs/EPSG/0/6697",
            r#"{"type":"CompoundCRS","id":{"authority":"EPSG","code":6697}}"#,
        ] {
            assert_eq!(parse(text).unwrap(), epsg(6697), "{text}");
        }
        for text in ["OGC:CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84", "http://www.opengis.net/def/crs/OGC/0/CRS84h"] {
            let expected = Reference::Crs84 { is_ellipsoidal: text.ends_with('h') };
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        assert_eq!(parse("EPSG:900913").unwrap(), epsg(3857));
        assert_eq!(parse("ESRI:102100").unwrap(), epsg(3857));
    }

    #[test]
    fn compounds_have_two_codes() {
        for text in [
            "EPSG:28992+5709",
            "EPSG:28992+EPSG:5709",
            "urn:ogc:def:crs,crs:EPSG:6.12:28992,crs:EPSG:6.12:5709",
            "http://www.opengis.net/def/crs-compound?1=http://www.opengis.net/def/crs/EPSG/0/28992&2=http://www.opengis.net/def/crs/EPSG/0/5709",
            r#"{"components":[{"id":{"authority":"EPSG","code":28992}},{"id":{"authority":"EPSG","code":"5709"}}]}"#,
        ] {
            let expected = Reference::Epsg { code: 28992, vertical: Some(5709), is_traditional: false };
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn old_ways_of_writing_mean_longitude_first() {
        for text in ["http://www.opengis.net/gml/srs/epsg.xml#4326", "+init=epsg:4326"] {
            let expected = Reference::Epsg { code: 4326, vertical: None, is_traditional: true };
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_names_no_crs_says_so() {
        for text in ["", "here", "EPSG:", "EPSG:x", "EPSG:1+2+3", "ESRI:54009", "{", "{}", "EPSG:99999999999", "12.5"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("is no known CRS"), "{text}: {error}");
        }
        assert!(parse(&"é".repeat(500)).unwrap_err().to_string().len() < 400);
    }
}
