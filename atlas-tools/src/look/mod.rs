//! The look of a city that has no colours: a city model one would print.
//!
//! Receives what is known of a building or a piece of ground, yields inks. Pure and deterministic: a building's look is
//! decided by its key, height and size alone, a voxel's by its place on the building; nothing is random, nothing depends
//! on the tile, and nothing flickers from one voxel to the next. It knows neither regions nor files.
//!
//! ```text
//!   Plain  Band   Window                       height / 3 m = floor, along / bay = bay
//!   |::::::|::::::|::::::|  parapet
//!   |##::##|##::##|##::##|  floor 2            facade:  punched, ribbon, vertical, balcony,
//!   |##::##|##::##|##::##|  floor 1                     curtain, hall, house, mast
//!   |SS::SS|SS::SS|SS::SS|  ground floor: Shop between piers
//! ```

mod palette;

pub use palette::{Ground, Ink, Mast, PALETTE, Roof, Wall};

use palette::{CURTAIN, MASONRY, N_FLAT, N_PLASTER, N_TILE, N_TILED, ROOFS};

use voxatlas::voxel::Colour;

use crate::input::{CoverKind, mix};
use crate::spaces::Space;

/// The colour of a voxel: an ink of the city's own, or whatever a source tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tint {
    /// An ink.
    Ink(Ink),
    /// Any colour.
    Colour(Colour),
}

impl Tint {
    /// Its colour.
    pub fn colour(self) -> Colour {
        match self {
            Self::Ink(ink) => ink.colour(),
            Self::Colour(colour) => colour,
        }
    }
}

/// Height of a floor, in metres.
pub const FLOOR_M: f64 = 3.0;

/// Height above which a slender structure is painted as a mast, in metres: lower ones are aerials on a building.
const MAST_M: f64 = 200.0;

/// Width of the pavement along walls, in voxels, and one.
const PAVEMENT_VOXELS: u32 = 3;

/// What a building's look is decided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// A well mixed number that is the building's own.
    pub seed: u64,
    /// Its height, in metres.
    pub height_m: f64,
    /// The longer and the shorter side of the box round it, in metres.
    pub sides_m: [f64; 2],
    /// The longer side of the box round its upper half, in metres.
    pub upper_side_m: f64,
}

/// How the walls of a building are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facade {
    /// Few small windows.
    House,
    /// Windows between piers.
    Punched,
    /// Bands of windows.
    Ribbon,
    /// Piers from the ground to the top.
    Vertical,
    /// Balconies.
    Balcony,
    /// Glass.
    Curtain,
    /// A hall: plain walls, a band of light below the roof.
    Hall,
    /// A lattice in the colours of aviation.
    Mast,
}

/// The look of one building.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    facade: Facade,
    /// A family of masonry, or of curtain walls for [`Facade::Curtain`].
    walls: usize,
    roof: usize,
    /// Whether flat parts of the roof carry plant.
    has_plant: bool,
    /// Width of a bay, in metres.
    bay_m: f64,
    seed: u64,
    height_m: f64,
}

/// A place on a wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WallPoint {
    /// Height of the voxel's centre above the ground, in metres.
    pub height_m: f64,
    /// Height of the wall's top above the ground, in metres.
    pub top_m: f64,
    /// Place along the wall, in metres.
    pub along_m: f64,
    /// At a corner of the building.
    pub is_corner: bool,
    /// Close to another building.
    pub is_party: bool,
    /// The wall goes down to the ground.
    pub meets_ground: bool,
}

/// A place on a roof.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoofPoint {
    /// Place in the building's own axes, in metres.
    pub place_m: [f64; 2],
    /// Height above the ground, in metres.
    pub height_m: f64,
    /// At the edge: the next column is more than a step lower.
    pub is_rim: bool,
    /// Level for a few voxels around.
    pub is_level: bool,
}

impl Style {
    /// Decides the look of a building.
    pub fn of(facts: &Facts) -> Self {
        let Facts { seed, height_m, sides_m: [long_m, short_m], upper_side_m } = *facts;
        let mut dice = Dice(seed);
        let facade = if height_m >= MAST_M && upper_side_m * 6.0 < height_m {
            Facade::Mast
        } else if height_m < 11.0 && long_m < 32.0 {
            Facade::House
        } else if height_m < 22.0 && short_m > 45.0 && height_m * 4.0 < short_m {
            Facade::Hall
        } else if height_m < 34.0 {
            dice.choose(&[
                (Facade::Punched, 42),
                (Facade::Ribbon, 16),
                (Facade::Vertical, 8),
                (Facade::Balcony, 30),
                (Facade::Curtain, 4),
            ])
        } else if height_m < 75.0 {
            dice.choose(&[
                (Facade::Punched, 26),
                (Facade::Ribbon, 18),
                (Facade::Vertical, 14),
                (Facade::Balcony, 24),
                (Facade::Curtain, 18),
            ])
        } else {
            dice.choose(&[(Facade::Curtain, 62), (Facade::Vertical, 14), (Facade::Balcony, 14), (Facade::Ribbon, 10)])
        };
        let walls = if facade == Facade::Curtain { dice.below(CURTAIN.len()) } else { masonry(height_m, &mut dice) };
        let is_large = short_m > 14.0;
        let roof = match facade {
            Facade::House if dice.below(100) < 72 => N_FLAT + dice.below(N_TILED),
            _ if is_large && height_m < 60.0 && dice.below(100) < 9 => {
                N_FLAT + N_TILED + dice.below(ROOFS.len() - N_FLAT - N_TILED)
            }
            _ => dice.below(N_FLAT),
        };
        let bay_m = match facade {
            Facade::House => 3.9,
            Facade::Hall | Facade::Balcony => 6.0,
            _ => [3.0, 3.3, 3.9][dice.below(3)],
        };
        Self { facade, walls, roof, has_plant: is_large && facade != Facade::House, bay_m, seed, height_m }
    }

