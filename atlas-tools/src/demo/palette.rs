//! The demo city's colours: a model that one would print.

use voxatlas::voxel::Colour;

use super::canvas::Ink;

/// Names the colours and numbers them from 1.
macro_rules! palette {
    ($($name:ident = [$r:literal, $g:literal, $b:literal];)*) => {
        palette!(@number 1, $($name)*);
        /// Ink i paints with colour i - 1.
        pub(super) const PALETTE: &[Colour] = &[$([$r, $g, $b]),*];
    };
    (@number $n:expr, $name:ident $($rest:ident)*) => {
        pub(super) const $name: Ink = $n;
        palette!(@number $n + 1, $($rest)*);
    };
    (@number $n:expr,) => {};
}

palette! {
    EARTH = [122, 112, 98];
    ASPHALT = [112, 115, 119];
    ASPHALT_SIDE = [122, 125, 128];
    LINE = [206, 206, 200];
    PAVEMENT = [172, 170, 164];
    KERB = [190, 187, 180];
    PLAZA = [205, 199, 187];
    PLAZA_DARK = [186, 179, 166];
    YARD = [182, 178, 168];
    QUAY = [165, 158, 146];
    RAIL = [150, 152, 154];
    WATER = [62, 98, 128];
    WATER_DEEP = [52, 86, 118];
    POND = [78, 118, 140];
    SAND = [206, 192, 160];
    PATH = [203, 192, 168];
    GRASS = [122, 152, 92];
    GRASS_DARK = [108, 140, 84];
    GRASS_DRY = [142, 160, 98];
    TRUNK = [104, 84, 66];
    LEAF = [88, 128, 74];
    LEAF_DARK = [74, 112, 68];
    LEAF_LIGHT = [112, 146, 82];
    LEAF_WARM = [150, 142, 78];
    BLOSSOM = [214, 178, 184];

    PLASTER = [226, 222, 212];
    PLASTER_TRIM = [208, 203, 192];
    CONCRETE = [200, 199, 194];
    CONCRETE_TRIM = [182, 182, 178];
    STONE = [212, 203, 184];
    STONE_TRIM = [192, 182, 162];
    SAND_WALL = [218, 198, 166];
    SAND_TRIM = [196, 174, 142];
    BRICK = [168, 112, 90];
    BRICK_TRIM = [194, 168, 148];
    CLAY = [190, 146, 118];
    CLAY_TRIM = [214, 190, 166];
    SLATE_WALL = [150, 156, 162];
    SLATE_TRIM = [172, 177, 181];
    OCHRE = [208, 172, 110];
    OCHRE_TRIM = [226, 206, 164];
    SAGE = [166, 178, 158];
    SAGE_TRIM = [196, 204, 188];

    WINDOW = [92, 108, 122];
    WINDOW_LIGHT = [122, 138, 150];
    WINDOW_WARM = [158, 146, 122];
    SHOP = [78, 84, 90];
    SHOP_WARM = [196, 168, 120];

    GLASS_A = [112, 146, 172];
    GLASS_A_DARK = [94, 128, 156];
    GLASS_A_MULLION = [150, 172, 188];
    GLASS_B = [132, 158, 166];
    GLASS_B_DARK = [112, 140, 150];
    GLASS_B_MULLION = [176, 190, 194];
    GLASS_C = [86, 108, 130];
    GLASS_C_DARK = [72, 92, 114];
    GLASS_C_MULLION = [128, 142, 156];
    GLASS_D = [156, 176, 182];
    GLASS_D_DARK = [136, 160, 168];
    GLASS_D_MULLION = [204, 210, 210];

    ROOF_GREY = [176, 175, 170];
    ROOF_DARK = [142, 144, 146];
    ROOF_PALE = [204, 202, 196];
    ROOF_GREEN = [130, 154, 106];
    ROOF_DECK = [190, 168, 136];
    PLANT = [188, 190, 190];
    PLANT_DARK = [150, 154, 158];
    TILE_RED = [176, 104, 82];
    TILE_RED_DARK = [158, 92, 74];
    TILE_BROWN = [142, 106, 86];
    TILE_BROWN_DARK = [126, 94, 78];
    TILE_SLATE = [108, 116, 124];
    TILE_SLATE_DARK = [96, 104, 112];
    SOLAR = [66, 82, 112];

    TOWER_WHITE = [232, 230, 224];
    TOWER_SHADE = [212, 211, 206];
    STEEL = [190, 198, 204];
    STEEL_DARK = [152, 164, 174];
    SPHERE_GLASS = [84, 112, 138];
    MAST_RED = [198, 82, 58];
    MAST_WHITE = [234, 230, 222];
    BEACON = [224, 112, 84];
}
