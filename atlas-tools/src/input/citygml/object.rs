//! One city object: its parts, their attributes, and where its geometries are.
//!
//! Owns the reading of an object from its start to its end ([`ObjectReader::read_object`]); the geometry that it meets is
//! left to `geometry`, what the object becomes to `emit`. Receives the walk where an object begins. It keeps nothing of
//! an object when the next begins.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::Value;

use super::CityGml;
use super::appearance::Appearances;
use super::places::Places;
use super::shapes::{Frame, NO_SCOPE, Shapes, Use};
use super::words::{Element, element_of};
use super::xml::{Token, Xml};
use crate::input::attributes::Attributes;
use crate::input::city::class::{Piece, Role, role_of};
use crate::input::city::lod::Lod;
use crate::input::{FeatureId, InputError, Problem, Sink, SurfaceKind, Wanted};

/// What holds for a place in the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// What polygons here are used for.
    pub usage: Use,
    /// The innermost geometry with an id.
    pub scope: u32,
    /// The CRS, where one was named within the object.
    pub crs: Option<u16>,
    /// Numbers a position.
    pub dimension: u8,
    /// The frame of an implicit geometry.
    pub frame: Option<u16>,
    /// Whether text here is an attribute of the unit.
    takes_attributes: bool,
}

/// An object, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// What it is to the object; `None` for the object itself.
    pub piece: Option<Piece>,
    /// Its class.
    pub class: String,
    /// The unit that it is a part of.
    pub parent: u32,
    /// In the order of the file.
    pub attributes: Attributes,
}

/// What has been read of an object.
#[derive(Debug)]
pub(super) struct Object {
    pub role: Role,
    pub id: FeatureId,
    pub name: String,
    /// The object itself, then its parts.
    pub units: Vec<Unit>,
    pub shapes: Shapes,
    pub appearances: Appearances,
    pub problems: Vec<Problem>,
    /// Whether relief has been poured out already.
    pub has_relief: bool,
    /// The object elements round the one that is read, joined by dots.
    path: String,
}

/// Reads objects, and pours them out.
pub(super) struct ObjectReader<'a, R> {
    pub gml: &'a CityGml,
    pub xml: Xml<R>,
    pub sink: &'a mut dyn Sink,
    pub wanted: &'a Wanted,
    pub places: Places,
    /// Appearances that stand outside objects.
    pub appearances: Appearances,
    /// By the name of the image: its number, or that there is no such file.
    pub textures: BTreeMap<String, Option<u32>>,
    pub object: Object,
}

impl Object {
    pub(super) fn new() -> Self {
        Self {
            role: Role::Group,
            id: FeatureId::Given(0),
            name: String::new(),
            units: Vec::new(),
            shapes: Shapes::default(),
            appearances: Appearances::default(),
            problems: Vec::new(),
            has_relief: false,
            path: String::new(),
        }
    }
}

