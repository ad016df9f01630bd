//! The look: the light of sun and sky on each face, the sky's colours, the fog's reach, at any hour.
//!
//! Owns the colours of the picture that are not the city's own. Receives a view and a style, yields the frame
//! uniform; the shaders hold the forms of curves, and the tints of lit windows.

use glam::{DVec3, Vec3};

use super::draw_list::DrawList;
use super::layout::{Frame, HAS_OCCLUSION, HAS_SHADOWS, IS_FLAT};
use crate::geo::{EyeOrigin, LonLat, SunPosition};
use crate::mesh::Face;
use crate::view::View;
use crate::voxel::Colour;

/// How a frame is to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameStyle {
    /// For tests and comparisons: the face's sRGB bytes times the reference system's light term, without fog, on a plain
    /// ground.
    Flat {
        /// Where nothing is drawn.
        background: Colour,
    },
    /// Sun and sky on the faces, a sky behind them, and haze that closes into it at the view's draw distance.
    Lit(Lighting),
}

/// Where the light comes from, and what may stand before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lighting {
    /// The direction to the sun, of unit length: +x east, +y up, +z south.
    pub to_sun: DVec3,
    /// Whether voxels throw shadows: a ray a pixel, which a graphics card takes lightly and a software driver does not.
    pub shadows: bool,
    /// Whether the sky's light is less where voxels stand close.
    pub occlusion: bool,
}

impl Lighting {
    /// The sun of a place and a time, in seconds after 1970-01-01T00:00:00Z, with all that there is of light.
    pub fn at(place: LonLat, unix_secs: f64) -> Self {
        Self { to_sun: SunPosition::at(place, unix_secs).direction(), ..Self::default() }
    }

    /// The same light, and nothing stands before it: for those who draw in software.
    #[must_use]
    pub fn simple(self) -> Self {
        Self { shadows: false, occlusion: false, ..self }
    }
}

impl Default for Lighting {
    /// The reference system's sun, in the early afternoon of a spring day: from the south-west, half way up.
    fn default() -> Self {
        Self { to_sun: DVec3::from_array(TO_SUN.map(f64::from)).normalize(), shadows: true, occlusion: true }
    }
}

/// Towards the reference system's light; not of unit length.
const TO_SUN: [f32; 3] = [-0.33, 0.77, 0.55];

/// Where the fog begins to close, as a part of the draw distance.
const FOG_START: f64 = 0.7;

/// What is lost at once where a face turns from the sun, so that two faces in the shade still read apart.
const SHADE_DEPTH: f32 = 0.5;

/// The colours of an hour, linear.
#[derive(Debug, Clone, Copy)]
struct Hour {
    /// How high the sun stands, in degrees.
    elevation_deg: f32,
    /// On a face that looks into the sun.
    sun: Vec3,
    /// On a face that looks up.
    sky: Vec3,
    /// Thrown back by the ground, on a face that looks down.
    ground: Vec3,
    horizon: Vec3,
    zenith: Vec3,
    /// What the sun adds to the air round it.
    glow: Vec3,
    /// Part of the windows that are lit.
    windows_lit: f32,
    /// Light of a lit window.
    window: f32,
}

