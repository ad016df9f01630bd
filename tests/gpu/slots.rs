//! Slots: what they hold, what they cost, and that they change whole.

use voxatlas::gpu::{Budget, FrameStyle, GpuError, Offscreen, Renderer};
use voxatlas::stream::{OctantUpdate, SlotUpdate};

use crate::picture::assert_same;
use crate::scene::{Dice, FLAT, city, clear, fill, fill_octants, gpu, renderer, rubble, take, view};

fn overview() -> voxatlas::view::View {
    view([256.0, 330.0, 480.0], 0.0, -45.0, 200, 160)
}

#[test]
fn a_slot_that_changes_hands_never_shows_what_it_held() {
    let contents = [city(1).indexed(), rubble(2, 200).indexed(), rubble(3, 40).direct(), city(4).direct()];
    let offsets = [[0, 0, 0], [256, 0, 0], [0, 0, -256], [256, 0, -256]];
    let mut dice = Dice::new(1);
    let mut used = renderer(&[]);
    let mut held: [Option<SlotUpdate>; 4] = [const { None }; 4];
    for step in 0..24 {
        // Several changes a frame, of the same slot too.
        for _ in 0..dice.int(1, 4) {
            let at = dice.int(0, 4) as usize;
            let update = match dice.int(0, 5) {
                4 => clear(at),
                which => fill(at, contents[which as usize].clone(), offsets[dice.int(0, 4) as usize]),
            };
            used.apply(&update).unwrap();
            held[at] = Some(update);
        }
        let fresh: Vec<_> = held.iter().flatten().cloned().collect();
        let [actual, expected] = [take(&mut used, &overview(), FLAT), take(&mut renderer(&fresh), &overview(), FLAT)];
        assert_same(&format!("slot_reuse.{step}"), &actual, &expected);
    }
}

#[test]
fn memory_is_counted_to_the_byte() {
    let updates = [fill(0, city(1).indexed(), [0; 3]), fill(5, rubble(2, 300).direct(), [256, 0, 0])];
    let mut renderer = renderer(&updates);
    let bytes = |update: &SlotUpdate| update.region.as_deref().unwrap().mesh.gpu_bytes() as u64;
    assert_eq!(renderer.memory().regions_bytes, bytes(&updates[0]) + bytes(&updates[1]));
    let pages_bytes = renderer.memory().pages_bytes;
    assert!(pages_bytes >= renderer.memory().regions_bytes);
    assert!(pages_bytes <= (16 << 20) + (128 << 10), "two small regions share a page of quads and one of colours");
    renderer.apply(&clear(0)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&updates[1]));
    // Sixteen more changes take no more room.
    for i in 0..16 {
        renderer.apply(&updates[i % 2]).unwrap();
    }
    assert_eq!(renderer.memory().pages_bytes, pages_bytes);
}

#[test]
fn a_slot_is_one_draw_and_one_out_of_sight_none() {
    let updates = [fill(0, city(1).indexed(), [0; 3]), fill(1, city(2).indexed(), [256, 0, 0])];
    let quads: Vec<_> = updates.iter().map(|it| it.region.as_deref().unwrap().mesh.quads.len() as u64).collect();
    let mut renderer = renderer(&updates);
    let mut stats = |view, style| {
        let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
        offscreen.take(&mut renderer, &view, style).unwrap().1
    };
    let both = stats(overview(), FLAT);
    assert_eq!((both.n_slots, both.n_draws, both.n_quads), (2, 2, quads[0] + quads[1]));
    assert!(both.uploaded_bytes > quads.iter().sum::<u64>() * 12, "the regions were sent");
    let again = stats(overview(), FLAT);
    assert!(again.uploaded_bytes < 2048, "nothing but uniforms is sent again: {again:?}");

    let west = stats(view([250.0, 80.0, 128.0], 90.0, 0.0, 200, 160), FLAT);
    assert_eq!((west.n_draws, west.n_quads), (1, quads[0]), "the other region is behind");
    let away = stats(view([128.0, 80.0, 300.0], 180.0, 0.0, 200, 160), FLAT);
    assert_eq!((away.n_slots, away.n_draws, away.n_quads), (0, 0, 0));

    let mut short = view([-100.0, 80.0, 128.0], -90.0, 0.0, 200, 160);
    assert_eq!(stats(short, FrameStyle::Lit).n_draws, 2);
    short.draw_distance_voxels = 300.0;
    assert_eq!(stats(short, FrameStyle::Lit).n_draws, 1, "the farther region lies in the fog");
}

