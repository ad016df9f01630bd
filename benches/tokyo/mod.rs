//! Real regions: the middle of Tokyo.

use std::path::{Path, PathBuf};
use std::process::Command;

/// At most `n_max` real regions, from the smallest file to the largest, or why there are none.
pub(crate) fn files(n_max: usize) -> Result<Vec<Vec<u8>>, String> {
    let dir = match (std::env::var_os("VOXATLAS_TILESET"), std::env::var_os("VOXATLAS_DATA")) {
        (Some(tileset), _) => PathBuf::from(tileset),
        (None, Some(data)) => encode_tokyo(&Path::new(&data).join("tokyo_plateau_mvt"))?,
        (None, None) => return Err("needs VOXATLAS_TILESET, a directory of atlases, or VOXATLAS_DATA".to_owned()),
    };
    let mut paths = Vec::new();
    collect_pngs(&dir, &mut paths).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<Vec<u8>> =
        paths.iter().map(std::fs::read).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    if files.is_empty() {
        return Err(format!("{} holds no PNG", dir.display()));
    }
    files.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let n = files.len().min(n_max);
    Ok((0..n).map(|i| files[(i + 1) * files.len() / n - 1].clone()).collect())
}

fn collect_pngs(dir: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_pngs(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "png") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Encodes the middle of Tokyo with `atlas-tools`, once: the tileset stays beside the build's outputs.
fn encode_tokyo(input: &Path) -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let dir = exe.with_file_name("bench-tokyo");
    if dir.join("tiles.json").exists() {
        return Ok(dir);
    }
    println!("encoding {} to {}", input.display(), dir.display());
    let tiles = (116_411..116_417).flat_map(|x| (51_621..51_626).map(move |y| format!("17/{x}/{y}")));
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--release", "--package", "atlas-tools", "--", "encode"])
        .arg(input)
        .arg("--out")
        .arg(&dir)
        .args(["--tiles", &tiles.collect::<Vec<_>>().join(","), "--attribution", "Project PLATEAU, CC BY 4.0"])
        .status()
        .map_err(|error| error.to_string())?;
    if status.success() { Ok(dir) } else { Err(format!("atlas-tools encode ended with {status}")) }
}
