//! The octree of a COPC file: which points lie where.
//!
//! Reads the pages of the hierarchy itself and believes no size or reference in them. It reads no points.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use ::las::copc::{CopcInfoVlr, Entry};

/// Bytes of an entry: a key of four numbers, an offset, a size, a count.
const ENTRY_BYTES: u64 = 32;

/// Points of a node, at most: a node is unpacked whole. Usual ones have less than 100,000.
const NODE_POINTS_MAX: i32 = 1 << 22;

/// A node of the octree that has points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The file's own coordinates: the least x and y, the greatest x and y.
    pub(super) bounds: [f64; 4],
    pub(super) entry: Entry,
}

/// The nodes of a file in the order in which they lie in it; `None` where the hierarchy is not sound, and the file is best
/// read as the LAZ that it is.
pub(super) fn nodes(path: &Path, header: &::las::Header) -> Option<Vec<Node>> {
    let info = header.copc_info_vlr()?;
    let record = header.vlrs().iter().find(|record| record.is_copc_info())?;
    let number = |at: usize| Some(u64::from_le_bytes(record.data.get(at..at + 8)?.try_into().ok()?));
    let mut file = File::open(path).ok()?;
    let file_bytes = file.metadata().ok()?.len();
    let mut pages = vec![(number(40)?, number(48)?)];
    let (mut seen, mut nodes) = (BTreeSet::new(), Vec::new());
    let mut n_entries = 0;
    while let Some((offset, size)) = pages.pop() {
        n_entries += size / ENTRY_BYTES;
        // Each page once, and no more of them than fit the file.
        if !seen.insert(offset) || offset.checked_add(size)? > file_bytes || n_entries > file_bytes / ENTRY_BYTES {
            return None;
        }
        let mut page = vec![0; usize::try_from(size).ok()?];
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.read_exact(&mut page).ok()?;
        for entry in page.chunks_exact(ENTRY_BYTES as usize) {
            let (key, offset, size, n_points) = read_entry(entry);
            match n_points {
                -1 => pages.push((offset, u64::try_from(size).ok()?)),
                0 => (),
                1..=NODE_POINTS_MAX => nodes.push(node(&info, key, offset, size, n_points)?),
                _ => return None,
            }
        }
    }
    let n_points: u64 = nodes.iter().map(|node| u64::from(node.entry.point_count.unsigned_abs())).sum();
    nodes.sort_by_key(|node| node.entry.offset);
    (n_points == header.number_of_points()).then_some(nodes)
}

fn read_entry(bytes: &[u8]) -> ([i32; 4], u64, i32, i32) {
    let int = |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let offset = u64::from(int(16).cast_unsigned()) | u64::from(int(20).cast_unsigned()) << 32;
    ([int(0), int(4), int(8), int(12)], offset, int(24), int(28))
}

fn node(info: &CopcInfoVlr, [level, x, y, z]: [i32; 4], offset: u64, byte_size: i32, point_count: i32) -> Option<Node> {
    if !(0..=30).contains(&level) {
        return None;
    }
    let edge = 2.0 * info.halfsize / f64::from(1u32 << level);
    let (west, south) = (info.center_x - info.halfsize, info.center_y - info.halfsize);
    let (west, south) = (west + f64::from(x) * edge, south + f64::from(y) * edge);
    let mut key = ::las::copc::VoxelKey::ROOT;
    (key.l, key.x, key.y, key.z) = (level, x, y, z);
    Some(Node {
        bounds: [west, south, west + edge, south + edge],
        entry: Entry { key, offset, byte_size, point_count },
    })
}
