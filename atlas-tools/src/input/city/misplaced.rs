//! Whether anything of a file lies where its CRS says.
//!
//! One coordinate that lies nowhere is a ring lost; that none can be placed is a wrong CRS, and an error with a guess at
//! the right one. Receives what failed and what did not; places nothing.

use std::path::Path;

use crate::crs::{CrsError, guess};
use crate::input::footprint::near;
use crate::input::{InputError, Wanted};

/// Failures that are kept for the guess.
const FAILURES_MAX: usize = 64;

/// What failed.
#[derive(Debug, Default)]
pub(in crate::input) struct Misplaced {
    n_placed: u64,
    failed: Vec<[f64; 3]>,
    first_error: Option<CrsError>,
}

impl Misplaced {
    /// Something could be placed.
    pub(in crate::input) fn note_placed(&mut self) {
        self.n_placed += 1;
    }

    /// A coordinate could not.
    pub(in crate::input) fn note_failure(&mut self, coordinates: [f64; 3], error: CrsError) {
        if self.failed.len() < FAILURES_MAX {
            self.failed.push(coordinates);
        }
        self.first_error.get_or_insert(error);
    }

    /// Tells why nothing could be placed.
    ///
    /// # Errors
    ///
    /// There were failures and nothing else.
    pub(in crate::input) fn check(&self, path: &Path, wanted: &Wanted) -> Result<(), InputError> {
        let Some(error) = self.first_error.as_ref().filter(|_| self.n_placed == 0) else { return Ok(()) };
        let mut what = error.to_string();
        if let Some(guess) = guess(&self.failed, near(wanted)) {
            what.push_str("; it ");
            what.push_str(&guess);
        }
        Err(InputError::Malformed { path: path.to_owned(), what })
    }
}
