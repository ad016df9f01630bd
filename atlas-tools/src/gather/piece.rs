//! A model as one tile sees it: what is true of all of it, and the triangles that reach the tile.

use serde::{Deserialize, Serialize};
use voxatlas::geo::mercator::metres_per_voxel_at;

use crate::geometry::{Closed, Frame, is_closed};
use crate::ground::Base;
use crate::input::{Described, FeatureId, Model, Paint, Place, Problem, Surface, SurfaceKind};

/// Edge of the cells in which the low places of a wide model are looked for, in voxels.
const CELL: f64 = 64.0;

/// How far above the lowest place around a low place may be, in metres: what is higher is a roof.
const LOW_M: f64 = 3.0;

/// What is true of a whole model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Whole {
    /// Its id.
    pub(crate) id: FeatureId,
    /// Its name and attributes.
    pub(crate) described: Described,
    /// Its lowest place, in metres above the datum.
    pub(crate) low_m: f64,
    /// Its highest place, in metres above the datum.
    pub(crate) high_m: f64,
    /// The box round it, world x and z in z17 voxels: west, north, east, south.
    pub(crate) bounds: [f64; 4],
    /// Whether its surfaces close, so that it has an inside.
    pub(crate) is_closed: bool,
}

/// The part of a model that a tile needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// What is true of the whole.
    pub(crate) whole: Whole,
    /// The surfaces, with the triangles that reach the tile.
    pub(crate) surfaces: Vec<Surface>,
}

impl Whole {
    /// Looks at a model; `None` where it has no triangle with places on the globe.
    pub(crate) fn of(model: &Model, with_inside: bool, problem: &mut dyn FnMut(Problem)) -> Option<Self> {
        let places = || model.surfaces.iter().flat_map(|surface| surface.triangles.iter().flatten());
        let range = |value: fn(&Place) -> f64| {
            places()
                .map(value)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
        };
        let ((west, east), (north, south), (low_m, high_m)) =
            (range(|place| place.x), range(|place| place.z), range(|place| place.height_m));
        if !(west <= east && north <= south && low_m <= high_m) {
            return None;
        }
        let is_closed = with_inside && is_solid(model, [west, north], low_m, problem);
        Some(Self {
            id: model.named.id,
            described: Described { name: model.named.name.clone(), attributes: model.named.attributes.clone() },
            low_m,
            high_m,
            bounds: [west, north, east, south],
            is_closed,
        })
    }

    /// Where the ground is known since the model stands on it.
    pub(crate) fn bases(&self, model: &Model) -> Vec<Base> {
        let [west, north, east, south] = self.bounds;
        if east - west <= 2.0 * CELL && south - north <= 2.0 * CELL {
            return vec![Base { x: f64::midpoint(west, east), z: f64::midpoint(north, south), height_m: self.low_m }];
        }
        let mut lows: std::collections::BTreeMap<[i64; 2], Place> = std::collections::BTreeMap::new();
        for place in model.surfaces.iter().flat_map(|surface| surface.triangles.iter().flatten()) {
            let low = lows.entry([place.x, place.z].map(|along| (along / CELL).floor() as i64)).or_insert(*place);
            let order = |place: &Place| [place.height_m, place.x, place.z];
            if order(place) < order(low) {
                *low = *place;
            }
        }
        let is_low = |(cell, low): &(&[i64; 2], &Place)| {
            let [x, z] = **cell;
            let around = (-1..=1).flat_map(|dz| (-1..=1).map(move |dx| [x + dx, z + dz]));
            around.filter_map(|cell| lows.get(&cell)).all(|other| low.height_m <= other.height_m + LOW_M)
        };
        let bases = lows.iter().filter(is_low);
        bases.map(|(_, low)| Base { x: low.x, z: low.z, height_m: low.height_m }).collect()
    }

    /// The part of the model that reaches a box: west, north, east, south.
    pub(crate) fn piece(&self, model: &Model, [west, north, east, south]: [f64; 4]) -> Piece {
        let reaches = |triangle: &[Place; 3]| {
            let all = |test: &dyn Fn(&Place) -> bool| triangle.iter().all(test);
            !(all(&|place| place.x < west)
                || all(&|place| place.x > east)
                || all(&|place| place.z < north)
                || all(&|place| place.z > south))
        };
        let surfaces = model.surfaces.iter().filter_map(|surface| {
            let kept: Vec<usize> =
                (0..surface.triangles.len()).filter(|&idx| reaches(&surface.triangles[idx])).collect();
            if kept.is_empty() {
                return None;
            }
            let paint = match &surface.paint {
                Paint::Corners(colours) => {
                    Paint::Corners(kept.iter().filter_map(|&idx| colours.get(idx).copied()).collect())
                }
                Paint::Texture { texture, uvs, tint } => Paint::Texture {
                    texture: *texture,
                    uvs: kept.iter().filter_map(|&idx| uvs.get(idx).copied()).collect(),
                    tint: *tint,
                },
                plain => plain.clone(),
            };
            let triangles = kept.iter().map(|&idx| surface.triangles[idx]).collect();
            Some(Surface { kind: surface.kind, triangles, paint })
        });
        Piece { whole: self.clone(), surfaces: surfaces.collect() }
    }
}

/// Whether a model's surfaces close.
fn is_solid(model: &Model, corner: [f64; 2], low_m: f64, problem: &mut dyn FnMut(Problem)) -> bool {
    let voxel_m = metres_per_voxel_at(corner[1]);
    let frame = Frame { corner: [corner[0] as i64, (low_m / voxel_m) as i64, corner[1] as i64], voxel_m };
    let bounding = model.surfaces.iter().filter(|surface| surface.kind != SurfaceKind::Opening);
    let triangles: Vec<_> =
        bounding.flat_map(|surface| &surface.triangles).map(|&triangle| frame.units(triangle)).collect();
    match is_closed(&triangles) {
        Closed::Yes => true,
        Closed::Inverted => {
            problem(Problem::InvertedShell);
            true
        }
        Closed::Open { .. } => {
            problem(Problem::OpenShell);
            false
        }
        Closed::Empty => false,
    }
}
