//! The file as UTF-8, whatever encoding its XML declaration names.
//!
//! Owns the decoding. Receives bytes, yields text a block at a time; bytes that are not of the encoding are replaced and
//! counted, never a reason to stop. It does not look at the markup beyond the declaration.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

/// An XML declaration fits in this.
const HEAD_BYTES: u64 = 1024;

/// Read at once.
const BLOCK_BYTES: usize = 1 << 16;

/// Text from bytes.
pub(super) struct TextReader<R> {
    bytes: R,
    decoder: Decoder,
    /// Undecoded bytes: `input_at..`.
    input: Vec<u8>,
    input_at: usize,
    at_end: bool,
    /// Decoded text: `output_at..output_len`.
    output: Vec<u8>,
    output_at: usize,
    output_len: usize,
    /// Whether anything was replaced.
    pub(super) is_mended: bool,
}

impl<R: Read> TextReader<R> {
    /// Finds the encoding: a byte order mark, the declaration, `label` (as WHATWG labels it), UTF-8.
    ///
    /// # Errors
    ///
    /// The first bytes cannot be read.
    pub(super) fn new(mut bytes: R, label: Option<&str>) -> io::Result<Self> {
        let mut input = Vec::new();
        bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut input)?;
        let encoding = encoding_of(&input, label);
        Ok(Self {
            bytes,
            decoder: encoding.new_decoder_with_bom_removal(),
            input,
            input_at: 0,
            at_end: false,
            output: vec![0; BLOCK_BYTES],
            output_at: 0,
            output_len: 0,
            is_mended: false,
        })
    }

    /// Decodes until there is text or the end.
    fn fill(&mut self) -> io::Result<()> {
        self.output_at = 0;
        self.output_len = 0;
        while self.output_len == 0 {
            if self.input_at == self.input.len() {
                if self.at_end {
                    return Ok(());
                }
                self.input.resize(BLOCK_BYTES, 0);
                let n_bytes = read_some(&mut self.bytes, &mut self.input)?;
                self.input.truncate(n_bytes);
                self.input_at = 0;
                self.at_end = n_bytes == 0;
            }
            let input = &self.input[self.input_at..];
            let (result, n_read, n_written, is_mended) =
                self.decoder.decode_to_utf8(input, &mut self.output, self.at_end);
            self.input_at += n_read;
            self.output_len = n_written;
            self.is_mended |= is_mended;
            if self.at_end && result == CoderResult::InputEmpty {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn read_some(bytes: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match bytes.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let n_bytes = text.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&text[..n_bytes]);
        self.consume(n_bytes);
        Ok(n_bytes)
    }
}

impl<R: Read> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // Once the decoder has seen the end it must not be asked again.
        let is_done = self.at_end && self.input_at == self.input.len();
        if self.output_at == self.output_len && !is_done {
            self.fill()?;
        }
        Ok(&self.output[self.output_at..self.output_len])
    }

    fn consume(&mut self, n_bytes: usize) {
        self.output_at = (self.output_at + n_bytes).min(self.output_len);
    }
}

/// The encoding of a file that begins like this.
fn encoding_of(head: &[u8], label: Option<&str>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return encoding;
    }
    declared(head).or(label.and_then(|label| Encoding::for_label(label.as_bytes()))).unwrap_or(UTF_8)
}

/// What `encoding="..."` in the declaration names. A declaration that can be read as ASCII cannot be UTF-16: such a
/// label is a mistake (XML 1.0, section 4.3.3).
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"<\0?\0") {
        return Some(encoding_rs::UTF_16LE);
    }
    if head.starts_with(b"\0<\0?") {
        return Some(encoding_rs::UTF_16BE);
    }
    if !head.starts_with(b"<?xml") {
        return None;
    }
    let declaration = &head[..head.windows(2).position(|pair| pair == b"?>")?];
    let declaration = std::str::from_utf8(declaration).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let name = value[1..].split(quote).next()?;
    Encoding::for_label(name.as_bytes()).map(Encoding::output_encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], label: Option<&str>) -> (String, bool) {
        let mut reader = TextReader::new(bytes, label).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        (text, reader.is_mended)
    }

    #[test]
    fn encodings_are_found() {
        let check = |bytes: &[u8], label: Option<&str>, expected: &str| {
            let (text, is_mended) = read(bytes, label);
            assert!(text.ends_with(expected) && !is_mended, "{text:?}");
        };
        check("<a>東京</a>".as_bytes(), None, "<a>東京</a>");
        check("\u{feff}<a>東京</a>".as_bytes(), Some("shift_jis"), "<a>東京</a>");
        check(b"<?xml version='1.0' encoding='Shift_JIS'?>\x93\x8c\x8b\x9e", None, "東京");
        check(b"<?xml version=\"1.0\" encoding = \"EUC-JP\" ?>\xc5\xec\xb5\xfe", None, "東京");
        check(b"<?xml version='1.0' encoding='ISO-8859-1'?>Stra\xdfe", None, "Straße");
        check(b"<?xml version='1.0'?>\x93\x8c\x8b\x9e", Some("shift_jis"), "東京");
        check("<?xml version='1.0' encoding='UTF-16'?>東京".as_bytes(), None, "東京");
        let utf16: Vec<u8> = "<?xml?>東京".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check(&utf16, None, "東京");
        let utf16: Vec<u8> = "\u{feff}東京".encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(&utf16, None, "東京");
        check(b"", None, "");
    }

    #[test]
    fn what_cannot_be_decoded_is_replaced() {
        assert_eq!(read(b"a\xffb", None), ("a\u{fffd}b".into(), true));
        assert_eq!(read(b"a\xe6\x9d", None), ("a\u{fffd}".into(), true));
    }

    #[test]
    fn blocks_join_without_a_seam() {
        let text: String = "横須賀 ".repeat(60_000);
        assert_eq!(read(text.as_bytes(), None), (text, false));
    }
}
