//! `--time`, `--light`, `--antialias` and `--adapter`: when it is in the picture, how much work goes into it, and whose.

use clap::{Args, ValueEnum};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::geo::LonLat;
use crate::gpu::{Antialiasing, Lighting};

/// What every command that draws takes.
#[derive(Debug, Clone, Args)]
pub struct LookArgs {
    /// The date and time whose sun shines, such as 2026-06-21T17:30:00+09:00; without it an afternoon in spring
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub time: Option<f64>,
    /// How much of light is worked out: `full` has shadows and occlusion, `simple` neither; `auto` is full but for windows
    /// that are drawn in software
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub light: Light,
    /// How edges lose their steps: `msaa` takes four samples a pixel; `auto` is that but for windows that are drawn in
    /// software
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub antialias: Antialias,
    /// Draw with the graphics adapter whose name holds these words; a wrong one lists what there is
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
}

/// How edges lose their steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Antialias {
    /// Four samples a pixel, but for windows that are drawn in software.
    #[default]
    Auto,
    /// They keep them.
    None,
    /// Four samples a pixel.
    Msaa,
}

/// How much of light is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Light {
    /// Full, but for windows that are drawn in software.
    #[default]
    Auto,
    /// Shadows and occlusion.
    Full,
    /// Neither.
    Simple,
}

impl LookArgs {
    /// The light at a place; `auto` says what [`Light::Auto`] means here.
    pub fn lighting(&self, place: LonLat, auto: Light) -> Lighting {
        let lighting = self.time.map_or_else(Lighting::default, |unix_secs| Lighting::at(place, unix_secs));
        let light = if self.light == Light::Auto { auto } else { self.light };
        if light == Light::Simple { lighting.simple() } else { lighting }
    }

    /// How edges are drawn; `auto` as for [`lighting`](Self::lighting).
    pub fn antialiasing(&self, auto: Light) -> Antialiasing {
        match (self.antialias, auto) {
            (Antialias::None, _) | (Antialias::Auto, Light::Simple) => Antialiasing::None,
            (Antialias::Msaa | Antialias::Auto, _) => Antialiasing::Msaa,
        }
    }
}

/// Reads a date and a time, in seconds after 1970-01-01T00:00:00Z.
fn parse_time(text: &str) -> Result<f64, String> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map(|time| time.unix_timestamp() as f64 + f64::from(time.nanosecond()) / 1e9)
        .map_err(|error| {
            format!("{error}; expected a date and a time as RFC 3339 has them, such as 2026-06-21T17:30:00+09:00")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_offset() {
        assert_eq!(parse_time("1970-01-01T09:00:01.5+09:00"), Ok(1.5));
        assert_eq!(parse_time("2026-06-21T02:44:00Z"), Ok(1_782_009_840.0));
        for wrong in ["", "noon", "2026-06-21", "2026-06-21T12:00:00", "2026-13-01T00:00:00Z"] {
            let error = parse_time(wrong).unwrap_err();
            assert!(error.contains("such as 2026-06-21T17:30:00+09:00"), "{wrong}: {error}");
        }
    }

    #[test]
    fn software_windows_are_drawn_simply_unless_asked() {
        let antialiasing =
            |antialias, auto| LookArgs { time: None, light: Light::Auto, antialias, adapter: None }.antialiasing(auto);
        assert_eq!(antialiasing(Antialias::Auto, Light::Simple), Antialiasing::None);
        assert_eq!(antialiasing(Antialias::Auto, Light::Full), Antialiasing::Msaa);
        assert_eq!(antialiasing(Antialias::Msaa, Light::Simple), Antialiasing::Msaa);
        assert_eq!(antialiasing(Antialias::None, Light::Full), Antialiasing::None);
    }

    #[test]
    fn the_light_is_what_was_asked_for() {
        let place = LonLat::new(139.7454, 35.6586).unwrap();
        let at = |time, light| {
            LookArgs { time, light, antialias: Antialias::Auto, adapter: None }.lighting(place, Light::Simple)
        };
        assert_eq!(at(None, Light::Full), Lighting::default());
        assert_eq!(at(None, Light::Auto), Lighting::default().simple());
        let night = at(Some(1_782_050_000.0), Light::Full);
        assert!(night.shadows && night.to_sun.y < 0.0, "{night:?}");
    }
}
