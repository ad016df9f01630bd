//! The box round a file that does not tell it: one walk over everything.
//!
//! Owns a [`Sink`] that keeps nothing but the box. It does not report problems: the reading proper does.

use super::{InputError, Item, Model, Place, Problem, Sink, Stream, Texture, VoxelModel, Wanted};

/// The box round all that a stream yields, world x and z in z17 voxels: west, north, east, south.
pub(super) fn walk(stream: &dyn Stream) -> Result<Option<[f64; 4]>, InputError> {
    let mut bounds = Bounds::default();
    stream.read(&Wanted::all(), &mut bounds)?;
    Ok(bounds.0)
}

/// The box round the surfaces of a model.
pub(super) fn of_model(model: &Model) -> Option<[f64; 4]> {
    let mut bounds = Bounds::default();
    bounds.model(model);
    bounds.0
}

/// The box round a model of voxels.
pub(super) fn of_voxels(model: &VoxelModel) -> Option<[f64; 4]> {
    let mut bounds = Bounds::default();
    bounds.voxels(model);
    bounds.0
}

#[derive(Debug, Default)]
struct Bounds(Option<[f64; 4]>);

impl Bounds {
    fn add(&mut self, x: f64, z: f64) {
        let [west, north, east, south] = self.0.unwrap_or([x, z, x, z]);
        self.0 = Some([west.min(x), north.min(z), east.max(x), south.max(z)]);
    }

    fn place(&mut self, place: &Place) {
        self.add(place.x, place.z);
    }

    fn model(&mut self, model: &Model) {
        for surface in &model.surfaces {
            surface.triangles.iter().flatten().for_each(|place| self.place(place));
        }
    }

    fn voxels(&mut self, model: &VoxelModel) {
        for ([x, _, z], _) in &model.voxels {
            let at = |c: i32, corner: f64| corner + f64::from(c) * model.edge;
            self.add(at(*x, model.corner.x), at(*z, model.corner.z));
            self.add(at(*x, model.corner.x) + model.edge, at(*z, model.corner.z) + model.edge);
        }
    }
}

impl Sink for Bounds {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        let rings = |polygons: &[super::Rings], bounds: &mut Self| {
            polygons.iter().flatten().flatten().for_each(|&[x, z]| bounds.add(x, z));
        };
        match &item {
            Item::Prism(prism) => rings(&prism.polygons, self),
            Item::Cover(cover) => rings(&cover.polygons, self),
            Item::Model(model) => self.model(model),
            Item::Relief(triangles) => triangles.iter().flatten().for_each(|place| self.place(place)),
            Item::Points(points) => points.iter().for_each(|point| self.place(&point.place)),
            Item::Voxels(voxels) => self.voxels(voxels),
        }
        Ok(())
    }

    fn texture(&mut self, _texture: Texture) -> u32 {
        0
    }

    fn problem(&mut self, _feature: &str, _problem: Problem) {}

    fn progress(&mut self, _bytes: u64) {}
}
