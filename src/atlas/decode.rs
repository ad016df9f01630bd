//! Decoding: from the bytes of a file to a region, in steps that a loader may run on several threads.
//!
//! Files in strips, which our encoder writes, take the fast way: 64 steps, each of which inflates 64 rows and takes
//! their voxels while they are hot. Every other file takes the plain way, in one step. A file that turns out to lie
//! about its strips is decoded the plain way after all: the result never depends on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::atlas::band::{BandFormat, StripVoxels, strip_from_band};
use crate::atlas::chunks::SIGNATURE;
use crate::atlas::ids::FeatureIds;
use crate::atlas::metadata::AtlasMetadata;
use crate::atlas::plain;
use crate::atlas::png_file::PngFile;
use crate::atlas::strips::Scratch;
use crate::atlas::{AtlasError, EncodedAtlas};
use crate::limits::{ATLAS_FILE_BYTES_MAX, N_STRIPS};
use crate::voxel::{ColourDepth, Colours, Occupancy, Region};

/// Decodes a whole file, on this thread.
///
/// ```
/// use voxatlas::atlas::{self, AtlasError, EncodedAtlas};
///
/// let page = EncodedAtlas::new(*b"<!DOCTYPE html><title>404</title>");
/// assert!(matches!(atlas::decode(&page), Err(AtlasError::NotAnImage { .. })));
/// ```
///
/// # Errors
///
/// The file is no PNG or WebP of 4096 x 4096 pixels and at most 8 bits a channel, or not a sound one.
pub fn decode(atlas: &EncodedAtlas) -> Result<Region, AtlasError> {
    let decoder = Decoder::new(atlas.bytes())?;
    let mut scratch = Scratch::new();
    decoder.decode_all(&mut scratch)
}

/// A file ready to be decoded in steps.
///
/// A loader with a thread pool runs the steps in parallel, each thread with its own [`Scratch`], and assembles what
/// they yield:
///
/// ```
/// # use voxatlas::{atlas::{encode, AtlasError, AtlasMetadata, Decoder, Scratch}, geo::{RegionKey, TileCoord}, voxel::Region};
/// # let key = RegionKey::new("17/116415/51623".parse()?, 0);
/// # let metadata = AtlasMetadata { key, base: -32, voxel_size_m: 0.97, clipped: 0, credit: String::new() };
/// # let file = encode(&Region::empty(), &metadata);
/// let decoder = Decoder::new(&file)?;
/// let mut scratch = Scratch::new();
/// let strips: Vec<_> = (0..decoder.n_steps()).map(|step| decoder.decode_strip(step, &mut scratch)).collect::<Result<_, _>>()?;
/// let region = decoder.assemble(strips)?;
/// assert!(region.occupancy.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Decoder<'a> {
    kind: Kind<'a>,
    stop: Option<Arc<AtomicBool>>,
}

