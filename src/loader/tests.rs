use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::*;
use crate::atlas::{AtlasMetadata, EncodedAtlas, Tileset, encode};
use crate::geo::{RegionKey, TileCoord};
use crate::mesh::QuadEnds;
use crate::source::{AtlasSource, FetchFuture, Source};
use crate::stream::{Command, Event, LoadError, Outcome, Ticket};
use crate::voxel::{ColourDepth, Occupancy, Region};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_mins(1);

fn key(x: u32) -> RegionKey {
    RegionKey::new(TileCoord::new(17, x, 0).unwrap(), 0)
}

fn atlas() -> EncodedAtlas {
    let mut occupancy = Occupancy::empty();
    occupancy.set(3, 0, 5, true);
    let region = Region::paint(occupancy, ColourDepth::Indexed(vec![[1, 2, 3]]), |_, _, _| 0);
    let metadata = AtlasMetadata { key: key(0), base: 0, voxel_size_m: 1.0, clipped: 0, credit: String::new() };
    EncodedAtlas::new(encode(&region, &metadata))
}

/// Column 0 panics before there is a future, column 1 within it, column 2 never ends and tells when it begins and when
/// it is dropped, the others are empty.
struct Odd(SyncSender<Seen>);

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Begun,
    Dropped,
}

struct TellDrop(SyncSender<Seen>);

impl Drop for TellDrop {
    fn drop(&mut self) {
        let _ = self.0.send(Seen::Dropped);
    }
}

impl AtlasSource for Odd {
    fn fetch(&self, key: RegionKey) -> FetchFuture<'_> {
        match key.tile.x() {
            0 => panic!("no future"),
            1 => Box::pin(async { panic!("in the future") }),
            2 => {
                let tell = TellDrop(self.0.clone());
                let _ = self.0.send(Seen::Begun);
                Box::pin(async move {
                    std::future::pending::<()>().await;
                    drop(tell);
                    Ok(None)
                })
            }
            _ => Box::pin(async { Ok(None) }),
        }
    }
}

fn loader(config: &LoaderConfig) -> (Loader, Receiver<Seen>) {
    let (sender, seen) = sync_channel(16);
    let tileset = Tileset::of_template("{z}/{x}/{y}.png").unwrap();
    let source = Source::custom("odd", tileset, Arc::new(Odd(sender))).unwrap();
    (Loader::new(source, config).unwrap(), seen)
}

fn fetch(ticket: u64, x: u32) -> Command {
    Command::Fetch { ticket: Ticket(ticket), key: key(x) }
}

fn build(ticket: u64, atlas: EncodedAtlas) -> Command {
    Command::Build { ticket: Ticket(ticket), key: key(9), atlas }
}

fn next(loader: &Loader) -> Event {
    loader.wait_event(PATIENCE).expect("a task should have ended")
}

#[test]
fn a_panic_costs_its_task_and_is_named() {
    let (loader, _) = loader(&LoaderConfig::default());
    for (x, message) in [(0, "no future"), (1, "in the future")] {
        loader.run(fetch(7, x));
        let Event { ticket, key: found, outcome } = next(&loader);
        assert_eq!((ticket, found), (Ticket(7), key(x)));
        let Outcome::Failed(LoadError::Panicked { what }) = outcome else { panic!("{outcome:?}") };
        assert!(what.contains(message) && what.contains(&key(x).to_string()), "{what}");
    }
    loader.run(fetch(8, 3));
    assert!(matches!(next(&loader).outcome, Outcome::Empty));
}

#[test]
fn a_file_becomes_a_region_without_its_floor() {
    let (loader, _) = loader(&LoaderConfig::default());
    loader.run(build(1, atlas()));
    let Outcome::Built(built) = next(&loader).outcome else { panic!("the file is good") };
    assert!(built.voxels.as_ref().is_some_and(|voxels| voxels.occupancy.get(3, 0, 5)));
    // One voxel on the floor of the lowest layer: five of its faces can be seen.
    assert_eq!((built.key, built.mesh.quads.len()), (key(9), 5));
}

#[test]
fn a_coarse_region_comes_in_octants_and_keeps_its_voxels_where_asked() {
    for keep_coarse_voxels in [false, true] {
        let (loader, _) = loader(&LoaderConfig { keep_coarse_voxels, ..LoaderConfig::default() });
        let key = key(9).parent().unwrap();
        loader.run(Command::Build { ticket: Ticket(1), key, atlas: atlas() });
        let Outcome::Built(built) = next(&loader).outcome else { panic!("the file is good") };
        // One voxel, in the first octant.
        assert!(built.mesh.ends.has_octants());
        assert!(built.mesh.ends.runs(QuadEnds::ALL_FACES, 1).eq(std::iter::once(0..5)));
        assert_eq!(built.voxels.is_some(), keep_coarse_voxels);
        assert!(!built.is_empty());
        assert_eq!(built.size_bytes() > 2 << 20, keep_coarse_voxels);
    }
}

