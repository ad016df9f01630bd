//! What each part of a run reads of the inputs.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::gather;
use crate::input::{ByteRanges, InputError, Opened, Stream, Wanted};

/// The inputs of a run, to be asked what of them some tiles need.
pub struct Needs {
    opened: Opened,
    n_inputs: usize,
    /// The boxes in the world of inputs that are read from their beginning to their end, by the order of these.
    extents: Vec<Option<[f64; 4]>>,
}

/// An input that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Its place in the job.
    pub input: usize,
    /// The bytes of it that are read, begin and end; not there where all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteRanges>,
}

impl Needs {
    pub(super) fn new(opened: Opened, n_inputs: usize, extents: Vec<Option<[f64; 4]>>) -> Self {
        Self { opened, n_inputs, extents }
    }

    /// What a run reads for the tiles that it makes, by the places of the inputs: all but those that lie far away.
    ///
    /// # Errors
    ///
    /// The index of an input cannot be read.
    pub fn of(&self, plan: &Plan) -> Result<Vec<Need>, InputError> {
        if plan.n_tiles() == 0 {
            return Ok(Vec::new());
        }
        let (sources, wanted) = (gather::sources(plan), gather::wanted(plan));
        let need = |input: usize| {
            if let Some((_, tiled)) = self.opened.tiled.iter().find(|(place, _)| *place == input) {
                return Ok(Some(Need { input, bytes: tiled.bytes(&sources) }));
            }
            let of_place = self.opened.streams.iter().zip(&self.extents).find(|((place, _), _)| *place == input);
            match of_place {
                Some(((_, stream), extent)) => of_stream(input, stream.as_ref(), *extent, &wanted),
                None => Ok(Some(Need { input, bytes: None })),
            }
        };
        (0..self.n_inputs).filter_map(|input| need(input).transpose()).collect()
    }
}

fn of_stream(
    input: usize,
    stream: &dyn Stream,
    extent: Option<[f64; 4]>,
    wanted: &Wanted,
) -> Result<Option<Need>, InputError> {
    if extent.is_none_or(|extent| !wanted.meets(extent)) {
        return Ok(None);
    }
    Ok(Some(Need { input, bytes: stream.bytes(wanted)? }))
}
