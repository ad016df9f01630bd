//! The array file itself: its header, its numbers, and where in it each one lies.
//!
//! Owns [`Array`], the bytes with their shape, and [`Voxels`], an array as a box of voxels. A header is believed only as
//! far as there are bytes behind it. It does not know what an index means.

use std::io::Read;

use voxatlas::voxel::Colour;

/// Bytes of a header; NumPy's own reader stops at 10,000.
const HEADER_BYTES_MAX: usize = 1 << 16;

/// Bytes of an array: four regions of colours in f32.
const ARRAY_BYTES_MAX: u64 = 1 << 30;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
}

/// An array in memory.
#[derive(Debug)]
pub(super) struct Array {
    kind: Kind,
    /// Bytes of a number.
    size: usize,
    is_big_endian: bool,
    is_fortran: bool,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    /// Reads a file of version 1, 2 or 3.
    pub(super) fn read(reader: &mut impl Read) -> Result<Self, String> {
        let header = header(reader)?;
        let mut array = described(&header)?;
        if array.shape.contains(&0) {
            return Err(format!("its array {:?} is empty", array.shape));
        }
        let n_numbers = array.shape.iter().try_fold(1u64, |n, &size| n.checked_mul(size as u64));
        let n_bytes = n_numbers.and_then(|n| n.checked_mul(array.size as u64)).filter(|&n| n <= ARRAY_BYTES_MAX);
        let Some(n_bytes) = n_bytes else {
            return Err(format!(
                "its array {:?} is larger than {ARRAY_BYTES_MAX} bytes: cut it into tiles",
                array.shape
            ));
        };
        // Grows with what is there, whatever the header claims.
        reader.take(n_bytes).read_to_end(&mut array.bytes).map_err(|error| format!("cannot be read: {error}"))?;
        if array.bytes.len() as u64 != n_bytes {
            return Err(format!(
                "its array {:?} should have {n_bytes} bytes, {} are there: the file is cut off",
                array.shape,
                array.bytes.len()
            ));
        }
        Ok(array)
    }

    /// The numbers as they lie in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Numbers from one index of each dimension to the next.
    fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.shape.len()];
        let mut step = 1;
        let mut next = |dimension: usize| {
            strides[dimension] = step;
            step *= self.shape[dimension];
        };
        if self.is_fortran {
            (0..self.shape.len()).for_each(&mut next);
        } else {
            (0..self.shape.len()).rev().for_each(&mut next);
        }
        strides
    }

    /// The bytes of a number, the least first.
    fn little_endian(&self, nth: usize) -> [u8; 8] {
        let mut number = [0; 8];
        if let Some(bytes) = self.bytes.get(nth * self.size..(nth + 1) * self.size) {
            number[..self.size].copy_from_slice(bytes);
            if self.is_big_endian {
                number[..self.size].reverse();
            }
        }
        number
    }

    /// A number; `None` where it is none.
    fn number(&self, nth: usize) -> Option<f64> {
        let bytes = self.little_endian(nth);
        let value = match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(u64::from_le_bytes(bytes) as u32)),
            (Kind::Float, _) => f64::from_le_bytes(bytes),
            (Kind::Signed, size) => {
                let unused_bits = 64 - 8 * size as u32;
                (i64::from_le_bytes(bytes) << unused_bits >> unused_bits) as f64
            }
            (Kind::Bool | Kind::Unsigned, _) => u64::from_le_bytes(bytes) as f64,
        };
        (!value.is_nan()).then_some(value)
    }

    /// A number as a channel of a colour: whole numbers as they are, 0..=255, others as shares of 0..=1.
    fn channel(&self, nth: usize) -> u8 {
        let whole = if matches!(self.kind, Kind::Float | Kind::Bool) { 255.0 } else { 1.0 };
        // The cast saturates.
        libm::round(self.number(nth).unwrap_or(0.0) * whole) as u8
    }
}

fn header(reader: &mut impl Read) -> Result<String, String> {
    let cut_off = |_| "ends in its header: expected a NumPy array".to_owned();
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(cut_off)?;
    let [magic @ .., major, _minor] = start;
    if magic != *b"\x93NUMPY" {
        return Err("is no NumPy array: it does not begin with \"\\x93NUMPY\"".to_owned());
    }
    let length = match major {
        1 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length).map_err(cut_off)?;
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            reader.read_exact(&mut length).map_err(cut_off)?;
            u32::from_le_bytes(length) as usize
        }
        version => return Err(format!("is of version {version} of NumPy's format: expected 1, 2 or 3")),
    };
    if length > HEADER_BYTES_MAX {
        return Err(format!("its header claims {length} bytes: expected at most {HEADER_BYTES_MAX}"));
    }
    let mut header = vec![0; length];
    reader.read_exact(&mut header).map_err(cut_off)?;
    Ok(String::from_utf8_lossy(&header).into_owned())
}

