//! More points than memory, sorted by tile.
//!
//! Points wait in memory by tile; when their budget is used up they all go to one temporary file, a run a tile, and the
//! file vanishes in the end. Nothing is ever read back but what lies in a tile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use voxatlas::geo::mercator::{metres_per_voxel_at, wrap_x};
use voxatlas::geo::{TileCoord, WORLD_VOXELS};
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};

use super::{PointBins, TilePoint};
use crate::input::{CloudPoint, InputError};

/// Heights beyond this, in metres, are mistakes.
const HEIGHT_M_MAX: f64 = 100_000.0;

/// Bytes that are read back at once: whole points.
const READ_BYTES: usize = TilePoint::BYTES << 16;

/// Points that are still being gathered.
#[derive(Debug)]
pub struct PointSpill {
    scratch: PathBuf,
    budget_bytes: usize,
    tiles: Option<BTreeSet<TileCoord>>,
    waiting: BTreeMap<TileCoord, Vec<u8>>,
    waiting_bytes: usize,
    n_points: BTreeMap<TileCoord, u64>,
    file: Option<File>,
    file_bytes: u64,
    runs: BTreeMap<TileCoord, Vec<Run>>,
}

/// Points of a tile that lie in a row in the file.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    size_bytes: u64,
}

impl PointSpill {
    /// No points yet. About so many bytes wait in memory, the rest lies in a temporary file in the folder `scratch`; points
    /// in z17 tiles other than those of `tiles`, where there are any, are passed over.
    pub fn new(scratch: &Path, budget_bytes: u64, tiles: Option<BTreeSet<TileCoord>>) -> Self {
        Self {
            scratch: scratch.to_owned(),
            // Room that is reserved for a growing list counts as well: half of it is in use on average.
            budget_bytes: usize::try_from(budget_bytes / 2).unwrap_or(usize::MAX),
            tiles,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            n_points: BTreeMap::new(),
            file: None,
            file_bytes: 0,
            runs: BTreeMap::new(),
        }
    }

    /// Takes points in, and yields how many of them lie nowhere: beyond the world's rows, or 100 km up or down.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be used.
    pub fn add(&mut self, points: &[CloudPoint]) -> Result<u64, InputError> {
        let mut n_nowhere = 0;
        let mut rest = points;
        while let Some(first) = rest.first() {
            let Some((tile, _)) = place(first) else {
                n_nowhere += 1;
                rest = &rest[1..];
                continue;
            };
            // Points that follow each other lie in one tile, nearly always: it is looked up once for all of them.
            let row_m = metres_per_voxel_at(first.place.z);
            let in_tile = |point: &CloudPoint| place(point).filter(|&(other, _)| other == tile);
            let n = rest.iter().position(|point| in_tile(point).is_none()).unwrap_or(rest.len());
            let kept = rest[..n].iter().filter_map(|point| {
                let [x, z] = in_tile(point)?.1.map(i16::from);
                let y_256 = (point.place.height_m / row_m * 256.0).floor() as i32;
                Some(TilePoint { x, z, y_256, colour: point.colour, is_ground: point.is_ground })
            });
            self.keep(tile, kept);
            rest = &rest[n..];
        }
        if self.waiting_bytes > self.budget_bytes {
            self.flush()?;
        }
        Ok(n_nowhere)
    }

    /// Keeps points of a tile, for the tile itself and for those at whose borders they lie.
    fn keep(&mut self, tile: TileCoord, points: impl Iterator<Item = TilePoint>) {
        const EDGE: i64 = REGION_VOXELS as i64;
        let is_wanted = |tile: &TileCoord| self.tiles.as_ref().is_none_or(|tiles| tiles.contains(tile));
        let mut own = is_wanted(&tile).then(|| self.waiting.remove(&tile).unwrap_or_default());
        let mut n_own = 0;
        for point in points {
            if let Some(own) = &mut own {
                own.extend(point.to_bytes());
                n_own += 1;
            }
            for [dx, dz] in borders(point) {
                let Some(other) = tile.offset_wrapped(dx, dz).filter(is_wanted) else { continue };
                let seen = TilePoint { x: point.x - (EDGE * dx) as i16, z: point.z - (EDGE * dz) as i16, ..point };
                self.waiting.entry(other).or_default().extend(seen.to_bytes());
                self.waiting_bytes += TilePoint::BYTES;
            }
        }
        if let Some(own) = own {
            self.waiting_bytes += n_own * TilePoint::BYTES;
            *self.n_points.entry(tile).or_default() += n_own as u64;
            self.waiting.insert(tile, own);
        }
    }

