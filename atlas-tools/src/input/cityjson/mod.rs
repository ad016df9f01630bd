//! CityJSON 1.0 to 2.0: a document as a whole, and a sequence of features.
//!
//! Owns the reading of both. Receives a path, yields the items of `input`. Axes stand in the traditional order (easting,
//! northing), whatever the CRS says, as the notation has it.
//!
//! - A **document** ([`CityJson`]) refers to vertices that stand behind the objects: it is read in two passes, first all
//!   but the boundaries, then the objects one by one. What is kept is the vertices, 24 bytes each, and of objects their
//!   names. A document that is malformed anywhere yields nothing.
//! - A **sequence** ([`CityJsonSeq`]) is read line by line; a line that cannot be read is told and passed over.
//! - Objects that are parts of others (`parents`) bear the name of the whole and share its attributes; of their levels of
//!   detail the finest counts, as in CityGML, and each part is a model of its own.
//! - Of several themes of materials or textures the default counts, or else the first.
//!
//! Extensions are passed over: classes whose names begin with a plus sign are told as unused.

mod emit;
mod faces;
mod looks;
mod loose;
mod scene;
mod schema;
mod sequence;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use self::emit::Pourer;
use self::loose::{Entries, Lenient, List, Numbers, nothing_else};
use self::scene::{Node, Scene, Summary, nodes};
use self::schema::{Appearance, Metadata, Object, Templates, Transform};
use super::boxes::world_box;
use super::city::misplaced::Misplaced;
use super::city::text::TextReader;
use super::extent;
use super::file_crs::FileCrs;
use super::{InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

pub use sequence::CityJsonSeq;

/// A CityJSON document.
#[derive(Debug)]
pub struct CityJson {
    path: PathBuf,
    read: ReadOptions,
    crs: FileCrs,
}

/// A document without its boundaries.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    #[serde(rename = "type")]
    kind: serde_json::Value,
    transform: Lenient<Transform>,
    metadata: Lenient<Metadata>,
    vertices: List<Numbers<3>>,
    appearance: Lenient<Appearance>,
    #[serde(rename = "geometry-templates")]
    templates: Lenient<Templates>,
    #[serde(rename = "CityObjects")]
    objects: Entries<Lenient<Summary>>,
}

/// What a document says of itself: all that its extent needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Title {
    #[serde(rename = "type")]
    kind: serde_json::Value,
    metadata: Lenient<Metadata>,
}

