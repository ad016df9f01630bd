//! The chunks of a TIFF file, strips or tiles, and what its tags say of them.
//!
//! Owns [`Header`], what is read once, and [`Raster`], the pixels of one of its sizes. It knows nothing of the world.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tiff::decoder::ifd::Value;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

use super::transform::ModelTransform;
use super::unpalette::Unpaletted;
use crate::crs::{FOOT_M, US_FOOT_M};
use crate::geokeys::GeoKeys;
use crate::input::InputError;
use crate::terrain::cache::Cache;

/// GDAL's own notes on the values: XML.
const GDAL_METADATA: Tag = Tag::Unknown(42_112);

/// Sizes of one picture in a file: each halves the edges.
const LEVELS_MAX: usize = 32;

/// What the tags of a file say.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) path: PathBuf,
    /// The picture at its own size, then what overviews there are, smaller and smaller.
    pub(super) levels: Vec<Level>,
    pub(super) transform: ModelTransform,
    pub(super) keys: GeoKeys,
    /// What stands for no data.
    pub(super) no_data: Option<f64>,
    /// What a value is multiplied by, and what is added then.
    pub(super) scale: f64,
    pub(super) offset: f64,
    /// The unit of the values in metres, where GDAL notes it.
    pub(super) unit_m: Option<f64>,
    /// Samples of a pixel.
    pub(super) n_samples: u16,
    pub(super) colour: Colouring,
    is_planar: bool,
}

/// What the samples of a pixel mean.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Colouring {
    /// As the `tiff` crate says.
    Of(ColorType),
    /// Numbers of a palette: all its reds, then greens, then blues, 16 bits each.
    Palette(Vec<u16>),
}

/// One size of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    /// Its place among the file's directories.
    idx: usize,
    /// Its directory's place in the file.
    directory: u64,
    pub(super) size: [u32; 2],
}

impl Header {
    /// Reads the tags of a file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no TIFF, or says not where its pixels lie.
    pub(super) fn read(path: &Path) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let wrong = |error| malformed(path, error);
        let said = |what| InputError::Malformed { path: path.to_owned(), what };
        let file = File::open(path).map_err(io)?;
        let mut tiff = Decoder::new(Unpaletted::plain(file)).map_err(wrong)?;
        let tags = Tags::read(&mut tiff).map_err(wrong)?;
        let keys =
            GeoKeys::new(&tags.directory.unwrap_or(vec![1, 1, 0, 0]), &tags.doubles, &tags.text).map_err(said)?;
        let transform = ModelTransform::new(
            tags.scale.as_deref(),
            tags.tie_points.as_deref(),
            tags.matrix.as_deref(),
            keys.is_pixel_point(),
        )
        .map_err(said)?;
        let colour = match tags.palette {
            Some(palette) => Colouring::Palette(palette),
            None => Colouring::Of(tiff.colortype().map_err(wrong)?),
        };
        let notes = Notes::of(&tags.notes);
        Ok(Self {
            path: path.to_owned(),
            levels: levels(&mut tiff).map_err(wrong)?,
            transform,
            keys,
            no_data: tags.no_data.as_deref().and_then(|text| text.trim().trim_end_matches('\0').parse().ok()),
            scale: notes.scale,
            offset: notes.offset,
            unit_m: notes.unit_m,
            n_samples: tags.n_samples,
            colour,
            is_planar: tags.is_planar,
        })
    }

    /// Planes that the samples of a pixel lie in.
    pub(super) fn n_planes_of_pixel(&self) -> u16 {
        if self.is_planar { self.n_samples } else { 1 }
    }

    /// The pixels of a level are this many times as large as those of the first one.
    pub(super) fn transform_of(&self, level: Level) -> ModelTransform {
        let whole = self.levels[0].size;
        let times = |axis: usize| f64::from(whole[axis]) / f64::from(level.size[axis]);
        self.transform.scaled(times(0), times(1))
    }
}

/// The tags that are read.
struct Tags {
    directory: Option<Vec<u16>>,
    doubles: Vec<f64>,
    text: Vec<u8>,
    scale: Option<Vec<f64>>,
    tie_points: Option<Vec<f64>>,
    matrix: Option<Vec<f64>>,
    no_data: Option<String>,
    notes: String,
    n_samples: u16,
    is_planar: bool,
    palette: Option<Vec<u16>>,
}

