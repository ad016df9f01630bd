//! Tests of the look.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn facts(seed: u64, height_m: f64, side_m: f64) -> Facts {
    Facts { seed: mix(seed), height_m, sides_m: [side_m, side_m], upper_side_m: side_m }
}

fn facades(height_m: f64, side_m: f64) -> Vec<Facade> {
    (0..400).map(|seed| Style::of(&facts(seed, height_m, side_m)).facade()).collect()
}

const WALL: WallPoint =
    WallPoint { height_m: 10.2, top_m: 30.0, along_m: 2.0, is_corner: false, is_party: false, meets_ground: true };

#[test]
fn size_decides_the_kind_of_building() {
    assert!(facades(6.0, 10.0).iter().all(|&facade| facade == Facade::House));
    assert!(facades(9.0, 120.0).iter().all(|&facade| facade == Facade::Hall));
    assert!(facades(25.0, 20.0).iter().all(|&facade| facade != Facade::House && facade != Facade::Mast));
    let share = |facades: Vec<Facade>, kind: Facade| facades.iter().filter(|&&facade| facade == kind).count();
    assert!(share(facades(150.0, 50.0), Facade::Curtain) > 200, "large towers read as glass");
    assert!(share(facades(25.0, 20.0), Facade::Curtain) < 40, "ordinary houses do not");
    // Slender above half its height, like Tokyo Tower; a tower block of the same height is none.
    let tower = Facts { upper_side_m: 14.0, ..facts(1, 333.4, 125.0) };
    assert_eq!(Style::of(&tower).facade(), Facade::Mast);
    assert_eq!(share(facades(255.0, 60.0), Facade::Mast), 0);
}

#[test]
fn most_walls_are_plaster_and_accents_are_rare() {
    let walls: Vec<_> = (0..2000)
        .map(|seed| Style::of(&facts(seed, 20.0, 20.0)))
        .filter(|style| style.facade() != Facade::Curtain)
        .map(|style| style.walls)
        .collect();
    let share = |range: std::ops::Range<usize>| {
        walls.iter().filter(|&&family| range.contains(&family)).count() as f64 / walls.len() as f64
    };
    assert!(share(0..N_PLASTER) > 0.6);
    assert!((0.2..0.4).contains(&share(N_PLASTER..N_PLASTER + N_TILE)));
    assert!((0.005..0.06).contains(&share(N_PLASTER + N_TILE..MASONRY.len())));
    assert_eq!(walls.iter().collect::<BTreeSet<_>>().len(), MASONRY.len(), "every family is used");
}

#[test]
fn walls_have_floors_bays_and_a_ground_floor() {
    for seed in 0..200 {
        let style = Style::of(&facts(seed, 30.0, 20.0));
        let inks = |base: WallPoint, step: fn(&mut WallPoint, f64)| -> BTreeSet<Ink> {
            let points = (0..60).map(|n| {
                let mut point = base;
                step(&mut point, f64::from(n) * 0.5);
                point
            });
            points.map(|point| style.wall(&point)).collect()
        };
        assert!(inks(WALL, |point, d| point.height_m = 4.0 + d * 0.8).len() >= 2, "floors, seed {seed}");
        let bays = inks(WALL, |point, d| point.along_m = d);
        assert!(bays.len() >= 2 || style.facade() == Facade::Ribbon, "bays, seed {seed}");
        let party = inks(WallPoint { is_party: true, ..WALL }, |point, d| point.along_m = d);
        assert_eq!(party, BTreeSet::from([style.ink(Wall::Plain)]), "party walls are plain");
        let shop = style.wall(&WallPoint { height_m: 0.5, along_m: style.bay_m * 0.9, ..WALL });
        assert_eq!(shop, style.ink(Wall::Shop));
        // The same wall above another roof has no shops.
        assert_ne!(
            style.wall(&WallPoint { height_m: 0.5, along_m: style.bay_m * 0.9, meets_ground: false, ..WALL }),
            shop
        );
    }
}

#[test]
fn a_mast_has_seven_bands_orange_at_both_ends() {
    let style = Style::of(&Facts { upper_side_m: 14.0, ..facts(1, 333.4, 125.0) });
    let orange = |height_m: f64| {
        let ink = style.wall(&WallPoint { height_m, ..WALL });
        [Ink::mast(Mast::Orange), Ink::mast(Mast::OrangeShade)].contains(&ink)
    };
    let bands: Vec<bool> = (0..7).map(|band| orange((f64::from(band) + 0.5) * 333.4 / 7.0)).collect();
    assert_eq!(bands, [true, false, true, false, true, false, true]);
    assert!(orange(0.0) && orange(333.0));
}

#[test]
fn roofs_have_rims_and_plant_only_where_they_are_level() {
    let style = (0..50).map(|seed| Style::of(&facts(seed, 30.0, 40.0))).find(|style| style.roof < N_FLAT).unwrap();
    let point = RoofPoint { place_m: [0.0; 2], height_m: 30.0, is_rim: false, is_level: true };
    assert_eq!(style.roof(&RoofPoint { is_rim: true, ..point }), Ink::roof(style.roof, Roof::Rim));
    let places = (0..100).flat_map(|x| (0..100).map(move |z| [f64::from(x), f64::from(z)]));
    let plant = |is_level: bool| {
        places
            .clone()
            .filter(|&place_m| {
                style.roof(&RoofPoint { place_m, is_level, ..point }) == Ink::roof(style.roof, Roof::Plant)
            })
            .count()
    };
    assert_eq!(plant(false), 0);
    assert!((100..3000).contains(&plant(true)), "{}", plant(true));
}

#[test]
fn the_ground_follows_the_space() {
    let check = |wall_voxels: u32, is_wide: bool, is_open: bool, expected: Ground| {
        let space = Space { wall_voxels, is_wide, is_open };
        assert_eq!(ground(space), Ink::ground(expected));
    };
    check(1, true, true, Ground::Pavement);
    check(4, false, false, Ground::Street);
    check(4, true, false, Ground::Lane);
    check(9, true, true, Ground::Open);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every place has an ink of the palette, whatever the numbers.
    #[test]
    fn every_ink_is_in_the_palette(
        seed in any::<u64>(),
        height_m in 0.1f64..2000.0,
        side_m in 0.0f64..500.0,
        at in prop::array::uniform3(-500.0f64..2000.0),
        flags in any::<[bool; 5]>(),
    ) {
        let style = Style::of(&Facts { upper_side_m: side_m * 0.5, ..facts(seed, height_m, side_m) });
        prop_assert_eq!(style, Style::of(&Facts { upper_side_m: side_m * 0.5, ..facts(seed, height_m, side_m) }));
        let wall = WallPoint {
            height_m: at[0].abs(), top_m: height_m, along_m: at[1],
            is_corner: flags[0], is_party: flags[1], meets_ground: flags[2],
        };
        let roof = RoofPoint { place_m: [at[1], at[2]], height_m: at[0].abs(), is_rim: flags[3], is_level: flags[4] };
        for ink in [style.wall(&wall), style.roof(&roof), style.inside()] {
            prop_assert!(usize::from(ink.0) < PALETTE.len());
        }
    }
}
