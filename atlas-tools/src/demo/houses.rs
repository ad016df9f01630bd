//! Blocks, lots and the buildings on them.

use super::canvas::{Canvas, Ink};
use super::chance::{hash, pick, unit};
use super::green;
use super::ground::GROUND;
use super::palette::{
    BEACON, BRICK, BRICK_TRIM, CLAY, CLAY_TRIM, CONCRETE, CONCRETE_TRIM, GLASS_A, GLASS_A_DARK, GLASS_A_MULLION,
    GLASS_B, GLASS_B_DARK, GLASS_B_MULLION, GLASS_C, GLASS_C_DARK, GLASS_C_MULLION, GLASS_D, GLASS_D_DARK,
    GLASS_D_MULLION, GRASS, OCHRE, OCHRE_TRIM, PLANT, PLANT_DARK, PLASTER, PLASTER_TRIM, ROOF_DARK, ROOF_DECK,
    ROOF_GREEN, ROOF_GREY, ROOF_PALE, SAGE, SAGE_TRIM, SAND_TRIM, SAND_WALL, SHOP, SHOP_WARM, SLATE_TRIM, SLATE_WALL,
    SOLAR, STEEL, STONE, STONE_TRIM, TILE_BROWN, TILE_BROWN_DARK, TILE_RED, TILE_RED_DARK, TILE_SLATE, TILE_SLATE_DARK,
    TOWER_SHADE, TOWER_WHITE, WINDOW, WINDOW_LIGHT, WINDOW_WARM,
};
use super::plan::{self, CITY_VOXELS, Land};

/// A rectangle of ground: x from, x to, z from, z to; the ends do not belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rect {
    x: [i32; 2],
    z: [i32; 2],
}

impl Rect {
    fn width(self) -> i32 {
        self.x[1] - self.x[0]
    }

    fn depth(self) -> i32 {
        self.z[1] - self.z[0]
    }

    fn inset(self, by: i32) -> Self {
        Self { x: [self.x[0] + by, self.x[1] - by], z: [self.z[0] + by, self.z[1] - by] }
    }

    fn middle(self) -> [i32; 2] {
        [i32::midpoint(self.x[0], self.x[1]), i32::midpoint(self.z[0], self.z[1])]
    }
}

/// Builds on every lot of the city.
pub(super) fn build(canvas: &mut Canvas) {
    let mut taken = vec![false; (CITY_VOXELS * CITY_VOXELS) as usize];
    for z in 0..CITY_VOXELS {
        for x in 0..CITY_VOXELS {
            if !taken[idx(x, z)] && plan::land(x, z) == Land::Lot {
                let block = block_from(x, z, &taken);
                for z in block.z[0]..block.z[1] {
                    for x in block.x[0]..block.x[1] {
                        taken[idx(x, z)] = true;
                    }
                }
                divide(canvas, block, plan::is_west(x, z));
            }
        }
    }
}

fn idx(x: i32, z: i32) -> usize {
    (x + CITY_VOXELS * z) as usize
}

/// The rectangle of most free lot ground that begins at this north-west corner. Where the river cuts a block slantwise,
/// it is narrower than the block's first row.
fn block_from(x: i32, z: i32, taken: &[bool]) -> Rect {
    let is_free =
        |x: i32, z: i32| x < CITY_VOXELS && z < CITY_VOXELS && !taken[idx(x, z)] && plan::land(x, z) == Land::Lot;
    let mut best = Rect { x: [x, x + 1], z: [z, z + 1] };
    let mut width = CITY_VOXELS;
    for end_z in z + 1.. {
        width = (0..width).find(|&i| !is_free(x + i, end_z - 1)).unwrap_or(width);
        if width == 0 {
            return best;
        }
        let block = Rect { x: [x, x + width], z: [z, end_z] };
        if block.width() * block.depth() > best.width() * best.depth() {
            best = block;
        }
    }
    best
}

/// How high one builds here, in voxels: two hills of towers, low by the river's west bank.
fn skyline(x: i32, z: i32) -> f64 {
    let hill = |[cx, cz]: [f64; 2], height: f64, reach: f64| {
        let (dx, dz) = (f64::from(x) - cx, f64::from(z) - cz);
        height * libm::exp(-(dx * dx + dz * dz) / (2.0 * reach * reach))
    };
    20.0 + hill([640.0, 290.0], 118.0, 92.0) + hill([374.0, 190.0], 62.0, 62.0) + hill([620.0, 560.0], 34.0, 90.0)
}

