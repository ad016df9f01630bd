//! What the stream promises beyond the reference system, each promise a test (DESIGN's list, in its order).

use std::collections::BTreeSet;
use std::time::Duration;

use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{BACKOFF_MIN_MILLIS, EMPTY_REST_MILLIS, ERROR_REST_MILLIS, PREPURGE, RETRIES_MAX};
use voxatlas::stream::{
    CellCache, CellState, Command, Cost as _, Event, Level, LoadError, Notice, Outcome, RegionState, SceneConfig,
    StoreLimits,
};
use voxatlas::view::Interest;

use crate::simulation::{FRAME, Making, Reply, Simulation, TIMEOUT, built, key, make, millis, row, visible};

fn simulation() -> Simulation {
    Simulation::new(SceneConfig::default())
}

#[test]
fn a_still_view_loads_each_region_once_by_role() {
    let mut sim = simulation();
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    sim.run(&interest, millis(2_000));
    assert_eq!((sim.fetches.len(), sim.builds.len()), (24, 20));
    let fetched: Vec<RegionKey> = sim.fetches.iter().map(|&(_, key)| key).collect();
    let expected: Vec<RegionKey> = (0..24).map(|x| key(x, 0)).collect();
    assert_eq!(fetched, expected, "nearest first, in view before ahead of need");
    assert!((0..20).all(|x| sim.level(key(x, 0)) == Level::Full));
    assert!((20..24).all(|x| sim.level(key(x, 0)) == Level::Image));
    assert_eq!(sim.n_drawn(), 16);
}

// 1. Each region appears when it is ready; nothing waits for the slowest.

#[test]
fn a_region_appears_in_the_frame_after_its_build() {
    let mut sim = simulation();
    let interest = row(0, 0);
    let ready_after = sim.latency + sim.build_time;
    sim.run(&interest, ready_after + 4 * FRAME);
    assert!(sim.n_drawn() >= 2, "two builds run at once; the others are still on their way");
    assert!(sim.n_drawn() < 16);
}

#[test]
fn a_hanging_region_holds_up_nobody() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Hang, Reply::Hang, Reply::Hang]);
    let interest = row(0, 0);
    sim.run(&interest, millis(1_500));
    assert_eq!(sim.n_drawn(), 15, "all but the nearest, which hangs");
    assert!(!sim.scene.is_complete());

    let took = sim.run_until_complete(&interest);
    assert!(took > 2 * TIMEOUT, "three time-outs");
    assert_eq!((sim.n_drawn(), sim.level(key(0, 0))), (15, Level::Error));
}

// 2. The interest is recomputed every frame, also while loading.

#[test]
fn a_teleport_while_loading_asks_for_the_new_place_at_once() {
    let mut sim = simulation();
    sim.latency = millis(400);
    sim.run(&row(0, 0), millis(200));
    let there = row(0, 500);
    let frame = sim.frame(&there);
    let n_aborts = frame.commands.iter().filter(|command| matches!(command, Command::Abort { .. })).count();
    let asked: Vec<RegionKey> = frame
        .commands
        .iter()
        .filter_map(|command| if let Command::Fetch { key, .. } = *command { Some(key) } else { None })
        .collect();
    assert_eq!((n_aborts, asked), (4, there.visible[..4].to_vec()));
}

#[test]
fn what_comes_into_view_overtakes_what_was_ahead_of_need() {
    let mut sim = simulation();
    let ahead = Interest { prefetch: (0..12).map(|x| key(x, 0)).collect(), ..Interest::default() };
    sim.frame(&ahead);
    let mut turned = ahead.clone();
    turned.visible = vec![turned.prefetch.remove(11)];
    sim.frame(&turned);
    sim.pass(sim.latency);
    sim.frame(&turned);
    assert_eq!(sim.fetches[4].1, key(11, 0), "the first to start after the four that ran");
}

