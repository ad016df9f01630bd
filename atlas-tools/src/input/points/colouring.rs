//! The colour of a point.
//!
//! What the file's numbers mean is settled from its first 100,000 points, however little of it is read afterwards, so that
//! a point has the same colour in every run: 8-bit colours in fields of 16 bits are common, and fields that were never
//! filled in are too.

use voxatlas::voxel::Colour;

/// Points that are looked at.
pub(super) const SURVEY_POINTS: u64 = 100_000;

/// Where the fields of a record lie, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) record_bytes: usize,
    /// Whether the class has a byte of its own, as in the formats 6 to 10.
    is_extended: bool,
    rgb_at: Option<usize>,
}

impl Layout {
    /// The layout of a point format.
    pub(super) fn new(format: ::las::point::Format) -> Self {
        let rgb_at = match (format.is_extended, format.has_gps_time) {
            (true, _) => 30,
            (false, true) => 28,
            (false, false) => 20,
        };
        Self {
            record_bytes: usize::from(format.len()),
            is_extended: format.is_extended,
            rgb_at: format.has_color.then_some(rgb_at),
        }
    }

    /// The three coordinates as they are stored.
    pub(super) fn coordinates(record: &[u8]) -> [i32; 3] {
        [0, 4, 8].map(|at| i32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]))
    }

    /// The class of ASPRS.
    pub(super) fn class(self, record: &[u8]) -> u8 {
        if self.is_extended { record[16] } else { record[15] & 31 }
    }

    /// Whether the file says that the point is not to be used.
    pub(super) fn is_withheld(self, record: &[u8]) -> bool {
        if self.is_extended { record[15] & 4 != 0 } else { record[15] & 128 != 0 }
    }

    fn intensity(record: &[u8]) -> u16 {
        u16_at(record, 12)
    }

    fn rgb(self, record: &[u8]) -> Option<[u16; 3]> {
        let at = self.rgb_at?;
        Some([0, 2, 4].map(|channel| u16_at(record, at + channel)))
    }
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

/// What was seen among the first points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Survey {
    channel_max: u16,
    intensity_max: u16,
    is_classified: bool,
}

impl Survey {
    /// Looks at a point.
    pub(super) fn see(&mut self, layout: Layout, record: &[u8]) {
        for channel in layout.rgb(record).into_iter().flatten() {
            self.channel_max = self.channel_max.max(channel);
        }
        self.intensity_max = self.intensity_max.max(Layout::intensity(record));
        // 0 and 1 are "never classified" and "unclassified".
        self.is_classified |= layout.class(record) > 1;
    }

    /// What decides the colours of such a file.
    pub(super) fn colouring(self) -> Colouring {
        match self {
            Self { channel_max: 256.., .. } => Colouring::Rgb { shift: 8 },
            Self { channel_max: 1.., .. } => Colouring::Rgb { shift: 0 },
            Self { is_classified: true, .. } => Colouring::Class,
            Self { intensity_max: most @ 1.., .. } => Colouring::Intensity { most },
            _ => Colouring::Class,
        }
    }
}

/// What decides the colour of a file's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colouring {
    /// Its own colours, this many bits too wide.
    Rgb {
        /// Bits.
        shift: u32,
    },
    /// The class.
    Class,
    /// The intensity, of which this much is white.
    Intensity {
        /// The strongest of the first points.
        most: u16,
    },
}

impl Colouring {
    /// The colour of a point.
    pub(super) fn colour(self, layout: Layout, record: &[u8]) -> Colour {
        match self {
            // A later point may be brighter than the first ones led to expect.
            Self::Rgb { shift } => {
                layout.rgb(record).unwrap_or_default().map(|channel| (channel >> shift).min(255) as u8)
            }
            Self::Class => colour_of_class(layout.class(record)),
            Self::Intensity { most } => {
                let grey = u32::from(Layout::intensity(record)) * 255 / u32::from(most);
                [grey.min(255) as u8; 3]
            }
        }
    }
}

/// The colours of the classes of ASPRS.
fn colour_of_class(class: u8) -> Colour {
    match class {
        2 => [140, 120, 92],     // ground
        3 => [142, 168, 96],     // low vegetation
        4 => [104, 148, 78],     // medium vegetation
        5 => [68, 116, 58],      // high vegetation
        6 => [198, 178, 158],    // building
        9 => [84, 132, 178],     // water
        10 => [112, 104, 100],   // rail
        11 => [98, 98, 102],     // road
        13..=16 => [64, 64, 68], // wires, towers and their fittings
        17 => [158, 154, 148],   // bridge
        20 => [168, 150, 118],   // ignored ground
        21 => [236, 240, 244],   // snow
        _ => [156, 156, 154],
    }
}

/// Whether a class says that the point is a mistake of the measuring: low noise, high noise.
pub(super) fn is_noise(class: u8) -> bool {
    matches!(class, 7 | 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_points_settle_what_colours_mean() {
        let of = |channel_max, intensity_max, is_classified| {
            Survey { channel_max, intensity_max, is_classified }.colouring()
        };
        assert_eq!(of(65_280, 9, true), Colouring::Rgb { shift: 8 });
        assert_eq!(of(255, 9, true), Colouring::Rgb { shift: 0 });
        assert_eq!(of(0, 9, true), Colouring::Class, "colours that were never filled in");
        assert_eq!(of(0, 9, false), Colouring::Intensity { most: 9 });
        assert_eq!(of(0, 0, false), Colouring::Class);
    }

    #[test]
    fn fields_lie_where_the_formats_have_them() {
        for (format, rgb_at, class_at) in [(2, 20, 15), (3, 28, 15), (5, 28, 15), (7, 30, 16), (8, 30, 16)] {
            let layout = Layout::new(::las::point::Format::new(format).unwrap());
            let mut record = vec![0; layout.record_bytes];
            record[rgb_at..rgb_at + 6].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
            record[class_at] = 6;
            assert_eq!(layout.rgb(&record), Some([0x201, 0x403, 0x605]), "format {format}");
            assert_eq!(layout.class(&record), 6);
            assert!(!layout.is_withheld(&record));
            assert_eq!(Colouring::Rgb { shift: 8 }.colour(layout, &record), [2, 4, 6]);
            assert_eq!(Colouring::Rgb { shift: 0 }.colour(layout, &record), [255; 3]);
            record[15] |= if class_at == 16 { 4 } else { 128 };
            assert!(layout.is_withheld(&record));
            assert_eq!(layout.class(&record), 6);
        }
    }
}
