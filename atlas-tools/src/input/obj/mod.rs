//! Wavefront OBJ: objects of faces, with materials in files beside it.
//!
//! Owns [`ObjFile`]. Yields a [`Model`] for each object or group, in the order of the file, which is read a line at a
//! time: only its points are kept, since a face may name any of them. Concave faces are cut into triangles as every other
//! face is. It reads neither curves nor lines, and normals are not needed to stand somewhere.

mod mtl;

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use voxatlas::voxel::Colour;

use self::mtl::Material;
use super::at::{At, AtFrame, Up, named};
use super::{
    FeatureId, InputError, Item, Model, Paint, Place, Problem, ReadOptions, Sink, Stream, Surface, SurfaceKind,
    Texture, Wanted, extent,
};
use crate::geometry::{Corner, triangulate_corners};

/// Bytes of a line, with those that continue it.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Triangles of an object that are yielded as one model, a bound on memory: 100 MiB. A larger one comes in pieces.
const OBJECT_TRIANGLES_MAX: usize = 1 << 20;

/// Bytes between two words of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

/// An OBJ file that stands somewhere.
#[derive(Debug, Clone)]
pub struct ObjFile {
    path: PathBuf,
    input: u32,
    read: ReadOptions,
    at: At,
    up: Up,
}

impl ObjFile {
    /// A file at a place; `up` is its axis that points up, y for most. Nothing is read yet.
    pub fn new(path: &Path, input: u32, read: ReadOptions, at: At, up: Up) -> Self {
        Self { path: path.to_owned(), input, read, at, up }
    }
}

impl Stream for ObjFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let mut lines = BufReader::new(File::open(&self.path).map_err(io)?);
        let mut reader = Reader::new(self, wanted, sink);
        let mut line = Vec::new();
        let (mut offset, mut told) = (0, 0);
        loop {
            line.clear();
            let n_bytes = read_line(&mut lines, &mut line).map_err(io)?;
            if n_bytes == 0 {
                break;
            }
            if line.len() > LINE_BYTES_MAX {
                let what = format!(
                    "the line at byte {offset} is longer than {LINE_BYTES_MAX} bytes; expected an OBJ file of short lines"
                );
                return Err(InputError::Malformed { path: self.path.clone(), what });
            }
            reader.line(&String::from_utf8_lossy(&line), offset)?;
            offset += n_bytes;
            if offset - told >= PROGRESS_BYTES {
                told = offset;
                reader.sink.progress(offset);
            }
        }
        reader.flush()?;
        sink.progress(offset);
        Ok(())
    }
}

/// Reads a line and those that continue it, each after a backslash, up to a little over the longest that is allowed. Returns
/// how many bytes that were, 0 at the end.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut n_bytes = 0;
    loop {
        let room = (LINE_BYTES_MAX + 2).saturating_sub(line.len()) as u64;
        let n = lines.by_ref().take(room).read_until(b'\n', line)?;
        n_bytes += n as u64;
        while line.last().is_some_and(|&byte| byte == b'\n' || byte == b'\r') {
            line.pop();
        }
        if n == 0 || line.last() != Some(&b'\\') {
            return Ok(n_bytes);
        }
        line.pop();
        line.push(b' ');
    }
}

/// A point of the file.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    at: [f64; 3],
    colour: Option<Colour>,
}

/// Where a face names its points.
#[derive(Debug, Clone, Copy)]
struct FaceCorner {
    vertex: usize,
    uv: Option<usize>,
}

/// What decides the colours of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Material,
    Vertices,
    Texture,
}

/// Faces of an object that share a material.
#[derive(Debug)]
struct Part {
    material: Option<usize>,
    look: Look,
    triangles: Vec<[Place; 3]>,
    /// Where the vertices decide.
    colours: Vec<[Colour; 3]>,
    /// Where a texture does.
    uvs: Vec<[[f32; 2]; 3]>,
}

