//! A walk over the regions that are meant, which goes on where one of them cannot be read.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;
use voxatlas::atlas::EncodedAtlas;
use voxatlas::geo::RegionKey;
use voxatlas::voxel::Region;

use super::Regions;
use crate::outcome::Finding;

/// What a walk yields of a region beside its voxels.
#[derive(Debug, Clone, Copy)]
pub struct Visited<'a> {
    /// The region.
    pub key: RegionKey,
    /// Its file.
    pub file: &'a EncodedAtlas,
    /// Its voxels.
    pub region: &'a Region,
}

/// Walks over regions.
#[derive(Debug)]
pub struct Walk<'a> {
    regions: &'a Regions,
    stop: &'a AtomicBool,
    bar: ProgressBar,
    /// The regions that could not be had, in order.
    pub findings: Vec<Finding>,
}

impl<'a> Walk<'a> {
    /// A walk that ends with an error once `stop` is set.
    pub fn new(regions: &'a Regions, stop: &'a AtomicBool, bar: ProgressBar) -> Self {
        Self { regions, stop, bar, findings: Vec::new() }
    }

    /// Visits all regions that there are: `make` on many threads, `take` in order on this one.
    ///
    /// # Errors
    ///
    /// What `take` says, or Ctrl-C was pressed. A region that cannot be read is a finding and no error.
    pub fn each<T: Send>(
        &mut self,
        make: impl Fn(Visited<'_>) -> T + Sync,
        mut take: impl FnMut(RegionKey, T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Self { regions, stop, bar, findings } = self;
        let make = |&key: &RegionKey| -> anyhow::Result<Option<T>> {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(file) = regions.read(key)? else {
                return if regions.is_listed(key) {
                    Err(anyhow::anyhow!("missing, though it is listed"))
                } else {
                    Ok(None)
                };
            };
            let region = voxatlas::atlas::decode(&file).context("cannot be decoded")?;
            Ok(Some(make(Visited { key, file: &file, region: &region })))
        };
        let n_regions = regions.keys().len();
        Regions::each(regions.keys(), make, |&key, made| {
            if stop.load(Ordering::Relaxed) {
                bail!("interrupted after {} of {n_regions} regions: what was written is whole", bar.position());
            }
            bar.inc(1);
            match made {
                Ok(Some(made)) => take(key, made)?,
                Ok(None) => {}
                Err(error) => {
                    let finding = Finding { file: regions.name_of(key), finding: format!("{error:#}") };
                    bar.suspend(|| eprintln!("warning: {finding}"));
                    findings.push(finding);
                }
            }
            Ok(())
        })
    }
}
