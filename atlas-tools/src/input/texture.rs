//! The images that surfaces refer to: numbered, decoded when one is needed, forgotten when there are too many.
//!
//! Owns [`TextureStore`]. Receives PNG and JPEG files or their bytes, yields [`Image`]s that answer what colour is where.
//! Texels are taken as they are, the nearest one, without filters: a voxel is larger than most texels, and a mean of two
//! colours is a third that nobody painted. It does not report what it cannot read; whoever asks is told, each time.

use std::io::{Cursor, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use image::{ImageReader, Limits};
use rustc_hash::FxHashMap;
use thiserror::Error;
use voxatlas::voxel::Colour;

use super::Texture;

/// Pixels along an edge of an image.
const EDGE_MAX: u32 = 1 << 15;

/// Bytes of an image while it is decoded: 8,192 x 8,192 RGBA is 256 MiB.
const DECODED_BYTES_MAX: u64 = 512 << 20;

/// Bytes of an image file.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Texels below this alpha are holes.
const ALPHA_MIN: u8 = 128;

/// A decoded image.
#[derive(Debug)]
pub struct Image {
    width: u32,
    height: u32,
    /// RGBA, row by row from the top.
    texels: Vec<u8>,
}

impl Image {
    /// The colour at a place: u to the right, v downwards, the image one wide and high and repeated without end. `None`
    /// where the image has a hole, or the place is no number.
    pub fn colour_at(&self, uv: [f32; 2]) -> Option<Colour> {
        if !uv.iter().all(|c| c.is_finite()) {
            return None;
        }
        let texel = |c: f32, size: u32| {
            let c = f64::from(c);
            // The cast rounds down; a fraction just below 1 may round up to the edge.
            (((c - libm::floor(c)) * f64::from(size)) as u32).min(size - 1)
        };
        let (column, row) = (texel(uv[0], self.width), texel(uv[1], self.height));
        let at = (row as usize * self.width as usize + column as usize) * 4;
        let &[red, green, blue, alpha] = self.texels.get(at..at + 4)?.first_chunk::<4>()?;
        (alpha >= ALPHA_MIN).then_some([red, green, blue])
    }

    /// Texels to the right and downwards.
    pub fn size(&self) -> [u32; 2] {
        [self.width, self.height]
    }
}

/// Why an image cannot be used.
#[derive(Debug, Clone, Error)]
#[error("{what}")]
pub struct TextureError {
    /// The image, and what was found.
    what: Arc<str>,
}

/// Images by number, within a budget.
#[derive(Debug)]
pub struct TextureStore {
    budget_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    numbers: FxHashMap<Texture, u32>,
    /// By number.
    entries: Vec<Entry>,
    /// Counts the questions, to tell which image was not asked for the longest.
    n_asked: u64,
    held_bytes: u64,
}

#[derive(Debug)]
struct Entry {
    texture: Texture,
    /// What it decodes to, where that is known and held.
    decoded: Option<Result<Arc<Image>, TextureError>>,
    last_asked: u64,
}

impl TextureStore {
    /// A store that holds so many bytes of decoded images, and at least the last one.
    pub fn new(budget_bytes: u64) -> Self {
        Self { budget_bytes, state: Mutex::default() }
    }

    /// Takes an image and yields its number: the same for equal images.
    pub fn number(&self, texture: Texture) -> u32 {
        let mut state = self.state();
        if let Some(&number) = state.numbers.get(&texture) {
            return number;
        }
        let number = state.entries.len() as u32;
        state.numbers.insert(texture.clone(), number);
        state.entries.push(Entry { texture, decoded: None, last_asked: 0 });
        number
    }

    /// All images, by number.
    pub fn textures(&self) -> Vec<Texture> {
        self.state().entries.iter().map(|entry| entry.texture.clone()).collect()
    }

    /// The image of a number.
    ///
    /// # Errors
    ///
    /// No image has this number, or it cannot be read or decoded within the limits; the answer is remembered.
    pub fn image(&self, number: u32) -> Result<Arc<Image>, TextureError> {
        let texture = {
            let mut state = self.state();
            state.n_asked += 1;
            let now = state.n_asked;
            let Some(entry) = state.entries.get_mut(number as usize) else {
                return Err(TextureError { what: format!("no texture has the number {number}").into() });
            };
            entry.last_asked = now;
            if let Some(decoded) = &entry.decoded {
                return decoded.clone();
            }
            entry.texture.clone()
        };
        // Decoded without the lock: others go on, and at worst one image is decoded twice.
        let decoded = decode(&texture).map(Arc::new);
        self.state().keep(number, decoded.clone(), self.budget_bytes);
        decoded
    }

    /// The colour at a place in an image; `None` where it has a hole, or cannot be used.
    pub fn colour_at(&self, number: u32, uv: [f32; 2]) -> Option<Colour> {
        self.image(number).ok()?.colour_at(uv)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done where a thread may panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, number: u32, decoded: Result<Arc<Image>, TextureError>, budget_bytes: u64) {
        let bytes = held_bytes(&decoded);
        let entry = &mut self.entries[number as usize];
        if entry.decoded.is_some() {
            return;
        }
        entry.decoded = Some(decoded);
        self.held_bytes += bytes;
        while self.held_bytes > budget_bytes {
            let held = self.entries.iter_mut().enumerate().filter(|(idx, entry)| {
                *idx != number as usize && entry.decoded.as_ref().is_some_and(|decoded| held_bytes(decoded) > 0)
            });
            let Some((_, oldest)) = held.min_by_key(|(_, entry)| entry.last_asked) else { return };
            if let Some(decoded) = oldest.decoded.take() {
                self.held_bytes -= held_bytes(&decoded);
            }
        }
    }
}

fn held_bytes(decoded: &Result<Arc<Image>, TextureError>) -> u64 {
    decoded.as_ref().map_or(0, |image| image.texels.len() as u64)
}

fn decode(texture: &Texture) -> Result<Image, TextureError> {
    match texture {
        Texture::Bytes(bytes) => decode_bytes(bytes, "an image in the file"),
        Texture::File(path) => {
            let name = path.display().to_string();
            let bytes = read_file(path).map_err(|error| TextureError { what: format!("{name}: {error}").into() })?;
            decode_bytes(&bytes, &name)
        }
    }
}

/// The bytes of an image file; what is no file (a folder, a device) or too large is refused.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let refused = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("is no file: expected a PNG or JPEG image".to_owned()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(format!("is larger than {FILE_BYTES_MAX} bytes: make a smaller image of it")));
    }
    Ok(bytes)
}

