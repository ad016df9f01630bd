//! What was made of a tile: a line of a manifest.
//!
//! A record tells the files and their hashes, what was counted, and two hashes an edge: of the tile's own outermost
//! columns, and of the columns that it expects in its neighbour. Where tiles were made apart, a neighbour's own columns
//! must be those that were expected of it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use voxatlas::geo::{RegionKey, TileCoord};
use voxatlas::limits::REGION_VOXELS;

use crate::input::Fallback;
use crate::scatter::Scatter;
use crate::voxelise::{LAYERS, Voxeliser, layer_range};

/// What was made of a tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TileRecord {
    /// The tile.
    pub tile: TileCoord,
    /// Its files, from the lowest layer.
    pub files: Vec<FileRecord>,
    /// What was counted.
    pub counts: Counts,
    /// Its outermost columns.
    pub borders: Edges,
    /// The columns that it expects beside it.
    pub aprons: Edges,
}

impl TileRecord {
    /// The regions that it has.
    pub fn keys(&self) -> impl Iterator<Item = RegionKey> + '_ {
        self.files.iter().filter_map(|file| Some(RegionKey::new(self.tile, file.layer?)))
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its place in the tileset.
    pub name: String,
    /// The layer of the region in it; `None` where it holds attributes.
    pub layer: Option<i32>,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Occupied voxels in it.
    pub voxels: u64,
}

/// What is counted in a tile. The sums over all tiles do not depend on how they were shared out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Features, each counted in the lowest tile of the run that holds a copy of it.
    pub features: u64,
    /// Their copies in the source tiles.
    pub feature_copies: u64,
    /// Features whose height is the fallback, by why.
    pub fallbacks: Fallbacks,
    /// Points of point clouds in the tile.
    pub points: u64,
    /// Voxels that were left out, above or below what the layers hold.
    pub voxels_clipped: u64,
    /// Tiles on which nothing stands.
    pub tiles_empty: u64,
}

/// Features that have the fallback height.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallbacks {
    /// They have none, or one that is no number.
    pub missing: u64,
    /// Theirs is zero.
    pub zero: u64,
    /// Theirs is negative.
    pub negative: u64,
}

impl Fallbacks {
    /// Counts a feature's height.
    pub fn add(&mut self, fallback: Option<Fallback>) {
        match fallback {
            Some(Fallback::Missing) => self.missing += 1,
            Some(Fallback::Zero) => self.zero += 1,
            Some(Fallback::Negative) => self.negative += 1,
            None => {}
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.features += other.features;
        self.feature_copies += other.feature_copies;
        self.fallbacks.missing += other.fallbacks.missing;
        self.fallbacks.zero += other.fallbacks.zero;
        self.fallbacks.negative += other.fallbacks.negative;
        self.points += other.points;
        self.voxels_clipped += other.voxels_clipped;
        self.tiles_empty += other.tiles_empty;
    }
}

/// A hash an edge: of the occupied voxels of 256 columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edges {
    /// The columns along the west edge, from the north.
    pub west: String,
    /// The columns along the north edge, from the west.
    pub north: String,
    /// The columns along the east edge, from the north.
    pub east: String,
    /// The columns along the south edge, from the west.
    pub south: String,
}

impl Edges {
    /// The edges of a tile, `outside` columns beyond its own outermost ones: 0 or 1.
    pub(super) fn of(voxeliser: &Voxeliser<'_>, scatter: &Scatter, outside: i32) -> Self {
        let last = REGION_VOXELS as i32 - 1;
        let along = 0..=last;
        let mut columns = EdgeColumns::new(scatter);
        let (low, high) = (-outside, last + outside);
        Self {
            west: columns.hash(voxeliser, along.clone().map(|z| (low, z))),
            north: columns.hash(voxeliser, along.clone().map(|x| (x, low))),
            east: columns.hash(voxeliser, along.clone().map(|z| (high, z))),
            south: columns.hash(voxeliser, along.map(|x| (x, high))),
        }
    }
}

/// Scatter by column, for the few columns that are hashed.
struct EdgeColumns {
    /// By x, z, y.
    dots: Vec<(i16, i16, i32)>,
    pieces: Vec<(i32, i32)>,
}

impl EdgeColumns {
    fn new(scatter: &Scatter) -> Self {
        let last = REGION_VOXELS as i16 - 1;
        let is_edge = |place: i16| place <= 0 || place >= last;
        let dots = scatter.dots().iter().filter(|dot| is_edge(dot.x) || is_edge(dot.z));
        let mut dots: Vec<_> = dots.map(|dot| (dot.x, dot.z, dot.y)).collect();
        dots.sort_unstable();
        Self { dots, pieces: Vec::new() }
    }

    fn hash(&mut self, voxeliser: &Voxeliser<'_>, columns: impl Iterator<Item = (i32, i32)>) -> String {
        let mut hasher = Sha256::new();
        for (x, z) in columns {
            self.collect(voxeliser, x, z);
            hasher.update((self.pieces.len() as u32).to_le_bytes());
            for (bottom, top) in &self.pieces {
                hasher.update(bottom.to_le_bytes());
                hasher.update(top.to_le_bytes());
            }
        }
        hex(&hasher.finalize()[..8])
    }

    /// Fills `pieces` with the occupied runs of a column, from low to high, none touching another.
    fn collect(&mut self, voxeliser: &Voxeliser<'_>, x: i32, z: i32) {
        let (low, high) = (layer_range(LAYERS.start).start, layer_range(LAYERS.end - 1).end);
        self.pieces.clear();
        // How far the ground goes down is a matter of each tile: it counts as bottomless.
        voxeliser.column(x, z, |bottom, top, is_ground| {
            let bottom = if is_ground { low } else { bottom.max(low) };
            self.pieces.push((bottom, top.min(high)));
        });
        let key = (x as i16, z as i16);
        let from = self.dots.partition_point(|&(x, z, _)| (x, z) < key);
        let dots = self.dots[from..].iter().take_while(|&&(x, z, _)| (x, z) == key);
        self.pieces.extend(dots.map(|&(_, _, y)| (y, y + 1)).filter(|&(y, _)| (low..high).contains(&y)));
        self.pieces.retain(|(bottom, top)| bottom < top);
        self.pieces.sort_unstable();
        self.pieces.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
