//! From the coordinates of a CityGML file to places.
//!
//! Owns the CRSs that the file names, and its envelope. Receives names and positions, yields places. What cannot be
//! placed is a ring lost; that a whole file cannot be placed is an error, told by [`Misplaced`].

use std::io::BufRead;

use voxatlas::geo::mercator::metres_per_voxel_at;

use super::CityGml;
use super::shapes::{Frame, Polygon};
use super::xml::{Token, Xml};
use crate::crs::{AxisRule, CrsError, Placer};
use crate::input::boxes::world_box;
use crate::input::city::misplaced::Misplaced;
use crate::input::city::thing::transform;
use crate::input::{InputError, Place};

/// The CRSs of a file.
#[derive(Debug)]
pub(super) struct Places {
    /// By name; `None`: the file names none.
    placers: Vec<(Option<String>, Placer)>,
    /// What the envelope names.
    default_name: Option<String>,
    pub(super) misplaced: Misplaced,
}

/// The box that a file says it fills, in its CRS.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    lower: [f64; 3],
    upper: [f64; 3],
}

impl Places {
    pub(super) fn new() -> Self {
        Self { placers: Vec::new(), default_name: None, misplaced: Misplaced::default() }
    }

    /// The number of a CRS; `None`: that of the envelope.
    ///
    /// # Errors
    ///
    /// The CRS is missing or unknown.
    pub(super) fn crs(&mut self, gml: &CityGml, name: Option<&str>) -> Result<u16, InputError> {
        let name = name.or(self.default_name.as_deref());
        if let Some(found) = self.placers.iter().position(|(of, _)| of.as_deref() == name) {
            return Ok(found as u16);
        }
        if self.placers.len() > usize::from(u16::MAX) {
            let what = format!("more than {} names of CRSs: expected one or two", u16::MAX);
            return Err(InputError::Malformed { path: gml.path.clone(), what });
        }
        let name = name.map(str::to_owned);
        let placer = gml.crs.placer(&gml.path, AxisRule::Official, name.as_deref(), None)?;
        self.placers.push((name, placer));
        Ok((self.placers.len() - 1) as u16)
    }

    /// Reads the rest of an `Envelope`, whose CRS counts for all that names none.
    ///
    /// # Errors
    ///
    /// The document is malformed.
    pub(super) fn read_envelope<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<Option<Envelope>, InputError> {
        if let Some(name) = xml.attribute("srsName").filter(|name| !name.trim().is_empty()) {
            self.default_name.get_or_insert_with(|| name.to_owned());
        }
        let (mut lower, mut upper) = (None, None);
        loop {
            match xml.next()? {
                Token::Start => match xml.name() {
                    "lowerCorner" => lower = corner(xml.text()?),
                    "upperCorner" => upper = corner(xml.text()?),
                    _ => xml.skip()?,
                },
                Token::Text => xml.clear_text(),
                Token::End | Token::Eof => break,
            }
        }
        Ok(lower.zip(upper).map(|(lower, upper)| Envelope { lower, upper }))
    }

    /// The box round an envelope in the world: west, north, east, south; `None` where it cannot be placed, or is a point as
    /// in files whose writer did not know it.
    pub(super) fn extent(&self, envelope: &Envelope, crs: u16) -> Option<[f64; 4]> {
        let (_, placer) = self.placers.get(usize::from(crs))?;
        let ([x_min, y_min, _], [x_max, y_max, _]) = (envelope.lower, envelope.upper);
        if [x_min, y_min] == [x_max, y_max] {
            return None;
        }
        world_box(placer, [x_min, y_min, x_max, y_max])
    }

    /// Places the points of a ring of a polygon; `false`: not all of them can be placed.
    pub(super) fn place(
        &mut self,
        points: &[[f64; 3]],
        polygon: &Polygon,
        frames: &[Frame],
        places: &mut Vec<Place>,
    ) -> bool {
        let frame = polygon.frame.and_then(|frame| frames.get(usize::from(frame)));
        let result = match frame {
            Some(frame) => self.place_in_frame(points, frame, places).map_err(|error| (frame.reference, error)),
            None => self.placers.get(usize::from(polygon.crs)).map_or(Ok(()), |(_, placer)| {
                points.iter().try_for_each(|&point| match placer.place(point) {
                    Ok(place) => {
                        places.push(place);
                        Ok(())
                    }
                    Err(error) => Err((point, error)),
                })
            }),
        };
        match result {
            Ok(()) => self.misplaced.note_placed(),
            Err((point, error)) => {
                self.misplaced.note_failure(point, error);
                return false;
            }
        }
        true
    }

    fn place_in_frame(&self, points: &[[f64; 3]], frame: &Frame, places: &mut Vec<Place>) -> Result<(), CrsError> {
        let Some((_, placer)) = self.placers.get(usize::from(frame.crs)) else { return Ok(()) };
        let origin = placer.place(frame.reference)?;
        let voxel_m = metres_per_voxel_at(origin.z);
        places.extend(points.iter().map(|point| {
            let [east_m, north_m, up_m] = transform(&frame.matrix, *point);
            let [x, z] = [origin.x + east_m / voxel_m, origin.z - north_m / voxel_m];
            Place { x, z, height_m: origin.height_m + up_m }
        }));
        Ok(())
    }
}

/// Two or three numbers.
fn corner(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map(|part| part.parse::<f64>().ok().filter(|n| n.is_finite()));
    let first_two = [numbers.next()??, numbers.next()??];
    let height = numbers.next().flatten().unwrap_or(0.0);
    Some([first_two[0], first_two[1], height])
}
