//! A sink that keeps everything, and what tests ask of it.

use std::path::Path;

use atlas_tools::crs::CrsOptions;
use atlas_tools::input::{
    CityGml, Cover, InputError, Item, Model, Place, Prism, Problem, ReadOptions, Sink, Stream, Surface, SurfaceKind,
    Texture, Wanted,
};
use voxatlas::geo::LonLat;

/// All that was poured in.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) items: Vec<Item>,
    pub(crate) problems: Vec<(String, Problem)>,
    pub(crate) textures: Vec<Texture>,
    pub(crate) progress: u64,
}

impl Sink for Collected {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        self.items.push(item);
        Ok(())
    }

    fn texture(&mut self, texture: Texture) -> u32 {
        self.textures.push(texture);
        self.textures.len() as u32 - 1
    }

    fn problem(&mut self, feature: &str, problem: Problem) {
        self.problems.push((feature.to_owned(), problem));
    }

    fn progress(&mut self, bytes: u64) {
        assert!(bytes >= self.progress, "progress goes back from {} to {bytes}", self.progress);
        self.progress = bytes;
    }
}

impl Collected {
    pub(crate) fn models(&self) -> Vec<&Model> {
        let items = self.items.iter();
        items.filter_map(|item| if let Item::Model(model) = item { Some(model) } else { None }).collect()
    }

    pub(crate) fn prisms(&self) -> Vec<&Prism> {
        let items = self.items.iter();
        items.filter_map(|item| if let Item::Prism(prism) = item { Some(prism) } else { None }).collect()
    }

    pub(crate) fn covers(&self) -> Vec<&Cover> {
        let items = self.items.iter();
        items.filter_map(|item| if let Item::Cover(cover) = item { Some(cover) } else { None }).collect()
    }

    pub(crate) fn relief(&self) -> Vec<[Place; 3]> {
        let items = self.items.iter();
        items
            .filter_map(|item| if let Item::Relief(relief) = item { Some(relief) } else { None })
            .flatten()
            .copied()
            .collect()
    }

    /// The only model.
    pub(crate) fn model(&self) -> &Model {
        assert_eq!(self.items.len(), 1, "{self:?}");
        self.models()[0]
    }

    pub(crate) fn kinds_of_problems(&self) -> Vec<Problem> {
        self.problems.iter().map(|&(_, problem)| problem).collect()
    }

    /// Every corner of every triangle of the models.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.models().iter().flat_map(|model| &model.surfaces).flat_map(corners).collect()
    }
}

fn corners(surface: &Surface) -> impl Iterator<Item = Place> + '_ {
    surface.triangles.iter().flatten().copied()
}

/// The surfaces of a kind, and how many triangles they have.
pub(crate) fn n_triangles(model: &Model, kind: SurfaceKind) -> usize {
    model.surfaces.iter().filter(|surface| surface.kind == kind).map(|surface| surface.triangles.len()).sum()
}

/// How many triangles all the models have of a kind.
pub(crate) fn count(collected: &Collected, kind: SurfaceKind) -> usize {
    collected.models().into_iter().map(|model| n_triangles(model, kind)).sum()
}

/// Reads a stream whole.
pub(crate) fn read(stream: &dyn Stream) -> Result<Collected, InputError> {
    let mut collected = Collected::default();
    stream.read(&Wanted::all(), &mut collected)?;
    Ok(collected)
}

/// Reads CityGML that stands in a string.
pub(crate) fn read_gml(text: &str) -> Collected {
    read_gml_with(text, ReadOptions::default())
}

/// Reads CityGML that stands in a string.
pub(crate) fn read_gml_with(text: &str, options: ReadOptions) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    read(&write_gml(folder.path(), text, options)).unwrap()
}

/// Writes a CityGML file and opens it.
pub(crate) fn write_gml(folder: &Path, text: impl AsRef<[u8]>, options: ReadOptions) -> CityGml {
    let path = folder.join("city.gml");
    std::fs::write(&path, text).unwrap();
    CityGml::open(&path, 7, options, CrsOptions::default()).unwrap()
}

/// A place by its degrees.
pub(crate) fn at(lat_deg: f64, lon_deg: f64, height_m: f64) -> Place {
    let [x, z] = LonLat::new(lon_deg, lat_deg).unwrap().to_world();
    Place { x, z, height_m }
}

/// Whether two places are within a hundredth of a voxel and a millimetre of height.
pub(crate) fn is_near(a: Place, b: Place) -> bool {
    (a.x - b.x).abs() < 0.01 && (a.z - b.z).abs() < 0.01 && (a.height_m - b.height_m).abs() < 0.001
}

/// The lowest and the highest of places, in metres.
pub(crate) fn heights(places: &[Place]) -> [f64; 2] {
    let heights = places.iter().map(|place| place.height_m);
    heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], height| [low.min(height), high.max(height)])
}
