//! The elevation meshes of Japan's Fundamental Geospatial Data: `FG-GML-...-DEM5A-....xml`, one file or a folder of them.
//!
//! Owns [`FgdDem`]. Opening reads the corners of each mesh alone; heights are read when a tile needs them, and the lately
//! used meshes kept within a budget of bytes. Degrees are those of JGD2011, which lie within a voxel of WGS 84. It opens
//! no zip files.
//!
//! ```text
//!   lowerCorner, upperCorner   latitude, longitude       high   columns - 1, rows - 1
//!   tupleList                  "kind,height" a cell, row by row from the north; -9999 is no data
//!   startPoint                 the column and row of the first of them
//! ```

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use quick_xml::Reader;
use quick_xml::events::Event;
use voxatlas::geo::{LonLat, TileCoord};

use super::cache::Cache;
use super::sample::bilinear;
use super::{Elevation, HeightTile, NO_DATA, SIDE, corner_of, meets_tile};
use crate::input::InputError;

/// Cells of a mesh, at most: those of 1 m have 1,125 x 750.
const CELLS_MAX: usize = 1 << 24;

/// Text of an element other than the heights, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// Bytes of a file, at most.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Meshes of heights.
pub struct FgdDem {
    path: PathBuf,
    meshes: Vec<Mesh>,
    extent: [f64; 4],
    kept: Cache<usize, Vec<f32>>,
}

/// What is known of a mesh before its heights are read.
#[derive(Debug, Clone)]
struct Mesh {
    path: PathBuf,
    head: Head,
    /// World x and z.
    extent: [f64; 4],
}

/// The head of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Head {
    south_deg: f64,
    west_deg: f64,
    north_deg: f64,
    east_deg: f64,
    n_columns: usize,
    n_rows: usize,
}

impl FgdDem {
    /// Opens a file, or all meshes in a folder; read ones are kept within a budget of bytes.
    ///
    /// # Errors
    ///
    /// There is no mesh, or the head of one is malformed.
    pub fn open(path: &Path, budget_bytes: u64) -> Result<Self, InputError> {
        let meshes = files(path)?.into_iter().map(Mesh::open).collect::<Result<Vec<_>, _>>()?;
        let around = |[w, n, e, s]: [f64; 4], [west, north, east, south]: [f64; 4]| {
            [w.min(west), n.min(north), e.max(east), s.max(south)]
        };
        let Some(extent) = meshes.iter().map(|mesh| mesh.extent).reduce(around) else {
            let what = "no mesh found: expected files such as FG-GML-5238-37-50-DEM5A-20161001.xml";
            return Err(malformed(path, what.to_owned()));
        };
        Ok(Self { path: path.to_owned(), meshes, extent, kept: Cache::new(budget_bytes) })
    }

    fn heights(&self, idx: usize) -> Result<std::sync::Arc<Vec<f32>>, InputError> {
        let mesh = &self.meshes[idx];
        self.kept.get_or(&idx, || {
            let heights_m = read_heights(&mesh.path, mesh.head)?;
            let size_bytes = size_of_val(heights_m.as_slice()) as u64;
            Ok((heights_m, size_bytes))
        })
    }
}

impl Elevation for FgdDem {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> [f64; 4] {
        self.extent
    }

    fn tile(&self, tile: TileCoord) -> Result<Option<HeightTile>, InputError> {
        let mut made: Option<HeightTile> = None;
        for (idx, mesh) in self.meshes.iter().enumerate().filter(|(_, mesh)| meets_tile(mesh.extent, tile)) {
            let sampled = mesh.head.sample(tile, &self.heights(idx)?);
            match &mut made {
                Some(made) => made.fill_from(&sampled),
                None => made = Some(sampled),
            }
        }
        Ok(made.and_then(HeightTile::some_if_any))
    }
}

