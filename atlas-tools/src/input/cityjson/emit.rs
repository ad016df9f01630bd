//! From the objects of a CityJSON document to items.
//!
//! Receives an object with the scene that it stands in; places it, paints it, and pours it into the sink. An object that
//! nobody wants leaves nothing, not even its problems.

use std::collections::BTreeMap;
use std::path::Path;

use voxatlas::voxel::Colour;

use super::faces::{RawFace, visit_faces};
use super::looks::{cover_of, texture_of};
use super::loose::{Lenient, Part};
use super::scene::{Node, Scene, level_of};
use super::schema::{Geometry, Kind, Object, theme};
use crate::input::attributes::{Attributes, Figures, chosen_colour, figures};
use crate::input::city::class::{PLANT, Role};
use crate::input::city::lod::Lod;
use crate::input::city::misplaced::Misplaced;
use crate::input::city::thing::{
    Face, FacePaint, Found, bounds, canopy, first_colour, footprint, image_path, relief, surfaces, transform,
    with_those_of,
};
use crate::input::{
    Cover, CoverKind, FeatureId, InputError, Item, Model, Named, Place, Prism, Problem, ReadOptions, Sink, SurfaceKind,
    Texture, Wanted,
};

/// Faces of relief that are poured out at once.
const RELIEF_BATCH: usize = 4096;

/// Where objects go.
pub(super) struct Pourer<'a> {
    pub read: &'a ReadOptions,
    /// The file, whose folder images are named from.
    pub path: &'a Path,
    pub wanted: &'a Wanted,
    pub sink: &'a mut dyn Sink,
    /// By the name of the image: its number, or that there is no such file.
    pub textures: BTreeMap<String, Option<u32>>,
    pub misplaced: Misplaced,
}

/// Where a geometry stands: a template's reference point and matrix.
type Instance = Option<([f64; 3], [f64; 16])>;

/// A face, and the surface among the semantics that says what it covers.
struct Placed {
    face: Face,
    /// What it covers, of ground.
    cover: CoverKind,
}

/// What is read of one object.
#[derive(Default)]
struct Gathered {
    placed: Vec<Placed>,
    n_faces: usize,
    problems: Vec<Problem>,
    has_bad_texture: bool,
}

