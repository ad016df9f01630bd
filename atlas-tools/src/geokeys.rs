//! GeoKeys: how GeoTIFF and LAS files say what their coordinates are.
//!
//! Owns the reading of the key directory and of the projections that it spells out key by key. Yields text that
//! [`crate::crs::CrsOptions::placer`] reads: an EPSG code where there is one, a PROJ string otherwise. It places nothing.
//!
//! ```text
//!   directory, u16 each:  version 1, revision, minor, n | key, location, count, value or offset | ...
//!   location:             0: the value itself   34736: into the doubles   34737: into the text
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::crs::{FOOT_M, US_FOOT_M};

/// The tag, or the record of LAS, that holds the directory.
pub const DIRECTORY: u16 = 34_735;
/// The tag, or the record of LAS, that holds numbers.
pub const DOUBLES: u16 = 34_736;
/// The tag, or the record of LAS, that holds text.
pub const TEXT: u16 = 34_737;

/// Codes that EPSG gives away; what lies above is "user-defined" or private.
const EPSG_CODES: std::ops::RangeInclusive<u16> = 1024..=32_766;

/// The keys of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeoKeys {
    keys: BTreeMap<u16, Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Short(u16),
    Doubles(Vec<f64>),
    Text(String),
}

impl GeoKeys {
    /// Reads the directory, with the numbers and the text that it refers to; the error says what was found.
    ///
    /// # Errors
    ///
    /// The directory is of another version, or refers to what is not there.
    pub fn new(directory: &[u16], doubles: &[f64], text: &[u8]) -> Result<Self, String> {
        let [version, _, _, n_keys, entries @ ..] = directory else {
            return Err(format!("a directory of GeoKeys of {} numbers, expected four or more", directory.len()));
        };
        if *version != 1 {
            return Err(format!("GeoKeys of version {version}, expected 1"));
        }
        let mut keys = BTreeMap::new();
        // Writers have been seen that count one key too many: what is there is read.
        for &[key, location, count, value] in entries.as_chunks::<4>().0.iter().take(usize::from(*n_keys)) {
            let range = usize::from(value)..usize::from(value) + usize::from(count);
            let outside = || format!("GeoKey {key} refers to {range:?} of {location}, which is not there");
            let value = match location {
                0 => Value::Short(value),
                DOUBLES => Value::Doubles(doubles.get(range.clone()).ok_or_else(outside)?.to_vec()),
                TEXT => {
                    // The last text often lacks its end.
                    let end = range.end.min(text.len());
                    let bytes = text.get(range.start..end).ok_or_else(outside)?;
                    Value::Text(String::from_utf8_lossy(bytes).trim_end_matches(['\0', '|']).to_owned())
                }
                _ => continue,
            };
            keys.insert(key, value);
        }
        Ok(Self { keys })
    }

