//! Well-known text: what a `.prj` file, a LAS record or a header says of a CRS.
//!
//! Owns the reading of WKT 1 (OGC's and Esri's) and of WKT 2. Receives text, yields a [`Definition`]: by the code at
//! its root where it has a usable one, else as a PROJ string made of its parts. It knows the projections that cities
//! are surveyed in; others are an error that says to give `--crs`.

use super::definition::Definition;
use super::reference::shortened;
use super::{CrsError, registry};

const TEXT_BYTES_MAX: usize = 1 << 16;
const DEPTH_MAX: usize = 32;

/// The CRS that a text defines.
pub(super) fn definition(text: &str) -> Result<Definition, CrsError> {
    let unknown = || CrsError::Unknown { text: shortened(text) };
    let root = Node::parse(text).ok_or_else(unknown)?;
    of_node(&root).map_err(|why| CrsError::Unsupported { crs: format!("\"{}\"", shortened(root.name())), why })
}

fn of_node(root: &Node) -> Result<Definition, String> {
    match root.keyword.as_str() {
        "COMPD_CS" | "COMPOUNDCRS" => of_compound(root),
        "BOUNDCRS" => of_node(root.child(&["SOURCECRS"]).and_then(Node::first_child).ok_or("it bounds no CRS")?),
        "PROJCS" | "PROJCRS" | "PROJECTEDCRS" | "GEOGCS" | "GEOGCRS" | "GEOGRAPHICCRS" | "GEODCRS" | "GEODETICCRS" => {
            of_horizontal(root)
        }
        other => Err(format!("{other} says not where on the globe it is: give --crs")),
    }
}

fn of_compound(root: &Node) -> Result<Definition, String> {
    const VERTICAL: [&str; 3] = ["VERT_CS", "VERTCRS", "VERTICALCRS"];
    let horizontal = root.first_child().ok_or("a compound without parts")?;
    let vertical = root.child(&VERTICAL);
    let mut definition = of_node(horizontal)?;
    definition.is_ellipsoidal = false;
    if let Some(vertical) = vertical {
        if let Some(factor) = vertical.unit_factor(&["UNIT", "LENGTHUNIT"]) {
            definition.height_factor = factor;
        }
        if vertical.child(&["AXIS"]).is_some_and(|axis| axis.words().any(|word| word.eq_ignore_ascii_case("down"))) {
            definition.height_factor = -definition.height_factor;
        }
        // Esri writes ellipsoidal heights as a vertical CRS upon a horizontal datum.
        definition.is_ellipsoidal = vertical.child(&["DATUM"]).is_some();
        definition.name = format!("{} + {}", definition.name, vertical.name());
    }
    Ok(definition)
}

fn of_horizontal(root: &Node) -> Result<Definition, String> {
    if let Some(code) = root.epsg_code()
        && !registry::is_vertical(code)
        && let Ok(definition) = Definition::of_code(code, None)
    {
        return Ok(definition);
    }
    let is_projected = root.keyword.starts_with("PROJ");
    let geographic = if is_projected {
        root.child(&["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS", "GEOGCRS"]).ok_or("it is projected from nothing")?
    } else {
        root
    };
    let mut proj = if is_projected { projection(root, geographic)? } else { "+proj=longlat".to_owned() };
    proj.push_str(&datum(geographic)?);
    let mut definition = Definition::new(root.name(), &proj).map_err(|error| error.to_string())?;
    if !definition.name.is_ascii() || definition.name.is_empty() {
        definition.name = String::from("the CRS of its WKT");
    }
    if let Some(warning) = datum_warning(geographic) {
        definition.warnings.push(warning);
    }
    definition.is_ellipsoidal =
        !is_projected && root.child(&["CS"]).is_some_and(|axes| axes.numbers().any(|dimensions| dimensions == 3.0));
    Ok(definition)
}

