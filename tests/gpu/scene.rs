//! Synthetic regions, and the device that all tests share.

use std::sync::{Arc, OnceLock};

use glam::DVec3;
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::gpu::{FrameStyle, Gpu, Lighting, Offscreen, Picture, Renderer};
use voxatlas::limits::{BRICK_VOXELS, REGION_BRICKS};
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_octants, mesh_region};
use voxatlas::stream::{BuiltRegion, SlotUpdate};
use voxatlas::view::{Pose, View};
use voxatlas::voxel::{Colour, ColourDepth, Colours, Occupancy, Region, Solids, texel_in_brick};

/// Seen through a hole, and in no palette.
pub(crate) const MAGENTA: Colour = [255, 0, 255];

/// Plain pictures on magenta.
pub(crate) const FLAT: FrameStyle = FrameStyle::Flat { background: MAGENTA };

/// The device, made once.
pub(crate) fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::headless_blocking().unwrap_or_else(|err| panic!("GPU tests need an adapter: {err}")))
}

/// A renderer with these slots filled, in order.
pub(crate) fn renderer(updates: &[SlotUpdate]) -> Renderer {
    let mut renderer = Renderer::new(gpu(), Offscreen::FORMAT);
    for update in updates {
        renderer.apply(update).expect("small scenes find room");
    }
    renderer
}

/// Takes one picture; no error may have reached the device's handler.
pub(crate) fn take(renderer: &mut Renderer, view: &View, style: FrameStyle) -> Picture {
    let offscreen = Offscreen::new(gpu(), view.width_px, view.height_px).unwrap();
    let (picture, _) = offscreen.take(renderer, view, style).unwrap();
    assert_eq!(gpu().last_error(), None, "the driver reported errors");
    picture
}

/// A view with a field of view of 60 degrees.
pub(crate) fn view(eye: [f64; 3], yaw_deg: f64, pitch_deg: f64, width_px: u32, height_px: u32) -> View {
    View {
        pose: Pose {
            eye_in_world: DVec3::from_array(eye),
            yaw_rad: yaw_deg.to_radians(),
            pitch_rad: pitch_deg.to_radians(),
        },
        fov_y_rad: 60_f64.to_radians(),
        width_px,
        height_px,
        draw_distance_voxels: 640.0,
    }
}

/// Sun and sky, with all that there is of light.
pub(crate) fn lit() -> FrameStyle {
    FrameStyle::Lit(Lighting::default())
}

/// Sun and sky, and nothing stands before them.
pub(crate) fn simply_lit() -> FrameStyle {
    FrameStyle::Lit(Lighting::default().simple())
}

/// The region of a zoom whose lowest corner lies at `offset`, or the one round it; the world has no end here.
fn key_at(zoom: u8, offset: [i64; 3]) -> RegionKey {
    let cell = offset.map(|c| c.div_euclid(256 << (17 - zoom)));
    let [x, z] = [cell[0], cell[2]].map(|c| c.rem_euclid(1 << zoom) as u32);
    RegionKey::new(TileCoord::new(zoom, x, z).unwrap(), cell[1] as i32)
}

/// An update that fills a slot with a meshed region.
pub(crate) fn fill(at: usize, region: Region, offset: [i64; 3]) -> SlotUpdate {
    let mesh = mesh_region(&region, BorderPolicy::Closed, &mut Scratch::new());
    let (key, solids) = (key_at(17, offset), Solids::of(&region.occupancy));
    let built = BuiltRegion { key, voxels: Some(region), mesh, solids, boxes: None };
    SlotUpdate { at, region: Some(Arc::new(built)), offset, octants: SlotUpdate::ALL_OCTANTS }
}

/// An update that fills a slot with some octants of a region of a coarser zoom.
pub(crate) fn fill_octants(at: usize, zoom: u8, region: Region, offset: [i64; 3], octants: u8) -> SlotUpdate {
    let mesh = mesh_octants(&region, BorderPolicy::Closed, &mut Scratch::new());
    let (key, solids) = (key_at(zoom, offset), Solids::of(&region.occupancy));
    let built = BuiltRegion { key, voxels: Some(region), mesh, solids, boxes: None };
    SlotUpdate { at, region: Some(Arc::new(built)), offset, octants }
}

/// The voxels that lie in some of a region's octants.
pub(crate) fn voxels_in(region: &Region, octants: u8) -> Occupancy {
    let mut occupancy = region.occupancy.clone();
    for (row_idx, row) in occupancy.rows_mut().iter_mut().enumerate() {
        let western = 2 * (row_idx % 256 / 128) + 4 * (row_idx / 256 / 128);
        for (word_idx, word) in row.iter_mut().enumerate() {
            *word = if octants >> (western + word_idx / 2) & 1 == 1 { *word } else { 0 };
        }
    }
    occupancy
}

