//! Models to voxels: every voxel that a surface touches, in the colour that the surface has there.
//!
//! Receives the pieces of models that reach a tile, yields dots. A voxel counts by the exact test of triangle against
//! box, the inside of a closed model by its centre. Voxels are as high as those of the row of tiles in which they lie,
//! so that tiles at a border agree. What has no colour of its own looks as the city does: walls get floors and windows,
//! roofs the roof of their building.

use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Colour;

use crate::gather::{Piece, beside, box_of};
use crate::geometry::{Frame, Triangle, UNITS, Window3, barycentric_at, inside_of, voxels_of};
use crate::input::{Paint, Place, Surface, SurfaceKind, TextureStore};
use crate::look::{Facts, RoofPoint, Style, Tint, Wall, WallPoint};
use crate::scatter::Dot;
use crate::voxelise::{LAYERS, layer_range};

/// The rank of a model's inside; its surfaces rank above it by their kind.
const INSIDE_RANK: u8 = 1;

/// A surface is a roof or a floor rather than a wall where its normal rises more steeply than this: its vertical part
/// over its length.
const LEVEL: f64 = 0.5;

/// The voxels of a model in a tile and the one column round it; `feature` is what its dots are called.
pub(crate) fn dots_of(piece: &Piece, tile: TileCoord, feature: u32, textures: &TextureStore, dots: &mut Vec<Dot>) {
    let edge = i64::from(REGION_VOXELS);
    // The rows of a tile and the two beside it, each with the voxels of its own row of tiles.
    for (row_tile, first_row, n_rows) in [(-1, -1, 1), (0, 0, edge), (1, edge, 1)] {
        let Some(row_tile) = tile.offset_wrapped(0, row_tile) else { continue };
        let corner = beside(box_of(tile), piece.whole.bounds).map(|along| along as i64);
        let band = Band::new(piece, [corner[0] - 1, corner[1] + first_row], n_rows, row_tile.metres_per_voxel());
        band.dots(piece, feature, textures, [-1, first_row], dots);
    }
}

/// Some rows of columns whose voxels are equally high.
struct Band {
    frame: Frame,
    window: Window3,
}

impl Band {
    fn new(piece: &Piece, [x, z]: [i64; 2], n_rows: i64, voxel_m: f64) -> Self {
        let range = layer_range(LAYERS.start).start..layer_range(LAYERS.end - 1).end;
        // The casts saturate.
        let voxel = |height_m: f64| ((height_m / voxel_m).floor() as i64).clamp(range.start.into(), range.end.into());
        let (low, high) = (voxel(piece.whole.low_m) - 1, voxel(piece.whole.high_m) + 2);
        Self {
            frame: Frame { corner: [x, low, z], voxel_m },
            window: Window3 { size: [REGION_VOXELS + 2, (high - low) as u32, n_rows as u32] },
        }
    }

    /// Adds the dots of a piece; `offset` is the window's corner in columns of the tile.
    fn dots(&self, piece: &Piece, feature: u32, textures: &TextureStore, offset: [i64; 2], dots: &mut Vec<Dot>) {
        let look = Look::new(piece, self.frame.voxel_m);
        let mut put = |[x, y, z]: [u32; 3], tint: Tint, rank: u8, rise: u8| {
            dots.push(Dot {
                x: (i64::from(x) + offset[0]) as i16,
                y: (i64::from(y) + self.frame.corner[1]) as i32,
                z: (i64::from(z) + offset[1]) as i16,
                tint,
                feature,
                rank,
                rise,
            });
        };
        let mut solid = Vec::new();
        for surface in &piece.surfaces {
            for (idx, &places) in surface.triangles.iter().enumerate() {
                let triangle = self.frame.units(places);
                if piece.whole.is_closed && surface.kind != SurfaceKind::Opening {
                    solid.push(triangle);
                }
                if surface.kind == SurfaceKind::Closure {
                    continue;
                }
                let face = look.face(surface, places);
                let painter = Painter { look: &look, face, surface, idx, triangle, textures, frame: &self.frame };
                voxels_of(triangle, self.window, &mut |voxel| {
                    if let Some(tint) = painter.tint(voxel) {
                        put(voxel, tint, INSIDE_RANK + 1 + face.kind as u8, painter.rise(voxel));
                    }
                });
            }
        }
        if !solid.is_empty() {
            let inside = Tint::Ink(look.style.inside());
            inside_of(&solid, self.window, &mut |x, z, ys| ys.for_each(|y| put([x, y, z], inside, INSIDE_RANK, 0)));
        }
    }
}

