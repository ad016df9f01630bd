//! The pixels of a PNG, JPEG or WebP file, as they stand in it.
//!
//! Colour profiles and gamma are ignored: a height that is written as a colour must come out bit by bit. Sizes are
//! checked before anything is decoded.

use std::io::Cursor;

use image::ImageDecoder as _;

/// The widest picture, in pixels along an edge: twice the largest tiles in use, 4096.
const EDGE_PIXELS_MAX: u32 = 8192;

/// Pixels of a file, straight-alpha RGBA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

impl Picture {
    /// Takes pixels, four bytes each, row by row; `None` where there are not as many as the size says.
    pub fn new(width: u32, height: u32, rgba: Vec<u8>) -> Option<Self> {
        (rgba.len() as u64 == 4 * u64::from(width) * u64::from(height)).then_some(Self { width, height, rgba })
    }

    /// Decodes a file; the error says what was found and what was expected.
    ///
    /// # Errors
    ///
    /// It is neither PNG, JPEG nor WebP, is malformed, or has more than 8192 pixels along an edge.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            decode_png(bytes)
        } else if bytes.starts_with(b"\xFF\xD8\xFF") {
            decode_jpeg(bytes)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            decode_webp(bytes)
        } else {
            Err("no picture: expected a PNG, JPEG or WebP file".to_owned())
        }
    }

    /// Pixels along its upper edge.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Pixels along its left edge.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Its pixels, row by row.
    pub fn pixels(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.rgba.as_chunks::<4>().0.iter().copied()
    }

    /// A pixel, from the upper left.
    ///
    /// # Panics
    ///
    /// It lies outside.
    pub fn at(&self, x: u32, y: u32) -> [u8; 4] {
        self.rgba.as_chunks::<4>().0[x as usize + y as usize * self.width as usize]
    }
}

fn check_size(width: u32, height: u32) -> Result<(), String> {
    let edges = 1..=EDGE_PIXELS_MAX;
    if edges.contains(&width) && edges.contains(&height) {
        return Ok(());
    }
    Err(format!("{width} x {height} pixels, expected at most {EDGE_PIXELS_MAX} along an edge"))
}

fn decode_png(bytes: &[u8]) -> Result<Picture, String> {
    let malformed = |error: png::DecodingError| format!("malformed PNG: {error}");
    let pixels_max = EDGE_PIXELS_MAX as usize * EDGE_PIXELS_MAX as usize;
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 8 * pixels_max });
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(malformed)?;
    let (width, height) = (reader.info().width, reader.info().height);
    check_size(width, height)?;
    let size = reader.output_buffer_size().ok_or_else(|| format!("{width} x {height} pixels do not fit memory"))?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(malformed)?;
    pixels.truncate(frame.buffer_size());
    let rgba = match frame.color_type {
        png::ColorType::Rgba => pixels,
        png::ColorType::Rgb => opaque(&pixels),
        png::ColorType::GrayscaleAlpha => pixels.as_chunks().0.iter().flat_map(|&[v, a]| [v, v, v, a]).collect(),
        png::ColorType::Grayscale => pixels.iter().flat_map(|&v| [v, v, v, 255]).collect(),
        png::ColorType::Indexed => return Err("malformed PNG: a palette that is not there".to_owned()),
    };
    whole(width, height, rgba)
}

fn decode_jpeg(bytes: &[u8]) -> Result<Picture, String> {
    let malformed = |error: image::ImageError| format!("malformed JPEG: {error}");
    let decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(bytes)).map_err(malformed)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    let image = image::DynamicImage::from_decoder(decoder).map_err(malformed)?;
    whole(width, height, image.into_rgba8().into_raw())
}

fn decode_webp(bytes: &[u8]) -> Result<Picture, String> {
    let malformed = |error: image_webp::DecodingError| format!("malformed WebP: {error}");
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(malformed)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    let size = decoder.output_buffer_size().ok_or_else(|| format!("{width} x {height} pixels do not fit memory"))?;
    let mut pixels = vec![0; size];
    decoder.read_image(&mut pixels).map_err(malformed)?;
    whole(width, height, if decoder.has_alpha() { pixels } else { opaque(&pixels) })
}

fn opaque(rgb: &[u8]) -> Vec<u8> {
    rgb.as_chunks().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect()
}

fn whole(width: u32, height: u32, rgba: Vec<u8>) -> Result<Picture, String> {
    let size = rgba.len();
    Picture::new(width, height, rgba).ok_or_else(|| format!("{size} bytes for {width} x {height} pixels of four"))
}
