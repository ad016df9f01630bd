//! `OpenStreetMap` in its binary form, `.osm.pbf`.
//!
//! Owns three passes over a file: relations, then ways, then the nodes that those need, so that only what will be poured
//! is held; where a part is wanted, a pass before them finds the nodes in it. Yields what [`super::osm`] makes of the
//! elements. Blocks that are packed in any way but deflate, which nobody writes, are an error.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use voxatlas::geo::LonLat;

use super::extent;
use super::footprint::Footprints;
use super::osm::{OsmData, Relation, Way};
use super::osm_blocks::{Blocks, Element};
use super::{InputError, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{AxisRule, CrsOptions, Placer};

/// An `.osm.pbf` file.
#[derive(Debug)]
pub struct OsmPbf {
    path: PathBuf,
    options: ReadOptions,
    placer: Placer,
}

impl OsmPbf {
    /// Names a file; nothing is read yet. Its CRS is always WGS 84, and its elements have ids of their own.
    ///
    /// # Errors
    ///
    /// The file is not there.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self, InputError> {
        std::fs::metadata(path).map_err(|error| InputError::Io { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), options, placer: placer(path)? })
    }

    /// Walks over all elements. Progress is told in bytes of the file, as this pass's part of `n_passes`.
    fn pass(
        &self,
        [pass, n_passes]: [u64; 2],
        sink: &mut dyn Sink,
        visit: &mut dyn FnMut(Element<'_>),
    ) -> Result<(), InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let malformed = |what: String| InputError::Malformed { path: self.path.clone(), what };
        let file = File::open(&self.path).map_err(io)?;
        let n_bytes = file.metadata().map_err(io)?.len();
        let mut blocks = Blocks::new(BufReader::with_capacity(1 << 16, file));
        while let Some(block) = blocks.next().map_err(malformed)? {
            let begin = block.begin;
            block.visit(visit).map_err(|error| malformed(format!("block at byte {begin}: {error}")))?;
            sink.progress((pass * n_bytes + blocks.position()) / n_passes);
        }
        Ok(())
    }

    /// The nodes that lie in what is wanted, by id; `None`: all.
    fn nodes_wanted(
        &self,
        wanted: &Wanted,
        n_passes: u64,
        sink: &mut dyn Sink,
    ) -> Result<Option<Vec<i64>>, InputError> {
        if wanted.boxes.is_empty() {
            return Ok(None);
        }
        let boxes: Vec<_> = wanted.boxes.iter().map(|&world_box| units_of(world_box)).collect();
        let mut ids = Vec::new();
        self.pass([0, n_passes], sink, &mut |element| {
            if let Element::Node { id, place: [lon, lat] } = element
                && boxes.iter().any(|&[west, south, east, north]| {
                    let is_beside =
                        if west <= east { (west..=east).contains(&lon) } else { lon >= west || lon <= east };
                    is_beside && (south..=north).contains(&lat)
                })
            {
                ids.push(id);
            }
        })?;
        ids.sort_unstable();
        Ok(Some(ids))
    }
}

impl Stream for OsmPbf {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// From a walk over the file: the box of its header is that of the extract, not of what is in it.
    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let n_passes = if wanted.boxes.is_empty() { 3 } else { 4 };
        let inside = self.nodes_wanted(wanted, n_passes, sink)?;
        let mut data = OsmData::default();
        self.pass([n_passes - 3, n_passes], sink, &mut |element| {
            if let Element::Relation { id, tags, ways } = element {
                let relation = Relation { id, tags: tags.attributes(), ways };
                data.relations.extend(relation.what().is_some().then_some(relation));
            }
        })?;
        let members: BTreeSet<i64> = data.relations.iter().flat_map(|relation| &relation.ways).copied().collect();
        let mut touching = BTreeSet::new();
        self.pass([n_passes - 2, n_passes], sink, &mut |element| {
            if let Element::Way { id, tags, refs } = element {
                let is_member = members.contains(&id);
                let is_inside =
                    inside.as_ref().is_none_or(|inside| refs.iter().any(|node| inside.binary_search(node).is_ok()));
                if is_member && is_inside {
                    touching.insert(id);
                }
                let way = Way { id, tags: tags.attributes(), refs };
                data.ways.extend((is_member || (is_inside && way.what().is_some())).then_some(way));
            }
        })?;
        if inside.is_some() {
            data.drop_outside(&touching);
        }
        let mut needed: Vec<i64> = data.ways.iter().flat_map(|way| &way.refs).copied().collect();
        needed.sort_unstable();
        needed.dedup();
        self.pass([n_passes - 1, n_passes], sink, &mut |element| {
            if let Element::Node { id, place } = element
                && needed.binary_search(&id).is_ok()
            {
                data.nodes.push((id, place));
            }
        })?;
        let mut footprints = Footprints::new(&self.path, &self.placer, &self.options, wanted, sink);
        data.pour(&mut footprints)?;
        footprints.finish()
    }
}

impl OsmData {
    /// Drops relations none of whose ways comes near what is wanted, and ways that were kept for those only.
    fn drop_outside(&mut self, touching: &BTreeSet<i64>) {
        self.relations.retain(|relation| relation.ways.iter().any(|way| touching.contains(way)));
        let members: BTreeSet<i64> = self.relations.iter().flat_map(|relation| &relation.ways).copied().collect();
        self.ways.retain(|way| members.contains(&way.id) || way.what().is_some());
    }
}

/// The placer of all that comes from `OpenStreetMap`: `--crs` is for other files of the run.
pub(super) fn placer(path: &Path) -> Result<Placer, InputError> {
    CrsOptions::default().placer(AxisRule::Traditional, None, Some("OGC:CRS84")).map_err(|error| error.in_file(path))
}

/// A box of the world in units of 1e-7 degrees: west, south, east, north. West of more than east goes round the globe.
fn units_of([west, north, east, south]: [f64; 4]) -> [i32; 4] {
    let [north_west, south_east] = [LonLat::from_world(west, north), LonLat::from_world(east, south)];
    // The casts saturate; 180 degrees are 1.8e9.
    let unit = |degrees: f64| (degrees * 1e7) as i32;
    let is_whole_world = east - west >= f64::from(voxatlas::geo::WORLD_VOXELS);
    let [west, east] = if is_whole_world { [-180.0, 180.0] } else { [north_west.lon_deg(), south_east.lon_deg()] };
    [unit(west) - 1, unit(south_east.lat_deg()) - 1, unit(east) + 1, unit(north_west.lat_deg()) + 1]
}

#[cfg(test)]
#[path = "osm_pbf_tests.rs"]
mod tests;
