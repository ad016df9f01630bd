//! The metadata of an archive: a tileset's document that also names the archives of the other layers.
//!
//! ```json
//! { "tilejson": "3.0.0", …, "voxatlas": { "format": 1, …,
//!   "archive": { "layer": 0, "files": [{ "layer": 0, "file": "city.pmtiles" }, { "layer": 1, "file": "city.l1.pmtiles" }] } } }
//! ```
//!
//! An archive of another maker has no document of ours: then its header and credit make one, of layer 0 alone.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::head::ArchiveHead;
use crate::atlas::{Tileset, TilesetError};

/// The archive that holds one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFile {
    /// The layer.
    pub layer: i32,
    /// The name of the archive, beside the others.
    pub file: String,
}

impl LayerFile {
    /// Whether the name is that of a neighbour, on any system and in any URL. A document from elsewhere must not make us
    /// read the rest of the disk, nor ask another server.
    pub fn is_neighbour(&self) -> bool {
        let file = &self.file;
        !file.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', ':', '?', '#', '%'])
    }
}

/// The `archive` member of the `voxatlas` object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ArchiveObject {
    layer: i32,
    files: Vec<LayerFile>,
}

/// The metadata of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchiveDocument {
    /// The tileset's own document, with the members that we do not know.
    members: Map<String, Value>,
    tileset: Tileset,
    archive: ArchiveObject,
}

impl ArchiveDocument {
    /// The metadata of the archive of `layer`: what `tiles.json` says, and the names of all `files`.
    ///
    /// # Errors
    ///
    /// The bytes are no tileset's document; `name` is the file, for messages.
    pub fn new(tiles_json: &[u8], name: &str, layer: i32, files: Vec<LayerFile>) -> Result<Self, TilesetError> {
        let tileset = Tileset::parse(tiles_json, name)?;
        let members = members(tiles_json, name)?;
        Ok(Self { members, tileset, archive: ArchiveObject { layer, files } })
    }

    /// Reads the metadata of an archive with this header.
    pub(super) fn parse(bytes: &[u8], head: &ArchiveHead, name: &str) -> Result<Self, TilesetError> {
        let mut members = if bytes.is_empty() { Map::new() } else { members(bytes, name)? };
        if !members.contains_key("tilejson") {
            members = of_stranger(&members, head);
        }
        let object = members.get_mut("voxatlas").and_then(Value::as_object_mut).and_then(|o| o.remove("archive"));
        let archive = match object {
            Some(object) => serde_json::from_value(object)
                .map_err(|error| TilesetError::Json { name: name.to_owned(), reason: format!("archive: {error}") })?,
            None => ArchiveObject { layer: 0, files: Vec::new() },
        };
        let text = Value::Object(members.clone()).to_string();
        Ok(Self { members, tileset: Tileset::parse(text.as_bytes(), name)?, archive })
    }

    /// The tileset of all layers.
    pub fn tileset(&self) -> &Tileset {
        &self.tileset
    }

    /// The layer that this archive holds.
    pub fn layer(&self) -> i32 {
        self.archive.layer
    }

    /// The archives of all layers, this one included; empty where it stands alone.
    pub fn files(&self) -> &[LayerFile] {
        &self.archive.files
    }

    /// The metadata as it stands in the archive.
    pub fn to_metadata(&self) -> String {
        let mut members = self.members.clone();
        // A document without our object has layer 0 alone, and so no archive to name.
        if let Some(object) = members.get_mut("voxatlas").and_then(Value::as_object_mut) {
            object.insert("archive".to_owned(), json!(self.archive));
        }
        Value::Object(members).to_string()
    }

    /// The tileset's document as a file of a folder: nothing in it speaks of archives.
    pub fn to_tiles_json(&self) -> String {
        // A document that holds only what we know reads as every other that we write.
        let known = serde_json::to_value(&self.tileset).unwrap_or_default();
        if known == Value::Object(self.members.clone()) {
            return self.tileset.to_json();
        }
        format!("{:#}\n", Value::Object(self.members.clone()))
    }
}

fn members(bytes: &[u8], name: &str) -> Result<Map<String, Value>, TilesetError> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice(text)
        .map_err(|error| TilesetError::Json { name: name.to_owned(), reason: error.to_string() })
}

