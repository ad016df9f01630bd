//! No crack anywhere: inside a closed cave the background is never seen, whichever zooms it is drawn in.

use voxatlas::gpu::Picture;
use voxatlas::mesh::Face;
use voxatlas::stream::{OctantUpdate, SlotUpdate};

use voxatlas::voxel::{Region, down_sample};

use crate::picture::leave;
use crate::scene::{Dice, FLAT, MAGENTA, Paint, fill, fill_octants, renderer, take, view};
use crate::shells::{Touch, ball, in_regions, regions, skin};

/// Heights in patches of uneven size over a rectangle.
fn patches(dice: &mut Dice, [width, depth]: [u32; 2], n: u32, lowest: u32, highest: u32) -> Vec<u32> {
    let mut heights = vec![lowest; (width * depth) as usize];
    for _ in 0..n {
        let [w, d] = [dice.int(2, 40), dice.int(2, 40)];
        let [x0, z0] = [dice.int(0, width - w), dice.int(0, depth - d)];
        let height = dice.int(lowest, highest);
        for z in z0..z0 + d {
            heights[(x0 + z * width) as usize..][..w as usize].fill(height);
        }
    }
    heights
}

fn n_holes(picture: &Picture) -> usize {
    picture.rgba.chunks(4).filter(|it| it[..3] == MAGENTA).count()
}

/// Two solid regions with one cave through both, its floor, ceiling and walls all steps: wherever quads meet, they meet
/// at T-junctions.
fn cave() -> Vec<SlotUpdate> {
    let mut dice = Dice::new(77);
    let [floor, ceiling] = [[60, 100], [150, 200]].map(|[low, high]| patches(&mut dice, [512, 256], 700, low, high));
    (0..2)
        .map(|at| {
            let mut paint = Paint::new(&[[120, 130, 140], [150, 140, 130]]);
            for z in 0..256 {
                for x in 0..256 {
                    let wide_x = x + at * 256;
                    let column = (wide_x + z * 512) as usize;
                    let outside = !(9..503).contains(&wide_x) || !(6..250).contains(&z);
                    let colour = |[x, y, z]: [u32; 3]| u8::from((x / 8 + y / 8 + z / 8) % 2 == 0);
                    let below = if outside { 256 } else { floor[column] };
                    paint.fill([x, 0, z], [x + 1, below, z + 1], colour);
                    if !outside {
                        paint.fill([x, ceiling[column], z], [x + 1, 256, z + 1], colour);
                    }
                }
            }
            fill(at as usize, paint.indexed(), [i64::from(at) * 256, 0, 0])
        })
        .collect()
}

#[test]
fn no_view_from_inside_a_cave_shows_the_background() {
    let updates = cave();
    for update in &updates {
        let quads = &update.region.as_deref().unwrap().mesh.quads;
        assert!(quads.len() < 25_000, "{} quads are slow to draw in software", quads.len());
        assert!(quads.iter().any(|quad| quad.face() == Face::PosY));
    }
    let mut renderer = renderer(&updates);
    let mut dice = Dice::new(78);
    let (mut n_all, mut worst) = (0, None);
    for idx in 0..120 {
        // Between the highest floor and the lowest ceiling, often right at the border of the two regions.
        let x = if idx % 3 == 0 { dice.real(250.0, 262.0) } else { dice.real(15.0, 497.0) };
        let eye = [x, dice.real(100.5, 149.5), dice.real(12.0, 244.0)];
        let view = view(eye, dice.real(0.0, 360.0), dice.real(-80.0, 80.0), 320, 320);
        let picture = take(&mut renderer, &view, FLAT);
        let n = n_holes(&picture);
        n_all += n;
        if n > 0 {
            worst = Some((view, leave(&format!("hole.{idx}.png"), &picture)));
        }
    }
    assert_eq!(n_all, 0, "pixels show the background; the last view: {worst:?}");
}

/// A cave through a coarse region of zoom 16, with floor, ceiling and pillars in fine voxels.
struct CoarseCave {
    /// By x + 512 z: how high the ground reaches. A pillar reaches the top.
    floor: Vec<u32>,
    ceiling: Vec<u32>,
}

impl CoarseCave {
    fn new(dice: &mut Dice) -> Self {
        let mut floor = patches(dice, [512, 512], 500, 210, 250);
        for _ in 0..14 {
            let [w, d] = [dice.int(3, 30), dice.int(3, 30)];
            let [x0, z0] = [dice.int(20, 492 - w), dice.int(20, 492 - d)];
            for z in z0..z0 + d {
                floor[(x0 + z * 512) as usize..][..w as usize].fill(512);
            }
        }
        Self { floor, ceiling: patches(dice, [512, 512], 500, 266, 300) }
    }

    /// Where the air of a column of fine voxels begins and ends.
    fn air(&self, x: u32, z: u32) -> [u32; 2] {
        let is_wall = !(9..503).contains(&x) || !(6..506).contains(&z);
        let column = (x + z * 512) as usize;
        if is_wall { [512, 512] } else { [self.floor[column], self.ceiling[column].max(self.floor[column])] }
    }

    /// A region of it, solid but for the air of its columns, which `air` gives in the region's own voxels.
    fn region(air: impl Fn(u32, u32) -> [u32; 2]) -> voxatlas::voxel::Region {
        let mut paint = Paint::new(&[[120, 130, 140], [150, 140, 130]]);
        let colour = |[x, y, z]: [u32; 3]| u8::from((x / 8 + y / 8 + z / 8) % 2 == 0);
        for z in 0..256 {
            for x in 0..256 {
                let [low, high] = air(x, z).map(|y| y.min(256));
                paint.fill([x, 0, z], [x + 1, low, z + 1], colour);
                paint.fill([x, high, z], [x + 1, 256, z + 1], colour);
            }
        }
        paint.indexed()
    }

