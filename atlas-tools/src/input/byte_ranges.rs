//! Parts of a file: what of it a shard reads.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Parts that lie closer than this are one: a request costs more than the bytes between them.
const GAP_BYTES: u64 = 1 << 16;

/// Ranges of bytes of a file, ascending, none close to another; a pair of begin and end each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRanges(Vec<(u64, u64)>);

impl ByteRanges {
    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|&(begin, end)| begin..end)
    }
}

impl FromIterator<Range<u64>> for ByteRanges {
    /// Joins what overlaps or lies close together; the order does not matter, and empty ranges are none.
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut pairs: Vec<(u64, u64)> =
            ranges.into_iter().filter(|range| !range.is_empty()).map(|range| (range.start, range.end)).collect();
        pairs.sort_unstable();
        pairs.dedup_by(|next, kept| {
            let is_close = next.0 <= kept.1.saturating_add(GAP_BYTES);
            if is_close {
                kept.1 = kept.1.max(next.1);
            }
            is_close
        });
        Self(pairs)
    }
}

/// Overwrites all of a file but some ranges, for tests of what is read; how many bytes are left.
#[cfg(test)]
pub(super) fn keep_only(path: &std::path::Path, ranges: &ByteRanges) -> u64 {
    let bytes = std::fs::read(path).expect("a file");
    let mut kept = vec![0xAA; bytes.len()];
    for range in ranges.iter().map(|range| range.start as usize..range.end as usize) {
        kept[range.clone()].copy_from_slice(&bytes[range]);
    }
    std::fs::write(path, kept).expect("room");
    ranges.iter().map(|range| range.end - range.start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_close_is_joined_whatever_the_order() {
        let far = 1 << 20;
        let ranges: ByteRanges = [far..far + 10, 0..100, 50..60, 90..200, 5..5, 300..400].into_iter().collect();
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0..400, far..far + 10]);
        assert_eq!(serde_json::to_string(&ranges).unwrap(), "[[0,400],[1048576,1048586]]");
    }
}
