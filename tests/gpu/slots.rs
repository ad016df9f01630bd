//! Slots: what they hold, what they cost, and that they change whole.

use voxatlas::gpu::{Antialiasing, Budget, GpuError, Offscreen, Picture, Renderer};
use voxatlas::mesh::{Face, RegionMesh};
use voxatlas::stream::{OctantUpdate, SlotUpdate};

use crate::picture::assert_same;
use crate::scene::{
    Dice, FLAT, MAGENTA, Paint, city, clear, fill, fill_octants, gpu, lit, renderer, rubble, take, view,
};

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
    let bytes = |update: &SlotUpdate| update.region.as_deref().unwrap().gpu_bytes() as u64;
    assert_eq!(renderer.memory().regions_bytes, bytes(&updates[0]) + bytes(&updates[1]));
    let pages_bytes = renderer.memory().pages_bytes;
    assert!(pages_bytes >= renderer.memory().regions_bytes);
    assert!(pages_bytes <= 64 << 20, "two small regions share a page of quads and one of words");
    renderer.apply(&clear(0)).unwrap();
    assert_eq!(renderer.memory().regions_bytes, bytes(&updates[1]));
    // Sixteen more changes take no more room.
    for i in 0..16 {
        renderer.apply(&updates[i % 2]).unwrap();
    }
    assert_eq!(renderer.memory().pages_bytes, pages_bytes);
}

fn mesh(update: &SlotUpdate) -> &RegionMesh {
    &update.region.as_deref().unwrap().mesh
}

/// Quads that look one of these ways and belong to one of these octants.
fn n_quads(update: &SlotUpdate, faces: &[Face], octants: u8) -> u64 {
    let faces = faces.iter().fold(0, |faces, &face| faces | 1 << face as u8);
    mesh(update).ends.runs(faces, octants).map(|run| run.len() as u64).sum()
}

#[test]
fn what_looks_away_or_is_out_of_sight_is_not_drawn() {
    let updates = [fill(0, city(1).indexed(), [0; 3]), fill(1, city(2).indexed(), [256, 0, 0])];
    let mut renderer = renderer(&updates);
    let mut stats = |view, style| {
        let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
        offscreen.take(&mut renderer, &view, style).unwrap().1
    };
    // From above their common border, south of both.
    let both = stats(overview(), FLAT);
    let west = n_quads(&updates[0], &[Face::PosX, Face::PosY, Face::PosZ], 0xFF);
    let east = n_quads(&updates[1], &[Face::NegX, Face::PosY, Face::PosZ], 0xFF);
    assert!(both.n_slots == 2 && both.n_quads >= west + east, "{both:?}");
    assert!(both.n_quads < (mesh(&updates[0]).quads.len() + mesh(&updates[1]).quads.len()) as u64 * 4 / 5, "{both:?}");
    assert!(both.uploaded_bytes > updates.iter().map(|it| mesh(it).gpu_bytes() as u64).sum(), "the regions were sent");
    let again = stats(overview(), FLAT);
    assert!(again.uploaded_bytes < 8 << 10, "nothing but tables is sent again: {again:?}");

    let west = stats(view([250.0, 80.0, 128.0], 90.0, 0.0, 200, 160), FLAT);
    assert_eq!(west.n_slots, 1, "the other region is behind");
    let away = stats(view([128.0, 80.0, 300.0], 180.0, 0.0, 200, 160), FLAT);
    assert_eq!((away.n_slots, away.n_draws, away.n_quads), (0, 0, 0));

    let mut short = view([-100.0, 80.0, 128.0], -90.0, 0.0, 200, 160);
    assert_eq!(stats(short, lit()).n_slots, 2);
    short.draw_distance_voxels = 300.0;
    assert_eq!(stats(short, lit()).n_slots, 1, "the farther region lies in the fog");
}

#[test]
fn a_view_takes_few_draw_calls() {
    let updates: Vec<_> = (0..6).map(|i| fill(i * 7, city(i as u64).indexed(), [256 * i as i64, 0, 0])).collect();
    let stats = |renderer: &mut Renderer| {
        let far =
            voxatlas::view::View { draw_distance_voxels: 4000.0, ..view([700.0, 500.0, 1400.0], 0.0, -25.0, 200, 160) };
        Offscreen::new(gpu(), 200, 160).unwrap().take(renderer, &far, lit()).unwrap()
    };
    let (picture, many) = stats(&mut renderer(&updates));
    let can = gpu().device.features();
    if can.contains(wgpu::Features::MULTI_DRAW_INDIRECT_COUNT | wgpu::Features::INDIRECT_FIRST_INSTANCE) {
        assert_eq!((many.n_slots, many.n_draws), (6, 2), "one for all regions, one for the sky");
    }
    // Adapters that cannot: as many as faces that may be seen.
    let mut plain = Renderer::without_multi_draw(gpu(), Offscreen::FORMAT);
    for update in &updates {
        plain.apply(update).unwrap();
    }
    let (plain_picture, few) = stats(&mut plain);
    assert!(few.n_draws <= 6 * few.n_slots + 1, "{few:?}");
    assert_same("draw_calls", &plain_picture, &picture);
}

