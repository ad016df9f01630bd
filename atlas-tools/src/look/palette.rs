//! The inks: every colour of a city, at most 255, the same in every file.
//!
//! One palette for all makes every atlas an indexed image and lets files compress well. Families of inks are derived
//! from a few base colours, so that a facade's parts belong together. Nothing is pure black, pure white or neon.

use voxatlas::voxel::Colour;

/// An index into [`PALETTE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ink(pub u8);

/// The inks of a facade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Wall {
    /// Piers, and the plain wall.
    Plain = 0,
    /// Floor slabs, balconies and bands between windows.
    Band = 1,
    /// The ground floor's wall.
    Base = 2,
    /// Windows.
    Window = 3,
    /// Windows a tone off, for variation within a facade.
    WindowAlt = 4,
    /// Shop windows and entrances.
    Shop = 5,
}

/// The inks of a roof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Roof {
    /// The roof.
    Field = 0,
    /// Its edge.
    Rim = 1,
    /// Plant rooms, hatches and terraces on it.
    Plant = 2,
}

/// The inks that belong to no building.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ground {
    /// The inside of the ground.
    Earth = 0,
    /// A pavement along a wall.
    Pavement = 1,
    /// A street.
    Street = 2,
    /// The middle of a wide street.
    Lane = 3,
    /// Wide open ground: a square, a park, rails, water, nobody knows.
    Open = 4,
    /// Fields.
    Farm = 5,
    /// Grass and parks.
    Green = 6,
    /// Trees.
    Wood = 7,
    /// Sand and bare ground.
    Sand = 8,
    /// Water.
    Water = 9,
    /// Rails and their ballast.
    Rail = 10,
}

/// The inks of a mast: the two colours that aviation asks for, plain and where braces cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mast {
    /// International orange, weathered.
    Orange = 0,
    /// Between its braces.
    OrangeShade = 1,
    /// White.
    White = 2,
    /// Between its braces.
    WhiteShade = 3,
}

/// Base colours of masonry: plaster and concrete first, then tile and brick, then the rare accents.
pub(super) const MASONRY: [Colour; 22] = [
    // Plaster and concrete, from warm white to mid grey.
    [226, 222, 213],
    [219, 219, 217],
    [208, 206, 201],
    [197, 197, 194],
    [229, 224, 209],
    [212, 206, 194],
    [203, 207, 204],
    [186, 186, 183],
    [216, 210, 203],
    [196, 190, 180],
    // Tile, stone and brick.
    [211, 195, 168],
    [199, 179, 150],
    [222, 207, 179],
    [184, 160, 132],
    [174, 130, 106],
    [152, 118, 98],
    [160, 104, 84],
    [190, 168, 148],
    // Accents.
    [126, 152, 146],
    [128, 146, 168],
    [190, 150, 140],
    [200, 172, 118],
];

/// How many of [`MASONRY`] are plaster and concrete.
pub(super) const N_PLASTER: usize = 10;

/// How many of [`MASONRY`], after the plaster, are tile and brick.
pub(super) const N_TILE: usize = 8;

/// Base colours of curtain walls: blue-grey glass, clear to deep.
pub(super) const CURTAIN: [Colour; 6] =
    [[134, 155, 172], [112, 136, 156], [146, 166, 176], [122, 146, 152], [98, 118, 138], [158, 170, 178]];

/// Base colours of roofs: flat ones first, then tiled ones, then green ones.
pub(super) const ROOFS: [Colour; 16] = [
    // Flat: gravel, membrane and concrete.
    [178, 177, 172],
    [166, 167, 166],
    [190, 187, 179],
    [156, 158, 158],
    [184, 180, 170],
    [172, 176, 176],
    // Tiled and sheet metal.
    [108, 112, 118],
    [122, 126, 132],
    [112, 122, 136],
    [132, 112, 100],
    [146, 118, 102],
    [120, 134, 128],
    [138, 138, 136],
    // Green.
    [134, 150, 110],
    [144, 156, 120],
    [124, 142, 104],
];

/// How many of [`ROOFS`] are flat.
pub(super) const N_FLAT: usize = 6;

/// How many of [`ROOFS`], after the flat ones, are tiled.
pub(super) const N_TILED: usize = 7;

const GROUND: [Colour; 11] = [
    [128, 120, 110],
    [172, 170, 165],
    [136, 138, 141],
    [126, 129, 133],
    [162, 172, 142],
    [176, 174, 132],
    [142, 164, 112],
    [110, 136, 94],
    [198, 186, 158],
    [92, 126, 152],
    [138, 132, 124],
];

const MAST: [Colour; 4] = [[204, 92, 58], [180, 80, 52], [228, 222, 212], [205, 199, 190]];

const WALL_INKS: usize = 6;
const ROOF_INKS: usize = 3;
const CURTAIN_AT: usize = MASONRY.len() * WALL_INKS;
const ROOFS_AT: usize = CURTAIN_AT + CURTAIN.len() * WALL_INKS;
const GROUND_AT: usize = ROOFS_AT + ROOFS.len() * ROOF_INKS;
const MAST_AT: usize = GROUND_AT + GROUND.len();
const N_INKS: usize = MAST_AT + MAST.len();

