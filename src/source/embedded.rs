//! The demo city, compiled in: `data/demo/` as it stood when the crate was built.

use super::error::SourceError;
use crate::atlas::Tileset;

/// Path within `data/demo/` and content, ascending by path: written by `build.rs`.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// A file of the demo city.
pub(super) fn file(path: &str) -> Option<&'static [u8]> {
    FILES.binary_search_by_key(&path, |&(path, _)| path).ok().map(|idx| FILES[idx].1)
}

/// The demo city's document.
pub(super) fn tileset() -> Result<Tileset, SourceError> {
    let name = "demo/tiles.json";
    let Some(bytes) = file("tiles.json") else {
        return Err(SourceError::NotFound {
            name: name.to_owned(),
            expected: "the demo city, which `atlas-tools demo` writes to data/demo before the build".to_owned(),
        });
    };
    Ok(Tileset::parse(bytes, name)?)
}
