//! Archives that lie or are damaged: an error that names the file, and bounded work.

use proptest::prelude::*;
use voxatlas::geo::TileCoord;
use voxatlas::source::archive::{Archive, ArchiveRun};
use voxatlas::stream::LoadError;

use crate::config;
use crate::files::{N_MANY, Raw, atlas, city, directory, id, key};

const NAME: &str = "damaged.pmtiles";

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn tile(bytes: Vec<u8>, tile: TileCoord) -> Result<Option<Vec<u8>>, LoadError> {
    block_on(Archive::memory(NAME, bytes, &config()).tile(tile))
}

/// Runs and their contents.
type Walked = Vec<(ArchiveRun, Option<Vec<u8>>)>;

/// All that an archive lists.
fn walk(bytes: Vec<u8>) -> Result<Walked, LoadError> {
    block_on(async {
        let mut runs = Archive::memory(NAME, bytes, &config()).runs().await?;
        let mut found = Vec::new();
        while let Some(run) = runs.next().await? {
            found.push((run, runs.content(run).await?));
        }
        Ok(found)
    })
}

/// The error of a tile that only a lie lists.
fn lie(raw: &Raw, expected: &str) {
    for error in [tile(raw.bytes(), key(0, 0).tile).unwrap_err(), walk(raw.bytes()).unwrap_err()] {
        assert!(matches!(error, LoadError::BadAtlas { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("damaged.pmtiles: found ") && text.contains(expected), "{text}");
    }
}

#[test]
fn an_archive_by_hand_is_read() {
    let (first, data) = (id(key(0, 0).tile), atlas(0, "by hand"));
    let raw = Raw { root: vec![(first, 1, data.len() as u64, 0)], data: data.clone(), ..Raw::default() };
    assert_eq!(tile(raw.bytes(), key(0, 0).tile), Ok(Some(data)));
    assert_eq!(tile(raw.bytes(), key(1, 0).tile), Ok(None));
    assert_eq!(tile(Raw::default().bytes(), key(0, 0).tile), Ok(None));
}

#[test]
fn an_entry_without_length_is_an_empty_region() {
    let (first, second) = (id(key(0, 0).tile), id(key(1, 0).tile));
    let data = atlas(1, "full");
    let mut root = vec![(first, 1, 0, 7), (second, 1, data.len() as u64, 0)];
    root.sort_unstable();
    let raw = Raw { root, data: data.clone(), ..Raw::default() };
    assert_eq!(tile(raw.bytes(), key(0, 0).tile), Ok(None));
    assert_eq!(tile(raw.bytes(), key(1, 0).tile), Ok(Some(data)));
    assert_eq!(walk(raw.bytes()).unwrap().len(), 2);
}

#[test]
fn directories_that_lie_are_named() {
    let first = id(key(0, 0).tile);
    let root = |entry| Raw { root: vec![entry], data: vec![7; 10], ..Raw::default() };
    lie(&root((first, 1, 11, 0)), "a tile of 11 bytes at 0, which lies outside");
    lie(&root((first, 1, 4, u64::MAX / 2)), "which lies outside");
    lie(&root((first, 1, u64::from(u32::MAX), 0)), "a tile of 4294967295 bytes, expected at most 1000");
    lie(&root((first, 0, 10, 0)), "a directory of 10 bytes at 0, which lies outside");
    lie(&root((first, 0, u64::from(u32::MAX), 0)), "a directory of 4294967295 bytes, expected at most");

    // A leaf directory that lists itself, also under the next tile ids.
    let own = |tile_id: u64, n_bytes: u64| directory(&[(tile_id, 0, n_bytes, 0)]);
    let n_bytes = own(first, 9).len() as u64;
    let turning = Raw { root: vec![(first, 0, n_bytes, 0)], leaves: own(first, n_bytes), ..Raw::default() };
    lie(&turning, "below more than 4 directories");
    let garbage = Raw { root: vec![(first, 0, 9, 0)], leaves: vec![0xFF; 9], ..Raw::default() };
    lie(&garbage, "directory");
}

#[test]
fn a_walk_over_lies_ends() {
    let leaf = directory(&[(5, 1, 1, 0), (6, 1, 1, 0)]);
    let length = leaf.len() as u64;
    let check = |root: Vec<(u64, u64, u64, u64)>, leaves: Vec<u8>, expected: &str| {
        let error = walk(Raw { root, leaves, data: vec![1], ..Raw::default() }.bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    // The same leaf a thousand times, and a thousand leaves of nothing.
    check((5..1_005).map(|tile_id| (tile_id, 0, length, 0)).collect(), leaf.clone(), "do not ascend");
    check((5..1_005).map(|tile_id| (tile_id, 0, 1, 0)).collect(), vec![0], "does not begin where it is listed");
    check(vec![(4, 0, length, 0), (6, 1, 1, 0)], leaf.clone(), "do not ascend");
    check(vec![(6, 0, length, 0)], leaf, "does not begin where it is listed");
}

#[test]
fn a_walk_finds_every_tile_once_and_in_order() {
    let runs = walk(city(N_MANY, "a", "{}")).unwrap();
    let tiles: Vec<TileCoord> = runs.iter().flat_map(|(run, _)| run.tiles()).collect();
    assert_eq!(tiles.len(), N_MANY as usize);
    assert!(tiles.is_sorted_by_key(|&tile| id(tile)));
    assert!(runs.iter().all(|(run, content)| content.as_ref().unwrap().len() == run.size_bytes() as usize));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Flipped bytes, mostly in the header and the directory, and a cut.
    #[test]
    fn damage_is_an_error_or_another_tile_and_never_a_panic(
        flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..6),
        far_flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = city(20, "a", "{}");
        for (at, flip) in flips {
            bytes[at] ^= flip;
        }
        for (at, flip) in far_flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let named = |error: LoadError| assert!(error.to_string().starts_with(NAME), "{error}");
        for x in 0..21 {
            let _ = tile(bytes.clone(), key(x, 0).tile).map_err(named);
        }
        let _ = walk(bytes.clone()).map_err(named);
        let document = block_on(Archive::memory(NAME, bytes, &config()).document());
        prop_assert!(document.is_ok() || document.unwrap_err().to_string().contains(NAME));
    }

    /// What is not packed reaches the parser of directories, whatever it is.
    #[test]
    fn any_directory_is_read_or_refused(
        root in proptest::collection::vec(any::<u8>(), 1..80),
        leaves in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let empty = Raw { leaves, data: vec![1; 50], ..Raw::default() }.bytes();
        // The root of the empty one is a single byte, at 127: it is replaced, and what follows moves on.
        let mut bytes = [&empty[..127], &root, &empty[128..]].concat();
        bytes[16..24].copy_from_slice(&(root.len() as u64).to_le_bytes());
        for at in [24, 40, 56] {
            let offset = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) + root.len() as u64 - 1;
            bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        }
        let _ = tile(bytes.clone(), key(0, 0).tile);
        let _ = walk(bytes);
    }
}
