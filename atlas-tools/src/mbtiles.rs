//! MBTiles: a tileset's layer in an SQLite database, as many map programs read it.
//!
//! Owns the schema (<https://github.com/mapbox/mbtiles-spec>, 1.3) and its one trap: rows are counted from the south. Callers
//! speak of [`TileCoord`]s alone. The tileset's own document stands in the metadata, so that unpacking is the identity; a
//! database of another maker has none, and its metadata make one. Like PMTiles, a database holds one layer.
//!
//! ```text
//! metadata  name, format, bounds, center, minzoom, maxzoom, type, attribution; voxatlas_document, _layer, _files
//! images    tile_id (sha256 of the content), tile_data      equal tiles are stored once
//! map       zoom_level, tile_column, tile_row, tile_id
//! tiles     a view that joins the two
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use voxatlas::atlas::Tileset;
use voxatlas::geo::TileCoord;
use voxatlas::limits::{ATLAS_FILE_BYTES_MAX, TILESET_BYTES_MAX};
use voxatlas::source::archive::{LayerFile, TileKind};

use crate::output::PartFile;

/// "MPBX", by which `file` knows the format.
const APPLICATION_ID: i32 = 0x4D50_4258;

const SCHEMA: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE metadata (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE images (tile_id TEXT NOT NULL PRIMARY KEY, tile_data BLOB NOT NULL);
    CREATE TABLE map (zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL,
        tile_id TEXT NOT NULL, PRIMARY KEY (zoom_level, tile_column, tile_row));
    CREATE VIEW tiles AS SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column, map.tile_row AS tile_row,
        images.tile_data AS tile_data FROM map JOIN images ON images.tile_id = map.tile_id;
    BEGIN;";

/// What a database says of its layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The tileset's `tiles.json`.
    pub document: Vec<u8>,
    /// The layer that it holds.
    pub layer: i32,
    /// The databases of all layers, this one included; empty where it stands alone.
    pub files: Vec<LayerFile>,
}

/// A database that is being written; it takes its place when it is finished.
#[derive(Debug)]
pub struct MbtilesWriter {
    path: PathBuf,
    part: PartFile,
    connection: Connection,
}

impl MbtilesWriter {
    /// Begins a database of tiles of one kind.
    ///
    /// # Errors
    ///
    /// It cannot be written, or the document describes no tileset.
    pub fn create(
        path: &Path,
        described: &Described,
        kind: TileKind,
        bounds: [f64; 4],
        zooms: [u8; 2],
    ) -> anyhow::Result<Self> {
        let fail = || format!("{}: cannot be written", path.display());
        let tileset = Tileset::parse(&described.document, "tiles.json")?;
        let part = PartFile::create(path)?;
        let connection = Connection::open(part.part()).with_context(fail)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID).with_context(fail)?;
        connection.execute_batch(SCHEMA).with_context(fail)?;
        let [west, south, east, north] = bounds;
        let stem = path.file_stem().map_or_else(|| "city".into(), |stem| stem.to_string_lossy());
        let (middle_lon, middle_lat) = (f64::midpoint(west, east), f64::midpoint(south, north));
        let document = String::from_utf8(described.document.clone()).context("tiles.json is no UTF-8")?;
        let mut rows = vec![
            ("name", tileset.name.clone().unwrap_or_else(|| stem.into_owned())),
            ("format", kind.extension().to_owned()),
            ("bounds", format!("{west},{south},{east},{north}")),
            ("center", format!("{middle_lon},{middle_lat},{}", zooms[1])),
            ("minzoom", zooms[0].to_string()),
            ("maxzoom", zooms[1].to_string()),
            ("type", "overlay".to_owned()),
            ("version", "1".to_owned()),
            ("description", "Voxel regions for voxatlas: 256^3 voxels a tile".to_owned()),
            ("voxatlas_document", document),
            ("voxatlas_layer", described.layer.to_string()),
            ("voxatlas_files", json!(described.files).to_string()),
        ];
        rows.extend(tileset.attribution.map(|attribution| ("attribution", attribution)));
        for (name, value) in rows {
            connection.execute("INSERT INTO metadata VALUES (?1, ?2)", params![name, value]).with_context(fail)?;
        }
        Ok(Self { path: path.to_owned(), part, connection })
    }

    /// Adds a tile.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn add(&mut self, tile: TileCoord, bytes: &[u8]) -> anyhow::Result<()> {
        let id = id_of(bytes);
        let insert = || -> rusqlite::Result<()> {
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO images VALUES (?1, ?2)")?
                .execute(params![id, bytes])?;
            self.connection
                .prepare_cached("INSERT INTO map VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![tile.zoom(), tile.x(), tile.tms_y(), id])
                .map(|_| ())
        };
        insert().with_context(|| format!("{}: cannot be written", self.path.display()))
    }

    /// Ends the database, all but its name, and checks that its bounds are those of its tiles: a row counted from the wrong
    /// side would put a city into the other hemisphere.
    ///
    /// # Errors
    ///
    /// It cannot be written, or contradicts itself.
    pub fn finish(self) -> anyhow::Result<PartFile> {
        let Self { path, part, connection } = self;
        let name = || format!("{}: cannot be written", path.display());
        connection.execute_batch("COMMIT").with_context(name)?;
        if let Some(finding) = disagreement(&connection).with_context(name)? {
            bail!("{}: {finding}", path.display());
        }
        connection.close().map_err(|(_, error)| error).with_context(name)?;
        Ok(part)
    }
}