#[test]
fn a_waiting_build_that_comes_into_view_is_next() {
    let mut sim = Simulation::new(SceneConfig { builds: 1, ..SceneConfig::default() });
    let ahead = Interest { prebuild: (0..4).map(|x| key(x, 0)).collect(), ..Interest::default() };
    sim.frame(&ahead);
    sim.pass(sim.latency);
    sim.frame(&ahead);
    let mut turned = ahead.clone();
    turned.visible = vec![turned.prebuild.remove(3)];
    sim.frame(&turned);
    sim.pass(sim.build_time);
    sim.frame(&turned);
    let built: Vec<RegionKey> = sim.builds.iter().map(|&(_, key)| key).collect();
    assert_eq!(built, [key(0, 0), key(3, 0)]);
}

// 3. A slot's geometry, colours and offset change together. (`Simulation::frame` compares the screen after each frame.)

#[test]
fn turning_about_never_shows_a_region_at_another_s_place() {
    let mut sim = simulation();
    for turn in 0..8 {
        sim.run(&row(turn % 2 * 12, turn % 3), millis(250));
    }
    let interest = row(12, 2);
    sim.run_until_complete(&interest);
    assert!(interest.visible.iter().all(|&key| sim.is_drawn(key)));
}

#[test]
fn who_stays_in_view_keeps_the_slot_and_is_not_uploaded_again() {
    let mut sim = simulation();
    sim.run_until_complete(&row(0, 0));
    let before: Vec<_> = sim.scene.slots().collect();
    let mut n_uploads = 0;
    for _ in 0..60 {
        n_uploads += sim.frame(&row(1, 0)).updates.iter().filter(|update| update.region.is_some()).count();
        sim.pass(FRAME);
    }
    assert_eq!(n_uploads, 1, "only the one that came into view");
    let changed = before.iter().zip(sim.scene.slots()).filter(|(before, after)| *before != after).count();
    assert_eq!(changed, 1);
}

// 4. What was loaded stays; turning round costs nothing.

#[test]
fn turning_round_costs_no_request_and_no_build() {
    let mut sim = simulation();
    for turn in 0..12 {
        sim.run(&row(turn % 2 * 4, 0), millis(3_000));
    }
    let distinct: BTreeSet<RegionKey> = sim.fetches.iter().map(|&(_, key)| key).collect();
    assert_eq!(sim.fetches.len(), distinct.len(), "the reference system asks twice for half of them");
    assert!(distinct.iter().all(|&key| sim.n_builds_of(key) <= 1));

    // Back where everything is known, the picture is whole after the uploads of one frame.
    sim.frame(&row(0, 0));
    assert!(sim.scene.is_complete());
}

#[test]
fn prepurge_counts_only_what_is_outside_and_the_latest_stays() {
    let mut sim = simulation();
    for x in 0..60 {
        sim.run_until_complete(&row(x, 0));
        sim.run(&row(x, 0), millis(600));
        assert!(sim.scene.progress().n_outside <= PREPURGE);
    }
    assert_eq!(sim.scene.progress().n_outside, PREPURGE);
    assert!((27..59).all(|x| sim.level(key(x, 0)) == Level::Full), "the 32 that were left last");
    assert!((0..27).all(|x| sim.level(key(x, 0)) == Level::None));
    assert!((59..75).all(|x| sim.is_drawn(key(x, 0))));
}

// 5. image -> full reuses the bytes.

#[test]
fn a_prefetched_file_is_built_without_a_second_fetch() {
    let mut sim = simulation();
    let ahead = Interest { prefetch: vec![key(0, 0)], ..Interest::default() };
    sim.run(&ahead, millis(500));
    assert_eq!((sim.level(key(0, 0)), sim.builds.len()), (Level::Image, 0));
    let took = sim.run_until_complete(&visible([key(0, 0)]));
    assert!(took <= sim.build_time + 2 * FRAME, "no network in it");
    assert_eq!((sim.fetches.len(), sim.builds.len()), (1, 1));
}

#[test]
fn a_running_prefetch_serves_the_full_load() {
    let mut sim = simulation();
    sim.frame(&Interest { prefetch: vec![key(0, 0)], ..Interest::default() });
    sim.run_until_complete(&visible([key(0, 0)]));
    assert_eq!((sim.fetches.len(), sim.aborts.len()), (1, 0));
}

// 6. A panicking job fails one region, is retried, and the pool lives on.

