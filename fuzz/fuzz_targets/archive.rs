//! Whatever the bytes are, an archive is opened or refused, and a walk over it ends and agrees with single look-ups.

#![no_main]

use libfuzzer_sys::fuzz_target;
use voxatlas::source::SourceConfig;
use voxatlas::source::archive::Archive;

/// Tiles that a walk looks at: a run may hold four billion.
const TILES_MAX: usize = 1_000;

fuzz_target!(|data: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let config = SourceConfig { file_bytes_max: 1 << 20, ..SourceConfig::default() };
        let archive = Archive::memory("archive", data.to_vec(), &config);
        if let Ok(document) = archive.document().await {
            assert!(!document.to_tiles_json().is_empty());
        }
        let Ok(mut runs) = archive.runs().await else { return };
        let mut n_tiles = 0;
        while let Ok(Some(run)) = runs.next().await {
            let content = runs.content(run).await;
            for tile in run.tiles().take(8) {
                assert_eq!(archive.tile(tile).await, content);
            }
            n_tiles += run.tiles().take(TILES_MAX).count();
            if n_tiles >= TILES_MAX {
                return;
            }
        }
    });
});
