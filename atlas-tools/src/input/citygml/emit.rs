//! From an object that has been read to the items that it is.
//!
//! Receives what `object` gathered and what `choose` chose; places it, paints it, and pours it into the sink. An object
//! that nobody wants leaves nothing, not even its problems.

use std::io::BufRead;

use voxatlas::voxel::Colour;

use super::appearance::GmlId;
use super::choose::{Chosen, choose, kind_of};
use super::object::{ObjectReader, Unit};
use super::shapes::Polygon;
use crate::input::attributes::{Attributes, Figures, chosen_colour, figures};
use crate::input::city::class::{PLANT, Role};
use crate::input::city::land::cover_kind;
use crate::input::city::lod::Lod;
use crate::input::city::thing::{
    Face, FacePaint, Found, bounds, canopy, first_colour, footprint, image_path, relief, surfaces, with_those_of,
};
use crate::input::{Cover, CoverKind, InputError, Item, Model, Named, Place, Prism, Problem, Texture};

/// Triangles of relief that are poured out at once: the ground of a whole file may be one object.
const RELIEF_BATCH: usize = 4096;

/// A face and where it comes from.
struct Placed {
    chosen: Chosen,
    face: Face,
}

impl<R: BufRead> ObjectReader<'_, R> {
    /// Pours out the object that has been read.
    ///
    /// # Errors
    ///
    /// The sink refuses more.
    pub(super) fn pour_object(&mut self) -> Result<(), InputError> {
        if self.object.role == Role::Relief {
            self.pour_relief()?;
            self.tell_problems(!self.object.has_relief);
            return Ok(());
        }
        let cap = Lod::cap(self.gml.read.lod);
        let keeps_flat = self.object.role != Role::Building;
        let (object, mut problems) = (&self.object, Vec::new());
        let chosen = choose(&object.shapes, &object.units, cap, keeps_flat, &mut |problem| problems.push(problem));
        self.object.problems.append(&mut problems);
        let mut placed = self.place(&chosen);
        let bounds = bounds(placed.iter().map(|placed| &placed.face));
        if bounds.is_some_and(|bounds| !self.wanted.meets(bounds)) {
            return Ok(());
        }
        self.paint(&mut placed);
        let n_items = match self.object.role {
            Role::Cover(kind) => self.pour_covers(placed, kind)?,
            _ => self.pour_model(placed)?,
        };
        self.tell_problems(n_items == 0);
        Ok(())
    }

    fn tell_problems(&mut self, has_nothing: bool) {
        // Where a geometry was lost, that has been told already.
        if has_nothing && self.object.problems.is_empty() {
            self.object.problems.push(Problem::NoGeometry);
        }
        let name = &self.xml.feature;
        self.object.problems.drain(..).for_each(|problem| self.sink.problem(name, problem));
    }

    fn named(&self) -> Named {
        let attributes = if self.gml.read.with_attributes { self.all_attributes() } else { Vec::new() };
        Named { id: self.object.id, name: self.object.name.clone(), attributes }
    }

    /// What is known of the parts only is known of the whole; of several parts the first counts.
    fn all_attributes(&self) -> Attributes {
        let units = self.object.units.iter();
        units.fold(Attributes::new(), |known, unit| with_those_of(&known, &unit.attributes))
    }

    fn colour_by_attribute(&self) -> Option<Colour> {
        self.gml.read.colour_by.as_ref().and_then(|_| chosen_colour(&self.all_attributes(), &self.gml.read))
    }

    /// Places the chosen polygons.
    fn place(&mut self, chosen: &[Chosen]) -> Vec<Placed> {
        let shapes = std::mem::take(&mut self.object.shapes);
        let mut placed = Vec::with_capacity(chosen.len());
        for &chosen in chosen {
            let polygon = &shapes.polygons[chosen.polygon as usize];
            let Some(mut rings) = self.place_rings(polygon, &shapes) else { continue };
            if chosen.usage.is_reversed {
                for ring in &mut rings {
                    ring.reverse();
                }
            }
            placed.push(Placed { chosen, face: Face { rings, kind: kind_of(&chosen), paint: FacePaint::Look } });
        }
        self.object.shapes = shapes;
        placed
    }

    /// The rings of a polygon without the points that close them; `None` where it has no outer ring.
    fn place_rings(&mut self, polygon: &Polygon, shapes: &super::shapes::Shapes) -> Option<Vec<Vec<Place>>> {
        let mut rings = Vec::with_capacity(polygon.len as usize);
        for (idx, ring) in shapes.rings_of(polygon).iter().enumerate() {
            let points = open_ring(shapes.points_of(ring));
            if points.len() == ring.len as usize && !points.is_empty() {
                self.object.problems.push(Problem::OpenRing);
            }
            let mut places = Vec::with_capacity(points.len());
            let is_placed = self.places.place(points, polygon, &shapes.frames, &mut places);
            if !is_placed {
                self.object.problems.push(Problem::BadCoordinate);
            }
            if is_placed && !places.is_empty() {
                rings.push(places);
            } else if idx == 0 {
                return None;
            }
        }
        Some(rings)
    }

    fn paint(&mut self, placed: &mut [Placed]) {
        let by_attribute = self.colour_by_attribute();
        let mut has_bad_texture = false;
        for Placed { chosen, face } in placed {
            face.paint = match by_attribute {
                Some(colour) => FacePaint::Colour(colour),
                None => self.paint_of(chosen, &face.rings, &mut has_bad_texture),
            };
        }
        if has_bad_texture {
            self.object.problems.push(Problem::BadTexture);
        }
    }

    fn paint_of(&mut self, chosen: &Chosen, rings: &[Vec<Place>], has_bad_texture: &mut bool) -> FacePaint {
        let polygon = self.object.shapes.polygons[chosen.polygon as usize];
        let ids: Vec<Option<GmlId>> = self.object.shapes.rings_of(&polygon).iter().map(|ring| ring.id).collect();
        let found = match self.image_of(&ids, rings, chosen.usage.is_reversed) {
            Found::Image(image, uvs) => Some((image.to_owned(), uvs)),
            Found::Unfit => {
                *has_bad_texture = true;
                None
            }
            Found::Nothing => None,
        };
        if let Some((image, uvs)) = found {
            match self.texture(&image) {
                Some(texture) => return FacePaint::Texture { texture, uvs },
                None => *has_bad_texture = true,
            }
        }
        let shapes = &self.object.shapes;
        let mut ids = shapes.ids_from(polygon.scope).chain(shapes.ids_from(chosen.scope));
        let colour = ids.find_map(|id| self.object.appearances.colour(id).or(self.appearances.colour(id)));
        match (colour, self.object.role) {
            (Some(colour), _) => FacePaint::Colour(colour),
            (None, Role::Plant) => FacePaint::Colour(PLANT),
            (None, _) => FacePaint::Look,
        }
    }

    /// The image of a face and the places in it.
    fn image_of(&self, ids: &[Option<GmlId>], rings: &[Vec<Place>], is_reversed: bool) -> Found<'_> {
        let find = |id: GmlId| self.object.appearances.image(id).or(self.appearances.image(id));
        let Some((image, _)) = ids.first().copied().flatten().and_then(find) else { return Found::Nothing };
        let uvs_of = |(id, ring): (&Option<GmlId>, &Vec<Place>)| {
            let (of_ring, uvs) = find((*id)?)?;
            // A list closes as its ring does, or does not.
            let mut uvs = uvs.get(..ring.len()).filter(|_| of_ring == image && uvs.len() <= ring.len() + 1)?.to_vec();
            if is_reversed {
                uvs.reverse();
            }
            Some(uvs)
        };
        let uvs = ids.iter().zip(rings).map(uvs_of).collect::<Option<Vec<_>>>();
        match uvs {
            Some(uvs) if ids.len() == rings.len() => Found::Image(image, uvs),
            _ => Found::Unfit,
        }
    }

    /// The number of an image, where there is such a file.
    fn texture(&mut self, image: &str) -> Option<u32> {
        if let Some(&known) = self.textures.get(image) {
            return known;
        }
        let path = image_path(&self.gml.path, image).filter(|path| path.is_file());
        let texture = path.map(|path| self.sink.texture(Texture::File(path)));
        self.textures.insert(image.to_owned(), texture);
        texture
    }

    fn pour_model(&mut self, placed: Vec<Placed>) -> Result<usize, InputError> {
        let is_flat = placed.iter().all(|placed| placed.chosen.usage.lod.is_flat());
        if self.object.role == Role::Building && is_flat {
            return self.pour_prisms(placed);
        }
        // A model a part: parts are closed each on its own, and stay so when they are filled.
        let mut n_items = 0;
        for faces in by_unit(placed, self.object.units.len()).into_iter().map(|(_, faces)| faces) {
            let problems = &mut self.object.problems;
            let surfaces = surfaces(&faces, &mut |problem| problems.push(problem));
            if !surfaces.is_empty() {
                self.sink.item(Item::Model(Model { named: self.named(), surfaces }))?;
                n_items += 1;
            }
        }
        Ok(n_items)
    }

    /// A footprint for each part that has one.
    fn pour_prisms(&mut self, placed: Vec<Placed>) -> Result<usize, InputError> {
        let mut n_items = 0;
        for (unit, faces) in by_unit(placed, self.object.units.len()) {
            let polygons = footprint(&faces);
            if polygons.is_empty() {
                continue;
            }
            // What a part does not say of itself the object says.
            let attributes = with_those_of(&self.object.units[unit].attributes, &self.object.units[0].attributes);
            let problems = &mut self.object.problems;
            // What is no number has been told where it was read.
            let mut note = |problem| {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            };
            let found = figures(&attributes, &self.gml.read, &mut note);
            let Figures { height, min_height_m, wall, roof } = found;
            let named = self.named();
            self.sink.item(Item::Prism(Prism { named, polygons, height, min_height_m, wall, roof }))?;
            n_items += 1;
        }
        Ok(n_items)
    }

    fn pour_covers(&mut self, placed: Vec<Placed>, kind: CoverKind) -> Result<usize, InputError> {
        let mut n_items = 0;
        let by_attribute = self.colour_by_attribute();
        for (unit, faces) in by_unit(placed, self.object.units.len()) {
            let polygons = footprint(&faces);
            if polygons.is_empty() {
                continue;
            }
            let Unit { class, attributes, .. } = &self.object.units[unit];
            let mut kind = cover_kind(class, kind, attributes);
            let problems = &mut self.object.problems;
            let canopy = canopy(class, &faces, &mut |problem| problems.push(problem));
            if let Some(surfaces) = canopy {
                kind = CoverKind::Wood;
                self.sink.item(Item::Model(Model { named: self.named(), surfaces }))?;
            }
            let colour = by_attribute.or_else(|| first_colour(&faces));
            self.sink.item(Item::Cover(Cover { named: self.named(), polygons, kind, colour }))?;
            n_items += 1;
        }
        Ok(n_items)
    }

    /// Pours out the relief that has been read, when it is much.
    ///
    /// # Errors
    ///
    /// The sink refuses more.
    pub(super) fn pour_relief_when_full(&mut self) -> Result<(), InputError> {
        if self.object.role == Role::Relief && self.object.shapes.polygons.len() >= RELIEF_BATCH {
            self.pour_relief()?;
            self.sink.progress(self.xml.offset());
        }
        Ok(())
    }

    fn pour_relief(&mut self) -> Result<(), InputError> {
        let shapes = std::mem::take(&mut self.object.shapes);
        let mut faces = Vec::with_capacity(shapes.polygons.len());
        for polygon in &shapes.polygons {
            if let Some(rings) = self.place_rings(polygon, &shapes) {
                faces.push(Face { rings, kind: crate::input::SurfaceKind::Other, paint: FacePaint::Look });
            }
        }
        self.object.shapes = shapes;
        self.object.shapes.clear_polygons();
        if bounds(&faces).is_some_and(|bounds| !self.wanted.meets(bounds)) {
            self.object.has_relief = true;
            return Ok(());
        }
        let problems = &mut self.object.problems;
        let triangles = relief(&faces, &mut |problem| problems.push(problem));
        if !triangles.is_empty() {
            self.object.has_relief = true;
            self.sink.item(Item::Relief(triangles))?;
        }
        Ok(())
    }
}

/// A ring without the point that closes it.
fn open_ring(points: &[[f64; 3]]) -> &[[f64; 3]] {
    match points {
        [first, middle @ .., last] if first == last && !middle.is_empty() => &points[..points.len() - 1],
        _ => points,
    }
}

/// The faces of each unit that has any. Of an outline of the roof and a footprint the footprint counts.
fn by_unit(placed: Vec<Placed>, n_units: usize) -> Vec<(usize, Vec<Face>)> {
    let mut units: Vec<(Vec<Face>, Vec<Face>)> = (0..n_units).map(|_| Default::default()).collect();
    for Placed { chosen, face } in placed {
        let is_roof = chosen.usage.is_roof_edge || chosen.usage.kind == Some(crate::input::SurfaceKind::Roof);
        let (footprints, roofs) = &mut units[chosen.usage.unit as usize];
        if is_roof && chosen.usage.lod.is_flat() { roofs.push(face) } else { footprints.push(face) }
    }
    let pick = |(footprints, roofs): (Vec<Face>, Vec<Face>)| if footprints.is_empty() { roofs } else { footprints };
    units.into_iter().map(pick).enumerate().filter(|(_, faces)| !faces.is_empty()).collect()
}
