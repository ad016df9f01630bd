//! `FlatGeobuf`: features in a row, with a tree of their boxes before them.
//!
//! Owns the walk: header, tree, features. Where only a part is wanted, the tree says which features lie there, and the
//! others are never read. Every feature is verified before it is looked into, and no length is believed that the file
//! cannot hold.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flatgeobuf::{
    Feature, Geometry, GeometryType, Header, size_prefixed_root_as_feature, size_prefixed_root_as_header,
};

use super::boxes::{may_meet, world_box};
use super::extent;
use super::fgb_properties::{Column, columns, properties};
use super::footprint::{Flat, Footprints, Shape, label};
use super::geojson::named;
use super::osm_tags::what_of_any;
use super::{ByteRanges, InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

/// A header of more bytes is none.
const HEADER_BYTES_MAX: u64 = 10 << 20;

/// A feature of more bytes is none.
const FEATURE_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a node of the tree: a box of four numbers, and an offset.
const NODE_BYTES: u64 = 40;

/// A `FlatGeobuf` file.
#[derive(Debug)]
pub struct FlatGeobuf {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    options: ReadOptions,
    placer: Placer,
    geometry_type: GeometryType,
    columns: Vec<Column>,
    /// x and y of the header's box: least, then greatest.
    envelope: Option<[f64; 4]>,
    n_features: u64,
    /// Nodes below one of the tree; 0 where there is no tree.
    node_size: u64,
    tree_begin: u64,
    features_begin: u64,
    n_bytes: u64,
}

impl FlatGeobuf {
    /// Opens a file and reads its header. `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no `FlatGeobuf`, or no CRS is named.
    pub fn open(path: &Path, input: u32, options: ReadOptions, crs: &CrsOptions) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let malformed = |what: String| InputError::Malformed { path: path.to_owned(), what };
        let mut file = File::open(path).map_err(io)?;
        let n_bytes = file.metadata().map_err(io)?.len();
        let mut start = [0; 12];
        let is_whole = file.read_exact(&mut start).is_ok();
        let [magic @ .., a, b, c, d] = start;
        if !is_whole || !matches!(magic, [b'f', b'g', b'b', 3, b'f', b'g', b'b', _]) {
            return Err(malformed(
                "no FlatGeobuf of version 3: expected a file that begins with \"fgb\\x03\"".to_owned(),
            ));
        }
        let header_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        if header_bytes > HEADER_BYTES_MAX.min(n_bytes.saturating_sub(12)) {
            return Err(malformed(format!("a header of {header_bytes} bytes in a file of {n_bytes}: it is cut off")));
        }
        let mut buffer = vec![a, b, c, d];
        buffer.resize(4 + header_bytes as usize, 0);
        file.read_exact(&mut buffer[4..]).map_err(io)?;
        let header =
            size_prefixed_root_as_header(&buffer).map_err(|error| malformed(format!("the header: {error}")))?;
        let placer =
            crs.placer(AxisRule::Traditional, crs_of(&header).as_deref(), None).map_err(|error| error.in_file(path))?;
        let tree_begin = 12 + header_bytes;
        let [n_features, node_size] = [header.features_count(), u64::from(header.index_node_size())];
        let tree_bytes = tree_bytes(n_features, node_size)
            .filter(|&bytes| bytes <= n_bytes - tree_begin)
            .ok_or_else(|| malformed(format!("{n_features} features in {n_bytes} bytes: the tree is cut off")))?;
        let envelope = header.envelope().filter(|envelope| envelope.len() >= 4);
        Ok(Self {
            path: path.to_owned(),
            input,
            options,
            placer,
            geometry_type: header.geometry_type(),
            columns: columns(&header),
            envelope: envelope.map(|envelope| [envelope.get(0), envelope.get(1), envelope.get(2), envelope.get(3)]),
            n_features,
            node_size,
            tree_begin,
            features_begin: tree_begin + tree_bytes,
            n_bytes,
        })
    }

    /// The CRS, for messages.
    pub fn placer(&self) -> &Placer {
        &self.placer
    }

    /// Where the wanted features begin, counted from the first, in the order of the file; `None`: all are read in a row.
    fn wanted_offsets(&self, reader: &mut (impl Read + Seek), wanted: &Wanted) -> std::io::Result<Option<Vec<u64>>> {
        if wanted.boxes.is_empty() || self.node_size == 0 || self.n_features == 0 {
            return Ok(None);
        }
        let sizes = level_sizes(self.n_features, self.node_size);
        // The levels lie in the file from the root to the leaves.
        let mut begin = self.tree_begin;
        let root = 0_u64..1;
        let mut groups = vec![root];
        let mut offsets = Vec::new();
        for (depth, &size) in sizes.iter().enumerate().rev() {
            let below = depth.checked_sub(1).and_then(|depth| sizes.get(depth));
            let mut next = Vec::new();
            for group in groups {
                let mut nodes = vec![0; ((group.end - group.start) * NODE_BYTES) as usize];
                reader.seek(SeekFrom::Start(begin + group.start * NODE_BYTES))?;
                reader.read_exact(&mut nodes)?;
                for (nth, node) in (group.start..).zip(nodes.chunks_exact(NODE_BYTES as usize)) {
                    if !may_meet(&self.placer, wanted, std::array::from_fn(|at| float(node, at))) {
                        continue;
                    }
                    match below {
                        Some(&n_below) => next.push(nth * self.node_size..((nth + 1) * self.node_size).min(n_below)),
                        None => offsets.push(u64::from_le_bytes(float(node, 4).to_le_bytes())),
                    }
                }
            }
            groups = next;
            begin += size * NODE_BYTES;
        }
        offsets.sort_unstable();
        Ok(Some(offsets))
    }

    /// Reads the feature at an offset, and pours it. Yields where the next begins; none where the file ends.
    fn pour(
        &self,
        reader: &mut (impl Read + Seek),
        offset: u64,
        buffer: &mut Vec<u8>,
        footprints: &mut Footprints<'_>,
    ) -> Result<Option<u64>, InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let left = self.n_bytes.saturating_sub(self.features_begin).saturating_sub(offset);
        if left < 4 {
            return Ok(None);
        }
        buffer.resize(4, 0);
        reader.read_exact(buffer).map_err(io)?;
        let length = buffer.as_slice().try_into().map_or(0, u32::from_le_bytes);
        if u64::from(length) > (left - 4).min(FEATURE_BYTES_MAX) {
            footprints.sink.problem(&format!("at byte {}", self.features_begin + offset), Problem::BadRecord);
            return Ok(None);
        }
        buffer.resize(4 + length as usize, 0);
        reader.read_exact(&mut buffer[4..]).map_err(io)?;
        match size_prefixed_root_as_feature(buffer) {
            Ok(feature) => self.pour_feature(&feature, offset, footprints)?,
            Err(_) => {
                footprints.sink.problem(&format!("at byte {}", self.features_begin + offset), Problem::BadRecord);
            }
        }
        Ok(Some(offset + 4 + u64::from(length)))
    }

    fn pour_feature(
        &self,
        feature: &Feature<'_>,
        offset: u64,
        footprints: &mut Footprints<'_>,
    ) -> Result<(), InputError> {
        let bytes = feature.properties().map(|properties| properties.bytes()).unwrap_or_default();
        let own = feature.columns().map(super::fgb_properties::own_columns);
        let (attributes, is_whole) = properties(bytes, own.as_deref().unwrap_or(&self.columns));
        let (id, name) = named(&serde_json::Value::Null, &attributes, self.input, offset);
        if !is_whole {
            footprints.sink.problem(&label(id, &name), Problem::BadAttribute);
        }
        let mut geometry = Flat::default();
        let is_read = feature.geometry().is_none_or(|from| flatten(&from, self.geometry_type, &mut geometry).is_some());
        if !is_read {
            footprints.sink.problem(&label(id, &name), Problem::BadRecord);
            return Ok(());
        }
        match what_of_any(&attributes, !geometry.polygons.is_empty()) {
            Some(what) => footprints.add(Shape { id, name, attributes, geometry }, what),
            None => Ok(()),
        }
    }
}

