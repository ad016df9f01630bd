//! The features of a region in its file: the `vxID` chunk.
//!
//! ```text
//! vxID     version u8 = 1 | CRC-32 of the IDATs' CRCs u32 | zlib stream of numbers
//! numbers  4096 x runs of a brick, 0 for air | for each run, its voxels | for each run, the code of its feature
//! number   seven bits a byte, the lowest first; the high bit says that another byte follows
//! ```
//!
//! The three kinds of numbers stand apart, so that deflate finds like beside like. A feature's code is its place in the
//! list of the sixteen that were met last, since a wall goes back and forth between few; a feature that is not among
//! them is told by its distance to the one that was told so before. Receives a chunk or [`FeatureIds`], yields the
//! other; whether the runs fit the pixels' voxels is left to whoever has decoded them.

use std::io::{BufReader, Read};

use flate2::bufread::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress};

use crate::atlas::AtlasError;
use crate::atlas::chunks::{Chunk, Chunks};
use crate::atlas::decode::ImageKind;
use crate::atlas::ids::FeatureIds;
use crate::atlas::metadata::{Fields, HEAD, crc_of_crcs, deflate_into};
use crate::limits::{BRICK_VOLUME, N_BRICKS};

/// The name of the chunk.
pub(crate) const FEATURE_IDS: [u8; 4] = *b"vxID";

/// Features of which a run is told by their place in the list of the latest.
const N_LATEST: usize = 16;

/// Bytes of a number at most: 35 bits, of which the code of a feature needs 34.
const NUMBER_BYTES_MAX: u32 = 5;

impl FeatureIds {
    /// The features that a file tells, found without a look at its pixels; `None` where it tells none, or in a version
    /// that is not known.
    ///
    /// # Errors
    ///
    /// The file is no image or ends within a chunk, or its `vxID` chunk is unsound or was made for other pixels.
    pub fn of_file(file: &[u8]) -> Result<Option<Self>, AtlasError> {
        if ImageKind::of(file)? != ImageKind::Png {
            return Ok(None);
        }
        let (mut found, mut idat_crcs) = (None, Vec::new());
        for chunk in Chunks::new(file) {
            let chunk = chunk?;
            match chunk.name {
                FEATURE_IDS => found = Some(chunk),
                name if name == *b"IDAT" => idat_crcs.push(chunk.crc),
                _ => {}
            }
        }
        let Some(chunk) = found.filter(|chunk| chunk.data.first().is_none_or(|version| *version == HEAD[0])) else {
            return Ok(None);
        };
        let FeatureIdsChunk { ids, idat_crc } =
            FeatureIdsChunk::from_chunk(&chunk).map_err(|what| chunk.bad(format!("cannot be read: {what}")))?;
        let of_pixels = crc_of_crcs(idat_crcs.into_iter());
        if idat_crc != of_pixels {
            return Err(chunk.bad(format!("was made for other pixels: {idat_crc:08x}, these are {of_pixels:08x}")));
        }
        Ok(Some(ids))
    }
}

/// The `vxID` chunk.
#[derive(Debug)]
pub(crate) struct FeatureIdsChunk {
    /// What it says.
    pub(crate) ids: FeatureIds,
    /// The CRC-32 of the IDATs' CRCs of the pixels that it was written for.
    pub(crate) idat_crc: u32,
}

impl FeatureIdsChunk {
    /// The data of the chunk, the CRC of the pixels' CRCs still zero.
    pub(crate) fn to_chunk_data(ids: &FeatureIds) -> Vec<u8> {
        let (mut counts, mut lengths, mut codes) = (Vec::new(), Vec::new(), Vec::new());
        let mut latest = Latest::new();
        for m in 0..N_BRICKS {
            let mut n_runs = 0;
            for (length, feature) in ids.runs(m) {
                push_number(&mut lengths, u64::from(length));
                push_number(&mut codes, latest.code_of(feature));
                n_runs += 1;
            }
            push_number(&mut counts, n_runs);
        }
        let mut data = HEAD.to_vec();
        let mut deflater = Compress::new(Compression::new(9), true);
        for numbers in [counts, lengths, codes] {
            deflate_into(&mut deflater, &numbers, &mut data, FlushCompress::None);
        }
        deflate_into(&mut deflater, &[], &mut data, FlushCompress::Finish);
        data
    }