struct Reader<'a> {
    file: &'a ObjFile,
    frame: AtFrame,
    wanted: &'a Wanted,
    sink: &'a mut dyn Sink,
    vertices: Vec<Vertex>,
    uvs: Vec<[f32; 2]>,
    materials: Vec<Material>,
    by_name: FxHashMap<String, usize>,
    /// By material: the number of its image.
    textures: FxHashMap<usize, u32>,
    material: Option<usize>,
    object: String,
    object_offset: u64,
    parts: Vec<Part>,
    n_triangles: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &'a ObjFile, wanted: &'a Wanted, sink: &'a mut dyn Sink) -> Self {
        Self {
            frame: file.at.frame(),
            file,
            wanted,
            sink,
            vertices: Vec::new(),
            uvs: Vec::new(),
            materials: Vec::new(),
            by_name: FxHashMap::default(),
            textures: FxHashMap::default(),
            material: None,
            object: String::new(),
            object_offset: 0,
            parts: Vec::new(),
            n_triangles: 0,
        }
    }

    fn line(&mut self, line: &str, offset: u64) -> Result<(), InputError> {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "v" => self.vertex(rest),
            "vt" => self.uv(rest),
            "f" => return self.face(rest),
            "o" | "g" => return self.begin(rest.trim(), offset),
            "usemtl" => self.use_material(rest.trim()),
            "mtllib" => self.library(rest.trim()),
            "l" | "p" | "curv" | "curv2" | "surf" => self.tell(Problem::UnusedGeometry),
            // Normals, smoothing groups and what is unknown.
            _ => {}
        }
        Ok(())
    }

    fn tell(&mut self, problem: Problem) {
        self.sink.problem(&self.object, problem);
    }

    /// A point. One that cannot be read is kept as no number, so that those behind it keep theirs.
    fn vertex(&mut self, rest: &str) {
        let mut figures = rest.split_ascii_whitespace().map(|figure| figure.parse::<f64>().unwrap_or(f64::NAN));
        let at = std::array::from_fn(|_| figures.next().unwrap_or(f64::NAN));
        // x y z r g b, as scanners write it; x y z w has four.
        let rest: Vec<f64> = figures.take(4).collect();
        let colour = match rest[..] {
            [r, g, b] if [r, g, b].iter().all(|c| c.is_finite()) => Some([r, g, b].map(byte)),
            _ => None,
        };
        self.vertices.push(Vertex { at, colour });
    }

    fn uv(&mut self, rest: &str) {
        let mut figures = rest.split_ascii_whitespace().map(|figure| figure.parse::<f32>().unwrap_or(f32::NAN));
        let u = figures.next().unwrap_or(f32::NAN);
        // The file counts upwards from the bottom of the image.
        self.uvs.push([u, 1.0 - figures.next().unwrap_or(0.0)]);
    }

    fn begin(&mut self, name: &str, offset: u64) -> Result<(), InputError> {
        self.flush()?;
        name.clone_into(&mut self.object);
        self.object_offset = offset;
        Ok(())
    }

    fn use_material(&mut self, name: &str) {
        self.material = self.by_name.get(name).copied();
        if self.material.is_none() {
            self.tell(Problem::DanglingReference);
        }
    }

    fn library(&mut self, name: &str) {
        let folder = self.file.path.parent().unwrap_or(Path::new(""));
        let Ok(materials) = mtl::read(&folder.join(name)) else { return self.tell(Problem::DanglingReference) };
        for material in materials {
            self.by_name.insert(material.name.clone(), self.materials.len());
            self.materials.push(material);
        }
    }

    fn face(&mut self, rest: &str) -> Result<(), InputError> {
        let corners: Option<Vec<FaceCorner>> =
            rest.split_ascii_whitespace().map(|corner| self.corner(corner)).collect();
        let Some(corners) = corners else {
            self.tell(Problem::BadRecord);
            return Ok(());
        };
        let places: Vec<Place> = corners.iter().map(|corner| self.place(self.vertices[corner.vertex].at)).collect();
        if places.iter().any(|place| ![place.x, place.z, place.height_m].iter().all(|c| c.is_finite())) {
            self.tell(Problem::BadCoordinate);
            return Ok(());
        }
        let look = self.look_of(&corners);
        let triangles = match places.len() {
            0..3 => {
                self.tell(Problem::DegenerateRing);
                return Ok(());
            }
            3 => vec![[0, 1, 2].map(|idx| Corner { a: idx, b: idx, t: 0.0 })],
            _ => {
                let (sink, object) = (&mut *self.sink, &self.object);
                triangulate_corners(std::slice::from_ref(&places), &mut |problem| sink.problem(object, problem))
            }
        };
        self.n_triangles += triangles.len();
        let part = self.part(look);
        let (vertices, uvs) = (&self.vertices, &self.uvs);
        let part = &mut self.parts[part];
        for triangle in triangles {
            part.triangles.push(triangle.map(|corner| between(places[corner.a], places[corner.b], corner.t)));
            match look {
                Look::Material => {}
                Look::Vertices => part.colours.push(triangle.map(|corner| {
                    let nearest = if corner.t < 0.5 { corner.a } else { corner.b };
                    vertices[corners[nearest].vertex].colour.unwrap_or_default()
                })),
                Look::Texture => part.uvs.push(triangle.map(|corner| {
                    let uv = |idx: usize| corners[idx].uv.map_or([0.0; 2], |uv| uvs[uv]);
                    let (a, b) = (uv(corner.a), uv(corner.b));
                    [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) * corner.t as f32)
                })),
            }
        }
        if self.n_triangles >= OBJECT_TRIANGLES_MAX { self.flush() } else { Ok(()) }
    }

    /// v, v/vt, v//vn or v/vt/vn: numbers from 1, or from the end where they are below 0.
    fn corner(&self, text: &str) -> Option<FaceCorner> {
        let mut numbers = text.split('/');
        let vertex = place_of(numbers.next()?, self.vertices.len())?;
        let uv = match numbers.next() {
            None | Some("") => None,
            Some(number) => Some(place_of(number, self.uvs.len())?),
        };
        Some(FaceCorner { vertex, uv })
    }

    fn place(&self, at: [f64; 3]) -> Place {
        self.frame.place(self.file.up.turned(at))
    }

    fn look_of(&self, corners: &[FaceCorner]) -> Look {
        let has_texture = self.material.is_some_and(|material| self.materials[material].texture.is_some());
        if has_texture && corners.iter().all(|corner| corner.uv.is_some()) {
            Look::Texture
        } else if corners.iter().all(|corner| self.vertices[corner.vertex].colour.is_some()) {
            Look::Vertices
        } else {
            Look::Material
        }
    }

    fn part(&mut self, look: Look) -> usize {
        let material = self.material;
        let is_it = |part: &Part| part.material == material && part.look == look;
        self.parts.iter().rposition(is_it).unwrap_or_else(|| {
            self.parts.push(Part { material, look, triangles: Vec::new(), colours: Vec::new(), uvs: Vec::new() });
            self.parts.len() - 1
        })
    }

    fn paint(&mut self, part: &mut Part) -> Paint {
        let material = part.material.map(|idx| (idx, &self.materials[idx]));
        match (part.look, material) {
            (Look::Vertices, _) => Paint::Corners(std::mem::take(&mut part.colours)),
            (Look::Texture, Some((idx, Material { texture: Some(path), colour, .. }))) => {
                let sink = &mut *self.sink;
                let texture = *self.textures.entry(idx).or_insert_with(|| sink.texture(Texture::File(path.clone())));
                // Some exporters write black beside an image, and mean the image.
                let tint = colour.filter(|&colour| colour != [0; 3]).unwrap_or([255; 3]);
                Paint::Texture { texture, uvs: std::mem::take(&mut part.uvs), tint }
            }
            (_, Some((_, Material { colour: Some(colour), .. }))) => Paint::Colour(*colour),
            _ => Paint::Look,
        }
    }

    /// Yields the object that is complete.
    fn flush(&mut self) -> Result<(), InputError> {
        self.n_triangles = 0;
        let mut surfaces = Vec::new();
        for mut part in std::mem::take(&mut self.parts) {
            let paint = self.paint(&mut part);
            surfaces.push(Surface { kind: SurfaceKind::Other, triangles: part.triangles, paint });
        }
        let id = FeatureId::Nth { input: self.file.input, nth: self.object_offset };
        let model = Model { named: named(id, self.object.clone(), &self.file.read), surfaces };
        match extent::of_model(&model) {
            Some(bounds) if self.wanted.meets(bounds) => self.sink.item(Item::Model(model)),
            _ => Ok(()),
        }
    }
}

fn between(a: Place, b: Place, t: f64) -> Place {
    let between = |a: f64, b: f64| a + (b - a) * t;
    Place { x: between(a.x, b.x), z: between(a.z, b.z), height_m: between(a.height_m, b.height_m) }
}

/// The place of a number among so many.
fn place_of(number: &str, n: usize) -> Option<usize> {
    let number: i64 = number.parse().ok()?;
    let place = if number > 0 { number - 1 } else { i64::try_from(n).ok()?.checked_add(number)? };
    usize::try_from(place).ok().filter(|&place| number != 0 && place < n)
}

/// A share of light as the file writes it, 0..=1, in a byte.
fn byte(share: f64) -> u8 {
    libm::round(share.clamp(0.0, 1.0) * 255.0) as u8
}

#[cfg(test)]
#[path = "../obj_tests.rs"]
mod tests;
