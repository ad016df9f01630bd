use std::io::Write as _;

use proptest::prelude::*;

use super::super::collected::Collected;
use super::super::{CoverKind, FeatureId, Problem};
use super::*;

/// Writes the protobuf that the format needs.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, number: u64, value: u64) -> Self {
        push_varint(&mut self.0, number << 3);
        push_varint(&mut self.0, value);
        self
    }

    fn bytes(mut self, number: u64, bytes: &[u8]) -> Self {
        push_varint(&mut self.0, number << 3 | 2);
        push_varint(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn packed(self, number: u64, values: impl IntoIterator<Item = u64>) -> Self {
        let mut bytes = Vec::new();
        values.into_iter().for_each(|value| push_varint(&mut bytes, value));
        self.bytes(number, &bytes)
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn steps(numbers: &[i64]) -> Vec<u64> {
    let mut before = 0;
    numbers.iter().map(|&number| zigzag(number - std::mem::replace(&mut before, number))).collect()
}

/// Tags to write.
type TestTags = Vec<(&'static str, &'static str)>;

/// A city to write: nodes with units of 1e-7 degrees, ways, relations.
#[derive(Default)]
struct City {
    nodes: Vec<(i64, [i64; 2])>,
    ways: Vec<(i64, Vec<i64>, TestTags)>,
    relations: Vec<(i64, Vec<i64>, TestTags)>,
}

impl City {
    /// Adds the corners of a square and yields its ring.
    fn square(&mut self, first: i64, lon: f64, lat: f64, side: f64) -> Vec<i64> {
        let unit = |degrees: f64| (degrees * 1e7).round() as i64;
        for (nth, [dx, dy]) in (0..).zip([[0.0, 0.0], [side, 0.0], [side, side], [0.0, side]]) {
            self.nodes.push((first + nth, [unit(lon + dx), unit(lat + dy)]));
        }
        vec![first, first + 1, first + 2, first + 3, first]
    }

    fn pbf(&self, is_dense: bool, is_packed: bool) -> Vec<u8> {
        let mut texts = vec![""];
        let mut text = |text: &'static str| {
            let at = texts.iter().position(|other| *other == text).unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            at as u64
        };
        let mut nodes = Message::default();
        if is_dense {
            let ids: Vec<_> = self.nodes.iter().map(|node| node.0).collect();
            let of = |axis: usize| self.nodes.iter().map(|node| node.1[axis]).collect::<Vec<_>>();
            let dense = Message::default().packed(1, steps(&ids)).packed(8, steps(&of(1))).packed(9, steps(&of(0)));
            nodes = nodes.bytes(2, &dense.0);
        } else {
            for &(id, [lon, lat]) in &self.nodes {
                let node = Message::default().varint(1, zigzag(id)).varint(8, zigzag(lat)).varint(9, zigzag(lon));
                nodes = nodes.bytes(1, &node.0);
            }
        }
        let mut tagged = |id: i64, tags: &[(&'static str, &'static str)]| {
            let keys: Vec<_> = tags.iter().map(|tag| text(tag.0)).collect();
            let values: Vec<_> = tags.iter().map(|tag| text(tag.1)).collect();
            Message::default().varint(1, id as u64).packed(2, keys).packed(3, values)
        };
        let (mut ways, mut relations) = (Message::default(), Message::default());
        for (id, refs, tags) in &self.ways {
            ways = ways.bytes(3, &tagged(*id, tags).packed(8, steps(refs)).0);
        }
        for (id, members, tags) in &self.relations {
            let kinds = members.iter().map(|_| 1);
            relations = relations.bytes(4, &tagged(*id, tags).packed(9, steps(members)).packed(10, kinds).0);
        }
        let table = texts.iter().fold(Message::default(), |table, text| table.bytes(1, text.as_bytes()));
        let block = Message::default().bytes(1, &table.0).bytes(2, &nodes.0).bytes(2, &ways.0).bytes(2, &relations.0);
        let mut file = blob("OSMHeader", &Message::default().bytes(4, b"OsmSchema-V0.6").0, is_packed);
        file.extend(blob("OSMData", &block.0, is_packed));
        file
    }
}

fn blob(kind: &str, content: &[u8], is_packed: bool) -> Vec<u8> {
    let blob = if is_packed {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(content).unwrap();
        Message::default().varint(2, content.len() as u64).bytes(3, &packer.finish().unwrap())
    } else {
        Message::default().bytes(1, content)
    };
    let header = Message::default().bytes(1, kind.as_bytes()).varint(3, blob.0.len() as u64);
    let mut bytes = (header.0.len() as u32).to_be_bytes().to_vec();
    bytes.extend(header.0);
    bytes.extend(blob.0);
    bytes
}

fn open(bytes: &[u8]) -> (tempfile::TempDir, OsmPbf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.osm.pbf");
    std::fs::write(&path, bytes).unwrap();
    let stream = OsmPbf::open(&path, ReadOptions::default()).unwrap();
    (folder, stream)
}

fn read(bytes: &[u8]) -> Result<Collected, InputError> {
    let (_folder, stream) = open(bytes);
    Collected::of(&stream)
}

/// A building with a tag of its height, a park with a hole, a street.
fn city() -> City {
    let mut city = City::default();
    let house = city.square(1, 139.0, 35.0, 0.001);
    city.ways.push((10, house, vec![("building", "yes"), ("height", "12 m"), ("building:colour", "#102030")]));
    let outer = city.square(21, 139.01, 35.0, 0.004);
    let inner = city.square(31, 139.011, 35.001, 0.001);
    let [first, second] = [outer[..3].to_vec(), vec![outer[0], outer[3], outer[2]]];
    city.ways.extend([(20, first, vec![]), (21, second, vec![]), (22, inner, vec![])]);
    city.relations.push((5, vec![20, 21, 22], vec![("type", "multipolygon"), ("leisure", "park")]));
    city.ways.push((40, vec![1, 21], vec![("highway", "residential")]));
    city.ways.push((41, vec![1, 21], vec![("name", "nothing to see")]));
    city
}

#[test]
fn ways_and_multipolygons_become_buildings_ground_and_streets() {
    for (is_dense, is_packed) in [(true, true), (false, false)] {
        let bytes = city().pbf(is_dense, is_packed);
        let collected = read(&bytes).unwrap();
        let [house] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
        assert_eq!((house.height.metres, house.wall), (12.0, Some([16, 32, 48])));
        assert_eq!((house.named.name.as_str(), house.named.id), ("way/10", FeatureId::of_text("way/10")));
        let covers = collected.covers();
        let kinds: Vec<_> = covers.iter().map(|cover| cover.kind).collect();
        assert_eq!(kinds, [CoverKind::Road, CoverKind::Green]);
        assert_eq!(covers[1].polygons[0].iter().map(Vec::len).collect::<Vec<_>>(), [4, 4], "a ring and a hole");
        assert_eq!(collected.bytes, bytes.len() as u64);
        assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    }
}

#[test]
fn places_are_exact() {
    let collected = read(&city().pbf(true, true)).unwrap();
    let expected = LonLat::new(139.0, 35.0).unwrap().to_world();
    let found = collected.prisms()[0].polygons[0][0][0];
    assert!((found[0] - expected[0]).abs() < 1e-6 && (found[1] - expected[1]).abs() < 1e-6);
}

#[test]
fn parts_replace_the_outline_of_their_building() {
    let mut city = city();
    let part = city.square(51, 139.0002, 35.0002, 0.0003);
    city.ways.push((50, part, vec![("building:part", "yes"), ("height", "30"), ("min_height", "10")]));
    let collected = read(&city.pbf(true, true)).unwrap();
    let [part] = collected.prisms()[..] else { panic!("{:?}", collected.items) };
    assert_eq!((part.named.name.as_str(), part.height.metres, part.min_height_m), ("way/50", 30.0, 10.0));
}

#[test]
fn a_way_that_repeats_its_multipolygon_does_not_close_the_holes() {
    let mut city = City::default();
    let outer = city.square(1, 139.0, 35.0, 0.004);
    let inner = city.square(11, 139.001, 35.001, 0.001);
    city.ways.extend([(1, outer, vec![("building", "yes")]), (2, inner, vec![])]);
    city.relations.push((3, vec![1, 2], vec![("type", "multipolygon"), ("building", "yes")]));
    let collected = read(&city.pbf(true, true)).unwrap();
    assert_eq!(collected.prisms().len(), 1);
    assert_eq!(collected.prisms()[0].polygons[0].len(), 2);
}

#[test]
fn what_is_missing_is_told() {
    let mut city = city();
    city.nodes.retain(|node| node.0 != 2);
    city.ways.retain(|way| way.0 != 21);
    let collected = read(&city.pbf(true, true)).unwrap();
    let faults = collected.problems.iter().map(|(name, problem)| (name.as_str(), *problem)).collect::<Vec<_>>();
    assert!(faults.contains(&("way/10", Problem::DanglingReference)), "{faults:?}");
    assert!(faults.contains(&("relation/5", Problem::DanglingReference)), "{faults:?}");
    assert!(faults.contains(&("relation/5", Problem::OpenRing)), "{faults:?}");
    assert_eq!(collected.prisms()[0].polygons[0][0].len(), 3);
}

#[test]
fn only_what_is_wanted_is_poured_and_as_it_is_in_the_whole() {
    let (_folder, stream) = open(&city().pbf(true, true));
    let all = Collected::of(&stream).unwrap();
    let [west, south] = LonLat::new(139.0095, 34.9999).unwrap().to_world();
    let [east, north] = LonLat::new(139.0105, 35.0005).unwrap().to_world();
    let some = Collected::of_wanted(&stream, &Wanted { boxes: vec![[west, north, east, south]] }).unwrap();
    assert!(some.prisms().is_empty());
    assert_eq!(some.covers().len(), 2, "the park comes whole");
    assert!(some.items.iter().all(|item| all.items.contains(item)));
    let extent = stream.extent().unwrap().unwrap();
    assert!(extent[0] < west && extent[2] > east);
}

#[test]
fn files_that_are_none_say_so() {
    let fails = |bytes: &[u8], expected: &str| {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains("city.osm.pbf") && error.contains(expected), "{error}");
    };
    fails(b"<?xml version", "no OSM PBF");
    fails(&[0, 0, 0, 9, 1], "cut off");
    let good = city().pbf(true, true);
    fails(&good[..good.len() - 3], "cut off");
    let lz4 = blob("OSMData", &[], false);
    let header = &lz4[..lz4.len() - 2];
    fails(&[header, &[6 << 3 | 2, 0]].concat(), "expected deflate");
    assert!(read(b"").unwrap().items.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_damage_panics(at in 0..2000usize, with in any::<[u8; 3]>()) {
        let mut bytes = city().pbf(true, false);
        let at = at % (bytes.len() - 3);
        bytes[at..at + 3].copy_from_slice(&with);
        let _ = read(&bytes);
    }
}
