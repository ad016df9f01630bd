//! From a shape in the coordinates of a file to a footprint in the world.
//!
//! Owns what all formats of flat shapes share: placing, mending of rings, the choice between a building and a piece of
//! ground, names. Receives polygons and lines with attributes, pours [`Item`]s into a sink. It reads no file, and it
//! never cuts a shape: what is not wanted is passed over whole.

use std::path::Path;

use voxatlas::geo::{LonLat, WORLD_VOXELS, mercator};

use super::attributes::{Attributes, Figures, chosen_colour, figures};
use super::osm_tags::What;
use super::rings::{mended, ribbon};
use super::{Cover, FeatureId, InputError, Item, Named, Prism, Problem, ReadOptions, Rings, Sink, Wanted};
use crate::crs::{CrsError, Placer, guess};

/// Coordinates that fail before any succeeds: the CRS is wrong, and the rest of the file will say nothing new.
const FAILURES_MAX: usize = 64;

/// A feature as its file has it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) id: FeatureId,
    /// Its id as the file writes it; what messages call it.
    pub(super) name: String,
    pub(super) attributes: Attributes,
    pub(super) geometry: Flat,
}

/// A geometry in the plane, in the coordinates of the file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Flat {
    /// Polygons, each of rings.
    pub(super) polygons: Vec<Vec<Vec<[f64; 3]>>>,
    /// Lines.
    pub(super) lines: Vec<Vec<[f64; 3]>>,
    /// Whether it holds something that is neither.
    pub(super) has_others: bool,
}

impl Flat {
    /// Whether there is nothing in it at all.
    pub(super) fn is_empty(&self) -> bool {
        self.polygons.is_empty() && self.lines.is_empty() && !self.has_others
    }
}

/// Pours shapes into a sink.
pub(super) struct Footprints<'a> {
    path: &'a Path,
    placer: &'a Placer,
    options: &'a ReadOptions,
    wanted: &'a Wanted,
    pub(super) sink: &'a mut dyn Sink,
    n_placed: u64,
    failed: Vec<[f64; 3]>,
    first_failure: Option<CrsError>,
}

impl<'a> Footprints<'a> {
    pub(super) fn new(
        path: &'a Path,
        placer: &'a Placer,
        options: &'a ReadOptions,
        wanted: &'a Wanted,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self { path, placer, options, wanted, sink, n_placed: 0, failed: Vec::new(), first_failure: None }
    }

    /// Pours one shape.
    ///
    /// # Errors
    ///
    /// The sink refuses it, or nothing of the file lies where its CRS says.
    pub(super) fn add(&mut self, shape: Shape, what: What) -> Result<(), InputError> {
        if !self.is_chosen(what) {
            return Ok(());
        }
        let Shape { id, name, attributes, geometry } = shape;
        let label = label(id, &name);
        if geometry.is_empty() {
            self.sink.problem(&label, Problem::NoGeometry);
            return Ok(());
        }
        let polygons = match what {
            What::Line(_, width_m) => self.ribbons(&geometry, width_m, &label)?,
            _ => self.polygons(&geometry, &label)?,
        };
        if geometry.has_others || (!geometry.lines.is_empty() && !matches!(what, What::Line(..))) {
            self.sink.problem(&label, Problem::UnusedGeometry);
        }
        if polygons.is_empty() || !self.wanted.meets(bounds(&polygons)) {
            return Ok(());
        }
        let item = self.item(Named { id, name, attributes }, &label, polygons, what);
        self.sink.item(item)
    }

    /// Says whether anything could be placed at all.
    ///
    /// # Errors
    ///
    /// Coordinates failed and none succeeded: the CRS is wrong.
    pub(super) fn finish(mut self) -> Result<(), InputError> {
        match self.first_failure.take() {
            Some(failure) if self.n_placed == 0 => Err(self.misplaced(&failure)),
            _ => Ok(()),
        }
    }

    fn is_chosen(&self, what: What) -> bool {
        self.options.layers.is_empty() || self.options.layers.iter().any(|layer| layer == what.word())
    }

    fn item(&mut self, named: Named, label: &str, polygons: Vec<Rings>, what: What) -> Item {
        match what {
            What::Cover(kind) | What::Line(kind, _) => {
                let colour = chosen_colour(&named.attributes, self.options);
                Item::Cover(Cover { named: self.trimmed(named), polygons, kind, colour })
            }
            What::Building | What::Part => {
                let sink = &mut *self.sink;
                let found = figures(&named.attributes, self.options, &mut |problem| sink.problem(label, problem));
                let Figures { height, min_height_m, wall, roof } = found;
                Item::Prism(Prism { named: self.trimmed(named), polygons, height, min_height_m, wall, roof })
            }
        }
    }

