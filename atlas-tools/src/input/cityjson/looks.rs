//! What a face looks like: what it covers, and its image.
//!
//! Receives a face as numbers, with the scene that they refer to. It opens no image, and chooses among no themes.

use serde_json::Value;

use super::faces::RawFace;
use super::loose::Part;
use super::scene::Scene;
use super::schema::{Geometry, Object};
use crate::input::attributes::Attributes;
use crate::input::city::class::Role;
use crate::input::city::land::cover_kind;
use crate::input::city::thing::Found;
use crate::input::{CoverKind, Place};

/// What a face covers, where it is a piece of ground; `None` where it is to be left out: the bed of a river is not its look.
pub(super) fn cover_of(role: Role, object: &Object, geometry: &Geometry, raw: RawFace) -> Option<CoverKind> {
    let Role::Cover(kind) = role else { return Some(CoverKind::Other) };
    let surface = raw.semantic.and_then(|idx| geometry.semantics().surface(idx));
    match surface {
        Some(("WaterGroundSurface" | "WaterClosureSurface", _)) => None,
        Some((class @ ("TrafficArea" | "AuxiliaryTrafficArea"), surface)) => {
            let attributes = surface.as_object().into_iter().flatten();
            let attributes: Attributes = attributes.map(|(name, value)| (name.clone(), first_of(value))).collect();
            Some(cover_kind(class, kind, &attributes))
        }
        _ => Some(cover_kind(object.class(), kind, &object.attributes.0)),
    }
}

/// Functions are lists of codes.
fn first_of(value: &Value) -> Value {
    value.as_array().and_then(|list| list.first()).unwrap_or(value).clone()
}

/// The image of a face whose rings have been placed.
pub(super) fn texture_of<'a>(scene: &'a Scene, raw: RawFace, rings: &[Vec<Place>]) -> Found<'a> {
    let Some(texture) = raw.texture else { return Found::Nothing };
    let mut image = None;
    let mut uvs = Vec::with_capacity(rings.len());
    for (ring, places) in texture.parts().zip(rings) {
        let mut numbers = ring.parts();
        let Some(first) = numbers.next().and_then(Part::index) else {
            return if image.is_none() { Found::Nothing } else { Found::Unfit };
        };
        let of_ring: Option<Vec<[f32; 2]>> =
            numbers.map(|number| number.index().and_then(|idx| scene.appearance.uv(idx))).collect();
        match of_ring {
            Some(of_ring) if of_ring.len() == places.len() && *image.get_or_insert(first) == first => uvs.push(of_ring),
            _ => return Found::Unfit,
        }
    }
    match image.and_then(|image| scene.appearance.image(image)) {
        Some(image) if uvs.len() == rings.len() => Found::Image(image, uvs),
        None if image.is_none() => Found::Nothing,
        _ => Found::Unfit,
    }
}
