//! What a CRS is: its projection, its axes, the unit of its heights.
//!
//! Owns [`Definition`]. Receives a [`Reference`], yields how numbers become degrees and metres; it places nothing
//! itself.

use proj4rs::Proj;

use super::reference::{Reference, shortened};
use super::{CrsError, known, registry, wkt};

/// A CRS that can be used.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// What messages call it.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether northing or latitude comes first in its own definition.
    pub(super) is_northing_first: bool,
    /// What heights are multiplied by to be metres upwards.
    pub(super) height_factor: f64,
    /// Whether its heights are above the ellipsoid.
    pub(super) is_ellipsoidal: bool,
    /// Where it is used: west, south, east, north, in degrees.
    pub(super) area_deg: Option<[f64; 4]>,
    /// What a user should know.
    pub(super) warnings: Vec<String>,
}

/// How the first two numbers become a place.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// They are degrees of a datum that differs from WGS 84 by less than a voxel.
    Degrees,
    /// They are metres of Web Mercator.
    WebMercator,
    /// A projection, or degrees of another datum.
    Proj(Box<Proj>),
    /// Metres from the centre of the Earth, the third as well.
    Geocentric(Box<Proj>),
}

impl Definition {
    /// What a reference refers to.
    pub(super) fn of(reference: &Reference) -> Result<Self, CrsError> {
        match reference {
            &Reference::Crs84 { is_ellipsoidal } => {
                let name = if is_ellipsoidal { "OGC:CRS84h" } else { "OGC:CRS84" };
                Ok(Self { is_ellipsoidal, ..Self::new(name, "+proj=longlat +datum=WGS84")? })
            }
            &Reference::Epsg { code, vertical, is_traditional } => {
                let mut definition = Self::of_code(code, vertical)?;
                definition.is_northing_first &= !is_traditional;
                Ok(definition)
            }
            Reference::Proj(text) => Self::new(&shortened(text), text),
            Reference::Wkt(text) => wkt::definition(text),
        }
    }

    /// A code of EPSG, with that of its heights where they are named apart.
    pub(super) fn of_code(code: u32, vertical: Option<u32>) -> Result<Self, CrsError> {
        let whole = vertical.map_or_else(|| format!("EPSG:{code}"), |vertical| format!("EPSG:{code}+{vertical}"));
        let unsupported = |why: String| CrsError::Unsupported { crs: whole.clone(), why };
        let (horizontal, of_compound) = registry::parts(code).map_or((code, None), |(code, up)| (code, Some(up)));
        let vertical = vertical.or(of_compound);
        if registry::is_vertical(code) {
            return Err(unsupported(
                "it says only what heights are: name a horizontal one with it, as EPSG:a+b".into(),
            ));
        }
        if let Some(vertical) = vertical.filter(|&code| !registry::is_vertical(code)) {
            return Err(unsupported(format!("EPSG:{vertical} is no vertical CRS")));
        }
        let proj = u16::try_from(horizontal).ok().and_then(crs_definitions::from_code).map(|found| found.proj4);
        let Some(proj) = proj else {
            return Err(unsupported(format!("EPSG:{horizontal} is not in the table: give its PROJ string (--crs)")));
        };
        let mut definition = Self::new(&whole, proj)?;
        let names = [known::name(horizontal), vertical.and_then(known::vertical_name).map(str::to_owned)];
        let names: Vec<_> = names.into_iter().flatten().collect();
        if !names.is_empty() {
            definition.name = format!("{whole} {}", names.join(" + "));
        }
        definition.is_northing_first = match definition.kind {
            Kind::Degrees => true,
            Kind::Proj(ref proj) if proj.is_latlong() => true,
            _ => registry::is_northing_first(horizontal),
        };
        if let Some(vertical) = vertical {
            definition.height_factor = registry::height_factor(vertical);
        }
        definition.is_ellipsoidal |= vertical.is_none() && registry::is_ellipsoidal(horizontal);
        definition.area_deg = known::area_deg(horizontal);
        if horizontal == 27700 {
            definition.warnings.push("places are up to 5 m off without the grid OSTN15, which is not used".to_owned());
        }
        Ok(definition)
    }

