//! One tile: from its neighbourhood to its files.

use std::collections::BTreeSet;

use anyhow::bail;
use voxatlas::atlas::{self, AtlasMetadata, EncodeOptions, FeatureIds};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use super::ids::TileIds;
use super::record::{Counts, Edges, FileRecord, TileRecord, sha256};
use super::settings::{Overflow, Settings};
use super::sources::Sources;
use crate::attributes_file;
use crate::buildings::{Building, Neighbourhood};
use crate::columns::Columns;
use crate::footings::Footings;
use crate::ground::Ground;
use crate::input::{InputError, SOURCE_EXTENT};
use crate::look::{Facts, Style};
use crate::output::Output;
use crate::scatter::NO_FEATURE;
use crate::tileset_files::file_name;
use crate::voxelise::{BASE, LAYERS, Painted, Scene, Told, Voxeliser, layer_range};

/// A source tile's neighbourhood and the looks of its buildings.
pub(super) struct City<'a> {
    source: TileCoord,
    neighbourhood: &'a Neighbourhood<'a>,
    /// By building; origins from the north-west corner of the source tile, in voxels.
    painted: Vec<Painted>,
    /// By feature, block after block.
    told: Vec<Told>,
    footings: Footings,
}

/// Makes tiles.
#[derive(Clone, Copy)]
pub(super) struct TileMaker<'a> {
    pub(super) out: &'a Output,
    pub(super) settings: &'a Settings,
    pub(super) sources: &'a Sources,
    /// Regions of earlier runs that are in the output.
    pub(super) existing: &'a BTreeSet<RegionKey>,
}

impl<'a> City<'a> {
    /// Decides the looks of a neighbourhood's buildings, and where they stand.
    pub(super) fn new(
        source: TileCoord,
        neighbourhood: &'a Neighbourhood<'a>,
        ground: &Ground,
    ) -> Result<Self, InputError> {
        let painted = neighbourhood.buildings.iter().map(|building| painted(source, building)).collect();
        let footings = Footings::new(source, neighbourhood, ground)?;
        let features = neighbourhood.blocks.iter().flat_map(|neighbour| &neighbour.block.source.features);
        let told =
            features.map(|feature| Told { wall: feature.wall, roof: feature.roof, footing: footings.of(feature.id) });
        Ok(Self { source, neighbourhood, painted, told: told.collect(), footings })
    }

    /// The buildings as a tile of the source tile sees them.
    fn painted_from(&self, tile: TileCoord) -> Vec<Painted> {
        let step = ZOOM_FULL - self.source.zoom();
        let within = |child: u32, parent: u32| i64::from(child - (parent << step)) * i64::from(REGION_VOXELS);
        let corner = [within(tile.x(), self.source.x()), within(tile.y(), self.source.y())];
        let moved =
            |painted: &Painted| Painted { origin: [0, 1].map(|axis| painted.origin[axis] - corner[axis]), ..*painted };
        self.painted.iter().map(moved).collect()
    }
}