    /// As [`GeoKeys::new`], from the bytes of LAS records.
    ///
    /// # Errors
    ///
    /// As [`GeoKeys::new`].
    pub fn from_bytes(directory: &[u8], doubles: &[u8], text: &[u8]) -> Result<Self, String> {
        let directory: Vec<u16> = directory.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes)).collect();
        let doubles: Vec<f64> = doubles.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        Self::new(&directory, &doubles, text)
    }

    /// Whether the values of a raster are those at points: the first pixel's centre lies at the tie point, not its corner.
    pub fn is_pixel_point(&self) -> bool {
        self.short(1025) == Some(2)
    }

    /// The unit of heights in metres, where a key says it.
    pub fn height_unit_m(&self) -> Option<f64> {
        length_unit_m(self.short(4099)?)
    }

    /// The CRS as text; `None` where the keys name none.
    ///
    /// # Errors
    ///
    /// They spell out a projection that is not known here; the error says which.
    pub fn crs(&self) -> Result<Option<String>, String> {
        if let Some(code) = self.epsg(3072) {
            return Ok(Some(self.with_heights(code)));
        }
        if self.short(1024) == Some(1) || self.keys.contains_key(&3072) {
            return self.projection().map(Some);
        }
        if let Some(code) = self.epsg(2048) {
            return Ok(Some(self.with_heights(code)));
        }
        if self.keys.contains_key(&2048) {
            return Ok(Some(format!("+proj=longlat{} +no_defs", self.datum()?)));
        }
        Ok(None)
    }

    fn short(&self, key: u16) -> Option<u16> {
        if let Some(Value::Short(value)) = self.keys.get(&key) { Some(*value) } else { None }
    }

    fn double(&self, key: u16) -> Option<f64> {
        match self.keys.get(&key)? {
            Value::Doubles(doubles) => doubles.first().copied().filter(|number| number.is_finite()),
            Value::Short(value) => Some(f64::from(*value)),
            Value::Text(_) => None,
        }
    }

    fn epsg(&self, key: u16) -> Option<u16> {
        self.short(key).filter(|code| EPSG_CODES.contains(code))
    }

    /// A horizontal code, with that of the heights where there is one.
    fn with_heights(&self, code: u16) -> String {
        // Codes below 5500 are of the first GeoTIFF, of datums that EPSG numbers otherwise today.
        match self.epsg(4096).filter(|&vertical| vertical >= 5500 && vertical != code) {
            Some(vertical) => format!("EPSG:{code}+{vertical}"),
            None => format!("EPSG:{code}"),
        }
    }

    /// A projection that is spelled out.
    fn projection(&self) -> Result<String, String> {
        if let Some(wkt) = self.wkt_in_citation() {
            return Ok(wkt);
        }
        let unit_m = match (self.short(3076), self.double(3077)) {
            (_, Some(unit_m)) if unit_m > 0.0 => unit_m,
            (None, _) => 1.0,
            (Some(code), _) => length_unit_m(code).ok_or_else(|| format!("eastings in the unit EPSG:{code}"))?,
        };
        let mut proj = self.method(unit_m)?;
        proj.push_str(&self.datum()?);
        if unit_m != 1.0 {
            let _ = write!(proj, " +to_meter={unit_m}");
        }
        proj.push_str(" +no_defs");
        Ok(proj)
    }

    /// Esri writes the whole CRS as WKT into a text.
    fn wkt_in_citation(&self) -> Option<String> {
        [1026, 3073].into_iter().find_map(|key| {
            let Some(Value::Text(text)) = self.keys.get(&key) else { return None };
            Some(text[text.find("PROJCS[")?..].to_owned())
        })
    }

    fn method(&self, unit_m: f64) -> Result<String, String> {
        // UTM, as EPSG numbers its projections.
        match self.short(3074) {
            Some(code @ 16_001..=16_060) => return Ok(format!("+proj=utm +zone={}", code - 16_000)),
            Some(code @ 16_101..=16_160) => return Ok(format!("+proj=utm +zone={} +south", code - 16_100)),
            _ => (),
        }
        let (name, keys): (&str, &[(&str, &[u16])]) = match self.short(3075) {
            Some(1) => ("tmerc", &[("lat_0", &LAT), ("lon_0", &LON), ("k_0", &SCALE)]),
            Some(7) => ("merc", &[("lat_ts", &[3078]), ("lon_0", &LON), ("k_0", &SCALE)]),
            Some(8) => ("lcc", &[("lat_1", &[3078]), ("lat_2", &[3079]), ("lat_0", &LAT), ("lon_0", &LON)]),
            Some(9) => ("lcc", &[("lat_1", &LAT), ("lat_0", &LAT), ("lon_0", &LON), ("k_0", &SCALE)]),
            Some(10) => ("laea", &[("lat_0", &LAT), ("lon_0", &LON)]),
            Some(11) => ("aea", &[("lat_1", &[3078]), ("lat_2", &[3079]), ("lat_0", &LAT), ("lon_0", &LON)]),
            Some(15) => ("stere", &[("lat_0", &LAT), ("lon_0", &LON), ("k_0", &SCALE)]),
            Some(16) => ("sterea", &[("lat_0", &LAT), ("lon_0", &LON), ("k_0", &SCALE)]),
            Some(other) => {
                return Err(format!("a projection of the kind {other} of GeoTIFF: give its code with --crs"));
            }
            None => return Err("a projection that is not named: give its code with --crs".to_owned()),
        };
        let angle = self.angle_unit_deg()?;
        let mut proj = format!("+proj={name}");
        let first = |keys: &[u16]| keys.iter().find_map(|&key| self.double(key));
        for (parameter, keys) in keys {
            if let Some(value) = first(keys) {
                let value = if *parameter == "k_0" { value } else { value * angle };
                let _ = write!(proj, " +{parameter}={value}");
            }
        }
        for (parameter, keys) in [("x_0", [3082, 3086, 3090]), ("y_0", [3083, 3087, 3091])] {
            if let Some(value) = first(&keys) {
                let _ = write!(proj, " +{parameter}={}", value * unit_m);
            }
        }
        Ok(proj)
    }

    /// The unit of angles, in degrees.
    fn angle_unit_deg(&self) -> Result<f64, String> {
        match self.short(2054) {
            None | Some(9102 | 9122) => Ok(1.0),
            Some(9101) => Ok(1f64.to_degrees()),
            Some(9105) => Ok(0.9),
            Some(other) => Err(format!("angles in the unit EPSG:{other}: expected degrees, radians or grads")),
        }
    }

    /// The ellipsoid and its shift, as PROJ writes them.
    fn datum(&self) -> Result<String, String> {
        if let Some(code) = self.epsg(2048)
            && let Some(known) = crs_definitions::from_code(code)
        {
            let parts = known.proj4.split_whitespace().filter(|part| !["+proj=longlat", "+no_defs"].contains(part));
            return Ok(parts.fold(String::new(), |text, part| text + " " + part));
        }
        let mut text = match (self.double(2057), self.double(2059), self.double(2058)) {
            (Some(radius_m), Some(flattening), _) if flattening > 0.0 => format!(" +a={radius_m} +rf={flattening}"),
            (Some(radius_m), _, Some(polar_m)) => format!(" +a={radius_m} +b={polar_m}"),
            (Some(radius_m), ..) => format!(" +R={radius_m}"),
            _ => match self.short(2056) {
                None | Some(7019) => " +ellps=GRS80".to_owned(),
                Some(7030) => " +ellps=WGS84".to_owned(),
                Some(7004) => " +ellps=bessel".to_owned(),
                Some(7022) => " +ellps=intl".to_owned(),
                Some(7008) => " +ellps=clrk66".to_owned(),
                Some(7001) => " +ellps=airy".to_owned(),
                Some(7024) => " +ellps=krass".to_owned(),
                Some(other) => return Err(format!("the ellipsoid EPSG:{other}: give the code of the CRS with --crs")),
            },
        };
        if let Some(Value::Doubles(shift)) = self.keys.get(&2062).filter(|_| !text.is_empty())
            && matches!(shift.len(), 3 | 7)
        {
            let shift: Vec<_> = shift.iter().map(f64::to_string).collect();
            let _ = write!(text, " +towgs84={}", shift.join(","));
        }
        if let Some(meridian) = self.double(2061).filter(|&meridian| meridian != 0.0) {
            let _ = write!(text, " +pm={meridian}");
        }
        Ok(text)
    }
}