#[test]
fn boxes_come_with_regions_of_zoom_17_where_asked() {
    for (build_boxes, zoom_out, expected) in [(true, false, Some(1)), (true, true, None), (false, false, None)] {
        let (loader, _) = loader(&LoaderConfig { build_boxes, ..LoaderConfig::default() });
        let key = if zoom_out { key(9).parent().unwrap() } else { key(9) };
        loader.run(Command::Build { ticket: Ticket(1), key, atlas: atlas() });
        let Outcome::Built(built) = next(&loader).outcome else { panic!("the file is good") };
        assert_eq!(built.boxes.as_ref().map(|boxes| boxes.len()), expected);
        let boxes_bytes = expected.map_or(0, |n| 24 * n);
        let others = built.voxels.as_ref().map_or(0, Region::size_bytes) + built.gpu_bytes();
        assert_eq!(built.size_bytes(), others + boxes_bytes, "they count into the budget");
    }
}

#[test]
fn files_in_the_wrong_place_are_noticed() {
    let of = |key| AtlasMetadata { key, base: -32, voxel_size_m: 1.0, clipped: 0, credit: String::new() };
    let key = |y: u32, layer| RegionKey::new(TileCoord::new(17, 9, y).unwrap(), layer);
    let check = |file_key, base, expected: Option<&str>| {
        let found = build::contradiction(&of(file_key), key(5, 0), base);
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()));
    };
    check(key(5, 0), -32, None);
    check(key(5, 0), 0, Some("base is -32, the tileset says 0"));
    check(key(5, 1), -32, Some("says that it is region 17/9/5 layer 1, and was found as 17/9/5"));
    check(key((1 << 17) - 6, 0), -32, Some("are its rows counted from the south"));
}

#[test]
fn what_is_no_atlas_is_named() {
    let (loader, _) = loader(&LoaderConfig::default());
    loader.run(build(1, EncodedAtlas::new(*b"<html>")));
    let Outcome::Failed(LoadError::BadAtlas { what }) = next(&loader).outcome else { panic!("no atlas") };
    assert!(what.starts_with(&key(9).to_string()), "{what}");
}

#[test]
fn an_abort_drops_the_fetch() {
    let (loader, seen) = loader(&LoaderConfig::default());
    loader.run(fetch(1, 2));
    // One that has not begun is dropped too, but nobody could tell.
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(Seen::Begun));
    loader.run(Command::Abort { ticket: Ticket(1) });
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(Seen::Dropped));
    assert_eq!(loader.n_running(), 0);
    // Nobody minds an abort of what has ended or never was.
    loader.run(Command::Abort { ticket: Ticket(1) });
    loader.run(Command::Abort { ticket: Ticket(99) });
    loader.run(fetch(2, 3));
    assert_eq!(next(&loader).ticket, Ticket(2));
}

#[test]
fn a_drop_drops_all_fetches() {
    let (loader, seen) = loader(&LoaderConfig::default());
    for ticket in 0..8 {
        loader.run(fetch(ticket, 2));
    }
    drop(loader);
    // As many are dropped as began, and the last of them lets the source go, which closes the channel.
    let mut n_held = 0;
    let end = loop {
        match seen.recv_timeout(PATIENCE) {
            Ok(Seen::Begun) => n_held += 1,
            Ok(Seen::Dropped) => n_held -= 1,
            Err(end) => break end,
        }
    };
    assert_eq!((n_held, end), (0, RecvTimeoutError::Disconnected));
}

#[test]
fn an_aborted_build_never_answers() {
    // One thread and room for one event: the second build waits with its answer, and the third cannot begin.
    let (loader, _) = loader(&LoaderConfig { cpu_threads: 1, events_max: 1, ..LoaderConfig::default() });
    for ticket in 1..=4 {
        loader.run(build(ticket, atlas()));
    }
    loader.run(Command::Abort { ticket: Ticket(3) });
    let answered: Vec<Ticket> = (0..3).map(|_| next(&loader).ticket).collect();
    assert_eq!(answered, [Ticket(1), Ticket(2), Ticket(4)]);
    assert_eq!(loader.n_running(), 0);
}

#[test]
fn the_waker_is_called_when_an_event_can_be_taken() {
    let (loader, _) = loader(&LoaderConfig::default());
    let (sender, woken) = sync_channel(4);
    loader.set_waker(move || {
        let _ = sender.send(());
    });
    assert!(loader.try_event().is_none());
    loader.run(fetch(1, 3));
    woken.recv_timeout(PATIENCE).unwrap();
    assert_eq!(loader.try_event().unwrap().ticket, Ticket(1));
}

#[test]
fn a_waker_that_panics_leaves_the_loader_alive() {
    let (loader, _) = loader(&LoaderConfig { cpu_threads: 1, ..LoaderConfig::default() });
    loader.set_waker(|| panic!("a waker's fault"));
    for ticket in 0..4 {
        loader.run(build(ticket, atlas()));
        assert_eq!(next(&loader).ticket, Ticket(ticket));
    }
}