/// An update that empties a slot.
pub(crate) fn clear(at: usize) -> SlotUpdate {
    SlotUpdate { at, region: None, offset: [0; 3], octants: SlotUpdate::ALL_OCTANTS }
}

/// A stream of small numbers that is the same everywhere (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Within `low..high`.
    pub(crate) fn int(&mut self, low: u32, high: u32) -> u32 {
        low + (self.next() % u64::from(high - low)) as u32
    }

    /// Within `low..high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Voxels to be painted: 0 is air, else a colour's number plus one.
pub(crate) struct Paint {
    cells: Vec<u8>,
    palette: Vec<Colour>,
}

impl Paint {
    pub(crate) fn new(palette: &[Colour]) -> Self {
        Self { cells: vec![0; 1 << 24], palette: palette.to_vec() }
    }

    /// Paints one voxel.
    pub(crate) fn set(&mut self, [x, y, z]: [u32; 3], colour: u8) {
        self.cells[(x | y << 8 | z << 16) as usize] = colour + 1;
    }

    /// Paints the box from `min` up to but without `max`; `colour` may depend on the voxel.
    pub(crate) fn fill(&mut self, min: [u32; 3], max: [u32; 3], colour: impl Fn([u32; 3]) -> u8) {
        for z in min[2]..max[2] {
            for y in min[1]..max[1] {
                for x in min[0]..max[0] {
                    self.set([x, y, z], colour([x, y, z]));
                }
            }
        }
    }

    /// The region, with a byte a voxel.
    pub(crate) fn indexed(&self) -> Region {
        self.region(ColourDepth::Indexed(self.palette.clone()), |page, texel, cell| page[texel] = cell.max(1) - 1)
    }

    /// The region, with three bytes a voxel.
    pub(crate) fn direct(&self) -> Region {
        self.region(ColourDepth::Direct, |page, texel, cell| {
            page[texel * 3..][..3].copy_from_slice(&self.palette[usize::from(cell.max(1) - 1)]);
        })
    }

    fn region(&self, depth: ColourDepth, write: impl Fn(&mut [u8], usize, u8)) -> Region {
        let mut occupancy = Occupancy::empty();
        for (row_idx, row) in self.cells.chunks_exact(256).enumerate() {
            let words = &mut occupancy.rows_mut()[row_idx];
            for (x, &cell) in row.iter().enumerate() {
                words[x / 64] |= u64::from(cell != 0) << (x % 64);
            }
        }
        let mut colours = Colours::new(depth);
        let bricks = occupancy.brick_mask();
        for brick in 0..REGION_BRICKS.pow(3) {
            let at = [brick % REGION_BRICKS, brick / REGION_BRICKS % REGION_BRICKS, brick / REGION_BRICKS.pow(2)];
            if !bricks.contains(at[0], at[1], at[2]) {
                continue;
            }
            let page = colours.add_page(at[0], at[1], at[2]);
            for voxel in 0..BRICK_VOXELS.pow(3) {
                let [x, y, z] = [voxel % 16 + at[0] * 16, voxel / 16 % 16 + at[1] * 16, voxel / 256 + at[2] * 16];
                write(page, texel_in_brick(x, y, z), self.cells[(x | y << 8 | z << 16) as usize]);
            }
        }
        Region { occupancy, colours }
    }
}

