//! The features of a JSON text, one at a time.
//!
//! Owns the finding of features in bytes that come in a row. Receives a reader, yields the text of each feature and the
//! members of the collection beside them. It holds one feature at a time and understands nothing of it.

use std::io::{self, Read};

use serde_json::Value;

/// A feature of more bytes is none: the largest real ones, countries, have some 10 MiB.
const FEATURE_BYTES_MAX: usize = 256 << 20;

/// What was found next.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// The text of an object that is a feature, and the byte at which it begins.
    Feature {
        begin: u64,
        bytes: Vec<u8>,
    },
    /// Another member of a collection.
    Member(String, Value),
    /// What is no JSON of features, and where.
    Bad {
        begin: u64,
        what: String,
    },
    End,
}

/// Where the reading is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// Between two top-level objects.
    Top,
    /// In an object of the top, before a member's name.
    Object,
    /// In the list of features.
    List,
}

/// Finds features.
pub(super) struct JsonFeatures<R> {
    reader: R,
    /// The name of the member that is the list of features.
    list: &'static str,
    buffer: Vec<u8>,
    next: usize,
    /// The byte of the file at which the buffer begins.
    begin: u64,
    at: At,
    /// Members of an object that is not yet known to be a collection; were it a feature, this is its text.
    object: Vec<u8>,
    object_begin: u64,
    is_collection: bool,
    members: Vec<(String, Value)>,
}

impl<R: Read> JsonFeatures<R> {
    /// Finds what lies in the list of a name, `features` in GeoJSON.
    pub(super) fn new(reader: R, list: &'static str) -> Self {
        Self {
            reader,
            list,
            buffer: Vec::new(),
            next: 0,
            begin: 0,
            at: At::Top,
            object: Vec::new(),
            object_begin: 0,
            is_collection: false,
            members: Vec::new(),
        }
    }

    /// Bytes that were read.
    pub(super) fn position(&self) -> u64 {
        self.begin + self.next as u64
    }

