//! What a body is: inflated where a server forgot to say that it is gzip, and in words where it is no atlas.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;

/// What every gzip file begins with.
const GZIP: &[u8] = &[0x1F, 0x8B];

/// Inflates a body that is gzip; object stores hand out files as they were put in, often without saying so. One that
/// cannot be inflated stays as it is. `None` where more than `bytes_max` come out.
pub(super) fn inflate(bytes: Vec<u8>, bytes_max: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(GZIP) {
        return Some(bytes);
    }
    let mut inflated = Vec::new();
    match MultiGzDecoder::new(bytes.as_slice()).take(bytes_max as u64 + 1).read_to_end(&mut inflated) {
        Ok(n_bytes) if n_bytes > bytes_max => None,
        Ok(_) => Some(inflated),
        Err(_) => Some(bytes),
    }
}

/// Says what a file is that begins like neither a PNG nor a WebP; `None` where it may be an atlas.
///
/// Captive portals and single-page apps answer every URL with status 200 and a page: the reader of the message should
/// see that at once, and not an inflate error.
pub(super) fn describe_stranger(bytes: &[u8], content_type: Option<&str>) -> Option<String> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") || is_webp {
        return None;
    }
    let text = bytes[..bytes.len().min(256)].trim_ascii_start().to_ascii_lowercase();
    let kind = if text.starts_with(b"<!doctype html") || text.starts_with(b"<html") {
        "an HTML page"
    } else if text.starts_with(b"<") {
        "an XML or HTML document"
    } else if text.starts_with(b"{") || text.starts_with(b"[") {
        "a JSON document"
    } else if bytes.starts_with(GZIP) {
        "a gzip file"
    } else if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) {
        "a JPEG picture"
    } else if bytes.starts_with(b"GIF8") {
        "a GIF picture"
    } else if bytes.starts_with(b"version https://git-lfs") {
        "a Git LFS pointer"
    } else if content_type.is_some_and(|content_type| content_type.starts_with("text/html")) {
        "an HTML page"
    } else {
        return Some(format!("{} bytes that begin with {}", bytes.len(), hex(&bytes[..bytes.len().min(8)])));
    };
    Some(kind.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn gzip_is_inflated_within_the_limit() {
        let zipped = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let zeros = vec![0; 1_000];
        assert_eq!(inflate(zipped(&zeros), 1_000), Some(zeros.clone()));
        assert_eq!(inflate(zipped(&zeros), 999), None);
        assert_eq!(inflate(zeros.clone(), 10), Some(zeros));
        let cut = zipped(b"an atlas")[..12].to_vec();
        assert_eq!(inflate(cut.clone(), 1_000), Some(cut));
    }

    #[test]
    fn strangers_are_recognised() {
        let check = |bytes: &[u8], content_type, expected: Option<&str>| {
            assert_eq!(describe_stranger(bytes, content_type).as_deref(), expected);
        };
        check(b"\x89PNG\r\n\x1a\nrest", Some("text/html"), None);
        check(b"RIFF\x01\x02\x03\x04WEBPVP8L", None, None);
        check(b"RIFF\x01\x02\x03\x04WAVE", None, Some("12 bytes that begin with 52 49 46 46 01 02 03 04"));
        check(b"\n  <!DOCTYPE html><title>Sign in", None, Some("an HTML page"));
        check(b"<Error><Code>AccessDenied", None, Some("an XML or HTML document"));
        check(b"Welcome", Some("text/html; charset=utf-8"), Some("an HTML page"));
        check(b"{\"error\":1}", None, Some("a JSON document"));
        check(&[0x1F, 0x8B, 8], None, Some("a gzip file"));
        check(&[0xFF, 0xD8, 0xFF, 0xE0], None, Some("a JPEG picture"));
        check(&[0x89], None, Some("1 bytes that begin with 89"));
    }
}
