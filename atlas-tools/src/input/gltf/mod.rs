//! glTF 2 and GLB: nodes of meshes, with materials and images.
//!
//! Owns [`GltfFile`]. Yields a [`Model`] for each node that has a mesh, in the order of the scene, with the transforms of
//! all nodes above it applied; y is up and a unit is a metre. Surfaces have the base colour, the colours of their
//! vertices, or their image. It stands in its first pose: animations, skins and morph targets do not move it, and
//! lights, cameras and all that a material does with light are not looked at.
//!
//! What a file requires and is not known here (compressed meshes, above all) is an error that names it.

mod container;
mod material;
mod values;

use std::path::{Path, PathBuf};

use ::gltf::mesh::Mode;
use ::gltf::{Document, Mesh, Node, Primitive, Semantic};

use self::container::{Container, Loaded};
use self::material::{Materials, MeshColours};
use self::values::Values;
use super::at::{At, AtFrame, named};
use super::{
    FeatureId, InputError, Item, Model, Paint, Place, Problem, ReadOptions, Sink, Stream, Surface, SurfaceKind, Wanted,
    extent,
};

/// A glTF or GLB file that stands somewhere.
#[derive(Debug, Clone)]
pub struct GltfFile {
    path: PathBuf,
    input: u32,
    read: ReadOptions,
    at: At,
}

impl GltfFile {
    /// A file at a place. Nothing is read yet.
    pub fn new(path: &Path, input: u32, read: ReadOptions, at: At) -> Self {
        Self { path: path.to_owned(), input, read, at }
    }

    fn malformed(&self, what: String) -> InputError {
        InputError::Malformed { path: self.path.clone(), what }
    }
}

impl Stream for GltfFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        extent::walk(self)
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let bytes = std::fs::read(&self.path).map_err(|error| InputError::Io { path: self.path.clone(), error })?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let container = Container::split(&bytes).map_err(|what| self.malformed(what))?;
        let loaded = Loaded::new(&container, folder).map_err(|what| self.malformed(what))?;
        let mut walk = Walk {
            file: self,
            frame: self.at.frame(),
            materials: Materials::new(&loaded, folder),
            loaded: &loaded,
            wanted,
            sink,
        };
        walk.run(bytes.len() as u64)
    }
}

/// A 4 x 4 matrix, by columns.
type Matrix = [[f64; 4]; 4];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    b.map(|column| std::array::from_fn(|row| (0..4).map(|k| a[k][row] * column[k]).sum()))
}

fn applied(matrix: &Matrix, [x, y, z]: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|row| matrix[0][row] * x + matrix[1][row] * y + matrix[2][row] * z + matrix[3][row])
}

/// Whether a matrix turns a left hand into a right one: the triangles must be turned too.
fn mirrors(matrix: &Matrix) -> bool {
    let [a, b, c, _] = matrix;
    let determinant =
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1]);
    determinant < 0.0
}

struct Walk<'a> {
    file: &'a GltfFile,
    frame: AtFrame,
    materials: Materials<'a>,
    loaded: &'a Loaded<'a>,
    wanted: &'a Wanted,
    sink: &'a mut dyn Sink,
}

