//! GML geometry: from elements to `Shapes`.
//!
//! Receives the walk where a geometry begins, adds its polygons. Solids, composites, multi-surfaces, triangulated
//! surfaces and whatever else surrounds polygons are followed alike, by their members; curves and points hold no
//! surface and are counted. It does not place the coordinates.

use std::io::BufRead;

use super::appearance::GmlId;
use super::object::{ObjectReader, Spot};
use super::shapes::{Polygon, Reference, Ring};
use super::xml::Token;
use crate::input::city::class::Role;
use crate::input::{InputError, Problem};

impl<R: BufRead> ObjectReader<'_, R> {
    /// Reads the rest of the innermost element, whose children are geometries or properties of geometries.
    ///
    /// # Errors
    ///
    /// The document is malformed, or the sink refuses more.
    pub(super) fn read_geometry(&mut self, spot: Spot) -> Result<(), InputError> {
        loop {
            match self.xml.next()? {
                Token::Start => self.read_geometry_element(spot)?,
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => return Ok(()),
            }
        }
    }

    fn read_geometry_element(&mut self, mut spot: Spot) -> Result<(), InputError> {
        self.follow_crs(&mut spot)?;
        let id = self.xml.attribute("id").map(GmlId::of);
        match self.xml.name() {
            "Polygon" | "PolygonPatch" | "Triangle" | "Rectangle" => {
                // Nothing refers to a triangle of the ground, and there are millions of them.
                let id = id.filter(|_| self.object.role != Role::Relief);
                spot.scope = self.object.shapes.open_scope(id, spot.scope);
                return self.read_polygon(spot);
            }
            "MultiCurve" | "CompositeCurve" | "LineString" | "Curve" | "MultiPoint" | "Point" | "MultiGeometry" => {
                self.object.problems.push(Problem::UnusedGeometry);
                return self.xml.skip();
            }
            "OrientableSurface" => spot.usage.is_reversed ^= self.xml.attribute("orientation") == Some("-"),
            // The controls of a TIN repeat its points.
            "controlPoint" | "stopLines" | "breakLines" | "maxLength" => return self.xml.skip(),
            _ => {}
        }
        if let Some(href) = self.xml.attribute("href") {
            let target = GmlId::of_reference(href);
            let (usage, scope) = (spot.usage, spot.scope);
            self.object.shapes.references.push(Reference { target, usage, scope });
        }
        spot.scope = self.object.shapes.open_scope(id, spot.scope);
        self.read_geometry(spot)
    }

    /// `srsName` and `srsDimension` count for an element and all within it.
    fn follow_crs(&mut self, spot: &mut Spot) -> Result<(), InputError> {
        if let Some(name) = self.xml.attribute("srsName").map(str::to_owned) {
            spot.crs = Some(self.crs(Some(&name))?);
        }
        if let Some(dimension) = self.xml.attribute("srsDimension").and_then(|text| text.trim().parse().ok()) {
            spot.dimension = dimension;
        }
        Ok(())
    }

    fn read_polygon(&mut self, spot: Spot) -> Result<(), InputError> {
        let crs = match spot.crs {
            Some(crs) => crs,
            None => self.crs(None)?,
        };
        let start = self.object.shapes.rings.len() as u32;
        loop {
            match self.xml.next()? {
                Token::Start => match self.xml.name() {
                    // GML 2, which CityGML 0.4 used, has boundaries of another name.
                    "exterior" | "interior" | "outerBoundaryIs" | "innerBoundaryIs" => self.read_ring(spot)?,
                    _ => self.xml.skip()?,
                },
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => break,
            }
        }
        let shapes = &mut self.object.shapes;
        let len = shapes.rings.len() as u32 - start;
        if len == 0 {
            self.object.problems.push(Problem::DegenerateRing);
            return Ok(());
        }
        shapes.polygons.push(Polygon { start, len, usage: spot.usage, scope: spot.scope, crs, frame: spot.frame });
        self.pour_relief_when_full()
    }

    /// Reads the rest of a boundary: all the positions in it are one ring, however they are written.
    fn read_ring(&mut self, mut spot: Spot) -> Result<(), InputError> {
        let start = self.object.shapes.points.len() as u32;
        let mut id = None;
        let mut is_sound = true;
        let mut depth = 1usize;
        while depth > 0 {
            match self.xml.next()? {
                Token::Start => {
                    let name = self.xml.name();
                    let is_commas = name == "coordinates";
                    if is_commas || matches!(name, "posList" | "pos") {
                        self.follow_dimension(&mut spot);
                        let text = self.xml.text()?;
                        is_sound &= read_positions(text, spot.dimension, is_commas, &mut self.object.shapes.points);
                    } else {
                        if matches!(name, "LinearRing" | "Ring") {
                            id = self.xml.attribute("id").map(GmlId::of);
                        }
                        self.follow_dimension(&mut spot);
                        depth += 1;
                    }
                }
                Token::Text => self.xml.clear_text(),
                Token::End => depth -= 1,
                Token::Eof => break,
            }
        }
        let shapes = &mut self.object.shapes;
        let len = shapes.points.len() as u32 - start;
        if is_sound {
            shapes.rings.push(Ring { start, len, id });
        } else {
            // The polygon keeps its place for the ring: without its outer ring a polygon is nothing.
            self.object.problems.push(Problem::BadCoordinate);
            shapes.points.truncate(start as usize);
            shapes.rings.push(Ring { start, len: 0, id });
        }
        Ok(())
    }

    fn follow_dimension(&self, spot: &mut Spot) {
        let dimension = self.xml.attribute("srsDimension").or(self.xml.attribute("dimension"));
        if let Some(dimension) = dimension.and_then(|text| text.trim().parse().ok()) {
            spot.dimension = dimension;
        }
    }
}

/// Adds the positions of a list; false where it is none of `dimension` numbers each.
fn read_positions(text: &str, dimension: u8, is_commas: bool, points: &mut Vec<[f64; 3]>) -> bool {
    let is_space = |character: char| character.is_ascii_whitespace() || (is_commas && character == ',');
    let n_numbers = if dimension == 2 { 2 } else { 3 };
    let mut point = [0.0; 3];
    let mut at = 0;
    for part in text.split(is_space).filter(|part| !part.is_empty()) {
        let Some(number) = part.parse::<f64>().ok().filter(|number| number.is_finite()) else { return false };
        point[at] = number;
        at += 1;
        if at == n_numbers {
            points.push(point);
            at = 0;
        }
    }
    at == 0
}
