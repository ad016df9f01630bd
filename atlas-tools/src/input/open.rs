//! How an input of any format is opened. Opening reads headers at most.

use std::collections::BTreeSet;
use std::path::Path;

use super::points::Las;
use super::{
    At, CityGml, CityJson, CityJsonSeq, FlatGeobuf, Format, GeoJson, GltfFile, Input, InputError, InputFile,
    LayerSelection, MvtArchive, MvtDir, NpyFile, NpyPlace, ObjFile, OsmPbf, Overpass, Shapefile, Stream, VoxFile,
};
use crate::encode::Settings;
use crate::terrain::fgd::FgdDem;
use crate::terrain::geotiff::{GeoTiffElevation, GeoTiffImagery};
use crate::terrain::tiles::{MapTiles, TerrainTiles};
use crate::terrain::{Elevation, Imagery};

/// Bytes of a raster that are kept in memory.
const RASTER_BYTES: u64 = 64 << 20;

/// The inputs of a run, by how they are read.
#[derive(Default)]
pub struct Opened {
    /// Asked for a source tile at a time, each with its place among the inputs.
    pub tiled: Vec<(usize, Box<dyn Input>)>,
    /// Read from their beginning to their end, each with its place among the inputs.
    pub streams: Vec<(usize, Box<dyn Stream>)>,
    /// Heights of the ground, the first on top.
    pub elevations: Vec<Box<dyn Elevation>>,
    /// Colours of the ground, the first on top.
    pub imagery: Vec<Box<dyn Imagery>>,
    /// Whether any input has things at heights of their own.
    pub has_own_heights: bool,
    /// What the command line says that heights count from, where an input tells heights.
    datum: Option<String>,
}

/// Opens the inputs of a run, in their order; of those that are read from their beginning to their end only those whose
/// places are `wanted`, where that is given.
///
/// # Errors
///
/// One of them cannot be opened.
pub fn open(files: &[InputFile], settings: &Settings, wanted: Option<&[usize]>) -> Result<Opened, InputError> {
    let wanted: Option<BTreeSet<usize>> = wanted.map(|places| places.iter().copied().collect());
    let mut opened = Opened::default();
    for (place, file) in files.iter().enumerate() {
        opened.has_own_heights |= file.format.has_own_heights();
        let is_wanted = wanted.as_ref().is_none_or(|places| places.contains(&place));
        opened.add(file, place, settings, is_wanted)?;
    }
    for path in &settings.ortho {
        opened.imagery.push(imagery(path, settings)?);
    }
    if opened.has_own_heights || !opened.elevations.is_empty() {
        let named = settings.crs.crs.as_deref().unwrap_or("the inputs");
        opened.datum = Some(match (&settings.crs.vertical_from, &settings.crs.geoid) {
            (Some(crate::crs::Vertical::Ellipsoid), Some(geoid)) => format!("the geoid {geoid}"),
            _ => format!("that of the heights in {named}"),
        });
    }
    Ok(opened)
}

impl Opened {
    /// What heights count from, where an input tells heights. Of files that name their CRS among their contents it knows
    /// when their extent was asked for.
    pub fn datum(&self) -> Option<String> {
        let mut datum = self.datum.clone()?;
        let placers = self.streams.iter().flat_map(|(_, stream)| stream.placers());
        let placers = placers.chain(self.elevations.iter().filter_map(|elevation| elevation.placer().cloned()));
        let ellipsoidal: BTreeSet<String> =
            placers.filter_map(|placer| placer.ellipsoidal().map(str::to_owned)).collect();
        for crs in ellipsoidal {
            datum.push_str("; that of ");
            datum.push_str(&crs);
            datum.push_str(" is the ellipsoid");
        }
        Some(datum)
    }

