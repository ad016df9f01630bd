//! From the faces of an object to the items that it is.
//!
//! Receives faces whose points are places, yields surfaces of triangles, footprints, covers or relief. It does not know
//! from which notation the faces came, and chooses nothing among levels of detail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use voxatlas::voxel::Colour;

use crate::geometry::{triangulate, triangulate_textured};
use crate::input::attributes::Attributes;
use crate::input::city::class::PLANT;
use crate::input::city::land::WOOD_M;
use crate::input::{Paint, Place, Problem, Rings, Surface, SurfaceKind};

/// A flat piece of an object's hull.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::input) struct Face {
    /// The outer ring, then its holes; no ring repeats its first point.
    pub rings: Vec<Vec<Place>>,
    /// What it is a piece of.
    pub kind: SurfaceKind,
    /// Its colour.
    pub paint: FacePaint,
}

/// The colour of a face.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::input) enum FacePaint {
    /// Nothing is said.
    Look,
    /// One colour.
    Colour(Colour),
    /// An image, with a place in it for each point of each ring.
    Texture {
        /// As the sink numbered it.
        texture: u32,
        /// By ring and point.
        uvs: Vec<Vec<[f32; 2]>>,
    },
}

/// What is found of an image for a face.
#[derive(Debug, PartialEq)]
pub(in crate::input) enum Found<'a> {
    /// It has none.
    Nothing,
    /// It has one that does not fit it, or that is not there.
    Unfit,
    /// Its name, and the place in it of each point of each ring.
    Image(&'a str, Vec<Vec<[f32; 2]>>),
}

/// What faces must share to become one surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PaintKey {
    Look,
    Colour(Colour),
    Texture(u32),
}

/// Triangulates faces and joins those of one kind and colour, in the order of their first faces.
pub(in crate::input) fn surfaces(faces: &[Face], problem: &mut dyn FnMut(Problem)) -> Vec<Surface> {
    let mut surfaces: Vec<Surface> = Vec::new();
    let mut numbers: BTreeMap<(SurfaceKind, PaintKey), usize> = BTreeMap::new();
    for face in faces {
        let (triangles, of_triangles) = match &face.paint {
            FacePaint::Texture { uvs, .. } => triangulate_textured(&face.rings, uvs, problem),
            _ => (triangulate(&face.rings, problem), Vec::new()),
        };
        if triangles.is_empty() {
            continue;
        }
        let number = *numbers.entry((face.kind, paint_key(&face.paint))).or_insert_with(|| {
            surfaces.push(Surface { kind: face.kind, triangles: Vec::new(), paint: empty_paint(&face.paint) });
            surfaces.len() - 1
        });
        let surface = &mut surfaces[number];
        if let Paint::Texture { uvs, .. } = &mut surface.paint {
            uvs.extend(of_triangles);
        }
        surface.triangles.extend(triangles);
    }
    surfaces
}

fn paint_key(paint: &FacePaint) -> PaintKey {
    match paint {
        FacePaint::Look => PaintKey::Look,
        FacePaint::Colour(colour) => PaintKey::Colour(*colour),
        FacePaint::Texture { texture, .. } => PaintKey::Texture(*texture),
    }
}

fn empty_paint(paint: &FacePaint) -> Paint {
    match paint {
        FacePaint::Look => Paint::Look,
        FacePaint::Colour(colour) => Paint::Colour(*colour),
        FacePaint::Texture { texture, .. } => Paint::Texture { texture: *texture, uvs: Vec::new(), tint: [255; 3] },
    }
}

/// What faces cover in plan: a polygon a face, without the upright ones.
pub(in crate::input) fn footprint(faces: &[Face]) -> Vec<Rings> {
    let polygons = faces.iter().filter(|face| face.rings.first().is_some_and(|ring| plan_area(ring) > AREA_MIN));
    polygons
        .map(|face| face.rings.iter().map(|ring| ring.iter().map(|place| [place.x, place.z]).collect()).collect())
        .collect()
}