impl Stream for FlatGeobuf {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        match self.envelope.filter(|_| self.placer.keeps_boxes()) {
            Some(envelope) => match world_box(&self.placer, envelope) {
                Some(world_box) => Ok(Some(world_box)),
                None => extent::walk(self),
            },
            None => extent::walk(self),
        }
    }

    fn bytes(&self, wanted: &Wanted) -> Result<Option<ByteRanges>, InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let mut reader = BufReader::with_capacity(1 << 16, File::open(&self.path).map_err(io)?);
        let Some(offsets) = self.wanted_offsets(&mut reader, wanted).map_err(io)? else { return Ok(None) };
        let mut ranges = Vec::with_capacity(1 + offsets.len());
        ranges.push(0..self.features_begin);
        for offset in offsets {
            let begin = self.features_begin.saturating_add(offset);
            // What the tree points to beyond the file is passed over when it is read.
            if begin.saturating_add(4) > self.n_bytes {
                continue;
            }
            let mut length = [0; 4];
            reader.seek(SeekFrom::Start(begin)).and_then(|_| reader.read_exact(&mut length)).map_err(io)?;
            ranges.push(begin..(begin + 4 + u64::from(u32::from_le_bytes(length))).min(self.n_bytes));
        }
        Ok(Some(ranges.into_iter().collect()))
    }

    fn placers(&self) -> Vec<Placer> {
        vec![self.placer.clone().without_heights()]
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let mut reader = BufReader::with_capacity(1 << 16, File::open(&self.path).map_err(io)?);
        let offsets = self.wanted_offsets(&mut reader, wanted).map_err(io)?;
        let mut footprints = Footprints::new(&self.path, &self.placer, &self.options, wanted, sink);
        let mut buffer = Vec::new();
        let mut told = 0;
        let mut at = 0;
        reader.seek(SeekFrom::Start(self.features_begin)).map_err(io)?;
        let mut offsets = offsets.map(Vec::into_iter);
        loop {
            if let Some(offsets) = &mut offsets {
                let Some(offset) = offsets.next() else { break };
                if offset != at {
                    let begin = self.features_begin.saturating_add(offset);
                    reader.seek(SeekFrom::Start(begin.min(self.n_bytes))).map_err(io)?;
                    at = offset;
                }
            }
            let Some(next) = self.pour(&mut reader, at, &mut buffer, &mut footprints)? else {
                if offsets.is_some() {
                    // The tree points beyond the file, or into the middle of a feature: others may still be good.
                    at = u64::MAX;
                    continue;
                }
                break;
            };
            at = next;
            let position = self.features_begin + at;
            if position >= told + (1 << 20) {
                told = position;
                footprints.sink.progress(position);
            }
        }
        footprints.sink.progress(self.n_bytes);
        footprints.finish()
    }
}

