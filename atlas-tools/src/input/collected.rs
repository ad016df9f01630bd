//! A sink for the tests of readers: keeps all that is poured.

use super::{Cover, InputError, Item, Model, Prism, Problem, Sink, Stream, Texture, VoxelModel, Wanted};

/// What was poured.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) items: Vec<Item>,
    pub(super) textures: Vec<Texture>,
    pub(super) problems: Vec<(String, Problem)>,
    pub(super) bytes: u64,
}

impl Collected {
    /// All that a stream pours.
    pub(super) fn of(stream: &dyn Stream) -> Result<Self, InputError> {
        Self::of_wanted(stream, &Wanted::all())
    }

    /// What a stream pours of what is wanted.
    pub(super) fn of_wanted(stream: &dyn Stream, wanted: &Wanted) -> Result<Self, InputError> {
        let mut collected = Self::default();
        stream.read(wanted, &mut collected)?;
        Ok(collected)
    }

    /// The buildings among it.
    pub(super) fn prisms(&self) -> Vec<&Prism> {
        self.items.iter().filter_map(|item| if let Item::Prism(prism) = item { Some(prism) } else { None }).collect()
    }

    /// The pieces of ground among it.
    pub(super) fn covers(&self) -> Vec<&Cover> {
        self.items.iter().filter_map(|item| if let Item::Cover(cover) = item { Some(cover) } else { None }).collect()
    }

    /// The models of surfaces among it.
    pub(super) fn models(&self) -> Vec<&Model> {
        self.items.iter().filter_map(|item| if let Item::Model(model) = item { Some(model) } else { None }).collect()
    }

    /// The models of voxels among it.
    pub(super) fn voxels(&self) -> Vec<&VoxelModel> {
        self.items.iter().filter_map(|item| if let Item::Voxels(model) = item { Some(model) } else { None }).collect()
    }

    /// The problems, without the features that have them.
    pub(super) fn faults(&self) -> Vec<Problem> {
        self.problems.iter().map(|&(_, problem)| problem).collect()
    }
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
        assert!(bytes >= self.bytes, "progress goes forwards");
        self.bytes = bytes;
    }
}
