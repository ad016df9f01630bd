//! The faces of a geometry, with what is said of each.
//!
//! Receives the nested arrays of boundaries, semantics, materials and textures, which are nested alike, and walks them
//! side by side. It looks up none of the numbers.

use super::loose::{Nested, Part};
use super::schema::{Geometry, Theme};
use crate::input::InputError;

/// A face as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawFace<'a> {
    /// Arrays of vertices: the outer ring, then its holes.
    pub rings: Part<'a>,
    /// Its surface among the semantics.
    pub semantic: Option<u32>,
    /// Its material.
    pub material: Option<u32>,
    /// By ring: a texture, then a place in it for each vertex.
    pub texture: Option<Part<'a>>,
}

/// Visits the faces of a geometry in their order; `depth` arrays stand round the lists of faces.
pub(super) fn visit_faces<'a>(
    geometry: &'a Geometry,
    depth: u32,
    material: Option<&'a Theme>,
    texture: Option<&'a Theme>,
    visit: &mut dyn FnMut(RawFace<'a>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let of_all = material.and_then(Theme::value);
    let sides =
        [Some(&geometry.semantics().values), material.map(|theme| &theme.values), texture.map(|theme| &theme.values)];
    walk(depth, geometry.boundaries.whole(), sides.map(|side| side.map(Nested::whole)), &mut |mut face| {
        face.material = face.material.or(of_all);
        visit(face)
    })
}

fn walk<'a>(
    depth: u32,
    boundaries: Part<'a>,
    sides: [Option<Part<'a>>; 3],
    visit: &mut dyn FnMut(RawFace<'a>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut sides = sides.map(|side| side.map(Part::parts));
    for part in boundaries.parts() {
        let here = sides.each_mut().map(|side| side.as_mut().and_then(Iterator::next));
        if depth > 0 {
            walk(depth - 1, part, here, visit)?;
            continue;
        }
        let [semantic, material, texture] = here;
        let [semantic, material] = [semantic, material].map(|side| side.and_then(Part::index));
        visit(RawFace { rings: part, semantic, material, texture })?;
    }
    Ok(())
}
