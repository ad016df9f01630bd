//! The geometry of one city object, as it is read: points, rings, polygons, and who refers to whom.
//!
//! Flat lists, emptied and filled again for each object. Coordinates stay as the file has them; nothing is chosen or
//! joined here.

use super::appearance::GmlId;
use crate::input::SurfaceKind;
use crate::input::city::lod::Lod;

/// No scope: the outermost.
pub(super) const NO_SCOPE: u32 = u32::MAX;

/// What a polygon is used for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Use {
    /// The piece of the object, an index.
    pub unit: u32,
    /// The level of detail.
    pub lod: Lod,
    /// Its class, where it has one.
    pub kind: Option<SurfaceKind>,
    /// Whether it is the outline of a roof rather than of a footprint.
    pub is_roof_edge: bool,
    /// Whether a solid of several refers to it from its other side.
    pub is_reversed: bool,
}

/// A ring: points `start..start + len`, with the last point that repeats the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring {
    pub start: u32,
    pub len: u32,
    pub id: Option<GmlId>,
}

/// A polygon: rings `start..start + len`, the outer first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Polygon {
    pub start: u32,
    pub len: u32,
    pub usage: Use,
    /// The innermost geometry round it that has an id, or its own.
    pub scope: u32,
    /// The CRS of its coordinates, an index.
    pub crs: u16,
    /// The frame of an implicit geometry, an index; `None` for coordinates in the CRS.
    pub frame: Option<u16>,
}

/// A geometry with an id, and what is round it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    pub id: GmlId,
    pub parent: u32,
}

/// A reference to a geometry elsewhere in the object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference {
    pub target: GmlId,
    pub usage: Use,
    /// Within what it stands: the materials of that count for it too.
    pub scope: u32,
}

/// Where a geometry of its own coordinates stands: CityGML's implicit geometry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    /// Row by row; metres to metres.
    pub matrix: [f64; 16],
    /// Where the origin stands, in the CRS.
    pub reference: [f64; 3],
    pub crs: u16,
}

/// The geometry of an object.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub points: Vec<[f64; 3]>,
    pub rings: Vec<Ring>,
    pub polygons: Vec<Polygon>,
    pub scopes: Vec<Scope>,
    pub references: Vec<Reference>,
    pub frames: Vec<Frame>,
}

impl Shapes {
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.scopes.clear();
        self.references.clear();
        self.clear_polygons();
    }

    /// Forgets polygons that have been passed on; scopes stay, since elements are still open.
    pub(super) fn clear_polygons(&mut self) {
        self.points.clear();
        self.rings.clear();
        self.polygons.clear();
    }

    /// Opens a scope, where there is an id.
    pub(super) fn open_scope(&mut self, id: Option<GmlId>, parent: u32) -> u32 {
        let Some(id) = id else { return parent };
        self.scopes.push(Scope { id, parent });
        (self.scopes.len() - 1) as u32
    }

    /// The ids of a scope and of all round it, from within.
    pub(super) fn ids_from(&self, scope: u32) -> impl Iterator<Item = GmlId> + '_ {
        let mut at = scope;
        std::iter::from_fn(move || {
            let found = self.scopes.get(at as usize)?;
            at = found.parent;
            Some(found.id)
        })
    }

    /// The rings of a polygon.
    pub(super) fn rings_of(&self, polygon: &Polygon) -> &[Ring] {
        &self.rings[polygon.start as usize..(polygon.start + polygon.len) as usize]
    }

    /// The points of a ring, with the last that repeats the first.
    pub(super) fn points_of(&self, ring: &Ring) -> &[[f64; 3]] {
        &self.points[ring.start as usize..(ring.start + ring.len) as usize]
    }
}
