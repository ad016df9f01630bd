//! The extent of a file whose header does not tell it.

use super::{InputError, Item, Problem, Sink, Stream, Texture, Wanted};
use crate::input::footprint::bounds;

/// Walks over a file and keeps the box round what it pours.
pub(super) fn extent_by_reading(stream: &dyn Stream) -> Result<Option<[f64; 4]>, InputError> {
    let mut sink = BoxSink { bounds: None };
    stream.read(&Wanted::all(), &mut sink)?;
    Ok(sink.bounds)
}

struct BoxSink {
    bounds: Option<[f64; 4]>,
}

impl Sink for BoxSink {
    fn item(&mut self, item: Item) -> Result<(), InputError> {
        let (Item::Prism(super::Prism { polygons, .. }) | Item::Cover(super::Cover { polygons, .. })) = item else {
            return Ok(());
        };
        let next = bounds(&polygons);
        self.bounds = Some(match self.bounds {
            Some(all) => [all[0].min(next[0]), all[1].min(next[1]), all[2].max(next[2]), all[3].max(next[3])],
            None => next,
        });
        Ok(())
    }

    fn texture(&mut self, _: Texture) -> u32 {
        0
    }

    fn problem(&mut self, _: &str, _: Problem) {}

    fn progress(&mut self, _: u64) {}
}
