//! Elevations laid over each other: the first one that knows a voxel's height decides.
//!
//! Receives elevations in the order in which they count, yields the heights of a tile from as many of them as it takes.
//! It blends nothing where one ends and the next begins: a step between two surveys is theirs.

use std::sync::Arc;

use voxatlas::geo::TileCoord;
use voxatlas::geo::mercator::wrap_x;
use voxatlas::limits::ZOOM_FULL;

use super::cache::Cache;
use super::{Elevation, HeightTile, NO_DATA, SIDE, TILE_CELLS, meets_tile};
use crate::input::InputError;

/// The ground of a city, from all that is known of it.
pub struct GroundStack {
    elevations: Vec<Box<dyn Elevation>>,
    kept: Cache<TileCoord, Option<HeightTile>>,
}

impl GroundStack {
    /// Lays elevations over each other, the first one on top; keeps made tiles within a budget of bytes.
    pub fn new(elevations: Vec<Box<dyn Elevation>>, budget_bytes: u64) -> Self {
        Self { elevations, kept: Cache::new(budget_bytes) }
    }

    /// Whether there is no elevation in it at all.
    pub fn is_empty(&self) -> bool {
        self.elevations.is_empty()
    }

    /// What messages call its elevations, the first one on top.
    pub fn names(&self) -> Vec<String> {
        self.elevations.iter().map(|elevation| elevation.name()).collect()
    }

    /// The boxes round its elevations, as [`Elevation::extent`], the first one on top.
    pub fn extents(&self) -> Vec<[f64; 4]> {
        self.elevations.iter().map(|elevation| elevation.extent()).collect()
    }

    /// The heights of a z17 tile, [`NO_DATA`] where no elevation has any; `None` where none has any in the whole tile.
    ///
    /// # Errors
    ///
    /// An elevation that is needed cannot be read: one that lies below whole tiles is not.
    pub fn tile(&self, tile: TileCoord) -> Result<Arc<Option<HeightTile>>, InputError> {
        self.kept.get_or(&tile, || {
            let made = self.make(tile)?;
            let size_bytes = made.as_ref().map_or(64, |_| TILE_CELLS * size_of::<f32>());
            Ok((made, size_bytes as u64))
        })
    }

    /// The height of the ground at a place in the world, x and z in z17 voxels: that of the voxel it lies in. x wraps;
    /// `None` where no elevation has any, or the place is off the world.
    ///
    /// # Errors
    ///
    /// As [`GroundStack::tile`].
    pub fn height_m_at(&self, x: f64, z: f64) -> Result<Option<f32>, InputError> {
        let voxel = |coordinate: f64| coordinate.floor() as u32;
        if !(x.is_finite() && z >= 0.0) {
            return Ok(None);
        }
        let side = SIDE as u32;
        let (x, z) = (voxel(wrap_x(x)), voxel(z));
        let Ok(tile) = TileCoord::new(ZOOM_FULL, x / side, z / side) else { return Ok(None) };
        let heights = self.tile(tile)?;
        Ok(heights.as_ref().as_ref().and_then(|heights| heights.at((x % side) as usize, (z % side) as usize)))
    }

    fn make(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let mut made: Option<HeightTile> = None;
        for elevation in self.elevations.iter().filter(|elevation| meets_tile(elevation.extent(), tile)) {
            let Some(lower) = elevation.tile(tile)? else { continue };
            match &mut made {
                Some(made) => made.fill_from(&lower),
                None => made = Some(lower),
            }
            if made.as_ref().is_some_and(HeightTile::is_whole) {
                break;
            }
        }
        Ok(made.and_then(HeightTile::some_if_any))
    }
}

const _: () = assert!(NO_DATA.is_nan(), "heights are told from what has none by NaN alone");

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A plate of one height over the columns west of `columns` in every tile.
    struct Plate {
        height_m: f32,
        columns: usize,
        asked: Arc<AtomicU32>,
    }

    impl Elevation for Plate {
        fn name(&self) -> String {
            format!("plate at {} m", self.height_m)
        }

        fn extent(&self) -> [f64; 4] {
            [0.0, 0.0, 1024.0, 1024.0]
        }

        fn tile(&self, _: TileCoord) -> Result<Option<HeightTile>, InputError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let height_m = |x, _| if x < self.columns { self.height_m } else { NO_DATA };
            Ok(Some(HeightTile::from_fn(height_m)))
        }
    }

    fn stack(plates: &[(f32, usize)]) -> (GroundStack, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let plates = plates.iter().map(|&(height_m, columns)| -> Box<dyn Elevation> {
            Box::new(Plate { height_m, columns, asked: Arc::clone(&asked) })
        });
        (GroundStack::new(plates.collect(), 1 << 20), asked)
    }

    #[test]
    fn the_first_that_has_data_decides() {
        let (stack, asked) = stack(&[(5.0, 10), (9.0, 20)]);
        for (x, expected) in [(0.0, Some(5.0)), (9.99, Some(5.0)), (10.0, Some(9.0)), (19.5, Some(9.0)), (20.0, None)] {
            assert_eq!(stack.height_m_at(256.0 + x, 300.5).unwrap(), expected, "{x}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2, "one tile, made once");
        let world = f64::from(voxatlas::geo::WORLD_VOXELS);
        assert_eq!(stack.height_m_at(world + 256.0, 300.5).unwrap(), Some(5.0), "x wraps");
        for (x, z) in [(300.0, -0.5), (300.0, world), (f64::NAN, 3.0), (3.0, f64::NAN), (5000.0, 5000.0)] {
            assert_eq!(stack.height_m_at(x, z).unwrap(), None, "{x} {z}");
        }
    }

    #[test]
    fn what_lies_below_a_whole_tile_is_not_read() {
        let (stack, asked) = stack(&[(5.0, 256), (9.0, 256)]);
        assert_eq!(stack.height_m_at(3.0, 3.0).unwrap(), Some(5.0));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_eq!(stack.names(), ["plate at 5 m", "plate at 9 m"]);
        assert!(!stack.is_empty());
    }
}
