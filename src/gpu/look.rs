//! The look: light by face, the sky's colours, the fog's reach.
//!
//! Owns every colour and curve of the picture that is not the city's own. Receives a view and a style, yields the frame
//! uniform; the shaders hold no constant of taste.

use glam::Vec3;

use super::layout::Frame;
use crate::geo::EyeOrigin;
use crate::mesh::Face;
use crate::view::View;
use crate::voxel::Colour;

/// How a frame is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameStyle {
    /// For tests and comparisons: the face's sRGB bytes times the reference system's light term, without fog, on a plain
    /// ground.
    Flat {
        /// Where nothing is drawn.
        background: Colour,
    },
    /// Sun and sky on the faces, a sky behind them, and fog that closes into it at the view's draw distance.
    Lit,
}

/// Towards the reference system's light; not of unit length.
const TO_SUN: [f32; 3] = [-0.33, 0.77, 0.55];

/// Where the fog begins, as a part of the draw distance.
const FOG_START: f64 = 0.55;

/// Linear light of the sun on a face that looks into it: warm.
const SUN: Vec3 = Vec3::new(0.86, 0.765, 0.61);

/// Linear light of the sky on a face that looks up: blue.
const SKY: Vec3 = Vec3::new(0.35, 0.40, 0.49);

/// Linear light that the ground throws back on a face that looks down.
const GROUND: Vec3 = Vec3::new(0.25, 0.245, 0.235);

/// What is lost at once where a face turns from the sun, so that two faces in the shade still read apart.
const SHADE_DEPTH: f32 = 0.5;

/// The sky at the horizon, linear: a pale blue haze.
const HORIZON: Vec3 = Vec3::new(0.62, 0.72, 0.82);

/// The sky overhead, linear.
const ZENITH: Vec3 = Vec3::new(0.15, 0.32, 0.60);

/// Cosine between a face's normal and the light, -1..1.
fn towards_sun(face: Face) -> f32 {
    let sun = Vec3::from(TO_SUN).normalize();
    let along = sun[face.axis()];
    if face.is_positive() { along } else { -along }
}

/// The reference system's light term, 0..1: the factor of a face's sRGB bytes in the flat style.
pub(super) fn flat_light(face: Face) -> f32 {
    towards_sun(face) * 0.5 + 0.5
}

/// The linear light on a face in the lit style.
fn lit_light(face: Face) -> Vec3 {
    let to_sun = towards_sun(face);
    let up = match face {
        Face::PosY => 1.0,
        Face::NegY => 0.0,
        _ => 0.5,
    };
    let ambient = GROUND.lerp(SKY, up) * (1.0 + SHADE_DEPTH * to_sun.min(0.0));
    ambient + SUN * to_sun.max(0.0)
}

/// The uniform of a frame.
pub(super) fn frame(view: &View, style: FrameStyle) -> Frame {
    let clip_from_eye = view.clip_from_eye();
    let light = |face| match style {
        FrameStyle::Flat { .. } => Vec3::splat(flat_light(face)),
        FrameStyle::Lit => lit_light(face),
    };
    let draw_distance = view.draw_distance_voxels.max(1.0);
    Frame {
        clip_from_eye: clip_from_eye.to_cols_array_2d(),
        eye_from_clip: clip_from_eye.inverse().to_cols_array_2d(),
        face_light: Face::ALL.map(|face| light(face).extend(0.0).to_array()),
        horizon: HORIZON.extend(1.0).to_array(),
        zenith: ZENITH.extend(1.0).to_array(),
        eye_fract: EyeOrigin::new(view.pose.eye_in_world).fraction().to_array(),
        fog_start: (draw_distance * FOG_START) as f32,
        half_viewport_px: [view.width_px as f32 / 2.0, view.height_px as f32 / 2.0],
        fog_end: draw_distance as f32,
        is_flat: u32::from(matches!(style, FrameStyle::Flat { .. })),
    }
}

/// What the target is cleared to, as the target stores it.
pub(super) fn clear_colour(style: FrameStyle, target_encodes: bool) -> wgpu::Color {
    let FrameStyle::Flat { background } = style else {
        // The sky covers it.
        return wgpu::Color::BLACK;
    };
    let [r, g, b] = background.map(|byte| {
        let srgb = f64::from(byte) / 255.0;
        match target_encodes {
            false => srgb,
            true if srgb <= 0.04045 => srgb / 12.92,
            true => libm::pow((srgb + 0.055) / 1.055, 2.4),
        }
    });
    wgpu::Color { r, g, b, a: 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_light_term_is_the_references() {
        // dot(normalize(-0.33, 0.77, 0.55), n) * 0.5 + 0.5
        for (face, expected) in [
            (Face::NegX, 0.664_6),
            (Face::PosX, 0.335_4),
            (Face::NegY, 0.115_8),
            (Face::PosY, 0.884_2),
            (Face::NegZ, 0.225_6),
            (Face::PosZ, 0.774_4),
        ] {
            assert!((flat_light(face) - expected).abs() < 1e-4, "{face:?}: {}", flat_light(face));
        }
    }

    #[test]
    fn six_faces_of_one_colour_read_apart() {
        // Luminance, encoded as a screen shows it: neighbouring faces differ by several percent of white.
        let mut shades: Vec<f32> = Face::ALL
            .iter()
            .map(|&face| lit_light(face).dot(Vec3::new(0.2126, 0.7152, 0.0722)).powf(1.0 / 2.2))
            .collect();
        shades.sort_by(f32::total_cmp);
        assert!(shades.windows(2).all(|pair| pair[1] - pair[0] > 0.03), "{shades:?}");
        assert!(shades[5] < 1.12, "white roofs must not burn out: {shades:?}");
    }
}