#[test]
fn a_panic_costs_one_region_and_may_pass() {
    let mut sim = simulation();
    sim.script_builds(key(3, 0), [Making::Panic, Making::Panic, Making::Panic]);
    sim.script_builds(key(4, 0), [Making::Panic]);
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    assert_eq!(sim.n_drawn(), 15);
    assert_eq!((sim.n_builds_of(key(3, 0)), sim.n_fetches_of(key(3, 0))), (3, 1), "the same bytes, three times");
    assert!(sim.is_drawn(key(4, 0)));
    let failures: Vec<_> = sim.scene.failures().collect();
    assert!(matches!(failures[..], [(failed, LoadError::Panicked { .. })] if failed == key(3, 0)), "{failures:?}");

    assert_eq!(sim.scene.retry_failed(), 1);
    assert!(!sim.scene.is_complete());
    sim.run_until_complete(&interest);
    assert_eq!((sim.n_drawn(), sim.scene.failures().count()), (16, 0));
}

// 7. Empty regions are remembered; failures wait; three make an error, which can be retried.

#[test]
fn empty_regions_are_remembered_and_push_nothing_out() {
    let mut sim = simulation();
    let city = row(0, 1);
    sim.run_until_complete(&city);
    sim.run(&city, millis(1_000));
    for x in 0..100 {
        sim.script(key(x, 0), [Reply::Nothing]);
    }
    for x in (0..80).step_by(5) {
        sim.run_until_complete(&row(x, 0));
        assert_eq!(sim.scene.progress().n_empty, 16);
        sim.run(&row(x, 0), millis(600));
    }
    let n_fetches = sim.fetches.len();
    for x in (0..80).step_by(5).rev() {
        sim.frame(&row(x, 0));
        assert!(sim.scene.is_complete());
    }
    sim.frame(&city);
    assert!(sim.scene.is_complete(), "the city outlived the sea");
    assert_eq!(sim.fetches.len(), n_fetches);
    assert_eq!((sim.scene.failures().count(), sim.aborts.len()), (0, 0));
}

#[test]
fn failures_back_off_and_then_succeed() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Reset, Reply::Reset]);
    sim.run_until_complete(&visible([key(0, 0)]));
    let times: Vec<Duration> = sim.fetches.iter().map(|&(at, _)| at).collect();
    let [first, second, third] = times[..] else { panic!("three fetches: {times:?}") };
    let wait_between = |from: Duration, to: Duration| to.saturating_sub(from + sim.latency);
    let (wait_1, wait_2) = (wait_between(first, second), wait_between(second, third));
    assert!((180..=360 + 16).contains(&wait_1.as_millis()), "{wait_1:?}");
    assert!((360..=720 + 16).contains(&wait_2.as_millis()), "{wait_2:?}");
    assert!(sim.is_drawn(key(0, 0)));
}

#[test]
fn clients_with_other_seeds_come_back_at_other_times() {
    let wait_of = |seed| {
        let mut sim = Simulation::new(SceneConfig { seed, ..SceneConfig::default() });
        sim.script(key(0, 0), [Reply::Reset]);
        sim.frame(&visible([key(0, 0)]));
        sim.pass(sim.latency);
        sim.scene.next_wake(sim.now)
    };
    assert_eq!(wait_of(7), wait_of(7), "the same run is the same");
    let waits: BTreeSet<_> = (0..40).map(wait_of).collect();
    assert!(waits.len() > 20, "{waits:?}");
}

#[test]
fn retry_after_is_honoured() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Busy(Duration::from_secs(20))]);
    let took = sim.run_until_complete(&visible([key(0, 0)]));
    assert!(took >= Duration::from_secs(20) && took < Duration::from_secs(21), "{took:?}");
}

