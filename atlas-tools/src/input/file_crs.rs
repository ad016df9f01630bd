//! The CRS of a file that names it among its contents.
//!
//! Owns what the command line says, and remembers what the file was found to say: messages about a file as a whole need
//! it when the reading is over. Receives names of CRSs, yields placers. It reads no file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::InputError;
use crate::crs::{AxisRule, CrsOptions, Placer};

/// What the command line says of a file's CRS, and the placers that were made for it.
#[derive(Debug, Default)]
pub(super) struct FileCrs {
    options: CrsOptions,
    /// Each once, as they were met.
    placers: Mutex<Vec<Placer>>,
}

impl FileCrs {
    pub(super) fn new(options: CrsOptions) -> Self {
        Self { options, placers: Mutex::default() }
    }

    /// Whether the command line names the CRS, whatever the file says.
    pub(super) fn is_given(&self) -> bool {
        self.options.crs.is_some()
    }

    /// A placer, as [`CrsOptions::placer`] makes it.
    ///
    /// # Errors
    ///
    /// As there, as an error of the file.
    pub(super) fn placer(
        &self,
        path: &Path,
        rule: AxisRule,
        of_file: Option<&str>,
        of_format: Option<&str>,
    ) -> Result<Placer, InputError> {
        let placer = self.options.placer(rule, of_file, of_format).map_err(|error| error.in_file(path))?;
        // A placer is added whole.
        let mut placers = self.placers.lock().unwrap_or_else(PoisonError::into_inner);
        if !placers.iter().any(|known| known.describe() == placer.describe()) {
            placers.push(placer.clone());
        }
        Ok(placer)
    }

    /// The placers that were made so far.
    pub(super) fn placers(&self) -> Vec<Placer> {
        self.placers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