    /// A name without the attributes that nobody asked for.
    fn trimmed(&self, mut named: Named) -> Named {
        if !self.options.with_attributes {
            named.attributes = Attributes::new();
        }
        named
    }

    fn polygons(&mut self, geometry: &Flat, name: &str) -> Result<Vec<Rings>, InputError> {
        let mut polygons = Vec::new();
        for rings in &geometry.polygons {
            let mut placed = Rings::new();
            for ring in rings {
                let Some(ring) = self.places(ring, name)? else { continue };
                let sink = &mut *self.sink;
                placed.extend(mended(ring, &mut |problem| sink.problem(name, problem)));
            }
            if !placed.is_empty() {
                polygons.push(placed);
            }
        }
        Ok(polygons)
    }

    fn ribbons(&mut self, geometry: &Flat, width_m: f64, name: &str) -> Result<Vec<Rings>, InputError> {
        let mut polygons = Vec::new();
        for line in geometry.lines.iter().chain(geometry.polygons.iter().flatten()) {
            let Some(line) = self.places(line, name)? else { continue };
            let Some(&[_, z]) = line.first() else { continue };
            ribbon(&line, width_m / 2.0 / mercator::metres_per_voxel_at(z), &mut polygons);
        }
        Ok(polygons)
    }

    /// The places of a ring or line, in one piece across the antimeridian; none where one cannot be placed.
    fn places(&mut self, coordinates: &[[f64; 3]], name: &str) -> Result<Option<Vec<[f64; 2]>>, InputError> {
        let world = f64::from(WORLD_VOXELS);
        let mut places: Vec<[f64; 2]> = Vec::with_capacity(coordinates.len());
        for &at in coordinates {
            // Footprints stand on the ground: their own heights mean nothing here, and may be absurd.
            match self.placer.place([at[0], at[1], 0.0]) {
                Ok(place) => {
                    let before = places.last().map_or(place.x, |last| last[0]);
                    let turns = ((before - place.x) / world).round();
                    places.push([place.x + turns * world, place.z]);
                }
                Err(failure) => {
                    self.sink.problem(name, Problem::BadCoordinate);
                    return self.note_failure(at, failure).map(|()| None);
                }
            }
        }
        self.n_placed += 1;
        Ok(Some(places))
    }

    fn note_failure(&mut self, at: [f64; 3], failure: CrsError) -> Result<(), InputError> {
        if self.n_placed > 0 {
            return Ok(());
        }
        self.failed.push(at);
        let first = self.first_failure.get_or_insert(failure);
        if self.failed.len() < FAILURES_MAX {
            return Ok(());
        }
        let what = first.to_string();
        Err(self.misplaced(&what))
    }

    fn misplaced(&self, failure: &impl ToString) -> InputError {
        let mut what = failure.to_string();
        if let Some(guess) = guess(&self.failed, near(self.wanted)) {
            what.push_str("; it ");
            what.push_str(&guess);
        }
        InputError::Malformed { path: self.path.to_owned(), what }
    }
}

/// What messages call a feature: its id in the file, or its place.
pub(super) fn label(id: FeatureId, name: &str) -> String {
    match id {
        FeatureId::Nth { nth, .. } if name.is_empty() => format!("#{nth}"),
        _ => name.to_owned(),
    }
}

/// The box round some polygons: west, north, east, south.
pub(super) fn bounds(polygons: &[Rings]) -> [f64; 4] {
    let none = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    polygons
        .iter()
        .flatten()
        .flatten()
        .fold(none, |[west, north, east, south], &[x, z]| [west.min(x), north.min(z), east.max(x), south.max(z)])
}

/// Where the places should be, in degrees: west, south, east, north.
pub(super) fn near(wanted: &Wanted) -> Option<[f64; 4]> {
    let (first, rest) = wanted.boxes.split_first()?;
    let [west, north, east, south] = rest
        .iter()
        .fold(*first, |all, next| [all[0].min(next[0]), all[1].min(next[1]), all[2].max(next[2]), all[3].max(next[3])]);
    let [north_west, south_east] = [LonLat::from_world(west, north), LonLat::from_world(east, south)];
    Some([north_west.lon_deg(), south_east.lat_deg(), south_east.lon_deg(), north_west.lat_deg()])
}

#[cfg(test)]
#[path = "footprint_tests.rs"]
mod tests;