impl Pourer<'_> {
    /// Pours out what an object is; `nodes` are the objects of its document.
    ///
    /// # Errors
    ///
    /// The sink refuses more.
    pub(super) fn pour(
        &mut self,
        scene: &Scene,
        nodes: &[Node],
        idx: usize,
        object: &Object,
    ) -> Result<(), InputError> {
        let Some(node) = nodes.get(idx) else { return Ok(()) };
        let root = &nodes[node.root];
        if !self.is_asked_for(&root.class) {
            return Ok(());
        }
        let Some(role) = node.role else {
            self.sink.problem(&node.id, Problem::UnusedGeometry);
            return Ok(());
        };
        if role == Role::Group {
            return Ok(());
        }
        let mut gathered = Gathered::default();
        if let Some(lod) = node.lod {
            self.gather(scene, role, lod, object, &mut gathered)?;
            if gathered.n_faces == 0 && gathered.problems.is_empty() {
                gathered.problems.push(Problem::NoGeometry);
            }
        }
        let has_others = object.has_children() || node.root != idx;
        if node.lod.is_none() {
            let has_curves = object.geometry.0.iter().any(|Lenient(geometry)| geometry.kind() == Kind::Other);
            if has_curves {
                gathered.problems.push(Problem::UnusedGeometry);
            } else if !has_others {
                gathered.problems.push(Problem::NoGeometry);
            }
        }
        let bounds = bounds(gathered.placed.iter().map(|placed| &placed.face));
        if bounds.is_some_and(|bounds| !self.wanted.meets(bounds)) {
            return Ok(());
        }
        self.pour_gathered(node, root, role, object, gathered)
    }

    fn is_asked_for(&self, class: &str) -> bool {
        let layers = &self.read.layers;
        layers.is_empty() || layers.iter().any(|layer| layer.eq_ignore_ascii_case(class))
    }

    fn gather(
        &mut self,
        scene: &Scene,
        role: Role,
        lod: Lod,
        object: &Object,
        gathered: &mut Gathered,
    ) -> Result<(), InputError> {
        for Lenient(geometry) in &object.geometry.0 {
            let (shape, instance) = match (geometry.kind(), template_of(scene, geometry)) {
                (Kind::Surfaces { .. }, _) => (geometry, None),
                (Kind::Instance, Some((template, reference, matrix))) => (template, Some((reference, matrix))),
                (Kind::Instance, None) => {
                    gathered.problems.push(Problem::DanglingReference);
                    continue;
                }
                (Kind::Other, _) => {
                    gathered.problems.push(Problem::UnusedGeometry);
                    continue;
                }
            };
            let Kind::Surfaces { depth } = shape.kind() else { continue };
            if level_of(shape) == lod {
                self.gather_faces(scene, role, object, shape, depth, instance, gathered)?;
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the loop over faces, split off from the loop over geometries")]
    fn gather_faces(
        &mut self,
        scene: &Scene,
        role: Role,
        object: &Object,
        geometry: &Geometry,
        depth: u32,
        instance: Instance,
        gathered: &mut Gathered,
    ) -> Result<(), InputError> {
        let appearance = &scene.appearance;
        let material = theme(&geometry.material, appearance.default_material());
        let texture = theme(&geometry.texture, appearance.default_texture());
        visit_faces(geometry, depth, material, texture, &mut |raw| {
            let Some(cover) = cover_of(role, object, geometry, raw) else { return Ok(()) };
            let Some(rings) = self.place_rings(scene, raw.rings, instance, &mut gathered.problems) else {
                return Ok(());
            };
            let kind = raw.semantic.and_then(|idx| geometry.semantics().kind(idx)).unwrap_or(SurfaceKind::Other);
            let paint = self.paint(scene, role, raw, &rings, gathered);
            gathered.n_faces += 1;
            gathered.placed.push(Placed { face: Face { rings, kind, paint }, cover });
            if role == Role::Relief && gathered.placed.len() >= RELIEF_BATCH {
                self.pour_relief(gathered)?;
            }
            Ok(())
        })
    }

    /// The rings of a face; `None` where it has no outer ring.
    fn place_rings(
        &mut self,
        scene: &Scene,
        rings: Part,
        instance: Instance,
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<Vec<Place>>> {
        let mut placed = Vec::new();
        for (idx, ring) in rings.parts().enumerate() {
            match self.place_ring(scene, ring, instance) {
                Ok(places) if !places.is_empty() => placed.push(places),
                Ok(_) => problems.push(Problem::DegenerateRing),
                Err(problem) => problems.push(problem),
            }
            if placed.is_empty() && idx == 0 {
                return None;
            }
        }
        if placed.is_empty() {
            problems.push(Problem::DegenerateRing);
            return None;
        }
        Some(placed)
    }

    fn place_ring(&mut self, scene: &Scene, ring: Part, instance: Instance) -> Result<Vec<Place>, Problem> {
        let mut places = Vec::new();
        for vertex in ring.parts() {
            let idx = vertex.index().ok_or(Problem::BadCoordinate)?;
            let (at, place) = match instance {
                None => {
                    let at = scene.vertex(idx).ok_or(Problem::DanglingReference)?;
                    (at, scene.placer.place(at))
                }
                Some((reference, matrix)) => {
                    let vertex = scene.templates.vertices.0.get(idx as usize).ok_or(Problem::DanglingReference)?;
                    (reference, scene.place_offset(reference, transform(&matrix, vertex.0)))
                }
            };
            let place = place.map_err(|error| {
                self.misplaced.note_failure(at, error);
                Problem::BadCoordinate
            })?;
            if ![place.x, place.z, place.height_m].iter().all(|number| number.is_finite()) {
                return Err(Problem::BadCoordinate);
            }
            places.push(place);
        }
        self.misplaced.note_placed();
        Ok(places)
    }

    fn paint(
        &mut self,
        scene: &Scene,
        role: Role,
        raw: RawFace,
        rings: &[Vec<Place>],
        gathered: &mut Gathered,
    ) -> FacePaint {
        match texture_of(scene, raw, rings) {
            Found::Nothing => {}
            Found::Unfit => gathered.has_bad_texture = true,
            Found::Image(image, uvs) => match self.texture(image) {
                Some(texture) => return FacePaint::Texture { texture, uvs },
                None => gathered.has_bad_texture = true,
            },
        }
        match raw.material.and_then(|material| scene.appearance.colour(material)) {
            Some(colour) => FacePaint::Colour(colour),
            None if role == Role::Plant => FacePaint::Colour(PLANT),
            None => FacePaint::Look,
        }
    }

    /// The number of an image, where there is such a file.
    fn texture(&mut self, image: &str) -> Option<u32> {
        if let Some(&known) = self.textures.get(image) {
            return known;
        }
        let path = image_path(self.path, image).filter(|path| path.is_file());
        let texture = path.map(|path| self.sink.texture(Texture::File(path)));
        self.textures.insert(image.to_owned(), texture);
        texture
    }

    fn pour_gathered(
        &mut self,
        node: &Node,
        root: &Node,
        role: Role,
        object: &Object,
        mut gathered: Gathered,
    ) -> Result<(), InputError> {
        if gathered.has_bad_texture {
            gathered.problems.push(Problem::BadTexture);
        }
        let own = &object.attributes.0;
        let colour_by = self.read.colour_by.as_ref();
        let by_attribute = colour_by.and_then(|_| chosen_colour(&with_those_of(own, &root.attributes), self.read));
        if let Some(colour) = by_attribute {
            gathered.placed.iter_mut().for_each(|placed| placed.face.paint = FacePaint::Colour(colour));
        }
        match role {
            Role::Relief => self.pour_relief(&mut gathered)?,
            Role::Cover(_) => self.pour_covers(root, object, &mut gathered, by_attribute)?,
            Role::Building if node.lod.is_some_and(Lod::is_flat) => {
                self.pour_prism(root, own, &mut gathered)?;
            }
            _ => {
                let faces: Vec<Face> = gathered.placed.drain(..).map(|placed| placed.face).collect();
                let surfaces = surfaces(&faces, &mut |problem| gathered.problems.push(problem));
                if !surfaces.is_empty() {
                    self.sink.item(Item::Model(Model { named: self.named(root, own), surfaces }))?;
                }
            }
        }
        gathered.problems.iter().for_each(|&problem| self.sink.problem(&node.id, problem));
        Ok(())
    }

    fn named(&self, root: &Node, own: &Attributes) -> Named {
        let attributes = match (self.read.with_attributes, root.attributes.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => own.clone(),
            (true, false) => root.attributes.clone(),
        };
        Named { id: FeatureId::of_text(&root.id), name: root.id.clone(), attributes }
    }

    fn pour_prism(&mut self, root: &Node, own: &Attributes, gathered: &mut Gathered) -> Result<(), InputError> {
        let is_roof = |placed: &&Placed| placed.face.kind == SurfaceKind::Roof;
        let faces = |keeps_roofs: bool| -> Vec<Face> {
            let kept = gathered.placed.iter().filter(|placed| keeps_roofs || !is_roof(placed));
            kept.map(|placed| placed.face.clone()).collect()
        };
        let mut polygons = footprint(&faces(false));
        if polygons.is_empty() {
            polygons = footprint(&faces(true));
        }
        if polygons.is_empty() {
            return Ok(());
        }
        // What a part does not say of itself the whole says.
        let attributes = with_those_of(own, &root.attributes);
        let found = figures(&attributes, self.read, &mut |problem| gathered.problems.push(problem));
        let Figures { height, min_height_m, wall, roof } = found;
        let named = self.named(root, own);
        self.sink.item(Item::Prism(Prism { named, polygons, height, min_height_m, wall, roof }))
    }

    fn pour_covers(
        &mut self,
        root: &Node,
        object: &Object,
        gathered: &mut Gathered,
        by_attribute: Option<Colour>,
    ) -> Result<(), InputError> {
        let own = &object.attributes.0;
        let mut kinds: BTreeMap<CoverKind, Vec<Face>> = BTreeMap::new();
        for Placed { face, cover } in gathered.placed.drain(..) {
            kinds.entry(cover).or_default().push(face);
        }
        for (mut kind, faces) in kinds {
            let polygons = footprint(&faces);
            if polygons.is_empty() {
                continue;
            }
            let canopy = canopy(object.class(), &faces, &mut |problem| gathered.problems.push(problem));
            if let Some(surfaces) = canopy {
                kind = CoverKind::Wood;
                self.sink.item(Item::Model(Model { named: self.named(root, own), surfaces }))?;
            }
            let colour = by_attribute.or_else(|| first_colour(&faces));
            self.sink.item(Item::Cover(Cover { named: self.named(root, own), polygons, kind, colour }))?;
        }
        Ok(())
    }

    fn pour_relief(&mut self, gathered: &mut Gathered) -> Result<(), InputError> {
        let faces: Vec<Face> = gathered.placed.drain(..).map(|placed| placed.face).collect();
        if bounds(&faces).is_none_or(|bounds| !self.wanted.meets(bounds)) {
            return Ok(());
        }
        let triangles = relief(&faces, &mut |problem| gathered.problems.push(problem));
        if triangles.is_empty() {
            return Ok(());
        }
        self.sink.item(Item::Relief(triangles))
    }
}

/// A template, its reference point and its matrix.
fn template_of<'a>(scene: &'a Scene, geometry: &Geometry) -> Option<(&'a Geometry, [f64; 3], [f64; 16])> {
    let Lenient(template) = scene.templates.templates.0.get(geometry.template()?)?;
    let reference = geometry.boundaries.whole().parts().next()?.index()?;
    Some((template, scene.vertex(reference)?, geometry.matrix()?))
}