/// Halves a block until its parts are lots.
fn divide(canvas: &mut Canvas, block: Rect, is_west: bool) {
    let [mx, mz] = block.middle();
    let edge = if is_west { 15 } else { 17 + (skyline(mx, mz) / 8.0) as i32 };
    let (w, d) = (block.width(), block.depth());
    if w.max(d) <= edge + edge / 3 {
        return build_lot(canvas, block, is_west);
    }
    let along_x = w >= d;
    let length = if along_x { w } else { d };
    let cut = length * (42 + pick(40, block.x[0], block.z[0], 17) as i32) / 100;
    let (mut first, mut second) = (block, block);
    if along_x {
        first.x[1] = block.x[0] + cut;
        second.x[0] = block.x[0] + cut;
    } else {
        first.z[1] = block.z[0] + cut;
        second.z[0] = block.z[0] + cut;
    }
    divide(canvas, first, is_west);
    divide(canvas, second, is_west);
}

fn build_lot(canvas: &mut Canvas, lot: Rect, is_west: bool) {
    if lot.width() < 6 || lot.depth() < 6 {
        return garden(canvas, lot);
    }
    let [x, z] = lot.middle();
    if is_west {
        return house(canvas, lot);
    }
    let chance = unit(41, x, z);
    let height = skyline(x, z) * (0.55 + 0.75 * chance);
    match height {
        _ if pick(42, x, z, 17) == 0 => garden(canvas, lot),
        h if h >= 62.0 && lot.width().min(lot.depth()) >= 15 => tower(canvas, lot, h as i32),
        h => block_house(canvas, lot, (h as i32).clamp(9, 60)),
    }
}

/// A small garden: lawn and a few trees.
fn garden(canvas: &mut Canvas, lot: Rect) {
    canvas.fill(lot.x, [GROUND - 1, GROUND], lot.z, GRASS);
    for z in (lot.z[0] + 2..lot.z[1] - 1).step_by(5) {
        for x in (lot.x[0] + 2..lot.x[1] - 1).step_by(5) {
            if unit(43, x, z) < 0.7 {
                green::tree(canvas, x, z);
            }
        }
    }
}

/// How the walls of a building are drawn.
#[derive(Debug, Clone, Copy)]
struct Facade {
    wall: Ink,
    trim: Ink,
    window: Ink,
    /// Voxels from pier to pier, and how many of them are glass.
    bay: i32,
    glazed: i32,
}

/// Masonry, from the quiet to the rare: wall, trim, and how many of 32 buildings wear it.
const MASONRY: [(Ink, Ink, u32); 10] = [
    (PLASTER, PLASTER_TRIM, 7),
    (CONCRETE, CONCRETE_TRIM, 6),
    (STONE, STONE_TRIM, 5),
    (SAND_WALL, SAND_TRIM, 4),
    (SLATE_WALL, SLATE_TRIM, 2),
    (BRICK, BRICK_TRIM, 3),
    (CLAY, CLAY_TRIM, 2),
    (SAGE, SAGE_TRIM, 1),
    (OCHRE, OCHRE_TRIM, 1),
    (TOWER_WHITE, TOWER_SHADE, 1),
];

fn masonry(x: i32, z: i32) -> Facade {
    let mut ticket = pick(44, x, z, 32);
    let (wall, trim, _) = MASONRY
        .into_iter()
        .find(|&(_, _, share)| {
            let found = ticket < share;
            ticket = ticket.saturating_sub(share);
            found
        })
        .unwrap_or(MASONRY[0]);
    let bay = 3 + pick(45, x, z, 3) as i32;
    Facade {
        wall,
        trim,
        window: if pick(46, x, z, 4) == 0 { WINDOW_LIGHT } else { WINDOW },
        bay,
        glazed: bay - 2 + i32::from(bay == 3),
    }
}