/// A document for the archive of another maker. Of its metadata only what is for people is taken: the rest has other
/// types in other programs, such as numbers in strings.
fn of_stranger(metadata: &Map<String, Value>, head: &ArchiveHead) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("tilejson", json!("3.0.0"));
    put("tiles", json!([format!("{{z}}/{{x}}/{{y}}.{}", head.tile_kind.extension())]));
    put("minzoom", json!(head.zoom_min));
    put("maxzoom", json!(head.zoom_max));
    let [west, south, east, north] = head.bounds;
    if west < east && south < north {
        put("bounds", json!(head.bounds));
    }
    for name in ["name", "attribution"] {
        if let Some(Value::String(text)) = metadata.get(name) {
            put(name, json!(text));
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::archive::head::{Packing, TileKind};

    fn head() -> ArchiveHead {
        ArchiveHead {
            tile_kind: TileKind::Webp,
            zoom_min: 12,
            zoom_max: 17,
            bounds: [139.5, 35.5, 140.0, 36.0],
            n_tiles: None,
            n_contents: None,
            is_clustered: true,
            packing: Packing::Plain,
            root: 127..128,
            metadata: 0..0,
            leaves: 0..0,
            data: 0..0,
        }
    }

    fn files() -> Vec<LayerFile> {
        [(0, "city.pmtiles"), (1, "city.l1.pmtiles")]
            .map(|(layer, file)| LayerFile { layer, file: file.to_owned() })
            .into()
    }

    #[test]
    fn a_document_survives_the_archive() {
        let known = Tileset::of_template("{z}/{x}/{y}.l{layer}.png").unwrap().to_json();
        let grown = known.replacen('{', "{\"future\": [1, {}],", 1);
        for text in [&known, &grown] {
            let packed = ArchiveDocument::new(text.as_bytes(), "tiles.json", 1, files()).unwrap();
            let read = ArchiveDocument::parse(packed.to_metadata().as_bytes(), &head(), "city.l1.pmtiles").unwrap();
            assert_eq!(read, packed);
            assert_eq!((read.layer(), read.files()), (1, &files()[..]));
            let again: Value = serde_json::from_str(&read.to_tiles_json()).unwrap();
            assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
        }
        let packed = ArchiveDocument::new(known.as_bytes(), "tiles.json", 0, files()).unwrap();
        assert_eq!(packed.to_tiles_json(), known);
    }

    #[test]
    fn a_plain_document_needs_no_object() {
        let text = br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"]}"#;
        let packed = ArchiveDocument::new(text, "tiles.json", 0, Vec::new()).unwrap();
        let read = ArchiveDocument::parse(packed.to_metadata().as_bytes(), &head(), "city.pmtiles").unwrap();
        assert_eq!((read.layer(), read.tileset().base(), read.tileset().maxzoom), (0, -32, 17));
    }

    #[test]
    fn the_archive_of_another_maker_has_a_document() {
        let text = br#"{"name": "Tokyo", "attribution": "A. Cartographer", "minzoom": "0", "bounds": "1,2,3,4"}"#;
        let check = |bytes: &[u8], attribution: Option<&str>| {
            let read = ArchiveDocument::parse(bytes, &head(), "tokyo.pmtiles").unwrap();
            let tileset = read.tileset();
            assert_eq!(tileset.attribution.as_deref(), attribution);
            assert_eq!((tileset.minzoom, tileset.maxzoom, tileset.bounds), (12, 17, Some([139.5, 35.5, 140.0, 36.0])));
            assert_eq!((tileset.tiles[0].as_str(), read.files().len()), ("{z}/{x}/{y}.webp", 0));
        };
        check(text, Some("A. Cartographer"));
        check(b"", None);
        check(b"{}", None);
    }

    #[test]
    fn what_is_no_metadata_is_named() {
        let check = |bytes: &[u8], expected: &str| {
            let error = ArchiveDocument::parse(bytes, &head(), "city.pmtiles").unwrap_err().to_string();
            assert!(error.starts_with("city.pmtiles") && error.contains(expected), "{error}");
        };
        check(b"[]", "expected a map");
        check(br#"{"tilejson": "3.0.0"}"#, "missing field `tiles`");
        check(br#"{"tilejson": "3.0.0", "tiles": ["{x}{y}"], "voxatlas": {"archive": 7}}"#, "archive");
    }
}