/// From night to noon.
const HOURS: [Hour; 7] = [
    Hour {
        elevation_deg: -18.0,
        sun: Vec3::ZERO,
        sky: Vec3::new(0.050, 0.064, 0.105),
        ground: Vec3::new(0.040, 0.040, 0.048),
        horizon: Vec3::new(0.030, 0.038, 0.066),
        zenith: Vec3::new(0.006, 0.010, 0.026),
        glow: Vec3::ZERO,
        windows_lit: 0.30,
        window: 1.0,
    },
    Hour {
        elevation_deg: -7.0,
        sun: Vec3::ZERO,
        sky: Vec3::new(0.100, 0.118, 0.180),
        ground: Vec3::new(0.070, 0.068, 0.080),
        horizon: Vec3::new(0.105, 0.122, 0.190),
        zenith: Vec3::new(0.022, 0.038, 0.100),
        glow: Vec3::new(0.40, 0.15, 0.05),
        windows_lit: 0.34,
        window: 1.0,
    },
    Hour {
        elevation_deg: -1.0,
        sun: Vec3::ZERO,
        sky: Vec3::new(0.250, 0.255, 0.330),
        ground: Vec3::new(0.170, 0.155, 0.160),
        horizon: Vec3::new(0.330, 0.340, 0.420),
        zenith: Vec3::new(0.075, 0.130, 0.300),
        glow: Vec3::new(0.80, 0.36, 0.13),
        windows_lit: 0.16,
        window: 0.8,
    },
    Hour {
        elevation_deg: 4.0,
        sun: Vec3::new(1.02, 0.52, 0.24),
        sky: Vec3::new(0.300, 0.315, 0.400),
        ground: Vec3::new(0.215, 0.190, 0.180),
        horizon: Vec3::new(0.560, 0.520, 0.520),
        zenith: Vec3::new(0.115, 0.210, 0.430),
        glow: Vec3::new(0.85, 0.52, 0.26),
        windows_lit: 0.05,
        window: 0.7,
    },
    Hour {
        elevation_deg: 12.0,
        sun: Vec3::new(1.08, 0.80, 0.52),
        sky: Vec3::new(0.340, 0.375, 0.460),
        ground: Vec3::new(0.240, 0.225, 0.210),
        horizon: Vec3::new(0.610, 0.650, 0.700),
        zenith: Vec3::new(0.140, 0.280, 0.540),
        glow: Vec3::new(0.46, 0.36, 0.24),
        windows_lit: 0.0,
        window: 0.6,
    },
    Hour {
        elevation_deg: 35.0,
        sun: Vec3::new(1.00, 0.88, 0.70),
        sky: Vec3::new(0.345, 0.400, 0.490),
        ground: Vec3::new(0.250, 0.245, 0.235),
        horizon: Vec3::new(0.620, 0.715, 0.810),
        zenith: Vec3::new(0.150, 0.315, 0.595),
        glow: Vec3::new(0.20, 0.18, 0.14),
        windows_lit: 0.0,
        window: 0.6,
    },
    Hour {
        elevation_deg: 90.0,
        sun: Vec3::new(0.95, 0.88, 0.76),
        sky: Vec3::new(0.355, 0.410, 0.500),
        ground: Vec3::new(0.255, 0.250, 0.240),
        horizon: Vec3::new(0.630, 0.730, 0.830),
        zenith: Vec3::new(0.150, 0.320, 0.610),
        glow: Vec3::new(0.12, 0.11, 0.09),
        windows_lit: 0.0,
        window: 0.6,
    },
];

impl Hour {
    /// The hour at which the sun stands so high.
    fn at(elevation_deg: f32) -> Self {
        let next = HOURS.iter().position(|hour| hour.elevation_deg > elevation_deg).unwrap_or(HOURS.len() - 1);
        let (from, to) = (HOURS[next.saturating_sub(1)], HOURS[next]);
        let span = (to.elevation_deg - from.elevation_deg).max(1.0);
        let t = ((elevation_deg - from.elevation_deg) / span).clamp(0.0, 1.0);
        let number = |a: f32, b: f32| a + (b - a) * t;
        Self {
            elevation_deg,
            sun: from.sun.lerp(to.sun, t),
            sky: from.sky.lerp(to.sky, t),
            ground: from.ground.lerp(to.ground, t),
            horizon: from.horizon.lerp(to.horizon, t),
            zenith: from.zenith.lerp(to.zenith, t),
            glow: from.glow.lerp(to.glow, t),
            windows_lit: number(from.windows_lit, to.windows_lit),
            window: number(from.window, to.window),
        }
    }

    /// The light of sky and ground on a face, and that of the sun where nothing stands before it.
    fn on_face(&self, face: Face, to_sun: Vec3) -> (Vec3, Vec3) {
        let along = towards(face, to_sun);
        let up = match face {
            Face::PosY => 1.0,
            Face::NegY => 0.0,
            _ => 0.5,
        };
        let ambient = self.ground.lerp(self.sky, up) * (1.0 + SHADE_DEPTH * along.min(0.0));
        (ambient, self.sun * along.max(0.0))
    }
}

/// Cosine between a face's normal and a direction, -1..1.
fn towards(face: Face, direction: Vec3) -> f32 {
    let along = direction[face.axis()];
    if face.is_positive() { along } else { -along }
}