#[test]
fn only_the_octants_that_are_wanted_and_in_sight_are_drawn() {
    let update = fill_octants(3, 16, rubble(4, 300).indexed(), [0; 3], SlotUpdate::ALL_OCTANTS);
    let mesh = &update.region.as_deref().unwrap().mesh;
    let n_quads = |octants: u8| mesh.quads_of(octants).map(|run| run.len() as u64).sum::<u64>();
    let mut renderer = renderer(std::slice::from_ref(&update));
    let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
    let mut stats = |octants, view| {
        renderer.set_octants(&OctantUpdate { at: 3, octants });
        let stats = offscreen.take(&mut renderer, &view, FLAT).unwrap().1;
        (stats.n_slots, stats.n_draws, stats.n_quads)
    };
    let from_outside = view([256.0, 900.0, 1100.0], 0.0, -38.0, 200, 160);
    assert_eq!(stats(0xFF, from_outside), (1, 1, mesh.quads.len() as u64));
    assert_eq!(stats(0b0101_0101, from_outside), (1, 4, n_quads(0b0101_0101)));
    assert_eq!(stats(0b0111_1110, from_outside), (1, 1, n_quads(0b0111_1110)));
    assert_eq!(stats(0, from_outside), (0, 0, 0));
    // From the middle, looking north: the four southern octants lie behind.
    let from_middle = view([256.0, 256.0, 254.0], 0.0, 0.0, 200, 160);
    assert_eq!(stats(0xFF, from_middle), (1, 1, n_quads(0b0000_1111)));
    assert_eq!(stats(0b1010_1010, from_middle), (1, 2, n_quads(0b0000_1010)));
    assert_eq!(stats(0xF0, from_middle), (0, 0, 0));
}

#[test]
fn a_region_larger_than_a_page_is_drawn_in_pieces() {
    let budget = Budget { page_bytes: 300 << 10, regions_bytes_max: 64 << 20 };
    for region in [rubble(7, 6000).indexed(), rubble(8, 1200).direct()] {
        let update = fill(0, region, [0; 3]);
        let mut pieces = Renderer::with_budget(gpu(), Offscreen::FORMAT, budget);
        pieces.apply(&fill(1, city(3).indexed(), [256, 0, 0])).unwrap();
        pieces.apply(&update).unwrap();
        let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
        let (picture, stats) = offscreen.take(&mut pieces, &overview(), FLAT).unwrap();
        assert!(stats.n_draws > 2 && stats.n_slots == 2, "{stats:?}");
        let mut whole = renderer(&[update, fill(1, city(3).indexed(), [256, 0, 0])]);
        assert_same("pieces", &picture, &take(&mut whole, &overview(), FLAT));
    }
}

#[test]
fn a_region_without_room_leaves_its_slot_empty_and_the_others_alone() {
    let (small, large) = (fill(0, city(1).indexed(), [0; 3]), fill(1, rubble(2, 900).indexed(), [256, 0, 0]));
    let small_bytes = small.region.as_deref().unwrap().mesh.gpu_bytes() as u64;
    let large_bytes = large.region.as_deref().unwrap().mesh.gpu_bytes() as u64;
    let budget_bytes = small_bytes + large_bytes - 1;
    let budget = Budget { regions_bytes_max: budget_bytes, ..Budget::default() };
    let mut renderer = Renderer::with_budget(gpu(), Offscreen::FORMAT, budget);
    renderer.apply(&small).unwrap();
    let alone = take(&mut renderer, &overview(), FLAT);
    renderer.apply(&SlotUpdate { at: 1, ..small.clone() }).unwrap();
    assert_eq!(
        renderer.apply(&large),
        Err(GpuError::NoRoom { size_bytes: large_bytes, used_bytes: small_bytes, budget_bytes })
    );
    assert_same("no_room", &take(&mut renderer, &overview(), FLAT), &alone);
    renderer.apply(&clear(0)).unwrap();
    renderer.apply(&large).unwrap();
}

#[test]
fn passes_are_timed_where_the_device_can() {
    let mut renderer = renderer(&[fill(0, city(1).indexed(), [0; 3])]);
    let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
    let times: Vec<_> = (0..4).map(|_| offscreen.take(&mut renderer, &overview(), FLAT).unwrap().1.gpu_time).collect();
    let can = gpu().device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
    assert_eq!(times[0], None, "nothing is known of the first frame yet");
    assert_eq!(times[3].is_some_and(|it| !it.is_zero()), can, "{times:?}");
}
