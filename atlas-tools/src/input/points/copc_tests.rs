//! COPC files that the tests write: chunks of an octree, the table of chunks, and pages of a hierarchy.

use std::path::Path;

use laz::{LasZipCompressor, LazVlrBuilder};
use voxatlas::geo::WORLD_VOXELS;

use super::super::tests::{Kept, given, read};
use super::*;
use crate::input::{CloudPoint, Problem, Wanted};

/// The middle of the octree, in JGD2011 zone VIII, and half of its edge, in metres.
const MIDDLE: [f64; 3] = [42_000.0, -106_000.0, 100.0];
const HALF: f64 = 512.0;

/// Bytes of a record of format 6.
const RECORD_BYTES: usize = 30;

/// Where the entries of the root page begin to differ from those of the page further down.
type Key = [i32; 4];

/// An entry of the hierarchy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    key: Key,
    offset: u64,
    n_bytes: i32,
    n_points: i32,
}

/// A file, and where its parts lie.
struct Copc {
    bytes: Vec<u8>,
    /// The root page, then the one further down; each with where it lies.
    pages: [(u64, Vec<Entry>); 2],
}

/// The keys of the octree: the root, the four columns of its lower half, and one quarter of a quarter.
const KEYS: [Key; 6] = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0], [2, 3, 3, 1]];

/// The points of a node, in millimetres: a lattice within its cube.
fn points_of([level, x, y, z]: Key) -> Vec<[i32; 3]> {
    let edge = 2.0 * HALF / f64::from(1 << level);
    let low = |axis: usize, nth: i32| MIDDLE[axis] - HALF + f64::from(nth) * edge;
    let [west, south, floor] = [low(0, x), low(1, y), low(2, z)];
    let n = 12 + level;
    let step = edge / f64::from(n);
    let millimetres = |metres: f64| (metres * 1000.0).round() as i32;
    (0..n * n)
        .map(|nth| {
            let [column, row] = [f64::from(nth % n), f64::from(nth / n)];
            [
                millimetres(west + (column + 0.25) * step),
                millimetres(south + (row + 0.75) * step),
                millimetres(floor + edge / 2.0) + nth,
            ]
        })
        .collect()
}

fn record([x, y, z]: [i32; 3]) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..4].copy_from_slice(&x.to_le_bytes());
    record[4..8].copy_from_slice(&y.to_le_bytes());
    record[8..12].copy_from_slice(&z.to_le_bytes());
    record[12] = (x % 200) as u8;
    // The first return of one; unclassified.
    record[14] = 0x11;
    record[16] = 1;
    record[22..].copy_from_slice(&f64::from(y).to_le_bytes());
    record
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn vlr(user: &str, id: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 54];
    put(&mut bytes, 2, user.as_bytes());
    put(&mut bytes, 18, &id.to_le_bytes());
    put(&mut bytes, 20, &(data.len() as u16).to_le_bytes());
    bytes.extend(data);
    bytes
}

impl Copc {
    fn new() -> Self {
        let packing = LazVlrBuilder::default().with_point_format(6, 0).unwrap().with_variable_chunk_size().build();
        let mut how = Vec::new();
        packing.write_to(&mut how).unwrap();
        let mut bytes = vec![0; 375];
        bytes.extend(vlr("copc", 1, &[0; 160]));
        bytes.extend(vlr("laszip encoded", 22_204, &how));
        let points_at = bytes.len();

        let mut file = Cursor::new(bytes);
        file.set_position(points_at as u64);
        let mut packer = LasZipCompressor::new(file, packing).unwrap();
        let mut entries = Vec::new();
        for key in KEYS {
            let points = points_of(key);
            // The first chunk lies behind the offset of the table.
            let offset = packer.get().position().max(points_at as u64 + 8);
            packer.compress_many(&points.iter().copied().flat_map(record).collect::<Vec<u8>>()).unwrap();
            packer.finish_current_chunk().unwrap();
            let n_bytes = (packer.get().position() - offset) as i32;
            entries.push(Entry { key, offset, n_bytes, n_points: points.len() as i32 });
        }
        packer.done().unwrap();
        let mut bytes = packer.into_inner().into_inner();

        let evlr_at = bytes.len() as u64;
        let root_at = evlr_at + 60;
        let further = entries.split_off(5);
        let further_at = root_at + ENTRY_BYTES * 6;
        entries.push(Entry { key: [2, 3, 3, 1], offset: further_at, n_bytes: ENTRY_BYTES as i32, n_points: -1 });
        bytes.resize(bytes.len() + 60 + 7 * ENTRY_BYTES as usize, 0);
        let at = evlr_at as usize;
        put(&mut bytes, at + 2, b"copc");
        put(&mut bytes, at + 18, &1000_u16.to_le_bytes());
        put(&mut bytes, at + 20, &(7 * ENTRY_BYTES).to_le_bytes());

        let mut copc = Self { bytes, pages: [(root_at, entries), (further_at, further)] };
        copc.put_head(points_at as u32, evlr_at);
        copc.put_info(root_at, 6 * ENTRY_BYTES);
        copc.put_pages();
        copc
    }

