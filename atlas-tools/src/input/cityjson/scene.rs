//! What the objects of a CityJSON document stand in: vertices, appearances, templates, and each other.
//!
//! Owns the vertices and the families of objects: which part belongs to which building, and which level of detail of
//! each is read. Receives the parsed document, yields coordinates and [`Node`]s. It holds no boundaries.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use voxatlas::geo::mercator::metres_per_voxel_at;

use super::loose::{Entries, Lenient, List};
use super::schema::{Appearance, Geometry, Kind, Object, Templates, Transform};
use crate::crs::{CrsError, Placer};
use crate::input::attributes::Attributes;
use crate::input::city::class::{Piece, Role, piece_of, role_of};
use crate::input::city::lod::{Lod, UnitLevels, choose_levels};
use crate::input::city::thing::with_those_of;
use crate::input::{Place, ReadOptions};

/// Parts of parts of parts: a document that says more has a circle in it.
const DEPTH_MAX: usize = 16;

/// What objects refer to.
pub(super) struct Scene {
    pub placer: Placer,
    pub transform: Transform,
    pub vertices: List<super::loose::Numbers<3>>,
    pub appearance: Appearance,
    pub templates: Templates,
}

impl Scene {
    /// The coordinates of a vertex.
    pub(super) fn vertex(&self, idx: u32) -> Option<[f64; 3]> {
        self.vertices.0.get(idx as usize).map(|&vertex| self.transform.apply(vertex))
    }

    /// The place of a template's point that is `offset` away from its reference point. Templates are in metres, so where
    /// the CRS is one of degrees the offset is laid out on the ground.
    pub(super) fn place_offset(&self, reference: [f64; 3], offset: [f64; 3]) -> Result<Place, CrsError> {
        let origin = self.placer.place(reference)?;
        let voxel_m = metres_per_voxel_at(origin.z);
        let step = self.placer.place([reference[0] + 1.0, reference[1], reference[2]]);
        // One step of the CRS is a metre or a foot, or else a hundred kilometres.
        let is_metric =
            step.is_ok_and(|step| ((step.x - origin.x).abs() + (step.z - origin.z).abs()) * voxel_m < 100.0);
        if is_metric {
            return self.placer.place(std::array::from_fn(|axis| reference[axis] + offset[axis]));
        }
        let [east_m, north_m, up_m] = offset;
        let [x, z] = [origin.x + east_m / voxel_m, origin.z - north_m / voxel_m];
        Ok(Place { x, z, height_m: origin.height_m + up_m })
    }
}

/// What must be known of an object before it is read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Object")]
pub(super) struct Summary {
    class: String,
    parent: Option<String>,
    levels: Vec<Level>,
    /// Of members of a family only: each says what the others do not.
    attributes: Attributes,
}

/// A level of detail, or that of a template.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Level {
    Own(Lod),
    Template(usize),
}

impl From<Object> for Summary {
    fn from(object: Object) -> Self {
        Self::of(&object)
    }
}

impl Summary {
    /// What must be known of an object.
    pub(super) fn of(object: &Object) -> Self {
        let level = |Lenient(geometry): &Lenient<Geometry>| match geometry.kind() {
            Kind::Surfaces { .. } => Some(Level::Own(level_of(geometry))),
            Kind::Instance => geometry.template().map(Level::Template),
            Kind::Other => None,
        };
        let is_in_family = object.has_children() || object.parent().is_some();
        Self {
            class: object.class().to_owned(),
            parent: object.parent().map(str::to_owned),
            levels: object.geometry.0.iter().filter_map(level).collect(),
            attributes: if is_in_family { object.attributes.0.clone() } else { Vec::new() },
        }
    }
}

/// The level of detail of a geometry; 1 where it says none.
pub(super) fn level_of(geometry: &Geometry) -> Lod {
    geometry.lod().unwrap_or(Lod(10))
}

/// An object in its family.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub id: String,
    pub class: String,
    /// `None` where the class is not known.
    pub role: Option<Role>,
    /// The level of detail to read; `None` where nothing of it is.
    pub lod: Option<Lod>,
    /// The object that it is a part of in the end, or itself.
    pub root: usize,
    /// What is known of the whole family, of the root only.
    pub attributes: Attributes,
}

