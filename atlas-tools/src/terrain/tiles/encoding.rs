//! How a height is written into the colour of a pixel.
//!
//! Owns the three formulas that are in use, and what each says where there is no data.
//!
//! ```text
//!   Terrarium   256 R + G + B / 256 - 32768                               metres, always data
//!   Mapbox      (65536 R + 256 G + B) / 10 - 10000                        metres; black is no data
//!   GSI         x = 65536 R + 256 G + B; x < 2^23: x / 100; > 2^23: (x - 2^24) / 100; 2^23: no data
//! ```

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Picture;

/// An encoding of heights in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TerrainEncoding {
    /// Mapzen's and Amazon's Terrain Tiles.
    Terrarium,
    /// Mapbox terrain-RGB, and what MapTiler, MapLibre and rio-rgbify call so.
    Mapbox,
    /// The elevation tiles of the Geospatial Information Authority of Japan.
    Gsi,
}

impl TerrainEncoding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Terrarium, Self::Mapbox, Self::Gsi];

    /// The name, as it stands on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terrarium => "terrarium",
            Self::Mapbox => "mapbox",
            Self::Gsi => "gsi",
        }
    }

    /// The height of a pixel in metres; `None` where there is no data. A transparent pixel never has any.
    pub fn height_m(self, [r, g, b, alpha]: [u8; 4]) -> Option<f32> {
        if alpha == 0 {
            return None;
        }
        let whole = i32::from(r) << 16 | i32::from(g) << 8 | i32::from(b);
        match self {
            Self::Terrarium => Some((f64::from(whole) / 256.0 - 32_768.0) as f32),
            // Black would be 10 km below the sea: it stands for no data in what rio-rgbify and others write.
            Self::Mapbox => (whole != 0).then(|| ((f64::from(whole) - 100_000.0) / 10.0) as f32),
            Self::Gsi => {
                let signed = if whole < 1 << 23 { whole } else { whole - (1 << 24) };
                (whole != 1 << 23).then(|| (f64::from(signed) / 100.0) as f32)
            }
        }
    }

    /// What a path says of its encoding, where it says anything.
    pub fn in_path(path: &Path) -> Option<Self> {
        // The name itself says more than the folders that it lies in.
        path.components().rev().find_map(|part| {
            let part = part.as_os_str().to_str()?.to_ascii_lowercase();
            let has = |words: &[&str]| words.iter().any(|word| part.contains(word));
            if has(&["terrarium"]) {
                Some(Self::Terrarium)
            } else if has(&["terrain-rgb", "terrain_rgb", "terrainrgb", "mapbox"]) {
                Some(Self::Mapbox)
            } else {
                has(&["gsi", "dem_png", "dem5a_png", "dem5b_png", "dem5c_png", "demgm_png"]).then_some(Self::Gsi)
            }
        })
    }

    /// What the pixels of a tile say of their encoding, where only one of them makes them heights of this earth.
    ///
    /// Red alone tells: 127..=162 are -256 m to 9,215 m of Terrarium; 1 and 2 are all land of Mapbox, and 655 m to
    /// 1,966 m of GSI as well, so that nothing can be told from them.
    pub fn in_pixels(picture: &Picture) -> Option<Self> {
        const GSI_NO_DATA: [u8; 3] = [128, 0, 0];
        let mut pixels = picture.pixels().filter(|pixel| pixel[3] > 0).peekable();
        pixels.peek()?;
        let (mut terrarium, mut gsi, mut mapbox) = (true, true, true);
        // The sea of Terrarium and what GSI has no data for are the same pixel: alone it tells nothing.
        let mut is_telling = false;
        for [r, g, b, _] in pixels {
            let is_no_data = [r, g, b] == GSI_NO_DATA;
            is_telling |= !is_no_data;
            terrarium &= (127..=162).contains(&r);
            gsi &= r <= 5 || r == 255 || is_no_data;
            mapbox &= (1..=2).contains(&r) || [r, g, b] == [0; 3];
        }
        match (is_telling, terrarium, gsi, mapbox) {
            (true, true, false, false) => Some(Self::Terrarium),
            (true, false, true, false) => Some(Self::Gsi),
            (true, false, false, true) => Some(Self::Mapbox),
            _ => None,
        }
    }
}

impl fmt::Display for TerrainEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TerrainEncoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|encoding| encoding.name() == text);
        named.ok_or_else(|| format!("\"{text}\" is no encoding of heights: expected terrarium, mapbox or gsi"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_heights() {
        use TerrainEncoding::{Gsi, Mapbox, Terrarium};
        for (encoding, [r, g, b], expected) in [
            (Terrarium, [128, 0, 0], Some(0.0)),
            (Terrarium, [142, 192, 128], Some(3776.5)),
            (Terrarium, [127, 255, 0], Some(-1.0)),
            (Mapbox, [1, 134, 160], Some(0.0)),
            (Mapbox, [2, 26, 32], Some(3776.0)),
            (Mapbox, [0, 0, 0], None),
            (Gsi, [0, 0, 1], Some(0.01)),
            (Gsi, [5, 195, 0], Some(3776.0)),
            (Gsi, [128, 0, 0], None),
            (Gsi, [255, 255, 255], Some(-0.01)),
        ] {
            assert_eq!(encoding.height_m([r, g, b, 255]), expected, "{encoding} {r} {g} {b}");
            assert_eq!(encoding.height_m([r, g, b, 0]), None);
        }
    }

    #[test]
    fn names_are_read_back_and_paths_tell() {
        for encoding in TerrainEncoding::ALL {
            assert_eq!(encoding.name().parse(), Ok(encoding));
        }
        let error = "rgb".parse::<TerrainEncoding>().unwrap_err();
        assert_eq!(error, "\"rgb\" is no encoding of heights: expected terrarium, mapbox or gsi");
        for (path, expected) in [
            ("data/terrarium/12/3/4.png", Some(TerrainEncoding::Terrarium)),
            ("gsi-dem-z8-x229-y94.png", Some(TerrainEncoding::Gsi)),
            ("gsi/mapbox.terrain-rgb", Some(TerrainEncoding::Mapbox)),
            ("dem_tiles/fuji.png", None),
        ] {
            assert_eq!(TerrainEncoding::in_path(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn pixels_tell_where_only_one_encoding_is_of_this_earth() {
        let told = |pixels: &[[u8; 4]]| {
            let picture = Picture::new(pixels.len() as u32, 1, pixels.concat()).unwrap();
            TerrainEncoding::in_pixels(&picture)
        };
        assert_eq!(told(&[[128, 20, 0, 255], [127, 255, 9, 255]]), Some(TerrainEncoding::Terrarium));
        assert_eq!(told(&[[0, 20, 0, 255], [128, 0, 0, 255]]), Some(TerrainEncoding::Gsi));
        assert_eq!(told(&[[128, 0, 0, 255]]), None, "the sea of one, nothing of the other");
        assert_eq!(told(&[[1, 140, 0, 255]]), None, "0.1 m or 0.01 m a step");
        assert_eq!(told(&[[0; 4]]), None);
    }
}
