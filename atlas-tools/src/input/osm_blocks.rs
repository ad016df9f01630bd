//! The blocks of an `.osm.pbf` file, and the elements in them.
//!
//! Owns the format, down to its bytes. Receives a reader, yields blocks in a row, and of each its elements; tags are text
//! only where somebody asks. Every length is checked against the bytes that are there: the format's usual crate panics
//! on some that do not fit.
//!
//! ```text
//! u32 length, BlobHeader { type, datasize }, Blob { raw | raw_size, zlib_data }     again and again
//! PrimitiveBlock { stringtable, groups of nodes | dense nodes | ways | relations, granularity, offsets }
//! ```

use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use serde_json::Value as Json;

use super::MvtError;
use super::attributes::Attributes;
use super::protobuf::{Message, Value, zigzag};

/// Limits of the format.
const BLOB_HEADER_BYTES_MAX: u32 = 64 << 10;
const BLOB_BYTES_MAX: u64 = 32 << 20;

/// Blocks in a row.
pub(super) struct Blocks<R> {
    reader: R,
    position: u64,
}

/// A block of elements, no longer packed.
#[derive(Debug)]
pub(super) struct Block {
    /// The byte of the file at which it begins.
    pub(super) begin: u64,
    bytes: Vec<u8>,
}

/// An element of a block.
pub(super) enum Element<'a> {
    /// A node, without its tags: longitude and latitude in units of 1e-7 degrees.
    Node { id: i64, place: [i32; 2] },
    /// A way and its nodes.
    Way { id: i64, tags: Tags<'a>, refs: Vec<i64> },
    /// A relation and those of its members that are ways.
    Relation { id: i64, tags: Tags<'a>, ways: Vec<i64> },
}

/// Tags as numbers of texts.
pub(super) struct Tags<'a> {
    texts: &'a [&'a [u8]],
    keys: Vec<u64>,
    values: Vec<u64>,
}

impl Tags<'_> {
    /// The tags as text.
    pub(super) fn attributes(&self) -> Attributes {
        let text = |nth: u64| {
            let bytes = usize::try_from(nth).ok().and_then(|nth| self.texts.get(nth)).copied().unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        self.keys.iter().zip(&self.values).map(|(&key, &value)| (text(key), Json::String(text(value)))).collect()
    }
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, position: 0 }
    }

    /// Bytes that were read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next block of elements; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Block>, String> {
        loop {
            let begin = self.position;
            let at = |what: String| format!("byte {begin}: {what}");
            let mut length = Vec::new();
            self.take(4, &mut length).map_err(|error| at(error.to_string()))?;
            let length = match length.as_slice().try_into() {
                Ok(length) => u32::from_be_bytes(length),
                Err(_) if length.is_empty() => return Ok(None),
                Err(_) => return Err(at("the file is cut off".to_owned())),
            };
            if length > BLOB_HEADER_BYTES_MAX {
                return Err(at(format!("a blob header of {length} bytes: this is no OSM PBF file")));
            }
            let header = self.exactly(u64::from(length)).map_err(at)?;
            let (is_data, n_bytes) = blob_header(&header).map_err(|error| at(error.to_string()))?;
            if n_bytes > BLOB_BYTES_MAX {
                return Err(at(format!("a blob of {n_bytes} bytes: expected at most {BLOB_BYTES_MAX}")));
            }
            let blob = self.exactly(n_bytes).map_err(at)?;
            if is_data {
                return Ok(Some(Block { begin, bytes: unpacked(&blob).map_err(at)? }));
            }
        }
    }

    fn exactly(&mut self, n_bytes: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.take(n_bytes, &mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 == n_bytes { Ok(bytes) } else { Err("the file is cut off".to_owned()) }
    }

    fn take(&mut self, n_bytes: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let n_read = self.reader.by_ref().take(n_bytes).read_to_end(bytes)?;
        self.position += n_read as u64;
        Ok(())
    }
}

