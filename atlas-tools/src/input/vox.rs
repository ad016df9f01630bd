//! MagicaVoxel: models of voxels in a scene.
//!
//! Owns [`VoxFile`]. Yields a [`VoxelModel`] for each model that the scene shows, with the translations and rotations of
//! all nodes above it applied; hidden nodes and layers are left out, and of an animation the first frame is taken. A file
//! of before there were scenes yields its models where they are. Voxels keep the palette's colours; what a material does
//! with light is not looked at.
//!
//! The file's x is east, its y north, its z up. A model turns about its middle voxel, as MagicaVoxel does it: with `p` half
//! its size rounded down, the centre of voxel v stands at R (v - p + 1/2) + t.

use std::path::{Path, PathBuf};

use dot_vox::{Dict, DotVoxData, SceneNode};
use voxatlas::voxel::Colour;

use super::at::{At, named, turned_voxel};
use super::{FeatureId, InputError, Item, Problem, ReadOptions, Sink, Stream, VoxelModel, Wanted, extent};

/// Voxels of all models that a scene shows, a bound on time: a scene may show one model a million times.
const VOXELS_MAX: u64 = 1 << 30;

/// Voxels reach this far from the origin.
const REACH_MAX: i64 = 1 << 28;

/// A .vox file that stands somewhere.
#[derive(Debug, Clone)]
pub struct VoxFile {
    path: PathBuf,
    input: u32,
    read: ReadOptions,
    at: At,
}

impl VoxFile {
    /// A file at a place; the scale of `at` is the edge of a voxel in metres. Nothing is read yet.
    pub fn new(path: &Path, input: u32, read: ReadOptions, at: At) -> Self {
        Self { path: path.to_owned(), input, read, at }
    }

    fn malformed(&self, what: String) -> InputError {
        InputError::Malformed { path: self.path.clone(), what }
    }
}

impl Stream for VoxFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let quarters = quarters(&self.at).map_err(|what| self.malformed(what))?;
        let bytes = std::fs::read(&self.path).map_err(|error| InputError::Io { path: self.path.clone(), error })?;
        check(&bytes).map_err(|what| self.malformed(what))?;
        let data = dot_vox::load_bytes(&bytes).map_err(|error| self.malformed(format!("is no .vox file: {error}")))?;
        let n_bytes = bytes.len() as u64;
        drop(bytes);
        let mut scene = Scene { file: self, quarters, data: &data, wanted, n_voxels: 0, sink };
        scene.run()?;
        sink.progress(n_bytes);
        Ok(())
    }
}

/// Quarters of a turn that voxels stand at.
pub(super) fn quarters(at: &At) -> Result<u32, String> {
    at.quarters().ok_or_else(|| {
        format!("voxels turn by quarters only; the bearing is {}, expected a multiple of 90", at.bearing_deg())
    })
}

/// Checks the chunks against the bytes that are there. MAIN holds all others, and these hold none: the parser would
/// follow any depth.
fn check(bytes: &[u8]) -> Result<(), String> {
    let rest = bytes.strip_prefix(b"VOX ").ok_or("is no .vox file: it does not begin with \"VOX \"")?;
    let rest = rest.get(4..).ok_or("ends in its header")?;
    let (main, rest) = chunk(rest)?;
    if main.id != *b"MAIN" {
        return Err("its first chunk is not MAIN".to_owned());
    }
    let mut rest = rest.get(main.n_content..main.n_content.saturating_add(main.n_children)).ok_or_else(|| {
        format!("MAIN claims {} bytes, {} are there: the file is cut off", main.n_children, rest.len())
    })?;
    while !rest.is_empty() {
        let (chunk, content) = chunk(rest)?;
        let name = String::from_utf8_lossy(&chunk.id).into_owned();
        if !chunk.id.is_ascii() || chunk.n_children > 0 {
            return Err(format!("the chunk {name:?} is none that is known, or holds others: expected a flat file"));
        }
        rest = content
            .get(chunk.n_content..)
            .ok_or_else(|| format!("the chunk {name} claims {} bytes, {} are there", chunk.n_content, content.len()))?;
    }
    Ok(())
}