/// A building's body: solid, with floors of three voxels and windows between piers.
fn body(canvas: &mut Canvas, plot: Rect, y: [i32; 2], facade: Facade, has_shops: bool) {
    for z in plot.z[0]..plot.z[1] {
        for x in plot.x[0]..plot.x[1] {
            let on_x_wall = x == plot.x[0] || x == plot.x[1] - 1;
            let on_z_wall = z == plot.z[0] || z == plot.z[1] - 1;
            if !on_x_wall && !on_z_wall {
                canvas.fill([x, x + 1], y, [z, z + 1], facade.wall);
                continue;
            }
            // Bays are counted from the middle of a wall, so that both its ends look alike.
            let (along, length) = if on_x_wall { (z - plot.z[0], plot.depth()) } else { (x - plot.x[0], plot.width()) };
            let is_corner = on_x_wall && on_z_wall;
            let in_bay = (along - length / 2).rem_euclid(facade.bay);
            let is_glass = !is_corner && along > 0 && along < length - 1 && in_bay < facade.glazed;
            for level in y[0]..y[1] {
                let storey = (level - y[0]) / 3;
                let ink = match (level - y[0]) % 3 {
                    _ if has_shops && storey == 0 => shop_front(level - y[0], is_corner, in_bay),
                    _ if level == y[1] - 1 => facade.trim,
                    0 => facade.trim,
                    _ if is_glass && level < y[1] - 1 => lit(facade.window, x, level / 3, z),
                    _ => facade.wall,
                };
                canvas.set(x, level, z, ink);
            }
        }
    }
}

/// Most windows show the sky; a few have a lamp or a curtain behind them.
fn lit(window: Ink, x: i32, storey: i32, z: i32) -> Ink {
    match hash(47, x * 3 + storey * 131, z * 5 - storey * 57) % 23 {
        0 => WINDOW_WARM,
        1 | 2 => WINDOW_LIGHT,
        _ => window,
    }
}

fn shop_front(level: i32, is_corner: bool, in_bay: i32) -> Ink {
    match level {
        _ if is_corner => CONCRETE_TRIM,
        2 => CONCRETE_TRIM,
        _ if in_bay == 0 => SHOP_WARM,
        _ => SHOP,
    }
}

/// A flat roof: a parapet round a surface a tone apart, with plant rooms, a deck or a green.
fn flat_roof(canvas: &mut Canvas, plot: Rect, y: i32, parapet: Ink) {
    let [x, z] = plot.middle();
    let surface = match pick(48, x, z, 12) {
        0 | 1 => ROOF_GREEN,
        2 => ROOF_DECK,
        3..=5 => ROOF_DARK,
        6..=8 => ROOF_PALE,
        _ => ROOF_GREY,
    };
    canvas.fill(plot.x, [y - 1, y], plot.z, surface);
    for z in plot.z[0]..plot.z[1] {
        for x in plot.x[0]..plot.x[1] {
            if x == plot.x[0] || x == plot.x[1] - 1 || z == plot.z[0] || z == plot.z[1] - 1 {
                canvas.set(x, y, z, parapet);
            }
        }
    }
    let inner = plot.inset(2);
    if inner.width() < 5 || inner.depth() < 5 {
        return;
    }
    let corner = |salt, room: i32, size: i32| pick(salt, x, z, (room - size).max(1) as u32) as i32;
    let (w, d) = (3 + pick(49, x, z, 3) as i32, 3 + pick(50, x, z, 3) as i32);
    let (px, pz) = (inner.x[0] + corner(51, inner.width(), w), inner.z[0] + corner(52, inner.depth(), d));
    let tall = 2 + pick(53, x, z, 2) as i32;
    canvas.fill([px, (px + w).min(inner.x[1])], [y, y + tall], [pz, (pz + d).min(inner.z[1])], PLANT);
    canvas.fill([px, (px + w).min(inner.x[1])], [y + tall - 1, y + tall], [pz, (pz + d).min(inner.z[1])], PLANT_DARK);
    if pick(54, x, z, 4) == 0 {
        for row in (inner.z[0]..inner.z[1]).step_by(2) {
            let end = inner.x[0] + inner.width() / 2;
            for x in inner.x[0]..end {
                if !(px..px + w).contains(&x) || !(pz..pz + d).contains(&row) {
                    canvas.set(x, y, row, SOLAR);
                }
            }
        }
    }
}