impl Tags {
    fn read(tiff: &mut Decoder<Unpaletted>) -> Result<Self, TiffError> {
        let mut find = |tag: Tag| tiff.find_tag(tag);
        let mut doubles = |tag: Tag| find(tag)?.map(Value::into_f64_vec).transpose();
        let (scale, tie_points) = (doubles(Tag::ModelPixelScaleTag)?, doubles(Tag::ModelTiepointTag)?);
        let (matrix, numbers) = (doubles(Tag::ModelTransformationTag)?, doubles(Tag::GeoDoubleParamsTag)?);
        let mut shorts = |tag: Tag| find(tag)?.map(Value::into_u16_vec).transpose();
        let directory = shorts(Tag::GeoKeyDirectoryTag)?;
        let photometric = shorts(Tag::PhotometricInterpretation)?;
        let palette =
            if photometric.as_deref() == Some(&[3]) { Some(shorts(Tag::ColorMap)?.unwrap_or_default()) } else { None };
        let n_samples = shorts(Tag::SamplesPerPixel)?.and_then(|n| n.first().copied()).unwrap_or(1);
        let is_planar = shorts(Tag::PlanarConfiguration)?.as_deref() == Some(&[2]);
        // Text of no encoding is text of no use; it is no reason to refuse the pixels.
        let mut text = |tag: Tag| Ok::<_, TiffError>(find(tag)?.and_then(|value| value.into_string().ok()));
        Ok(Self {
            directory,
            doubles: numbers.unwrap_or_default(),
            text: text(Tag::GeoAsciiParamsTag)?.unwrap_or_default().into_bytes(),
            scale,
            tie_points,
            matrix,
            no_data: text(Tag::GdalNodata)?,
            notes: text(GDAL_METADATA)?.unwrap_or_default(),
            n_samples,
            is_planar,
            palette,
        })
    }
}

/// What GDAL notes of the values of the first band.
#[derive(Debug, PartialEq)]
struct Notes {
    scale: f64,
    offset: f64,
    unit_m: Option<f64>,
}

impl Notes {
    /// `<Item name="SCALE" sample="0" role="scale">0.1</Item>` and its like.
    fn of(xml: &str) -> Self {
        let value = |role: &str| {
            let item = xml.split("<Item").find(|item| {
                let (head, _) = item.split_once('>').unwrap_or((item, ""));
                head.contains(role) && (!head.contains("sample=") || head.contains("sample=\"0\""))
            })?;
            Some(item.split_once('>')?.1.split('<').next()?.trim())
        };
        let number = |role: &str| value(role)?.parse().ok().filter(|number: &f64| number.is_finite());
        let unit_m = match value("role=\"unittype\"").map(str::to_ascii_lowercase).as_deref() {
            Some("m" | "metre" | "meter" | "metres" | "meters") => Some(1.0),
            Some("ft" | "foot" | "feet") => Some(FOOT_M),
            Some("us-ft" | "ftus" | "us survey foot" | "us_survey_foot" | "u.s. survey foot") => Some(US_FOOT_M),
            _ => None,
        };
        let scale = number("role=\"scale\"").filter(|&scale| scale != 0.0).unwrap_or(1.0);
        Self { scale, offset: number("role=\"offset\"").unwrap_or(0.0), unit_m }
    }
}

/// The sizes of the picture: the first directory, and those that say they are smaller copies.
fn levels(tiff: &mut Decoder<Unpaletted>) -> Result<Vec<Level>, TiffError> {
    let mut levels = Vec::new();
    for idx in 0..LEVELS_MAX {
        let (width, height) = tiff.dimensions()?;
        let kind = tiff.find_tag_unsigned::<u32>(Tag::NewSubfileType)?.unwrap_or(0);
        let directory = tiff.ifd_pointer().map_or(0, |pointer| pointer.0);
        if idx == 0 || kind == 1 {
            levels.push(Level { idx, directory, size: [width, height] });
        }
        // A directory that cannot be read is a mask or a picture of another kind: the sizes before it are good.
        if !tiff.more_images() || tiff.next_image().is_err() {
            break;
        }
    }
    levels[1..].sort_by_key(|level| std::cmp::Reverse(level.size));
    Ok(levels)
}