/// The look of a model that has no colours.
struct Look {
    style: Style,
    low_m: f64,
    high_m: f64,
    /// A place from which walls are measured, the same from every tile.
    origin: [f64; 2],
    voxel_m: f64,
}

/// What a triangle is, and how it stands.
#[derive(Debug, Clone, Copy)]
struct Face {
    kind: SurfaceKind,
    /// Along the wall: the unit vector in x and z.
    along: [f64; 2],
    is_level: bool,
    /// Whether it is seen from above rather than from the side.
    is_upward: bool,
}

impl Look {
    fn new(piece: &Piece, voxel_m: f64) -> Self {
        let whole = &piece.whole;
        let [west, north, east, south] = whole.bounds;
        let sides_m = [(east - west) * voxel_m, (south - north) * voxel_m];
        let facts = Facts {
            seed: whole.id.mixed(),
            height_m: whole.high_m - whole.low_m,
            sides_m: [sides_m[0].max(sides_m[1]), sides_m[0].min(sides_m[1])],
            upper_side_m: sides_m[0].max(sides_m[1]),
        };
        Self { style: Style::of(&facts), low_m: whole.low_m, high_m: whole.high_m, origin: [west, north], voxel_m }
    }

    /// A triangle's kind, as the file says or as it stands, and its direction.
    fn face(&self, surface: &Surface, triangle: [Place; 3]) -> Face {
        let [a, b, c] = triangle.map(|place| [place.x * self.voxel_m, place.height_m, place.z * self.voxel_m]);
        let minus = |p: [f64; 3], q: [f64; 3]| [p[0] - q[0], p[1] - q[1], p[2] - q[2]];
        let (u, v) = (minus(b, a), minus(c, a));
        let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        let flat = libm::sqrt(normal[0] * normal[0] + normal[2] * normal[2]);
        let length = libm::sqrt(flat * flat + normal[1] * normal[1]);
        let rise = if length > 0.0 { normal[1].abs() / length } else { 1.0 };
        let along = if flat > 0.0 { [-normal[2] / flat, normal[0] / flat] } else { [1.0, 0.0] };
        let is_upward = rise > LEVEL;
        let kind = match surface.kind {
            SurfaceKind::Other if is_upward => SurfaceKind::Roof,
            SurfaceKind::Other => SurfaceKind::Wall,
            kind => kind,
        };
        Face { kind, along, is_level: rise > 0.98, is_upward }
    }

    /// The tint at a place of a face that has no colour.
    fn tint(&self, face: Face, [x, z]: [f64; 2], height_m: f64) -> Tint {
        let place_m = [(x - self.origin[0]) * self.voxel_m, (z - self.origin[1]) * self.voxel_m];
        Tint::Ink(match face.kind {
            SurfaceKind::Roof => self.style.roof(&RoofPoint {
                place_m,
                height_m: height_m - self.low_m,
                is_rim: false,
                is_level: face.is_level,
            }),
            SurfaceKind::Wall | SurfaceKind::Other => self.style.wall(&WallPoint {
                height_m: height_m - self.low_m,
                top_m: self.high_m - self.low_m,
                along_m: place_m[0] * face.along[0] + place_m[1] * face.along[1],
                is_corner: false,
                is_party: false,
                meets_ground: true,
            }),
            SurfaceKind::Opening => self.style.part(Wall::Window),
            SurfaceKind::Ground | SurfaceKind::Closure | SurfaceKind::Floor => self.style.inside(),
        })
    }
}

