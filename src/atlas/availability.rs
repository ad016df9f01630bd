//! Which regions a tileset holds: a bitmap a layer and zoom, so that nobody asks for a file that is not there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use super::tileset::{AvailabilityObject, Tileset};
use crate::geo::{RegionKey, TileCoord};
use crate::limits::AVAILABILITY_BITMAP_BYTES_MAX;

/// Whether a region's file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The tileset lists it.
    Present,
    /// The tileset says that it is not there: the region is empty, and asking is a wasted request.
    Absent,
    /// The tileset does not say: ask.
    Unknown,
}

/// A bitmap that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AvailabilityError {
    /// The bounds are upside down or leave the zoom's tile matrix.
    #[error(
        "layer {layer}, zoom {zoom}: the bounds {bounds:?} are no tile rectangle: expected lowest column, lowest row, highest column, highest row within the zoom"
    )]
    Bounds {
        /// The layer.
        layer: i32,
        /// The zoom.
        zoom: u8,
        /// What the document says.
        bounds: [u32; 4],
    },
    /// The bitmap is no base64.
    #[error("layer {layer}, zoom {zoom}: the bitmap is no base64: {reason}")]
    Base64 {
        /// The layer.
        layer: i32,
        /// The zoom.
        zoom: u8,
        /// What the decoder says.
        reason: String,
    },
    /// The bitmap has another size than its bounds.
    #[error(
        "layer {layer}, zoom {zoom}: the bitmap has {found_bytes} bytes: expected {expected_bytes}, one bit a tile of its bounds"
    )]
    Length {
        /// The layer.
        layer: i32,
        /// The zoom.
        zoom: u8,
        /// What was found.
        found_bytes: u64,
        /// What the bounds ask for.
        expected_bytes: u64,
    },
    /// A zoom has two bitmaps.
    #[error("layer {layer}: zoom {zoom} is listed twice")]
    ZoomTwice {
        /// The layer.
        layer: i32,
        /// The zoom.
        zoom: u8,
    },
}

/// Which tiles of one zoom exist: a rectangle of tiles and one bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileBitmap {
    zoom: u8,
    /// Lowest column and row.
    min: [u32; 2],
    /// Highest column and row, inclusive.
    max: [u32; 2],
    /// Row by row from the north-west, lowest bit first. Bits beyond the last tile are zero.
    bits: Vec<u8>,
}

impl TileBitmap {
    /// The bitmap of the tiles of `zoom` among `tiles`; those of other zooms are passed over. No tile at all gives a
    /// bitmap that says so.
    ///
    /// `None` where the tiles lie so far apart that their common rectangle is worth more than
    /// [`AVAILABILITY_BITMAP_BYTES_MAX`]: the document then leaves the zoom out, and readers ask.
    ///
    /// ```
    /// use voxatlas::atlas::TileBitmap;
    /// use voxatlas::geo::TileCoord;
    ///
    /// let tiles = [TileCoord::new(17, 10, 20)?, TileCoord::new(17, 12, 20)?];
    /// let object = TileBitmap::from_tiles(17, tiles).unwrap().encode();
    /// assert_eq!((object.bounds, object.bitmap.as_str()), ([10, 20, 12, 20], "BQ=="));
    /// # Ok::<(), voxatlas::geo::GeoError>(())
    /// ```
    pub fn from_tiles(zoom: u8, tiles: impl IntoIterator<Item = TileCoord>) -> Option<Self> {
        let tiles: Vec<TileCoord> = tiles.into_iter().filter(|tile| tile.zoom() == zoom).collect();
        let columns = || tiles.iter().map(|tile| tile.x());
        let rows = || tiles.iter().map(|tile| tile.y());
        let min = [columns().min().unwrap_or(0), rows().min().unwrap_or(0)];
        let max = [columns().max().unwrap_or(0), rows().max().unwrap_or(0)];
        let size_bytes = n_tiles(min, max).div_ceil(8);
        if size_bytes > AVAILABILITY_BITMAP_BYTES_MAX as u64 {
            return None;
        }
        let mut bitmap = Self { zoom, min, max, bits: vec![0; size_bytes as usize] };
        for tile in tiles {
            if let Some((byte, bit)) = bitmap.bit_of(tile.x(), tile.y()) {
                bitmap.bits[byte] |= bit;
            }
        }
        Some(bitmap)
    }