    /// How its walls are divided.
    pub fn facade(&self) -> Facade {
        self.facade
    }

    /// The ink inside the building, and of walls of which nothing is known.
    pub fn inside(&self) -> Ink {
        match self.facade {
            Facade::Mast => self.mast(self.height_m / 2.0, false),
            _ => self.ink(Wall::Base),
        }
    }

    /// The tint of a voxel of a wall whose colour the source may tell: then the windows alone are ours.
    pub fn wall_tint(&self, at: &WallPoint, told: Option<Colour>) -> Tint {
        let ink = self.wall(at);
        match told {
            Some(colour) if !self.is_glass(ink) => Tint::Colour(colour),
            _ => Tint::Ink(ink),
        }
    }

    /// Whether an ink is that of a window of this building.
    fn is_glass(&self, ink: Ink) -> bool {
        [Wall::Window, Wall::WindowAlt, Wall::Shop].into_iter().any(|part| self.ink(part) == ink)
    }

    /// The ink of a part of its walls.
    pub fn part(&self, part: Wall) -> Ink {
        self.ink(part)
    }

    /// The ink of a voxel of a wall.
    pub fn wall(&self, at: &WallPoint) -> Ink {
        if self.facade == Facade::Mast {
            return self.lattice(at);
        }
        if at.is_party {
            return self.ink(Wall::Plain);
        }
        let floor = (at.height_m / FLOOR_M).floor();
        let rise_m = at.height_m - floor * FLOOR_M;
        let bay = (at.along_m / self.bay_m).floor();
        let within = at.along_m / self.bay_m - bay;
        if self.facade == Facade::House {
            // A plastered house: windows a little above each floor, never at the corners.
            let is_window = (0.9..2.1).contains(&rise_m) && (0.3..0.75).contains(&within);
            return self.ink(if is_window && !at.is_corner { Wall::Window } else { Wall::Plain });
        }
        if at.meets_ground && at.height_m < FLOOR_M {
            let has_shops = !at.is_corner && self.facade != Facade::Hall;
            return self.ink(match (has_shops, rise_m < 2.2) {
                // A canopy runs above the shops.
                (true, false) => Wall::Band,
                (true, true) if within >= 0.28 => Wall::Shop,
                _ => Wall::Base,
            });
        }
        // The parapet: what stands above the last whole floor.
        if at.top_m - at.height_m < 0.8 {
            return self.ink(Wall::Band);
        }
        if at.is_corner {
            return self.ink(Wall::Plain);
        }
        let is_slab = rise_m < 0.9;
        self.ink(match self.facade {
            Facade::Punched => {
                if is_slab || rise_m > 2.7 || within < 0.36 {
                    Wall::Plain
                } else {
                    Wall::Window
                }
            }
            Facade::Ribbon => {
                if is_slab {
                    Wall::Band
                } else {
                    self.pane(bay, floor)
                }
            }
            Facade::Vertical => {
                if within < 0.4 {
                    Wall::Plain
                } else if is_slab {
                    Wall::WindowAlt
                } else {
                    Wall::Window
                }
            }
            Facade::Balcony => {
                if is_slab {
                    Wall::Band
                } else if within < 0.17 {
                    Wall::Plain
                } else {
                    Wall::Window
                }
            }
            Facade::Curtain => {
                if is_slab {
                    Wall::Band
                } else if within < 0.3 {
                    Wall::WindowAlt
                } else {
                    self.pane(bay, floor)
                }
            }
            Facade::Hall => {
                if at.top_m - at.height_m < 2.6 {
                    Wall::Window
                } else {
                    Wall::Plain
                }
            }
            Facade::House | Facade::Mast => Wall::Plain,
        })
    }