/// The reference system's light term, 0..1: the factor of a face's sRGB bytes in the flat style.
pub(super) fn flat_light(face: Face) -> f32 {
    towards(face, Vec3::from(TO_SUN).normalize()) * 0.5 + 0.5
}

/// The uniform of a frame. Pages have `page_words` words, a power of two.
pub(super) fn frame(view: &View, style: &FrameStyle, list: &DrawList, page_words: u32) -> Frame {
    let clip_from_eye = view.clip_from_eye();
    let draw_distance = view.draw_distance_voxels.max(1.0);
    let lighting = match style {
        FrameStyle::Flat { .. } => Lighting::default().simple(),
        FrameStyle::Lit(lighting) => *lighting,
    };
    let to_sun = lighting.to_sun.as_vec3();
    let hour = Hour::at(to_sun.y.clamp(-1.0, 1.0).asin().to_degrees());
    let is_flat = matches!(style, FrameStyle::Flat { .. });
    let light = |face| match style {
        FrameStyle::Flat { .. } => (Vec3::splat(flat_light(face)), Vec3::ZERO),
        FrameStyle::Lit(_) => hour.on_face(face, to_sun),
    };
    let flag = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    Frame {
        clip_from_eye: clip_from_eye.to_cols_array_2d(),
        eye_from_clip: clip_from_eye.inverse().to_cols_array_2d(),
        ambient: Face::ALL.map(|face| light(face).0.extend(0.0).to_array()),
        direct: Face::ALL.map(|face| light(face).1.extend(0.0).to_array()),
        horizon: hour.horizon.extend(1.0).to_array(),
        zenith: hour.zenith.extend(1.0).to_array(),
        glow: hour.glow.extend(1.0).to_array(),
        window_light: Vec3::splat(hour.window).extend(1.0).to_array(),
        to_sun: to_sun.to_array(),
        windows_lit: hour.windows_lit,
        eye_fract: EyeOrigin::new(view.pose.eye_in_world).fraction().to_array(),
        fog_start: (draw_distance * FOG_START) as f32,
        half_viewport_px: [view.width_px as f32 / 2.0, view.height_px as f32 / 2.0],
        fog_end: draw_distance as f32,
        top_in_eye: list.top_in_eye,
        page_shift: page_words.trailing_zeros(),
        flags: flag(is_flat, IS_FLAT) | flag(lighting.shadows, HAS_SHADOWS) | flag(lighting.occlusion, HAS_OCCLUSION),
        coarsest_zoom: u32::from(list.coarsest_zoom),
        unused: 0,
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

    const LUMA: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);

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
        let to_sun = Lighting::default().to_sun.as_vec3();
        let hour = Hour::at(to_sun.y.asin().to_degrees());
        // Luminance, encoded as a screen shows it: neighbouring faces differ by several percent of white.
        let shade = |face| {
            let (ambient, direct) = hour.on_face(face, to_sun);
            (ambient + direct).dot(LUMA).powf(1.0 / 2.2)
        };
        let mut shades: Vec<f32> = Face::ALL.map(shade).to_vec();
        shades.sort_by(f32::total_cmp);
        assert!(shades.windows(2).all(|pair| pair[1] - pair[0] > 0.03), "{shades:?}");
        assert!(shades[5] < 1.12, "white roofs must not burn out: {shades:?}");
    }

    #[test]
    fn the_day_dawns_without_a_leap() {
        let tenths = |from: i32, to: i32| (from..to).map(|i| i as f32 / 10.0);
        for elevation in tenths(-300, 900) {
            let (a, b) = (Hour::at(elevation), Hour::at(elevation + 0.1));
            for (a, b) in
                [(a.sun, b.sun), (a.sky, b.sky), (a.horizon, b.horizon), (a.zenith, b.zenith), (a.glow, b.glow)]
            {
                assert!((a - b).abs().max_element() < 0.03, "at {elevation} degrees: {a} and {b}");
                assert!(a.min_element() >= 0.0);
            }
        }
        assert_eq!(Hour::at(-40.0).sky, HOURS[0].sky);
        // By day no window is lit, and no sun shines at night.
        assert!(tenths(120, 900).all(|elevation| Hour::at(elevation).windows_lit == 0.0));
        assert!(tenths(-300, -10).all(|elevation| Hour::at(elevation).sun == Vec3::ZERO));
    }
}
