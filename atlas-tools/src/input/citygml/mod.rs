//! CityGML 2 and 3, as PLATEAU and others write it, read as a stream.
//!
//! Owns the walk over a file: its envelope, its city objects one after the other, its appearances. Receives a path,
//! yields the items of `input`. What is kept at a time is one object, and of a relief a few thousand triangles, so that a
//! file may be larger than the memory. Namespaces are not told apart: the local names of elements say what they are.
//!
//! - The **finest level of detail** that an object has counts, or the finest up to `ReadOptions::lod`; never two of one
//!   part. Outlines (level 0) become footprints with the height of the attributes.
//! - References (`xlink:href`) are followed within an object, in either direction.
//! - **Appearances** within an object, or before the objects, are met in passing. Those at the end of the file are read
//!   in a pass of their own, made only where the file's last bytes show that it ends in such; they are kept for the
//!   whole file. Appearances between two objects count for what follows them.
//! - What is inside a building (rooms, furniture) is passed over.
//!
//! ```text
//!   text (UTF-8) -> xml (elements) -> object + geometry (one object) -> choose -> places -> emit (items)
//! ```

mod appearance;
mod choose;
mod emit;
mod geometry;
mod object;
mod places;
mod shapes;
mod words;
mod xml;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use self::appearance::Appearances;
use self::object::{Object, ObjectReader};
use self::places::{Envelope, Places};
use self::xml::{Token, Xml};
use super::city::text::TextReader;
use super::extent;
use super::file_crs::FileCrs;
use super::{InputError, Problem, ReadOptions, Sink, Stream, Wanted};
use crate::crs::{CrsOptions, Placer};

/// The last bytes of a file show whether it ends in appearances.
const TAIL_BYTES: u64 = 1 << 12;

/// How they end, whatever the prefix.
const APPEARANCES_END: &[u8] = b"appearanceMember>";

/// A CityGML file.
#[derive(Debug)]
pub struct CityGml {
    path: PathBuf,
    /// Its place on the command line.
    input: u32,
    read: ReadOptions,
    crs: FileCrs,
}

impl CityGml {
    /// Opens a file and looks at its first element; `input` is its place on the command line.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no CityGML.
    pub fn open(path: &Path, input: u32, read: ReadOptions, crs: CrsOptions) -> Result<Self, InputError> {
        let gml = Self { path: path.to_owned(), input, read, crs: FileCrs::new(crs) };
        gml.begin()?;
        Ok(gml)
    }

    fn io(&self, error: std::io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), error }
    }

    /// A walk that stands behind the start of the city model.
    fn begin(&self) -> Result<Xml<TextReader<File>>, InputError> {
        let file = File::open(&self.path).map_err(|error| self.io(error))?;
        let text = TextReader::new(file, self.read.encoding.as_deref()).map_err(|error| self.io(error))?;
        let mut xml = Xml::new(text, &self.path);
        loop {
            match xml.next()? {
                Token::Start if xml.name() == "CityModel" => return Ok(xml),
                Token::Start => {
                    let what =
                        format!("the first element is <{}>: expected <CityModel>, as of CityGML 2 or 3", xml.name());
                    return Err(xml.malformed(xml.start_offset(), &what));
                }
                Token::Text => xml.clear_text(),
                Token::End | Token::Eof => {
                    return Err(xml.malformed(0, "no XML element found: expected <CityModel>, as of CityGML 2 or 3"));
                }
            }
        }
    }

    /// Whether appearances stand at the end of the file.
    fn ends_in_appearances(&self) -> Result<bool, InputError> {
        let mut tail = Vec::new();
        let read_tail = |tail: &mut Vec<u8>| -> std::io::Result<()> {
            let mut file = File::open(&self.path)?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
            file.take(TAIL_BYTES).read_to_end(tail)?;
            Ok(())
        };
        read_tail(&mut tail).map_err(|error| self.io(error))?;
        // In UTF-16 every other byte is 0.
        tail.retain(|&byte| byte != 0);
        Ok(tail.windows(APPEARANCES_END.len()).any(|bytes| bytes == APPEARANCES_END))
    }

    /// The appearances that stand outside objects.
    fn read_appearances(&self) -> Result<Appearances, InputError> {
        let mut appearances = Appearances::default();
        let mut xml = self.begin()?;
        loop {
            match xml.next()? {
                Token::Start if xml.name() == "appearanceMember" => appearances.read(&mut xml)?,
                Token::Start => xml.skip()?,
                Token::Text => xml.clear_text(),
                Token::End | Token::Eof => return Ok(appearances),
            }
        }
    }

    /// The envelope of the model, and its box in the world.
    fn envelope_extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        let mut xml = self.begin()?;
        let mut places = Places::new();
        let Some(envelope) = read_to_envelope(&mut xml, &mut places)? else { return Ok(None) };
        let crs = places.crs(self, None)?;
        Ok(places.extent(&envelope, crs))
    }
}

/// Reads up to the envelope of the model; `None` where its first object comes before.
fn read_to_envelope<R: BufRead>(xml: &mut Xml<R>, places: &mut Places) -> Result<Option<Envelope>, InputError> {
    loop {
        match xml.next()? {
            Token::Start => match xml.name() {
                "boundedBy" => {}
                "Envelope" => return places.read_envelope(xml),
                "cityObjectMember" | "featureMember" | "featureMembers" => return Ok(None),
                _ => xml.skip()?,
            },
            Token::Text => xml.clear_text(),
            Token::End => {}
            Token::Eof => return Ok(None),
        }
    }
}

impl Stream for CityGml {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        if let Some(extent) = self.envelope_extent()? {
            return Ok(Some(extent));
        }
        extent::walk(self)
    }

    fn placers(&self) -> Vec<Placer> {
        self.crs.placers()
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        let has_read_appearances = self.ends_in_appearances()?;
        let appearances = if has_read_appearances {
            // A file that is malformed is read up to there all the same: what is wrong is told then.
            self.read_appearances().unwrap_or_default()
        } else {
            Appearances::default()
        };
        let reader = ObjectReader {
            gml: self,
            xml: self.begin()?,
            sink,
            wanted,
            places: Places::new(),
            appearances,
            textures: BTreeMap::new(),
            object: Object::new(),
        };
        reader.read_model(has_read_appearances)
    }
}

impl<R: std::io::Read> ObjectReader<'_, TextReader<R>> {
    /// Reads the members of the city model.
    fn read_model(mut self, has_read_appearances: bool) -> Result<(), InputError> {
        loop {
            match self.xml.next()? {
                Token::Start => match self.xml.name() {
                    "boundedBy" => self.read_bounds()?,
                    "cityObjectMember" | "featureMember" | "featureMembers" => self.read_objects()?,
                    "appearanceMember" if !has_read_appearances => self.appearances.read(&mut self.xml)?,
                    _ => self.xml.skip()?,
                },
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => break,
            }
        }
        if self.xml.source().is_mended {
            self.sink.problem("", Problem::BadText);
        }
        self.places.misplaced.check(&self.gml.path, self.wanted)
    }

    fn read_bounds(&mut self) -> Result<(), InputError> {
        loop {
            match self.xml.next()? {
                Token::Start if self.xml.name() == "Envelope" => {
                    self.places.read_envelope(&mut self.xml)?;
                }
                Token::Start => self.xml.skip()?,
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => return Ok(()),
            }
        }
    }

    fn read_objects(&mut self) -> Result<(), InputError> {
        loop {
            match self.xml.next()? {
                Token::Start => self.read_object()?,
                Token::Text => self.xml.clear_text(),
                Token::End | Token::Eof => return Ok(()),
            }
        }
    }
}