fn decode_bytes(bytes: &[u8], name: &str) -> Result<Image, TextureError> {
    let failed = |error: &dyn std::fmt::Display| TextureError {
        what: format!("{name}: cannot be decoded, expected PNG or JPEG: {error}").into(),
    };
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| failed(&error))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(EDGE_MAX);
    limits.max_image_height = Some(EDGE_MAX);
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let decoded = reader.decode().map_err(|error| failed(&error))?.into_rgba8();
    let (width, height) = decoded.dimensions();
    if width == 0 || height == 0 {
        return Err(failed(&"it has no pixels"));
    }
    Ok(Image { width, height, texels: decoded.into_raw() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of the colours, row by row.
    fn png(width: u32, texels: &[[u8; 4]]) -> Texture {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, texels.len() as u32 / width);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(texels.as_flattened()).unwrap();
        writer.finish().unwrap();
        Texture::Bytes(bytes.into())
    }

    const FOUR: [[u8; 4]; 4] = [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 128], [9, 9, 9, 127]];

    #[test]
    fn texels_are_where_uvs_say() {
        let store = TextureStore::new(1 << 20);
        let number = store.number(png(2, &FOUR));
        for (uv, expected) in [
            ([0.0, 0.0], Some([255, 0, 0])),
            ([0.49, 0.49], Some([255, 0, 0])),
            ([0.5, 0.0], Some([0, 255, 0])),
            ([0.0, 0.5], Some([0, 0, 255])),
            // Half opaque is a colour, less is a hole.
            ([0.9, 0.9], None),
            // Repeated to all sides.
            ([1.0, 2.0], Some([255, 0, 0])),
            ([-0.25, -1.0], Some([0, 255, 0])),
            ([-1e-9, 0.0], Some([0, 255, 0])),
            ([f32::NAN, 0.0], None),
            ([f32::INFINITY, 0.0], None),
        ] {
            assert_eq!(store.colour_at(number, uv), expected, "{uv:?}");
        }
        assert_eq!(store.image(number).unwrap().size(), [2, 2]);
    }

    #[test]
    fn equal_images_have_one_number() {
        let store = TextureStore::new(0);
        let (a, b) = (png(2, &FOUR), png(1, &FOUR));
        assert_eq!([store.number(a.clone()), store.number(b.clone()), store.number(a.clone())], [0, 1, 0]);
        assert_eq!(store.textures(), [a, b]);
    }

    #[test]
    fn the_budget_holds_and_what_was_forgotten_returns() {
        // Sixteen bytes each: room for two.
        let store = TextureStore::new(32);
        let numbers: Vec<u32> = (0..4u8).map(|n| store.number(png(2, &[[n, n, n, 255]; 4]))).collect();
        for &number in [0, 1, 2, 0, 3, 1, 2].iter().chain(&numbers) {
            assert_eq!(store.colour_at(number, [0.0, 0.0]), Some([number as u8; 3]));
            assert!(store.state().held_bytes <= 32);
        }
        // One that is larger than the budget is held alone.
        let store = TextureStore::new(1);
        let number = store.number(png(2, &FOUR));
        assert!(store.colour_at(number, [0.0, 0.0]).is_some() && store.state().held_bytes == 16);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_each_time() {
        let store = TextureStore::new(1 << 20);
        let Texture::Bytes(bytes) = png(2, &FOUR) else { unreachable!() };
        let truncated = store.number(Texture::Bytes(bytes[..bytes.len() / 2].into()));
        let empty = store.number(Texture::Bytes(Arc::default()));
        let missing = store.number(Texture::File("/no/such/file.png".into()));
        let folder = store.number(Texture::File(std::env::temp_dir()));
        for number in [truncated, empty, missing, folder, 99, truncated] {
            assert!(store.image(number).is_err(), "{number}");
            assert_eq!(store.colour_at(number, [0.0, 0.0]), None);
        }
        assert!(store.image(missing).unwrap_err().to_string().starts_with("/no/such/file.png: "));
    }
}
