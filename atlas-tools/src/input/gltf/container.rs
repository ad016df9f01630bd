//! The parts of a glTF file: its JSON, its buffers, and where its images lie.
//!
//! Receives the bytes of a file, checks them before anything is believed, and yields a document whose references all
//! lead somewhere. A buffer is held once, however many names it has, and a GLB's own is not copied. It does not look
//! into buffers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::gltf::Document;
use ::gltf::json::validation::{Error as Fault, Validate as _};
use ::gltf::json::{self, Root};

/// Extensions that a file may require: those that are read, and those that change nothing that a voxel shows.
const KNOWN: [&str; 18] = [
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_xmp",
    "KHR_xmp_json_ld",
];

/// The chunks of a file.
#[derive(Debug)]
pub(super) struct Container<'a> {
    json: &'a [u8],
    /// The buffer inside a GLB.
    bin: Option<&'a [u8]>,
}

impl<'a> Container<'a> {
    /// Finds the chunks of a GLB, or takes the whole as JSON.
    pub(super) fn split(bytes: &'a [u8]) -> Result<Self, String> {
        let Some(rest) = bytes.strip_prefix(b"glTF") else { return Ok(Self { json: bytes, bin: None }) };
        let (version, rest) = number(rest).ok_or("the GLB ends in its header")?;
        if version != 2 {
            return Err(format!("GLB version {version}: expected 2; convert the file to glTF 2"));
        }
        let (_, rest) = number(rest).ok_or("the GLB ends in its header")?;
        let (json, rest) = chunk(rest)?.ok_or("the GLB has no chunk")?;
        if json.kind != *b"JSON" {
            return Err("the first chunk of the GLB is not JSON".to_owned());
        }
        // Chunks of other kinds are to be passed over.
        let mut rest = rest;
        while let Some((next, behind)) = chunk(rest)? {
            if next.kind == *b"BIN\0" {
                return Ok(Self { json: json.bytes, bin: Some(next.bytes) });
            }
            rest = behind;
        }
        Ok(Self { json: json.bytes, bin: None })
    }
}

struct Chunk<'a> {
    kind: [u8; 4],
    bytes: &'a [u8],
}

/// The next chunk and what follows it; `None` at the end.
fn chunk(bytes: &[u8]) -> Result<Option<(Chunk<'_>, &[u8])>, String> {
    let Some((length, rest)) = number(bytes) else { return Ok(None) };
    let (kind, rest) = rest.split_first_chunk::<4>().ok_or("the GLB ends in the header of a chunk")?;
    let Some((content, rest)) = rest.split_at_checked(length as usize) else {
        return Err(format!("a chunk of the GLB claims {length} bytes, {} are there: the file is cut off", rest.len()));
    };
    Ok(Some((Chunk { kind: *kind, bytes: content }, rest)))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

/// The bytes of a buffer: a part of the file, or a file of its own that several buffers may share.
pub(super) type Buffer<'a> = Arc<Cow<'a, [u8]>>;

/// A document and its buffers.
#[derive(Debug)]
pub(super) struct Loaded<'a> {
    /// Checked: its references lead somewhere.
    pub(super) document: Document,
    /// By number, each at least as long as the document says.
    pub(super) buffers: Vec<Buffer<'a>>,
}

impl<'a> Loaded<'a> {
    /// Reads the document, and the buffers that lie beside it in `folder`.
    pub(super) fn new(container: &Container<'a>, folder: &Path) -> Result<Self, String> {
        let mut root: Root = json::deserialize::from_slice(container.json)
            .map_err(|error| format!("is neither glTF nor GLB: its JSON cannot be read: {error}"))?;
        let unknown: Vec<&str> =
            root.extensions_required.iter().map(String::as_str).filter(|name| !KNOWN.contains(name)).collect();
        if !unknown.is_empty() {
            return Err(format!(
                "requires {}, which cannot be read here; export it without, or convert it (gltf-transform copy, gltfpack -noq)",
                unknown.join(", ")
            ));
        }
        // The crate's own check knows fewer of them.
        root.extensions_required.clear();
        check(&root)?;
        let buffers = buffers(&root, container.bin, folder)?;
        Ok(Self { document: Document::from_json_without_validation(root), buffers })
    }
}

/// Checks that all references lead somewhere. Bounds that are missing are forgiven: many exporters leave them out.
fn check(root: &Root) -> Result<(), String> {
    let mut first = None;
    root.validate(root, json::Path::new, &mut |path, fault| {
        let path = path().to_string();
        let field = path.rsplit('.').next();
        let is_forgiven = fault == Fault::Missing && matches!(field, Some("min" | "max"));
        if !is_forgiven && first.is_none() {
            first = Some(format!("its document is not sound: {path}: {fault}"));
        }
    });
    first.map_or(Ok(()), Err)
}