/// A house of the old town: masonry to the street line, shops below.
fn block_house(canvas: &mut Canvas, lot: Rect, height: i32) {
    let [x, z] = lot.middle();
    let height = height / 3 * 3 + 1;
    let facade = masonry(x, z);
    let plot = if pick(55, x, z, 4) == 0 { lot.inset(1) } else { lot };
    body(canvas, plot, [GROUND, GROUND + height], facade, true);
    // The upper floors of some step back behind a terrace.
    if height > 21 && plot.width().min(plot.depth()) > 13 && pick(56, x, z, 3) == 0 {
        flat_roof_plain(canvas, plot, GROUND + height, facade.trim);
        let upper = plot.inset(3);
        let top = GROUND + height + 3 * (1 + pick(57, x, z, 3) as i32) + 1;
        body(canvas, upper, [GROUND + height, top], facade, false);
        return flat_roof(canvas, upper, top, facade.trim);
    }
    if height < 20 && pick(58, x, z, 3) != 0 {
        return hip_roof(canvas, plot, GROUND + height);
    }
    flat_roof(canvas, plot, GROUND + height, facade.trim);
}

/// A terrace: surface and parapet only.
fn flat_roof_plain(canvas: &mut Canvas, plot: Rect, y: i32, parapet: Ink) {
    canvas.fill(plot.x, [y - 1, y], plot.z, ROOF_DECK);
    for z in plot.z[0]..plot.z[1] {
        for x in plot.x[0]..plot.x[1] {
            if x == plot.x[0] || x == plot.x[1] - 1 || z == plot.z[0] || z == plot.z[1] - 1 {
                canvas.set(x, y, z, parapet);
            }
        }
    }
}

/// A tower: podium, shaft with setbacks, crown.
fn tower(canvas: &mut Canvas, lot: Rect, height: i32) {
    let [x, z] = lot.middle();
    let glass = [
        (GLASS_A, GLASS_A_DARK, GLASS_A_MULLION),
        (GLASS_B, GLASS_B_DARK, GLASS_B_MULLION),
        (GLASS_C, GLASS_C_DARK, GLASS_C_MULLION),
        (GLASS_D, GLASS_D_DARK, GLASS_D_MULLION),
    ][pick(60, x, z, 4) as usize];
    let is_stone = pick(61, x, z, 4) == 0;
    let podium_top = GROUND + 10;
    body(canvas, lot, [GROUND, podium_top], masonry(x, z), true);
    flat_roof_plain(canvas, lot, podium_top, PLASTER_TRIM);

    let mut plot = lot.inset(2 + pick(62, x, z, 2) as i32);
    let mut y = podium_top;
    let n_parts = 1 + pick(63, x, z, 3) as i32;
    for part in 0..n_parts {
        let top = if part == n_parts - 1 { GROUND + height } else { y + (GROUND + height - y) * 3 / 5 };
        let top = y + (top - y).max(6) / 3 * 3;
        if is_stone {
            body(canvas, plot, [y, top], Facade { bay: 3, glazed: 2, ..masonry(x, z) }, false);
        } else {
            curtain_wall(canvas, plot, [y, top], glass);
        }
        y = top;
        if part < n_parts - 1 && plot.width().min(plot.depth()) > 12 {
            flat_roof_plain(canvas, plot, y, CONCRETE_TRIM);
            plot = plot.inset(2);
        }
    }
    crown(canvas, plot, y, if is_stone { CONCRETE_TRIM } else { glass.2 });
}

/// Glass from floor to floor: mullions every third voxel, a darker band at each floor.
fn curtain_wall(canvas: &mut Canvas, plot: Rect, y: [i32; 2], (pane, band, mullion): (Ink, Ink, Ink)) {
    for z in plot.z[0]..plot.z[1] {
        for x in plot.x[0]..plot.x[1] {
            let on_x_wall = x == plot.x[0] || x == plot.x[1] - 1;
            let on_z_wall = z == plot.z[0] || z == plot.z[1] - 1;
            if !on_x_wall && !on_z_wall {
                canvas.fill([x, x + 1], y, [z, z + 1], band);
                continue;
            }
            let (along, length) = if on_x_wall { (z - plot.z[0], plot.depth()) } else { (x - plot.x[0], plot.width()) };
            let is_mullion = on_x_wall && on_z_wall || (along - length / 2).rem_euclid(4) == 0;
            for level in y[0]..y[1] {
                let ink = if is_mullion {
                    mullion
                } else if (level - y[0]) % 3 == 0 {
                    band
                } else {
                    pane
                };
                canvas.set(x, level, z, ink);
            }
        }
    }
}