/// Reads `{'descr': '<u2', 'fortran_order': False, 'shape': (256, 256, 256), }`.
fn described(header: &str) -> Result<Array, String> {
    let entry = |key: &str| {
        let (_, behind) = header.split_once(&format!("'{key}'"))?;
        Some(behind.trim_start().strip_prefix(':')?.trim_start())
    };
    let malformed = |key: &str| format!("its header {:?} has no {key} that can be read", header.trim_end());
    let descr = entry("descr").ok_or_else(|| malformed("descr"))?;
    let name = descr.strip_prefix('\'').and_then(|descr| descr.split_once('\'')).map(|(name, _)| name);
    let (kind, size, is_big_endian) = name.and_then(number_type).ok_or_else(|| {
        let found = name.unwrap_or("records");
        format!(
            "its numbers are {found}: expected b1, u1, u2, u4, u8, i1, i2, i4, i8, f4 or f8; convert it with astype"
        )
    })?;
    let order = entry("fortran_order").ok_or_else(|| malformed("fortran_order"))?;
    let shape = entry("shape")
        .and_then(|shape| shape.strip_prefix('(')?.split_once(')'))
        .and_then(|(sizes, _)| {
            let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
            sizes.map(|size| size.parse::<u32>().ok().map(|size| size as usize)).collect::<Option<Vec<_>>>()
        })
        .ok_or_else(|| malformed("shape"))?;
    Ok(Array { kind, size, is_big_endian, is_fortran: order.starts_with("True"), shape, bytes: Vec::new() })
}

/// A type such as `<u2` or `|b1`.
fn number_type(name: &str) -> Option<(Kind, usize, bool)> {
    let (order, name) = name.split_at_checked(1)?;
    let is_big_endian = match order {
        ">" => true,
        "<" | "|" | "=" => false,
        _ => return None,
    };
    let (kind, size) = match name {
        "b1" => (Kind::Bool, 1),
        "u1" => (Kind::Unsigned, 1),
        "u2" => (Kind::Unsigned, 2),
        "u4" => (Kind::Unsigned, 4),
        "u8" => (Kind::Unsigned, 8),
        "i1" => (Kind::Signed, 1),
        "i2" => (Kind::Signed, 2),
        "i4" => (Kind::Signed, 4),
        "i8" => (Kind::Signed, 8),
        "f4" => (Kind::Float, 4),
        "f8" => (Kind::Float, 8),
        _ => return None,
    };
    Some((kind, size, is_big_endian))
}

/// An array as a box of voxels.
#[derive(Debug)]
pub(super) struct Voxels<'a> {
    array: &'a Array,
    strides: Vec<usize>,
}

impl<'a> Voxels<'a> {
    /// Checks the shape.
    pub(super) fn of(array: &'a Array) -> Result<Self, String> {
        match array.shape[..] {
            [_, _, _] | [_, _, _, 3 | 4] => Ok(Self { array, strides: array.strides() }),
            _ => Err(format!("its shape is {:?}: expected three dimensions, or a fourth of 3 or 4", array.shape)),
        }
    }

    /// Voxels along each of the first three dimensions.
    pub(super) fn size(&self) -> [usize; 3] {
        std::array::from_fn(|dimension| self.array.shape[dimension])
    }

    /// Whether it says in which colour.
    pub(super) fn has_colours(&self) -> bool {
        self.array.shape.len() == 4
    }

    fn nth(&self, at: [usize; 3]) -> usize {
        at.iter().zip(&self.strides).map(|(idx, stride)| idx * stride).sum()
    }

    /// The number of a voxel; `None` where it is none.
    pub(super) fn value(&self, at: [usize; 3]) -> Option<f64> {
        self.array.number(self.nth(at))
    }

    /// The colour of a voxel, where there is one.
    pub(super) fn colour(&self, at: [usize; 3]) -> Option<Colour> {
        let nth = |channel: usize| self.nth(at) + channel * self.strides[3];
        let colour = [0, 1, 2].map(|channel| self.array.channel(nth(channel)));
        let is_there = match self.array.shape[3] {
            4 => self.array.number(nth(3)).is_some_and(|alpha| alpha > 0.0),
            _ => colour != [0; 3],
        };
        is_there.then_some(colour)
    }
}