/// The CRS of a header: its code, or its text.
fn crs_of(header: &Header<'_>) -> Option<String> {
    let crs = header.crs()?;
    let org = crs.org().filter(|org| !org.is_empty()).unwrap_or("EPSG");
    let code = crs.code_string().map(str::to_owned).or_else(|| (crs.code() > 0).then(|| crs.code().to_string()));
    code.map(|code| format!("{org}:{code}")).or_else(|| crs.wkt().map(str::to_owned))
}

/// The levels of the tree, from the leaves to the root.
fn level_sizes(n_features: u64, node_size: u64) -> Vec<u64> {
    let mut sizes = vec![n_features];
    let mut size = n_features;
    while size > 1 || sizes.len() < 2 {
        size = size.div_ceil(node_size);
        sizes.push(size);
    }
    sizes
}

/// Bytes of the tree, none where they are beyond counting; nothing without a tree.
fn tree_bytes(n_features: u64, node_size: u64) -> Option<u64> {
    match node_size {
        0 => Some(0),
        _ if n_features == 0 => Some(0),
        1 => None,
        _ => level_sizes(n_features, node_size).into_iter().try_fold(0_u64, u64::checked_add)?.checked_mul(NODE_BYTES),
    }
}

/// The nth number of a node.
fn float(node: &[u8], nth: usize) -> f64 {
    node.get(8 * nth..8 * nth + 8).and_then(|field| field.try_into().ok()).map_or(f64::NAN, f64::from_le_bytes)
}

/// Appends the polygons and lines of a geometry; none where its parts do not fit.
fn flatten(geometry: &Geometry<'_>, of_header: GeometryType, flat: &mut Flat) -> Option<()> {
    let kind = if of_header == GeometryType::Unknown { geometry.type_() } else { of_header };
    match kind {
        GeometryType::Polygon => {
            let rings = runs(geometry)?;
            if !rings.is_empty() {
                flat.polygons.push(rings);
            }
        }
        GeometryType::LineString | GeometryType::MultiLineString => flat.lines.extend(runs(geometry)?),
        GeometryType::MultiPolygon | GeometryType::GeometryCollection => {
            let of_parts =
                if kind == GeometryType::MultiPolygon { GeometryType::Polygon } else { GeometryType::Unknown };
            for part in geometry.parts().into_iter().flatten() {
                flatten(&part, of_parts, flat)?;
            }
        }
        // Points, curves and surfaces in space: nothing that has a footprint.
        _ => flat.has_others = true,
    }
    Some(())
}

/// The runs of points of a geometry, as its ends part them.
fn runs(geometry: &Geometry<'_>) -> Option<Vec<Vec<[f64; 3]>>> {
    let Some(xy) = geometry.xy() else { return Some(Vec::new()) };
    let points: Vec<[f64; 3]> = (0..xy.len() / 2).map(|nth| [xy.get(2 * nth), xy.get(2 * nth + 1), 0.0]).collect();
    if points.is_empty() {
        return Some(Vec::new());
    }
    let Some(ends) = geometry.ends().filter(|ends| !ends.is_empty()) else { return Some(vec![points]) };
    let mut begin = 0;
    ends.iter()
        .map(|end| {
            let run = points.get(begin..end as usize)?.to_vec();
            begin = end as usize;
            Some(run)
        })
        .collect()
}

#[cfg(test)]
#[path = "flatgeobuf_tests.rs"]
mod tests;
