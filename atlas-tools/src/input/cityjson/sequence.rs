//! CityJSONSeq: a first line that tells of the whole, then a feature a line.
//!
//! A line is kept at a time. Lines may begin with the record separator of RFC 8142 and end in a carriage return; empty
//! lines are passed over.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::emit::Pourer;
use super::loose::{Entries, Lenient, List, Numbers};
use super::scene::{Scene, Summary, nodes};
use super::schema::{Appearance, Metadata, Object, Templates, Transform};
use crate::crs::{AxisRule, CrsOptions, Placer};
use crate::input::boxes::world_box;
use crate::input::extent;
use crate::input::file_crs::FileCrs;
use crate::input::{InputError, Problem, ReadOptions, Sink, Stream, Wanted};

/// A sequence of CityJSON features.
#[derive(Debug)]
pub struct CityJsonSeq {
    path: PathBuf,
    read: ReadOptions,
    crs: FileCrs,
}

/// The first line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct First {
    #[serde(rename = "type")]
    kind: Value,
    transform: Lenient<Transform>,
    metadata: Lenient<Metadata>,
    appearance: Lenient<Appearance>,
    #[serde(rename = "geometry-templates")]
    templates: Lenient<Templates>,
}

/// Any other line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Feature {
    #[serde(rename = "type")]
    kind: Value,
    vertices: List<Numbers<3>>,
    appearance: Lenient<Appearance>,
    #[serde(rename = "CityObjects")]
    objects: Entries<Lenient<Object>>,
}

/// The lines of a file that hold something.
struct Lines {
    file: BufReader<File>,
    line: Vec<u8>,
    line_number: u64,
    n_bytes: u64,
}

impl Lines {
    /// The next line, without what stands round it.
    fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let n_bytes = self.file.read_until(b'\n', &mut self.line)?;
            if n_bytes == 0 {
                return Ok(None);
            }
            self.line_number += 1;
            self.n_bytes += n_bytes as u64;
            if !trimmed(&self.line).is_empty() {
                return Ok(Some(trimmed(&self.line)));
            }
        }
    }
}

/// Without white space, the record separator, and a byte order mark.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    line.strip_prefix(b"\x1e").unwrap_or(line).trim_ascii()
}

impl CityJsonSeq {
    /// Opens a file and reads its first line. Its objects have ids, so that its place on the command line matters to
    /// none of them.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its first line is none of a sequence.
    pub fn open(path: &Path, _input: u32, read: ReadOptions, crs: CrsOptions) -> Result<Self, InputError> {
        let sequence = Self { path: path.to_owned(), read, crs: FileCrs::new(crs) };
        sequence.begin()?;
        Ok(sequence)
    }

    fn io(&self, error: std::io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), error }
    }

    fn malformed(&self, what: String) -> InputError {
        InputError::Malformed { path: self.path.clone(), what }
    }

    /// The lines behind the first, and the first.
    fn begin(&self) -> Result<(Lines, First), InputError> {
        let file = File::open(&self.path).map_err(|error| self.io(error))?;
        let mut lines = Lines { file: BufReader::new(file), line: Vec::new(), line_number: 0, n_bytes: 0 };
        let expected = "expected a line with \"type\": \"CityJSON\" before the features";
        let Some(line) = lines.next().map_err(|error| self.io(error))? else {
            return Err(self.malformed(format!("it is empty: {expected}")));
        };
        let first: First = serde_json::from_slice(line)
            .map_err(|error| self.malformed(format!("line 1 is malformed JSON: {error}; {expected}")))?;
        if first.kind.as_str() != Some("CityJSON") {
            return Err(self.malformed(format!("line 1 has the \"type\" {}: {expected}", first.kind)));
        }
        Ok((lines, first))
    }

    fn scene(&self, first: First) -> Result<Scene, InputError> {
        Ok(Scene {
            placer: self.crs.placer(&self.path, AxisRule::Traditional, first.metadata.0.crs(), None)?,
            transform: first.transform.0,
            vertices: List::default(),
            appearance: first.appearance.0,
            templates: first.templates.0,
        })
    }

    fn told_extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        let (_, first) = self.begin()?;
        let told = first.metadata.0.extent();
        let scene = self.scene(first)?;
        Ok(told.and_then(|extent| world_box(&scene.placer, extent)))
    }
}

impl Stream for CityJsonSeq {
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
        let (mut lines, first) = self.begin()?;
        let mut scene = self.scene(first)?;
        let of_all = scene.appearance.clone();
        let mut pourer = Pourer::new(&self.read, &self.path, wanted, sink);
        while let Some(line) = lines.next().map_err(|error| self.io(error))? {
            match serde_json::from_slice::<Feature>(line) {
                Ok(feature) if feature.kind.as_str() == Some("CityJSONFeature") => {
                    pour_feature(feature, &mut scene, &of_all, &mut pourer)?;
                }
                _ => pourer.sink.problem(&format!("line {}", lines.line_number), Problem::BadRecord),
            }
            pourer.sink.progress(lines.n_bytes);
        }
        pourer.misplaced.check(&self.path, wanted)
    }
}

/// Pours out the objects of a line. Vertices are the feature's own, and so are appearances where it has any.
fn pour_feature(
    feature: Feature,
    scene: &mut Scene,
    of_all: &Appearance,
    pourer: &mut Pourer,
) -> Result<(), InputError> {
    scene.vertices = feature.vertices;
    let Lenient(own) = feature.appearance;
    scene.appearance = if own.is_empty() { of_all.clone() } else { own };
    let summaries = feature.objects.0.iter();
    let summaries = summaries.map(|(id, Lenient(object))| (id.clone(), Lenient(Summary::of(object)))).collect();
    let nodes = nodes(Entries(summaries), &scene.templates, pourer.read);
    for (idx, (_, Lenient(object))) in feature.objects.0.iter().enumerate() {
        pourer.pour(scene, &nodes, idx, object)?;
    }
    Ok(())
}
