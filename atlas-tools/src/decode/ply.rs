//! PLY: rectangles of one colour with four corners each, or a point in the middle of each voxel that is seen.
//!
//! Binary, little-endian. x runs east, y north, z up, in metres from the middle of the regions and from the datum.

use std::io::{self, BufWriter, Write as _};

use anyhow::Context as _;
use voxatlas::geo::RegionKey;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::{Colour, Region};

use super::frame::Frame;
use super::rects::{Rect, rects};
use super::spool::Spool;
use super::{Done, Job};
use crate::output::PartFile;

/// Bytes of a vertex: three f32 and a colour.
const VERTEX_BYTES: u64 = 15;

/// Writes the surface as rectangles.
pub(super) fn write_rects(job: &Job<'_>) -> anyhow::Result<Done> {
    job.expect_placed()?;
    let frame = Frame::new(job.regions.keys(), job.regions.tileset().base());
    let (mut vertices, mut faces) = (Spool::beside(job.out)?, Spool::beside(job.out)?);
    let mut n_faces: u64 = 0;
    let mut walk = job.walk("regions");
    walk.each(
        |visited| rects(visited.region),
        |key, rects| {
            for Rect { corners, colour, .. } in rects {
                for corner in corners {
                    vertices.put(&vertex(&frame, key, corner.map(f64::from), colour))?;
                }
                let first = u32::try_from(n_faces * 4).context("more corners than a PLY file can count")?;
                faces.put(&face(first))?;
                n_faces += 1;
            }
            Ok(())
        },
    )?;
    let end = format!("element face {n_faces}\nproperty list uchar uint vertex_indices\n");
    finish(job, &frame, vertices, Some(faces), &end)?;
    Ok(job.done(walk, vec![format!("{n_faces} rectangles")]))
}

/// Writes the voxels that are seen as points.
pub(super) fn write_points(job: &Job<'_>) -> anyhow::Result<Done> {
    job.expect_placed()?;
    let frame = Frame::new(job.regions.keys(), job.regions.tileset().base());
    let mut vertices = Spool::beside(job.out)?;
    let mut walk = job.walk("regions");
    walk.each(|visited| points(&frame, visited.key, visited.region), |_, points| Ok(vertices.put(&points)?))?;
    let n_points = vertices.size_bytes() / VERTEX_BYTES;
    finish(job, &frame, vertices, None, "")?;
    Ok(job.done(walk, vec![format!("{n_points} points")]))
}

fn finish(job: &Job<'_>, frame: &Frame, vertices: Spool, faces: Option<Spool>, end: &str) -> anyhow::Result<()> {
    let place = frame.place();
    let credit = job.regions.tileset().attribution.as_deref().unwrap_or("none").replace(['\r', '\n'], " ");
    let header = format!(
        "ply\nformat binary_little_endian 1.0\n\
         comment metres: x east, y north, z up; the origin is {:.7} E {:.7} N at the datum of the heights\n\
         comment credit: {credit}\n\
         element vertex {}\n\
         property float x\nproperty float y\nproperty float z\n\
         property uchar red\nproperty uchar green\nproperty uchar blue\n{end}end_header\n",
        place.lon_deg(),
        place.lat_deg(),
        vertices.size_bytes() / VERTEX_BYTES,
    );
    let part = PartFile::create(job.out)?;
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(part.file());
        file.write_all(header.as_bytes())?;
        vertices.copy_into(&mut file)?;
        faces.map_or(Ok(()), |faces| faces.copy_into(&mut file))?;
        file.flush()
    };
    write().with_context(|| format!("{}: cannot be written", job.out.display()))?;
    Ok(part.finish()?)
}

/// A vertex at a place of a region, in its voxels.
fn vertex(frame: &Frame, key: RegionKey, at: [f64; 3], [r, g, b]: Colour) -> [u8; VERTEX_BYTES as usize] {
    let (corner_m, scale_m) = (frame.corner_m(key), frame.scale_m(key));
    let [east, up, south]: [f64; 3] = std::array::from_fn(|axis| corner_m[axis] + at[axis] * scale_m);
    let mut bytes = [0; VERTEX_BYTES as usize];
    for (bytes, metres) in bytes.chunks_exact_mut(4).zip([east, -south, up]) {
        bytes.copy_from_slice(&(metres as f32).to_le_bytes());
    }
    bytes[12..].copy_from_slice(&[r, g, b]);
    bytes
}

/// A face of four corners.
fn face(first: u32) -> [u8; 17] {
    let mut bytes = [4; 17];
    for (bytes, idx) in bytes[1..].chunks_exact_mut(4).zip(first..) {
        bytes.copy_from_slice(&idx.to_le_bytes());
    }
    bytes
}

/// The vertices of the voxels that have a face in the air; the region's outside counts as air.
fn points(frame: &Frame, key: RegionKey, region: &Region) -> Vec<u8> {
    let mut points = Vec::new();
    let row_at = |y: u32, z: u32| {
        // One below zero wraps to a number that is no row either.
        if y < REGION_VOXELS && z < REGION_VOXELS { *region.occupancy.row(y, z) } else { [0; 4] }
    };
    for z in 0..REGION_VOXELS {
        for y in 0..REGION_VOXELS {
            let row = row_at(y, z);
            let around =
                [row_at(y.wrapping_sub(1), z), row_at(y + 1, z), row_at(y, z.wrapping_sub(1)), row_at(y, z + 1)];
            for word in 0..4 {
                let west = row[word] << 1 | if word > 0 { row[word - 1] >> 63 } else { 0 };
                let east = row[word] >> 1 | if word < 3 { row[word + 1] << 63 } else { 0 };
                let hidden = around.iter().fold(west & east, |hidden, row| hidden & row[word]);
                let mut seen = row[word] & !hidden;
                while seen != 0 {
                    let x = word as u32 * 64 + seen.trailing_zeros();
                    seen &= seen - 1;
                    let middle = [x, y, z].map(|c| f64::from(c) + 0.5);
                    points.extend(vertex(frame, key, middle, region.colours.get(x, y, z)));
                }
            }
        }
    }
    points
}