/// The objects of a document, with what is read of each.
pub(super) fn nodes(summaries: Entries<Lenient<Summary>>, templates: &Templates, read: &ReadOptions) -> Vec<Node> {
    let summaries: Vec<(String, Summary)> =
        summaries.0.into_iter().map(|(id, Lenient(summary))| (id, summary)).collect();
    let mut by_id: FxHashMap<&str, usize> = FxHashMap::default();
    for (idx, (id, _)) in summaries.iter().enumerate() {
        by_id.entry(id).or_insert(idx);
    }
    let parent_of = |idx: usize| summaries[idx].1.parent.as_deref().and_then(|parent| by_id.get(parent).copied());
    let roots: Vec<(usize, usize)> = (0..summaries.len()).map(|idx| root_of(idx, parent_of)).collect();
    let mut families: Vec<Vec<usize>> = vec![Vec::new(); summaries.len()];
    for (idx, &(root, _)) in roots.iter().enumerate() {
        families[root].push(idx);
    }
    let mut lods = vec![None; summaries.len()];
    let mut attributes = vec![Attributes::new(); summaries.len()];
    for (root, mut family) in families.into_iter().enumerate().filter(|(_, family)| !family.is_empty()) {
        // Parents stand before their children, else as in the file.
        family.sort_by_key(|&idx| (roots[idx].1, idx));
        let role = role_of_root(&summaries[root].1.class);
        let place_of = |idx: usize| family.iter().position(|&member| member == idx).unwrap_or(0) as u32;
        let units: Vec<UnitLevels> = family
            .iter()
            .map(|&idx| {
                let summary = &summaries[idx].1;
                UnitLevels {
                    piece: if idx == root { None } else { piece_of(&summary.class).or(Some(Piece::Part)) },
                    parent: parent_of(idx).map_or(0, place_of),
                    levels: levels_of(summary, idx == root, templates),
                }
            })
            .collect();
        let chosen = choose_levels(&units, Lod::cap(read.lod), role != Some(Role::Building));
        for (&idx, lod) in family.iter().zip(chosen) {
            lods[idx] = lod;
        }
        let of_family = family.iter().map(|&idx| &summaries[idx].1.attributes);
        // The root's, and what the others say besides.
        attributes[root] = of_family.fold(Attributes::new(), |known, other| with_those_of(&known, other));
    }
    let role = |idx: usize| role_of_root(&summaries[roots[idx].0].1.class);
    let roles: Vec<Option<Role>> = (0..summaries.len()).map(role).collect();
    let node = |(idx, (id, summary)): (usize, (String, Summary))| Node {
        id,
        role: roles[idx],
        lod: lods[idx],
        root: roots[idx].0,
        attributes: std::mem::take(&mut attributes[idx]),
        class: summary.class,
    };
    summaries.into_iter().enumerate().map(node).collect()
}

/// The root of an object's family, and how far it is from it.
fn root_of(idx: usize, parent_of: impl Fn(usize) -> Option<usize>) -> (usize, usize) {
    let mut at = idx;
    for depth in 0..DEPTH_MAX {
        match parent_of(at) {
            Some(parent) => at = parent,
            None => return (at, depth),
        }
    }
    (idx, 0)
}

/// What an object becomes that is no part of another: a part without its whole is taken for one.
fn role_of_root(class: &str) -> Option<Role> {
    role_of(class).or_else(|| match (piece_of(class)?, class) {
        (Piece::Part, "BuildingPart") => Some(Role::Building),
        (Piece::Part | Piece::Addition, _) => Some(Role::Structure),
        _ => None,
    })
}

fn levels_of(summary: &Summary, is_root: bool, templates: &Templates) -> Vec<Lod> {
    if !is_root && piece_of(&summary.class) == Some(Piece::Inside) {
        return Vec::new();
    }
    let level = |level: &Level| match *level {
        Level::Own(lod) => Some(lod),
        Level::Template(template) => templates.templates.0.get(template).map(|Lenient(template)| level_of(template)),
    };
    let mut levels: Vec<Lod> = summary.levels.iter().filter_map(level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}
