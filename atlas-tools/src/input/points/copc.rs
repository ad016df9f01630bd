//! The octree of a COPC file: which points lie where, and those of one node.
//!
//! Reads the pages of the hierarchy itself and believes no size or reference in them: where they are not sound, the file
//! is the LAZ that it is. A node is unpacked on its own, from where the hierarchy says that it lies; the file's table of
//! chunks is for those who read from the first point to the last.
//!
//! ```text
//! info record: centre, half of the edge, spacing, offset and size of the root page, ...
//! page: entries of 32 bytes: level, x, y, z; offset u64; size i32; points i32 (-1: a page further down)
//! chunk: a point | number of points u32 | size of each layer u32 ... | layers
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ::las::Header;
use ::las::copc::CopcInfoVlr;
use laz::record::{LayeredPointRecordDecompressor, RecordDecompressor as _};
use laz::{LazItem, LazItemType};

use super::file::guarded;
use crate::input::InputError;

/// Bytes of an entry: a key of four numbers, an offset, a size, a count.
const ENTRY_BYTES: u64 = 32;

/// Points of a node, at most: a node is unpacked whole. Usual ones have less than 100,000.
const NODE_POINTS_MAX: i32 = 1 << 22;

/// Levels of the octree, at most: its finest nodes have edges of a billionth of the whole.
const LEVEL_MAX: i32 = 30;

/// A node of the octree that has points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The file's own coordinates: the least x and y, the greatest x and y.
    pub(super) bounds: [f64; 4],
    pub(super) n_points: u32,
    offset: u64,
    n_bytes: u32,
}

impl Node {
    /// Its bytes in the file.
    pub(super) fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(u64::from(self.n_bytes))
    }
}

/// The nodes of a file in the order in which they lie in it; `None` where the hierarchy is not sound.
pub(super) fn nodes(path: &Path, header: &Header) -> Option<Vec<Node>> {
    let info = header.copc_info_vlr()?;
    let record = header.vlrs().iter().find(|record| record.is_copc_info())?;
    let number = |at: usize| Some(u64::from_le_bytes(record.data.get(at..at + 8)?.try_into().ok()?));
    let mut file = File::open(path).ok()?;
    let file_bytes = file.metadata().ok()?.len();
    let mut pages = vec![(number(40)?, number(48)?)];
    let (mut seen, mut nodes) = (BTreeSet::new(), Vec::new());
    let mut n_entries = 0;
    while let Some((offset, size)) = pages.pop() {
        n_entries += size / ENTRY_BYTES;
        // Each page once, and no more of them than fit the file.
        if !seen.insert(offset) || offset.checked_add(size)? > file_bytes || n_entries > file_bytes / ENTRY_BYTES {
            return None;
        }
        let mut page = vec![0; usize::try_from(size).ok()?];
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.read_exact(&mut page).ok()?;
        for entry in page.chunks_exact(ENTRY_BYTES as usize) {
            let (key, offset, size, n_points) = read_entry(entry);
            match n_points {
                -1 => pages.push((offset, u64::try_from(size).ok()?)),
                0 => (),
                1..=NODE_POINTS_MAX => nodes.push(Node {
                    bounds: bounds(header, &info, key)?,
                    n_points: n_points.unsigned_abs(),
                    offset,
                    n_bytes: u32::try_from(size).ok()?,
                }),
                _ => return None,
            }
        }
    }
    nodes.sort_by_key(|node| node.offset);
    is_whole(&nodes, header, file_bytes).then_some(nodes)
}

/// The node that holds points from all over a file: the largest.
pub(super) fn root(path: &Path, header: &Header) -> Option<Node> {
    let width = |node: &Node| node.bounds[2] - node.bounds[0];
    nodes(path, header)?.into_iter().max_by(|a, b| width(a).total_cmp(&width(b)))
}

/// Whether nodes hold all points of a file, each once, in bytes of their own, as only the newer formats are packed.
fn is_whole(nodes: &[Node], header: &Header, file_bytes: u64) -> bool {
    let mut end = 0;
    let is_apart = nodes.iter().all(|node| {
        let is_behind = node.offset >= end;
        end = node.offset.saturating_add(u64::from(node.n_bytes));
        is_behind && end <= file_bytes
    });
    is_apart
        && header.point_format().is_extended
        && nodes.iter().map(|node| u64::from(node.n_points)).sum::<u64>() == header.number_of_points()
}