impl Mesh {
    fn open(path: PathBuf) -> Result<Self, InputError> {
        let head = Head::of(&elements(&path, false)?).map_err(|what| malformed(&path, what))?;
        let corner = |lon_deg, lat_deg| {
            LonLat::new(lon_deg, lat_deg).map(LonLat::to_world).map_err(|error| malformed(&path, error.to_string()))
        };
        let ([west, north], [east, south]) =
            (corner(head.west_deg, head.north_deg)?, corner(head.east_deg, head.south_deg)?);
        Ok(Self { path, head, extent: [west, north, east, south] })
    }
}

impl Head {
    fn of(elements: &Elements) -> Result<Self, String> {
        let [south_deg, west_deg] = pair::<f64>("lowerCorner", &elements.lower_corner)?;
        let [north_deg, east_deg] = pair::<f64>("upperCorner", &elements.upper_corner)?;
        let [column_max, row_max] = pair::<usize>("high", &elements.high)?;
        let (n_columns, n_rows) = (column_max.saturating_add(1), row_max.saturating_add(1));
        if !(south_deg < north_deg && west_deg < east_deg) || n_columns.saturating_mul(n_rows) > CELLS_MAX {
            return Err(format!(
                "a mesh of {n_columns} x {n_rows} cells from {south_deg}, {west_deg} to {north_deg}, {east_deg}: expected at \
                 most {CELLS_MAX} cells, and its lower corner first"
            ));
        }
        Ok(Self { south_deg, west_deg, north_deg, east_deg, n_columns, n_rows })
    }

    /// The heights at the voxels of a tile.
    fn sample(&self, tile: TileCoord, heights_m: &[f32]) -> HeightTile {
        let [west, north] = corner_of(tile);
        let at = |idx: usize| LonLat::from_world(west + idx as f64 + 0.5, north + idx as f64 + 0.5);
        let places: Vec<LonLat> = (0..SIDE).map(at).collect();
        let column =
            |place: LonLat| (place.lon_deg() - self.west_deg) / (self.east_deg - self.west_deg) * self.n_columns as f64;
        let row =
            |place: LonLat| (self.north_deg - place.lat_deg()) / (self.north_deg - self.south_deg) * self.n_rows as f64;
        let us: Vec<f64> = places.iter().map(|&place| column(place)).collect();
        let vs: Vec<f64> = places.iter().map(|&place| row(place)).collect();
        let cell = |x: i64, y: i64| {
            let inside = |at: i64, n: usize| usize::try_from(at).ok().filter(|&at| at < n);
            let (Some(x), Some(y)) = (inside(x, self.n_columns), inside(y, self.n_rows)) else { return None };
            heights_m
                .get(x + y * self.n_columns)
                .filter(|height_m| !height_m.is_nan())
                .map(|&height_m| f64::from(height_m))
        };
        HeightTile::from_fn(|x, z| {
            let found = bilinear(us[x], vs[z], |x, y| Ok::<_, std::convert::Infallible>(cell(x, y)));
            found.ok().flatten().map_or(NO_DATA, |height_m| height_m as f32)
        })
    }
}

/// Two numbers in the text of an element.
fn pair<T: FromStr>(name: &str, text: &str) -> Result<[T; 2], String> {
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(first)), Some(Ok(second)), None) => Ok([first, second]),
        _ => Err(format!("{name}: found \"{}\", expected two numbers", text.trim())),
    }
}

/// The heights of a mesh, row by row from the north.
fn read_heights(path: &Path, head: Head) -> Result<Vec<f32>, InputError> {
    let elements = elements(path, true)?;
    if elements.order.as_deref().is_some_and(|order| order != "+x-y") {
        let what = format!("cells in the order \"{}\", expected +x-y", elements.order.unwrap_or_default());
        return Err(malformed(path, what));
    }
    let start = if elements.start_point.is_empty() { "0 0" } else { &elements.start_point };
    let [column, row] = pair::<usize>("startPoint", start).map_err(|what| malformed(path, what))?;
    let mut heights_m = vec![NO_DATA; head.n_columns * head.n_rows];
    let first = row.saturating_mul(head.n_columns).saturating_add(column).min(heights_m.len());
    let lines = elements.tuples.lines().map(str::trim).filter(|line| !line.is_empty());
    // Cells that are not written, before the first and after the last, have no data.
    for (height_m, line) in heights_m[first..].iter_mut().zip(lines) {
        let value = line.rsplit(',').next().unwrap_or(line);
        let value: f32 = value.trim().parse().map_err(|_| {
            malformed(path, format!("tupleList: found \"{line}\", expected a kind and a height in metres"))
        })?;
        if value.is_finite() && value > -9999.0 {
            *height_m = value;
        }
    }
    Ok(heights_m)
}

