//! `{z}/{x}/{y}.attrs.json`: what the features of a tile are.
//!
//! Owns the document beside a tile's atlases, one for all its layers: a list of features, each an id and what the source
//! says of it, in the order of the source. A feature's place in the list is its number in the `vxID` chunks. Receives
//! features or bytes, yields the other; the same features give the same bytes. It decides neither which features there
//! are nor their order.
//!
//! ```json
//! {"features": [
//! {"id":"bldg_0001","attributes":{"measuredHeight":12.5,"usage":"411"}},
//! {"id":"bldg_0002","attributes":{}}
//! ]}
//! ```

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;
use voxatlas::geo::TileCoord;

/// Bytes of a file at most: thirty times what the densest tiles of Tokyo hold, and no more than a program that asks for
/// one feature should have to read.
pub const ATTRIBUTES_BYTES_MAX: usize = 64 << 20;

/// What the names of the files end with.
const SUFFIX: &str = ".attrs.json";

/// The features of a tile, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributesFile {
    /// The feature with the number of each place.
    pub features: Vec<FeatureAttributes>,
}

/// A feature of the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureAttributes {
    /// Its id.
    pub id: String,
    /// What the source says of it: names and values in the order of the source. A name should come once: of one that
    /// comes twice most readers of JSON see the last value.
    #[serde(default, serialize_with = "write_pairs", deserialize_with = "read_pairs")]
    pub attributes: Vec<(String, Value)>,
}

/// Why a file's attributes cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttributesError {
    /// The file cannot be read.
    #[error("{name}: cannot be read: {error}")]
    Io {
        /// The file.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// The file is larger than any that is written, or would be.
    #[error("{name}: more than {ATTRIBUTES_BYTES_MAX} bytes of attributes: keep fewer of them, or smaller ones")]
    TooLarge {
        /// The file.
        name: String,
    },
    /// The file is no document of this kind.
    #[error("{name}: {error}: expected {{\"features\": [{{\"id\": \"...\", \"attributes\": {{...}}}}, ...]}}")]
    Malformed {
        /// The file.
        name: String,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
}

impl AttributesFile {
    /// The document of these features, a line each.
    ///
    /// # Errors
    ///
    /// It is larger than [`ATTRIBUTES_BYTES_MAX`]; `name` is the file that it is meant for.
    pub fn to_json(&self, name: &str) -> Result<String, AttributesError> {
        let mut text = "{\"features\": [\n".to_owned();
        for (number, feature) in self.features.iter().enumerate() {
            let separator = if number == 0 { "" } else { ",\n" };
            let malformed = |error| AttributesError::Malformed { name: name.to_owned(), error };
            let line = serde_json::to_string(feature).map_err(malformed)?;
            text += separator;
            text += &line;
            if text.len() > ATTRIBUTES_BYTES_MAX {
                return Err(AttributesError::TooLarge { name: name.to_owned() });
            }
        }
        Ok(text + "\n]}\n")
    }

    /// Reads a document; `name` is the file that it comes from.
    ///
    /// # Errors
    ///
    /// It is larger than [`ATTRIBUTES_BYTES_MAX`], or no such document.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, AttributesError> {
        if bytes.len() > ATTRIBUTES_BYTES_MAX {
            return Err(AttributesError::TooLarge { name: name.to_owned() });
        }
        serde_json::from_slice(bytes).map_err(|error| AttributesError::Malformed { name: name.to_owned(), error })
    }

    /// Reads a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, is larger than [`ATTRIBUTES_BYTES_MAX`], or is no such document.
    pub fn read(path: &Path) -> Result<Option<Self>, AttributesError> {
        let name = path.display().to_string();
        let fail = |error| AttributesError::Io { name: name.clone(), error };
        let file = match std::fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(fail)?,
        };
        let mut bytes = Vec::new();
        file.take(ATTRIBUTES_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
        Self::parse(&bytes, &name).map(Some)
    }
}

/// The name of a tile's file.
pub fn file_name(tile: TileCoord) -> String {
    format!("{tile}{SUFFIX}")
}

