//! One tile: from its neighbourhood to its files.

use voxatlas::atlas::{self, AtlasMetadata};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use crate::buildings::{Building, Neighbourhood};
use crate::columns::Columns;
use crate::input::SOURCE_EXTENT;
use crate::look::{Facts, Style};
use crate::output::{OutputDir, OutputError};
use crate::tileset_files::file_name;
use crate::voxelise::{BASE, N_LAYERS, Painted, Scene, TOP_MAX, Voxeliser};

/// What was made of a tile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TileReport {
    /// Its files.
    pub(super) files: Vec<FileReport>,
    /// Voxels above the highest layer.
    pub(super) clipped: u64,
    /// Whether a building stands on it.
    pub(super) has_buildings: bool,
}

/// A file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileReport {
    pub(super) key: RegionKey,
    pub(super) voxels: u64,
    pub(super) size_bytes: u64,
}

/// A source tile's neighbourhood and the looks of its buildings.
pub(super) struct City<'a> {
    source: TileCoord,
    neighbourhood: &'a Neighbourhood<'a>,
    /// By building; origins from the north-west corner of the source tile, in voxels.
    painted: Vec<Painted>,
}

/// Makes tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct TileMaker<'a> {
    pub(super) out: &'a OutputDir,
    pub(super) has_ground: bool,
    pub(super) credit: &'a str,
}

impl<'a> City<'a> {
    /// Decides the looks of a neighbourhood's buildings.
    pub(super) fn new(source: TileCoord, neighbourhood: &'a Neighbourhood<'a>) -> Self {
        let painted = neighbourhood.buildings.iter().map(|building| painted(source, building)).collect();
        Self { source, neighbourhood, painted }
    }
}

impl TileMaker<'_> {
    /// Makes a tile and writes its files.
    pub(super) fn make(&self, tile: TileCoord, city: &City<'_>) -> Result<TileReport, OutputError> {
        let mut columns = Columns::rasterise(tile, city.source, city.neighbourhood);
        let clipped = columns.clip(TOP_MAX);
        let step = ZOOM_FULL - city.source.zoom();
        let within = |child: u32, parent: u32| i64::from(child - (parent << step)) * i64::from(REGION_VOXELS);
        let corner = [within(tile.x(), city.source.x()), within(tile.y(), city.source.y())];
        let buildings: Vec<_> = city
            .painted
            .iter()
            .map(|painted| Painted { origin: [0, 1].map(|axis| painted.origin[axis] - corner[axis]), ..*painted })
            .collect();
        let voxel_m = tile.metres_per_voxel();
        let scene = Scene { columns: &columns, buildings: &buildings, voxel_m, has_ground: self.has_ground };
        let voxeliser = Voxeliser::new(scene);
        let mut report = TileReport { files: Vec::new(), clipped, has_buildings: columns.top_max() > 0 };
        for layer in 0..N_LAYERS {
            let key = RegionKey::new(tile, layer as i32);
            // What an earlier run left in a layer that is empty now would be shown.
            if layer >= voxeliser.n_layers() {
                self.out.remove(&file_name(key))?;
                continue;
            }
            let region = voxeliser.region(layer);
            let metadata = AtlasMetadata {
                key,
                base: BASE,
                voxel_size_m: voxel_m,
                // What is missing is missing at the top.
                clipped: if layer + 1 == voxeliser.n_layers() { clipped } else { 0 },
                credit: self.credit.to_owned(),
            };
            let bytes = atlas::encode(&region, &metadata);
            self.out.write(&file_name(key), &bytes)?;
            report.files.push(FileReport { key, voxels: region.occupancy.count(), size_bytes: bytes.len() as u64 });
        }
        Ok(report)
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
