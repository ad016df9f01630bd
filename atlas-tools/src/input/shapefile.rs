//! Shapefiles: `.shp` with its `.dbf`, `.prj` and `.cpg` beside it.
//!
//! Owns the reading of shapes, and the joining with the rows of the table. Yields footprints; heights of points are passed
//! over, and a multipatch gives the outline of its faces from above. No `.shx` is needed: shapes lie in a row. Records
//! that are damaged are passed over one by one, as their lengths say where the next begins.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::dbf::Table;
use super::extent;
use super::footprint::{Flat, Footprints, Shape, label};
use super::osm_tags::what_of_any;
use super::{FeatureId, InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

/// Bytes of the header.
const HEADER_BYTES: u64 = 100;

/// A record of more bytes is none.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// Longest `.prj` that is read.
const PRJ_BYTES_MAX: u64 = 1 << 16;

/// A shapefile.
#[derive(Debug)]
pub struct Shapefile {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    options: ReadOptions,
    placer: Placer,
}

impl Shapefile {
    /// Opens a `.shp`, with what lies beside it. `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// It cannot be read or is no shapefile, or no CRS is named.
    pub fn open(path: &Path, input: u32, options: ReadOptions, crs: &CrsOptions) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let malformed = |what: String| InputError::Malformed { path: path.to_owned(), what };
        let mut file = File::open(path).map_err(io)?;
        let mut header = [0; HEADER_BYTES as usize];
        let is_whole = file.read_exact(&mut header).is_ok();
        if !is_whole || header.get(..4) != Some(&9994_u32.to_be_bytes()) {
            return Err(malformed(
                "no shapefile: expected a header of 100 bytes that begins with 00 00 27 0A".to_owned(),
            ));
        }
        let prj = beside(path, "prj").and_then(|path| {
            let mut text = String::new();
            File::open(path).ok()?.take(PRJ_BYTES_MAX).read_to_string(&mut text).ok()?;
            Some(text)
        });
        let placer = crs.placer(AxisRule::Traditional, prj.as_deref(), None).map_err(|error| error.in_file(path))?;
        Ok(Self { path: path.to_owned(), input, options, placer })
    }

    /// The CRS, for messages.
    pub fn placer(&self) -> &Placer {
        &self.placer
    }

    fn pour(
        &self,
        nth: u64,
        bytes: &[u8],
        table: Option<&mut Table>,
        footprints: &mut Footprints<'_>,
    ) -> Result<(), InputError> {
        let id = FeatureId::Nth { input: self.input, nth };
        let label = label(id, "");
        let sink = &mut *footprints.sink;
        let attributes = match table {
            Some(table) => table.row(nth, &mut |problem| sink.problem(&label, problem)),
            None => Some(Vec::new()),
        };
        let Some(attributes) = attributes else { return Ok(()) };
        let Some(geometry) = shape(bytes) else {
            footprints.sink.problem(&label, Problem::BadRecord);
            return Ok(());
        };
        match what_of_any(&attributes, !geometry.polygons.is_empty()) {
            Some(what) => footprints.add(Shape { id, name: String::new(), attributes, geometry }, what),
            None => Ok(()),
        }
    }
}

impl Stream for Shapefile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// From a walk over the file: the header's box is in its own CRS, where a box may be no box in ours.
    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn placers(&self) -> Vec<Placer> {
        vec![self.placer.clone().without_heights()]
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let file = File::open(&self.path).map_err(io)?;
        let n_bytes = file.metadata().map_err(io)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        reader.seek(SeekFrom::Start(HEADER_BYTES)).map_err(io)?;
        let dbf = beside(&self.path, "dbf");
        let mut table = match &dbf {
            Some(dbf) => {
                Some(Table::open(dbf, beside(&self.path, "cpg").as_deref(), self.options.encoding.as_deref())?)
            }
            None => None,
        };
        let mut footprints = Footprints::new(&self.path, &self.placer, &self.options, wanted, sink);
        let mut at = HEADER_BYTES;
        let mut nth = 0;
        let mut content = Vec::new();
        while n_bytes - at >= 8 {
            let mut head = [0; 8];
            reader.read_exact(&mut head).map_err(io)?;
            // The number of the record says nothing that its order does not; its length counts words of two bytes.
            let [_, _, _, _, a, b, c, d] = head;
            let length = u64::from(u32::from_be_bytes([a, b, c, d])) * 2;
            at += 8;
            if length > (n_bytes - at).min(RECORD_BYTES_MAX) {
                footprints.sink.problem(&format!("#{nth}"), Problem::BadRecord);
                break;
            }
            content.resize(length as usize, 0);
            reader.read_exact(&mut content).map_err(io)?;
            at += length;
            self.pour(nth, &content, table.as_mut(), &mut footprints)?;
            nth += 1;
            if nth % 1024 == 0 {
                footprints.sink.progress(at);
            }
        }
        footprints.sink.progress(n_bytes);
        footprints.finish()
    }
}

