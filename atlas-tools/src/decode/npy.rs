//! NumPy arrays: `a[x, y, z]` is red, green, blue, alpha; x runs east, y up, z south, all from 0 to 255.
//!
//! ```text
//! 93 "NUMPY" 1 0, u16 length of the header, the header as a Python dict, padded to 64 bytes
//! 256 * 256 * 256 * 4 bytes, the last index fastest
//! ```

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use voxatlas::geo::RegionKey;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Region;

use super::{Done, Job};
use crate::output::PartFile;
use crate::tileset_files;

/// Bytes of one plane of constant x.
const PLANE_BYTES: usize = (REGION_VOXELS * REGION_VOXELS * 4) as usize;

/// Writes an array, or several into a folder.
pub(super) fn write(job: &Job<'_>) -> anyhow::Result<Done> {
    let is_one = job.regions.keys().len() == 1;
    let path_of = |key: RegionKey| {
        if is_one { job.out.to_owned() } else { job.out.join(tileset_files::file_name(key)).with_extension("npy") }
    };
    let mut files = Vec::new();
    let mut walk = job.walk("arrays");
    walk.each(
        |visited| -> anyhow::Result<PathBuf> {
            let path = path_of(visited.key);
            write_array(&path, visited.region)?;
            Ok(path)
        },
        |_, written| {
            files.push(written?);
            Ok(())
        },
    )?;
    Ok(Done { regions: files.len(), files, notes: Vec::new(), findings: walk.findings })
}

fn write_array(path: &Path, region: &Region) -> anyhow::Result<()> {
    let part = PartFile::create(path)?;
    let mut file = std::io::BufWriter::new(part.file());
    let fail = || format!("{}: cannot be written", path.display());
    file.write_all(&header()).with_context(fail)?;
    let mut plane = vec![0; PLANE_BYTES];
    for x in 0..REGION_VOXELS {
        fill_plane(region, x, &mut plane);
        file.write_all(&plane).with_context(fail)?;
    }
    file.flush().with_context(fail)?;
    drop(file);
    Ok(part.finish()?)
}

/// The voxels of one x: y, then z, then the channels.
fn fill_plane(region: &Region, x: u32, plane: &mut [u8]) {
    let texels = plane.as_chunks_mut::<4>().0;
    for y in 0..REGION_VOXELS {
        for z in 0..REGION_VOXELS {
            texels[(y * REGION_VOXELS + z) as usize] = if region.occupancy.get(x, y, z) {
                let [r, g, b] = region.colours.get(x, y, z);
                [r, g, b, 255]
            } else {
                [0; 4]
            };
        }
    }
}

fn header() -> Vec<u8> {
    const ALIGNMENT: usize = 64;
    let mut dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (256, 256, 256, 4), }".to_owned();
    let head_bytes = 10;
    let padding = ALIGNMENT - (head_bytes + dict.len() + 1) % ALIGNMENT;
    dict.extend(std::iter::repeat_n(' ', padding % ALIGNMENT));
    dict.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((dict.len() as u16).to_le_bytes());
    header.extend(dict.as_bytes());
    header
}