/// Keys that hold the latitude of the origin, the longitude, the scale: each method of GeoTIFF has its own.
const LAT: [u16; 3] = [3081, 3085, 3089];
const LON: [u16; 4] = [3080, 3084, 3088, 3095];
const SCALE: [u16; 2] = [3092, 3093];

/// A unit of length that EPSG numbers, in metres.
fn length_unit_m(code: u16) -> Option<f64> {
    match code {
        9001 => Some(1.0),
        9002 => Some(FOOT_M),
        9003 => Some(US_FOOT_M),
        9036 => Some(1000.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(entries: &[[u16; 4]], doubles: &[f64], text: &str) -> Result<GeoKeys, String> {
        let head = [1, 1, 0, entries.len() as u16];
        let directory: Vec<u16> = head.into_iter().chain(entries.iter().flatten().copied()).collect();
        GeoKeys::new(&directory, doubles, text.as_bytes())
    }

    fn crs(entries: &[[u16; 4]], doubles: &[f64], text: &str) -> Result<Option<String>, String> {
        keys(entries, doubles, text)?.crs()
    }

    #[test]
    fn codes_are_taken_as_they_are() {
        let projected = [[1024, 0, 1, 1], [3072, 0, 1, 28_992]];
        assert_eq!(crs(&projected, &[], "").unwrap().unwrap(), "EPSG:28992");
        let compound = [projected[0], projected[1], [4096, 0, 1, 5709]];
        assert_eq!(crs(&compound, &[], "").unwrap().unwrap(), "EPSG:28992+5709");
        let geographic = [[1024, 0, 1, 2], [2048, 0, 1, 6668], [4096, 0, 1, 5103]];
        assert_eq!(crs(&geographic, &[], "").unwrap().unwrap(), "EPSG:6668", "a code of the first GeoTIFF");
        assert_eq!(crs(&[[1025, 0, 1, 2]], &[], "").unwrap(), None);
        assert!(keys(&[[1025, 0, 1, 2]], &[], "").unwrap().is_pixel_point());
        assert_eq!(keys(&[[4099, 0, 1, 9003]], &[], "").unwrap().height_unit_m(), Some(US_FOOT_M));
    }

    #[test]
    fn projections_are_spelled_out() {
        // Of autzen_trim.laz: false eastings are in feet there.
        let oregon = [
            [1024, 0, 1, 1],
            [2048, 0, 1, 32_767],
            [2057, DOUBLES, 1, 7],
            [2059, DOUBLES, 1, 6],
            [3072, 0, 1, 32_767],
            [3075, 0, 1, 8],
            [3076, 0, 1, 9002],
            [3078, DOUBLES, 1, 2],
            [3079, DOUBLES, 1, 3],
            [3084, DOUBLES, 1, 1],
            [3085, DOUBLES, 1, 0],
            [3086, DOUBLES, 1, 4],
            [3087, DOUBLES, 1, 5],
            [0, 0, 0, 0],
        ];
        let doubles = [41.75, -120.5, 43.0, 45.5, 1_312_335.958_005_249, 0.0, 298.257_222_101, 6_378_137.0];
        assert_eq!(
            crs(&oregon, &doubles, "").unwrap().unwrap(),
            "+proj=lcc +lat_1=43 +lat_2=45.5 +lat_0=41.75 +lon_0=-120.5 +x_0=399999.99999999994 +y_0=0 +a=6378137 \
             +rf=298.257222101 +to_meter=0.3048 +no_defs"
        );
        let utm = [[1024, 0, 1, 1], [2048, 0, 1, 4326], [3072, 0, 1, 32_767], [3074, 0, 1, 16_154]];
        let text = crs(&utm, &[], "").unwrap().unwrap();
        assert!(text.starts_with("+proj=utm +zone=54 +south") && text.contains("WGS84"), "{text}");
        let esri = [[1024, 0, 1, 1], [3073, TEXT, 30, 0], [3072, 0, 1, 32_767]];
        assert_eq!(crs(&esri, &[], "ESRI PE String = PROJCS[\"x\"]|").unwrap().unwrap(), "PROJCS[\"x\"]");
    }

    #[test]
    fn what_is_not_known_is_named() {
        let method = [[1024, 0, 1, 1], [3072, 0, 1, 32_767], [3075, 0, 1, 22]];
        assert!(crs(&method, &[], "").unwrap_err().contains("kind 22 of GeoTIFF: give its code with --crs"));
        assert!(keys(&[[3080, DOUBLES, 1, 5]], &[1.0], "").unwrap_err().contains("GeoKey 3080 refers to 5..6"));
        assert!(GeoKeys::new(&[1, 1], &[], &[]).unwrap_err().contains("of 2 numbers"));
        assert!(GeoKeys::new(&[7, 1, 0, 0], &[], &[]).unwrap_err().contains("version 7"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn anything_is_read_or_refused(
            directory in prop::collection::vec(any::<u8>(), 0..200),
            doubles in prop::collection::vec(any::<u8>(), 0..40),
            text in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut directory = directory;
            directory.splice(0..directory.len().min(2), [1, 0]);
            if let Ok(keys) = GeoKeys::from_bytes(&directory, &doubles, &text) {
                let _ = keys.crs();
            }
        }
    }
}