impl TileMaker<'_> {
    /// Makes a tile and writes its files. What the neighbourhood counts is not in the record: that is a matter of the
    /// source tile.
    pub(super) fn make(&self, tile: TileCoord, city: &City<'_>) -> anyhow::Result<TileRecord> {
        let ground = &self.sources.ground;
        let mut columns = Columns::rasterise(tile, city.source, city.neighbourhood, ground, &city.footings)?;
        let mut models = self.sources.models(tile)?;
        models.cover(&mut columns);
        let mut scatter = std::mem::take(&mut models.scatter);
        if self.sources.is_ground_guessed {
            for dot in scatter.dots().iter().filter(|dot| dot.feature != NO_FEATURE) {
                columns.uncover(i32::from(dot.x), i32::from(dot.z), dot.y);
            }
        }
        let range = match self.settings.overflow {
            Overflow::Stack => layer_range(LAYERS.start).start..layer_range(LAYERS.end - 1).end,
            Overflow::Clamp | Overflow::Error => layer_range(0),
        };
        let clipped = columns.clip(range.clone()) + scatter.clip(&range);
        if clipped > 0 && self.settings.overflow == Overflow::Error {
            bail!("{clipped} voxels lie outside of layer 0: --overflow stack puts them into other layers");
        }
        let (cover, ortho) = (self.sources.cover(tile)?, self.sources.ortho(tile)?);
        let buildings = city.painted_from(tile);
        let voxeliser = Voxeliser::new(Scene {
            columns: &columns,
            buildings: &buildings,
            features: &city.told,
            cover: &cover,
            ortho: &ortho,
            scatter: &scatter,
            voxel_m: tile.metres_per_voxel(),
            has_ground: self.sources.has_ground,
        });
        let is_empty = !columns.has_buildings() && scatter.y_range().is_none();
        let counts = Counts {
            voxels_clipped: clipped,
            tiles_empty: u64::from(is_empty),
            points: models.n_points,
            ..self.sources.counts(tile)
        };
        let mut ids = self.settings.with_ids.then(|| TileIds::new(city.neighbourhood, &models.features));
        let mut files = self.write_layers(tile, &voxeliser, clipped, &mut ids)?;
        files.extend(self.write_attributes(tile, ids)?);
        // What an earlier run left in a layer that is empty now would be shown.
        let left = RegionKey::new(tile, i32::MIN)..=RegionKey::new(tile, i32::MAX);
        for key in self.existing.range(left).filter(|key| files.iter().all(|file| file.layer != Some(key.layer))) {
            self.out.remove(&file_name(*key))?;
        }
        Ok(TileRecord {
            tile,
            files,
            counts,
            borders: Edges::of(&voxeliser, &scatter, 0),
            aprons: Edges::of(&voxeliser, &scatter, 1),
        })
    }

    fn write_layers(
        &self,
        tile: TileCoord,
        voxeliser: &Voxeliser<'_>,
        clipped: u64,
        ids: &mut Option<TileIds<'_>>,
    ) -> anyhow::Result<Vec<FileRecord>> {
        let mut files = Vec::new();
        for layer in voxeliser.layers() {
            let region = voxeliser.region(layer);
            let voxels = region.occupancy.count();
            if voxels == 0 {
                continue;
            }
            let key = RegionKey::new(tile, layer);
            let metadata = AtlasMetadata {
                key,
                base: BASE,
                voxel_size_m: tile.metres_per_voxel(),
                // What is missing is told where a reader looks first.
                clipped: if layer + 1 == voxeliser.layers().end { clipped } else { 0 },
                credit: self.settings.attribution.clone(),
            };
            let ids = ids.as_mut().map(|ids| {
                FeatureIds::of(&region.occupancy, |x, y, z| ids.number(voxeliser.feature(layer, [x, y, z])))
            });
            let options = EncodeOptions { ids: ids.as_ref(), ..EncodeOptions::default() };
            let bytes = atlas::encode_with(&region, &metadata, options);
            let name = file_name(key);
            self.out.write(&name, &bytes)?;
            files.push(FileRecord {
                name,
                layer: Some(layer),
                sha256: sha256(&bytes),
                bytes: bytes.len() as u64,
                voxels,
            });
        }
        Ok(files)
    }
}

impl TileMaker<'_> {
    /// Writes what the features of a tile are called; a tile without features has no such file.
    fn write_attributes(&self, tile: TileCoord, ids: Option<TileIds<'_>>) -> anyhow::Result<Option<FileRecord>> {
        let name = attributes_file::file_name(tile);
        let attributes = ids.map(TileIds::into_file).filter(|file| !file.features.is_empty());
        let Some(attributes) = attributes else {
            // What an earlier run said of it would be believed.
            self.out.remove(&name)?;
            return Ok(None);
        };
        let bytes = attributes.to_json(&name)?.into_bytes();
        self.out.write(&name, &bytes)?;
        Ok(Some(FileRecord { name, layer: None, sha256: sha256(&bytes), bytes: bytes.len() as u64, voxels: 0 }))
    }
}

/// A building's look and axes. Everything is taken from the building itself, its place in the world included, and not
/// from the tile from which it is seen.
fn painted(source: TileCoord, building: &Building) -> Painted {
    let voxel_units = (SOURCE_EXTENT >> (ZOOM_FULL - source.zoom())) / i64::from(REGION_VOXELS);
    let north = i64::from(source.y()) * SOURCE_EXTENT + building.bounds.low[1];
    let z = north as f64 / voxel_units as f64;
    let unit_m = voxatlas::geo::mercator::metres_per_voxel_at(z) / voxel_units as f64;
    let sides_m = |bounds: &crate::buildings::Bounds| bounds.size().map(|units| units as f64 * unit_m);
    let [width_m, depth_m] = sides_m(&building.bounds);
    let [upper_width_m, upper_depth_m] = sides_m(&building.upper_bounds);
    let facts = Facts {
        seed: building.key.mixed(),
        height_m: building.height_m,
        sides_m: [width_m.max(depth_m), width_m.min(depth_m)],
        upper_side_m: upper_width_m.max(upper_depth_m),
    };
    let angle_rad = building.angle_rad();
    Painted {
        style: Style::of(&facts),
        origin: building.bounds.low.map(|units| units.div_euclid(voxel_units)),
        axes: [libm::cos(angle_rad), libm::sin(angle_rad)],
    }
}