impl CityJson {
    /// Opens a file and looks at its first byte. Its objects have ids, so that its place on the command line matters to
    /// none of them.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or begins like no JSON object.
    pub fn open(path: &Path, _input: u32, read: ReadOptions, crs: CrsOptions) -> Result<Self, InputError> {
        let json = Self { path: path.to_owned(), read, crs: FileCrs::new(crs) };
        let mut text = json.text(&Arc::default())?;
        loop {
            let head = text.fill_buf().map_err(|error| json.io(error))?;
            match head.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(first) if head[first] == b'{' => return Ok(json),
                None if !head.is_empty() => {
                    let len = head.len();
                    text.consume(len);
                }
                _ => return Err(json.malformed("it does not begin with {: expected a CityJSON document")),
            }
        }
    }

    fn io(&self, error: std::io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), error }
    }

    fn malformed(&self, what: &str) -> InputError {
        InputError::Malformed { path: self.path.clone(), what: what.to_owned() }
    }

    fn json_error(&self, error: serde_json::Error) -> InputError {
        if error.is_io() { self.io(error.into()) } else { self.malformed(&format!("malformed JSON: {error}")) }
    }

    fn text(&self, n_bytes: &Arc<AtomicU64>) -> Result<TextReader<CountingFile>, InputError> {
        let file = File::open(&self.path).map_err(|error| self.io(error))?;
        TextReader::new(CountingFile { file, n_bytes: Arc::clone(n_bytes) }, None).map_err(|error| self.io(error))
    }

    fn check_kind(&self, kind: &serde_json::Value) -> Result<(), InputError> {
        match kind.as_str() {
            Some("CityJSON") => Ok(()),
            Some("CityJSONFeature") => Err(self
                .malformed("a feature of a sequence without its first line: expected one with \"type\": \"CityJSON\"")),
            Some(other) => Err(self.malformed(&format!("\"type\" is \"{other}\": expected \"CityJSON\""))),
            None => Err(self.malformed("no \"type\" found: expected \"CityJSON\"")),
        }
    }

    /// The extent that the metadata tells.
    fn told_extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        let title: Title =
            serde_json::from_reader(self.text(&Arc::default())?).map_err(|error| self.json_error(error))?;
        self.check_kind(&title.kind)?;
        let Lenient(metadata) = title.metadata;
        let placer = self.crs.placer(&self.path, AxisRule::Traditional, metadata.crs(), None)?;
        Ok(metadata.extent().and_then(|extent| world_box(&placer, extent)))
    }

    /// The first pass: everything but the boundaries.
    fn read_head(&self) -> Result<(Scene, Vec<Node>), InputError> {
        let head: Head =
            serde_json::from_reader(self.text(&Arc::default())?).map_err(|error| self.json_error(error))?;
        self.check_kind(&head.kind)?;
        let scene = Scene {
            placer: self.crs.placer(&self.path, AxisRule::Traditional, head.metadata.0.crs(), None)?,
            transform: head.transform.0,
            vertices: head.vertices,
            appearance: head.appearance.0,
            templates: head.templates.0,
        };
        let nodes = nodes(head.objects, &scene.templates, &self.read);
        Ok((scene, nodes))
    }

    fn pour_objects(&self, scene: &Scene, nodes: &[Node], pourer: &mut Pourer) -> Result<(), InputError> {
        let n_bytes = Arc::new(AtomicU64::new(0));
        let mut text = self.text(&n_bytes)?;
        let mut stopped = None;
        let mut idx = 0;
        let mut pour = |object: &Object| {
            let result = pourer.pour(scene, nodes, idx, object);
            idx += 1;
            pourer.sink.progress(n_bytes.load(Ordering::Relaxed));
            result.map_err(|error| stopped = Some(error)).is_ok()
        };
        let mut deserializer = serde_json::Deserializer::from_reader(&mut text);
        let result = ObjectsOfDocument(&mut pour).deserialize(&mut deserializer);
        match (stopped, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(|error| self.json_error(error)),
        }?;
        if text.is_mended {
            pourer.sink.problem("", Problem::BadText);
        }
        Ok(())
    }
}

impl Stream for CityJson {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        if let Some(extent) = self.told_extent()? {
            return Ok(Some(extent));
        }
        extent::walk(self)
    }

    fn placers(&self) -> Vec<Placer> {
        self.crs.placers()
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let (scene, nodes) = self.read_head()?;
        let mut pourer = Pourer::new(&self.read, &self.path, wanted, sink);
        self.pour_objects(&scene, &nodes, &mut pourer)?;
        pourer.misplaced.check(&self.path, wanted)
    }
}

impl<'a> Pourer<'a> {
    fn new(read: &'a ReadOptions, path: &'a Path, wanted: &'a Wanted, sink: &'a mut dyn Sink) -> Self {
        Self { read, path, wanted, sink, textures: BTreeMap::new(), misplaced: Misplaced::default() }
    }
}

/// Visits the objects of a document, one kept at a time; false from the function stops the walk.
struct ObjectsOfDocument<'a>(&'a mut dyn FnMut(&Object) -> bool);

impl<'de> DeserializeSeed<'de> for ObjectsOfDocument<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectsOfDocument<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a CityJSON document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "CityObjects" {
                map.next_value_seed(Objects(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    nothing_else!((); scalars seq);
}

/// Visits the objects of a list.
struct Objects<'a>(&'a mut dyn FnMut(&Object) -> bool);

impl<'de> DeserializeSeed<'de> for Objects<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("city objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            let Lenient(object) = map.next_value::<Lenient<Object>>()?;
            if !(self.0)(&object) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    nothing_else!((); scalars seq);
}

/// A file that tells how much of it has been read.
struct CountingFile {
    file: File,
    n_bytes: Arc<AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = self.file.read(buffer)?;
        self.n_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(n_bytes)
    }
}