    /// Reads a document's bitmap; `layer` only names it in errors.
    ///
    /// # Errors
    ///
    /// The bounds are no rectangle of the zoom, the bitmap is no base64, or its length is not that of the bounds.
    pub fn decode(object: &AvailabilityObject, layer: i32) -> Result<Self, AvailabilityError> {
        let AvailabilityObject { zoom, bounds, ref bitmap } = *object;
        let [x_min, y_min, x_max, y_max] = bounds;
        let in_zoom = TileCoord::new(zoom, x_max, y_max).is_ok();
        if !in_zoom || x_min > x_max || y_min > y_max {
            return Err(AvailabilityError::Bounds { layer, zoom, bounds });
        }
        let (min, max) = ([x_min, y_min], [x_max, y_max]);
        let n_bits = n_tiles(min, max);
        let mut bits = STANDARD.decode(bitmap).map_err(|error| AvailabilityError::Base64 {
            layer,
            zoom,
            reason: error.to_string(),
        })?;
        let (found_bytes, expected_bytes) = (bits.len() as u64, n_bits.div_ceil(8));
        if found_bytes != expected_bytes {
            return Err(AvailabilityError::Length { layer, zoom, found_bytes, expected_bytes });
        }
        if let (Some(last), used @ 1..) = (bits.last_mut(), n_bits % 8) {
            *last &= (1 << used) - 1;
        }
        Ok(Self { zoom, min, max, bits })
    }

    /// The object that the document holds.
    pub fn encode(&self) -> AvailabilityObject {
        let ([x_min, y_min], [x_max, y_max]) = (self.min, self.max);
        AvailabilityObject {
            zoom: self.zoom,
            bounds: [x_min, y_min, x_max, y_max],
            bitmap: STANDARD.encode(&self.bits),
        }
    }

    /// The zoom.
    pub fn zoom(&self) -> u8 {
        self.zoom
    }

    /// Whether a tile of this zoom is listed.
    pub fn contains(&self, tile: TileCoord) -> bool {
        tile.zoom() == self.zoom
            && self.bit_of(tile.x(), tile.y()).is_some_and(|(byte, bit)| self.bits[byte] & bit != 0)
    }

    /// Whether no tile is listed.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&byte| byte == 0)
    }

    /// Tiles listed.
    pub fn len(&self) -> usize {
        self.bits.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// The listed tiles, row by row from the north-west.
    pub fn tiles(&self) -> impl Iterator<Item = TileCoord> + '_ {
        let rows = self.min[1]..=self.max[1];
        rows.flat_map(move |y| (self.min[0]..=self.max[0]).map(move |x| (x, y)))
            .filter_map(|(x, y)| TileCoord::new(self.zoom, x, y).ok())
            .filter(|&tile| self.contains(tile))
    }

    /// Byte and mask of a tile's bit; `None` outside the bounds.
    fn bit_of(&self, x: u32, y: u32) -> Option<(usize, u8)> {
        let inside = (self.min[0]..=self.max[0]).contains(&x) && (self.min[1]..=self.max[1]).contains(&y);
        inside.then(|| {
            let width = u64::from(self.max[0] - self.min[0]) + 1;
            let idx = u64::from(y - self.min[1]) * width + u64::from(x - self.min[0]);
            ((idx / 8) as usize, 1 << (idx % 8))
        })
    }
}

/// Tiles of a rectangle, its far sides included.
fn n_tiles(min: [u32; 2], max: [u32; 2]) -> u64 {
    (u64::from(max[0] - min[0]) + 1) * (u64::from(max[1] - min[1]) + 1)
}

/// What a tileset says of the existence of its regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    zoom_min: u8,
    zoom_max: u8,
    /// Ascending by layer; the bitmaps of a layer ascend by zoom.
    layers: Vec<(i32, Vec<TileBitmap>)>,
}

impl Availability {
    /// Reads the bitmaps of a document.
    ///
    /// # Errors
    ///
    /// A bitmap contradicts itself, or a zoom has two.
    pub fn of(tileset: &Tileset) -> Result<Self, AvailabilityError> {
        let mut layers = Vec::new();
        match &tileset.voxatlas {
            None => layers.push((0, Vec::new())),
            Some(object) => {
                for layer in &object.layers {
                    layers.push((layer.layer, decode_all(layer.layer, &layer.availability)?));
                }
            }
        }
        layers.sort_by_key(|&(layer, _)| layer);
        Ok(Self { zoom_min: tileset.minzoom, zoom_max: tileset.maxzoom, layers })
    }

    /// Whether a region's file exists.
    pub fn presence(&self, key: RegionKey) -> Presence {
        let zoom = key.tile.zoom();
        if !(self.zoom_min..=self.zoom_max).contains(&zoom) {
            return Presence::Absent;
        }
        let Ok(at) = self.layers.binary_search_by_key(&key.layer, |&(layer, _)| layer) else {
            return Presence::Absent;
        };
        match bitmap_of(&self.layers[at].1, zoom) {
            None => Presence::Unknown,
            Some(bitmap) if bitmap.contains(key.tile) => Presence::Present,
            Some(_) => Presence::Absent,
        }
    }

    /// The layers that the tileset lists, ascending.
    pub fn layers(&self) -> impl Iterator<Item = i32> + '_ {
        self.layers.iter().map(|&(layer, _)| layer)
    }

    /// The lowest layer that may hold anything at a zoom: nobody can look at its floor from below.
    pub fn lowest_layer(&self, zoom: u8) -> Option<i32> {
        let may_hold = |bitmaps: &[TileBitmap]| bitmap_of(bitmaps, zoom).is_none_or(|bitmap| !bitmap.is_empty());
        self.layers.iter().find(|(_, bitmaps)| may_hold(bitmaps)).map(|&(layer, _)| layer)
    }
}

