//! The properties of a `FlatGeobuf` feature.
//!
//! Owns the reading of their bytes. Receives the columns of a header, yields attributes; a property that is cut off ends
//! the reading, and nothing panics, which cannot be said of the format's own crate.

use flatgeobuf::{ColumnType, Header};
use serde_json::{Number, Value};

use super::attributes::Attributes;

/// A column of a table.
#[derive(Debug, Clone)]
pub(super) struct Column {
    name: String,
    kind: ColumnType,
}

/// The columns of a header.
pub(super) fn columns(header: &Header<'_>) -> Vec<Column> {
    header.columns().map(own_columns).unwrap_or_default()
}

/// Columns as they lie in a file: those of a header, or a feature's own.
pub(super) fn own_columns<'a>(columns: impl IntoIterator<Item = flatgeobuf::Column<'a>>) -> Vec<Column> {
    columns.into_iter().map(|column| Column { name: column.name().to_owned(), kind: column.type_() }).collect()
}

/// The properties that can be read, and whether those are all.
pub(super) fn properties(mut bytes: &[u8], columns: &[Column]) -> (Attributes, bool) {
    let mut attributes = Attributes::new();
    // A lone byte behind the last property is written by some.
    while bytes.len() >= 2 {
        match property(&mut bytes, columns) {
            Some((name, value)) => attributes.push((name.to_owned(), value)),
            None => return (attributes, false),
        }
    }
    (attributes, true)
}

fn property<'a>(bytes: &mut &[u8], columns: &'a [Column]) -> Option<(&'a str, Value)> {
    let column = columns.get(usize::from(u16::from_le_bytes(take(bytes)?)))?;
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    let value = match column.kind {
        ColumnType::Byte => i8::from_le_bytes(take(bytes)?).into(),
        ColumnType::UByte => u8::from_le_bytes(take(bytes)?).into(),
        ColumnType::Bool => (take::<1>(bytes)? != [0]).into(),
        ColumnType::Short => i16::from_le_bytes(take(bytes)?).into(),
        ColumnType::UShort => u16::from_le_bytes(take(bytes)?).into(),
        ColumnType::Int => i32::from_le_bytes(take(bytes)?).into(),
        ColumnType::UInt => u32::from_le_bytes(take(bytes)?).into(),
        ColumnType::Long => i64::from_le_bytes(take(bytes)?).into(),
        ColumnType::ULong => u64::from_le_bytes(take(bytes)?).into(),
        // As it is written: 12.1 rather than 12.100000381.
        ColumnType::Float => float(f32::from_le_bytes(take(bytes)?).to_string().parse().ok()?),
        ColumnType::Double => float(f64::from_le_bytes(take(bytes)?)),
        ColumnType::String | ColumnType::DateTime => String::from_utf8_lossy(text(bytes)?).into_owned().into(),
        ColumnType::Json => serde_json::from_slice(text(bytes)?).unwrap_or(Value::Null),
        ColumnType::Binary => {
            text(bytes)?;
            Value::Null
        }
        _ => return None,
    };
    Some((&column.name, value))
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(take(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
