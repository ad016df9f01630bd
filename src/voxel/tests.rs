use proptest::prelude::*;

use super::*;
use crate::limits::{BRICK_VOLUME, REGION_VOXELS};

/// A scatter of voxels: coordinates in 0..256.
fn voxels() -> impl Strategy<Value = Vec<[u32; 3]>> {
    prop::collection::vec(prop::array::uniform3(0..REGION_VOXELS), 0..200)
}

fn occupancy_of(voxels: &[[u32; 3]]) -> Occupancy {
    let mut occupancy = Occupancy::empty();
    for &[x, y, z] in voxels {
        occupancy.set(x, y, z, true);
    }
    occupancy
}

#[test]
fn set_and_clear_touch_one_voxel() {
    let mut occupancy = Occupancy::empty();
    assert!(occupancy.is_empty());
    for [x, y, z] in [[0, 0, 0], [63, 1, 0], [64, 0, 2], [255, 255, 255]] {
        occupancy.set(x, y, z, true);
        assert!(occupancy.get(x, y, z));
        assert_eq!(occupancy.count(), 1);
        assert_eq!(occupancy.row(y, z)[x as usize / 64], 1 << (x % 64));
        assert_eq!(occupancy.rows()[(y + 256 * z) as usize], *occupancy.row(y, z));
        occupancy.set(x, y, z, false);
        assert!(occupancy.is_empty());
    }
}

#[test]
#[should_panic(expected = "y < REGION_VOXELS")]
fn a_row_outside_the_region_is_a_programming_error() {
    Occupancy::empty().row(256, 0);
}

#[test]
fn every_texel_of_a_brick_is_one_voxel() {
    let mut is_taken = [false; BRICK_VOLUME];
    for z in 0..16 {
        for y in 0..16 {
            for x in 0..16 {
                assert!(!std::mem::replace(&mut is_taken[texel_in_brick(x, y, z)], true));
            }
        }
    }
    assert_eq!(texel_in_brick(17, 32, 243), texel_in_brick(1, 0, 3), "only the low four bits count");
}

#[test]
fn uniform_bricks_take_no_page() {
    let mut occupancy = Occupancy::empty();
    for x in 0..32 {
        occupancy.set(x, 3, 4, true);
    }
    let region = Region::paint(occupancy, ColourDepth::Direct, |x, _, _| if x < 16 { 0x03_02_01 } else { x });
    assert_eq!(region.colours.brick(0, 0, 0), BrickColours::Uniform(0x03_02_01));
    assert!(matches!(region.colours.brick(1, 0, 0), BrickColours::Page(page) if page.len() == BRICK_VOLUME * 3));
    assert_eq!(region.colours.brick(2, 0, 0), BrickColours::Air);
    assert_eq!(region.colours.get(5, 3, 4), [1, 2, 3]);
    assert_eq!(region.colours.get(31, 3, 4), [31, 0, 0]);
}

#[test]
fn a_page_is_given_once() {
    let mut colours = Colours::new(ColourDepth::Indexed(vec![[0; 3], [9, 8, 7]]));
    colours.add_page(3, 4, 5)[texel_in_brick(1, 2, 3)] = 1;
    let before = colours.size_bytes();
    assert_eq!(colours.add_page(3, 4, 5)[texel_in_brick(1, 2, 3)], 1, "the page is still there");
    assert_eq!(colours.size_bytes(), before);
    assert_eq!(colours.get(3 * 16 + 1, 4 * 16 + 2, 5 * 16 + 3), [9, 8, 7]);
    assert_eq!(ColourDepth::Indexed(vec![]).colour(3), [0; 3], "an entry beyond the palette is black");
}

#[test]
fn a_difference_is_found_where_it_is() {
    let occupancy = occupancy_of(&[[1, 2, 3], [200, 100, 50]]);
    let base = Region::paint(occupancy.clone(), ColourDepth::Direct, |x, _, _| x);
    let palette = ColourDepth::Indexed(vec![[200, 0, 0], [1, 0, 0]]);
    let same = Region::paint(occupancy.clone(), palette, |x, _, _| u32::from(x == 1));
    assert_eq!(base.first_difference(&same), None);
    let recoloured = Region::paint(occupancy, ColourDepth::Direct, |_, _, _| 1);
    assert_eq!(base.first_difference(&recoloured), Some([200, 100, 50]));
    assert_eq!(base.first_difference(&Region::empty()), Some([1, 2, 3]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn brick_rows_and_masks_agree_with_the_voxels(voxels in voxels()) {
        let occupancy = occupancy_of(&voxels);
        let mut copy = Occupancy::empty();
        let mut bricks: Vec<_> = voxels.iter().map(|voxel| voxel.map(|c| c / 16)).collect();
        bricks.sort_by_key(|&[bx, by, bz]| (bz, by, bx));
        bricks.dedup();
        let mask = occupancy.brick_mask();
        prop_assert_eq!(mask.iter().collect::<Vec<_>>(), bricks.clone());
        prop_assert_eq!(mask.count() as usize, bricks.len());
        for [bx, by, bz] in bricks {
            prop_assert!(mask.contains(bx, by, bz));
            let rows = occupancy.brick_rows(bx, by, bz);
            copy.set_brick_rows(bx, by, bz, &[0xFFFF; 256]);
            copy.set_brick_rows(bx, by, bz, &rows);
            for &[x, y, z] in voxels.iter().filter(|v| v.map(|c| c / 16) == [bx, by, bz]) {
                prop_assert_eq!(rows[(y % 16 + 16 * (z % 16)) as usize] >> (x % 16) & 1, 1);
            }
        }
        prop_assert!(copy == occupancy);
    }

    #[test]
    fn painted_voxels_keep_their_colours(voxels in voxels()) {
        let entry_of = |x: u32, y: u32, z: u32| u32::from_le_bytes([y as u8, x as u8, (x * 7 + y * 5 + z * 3) as u8, 0]);
        let region = Region::paint(occupancy_of(&voxels), ColourDepth::Direct, entry_of);
        for [x, y, z] in voxels {
            prop_assert_eq!(region.colours.entry(x, y, z), entry_of(x, y, z));
        }
    }
}