/// A file of the same name beside a shapefile, in small or in capital letters.
fn beside(path: &Path, extension: &str) -> Option<PathBuf> {
    let candidates = [path.with_extension(extension), path.with_extension(extension.to_ascii_uppercase())];
    candidates.into_iter().find(|path| path.is_file())
}

/// The geometry of a record, or nothing where its counts do not fit its bytes.
///
/// ```text
///   0  i32 kind   4  4 f64 box   36  i32 parts   40  i32 points   44  parts ..., points of 2 f64 ..., then heights, measures
/// ```
fn shape(bytes: &[u8]) -> Option<Flat> {
    let kind = int(bytes, 0)?;
    let mut flat = Flat::default();
    match kind {
        0 => (),
        3 | 13 | 23 => flat.lines = parts(bytes, 44)?.into_iter().map(|(_, points)| points).collect(),
        5 | 15 | 25 => {
            let rings: Vec<_> = parts(bytes, 44)?.into_iter().map(|(_, points)| points).collect();
            if !rings.is_empty() {
                // Outer rings run clockwise and holes do not; the even-odd rule needs neither to be told.
                flat.polygons.push(rings);
            }
        }
        31 => flat.polygons = faces(bytes)?,
        1 | 8 | 11 | 18 | 21 | 28 => flat.has_others = true,
        _ => return None,
    }
    Some(flat)
}

/// The faces of a multipatch: strips and fans as triangles, rings as they are.
fn faces(bytes: &[u8]) -> Option<Vec<Vec<Vec<[f64; 3]>>>> {
    let n_parts = usize::try_from(int(bytes, 36)?).ok()?;
    let kinds_at = 44 + 4 * n_parts.min(bytes.len());
    let mut faces: Vec<Vec<Vec<[f64; 3]>>> = Vec::new();
    for (nth, points) in parts(bytes, kinds_at + 4 * n_parts.min(bytes.len()))? {
        match int(bytes, kinds_at + 4 * nth)? {
            0 => faces.extend(points.windows(3).map(|corners| vec![corners.to_vec()])),
            1 => {
                let Some((&hub, rim)) = points.split_first() else { continue };
                faces.extend(rim.windows(2).map(|pair| vec![[&[hub], pair].concat()]));
            }
            3 => match faces.last_mut() {
                Some(face) => face.push(points),
                None => faces.push(vec![points]),
            },
            2 | 4 | 5 => faces.push(vec![points]),
            _ => return None,
        }
    }
    // A wall seen from above is a line: it covers nothing and is no fault.
    faces.retain(|face| face.iter().any(|ring| has_area(ring)));
    Some(faces)
}

fn has_area(ring: &[[f64; 3]]) -> bool {
    let Some(&[x0, y0, _]) = ring.first() else { return false };
    let twice: f64 =
        ring.windows(2).map(|pair| (pair[0][0] - x0) * (pair[1][1] - y0) - (pair[1][0] - x0) * (pair[0][1] - y0)).sum();
    twice.abs() > 0.0
}

/// The parts of a record whose points begin at a byte, with their numbers; parts without points are left out.
fn parts(bytes: &[u8], points_at_least: usize) -> Option<Vec<(usize, Vec<[f64; 3]>)>> {
    let n_parts = usize::try_from(int(bytes, 36)?).ok()?;
    let n_points = usize::try_from(int(bytes, 40)?).ok()?;
    let points_at = points_at_least.max(44_usize.checked_add(n_parts.checked_mul(4)?)?);
    let points = bytes.get(points_at..points_at.checked_add(n_points.checked_mul(16)?)?)?;
    let starts: Vec<usize> =
        (0..n_parts).map(|part| usize::try_from(int(bytes, 44 + 4 * part)?).ok()).collect::<Option<_>>()?;
    let point = |point: &[u8]| [number(point, 0), number(point, 8), 0.0];
    let mut parts = Vec::with_capacity(n_parts);
    for (nth, &start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(n_points);
        let part = points.get(start.checked_mul(16)?..end.checked_mul(16)?)?;
        if !part.is_empty() {
            parts.push((nth, part.chunks_exact(16).map(point).collect()));
        }
    }
    Some(parts)
}

fn int(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A number of a slice that is long enough; else it lies nowhere.
fn number(bytes: &[u8], at: usize) -> f64 {
    bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map_or(f64::NAN, f64::from_le_bytes)
}

#[cfg(test)]
#[path = "shapefile_tests.rs"]
mod tests;
