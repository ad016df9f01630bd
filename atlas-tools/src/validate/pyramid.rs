//! Whether the coarser zooms of a tileset are those of the finer ones.

use std::collections::{BTreeMap, BTreeSet};

use voxatlas::atlas::{FileMark, Lineage, Tileset};
use voxatlas::geo::RegionKey;
use voxatlas::limits::ZOOM_FULL;
use voxatlas::voxel::PYRAMID_RULES;

use crate::outcome::Finding;
use crate::tileset_files;

/// What a finding ends with that a run of the command mends.
const REMEDY: &str = "run `atlas-tools pyramid`";

/// The regions of a tileset, and what their files say.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    /// All that are listed or have a file.
    pub(super) keys: BTreeSet<RegionKey>,
    marks: BTreeMap<RegionKey, FileMark>,
    lineages: BTreeMap<RegionKey, Lineage>,
}

impl Pyramid {
    /// Takes in what the file of a region says.
    pub(super) fn add(&mut self, key: RegionKey, mark: Option<FileMark>, lineage: Option<Lineage>) {
        self.keys.insert(key);
        self.marks.extend(mark.map(|mark| (key, mark)));
        self.lineages.extend(lineage.map(|lineage| (key, lineage)));
    }

    /// What is wrong, by region.
    pub(super) fn findings(&self, tileset: &Tileset) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |key: RegionKey, finding: String| {
            let file = tileset.path_of(key).unwrap_or_else(|| tileset_files::file_name(key));
            findings.push(Finding { file, finding });
        };
        let zooms = tileset.minzoom..ZOOM_FULL;
        let mut without_parent = BTreeMap::<RegionKey, usize>::new();
        for key in &self.keys {
            if zooms.contains(&key.tile.zoom()) && self.children(*key).next().is_none() {
                let zoom = key.tile.zoom() + 1;
                add(*key, format!("covers nothing: there is no region of zoom {zoom} in it; {REMEDY}"));
            }
            let parent = key.parent().filter(|parent| zooms.contains(&parent.tile.zoom()));
            if let Some(parent) = parent.filter(|parent| !self.keys.contains(parent)) {
                *without_parent.entry(parent).or_default() += 1;
            }
        }
        for (parent, n) in without_parent {
            let zoom = parent.tile.zoom() + 1;
            add(parent, format!("missing, though there are regions of zoom {zoom} in it, {n} of them; {REMEDY}"));
        }
        for (key, lineage) in &self.lineages {
            if let Some(finding) = self.out_of_date(*key, lineage) {
                add(*key, format!("{finding}; {REMEDY}"));
            }
        }
        findings
    }

    fn children(&self, key: RegionKey) -> impl Iterator<Item = RegionKey> {
        key.children().into_iter().flatten().filter(|child| self.keys.contains(child))
    }

    /// Why a coarse file is not what would be made of its children now.
    fn out_of_date(&self, key: RegionKey, lineage: &Lineage) -> Option<String> {
        if lineage.rules != PYRAMID_RULES {
            return Some(format!("was made by rules {}: these are rules {PYRAMID_RULES}", lineage.rules));
        }
        key.children().into_iter().flatten().find_map(|child| {
            match (self.marks.get(&child), lineage.children[child.octant()]) {
                (Some(now), Some(then)) => (*now != then).then(|| format!("is out of date: {child} has changed since")),
                (Some(_), None) => Some(format!("was made without {child}")),
                (None, Some(_)) => Some(format!("was made of {child}, which is not there any more")),
                (None, None) => None,
            }
        })
    }
}