fn buffers<'a>(root: &Root, bin: Option<&'a [u8]>, folder: &Path) -> Result<Vec<Buffer<'a>>, String> {
    let mut by_uri: BTreeMap<&str, Buffer<'a>> = BTreeMap::new();
    let mut buffers: Vec<Buffer<'a>> = Vec::new();
    for (idx, buffer) in root.buffers.iter().enumerate() {
        let length = buffer.byte_length.0;
        let bytes = match &buffer.uri {
            None => {
                let bin = bin.ok_or_else(|| format!("buffer {idx} should be in the file, which is no GLB"))?;
                Arc::new(Cow::Borrowed(bin))
            }
            Some(uri) => {
                if !by_uri.contains_key(uri.as_str()) {
                    let bytes = read_uri(uri, folder, length).map_err(|what| format!("buffer {idx}: {what}"))?;
                    by_uri.insert(uri, Arc::new(Cow::Owned(bytes)));
                }
                Arc::clone(&by_uri[uri.as_str()])
            }
        };
        if (bytes.len() as u64) < length {
            return Err(format!("buffer {idx} should have {length} bytes, {} are there", bytes.len()));
        }
        buffers.push(bytes);
    }
    Ok(buffers)
}

/// The first `length_max` bytes of what a URI names.
fn read_uri(uri: &str, folder: &Path, length_max: u64) -> Result<Vec<u8>, String> {
    match Uri::parse(uri, folder)? {
        Uri::Data(bytes) => Ok(bytes.to_vec()),
        Uri::File(path) => {
            let failed = |error: std::io::Error| format!("{}: cannot be read: {error}", path.display());
            let mut bytes = Vec::new();
            File::open(&path).map_err(failed)?.take(length_max).read_to_end(&mut bytes).map_err(failed)?;
            Ok(bytes)
        }
    }
}

/// What a URI of a document names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Uri {
    /// The bytes themselves.
    Data(Arc<[u8]>),
    /// A file.
    File(PathBuf),
}

impl Uri {
    /// Reads a URI; one without a scheme names a file in `folder`.
    pub(super) fn parse(uri: &str, folder: &Path) -> Result<Self, String> {
        if let Some(data) = uri.strip_prefix("data:") {
            let (_, text) = data.split_once(";base64,").ok_or("a data URI is not base64")?;
            return Ok(Self::Data(base64(text).ok_or("a data URI holds what is not base64")?.into()));
        }
        if let Some((scheme, _)) = uri.split_once(':') {
            return Err(format!("\"{scheme}:\" is not followed; expected a file beside the document, or a data URI"));
        }
        Ok(Self::File(folder.join(percent_decoded(uri))))
    }
}

/// Decodes base64; padding may be missing.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for &letter in group {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let n_bytes = match group.len() {
            1 => return None,
            n => n - 1,
        };
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=n_bytes]);
    }
    Some(bytes)
}

/// A path without its %20s. What is not followed by two digits stands for itself.
fn percent_decoded(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| behind.split_first_chunk::<2>()).flatten();
        let decoded = escaped.and_then(|(digits, behind)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, behind))
        });
        let (byte, behind) = decoded.unwrap_or((byte, behind));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_bytes_or_files() {
        let folder = Path::new("/models");
        let data = |text: &str| Uri::parse(&format!("data:a/b;base64,{text}"), folder);
        assert_eq!(data("AQIDBA=="), Ok(Uri::Data([1, 2, 3, 4].into())));
        assert_eq!(data("AQIDBA"), Ok(Uri::Data([1, 2, 3, 4].into())));
        assert_eq!(data("_-8="), Ok(Uri::Data([0xFF, 0xEF].into())));
        assert_eq!(data(""), Ok(Uri::Data([].into())));
        assert!(data("A").is_err() && data("A*==").is_err() && Uri::parse("data:,hello", folder).is_err());
        let file = |uri: &str| Uri::parse(uri, folder);
        assert_eq!(file("a%20b%2z.bin"), Ok(Uri::File("/models/a b%2z.bin".into())));
        assert_eq!(file("%FF%"), Ok(Uri::File("/models/\u{FFFD}%".into())));
        assert!(file("https://example.com/a.bin").unwrap_err().starts_with("\"https:\""));
    }

    #[test]
    fn chunks_are_checked_against_the_bytes() {
        let glb = |length: u32| [b"glTF\x02\0\0\0\0\0\0\0", &length.to_le_bytes()[..], b"JSON{}  "].concat();
        let sound = glb(4);
        assert_eq!(Container::split(&sound).unwrap().json, b"{}  ");
        let error = Container::split(&glb(u32::MAX)).unwrap_err();
        assert!(error.contains("claims 4294967295 bytes, 4 are there"), "{error}");
        for n in 4..sound.len() {
            assert!(Container::split(&sound[..n]).is_err(), "{n}");
        }
    }
}