/// What stands on a tower: a screen round the machines, on some a mast.
fn crown(canvas: &mut Canvas, plot: Rect, y: i32, screen: Ink) {
    let [x, z] = plot.middle();
    canvas.fill(plot.x, [y - 1, y], plot.z, ROOF_DARK);
    for z in plot.z[0]..plot.z[1] {
        for x in plot.x[0]..plot.x[1] {
            if x == plot.x[0] || x == plot.x[1] - 1 || z == plot.z[0] || z == plot.z[1] - 1 {
                canvas.fill([x, x + 1], [y, y + 3], [z, z + 1], screen);
            }
        }
    }
    let machines = plot.inset(3);
    canvas.fill(machines.x, [y, y + 2], machines.z, PLANT);
    if pick(64, x, z, 3) == 0 {
        canvas.fill([x, x + 1], [y, y + 14], [z, z + 1], STEEL);
        canvas.set(x, y + 14, z, BEACON);
    }
}

/// A house with a garden and a tiled roof.
fn house(canvas: &mut Canvas, lot: Rect) {
    let [x, z] = lot.middle();
    if pick(70, x, z, 11) == 0 {
        return garden(canvas, lot);
    }
    let plot = lot.inset(2 + pick(71, x, z, 2) as i32);
    if plot.width() < 5 || plot.depth() < 5 {
        return garden(canvas, lot);
    }
    let height = 4 + 3 * pick(72, x, z, 2) as i32;
    body(canvas, plot, [GROUND, GROUND + height], masonry(x, z), false);
    hip_roof(canvas, plot, GROUND + height);
    if pick(73, x, z, 2) == 0 {
        green::tree(canvas, lot.x[0] + 1, lot.z[0] + 1);
    }
    if pick(74, x, z, 3) == 0 {
        green::tree(canvas, lot.x[1] - 2, lot.z[1] - 2);
    }
}

/// A roof that rises by a voxel a step from all sides, or from the two long ones.
fn hip_roof(canvas: &mut Canvas, plot: Rect, y: i32) {
    let [x, z] = plot.middle();
    let (tile, ridge) = match pick(75, x, z, 9) {
        0..=4 => (TILE_RED, TILE_RED_DARK),
        5 | 6 => (TILE_BROWN, TILE_BROWN_DARK),
        _ => (TILE_SLATE, TILE_SLATE_DARK),
    };
    let is_gable = pick(76, x, z, 2) == 0;
    let wall = masonry(x, z).wall;
    let mut layer = plot;
    for step in 0.. {
        if layer.width() <= 0 || layer.depth() <= 0 {
            break;
        }
        let ink = if layer.width() <= 2 || layer.depth() <= 2 { ridge } else { tile };
        canvas.fill(layer.x, [y + step, y + step + 1], layer.z, ink);
        if is_gable {
            // The short sides stay upright, in the colour of the wall.
            if layer.width() >= layer.depth() && plot.width() >= plot.depth() {
                for end in [plot.x[0], plot.x[1] - 1] {
                    canvas.fill([end, end + 1], [y + step, y + step + 1], [layer.z[0] + 1, layer.z[1] - 1], wall);
                }
            } else {
                for end in [plot.z[0], plot.z[1] - 1] {
                    canvas.fill([layer.x[0] + 1, layer.x[1] - 1], [y + step, y + step + 1], [end, end + 1], wall);
                }
            }
        }
        let narrow_x = plot.width() < plot.depth();
        layer = match (is_gable, narrow_x) {
            (false, _) => layer.inset(1),
            (true, true) => Rect { x: [layer.x[0] + 1, layer.x[1] - 1], z: layer.z },
            (true, false) => Rect { x: layer.x, z: [layer.z[0] + 1, layer.z[1] - 1] },
        };
    }
}
