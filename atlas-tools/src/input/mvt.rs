//! Mapbox vector tiles, version 1 and 2: bytes to features.
//!
//! Receives the bytes of one tile, plain or gzip'd, and yields the polygons of the chosen layers with what their attributes
//! say: heights, undersides, colours. Points and lines are passed over, as are layers that nobody asked for. Anything malformed is an
//! error for the whole tile: half a tile would be a city with unexplained gaps.

use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use serde_json::Value as Json;
use thiserror::Error;
use voxatlas::geo::TileCoord;

use super::attributes::{Attributes, Figures, figures};
use super::protobuf::{Message, Value, zigzag};
use super::{COORDINATE_MAX, Described, Feature, FeatureId, Point, Polygon, ReadOptions, SOURCE_EXTENT};

/// Largest tile, in bytes after inflating: the biggest real ones are a few MiB, a bomb would be gigabytes.
pub(super) const TILE_BYTES_MAX: usize = 64 << 20;

/// Which layers are read, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSelection {
    /// Names of the layers; others are ignored.
    pub layers: Vec<String>,
    /// What the attributes of features mean.
    pub read: ReadOptions,
}

/// Layers of buildings, as usual tilesets call them.
const BUILDING_LAYERS: [&str; 3] = ["bldg", "building", "buildings"];

impl LayerSelection {
    /// What options ask for; where they name no layer, the usual layers of buildings.
    pub fn of(read: &ReadOptions) -> Self {
        let usual = || BUILDING_LAYERS.map(str::to_owned).to_vec();
        let layers = if read.layers.is_empty() { usual() } else { read.layers.clone() };
        Self { layers, read: read.clone() }
    }
}

/// What is wrong with a vector tile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MvtError {
    /// A length points beyond the end.
    #[error("truncated: {wanted} bytes wanted, {left} left")]
    Truncated {
        /// Bytes that a field needs.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A number has more than ten bytes.
    #[error("a varint is longer than ten bytes")]
    VarintTooLong,
    /// A field has a wire type that protobuf no longer knows.
    #[error("wire type {wire_type}: expected 0, 1, 2 or 5")]
    WireType {
        /// The wire type.
        wire_type: u8,
    },
    /// A field has another type than the specification gives it.
    #[error("field \"{field}\" has the wrong wire type")]
    FieldType {
        /// The field.
        field: &'static str,
    },
    /// A name is not UTF-8.
    #[error("a layer or attribute name is not UTF-8")]
    NotUtf8,
    /// A layer lacks its name.
    #[error("a layer has no name")]
    LayerWithoutName,
    /// A layer's extent is zero or absurd.
    #[error("layer \"{layer}\": extent {extent}: expected 1..={max}", max = EXTENT_MAX)]
    Extent {
        /// The layer.
        layer: String,
        /// Its extent.
        extent: u64,
    },
    /// A feature's attributes point outside the layer's tables.
    #[error("layer \"{layer}\", feature {feature_idx}: attribute {tag} is not in the layer's tables")]
    Tag {
        /// The layer.
        layer: String,
        /// The feature, counted from 0.
        feature_idx: usize,
        /// The index that points nowhere.
        tag: u64,
    },
    /// A feature's geometry is no sequence of drawing commands.
    #[error("layer \"{layer}\", feature {feature_idx}: {fault}")]
    Geometry {
        /// The layer.
        layer: String,
        /// The feature, counted from 0.
        feature_idx: usize,
        /// What is wrong.
        fault: GeometryFault,
    },
    /// The file is gzip'd and does not inflate.
    #[error("gzip: {message}")]
    Gzip {
        /// What the decompressor says.
        message: String,
    },
    /// The tile is larger than any real one.
    #[error("larger than {max} bytes", max = TILE_BYTES_MAX)]
    TooLarge,
}

