//! `GeoParquet`: tables with a column of geometries, such as Overture's buildings.
//!
//! Owns the walk over row groups and rows. Yields footprints; where a part is wanted, row groups are passed over by the
//! statistics of their boxes. Columns that hold lists, which no building needs, are not read; of nested names, the
//! primary one is.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Number, Value};

use super::attributes::{Attributes, value_of};
use super::boxes::{may_meet, world_box};
use super::extent;
use super::footprint::{Flat, Footprints, Shape, label};
use super::geojson::named;
use super::osm_tags::{What, cover_of_word, what_of_any};
use super::wkb::flatten;
use super::{ByteRanges, InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

/// A `GeoParquet` file.
#[derive(Debug)]
pub struct GeoParquet {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    options: ReadOptions,
    placer: Placer,
    /// The column of geometries.
    geometry: String,
    /// Columns of the boxes of rows: least x, least y, greatest x, greatest y.
    boxes: [String; 4],
    /// The box of the file as its metadata have it.
    bounds: Option<[f64; 4]>,
    projection: TypePtr,
    /// Whether the table says how high things are; otherwise it may hold ground.
    has_heights: bool,
}

/// What the metadata of a file say.
#[derive(Debug)]
struct Geo {
    column: String,
    /// None: as the format has it. Of text that is empty: it is unknown.
    crs: Option<String>,
    boxes: [String; 4],
    bounds: Option<[f64; 4]>,
}

impl GeoParquet {
    /// Opens a file and reads its metadata. `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no `GeoParquet`, has geometries of another encoding than WKB, or no known CRS.
    pub fn open(path: &Path, input: u32, options: ReadOptions, crs: &CrsOptions) -> Result<Self, InputError> {
        let malformed = |what: String| InputError::Malformed { path: path.to_owned(), what };
        let reader = open(path)?;
        let metadata = reader.metadata().file_metadata();
        let text = metadata
            .key_value_metadata()
            .and_then(|pairs| pairs.iter().find(|pair| pair.key == "geo"))
            .and_then(|pair| pair.value.as_deref());
        let geo = Geo::parse(text).map_err(malformed)?;
        let of_format = geo.crs.is_none().then_some("OGC:CRS84");
        let placer =
            crs.placer(AxisRule::Traditional, geo.crs.as_deref(), of_format).map_err(|error| error.in_file(path))?;
        let schema = metadata.schema();
        let is_geometry = |field: &TypePtr| field.is_primitive() && field.name() == geo.column;
        if !schema.get_fields().iter().any(is_geometry) {
            return Err(malformed(format!("has no column \"{}\" of geometries: expected GeoParquet", geo.column)));
        }
        let has_heights = schema.get_fields().iter().any(|field| {
            let is_one_of = |names: &[String]| names.iter().any(|name| name == field.name());
            is_one_of(&options.height_fields) || is_one_of(&options.level_fields)
        });
        let projection = projection(schema).map_err(malformed)?;
        let Geo { column: geometry, boxes, bounds, .. } = geo;
        Ok(Self { path: path.to_owned(), input, options, placer, geometry, boxes, bounds, projection, has_heights })
    }

    /// The CRS, for messages.
    pub fn placer(&self) -> &Placer {
        &self.placer
    }

    /// Whether a row group may hold something that is wanted.
    fn may_hold(&self, group: &RowGroupMetaData, wanted: &Wanted) -> bool {
        let [x_min, y_min, x_max, y_max] = &self.boxes;
        let least = |column| statistics(group, column).map(|[least, _]| least);
        let most = |column| statistics(group, column).map(|[_, most]| most);
        match (least(x_min), least(y_min), most(x_max), most(y_max)) {
            (Some(x_min), Some(y_min), Some(x_max), Some(y_max)) => {
                may_meet(&self.placer, wanted, [x_min, y_min, x_max, y_max])
            }
            _ => true,
        }
    }

    fn pour(&self, nth: u64, row: Row, footprints: &mut Footprints<'_>) -> Result<(), InputError> {
        let mut attributes = Attributes::new();
        let mut geometry = Flat::default();
        let mut is_read = true;
        for (column, field) in row.into_columns() {
            match field {
                Field::Bytes(bytes) if column == self.geometry => {
                    is_read = flatten(bytes.data(), &mut geometry).is_some();
                }
                Field::Group(group) => attributes.extend(primary_of(column, group)),
                field => attributes.push((column, value(field))),
            }
        }
        let (id, name) = named(&Value::Null, &attributes, self.input, nth);
        if !is_read {
            footprints.sink.problem(&label(id, &name), Problem::BadRecord);
            return Ok(());
        }
        match self.what(&attributes, !geometry.polygons.is_empty()) {
            Some(what) => footprints.add(Shape { id, name, attributes, geometry }, what),
            None => Ok(()),
        }
    }

    /// What a row is: in a table of heights a building, in others perhaps ground, by Overture's classes.
    fn what(&self, attributes: &Attributes, is_area: bool) -> Option<What> {
        if value_of(attributes, "is_underground") == Some(&Value::Bool(true)) {
            return None;
        }
        let classes = || ["class", "subtype"].into_iter().filter_map(|field| value_of(attributes, field)?.as_str());
        if !self.has_heights && classes().next().is_some() {
            return classes().find_map(cover_of_word).map(What::Cover);
        }
        what_of_any(attributes, is_area)
    }
}

impl Stream for GeoParquet {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        match self.bounds.filter(|_| self.placer.keeps_boxes()).and_then(|bounds| world_box(&self.placer, bounds)) {
            Some(world_box) => Ok(Some(world_box)),
            None => extent::walk(self),
        }
    }

    fn bytes(&self, wanted: &Wanted) -> Result<Option<ByteRanges>, InputError> {
        let reader = open(&self.path)?;
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let n_bytes = std::fs::metadata(&self.path).map_err(io)?.len();
        let groups = reader.metadata().row_groups();
        let chunks = |group: &RowGroupMetaData| -> Vec<Range<u64>> {
            let range = |(begin, length): (u64, u64)| begin..begin.saturating_add(length);
            group.columns().iter().map(|column| range(column.byte_range())).collect()
        };
        // What is not of a row group is the footer, which begins where the last of them ends.
        let end = groups.iter().flat_map(chunks).map(|range| range.end).max().unwrap_or(0).min(n_bytes);
        let wanted_groups = groups.iter().filter(|group| self.may_hold(group, wanted)).flat_map(chunks);
        Ok(Some(wanted_groups.chain([0..4, end..n_bytes]).collect()))
    }

    fn placers(&self) -> Vec<Placer> {
        vec![self.placer.clone().without_heights()]
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let reader = open(&self.path)?;
        let malformed = |group: usize, error: parquet::errors::ParquetError| InputError::Malformed {
            path: self.path.clone(),
            what: format!("row group {group}: {error}"),
        };
        let mut footprints = Footprints::new(&self.path, &self.placer, &self.options, wanted, sink);
        let (mut first, mut n_bytes) = (0_u64, 0_u64);
        for (nth_group, group) in reader.metadata().row_groups().iter().enumerate() {
            if self.may_hold(group, wanted) {
                let group = reader.get_row_group(nth_group).map_err(|error| malformed(nth_group, error))?;
                let rows = group
                    .get_row_iter(Some(self.projection.as_ref().clone()))
                    .map_err(|error| malformed(nth_group, error))?;
                for (nth, row) in (first..).zip(rows) {
                    self.pour(nth, row.map_err(|error| malformed(nth_group, error))?, &mut footprints)?;
                }
            }
            first += u64::try_from(group.num_rows()).unwrap_or(0);
            n_bytes += u64::try_from(group.compressed_size()).unwrap_or(0);
            footprints.sink.progress(n_bytes);
        }
        footprints.finish()
    }
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, InputError> {
    let file = File::open(path).map_err(|error| InputError::Io { path: path.to_owned(), error })?;
    SerializedFileReader::new(file)
        .map_err(|error| InputError::Malformed { path: path.to_owned(), what: format!("no Parquet file: {error}") })
}

impl Geo {
    /// The `geo` metadata; a table without them may still have a column `geometry`, whose CRS nobody knows.
    fn parse(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text else {
            let boxes = ["xmin", "ymin", "xmax", "ymax"].map(|side| format!("bbox.{side}"));
            return Ok(Self { column: "geometry".to_owned(), crs: Some(String::new()), boxes, bounds: None });
        };
        let json: Value = serde_json::from_str(text).map_err(|error| format!("its geo metadata: {error}"))?;
        let column = json.get("primary_column").and_then(Value::as_str).unwrap_or("geometry").to_owned();
        let of_column = json.get("columns").and_then(|columns| columns.get(&column)).cloned().unwrap_or_default();
        let encoding = of_column.get("encoding").and_then(Value::as_str).unwrap_or("WKB");
        if encoding != "WKB" {
            return Err(format!("geometries in the encoding {encoding}: expected WKB"));
        }
        let crs = of_column.get("crs").map(|crs| match crs {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            json => json.to_string(),
        });
        let covering = of_column.get("covering").and_then(|covering| covering.get("bbox"));
        let boxes = ["xmin", "ymin", "xmax", "ymax"].map(|side| {
            let path = covering.and_then(|covering| covering.get(side)).and_then(Value::as_array);
            let parts = path.map(|path| path.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("."));
            parts.unwrap_or_else(|| format!("bbox.{side}"))
        });
        let numbers: Option<Vec<f64>> = of_column
            .get("bbox")
            .and_then(Value::as_array)
            .and_then(|numbers| numbers.iter().map(Value::as_f64).collect());
        let bounds = match numbers.as_deref() {
            Some(&[x_min, y_min, x_max, y_max] | &[x_min, y_min, _, x_max, y_max, _]) => {
                Some([x_min, y_min, x_max, y_max]).filter(|_| x_min <= x_max && y_min <= y_max)
            }
            _ => None,
        };
        Ok(Self { column, crs, boxes, bounds })
    }
}

/// The schema with plain columns and names only.
fn projection(schema: &Type) -> Result<TypePtr, String> {
    let is_read = |field: &&TypePtr| {
        let is_list = field.get_basic_info().has_repetition()
            && field.get_basic_info().repetition() == parquet::basic::Repetition::REPEATED;
        (field.is_primitive() && !is_list) || field.name() == "names"
    };
    let fields = schema.get_fields().iter().filter(is_read).cloned().collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build();
    projection.map(Arc::new).map_err(|error| format!("its schema: {error}"))
}

/// The least and the greatest value of a column in a row group.
fn statistics(group: &RowGroupMetaData, column: &str) -> Option<[f64; 2]> {
    let column = group.columns().iter().find(|chunk| chunk.column_path().string() == column)?;
    match column.statistics()? {
        Statistics::Float(values) => Some([f64::from(*values.min_opt()?), f64::from(*values.max_opt()?)]),
        Statistics::Double(values) => Some([*values.min_opt()?, *values.max_opt()?]),
        _ => None,
    }
}

/// The primary one of Overture's names.
fn primary_of(column: String, group: Row) -> Option<(String, Value)> {
    let primary = group.into_columns().into_iter().find(|(name, _)| name == "primary");
    primary.map(|(_, field)| (column, value(field)))
}

fn value(field: Field) -> Value {
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    match field {
        Field::Bool(value) => value.into(),
        Field::Byte(value) => value.into(),
        Field::Short(value) => value.into(),
        Field::Int(value) => value.into(),
        Field::Long(value) => value.into(),
        Field::UByte(value) => value.into(),
        Field::UShort(value) => value.into(),
        Field::UInt(value) => value.into(),
        Field::ULong(value) => value.into(),
        // As it is written: 12.1 rather than 12.100000381.
        Field::Float(value) => value.to_string().parse().map_or(Value::Null, float),
        Field::Double(value) => float(value),
        Field::Str(value) => value.into(),
        // Some writers do not say that their text is text.
        Field::Bytes(value) => value.as_utf8().map_or(Value::Null, Value::from),
        _ => Value::Null,
    }
}

#[cfg(test)]
#[path = "geoparquet_tests.rs"]
mod tests;