#[test]
fn three_failures_are_an_error_that_a_retry_heals() {
    let mut sim = simulation();
    sim.script(key(0, 0), vec![Reply::Reset; 3]);
    sim.script(key(1, 0), [Reply::Forbidden]);
    let interest = visible([key(0, 0), key(1, 0), key(2, 0)]);
    sim.run_until_complete(&interest);
    sim.run(&interest, Duration::from_secs(50));
    assert_eq!((sim.n_fetches_of(key(0, 0)), sim.n_fetches_of(key(1, 0))), (RETRIES_MAX as usize, 1));
    let failed: Vec<RegionKey> = sim.scene.failures().map(|(key, _)| key).collect();
    assert_eq!((failed, sim.scene.progress().n_failed), (vec![key(0, 0), key(1, 0)], 2));

    assert!(sim.scene.retry(key(0, 0)));
    assert!(!sim.scene.retry(key(0, 0)), "once");
    assert!(!sim.scene.retry(key(2, 0)), "it is no error");
    sim.run_until_complete(&interest);
    assert!(sim.is_drawn(key(0, 0)));
    assert_eq!(sim.scene.failures().count(), 1);
}

#[test]
fn an_error_heals_by_itself_after_a_minute() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Forbidden]);
    let interest = visible([key(0, 0)]);
    sim.run_until_complete(&interest);
    let wake = sim.scene.next_wake(sim.now);
    assert_eq!(wake, Some(sim.latency + millis(ERROR_REST_MILLIS)), "a loop that sleeps wakes for it");
    sim.run(&interest, millis(ERROR_REST_MILLIS + 500));
    assert!(sim.is_drawn(key(0, 0)));
    assert_eq!(sim.fetches.len(), 2);
}

#[test]
fn emptiness_is_believed_for_ten_minutes() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Nothing]);
    let interest = visible([key(0, 0)]);
    sim.run_until_complete(&interest);
    assert!(!sim.scene.may_hold(&key(0, 0)) && sim.scene.may_hold(&key(1, 0)));
    sim.now += millis(EMPTY_REST_MILLIS);
    sim.run_until_complete(&interest);
    assert!(sim.is_drawn(key(0, 0)), "it has been uploaded meanwhile");
}

#[test]
fn a_host_that_asks_for_patience_is_left_alone_whatever_is_wanted() {
    let mut sim = Simulation::new(SceneConfig { tasks_per_host: 3, ..SceneConfig::default() });
    // Even columns come from one host, odd ones from another.
    sim.with_hosts(|key| key.tile.x() as usize % 2);
    sim.script(key(1, 0), [Reply::Busy(Duration::from_secs(20))]);
    let interest = row(0, 0);
    sim.run(&interest, Duration::from_secs(10));
    let from_the_other = sim.fetches.iter().filter(|(_, key)| key.tile.x() % 2 == 0).count();
    assert!(from_the_other < 6, "two were on their way when it said so: {from_the_other}");
    assert_eq!(sim.n_drawn(), 8 + from_the_other - 1);
    let wake = sim.scene.next_wake(sim.now).expect("it opens again");
    assert!(wake > sim.now && wake <= sim.fetches[1].0 + sim.latency + Duration::from_secs(20));
    sim.run_until_complete(&interest);
    assert_eq!(sim.n_drawn(), 16);
}

#[test]
fn hosts_have_a_limit_each() {
    let mut sim = Simulation::new(SceneConfig { tasks_per_host: 1, ..SceneConfig::default() });
    sim.with_hosts(|key| key.tile.x() as usize % 3);
    sim.frame(&row(0, 0));
    let fetched: Vec<RegionKey> = sim.fetches.iter().map(|&(_, key)| key).collect();
    assert_eq!(fetched, [key(0, 0), key(1, 0), key(2, 0)], "four might run, and there are three hosts");
    sim.run_until_complete(&row(0, 0));
}

#[test]
fn a_retry_queues_behind_the_untried() {
    let mut sim = simulation();
    for x in 0..4 {
        sim.script(key(x, 0), [Reply::Reset]);
    }
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    let fetched: Vec<RegionKey> = sim.fetches.iter().map(|&(_, key)| key).collect();
    let first_retry = (4..fetched.len()).find(|&n| fetched[n].tile.x() < key(4, 0).tile.x()).unwrap();
    assert_eq!(first_retry, 16, "all others in view had their first try: {fetched:?}");
}

#[test]
fn three_panics_in_a_row_are_told_once() {
    let mut sim = simulation();
    sim.script_builds(key(0, 0), vec![Making::Panic; 3]);
    let interest = visible([key(0, 0)]);
    let mut notices = Vec::new();
    for _ in 0..400 {
        notices.extend(sim.frame(&interest).notices);
        sim.pass(FRAME);
    }
    assert_eq!(notices, [Notice::Panics { n: 3 }]);
}

