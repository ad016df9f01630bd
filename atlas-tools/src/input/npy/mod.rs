//! NumPy arrays of voxels: `.npy`, and the arrays of an `.npz`.
//!
//! Owns [`NpyFile`]. An array of three dimensions says what is there: a voxel wherever it is not zero (and is a number).
//! One with a fourth of 3 or 4 says in which colour: red, green, blue, where all three zero is nothing; with alpha, where
//! alpha zero is nothing. Whole numbers are 0..=255, others shares of 0..=1. The indices are x (east), y (up) and z (south), as in an atlas, unless
//! [`NpyFile::with_axes`] says otherwise. It does not guess at records, complex numbers or pickled objects.
//!
//! ```text
//! array[x, y, z]   array[0, 0, 0] is the lowest voxel in the north-west
//! ```

mod array;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use voxatlas::geo::TileCoord;
use voxatlas::limits::{REGION_VOXELS, ZOOM_FULL};
use voxatlas::voxel::Colour;

use self::array::{Array, Voxels};
use super::at::{At, named, turned_voxel};
use super::{FeatureId, InputError, Item, Place, ReadOptions, Sink, Stream, VoxelModel, Wanted, extent, vox};

/// The colour of a voxel of which nothing is said: plaster.
const PLAIN: Colour = [204, 200, 192];

/// Voxels that are yielded at once: 16 MiB.
const BATCH_VOXELS: usize = 1 << 20;

/// The lowest voxel of a tile's region where nothing is said: the base of a tileset without terrain.
const FLOOR_Y: i32 = -32;

/// Where an array stands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum NpyPlace {
    /// At a place, its corner of least x, y and z; the scale is the edge of a voxel in metres.
    At(At),
    /// Exactly on a tile, voxel on voxel.
    Tile {
        /// Of zoom 17: its north-west corner is the array's.
        tile: TileCoord,
        /// World y of the array's lowest voxel, in voxels above the datum.
        floor_y: i32,
    },
}

impl FromStr for NpyPlace {
    type Err = String;

    /// LON,LAT, LON,LAT,HEIGHT_M, 17/X/Y or 17/X/Y,FLOOR_Y.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('/') {
            return text.parse().map(Self::At).map_err(|error: super::AtError| error.to_string());
        }
        let malformed =
            || format!("\"{text}\" is no tile: expected 17/X/Y or 17/X/Y,FLOOR_Y, such as 17/116415/51623,-32");
        let (tile, floor_y) = match text.split_once(',') {
            None => (text, FLOOR_Y),
            Some((tile, floor_y)) => (tile, floor_y.trim().parse().map_err(|_| malformed())?),
        };
        let tile: TileCoord = tile.trim().parse().map_err(|_| malformed())?;
        if tile.zoom() != ZOOM_FULL {
            return Err(malformed());
        }
        Ok(Self::Tile { tile, floor_y })
    }
}

impl NpyPlace {
    /// The corner of voxel (0, 0, 0), and the edge of a voxel in z17 voxels.
    fn corner(&self) -> (Place, f64) {
        match *self {
            Self::At(at) => (at.frame().origin, at.frame().unit_voxels),
            Self::Tile { tile, floor_y } => {
                let [x, z] = [tile.x(), tile.y()].map(|c| f64::from(c) * f64::from(REGION_VOXELS));
                (Place { x, z, height_m: f64::from(floor_y) * tile.metres_per_voxel() }, 1.0)
            }
        }
    }
}

/// An array file that stands somewhere.
#[derive(Debug, Clone)]
pub struct NpyFile {
    path: PathBuf,
    input: u32,
    read: ReadOptions,
    place: NpyPlace,
    /// By dimension of the array: its axis in the atlas.
    axes: [usize; 3],
}

impl NpyFile {
    /// A file at a place, its indices x, y, z. Nothing is read yet.
    pub fn new(path: &Path, input: u32, read: ReadOptions, place: NpyPlace) -> Self {
        Self { path: path.to_owned(), input, read, place, axes: [0, 1, 2] }
    }

