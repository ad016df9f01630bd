//! The little of the protobuf wire format that vector tiles use.
//!
//! Owns a reader over borrowed bytes. Receives a message, yields its fields one after the other; it never allocates,
//! so that no length in a hostile file can ask for memory.

use super::MvtError;

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64([u8; 8]),
    /// Wire type 2: a string, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32([u8; 4]),
}

/// Reads the fields of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and value, or none at the end.
    pub(super) fn next_field(&mut self) -> Result<Option<(u64, Value<'a>)>, MvtError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.array()?),
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(usize::try_from(len).unwrap_or(usize::MAX))?)
            }
            5 => Value::Fixed32(self.array()?),
            wire_type => return Err(MvtError::WireType { wire_type: wire_type as u8 }),
        };
        Ok(Some((key >> 3, value)))
    }

    /// The next packed number, or none at the end.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, MvtError> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    fn varint(&mut self) -> Result<u64, MvtError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(MvtError::VarintTooLong)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], MvtError> {
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or(MvtError::Truncated { wanted: len, left: self.rest.len() })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MvtError> {
        let (taken, rest) =
            self.rest.split_first_chunk().ok_or(MvtError::Truncated { wanted: N, left: self.rest.len() })?;
        self.rest = rest;
        Ok(*taken)
    }
}

/// Undoes the zigzag coding of signed numbers.
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