    /// The ink of a voxel of a roof.
    pub fn roof(&self, at: &RoofPoint) -> Ink {
        if self.facade == Facade::Mast {
            return self.mast(at.height_m, at.is_rim);
        }
        let part = if at.is_rim && self.roof < N_FLAT {
            Roof::Rim
        } else if at.is_level && self.has_plant && self.is_plant(at.place_m) {
            Roof::Plant
        } else {
            Roof::Field
        };
        Ink::roof(self.roof, part)
    }

    /// Plant rooms stand on a grid of 14 m, on about a third of its places, each in a size of its own. They are painted,
    /// not built: the data's heights stay true.
    fn is_plant(&self, place_m: [f64; 2]) -> bool {
        const GRID_M: f64 = 14.0;
        let cell = place_m.map(|metres| (metres / GRID_M).floor());
        let mut dice = Dice(mix(self.seed ^ mix(cell[0] as i64 as u64) ^ mix(cell[1] as i64 as u64).rotate_left(17)));
        let is_there = dice.below(3) == 0;
        let size_m = [4.0 + dice.below(6) as f64, 3.0 + dice.below(4) as f64];
        is_there && (0..2).all(|axis| (2.0..2.0 + size_m[axis]).contains(&(place_m[axis] - cell[axis] * GRID_M)))
    }

    /// Panes differ a little from bay to bay and from floor to floor.
    fn pane(&self, bay: f64, floor: f64) -> Wall {
        let hash = mix(self.seed ^ (bay as i64 as u64) << 20 ^ floor as i64 as u64);
        if hash.is_multiple_of(4) { Wall::WindowAlt } else { Wall::Window }
    }

    fn lattice(&self, at: &WallPoint) -> Ink {
        const BRACE_M: f64 = 8.0;
        let brace = |place_m: f64| (place_m / BRACE_M).rem_euclid(1.0) < 0.3;
        let is_brace = at.is_corner || brace(at.along_m + at.height_m) || brace(at.along_m - at.height_m);
        self.mast(at.height_m, !is_brace)
    }

    /// Seven bands, orange at both ends, as aviation wants them.
    fn mast(&self, height_m: f64, in_shade: bool) -> Ink {
        let band = (height_m / self.height_m * 7.0).floor().clamp(0.0, 6.0) as u32;
        Ink::mast(match (band.is_multiple_of(2), in_shade) {
            (true, false) => Mast::Orange,
            (true, true) => Mast::OrangeShade,
            (false, false) => Mast::White,
            (false, true) => Mast::WhiteShade,
        })
    }

    fn ink(&self, part: Wall) -> Ink {
        if self.facade == Facade::Curtain { Ink::curtain(self.walls, part) } else { Ink::masonry(self.walls, part) }
    }
}

/// Plaster and concrete for most, tile and brick for some, an accent for one in thirty; high ones are pale.
fn masonry(height_m: f64, dice: &mut Dice) -> usize {
    let n_accents = MASONRY.len() - N_PLASTER - N_TILE;
    match dice.below(100) {
        roll if roll < 66 || height_m > 75.0 => dice.below(N_PLASTER),
        roll if roll < 97 => N_PLASTER + dice.below(N_TILE),
        _ => N_PLASTER + N_TILE + dice.below(n_accents),
    }
}

/// The ink of the ground's surface. Nothing is known of it but the space between the buildings: narrow gaps are streets,
/// wide ones open land, with a pavement along every wall.
pub fn ground(space: Space) -> Ink {
    Ink::ground(match space {
        Space { wall_voxels: ..PAVEMENT_VOXELS, .. } => Ground::Pavement,
        Space { is_open: true, .. } => Ground::Open,
        Space { is_wide: true, .. } => Ground::Lane,
        _ => Ground::Street,
    })
}

/// The ink of a piece of ground of which the source tells what it is.
pub fn cover(kind: CoverKind) -> Ink {
    Ink::ground(match kind {
        CoverKind::Other => Ground::Open,
        CoverKind::Farm => Ground::Farm,
        CoverKind::Green => Ground::Green,
        CoverKind::Wood => Ground::Wood,
        CoverKind::Sand => Ground::Sand,
        CoverKind::Water => Ground::Water,
        CoverKind::Paved | CoverKind::Path => Ground::Pavement,
        CoverKind::Rail => Ground::Rail,
        CoverKind::Road => Ground::Street,
    })
}

/// Choices that follow from a seed, one after the other.
struct Dice(u64);

impl Dice {
    /// A number below `n`, at most 2^32.
    fn below(&mut self, n: usize) -> usize {
        self.0 = mix(self.0);
        (((self.0 >> 32) * n as u64) >> 32) as usize
    }

    /// One of the options, each as likely as its weight.
    fn choose<T: Copy>(&mut self, options: &[(T, usize)]) -> T {
        let mut roll = self.below(options.iter().map(|&(_, weight)| weight).sum());
        for &(option, weight) in options {
            if roll < weight {
                return option;
            }
            roll -= weight;
        }
        options[0].0
    }
}

#[cfg(test)]
mod tests;