    fn put_head(&mut self, points_at: u32, evlr_at: u64) {
        let all: Vec<[i32; 3]> = KEYS.into_iter().flat_map(points_of).collect();
        let bytes = &mut self.bytes;
        put(bytes, 0, b"LASF");
        put(bytes, 24, &[1, 4]);
        put(bytes, 94, &375_u16.to_le_bytes());
        put(bytes, 96, &points_at.to_le_bytes());
        put(bytes, 100, &2_u32.to_le_bytes());
        put(bytes, 104, &[6 | 0x80]);
        put(bytes, 105, &(RECORD_BYTES as u16).to_le_bytes());
        for axis in 0..3 {
            put(bytes, 131 + 8 * axis, &0.001_f64.to_le_bytes());
            let values = || all.iter().map(|point| f64::from(point[axis]) / 1000.0);
            put(bytes, 179 + 16 * axis, &values().fold(f64::MIN, f64::max).to_le_bytes());
            put(bytes, 187 + 16 * axis, &values().fold(f64::MAX, f64::min).to_le_bytes());
        }
        put(bytes, 235, &evlr_at.to_le_bytes());
        put(bytes, 243, &1_u32.to_le_bytes());
        put(bytes, 247, &(all.len() as u64).to_le_bytes());
        put(bytes, 255, &(all.len() as u64).to_le_bytes());
    }

    fn put_info(&mut self, root_at: u64, root_bytes: u64) {
        let at = 375 + 54;
        for (nth, number) in [MIDDLE[0], MIDDLE[1], MIDDLE[2], HALF, 80.0].into_iter().enumerate() {
            put(&mut self.bytes, at + 8 * nth, &number.to_le_bytes());
        }
        put(&mut self.bytes, at + 40, &root_at.to_le_bytes());
        put(&mut self.bytes, at + 48, &root_bytes.to_le_bytes());
    }

    fn put_pages(&mut self) {
        for (page_at, entries) in &self.pages {
            for (nth, entry) in entries.iter().enumerate() {
                let at = *page_at as usize + nth * ENTRY_BYTES as usize;
                for (axis, number) in entry.key.into_iter().enumerate() {
                    put(&mut self.bytes, at + 4 * axis, &number.to_le_bytes());
                }
                put(&mut self.bytes, at + 16, &entry.offset.to_le_bytes());
                put(&mut self.bytes, at + 24, &entry.n_bytes.to_le_bytes());
                put(&mut self.bytes, at + 28, &entry.n_points.to_le_bytes());
            }
        }
    }

    fn read(&self, folder: &Path, wanted: &Wanted) -> Result<Kept, String> {
        let path = folder.join("city.copc.laz");
        std::fs::write(&path, &self.bytes).unwrap();
        read(&path, &given("EPSG:6676"), wanted)
    }

    /// Spoils the chunk of a node.
    fn damage(&mut self, key: Key) {
        // The entry of a page further down bears the key of a node of it.
        let is_of = |entry: &&Entry| entry.key == key && entry.n_points > 0;
        let entry = *self.pages.iter().flat_map(|(_, entries)| entries).find(is_of).unwrap();
        let chunk = entry.offset as usize..entry.offset as usize + entry.n_bytes as usize;
        self.bytes[chunk].fill(0xA5);
    }
}

/// The box of a part of the octree's plane: from one share of its edge to another, west to east and south to north.
fn part([x0, x1]: [f64; 2], [y0, y1]: [f64; 2]) -> Wanted {
    let placer = given("EPSG:6676").placer(crate::crs::AxisRule::Traditional, None, None).unwrap();
    let at = |x: f64, y: f64| {
        let corner = [x, y].map(|share| (share * 2.0 - 1.0) * HALF);
        placer.place([MIDDLE[0] + corner[0], MIDDLE[1] + corner[1], 0.0]).unwrap()
    };
    let (south_west, north_east) = (at(x0, y0), at(x1, y1));
    Wanted { boxes: vec![[south_west.x, north_east.z, north_east.x, south_west.z]] }
}

/// The points within what is wanted, in an order of their own.
fn within(kept: &Kept, wanted: &Wanted) -> Vec<[u64; 3]> {
    let is_within = |point: &&CloudPoint| wanted.meets([point.place.x, point.place.z, point.place.x, point.place.z]);
    let bits = |point: &CloudPoint| [point.place.x, point.place.z, point.place.height_m].map(f64::to_bits);
    let mut found: Vec<_> = kept.points.iter().filter(is_within).map(bits).collect();
    found.sort_unstable();
    found
}

