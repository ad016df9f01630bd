//! The PMTiles archives of a tileset on this machine, opened together.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use tokio::runtime::Runtime;
use voxatlas::limits::ATLAS_FILE_BYTES_MAX;
use voxatlas::source::SourceConfig;
use voxatlas::source::archive::{Archive, ArchiveDocument};

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
    /// Opens an archive and those that its metadata name.
    ///
    /// # Errors
    ///
    /// One of them is missing, cannot be read, or is of another tileset.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().context("no runtime")?;
        let config = SourceConfig { file_bytes_max: ATLAS_FILE_BYTES_MAX, ..SourceConfig::default() };
        let archive = Archive::file(path, &config);
        let document = runtime.block_on(archive.document())?;
        let mut layers = BTreeMap::new();
        for file in document.files().iter().filter(|file| file.layer != document.layer()) {
            let Some(beside) = archive.beside(file) else {
                bail!("{}: names \"{}\": expected the plain name of an archive beside it", path.display(), file.file);
            };
            let other = runtime.block_on(beside.document())?;
            if other.layer() != file.layer || other.tileset() != document.tileset() {
                bail!(
                    "{}: found layer {} of a tileset, expected layer {} of the one of {}: pack them together",
                    beside.name(),
                    other.layer(),
                    file.layer,
                    path.display()
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
