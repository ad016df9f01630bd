//! The bytes of an atlas file, as they came.

use std::sync::Arc;

/// The bytes of an atlas file: cheap to clone, so that an image kept from a prefetch is built without a second fetch.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedAtlas(Arc<[u8]>);

impl EncodedAtlas {
    /// Takes the bytes of a file; nothing is looked at.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for EncodedAtlas {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl std::fmt::Debug for EncodedAtlas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncodedAtlas({} bytes)", self.0.len())
    }
}