/// The ellipsoid, the shift to WGS 84 and the prime meridian, as PROJ writes them.
fn datum(geographic: &Node) -> Result<String, String> {
    let datum = geographic.child(&["DATUM", "GEODETICDATUM", "ENSEMBLE"]).ok_or("no datum in it")?;
    let ellipsoid = datum.child(&["SPHEROID", "ELLIPSOID"]).ok_or("no ellipsoid in it")?;
    let mut numbers = ellipsoid.numbers();
    let (Some(radius_m), Some(flattening)) = (numbers.next(), numbers.next()) else {
        return Err("an ellipsoid without radius and flattening".to_owned());
    };
    if !(6e6..7e6).contains(&radius_m) || !(0.0..1e6).contains(&flattening) {
        return Err(format!("an ellipsoid of {radius_m} m and 1/{flattening}: expected that of the Earth"));
    }
    let mut proj = if flattening == 0.0 {
        format!(" +R={radius_m}")
    } else {
        let is_near = |reference: f64| (flattening - reference).abs() < 1e-4;
        match radius_m {
            6_378_137.0 if is_near(298.257_222_101) => " +ellps=GRS80".to_owned(),
            6_378_137.0 if is_near(298.257_223_563) => " +ellps=WGS84".to_owned(),
            _ => format!(" +a={radius_m} +rf={flattening}"),
        }
    };
    if let Some(shift) = datum.child(&["TOWGS84"]) {
        let shifts: Vec<_> = shift.numbers().map(|number| number.to_string()).collect();
        if matches!(shifts.len(), 3 | 7) {
            proj.push_str(" +towgs84=");
            proj.push_str(&shifts.join(","));
        }
    } else if let Some(shift) = known_shift(datum.name()) {
        proj.push_str(" +towgs84=");
        proj.push_str(shift);
    }
    let meridian = geographic.child(&["PRIMEM", "PRIMEMERIDIAN"]);
    if let Some(from_greenwich) = meridian.and_then(|meridian| meridian.numbers().next())
        && from_greenwich != 0.0
    {
        let unit = meridian.and_then(|meridian| meridian.unit_factor(&["ANGLEUNIT"]));
        let degrees = from_greenwich * unit.unwrap_or_else(|| angle_unit(geographic)).to_degrees();
        proj.push_str(" +pm=");
        proj.push_str(&degrees.to_string());
    }
    Ok(proj)
}

/// Shifts of datums that `.prj` files name without their shift.
const SHIFTS: [(&str, &str); 8] = [
    ("tokyo", "-146.414,507.337,680.507"),
    ("amersfoort", "565.2369,50.0087,465.658,-0.406857,0.350733,-1.87035,4.0812"),
    ("osgb1936", "446.448,-125.157,542.06,0.15,0.247,0.842,-20.489"),
    ("ch1903", "674.374,15.056,405.346"),
    ("deutscheshauptdreiecksnetz", "598.1,73.7,418.2,0.202,0.045,-2.455,6.7"),
    ("mgi", "577.326,90.129,463.919,5.137,1.474,5.297,2.4232"),
    ("european1950", "-87,-98,-121"),
    ("northamerican1927", "-8,160,176"),
];

fn known_shift(datum: &str) -> Option<&'static str> {
    let plain = plain(datum);
    let plain = plain.strip_prefix("d").filter(|_| datum.starts_with("D_")).unwrap_or(&plain);
    let plain = plain.trim_end_matches("plus");
    SHIFTS.iter().find(|(name, _)| *name == plain).map(|&(_, shift)| shift)
}

/// A name without what its writers disagree on.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn datum_warning(geographic: &Node) -> Option<String> {
    let datum = geographic.child(&["DATUM", "GEODETICDATUM"])?;
    let radius_m = datum.child(&["SPHEROID", "ELLIPSOID"])?.numbers().next()?;
    let is_shifted = datum.child(&["TOWGS84"]).is_some() || known_shift(datum.name()).is_some();
    (!is_shifted && radius_m != 6_378_137.0)
        .then(|| format!("places may be some hundred metres off: the shift of the datum {} is not known", datum.name()))
}

/// Radians in the unit of angles.
fn angle_unit(geographic: &Node) -> f64 {
    geographic.unit_factor(&["UNIT", "ANGLEUNIT"]).unwrap_or(1f64.to_radians())
}