/// The text of the elements that count.
#[derive(Debug, Default)]
struct Elements {
    lower_corner: String,
    upper_corner: String,
    high: String,
    start_point: String,
    tuples: String,
    order: Option<String>,
}

/// Reads a file, as far as the heights or through them.
fn elements(path: &Path, with_heights: bool) -> Result<Elements, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    if size > FILE_BYTES_MAX {
        return Err(malformed(path, format!("{size} bytes, expected a mesh of at most {FILE_BYTES_MAX}")));
    }
    let mut reader = Reader::from_reader(BufReader::new(file));
    let mut found = Elements::default();
    let (mut buffer, mut within) = (Vec::new(), String::new());
    loop {
        buffer.clear();
        let event =
            reader.read_event_into(&mut buffer).map_err(|error| malformed(path, format!("malformed XML: {error}")))?;
        match event {
            Event::Start(element) => {
                element.local_name().as_ref().clone_into(&mut within);
                if within == "tupleList" && !with_heights {
                    return Ok(found);
                }
                if within == "sequenceRule" {
                    let order = element.try_get_attribute("order").ok().flatten();
                    found.order = order.map(|order| order.value.into_owned());
                }
            }
            Event::Text(text) => {
                let (element, bytes_max) = match within.as_str() {
                    "lowerCorner" => (&mut found.lower_corner, TEXT_BYTES_MAX),
                    "upperCorner" => (&mut found.upper_corner, TEXT_BYTES_MAX),
                    "high" => (&mut found.high, TEXT_BYTES_MAX),
                    "startPoint" => (&mut found.start_point, TEXT_BYTES_MAX),
                    "tupleList" => (&mut found.tuples, usize::MAX),
                    _ => continue,
                };
                if element.len() + text.len() <= bytes_max {
                    element.push_str(&text);
                }
            }
            Event::End(_) => within.clear(),
            Event::Eof => return Ok(found),
            _ => (),
        }
    }
}

/// The files of a path, sorted.
fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let io = |error| InputError::Io { path: path.to_owned(), error };
    if !std::fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<Result<Vec<_>, _>>().map_err(io)?;
    files.retain(|file| {
        let has = |part: Option<&std::ffi::OsStr>, test: fn(&str) -> bool| {
            part.and_then(|part| part.to_str()).is_some_and(test)
        };
        has(file.file_stem(), |stem| stem.to_ascii_lowercase().contains("dem"))
            && has(file.extension(), |extension| extension.eq_ignore_ascii_case("xml"))
    });
    files.sort();
    Ok(files)
}

