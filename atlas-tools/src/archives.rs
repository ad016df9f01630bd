//! The PMTiles archives of a tileset, opened together, on this machine or on a server.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use tokio::runtime::Runtime;
use voxatlas::source::archive::{Archive, ArchiveDocument};
use voxatlas::source::{SourceConfig, SourceSpec};

/// The archives of all layers, and the runtime that their reading needs.
pub struct Archives {
    /// Waits for what is read; files are read on threads of its own.
    pub runtime: Runtime,
    /// The metadata of the archive that was named.
    pub document: ArchiveDocument,
    /// By layer.
    pub layers: BTreeMap<i32, Archive>,
}

impl Archives {
    /// What a SOURCE says, if it is an archive.
    ///
    /// # Errors
    ///
    /// The text names no source.
    pub fn spec(text: &str) -> anyhow::Result<Option<SourceSpec>> {
        let spec = SourceSpec::parse(text)?;
        Ok(matches!(spec, SourceSpec::Archive(_) | SourceSpec::ArchiveUrl(_)).then_some(spec))
    }

    /// One archive, of this machine or of a server; nothing is read yet.
    ///
    /// # Errors
    ///
    /// The source is no archive, or the configuration makes no HTTP client.
    pub fn archive(spec: &SourceSpec, config: &SourceConfig) -> anyhow::Result<Archive> {
        match spec {
            SourceSpec::Archive(path) => Ok(Archive::file(path, config)),
            SourceSpec::ArchiveUrl(url) => Ok(Archive::url(url.clone(), config)?),
            _ => bail!("{spec:?}: expected a .pmtiles archive"),
        }
    }

    /// Opens an archive and those that its metadata name.
    ///
    /// # Errors
    ///
    /// One of them is missing, cannot be read, or is of another tileset.
    pub fn open(spec: &SourceSpec, config: &SourceConfig) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
        let archive = Self::archive(spec, config)?;
        let name = archive.name();
        let document = runtime.block_on(archive.document())?;
        let mut layers = BTreeMap::new();
        for file in document.files().iter().filter(|file| file.layer != document.layer()) {
            let Some(beside) = archive.beside(file) else {
                bail!("{}: names \"{}\": expected the plain name of an archive beside it", name, file.file);
            };
            let other = runtime.block_on(beside.document())?;
            if other.layer() != file.layer || other.tileset() != document.tileset() {
                bail!(
                    "{}: found layer {} of a tileset, expected layer {} of the one of {}: pack them together",
                    beside.name(),
                    other.layer(),
                    file.layer,
                    name
                );
            }
            layers.insert(file.layer, beside);
        }
        layers.insert(document.layer(), archive);
        Ok(Self { runtime, document, layers })
    }
}

/// Whether a path is meant as an archive.
pub fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pmtiles"))
}

/// Whether a path is meant as an MBTiles database.
pub fn is_mbtiles(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mbtiles"))
}

/// What a build without MBTiles says of them.
pub const NO_MBTILES: &str = "this build knows no MBTiles: install it with `--features mbtiles`, or use .pmtiles";
