//! What an input yields, one at a time: the values that cross from a reader of a format to the gathering of a city.
//!
//! Every place is in the world's own frame, whatever the CRS of the file was: a reader is handed a placer and nothing
//! behind it knows of degrees, eastings or feet.
//!
//! ```text
//!   Prism   a footprint that stands on the ground       Model   surfaces in space, with their colours
//!   Cover   what the ground looks like                  Relief  the ground's own surface, as triangles
//!   Points  a point cloud                               Voxels  a model that is voxels already
//! ```

use serde::{Deserialize, Serialize};
use voxatlas::voxel::Colour;

use super::{FeatureId, Height};

/// A place in the world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// East, in z17 voxels, 0..2^25; a shape that crosses the antimeridian goes on beyond an end.
    pub x: f64,
    /// South, in z17 voxels, 0..=2^25.
    pub z: f64,
    /// Metres above the tileset's vertical datum.
    pub height_m: f64,
}

/// One thing of a city.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A building or a part of one, by its footprint.
    Prism(Prism),
    /// A thing that has surfaces.
    Model(Model),
    /// A piece of ground.
    Cover(Cover),
    /// Triangles of the ground's surface.
    Relief(Vec<[Place; 3]>),
    /// Points, any number at once.
    Points(Vec<Point>),
    /// Voxels.
    Voxels(VoxelModel),
}

/// What a feature is called and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Its id, the same in every tile, file and run.
    pub id: FeatureId,
    /// Its id as the file writes it; empty where it has none.
    pub name: String,
    /// Its attributes in the order of the file; read only where [`super::ReadOptions::with_attributes`] asks for them.
    pub attributes: Vec<(String, serde_json::Value)>,
}

/// Rings in the plane, world x and z in z17 voxels, filled by the even-odd rule; a ring need not repeat its first point.
pub type Rings = Vec<Vec<[f64; 2]>>;

/// A footprint that stands on the ground, or floats above it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prism {
    /// Its name.
    pub named: Named,
    /// What it covers: the union of its polygons.
    pub polygons: Vec<Rings>,
    /// Its top above its ground.
    pub height: Height,
    /// Its underside above its ground, in metres, 0 where it stands on it; below [`Prism::height`].
    pub min_height_m: f64,
    /// The colour of its walls, where the file or the palette says so.
    pub wall: Option<Colour>,
    /// The colour of its roof, where the file or the palette says so.
    pub roof: Option<Colour>,
}

/// Surfaces in space, at heights of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Its name.
    pub named: Named,
    /// Its surfaces, in the order of the file.
    pub surfaces: Vec<Surface>,
}

/// A surface of a model, as triangles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// What it is a surface of.
    pub kind: SurfaceKind,
    /// Its triangles, counter-clockwise seen from outside, where the file's are.
    pub triangles: Vec<[Place; 3]>,
    /// Its colour.
    pub paint: Paint,
}

/// What a surface is a surface of. Where two surfaces share a voxel, the later kind shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SurfaceKind {
    /// The underside of a building, hidden by the ground.
    Ground,
    /// Closes a gap where nothing is built: not drawn, but counts where a solid is filled.
    Closure,
    /// A floor inside, or the underside of a part that juts out.
    Floor,
    /// Nothing is said.
    Other,
    /// A wall.
    Wall,
    /// A window or a door.
    Opening,
    /// A roof.
    Roof,
}

/// The colour of a surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Paint {
    /// Nothing is said: the look of the city decides by the kind of the surface.
    Look,
    /// One colour.
    Colour(Colour),
    /// A colour for each corner of each triangle.
    Corners(Vec<[Colour; 3]>),
    /// A place in an image for each corner of each triangle: u to the right, v downwards, one image wide and high.
    Texture {
        /// The image, as [`super::Sink::texture`] numbered it.
        texture: u32,
        /// By triangle.
        uvs: Vec<[[f32; 2]; 3]>,
        /// Multiplies the texels.
        tint: Colour,
    },
}

/// A piece of ground that looks like something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cover {
    /// Its name.
    pub named: Named,
    /// What it covers.
    pub polygons: Vec<Rings>,
    /// What it is. Where two pieces overlap, the later kind shows.
    pub kind: CoverKind,
    /// Its colour, where the file or the palette says so.
    pub colour: Option<Colour>,
}

/// What a piece of ground is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CoverKind {
    /// Nothing that has a look of its own.
    Other,
    /// Fields.
    Farm,
    /// Grass, parks, gardens.
    Green,
    /// Trees.
    Wood,
    /// Sand and bare ground.
    Sand,
    /// Water.
    Water,
    /// Squares, car parks, yards.
    Paved,
    /// Rails.
    Rail,
    /// Pavements and paths.
    Path,
    /// Streets.
    Road,
}

/// A point of a point cloud.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where.
    pub place: Place,
    /// Its colour: the file's own, or that of its class.
    pub colour: Colour,
    /// Whether it is known to lie on the ground.
    pub is_ground: bool,
}

/// A model of voxels of its own size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VoxelModel {
    /// Its name.
    pub named: Named,
    /// Where the corner of voxel (0, 0, 0) with the least x, y and z stands.
    pub corner: Place,
    /// The edge of a voxel, in z17 voxels of the world.
    pub edge: f64,
    /// Occupied voxels: x east, y up, z south, each once, in any order.
    pub voxels: Vec<([i32; 3], Colour)>,
}

impl VoxelModel {
    /// The lowest voxel's y and one above the highest's; 0 and 0 where there is none.
    pub fn height_range(&self) -> [i32; 2] {
        let ys = || self.voxels.iter().map(|([_, y, _], _)| *y);
        [ys().min().unwrap_or(0), ys().max().map_or(0, |y| y.saturating_add(1))]
    }
}
