//! Where tiles lie: in a folder `{z}/{x}/{y}.png`, in a PMTiles archive, or one by one.
//!
//! Owns [`TileStore`]: receives an address, yields the bytes of the file, or nothing. It decodes none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use voxatlas::geo::{LonLat, TileCoord, WORLD_VOXELS};
use voxatlas::source::SourceConfig;
use voxatlas::source::archive::Archive;

use crate::archives::is_archive;
use crate::input::InputError;

/// The largest file of one tile: 4096 x 4096 pixels that do not compress.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Tiles by address.
#[derive(Debug)]
pub(super) struct TileStore {
    path: PathBuf,
    tiles: Tiles,
}

#[derive(Debug)]
enum Tiles {
    /// One file or a folder of them.
    Files(BTreeMap<TileCoord, PathBuf>),
    Archive {
        archive: Archive,
        runtime: tokio::runtime::Runtime,
        zooms: Vec<u8>,
        extent: [f64; 4],
    },
}

impl TileStore {
    /// Opens a folder of tiles with one of these endings, an archive, or the file of one tile, whose address is `tile` or
    /// stands in its name.
    pub(super) fn open(path: &Path, tile: Option<TileCoord>, endings: &[&str]) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let tiles = if std::fs::metadata(path).map_err(io)?.is_dir() {
            folder(path, endings)?
        } else if is_archive(path) {
            archive(path)?
        } else {
            let Some(tile) = tile.or_else(|| tile_in_name(path)) else {
                return Err(malformed(
                    path,
                    "a tile without a place: expected its address in its name, such as z8-x229-y94.png, or --tile z/x/y"
                        .to_owned(),
                ));
            };
            Tiles::Files([(tile, path.to_owned())].into())
        };
        Ok(Self { path: path.to_owned(), tiles })
    }

    /// What was opened.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The zooms that hold tiles, the coarsest first.
    pub(super) fn zooms(&self) -> Vec<u8> {
        match &self.tiles {
            Tiles::Files(files) => {
                let zooms: BTreeSet<u8> = files.keys().map(|tile| tile.zoom()).collect();
                zooms.into_iter().collect()
            }
            Tiles::Archive { zooms, .. } => zooms.clone(),
        }
    }

    /// Some tiles, the first ones of the finest zoom: what to guess an encoding from. An archive names none of its own.
    pub(super) fn some_tiles(&self) -> Vec<TileCoord> {
        const SOME: usize = 8;
        match &self.tiles {
            Tiles::Files(files) => files.keys().rev().take(SOME).copied().collect(),
            Tiles::Archive { zooms, extent: [west, north, east, south], .. } => {
                let middle = LonLat::from_world(f64::midpoint(*west, *east), f64::midpoint(*north, *south));
                zooms.iter().rev().filter_map(|&zoom| TileCoord::at(zoom, middle).ok()).take(SOME).collect()
            }
        }
    }

    /// The box round all tiles, world x and z in z17 voxels.
    pub(super) fn extent(&self) -> [f64; 4] {
        match &self.tiles {
            Tiles::Files(files) => {
                let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
                files.keys().map(|&tile| box_of(tile)).fold(start, |[w, n, e, s], [west, north, east, south]| {
                    [w.min(west), n.min(north), e.max(east), s.max(south)]
                })
            }
            Tiles::Archive { extent, .. } => *extent,
        }
    }

    /// The file of a tile and what messages call it; `None` where there is none.
    pub(super) fn read(&self, tile: TileCoord) -> Result<Option<(PathBuf, Vec<u8>)>, InputError> {
        match &self.tiles {
            Tiles::Files(files) => {
                let Some(path) = files.get(&tile) else { return Ok(None) };
                let io = |error| InputError::Io { path: path.clone(), error };
                let size = std::fs::metadata(path).map_err(io)?.len();
                if size > FILE_BYTES_MAX {
                    let what = format!("{size} bytes, expected a tile of at most {FILE_BYTES_MAX}");
                    return Err(malformed(path, what));
                }
                // An empty file stands for nothing, as an empty answer of a server does.
                let bytes = std::fs::read(path).map_err(io)?;
                Ok((!bytes.is_empty()).then(|| (path.clone(), bytes)))
            }
            Tiles::Archive { archive, runtime, .. } => {
                let read = runtime.block_on(archive.tile(tile));
                let bytes = read.map_err(|error| malformed(&self.path, format!("tile {tile}: {error}")))?;
                Ok(bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| (self.path.join(tile.to_string()), bytes)))
            }
        }
    }
}

