//! Tests of where the ground is.

use super::*;
use crate::terrain::{Elevation, NO_DATA};

/// A plane that is known on the western half of every tile.
struct HalfPlane;

impl Elevation for HalfPlane {
    fn name(&self) -> String {
        "half a plane".to_owned()
    }

    fn extent(&self) -> [f64; 4] {
        [0.0, 0.0, 1e6, 1e6]
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        Ok(Some(HeightTile::from_fn(|x, _| if x < 128 { tile.y() as f32 } else { NO_DATA })))
    }
}

fn half_plane() -> GroundStack {
    GroundStack::new(vec![Box::new(HalfPlane)], 1 << 20)
}

fn nothing() -> GroundStack {
    GroundStack::new(Vec::new(), 0)
}

fn tile(x: u32, y: u32) -> TileCoord {
    TileCoord::new(ZOOM_FULL, x, y).unwrap()
}

fn base(x: f64, z: f64, height_m: f64) -> Base {
    Base { x, z, height_m }
}

#[test]
fn flat_ground_is_flat_and_no_ground_is_none() {
    assert!(matches!(Ground::flat(3.0).surface(tile(5, 5)), Ok(Surface::Flat(3.0))));
    assert_eq!(Ground::flat(3.0).height_m_at(-1, 7).unwrap(), Some(3.0));
    let bare = Ground::new(nothing(), Vec::new(), None);
    assert_eq!(bare.surface(tile(5, 5)).unwrap().height_m(0, 0), None);
}

#[test]
fn terrain_comes_first_then_bases_then_the_flat_height() {
    let near = base(5.0 * 256.0 + 200.0, 5.0 * 256.0 + 100.0, 40.0);
    let ground = Ground::new(half_plane(), vec![near], Some(-2.0));
    let surface = ground.surface(tile(5, 5)).unwrap();
    assert_eq!(surface.height_m(10, 10), Some(5.0));
    assert_eq!(surface.height_m(200, 100), Some(40.0));
    assert_eq!(ground.surface(tile(9, 5)).unwrap().height_m(200, 100), Some(-2.0));
    let plinth = Ground::new(half_plane(), vec![near], None);
    assert_eq!(plinth.surface(tile(9, 5)).unwrap().height_m(200, 100), None);
}

#[test]
fn the_ground_between_bases_has_no_step_at_a_border_or_where_a_base_ends() {
    let bases = vec![base(1300.0, 1300.0, 10.0), base(1500.0, 1400.0, 14.0), base(1800.0, 1310.0, 11.0)];
    let ground = Ground::new(nothing(), bases, None);
    let along: Vec<f64> = (1280..1900).map(|x| ground.height_m_at(x, 1320).unwrap().unwrap()).collect();
    for pair in along.windows(2) {
        assert!((pair[0] - pair[1]).abs() < 0.5, "{pair:?}");
    }
    assert!(along.iter().all(|height_m| (9.9..14.1).contains(height_m)));
}

#[test]
fn the_order_of_the_bases_does_not_matter() {
    let mut bases: Vec<Base> =
        (0..50).map(|n| base(1280.0 + f64::from(n * 37 % 256), 1300.0 + f64::from(n), 0.1 * f64::from(n))).collect();
    let heights = |bases: &[Base]| -> Vec<_> {
        let surface = Ground::new(nothing(), bases.to_vec(), None).surface(tile(5, 5)).unwrap();
        (0..EDGE * EDGE).map(|idx| surface.height_m(idx % EDGE, idx / EDGE)).collect()
    };
    let one = heights(&bases);
    bases.reverse();
    assert_eq!(one, heights(&bases));
}