    /// All points, by tile.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be used.
    pub fn finish(mut self) -> Result<SpiltPoints, InputError> {
        if self.file.is_some() {
            self.flush()?;
        }
        let Self { scratch, waiting, n_points, file, runs, .. } = self;
        Ok(SpiltPoints { scratch, waiting, n_points, file: file.map(Mutex::new), runs })
    }

    fn flush(&mut self) -> Result<(), InputError> {
        let Self { scratch, file, file_bytes, runs, waiting, .. } = self;
        let file = match file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&*scratch).map_err(|error| refused(scratch, &error))?),
        };
        for (tile, points) in std::mem::take(waiting) {
            file.write_all(&points).map_err(|error| refused(scratch, &error))?;
            let size_bytes = points.len() as u64;
            runs.entry(tile).or_default().push(Run { start: *file_bytes, size_bytes });
            *file_bytes += size_bytes;
        }
        self.waiting_bytes = 0;
        Ok(())
    }
}

/// The steps to the tiles at whose borders a point of a tile lies: up to three.
fn borders(point: TilePoint) -> impl Iterator<Item = [i64; 2]> {
    let step = |along: i16| match along {
        0 => -1,
        255 => 1,
        _ => 0,
    };
    let [dx, dz]: [i64; 2] = [step(point.x), step(point.z)];
    // The last is that of a corner, nowhere elsewhere.
    [[dx, 0], [0, dz], [dx * dz.abs(), dz * dx.abs()]].into_iter().filter(|&step| step != [0, 0])
}

/// The tile that a point lies in, and its column and row in it.
fn place(point: &CloudPoint) -> Option<(TileCoord, [u8; 2])> {
    let (x, z) = (wrap_x(point.place.x), point.place.z);
    let is_somewhere = point.place.x.is_finite()
        && (0.0..f64::from(WORLD_VOXELS)).contains(&z)
        && point.place.height_m.abs() <= HEIGHT_M_MAX;
    if !is_somewhere {
        return None;
    }
    let (x, z) = (x as u32, z as u32);
    let tile = TileCoord::new(ZOOM_FULL, x / REGION_VOXELS, z / REGION_VOXELS).ok()?;
    Some((tile, [(x % REGION_VOXELS) as u8, (z % REGION_VOXELS) as u8]))
}

fn refused(scratch: &Path, error: &std::io::Error) -> InputError {
    let scratch = scratch.display();
    let what = format!(
        "{scratch}: a temporary file of points cannot be used: {error}; expected a folder that can be written to, with room"
    );
    InputError::Refused { what }
}

/// Points, by tile.
#[derive(Debug)]
pub struct SpiltPoints {
    scratch: PathBuf,
    waiting: BTreeMap<TileCoord, Vec<u8>>,
    n_points: BTreeMap<TileCoord, u64>,
    file: Option<Mutex<File>>,
    runs: BTreeMap<TileCoord, Vec<Run>>,
}

impl SpiltPoints {
    /// The tiles that points lie in, sorted.
    pub fn tiles(&self) -> BTreeSet<TileCoord> {
        self.n_points.keys().copied().collect()
    }

    /// How many points lie in a tile.
    pub fn n_points(&self, tile: TileCoord) -> u64 {
        self.n_points.get(&tile).copied().unwrap_or_default()
    }

    /// Calls `point` for every point in a tile and in the columns round it, in the order in which they came.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be read.
    pub fn each(&self, tile: TileCoord, mut point: impl FnMut(TilePoint)) -> Result<(), InputError> {
        let mut take = |bytes: &[u8]| bytes.as_chunks().0.iter().for_each(|&bytes| point(TilePoint::from_bytes(bytes)));
        let mut buffer = Vec::new();
        for run in self.runs.get(&tile).into_iter().flatten() {
            let mut done = 0;
            while done < run.size_bytes {
                let n = (run.size_bytes - done).min(READ_BYTES as u64);
                buffer.resize(n as usize, 0);
                self.read_at(run.start + done, &mut buffer)?;
                take(&buffer);
                done += n;
            }
        }
        take(self.waiting.get(&tile).map_or(&[], Vec::as_slice));
        Ok(())
    }

    /// The points of a tile and of the columns round it, joined by voxel.
    ///
    /// # Errors
    ///
    /// As [`SpiltPoints::each`].
    pub fn bins(&self, tile: TileCoord) -> Result<PointBins, InputError> {
        let mut bins = PointBins::default();
        self.each(tile, |point| bins.add(point))?;
        Ok(bins)
    }

    fn read_at(&self, start: u64, buffer: &mut [u8]) -> Result<(), InputError> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(buffer));
        read.map_err(|error| refused(&self.scratch, &error))
    }
}
