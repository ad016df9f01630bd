//! The box round a file that does not tell it: one walk over everything.
//!
//! Owns a [`Sink`] that keeps nothing but the box. It does not report problems: the reading proper does.

use voxatlas::geo::{Bbox, LonLat, WORLD_VOXELS};

use super::{InputError, Item, Model, Place, Problem, Sink, Stream, Texture, VoxelModel, Wanted};

/// The box round all that a stream yields, world x and z in z17 voxels: west, north, east, south.
pub(super) fn walk(stream: &dyn Stream) -> Result<Option<[f64; 4]>, InputError> {
    let mut bounds = Bounds::default();
    stream.read(&Wanted::all(), &mut bounds)?;
    Ok(bounds.narrowest())
}

/// What reading says that wants only what lies in a box, in degrees: an error of a file whose places nobody can believe
/// then says what its CRS may be.
pub(crate) fn complaint(stream: &dyn Stream, near: Bbox) -> Option<InputError> {
    let [west, south, east, north] = near.to_array();
    let at = |lon_deg: f64, lat_deg: f64| LonLat::new(lon_deg, lat_deg).map(LonLat::to_world).ok();
    let ([west, north], [east, south]) = (at(west, north)?, at(east, south)?);
    let east = if east < west { east + f64::from(WORLD_VOXELS) } else { east };
    stream.read(&Wanted { boxes: vec![[west, north, east, south]] }, &mut Bounds::default()).err()
}

/// The box round the surfaces of a model.
pub(super) fn of_model(model: &Model) -> Option<[f64; 4]> {
    let mut bounds = Bounds::default();
    bounds.model(model);
    bounds.plain
}

/// The box round a model of voxels.
pub(super) fn of_voxels(model: &VoxelModel) -> Option<[f64; 4]> {
    let mut bounds = Bounds::default();
    bounds.voxels(model);
    bounds.plain
}

/// Boxes round places, counted in two ways: things on both sides of the antimeridian lie close together in one of them.
#[derive(Debug, Default)]
struct Bounds {
    /// As places are: x from the antimeridian eastwards.
    plain: Option<[f64; 4]>,
    /// x from the meridian opposite.
    turned: Option<[f64; 4]>,
}

impl Bounds {
    fn add(&mut self, x: f64, z: f64) {
        let world = f64::from(WORLD_VOXELS);
        let turned_x = if x < world / 2.0 { x + world } else { x };
        for (bounds, x) in [(&mut self.plain, x), (&mut self.turned, turned_x)] {
            let [west, north, east, south] = bounds.unwrap_or([x, z, x, z]);
            *bounds = Some([west.min(x), north.min(z), east.max(x), south.max(z)]);
        }
    }

    /// The narrower of the boxes: east lies beyond the end of the world where it crosses the antimeridian.
    fn narrowest(&self) -> Option<[f64; 4]> {
        let width = |bounds: [f64; 4]| bounds[2] - bounds[0];
        match (self.plain, self.turned) {
            (Some(plain), Some(turned)) if width(turned) < width(plain) => Some(turned),
            (plain, _) => plain,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn houses_on_both_sides_of_the_antimeridian_lie_close_together() {
        let world = f64::from(WORLD_VOXELS);
        let mut bounds = Bounds::default();
        bounds.add(world - 10.0, 5.0);
        bounds.add(20.0, 9.0);
        assert_eq!(bounds.narrowest(), Some([world - 10.0, 5.0, world + 20.0, 9.0]));
        let mut plain = Bounds::default();
        plain.add(world / 2.0 - 10.0, 5.0);
        plain.add(world / 2.0 + 10.0, 9.0);
        assert_eq!(plain.narrowest(), Some([world / 2.0 - 10.0, 5.0, world / 2.0 + 10.0, 9.0]));
        assert_eq!(Bounds::default().narrowest(), None);
    }
}
