//! Real data for tests: found through `VOXATLAS_DATA`, or the test is skipped and says so.
//!
//! Each test that uses it takes the file in with `#[path]`, so that it needs no crate of its own. `docs/testing.md`
//! tells what the folder holds.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

/// The folder of real data, or `None` where `VOXATLAS_DATA` is not set: the caller then returns.
///
/// `test` names the test in the list of skipped tests that `make test` prints; its path within the crate is a good
/// name, such as `encode::tokyo_strip`.
///
/// # Panics
///
/// `VOXATLAS_DATA` is set and names no folder: whoever sets it wants these tests to run.
#[track_caller]
pub(crate) fn real_data(test: &str) -> Option<PathBuf> {
    let folder = folder(std::env::var_os("VOXATLAS_DATA")).unwrap_or_else(|message| panic!("{message}"));
    if folder.is_none() {
        note_skipped(test);
    }
    folder
}

/// The folder that the variable's value names.
pub(crate) fn folder(value: Option<OsString>) -> Result<Option<PathBuf>, String> {
    let Some(folder) = value.map(PathBuf::from) else { return Ok(None) };
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    let folder = folder.display();
    Err(format!(
        "VOXATLAS_DATA is \"{folder}\", which is no folder; expected the one with the real data, or no variable"
    ))
}

/// Says that a test is skipped: to whoever reads its output, and in the list that `make test` prints at its end, since
/// the output of a test that passes is not shown.
fn note_skipped(test: &str) {
    eprintln!("SKIPPED (needs VOXATLAS_DATA): {test}");
    if let Some(list) = std::env::var_os("VOXATLAS_SKIPPED_LIST") {
        // One write a line: tests append from several threads and processes.
        let appended = std::fs::OpenOptions::new()
            .append(true)
            .open(&list)
            .and_then(|mut list| list.write_all(format!("{test}\n").as_bytes()));
        appended.unwrap_or_else(|error| panic!("cannot append to {}: {error}", list.display()));
    }
}
