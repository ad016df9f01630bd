//! What was tolerated, counted by kind, with a few features of each by name; and what was assumed of coordinates.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::crs::Placer;
use crate::input::Problem;

/// Features of a kind that are named; the others are counted.
const NAMED_MAX: usize = 10;

/// The problems of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problems {
    by_kind: BTreeMap<Problem, Tolerated>,
    /// By what it says, with the inputs of which it was assumed.
    assumed: BTreeMap<String, BTreeSet<String>>,
}

/// The problems of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tolerated {
    /// How many.
    pub count: u64,
    /// The first of them: the file and the feature.
    pub features: Vec<String>,
}

impl Problems {
    /// Notes a problem of a feature of an input.
    pub(crate) fn add(&mut self, input: &str, feature: &str, problem: Problem) {
        let tolerated = self.by_kind.entry(problem).or_default();
        tolerated.count += 1;
        if tolerated.features.len() < NAMED_MAX {
            let separator = if feature.is_empty() { "" } else { ": " };
            tolerated.features.push(format!("{input}{separator}{feature}"));
        }
    }

    /// Notes what was assumed of the coordinates of an input.
    pub(crate) fn assume(&mut self, input: &str, placer: &Placer) {
        for warning in placer.warnings() {
            self.assumed.entry(warning).or_default().insert(input.to_owned());
        }
    }

    /// What was assumed, each with the inputs.
    pub(crate) fn assumed(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.assumed.iter().map(|(what, inputs)| (what.as_str(), inputs))
    }

    /// The kinds that occurred, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Problem, &Tolerated)> {
        self.by_kind.iter().map(|(&problem, tolerated)| (problem, tolerated))
    }
}