/// What is wrong with a geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GeometryFault {
    /// Not MoveTo, LineTo or ClosePath.
    #[error("unknown drawing command {0}")]
    Command(u8),
    /// A command lacks parameters.
    #[error("the drawing commands end in the middle of a command")]
    Incomplete,
    /// A line or a closing without a beginning.
    #[error("a ring does not begin with MoveTo")]
    NoMoveTo,
    /// A point is absurdly far away.
    #[error("a coordinate lies more than {} tiles away", COORDINATE_MAX / SOURCE_EXTENT)]
    TooFar,
}

/// Largest extent of a layer, in units.
const EXTENT_MAX: u64 = 1 << 20;

/// The specification's extent of a layer that names none.
const EXTENT_DEFAULT: u64 = 4096;

/// Decodes a tile; `input` and `tile` name the features that have no id.
///
/// # Errors
///
/// The bytes are no vector tile.
pub fn decode(bytes: &[u8], input: u32, tile: TileCoord, selection: &LayerSelection) -> Result<Vec<Feature>, MvtError> {
    if bytes.len() > TILE_BYTES_MAX {
        return Err(MvtError::TooLarge);
    }
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return decode_plain(&gunzip(bytes)?, input, tile, selection);
    }
    decode_plain(bytes, input, tile, selection)
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, MvtError> {
    let mut plain = Vec::new();
    let mut limited = MultiGzDecoder::new(bytes).take(TILE_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut plain).map_err(|error| MvtError::Gzip { message: error.to_string() })?;
    if plain.len() > TILE_BYTES_MAX { Err(MvtError::TooLarge) } else { Ok(plain) }
}

fn decode_plain(
    bytes: &[u8],
    input: u32,
    tile: TileCoord,
    selection: &LayerSelection,
) -> Result<Vec<Feature>, MvtError> {
    let mut features = Vec::new();
    let mut message = Message::new(bytes);
    // Places count through all layers, also those that are not chosen: choosing another layer renames nothing.
    let mut place = 0;
    while let Some((number, value)) = message.next_field()? {
        if number == 3 {
            let layer = Layer::read(as_bytes(value, "layers")?)?;
            if selection.layers.contains(&layer.name) {
                layer.features(input, tile, place, &selection.read, &mut features)?;
            }
            place += layer.features.len() as u32;
        }
    }
    Ok(features)
}

/// A layer whose features are still encoded.
struct Layer<'a> {
    name: String,
    extent: i64,
    keys: Vec<&'a str>,
    /// The values, still encoded.
    values: Vec<&'a [u8]>,
    features: Vec<&'a [u8]>,
}

impl<'a> Layer<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, MvtError> {
        let mut name = None;
        let mut extent = EXTENT_DEFAULT;
        let (mut keys, mut values, mut features) = (Vec::new(), Vec::new(), Vec::new());
        let mut message = Message::new(bytes);
        while let Some((number, value)) = message.next_field()? {
            match number {
                1 => name = Some(as_str(value, "name")?.to_owned()),
                2 => features.push(as_bytes(value, "features")?),
                3 => keys.push(as_str(value, "keys")?),
                4 => values.push(as_bytes(value, "values")?),
                5 => extent = as_varint(value, "extent")?,
                _ => {}
            }
        }
        let name = name.ok_or(MvtError::LayerWithoutName)?;
        if !(1..=EXTENT_MAX).contains(&extent) {
            return Err(MvtError::Extent { layer: name, extent });
        }
        Ok(Self { name, extent: extent as i64, keys, values, features })
    }

    fn features(
        &self,
        input: u32,
        tile: TileCoord,
        place: u32,
        read: &ReadOptions,
        out: &mut Vec<Feature>,
    ) -> Result<(), MvtError> {
        let values = self.values.iter().map(|bytes| json_of(bytes)).collect::<Result<Vec<_>, _>>()?;
        for (feature_idx, bytes) in self.features.iter().enumerate() {
            let raw = RawFeature::read(bytes)?;
            if raw.kind != Some(POLYGON) {
                continue;
            }
            let attributes = self.attributes(raw.tags, feature_idx, &values)?;
            let polygons = polygons(raw.geometry, self.extent).map_err(|error| match error {
                PathError::Bytes(error) => error,
                PathError::Fault(fault) => MvtError::Geometry { layer: self.name.clone(), feature_idx, fault },
            })?;
            let place_idx = place + feature_idx as u32;
            let place_id = FeatureId::Place { input, tile, feature_idx: place_idx };
            let id = raw.id.map_or(place_id, FeatureId::Given);
            // A tile has no one to tell of an attribute that cannot be read: heights that fell back are counted.
            let Figures { height, min_height_m, wall, roof } = figures(&attributes, read, &mut |_| ());
            let described = read.with_attributes.then(|| {
                let name = raw.id.map_or_else(|| format!("{tile}#{place_idx}"), |id| id.to_string());
                Arc::new(Described { name, attributes })
            });
            out.push(Feature { id, height, min_height_m, polygons, wall, roof, described });
        }
        Ok(())
    }

    /// The attributes of a feature, in the order of the tile.
    fn attributes(&self, tags: &[u8], feature_idx: usize, values: &[Json]) -> Result<Attributes, MvtError> {
        let outside = |tag| MvtError::Tag { layer: self.name.clone(), feature_idx, tag };
        let mut attributes = Attributes::new();
        let mut message = Message::new(tags);
        while let Some(key_idx) = message.next_packed()? {
            let value_idx = message.next_packed()?.ok_or_else(|| outside(key_idx))?;
            let key =
                usize::try_from(key_idx).ok().and_then(|idx| self.keys.get(idx)).ok_or_else(|| outside(key_idx))?;
            let value = usize::try_from(value_idx).ok().and_then(|idx| values.get(idx));
            attributes.push(((*key).to_owned(), value.ok_or_else(|| outside(value_idx))?.clone()));
        }
        Ok(attributes)
    }
}