    fn add(
        &mut self,
        InputFile { path, format }: &InputFile,
        place: usize,
        settings: &Settings,
        is_wanted: bool,
    ) -> Result<(), InputError> {
        let (input, read, crs) = (place as u32, settings.read.clone(), settings.crs.clone());
        let selection = || LayerSelection::of(&settings.read);
        let stream: Box<dyn Stream> = match *format {
            Format::VectorTiles => {
                self.tiled.push((place, Box::new(MvtDir::open(path, input, selection())?)));
                return Ok(());
            }
            Format::VectorTileArchive => {
                self.tiled.push((place, Box::new(MvtArchive::open(path, input, selection())?)));
                return Ok(());
            }
            Format::TerrainTiles => {
                let (encoding, tile) = (settings.elevation_encoding, settings.elevation_tile);
                self.elevations.push(Box::new(TerrainTiles::open(path, encoding, tile, RASTER_BYTES)?));
                return Ok(());
            }
            Format::GeoTiff => {
                self.elevations.push(Box::new(GeoTiffElevation::open(path, &crs, RASTER_BYTES)?));
                return Ok(());
            }
            Format::FgdDem => {
                self.elevations.push(Box::new(FgdDem::open(path, RASTER_BYTES)?));
                return Ok(());
            }
            // What the tiles of a shard do not need is not even opened.
            _ if !is_wanted => return Ok(()),
            Format::CityGml => Box::new(CityGml::open(path, input, read, crs)?),
            Format::GeoJson => Box::new(GeoJson::open(path, input, read, &crs)?),
            Format::Overpass => Box::new(Overpass::open(path, read)?),
            Format::OsmPbf => Box::new(OsmPbf::open(path, read)?),
            Format::Shapefile => Box::new(Shapefile::open(path, input, read, &crs)?),
            Format::FlatGeobuf => Box::new(FlatGeobuf::open(path, input, read, &crs)?),
            Format::GeoParquet => geoparquet(path, input, settings)?,
            Format::CityJson => Box::new(CityJson::open(path, input, read, crs)?),
            Format::CityJsonSeq => Box::new(CityJsonSeq::open(path, input, read, crs)?),
            Format::Points => Box::new(Las::open(path, &crs)?),
            Format::Obj => Box::new(ObjFile::new(path, input, read, at(path, settings)?, settings.up)),
            Format::Gltf => Box::new(GltfFile::new(path, input, read, at(path, settings)?)),
            Format::Vox => Box::new(VoxFile::new(path, input, read, at(path, settings)?)),
            Format::Npy => Box::new(NpyFile::new(path, input, read, npy_place(path, settings)?)),
        };
        self.streams.push((place, stream));
        Ok(())
    }
}

fn at(path: &Path, settings: &Settings) -> Result<At, InputError> {
    settings.at.ok_or_else(|| InputError::Malformed {
        path: path.to_owned(),
        what: "knows no place of its own: expected --at LON,LAT[,HEIGHT_M]".to_owned(),
    })
}

/// An array of voxels lies on a tile, or where models without a place of their own stand.
fn npy_place(path: &Path, settings: &Settings) -> Result<NpyPlace, InputError> {
    match settings.elevation_tile {
        Some(tile) => Ok(NpyPlace::Tile { tile, floor_y: crate::voxelise::BASE }),
        None => at(path, settings).map(NpyPlace::At),
    }
}

#[cfg(feature = "geoparquet")]
fn geoparquet(path: &Path, input: u32, settings: &Settings) -> Result<Box<dyn Stream>, InputError> {
    Ok(Box::new(super::GeoParquet::open(path, input, settings.read.clone(), &settings.crs)?))
}

#[cfg(not(feature = "geoparquet"))]
fn geoparquet(path: &Path, _: u32, _: &Settings) -> Result<Box<dyn Stream>, InputError> {
    Err(InputError::Malformed {
        path: path.to_owned(),
        what: "this program was built without GeoParquet: build it with `--features geoparquet`".to_owned(),
    })
}

fn imagery(path: &Path, settings: &Settings) -> Result<Box<dyn Imagery>, InputError> {
    let is_tiff = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("tif") || extension.eq_ignore_ascii_case("tiff"));
    if is_tiff {
        return Ok(Box::new(GeoTiffImagery::open(path, &settings.crs, RASTER_BYTES)?));
    }
    Ok(Box::new(MapTiles::open(path, settings.elevation_tile, RASTER_BYTES)?))
}
