//! `GeoJSON`: a collection of features, a lone one, or features in a row (`GeoJSONSeq`, parted by line feeds or by the
//! record separator).
//!
//! Owns the streaming: a feature is read when it is met and forgotten when it is poured, whatever the size of the
//! collection. Yields footprints; heights of coordinates are passed over. The `crs` member of the old specification is
//! honoured where it comes before the features, and is an error where it comes behind them and says something else.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::attributes::{Attributes, value_of};
use super::extent;
use super::file_crs::FileCrs;
use super::footprint::{Flat, Footprints, Shape, label};
use super::json_features::{Found, JsonFeatures};
use super::json_geometry::{Properties, RawGeometry};
use super::osm_tags::what_of_any;
use super::{FeatureId, InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

/// The CRS of `GeoJSON` that names none.
const CRS: &str = "OGC:CRS84";

/// Bytes after which progress is told.
const PROGRESS_BYTES: u64 = 1 << 20;

/// A `GeoJSON` file.
#[derive(Debug)]
pub struct GeoJson {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    options: ReadOptions,
    crs: FileCrs,
}

#[derive(Deserialize)]
struct RawFeature {
    #[serde(default)]
    id: Value,
    geometry: Option<RawGeometry>,
    properties: Option<Properties>,
}

impl GeoJson {
    /// Names a file; nothing is read yet. `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// The file is not there.
    pub fn open(path: &Path, input: u32, options: ReadOptions, crs: &CrsOptions) -> Result<Self, InputError> {
        std::fs::metadata(path).map_err(|error| InputError::Io { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), input, options, crs: FileCrs::new(crs.clone()) })
    }

    fn malformed(&self, what: String) -> InputError {
        InputError::Malformed { path: self.path.clone(), what }
    }

    fn placer(&self, of_file: Option<&str>) -> Result<Placer, InputError> {
        self.crs.placer(&self.path, AxisRule::Traditional, of_file, Some(CRS))
    }

    /// Reads features until the end, or until a member says that the CRS is another.
    fn read_from(&self, reader: impl Read, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let mut features = JsonFeatures::new(reader, "features");
        let mut of_file: Option<String> = None;
        let mut pending = features.next().map_err(io)?;
        // What comes before the first feature may name the CRS.
        while let Found::Member(name, value) = &pending {
            of_file = crs_of(name, value).or(of_file);
            pending = features.next().map_err(io)?;
        }
        let placer = self.placer(of_file.as_deref())?;
        let mut footprints = Footprints::new(&self.path, &placer, &self.options, wanted, sink);
        let mut told = 0;
        loop {
            match &pending {
                Found::Feature { begin, bytes } => self.pour(*begin, bytes, &mut footprints)?,
                Found::Member(name, value) => {
                    let found = crs_of(name, value).filter(|found| of_file.as_ref() != Some(found));
                    if let Some(found) = found.filter(|_| !self.crs.is_given()) {
                        let placed = self.placer(Some(&found))?;
                        if placed.describe() != placer.describe() {
                            return Err(self.malformed(format!(
                                "names its CRS \"{found}\" behind its features: expected before them; say --crs \"{found}\""
                            )));
                        }
                    }
                }
                Found::Bad { begin, what } => return Err(self.malformed(format!("byte {begin}: {what}"))),
                Found::End => break,
            }
            if features.position() >= told + PROGRESS_BYTES {
                told = features.position();
                footprints.sink.progress(told);
            }
            pending = features.next().map_err(io)?;
        }
        footprints.sink.progress(features.position());
        footprints.finish()
    }

    fn pour(&self, begin: u64, bytes: &[u8], footprints: &mut Footprints<'_>) -> Result<(), InputError> {
        let Some(feature) = parse(bytes) else {
            footprints.sink.problem(&format!("at byte {begin}"), Problem::BadRecord);
            return Ok(());
        };
        let attributes = feature.properties.unwrap_or_default().0;
        let (id, name) = named(&feature.id, &attributes, self.input, begin);
        let Some(geometry) = feature.geometry else {
            footprints.sink.problem(&label(id, &name), Problem::NoGeometry);
            return Ok(());
        };
        let mut flat = Flat::default();
        if !geometry.flatten(&mut flat) {
            footprints.sink.problem(&label(id, &name), Problem::BadRecord);
            return Ok(());
        }
        match what_of_any(&attributes, !flat.polygons.is_empty()) {
            Some(what) => footprints.add(Shape { id, name, attributes, geometry: flat }, what),
            None => Ok(()),
        }
    }
}

impl Stream for GeoJson {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn placers(&self) -> Vec<Placer> {
        self.crs.placers().into_iter().map(Placer::without_heights).collect()
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let file = File::open(&self.path).map_err(|error| InputError::Io { path: self.path.clone(), error })?;
        self.read_from(BufReader::with_capacity(1 << 16, file), wanted, sink)
    }
}

/// A feature, or a geometry on its own.
fn parse(bytes: &[u8]) -> Option<RawFeature> {
    let is_feature = |feature: &RawFeature| feature.geometry.is_some() || feature.properties.is_some();
    if let Some(feature) = serde_json::from_slice::<RawFeature>(bytes).ok().filter(is_feature) {
        return Some(feature);
    }
    let geometry = serde_json::from_slice::<RawGeometry>(bytes).ok();
    match geometry.filter(RawGeometry::is_geometry) {
        Some(geometry) => Some(RawFeature { id: Value::Null, geometry: Some(geometry), properties: None }),
        None => serde_json::from_slice::<RawFeature>(bytes).ok(),
    }
}

/// What a feature is called: by its own id, by one among the attributes (exports of OpenStreetMap write `@id`, Overture
/// `id`), or by its place.
pub(super) fn named(id: &Value, attributes: &Attributes, input: u32, nth: u64) -> (FeatureId, String) {
    let of_attributes =
        || value_of(attributes, "@id").or_else(|| value_of(attributes, "id").filter(|id| id.is_string()));
    let id = if id.is_null() { of_attributes().unwrap_or(id) } else { id };
    match id {
        Value::Number(number) => {
            let id = number.as_u64().map_or_else(|| FeatureId::of_text(&number.to_string()), FeatureId::Given);
            (id, number.to_string())
        }
        Value::String(text) if !text.is_empty() => (FeatureId::of_text(text), text.clone()),
        _ => (FeatureId::Nth { input, nth }, String::new()),
    }
}

/// The name that a `crs` member holds, or the `coordRefSys` of JSON-FG.
fn crs_of(member: &str, value: &Value) -> Option<String> {
    match member {
        "coordRefSys" => value.as_str().map(str::to_owned),
        "crs" => {
            let properties = value.get("properties")?;
            let code = || properties.get("code").map(|code| format!("EPSG:{code}"));
            properties.get("name").and_then(Value::as_str).map(str::to_owned).or_else(code)
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "geojson_tests.rs"]
mod tests;