/// The geometry type of polygons.
const POLYGON: u64 = 3;

struct RawFeature<'a> {
    id: Option<u64>,
    kind: Option<u64>,
    tags: &'a [u8],
    geometry: &'a [u8],
}

impl<'a> RawFeature<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, MvtError> {
        let mut raw = Self { id: None, kind: None, tags: &[], geometry: &[] };
        let mut message = Message::new(bytes);
        while let Some((number, value)) = message.next_field()? {
            match number {
                1 => raw.id = Some(as_varint(value, "id")?),
                2 => raw.tags = as_bytes(value, "tags")?,
                3 => raw.kind = Some(as_varint(value, "type")?),
                4 => raw.geometry = as_bytes(value, "geometry")?,
                _ => {}
            }
        }
        Ok(raw)
    }
}

enum PathError {
    Bytes(MvtError),
    Fault(GeometryFault),
}

impl From<MvtError> for PathError {
    fn from(error: MvtError) -> Self {
        Self::Bytes(error)
    }
}

/// Draws the commands of a polygon geometry and groups its rings.
fn polygons(geometry: &[u8], extent: i64) -> Result<Vec<Polygon>, PathError> {
    let fault = |fault| Err(PathError::Fault(fault));
    let mut rings: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    let mut cursor = [0i64; 2];
    let mut message = Message::new(geometry);
    while let Some(command) = message.next_packed()? {
        let (op, count) = ((command & 7) as u8, command >> 3);
        match op {
            1 | 2 => {
                // Each round takes two numbers from the bytes: a count that lies ends with them.
                for _ in 0..count {
                    let (Some(dx), Some(dy)) = (message.next_packed()?, message.next_packed()?) else {
                        return fault(GeometryFault::Incomplete);
                    };
                    cursor = [cursor[0].saturating_add(zigzag(dx)), cursor[1].saturating_add(zigzag(dy))];
                    let Some(point) = in_frame(cursor, extent) else {
                        return fault(GeometryFault::TooFar);
                    };
                    if op == 1 {
                        rings.push(vec![point]);
                        open = true;
                    } else {
                        match rings.last_mut() {
                            Some(ring) if open => ring.push(point),
                            _ => return fault(GeometryFault::NoMoveTo),
                        }
                    }
                }
            }
            // The specification wants a count of 1; a ring is closed once however often that is said.
            7 => open = false,
            _ => return fault(GeometryFault::Command(op)),
        }
    }
    Ok(group(rings))
}

