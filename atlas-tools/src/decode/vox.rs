//! MagicaVoxel scenes: a model of 256^3 a region, placed beside each other by `nTRN` nodes.
//!
//! ```text
//! "VOX " 200, MAIN { SIZE, XYZI a model; nTRN, nGRP, and nTRN, nSHP a model; RGBA }
//! a chunk: name, bytes of its content, bytes of its children, content, children; all numbers little-endian
//! ```
//!
//! MagicaVoxel's axes are x to the right, y away, z up: ours are x, -z and y, so that nothing is mirrored.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};

use anyhow::{Context as _, bail};
use voxatlas::geo::RegionKey;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Region;

use super::palette::Palette;
use super::{Done, Job};
use crate::contents::{ColourCounts, count_colours};
use crate::output::PartFile;

/// Colours that a scene has room for: index 0 is air.
const COLOURS_MAX: usize = 255;

/// Where the number of bytes of MAIN's children stands.
const CHILDREN_AT: u64 = 16;

/// Bytes before them: the file's head and MAIN's own.
const HEAD_BYTES: u64 = 20;

/// Writes the scene. The regions are walked over twice: for their colours, then for their voxels.
pub(super) fn write(job: &Job<'_>) -> anyhow::Result<Done> {
    let mut counts = ColourCounts::new();
    job.walk("regions counted").each(
        |visited| count_colours(visited.region),
        |_, more| {
            for (colour, n) in more {
                *counts.entry(colour).or_default() += n;
            }
            Ok(())
        },
    )?;
    let palette = Palette::of(&counts, COLOURS_MAX);

    let part = PartFile::create(job.out)?;
    let fail = || format!("{}: cannot be written", job.out.display());
    let mut scene = Scene::begin(part.file()).with_context(fail)?;
    let mut walk = job.walk("models");
    walk.each(
        |visited| voxels(visited.region, &palette),
        |key, voxels| {
            scene.add_model(key, &voxels).with_context(fail)?;
            if scene.size_bytes > u64::from(u32::MAX) {
                bail!(
                    "{}: more than 4 GiB, which the format has no number for: expected fewer regions",
                    job.out.display()
                );
            }
            Ok(())
        },
    )?;
    scene.end(&palette).with_context(fail)?;
    part.finish()?;
    let notes = match counts.len() {
        n if n > palette.colours.len() => vec![format!("{n} colours became {}", palette.colours.len())],
        n => vec![format!("{n} colours")],
    };
    Ok(job.done(walk, notes))
}

/// The voxels of a model: x, y, z of MagicaVoxel and the colour's index, counted from 1.
fn voxels(region: &Region, palette: &Palette) -> Vec<u8> {
    let mut voxels = Vec::with_capacity(region.occupancy.count() as usize * 4);
    // Neighbours mostly share a colour.
    let mut last = ([0; 3], palette.index([0; 3]));
    for (row_idx, row) in region.occupancy.rows().iter().enumerate() {
        let (y, z) = (row_idx as u32 % REGION_VOXELS, row_idx as u32 / REGION_VOXELS);
        for (word_idx, &word) in row.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let x = word_idx as u32 * 64 + rest.trailing_zeros();
                rest &= rest - 1;
                let colour = region.colours.get(x, y, z);
                if colour != last.0 {
                    last = (colour, palette.index(colour));
                }
                voxels.extend([x as u8, (REGION_VOXELS - 1 - z) as u8, y as u8, last.1 + 1]);
            }
        }
    }
    voxels
}

/// A scene that is being written.
struct Scene<'a> {
    file: BufWriter<&'a File>,
    size_bytes: u64,
    models: Vec<RegionKey>,
}

impl<'a> Scene<'a> {
    fn begin(file: &'a File) -> io::Result<Self> {
        let mut scene = Self { file: BufWriter::new(file), size_bytes: HEAD_BYTES, models: Vec::new() };
        scene.file.write_all(b"VOX \xC8\0\0\0MAIN\0\0\0\0\0\0\0\0")?;
        Ok(scene)
    }

    fn add_model(&mut self, key: RegionKey, voxels: &[u8]) -> io::Result<()> {
        self.models.push(key);
        self.chunk(*b"SIZE", &[REGION_VOXELS.to_le_bytes(); 3].concat())?;
        let n_voxels = (voxels.len() / 4) as u32;
        self.chunk(*b"XYZI", &[&n_voxels.to_le_bytes(), voxels].concat())
    }

    /// Writes where the models stand, and their colours.
    fn end(mut self, palette: &Palette) -> io::Result<()> {
        let (root, group) = (0, 1);
        self.chunk(*b"nTRN", &transform(root, group, None))?;
        let models = std::mem::take(&mut self.models);
        let ids = |idx: usize| (2 + 2 * idx as i32, 3 + 2 * idx as i32);
        let mut content = numbers(&[group, 0, models.len() as i32]);
        content.extend(numbers(&(0..models.len()).map(|idx| ids(idx).0).collect::<Vec<_>>()));
        self.chunk(*b"nGRP", &content)?;
        for (idx, place) in places(&models).into_iter().enumerate() {
            let (node, shape) = ids(idx);
            self.chunk(*b"nTRN", &transform(node, shape, Some(place)))?;
            self.chunk(*b"nSHP", &numbers(&[shape, 0, 1, idx as i32, 0]))?;
        }
        let mut colours = vec![[0, 0, 0, 255]; 256];
        for (entry, &[r, g, b]) in colours.iter_mut().zip(&palette.colours) {
            *entry = [r, g, b, 255];
        }
        self.chunk(*b"RGBA", colours.as_flattened())?;
        let children_bytes = (self.size_bytes - HEAD_BYTES) as u32;
        self.file.seek(SeekFrom::Start(CHILDREN_AT))?;
        self.file.write_all(&children_bytes.to_le_bytes())?;
        self.file.flush()
    }

    fn chunk(&mut self, name: [u8; 4], content: &[u8]) -> io::Result<()> {
        self.file.write_all(&name)?;
        self.file.write_all(&(content.len() as u32).to_le_bytes())?;
        self.file.write_all(&[0; 4])?;
        self.file.write_all(content)?;
        self.size_bytes += 12 + content.len() as u64;
        Ok(())
    }
}

/// The middle of each model, from the scene's lowest corner.
fn places(models: &[RegionKey]) -> Vec<[i64; 3]> {
    let corners: Vec<[i64; 3]> =
        models.iter().map(|key| [i64::from(key.tile.x()), -i64::from(key.tile.y()), i64::from(key.layer)]).collect();
    let low: [i64; 3] = std::array::from_fn(|axis| corners.iter().map(|corner| corner[axis]).min().unwrap_or(0));
    let edge = i64::from(REGION_VOXELS);
    corners.iter().map(|corner| std::array::from_fn(|axis| (corner[axis] - low[axis]) * edge + edge / 2)).collect()
}

/// An `nTRN` node: its id, an empty dictionary, its child, no reserved value, layer 0, and one frame.
fn transform(node: i32, child: i32, place: Option<[i64; 3]>) -> Vec<u8> {
    let mut content = numbers(&[node, 0, child, -1, 0, 1]);
    match place {
        None => content.extend(numbers(&[0])),
        Some([x, y, z]) => {
            content.extend(numbers(&[1]));
            for text in ["_t".to_owned(), format!("{x} {y} {z}")] {
                content.extend(numbers(&[text.len() as i32]));
                content.extend(text.as_bytes());
            }
        }
    }
    content
}

fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