/// The id of a content: its SHA-256 in hexadecimal digits.
fn id_of(bytes: &[u8]) -> String {
    let mut id = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// A database that is read.
#[derive(Debug)]
pub struct MbtilesReader {
    path: PathBuf,
    connection: Connection,
}

impl MbtilesReader {
    /// Opens a database.
    ///
    /// # Errors
    ///
    /// It is not there, or no database.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.query_row("SELECT count(*) FROM metadata", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = open().with_context(|| format!("{}: expected an MBTiles database", path.display()))?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// What it says of itself.
    ///
    /// # Errors
    ///
    /// The metadata cannot be read, or name no format that a region's file may have.
    pub fn described(&self) -> anyhow::Result<Described> {
        let fail = || format!("{}: its metadata", self.path.display());
        let Some(document) = self.value("voxatlas_document")? else {
            return Ok(Described { document: self.document_of_stranger()?, layer: 0, files: Vec::new() });
        };
        if document.len() > TILESET_BYTES_MAX {
            bail!("{}: found {} bytes of a document, expected at most {TILESET_BYTES_MAX}", fail(), document.len());
        }
        let layer = self.value("voxatlas_layer")?.unwrap_or_default();
        let files = self.value("voxatlas_files")?.unwrap_or_else(|| "[]".to_owned());
        Ok(Described {
            document: document.into_bytes(),
            layer: layer.parse().with_context(|| format!("{}: the layer \"{layer}\"", fail()))?,
            files: serde_json::from_str(&files).with_context(fail)?,
        })
    }

    /// How many tiles it lists.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn n_tiles(&self) -> anyhow::Result<u64> {
        let count = self.connection.query_row("SELECT count(*) FROM tiles", [], |row| row.get::<_, i64>(0));
        Ok(count.with_context(|| self.path.display().to_string())?.max(0) as u64)
    }

    /// Why its bounds are not those of its tiles; `None` where they agree or it has none.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn disagreement(&self) -> anyhow::Result<Option<String>> {
        disagreement(&self.connection).with_context(|| self.path.display().to_string())
    }

    /// Yields the tiles one after the other; those that are no tile of any zoom, or larger than an atlas may be, are
    /// named in the error instead.
    ///
    /// # Errors
    ///
    /// It cannot be read, or what `take` says.
    pub fn each(
        &self,
        mut take: impl FnMut(Result<(TileCoord, Vec<u8>), String>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        const TILES: &str = "SELECT zoom_level, tile_column, tile_row, length(tile_data), tile_data FROM tiles \
                             ORDER BY zoom_level, tile_column, tile_row DESC";
        let fail = || self.path.display().to_string();
        let mut statement = self.connection.prepare(TILES).with_context(fail)?;
        let mut rows = statement.query([]).with_context(fail)?;
        while let Some(row) = rows.next().with_context(fail)? {
            let place: [i64; 4] = [0, 1, 2, 3].map(|column| row.get(column).unwrap_or(-1));
            let [zoom, column, tms_row, n_bytes] = place;
            let tile = u8::try_from(zoom).ok().and_then(|zoom| {
                TileCoord::from_tms(zoom, u32::try_from(column).ok()?, u32::try_from(tms_row).ok()?).ok()
            });
            let Some(tile) = tile else {
                take(Err(format!("row {tms_row} and column {column} of zoom {zoom} are no tile")))?;
                continue;
            };
            if n_bytes > ATLAS_FILE_BYTES_MAX as i64 {
                take(Err(format!("{tile}: {n_bytes} bytes, expected at most {ATLAS_FILE_BYTES_MAX}")))?;
                continue;
            }
            match row.get::<_, Vec<u8>>(4) {
                Ok(bytes) => take(Ok((tile, bytes)))?,
                Err(error) => take(Err(format!("{tile}: {error}")))?,
            }
        }
        Ok(())
    }

    fn value(&self, name: &str) -> anyhow::Result<Option<String>> {
        value(&self.connection, name).with_context(|| self.path.display().to_string())
    }

    /// A document for the database of another maker: zooms and bounds are those of its tiles.
    fn document_of_stranger(&self) -> anyhow::Result<Vec<u8>> {
        let format = self.value("format")?.unwrap_or_else(|| "png".to_owned());
        if !["png", "webp"].contains(&format.as_str()) {
            bail!("{}: holds tiles of the format \"{format}\": expected png or webp", self.path.display());
        }
        let zooms = self.connection.query_row("SELECT min(zoom_level), max(zoom_level) FROM tiles", [], |row| {
            Ok([row.get::<_, Option<u8>>(0)?, row.get::<_, Option<u8>>(1)?])
        });
        let [zoom_min, zoom_max] = zooms.with_context(|| self.path.display().to_string())?;
        let mut document = json!({
            "tilejson": "3.0.0",
            "tiles": [format!("{{z}}/{{x}}/{{y}}.{format}")],
            "minzoom": zoom_min.unwrap_or(17),
            "maxzoom": zoom_max.unwrap_or(17),
        });
        for name in ["name", "attribution"] {
            if let Some(text) = self.value(name)? {
                document[name] = json!(text);
            }
        }
        Ok(document.to_string().into_bytes())
    }
}

