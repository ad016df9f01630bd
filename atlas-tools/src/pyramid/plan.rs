//! Which regions a pyramid has.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use anyhow::{Context, bail};
use voxatlas::atlas::{Availability, Presence, Tileset};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::ZOOM_FULL;

use crate::output::{Output, OutputError};
use crate::{document, tileset_files};

/// The regions of a pyramid, zoom 17 included.
#[derive(Debug)]
pub(super) struct Plan {
    keys: BTreeSet<RegionKey>,
    /// The coarsest tiles below which regions are made here; `None`: all.
    roots: Option<BTreeSet<TileCoord>>,
}

impl Plan {
    /// The regions of zoom 17 that a tileset lists, or that lie in its place where it lists none, and all that cover
    /// them.
    pub(super) fn new(out: &Output, tileset: &Tileset, min_zoom: u8) -> anyhow::Result<Self> {
        let mut keys: BTreeSet<RegionKey> =
            document::regions(tileset).filter(|key| key.tile.zoom() == ZOOM_FULL).collect();
        let availability = Availability::of(tileset)?;
        for file in files(out)? {
            let key = tileset_files::key_of(&file).filter(|key| key.tile.zoom() == ZOOM_FULL);
            keys.extend(key.filter(|&key| {
                availability.presence(key) == Presence::Unknown && tileset.path_of(key).as_ref() == Some(&file)
            }));
        }
        if keys.is_empty() {
            bail!("{}: there is no region of zoom {ZOOM_FULL} to begin with", out.name());
        }
        for zoom in (min_zoom..ZOOM_FULL).rev() {
            let parents: Vec<_> =
                keys.iter().filter(|key| key.tile.zoom() == zoom + 1).filter_map(|key| key.parent()).collect();
            keys.extend(parents);
        }
        Ok(Self { keys, roots: None })
    }

    /// All regions.
    pub(super) fn keys(&self) -> &BTreeSet<RegionKey> {
        &self.keys
    }

    /// Leaves to make only what lies below a share of the coarsest tiles: each share is a forest of its own, so that
    /// shares are made in any order and none waits for another.
    pub(super) fn share(&mut self, shard: usize, n_shards: usize, min_zoom: u8) {
        let roots: BTreeSet<TileCoord> =
            self.keys.iter().map(|key| key.tile).filter(|tile| tile.zoom() == min_zoom).collect();
        let own = roots.iter().enumerate().filter(|(place, _)| place * n_shards / roots.len().max(1) == shard);
        self.roots = Some(own.map(|(_, root)| *root).collect());
    }

    /// Whether a region is made here.
    fn is_own(&self, key: &RegionKey) -> bool {
        let Some(roots) = &self.roots else { return true };
        std::iter::successors(Some(key.tile), |tile| tile.parent()).any(|tile| roots.contains(&tile))
    }

    /// The regions of a zoom that are made here.
    pub(super) fn zoom(&self, zoom: u8) -> impl Iterator<Item = RegionKey> + '_ {
        self.keys.iter().copied().filter(move |key| key.tile.zoom() == zoom && self.is_own(key))
    }

    /// Regions to make.
    pub(super) fn n_coarse(&self) -> usize {
        self.keys.iter().filter(|key| key.tile.zoom() < ZOOM_FULL && self.is_own(key)).count()
    }
}

/// The names of all files at a place.
pub(super) fn files(out: &Output) -> anyhow::Result<Vec<String>> {
    let listed = out.list().map_err(|OutputError { error, .. }| error);
    listed.with_context(|| format!("{}: cannot be listed", out.name()))
}

/// Refuses templates whose coarse files would lie elsewhere, or be no PNG.
pub(super) fn check_templates(tileset: &Tileset) -> anyhow::Result<()> {
    for template in tileset.voxatlas.iter().flat_map(|object| &object.layers).flat_map(|layer| &layer.tiles) {
        let is_inside = Path::new(template).components().all(|part| matches!(part, Component::Normal(_)));
        if template.contains("://") || !is_inside {
            bail!(
                "the template \"{template}\" names files outside of the tileset's folder: expected {{z}}/{{x}}/{{y}}.png"
            );
        }
        if !template.contains("{z}") {
            bail!(
                "the template \"{template}\" has no place for a zoom: expected one with {{z}}, such as {{z}}/{{x}}/{{y}}.png"
            );
        }
        if Path::new(template).extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("png")) {
            bail!(
                "the template \"{template}\" names no PNG files, which coarse regions are: expected {{z}}/{{x}}/{{y}}.png"
            );
        }
    }
    Ok(())
}
