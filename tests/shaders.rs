//! Every WGSL file is sound, without a device.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use naga::valid::{Capabilities, ValidationFlags, Validator};
use voxatlas::gpu::shader;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// What is wrong with a source, or nothing.
fn findings(path: &str, source: &str) -> Option<String> {
    let module = match naga::front::wgsl::parse_str(source) {
        Ok(module) => module,
        Err(err) => return Some(err.emit_to_string_with_path(source, path)),
    };
    // No capability beyond WebGPU's own.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    validator.validate(&module).err().map(|err| err.emit_to_string_with_path(source, path))
}

#[test]
fn every_shader_is_valid() {
    // Shared files too: each imports what it uses.
    let failures: Vec<_> = shader::paths().filter_map(|path| findings(path, &shader::compose(path))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_file_is_embedded_and_every_embedded_file_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut on_disk = Vec::new();
    files(&folder, &mut on_disk);
    let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
    let mut on_disk: Vec<_> = on_disk.iter().map(name).collect();
    on_disk.sort();
    let mut embedded: Vec<_> = shader::paths().map(str::to_owned).collect();
    embedded.sort();
    assert_eq!(embedded, on_disk);
}

#[test]
fn a_broken_shader_is_found() {
    let broken = shader::compose("sky.wgsl").replace("return target_from_linear", "return undeclared");
    assert!(findings("sky.wgsl", &broken).is_some_and(|it| it.contains("undeclared")));
}