impl Walk<'_> {
    fn run(&mut self, n_bytes: u64) -> Result<(), InputError> {
        let document = &self.loaded.document;
        let n_nodes = document.nodes().len();
        let mut seen = vec![false; n_nodes];
        let mut waiting: Vec<(Node<'_>, Matrix)> = roots(document).into_iter().map(|node| (node, IDENTITY)).collect();
        waiting.reverse();
        let mut n_seen = 0;
        while let Some((node, above)) = waiting.pop() {
            // A node that hangs below itself, or twice, is no tree: it is met once.
            if std::mem::replace(&mut seen[node.index()], true) {
                self.sink.problem(&name_of(&node), Problem::DanglingReference);
                continue;
            }
            let matrix = product(&above, &node.transform().matrix().map(|column| column.map(f64::from)));
            let children: Vec<_> = node.children().map(|child| (child, matrix)).collect();
            waiting.extend(children.into_iter().rev());
            if let Some(mesh) = node.mesh() {
                self.model(&node, &mesh, &matrix)?;
            }
            n_seen += 1;
            self.sink.progress(n_bytes * n_seen / n_nodes as u64);
        }
        Ok(())
    }

    fn model(&mut self, node: &Node<'_>, mesh: &Mesh<'_>, matrix: &Matrix) -> Result<(), InputError> {
        let name = name_of(node);
        let surfaces: Vec<Surface> =
            mesh.primitives().filter_map(|primitive| self.surface(&name, &primitive, matrix)).collect();
        if surfaces.iter().all(|surface| surface.triangles.is_empty()) {
            self.sink.problem(&name, Problem::NoGeometry);
            return Ok(());
        }
        let id = FeatureId::Nth { input: self.file.input, nth: node.index() as u64 };
        let model = Model { named: named(id, name, &self.file.read), surfaces };
        match extent::of_model(&model) {
            Some(bounds) if self.wanted.meets(bounds) => self.sink.item(Item::Model(model)),
            _ => Ok(()),
        }
    }

    fn surface(&mut self, name: &str, primitive: &Primitive<'_>, matrix: &Matrix) -> Option<Surface> {
        let mut tell = |problem| self.sink.problem(name, problem);
        if !matches!(primitive.mode(), Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan) {
            tell(Problem::UnusedGeometry);
            return None;
        }
        if material::is_invisible(&primitive.material()) {
            return None;
        }
        let values = |semantic: &Semantic| {
            primitive.get(semantic).and_then(|accessor| Values::new(&accessor, &self.loaded.buffers))
        };
        let Some(positions) = values(&Semantic::Positions) else {
            tell(Problem::BadRecord);
            return None;
        };
        let corners = match primitive.indices().map(|accessor| Values::new(&accessor, &self.loaded.buffers)) {
            None => triangles_of(primitive.mode(), positions.len(), |nth| Some(nth as u32)),
            Some(Some(indices)) => triangles_of(primitive.mode(), indices.len(), |nth| indices.index(nth)),
            Some(None) => {
                tell(Problem::BadRecord);
                return None;
            }
        };
        let is_mirrored = mirrors(matrix);
        let mut kept: Vec<[u32; 3]> = Vec::with_capacity(corners.len());
        let mut triangles: Vec<[Place; 3]> = Vec::with_capacity(corners.len());
        for mut corners in corners {
            if is_mirrored {
                corners.swap(1, 2);
            }
            let places = corners.map(|corner| {
                let [x, y, z, _] = positions.get(corner as usize)?.map(f64::from);
                Some(self.frame.place(applied(matrix, [x, y, z])))
            });
            let [Some(a), Some(b), Some(c)] = places else {
                tell(Problem::BadRecord);
                continue;
            };
            if [a, b, c].iter().any(|place| ![place.x, place.z, place.height_m].iter().all(|c| c.is_finite())) {
                tell(Problem::BadCoordinate);
                continue;
            }
            kept.push(corners);
            triangles.push([a, b, c]);
        }
        let colours =
            MeshColours { colours: values(&Semantic::Colors(0)), uvs: &|set| values(&Semantic::TexCoords(set)) };
        let paint = self.materials.paint(&primitive.material(), &colours, &kept, name, self.sink);
        Some(Surface { kind: SurfaceKind::Other, triangles, paint: paint.unwrap_or(Paint::Look) })
    }
}

/// The nodes on which everything hangs: of the scene that is shown, or where there is none, of the file.
fn roots(document: &Document) -> Vec<Node<'_>> {
    if let Some(scene) = document.default_scene().or_else(|| document.scenes().next()) {
        return scene.nodes().collect();
    }
    let mut is_child = vec![false; document.nodes().len()];
    for child in document.nodes().flat_map(|node| node.children()) {
        is_child[child.index()] = true;
    }
    document.nodes().filter(|node| !is_child[node.index()]).collect()
}

fn name_of(node: &Node<'_>) -> String {
    let mesh_name = || node.mesh().and_then(|mesh| mesh.name());
    node.name().or_else(mesh_name).unwrap_or_default().to_owned()
}

/// The triangles of a list, a strip or a fan of points, all wound alike; those whose points cannot be read are left out.
fn triangles_of(mode: Mode, n: usize, point: impl Fn(usize) -> Option<u32>) -> Vec<[u32; 3]> {
    let triangle = |[a, b, c]: [usize; 3]| Some([point(a)?, point(b)?, point(c)?]);
    match mode {
        Mode::Triangles => (0..n / 3).filter_map(|nth| triangle([3 * nth, 3 * nth + 1, 3 * nth + 2])).collect(),
        Mode::TriangleStrip => (2..n)
            .filter_map(|nth| {
                if nth % 2 == 0 { triangle([nth - 2, nth - 1, nth]) } else { triangle([nth - 1, nth - 2, nth]) }
            })
            .collect(),
        Mode::TriangleFan => (2..n).filter_map(|nth| triangle([0, nth - 1, nth])).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "../gltf_tests.rs"]
mod tests;