/// Whether a blob holds elements, and its size.
fn blob_header(bytes: &[u8]) -> Result<(bool, u64), MvtError> {
    let mut message = Message::new(bytes);
    let (mut is_data, mut n_bytes) = (false, 0);
    while let Some(field) = message.next_field()? {
        match field {
            (1, Value::Bytes(kind)) => is_data = kind == b"OSMData",
            (3, Value::Varint(size)) => n_bytes = size,
            _ => (),
        }
    }
    Ok((is_data, n_bytes))
}

fn unpacked(blob: &[u8]) -> Result<Vec<u8>, String> {
    let mut message = Message::new(blob);
    while let Some(field) = message.next_field().map_err(|error| error.to_string())? {
        match field {
            (1, Value::Bytes(raw)) => return Ok(raw.to_vec()),
            (3, Value::Bytes(packed)) => {
                let mut bytes = Vec::new();
                ZlibDecoder::new(packed)
                    .take(BLOB_BYTES_MAX + 1)
                    .read_to_end(&mut bytes)
                    .map_err(|error| format!("a blob does not inflate: {error}"))?;
                if bytes.len() as u64 > BLOB_BYTES_MAX {
                    return Err(format!("a blob inflates to more than {BLOB_BYTES_MAX} bytes"));
                }
                return Ok(bytes);
            }
            (4..=7, Value::Bytes(_)) => {
                return Err("a blob is packed with LZMA, LZ4 or Zstandard: expected deflate".to_owned());
            }
            _ => (),
        }
    }
    Err("a blob without content".to_owned())
}

/// How a block turns its numbers into degrees.
#[derive(Clone, Copy)]
struct Grid {
    /// Billionths of a degree.
    granularity: i64,
    lat_offset: i64,
    lon_offset: i64,
}

impl Grid {
    fn place(self, lon: i64, lat: i64) -> [i32; 2] {
        let unit = |offset: i64, number: i64| {
            let billionths = offset.saturating_add(self.granularity.saturating_mul(number));
            // What lies off the globe is clamped here and found out when it is placed.
            (billionths / 100).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
        };
        [unit(self.lon_offset, lon), unit(self.lat_offset, lat)]
    }
}

impl Block {
    /// Visits the elements in their order.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(Element<'_>)) -> Result<(), MvtError> {
        let mut texts = Vec::new();
        let mut groups = Vec::new();
        let mut grid = Grid { granularity: 100, lat_offset: 0, lon_offset: 0 };
        let mut message = Message::new(&self.bytes);
        while let Some(field) = message.next_field()? {
            match field {
                (1, Value::Bytes(table)) => {
                    let mut table = Message::new(table);
                    while let Some(text) = table.next_field()? {
                        if let (1, Value::Bytes(text)) = text {
                            texts.push(text);
                        }
                    }
                }
                (2, Value::Bytes(group)) => groups.push(group),
                (17, Value::Varint(granularity)) => grid.granularity = granularity as i64,
                (19, Value::Varint(offset)) => grid.lat_offset = offset as i64,
                (20, Value::Varint(offset)) => grid.lon_offset = offset as i64,
                _ => (),
            }
        }
        for group in groups {
            let mut group = Message::new(group);
            while let Some(field) = group.next_field()? {
                match field {
                    (1, Value::Bytes(node)) => self::node(node, grid, visit)?,
                    (2, Value::Bytes(nodes)) => dense(nodes, grid, visit)?,
                    (3, Value::Bytes(way)) => self::way(way, &texts, visit)?,
                    (4, Value::Bytes(relation)) => self::relation(relation, &texts, visit)?,
                    _ => (),
                }
            }
        }
        Ok(())
    }
}

