//! A sink that keeps everything, for the tests of readers.

use super::{InputError, Item, Model, Problem, Sink, Stream, Texture, VoxelModel, Wanted};

/// What a reader yielded.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) models: Vec<Model>,
    pub(super) voxels: Vec<VoxelModel>,
    pub(super) textures: Vec<Texture>,
    pub(super) problems: Vec<(String, Problem)>,
}

/// Everything that a stream yields.
#[track_caller]
pub(super) fn gather(stream: &dyn Stream) -> Gathered {
    let mut found = Gathered::default();
    stream.read(&Wanted::all(), &mut found).unwrap_or_else(|error| panic!("{error}"));
    found
}

impl Sink for Gathered {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        match item {
            Item::Model(model) => self.models.push(model),
            Item::Voxels(voxels) => self.voxels.push(voxels),
            item => panic!("no model: {item:?}"),
        }
        Ok(())
    }

    fn texture(&mut self, texture: Texture) -> u32 {
        self.textures.push(texture);
        self.textures.len() as u32 - 1
    }

    fn problem(&mut self, feature: &str, problem: Problem) {
        self.problems.push((feature.to_owned(), problem));
    }

    fn progress(&mut self, _bytes: u64) {}
}