#[test]
fn only_the_nodes_that_are_wanted_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let copc = Copc::new();
    let whole = copc.read(folder.path(), &Wanted::all()).unwrap();
    let n_points = |keys: &[Key]| keys.iter().map(|&key| points_of(key).len()).sum::<usize>();
    assert_eq!((whole.points.len(), whole.problems.len()), (n_points(&KEYS), 0));
    // What a part needs: the root, its quarter, and in the north-east what a page further down lists.
    let south_west = (part([0.05, 0.45], [0.05, 0.45]), vec![KEYS[0], KEYS[1]]);
    let east = (part([0.55, 0.7], [0.3, 0.6]), vec![KEYS[0], KEYS[2], KEYS[4]]);
    let corner = (part([0.8, 0.95], [0.8, 0.95]), vec![KEYS[0], KEYS[4], KEYS[5]]);
    for (wanted, keys) in [south_west, east, corner] {
        let mut damaged = Copc::new();
        KEYS.into_iter().filter(|key| !keys.contains(key)).for_each(|key| damaged.damage(key));
        let kept = damaged.read(folder.path(), &wanted).unwrap_or_else(|error| panic!("{keys:?}: {error}"));
        assert_eq!((kept.points.len(), kept.problems.len()), (n_points(&keys), 0), "{keys:?}");
        let expected = within(&whole, &wanted);
        assert!(!expected.is_empty() && expected.len() < kept.points.len());
        assert_eq!(within(&kept, &wanted), expected, "{keys:?}");
        assert!(damaged.read(folder.path(), &Wanted::all()).is_err(), "the others are damaged");
    }
    // Nothing of it.
    let far = Wanted { boxes: vec![[0.0, 0.0, 1.0, f64::from(WORLD_VOXELS)]] };
    assert_eq!(copc.read(folder.path(), &far).unwrap().points.len(), 0);
}

#[test]
fn a_damaged_node_is_an_error_where_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut copc = Copc::new();
    copc.damage(KEYS[1]);
    let error = copc.read(folder.path(), &part([0.1, 0.2], [0.1, 0.2])).err().unwrap();
    assert!(error.contains("no chunk of 169 packed points, as the octree has it"), "{error}");
}

#[test]
fn a_hierarchy_that_lies_is_told_and_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = part([0.1, 0.2], [0.1, 0.2]);
    let whole = within(&Copc::new().read(folder.path(), &wanted).unwrap(), &wanted);
    let check = |what: &str, lie: &dyn Fn(&mut Copc)| {
        let mut copc = Copc::new();
        lie(&mut copc);
        copc.put_pages();
        let kept = copc.read(folder.path(), &wanted).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(kept.problems, [("the octree".to_owned(), Problem::BadRecord)], "{what}");
        assert_eq!(within(&kept, &wanted), whole, "{what}");
    };
    let len = Copc::new().bytes.len() as u64;
    check("a negative size", &|copc| copc.pages[0].1[1].n_bytes = -1);
    check("a negative size of a page", &|copc| copc.pages[0].1[5].n_bytes = i32::MIN);
    check("a count below -1", &|copc| copc.pages[0].1[1].n_points = -2);
    check("more points than there are", &|copc| copc.pages[0].1[1].n_points = i32::MAX);
    check("a chunk beyond the end", &|copc| copc.pages[0].1[1].offset = len);
    check("a chunk beyond counting", &|copc| copc.pages[0].1[1].offset = u64::MAX);
    check("a page beyond the end", &|copc| copc.pages[0].1[5].offset = len - 8);
    check("a level of 31", &|copc| copc.pages[0].1[1].key[0] = 31);
    check("a node listed twice", &|copc| copc.pages[0].1[2] = copc.pages[0].1[1]);
    check("a page within itself", &|copc| {
        copc.pages[0].1[5] = Entry { offset: copc.pages[0].0, n_bytes: 6 * 32, ..copc.pages[0].1[5] };
    });
    check("a page further down that leads back", &|copc| {
        copc.pages[1].1[0] = Entry { offset: copc.pages[0].0, n_bytes: 6 * 32, n_points: -1, ..copc.pages[1].1[0] };
    });
    check("a root beyond the end", &|copc| copc.put_info(len, 32));
    check("a root beyond counting", &|copc| copc.put_info(u64::MAX, u64::MAX));
}

#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let copc = Copc::new();
    let wanted = part([0.1, 0.9], [0.1, 0.9]);
    let heads = copc.pages.iter().flat_map(|(_, entries)| entries).map(|entry| entry.offset as usize + RECORD_BYTES);
    let heads = heads.flat_map(|head| head..(head + 44).min(copc.bytes.len()));
    for at in (0..copc.bytes.len()).step_by(37).chain(heads) {
        for with in [0xFF, 0x01] {
            let mut bytes = copc.bytes.clone();
            bytes[at] ^= with;
            let _ = Copc { bytes, pages: copc.pages.clone() }.read(folder.path(), &wanted);
        }
        let cut = Copc { bytes: copc.bytes[..at].to_vec(), pages: copc.pages.clone() };
        assert!(cut.read(folder.path(), &wanted).is_err(), "{at}");
    }
}