/// The world's box of a tile of any zoom.
fn box_of(tile: TileCoord) -> [f64; 4] {
    let edge = f64::from(WORLD_VOXELS) / f64::from(1u32 << tile.zoom());
    let (west, north) = (f64::from(tile.x()) * edge, f64::from(tile.y()) * edge);
    [west, north, west + edge, north + edge]
}

pub(super) fn malformed(path: &Path, what: String) -> InputError {
    InputError::Malformed { path: path.to_owned(), what }
}

/// The address that a file's name ends with: "gsi-dem-z8-x229-y94.png", "8_229_94.png".
pub fn tile_in_name(path: &Path) -> Option<TileCoord> {
    let stem = path.file_stem()?.to_str()?.to_ascii_lowercase();
    let mut parts = stem.rsplit(|letter: char| !letter.is_ascii_alphanumeric());
    let mut number = |letter: char| {
        let part = parts.next()?;
        part.strip_prefix(letter).unwrap_or(part).parse::<u32>().ok()
    };
    let (y, x, zoom) = (number('y')?, number('x')?, number('z')?);
    TileCoord::new(u8::try_from(zoom).ok()?, x, y).ok()
}

fn folder(path: &Path, endings: &[&str]) -> Result<Tiles, InputError> {
    let mut files = BTreeMap::new();
    let mut zooms = numbered(path)?;
    // The folder may be a zoom's own.
    zooms.extend(number_of(path).map(|zoom| (zoom, path.to_owned())));
    for (zoom, folder) in zooms {
        let Some(zoom) = u8::try_from(zoom).ok().filter(|&zoom| zoom <= TileCoord::ZOOM_MAX) else { continue };
        for (x, column) in numbered(&folder)? {
            for file in list(&column)? {
                let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
                let is_tile = ending.is_some_and(|ending| endings.contains(&ending.as_str()));
                if let Some(y) = number_of(&file.with_extension("")).filter(|_| is_tile)
                    && let Ok(tile) = TileCoord::new(zoom, x, y)
                {
                    files.insert(tile, file);
                }
            }
        }
    }
    if files.is_empty() {
        let what = format!("no tile found: expected {{z}}/{{x}}/{{y}}.{}", endings.join(", ."));
        return Err(malformed(path, what));
    }
    Ok(Tiles::Files(files))
}

fn archive(path: &Path) -> Result<Tiles, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(io)?;
    let config = SourceConfig { file_bytes_max: FILE_BYTES_MAX as usize, ..SourceConfig::default() };
    let archive = Archive::file(path, &config);
    let head = runtime.block_on(archive.head()).map_err(|error| malformed(path, error.to_string()))?;
    let [west, south, east, north] = head.bounds;
    let corner = |lon: f64, lat: f64| LonLat::new(lon.clamp(-180.0, 180.0), lat.clamp(-90.0, 90.0));
    let (Ok(north_west), Ok(south_east)) = (corner(west, north), corner(east, south)) else {
        return Err(malformed(path, "bounds that are no numbers: expected degrees".to_owned()));
    };
    let ([west, north], [mut east, south]) = (north_west.to_world(), south_east.to_world());
    if east <= west {
        east += f64::from(WORLD_VOXELS);
    }
    let zooms = (head.zoom_min..=head.zoom_max.min(TileCoord::ZOOM_MAX)).collect();
    Ok(Tiles::Archive { archive, runtime, zooms, extent: [west, north, east, south] })
}

/// The folders of `path` whose names are numbers.
fn numbered(path: &Path) -> Result<Vec<(u32, PathBuf)>, InputError> {
    let folders = list(path)?.into_iter().filter(|entry| entry.is_dir());
    Ok(folders.filter_map(|folder| Some((number_of(&folder)?, folder))).collect())
}

/// The number that a file or folder is called by: digits without a sign or leading zeros.
fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let is_plain = name == "0" || (!name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit()));
    if is_plain { name.parse().ok() } else { None }
}

/// The entries of a folder, sorted: the order of a directory differs between machines.
fn list(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let entries = std::fs::read_dir(path).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(io)?;
    entries.sort();
    Ok(entries)
}