const _: () = assert!(N_INKS <= 255, "a region's colours fit an indexed image beside its transparent entry");
const _: () = assert!(N_PLASTER + N_TILE < MASONRY.len(), "some masonry is left for accents");
const _: () = assert!(N_FLAT + N_TILED < ROOFS.len(), "some roofs are left to be green");

/// The colours of all inks.
pub const PALETTE: [Colour; N_INKS] = palette();

impl Ink {
    /// The ink of a masonry facade; `family` is below the length of `MASONRY`.
    pub(super) fn masonry(family: usize, part: Wall) -> Self {
        debug_assert!(family < MASONRY.len());
        Self((family * WALL_INKS + part as usize) as u8)
    }

    /// The ink of a curtain wall; `family` is below the length of `CURTAIN`.
    pub(super) fn curtain(family: usize, part: Wall) -> Self {
        debug_assert!(family < CURTAIN.len());
        Self((CURTAIN_AT + family * WALL_INKS + part as usize) as u8)
    }

    /// The ink of a roof; `family` is below the length of `ROOFS`.
    pub(super) fn roof(family: usize, part: Roof) -> Self {
        debug_assert!(family < ROOFS.len());
        Self((ROOFS_AT + family * ROOF_INKS + part as usize) as u8)
    }

    /// An ink of the ground.
    pub const fn ground(part: Ground) -> Self {
        Self((GROUND_AT + part as usize) as u8)
    }

    /// An ink of a mast.
    pub const fn mast(part: Mast) -> Self {
        Self((MAST_AT + part as usize) as u8)
    }

    /// Whether it is the ink of a roof.
    pub fn is_roof(self) -> bool {
        (ROOFS_AT..GROUND_AT).contains(&usize::from(self.0))
    }

    /// Its colour.
    pub fn colour(self) -> Colour {
        PALETTE[usize::from(self.0)]
    }
}

const fn palette() -> [Colour; N_INKS] {
    const PALE: Colour = [238, 235, 228];
    const DARK: Colour = [62, 66, 72];
    const GLASS: Colour = [92, 108, 124];
    const GLASS_ALT: Colour = [110, 126, 140];
    let mut inks = [[0; 3]; N_INKS];
    let mut family = 0;
    while family < MASONRY.len() {
        let (at, base) = (family * WALL_INKS, MASONRY[family]);
        inks[at] = base;
        inks[at + 1] = mix(base, PALE, 35);
        inks[at + 2] = mix(base, DARK, 22);
        inks[at + 3] = mix(base, GLASS, 66);
        inks[at + 4] = mix(base, GLASS_ALT, 58);
        inks[at + 5] = mix(base, DARK, 68);
        family += 1;
    }
    family = 0;
    while family < CURTAIN.len() {
        let (at, base) = (CURTAIN_AT + family * WALL_INKS, CURTAIN[family]);
        // The mullions are the plain wall of a curtain wall, its panes the windows.
        inks[at] = mix(base, PALE, 28);
        inks[at + 1] = mix(base, PALE, 16);
        inks[at + 2] = mix(base, DARK, 35);
        inks[at + 3] = base;
        inks[at + 4] = mix(base, PALE, 9);
        inks[at + 5] = mix(base, DARK, 60);
        family += 1;
    }
    family = 0;
    while family < ROOFS.len() {
        let (at, base) = (ROOFS_AT + family * ROOF_INKS, ROOFS[family]);
        inks[at] = base;
        inks[at + 1] = mix(base, PALE, 30);
        inks[at + 2] = mix(base, DARK, 20);
        family += 1;
    }
    let mut i = 0;
    while i < GROUND.len() {
        inks[GROUND_AT + i] = GROUND[i];
        i += 1;
    }
    i = 0;
    while i < MAST.len() {
        inks[MAST_AT + i] = MAST[i];
        i += 1;
    }
    inks
}

/// `percent` of `b` in `a`, 0..=100.
const fn mix(a: Colour, b: Colour, percent: u32) -> Colour {
    let mut mixed = [0; 3];
    let mut channel = 0;
    while channel < 3 {
        mixed[channel] = ((a[channel] as u32 * (100 - percent) + b[channel] as u32 * percent + 50) / 100) as u8;
        channel += 1;
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ink_is_black_white_or_neon() {
        for (idx, colour) in PALETTE.iter().enumerate() {
            let (low, high) = (colour.iter().min().unwrap(), colour.iter().max().unwrap());
            assert!(*high > 60 && *low < 240, "ink {idx} is {colour:?}");
            assert!(high - low < 150, "ink {idx} is {colour:?}");
        }
    }

    #[test]
    fn families_do_not_overlap() {
        assert_eq!(Ink::masonry(MASONRY.len() - 1, Wall::Shop).0 + 1, Ink::curtain(0, Wall::Plain).0);
        assert_eq!(Ink::curtain(CURTAIN.len() - 1, Wall::Shop).0 + 1, Ink::roof(0, Roof::Field).0);
        assert_eq!(Ink::roof(ROOFS.len() - 1, Roof::Plant).0 + 1, Ink::ground(Ground::Earth).0);
        assert_eq!(Ink::ground(Ground::Rail).0 + 1, Ink::mast(Mast::Orange).0);
        assert_eq!(usize::from(Ink::mast(Mast::WhiteShade).0) + 1, PALETTE.len());
    }
}