/// Scales a point to the frame of [`SOURCE_EXTENT`], exactly where the extent divides it and else to the nearest unit.
fn in_frame(point: [i64; 2], extent: i64) -> Option<Point> {
    let scale = |value: i64| -> Option<i32> {
        let scaled =
            (i128::from(value) * i128::from(2 * SOURCE_EXTENT) + i128::from(extent)).div_euclid(i128::from(2 * extent));
        i32::try_from(scaled).ok().filter(|&scaled| i64::from(scaled).abs() <= COORDINATE_MAX)
    };
    Some([scale(point[0])?, scale(point[1])?])
}

/// Groups rings into polygons: a ring that turns as the first one does begins a polygon, the others are holes of the
/// polygon before them. The first ring decides, since version 1 left the direction open.
///
/// Rings of less than three points cover nothing and go. A hole that is given twice counts once; an outer ring that is
/// given twice is two polygons, whose union it is.
fn group(rings: Vec<Vec<Point>>) -> Vec<Polygon> {
    let mut polygons: Vec<Polygon> = Vec::new();
    let mut outer_sign = 0;
    for mut ring in rings {
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        if ring.len() < 3 {
            continue;
        }
        let sign = turn(&ring);
        if outer_sign == 0 {
            outer_sign = sign;
        }
        match polygons.last_mut() {
            // A ring of no area may be a figure of eight: it stands for itself.
            Some(polygon) if sign == -outer_sign && sign != 0 => {
                if !polygon.rings[1..].iter().any(|hole| same_ring(hole, &ring)) {
                    polygon.rings.push(ring);
                }
            }
            _ => polygons.push(Polygon { rings: vec![ring] }),
        }
    }
    polygons
}

/// The sign of a ring's area: 1, 0 or -1.
fn turn(ring: &[Point]) -> i128 {
    let next = ring.iter().cycle().skip(1);
    let cross = |(a, b): (&Point, &Point)| i128::from(a[0]) * i128::from(b[1]) - i128::from(b[0]) * i128::from(a[1]);
    ring.iter().zip(next).map(cross).sum::<i128>().signum()
}

/// Whether two rings go through the same points in the same order, wherever they begin.
fn same_ring(a: &[Point], b: &[Point]) -> bool {
    a.len() == b.len()
        && b.iter()
            .enumerate()
            .any(|(start, point)| *point == a[0] && a[..].iter().eq(b[start..].iter().chain(&b[..start])))
}

/// What a value message holds; numbers that are none are null.
fn json_of(bytes: &[u8]) -> Result<Json, MvtError> {
    let float = |number: f64| serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number);
    let mut found = Json::Null;
    let mut message = Message::new(bytes);
    while let Some((field, value)) = message.next_field()? {
        found = match (field, value) {
            (1, Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned().into(),
            (2, Value::Fixed32(bytes)) => float(f64::from(f32::from_le_bytes(bytes))),
            (3, Value::Fixed64(bytes)) => float(f64::from_le_bytes(bytes)),
            (4, Value::Varint(int)) => int.cast_signed().into(),
            (5, Value::Varint(uint)) => uint.into(),
            (6, Value::Varint(sint)) => zigzag(sint).into(),
            (7, Value::Varint(bool)) => (bool != 0).into(),
            _ => found,
        };
    }
    Ok(found)
}

fn as_bytes<'a>(value: Value<'a>, field: &'static str) -> Result<&'a [u8], MvtError> {
    if let Value::Bytes(bytes) = value { Ok(bytes) } else { Err(MvtError::FieldType { field }) }
}

fn as_str<'a>(value: Value<'a>, field: &'static str) -> Result<&'a str, MvtError> {
    std::str::from_utf8(as_bytes(value, field)?).map_err(|_| MvtError::NotUtf8)
}

fn as_varint(value: Value<'_>, field: &'static str) -> Result<u64, MvtError> {
    if let Value::Varint(number) = value { Ok(number) } else { Err(MvtError::FieldType { field }) }
}

#[cfg(test)]
#[path = "mvt_tests.rs"]
mod tests;
