//! The credit line on a picture that no window shows.
//!
//! Drawn on the CPU after the picture is read back: the same bytes on every adapter. The font is egui's, so that a
//! picture and the viewer look alike.

use ab_glyph::{Font as _, FontRef, GlyphId, PxScaleFont, ScaleFont as _, point};

/// Height of the text as a share of the picture's, and the bounds that keep it legible and out of the way.
const TEXT_HEIGHT_SHARE: f32 = 1.0 / 52.0;
const TEXT_HEIGHT_PX: std::ops::RangeInclusive<f32> = 11.0..=30.0;

/// The plate under the text: its colour, and how much of the picture it covers.
const PLATE: [f32; 3] = [22.0, 26.0, 32.0];
const PLATE_OPACITY: f32 = 0.55;

/// The text's colour.
const INK: [f32; 3] = [236.0, 238.0, 240.0];

/// Writes `text` into the lower right corner of an RGBA8 picture, wrapped where it is wider than the picture.
///
/// A character that the font lacks is drawn as the font's own sign for it; a picture too small for one line of text
/// stays as it is.
///
/// # Panics
///
/// `rgba` is not `width_px` * `height_px` * 4 bytes long.
pub(super) fn draw_caption(rgba: &mut [u8], width_px: u32, height_px: u32, text: &str) {
    assert_eq!(rgba.len(), width_px as usize * height_px as usize * 4, "an RGBA8 picture of the stated size");
    let font = FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT).expect("the bundled font is sound");
    let text_px = (height_px as f32 * TEXT_HEIGHT_SHARE).clamp(*TEXT_HEIGHT_PX.start(), *TEXT_HEIGHT_PX.end());
    let font = font.into_scaled(text_px);
    let margin_px = (text_px * 0.5).round();

    let lines = wrap(&font, text, width_px as f32 - 4.0 * margin_px);
    let line_px = (font.height() * 1.1).ceil();
    let plate_w = lines.iter().map(|line| line_width(&font, line)).fold(0.0, f32::max) + 2.0 * margin_px;
    let plate_h = line_px * lines.len() as f32 + margin_px;
    if lines.is_empty() || plate_w > width_px as f32 || plate_h > height_px as f32 {
        return;
    }

    let mut canvas = Canvas { rgba, width_px, height_px };
    let (left, top) = ((width_px as f32 - plate_w).floor(), (height_px as f32 - plate_h).floor());
    for y in top as u32..height_px {
        for x in left as u32..width_px {
            canvas.blend(x, y, PLATE, PLATE_OPACITY);
        }
    }
    for (line_idx, line) in lines.iter().enumerate() {
        let baseline = (top + margin_px / 2.0 + line_px * line_idx as f32 + font.ascent()).round();
        draw_line(&mut canvas, &font, line, left + margin_px, baseline);
    }
}

/// Breaks the text at spaces, so that each line is at most `width_px` wide; a longer word has a line of its own.
fn wrap(font: &PxScaleFont<FontRef<'_>>, text: &str, width_px: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line_width(font, line) + line_width(font, " ") + line_width(font, word) <= width_px => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn line_width(font: &PxScaleFont<FontRef<'_>>, line: &str) -> f32 {
    pen_positions(font, line).last().map_or(0.0, |(glyph, x)| x + font.h_advance(glyph))
}

/// Each glyph of the line and where its pen stands, kerning included.
fn pen_positions(font: &PxScaleFont<FontRef<'_>>, line: &str) -> impl Iterator<Item = (GlyphId, f32)> {
    let mut x = 0.0;
    let mut previous: Option<GlyphId> = None;
    line.chars().map(move |character| {
        let glyph = font.glyph_id(character);
        if let Some(previous) = previous {
            x += font.h_advance(previous) + font.kern(previous, glyph);
        }
        previous = Some(glyph);
        (glyph, x)
    })
}

fn draw_line(canvas: &mut Canvas<'_>, font: &PxScaleFont<FontRef<'_>>, line: &str, left: f32, baseline: f32) {
    for (glyph, x) in pen_positions(font, line) {
        let Some(outline) = font.outline_glyph(glyph.with_scale_and_position(font.scale(), point(left + x, baseline)))
        else {
            continue;
        };
        let bounds = outline.px_bounds();
        outline.draw(|dx, dy, coverage| {
            let (x, y) = (bounds.min.x as i64 + i64::from(dx), bounds.min.y as i64 + i64::from(dy));
            if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) {
                canvas.blend(x, y, INK, coverage);
            }
        });
    }
}

/// An RGBA8 picture to paint on.
struct Canvas<'a> {
    rgba: &'a mut [u8],
    width_px: u32,
    height_px: u32,
}

impl Canvas<'_> {
    /// Mixes a colour into a pixel; outside the picture nothing happens.
    fn blend(&mut self, x: u32, y: u32, colour: [f32; 3], opacity: f32) {
        if x >= self.width_px || y >= self.height_px {
            return;
        }
        let idx = (y as usize * self.width_px as usize + x as usize) * 4;
        for (channel, ink) in self.rgba[idx..idx + 3].iter_mut().zip(colour) {
            *channel = (f32::from(*channel) * (1.0 - opacity) + ink * opacity).round() as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width_px: u32, height_px: u32) -> Vec<u8> {
        vec![200; (width_px * height_px * 4) as usize]
    }

    #[test]
    fn the_credit_stands_in_the_lower_right_corner_and_nowhere_else() {
        let (w, h) = (640, 360);
        let mut rgba = picture(w, h);
        draw_caption(&mut rgba, w, h, "Project PLATEAU (CC BY 4.0)");
        let changed: Vec<(u32, u32)> =
            (0..w * h).filter(|&i| rgba[(i * 4) as usize..][..4] != [200; 4]).map(|i| (i % w, i / w)).collect();
        assert!(changed.contains(&(w - 1, h - 1)), "the plate reaches the corner");
        assert!(changed.iter().all(|&(x, y)| x > w / 2 && y > h * 9 / 10), "it stays small");
        // The plate alone darkens 200 to 102.
        assert!(changed.iter().any(|(x, y)| rgba[((y * w + x) * 4) as usize] > 130), "there is ink on the plate");
    }

    #[test]
    fn a_long_credit_is_wrapped_and_stays_inside() {
        let (w, h) = (320, 240);
        let mut rgba = picture(w, h);
        draw_caption(&mut rgba, w, h, &"a rather long credit line ".repeat(6));
        let rows_with_plate = (0..h).filter(|y| rgba[((y * w + w - 1) * 4) as usize] != 200).count();
        assert!(rows_with_plate > 24, "several lines: {rows_with_plate} rows");
    }

    #[test]
    fn a_picture_too_small_for_text_stays_as_it_is() {
        let mut rgba = picture(8, 8);
        draw_caption(&mut rgba, 8, 8, "Project PLATEAU");
        assert_eq!(rgba, picture(8, 8));
    }

    #[test]
    fn no_text_no_plate() {
        let mut rgba = picture(320, 240);
        draw_caption(&mut rgba, 320, 240, "  ");
        assert_eq!(rgba, picture(320, 240));
    }
}