/// Makes pixels from the chunks of the planes that are read, all of one place.
pub(super) type Convert<T> = Box<dyn Fn(Vec<DecodingResult>) -> Result<Vec<T>, String> + Send + Sync>;

/// The pixels of one level.
pub(super) struct Raster<T> {
    path: PathBuf,
    level: Level,
    is_palette: bool,
    /// Planes that are read.
    n_planes: u32,
    n_chunks: u32,
    chunk: [u32; 2],
    chunks_across: u32,
    /// Which chunks are there; the others of a sparse file hold no data.
    is_there: Vec<bool>,
    /// Decoders at rest: one a thread, since each has a place in the file.
    decoders: Mutex<Vec<Decoder<Unpaletted>>>,
    convert: Convert<T>,
    kept: Cache<u32, Vec<T>>,
}

impl<T: Copy> Raster<T> {
    /// The pixels of a level; chunks are kept within a budget of bytes.
    ///
    /// # Errors
    ///
    /// The directory of the level cannot be read.
    pub(super) fn new(
        header: &Header,
        level: Level,
        n_samples: u16,
        convert: Convert<T>,
        budget_bytes: u64,
    ) -> Result<Self, InputError> {
        let mut raster = Self {
            path: header.path.clone(),
            level,
            is_palette: matches!(header.colour, Colouring::Palette(_)),
            n_planes: if header.is_planar { u32::from(n_samples) } else { 1 },
            n_chunks: 0,
            chunk: [1; 2],
            chunks_across: 1,
            is_there: Vec::new(),
            decoders: Mutex::new(Vec::new()),
            convert,
            kept: Cache::new(budget_bytes),
        };
        let mut tiff = raster.decoder()?;
        let wrong = |error| malformed(&header.path, error);
        let (width, height) = tiff.chunk_dimensions();
        raster.chunk = [width, height];
        raster.chunks_across = level.size[0].div_ceil(width);
        raster.n_chunks = raster.chunks_across * level.size[1].div_ceil(height);
        let counts = if tiff.get_chunk_type() == tiff::decoder::ChunkType::Tile {
            Tag::TileByteCounts
        } else {
            Tag::StripByteCounts
        };
        let counts: Vec<u64> = tiff.find_tag_unsigned_vec(counts).map_err(wrong)?.unwrap_or_default();
        raster.is_there = counts.into_iter().map(|count| count > 0).collect();
        raster.rest(tiff);
        Ok(raster)
    }

    /// A look at the pixels.
    pub(super) fn window(&self) -> Window<'_, T> {
        Window { raster: self, near: Vec::new() }
    }

    fn decoder(&self) -> Result<Decoder<Unpaletted>, InputError> {
        if let Some(resting) = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(resting);
        }
        let io = |error| InputError::Io { path: self.path.clone(), error };
        let file = File::open(&self.path).map_err(io)?;
        let file = if self.is_palette {
            Unpaletted::grey(file, self.level.directory).map_err(io)?
        } else {
            Unpaletted::plain(file)
        };
        let mut tiff = Decoder::new(file).map_err(|error| malformed(&self.path, error))?;
        if self.level.idx > 0 {
            tiff.seek_to_image(self.level.idx).map_err(|error| malformed(&self.path, error))?;
        }
        Ok(tiff)
    }

    fn rest(&self, tiff: Decoder<Unpaletted>) {
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(tiff);
    }

    fn load(&self, idx: u32) -> Result<Arc<Vec<T>>, InputError> {
        self.kept.get_or(&idx, || {
            let mut tiff = self.decoder()?;
            let chunks = (0..self.n_planes).map(|plane| tiff.read_chunk(idx + plane * self.n_chunks));
            let chunks = chunks.collect::<Result<Vec<_>, _>>().map_err(|error| malformed(&self.path, error))?;
            self.rest(tiff);
            let wrong = |what| InputError::Malformed { path: self.path.clone(), what };
            let pixels = (self.convert)(chunks).map_err(wrong)?;
            let [width, height] = self.data_size(idx);
            if pixels.len() as u64 != u64::from(width) * u64::from(height) {
                let found = pixels.len();
                return Err(wrong(format!("chunk {idx}: {found} pixels, expected {width} x {height}")));
            }
            let size_bytes = size_of_val(pixels.as_slice()) as u64;
            Ok((pixels, size_bytes))
        })
    }

    /// The size of a chunk without what reaches over the edges of the picture.
    fn data_size(&self, idx: u32) -> [u32; 2] {
        let place = [idx % self.chunks_across, idx / self.chunks_across];
        [0, 1].map(|axis| self.chunk[axis].min(self.level.size[axis] - place[axis] * self.chunk[axis]))
    }
}

