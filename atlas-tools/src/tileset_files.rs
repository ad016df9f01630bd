//! The files of a tileset's folder.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use voxatlas::atlas::Tileset;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{ATLAS_FILE_BYTES_MAX, TILESET_BYTES_MAX};

use crate::output::{Output, OutputError};

/// Folders within folders that are looked into: `{z}/{x}/{y}` needs two, and a link in a circle must end.
const DEPTH_MAX: usize = 8;

/// The image files below a folder and the files that a broken run left, as relative paths with `/`, sorted.
///
/// # Errors
///
/// A folder cannot be listed.
pub fn list(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    walk(root, &mut |file| {
        if is_image(file) || is_leftover(file) {
            files.push(file.to_owned());
        }
    })?;
    files.sort();
    Ok(files)
}

/// Names every file below a folder, as a relative path with `/`, in no order. A name that is no UTF-8 is passed over: no
/// tileset has one.
///
/// # Errors
///
/// A folder cannot be listed.
pub fn walk(root: &Path, visit: &mut impl FnMut(&str)) -> io::Result<()> {
    walk_below(root, "", 0, visit)
}

fn walk_below(folder: &Path, prefix: &str, depth: usize, visit: &mut impl FnMut(&str)) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let relative = format!("{prefix}{name}");
        if !path.is_dir() {
            visit(&relative);
        } else if depth < DEPTH_MAX {
            walk_below(&path, &format!("{relative}/"), depth + 1, visit)?;
        }
    }
    Ok(())
}

fn is_image(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["png", "webp"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// Whether a file is one that [`crate::output`] had not finished when its program was ended.
pub fn is_leftover(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.starts_with('.') && Path::new(name).extension().is_some_and(|extension| extension == "part")
}

/// Reads a file, of a huge one only enough to see that it is too large for an atlas.
///
/// # Errors
///
/// The file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(ATLAS_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The document of a tileset's folder.
///
/// # Errors
///
/// The folder holds no tileset document that can be read.
pub fn document(dir: &Path) -> anyhow::Result<Tileset> {
    let bytes = document_bytes(dir)?;
    Ok(Tileset::parse(&bytes, &dir.join("tiles.json").display().to_string())?)
}

/// The document of a tileset's folder as it was written, which is not parsed yet.
///
/// # Errors
///
/// The folder holds no tiles.json that can be read, or a huge one.
pub(crate) fn document_bytes(dir: &Path) -> anyhow::Result<Vec<u8>> {
    if !dir.is_dir() {
        bail!("{} is no directory: expected a tileset, a directory with a tiles.json", dir.display());
    }
    let path = dir.join("tiles.json");
    let metadata = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{} is no tileset: it has no tiles.json (`atlas-tools encode --out` writes one)", dir.display())
        }
        metadata => metadata.with_context(|| path.display().to_string())?,
    };
    if metadata.len() > TILESET_BYTES_MAX as u64 {
        bail!("{}: found {} bytes, expected at most {TILESET_BYTES_MAX}", path.display(), metadata.len());
    }
    std::fs::read(&path).with_context(|| path.display().to_string())
}

/// The document of a tileset that lies where a command writes.
///
/// # Errors
///
/// There is no tileset document that can be read.
pub(crate) fn document_in(out: &Output) -> anyhow::Result<Tileset> {
    let name = out.path("tiles.json").display().to_string();
    let bytes = out
        .read_start("tiles.json", TILESET_BYTES_MAX as u64 + 1)
        .map_err(|OutputError { error, .. }| error)
        .with_context(|| format!("{name}: cannot be read"))?;
    match bytes {
        None => bail!("{} is no tileset: it has no tiles.json (`atlas-tools encode --out` writes one)", out.name()),
        Some(bytes) if bytes.len() > TILESET_BYTES_MAX => {
            bail!("{name}: found more than {TILESET_BYTES_MAX} bytes, expected at most as many")
        }
        Some(bytes) => Ok(Tileset::parse(&bytes, &name)?),
    }
}

/// The name that we give to a region's file.
pub fn file_name(key: RegionKey) -> String {
    format!("{}{}.png", key.tile, layer_suffix(key.layer))
}

/// What tells the files of a layer from those of layer 0.
pub(crate) fn layer_suffix(layer: i32) -> String {
    if layer == 0 { String::new() } else { format!(".l{layer}") }
}

/// The region that a path of the form `{z}/{x}/{y}.png` or `{z}/{x}/{y}.l{layer}.png` names.
pub fn key_of(relative: &str) -> Option<RegionKey> {
    let (tile, _extension) = relative.rsplit_once('.')?;
    let (tile, layer) = match tile.rsplit_once(".l") {
        Some((tile, layer)) => (tile, layer.parse().ok()?),
        None => (tile, 0),
    };
    Some(RegionKey::new(tile.parse::<TileCoord>().ok()?, layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_regions() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(key_of(path).map(|key| key.to_string()).as_deref(), expected, "{path}");
            assert!(key_of(path).is_none_or(|key| file_name(key) == path), "{path}");
        };
        check("17/3/4.png", Some("17/3/4"));
        check("17/3/4.l1.png", Some("17/3/4 layer 1"));
        check("17/3/4.l-2.png", Some("17/3/4 layer -2"));
        check("17/3/4.lx.png", None);
        check("readme.png", None);
        check("17/3/999999.png", None);
    }

    #[test]
    fn lists_images_and_leftovers_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let touch = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        };
        for name in ["17/3/5.png", "17/3/4.PNG", "17/3/.4.png.77.part", "tiles.json", "17_1_2.webp", "17/notes.txt"] {
            touch(name);
        }
        assert_eq!(list(dir.path()).unwrap(), ["17/3/.4.png.77.part", "17/3/4.PNG", "17/3/5.png", "17_1_2.webp"]);
        assert!(is_leftover("17/3/.4.png.77.part") && !is_leftover("17/3/4.PNG"));
    }
}