#[test]
fn a_region_without_room_on_the_gpu_is_an_error_that_can_be_retried() {
    let mut sim = simulation();
    let interest = visible([key(0, 0), key(1, 0)]);
    sim.run_until_complete(&interest);
    sim.scene.refuse_upload(key(0, 0), "it takes 9 bytes, 5 are free".to_owned());
    sim.frame(&interest);
    assert_eq!((sim.is_drawn(key(0, 0)), sim.is_drawn(key(1, 0))), (false, true));
    let (_, error) = sim.scene.failures().next().expect("it is named");
    assert_eq!(error.to_string(), "17/116415/51623 is not drawn: it takes 9 bytes, 5 are free");
    assert_eq!(sim.scene.retry_failed(), 1);
    sim.run_until_complete(&interest);
    assert!(sim.is_drawn(key(0, 0)));
}

#[test]
fn a_bad_file_is_fetched_once_more() {
    let mut sim = simulation();
    sim.script_builds(key(0, 0), [Making::NoAtlas]);
    sim.script_builds(key(1, 0), [Making::NoAtlas, Making::NoAtlas]);
    sim.run_until_complete(&visible([key(0, 0), key(1, 0)]));
    assert_eq!((sim.n_fetches_of(key(0, 0)), sim.n_fetches_of(key(1, 0))), (2, 2));
    assert_eq!((sim.level(key(0, 0)), sim.level(key(1, 0))), (Level::Full, Level::Error));
}

#[test]
fn looking_away_and_back_does_not_get_round_a_wait_or_an_error() {
    let mut sim = simulation();
    sim.script(key(0, 0), vec![Reply::Busy(Duration::from_secs(10)); 3]);
    let (here, away) = (visible([key(0, 0)]), visible([key(0, 9)]));
    for _ in 0..20 {
        sim.run(&here, millis(200));
        sim.run(&away, millis(200));
    }
    assert_eq!(sim.n_fetches_of(key(0, 0)), 1, "within ten seconds");
    sim.run_until_complete(&here);
    assert_eq!(sim.level(key(0, 0)), Level::Error);

    sim.run(&away, millis(200));
    sim.run(&here, millis(200));
    assert_eq!(sim.level(key(0, 0)), Level::Error, "a flicker asks nothing");
    sim.run(&away, millis(ERROR_REST_MILLIS));
    sim.run_until_complete(&here);
    assert!(sim.is_drawn(key(0, 0)), "who comes back later tries again");
}

#[test]
fn a_retry_reaches_errors_out_of_view() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Forbidden]);
    sim.run_until_complete(&visible([key(0, 0)]));
    sim.run_until_complete(&visible([key(5, 0)]));
    assert_eq!(sim.scene.retry_failed(), 1);
    sim.scene.check_invariants();
    assert_eq!(sim.n_fetches_of(key(0, 0)), 1, "it loads when it is wanted");
    sim.run_until_complete(&visible([key(0, 0)]));
    assert!(sim.is_drawn(key(0, 0)));
}

// 8. Abort reaches every stage.

#[test]
fn abort_reaches_fetches_and_builds_and_not_what_never_started() {
    let mut sim = simulation();
    sim.build_time = millis(300);
    sim.run(&row(0, 0), millis(150));
    // Now 4 more fetches run, 2 builds run, 2 builds wait.
    assert_eq!((sim.fetches.len(), sim.builds.len()), (8, 2));
    let frame = sim.frame(&Interest::default());
    assert_eq!(frame.commands.len(), 6);
    assert!(frame.commands.iter().all(|command| matches!(command, Command::Abort { .. })));
    assert_eq!(sim.aborts.len(), 6);
    assert_eq!(sim.next_answer(), None);
    // The files that had arrived are kept.
    assert_eq!((0..24).filter(|&x| sim.level(key(x, 0)) == Level::Image).count(), 4);
}

