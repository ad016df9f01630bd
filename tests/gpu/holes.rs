//! No crack anywhere: inside a closed cave the background is never seen.

use voxatlas::mesh::Face;
use voxatlas::stream::SlotUpdate;

use crate::picture::leave;
use crate::scene::{Dice, FLAT, MAGENTA, Paint, fill, renderer, take, view};

/// Two solid regions with one cave through both, its floor, ceiling and walls all steps: wherever quads meet, they meet
/// at T-junctions.
fn cave() -> Vec<SlotUpdate> {
    let mut dice = Dice::new(77);
    // Heights in patches of uneven size, over both regions.
    let mut patches = |lowest: u32, highest: u32| {
        let mut heights = vec![lowest; 512 * 256];
        for _ in 0..700 {
            let [w, d] = [dice.int(2, 40), dice.int(2, 40)];
            let [x0, z0] = [dice.int(0, 512 - w), dice.int(0, 256 - d)];
            let height = dice.int(lowest, highest);
            for z in z0..z0 + d {
                heights[(x0 + z * 512) as usize..][..w as usize].fill(height);
            }
        }
        heights
    };
    let (floor, ceiling) = (patches(60, 100), patches(150, 200));
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
    let (mut n_holes, mut worst) = (0, None);
    for idx in 0..120 {
        // Between the highest floor and the lowest ceiling, often right at the border of the two regions.
        let x = if idx % 3 == 0 { dice.real(250.0, 262.0) } else { dice.real(15.0, 497.0) };
        let eye = [x, dice.real(100.5, 149.5), dice.real(12.0, 244.0)];
        let view = view(eye, dice.real(0.0, 360.0), dice.real(-80.0, 80.0), 320, 320);
        let picture = take(&mut renderer, &view, FLAT);
        let n = picture.rgba.chunks(4).filter(|it| it[..3] == MAGENTA).count();
        n_holes += n;
        if n > 0 {
            worst = Some((view, leave(&format!("hole.{idx}.png"), &picture)));
        }
    }
    assert_eq!(n_holes, 0, "pixels show the background; the last view: {worst:?}");
}