fn node(bytes: &[u8], grid: Grid, visit: &mut dyn FnMut(Element<'_>)) -> Result<(), MvtError> {
    let [mut id, mut lat, mut lon] = [0; 3];
    let mut message = Message::new(bytes);
    while let Some(field) = message.next_field()? {
        match field {
            (1, Value::Varint(number)) => id = zigzag(number),
            (8, Value::Varint(number)) => lat = zigzag(number),
            (9, Value::Varint(number)) => lon = zigzag(number),
            _ => (),
        }
    }
    visit(Element::Node { id, place: grid.place(lon, lat) });
    Ok(())
}

fn dense(bytes: &[u8], grid: Grid, visit: &mut dyn FnMut(Element<'_>)) -> Result<(), MvtError> {
    let [mut ids, mut lats, mut lons] = [Message::new(&[]); 3];
    let mut message = Message::new(bytes);
    while let Some(field) = message.next_field()? {
        match field {
            (1, Value::Bytes(packed)) => ids = Message::new(packed),
            (8, Value::Bytes(packed)) => lats = Message::new(packed),
            (9, Value::Bytes(packed)) => lons = Message::new(packed),
            _ => (),
        }
    }
    let [mut id, mut lat, mut lon] = [0_i64; 3];
    while let (Some(id_step), Some(lat_step), Some(lon_step)) =
        (ids.next_packed()?, lats.next_packed()?, lons.next_packed()?)
    {
        id = id.wrapping_add(zigzag(id_step));
        lat = lat.wrapping_add(zigzag(lat_step));
        lon = lon.wrapping_add(zigzag(lon_step));
        visit(Element::Node { id, place: grid.place(lon, lat) });
    }
    Ok(())
}

fn way(bytes: &[u8], texts: &[&[u8]], visit: &mut dyn FnMut(Element<'_>)) -> Result<(), MvtError> {
    let mut id = 0;
    let mut tags = Tags { texts, keys: Vec::new(), values: Vec::new() };
    let mut refs = Vec::new();
    let mut message = Message::new(bytes);
    while let Some(field) = message.next_field()? {
        match field {
            (1, Value::Varint(number)) => id = number as i64,
            (2, Value::Bytes(packed)) => tags.keys = numbers(packed)?,
            (3, Value::Bytes(packed)) => tags.values = numbers(packed)?,
            (8, Value::Bytes(packed)) => refs = sums(packed)?,
            _ => (),
        }
    }
    visit(Element::Way { id, tags, refs });
    Ok(())
}

fn relation(bytes: &[u8], texts: &[&[u8]], visit: &mut dyn FnMut(Element<'_>)) -> Result<(), MvtError> {
    let mut id = 0;
    let mut tags = Tags { texts, keys: Vec::new(), values: Vec::new() };
    let (mut members, mut kinds) = (Vec::new(), Vec::new());
    let mut message = Message::new(bytes);
    while let Some(field) = message.next_field()? {
        match field {
            (1, Value::Varint(number)) => id = number as i64,
            (2, Value::Bytes(packed)) => tags.keys = numbers(packed)?,
            (3, Value::Bytes(packed)) => tags.values = numbers(packed)?,
            (9, Value::Bytes(packed)) => members = sums(packed)?,
            (10, Value::Bytes(packed)) => kinds = numbers(packed)?,
            _ => (),
        }
    }
    // Kinds: 0 is a node, 1 a way, 2 a relation.
    let ways = members.into_iter().zip(kinds).filter(|&(_, kind)| kind == 1).map(|(id, _)| id).collect();
    visit(Element::Relation { id, tags, ways });
    Ok(())
}

fn numbers(packed: &[u8]) -> Result<Vec<u64>, MvtError> {
    let mut message = Message::new(packed);
    let mut numbers = Vec::new();
    while let Some(number) = message.next_packed()? {
        numbers.push(number);
    }
    Ok(numbers)
}

/// Numbers of which each is written as its difference to the one before.
fn sums(packed: &[u8]) -> Result<Vec<i64>, MvtError> {
    let mut sum = 0_i64;
    let step = |step: u64| {
        sum = sum.wrapping_add(zigzag(step));
        sum
    };
    Ok(numbers(packed)?.into_iter().map(step).collect())
}
