//! Uploads in steps: nothing is seen of them before their update, and then all.

use std::ops::Range;
use std::sync::Arc;

use voxatlas::gpu::{Budget, GpuError, Offscreen, Renderer};
use voxatlas::stream::{BuiltRegion, OctantUpdate, SlotUpdate, UploadStep};
use voxatlas::view::View;

use crate::picture::assert_same;
use crate::scene::{Dice, FLAT, city, clear, fill, fill_octants, gpu, renderer, rubble, take, view};

fn overview() -> View {
    view([256.0, 330.0, 480.0], 0.0, -45.0, 200, 160)
}

fn built(update: &SlotUpdate) -> &Arc<BuiltRegion> {
    update.region.as_ref().unwrap()
}

fn step(update: &SlotUpdate, bytes: Range<usize>) -> UploadStep {
    UploadStep { at: update.at, region: Arc::clone(built(update)), bytes }
}

/// Cuts an upload at random places, some of them within a word.
fn steps(update: &SlotUpdate, dice: &mut Dice) -> Vec<UploadStep> {
    let size_bytes = built(update).gpu_bytes();
    let mut cuts: Vec<_> = (0..6).map(|_| dice.int(1, size_bytes as u32) as usize).chain([0, size_bytes]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|it| step(update, it[0]..it[1])).collect()
}

#[test]
fn steps_show_nothing_until_their_update_and_then_the_whole_region() {
    let small_pages = Budget { page_bytes: 512 << 10, regions_bytes_max: 64 << 20 };
    let neighbour = fill(0, city(3).indexed(), [256, 0, 0]);
    let mut dice = Dice::new(31);
    for (name, update, budget) in [
        ("indexed", fill(1, city(31).indexed(), [0; 3]), Budget::default()),
        ("direct", fill(95, rubble(32, 200).direct(), [0; 3]), Budget::default()),
        ("octants", fill_octants(7, 16, rubble(33, 200).indexed(), [-256, 0, -300], 0b0110_1101), Budget::default()),
        ("pieces", fill(1, rubble(34, 6000).indexed(), [0; 3]), small_pages),
        ("direct pieces", fill(1, rubble(35, 1200).direct(), [0; 3]), small_pages),
    ] {
        let mut stepped = Renderer::with_budget(gpu(), Offscreen::FORMAT, budget);
        stepped.apply(&neighbour).unwrap();
        let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
        let shoot = |renderer: &mut Renderer| offscreen.take(renderer, &overview(), FLAT).unwrap();
        let before = shoot(&mut stepped).0;
        let uniform_bytes = shoot(&mut stepped).1.uploaded_bytes;

        let size_bytes = built(&update).gpu_bytes() as u64;
        let mut sent_bytes = 0;
        for step in steps(&update, &mut dice) {
            stepped.upload(&step).unwrap();
            // Until then there is nothing to choose octants of.
            stepped.set_octants(&OctantUpdate { at: update.at, octants: 0xFF });
            let (picture, stats) = shoot(&mut stepped);
            assert_same(&format!("steps.{name}.{}", step.bytes.start), &picture, &before);
            sent_bytes += stats.uploaded_bytes - uniform_bytes;
            assert!(sent_bytes <= step.bytes.end as u64 && sent_bytes + 4 > step.bytes.end as u64, "{sent_bytes}");
        }
        assert_eq!(sent_bytes, size_bytes);
        stepped.apply(&update).unwrap();
        let (shown, stats) = shoot(&mut stepped);
        assert!(stats.uploaded_bytes < uniform_bytes + 5120, "the update sends nothing but tables: {stats:?}");
        let expected = take(&mut renderer(&[neighbour.clone(), update.clone()]), &overview(), FLAT);
        assert_same(&format!("steps.{name}"), &shown, &expected);
        assert_ne!(shown, before);
    }
}

