//! dBASE tables: the attributes of a shapefile.
//!
//! Owns the reading of rows, and of text in the encodings that such tables come in. Receives the number of a row, yields
//! its attributes. Memo files are not read; a field that cannot be read is left out, and text is never refused.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use encoding_rs::{Encoding, SHIFT_JIS, UTF_8};
use serde_json::Value;

use super::attributes::Attributes;
use super::{InputError, Problem};

/// A table whose rows are read in turn.
#[derive(Debug)]
pub(super) struct Table {
    reader: BufReader<File>,
    n_rows: u64,
    header_bytes: u64,
    row_bytes: usize,
    fields: Vec<Field>,
    encoding: &'static Encoding,
    /// The row behind the reader's place.
    next_row: u64,
    row: Vec<u8>,
}

#[derive(Debug)]
struct Field {
    name: String,
    kind: u8,
    begin: usize,
    end: usize,
}

impl Table {
    /// Opens a `.dbf`, with the `.cpg` beside it and the encoding of `--encoding`.
    pub(super) fn open(path: &Path, cpg: Option<&Path>, encoding: Option<&str>) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let malformed = |what: String| InputError::Malformed { path: path.to_owned(), what };
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(io)?);
        let mut head = [0; 32];
        reader.read_exact(&mut head).map_err(|_| malformed("no table: expected a header of 32 bytes".to_owned()))?;
        let [_, _, _, _, n0, n1, n2, n3, h0, h1, r0, r1, ..] = head;
        let n_rows = u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
        let header_bytes = u16::from_le_bytes([h0, h1]);
        let row_bytes = usize::from(u16::from_le_bytes([r0, r1]));
        let encoding = choose_encoding(encoding, cpg, head[29]).map_err(malformed)?;
        let mut descriptors = vec![0; usize::from(header_bytes.saturating_sub(32))];
        reader.read_exact(&mut descriptors).map_err(|_| {
            malformed(format!("the header ends before the {header_bytes} bytes that it claims: the table is cut off"))
        })?;
        let fields = fields(&descriptors, encoding, row_bytes);
        Ok(Self {
            reader,
            n_rows,
            header_bytes: u64::from(header_bytes),
            row_bytes,
            fields,
            encoding,
            next_row: 0,
            row: vec![0; row_bytes],
        })
    }

    /// The attributes of a row, empty where there is no such row; `None` where it was deleted, and its shape with it.
    pub(super) fn row(&mut self, nth: u64, note: &mut dyn FnMut(Problem)) -> Option<Attributes> {
        if !self.load(nth) {
            note(Problem::BadRecord);
            return Some(Attributes::new());
        }
        if self.row.first() == Some(&b'*') {
            return None;
        }
        let mut attributes = Attributes::with_capacity(self.fields.len());
        for field in &self.fields {
            let Some(bytes) = self.row.get(field.begin..field.end) else { continue };
            match value(bytes, field.kind, self.encoding) {
                Ok(value) => attributes.push((field.name.clone(), value)),
                Err((problem, value)) => {
                    note(problem);
                    attributes.push((field.name.clone(), value));
                }
            }
        }
        Some(attributes)
    }

    fn load(&mut self, nth: u64) -> bool {
        if nth >= self.n_rows || self.row_bytes == 0 {
            return false;
        }
        if nth != self.next_row {
            let at = self.header_bytes + nth * self.row_bytes as u64;
            if self.reader.seek(SeekFrom::Start(at)).is_err() {
                return false;
            }
        }
        self.next_row = nth + 1;
        self.reader.read_exact(&mut self.row).is_ok()
    }
}

/// The encoding of the command line, of the `.cpg`, or of the table's own mark; Japan's tables have none of them.
fn choose_encoding(given: Option<&str>, cpg: Option<&Path>, mark: u8) -> Result<&'static Encoding, String> {
    if let Some(label) = given {
        return of_label(label)
            .ok_or_else(|| format!("\"{label}\" is no known encoding: expected one such as Shift_JIS (--encoding)"));
    }
    let mut text = Vec::new();
    if let Some(cpg) = cpg
        && let Ok(file) = File::open(cpg)
    {
        // A `.cpg` holds a word or two; one that cannot be read says nothing.
        let _ = file.take(64).read_to_end(&mut text);
    }
    let label = String::from_utf8_lossy(&text);
    Ok(of_label(&label).or_else(|| of_mark(mark)).unwrap_or(SHIFT_JIS))
}