#[test]
fn only_the_octants_that_are_wanted_and_in_sight_are_drawn() {
    let update = fill_octants(3, 16, rubble(4, 300).indexed(), [0; 3], SlotUpdate::ALL_OCTANTS);
    let mut many = renderer(std::slice::from_ref(&update));
    let mut few = Renderer::without_multi_draw(gpu(), Offscreen::FORMAT);
    few.apply(&update).unwrap();
    let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
    let mut stats = |octants, view| {
        let take = |renderer: &mut Renderer| {
            renderer.set_octants(&OctantUpdate { at: 3, octants });
            offscreen.take(renderer, &view, FLAT).unwrap()
        };
        let [(picture, exact), (masked_picture, masked)] = [take(&mut many), take(&mut few)];
        assert_same("octants", &masked_picture, &picture);
        assert!(masked.n_draws <= 6, "octants that are not drawn cost no call: {masked:?}");
        (exact.n_slots, exact.n_quads)
    };
    // South of it, above and in the middle: the eastern faces of the western half are seen, and the other way round.
    let from_outside = view([256.0, 900.0, 1100.0], 0.0, -38.0, 200, 160);
    let seen = [Face::NegX, Face::PosX, Face::PosY, Face::PosZ];
    for octants in [0xFF, 0b0101_0101, 0b0111_1110, 1] {
        let (n_slots, n_found) = stats(octants, from_outside);
        let (all, least) = (n_quads(&update, &seen, octants), n_quads(&update, &seen[2..], octants));
        assert!(n_slots == 1 && (least..=all).contains(&n_found), "{n_found} of {least}..={all}");
    }
    assert_eq!(stats(0, from_outside), (0, 0));
    // From the middle, looking north: the four southern octants lie behind.
    let from_middle = view([256.0, 256.0, 254.0], 0.0, 0.0, 200, 160);
    let (n_slots, n_found) = stats(0xFF, from_middle);
    assert!(n_slots == 1 && n_found <= n_quads(&update, &Face::ALL, 0b0000_1111));
    assert_eq!(stats(0xF0, from_middle), (0, 0));
}

/// A carpet of voxels that touch nowhere but at their edges: as many quads as there can be of so few voxels.
fn carpet() -> Paint {
    let mut paint = Paint::new(&[[120, 130, 140], [150, 140, 130]]);
    for (z, x) in (0..256).flat_map(|z| (0..160).map(move |x| (z, x))).filter(|(z, x)| (z + x) % 2 == 0) {
        paint.set([x, 9, z], u8::from(x % 16 < 8));
    }
    paint
}

#[test]
fn a_region_larger_than_a_page_lies_in_several() {
    let budget = Budget { page_bytes: 512 << 10, regions_bytes_max: 64 << 20 };
    // Many quads, and many words.
    for (region, n_draws_min) in [(carpet().indexed(), 3), (rubble(7, 6000).indexed(), 2)] {
        let update = fill(0, region, [0; 3]);
        let built = update.region.as_deref().unwrap();
        assert!(built.gpu_bytes() as u64 > 2 * budget.page_bytes, "{} bytes", built.gpu_bytes());
        let mut paged = Renderer::with_budget(gpu(), Offscreen::FORMAT, budget);
        paged.apply(&fill(1, city(3).indexed(), [256, 0, 0])).unwrap();
        paged.apply(&update).unwrap();
        let offscreen = Offscreen::new(gpu(), 200, 160).unwrap();
        let (picture, stats) = offscreen.take(&mut paged, &overview(), lit()).unwrap();
        assert!(stats.n_draws >= n_draws_min && stats.n_slots == 2, "{stats:?}");
        let mut whole = renderer(&[update, fill(1, city(3).indexed(), [256, 0, 0])]);
        assert_same("paged", &picture, &take(&mut whole, &overview(), lit()));
    }
}