/// The projection and its parameters, as PROJ writes them.
fn projection(root: &Node, geographic: &Node) -> Result<String, String> {
    let conversion = root.child(&["CONVERSION"]).unwrap_or(root);
    let method = conversion.child(&["PROJECTION", "METHOD"]).ok_or("no projection in it")?;
    let unit_m = root.unit_factor(&["UNIT", "LENGTHUNIT"]).or_else(|| axis_unit(root)).unwrap_or(1.0);
    let parameters = Parameters { conversion, unit_m, angle: angle_unit(geographic) };
    let method_name = plain(method.name());
    let Some(&(_, proj)) = METHODS.iter().find(|(name, _)| *name == method_name) else {
        return Err(format!("its projection is {}: give an EPSG code or a PROJ string (--crs)", method.name()));
    };
    let mut parts = vec![format!("+proj={proj}")];
    for &(key, names, is_length) in PARAMETERS {
        parts.extend(parameters.get(names, is_length).map(|value| format!("+{key}={value}")));
    }
    if proj == "lcc" && !parts.iter().any(|part| part.starts_with("+lat_1=")) {
        // With one standard parallel, that is where the projection has its origin.
        parts.push(format!("+lat_1={}", parameters.get(LATITUDE, false).unwrap_or_default()));
    }
    if unit_m != 1.0 {
        parts.push(format!("+to_meter={unit_m}"));
    }
    Ok(parts.join(" "))
}

/// The unit of the first axis, where WKT 2 gives each its own.
fn axis_unit(root: &Node) -> Option<f64> {
    root.child(&["AXIS"])?.unit_factor(&["LENGTHUNIT", "UNIT"])
}

/// Methods by their plain names, and what PROJ calls them.
const METHODS: &[(&str, &str)] = &[
    ("transversemercator", "tmerc"),
    ("gausskruger", "tmerc"),
    ("gaussboaga", "tmerc"),
    ("lambertconformalconic", "lcc"),
    ("lambertconformalconic1sp", "lcc"),
    ("lambertconformalconic2sp", "lcc"),
    ("lambertconicconformal1sp", "lcc"),
    ("lambertconicconformal2sp", "lcc"),
    ("obliquestereographic", "sterea"),
    ("doublestereographic", "sterea"),
    ("swissobliquecylindrical", "somerc"),
    ("swissobliquemercator", "somerc"),
    ("mercator", "merc"),
    ("mercator1sp", "merc"),
    ("mercator2sp", "merc"),
    ("mercatorvarianta", "merc"),
    ("mercatorvariantb", "merc"),
    ("mercatorauxiliarysphere", "webmerc"),
    ("popularvisualisationpseudomercator", "webmerc"),
    ("albers", "aea"),
    ("albersconicequalarea", "aea"),
    ("albersequalarea", "aea"),
    ("lambertazimuthalequalarea", "laea"),
];

const LATITUDE: &[&str] = &[
    "latitudeoforigin",
    "latitudeofcenter",
    "latitudeofcentre",
    "latitudeofnaturalorigin",
    "latitudeoffalseorigin",
    "latitudeofprojectioncentre",
];

/// Parameters: what PROJ calls them, their plain names, and whether they are lengths.
const PARAMETERS: &[(&str, &[&str], Option<bool>)] = &[
    ("lat_0", LATITUDE, Some(false)),
    (
        "lon_0",
        &[
            "centralmeridian",
            "longitudeoforigin",
            "longitudeofcenter",
            "longitudeofcentre",
            "longitudeofnaturalorigin",
            "longitudeoffalseorigin",
            "longitudeofprojectioncentre",
        ],
        Some(false),
    ),
    ("lat_1", &["standardparallel1", "latitudeof1ststandardparallel"], Some(false)),
    ("lat_2", &["standardparallel2", "latitudeof2ndstandardparallel"], Some(false)),
    ("k_0", &["scalefactor", "scalefactoratnaturalorigin", "scalefactoratprojectioncentre"], None),
    ("x_0", &["falseeasting", "eastingatfalseorigin", "eastingatprojectioncentre"], Some(true)),
    ("y_0", &["falsenorthing", "northingatfalseorigin", "northingatprojectioncentre"], Some(true)),
];

struct Parameters<'a> {
    conversion: &'a Node,
    /// Metres in the unit of the projection's coordinates.
    unit_m: f64,
    /// Radians in the unit of angles.
    angle: f64,
}

