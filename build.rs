//! Lists `data/demo/` as a table of paths and contents, which `source::embedded` compiles in.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_NET").is_none() {
        return Ok(());
    }
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let demo = crate_dir.join("data").join("demo");
    println!("cargo::rerun-if-changed={}", demo.display());

    let mut files = Vec::new();
    if demo.is_dir() {
        collect(&demo, "", &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for (path, file) in files {
        let _ = writeln!(table, "    ({path:?}, include_bytes!({:?})),", file.display().to_string());
    }
    table.push_str("]\n");
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out_dir.join("demo.rs"), table)
}

/// Adds the files below `dir`, with their paths relative to where the walk began, `/` between the parts.
fn collect(dir: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(io::Error::other(format!("{} is no UTF-8 name", entry.path().display())));
        };
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push((path, entry.path()));
        }
    }
    Ok(())
}