struct Chunk {
    id: [u8; 4],
    n_content: usize,
    n_children: usize,
}

fn chunk(bytes: &[u8]) -> Result<(Chunk, &[u8]), String> {
    let (header, rest) = bytes.split_first_chunk::<12>().ok_or("ends in the header of a chunk")?;
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *header;
    let n_content = u32::from_le_bytes([e, f, g, h]) as usize;
    Ok((Chunk { id: [a, b, c, d], n_content, n_children: u32::from_le_bytes([i, j, k, l]) as usize }, rest))
}

/// How a node stands: for each axis the axis of the model that it shows, and its sign; and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stance {
    rows: [(usize, i64); 3],
    at: [i64; 3],
}

impl Stance {
    const ORIGIN: Self = Self { rows: [(0, 1), (1, 1), (2, 1)], at: [0; 3] };

    fn turned(&self, point: [i64; 3]) -> [i64; 3] {
        self.rows.map(|(axis, sign)| sign * point[axis])
    }

    /// How what hangs below this stands in the scene.
    fn below(&self, inner: Self) -> Self {
        let rows = self.rows.map(|(axis, sign)| {
            let (inner_axis, inner_sign) = inner.rows[axis];
            (inner_axis, sign * inner_sign)
        });
        let moved = self.turned(inner.at);
        Self { rows, at: std::array::from_fn(|axis| self.at[axis].saturating_add(moved[axis])) }
    }

    /// The first frame of a transform; `None` where it cannot be read.
    fn of(frame: &Dict) -> Option<Self> {
        let rows = frame.get("_r").map_or(Some(Self::ORIGIN.rows), |text| rows_of(text.parse().ok()?))?;
        let at = match frame.get("_t") {
            None => [0; 3],
            Some(text) => {
                let figures: Vec<i64> =
                    text.split_ascii_whitespace().map_while(|c| c.parse::<i32>().ok()).map(i64::from).collect();
                figures.try_into().ok()?
            }
        };
        Some(Self { rows, at })
    }
}

/// A rotation in a byte: two bits for the place of the entry in the first row, two for that in the second, and a bit for
/// the sign of each row.
fn rows_of(byte: u8) -> Option<[(usize, i64); 3]> {
    let (first, second) = (usize::from(byte & 3), usize::from(byte >> 2 & 3));
    if first == second || first > 2 || second > 2 {
        return None;
    }
    let sign = |bit: u8| if byte >> bit & 1 == 1 { -1 } else { 1 };
    Some([(first, sign(4)), (second, sign(5)), (3 - first - second, sign(6))])
}

/// A node that waits to be met.
struct Waiting {
    node: usize,
    stance: Stance,
    name: String,
}

struct Scene<'a> {
    file: &'a VoxFile,
    quarters: u32,
    data: &'a DotVoxData,
    wanted: &'a Wanted,
    n_voxels: u64,
    sink: &'a mut dyn Sink,
}

