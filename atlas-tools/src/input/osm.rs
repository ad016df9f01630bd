//! What `OpenStreetMap` knows of a place, whichever file it came in.
//!
//! Owns the joining: nodes into ways, ways into the rings of multipolygons, parts into the buildings that they replace.
//! Receives elements, pours footprints, ground and streets. It reads no format.

use std::collections::{BTreeMap, BTreeSet};

use super::attributes::{Attributes, text_of, value_of};
use super::footprint::{Flat, Footprints, Shape};
use super::osm_tags::{What, what};
use super::{FeatureId, InputError, Problem};

/// Degrees in a unit of a node's coordinates.
const UNIT_DEG: f64 = 1e-7;

/// Elements, in any order until they are poured.
#[derive(Debug, Default)]
pub(super) struct OsmData {
    /// Ids with longitude and latitude in units of 1e-7 degrees.
    pub(super) nodes: Vec<(i64, [i32; 2])>,
    pub(super) ways: Vec<Way>,
    pub(super) relations: Vec<Relation>,
}

/// A line, or the ring round an area.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Way {
    pub(super) id: i64,
    pub(super) tags: Attributes,
    pub(super) refs: Vec<i64>,
}

/// A multipolygon.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Relation {
    pub(super) id: i64,
    pub(super) tags: Attributes,
    /// The ids of its ways.
    pub(super) ways: Vec<i64>,
}

impl Way {
    /// Whether it ends where it begins, round something.
    pub(super) fn is_closed(&self) -> bool {
        self.refs.len() >= 4 && self.refs.first() == self.refs.last()
    }

    /// What it is.
    pub(super) fn what(&self) -> Option<What> {
        what(&self.tags, self.is_closed())
    }
}

impl Relation {
    /// What it is, where it is an area.
    pub(super) fn what(&self) -> Option<What> {
        let is_area = value_of(&self.tags, "type").is_some_and(|kind| text_of(kind) == "multipolygon");
        what(&self.tags, true).filter(|what| is_area && !matches!(what, What::Line(..)))
    }
}

/// Something with tags and a geometry, ready to be poured.
struct Thing<'a> {
    name: String,
    tags: &'a Attributes,
    what: What,
    geometry: Flat,
}

impl OsmData {
    /// Pours all that has a volume or a look: parts of buildings, then everything else, ways before relations, by their ids.
    pub(super) fn pour(mut self, footprints: &mut Footprints<'_>) -> Result<(), InputError> {
        self.nodes.sort_unstable();
        self.nodes.dedup_by_key(|node| node.0);
        // Of two copies of a way, the longer is the whole one, and either may have the tags.
        self.ways.sort_by_key(|way| (way.id, std::cmp::Reverse(way.refs.len())));
        self.ways.dedup_by(|copy, way| {
            let is_copy = copy.id == way.id;
            if is_copy && way.tags.is_empty() {
                std::mem::swap(&mut way.tags, &mut copy.tags);
            }
            is_copy
        });
        self.relations.sort_by_key(|relation| relation.id);
        self.relations.dedup_by_key(|relation| relation.id);
        let repeated = self.repeated_ways();
        let mut parts = Parts::default();
        for is_part in [true, false] {
            let is_now = |what: &What| matches!(what, What::Part) == is_part;
            for way in self.ways.iter().filter(|way| !repeated.contains(&way.id)) {
                let Some(what) = way.what().filter(is_now) else { continue };
                let thing = self.of_way(way, what, footprints);
                parts.pour(thing, footprints)?;
            }
            for relation in &self.relations {
                let Some(what) = relation.what().filter(is_now) else { continue };
                let thing = self.of_relation(relation, what, footprints);
                parts.pour(thing, footprints)?;
            }
            parts.sort();
        }
        Ok(())
    }

    /// Ways that say the same as the multipolygon that they bound: filled on their own, they would close its holes.
    fn repeated_ways(&self) -> BTreeSet<i64> {
        let mut repeated = BTreeSet::new();
        for relation in &self.relations {
            let Some(of_relation) = relation.what() else { continue };
            let is_same = |way: &&Way| way.what().is_some_and(|what| what.word() == of_relation.word());
            repeated.extend(relation.ways.iter().filter_map(|&id| self.way(id)).filter(is_same).map(|way| way.id));
        }
        repeated
    }

    fn way(&self, id: i64) -> Option<&Way> {
        self.ways.binary_search_by_key(&id, |way| way.id).ok().and_then(|at| self.ways.get(at))
    }

    fn of_way<'a>(&self, way: &'a Way, what: What, footprints: &mut Footprints<'_>) -> Thing<'a> {
        let name = format!("way/{}", way.id);
        let line = self.coordinates(&way.refs, &name, footprints);
        let mut geometry = Flat::default();
        if matches!(what, What::Line(..)) {
            geometry.lines.push(line);
        } else {
            geometry.polygons.push(vec![line]);
        }
        Thing { name, tags: &way.tags, what, geometry }
    }

    fn of_relation<'a>(&self, relation: &'a Relation, what: What, footprints: &mut Footprints<'_>) -> Thing<'a> {
        let name = format!("relation/{}", relation.id);
        let mut lines = Vec::new();
        for &id in &relation.ways {
            match self.way(id) {
                Some(way) => lines.push(way.refs.as_slice()),
                None => footprints.sink.problem(&name, Problem::DanglingReference),
            }
        }
        // Whether a ring is an outer or an inner one needs no telling: the even-odd rule finds it.
        let rings: Vec<_> = joined(&lines).iter().map(|ring| self.coordinates(ring, &name, footprints)).collect();
        let polygons = if rings.is_empty() { Vec::new() } else { vec![rings] };
        Thing { name, tags: &relation.tags, what, geometry: Flat { polygons, ..Flat::default() } }
    }