/// Blocks of houses and a few towers on a ground of streets, closed on all sides; solid below.
pub(crate) fn city(seed: u64) -> Paint {
    const PALETTE: [Colour; 16] = [
        [112, 114, 118], // asphalt
        [150, 150, 148], // pavement
        [112, 142, 92],  // park
        [216, 212, 202], // plaster
        [196, 190, 178],
        [178, 176, 172], // concrete
        [168, 120, 96],  // brick
        [206, 186, 158], // beige
        [122, 148, 168], // glass
        [146, 170, 186],
        [84, 98, 110], // window
        [98, 92, 86],
        [188, 186, 180], // roofs
        [150, 146, 140],
        [128, 150, 108],
        [92, 84, 80], // earth
    ];
    let mut dice = Dice::new(seed);
    let mut paint = Paint::new(&PALETTE);
    let ground = 12;
    paint.fill([0; 3], [256, ground - 1, 256], |_| 15);
    paint.fill([0, ground - 1, 0], [256, ground, 256], |[x, _, z]| u8::from(x % 64 >= 10 && z % 64 >= 10));
    for block_x in 0..4 {
        for block_z in 0..4 {
            let [x0, z0] = [block_x * 64 + 13, block_z * 64 + 13];
            if dice.int(0, 7) == 0 {
                paint.fill([x0, ground - 1, z0], [x0 + 48, ground, z0 + 48], |_| 2);
                continue;
            }
            for [dx, dz] in [[0, 0], [25, 0], [0, 25], [25, 25]] {
                let tall = dice.int(0, 6) == 0;
                let height = if tall { dice.int(70, 150) } else { dice.int(8, 40) };
                let [w, d] = [dice.int(15, 23), dice.int(15, 23)];
                let wall = if tall { dice.int(8, 10) } else { dice.int(3, 8) } as u8;
                let roof = dice.int(12, 15) as u8;
                let [min, max] = [[x0 + dx, ground, z0 + dz], [x0 + dx + w, ground + height, z0 + dz + d]];
                paint.fill(min, max, |[x, y, z]| match () {
                    () if y + 1 == max[1] => roof,
                    () if (y - ground) % 4 < 2 || (x + z) % 4 == 0 => wall,
                    () => 10,
                });
                if height > 20 {
                    let top = [min[0] + 4, max[1], min[2] + 4];
                    paint.fill(top, [top[0] + 5, top[1] + 3, top[2] + 6], |_| 5);
                }
            }
        }
    }
    paint
}

/// Clouds of voxels of many colours: quads of all sizes on all faces.
pub(crate) fn rubble(seed: u64, n_boxes: u32) -> Paint {
    let mut dice = Dice::new(seed);
    let palette: Vec<Colour> = (0..251).map(|i| [i as u8, (i * 7 % 256) as u8, (i * 31 % 256) as u8]).collect();
    let mut paint = Paint::new(&palette);
    for _ in 0..n_boxes {
        let size = [0; 3].map(|_| dice.int(1, 14));
        let min = size.map(|size| dice.int(0, 257 - size));
        let salt = dice.int(0, 251);
        let striped = dice.int(0, 3) == 0;
        paint.fill(min, [0, 1, 2].map(|axis| min[axis] + size[axis]), |[x, y, z]| {
            if striped { salt as u8 } else { ((x * 5 + y * 13 + z * 29 + salt) % 251) as u8 }
        });
    }
    paint
}

/// Views round and inside one region at `offset`, near and far, level, steep and grazing.
pub(crate) fn views(offset: [i64; 3], width_px: u32, height_px: u32) -> Vec<View> {
    coarse_views(offset, 1.0, width_px, height_px)
}

/// As [`views`], of a region whose voxels have this edge, in world voxels.
pub(crate) fn coarse_views(offset: [i64; 3], voxel_edge: f64, width_px: u32, height_px: u32) -> Vec<View> {
    [
        ([128.3, 230.0, 330.7], 0.0, -35.0),
        ([-60.2, 90.5, 300.1], -40.0, -15.0),
        ([5.5, 14.2, 250.5], -20.0, 3.0),
        ([128.5, 13.05, 260.0], 0.0, 0.0),
        ([133.0, 60.3, 133.0], 120.0, -20.0),
        ([300.9, 13.4, 128.9], 90.0, -0.4),
        ([128.0, 400.0, 128.0], 17.0, -89.0),
        ([330.0, -70.0, 330.0], 45.0, 25.0),
        ([1100.0, 300.0, 1300.0], 40.0, -11.0),
    ]
    .map(|(eye, yaw, pitch): ([f64; 3], f64, f64)| {
        let eye = [0, 1, 2].map(|axis| eye[axis] * voxel_edge + offset[axis] as f64);
        View { draw_distance_voxels: 640.0 * voxel_edge, ..view(eye, yaw, pitch, width_px, height_px) }
    })
    .to_vec()
}

/// Fifty views of one region, wherever the eye may stand: far, near and within, level, steep and grazing.
pub(crate) fn random_views(seed: u64, offset: [i64; 3], width_px: u32, height_px: u32) -> Vec<View> {
    let mut dice = Dice::new(seed);
    let mut random = || {
        let far = if dice.int(0, 3) == 0 { 900.0 } else { 140.0 };
        let eye = offset.map(|c| c as f64 + 128.0).map(|c| c + dice.real(-far, far));
        let pitch = if dice.int(0, 4) == 0 { dice.real(-1.0, 1.0) } else { dice.real(-89.0, 60.0) };
        View { draw_distance_voxels: 1e5, ..view(eye, dice.real(0.0, 360.0), pitch, width_px, height_px) }
    };
    (0..50).map(|_| random()).collect()
}