#[test]
fn what_an_aborted_task_still_answers_changes_nothing() {
    let mut sim = simulation();
    let interest = visible([key(0, 0)]);
    sim.frame(&interest);
    let late = sim.nth_running(0).expect("a fetch runs");
    sim.frame(&Interest::default());
    assert!(!sim.scene.handle(late.clone(), sim.now));
    sim.frame(&interest);
    assert!(!sim.scene.handle(late, sim.now), "also when the region is wanted again");
    assert_eq!(sim.level(key(0, 0)), Level::None);
    sim.run_until_complete(&interest);
    assert!(sim.is_drawn(key(0, 0)));
}

// 9. Memory is budgeted in bytes.

/// A scene whose store holds this many regions of these tests.
fn scene_for(n_regions: usize) -> Simulation {
    let bytes = n_regions * (built(key(0, 0)).size_bytes() + 1_000);
    let store = StoreLimits { bytes, outside: PREPURGE, remembered: 100 };
    Simulation::new(SceneConfig { store, ..SceneConfig::default() })
}

#[test]
fn the_byte_budget_holds_and_the_nearest_are_drawn() {
    let mut sim = scene_for(6);
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    sim.run(&interest, Duration::from_secs(20));
    assert_eq!(sim.fetches.len(), 24, "regions do not take turns in the room of one");
    assert!((0..6).all(|x| sim.is_drawn(key(x, 0))));
    assert!((6..16).all(|x| sim.level(key(x, 0)) == Level::Error));
    let (failed, error) = sim.scene.failures().next().expect("someone found no room");
    assert_eq!(failed, key(6, 0));
    assert!(error.to_string().starts_with("17/116421/51623: no room for its "), "{error}");
}

#[test]
fn regions_without_room_load_by_themselves_when_there_is_some() {
    let mut sim = scene_for(4);
    sim.run_until_complete(&visible((0..8).map(|x| key(x, 0))));
    assert_eq!(sim.n_drawn(), 4);
    // The four near ones leave the view: what is outside gives way.
    sim.run_until_complete(&visible((4..8).map(|x| key(x, 0))));
    assert!((4..8).all(|x| sim.is_drawn(key(x, 0))));
    // They come back nearer than the others: rank decides.
    sim.run_until_complete(&visible([key(6, 0), key(7, 0), key(0, 0), key(1, 0), key(2, 0)]));
    assert!([6, 7, 0, 1].iter().all(|&x| sim.is_drawn(key(x, 0))));
}

#[test]
fn a_region_larger_than_the_budget_is_an_error_and_no_loop() {
    let mut sim = Simulation::new(SceneConfig {
        store: StoreLimits { bytes: 1 << 20, outside: 4, remembered: 4 },
        ..SceneConfig::default()
    });
    let interest = visible([key(0, 0)]);
    sim.run_until_complete(&interest);
    sim.run(&interest, Duration::from_secs(100));
    assert_eq!((sim.fetches.len(), sim.builds.len(), sim.level(key(0, 0))), (1, 1, Level::Error));
}

#[test]
fn uploads_are_spread_over_frames() {
    let quad_bytes = 12;
    let config = SceneConfig { upload_bytes_per_frame: 40 * quad_bytes, ..SceneConfig::default() };
    let mut sim = Simulation::new(config);
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    sim.run_until_complete(&row(50, 50));
    // All of the first view is ready at once; the simulation checks the bytes of each frame.
    let n_drawn_after_one = {
        sim.frame(&interest);
        sim.n_drawn()
    };
    assert!((1..16).contains(&n_drawn_after_one));
    sim.run_until_complete(&interest);
    assert_eq!(sim.n_drawn(), 16);
}

// The loop without a window, and the watchers.

#[test]
fn a_headless_loop_sleeps_until_something_happens() {
    let mut sim = simulation();
    sim.script(key(0, 0), vec![Reply::Reset; 3]);
    sim.script(key(1, 0), [Reply::Nothing]);
    sim.script_builds(key(2, 0), [Making::Panic]);
    let interest = row(0, 0);
    let mut n_frames = 0;
    assert!(!sim.scene.is_complete(), "nothing is known before the first frame");
    loop {
        sim.frame(&interest);
        n_frames += 1;
        if sim.scene.is_complete() {
            break;
        }
        let next = [sim.scene.next_wake(sim.now), sim.next_answer()].into_iter().flatten().min();
        let next = next.expect("an answer or a back-off is to come");
        sim.pass(next.saturating_sub(sim.now));
    }
    assert_eq!((sim.n_drawn(), sim.scene.progress().n_failed, sim.scene.progress().n_empty), (14, 1, 1));
    assert!(n_frames < 80, "{n_frames} frames for 48 tasks");
}