fn bitmap_of(bitmaps: &[TileBitmap], zoom: u8) -> Option<&TileBitmap> {
    bitmaps.iter().find(|bitmap| bitmap.zoom == zoom)
}

/// The bitmaps of one layer, ascending by zoom.
fn decode_all(layer: i32, objects: &[AvailabilityObject]) -> Result<Vec<TileBitmap>, AvailabilityError> {
    let mut bitmaps = Vec::with_capacity(objects.len());
    for object in objects {
        bitmaps.push(TileBitmap::decode(object, layer)?);
    }
    bitmaps.sort_by_key(|bitmap| bitmap.zoom);
    match bitmaps.windows(2).find(|pair| pair[0].zoom == pair[1].zoom) {
        Some(pair) => Err(AvailabilityError::ZoomTwice { layer, zoom: pair[0].zoom }),
        None => Ok(bitmaps),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn tile(zoom: u8, x: u32, y: u32) -> TileCoord {
        TileCoord::new(zoom, x, y).unwrap()
    }

    #[test]
    fn rows_run_from_the_north_west_with_the_lowest_bit_first() {
        let tiles = [tile(17, 8, 5), tile(17, 9, 6), tile(17, 10, 6)];
        let object = TileBitmap::from_tiles(17, tiles).unwrap().encode();
        assert_eq!(object.bounds, [8, 5, 10, 6]);
        // Row 5: 1 0 0; row 6: 0 1 1; as bits 0..6: 0b110_001.
        assert_eq!(STANDARD.decode(object.bitmap).unwrap(), [0b11_0001]);
    }

    #[test]
    fn no_tile_is_a_statement_too() {
        let bitmap = TileBitmap::from_tiles(17, [tile(16, 1, 1)]).unwrap();
        assert!(bitmap.is_empty());
        assert_eq!(TileBitmap::decode(&bitmap.encode(), 0), Ok(bitmap));
    }

    #[test]
    fn cities_far_apart_are_not_worth_a_bitmap() {
        assert_eq!(TileBitmap::from_tiles(17, [tile(17, 67_000, 43_000), tile(17, 116_000, 51_600)]), None);
    }

    #[test]
    fn bad_bitmaps_are_named() {
        let check = |bounds, bitmap: &str, expected: &str| {
            let object = AvailabilityObject { zoom: 4, bounds, bitmap: bitmap.to_owned() };
            let text = TileBitmap::decode(&object, -1).unwrap_err().to_string();
            assert!(text.starts_with("layer -1, zoom 4: ") && text.contains(expected), "{text}");
        };
        check([0, 0, 16, 0], "AAAA", "[0, 0, 16, 0] are no tile rectangle");
        check([3, 0, 2, 0], "AA==", "[3, 0, 2, 0] are no tile rectangle");
        check([0, 0, 2, 2], "AA==", "has 1 bytes: expected 2");
        check([0, 0, 2, 2], "AA*=", "is no base64");
        check([0, 0, 15, 15], "", "has 0 bytes: expected 32");
    }

    #[test]
    fn bits_beyond_the_last_tile_mean_nothing() {
        let object = AvailabilityObject { zoom: 4, bounds: [1, 1, 2, 1], bitmap: STANDARD.encode([0xFF]) };
        let bitmap = TileBitmap::decode(&object, 0).unwrap();
        assert_eq!((bitmap.len(), bitmap.encode().bitmap), (2, STANDARD.encode([0b11])));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_bitmap_lists_exactly_its_tiles(
            zoom in 6u8..=17,
            cells in prop::collection::btree_set((0u32..64, 0u32..64), 0..80),
        ) {
            let tiles: BTreeSet<TileCoord> = cells.iter().map(|&(x, y)| tile(zoom, x, y)).collect();
            let bitmap = TileBitmap::from_tiles(zoom, tiles.iter().copied()).unwrap();
            let read = TileBitmap::decode(&bitmap.encode(), 0).unwrap();
            prop_assert_eq!(&read, &bitmap);
            prop_assert_eq!(read.len(), tiles.len());
            prop_assert_eq!(read.tiles().collect::<BTreeSet<_>>(), tiles.clone());
            for x in 0..64 {
                for y in 0..64 {
                    prop_assert_eq!(read.contains(tile(zoom, x, y)), tiles.contains(&tile(zoom, x, y)));
                }
            }
        }

        #[test]
        fn any_object_is_read_or_refused(zoom: u8, bounds: [u32; 4], bitmap in "[A-D+/=]{0,12}") {
            let _ = TileBitmap::decode(&AvailabilityObject { zoom, bounds, bitmap }, 0);
        }
    }
}
