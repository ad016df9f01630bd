//! The elements of an XML document, one at a time.
//!
//! Owns the walk: where in the file it is, how deep, and what went wrong. Receives text, yields the start and end of
//! elements by their local names; namespaces, comments and processing instructions are passed over. It builds no tree.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::input::InputError;

/// Elements within elements. CityGML needs about 30; readers that follow the nesting by recursion need a bound.
const DEPTH_MAX: usize = 128;

/// What the walk met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// An element begins: [`Xml::name`] and [`Xml::attribute`] tell of it.
    Start,
    /// The innermost element ends.
    End,
    /// Text, appended to [`Xml::text`].
    Text,
    /// The document ends.
    Eof,
}

/// The walk over a document.
pub(super) struct Xml<R> {
    reader: Reader<R>,
    path: PathBuf,
    buffer: Vec<u8>,
    name: String,
    /// Local name and value.
    attributes: Vec<(String, String)>,
    text: String,
    depth: usize,
    /// Where the element that began last begins, in bytes of the text.
    start_offset: u64,
    /// What messages name: the feature that is being read, empty outside.
    pub(super) feature: String,
}

impl<R: BufRead> Xml<R> {
    /// A walk from the beginning; `path` is what messages name.
    pub(super) fn new(text: R, path: &Path) -> Self {
        let mut reader = Reader::from_reader(text);
        reader.config_mut().expand_empty_elements = true;
        // An ampersand that stands alone spoils no geometry.
        reader.config_mut().allow_dangling_amp = true;
        Self {
            reader,
            path: path.to_owned(),
            buffer: Vec::new(),
            name: String::new(),
            attributes: Vec::new(),
            text: String::new(),
            depth: 0,
            start_offset: 0,
            feature: String::new(),
        }
    }

    /// The next token.
    ///
    /// # Errors
    ///
    /// The document is malformed, ends within an element, or is nested deeper than a city model is.
    pub(super) fn next(&mut self) -> Result<Token, InputError> {
        loop {
            self.buffer.clear();
            let offset = self.offset();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => {
                    let offset = self.reader.error_position();
                    return Err(self.malformed(offset, &error.to_string()));
                }
            };
            match event {
                Event::Start(start) => {
                    self.start_offset = offset;
                    let result = note_start(&start, &mut self.name, &mut self.attributes);
                    result.map_err(|what| self.malformed(offset, &what))?;
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        let what = format!("more than {DEPTH_MAX} elements stand within each other");
                        return Err(self.malformed(offset, &what));
                    }
                    return Ok(Token::Start);
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Token::End);
                }
                Event::Text(text) => self.text.push_str(&text.xml10_content()),
                Event::CData(text) => self.text.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => push_reference(&reference, &mut self.text),
                Event::Eof if self.depth > 0 => {
                    let what = format!("the file ends within an element, {} are open; is it cut off?", self.depth);
                    return Err(self.malformed(offset, &what));
                }
                Event::Eof => return Ok(Token::Eof),
                // Elements are expanded: an empty one is a start and an end.
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            }
            return Ok(Token::Text);
        }
    }

    /// The local name of the element that began last.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// An attribute of the element that began last, by its local name.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Where the element that began last begins, in bytes of the text.
    pub(super) fn start_offset(&self) -> u64 {
        self.start_offset
    }

    /// How far the walk is, in bytes of the text.
    pub(super) fn offset(&self) -> u64 {
        self.reader.buffer_position()
    }

    /// The text of the element that has just begun, to its end; that of elements within it counts as its own.
    ///
    /// # Errors
    ///
    /// As [`Self::next`].
    pub(super) fn text(&mut self) -> Result<&str, InputError> {
        self.text.clear();
        self.read_to_end()?;
        Ok(self.text.trim())
    }

    /// Passes over what is left of the innermost element.
    ///
    /// # Errors
    ///
    /// As [`Self::next`].
    pub(super) fn skip(&mut self) -> Result<(), InputError> {
        self.read_to_end()?;
        self.text.clear();
        Ok(())
    }

    fn read_to_end(&mut self) -> Result<(), InputError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if self.next()? == Token::Eof {
                break;
            }
        }
        Ok(())
    }

    /// Forgets the text up to here.
    pub(super) fn clear_text(&mut self) {
        self.text.clear();
    }

    /// The text since [`Self::clear_text`].
    pub(super) fn text_so_far(&self) -> &str {
        self.text.trim()
    }

    /// The underlying text.
    pub(super) fn source(&self) -> &R {
        self.reader.get_ref()
    }

    /// An error that names the place.
    pub(super) fn malformed(&self, offset: u64, what: &str) -> InputError {
        let feature = if self.feature.is_empty() { String::new() } else { format!(" in feature {}", self.feature) };
        InputError::Malformed { path: self.path.clone(), what: format!("byte {offset}{feature}: {what}") }
    }
}

fn note_start(start: &BytesStart, name: &mut String, attributes: &mut Vec<(String, String)>) -> Result<(), String> {
    name.clear();
    name.push_str(start.local_name().as_ref());
    attributes.clear();
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key = attribute.key.local_name();
        // An entity that is not known is left as it is written.
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or(attribute.value.clone());
        attributes.push((key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(())
}

/// A character reference or one of XML's own entities; others are left as they are written.
fn push_reference(reference: &BytesRef, text: &mut String) {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        text.push(character);
        return;
    }
    let name = reference.xml10_content();
    match quick_xml::escape::resolve_predefined_entity(&name) {
        Some(character) => text.push_str(character),
        None => text.extend(["&", &name, ";"]),
    }
}