fn value(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT value FROM metadata WHERE name = ?1", [name], |row| row.get(0)).optional()
}

/// Why the stated bounds do not hold the tiles of the deepest zoom.
fn disagreement(connection: &Connection) -> rusqlite::Result<Option<String>> {
    const EXTENT: &str = "SELECT zoom_level, min(tile_column), max(tile_column), min(tile_row), max(tile_row) FROM tiles \
                          WHERE zoom_level = (SELECT max(zoom_level) FROM tiles)";
    let Some(stated) = value(connection, "bounds")?.and_then(|text| bounds_of(&text)) else { return Ok(None) };
    let extent = connection.query_row(EXTENT, [], |row| {
        Ok([0, 1, 2, 3, 4].map(|column| row.get::<_, Option<i64>>(column).ok().flatten()))
    })?;
    let [Some(zoom), Some(west), Some(east), Some(south), Some(north)] = extent else { return Ok(None) };
    // Corner tiles of the extent, with rows counted as given.
    let corner = |column: i64, row: i64, is_tms: bool| {
        let (zoom, column, row) = (u8::try_from(zoom).ok()?, u32::try_from(column).ok()?, u32::try_from(row).ok()?);
        if is_tms { TileCoord::from_tms(zoom, column, row) } else { TileCoord::new(zoom, column, row) }.ok()
    };
    let overlaps = |is_tms: bool| {
        let (Some(a), Some(b)) = (corner(west, south, is_tms), corner(east, north, is_tms)) else { return false };
        let (a, b) = (a.bounds().to_array(), b.bounds().to_array());
        let (low, high) = (a[1].min(b[1]), a[3].max(b[3]));
        stated[0] < b[2] && a[0] < stated[2] && stated[1] < high && low < stated[3]
    };
    let finding = match (overlaps(true), overlaps(false)) {
        (true, _) => return Ok(None),
        (false, true) => {
            "its rows are counted from the north, though the format counts from the south: expected tiles within"
        }
        (false, false) => "its tiles lie elsewhere than its bounds say: expected them within",
    };
    let [west, south, east, north] = stated;
    Ok(Some(format!("{finding} {west},{south},{east},{north}")))
}