    /// The next feature or member.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        loop {
            if self.is_collection && !self.members.is_empty() {
                let (name, value) = self.members.remove(0);
                return Ok(Found::Member(name, value));
            }
            let found = match self.at {
                At::Top => self.at_top()?,
                At::Object => self.in_object()?,
                At::List => self.in_list()?,
            };
            if let Some(found) = found {
                if matches!(found, Found::Bad { .. }) {
                    // Nothing behind it can be trusted.
                    self.buffer.clear();
                    self.next = 0;
                    self.at = At::Top;
                }
                return Ok(found);
            }
        }
    }

    fn at_top(&mut self) -> io::Result<Option<Found>> {
        // Between objects of a sequence stand line feeds, record separators, or the mark of a byte order.
        while let Some(byte) = self.peek()? {
            match byte {
                b'{' => {
                    self.object_begin = self.position();
                    self.object.clear();
                    self.object.push(b'{');
                    self.next += 1;
                    self.is_collection = false;
                    self.members.clear();
                    self.at = At::Object;
                    return Ok(None);
                }
                0x1E | 0xEF | 0xBB | 0xBF | b' ' | b'\t' | b'\r' | b'\n' | b',' => self.next += 1,
                other => return Ok(Some(self.bad(other, "an object of GeoJSON"))),
            }
        }
        Ok(Some(Found::End))
    }

    fn in_object(&mut self) -> io::Result<Option<Found>> {
        match self.skip_blank()? {
            Some(b'}') => {
                self.next += 1;
                self.at = At::Top;
                if self.is_collection {
                    return Ok(None);
                }
                self.object.push(b'}');
                let bytes = std::mem::take(&mut self.object);
                Ok(Some(Found::Feature { begin: self.object_begin, bytes }))
            }
            Some(b',') => {
                self.next += 1;
                Ok(None)
            }
            Some(b'"') => self.member(),
            Some(other) => Ok(Some(self.bad(other, "the name of a member"))),
            None => Ok(Some(self.cut_off())),
        }
    }

    fn member(&mut self) -> io::Result<Option<Found>> {
        let mut name = Vec::new();
        if !self.value(&mut name)? {
            return Ok(Some(self.cut_off()));
        }
        match self.skip_blank()? {
            Some(b':') => self.next += 1,
            Some(other) => return Ok(Some(self.bad(other, "a colon"))),
            None => return Ok(Some(self.cut_off())),
        }
        let first = self.skip_blank()?;
        let plain_name: String = serde_json::from_slice(&name).unwrap_or_default();
        if plain_name == self.list && first == Some(b'[') {
            self.next += 1;
            self.at = At::List;
            self.is_collection = true;
            self.object.clear();
            return Ok(None);
        }
        let mut value = Vec::new();
        if !self.value(&mut value)? {
            return Ok(Some(self.cut_off()));
        }
        // What is short may be a member of a collection, such as its CRS; what is long is geometry.
        if value.len() < 1 << 16
            && let Ok(parsed) = serde_json::from_slice(&value)
        {
            self.members.push((plain_name, parsed));
        }
        if !self.is_collection {
            if self.object.len() > 1 {
                self.object.push(b',');
            }
            self.object.append(&mut name);
            self.object.push(b':');
            self.object.append(&mut value);
        }
        Ok(None)
    }

    fn in_list(&mut self) -> io::Result<Option<Found>> {
        match self.skip_blank()? {
            Some(b']') => {
                self.next += 1;
                self.at = At::Object;
                Ok(None)
            }
            Some(b',') => {
                self.next += 1;
                Ok(None)
            }
            Some(_) => {
                let begin = self.position();
                let mut bytes = Vec::new();
                if self.value(&mut bytes)? {
                    Ok(Some(Found::Feature { begin, bytes }))
                } else {
                    Ok(Some(self.cut_off()))
                }
            }
            None => Ok(Some(self.cut_off())),
        }
    }

    /// Appends the text of the value that begins here; false where the text ends within it, or it is too long.
    fn value(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        let (mut depth, mut is_string, mut is_escaped) = (0usize, false, false);
        while let Some(byte) = self.peek()? {
            if !is_string && depth == 0 && !text.is_empty() && matches!(byte, b',' | b'}' | b']' | b':') {
                return Ok(true);
            }
            self.next += 1;
            text.push(byte);
            if text.len() > FEATURE_BYTES_MAX {
                return Ok(false);
            }
            if is_string {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_string = !is_end;
                if is_end && depth == 0 {
                    return Ok(true);
                }
                continue;
            }
            match byte {
                b'"' => is_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(true);
                    }
                }
                _ => (),
            }
        }
        Ok(false)
    }

    fn skip_blank(&mut self) -> io::Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.next += 1;
        }
        Ok(None)
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.next == self.buffer.len() {
            self.begin += self.next as u64;
            self.next = 0;
            self.buffer.resize(1 << 16, 0);
            let n_bytes = loop {
                match self.reader.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                    read => break read?,
                }
            };
            self.buffer.truncate(n_bytes);
        }
        Ok(self.buffer.get(self.next).copied())
    }

    fn bad(&self, byte: u8, expected: &str) -> Found {
        let found = char::from(byte);
        Found::Bad { begin: self.position(), what: format!("found {found:?}, expected {expected}") }
    }

    fn cut_off(&self) -> Found {
        let what = format!("the text ends in the middle of a value, or one has more than {FEATURE_BYTES_MAX} bytes");
        Found::Bad { begin: self.position(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Found> {
        let mut features = JsonFeatures::new(text.as_bytes(), "features");
        let mut all = Vec::new();
        loop {
            match features.next().unwrap() {
                Found::End => return all,
                bad @ Found::Bad { .. } => {
                    all.push(bad);
                    return all;
                }
                found => all.push(found),
            }
        }
    }

    fn texts(text: &str) -> Vec<String> {
        let text_of = |found| match found {
            Found::Feature { begin, bytes } => format!("{begin} {}", String::from_utf8(bytes).unwrap()),
            Found::Member(name, value) => format!("{name}={value}"),
            Found::Bad { begin, what } => format!("{begin} bad: {what}"),
            Found::End => String::new(),
        };
        all(text).into_iter().map(text_of).collect()
    }

    #[test]
    fn a_collection_yields_its_members_and_features() {
        let text = r#"{"type":"FeatureCollection", "crs": {"a":[1]}, "features": [ {"b":"]}\""} , {"c":{}}], "end":1}"#;
        assert_eq!(
            texts(text),
            [r#"type="FeatureCollection""#, r#"crs={"a":[1]}"#, r#"61 {"b":"]}\""}"#, r#"76 {"c":{}}"#, "end=1"]
        );
    }

    #[test]
    fn a_sequence_yields_its_objects_however_they_are_parted() {
        for text in ["{\"a\":1}\n{\"b\":2}\n", "\u{1e}{\"a\":1}\n\u{1e}{\"b\":2}\n", "\u{feff}{\"a\": 1} {\"b\":2}"] {
            let found = texts(text);
            assert_eq!(found.len(), 2, "{text}");
            assert!(found[0].ends_with("{\"a\":1}") || found[0].ends_with("{\"a\": 1}"), "{found:?}");
        }
        assert!(texts("").is_empty() && texts(" \n").is_empty());
    }

    #[test]
    fn what_is_cut_off_says_where() {
        for text in ["{", "{\"a\"", "{\"a\":", "{\"a\":[1", "{\"features\":[", "{\"features\":[{\"a\":\"", "[]", "x"] {
            assert!(matches!(all(text).last(), Some(Found::Bad { .. })), "{text}: {:?}", all(text));
        }
    }
}
