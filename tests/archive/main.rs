//! PMTiles archives as a source: on this machine, on servers good and bad, and damaged in every way.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on is a failed test")]

mod damage;
mod files;
mod kept;
mod local;
mod remote;
mod server;

use std::time::Duration;

use tokio::runtime::Runtime;
use voxatlas::geo::RegionKey;
use voxatlas::source::{AtlasSource as _, Fetched, Source, SourceConfig, SourceError};
use voxatlas::stream::LoadError;

/// Short enough that nobody waits, long enough for a loopback under load.
fn config() -> SourceConfig {
    SourceConfig {
        timeout: Duration::from_secs(2),
        timeout_total: Duration::from_secs(4),
        file_bytes_max: 1_000,
        ..SourceConfig::default()
    }
}

fn open(text: &str) -> Result<Source, SourceError> {
    Source::open_blocking(text, &config())
}

/// Fetches as the loader does, on another runtime than the one that opened.
struct Reader {
    runtime: Runtime,
    source: Source,
}

impl Reader {
    fn open(text: &str) -> Self {
        Self::with(text, &config())
    }

    fn with(text: &str, config: &SourceConfig) -> Self {
        Self { runtime: Runtime::new().unwrap(), source: Source::open_blocking(text, config).unwrap() }
    }

    fn fetch(&self, key: RegionKey) -> Fetched {
        self.runtime.block_on(self.source.fetch(key))
    }

    /// The bytes of a region's file.
    fn bytes(&self, key: RegionKey) -> Option<Vec<u8>> {
        self.fetch(key).unwrap().map(|atlas| atlas.bytes().to_vec())
    }
}

fn kind(error: &LoadError) -> &'static str {
    match error {
        LoadError::Transient { .. } => "transient",
        LoadError::Permanent { .. } => "permanent",
        LoadError::BadAtlas { .. } => "bad atlas",
        other => panic!("{other}"),
    }
}
