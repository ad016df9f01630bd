//! The plain way: any PNG and WebP, row by row, through the decoders that everybody uses.
//!
//! Owns the conversion of every kind of row to the two kinds of band. It is the fallback of the strips and must show the
//! same voxels; of a PNG that is not interlaced no more than 64 rows exist at a time.

use std::io::Cursor;

use flate2::{Decompress, FlushDecompress, Status};
use image_webp::WebPDecoder;

use crate::atlas::AtlasError;
use crate::atlas::band::BandFormat;
use crate::atlas::chunks::{ColourType, Header};
use crate::atlas::png_file::{PngFile, Transparency};
use crate::limits::{ATLAS_PIXELS, N_STRIPS};

/// What the PNG decoder may allocate for chunks that nobody asked for, in bytes.
const PNG_LIMIT_BYTES: usize = 8 << 20;

/// What the WebP decoder may allocate at once, in bytes: the image.
const WEBP_LIMIT_BYTES: usize = 4 * (ATLAS_PIXELS as usize).pow(2);

/// Inflated bytes that exist at a time while a stream is checked.
const CHECK_BYTES: usize = 64 << 10;

/// Takes the bands of an image, in order: each 64 rows of [`BandFormat::row_bytes`]. An error stops the decoding.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(usize, &[u8]) -> Result<(), AtlasError>;

