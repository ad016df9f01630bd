//! The direction of dependencies: what each folder of `src/` may name, and what the core may link.
//!
//! ```text
//! core (geo atlas voxel mesh view stream world physics limits)
//!   ^            ^
//! source loader  gpu        neither names the other
//!   ^            ^
//!   render, cli, bin        join them
//! ```
//!
//! The compiler sees a breach only with the features that hide it, so these tests read the sources and ask cargo.

#[path = "layering/paths.rs"]
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A layer of `src/`: its folders, and the paths that they may not name.
struct Layer {
    folders: &'static [&'static str],
    forbidden: &'static [&'static str],
    repair: &'static str,
}

const LAYERS: &[Layer] = &[
    Layer {
        folders: &["geo", "atlas", "voxel", "mesh", "view", "stream", "world", "physics", "limits"],
        forbidden: &[
            "crate::source",
            "crate::loader",
            "crate::gpu",
            "crate::render",
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
        ],
        repair: "The core is pure: time, randomness and bytes are passed in, work to be done is passed out as a command. \
                 Take the value as an argument, or move the code to `source`, `loader` or the program.",
    },
    Layer {
        folders: &["source", "loader"],
        forbidden: &["crate::gpu", "crate::render"],
        repair: "Loading knows no GPU. Let both sides use a type of the core (`BuiltRegion`, `SlotUpdate`), and join \
                 them in `render` or the program.",
    },
    Layer {
        folders: &["gpu"],
        forbidden: &["crate::source", "crate::loader", "crate::render"],
        repair: "Drawing knows no source. Let both sides use a type of the core (`RegionMesh`, `SlotUpdate`), and join \
                 them in `render` or the program.",
    },
    Layer { folders: &["render", "cli", "bin"], forbidden: &[], repair: "" },
];

#[test]
fn folders_name_only_what_lies_below_them() {
    let mut breaches = Vec::new();
    for source in sources() {
        let layer = layer_of(&source.folder);
        for path in &source.paths {
            if let Some(forbidden) = layer.forbidden.iter().find(|forbidden| starts_with(&path.name, forbidden)) {
                let Source { file, folder, .. } = &source;
                let (line, name) = (path.line, &path.name);
                breaches.push(format!(
                    "{file}:{line}: `{folder}` names `{name}`, and may not name `{forbidden}`. {}",
                    layer.repair
                ));
            }
        }
    }
    assert!(breaches.is_empty(), "dependencies point the wrong way:\n{}", breaches.join("\n"));
}

#[test]
fn folders_form_no_cycle() {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let below = named.entry(source.folder.clone()).or_default();
        for path in &source.paths {
            let folder = path.name.strip_prefix("crate::").and_then(|rest| rest.split("::").next());
            if let Some(folder) = folder.filter(|folder| *folder != source.folder) {
                below.insert(folder.to_owned());
            }
        }
    }
    // Takes away whatever names nothing that is left; what stays names itself in a circle.
    while let Some(leaf) = named.iter().find(|(_, below)| below.iter().all(|name| !named.contains_key(name))) {
        let leaf = leaf.0.clone();
        named.remove(&leaf);
    }
    assert!(
        named.is_empty(),
        "these folders of src/ name each other in a circle: {named:?}. A stage knows what it receives and what it \
         yields: move the shared type to the stage that makes it."
    );
}

#[test]
fn every_folder_has_a_layer() {
    let known: BTreeSet<&str> = LAYERS.iter().flat_map(|layer| layer.folders).copied().collect();
    let unknown: BTreeSet<String> =
        sources().into_iter().map(|source| source.folder).filter(|folder| !known.contains(folder.as_str())).collect();
    assert!(
        unknown.is_empty(),
        "src/ holds {unknown:?}, which no layer of tests/layering.rs knows: add it to the lowest layer that serves"
    );
}

#[test]
fn the_core_links_no_window_gpu_or_runtime() {
    for (features, forbidden) in [
        ("", &["wgpu", "naga", "winit", "egui", "tokio", "reqwest", "rayon", "tracing"][..]),
        ("net", &["wgpu", "naga", "winit", "egui"]),
        ("gpu", &["winit", "egui", "tokio", "reqwest", "rayon"]),
        ("net,gpu", &["winit", "egui", "clap"]),
        ("cli", &["wgpu", "naga", "winit", "egui"]),
    ] {
        let linked = dependencies("voxatlas", features);
        assert!(linked.contains("glam"), "cargo tree printed no dependency of the core: {linked:?}");
        for name in forbidden {
            assert!(
                !linked.contains(*name),
                "voxatlas with the features [{features}] links {name}: make the dependency optional in Cargo.toml and name it in the \
                 feature that needs it (`cargo tree -p voxatlas --no-default-features --features \"{features}\" --invert {name}` shows who brings it in)"
            );
        }
    }
}

#[test]
fn atlas_tools_links_no_gpu() {
    assert!(!dependencies("atlas-tools", "").contains("wgpu"), "atlas-tools links wgpu: a cluster node has no Vulkan");
}

/// Who reads the variable decides whether a skipped test is seen. A bench says itself which data it lacks.
#[test]
fn only_the_helper_reads_the_variable_of_real_data() {
    let mut files = Vec::new();
    for folder in ["src", "tests", "examples", "atlas-tools/src", "atlas-tools/tests"] {
        rust_files(&root().join(folder), &mut files);
    }
    for file in files {
        let name = relative(&file);
        if name == "tests/common/real_data.rs" || name == "tests/layering.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source file is readable");
        let reads = text.lines().find(|line| line.contains("env::var") && line.contains("VOXATLAS_DATA"));
        assert!(
            reads.is_none(),
            "{name} reads VOXATLAS_DATA itself: take `real_data` from tests/common/real_data.rs, so that `make test` lists the test when it is skipped"
        );
    }
}

/// One file below `src/`, and the paths that it names outside its comments and tests.
struct Source {
    /// Relative to the repository's root.
    file: String,
    /// The folder of `src/`, or the file's stem where it lies in `src/` itself.
    folder: String,
    paths: Vec<paths::Named>,
}

/// All sources but `lib.rs`, which names every module, and the tests beside the code.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 10, "only {} source files were found in {}", files.len(), src.display());
    let mut sources = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&src).expect("found below src/");
        let is_test = file.file_stem().is_some_and(|stem| stem == "tests") || inside.iter().any(|part| part == "tests");
        if inside == Path::new("lib.rs") || is_test {
            continue;
        }
        let module = paths::module_of(inside);
        let text = std::fs::read_to_string(&file).expect("a source file is readable");
        sources.push(Source { file: relative(&file), folder: module[0].clone(), paths: paths::named(&text, &module) });
    }
    sources
}

fn layer_of(folder: &str) -> &'static Layer {
    LAYERS
        .iter()
        .find(|layer| layer.folders.contains(&folder))
        .unwrap_or_else(|| panic!("src/{folder} has no layer: `every_folder_has_a_layer` tells more"))
}

/// Whether the path is the other, or lies below it.
fn starts_with(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The names of all crates that a package links on this platform with these features alone.
fn dependencies(package: &str, features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--locked", "--package", package, "--no-default-features", "--features", features])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn relative(file: &Path) -> String {
    let inside = file.strip_prefix(root()).expect("found below the root");
    inside.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Adds the Rust files below a folder, in the order of their names; a folder that is not there has none.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            rust_files(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
}