impl<R: BufRead> ObjectReader<'_, R> {
    /// Reads the city object that has just begun, to its end, and pours out what it is.
    ///
    /// # Errors
    ///
    /// The document is malformed, its CRS unknown, or the sink refuses more.
    pub(super) fn read_object(&mut self) -> Result<(), InputError> {
        let class = self.xml.name().to_owned();
        let name = self.xml.attribute("id").unwrap_or_default().to_owned();
        let begins_at = self.xml.start_offset();
        self.xml.feature = if name.is_empty() { format!("{class} at byte {begins_at}") } else { name.clone() };
        let layers = &self.gml.read.layers;
        let is_asked_for = layers.is_empty() || layers.iter().any(|layer| layer.eq_ignore_ascii_case(&class));
        let role = role_of(&class);
        match role {
            Some(role) if is_asked_for && role != Role::Group => {
                self.object.id = match name.as_str() {
                    "" => FeatureId::Nth { input: self.gml.input, nth: begins_at },
                    name => FeatureId::of_text(name),
                };
                self.begin(role, class, name);
                self.read_members(Self::first_spot())?;
                self.pour_object()?;
            }
            None if is_asked_for => {
                self.sink.problem(&self.xml.feature, Problem::UnusedGeometry);
                self.xml.skip()?;
            }
            _ => self.xml.skip()?,
        }
        self.xml.feature.clear();
        self.sink.progress(self.xml.offset());
        Ok(())
    }

    fn begin(&mut self, role: Role, class: String, name: String) {
        let object = &mut self.object;
        object.role = role;
        object.name = name;
        object.units.clear();
        object.units.push(Unit { class, ..Unit::default() });
        object.shapes.clear();
        object.appearances.clear();
        object.problems.clear();
        object.has_relief = false;
        object.path.clear();
    }

    fn first_spot() -> Spot {
        let usage = Use { unit: 0, lod: Lod(0), kind: None, is_roof_edge: false, is_reversed: false };
        Spot { usage, scope: NO_SCOPE, crs: None, dimension: 3, frame: None, takes_attributes: true }
    }

    /// Reads the rest of an element whose children belong to the unit of the spot.
    fn read_members(&mut self, spot: Spot) -> Result<(), InputError> {
        loop {
            match self.xml.next()? {
                Token::Start => self.read_member(spot)?,
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => return Ok(()),
            }
        }
    }

    fn read_member(&mut self, mut spot: Spot) -> Result<(), InputError> {
        match element_of(self.xml.name()) {
            Element::Geometry { lod, is_roof_edge } => {
                spot.usage = Use { lod, is_roof_edge, ..spot.usage };
                self.read_geometry(spot)
            }
            Element::Implicit(lod) => {
                spot.usage.lod = lod;
                self.read_implicit(spot)
            }
            Element::Surface(kind) => {
                // An opening stays one, whatever it is made of.
                let is_opening = spot.usage.kind == Some(SurfaceKind::Opening);
                spot.usage.kind = if is_opening { spot.usage.kind } else { Some(kind) };
                spot.takes_attributes = false;
                self.read_members(spot)
            }
            Element::Piece(Piece::Inside) | Element::Skipped => self.xml.skip(),
            Element::Piece(piece) => {
                spot.usage.unit = self.open_unit(piece, spot.usage.unit);
                spot.usage.kind = None;
                spot.takes_attributes = true;
                let path = std::mem::take(&mut self.object.path);
                self.read_members(spot)?;
                self.object.path = path;
                Ok(())
            }
            Element::Unused => {
                self.object.problems.push(Problem::UnusedGeometry);
                self.xml.skip()
            }
            Element::Envelope => self.places.read_envelope(&mut self.xml).map(|_| ()),
            Element::Appearance => self.object.appearances.read(&mut self.xml),
            Element::Generic => self.read_generic(spot),
            Element::Other => self.read_other(spot),
        }
    }

    fn open_unit(&mut self, piece: Piece, parent: u32) -> u32 {
        let class = self.xml.name().to_owned();
        self.object.units.push(Unit { piece: Some(piece), class, parent, attributes: Vec::new() });
        (self.object.units.len() - 1) as u32
    }

    /// A property that holds members, or an attribute.
    fn read_other(&mut self, spot: Spot) -> Result<(), InputError> {
        let name = self.xml.name().to_owned();
        let unit_of_measure = self.xml.attribute("uom").map(str::to_owned);
        let path_len = self.object.path.len();
        // Objects bear capitals, their properties do not: `BuildingDetailAttribute.surveyYear`.
        if spot.takes_attributes && name.starts_with(|first: char| first.is_ascii_uppercase()) {
            self.object.path.push_str(&name);
            self.object.path.push('.');
        }
        self.xml.clear_text();
        let mut is_leaf = true;
        loop {
            match self.xml.next()? {
                Token::Start => {
                    is_leaf = false;
                    self.read_member(spot)?;
                    self.xml.clear_text();
                }
                Token::Text => {}
                Token::End | Token::Eof => break,
            }
        }
        self.object.path.truncate(path_len);
        let text = self.xml.text_so_far();
        if is_leaf && spot.takes_attributes && !text.is_empty() {
            let key = attribute_name(&self.object.path, &name);
            let (value, is_sound) = value_of(&name, text, unit_of_measure.as_deref());
            if !is_sound {
                self.object.problems.push(Problem::BadAttribute);
            }
            self.object.units[spot.usage.unit as usize].attributes.push((key, value));
        }
        self.xml.clear_text();
        Ok(())
    }

    /// A generic attribute: `<intAttribute name="n"><value>1</value>` in CityGML 2, in CityGML 3
    /// `<IntAttribute><name>n</name><value>1</value>`.
    fn read_generic(&mut self, spot: Spot) -> Result<(), InputError> {
        let element = self.xml.name().to_ascii_lowercase();
        let mut name = self.xml.attribute("name").map(str::to_owned);
        let mut value = None;
        loop {
            match self.xml.next()? {
                Token::Start => match self.xml.name() {
                    "name" => name = Some(self.xml.text()?.to_owned()),
                    "value" => value = Some(self.xml.text()?.to_owned()),
                    _ => self.xml.skip()?,
                },
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => break,
            }
        }
        if let (Some(name), Some(value), true) = (name, value, spot.takes_attributes) {
            let number = match element.as_str() {
                "intattribute" => Some(value.parse::<i64>().ok().map(Value::from)),
                "doubleattribute" | "measureattribute" => Some(number_value(&value)),
                _ => None,
            };
            if number == Some(None) {
                self.object.problems.push(Problem::BadAttribute);
            }
            let value = number.flatten().unwrap_or(Value::String(value));
            self.object.units[spot.usage.unit as usize].attributes.push((name, value));
        }
        Ok(())
    }

    /// `ImplicitGeometry`: a geometry of its own coordinates, a matrix, and a point where its origin stands.
    fn read_implicit(&mut self, mut spot: Spot) -> Result<(), InputError> {
        let crs = match spot.crs {
            Some(crs) => crs,
            None => self.crs(None)?,
        };
        let frame = self.object.shapes.frames.len();
        let Ok(frame_idx) = u16::try_from(frame) else {
            self.object.problems.push(Problem::UnusedGeometry);
            return self.xml.skip();
        };
        self.object.shapes.frames.push(Frame { matrix: IDENTITY, reference: [f64::NAN; 3], crs });
        spot.frame = Some(frame_idx);
        let mut depth = 1usize;
        while depth > 0 {
            match self.xml.next()? {
                Token::Start => match self.xml.name() {
                    "relativeGMLGeometry" | "relativeGeometry" => self.read_geometry(spot)?,
                    "transformationMatrix" => {
                        let numbers = numbers_of(self.xml.text()?);
                        match numbers.try_into() {
                            Ok(matrix) => self.object.shapes.frames[frame].matrix = matrix,
                            Err(_) => self.object.problems.push(Problem::BadCoordinate),
                        }
                    }
                    "pos" => {
                        if let Ok(reference) = numbers_of(self.xml.text()?).try_into() {
                            self.object.shapes.frames[frame].reference = reference;
                        }
                    }
                    "Point" => {
                        if let Some(name) = self.xml.attribute("srsName").map(str::to_owned) {
                            self.object.shapes.frames[frame].crs = self.crs(Some(&name))?;
                        }
                        depth += 1;
                    }
                    _ => depth += 1,
                },
                Token::Text => self.xml.clear_text(),
                Token::End => depth -= 1,
                Token::Eof => break,
            }
        }
        Ok(())
    }

    /// The number of a CRS; `None`: that of the file.
    pub(super) fn crs(&mut self, name: Option<&str>) -> Result<u16, InputError> {
        self.places.crs(self.gml, name)
    }
}