#[test]
fn progress_counts_every_visible_region_once() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Reset]);
    sim.script(key(1, 0), [Reply::Nothing]);
    sim.script(key(2, 0), [Reply::Forbidden]);
    let interest = row(0, 0);
    sim.frame(&interest);
    let progress = sim.scene.progress();
    assert_eq!((progress.n_fetching, progress.n_queued, progress.n_visible()), (4, 12, 16));
    sim.pass(sim.latency);
    sim.frame(&interest);
    let progress = sim.scene.progress();
    assert_eq!((progress.n_backing_off, progress.n_empty, progress.n_failed), (1, 1, 1));
    assert_eq!((progress.n_fetching, progress.n_building, progress.n_queued), (4, 1, 8));
    assert_eq!(progress.n_visible(), 16);
    sim.run_until_complete(&interest);
    let progress = sim.scene.progress();
    assert_eq!((progress.n_drawn, progress.n_settled(), progress.n_visible()), (14, 16, 16));
    let held: usize = (0..24).filter_map(|x| sim.scene.region(&key(x, 0))).map(RegionState::bytes).sum();
    assert_eq!(progress.store_bytes, held);
}

#[test]
fn debug_events_tell_the_reference_system_s_story() {
    let mut sim = simulation();
    sim.run(&row(0, 0), millis(500));
    sim.listen(true);
    sim.script(key(3, 1), [Reply::Forbidden]);
    let interest = Interest {
        visible: vec![key(0, 1), key(3, 1)],
        prebuild: vec![key(1, 1)],
        prefetch: vec![key(2, 1)],
        ..Interest::default()
    };
    sim.frame(&interest);
    let cell = |sim: &Simulation, x, y| {
        sim.cells().into_iter().find(|cell| cell.region == key(x, y)).map(|cell| (cell.state, cell.cache))
    };
    assert_eq!(cell(&sim, 0, 1), Some((CellState::Visible, CellCache::Fetching)));
    assert_eq!(cell(&sim, 0, 0), None, "what happened before nobody heard");
    sim.pass(millis(100));
    sim.frame(&interest);
    assert_eq!(cell(&sim, 1, 1), Some((CellState::Prebuild, CellCache::Building)));
    assert_eq!(cell(&sim, 2, 1), Some((CellState::Prefetch, CellCache::Empty)));
    assert_eq!(cell(&sim, 3, 1), Some((CellState::Error, CellCache::Empty)));
    sim.pass(millis(40));
    let near = sim.cells()[0];
    assert_eq!((near.region, near.state, near.cache), (key(0, 1), CellState::Visible, CellCache::Cached));
    assert_eq!((near.prefetch_ms, near.prebuild_ms), (Some(100.0), Some(40.0)));

    let mut was_purged = false;
    for x in 2..60 {
        sim.run_until_complete(&row(x, 2));
        for _ in 0..40 {
            sim.run(&row(x, 2), FRAME);
            was_purged |= cell(&sim, 0, 1) == Some((CellState::Idle, CellCache::Purged));
        }
    }
    assert!(was_purged && cell(&sim, 0, 1).is_none(), "a purged region is named once more, then dropped");
    assert!(sim.cells().len() <= PREPURGE + 24 + 1, "{} cells", sim.cells().len());
}