#[test]
fn a_region_without_room_leaves_its_slot_empty_and_the_others_alone() {
    let (small, large) = (fill(0, city(1).indexed(), [0; 3]), fill(1, rubble(2, 900).indexed(), [256, 0, 0]));
    let small_bytes = small.region.as_deref().unwrap().gpu_bytes() as u64;
    let large_bytes = large.region.as_deref().unwrap().gpu_bytes() as u64;
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

#[test]
fn a_change_of_zoom_fades_and_every_pixel_is_of_one_of_the_two() {
    let parent = fill_octants(0, 16, city(31).indexed(), [0; 3], SlotUpdate::ALL_OCTANTS);
    let child = fill(1, rubble(32, 300).indexed(), [0; 3]);
    let view = view([200.0, 260.0, 640.0], 0.0, -30.0, 200, 160);
    let at = |millis| Some(std::time::Duration::from_millis(millis));
    let mut renderer = renderer(&[parent]);
    renderer.set_time(at(5_000));
    let before = take(&mut renderer, &view, FLAT);
    assert!(!renderer.is_fading(), "what was there before there was a time has settled");

    renderer.apply(&child).unwrap();
    renderer.set_octants(&OctantUpdate { at: 0, octants: 0xFE });
    assert_same("fade_begins", &take(&mut renderer, &view, FLAT), &before);
    let mut half_way = |millis| {
        renderer.set_time(at(millis));
        assert!(renderer.is_fading());
        take(&mut renderer, &view, FLAT)
    };
    let pictures = [5_060, 5_125, 5_190].map(&mut half_way);
    renderer.set_time(at(5_250));
    assert!(!renderer.is_fading());
    let after = take(&mut renderer, &view, FLAT);
    let pixels = |picture: &Picture| picture.rgba.as_chunks::<4>().0.to_vec();
    let (before, after) = (pixels(&before), pixels(&after));
    let n_changing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(n_changing > 2_000, "{n_changing} pixels change");
    let mut n_changed_before = 0;
    for picture in pictures {
        let picture = pixels(&picture);
        let is_either = |idx: usize| picture[idx] == before[idx] || picture[idx] == after[idx];
        assert!((0..picture.len()).all(is_either), "no pixel shows what neither shows");
        let n_changed = picture.iter().zip(&before).filter(|(a, b)| a != b).count();
        assert!(
            n_changed > n_changed_before + n_changing / 10 && n_changed < n_changing,
            "{n_changed} of {n_changing}"
        );
        n_changed_before = n_changed;
    }
    // Without a time there is nothing to wait for.
    renderer.set_octants(&OctantUpdate { at: 0, octants: 0xFF });
    assert!(renderer.is_fading());
    renderer.set_time(None);
    assert!(!renderer.is_fading());
}

/// Mean difference of a channel from picture to picture, as the eye moves a tenth of a voxel a frame.
fn shimmer(antialiasing: Antialiasing, supersample: u32) -> f64 {
    let updates: Vec<_> =
        (0..3).map(|i| fill(i, city(40 + i as u64).indexed(), [256 * (i as i64 - 1), 0, -300])).collect();
    let mut renderer = renderer(&updates);
    renderer.set_antialiasing(antialiasing);
    let pictures: Vec<_> = (0..12)
        .map(|n| {
            let eye = [30.0 + f64::from(n) * 0.1, 210.3, 520.0 - f64::from(n) * 0.1];
            let view = view(eye, 4.0, -14.0, 192 * supersample, 108 * supersample);
            let far = voxatlas::view::View { draw_distance_voxels: 6000.0, ..view };
            take(&mut renderer, &far, lit()).averaged(supersample)
        })
        .collect();
    let n_bytes = pictures[0].rgba.len() * (pictures.len() - 1);
    let differences = pictures.windows(2).flat_map(|it| it[0].rgba.iter().zip(&it[1].rgba));
    differences.map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / n_bytes as f64
}

#[test]
fn far_surfaces_shimmer_less_with_antialiasing() {
    let [none, msaa] = [Antialiasing::None, Antialiasing::Msaa].map(|it| shimmer(it, 1));
    let supersampled = shimmer(Antialiasing::None, 3);
    assert!(msaa < none * 0.96 && supersampled < none * 0.8, "{none} none, {msaa} msaa, {supersampled} supersampled");
}

#[test]
fn edges_of_antialiased_pictures_are_between_their_sides() {
    let mut renderer = renderer(&[fill(0, city(3).indexed(), [0; 3])]);
    let sharp = take(&mut renderer, &overview(), FLAT);
    renderer.set_antialiasing(Antialiasing::Msaa);
    let smooth = take(&mut renderer, &overview(), FLAT);
    let n_differing = crate::picture::differences(&sharp, &smooth).iter().filter(|&&by| by > 8).count();
    assert!((500..16_000).contains(&n_differing), "{n_differing} pixels lie on edges");
    assert_eq!(smooth.pixel(2, 2), MAGENTA, "the background stays as it is");
    renderer.set_antialiasing(Antialiasing::None);
    assert_same("antialiasing_off", &take(&mut renderer, &overview(), FLAT), &sharp);
}