    /// Says which axis each index is: "zyx" for an array that is asked as `array[z, y, x]`.
    ///
    /// # Errors
    ///
    /// It is not x, y and z in some order.
    pub fn with_axes(mut self, axes: &str) -> Result<Self, String> {
        let malformed = || format!("\"{axes}\" are no axes: expected x (east), y (up) and z (south) in some order");
        let places: Option<Vec<usize>> = axes.chars().map(|axis| "xyz".find(axis)).collect();
        self.axes = places.and_then(|places| places.try_into().ok()).ok_or_else(malformed)?;
        let mut sorted = self.axes;
        sorted.sort_unstable();
        if sorted == [0, 1, 2] { Ok(self) } else { Err(malformed()) }
    }

    fn io(&self, error: std::io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), error }
    }

    fn malformed(&self, what: &str) -> InputError {
        InputError::Malformed { path: self.path.clone(), what: what.to_owned() }
    }

    /// Yields an array's voxels, a batch at a time.
    fn yield_array(
        &self,
        name: &str,
        nth: u64,
        array: &Array,
        wanted: &Wanted,
        sink: &mut dyn Sink,
    ) -> Result<(), InputError> {
        let voxels = Voxels::of(array).map_err(|what| self.malformed(&format!("{name}: {what}")))?;
        let quarters = match &self.place {
            NpyPlace::At(at) => vox::quarters(at).map_err(|what| self.malformed(&what))?,
            NpyPlace::Tile { .. } => 0,
        };
        let (corner, edge) = self.place.corner();
        let mut flush = |voxels: Vec<([i32; 3], Colour)>| {
            let named = named(FeatureId::Nth { input: self.input, nth }, name.to_owned(), &self.read);
            let model = VoxelModel { named, corner, edge, voxels };
            match extent::of_voxels(&model) {
                Some(bounds) if wanted.meets(bounds) => sink.item(Item::Voxels(model)),
                _ => Ok(()),
            }
        };
        let mut batch = Vec::new();
        let [n_a, n_b, n_c] = voxels.size();
        for (a, b) in (0..n_a).flat_map(|a| (0..n_b).map(move |b| (a, b))) {
            for c in 0..n_c {
                let Some(colour) = self.colour(&voxels, [a, b, c]) else { continue };
                let mut at = [0; 3];
                for (dimension, idx) in [a, b, c].into_iter().enumerate() {
                    at[self.axes[dimension]] = idx as i32;
                }
                batch.push((turned_voxel(at, quarters), colour));
            }
            if batch.len() >= BATCH_VOXELS {
                flush(std::mem::take(&mut batch))?;
            }
        }
        flush(batch)
    }

    /// The colour of a voxel, `None` where there is none.
    fn colour(&self, voxels: &Voxels<'_>, at: [usize; 3]) -> Option<Colour> {
        if voxels.has_colours() {
            return voxels.colour(at);
        }
        let value = voxels.value(at).filter(|&value| value != 0.0)?;
        let Some((_, colours)) = &self.read.colour_by else { return Some(PLAIN) };
        Some(colours.get(&value.to_string()).or_else(|| colours.get("*")).copied().unwrap_or(PLAIN))
    }
}

impl Stream for NpyFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let mut file = BufReader::new(File::open(&self.path).map_err(|error| self.io(error))?);
        let mut magic = [0; 2];
        let is_archive = file.read_exact(&mut magic).is_ok() && magic == *b"PK";
        file.rewind().map_err(|error| self.io(error))?;
        if !is_archive {
            let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
            let array = Array::read(&mut file).map_err(|what| self.malformed(&what))?;
            self.yield_array(&name, 0, &array, wanted, sink)?;
            sink.progress(array.bytes().len() as u64);
            return Ok(());
        }
        let failed = |error: &dyn std::fmt::Display| self.malformed(&format!("is no .npz that can be read: {error}"));
        let mut archive = zip::ZipArchive::new(file).map_err(|error| failed(&error))?;
        let mut n_bytes = 0;
        for nth in 0..archive.len() {
            let mut entry = archive.by_index(nth).map_err(|error| failed(&error))?;
            let name = entry.name().map_err(|error| failed(&error))?.into_owned();
            let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
            let array = Array::read(&mut entry).map_err(|what| self.malformed(&format!("{name}: {what}")))?;
            n_bytes += entry.compressed_size();
            drop(entry);
            self.yield_array(&name, nth as u64, &array, wanted, sink)?;
            sink.progress(n_bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../npy_tests.rs"]
mod tests;