    /// A PROJ string, under a name.
    pub(super) fn new(name: &str, proj: &str) -> Result<Self, CrsError> {
        let tokens = Tokens::new(proj);
        let mut warnings = Vec::new();
        let text = without_grids(&tokens, &mut warnings);
        let unsupported = |why: String| CrsError::Unsupported { crs: name.to_owned(), why };
        let kind = if tokens.is_web_mercator() {
            Kind::WebMercator
        } else {
            let proj = Proj::from_proj_string(&text).map_err(|error| unsupported(format!("{error} in \"{text}\"")))?;
            let is_usual = [proj.to_meter(), proj.vto_meter()].into_iter().all(|unit| unit.is_finite() && unit > 0.0);
            if !is_usual || !proj.has_inverse() {
                return Err(unsupported(format!("\"{text}\" cannot be turned into degrees")));
            }
            match proj {
                proj if proj.is_geocent() => Kind::Geocentric(Box::new(proj)),
                proj if proj.is_latlong() && tokens.is_near_wgs84() => Kind::Degrees,
                proj => Kind::Proj(Box::new(proj)),
            }
        };
        Ok(Self {
            name: name.to_owned(),
            height_factor: height_factor(&kind, &tokens),
            is_ellipsoidal: matches!(kind, Kind::Geocentric(_)),
            kind,
            is_northing_first: false,
            area_deg: None,
            warnings,
        })
    }
}

/// The unit of heights: their own, or that of a projection's eastings, since nobody measures a city's ground in feet
/// and its buildings in metres without saying so. Heights of geocentric coordinates come out in metres.
fn height_factor(kind: &Kind, tokens: &Tokens<'_>) -> f64 {
    match kind {
        Kind::Proj(proj) if tokens.get("vunits").is_some() || tokens.get("vto_meter").is_some() => proj.vto_meter(),
        Kind::Proj(proj) if !proj.is_latlong() => proj.to_meter(),
        _ => 1.0,
    }
}

/// The PROJ string without what needs a file of shifts that is not here.
fn without_grids(tokens: &Tokens<'_>, warnings: &mut Vec<String>) -> String {
    let mut text = String::new();
    let mut needs_grid = false;
    for &(key, value) in &tokens.tokens {
        match (key, value) {
            ("nadgrids", "@null") => (),
            ("nadgrids", _) => needs_grid = true,
            ("datum", "NAD27") => {
                needs_grid = true;
                // The mean shift of the conterminous United States, good to about 10 m.
                text.push_str("+ellps=clrk66 +towgs84=-8,160,176 ");
                continue;
            }
            _ => (),
        }
        if key != "nadgrids" {
            text.push('+');
            text.push_str(key);
            if !value.is_empty() {
                text.push('=');
                text.push_str(value);
            }
            text.push(' ');
        }
    }
    if needs_grid {
        warnings.push("places may be some metres off: its grid of datum shifts is not used".to_owned());
    }
    text.trim_end().to_owned()
}

/// The parts of a PROJ string.
struct Tokens<'a> {
    tokens: Vec<(&'a str, &'a str)>,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        let tokens = text.split_whitespace().map(|token| token.trim_start_matches('+'));
        Self { tokens: tokens.map(|token| token.split_once('=').unwrap_or((token, ""))).collect() }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.tokens.iter().find(|token| token.0 == key).map(|token| token.1)
    }

    fn number(&self, key: &str) -> f64 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    /// Web Mercator proper: the sphere, in metres, from Greenwich.
    fn is_web_mercator(&self) -> bool {
        let is_sphere = || {
            let radius = |key: &str| self.number(key) == 6_378_137.0;
            (radius("a") && radius("b")) || radius("R")
        };
        let is_plain = ["lon_0", "x_0", "y_0", "lat_ts", "pm"].into_iter().all(|key| self.number(key) == 0.0)
            && self.get("units").is_none_or(|unit| unit == "m")
            && self.get("to_meter").is_none()
            && ["k", "k_0"].into_iter().all(|key| self.get(key).is_none_or(|scale| scale.parse() == Ok(1.0)));
        match self.get("proj") {
            Some("webmerc") => is_plain,
            Some("merc") => is_plain && is_sphere() && self.get("nadgrids") == Some("@null"),
            _ => false,
        }
    }

    /// Whether degrees of this datum are those of WGS 84, to less than a voxel.
    fn is_near_wgs84(&self) -> bool {
        let is_datum = match (self.get("datum"), self.get("ellps")) {
            (Some(datum), _) => matches!(datum, "WGS84" | "NAD83"),
            (None, Some(ellps)) => matches!(ellps, "GRS80" | "WGS84"),
            (None, None) => ["a", "R", "b"].into_iter().all(|key| self.get(key).is_none()),
        };
        let is_unshifted =
            self.get("towgs84").is_none_or(|shifts| shifts.split(',').all(|shift| shift.trim().parse() == Ok(0.0)));
        is_datum && is_unshifted && self.get("pm").is_none() && self.get("axis").is_none() && self.get("geoc").is_none()
    }
}
