//! Which format an input is of: by its name, and by its beginning where names do not tell.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::InputError;

/// Bytes of a file that are looked at: `.json` is half a dozen formats.
const HEAD_BYTES: u64 = 1 << 16;

/// Bytes of its end that are looked at where its beginning does not tell.
const TAIL_BYTES: u64 = 1 << 20;

/// Folders in folders that are looked into for files of a data set.
const DEPTH_MAX: usize = 6;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Mapbox vector tiles, in a folder.
    VectorTiles,
    /// Mapbox vector tiles, in a PMTiles archive.
    VectorTileArchive,
    /// Elevations as images or text: a tile, a folder or an archive of them.
    TerrainTiles,
    /// GeoTIFF.
    GeoTiff,
    /// The elevation meshes of Japan's Fundamental Geospatial Data.
    FgdDem,
    /// CityGML 2 or 3.
    CityGml,
    /// CityJSON.
    CityJson,
    /// A sequence of CityJSON features.
    CityJsonSeq,
    /// GeoJSON, or a sequence of its features.
    GeoJson,
    /// Overpass JSON.
    Overpass,
    /// OpenStreetMap in PBF.
    OsmPbf,
    /// A Shapefile.
    Shapefile,
    /// FlatGeobuf.
    FlatGeobuf,
    /// GeoParquet.
    GeoParquet,
    /// LAS, LAZ or COPC.
    Points,
    /// Wavefront OBJ.
    Obj,
    /// glTF or GLB.
    Gltf,
    /// MagicaVoxel.
    Vox,
    /// NumPy.
    Npy,
}

impl Format {
    /// The format of a file or folder; `None` where it is of none that is known.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn of(path: &Path) -> Result<Option<Self>, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        if std::fs::metadata(path).map_err(io)?.is_dir() {
            return of_folder(path);
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let extension = name.rsplit('.').next().unwrap_or_default();
        Ok(match extension {
            "xml" if name.starts_with("fg-gml-") => Some(Self::FgdDem),
            "gml" | "xml" | "citygml" => Some(Self::CityGml),
            "geojson" | "geojsonl" | "geojsonseq" | "geojsons" => Some(Self::GeoJson),
            // Some writers sort the members, so that what tells the format comes last.
            "json" | "jsonl" | "ndjson" => match of_json(&head(path)?) {
                None => of_json(&tail(path)?),
                format => format,
            },
            "shp" => Some(Self::Shapefile),
            "fgb" => Some(Self::FlatGeobuf),
            "parquet" | "geoparquet" => Some(Self::GeoParquet),
            "pbf" => Some(Self::OsmPbf),
            "las" | "laz" => Some(Self::Points),
            "tif" | "tiff" => Some(Self::GeoTiff),
            "png" | "webp" | "txt" | "csv" => Some(Self::TerrainTiles),
            "pmtiles" => of_archive(&head(path)?),
            "obj" => Some(Self::Obj),
            "gltf" | "glb" => Some(Self::Gltf),
            "vox" => Some(Self::Vox),
            "npy" | "npz" => Some(Self::Npy),
            _ => None,
        })
    }

    /// Whether its things have heights of their own, above a datum, rather than above the ground on which they stand.
    pub fn has_own_heights(self) -> bool {
        matches!(
            self,
            Self::CityGml
                | Self::CityJson
                | Self::CityJsonSeq
                | Self::Points
                | Self::Obj
                | Self::Gltf
                | Self::Vox
                | Self::Npy
        )
    }
}

/// A file or folder that is read, and as what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Where it is.
    pub path: PathBuf,
    /// As what it is read: decided once, so that a machine which lacks a file decides nothing else.
    pub format: Format,
}

/// The files and folders that are read for those of a command line: a folder of files stands for the files in it.
///
/// # Errors
///
/// One of them cannot be read, or is of no format that is known.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<InputFile>, InputError> {
    let mut expanded = Vec::new();
    for path in paths {
        if let Some(format) = Format::of(path)? {
            expanded.push(InputFile { path: path.clone(), format });
            continue;
        }
        let before = expanded.len();
        if path.is_dir() {
            files_below(path, 0, &mut expanded)?;
        }
        if expanded.len() == before {
            return Err(InputError::UnknownFormat { path: path.clone() });
        }
    }
    Ok(expanded)
}

