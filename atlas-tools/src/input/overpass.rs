//! The JSON that Overpass answers with: `out geom`, or nodes and references to them.
//!
//! Owns the reading of elements. Yields what [`super::osm`] makes of them. Where an element has its geometry beside it,
//! that is taken, and its nodes are named after their places, so that lines still join where they meet.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::extent;
use super::footprint::Footprints;
use super::json_features::{Found, JsonFeatures};
use super::json_geometry::Properties;
use super::osm::{OsmData, Relation, Way};
use super::osm_pbf::placer;
use super::{InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::Placer;

/// A file of Overpass JSON.
#[derive(Debug)]
pub struct Overpass {
    path: PathBuf,
    options: ReadOptions,
    placer: Placer,
}

#[derive(Deserialize)]
struct RawElement {
    #[serde(rename = "type")]
    kind: String,
    id: i64,
    lat: Option<f64>,
    lon: Option<f64>,
    #[serde(default)]
    tags: Properties,
    #[serde(default)]
    nodes: Vec<i64>,
    geometry: Option<Vec<Option<RawPlace>>>,
    #[serde(default)]
    members: Vec<RawMember>,
}

#[derive(Deserialize)]
struct RawMember {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "ref")]
    id: i64,
    geometry: Option<Vec<Option<RawPlace>>>,
}

#[derive(Deserialize)]
struct RawPlace {
    lat: f64,
    lon: f64,
}

impl Overpass {
    /// Names a file; nothing is read yet. Its CRS is always WGS 84, and its elements have ids of their own.
    ///
    /// # Errors
    ///
    /// The file is not there.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self, InputError> {
        std::fs::metadata(path).map_err(|error| InputError::Io { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), options, placer: placer(path)? })
    }

    fn load(&self, sink: &mut dyn Sink) -> Result<OsmData, InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let file = File::open(&self.path).map_err(io)?;
        let mut elements = JsonFeatures::new(BufReader::with_capacity(1 << 16, file), "elements");
        let mut data = OsmData::default();
        let mut told = 0;
        loop {
            match elements.next().map_err(io)? {
                Found::Feature { begin, bytes } => match serde_json::from_slice::<RawElement>(&bytes) {
                    Ok(element) => data.add(element),
                    Err(_) => sink.problem(&format!("at byte {begin}"), Problem::BadRecord),
                },
                Found::Member(..) => (),
                Found::Bad { begin, what } => {
                    let what = format!("byte {begin}: {what}");
                    return Err(InputError::Malformed { path: self.path.clone(), what });
                }
                Found::End => {
                    sink.progress(elements.position());
                    return Ok(data);
                }
            }
            if elements.position() >= told + (1 << 20) {
                told = elements.position();
                sink.progress(told);
            }
        }
    }
}

impl Stream for Overpass {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let data = self.load(sink)?;
        let mut footprints = Footprints::new(&self.path, &self.placer, &self.options, wanted, sink);
        data.pour(&mut footprints)?;
        footprints.finish()
    }
}

impl OsmData {
    fn add(&mut self, element: RawElement) {
        let RawElement { kind, id, lat, lon, tags: Properties(tags), nodes, geometry, members } = element;
        match kind.as_str() {
            "node" => {
                if let (Some(lat), Some(lon)) = (lat, lon) {
                    self.nodes.push((id, units(lon, lat)));
                }
            }
            "way" => {
                let refs = match geometry {
                    Some(places) => self.add_places(&places),
                    None => nodes,
                };
                self.ways.push(Way { id, tags, refs });
            }
            "relation" => {
                let mut ways = Vec::new();
                for member in members.into_iter().filter(|member| member.kind == "way") {
                    ways.push(member.id);
                    if let Some(places) = member.geometry {
                        let refs = self.add_places(&places);
                        self.ways.push(Way { id: member.id, tags: Vec::new(), refs });
                    }
                }
                self.relations.push(Relation { id, tags, ways });
            }
            _ => (),
        }
    }

    /// Adds nodes for the places of a line, and yields their names.
    fn add_places(&mut self, places: &[Option<RawPlace>]) -> Vec<i64> {
        // Parts of a line outside the box that was asked for are null.
        let places = places.iter().flatten().map(|place| units(place.lon, place.lat));
        let named: Vec<_> = places.map(|place| (name_of(place), place)).collect();
        self.nodes.extend(&named);
        named.into_iter().map(|(name, _)| name).collect()
    }
}

/// Longitude and latitude in units of 1e-7 degrees. The casts saturate: what is off the globe is found when it is placed.
fn units(lon: f64, lat: f64) -> [i32; 2] {
    [lon, lat].map(|degrees| (degrees * 1e7).round() as i32)
}

/// A node's name after its place: below zero, where no element has its id.
fn name_of([lon, lat]: [i32; 2]) -> i64 {
    const POLE: i32 = 900_000_000;
    let [lon, lat] = [i64::from(lon) - i64::from(i32::MIN), i64::from(lat.clamp(-POLE, POLE) + POLE)];
    -1 - (lat << 32 | lon)
}

#[cfg(test)]
#[path = "overpass_tests.rs"]
mod tests;