#[test]
fn an_update_before_the_last_step_sends_what_is_missing() {
    let update = fill(4, city(41).indexed(), [0; 3]);
    let expected = take(&mut renderer(std::slice::from_ref(&update)), &overview(), FLAT);
    let mut dice = Dice::new(42);
    let steps = steps(&update, &mut dice);
    for n_sent in 0..steps.len() {
        let mut early = renderer(&[]);
        for step in &steps[..n_sent] {
            early.upload(step).unwrap();
        }
        early.apply(&update).unwrap();
        assert_same("early_update", &take(&mut early, &overview(), FLAT), &expected);
        // What comes too late, or skips bytes, changes nothing.
        early.upload(&steps[steps.len() - 1]).unwrap();
        assert_same("late_step", &take(&mut early, &overview(), FLAT), &expected);
    }
    let mut gap = renderer(&[]);
    gap.upload(&steps[0]).unwrap();
    gap.upload(&steps[2]).unwrap();
    gap.apply(&update).unwrap();
    assert_same("missing_step", &take(&mut gap, &overview(), FLAT), &expected);
}

#[test]
fn a_superseded_upload_gives_its_room_back() {
    let [first, second] = [(51, 0), (52, 256)].map(|(seed, x)| fill(2, city(seed).indexed(), [x, 0, 0]));
    let bytes = |update: &SlotUpdate| built(update).gpu_bytes() as u64;
    let mut renderer = renderer(&[]);
    let nothing = take(&mut renderer, &overview(), FLAT);

    // By another region's first step, by the slot's clearing, by another region's update.
    renderer.upload(&step(&first, 0..1000)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&first), "all the room is taken with the first step");
    renderer.upload(&step(&second, 0..2000)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&second));
    renderer.upload(&step(&first, 1000..3000)).unwrap();
    renderer.apply(&clear(2)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, 0);
    renderer.upload(&step(&second, 2000..4000)).unwrap();
    assert_same("superseded", &take(&mut renderer, &overview(), FLAT), &nothing);
    renderer.upload(&step(&first, 0..1000)).unwrap();
    renderer.apply(&second).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&second));
    let shown = take(&mut renderer, &overview(), FLAT);
    assert_same("superseded", &shown, &take(&mut self::renderer(std::slice::from_ref(&second)), &overview(), FLAT));

    // A first step clears what the slot shows.
    renderer.upload(&step(&first, 0..1000)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&first));
    assert_same("superseded", &take(&mut renderer, &overview(), FLAT), &nothing);
}

#[test]
fn a_region_without_room_is_refused_with_its_first_step() {
    let (small, large) = (fill(0, city(1).indexed(), [0; 3]), fill(1, rubble(2, 900).indexed(), [256, 0, 0]));
    let [small_bytes, large_bytes] = [&small, &large].map(|it| built(it).gpu_bytes() as u64);
    let budget = Budget { regions_bytes_max: small_bytes + large_bytes - 1, ..Budget::default() };
    let mut renderer = Renderer::with_budget(gpu(), Offscreen::FORMAT, budget);
    renderer.apply(&small).unwrap();
    let alone = take(&mut renderer, &overview(), FLAT);
    let no_room = Err(GpuError::NoRoom {
        size_bytes: large_bytes,
        used_bytes: small_bytes,
        budget_bytes: budget.regions_bytes_max,
    });
    assert_eq!(renderer.upload(&step(&large, 0..100)), no_room);
    assert_eq!(renderer.upload(&step(&large, 100..200)), Ok(()));
    assert_eq!(renderer.memory().regions_bytes, small_bytes);
    assert_eq!(renderer.apply(&large), no_room);
    assert_same("steps_no_room", &take(&mut renderer, &overview(), FLAT), &alone);
    // A region on its way has its room: nobody else finds it.
    renderer.apply(&clear(0)).unwrap();
    renderer.upload(&step(&large, 0..100)).unwrap();
    assert!(matches!(renderer.apply(&small), Err(GpuError::NoRoom { .. })));
    renderer.apply(&large).unwrap();
}
