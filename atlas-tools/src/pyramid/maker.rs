//! One region: from the files of its children to its own.

use std::collections::BTreeSet;
use std::io;

use anyhow::Context;
use voxatlas::atlas::{self, AtlasMetadata, Decoder, EncodeOptions, EncodedAtlas, FileMark, Lineage, Tileset, decode};
use voxatlas::geo::RegionKey;
use voxatlas::limits::ATLAS_FILE_BYTES_MAX;
use voxatlas::voxel::{PYRAMID_RULES, Region, down_sample};

use crate::output::{Output, OutputError};

/// Makes regions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maker<'a> {
    pub(super) out: &'a Output,
    /// The document, the coarse regions included.
    pub(super) tileset: &'a Tileset,
    /// The regions that there are, the coarse ones included.
    pub(super) keys: &'a BTreeSet<RegionKey>,
    /// Whether regions are made that are there already.
    pub(super) force: bool,
}

/// What became of a region.
#[derive(Debug)]
pub(super) struct Made {
    /// Whether its file was there already, and is as it was.
    pub(super) is_kept: bool,
    /// Size of its file.
    pub(super) size_bytes: u64,
    /// The children that could not be read, and why.
    pub(super) failures: Vec<String>,
}

impl Maker<'_> {
    /// Makes a region and writes its file, or keeps the one that is there.
    pub(super) fn make(&self, key: RegionKey) -> anyhow::Result<Made> {
        let path = self.path(key)?;
        let mut failures = Vec::new();
        let mut files: [Option<(String, EncodedAtlas)>; 8] = Default::default();
        let mut marks = [None; 8];
        for child in key.children().into_iter().flatten().filter(|child| self.keys.contains(child)) {
            let path = self.path(child)?;
            match self.read(&path) {
                Ok(file) => {
                    marks[child.octant()] = FileMark::of(&file);
                    files[child.octant()] = Some((path, EncodedAtlas::new(file)));
                }
                Err(error) => failures.push(format!("{path}: {error}")),
            }
        }
        let metadata = self.metadata(key);
        let existing = self.read(&path).ok();
        // A file without a mark is empty, and will be named below.
        let is_known = failures.is_empty() && (0..8).all(|octant| files[octant].is_some() == marks[octant].is_some());
        let is_same = |file: &Vec<u8>| {
            Lineage::of_file(file) == Some(Lineage { rules: PYRAMID_RULES, children: marks })
                && Decoder::new(file).is_ok_and(|decoder| decoder.metadata().as_ref() == Some(&metadata))
        };
        if let Some(file) = existing.as_ref().filter(|file| !self.force && is_known && is_same(file)) {
            return Ok(Made { is_kept: true, size_bytes: file.len() as u64, failures });
        }

        let mut children: [Option<Region>; 8] = Default::default();
        for (octant, file) in files.into_iter().enumerate() {
            let Some((path, file)) = file else { continue };
            match decode(&file) {
                Ok(region) => children[octant] = Some(region),
                Err(error) => {
                    failures.push(format!("{path}: {error}"));
                    // So that the next run tries it again.
                    marks[octant] = None;
                }
            }
        }
        let region = down_sample(children.each_ref().map(Option::as_ref));
        drop(children);
        let lineage = Some(Lineage { rules: PYRAMID_RULES, children: marks });
        let file = atlas::encode_with(&region, &metadata, EncodeOptions { lineage, ..EncodeOptions::default() });
        let is_kept = !self.force && existing.as_ref() == Some(&file);
        if !is_kept {
            self.out.write(&path, &file)?;
        }
        Ok(Made { is_kept, size_bytes: file.len() as u64, failures })
    }

    fn path(&self, key: RegionKey) -> anyhow::Result<String> {
        self.tileset.path_of(key).with_context(|| format!("tiles.json has no template for {key}"))
    }

    /// A file, of a huge one only enough to see that it is too large for an atlas.
    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let start = self.out.read_start(path, ATLAS_FILE_BYTES_MAX as u64 + 1);
        let file = start.map_err(|OutputError { error, .. }| error)?;
        file.ok_or_else(|| io::Error::other("missing, though tiles.json lists it"))
    }

    /// Nothing is left out of a coarse region that its children hold.
    fn metadata(&self, key: RegionKey) -> AtlasMetadata {
        AtlasMetadata {
            key,
            base: self.tileset.base(),
            voxel_size_m: key.tile.metres_per_voxel(),
            clipped: 0,
            credit: self.tileset.attribution.clone().unwrap_or_default(),
        }
    }
}
