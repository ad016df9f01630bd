//! glTF 2.0 in one file: a node a region, its surface in rectangles of one colour with the colour at the corners.
//!
//! y is up, x east, z south, in metres; the origin is the middle of the regions at the height of the datum. Vertex colours
//! of glTF are linear, ours are sRGB: 16 bits a channel keep all of them apart.

use std::io::{self, BufWriter, Write as _};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::frame::Frame;
use super::rects::{Rect, rects};
use super::spool::Spool;
use super::{Done, Job};
use crate::output::{OutputError, PartFile};

/// glTF's numbers for the types of components.
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const FLOAT: u32 = 5126;

/// What a buffer view holds.
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// Writes the model.
pub(super) fn write(job: &Job<'_>) -> anyhow::Result<Done> {
    job.expect_placed()?;
    let frame = Frame::new(job.regions.keys(), job.regions.tileset().base());
    let linear = linear_from_srgb();
    let mut model = Model {
        bin: Spool::beside(job.out)?,
        nodes: Vec::new(),
        meshes: Vec::new(),
        views: Vec::new(),
        accessors: Vec::new(),
    };
    let mut n_rects = 0;
    let mut walk = job.walk("regions");
    walk.each(
        |visited| Part::of(&rects(visited.region), frame.scale_m(visited.key), &linear),
        |key, part| {
            if part.n_rects > 0 {
                n_rects += part.n_rects;
                model.add(&key.to_string(), frame.corner_m(key), &part)?;
            }
            Ok(())
        },
    )?;
    let place = frame.place();
    let extras = json!({
        "origin_lon_lat_deg": [place.lon_deg(), place.lat_deg()],
        "metres_per_voxel": frame.voxel_m,
    });
    let attribution = job.regions.tileset().attribution.as_deref();
    model.write(job, attribution, &extras)?;
    Ok(job.done(walk, vec![format!("{n_rects} rectangles")]))
}

/// The buffers of one region.
struct Part {
    n_rects: usize,
    positions: Vec<u8>,
    normals: Vec<u8>,
    colours: Vec<u8>,
    indices: Vec<u8>,
    min: [f32; 3],
    max: [f32; 3],
}

impl Part {
    fn of(rects: &[Rect], scale_m: f64, linear: &[u16; 256]) -> Self {
        let mut part = Self {
            n_rects: rects.len(),
            positions: Vec::with_capacity(rects.len() * 48),
            normals: Vec::with_capacity(rects.len() * 48),
            colours: Vec::with_capacity(rects.len() * 32),
            indices: Vec::with_capacity(rects.len() * 24),
            min: [f32::INFINITY; 3],
            max: [f32::NEG_INFINITY; 3],
        };
        for (rect, first) in rects.iter().zip((0u32..).step_by(4)) {
            let mut normal = [0f32; 3];
            normal[rect.face.axis()] = if rect.face.is_positive() { 1.0 } else { -1.0 };
            for corner in rect.corners {
                let metres = corner.map(|c| (f64::from(c) * scale_m) as f32);
                part.min = std::array::from_fn(|axis| part.min[axis].min(metres[axis]));
                part.max = std::array::from_fn(|axis| part.max[axis].max(metres[axis]));
                part.positions.extend(metres.into_iter().flat_map(f32::to_le_bytes));
                part.normals.extend(normal.into_iter().flat_map(f32::to_le_bytes));
                let [r, g, b] = rect.colour.map(|channel| linear[usize::from(channel)]);
                part.colours.extend([r, g, b, u16::MAX].into_iter().flat_map(u16::to_le_bytes));
            }
            part.indices.extend([0, 1, 2, 0, 2, 3].into_iter().flat_map(|corner: u32| (first + corner).to_le_bytes()));
        }
        part
    }
}