#[test]
fn debug_events_come_when_something_happens_and_are_json() {
    let mut sim = simulation();
    sim.listen(true);
    let interest = row(0, 0);
    sim.run_until_complete(&interest);
    sim.run(&interest, millis(600));
    let last = sim.heard.lock().unwrap().take().expect("it was told");
    sim.run(&interest, millis(600));
    assert_eq!(*sim.heard.lock().unwrap(), None, "nothing happens, nothing is said");
    let json = serde_json::to_value(&last).unwrap();
    assert_eq!(json["anchor"], "17/116415/51623");
    assert_eq!(json["cells"][0]["region"], "17/116415/51623");
    assert_eq!((&json["cells"][0]["state"], &json["cells"][0]["cache"]), (&"visible".into(), &"cached".into()));
    assert_eq!(json["cells"][0]["prefetch_ms"], 100.0);
    sim.frame(&row(1, 0));
    assert!(sim.heard.lock().unwrap().as_ref().is_some_and(|event| event.anchor == Some(key(1, 0))), "it moves");
    sim.listen(false);
    sim.heard.lock().unwrap().take();
    sim.frame(&row(30, 0));
    assert_eq!(*sim.heard.lock().unwrap(), None);
}

// Bad interests and answers.

#[test]
fn an_interest_that_is_too_long_or_repeats_itself_is_cut() {
    let mut sim = simulation();
    let many: Vec<RegionKey> = (0..1_000).flat_map(|x| [key(x, 0), key(x, 0)]).collect();
    let interest = Interest { visible: many.clone(), prebuild: many.clone(), prefetch: many, ..Interest::default() };
    sim.run_until_complete(&interest);
    assert_eq!((sim.n_drawn(), sim.scene.progress().n_visible()), (16, 16));
    sim.run(&interest, millis(30_000));
    assert_eq!(sim.fetches.len(), voxatlas::limits::INTEREST_MAX);
}

#[test]
fn the_wrong_region_is_not_shown() {
    let mut sim = simulation();
    let interest = visible([key(0, 0)]);
    sim.frame(&interest);
    sim.pass(sim.latency);
    sim.frame(&interest);
    let event = sim.nth_running(0).expect("a build runs");
    let swapped = Event { outcome: make(key(1, 0), Making::Region), ..event };
    sim.end(&swapped);
    sim.frame(&interest);
    assert_eq!((sim.level(key(0, 0)), sim.n_drawn()), (Level::Error, 0));
    let (_, error) = sim.scene.failures().next().expect("it is named");
    assert_eq!(error.to_string(), "the loader built 17/116416/51623 where 17/116415/51623 was asked for");
}

#[test]
fn time_that_runs_backwards_is_no_time() {
    let mut sim = simulation();
    sim.script(key(0, 0), [Reply::Reset]);
    let interest = visible([key(0, 0)]);
    sim.run(&interest, millis(150));
    let wake = sim.scene.next_wake(sim.now).expect("a back-off");
    assert_eq!(sim.scene.frame(&interest, Duration::ZERO).commands, []);
    assert_eq!(sim.scene.next_wake(Duration::ZERO), Some(wake));
    assert!(wake >= millis(100 + BACKOFF_MIN_MILLIS));
}

#[test]
fn offsets_follow_zoom_and_layer() {
    let mut sim = Simulation::new(SceneConfig::default());
    for (zoom, x, y, layer, expected) in [
        (17, 116_415, 51_623, 0, [29_802_240, -32, 13_215_488]),
        (17, 116_415, 51_623, 1, [29_802_240, 224, 13_215_488]),
        (17, 0, 131_071, -2, [0, -544, 33_554_176]),
        (16, 58_207, 25_811, 1, [29_801_984, 480, 13_215_232]),
        (12, 3_637, 1_613, -1, [29_794_304, -8_224, 13_213_696]),
    ] {
        let key = RegionKey::new(TileCoord::new(zoom, x, y).expect("a tile"), layer);
        let interest = visible([key]);
        // The simulation compares offsets of zoom 17 itself: this one asks the scene alone.
        let mut offsets = Vec::new();
        for _ in 0..3 {
            let frame = sim.scene.frame(&interest, sim.now);
            for command in frame.commands {
                let (ticket, outcome) = match command {
                    Command::Fetch { ticket, key } => (ticket, Outcome::Fetched(crate::simulation::file(key))),
                    Command::Build { ticket, key, .. } => (ticket, make(key, Making::Region)),
                    Command::Abort { .. } => continue,
                };
                sim.scene.handle(Event { ticket, key, outcome }, sim.now);
            }
            offsets.extend(frame.updates.iter().filter(|update| update.region.is_some()).map(|update| update.offset));
        }
        assert_eq!(offsets, [expected], "{key}");
    }
}