/// An encoding by its label, or as code pages are numbered: `UTF-8`, `932`, `CP1252`, `ANSI 1252`, `88591`.
fn of_label(label: &str) -> Option<&'static Encoding> {
    let label = label.trim().trim_start_matches('\u{feff}');
    if let Some(encoding) = Encoding::for_label(label.as_bytes()) {
        return Some(encoding);
    }
    let digits: String = label.chars().filter(char::is_ascii_digit).collect();
    let whatwg = match digits.as_str() {
        "65001" | "8" => "utf-8",
        "932" => "shift_jis",
        "936" => "gbk",
        "949" => "euc-kr",
        "950" => "big5",
        "866" => "ibm866",
        "874" => "windows-874",
        "88591" => "iso-8859-1",
        "88592" => "iso-8859-2",
        "885915" => "iso-8859-15",
        // The code pages of DOS differ from those of Windows in letters with accents only.
        "437" | "850" => "windows-1252",
        "852" => "windows-1250",
        page if page.starts_with("125") && page.len() == 4 => {
            return Encoding::for_label(format!("windows-{page}").as_bytes());
        }
        _ => return None,
    };
    Encoding::for_label(whatwg.as_bytes())
}

/// The encoding of a language driver's number.
fn of_mark(mark: u8) -> Option<&'static Encoding> {
    let label = match mark {
        0x13 | 0x7B => "shift_jis",
        0x4D | 0x7A => "gbk",
        0x4E | 0x79 => "euc-kr",
        0x4F | 0x78 => "big5",
        0x01..=0x03 | 0x57..=0x59 => "windows-1252",
        0x64 | 0xC8 => "windows-1250",
        0x65 => "ibm866",
        0xC9 => "windows-1251",
        0xCB => "windows-1253",
        0xCA => "windows-1254",
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The fields that lie within a row.
fn fields(descriptors: &[u8], encoding: &'static Encoding, row_bytes: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    // The first byte of a row says whether it is deleted.
    let mut begin = 1;
    for descriptor in descriptors.chunks_exact(32).take_while(|descriptor| descriptor.first() != Some(&0x0D)) {
        let Some((name, rest)) = descriptor.split_at_checked(11) else { break };
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let (kind, length) = (rest.first().copied().unwrap_or(b'C'), rest.get(5).copied().unwrap_or(0));
        let end = begin + usize::from(length);
        if end > row_bytes {
            break;
        }
        let (name, _) = encoding.decode_without_bom_handling(name);
        fields.push(Field { name: name.trim().to_owned(), kind, begin, end });
        begin = end;
    }
    fields
}

/// A field's value, or what is wrong with it and what it is taken for.
fn value(bytes: &[u8], kind: u8, encoding: &'static Encoding) -> Result<Value, (Problem, Value)> {
    let text = |encoding: &'static Encoding| {
        let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii();
        // A table of another encoding than it claims is often UTF-8, which hardly anything else looks like.
        let (text, has_bad) = encoding.decode_without_bom_handling(bytes);
        match (has_bad, std::str::from_utf8(bytes)) {
            (true, Ok(plain)) => (plain.to_owned(), false),
            (has_bad, _) => (text.into_owned(), has_bad),
        }
    };
    match kind {
        b'N' | b'F' => {
            let (text, _) = text(UTF_8);
            // Stars fill a field whose number was too long for it.
            if text.is_empty() || text.bytes().all(|byte| byte == b'*') {
                return Ok(Value::Null);
            }
            let number: Option<serde_json::Number> = text
                .parse::<i64>()
                .map(Into::into)
                .ok()
                .or_else(|| text.replace(',', ".").parse().ok().and_then(serde_json::Number::from_f64));
            number.map(Value::Number).ok_or((Problem::BadAttribute, Value::Null))
        }
        b'L' => Ok(match bytes.first() {
            Some(b'T' | b't' | b'Y' | b'y') => Value::Bool(true),
            Some(b'F' | b'f' | b'N' | b'n') => Value::Bool(false),
            _ => Value::Null,
        }),
        b'C' | b'D' => {
            let (text, has_bad) = text(encoding);
            let value = if text.is_empty() { Value::Null } else { Value::String(text) };
            if has_bad { Err((Problem::BadText, value)) } else { Ok(value) }
        }
        // Memos, dates in numbers, binary: nothing that a city is made of.
        _ => Ok(Value::Null),
    }
}
