//! What an element within a city object is, by its local name.
//!
//! The prefixes differ between files and the versions of CityGML move names between namespaces; the local names say
//! enough.

use crate::input::SurfaceKind;
use crate::input::city::class::{Piece, piece_of, surface_kind};
use crate::input::city::lod::Lod;

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// A property that holds geometry of a level of detail.
    Geometry { lod: Lod, is_roof_edge: bool },
    /// A property that holds an implicit geometry.
    Implicit(Lod),
    /// A surface with a class.
    Surface(SurfaceKind),
    /// A part.
    Piece(Piece),
    /// The box round the object.
    Envelope,
    /// Holds appearances.
    Appearance,
    /// A generic attribute.
    Generic,
    /// Geometry that is no surface, where a surface was to be expected.
    Unused,
    /// What is of no use here.
    Skipped,
    /// A property with members, or an attribute.
    Other,
}

/// What an element of this local name is.
pub(super) fn element_of(name: &str) -> Element {
    if let Some(element) = level_of(name) {
        return element;
    }
    if let Some(piece) = piece_of(name) {
        return Element::Piece(piece);
    }
    if let Some(kind) = surface_kind(name) {
        return Element::Surface(kind);
    }
    match name {
        // A relief has one surface, whatever its level is called.
        "tin" => Element::Geometry { lod: Lod(10), is_roof_edge: false },
        "Envelope" => Element::Envelope,
        "appearance" | "appearanceMember" => Element::Appearance,
        "stringAttribute" | "intAttribute" | "doubleAttribute" | "dateAttribute" | "uriAttribute"
        | "measureAttribute" | "codeAttribute" | "StringAttribute" | "IntAttribute" | "DoubleAttribute"
        | "DateAttribute" | "UriAttribute" | "MeasureAttribute" | "CodeAttribute" => Element::Generic,
        "reliefPoints" | "ridgeOrValleyLines" | "breaklines" | "grid" => Element::Unused,
        "generalizesTo" | "relatedTo" | "extent" => Element::Skipped,
        _ => Element::Other,
    }
}

/// A name such as `lod2MultiSurface`.
fn level_of(name: &str) -> Option<Element> {
    let (level, rest) = name.strip_prefix("lod")?.split_at_checked(1)?;
    let lod = Lod(level.parse::<u8>().ok()? * 10);
    Some(match rest {
        "FootPrint" | "Solid" | "MultiSolid" | "MultiSurface" | "Surface" | "CompositeSurface" | "Geometry" => {
            Element::Geometry { lod, is_roof_edge: false }
        }
        "RoofEdge" => Element::Geometry { lod, is_roof_edge: true },
        "ImplicitRepresentation" => Element::Implicit(lod),
        "MultiCurve"
        | "TerrainIntersection"
        | "TerrainIntersectionCurve"
        | "Network"
        | "Point"
        | "MultiPoint"
        | "PointCloud" => Element::Skipped,
        // PLATEAU's `lod1HeightType` is an attribute.
        _ => return None,
    })
}
