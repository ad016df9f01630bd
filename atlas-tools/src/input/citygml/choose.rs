//! Which polygons of an object are read: one level of detail of each part, each face once.
//!
//! Receives the [`Shapes`] of an object, yields polygons with what they are pieces of. References are followed here,
//! since what they name may stand before or after them. It places nothing.

use rustc_hash::FxHashMap;

use super::appearance::GmlId;
use super::object::Unit;
use super::shapes::{Polygon, Shapes, Use};
use crate::input::city::lod::{Lod, UnitLevels, choose_levels};
use crate::input::{Problem, SurfaceKind};

/// References may name geometries that consist of references.
const REFERENCE_DEPTH_MAX: u32 = 3;

/// A polygon that is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chosen {
    /// An index.
    pub polygon: u32,
    /// What it is used for.
    pub usage: Use,
    /// The scope of the reference that led to it, or its own.
    pub scope: u32,
}

/// The polygons of the finest level of detail that each unit has below `cap`. An outline without height is left out
/// where any part of the object has more, and so is what its parts show more finely.
pub(super) fn choose(
    shapes: &Shapes,
    units: &[Unit],
    cap: Lod,
    keeps_flat: bool,
    problem: &mut impl FnMut(Problem),
) -> Vec<Chosen> {
    let used = used_polygons(shapes, problem);
    let levels = levels_of(&used, units, cap, keeps_flat);
    let is_chosen = |used: &Chosen| levels[used.usage.unit as usize] == Some(used.usage.lod);
    let mut chosen = Vec::new();
    let mut places: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for used in used.into_iter().filter(is_chosen) {
        let place = *places.entry((used.polygon, used.usage.unit)).or_insert(chosen.len());
        match chosen.get_mut(place) {
            None => chosen.push(used),
            Some(Chosen { usage, .. }) => usage.kind = usage.kind.or(used.usage.kind),
        }
    }
    without_copies(chosen, shapes)
}

/// Every polygon where it stands, and again where it is referred to.
fn used_polygons(shapes: &Shapes, problem: &mut impl FnMut(Problem)) -> Vec<Chosen> {
    let own =
        |(idx, polygon): (usize, &Polygon)| Chosen { polygon: idx as u32, usage: polygon.usage, scope: polygon.scope };
    let mut used: Vec<Chosen> = shapes.polygons.iter().enumerate().map(own).collect();
    if shapes.references.is_empty() {
        return used;
    }
    let members = Members::of(shapes);
    // Each reference leads to each polygon a few times at most; a file that says more is not followed.
    let n_max = 8 * (shapes.polygons.len() + shapes.references.len());
    let mut found = Vec::new();
    for reference in &shapes.references {
        found.clear();
        members.collect(reference.target, 0, shapes, n_max, &mut found);
        if found.is_empty() || used.len() + found.len() > n_max {
            problem(Problem::DanglingReference);
            continue;
        }
        used.extend(found.iter().map(|&(polygon, is_reversed)| {
            let is_reversed = reference.usage.is_reversed ^ is_reversed;
            Chosen { polygon, usage: Use { is_reversed, ..reference.usage }, scope: reference.scope }
        }));
    }
    used
}

/// What each geometry with an id consists of.
struct Members {
    polygons: FxHashMap<GmlId, Vec<u32>>,
    references: FxHashMap<GmlId, Vec<u32>>,
}

impl Members {
    fn of(shapes: &Shapes) -> Self {
        let mut members = Self { polygons: FxHashMap::default(), references: FxHashMap::default() };
        for (idx, polygon) in shapes.polygons.iter().enumerate() {
            for id in shapes.ids_from(polygon.scope) {
                members.polygons.entry(id).or_default().push(idx as u32);
            }
        }
        for (idx, reference) in shapes.references.iter().enumerate() {
            for id in shapes.ids_from(reference.scope) {
                members.references.entry(id).or_default().push(idx as u32);
            }
        }
        members
    }

    fn collect(&self, id: GmlId, depth: u32, shapes: &Shapes, n_max: usize, found: &mut Vec<(u32, bool)>) {
        let polygons = self.polygons.get(&id).map_or(&[][..], Vec::as_slice);
        found.extend(polygons.iter().map(|&polygon| (polygon, shapes.polygons[polygon as usize].usage.is_reversed)));
        if depth == REFERENCE_DEPTH_MAX || found.len() > n_max {
            return;
        }
        for &reference in self.references.get(&id).map_or(&[][..], Vec::as_slice) {
            let target = shapes.references[reference as usize].target;
            if target != id && found.len() <= n_max {
                self.collect(target, depth + 1, shapes, n_max, found);
            }
        }
    }
}

/// The level of detail of each unit; `None` for those that are left out.
fn levels_of(used: &[Chosen], units: &[Unit], cap: Lod, keeps_flat: bool) -> Vec<Option<Lod>> {
    let of_unit = |unit: &Unit| UnitLevels { piece: unit.piece, parent: unit.parent, levels: Vec::new() };
    let mut levels: Vec<UnitLevels> = units.iter().map(of_unit).collect();
    for used in used {
        let levels = &mut levels[used.usage.unit as usize].levels;
        if !levels.contains(&used.usage.lod) {
            levels.push(used.usage.lod);
        }
    }
    choose_levels(&levels, cap, keeps_flat)
}

/// Files repeat the faces of a solid, once without and once with a class: the one with the class stays.
fn without_copies(chosen: Vec<Chosen>, shapes: &Shapes) -> Vec<Chosen> {
    let is_classed = |chosen: &Chosen| chosen.usage.kind.is_some();
    if chosen.iter().all(is_classed) || !chosen.iter().any(is_classed) {
        return chosen;
    }
    let key_of = |chosen: &Chosen| {
        let polygon = &shapes.polygons[chosen.polygon as usize];
        let ring = shapes.rings_of(polygon).first()?;
        let mut points: Vec<[u64; 3]> = shapes.points_of(ring).iter().map(|point| point.map(f64::to_bits)).collect();
        points.sort_unstable();
        points.dedup();
        Some((chosen.usage.unit, points))
    };
    let classed: rustc_hash::FxHashSet<_> =
        chosen.iter().filter(|chosen| is_classed(chosen)).filter_map(key_of).collect();
    let is_copy = |chosen: &Chosen| !is_classed(chosen) && key_of(chosen).is_some_and(|key| classed.contains(&key));
    chosen.into_iter().filter(|chosen| !is_copy(chosen)).collect()
}

/// The kind of a chosen polygon: [`SurfaceKind::Other`] where nothing is said.
pub(super) fn kind_of(chosen: &Chosen) -> SurfaceKind {
    chosen.usage.kind.unwrap_or(SurfaceKind::Other)
}