/// Paints the voxels of one triangle.
struct Painter<'a> {
    look: &'a Look,
    face: Face,
    surface: &'a Surface,
    idx: usize,
    triangle: Triangle,
    textures: &'a TextureStore,
    frame: &'a Frame,
}

impl Painter<'_> {
    /// The tint of a voxel; `None` where the surface is transparent.
    fn tint(&self, voxel: [u32; 3]) -> Option<Tint> {
        match &self.surface.paint {
            Paint::Colour(colour) => Some(Tint::Colour(*colour)),
            Paint::Corners(corners) => {
                let corners = corners.get(self.idx).copied().unwrap_or_default();
                Some(Tint::Colour(blend(corners, barycentric_at(self.triangle, voxel))))
            }
            Paint::Texture { texture, uvs, tint } => {
                let [a, b, c] = uvs.get(self.idx).copied().unwrap_or_default();
                let weights = barycentric_at(self.triangle, voxel);
                let uv = [0, 1].map(|axis| {
                    let at = |corner: [f32; 2], weight: f64| f64::from(corner[axis]) * weight;
                    (at(a, weights[0]) + at(b, weights[1]) + at(c, weights[2])) as f32
                });
                // An image that cannot be read: the surface looks as its kind does.
                let Ok(image) = self.textures.image(*texture) else { return Some(self.by_look(voxel)) };
                let [r, g, b] = image.colour_at(uv)?;
                let channel = |texel: u8, tint: u8| (u32::from(texel) * u32::from(tint) / 255) as u8;
                Some(Tint::Colour([channel(r, tint[0]), channel(g, tint[1]), channel(b, tint[2])]))
            }
            Paint::Look => Some(self.by_look(voxel)),
        }
    }

    /// How high in a voxel the triangle lies, in 1/256; 0 where it stands upright.
    fn rise(&self, voxel: [u32; 3]) -> u8 {
        if !self.face.is_upward {
            return 0;
        }
        let weights = barycentric_at(self.triangle, voxel);
        let y: f64 = self.triangle.iter().zip(weights).map(|(corner, weight)| corner[1] as f64 * weight).sum();
        // The cast saturates: the triangle may leave the voxel before it reaches the middle.
        ((y - f64::from(voxel[1]) * UNITS as f64) * 256.0 / UNITS as f64) as u8
    }

    fn by_look(&self, voxel: [u32; 3]) -> Tint {
        let place = [0, 1, 2].map(|axis| self.frame.corner[axis] as f64 + f64::from(voxel[axis]) + 0.5);
        self.look.tint(self.face, [place[0], place[2]], place[1] * self.frame.voxel_m)
    }
}

fn blend(corners: [Colour; 3], weights: [f64; 3]) -> Colour {
    std::array::from_fn(|channel| {
        let sum: f64 = corners.iter().zip(weights).map(|(corner, weight)| f64::from(corner[channel]) * weight).sum();
        // The cast saturates.
        libm::round(sum) as u8
    })
}

/// Calls `column(x, z)` for the columns of a square from (`low`, `low`), `side` wide, in columns of the tile, over whose
/// centre a piece stands.
pub(crate) fn covered(piece: &Piece, tile: TileCoord, low: i64, side: u32, mut column: impl FnMut(i64, i64)) {
    let corner = beside(box_of(tile), piece.whole.bounds).map(|along| along as i64);
    let frame = Frame { corner: [corner[0] + low, 0, corner[1] + low], voxel_m: tile.metres_per_voxel() };
    let window =
        crate::raster::Window { west: 0, north: 0, voxel_units: UNITS, width: side as usize, height: side as usize };
    let mut raster = crate::raster::Raster::default();
    for &places in piece.surfaces.iter().flat_map(|surface| &surface.triangles) {
        let ring = frame.units(places).map(|[x, _, z]| [x, z].map(|along| along.clamp(-(1 << 29), 1 << 29) as i32));
        let polygon = crate::input::Polygon { rings: vec![ring.to_vec()] };
        raster.fill(&polygon, &window, |z, mask| {
            crate::raster::columns(mask, |x| column(low + x as i64, low + z as i64));
        });
    }
}