    /// A coarse voxel is solid where any of its fine ones is.
    fn parent(&self) -> SlotUpdate {
        let region = Self::region(|x, z| {
            let fine = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[dx, dz]| self.air(x * 2 + dx, z * 2 + dz));
            let low = fine.iter().map(|it| it[0].div_ceil(2)).max().unwrap();
            [low, fine.iter().map(|it| it[1] / 2).min().unwrap().max(low)]
        });
        fill_octants(0, 16, region, [0; 3], SlotUpdate::ALL_OCTANTS)
    }

    fn children(&self) -> impl Iterator<Item = SlotUpdate> {
        (0..8).map(|octant| {
            let min = [octant & 1, octant >> 1 & 1, octant >> 2].map(|it| it * 256);
            let region = Self::region(|x, z| self.air(min[0] + x, min[2] + z).map(|y| y.saturating_sub(min[1])));
            fill(1 + octant as usize, region, min.map(i64::from))
        })
    }

    /// A place in the air, a coarse voxel or more from anything solid, often near the middle where octants meet.
    fn eye(&self, dice: &mut Dice) -> [f64; 3] {
        loop {
            let near_middle = dice.int(0, 2) == 0;
            let (low, high) = if near_middle { (246.0, 266.0) } else { (15.0, 497.0) };
            let [x, z] = [dice.real(low, high), dice.real(15.0, 497.0)];
            let [x, z] = if dice.int(0, 2) == 0 { [x, z] } else { [z, x] };
            let around = |c: f64| c as u32 - 4..=c as u32 + 4;
            let is_open = around(x).all(|x| around(z).all(|z| self.air(x, z)[1] >= 266));
            if is_open {
                return [x, dice.real(252.0, 263.0), z];
            }
        }
    }
}

#[test]
fn no_view_from_inside_a_cave_shows_the_background_between_a_region_and_its_children() {
    let mut dice = Dice::new(79);
    let cave = CoarseCave::new(&mut dice);
    let updates: Vec<_> = std::iter::once(cave.parent()).chain(cave.children()).collect();
    let mut renderer = renderer(&updates);
    let (mut n_all, mut worst) = (0, None);
    for idx in 0..40 {
        // Which octants their children stand in for; none and all of them, too.
        let fine = [0, 0xFF].get(idx).copied().unwrap_or_else(|| dice.int(1, 0xFF) as u8);
        renderer.set_octants(&OctantUpdate { at: 0, octants: !fine });
        for octant in 0..8 {
            let octants = if fine >> octant & 1 == 1 { SlotUpdate::ALL_OCTANTS } else { 0 };
            renderer.set_octants(&OctantUpdate { at: 1 + octant, octants });
        }
        for _ in 0..2 {
            let view = view(cave.eye(&mut dice), dice.real(0.0, 360.0), dice.real(-80.0, 80.0), 256, 256);
            let picture = take(&mut renderer, &view, FLAT);
            let n = n_holes(&picture);
            n_all += n;
            if n > 0 {
                worst = Some((fine, view, leave(&format!("seam.{idx}.png"), &picture)));
            }
        }
    }
    assert_eq!(n_all, 0, "pixels show the background; the last octants and view: {worst:?}");
}

/// The pyramid's own voxels: from within a thin hollow ball, of whatever kind of skin, no zoom lets the background through.
#[test]
fn no_zoom_of_a_thin_shell_lets_the_background_through() {
    for touch in [Touch::Face, Touch::Edge, Touch::Corner] {
        let children = regions(&skin(touch, ball(50)));
        let coarse = |zoom: u8| -> Region {
            let z16 = down_sample(std::array::from_fn(|octant| Some(&children[octant])));
            (zoom..16).fold(z16, |finer, _| {
                let mut alone = [None; 8];
                alone[0] = Some(&finer);
                down_sample(alone)
            })
        };
        let fine = || {
            let place = |octant: usize| [octant & 1, octant >> 1 & 1, octant >> 2].map(|c| c as i64 * 256);
            let all = children.iter().enumerate();
            all.map(|(octant, region)| fill(octant, region.clone(), place(octant))).collect::<Vec<_>>()
        };
        let zooms = [(17, fine())].into_iter();
        let zooms =
            zooms.chain([16, 15, 14].map(|zoom| (zoom, vec![fill_octants(0, zoom, coarse(zoom), [0; 3], 0xFF)])));
        for (zoom, updates) in zooms {
            let mut renderer = renderer(&updates);
            // A little beside the middle, so that no edge of a voxel is looked along.
            let eye = in_regions([64.3, 63.4, 64.7]);
            for (yaw, pitch) in (0..24).map(|n| (f64::from(n % 8) * 45.0, f64::from(n / 8 - 1) * 55.0)) {
                let picture = take(&mut renderer, &view(eye, yaw, pitch, 256, 256), FLAT);
                let n = n_holes(&picture);
                if n > 0 {
                    leave(&format!("shell_{touch:?}_{zoom}"), &picture);
                }
                assert_eq!(n, 0, "{touch:?}, zoom {zoom}, yaw {yaw}, pitch {pitch}");
            }
        }
    }
}