const IDENTITY: [f64; 16] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];

fn numbers_of(text: &str) -> Vec<f64> {
    // What is no number is none, and then there are too few of them.
    let numbers = text.split_ascii_whitespace().filter_map(|part| part.parse::<f64>().ok());
    numbers.filter(|number| number.is_finite()).take(17).collect()
}

/// CityGML 3 writes `<height><Height><value>` for what CityGML 2 calls `measuredHeight`.
fn attribute_name(path: &str, name: &str) -> String {
    match (path, name) {
        ("Height.", "value") => "measuredHeight".to_owned(),
        _ => format!("{path}{name}"),
    }
}

/// The value of an attribute, and whether it is what its element asks for.
fn value_of(name: &str, text: &str, unit_of_measure: Option<&str>) -> (Value, bool) {
    let is_number = unit_of_measure.is_some() || matches!(name, "storeysAboveGround" | "storeysBelowGround");
    if !is_number {
        return (Value::String(text.to_owned()), true);
    }
    let is_feet = unit_of_measure.is_some_and(|unit| {
        let unit = unit.to_ascii_lowercase();
        unit == "ft" || unit.contains("[ft") || unit.contains("foot") || unit.contains("feet")
    });
    match number_value(text) {
        Some(_) if is_feet => (Value::String(format!("{text} ft")), true),
        Some(value) => (value, true),
        None => (Value::String(text.to_owned()), false),
    }
}

/// A number, whole where it is written so.
fn number_value(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    serde_json::Number::from_f64(text.parse().ok()?).map(Value::Number)
}