fn bounds_of(text: &str) -> Option<[f64; 4]> {
    let numbers: Vec<f64> = text.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    // Across the antimeridian the order of the edges says nothing.
    <[f64; 4]>::try_from(numbers).ok().filter(|[west, south, east, north]| west <= east && south <= north)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn described() -> Described {
        let document = br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"], "attribution": "A. Cartographer"}"#;
        Described { document: document.to_vec(), layer: 0, files: Vec::new() }
    }

    fn write(path: &Path, tile: TileCoord, bounds: [f64; 4]) -> anyhow::Result<()> {
        let mut writer = MbtilesWriter::create(path, &described(), TileKind::Png, bounds, [17, 17])?;
        writer.add(tile, PNG)?;
        Ok(writer.finish()?.finish()?)
    }

    #[test]
    fn rows_are_counted_from_the_south_inside_and_from_the_north_outside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("city.mbtiles");
        let tile: TileCoord = "17/116415/51623".parse().unwrap();
        write(&path, tile, tile.bounds().to_array()).unwrap();
        let row: u32 =
            Connection::open(&path).unwrap().query_row("SELECT tile_row FROM tiles", [], |row| row.get(0)).unwrap();
        assert_eq!(row, (1 << 17) - 1 - 51_623);
        let reader = MbtilesReader::open(&path).unwrap();
        let mut found = Vec::new();
        reader
            .each(|tile| {
                found.push(tile.unwrap());
                Ok(())
            })
            .unwrap();
        assert_eq!(found, [(tile, PNG.to_vec())]);
        assert_eq!((reader.described().unwrap(), reader.n_tiles().unwrap()), (described(), 1));
        assert_eq!(reader.disagreement().unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn bounds_that_are_not_those_of_the_tiles_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("city.mbtiles");
        let tile: TileCoord = "17/116415/51623".parse().unwrap();
        let mirrored = TileCoord::from_tms(17, tile.x(), tile.y()).unwrap();
        let error = write(&path, mirrored, tile.bounds().to_array()).unwrap_err().to_string();
        assert!(error.contains("city.mbtiles") && error.contains("counted from the north"), "{error}");
        let error = write(&path, tile, [0.0, 0.0, 1.0, 1.0]).unwrap_err().to_string();
        assert!(error.contains("lie elsewhere"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_database_of_another_maker_is_read_and_what_is_none_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.mbtiles");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE metadata (name text, value text);
                 CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);
                 INSERT INTO metadata VALUES ('name', 'Tokyo'), ('format', 'webp');
                 INSERT INTO tiles VALUES (3, 1, 2, x'00'), (2, 9, 9, x'00'), (99, 0, 0, x'00');",
            )
            .unwrap();
        drop(connection);
        let reader = MbtilesReader::open(&path).unwrap();
        let tileset = Tileset::parse(&reader.described().unwrap().document, "other").unwrap();
        assert_eq!((tileset.name.as_deref(), tileset.tiles[0].as_str()), (Some("Tokyo"), "{z}/{x}/{y}.webp"));
        let (mut tiles, mut wrong) = (Vec::new(), 0);
        reader
            .each(|tile| {
                match tile {
                    Ok((tile, _)) => tiles.push(tile.to_string()),
                    Err(_) => wrong += 1,
                }
                Ok(())
            })
            .unwrap();
        assert_eq!((tiles, wrong), (vec!["3/1/5".to_owned()], 2));
        std::fs::write(&path, b"SQLite format 4").unwrap();
        let error = format!("{:#}", MbtilesReader::open(&path).unwrap_err());
        assert!(error.contains("other.mbtiles: expected an MBTiles database"), "{error}");
    }
}
