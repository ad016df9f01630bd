//! Tests of the regions of a tile.

use voxatlas::voxel::Colour;

use super::*;
use crate::look::Facts;

fn painted(seed: u64, height_m: f64) -> Painted {
    let facts = Facts { seed, height_m, sides_m: [20.0, 20.0], upper_side_m: 20.0 };
    Painted { style: Style::of(&facts), origin: [0, 0], axes: [1.0, 0.0] }
}

/// A block of `side` columns from (x, z), `top` voxels high.
fn block(columns: &mut Columns, [x, z]: [i32; 2], side: i32, top: i32, building: usize) {
    for (dx, dz) in (0..side).flat_map(|dz| (0..side).map(move |dx| (dx, dz))) {
        columns.build(x + dx, z + dz, top, building);
    }
}

/// One feature, of which nothing is told.
const FEATURES: [Told; 1] = [Told { wall: None, roof: None, footing: Footing::At(0.0) }];

static NO_SCATTER: std::sync::LazyLock<Scatter> = std::sync::LazyLock::new(Scatter::default);

fn scene<'a>(columns: &'a Columns, buildings: &'a [Painted]) -> Scene<'a> {
    Scene {
        columns,
        buildings,
        features: &FEATURES,
        cover: &[],
        ortho: &[],
        scatter: &NO_SCATTER,
        voxel_m: 1.0,
        has_ground: true,
    }
}

fn colour_of(ink: Ink) -> Colour {
    ink.colour()
}

#[test]
fn open_ground_is_a_slab_below_the_datum() {
    let columns = Columns::open();
    let voxeliser = Voxeliser::new(scene(&columns, &[]));
    assert_eq!(voxeliser.layers(), 0..1);
    let region = voxeliser.region(0);
    assert_eq!(region.occupancy.count(), 256 * 256 * 32);
    assert!(region.occupancy.get(255, 31, 0) && !region.occupancy.get(0, 32, 0));
    assert_eq!(region.colours.get(3, 31, 3), colour_of(Ink::ground(Ground::Open)));
    assert_eq!(region.colours.get(3, 30, 3), colour_of(Ink::ground(Ground::Earth)));
}

#[test]
fn without_ground_there_are_buildings_alone() {
    let mut columns = Columns::open();
    let buildings = [painted(1, 20.0)];
    assert_eq!(Voxeliser::new(Scene { has_ground: false, ..scene(&columns, &buildings) }).layers().len(), 0);
    block(&mut columns, [10, 10], 4, 20, 0);
    let voxeliser = Voxeliser::new(Scene { has_ground: false, ..scene(&columns, &buildings) });
    assert_eq!(voxeliser.layers(), 0..1);
    let region = voxeliser.region(0);
    assert_eq!(region.occupancy.count(), 16 * 20);
    assert!(region.occupancy.get(10, 32, 10) && !region.occupancy.get(10, 31, 10));
}

#[test]
fn what_is_higher_continues_in_the_next_layer() {
    let mut columns = Columns::open();
    let buildings = [painted(1, 344.0)];
    block(&mut columns, [250, 0], 6, 344, 0);
    let voxeliser = Voxeliser::new(scene(&columns, &buildings));
    assert_eq!(voxeliser.layers(), 0..2);
    let (low, high) = (voxeliser.region(0), voxeliser.region(1));
    assert!(low.occupancy.get(250, 255, 0) && low.occupancy.get(0, 31, 0));
    // 32 of ground and 344 of building: 120 of them above 256.
    assert_eq!(high.occupancy.count(), 36 * 120);
    assert!(high.occupancy.get(255, 119, 5) && !high.occupancy.get(255, 120, 5));
    // A column that ends exactly at the layer's top needs no other layer.
    let mut columns = Columns::open();
    block(&mut columns, [0, 0], 4, 224, 0);
    assert_eq!(Voxeliser::new(scene(&columns, &buildings)).layers(), 0..1);
    let highest = layer_range(LAYERS.end - 1).end;
    block(&mut columns, [0, 0], 4, highest, 0);
    assert_eq!(Voxeliser::new(scene(&columns, &buildings)).layers(), 0..LAYERS.end);
}

#[test]
fn roofs_walls_and_insides_differ() {
    let mut columns = Columns::open();
    let buildings = [painted(1, 30.0)];
    block(&mut columns, [100, 100], 20, 30, 0);
    let region = Voxeliser::new(scene(&columns, &buildings)).region(0);
    let inside = colour_of(buildings[0].style.inside());
    assert_eq!(region.colours.get(110, 40, 110), inside);
    let roof: Vec<_> = (100..120).map(|x| region.colours.get(x, 32 + 29, 110)).collect();
    assert_ne!(roof[0], roof[10], "a rim");
    assert!(roof.iter().all(|&colour| colour != inside));
    let wall: std::collections::BTreeSet<_> =
        (33..60).flat_map(|y| (101..119).map(move |x| (x, y))).map(|(x, y)| region.colours.get(x, y, 100)).collect();
    assert!(wall.len() >= 2, "windows: {wall:?}");
    // A pavement round it, a street where the gap is narrow.
    assert_eq!(region.colours.get(99, 31, 110), colour_of(Ink::ground(Ground::Pavement)));
}

