//! MTL: what the materials of an OBJ file look like.
//!
//! Yields names, diffuse colours and the images that go with them. All other figures are about light, which a voxel does
//! not store.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use voxatlas::voxel::Colour;

/// Bytes of a library.
const LIBRARY_BYTES_MAX: u64 = 64 << 20;

/// A material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) name: String,
    /// Kd.
    pub(super) colour: Option<Colour>,
    /// map_Kd, from the library's folder.
    pub(super) texture: Option<PathBuf>,
}

/// Reads a library, up to the length that is allowed.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<Material>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut lines = BufReader::new(File::open(path)?.take(LIBRARY_BYTES_MAX));
    let mut materials: Vec<Material> = Vec::new();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match (word, materials.last_mut()) {
            ("newmtl", _) => materials.push(Material { name: rest.to_owned(), colour: None, texture: None }),
            ("Kd", Some(material)) => material.colour = colour(rest),
            ("map_Kd", Some(material)) => material.texture = file_name(rest).map(|name| folder.join(name)),
            _ => {}
        }
        line.clear();
    }
    Ok(materials)
}

/// Three shares, or one for all of them.
fn colour(text: &str) -> Option<Colour> {
    let shares: Vec<f64> = text.split_ascii_whitespace().map_while(|share| share.parse().ok()).collect();
    match shares[..] {
        [r, g, b, ..] => Some([r, g, b].map(super::byte)),
        [grey] => Some([super::byte(grey); 3]),
        _ => None,
    }
}

/// The name behind the options: `-s 1 1 1 -clamp on wall red.jpg`. Written on Windows it may have backslashes.
fn file_name(text: &str) -> Option<String> {
    let mut rest = text;
    let mut is_option = false;
    loop {
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_argument = is_option && (word.parse::<f64>().is_ok() || ["on", "off"].contains(&word));
        if word.starts_with('-') && word.len() > 1 || is_argument {
            is_option = true;
            rest = behind.trim_start();
        } else {
            return (!rest.is_empty()).then(|| rest.replace('\\', "/"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_options() {
        for (text, expected) in [
            ("wall.png", Some("wall.png")),
            ("-s 1 1 1 -o 0.5 -clamp on wall red.jpg", Some("wall red.jpg")),
            (r"textures\wall.png", Some("textures/wall.png")),
            ("-bm 1.0", None),
            ("", None),
        ] {
            assert_eq!(file_name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn colours_are_shares() {
        assert_eq!(colour("1 0.5 0"), Some([255, 128, 0]));
        assert_eq!(colour("0.2"), Some([51; 3]));
        assert_eq!(colour("-1 9 nan"), Some([0, 255, 0]));
        assert_eq!(colour("spectral file.rfl 1"), None);
    }
}
