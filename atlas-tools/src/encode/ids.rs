//! The numbers of a tile's features: those that its voxels belong to, in the order in which they are met.

use rustc_hash::FxHashMap;

use crate::attributes_file::{AttributesFile, FeatureAttributes};
use crate::buildings::Neighbourhood;
use crate::input::{Described, Feature, FeatureId};
use crate::voxelise::Owner;

/// The features of a tile, numbered as its voxels ask for them: none that has no voxel there has a number, and features
/// that lie together have numbers close to each other, which makes small files.
pub(super) struct TileIds<'a> {
    /// The features of the plan, block after block.
    plan: Vec<&'a Feature>,
    scatter: &'a [(FeatureId, Described)],
    /// By id: the copies of a feature in several source tiles are one, and so are the parts of a model.
    numbers: FxHashMap<FeatureId, u32>,
    features: Vec<FeatureAttributes>,
    /// The owner that was asked for last: neighbours mostly share one.
    latest: Option<(Owner, Option<u32>)>,
}

impl<'a> TileIds<'a> {
    /// No numbers yet, of the features of a plan and of a scatter.
    pub(super) fn new(neighbourhood: &'a Neighbourhood<'a>, scatter: &'a [(FeatureId, Described)]) -> Self {
        let plan = neighbourhood.blocks.iter().flat_map(|neighbour| &neighbour.block.source.features).collect();
        Self { plan, scatter, numbers: FxHashMap::default(), features: Vec::new(), latest: None }
    }

    /// The number of the feature to which a voxel belongs.
    pub(super) fn number(&mut self, owner: Owner) -> Option<u32> {
        match self.latest {
            Some((latest, number)) if latest == owner => number,
            _ => {
                let number = self.find(owner);
                self.latest = Some((owner, number));
                number
            }
        }
    }

    fn find(&mut self, owner: Owner) -> Option<u32> {
        let id = match owner {
            Owner::Nobody => return None,
            Owner::Plan(place) => self.plan.get(place as usize)?.id,
            Owner::Scatter(place) => self.scatter.get(place as usize)?.0,
        };
        let next = self.features.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.features.push(match owner {
                Owner::Scatter(place) => of_described(&self.scatter[place as usize].1),
                Owner::Plan(place) => of_plan(self.plan[place as usize]),
                Owner::Nobody => return None,
            });
        }
        Some(number)
    }

    /// What the features are called.
    pub(super) fn into_file(self) -> AttributesFile {
        AttributesFile { features: self.features }
    }
}

/// A feature whose file tells no attributes is told by what is known of it.
fn of_plan(feature: &Feature) -> FeatureAttributes {
    if let Some(described) = &feature.described {
        return of_described(described);
    }
    let id = match feature.id {
        FeatureId::Given(id) => id.to_string(),
        FeatureId::Place { tile, feature_idx, .. } => format!("{tile}#{feature_idx}"),
        FeatureId::Nth { nth, .. } => format!("#{nth}"),
    };
    FeatureAttributes { id, attributes: vec![("height".to_owned(), feature.height.metres.into())] }
}

fn of_described(described: &Described) -> FeatureAttributes {
    FeatureAttributes { id: described.name.clone(), attributes: described.attributes.clone() }
}
