//! What time it is in the window.
//!
//! Owns the moment whose sun shines. Hours are those of the sun at a place, not of its clocks: at 12 the sun stands highest,
//! whatever time zones and summers say.

use std::time::{SystemTime, UNIX_EPOCH};

use voxatlas::cli::{Light, LookArgs};
use voxatlas::geo::LonLat;
use voxatlas::gpu::{Antialiasing, Lighting};

/// Seconds of a day.
const DAY_SECS: f64 = 86_400.0;

/// The moment whose sun shines; none until one is chosen.
#[derive(Debug, Clone)]
pub(crate) struct Daylight {
    args: LookArgs,
    auto: Light,
}

impl Daylight {
    /// What was typed; windows that are drawn in software have simple light unless told otherwise.
    pub(crate) fn new(args: LookArgs, is_software: bool) -> Self {
        Self { args, auto: if is_software { Light::Simple } else { Light::Full } }
    }

    /// The light at a place.
    pub(crate) fn lighting(&self, place: LonLat) -> Lighting {
        self.args.lighting(place, self.auto)
    }

    /// How edges are drawn.
    pub(crate) fn antialiasing(&self) -> Antialiasing {
        self.args.antialiasing(self.auto)
    }

    /// Words of the name of the adapter that draws.
    pub(crate) fn adapter(&self) -> Option<&str> {
        self.args.adapter.as_deref()
    }

    /// The hour of the day at a place, 0..24. Before one is chosen, an hour of today whose sun is about the picture's.
    pub(crate) fn hour(&self, place: LonLat) -> f64 {
        self.args.time.map_or(14.0, |unix_secs| (solar_secs(place, unix_secs) / 3_600.0).rem_euclid(24.0))
    }

    /// Chooses another hour of the same day; of today where none was chosen.
    pub(crate) fn set_hour(&mut self, place: LonLat, hour: f64) {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let unix_secs = self.args.time.unwrap_or_else(now);
        let solar_midnight = (solar_secs(place, unix_secs) / DAY_SECS).floor() * DAY_SECS;
        // The last second of the day is still of the day.
        let of_day = (hour * 3_600.0).clamp(0.0, DAY_SECS - 1.0);
        self.args.time = Some(unix_secs + solar_midnight + of_day - solar_secs(place, unix_secs));
    }
}

/// The mean solar time of a place, as if it were a time since 1970.
fn solar_secs(place: LonLat, unix_secs: f64) -> f64 {
    unix_secs + place.lon_deg() / 360.0 * DAY_SECS
}

#[cfg(test)]
mod tests {
    use voxatlas::cli::Antialias;

    use super::*;

    #[test]
    fn an_hour_that_is_chosen_is_the_hour_and_the_day_stays() {
        let place = LonLat::new(139.7454, 35.6586).unwrap();
        // 2026-06-21T17:30:00+09:00
        let time = Some(1_782_030_600.0);
        let mut daylight =
            Daylight::new(LookArgs { time, light: Light::Auto, antialias: Antialias::Auto, adapter: None }, false);
        assert!((daylight.hour(place) - 17.816).abs() < 0.01, "{}", daylight.hour(place));
        for hour in [0.0, 3.5, 12.0, 23.9] {
            daylight.set_hour(place, hour);
            assert!((daylight.hour(place) - hour).abs() < 1e-3);
            let Some(chosen) = daylight.args.time else { panic!("an hour was chosen") };
            assert!((chosen - 1_782_030_600.0).abs() < DAY_SECS);
        }
        daylight.set_hour(place, 12.0);
        let noon = daylight.lighting(place).to_sun;
        assert!(noon.y > 0.97 && noon.x.abs() < 0.05, "{noon}");
        daylight.set_hour(place, 24.0);
        assert!(daylight.hour(place) > 23.99);
    }
}