#[test]
fn an_image_from_above_colours_the_ground_and_the_roofs() {
    const SEEN: Colour = [12, 34, 56];
    let mut columns = Columns::open();
    let buildings = [painted(1, 30.0)];
    block(&mut columns, [100, 100], 20, 30, 0);
    let mut ortho = vec![Some(SEEN); 256 * 256];
    ortho[256 * 110 + 105] = None;
    let cover = vec![Some(Tint::Ink(Ink::ground(Ground::Water))); 256 * 256];
    let of_features = |features: &[Told], [x, y, z]: [u32; 3]| {
        let scene = Scene { features, cover: &cover, ortho: &ortho, ..scene(&columns, &buildings) };
        Voxeliser::new(scene).region(0).colours.get(x, y, z)
    };
    let plain = |[x, y, z]: [u32; 3]| Voxeliser::new(scene(&columns, &buildings)).region(0).colours.get(x, y, z);
    let (roof, unseen, wall, inside) = ([110, 61, 110], [105, 61, 110], [110, 40, 100], [110, 40, 110]);
    assert_eq!(of_features(&FEATURES, [10, 31, 10]), SEEN);
    assert_eq!(of_features(&FEATURES, roof), SEEN);
    for place in [unseen, wall, inside] {
        assert_eq!(of_features(&FEATURES, place), plain(place), "{place:?}");
    }
    // A roof that has a colour of its own keeps it.
    let told = [Told { roof: Some([200, 0, 0]), ..FEATURES[0] }];
    assert_eq!(of_features(&told, roof), [200, 0, 0]);
}

#[test]
fn party_walls_are_plain() {
    let mut columns = Columns::open();
    let buildings = [painted(1, 30.0), painted(2, 30.0)];
    block(&mut columns, [100, 100], 20, 30, 0);
    block(&mut columns, [121, 100], 20, 30, 1);
    let region = Voxeliser::new(scene(&columns, &buildings)).region(0);
    let gap: std::collections::BTreeSet<_> =
        (36..58).flat_map(|y| (104..116).map(move |z| (y, z))).map(|(y, z)| region.colours.get(119, y, z)).collect();
    assert_eq!(gap.len(), 1, "{gap:?}");
}

/// What is the same in the world looks the same from the two tiles at a border.
#[test]
fn a_building_across_a_border_goes_on_in_the_next_tile() {
    let buildings = [painted(1, 30.0)];
    let (mut west, mut east) = (Columns::open(), Columns::open());
    block(&mut west, [246, 100], 20, 30, 0);
    block(&mut east, [-10, 100], 20, 30, 0);
    // Measured from the same place.
    let from_west = [Painted { origin: [246, 100], ..buildings[0] }];
    let from_east = [Painted { origin: [-10, 100], ..buildings[0] }];
    let whole = {
        let mut columns = Columns::open();
        block(&mut columns, [100, 100], 20, 30, 0);
        let from = [Painted { origin: [100, 100], ..buildings[0] }];
        Voxeliser::new(scene(&columns, &from)).region(0)
    };
    let halves =
        [Voxeliser::new(scene(&west, &from_west)).region(0), Voxeliser::new(scene(&east, &from_east)).region(0)];
    for (y, z) in (31..62).flat_map(|y| (95..125).map(move |z| (y, z))) {
        for x in 0..10 {
            assert_eq!(halves[0].colours.get(246 + x, y, z), whole.colours.get(100 + x, y, z), "{x} {y} {z}");
            assert_eq!(halves[1].colours.get(x, y, z), whole.colours.get(110 + x, y, z), "{x} {y} {z}");
        }
    }
}

#[test]
fn scatter_shows_over_the_plan_in_any_layer() {
    let columns = Columns::open();
    let dot = |y: i32, tint: Tint| Dot { x: 7, y, z: 9, tint, feature: 4, rank: 1, rise: 0 };
    let red = Tint::Colour([200, 10, 10]);
    let scatter = Scatter::new(vec![dot(-1, red), dot(400, red), dot(-300, Tint::Ink(Ink::ground(Ground::Water)))]);
    let voxeliser = Voxeliser::new(Scene { scatter: &scatter, ..scene(&columns, &[]) });
    assert_eq!(voxeliser.layers(), -2..2);
    // The ground goes down to the floor of the layer that its surface reaches, not to that of what lies below.
    assert_eq!(voxeliser.region(-2).occupancy.count(), 1);
    assert_eq!(voxeliser.region(-1).occupancy.count(), 0);
    let region = voxeliser.region(0);
    assert_eq!(region.colours.get(7, 31, 9), [200, 10, 10]);
    assert_eq!(region.colours.get(8, 31, 9), colour_of(Ink::ground(Ground::Open)));
    assert_eq!(voxeliser.feature(0, [7, 31, 9]), Owner::Scatter(4));
    assert_eq!(voxeliser.feature(0, [8, 31, 9]), Owner::Nobody);
    assert_eq!(voxeliser.region(1).colours.get(7, 400 + 32 - 256, 9), [200, 10, 10]);
}

#[test]
fn colours_that_the_source_tells_are_those_of_walls_and_roofs() {
    let mut columns = Columns::open();
    block(&mut columns, [100, 100], 20, 30, 0);
    let told = [Told { wall: Some([90, 80, 70]), roof: Some([10, 200, 30]), footing: Footing::At(0.0) }];
    let buildings = [painted(1, 30.0)];
    let region = Voxeliser::new(Scene { features: &told, ..scene(&columns, &buildings) }).region(0);
    assert_eq!(region.colours.get(110, 32 + 29, 110), [10, 200, 30]);
    let wall: Vec<_> =
        (33..60).flat_map(|y| (101..119).map(move |x| (x, y))).map(|(x, y)| region.colours.get(x, y, 100)).collect();
    let n_told = wall.iter().filter(|colour| **colour == [90, 80, 70]).count();
    assert!(n_told > wall.len() / 4 && n_told < wall.len(), "windows stay: {n_told} of {}", wall.len());
}