/// Below this a face covers nothing, in square voxels.
const AREA_MIN: f64 = 1e-9;

/// The area of a ring seen from above, in square voxels.
fn plan_area(ring: &[Place]) -> f64 {
    let Some(first) = ring.first() else { return 0.0 };
    let next = ring.iter().cycle().skip(1);
    let cross = |(a, b): (&Place, &Place)| (a.x - first.x) * (b.z - first.z) - (b.x - first.x) * (a.z - first.z);
    let twice: f64 = ring.iter().zip(next).map(cross).sum();
    twice.abs() / 2.0
}

/// The triangles of faces that are the ground's surface.
pub(in crate::input) fn relief(faces: &[Face], problem: &mut dyn FnMut(Problem)) -> Vec<[Place; 3]> {
    let mut triangles = Vec::new();
    for face in faces {
        match face.rings.as_slice() {
            [ring] if ring.len() == 3 => triangles.push([ring[0], ring[1], ring[2]]),
            rings => triangles.extend(triangulate(rings, problem)),
        }
    }
    triangles
}

/// The box round faces, world x and z in z17 voxels: west, north, east, south.
pub(in crate::input) fn bounds<'a>(faces: impl IntoIterator<Item = &'a Face>) -> Option<[f64; 4]> {
    let places = faces.into_iter().flat_map(|face| face.rings.iter().flatten());
    places.fold(None, |bounds: Option<[f64; 4]>, place| {
        let [west, north, east, south] = bounds.unwrap_or([place.x, place.z, place.x, place.z]);
        Some([west.min(place.x), north.min(place.z), east.max(place.x), south.max(place.z)])
    })
}

/// A point through a matrix that is written row by row.
pub(in crate::input) fn transform(matrix: &[f64; 16], [x, y, z]: [f64; 3]) -> [f64; 3] {
    let row = |row: usize| {
        let m = &matrix[4 * row..4 * row + 4];
        m[0] * x + m[1] * y + m[2] * z + m[3]
    };
    let w = row(3);
    let w = if w == 0.0 { 1.0 } else { w };
    [row(0) / w, row(1) / w, row(2) / w]
}

/// Where an image lies: its name is relative to the file that names it. `None` for one in the net.
pub(in crate::input) fn image_path(file: &Path, image: &str) -> Option<PathBuf> {
    if image.contains("://") {
        return None;
    }
    Some(file.parent()?.join(image.replace('\\', "/")))
}

/// Attributes, and those of another that are new.
pub(in crate::input) fn with_those_of(known: &Attributes, other: &Attributes) -> Attributes {
    let is_new = |(name, _): &&(String, Value)| !known.iter().any(|(known, _)| known == name);
    known.iter().chain(other.iter().filter(is_new)).cloned().collect()
}

/// The hull of plants that stand as high as a wood, green where it has no colour; `None` where they do not: they are a
/// look of the ground, however it slopes a little.
pub(in crate::input) fn canopy(class: &str, faces: &[Face], problem: &mut dyn FnMut(Problem)) -> Option<Vec<Surface>> {
    let heights = faces.iter().flat_map(|face| face.rings.iter().flatten()).map(|place| place.height_m);
    let [low, high] = heights
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], height_m| [low.min(height_m), high.max(height_m)]);
    if class != "PlantCover" || high - low < WOOD_M {
        return None;
    }
    let mut green = faces.to_vec();
    for face in &mut green {
        if face.paint == FacePaint::Look {
            face.paint = FacePaint::Colour(PLANT);
        }
    }
    Some(surfaces(&green, problem)).filter(|surfaces| !surfaces.is_empty())
}

/// The colour of the first face that has one.
pub(in crate::input) fn first_colour(faces: &[Face]) -> Option<Colour> {
    faces.iter().find_map(|face| match face.paint {
        FacePaint::Colour(colour) => Some(colour),
        _ => None,
    })
}
