//! A folder of vector tiles: `{z}/{x}/{y}.pbf` or `.mvt`, below the folder that is named.
//!
//! Opening lists the names and reads nothing; a tile is read when it is asked for. The folder may also be a zoom's own
//! (`16/`). Where several zooms are there, the deepest is the data and the others are generalised copies of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use voxatlas::geo::TileCoord;

use super::mvt::TILE_BYTES_MAX;
use super::{Feature, Input, InputError, LayerSelection, MvtError, SOURCE_ZOOMS, decode_mvt};

/// A folder of vector tiles of one zoom.
#[derive(Debug)]
pub struct MvtDir {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    zoom: u8,
    /// By row and column: the encoder asks row by row.
    files: BTreeMap<(u32, u32), PathBuf>,
    selection: LayerSelection,
}

impl MvtDir {
    /// Lists the tiles of a folder; `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// The path is no folder, cannot be listed, or holds no tile of a zoom in [`SOURCE_ZOOMS`].
    pub fn open(path: &Path, input: u32, selection: LayerSelection) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        if !std::fs::metadata(path).map_err(io)?.is_dir() {
            return Err(InputError::UnknownFormat { path: path.to_owned() });
        }
        let mut zooms = numbered(path)?;
        if let Some(zoom) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()) {
            // `16` itself holds columns, whose numbers are no zooms: they are tried only where the parent says so.
            zooms.push((zoom, path.to_owned()));
        }
        zooms.sort();
        let mut found = Vec::new();
        for (zoom, folder) in zooms.into_iter().rev() {
            let Ok(zoom) = u8::try_from(zoom) else { continue };
            if zoom > TileCoord::ZOOM_MAX {
                continue;
            }
            let files = tiles_below(&folder, zoom)?;
            if files.is_empty() {
                continue;
            }
            if SOURCE_ZOOMS.contains(&zoom) {
                return Ok(Self { path: path.to_owned(), input, zoom, files, selection });
            }
            found.push(zoom);
        }
        Err(InputError::NoTiles { path: path.to_owned(), zooms: found })
    }

    fn tile_at(&self, (y, x): (u32, u32)) -> Option<TileCoord> {
        TileCoord::new(self.zoom, x, y).ok()
    }
}

impl Input for MvtDir {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn zoom(&self) -> u8 {
        self.zoom
    }

    fn tiles(&self) -> Vec<TileCoord> {
        self.files.keys().filter_map(|&place| self.tile_at(place)).collect()
    }

    fn row(&self, y: u32) -> Vec<TileCoord> {
        self.files.range((y, 0)..=(y, u32::MAX)).filter_map(|(&place, _)| self.tile_at(place)).collect()
    }

    fn read(&self, tile: TileCoord) -> Result<Vec<Feature>, InputError> {
        if tile.zoom() != self.zoom {
            return Ok(Vec::new());
        }
        let Some(path) = self.files.get(&(tile.y(), tile.x())) else { return Ok(Vec::new()) };
        let io = |error| InputError::Io { path: path.clone(), error };
        let mvt = |error| InputError::Mvt { path: path.clone(), error };
        if std::fs::metadata(path).map_err(io)?.len() > TILE_BYTES_MAX as u64 {
            return Err(mvt(MvtError::TooLarge));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        decode_mvt(&bytes, self.input, tile, &self.selection).map_err(mvt)
    }
}

/// The folders of `path` whose names are numbers.
fn numbered(path: &Path) -> Result<Vec<(u32, PathBuf)>, InputError> {
    let mut folders = Vec::new();
    for entry in list(path)? {
        if let Some(number) = entry.file_name().and_then(|name| name.to_str()).and_then(whole_number)
            && entry.is_dir()
        {
            folders.push((number, entry));
        }
    }
    Ok(folders)
}

/// The tiles `{x}/{y}.pbf` below a zoom's folder. Names that address no tile are not tiles.
fn tiles_below(folder: &Path, zoom: u8) -> Result<BTreeMap<(u32, u32), PathBuf>, InputError> {
    let mut files = BTreeMap::new();
    for (x, column) in numbered(folder)? {
        for file in list(&column)? {
            let is_tile = file.extension().is_some_and(|extension| extension == "pbf" || extension == "mvt");
            let y = file.file_stem().and_then(|stem| stem.to_str()).and_then(whole_number);
            if let (true, Some(y)) = (is_tile, y)
                && TileCoord::new(zoom, x, y).is_ok()
            {
                files.insert((y, x), file);
            }
        }
    }
    Ok(files)
}

/// The entries of a folder, sorted: the order of a directory differs between machines.
fn list(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let mut entries = std::fs::read_dir(path)
        .map_err(io)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(io)?;
    entries.sort();
    Ok(entries)
}

/// A number written as tiles are: digits without a sign or leading zeros.
fn whole_number(text: &str) -> Option<u32> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { text.parse().ok() } else { None }
}