/// A model that is being gathered.
struct Model {
    bin: Spool,
    nodes: Vec<Value>,
    meshes: Vec<Value>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Model {
    fn add(&mut self, name: &str, translation_m: [f64; 3], part: &Part) -> Result<(), OutputError> {
        let (n_vertices, n_indices) = (part.n_rects * 4, part.n_rects * 6);
        let position = self.view(&part.positions, 12, ARRAY_BUFFER)?;
        let position = self.accessor(json!({
            "bufferView": position, "componentType": FLOAT, "count": n_vertices, "type": "VEC3",
            "min": part.min, "max": part.max,
        }));
        let normal = self.view(&part.normals, 12, ARRAY_BUFFER)?;
        let normal = self.accessor(json!({
            "bufferView": normal, "componentType": FLOAT, "count": n_vertices, "type": "VEC3",
        }));
        let colour = self.view(&part.colours, 8, ARRAY_BUFFER)?;
        let colour = self.accessor(json!({
            "bufferView": colour, "componentType": UNSIGNED_SHORT, "normalized": true, "count": n_vertices, "type": "VEC4",
        }));
        let indices = self.view(&part.indices, 0, ELEMENT_ARRAY_BUFFER)?;
        let indices = self.accessor(json!({
            "bufferView": indices, "componentType": UNSIGNED_INT, "count": n_indices, "type": "SCALAR",
        }));
        let attributes = json!({ "POSITION": position, "NORMAL": normal, "COLOR_0": colour });
        let primitive = json!({ "attributes": attributes, "indices": indices, "material": 0 });
        self.meshes.push(json!({ "name": name, "primitives": [primitive] }));
        let mesh = self.meshes.len() - 1;
        self.nodes.push(json!({ "name": name, "mesh": mesh, "translation": translation_m }));
        Ok(())
    }

    /// Puts bytes into the buffer; the number of the view on them. A stride of 0 is not said.
    fn view(&mut self, bytes: &[u8], stride: usize, target: u32) -> Result<usize, OutputError> {
        let mut view =
            json!({ "buffer": 0, "byteOffset": self.bin.size_bytes(), "byteLength": bytes.len(), "target": target });
        if stride > 0 {
            view["byteStride"] = json!(stride);
        }
        self.bin.put(bytes)?;
        self.views.push(view);
        Ok(self.views.len() - 1)
    }

    fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn write(self, job: &Job<'_>, attribution: Option<&str>, extras: &Value) -> anyhow::Result<()> {
        let bin_bytes = self.bin.size_bytes();
        let mut asset = json!({ "version": "2.0", "generator": "voxatlas atlas-tools", "extras": extras });
        if let Some(attribution) = attribution {
            asset["copyright"] = json!(attribution);
        }
        let mut document = json!({
            "asset": asset,
            "scene": 0,
            "scenes": [{ "nodes": (0..self.nodes.len()).collect::<Vec<_>>() }],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": [{ "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 1.0 } }],
            "bufferViews": self.views,
            "accessors": self.accessors,
            "buffers": [{ "byteLength": bin_bytes }],
        });
        if bin_bytes == 0 {
            // Empty lists are no glTF, and some readers know no scene without a node.
            document =
                json!({ "asset": asset, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "name": "air" }] });
        }
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let chunks_bytes = 12 + 8 + text.len() as u64 + if bin_bytes > 0 { 8 + bin_bytes } else { 0 };
        let Ok(file_bytes) = u32::try_from(chunks_bytes) else {
            bail!("{}: more than 4 GiB, which the format has no number for: expected fewer regions", job.out.display());
        };
        let part = PartFile::create(job.out)?;
        let write = || -> io::Result<()> {
            let mut file = BufWriter::new(part.file());
            file.write_all(b"glTF")?;
            for number in [2, file_bytes, text.len() as u32] {
                file.write_all(&number.to_le_bytes())?;
            }
            file.write_all(b"JSON")?;
            file.write_all(&text)?;
            if bin_bytes > 0 {
                // All views hold whole words, so that the buffer needs no padding.
                file.write_all(&(bin_bytes as u32).to_le_bytes())?;
                file.write_all(b"BIN\0")?;
                self.bin.copy_into(&mut file)?;
            }
            file.flush()
        };
        write().with_context(|| format!("{}: cannot be written", job.out.display()))?;
        Ok(part.finish()?)
    }
}

/// The linear value of each sRGB value (IEC 61966-2-1), as a share of 65535.
fn linear_from_srgb() -> [u16; 256] {
    std::array::from_fn(|value| {
        let srgb = value as f64 / 255.0;
        let linear = if srgb <= 0.040_45 { srgb / 12.92 } else { libm::pow((srgb + 0.055) / 1.055, 2.4) };
        (linear * 65_535.0 + 0.5) as u16
    })
}