fn read_entry(bytes: &[u8]) -> ([i32; 4], u64, i32, i32) {
    let int = |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let offset = u64::from(int(16).cast_unsigned()) | u64::from(int(20).cast_unsigned()) << 32;
    ([int(0), int(4), int(8), int(12)], offset, int(24), int(28))
}

/// The box of a node, and a step of the file's coordinates round it: they are rounded after the points were shared out.
fn bounds(header: &Header, info: &CopcInfoVlr, [level, x, y, _]: [i32; 4]) -> Option<[f64; 4]> {
    if !(0..=LEVEL_MAX).contains(&level) {
        return None;
    }
    let edge = 2.0 * info.halfsize / f64::from(1u32 << level);
    let (west, south) = (info.center_x - info.halfsize, info.center_y - info.halfsize);
    let (west, south) = (west + f64::from(x) * edge, south + f64::from(y) * edge);
    let [dx, dy] = [header.transforms().x.scale.abs(), header.transforms().y.scale.abs()];
    Some([west - dx, south - dy, west + edge + dx, south + edge + dy])
}

/// The packed points of a file.
pub(super) struct Chunks {
    path: PathBuf,
    file: File,
    items: Vec<LazItem>,
    record_bytes: usize,
    packed: Vec<u8>,
    records: Vec<u8>,
}

impl Chunks {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or does not say how its points are packed.
    pub(super) fn open(path: &Path, header: &Header) -> Result<Self, InputError> {
        let file = File::open(path).map_err(|error| InputError::Io { path: path.to_owned(), error })?;
        let items = guarded(path, || header.laz_vlr())?.items().clone();
        let record_bytes = usize::from(header.point_format().len());
        Ok(Self { path: path.to_owned(), file, items, record_bytes, packed: Vec::new(), records: Vec::new() })
    }

    /// The records of a node.
    ///
    /// # Errors
    ///
    /// They cannot be read, or are not what the hierarchy says.
    pub(super) fn read(&mut self, node: &Node) -> Result<&[u8], InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        self.file.seek(SeekFrom::Start(node.offset)).map_err(io)?;
        self.packed.resize(node.n_bytes as usize, 0);
        self.file.read_exact(&mut self.packed).map_err(io)?;
        if !self.is_chunk_of(node) {
            let what =
                format!("byte {}: no chunk of {} packed points, as the octree has it", node.offset, node.n_points);
            return Err(InputError::Malformed { path: self.path.clone(), what });
        }
        self.records.resize(node.n_points as usize * self.record_bytes, 0);
        let (packed, records, items) = (&self.packed, &mut self.records, &self.items);
        guarded(&self.path, || {
            let mut unpacker = LayeredPointRecordDecompressor::new(Cursor::new(packed.as_slice()));
            unpacker.set_fields_from(items)?;
            unpacker.decompress_many(records)?;
            Ok(())
        })?;
        Ok(&self.records)
    }

    /// Whether the head of a chunk fits the node and its bytes: the `laz` crate takes room for layers of any size.
    fn is_chunk_of(&self, node: &Node) -> bool {
        let numbers = self.packed.get(self.record_bytes..).unwrap_or_default().chunks_exact(4);
        let mut numbers = numbers.map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
        if numbers.next() != Some(node.n_points) {
            return false;
        }
        let n_layers: usize = self.items.iter().copied().map(n_layers).sum();
        let sizes: Vec<u64> = numbers.take(n_layers).map(u64::from).collect();
        let head_bytes = self.record_bytes + 4 + 4 * n_layers;
        sizes.len() == n_layers && head_bytes as u64 + sizes.iter().sum::<u64>() <= u64::from(node.n_bytes)
    }
}

/// Layers of a chunk in which a part of a record is packed.
fn n_layers(item: LazItem) -> usize {
    match item.item_type() {
        LazItemType::Point14 => 9,
        LazItemType::RGBNIR14 => 2,
        LazItemType::Byte14(n_bytes) => usize::from(n_bytes),
        _ => 1,
    }
}

#[cfg(test)]
#[path = "copc_tests.rs"]
mod tests;