fn malformed(path: &Path, what: String) -> InputError {
    InputError::Malformed { path: path.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mesh of 225 x 150 cells of 0.2 seconds, as GSI writes them, whose cells are numbered; some are left out.
    fn mesh(start: &str, n_cells: usize) -> String {
        let cell = |idx: usize| {
            if idx == 7 {
                "データなし,-9999.\n".to_owned()
            } else {
                format!("地表面,{}.{:02}\n", idx % 225, idx / 225)
            }
        };
        let tuples: String = (0..n_cells).map(cell).collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Dataset xmlns:gml=\"http://www.opengis.net/gml/3.2\"><DEM>\
             <type>5mメッシュ(標高)</type><coverage><gml:boundedBy><gml:Envelope srsName=\"fguuid:jgd2011.bl\">\
             <gml:lowerCorner>35.65 139.75</gml:lowerCorner><gml:upperCorner>35.658333333 139.7625</gml:upperCorner>\
             </gml:Envelope></gml:boundedBy><gml:gridDomain><gml:Grid><gml:limits><gml:GridEnvelope><gml:low>0 0</gml:low>\
             <gml:high>224 149</gml:high></gml:GridEnvelope></gml:limits></gml:Grid></gml:gridDomain><gml:rangeSet>\
             <gml:DataBlock><gml:tupleList>\n{tuples}</gml:tupleList></gml:DataBlock></gml:rangeSet>\
             <gml:coverageFunction><gml:GridFunction><gml:sequenceRule order=\"+x-y\">Linear</gml:sequenceRule>\
             <gml:startPoint>{start}</gml:startPoint></gml:GridFunction></gml:coverageFunction></coverage></DEM></Dataset>"
        )
    }

    fn open(folder: &Path, xml: &str) -> Result<FgdDem, String> {
        let path = folder.join("FG-GML-5339-36-78-DEM5A-20161001.xml");
        std::fs::write(&path, xml).unwrap();
        FgdDem::open(folder, 1 << 20).map_err(|error| error.to_string())
    }

    /// The height at the centre of a cell.
    fn at(dem: &FgdDem, column: usize, row: usize) -> Option<f32> {
        let (lon_deg, lat_deg) =
            (139.75 + (column as f64 + 0.5) / 18_000.0, 35.658_333_333 - (row as f64 + 0.5) / 18_000.0);
        let [x, z] = LonLat::new(lon_deg, lat_deg).unwrap().to_world();
        let tile = TileCoord::new(17, (x / 256.0) as u32, (z / 256.0) as u32).unwrap();
        dem.tile(tile).unwrap()?.at((x % 256.0) as usize, (z % 256.0) as usize)
    }

    #[test]
    fn cells_lie_row_by_row_from_the_north_west() {
        let folder = tempfile::tempdir().unwrap();
        let dem = open(folder.path(), &mesh("0 0", 225 * 150)).unwrap();
        for (column, row) in [(1, 1), (50, 20), (200, 99), (223, 148)] {
            let expected: f32 = format!("{column}.{row:02}").parse().unwrap();
            let found = at(&dem, column, row).unwrap();
            // A voxel is a fifth of a cell.
            assert!((found - expected).abs() < 0.2, "{column}, {row}: {found}");
        }
        assert_eq!(at(&dem, 7, 0), None, "no data");
        assert_eq!(at(&dem, 230, 5), None, "outside");
    }

    #[test]
    fn cells_that_are_not_written_have_no_data() {
        let folder = tempfile::tempdir().unwrap();
        let dem = open(folder.path(), &mesh("100 2", 1000)).unwrap();
        assert_eq!((at(&dem, 99, 2), at(&dem, 150, 100)), (None, None));
        assert!((at(&dem, 120, 2).unwrap() - 20.0).abs() < 0.2);
    }

    #[test]
    fn what_is_malformed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FgdDem::open(folder.path(), 0).err().unwrap().to_string().contains("no mesh found"));
        let good = mesh("0 0", 9);
        for (from, to, expected) in [
            ("35.65 139.75", "35.65", "lowerCorner: found \"35.65\", expected two numbers"),
            ("224 149", "99999 99999", "expected at most"),
            ("35.65 139.75", "95.65 139.75", "expected at most"),
            ("</gml:limits>", "</gml:limit>", "malformed XML"),
        ] {
            let error = open(folder.path(), &good.replace(from, to)).err().unwrap();
            assert!(error.contains(expected), "{error}");
        }
        let dem = open(folder.path(), &good.replace("地表面,3.00", "地表面,x")).unwrap();
        let error =
            dem.tile(TileCoord::at(17, LonLat::new(139.751, 35.658).unwrap()).unwrap()).unwrap_err().to_string();
        assert!(error.contains("expected a kind and a height in metres"), "{error}");
    }
}