/// A look at the pixels that remembers the chunks it needed.
pub(super) struct Window<'a, T> {
    raster: &'a Raster<T>,
    near: Vec<(u32, Arc<Vec<T>>)>,
}

/// Chunks that are remembered: those round a place, and some of its neighbours.
const NEAR_MAX: usize = 8;

impl<T: Copy> Window<'_, T> {
    /// A pixel; `None` outside the picture, and where a sparse file has no chunk.
    ///
    /// # Errors
    ///
    /// Its chunk cannot be read.
    pub(super) fn pixel(&mut self, x: i64, y: i64) -> Result<Option<T>, InputError> {
        let [width, height] = self.raster.level.size;
        let inside = |at: i64, size: u32| u32::try_from(at).ok().filter(|&at| at < size);
        let (Some(x), Some(y)) = (inside(x, width), inside(y, height)) else { return Ok(None) };
        let [chunk_width, chunk_height] = self.raster.chunk;
        let idx = x / chunk_width + self.raster.chunks_across * (y / chunk_height);
        if !self.raster.is_there.get(idx as usize).copied().unwrap_or(false) {
            return Ok(None);
        }
        let row = self.raster.data_size(idx)[0];
        let within = (x % chunk_width) as usize + row as usize * (y % chunk_height) as usize;
        Ok(self.near(idx)?.get(within).copied())
    }

    fn near(&mut self, idx: u32) -> Result<&[T], InputError> {
        let place = self.near.iter().position(|&(near, _)| near == idx);
        let place = if let Some(place) = place {
            place
        } else {
            let chunk = self.raster.load(idx)?;
            self.near.truncate(NEAR_MAX - 1);
            self.near.push((idx, chunk));
            self.near.len() - 1
        };
        // The next pixel asks for the same chunk, nearly always.
        self.near.swap(0, place);
        Ok(&self.near[0].1)
    }
}

fn malformed(path: &Path, error: TiffError) -> InputError {
    match error {
        TiffError::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            InputError::Io { path: path.to_owned(), error }
        }
        TiffError::LimitsExceeded => InputError::Malformed {
            path: path.to_owned(),
            what: "chunks of more than 256 MiB: expected tiles, as `gdal_translate -of COG` writes them".to_owned(),
        },
        error => InputError::Malformed { path: path.to_owned(), what: format!("no TIFF that can be read: {error}") },
    }
}

/// The order of the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// A number of two bytes; `bytes` reaches that far.
pub(super) fn u16_at(bytes: &[u8], at: usize, order: Order) -> u16 {
    let pair = [bytes[at], bytes[at + 1]];
    if order == Order::Little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_gdal_are_read() {
        let xml = "<GDALMetadata>\n  <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-10</Item>\n  \
                   <Item name=\"SCALE\" sample=\"1\" role=\"scale\">7</Item>\n  \
                   <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.25</Item>\n  \
                   <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">US survey foot</Item>\n</GDALMetadata>";
        assert_eq!(Notes::of(xml), Notes { scale: 0.25, offset: -10.0, unit_m: Some(US_FOOT_M) });
        let nothing = Notes { scale: 1.0, offset: 0.0, unit_m: None };
        for xml in ["", "<Item", "<Item role=\"scale\">", "<Item role=\"scale\">0</Item>", "<Item role=\"scale\">x<"] {
            assert_eq!(Notes::of(xml), nothing, "{xml}");
        }
    }
}