/// Decodes a PNG, band by band.
pub(crate) fn decode_png(png: &PngFile<'_>, band: &mut Vec<u8>, sink: Sink<'_>) -> Result<(), AtlasError> {
    png.check_idat_crcs()?;
    check_stream(png)?;
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(png.file), png::Limits { bytes: PNG_LIMIT_BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    // They have just been checked, and with better words.
    decoder.ignore_checksums(true);
    let mut reader = decoder.read_info().map_err(|error| png_error(&error))?;
    if png.header.is_interlaced {
        // The seven passes meet only in the whole image: the one PNG of which it exists.
        let mut image = vec![0; reader.output_buffer_size().unwrap_or(0)];
        let info = reader.next_frame(&mut image).map_err(|error| png_error(&error))?;
        let mut rows = image.chunks_exact(info.line_size);
        return fill_bands(&png.format, band, sink, |row| {
            let raw = rows.next().ok_or_else(|| png_error(&"the image ends early"))?;
            convert_row(png, raw, row)
        });
    }
    fill_bands(&png.format, band, sink, |row| {
        let raw =
            reader.next_row().map_err(|error| png_error(&error))?.ok_or_else(|| png_error(&"the image ends early"))?;
        convert_row(png, raw.data(), row)
    })
}

/// Inflates the pixels once for their Adler-32 alone. The PNG decoder leaves it unread once it has its rows, and it is
/// what tells IDATs in a wrong order, each sound by itself.
fn check_stream(png: &PngFile<'_>) -> Result<(), AtlasError> {
    let limit = png.header.raw_bytes();
    let mut inflater = Decompress::new(true);
    let mut buffer = vec![0; CHECK_BYTES];
    for mut data in png.idats() {
        loop {
            let consumed = inflater.total_in();
            let status = inflater
                .decompress(data, &mut buffer, FlushDecompress::None)
                .map_err(|error| png_error(&format_args!("the pixels do not inflate: {error}")))?;
            data = &data[(inflater.total_in() - consumed) as usize..];
            if inflater.total_out() > limit {
                return Err(png_error(&format_args!("the pixels inflate to more than {limit} bytes")));
            }
            match status {
                Status::StreamEnd if inflater.total_out() == limit => return Ok(()),
                Status::StreamEnd => {
                    let n_bytes = inflater.total_out();
                    return Err(png_error(&format_args!("the pixels inflate to {n_bytes} bytes, not {limit}")));
                }
                // Nothing came of it: the rest stands in the next IDAT.
                Status::BufError => break,
                Status::Ok => {}
            }
        }
    }
    Err(png_error(&format_args!("the pixels' stream ends after {} of {limit} bytes", inflater.total_out())))
}

/// Looks at a WebP's structure: its size, and whether it is a still picture.
pub(crate) fn open_webp(file: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>, AtlasError> {
    let decoder = WebPDecoder::new(Cursor::new(file)).map_err(|error| webp_error(&error))?;
    let (width, height) = decoder.dimensions();
    if (width, height) != (ATLAS_PIXELS, ATLAS_PIXELS) {
        return Err(AtlasError::WrongSize { width, height });
    }
    if decoder.is_animated() { Err(AtlasError::Animated) } else { Ok(decoder) }
}

/// Decodes a WebP, band by band once the decoder has the whole image.
pub(crate) fn decode_webp(file: &[u8], band: &mut Vec<u8>, sink: Sink<'_>) -> Result<(), AtlasError> {
    let mut decoder = open_webp(file)?;
    decoder.set_memory_limit(WEBP_LIMIT_BYTES);
    let has_alpha = decoder.has_alpha();
    let pixel_bytes = if has_alpha { 4 } else { 3 };
    let mut image = vec![0; pixel_bytes * (ATLAS_PIXELS as usize).pow(2)];
    decoder.read_image(&mut image).map_err(|error| webp_error(&error))?;
    let mut rows = image.chunks_exact(pixel_bytes * ATLAS_PIXELS as usize);
    fill_bands(&BandFormat::Rgba, band, sink, |row| {
        let raw = rows.next().ok_or_else(|| webp_error(&"the image ends early"))?;
        if has_alpha {
            row.copy_from_slice(raw);
        } else {
            rgba_from_rgb(raw, row, Transparency::None);
        }
        Ok(())
    })
}

/// Fills band after band with rows and hands them on.
fn fill_bands(
    format: &BandFormat,
    band: &mut Vec<u8>,
    sink: Sink<'_>,
    mut next_row: impl FnMut(&mut [u8]) -> Result<(), AtlasError>,
) -> Result<(), AtlasError> {
    band.resize(format.strip_bytes(), 0);
    for strip_idx in 0..N_STRIPS {
        for row in band.chunks_exact_mut(format.row_bytes()) {
            next_row(&mut row[1..])?;
        }
        sink(strip_idx, band)?;
    }
    Ok(())
}

/// Brings a row to what its band holds: palette indices of 8 bits, or RGBA.
fn convert_row(png: &PngFile<'_>, raw: &[u8], row: &mut [u8]) -> Result<(), AtlasError> {
    let Header { bit_depth, colour_type, .. } = png.header;
    let n_bits = usize::from(bit_depth);
    if raw.len() != png.header.row_bytes(ATLAS_PIXELS) {
        return Err(png_error(&format_args!("a row has {} bytes", raw.len())));
    }
    match colour_type {
        ColourType::Grey | ColourType::Indexed if n_bits < 8 => unpack_indices(raw, row, n_bits),
        ColourType::Grey | ColourType::Indexed | ColourType::Rgba => row.copy_from_slice(raw),
        ColourType::GreyAlpha => {
            for (&[grey, alpha], pixel) in raw.as_chunks().0.iter().zip(row.as_chunks_mut().0) {
                *pixel = [grey, grey, grey, alpha];
            }
        }
        ColourType::Rgb => rgba_from_rgb(raw, row, png.transparency),
    }
    Ok(())
}

/// Spreads samples of 1, 2 or 4 bits, the leftmost pixel in the highest bits.
fn unpack_indices(raw: &[u8], row: &mut [u8], n_bits: usize) {
    for (&byte, samples) in raw.iter().zip(row.chunks_exact_mut(8 / n_bits)) {
        for (i, sample) in samples.iter_mut().enumerate() {
            *sample = byte << (i * n_bits) >> (8 - n_bits);
        }
    }
}

/// Colours without alpha are all occupied, but for the one that a tRNS chunk names.
fn rgba_from_rgb(raw: &[u8], row: &mut [u8], transparency: Transparency) {
    for (&[r, g, b], pixel) in raw.as_chunks().0.iter().zip(row.as_chunks_mut().0) {
        let is_air = transparency == Transparency::Key([r, g, b]);
        *pixel = [r, g, b, if is_air { 0 } else { 255 }];
    }
}

fn png_error(error: &impl ToString) -> AtlasError {
    AtlasError::Png { what: error.to_string() }
}

fn webp_error(error: &impl ToString) -> AtlasError {
    AtlasError::Webp { what: error.to_string() }
}
