//! The figures that an accessor names: positions, indices, colours, places in an image.
//!
//! Owns [`Values`], which reads one figure at a time out of a buffer and keeps none. Where they lie is checked once, in
//! full, against the bytes that are there, so that a count is believed only as far as its bytes reach. It does not know
//! what the figures mean.

use ::gltf::Accessor;
use ::gltf::accessor::{DataType, Dimensions, sparse};
use ::gltf::buffer::View;

use super::container::Buffer;

/// The figures of an accessor.
#[derive(Debug)]
pub(super) struct Values<'a> {
    bytes: &'a [u8],
    stride: usize,
    n: usize,
    data_type: DataType,
    n_components: usize,
    is_normalised: bool,
    /// Figures that replace others: which, in ascending order, and their place in `sparse_bytes`.
    sparse: Vec<(u32, usize)>,
    sparse_bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// `None` where they do not lie in their buffer, or are not of one to four components.
    pub(super) fn new(accessor: &Accessor<'_>, buffers: &'a [Buffer<'a>]) -> Option<Self> {
        let n_components = match accessor.dimensions() {
            Dimensions::Scalar => 1,
            Dimensions::Vec2 => 2,
            Dimensions::Vec3 => 3,
            Dimensions::Vec4 => 4,
            _ => return None,
        };
        let size = n_components * accessor.data_type().size();
        // Without a view all would be zeros, as many as the document likes: there are no bytes to believe it by.
        let view = accessor.view()?;
        let stride = view.stride().unwrap_or(size);
        let bytes = within(&view, buffers, accessor.offset(), stride, accessor.count(), size)?;
        let mut values = Self {
            bytes,
            stride,
            n: accessor.count(),
            data_type: accessor.data_type(),
            n_components,
            is_normalised: accessor.normalized(),
            sparse: Vec::new(),
            sparse_bytes: &[],
        };
        if let Some(sparse) = accessor.sparse() {
            values.replace(&sparse, buffers, size)?;
        }
        Some(values)
    }

    fn replace(&mut self, sparse: &sparse::Sparse<'_>, buffers: &'a [Buffer<'a>], size: usize) -> Option<()> {
        let n = sparse.count();
        self.sparse_bytes = within(&sparse.values().view(), buffers, sparse.values().offset(), size, n, size)?;
        let indices = sparse.indices();
        let index_size = indices.index_type().size();
        let bytes = within(&indices.view(), buffers, indices.offset(), index_size, n, index_size)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
        self.sparse = bytes.chunks_exact(index_size).take(n).map(number).zip(0..).collect();
        self.sparse.sort_unstable();
        Some(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// How many components each has, 1..=4.
    pub(super) fn n_components(&self) -> usize {
        self.n_components
    }

    fn figure(&self, idx: usize) -> Option<&'a [u8]> {
        if idx >= self.n {
            return None;
        }
        let size = self.n_components * self.data_type.size();
        let replaced = self.sparse.binary_search_by_key(&(idx as u64), |&(at, _)| u64::from(at));
        match replaced {
            Ok(found) => self.sparse_bytes.get(self.sparse[found].1 * size..)?.get(..size),
            Err(_) => self.bytes.get(idx * self.stride..)?.get(..size),
        }
    }

    /// A figure; components that it does not have are 0, and the fourth 1.
    pub(super) fn get(&self, idx: usize) -> Option<[f32; 4]> {
        let bytes = self.figure(idx)?;
        let mut figure = [0.0, 0.0, 0.0, 1.0];
        for (component, bytes) in figure.iter_mut().zip(bytes.chunks_exact(self.data_type.size())) {
            *component = self.component(bytes);
        }
        Some(figure)
    }

    fn component(&self, bytes: &[u8]) -> f32 {
        let scaled = |value: f32, max: f32| if self.is_normalised { (value / max).max(-1.0) } else { value };
        match (self.data_type, bytes) {
            (DataType::I8, &[a]) => scaled(f32::from(a as i8), 127.0),
            (DataType::U8, &[a]) => scaled(f32::from(a), 255.0),
            (DataType::I16, &[a, b]) => scaled(f32::from(i16::from_le_bytes([a, b])), 32_767.0),
            (DataType::U16, &[a, b]) => scaled(f32::from(u16::from_le_bytes([a, b])), 65_535.0),
            (DataType::U32, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as f32,
            (DataType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            // Bytes are cut to the size of the type.
            _ => 0.0,
        }
    }

    /// A figure as the number of a point.
    pub(super) fn index(&self, idx: usize) -> Option<u32> {
        match (self.data_type, self.figure(idx)?) {
            (DataType::U8, &[a]) => Some(u32::from(a)),
            (DataType::U16, &[a, b]) => Some(u32::from(u16::from_le_bytes([a, b]))),
            (DataType::U32, &[a, b, c, d]) => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        }
    }
}

/// The bytes from the first of `n` figures on, if all of them lie in their view and it in its buffer.
fn within<'a>(
    view: &View<'_>,
    buffers: &'a [Buffer<'a>],
    offset: usize,
    stride: usize,
    n: usize,
    size: usize,
) -> Option<&'a [u8]> {
    let buffer = buffers.get(view.buffer().index())?;
    let bytes = buffer.get(view.offset()..view.offset().checked_add(view.length())?)?;
    let needed = match n {
        0 => 0,
        n => stride.checked_mul(n - 1)?.checked_add(size)?,
    };
    let bytes = bytes.get(offset..)?;
    (stride >= size && bytes.len() >= needed).then_some(bytes)
}