/// Whether a relative path is the name of a tile's file.
pub fn is_file_name(relative: &str) -> bool {
    relative.strip_suffix(SUFFIX).is_some_and(|tile| tile.parse::<TileCoord>().is_ok())
}

/// The name of the file beside an atlas: `51623.attrs.json` for `51623.png` and for its layers, `51623.l1.png`.
pub fn beside(atlas_name: &str) -> String {
    let stem = atlas_name.rsplit_once('.').map_or(atlas_name, |(stem, _)| stem);
    let is_layer = |layer: &str| layer.parse::<i32>().is_ok();
    let tile = stem.rsplit_once(".l").filter(|(_, layer)| is_layer(layer)).map_or(stem, |(tile, _)| tile);
    format!("{tile}{SUFFIX}")
}

fn write_pairs<S: Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn read_pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Value)>, D::Error> {
    struct Pairs;

    impl<'de> Visitor<'de> for Pairs {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of attributes")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }

    deserializer.deserialize_map(Pairs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn feature(id: &str, attributes: &[(&str, Value)]) -> FeatureAttributes {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        FeatureAttributes { id: id.to_owned(), attributes }
    }

    #[test]
    fn attributes_keep_their_order_and_each_feature_has_a_line() {
        let file = AttributesFile {
            features: vec![feature("b", &[("usage", json!("411")), ("height", json!(12.5))]), feature("a \"1\"", &[])],
        };
        let text = file.to_json("4.attrs.json").unwrap();
        assert_eq!(
            text,
            "{\"features\": [\n{\"id\":\"b\",\"attributes\":{\"usage\":\"411\",\"height\":12.5}},\n\
             {\"id\":\"a \\\"1\\\"\",\"attributes\":{}}\n]}\n"
        );
        assert_eq!(AttributesFile::parse(text.as_bytes(), "4.attrs.json").unwrap(), file);
        let none = AttributesFile::default();
        assert_eq!(AttributesFile::parse(none.to_json("x").unwrap().as_bytes(), "x").unwrap(), none);
    }

    #[test]
    fn what_is_no_document_is_named() {
        for bytes in
            [&b""[..], b"[]", b"{}", b"{\"features\": [{}]}", b"{\"features\": [{\"id\": \"a\", \"attributes\": 3}]}"]
        {
            let error = AttributesFile::parse(bytes, "17/3/4.attrs.json").unwrap_err().to_string();
            assert!(error.contains("17/3/4.attrs.json") && error.contains("expected"), "{error}");
        }
        let large = vec![b' '; ATTRIBUTES_BYTES_MAX + 1];
        assert!(matches!(AttributesFile::parse(&large, "x"), Err(AttributesError::TooLarge { .. })));
        let dir = tempfile::tempdir().unwrap();
        assert!(AttributesFile::read(&dir.path().join("4.attrs.json")).unwrap().is_none());
        assert!(matches!(AttributesFile::read(dir.path()), Err(AttributesError::Io { .. })));
    }

    #[test]
    fn the_file_stands_beside_all_layers_of_its_tile() {
        for atlas in ["17/3/4.png", "17/3/4.l1.png", "17/3/4.l-2.webp"] {
            assert_eq!(beside(atlas), "17/3/4.attrs.json");
        }
        assert_eq!(beside("my.lake.png"), "my.lake.attrs.json");
        let name = file_name("17/3/4".parse().unwrap());
        assert!(name == "17/3/4.attrs.json" && is_file_name(&name));
        assert!(!is_file_name("notes.attrs.json") && !is_file_name("17/3/4.json"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn documents_come_back(features in prop::collection::vec(
            (".{0,12}", prop::collection::vec((".{0,6}", any::<i64>()), 0..5)), 0..8)
        ) {
            let features = features.into_iter().map(|(id, pairs)| FeatureAttributes {
                id,
                attributes: pairs.into_iter().map(|(name, value)| (name, json!(value))).collect(),
            });
            let file = AttributesFile { features: features.collect() };
            let text = file.to_json("x").unwrap();
            prop_assert_eq!(AttributesFile::parse(text.as_bytes(), "x").unwrap(), file);
        }
    }
}