impl Scene<'_> {
    fn run(&mut self) -> Result<(), InputError> {
        if self.data.scenes.is_empty() {
            for model in 0..self.data.models.len() {
                let half = self.half(model);
                self.show(model, model as u64, String::new(), Stance { at: half, ..Stance::ORIGIN })?;
            }
            return Ok(());
        }
        let mut seen = vec![false; self.data.scenes.len()];
        let mut waiting = vec![Waiting { node: 0, stance: Stance::ORIGIN, name: String::new() }];
        while let Some(next) = waiting.pop() {
            match seen.get_mut(next.node) {
                Some(seen) if !*seen => *seen = true,
                // It is not there, or the scene is no tree.
                _ => {
                    self.sink.problem(&next.name, Problem::DanglingReference);
                    continue;
                }
            }
            self.node(next, &mut waiting)?;
        }
        Ok(())
    }

    fn node(&mut self, Waiting { node, stance, name }: Waiting, waiting: &mut Vec<Waiting>) -> Result<(), InputError> {
        let data = self.data;
        match &data.scenes[node] {
            SceneNode::Transform { attributes, frames, child, layer_id } => {
                let is_hidden_layer = data.layers.get(*layer_id as usize).is_some_and(dot_vox::Layer::hidden);
                if is_hidden_layer || attributes.get("_hidden").is_some_and(|value| value == "1") {
                    return Ok(());
                }
                let name = attributes.get("_name").cloned().unwrap_or(name);
                let inner = frames.first().map_or(Some(Stance::ORIGIN), |frame| Stance::of(&frame.attributes));
                if inner.is_none() {
                    self.sink.problem(&name, Problem::BadRecord);
                }
                let stance = stance.below(inner.unwrap_or(Stance::ORIGIN));
                waiting.push(Waiting { node: *child as usize, stance, name });
            }
            SceneNode::Group { children, .. } => {
                // The last waits longest, so that they are met in their order.
                let child = |&child: &u32| Waiting { node: child as usize, stance, name: name.clone() };
                waiting.extend(children.iter().rev().map(child));
            }
            SceneNode::Shape { models, .. } => {
                if let Some(model) = models.first() {
                    return self.show(model.model_id as usize, node as u64, name, stance);
                }
            }
        }
        Ok(())
    }

    /// Half the size of a model, the point that it turns about.
    fn half(&self, model: usize) -> [i64; 3] {
        let Some(model) = self.data.models.get(model) else { return [0; 3] };
        [model.size.x, model.size.y, model.size.z].map(|size| i64::from(size / 2))
    }

    fn show(&mut self, model_idx: usize, nth: u64, name: String, stance: Stance) -> Result<(), InputError> {
        let Some(model) = self.data.models.get(model_idx) else {
            self.sink.problem(&name, Problem::DanglingReference);
            return Ok(());
        };
        self.n_voxels += model.voxels.len() as u64;
        if self.n_voxels > VOXELS_MAX {
            let what = format!("its scene shows more than {VOXELS_MAX} voxels: split it");
            return Err(self.file.malformed(what));
        }
        if model.voxels.is_empty() {
            return Ok(());
        }
        if stance.at.iter().any(|c| c.abs() > REACH_MAX) {
            self.sink.problem(&name, Problem::BadCoordinate);
            return Ok(());
        }
        let half = self.half(model_idx);
        let mut voxels: Vec<([i32; 3], Colour)> = model
            .voxels
            .iter()
            .map(|voxel| {
                let at = placed([voxel.x, voxel.y, voxel.z].map(i64::from), half, &stance);
                let colour = self.data.palette.get(usize::from(voxel.i)).map_or([128; 3], |c| [c.r, c.g, c.b]);
                (turned_voxel(at, self.quarters), colour)
            })
            .collect();
        // Each once: the last one counts.
        voxels.sort_by_key(|&(at, _)| at);
        voxels.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = next.1;
            }
            is_same
        });
        let frame = self.file.at.frame();
        let id = FeatureId::Nth { input: self.file.input, nth };
        let named = named(id, name, &self.file.read);
        let model = VoxelModel { named, corner: frame.origin, edge: frame.unit_voxels, voxels };
        match extent::of_voxels(&model) {
            Some(bounds) if self.wanted.meets(bounds) => self.sink.item(Item::Voxels(model)),
            _ => Ok(()),
        }
    }
}

/// Where a voxel of a model stands: x east, y up, z south.
fn placed(voxel: [i64; 3], half: [i64; 3], stance: &Stance) -> [i32; 3] {
    // Twice the place of its centre from the model's middle, so that all is whole.
    let doubled = stance.turned(std::array::from_fn(|axis| 2 * (voxel[axis] - half[axis]) + 1));
    let [x, y, z] = std::array::from_fn(|axis| ((doubled[axis] - 1) / 2 + stance.at[axis]) as i32);
    [x, z, !y]
}

#[cfg(test)]
#[path = "vox_tests.rs"]
mod tests;
