//! The box round all that a reader pours out.
//!
//! A [`Sink`] that keeps four numbers. Used where a file does not say how far it reaches.

use crate::input::{InputError, Item, Problem, Sink, Texture};

/// Collects the box.
#[derive(Debug, Default)]
pub(in crate::input) struct ExtentSink {
    /// World x and z in z17 voxels: west, north, east, south; `None` before the first place.
    pub extent: Option<[f64; 4]>,
}

impl ExtentSink {
    fn add(&mut self, x: f64, z: f64) {
        let [west, north, east, south] = self.extent.unwrap_or([x, z, x, z]);
        self.extent = Some([west.min(x), north.min(z), east.max(x), south.max(z)]);
    }

    fn add_rings<'a>(&mut self, polygons: impl IntoIterator<Item = &'a Vec<Vec<[f64; 2]>>>) {
        polygons.into_iter().flatten().flatten().for_each(|&[x, z]| self.add(x, z));
    }
}

impl Sink for ExtentSink {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        match item {
            Item::Prism(prism) => self.add_rings(&prism.polygons),
            Item::Cover(cover) => self.add_rings(&cover.polygons),
            Item::Model(model) => {
                let triangles = model.surfaces.iter().flat_map(|surface| &surface.triangles);
                triangles.flatten().for_each(|place| self.add(place.x, place.z));
            }
            Item::Relief(triangles) => triangles.iter().flatten().for_each(|place| self.add(place.x, place.z)),
            Item::Points(points) => points.iter().for_each(|point| self.add(point.place.x, point.place.z)),
            Item::Voxels(voxels) => self.add(voxels.corner.x, voxels.corner.z),
        }
        Ok(())
    }

    fn texture(&mut self, _: Texture) -> u32 {
        0
    }

    fn problem(&mut self, _: &str, _: Problem) {}

    fn progress(&mut self, _: u64) {}
}