    /// The places of nodes; those that are missing are left out and told, once.
    fn coordinates(&self, refs: &[i64], name: &str, footprints: &mut Footprints<'_>) -> Vec<[f64; 3]> {
        let place = |id: &i64| {
            let at = self.nodes.binary_search_by_key(id, |node| node.0).ok()?;
            self.nodes.get(at).map(|(_, [lon, lat])| [f64::from(*lon) * UNIT_DEG, f64::from(*lat) * UNIT_DEG, 0.0])
        };
        let line: Vec<_> = refs.iter().filter_map(place).collect();
        if line.len() < refs.len() {
            footprints.sink.problem(name, Problem::DanglingReference);
        }
        line
    }
}

/// Lines joined at their ends into rings, in their order; what closes nowhere stays open.
fn joined(lines: &[&[i64]]) -> Vec<Vec<i64>> {
    let mut ends: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (nth, line) in lines.iter().enumerate() {
        for end in [line.first(), line.last()].into_iter().flatten() {
            ends.entry(*end).or_default().push(nth);
        }
    }
    let mut is_used = vec![false; lines.len()];
    let mut rings = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        if is_used[nth] || line.is_empty() {
            continue;
        }
        is_used[nth] = true;
        let mut ring = line.to_vec();
        while ring.first() != ring.last()
            && let Some(&end) = ring.last()
        {
            let next = ends.get(&end).and_then(|at| at.iter().copied().find(|&at| !is_used[at]));
            let Some(next) = next else { break };
            is_used[next] = true;
            let more = lines[next];
            if more.first() == Some(&end) {
                ring.extend(more.iter().skip(1));
            } else {
                ring.extend(more.iter().rev().skip(1));
            }
        }
        rings.push(ring);
    }
    rings
}

/// Where parts of buildings stand, as the middles of their corners, from the west to the east.
#[derive(Default)]
struct Parts {
    middles: Vec<[f64; 2]>,
}

impl Parts {
    fn sort(&mut self) {
        self.middles.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    }

    /// Pours a thing. A part is remembered, and the outline of a building that has parts is left out: they say what it
    /// looks like, with gaps below them that the outline would fill.
    fn pour(&mut self, thing: Thing<'_>, footprints: &mut Footprints<'_>) -> Result<(), InputError> {
        let Thing { name, tags, what, geometry } = thing;
        match what {
            What::Part => self.middles.extend(middle(&geometry)),
            What::Building if self.stand_in(&geometry) => return Ok(()),
            _ => (),
        }
        let id = FeatureId::of_text(&name);
        footprints.add(Shape { id, name, attributes: tags.clone(), geometry }, what)
    }

    /// Whether a part stands in a building.
    fn stand_in(&self, building: &Flat) -> bool {
        building.polygons.iter().any(|rings| {
            let xs = || rings.iter().flatten().map(|point| point[0]);
            let (west, east) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
            let first = self.middles.partition_point(|middle| middle[0] < west);
            self.middles.iter().skip(first).take_while(|middle| middle[0] <= east).any(|&middle| holds(rings, middle))
        })
    }
}

fn middle(geometry: &Flat) -> Option<[f64; 2]> {
    let ring = geometry.polygons.first()?.first()?;
    // The first point stands again at the end.
    let corners = ring.get(1..).filter(|corners| !corners.is_empty())?;
    let sum = corners.iter().fold([0.0, 0.0], |sum, corner| [sum[0] + corner[0], sum[1] + corner[1]]);
    Some(sum.map(|sum| sum / corners.len() as f64))
}

/// Whether a point lies in rings, by the even-odd rule.
fn holds(rings: &[Vec<[f64; 3]>], [x, y]: [f64; 2]) -> bool {
    let crossings = rings
        .iter()
        .flat_map(|ring| ring.windows(2))
        .filter(|pair| {
            let [[ax, ay, _], [bx, by, _]] = [pair[0], pair[1]];
            (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
        })
        .count();
    crossings % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_whichever_way_they_run() {
        assert_eq!(joined(&[&[1, 2, 3], &[5, 4, 3], &[5, 1]]), [vec![1, 2, 3, 4, 5, 1]]);
        assert_eq!(joined(&[&[1, 2, 3, 1], &[7, 8, 9, 7]]), [vec![1, 2, 3, 1], vec![7, 8, 9, 7]]);
        assert_eq!(joined(&[&[1, 2], &[3, 4]]), [vec![1, 2], vec![3, 4]], "open ones stay open");
        assert_eq!(joined(&[&[], &[1, 2], &[2, 1]]), [vec![1, 2, 1]]);
        assert!(joined(&[]).is_empty());
    }

    #[test]
    fn a_hole_is_outside() {
        let square = |from: f64, to: f64| {
            vec![[from, from, 0.0], [to, from, 0.0], [to, to, 0.0], [from, to, 0.0], [from, from, 0.0]]
        };
        let rings = [square(0.0, 9.0), square(3.0, 6.0)];
        assert!(holds(&rings, [1.0, 1.0]) && !holds(&rings, [4.0, 4.0]) && !holds(&rings, [10.0, 1.0]));
    }
}