/// The files of features below a folder, in the order of their names. Images and texts are left out: beside a city model
/// they are its textures and its documents.
fn files_below(folder: &Path, depth: usize, files: &mut Vec<InputFile>) -> Result<(), InputError> {
    for path in list(folder)? {
        if path.is_dir() {
            if depth < DEPTH_MAX {
                files_below(&path, depth + 1, files)?;
            }
        } else if let Some(format) = Format::of(&path)?.filter(|format| *format != Format::TerrainTiles) {
            files.push(InputFile { path, format });
        }
    }
    Ok(())
}

/// The entries of a folder, sorted: the order of a directory differs between machines.
fn list(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let io = |error| InputError::Io { path: folder.to_owned(), error };
    let entries = std::fs::read_dir(folder).map_err(io)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    paths.sort();
    Ok(paths)
}

/// The beginning of a file.
fn head(path: &Path) -> Result<Vec<u8>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(HEAD_BYTES).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// The end of a file.
fn tail(path: &Path) -> Result<Vec<u8>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(io)?;
    let n_bytes = file.metadata().map_err(io)?.len();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(TAIL_BYTES))).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// A folder of tiles: the first file two numbered folders down tells of what.
fn of_folder(folder: &Path) -> Result<Option<Format>, InputError> {
    let numbered = |path: &Path| {
        path.is_dir() && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let zooms = list(folder)?.into_iter().filter(|path| numbered(path));
    for zoom in zooms {
        for column in list(&zoom)?.into_iter().chain([zoom.clone()]) {
            for file in if column.is_dir() { list(&column)? } else { Vec::new() } {
                let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
                match extension.to_ascii_lowercase().as_str() {
                    "pbf" | "mvt" => return Ok(Some(Format::VectorTiles)),
                    "png" | "webp" | "txt" | "csv" => return Ok(Some(Format::TerrainTiles)),
                    _ => {}
                }
            }
        }
    }
    Ok(None)
}

/// JSON is told by the names in it.
fn of_json(head: &[u8]) -> Option<Format> {
    let has = |name: &str| head.windows(name.len()).any(|window| window == name.as_bytes());
    if has("\"CityJSONFeature\"") || (has("\"CityJSON\"") && has("\n{")) {
        Some(Format::CityJsonSeq)
    } else if has("\"CityJSON\"") {
        Some(Format::CityJson)
    } else if has("\"FeatureCollection\"") || has("\"Feature\"") {
        Some(Format::GeoJson)
    } else if has("\"elements\"") {
        Some(Format::Overpass)
    } else {
        None
    }
}

/// A PMTiles archive says in its header what its tiles are.
fn of_archive(head: &[u8]) -> Option<Format> {
    match (head.starts_with(b"PMTiles"), head.get(99)) {
        (true, Some(1)) => Some(Format::VectorTileArchive),
        (true, Some(2 | 4)) => Some(Format::TerrainTiles),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, bytes: &[u8]) -> Option<Format> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Format::of(&path).unwrap()
    }

    #[test]
    fn json_is_told_by_what_is_in_it() {
        let check = |text: &str, expected| assert_eq!(format("a.json", text.as_bytes()), expected, "{text}");
        check("{\"type\": \"CityJSON\", \"version\": \"2.0\"}", Some(Format::CityJson));
        check("{\"type\":\"CityJSON\"}\n{\"type\":\"CityJSONFeature\"}\n", Some(Format::CityJsonSeq));
        check("{\"type\":\"FeatureCollection\",\"features\":[]}", Some(Format::GeoJson));
        check("{\"version\": 0.6, \"elements\": []}", Some(Format::Overpass));
        check("{\"a\": 1}", None);
    }

    #[test]
    fn names_tell_whatever_their_case() {
        assert_eq!(format("A.LAZ", b""), Some(Format::Points));
        assert_eq!(format("city.osm.pbf", b""), Some(Format::OsmPbf));
        assert_eq!(format("city.docx", b""), None);
    }

    #[test]
    fn a_folder_of_files_stands_for_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        };
        assert!(matches!(expand(&[folder.path().to_owned()]), Err(InputError::UnknownFormat { .. })));
        for name in ["udx/bldg/b.gml", "udx/bldg/a.gml", "udx/bldg/appearance/1.png", "readme.md"] {
            put(name);
        }
        let files = expand(&[folder.path().to_owned()]).unwrap();
        let file = |name: &str| InputFile { path: folder.path().join(name), format: Format::CityGml };
        assert_eq!(files, ["udx/bldg/a.gml", "udx/bldg/b.gml"].map(file));
        put("16/5/7.pbf");
        assert_eq!(Format::of(folder.path()).unwrap(), Some(Format::VectorTiles));
    }
}