    /// Reads the chunk; what speaks against it, in words. What is held grows with the runs that are there, whatever the
    /// counts promise: 6 bytes a run, and a region has at most as many runs as voxels.
    pub(crate) fn from_chunk(chunk: &Chunk<'_>) -> Result<Self, String> {
        let (idat_crc, fields) = Fields::after_head(chunk)?;
        let mut numbers = Numbers::new(fields.rest());
        let mut counts = Vec::with_capacity(N_BRICKS);
        for _ in 0..N_BRICKS {
            counts.push(numbers.at_most(BRICK_VOLUME, "runs of a brick")?);
        }
        let mut lengths = Vec::new();
        for &n_runs in &counts {
            let mut left = BRICK_VOLUME;
            for _ in 0..n_runs {
                let length = numbers.at_most(left, "voxels of a run")?;
                if length == 0 {
                    return Err("it has a run of no voxel".to_owned());
                }
                left -= length;
                lengths.push(length as u16);
            }
        }
        let mut features = Vec::new();
        let mut latest = Latest::new();
        for _ in &lengths {
            features.push(latest.feature_of(numbers.next()?)?);
        }
        numbers.end()?;
        Ok(Self { ids: FeatureIds::from_runs(&counts, lengths, features), idat_crc })
    }
}

/// The features that were met last, and the one that was last told by its distance. A feature is one more than its
/// number here, and no feature is 0.
struct Latest {
    /// The latest first, at most [`N_LATEST`]; at first only "no feature".
    met: Vec<u32>,
    told: u32,
}

impl Latest {
    fn new() -> Self {
        Self { met: vec![0], told: 0 }
    }

    /// The code of the next run's feature.
    fn code_of(&mut self, feature: u32) -> u64 {
        // `NO_FEATURE` is the highest number, and becomes 0.
        let feature = feature.wrapping_add(1);
        if let Some(place) = self.met.iter().position(|&met| met == feature) {
            self.met[..=place].rotate_right(1);
            return place as u64;
        }
        let distance = i64::from(feature) - i64::from(self.told);
        self.tell(feature);
        // Small distances of either sign become small numbers: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4.
        N_LATEST as u64 + (distance << 1 ^ distance >> 63) as u64
    }

    /// The feature that a code stands for: the inverse of [`code_of`](Self::code_of).
    fn feature_of(&mut self, code: u64) -> Result<u32, String> {
        if let Some(folded) = code.checked_sub(N_LATEST as u64) {
            let distance = (folded >> 1) as i64 ^ -((folded & 1) as i64);
            let feature = u32::try_from(i64::from(self.told) + distance);
            self.tell(feature.map_err(|_| format!("{distance} from feature {} is out of range", self.told))?);
        } else {
            let (place, n_met) = (code as usize, self.met.len());
            if place >= n_met {
                return Err(format!("it names feature {place} of the latest {n_met}"));
            }
            self.met[..=place].rotate_right(1);
        }
        Ok(self.met[0].wrapping_sub(1))
    }

    fn tell(&mut self, feature: u32) {
        // Distances are small between features, not from none.
        if feature > 0 {
            self.told = feature;
        }
        self.met.truncate(N_LATEST - 1);
        self.met.insert(0, feature);
    }
}

/// Appends a number: seven bits a byte, the lowest first, the high bit set where more follow.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The numbers of a zlib stream, inflated as they are asked for.
struct Numbers<'a>(BufReader<ZlibDecoder<&'a [u8]>>);

impl<'a> Numbers<'a> {
    fn new(zlib: &'a [u8]) -> Self {
        Self(BufReader::new(ZlibDecoder::new(zlib)))
    }

    fn next(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for place in 0..NUMBER_BYTES_MAX {
            let mut byte = [0];
            self.0.read_exact(&mut byte).map_err(|error| format!("its numbers break off: {error}"))?;
            number |= u64::from(byte[0] & 0x7F) << (7 * place);
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(format!("it has a number of more than {NUMBER_BYTES_MAX} bytes"))
    }

    fn at_most(&mut self, limit: usize, what: &str) -> Result<usize, String> {
        let number = self.next()?;
        if number > limit as u64 {
            return Err(format!("{number} {what}: expected at most {limit}"));
        }
        Ok(number as usize)
    }

    /// Nothing may follow, in the stream or behind it.
    fn end(mut self) -> Result<(), String> {
        let n_read = self.0.read(&mut [0]).map_err(|error| format!("its stream does not end well: {error}"))?;
        if n_read > 0 || !self.0.get_ref().get_ref().is_empty() {
            return Err("bytes follow its last number".to_owned());
        }
        Ok(())
    }
}
