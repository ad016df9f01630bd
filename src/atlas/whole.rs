//! Whether a file is whole, without decoding it.

use crate::atlas::chunks::Chunks;
use crate::atlas::decode::ImageKind;

/// Whether a file has arrived as it was sent, as far as its own lengths and checksums tell: what is not whole is not
/// worth keeping. It takes the time of a checksum; a file that is whole may still be no atlas.
///
/// ```
/// assert!(!voxatlas::atlas::is_whole(b"\x89PNG\r\n\x1a\n"));
/// ```
pub fn is_whole(file: &[u8]) -> bool {
    match ImageKind::of(file) {
        Ok(ImageKind::Png) => {
            let mut chunks = Chunks::new(file);
            chunks.by_ref().all(|chunk| chunk.is_ok_and(|chunk| chunk.check_crc().is_ok())) && chunks.has_ended()
        }
        Ok(ImageKind::Webp) => {
            // RIFF: the length of what follows it, which an odd one has a byte of padding after.
            let length = file.get(4..8).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
            length.is_some_and(|length| file.len() as u64 >= 8 + u64::from(length))
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::{AtlasMetadata, encode};
    use crate::geo::{RegionKey, TileCoord};
    use crate::voxel::{ColourDepth, Occupancy, Region};

    #[test]
    fn a_png_is_whole_to_the_last_bit() {
        let region = Region::paint(Occupancy::empty(), ColourDepth::Indexed(vec![[1, 2, 3]]), |_, _, _| 0);
        let key = RegionKey::new(TileCoord::new(17, 1, 2).unwrap(), 0);
        let file =
            encode(&region, &AtlasMetadata { key, base: 0, voxel_size_m: 1.0, clipped: 0, credit: String::new() });
        assert!(is_whole(&file));
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            assert!(!is_whole(&damaged), "byte {at}");
        }
        for length in [0, 4, 8, 100, file.len() - 1] {
            assert!(!is_whole(&file[..length]), "{length} bytes");
        }
    }

    #[test]
    fn a_webp_is_as_long_as_it_says() {
        let file = b"RIFF\x08\x00\x00\x00WEBPVP8L";
        assert!(is_whole(file));
        assert!(!is_whole(&file[..15]));
        assert!(!is_whole(&file[..11]));
    }
}