#[derive(Debug)]
enum Kind<'a> {
    Png(Box<PngFile<'a>>),
    Webp(&'a [u8]),
}

/// What one step yields.
#[derive(Debug)]
pub struct Strip(Step);

#[derive(Debug)]
enum Step {
    /// A strip's voxels.
    Voxels(usize, Box<StripVoxels>),
    /// The file is not what it said: it is to be decoded the plain way.
    Irregular,
    /// The only step of the plain way.
    Whole(Box<Region>),
}

impl<'a> Decoder<'a> {
    /// Looks at a file's structure; pixels are not touched.
    ///
    /// # Errors
    ///
    /// The file is no image, has another size, is too deep, animated, truncated, or its structure is unsound.
    pub fn new(file: &'a [u8]) -> Result<Self, AtlasError> {
        if file.len() > ATLAS_FILE_BYTES_MAX {
            return Err(AtlasError::TooLarge { size_bytes: file.len(), limit_bytes: ATLAS_FILE_BYTES_MAX });
        }
        let kind = match ImageKind::of(file)? {
            ImageKind::Png => Kind::Png(Box::new(PngFile::parse(file)?)),
            ImageKind::Webp => {
                plain::open_webp(file)?;
                Kind::Webp(file)
            }
        };
        Ok(Self { kind, stop: None })
    }

    /// Lets every step end with [`AtlasError::Aborted`], at the next strip, once the flag is set.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Steps that the file takes: 64 in strips, 1 otherwise.
    pub fn n_steps(&self) -> usize {
        match &self.kind {
            Kind::Png(png) if png.strips.is_ok() => N_STRIPS,
            Kind::Png(_) | Kind::Webp(_) => 1,
        }
    }

    /// What the file says of itself; `None` where it says nothing, or nothing that can be read.
    pub fn metadata(&self) -> Option<AtlasMetadata> {
        match &self.kind {
            Kind::Png(png) => Some(png.metadata()?.metadata),
            Kind::Webp(_) => None,
        }
    }

    /// The features that the file tells; `None` where it tells none, or in a version that is not known.
    ///
    /// The pixels are not touched: this is what a click asks. Told apart from their absence are features that cannot be
    /// read: the pixels do not depend on them, and are decoded all the same.
    ///
    /// # Errors
    ///
    /// The `vxID` chunk is unsound, or was made for other pixels.
    pub fn feature_ids(&self) -> Result<Option<FeatureIds>, AtlasError> {
        match &self.kind {
            Kind::Png(png) => FeatureIds::of_file(png.file),
            Kind::Webp(_) => Ok(None),
        }
    }

    /// Runs one step. Steps may run in any order, on any thread, several at once.
    ///
    /// # Errors
    ///
    /// The pixels are unsound, or the stop flag is set.
    ///
    /// # Panics
    ///
    /// The step is not below [`Decoder::n_steps`].
    pub fn decode_strip(&self, step: usize, scratch: &mut Scratch) -> Result<Strip, AtlasError> {
        assert!(step < self.n_steps(), "step {step} of {}", self.n_steps());
        self.check_stop()?;
        Ok(Strip(match &self.kind {
            Kind::Png(png) => match &png.strips {
                Ok(strips) => match strips.decode(step, scratch)? {
                    Some(voxels) => Step::Voxels(step, Box::new(voxels)),
                    None => Step::Irregular,
                },
                Err(_) => Step::Whole(Box::new(self.decode_plain(scratch)?)),
            },
            Kind::Webp(_) => Step::Whole(Box::new(self.decode_plain(scratch)?)),
        }))
    }

    /// Puts the strips of all steps together, in any order. A file that lied about its strips is decoded the plain way
    /// here.
    ///
    /// # Errors
    ///
    /// The plain way was needed, and the pixels are unsound or the stop flag is set.
    ///
    /// # Panics
    ///
    /// A step's strip is missing.
    pub fn assemble(&self, strips: impl IntoIterator<Item = Strip>) -> Result<Region, AtlasError> {
        self.try_assemble(strips.into_iter().map(Ok))
    }

    /// Runs all steps on this thread.
    pub(crate) fn decode_all(&self, scratch: &mut Scratch) -> Result<Region, AtlasError> {
        // Lazily: a file that lies about its strips is noticed at the first of them.
        self.try_assemble((0..self.n_steps()).map(|step| self.decode_strip(step, scratch)))
    }

    fn try_assemble(&self, strips: impl Iterator<Item = Result<Strip, AtlasError>>) -> Result<Region, AtlasError> {
        let mut region = self.air();
        let mut n_strips = 0;
        for strip in strips {
            match strip?.0 {
                Step::Voxels(strip_idx, voxels) => add_strip(&mut region, strip_idx, *voxels),
                Step::Irregular => return self.decode_plain(&mut Scratch::new()),
                Step::Whole(whole) => return Ok(*whole),
            }
            n_strips += 1;
        }
        assert_eq!(n_strips, self.n_steps(), "strips of a file");
        Ok(region)
    }

    fn decode_plain(&self, scratch: &mut Scratch) -> Result<Region, AtlasError> {
        let mut region = self.air();
        let Scratch { band, masks, .. } = scratch;
        self.for_each_band(band, &mut |strip_idx, band| {
            add_strip(&mut region, strip_idx, strip_from_band(band, self.format(), masks));
            self.check_stop()
        })?;
        Ok(region)
    }

    /// Decodes the plain way and hands the pixels on, 64 rows at a time.
    pub(crate) fn for_each_band(&self, band: &mut Vec<u8>, sink: plain::Sink<'_>) -> Result<(), AtlasError> {
        match &self.kind {
            Kind::Png(png) => plain::decode_png(png, band, sink),
            Kind::Webp(file) => plain::decode_webp(file, band, sink),
        }
    }

    /// How bands are read.
    pub(crate) fn format(&self) -> &BandFormat {
        match &self.kind {
            Kind::Png(png) => &png.format,
            Kind::Webp(_) => &BandFormat::Rgba,
        }
    }

    /// How colours are kept.
    pub(crate) fn depth(&self) -> &ColourDepth {
        match &self.kind {
            Kind::Png(png) => &png.depth,
            Kind::Webp(_) => &ColourDepth::Direct,
        }
    }

    /// Why the file takes the plain way, as far as its structure tells.
    pub(crate) fn not_in_strips(&self) -> Option<&str> {
        match &self.kind {
            Kind::Png(png) => png.strips.as_ref().err().map(String::as_str),
            Kind::Webp(_) => Some("it is a WebP"),
        }
    }

    fn air(&self) -> Region {
        Region { occupancy: Occupancy::empty(), colours: Colours::new(self.depth().clone()) }
    }

    fn check_stop(&self) -> Result<(), AtlasError> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(AtlasError::Aborted),
            _ => Ok(()),
        }
    }
}

impl Strip {
    /// Whether the file turned out not to be in strips.
    pub(crate) fn is_irregular(&self) -> bool {
        matches!(self.0, Step::Irregular)
    }
}

/// The kinds of file that can be an atlas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// Portable Network Graphics.
    Png,
    /// WebP, lossless or lossy.
    Webp,
}

impl ImageKind {
    /// Tells by a file's first bytes.
    pub(crate) fn of(file: &[u8]) -> Result<Self, AtlasError> {
        if file.is_empty() {
            return Err(AtlasError::Empty);
        }
        if file.starts_with(&SIGNATURE) {
            return Ok(Self::Png);
        }
        if file.starts_with(b"RIFF") && file.get(8..12).is_some_and(|form| form == b"WEBP") {
            return Ok(Self::Webp);
        }
        // A file cut inside its signature is truncated, nothing else.
        if SIGNATURE.starts_with(file) || b"RIFF".starts_with(file) {
            return Err(AtlasError::Truncated {
                at_byte: file.len(),
                expected: "the rest of the signature".to_owned(),
            });
        }
        Err(AtlasError::NotAnImage { begins_with: quote(file) })
    }
}

/// The first bytes, as text where they are text.
fn quote(file: &[u8]) -> String {
    let start = &file[..file.len().min(32)];
    if start.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        let line = start.trim_ascii_start().split(u8::is_ascii_control).next().unwrap_or_default();
        return format!("\"{}\"", String::from_utf8_lossy(line));
    }
    start[..start.len().min(8)].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn add_strip(region: &mut Region, strip_idx: usize, voxels: StripVoxels) {
    voxels.occupy(strip_idx, &mut region.occupancy);
    region.colours.set_strip(strip_idx, voxels.colours);
}