impl Parameters<'_> {
    /// A parameter in degrees, metres or as it is.
    fn get(&self, names: &[&str], is_length: impl Into<Option<bool>>) -> Option<f64> {
        let node = self
            .conversion
            .children()
            .find(|node| node.keyword == "PARAMETER" && names.contains(&plain(node.name()).as_str()))?;
        let value = node.numbers().next()?;
        let value = match is_length.into() {
            Some(true) => value * node.unit_factor(&["LENGTHUNIT", "UNIT"]).unwrap_or(self.unit_m),
            Some(false) => {
                let unit = node.unit_factor(&["ANGLEUNIT", "UNIT"]).unwrap_or(self.angle);
                // Degrees are rounded in the text of their unit: 0.0174532925199433.
                if (unit - 1f64.to_radians()).abs() < 1e-12 { value } else { value * unit.to_degrees() }
            }
            None => value,
        };
        value.is_finite().then_some(value)
    }
}

/// A keyword and what stands in its brackets.
#[derive(Debug, PartialEq)]
struct Node {
    keyword: String,
    values: Vec<Value>,
}

#[derive(Debug, PartialEq)]
enum Value {
    Text(String),
    Number(f64),
    Word(String),
    Node(Node),
}

impl Node {
    fn parse(text: &str) -> Option<Self> {
        let text = text.get(..text.len().min(TEXT_BYTES_MAX)).filter(|short| short.len() == text.len())?;
        let mut rest = text.trim();
        let Value::Node(node) = parse_value(&mut rest, 0)? else { return None };
        Some(node)
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        self.values.iter().filter_map(|value| if let Value::Node(node) = value { Some(node) } else { None })
    }

    fn first_child(&self) -> Option<&Self> {
        self.children().next()
    }

    fn child(&self, keywords: &[&str]) -> Option<&Self> {
        self.children().find(|node| keywords.contains(&node.keyword.as_str()))
    }

    /// The text that comes first: its name.
    fn name(&self) -> &str {
        match self.values.first() {
            Some(Value::Text(name)) => name,
            _ => "",
        }
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.values.iter().filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter_map(|value| if let Value::Word(word) = value { Some(word.as_str()) } else { None })
    }

    /// The size of the unit among its own children, in metres or radians.
    fn unit_factor(&self, keywords: &[&str]) -> Option<f64> {
        let factor = self.child(keywords)?.numbers().next()?;
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }

    fn epsg_code(&self) -> Option<u32> {
        let id = self.child(&["AUTHORITY", "ID"]).filter(|id| id.name().eq_ignore_ascii_case("EPSG"))?;
        match id.values.get(1)? {
            Value::Text(code) => code.parse().ok(),
            Value::Number(code) if code.fract() == 0.0 && (0.0..1e9).contains(code) => Some(*code as u32),
            _ => None,
        }
    }
}

/// Reads a value and moves `rest` behind it.
fn parse_value(rest: &mut &str, depth: usize) -> Option<Value> {
    *rest = rest.trim_start();
    if let Some(quoted) = rest.strip_prefix('"') {
        let (text, after) = quoted.split_once('"')?;
        let mut text = text.to_owned();
        *rest = after;
        // A quote within text is written twice.
        while let Some(more) = rest.strip_prefix('"') {
            let (part, after) = more.split_once('"')?;
            text.push('"');
            text.push_str(part);
            *rest = after;
        }
        return Some(Value::Text(text));
    }
    let end = rest.find(['[', '(', ',', ']', ')']).unwrap_or(rest.len());
    let word = rest.get(..end)?.trim();
    *rest = rest.get(end..)?;
    if !rest.starts_with(['[', '(']) {
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        return Some(number.map_or_else(|| Value::Word(word.to_owned()), Value::Number));
    }
    if depth == DEPTH_MAX || word.is_empty() {
        return None;
    }
    let mut node = Node { keyword: word.to_ascii_uppercase(), values: Vec::new() };
    loop {
        // The bracket or the comma.
        *rest = rest.get(1..)?;
        node.values.push(parse_value(rest, depth + 1)?);
        *rest = rest.trim_start();
        match rest.as_bytes().first()? {
            b',' => (),
            b']' | b')' => {
                *rest = rest.get(1..)?;
                return Some(Value::Node(node));
            }
            _ => return None,
        }
    }
}
