//! Parts of files of web servers: Range requests.
//!
//! | answer | is |
//! | --- | --- |
//! | 206 with the Content-Range that was asked for | the part, shorter where the file ends before |
//! | 206 of another range, or of none | permanent |
//! | 200 | permanent, and its body, which may be the whole file of 100 GB, is not read |
//! | 204, 404, 410 | none |
//! | 412, 416, another ETag or size than expected | another version of the file |
//! | everything else | as for whole files |

use std::ops::Range;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_MATCH, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;
use url::Url;

use super::{HttpClient, Request, Wanted};
use crate::limits::REDIRECTS_MAX;
use crate::stream::LoadError;

/// Which version of a file an answer was of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::source) struct FileVersion {
    /// ETag, or else Last-Modified; of a file of this machine the time of its last change. `None` where unknown.
    pub(in crate::source) tag: Option<String>,
    /// `None` where unknown.
    pub(in crate::source) size_bytes: Option<u64>,
}

impl FileVersion {
    /// Whether two answers may be of the same version: what either does not say cannot tell them apart.
    pub(in crate::source) fn agrees(&self, other: &Self) -> bool {
        let same_tag = self.tag.is_none() || other.tag.is_none() || self.tag == other.tag;
        let same_size = self.size_bytes.is_none() || other.size_bytes.is_none() || self.size_bytes == other.size_bytes;
        same_tag && same_size
    }
}

/// What a Range request comes to.
#[derive(Debug)]
pub(in crate::source) enum Ranged {
    /// The bytes, fewer than asked for where the file ends before.
    Part(Vec<u8>, FileVersion),
    /// The file is not the one that was expected.
    Changed,
    /// There is no file.
    Absent,
}

impl HttpClient {
    /// Gets a part of a file, of the version `of` where that is given. The range is not empty.
    pub(in crate::source) async fn get_range(
        &self,
        url: &Url,
        range: Range<u64>,
        of: Option<&FileVersion>,
        expected: &str,
    ) -> Result<Ranged, LoadError> {
        let wanted = Wanted { bytes_max: (range.end - range.start) as usize, expected, may_be_absent: true };
        let mut request =
            Request { asked: url, at: url.clone(), wanted: &wanted, config: &self.config, started: Instant::now() };
        if self.config.is_offline {
            return Err(request.permanent("an archive on a server, and --offline asks no server"));
        }
        let last = range.end - 1;
        let response = self.ask_range(&mut request, range.start, last, of).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Ranged::Absent),
            StatusCode::FORBIDDEN if self.config.http.is_forbidden_missing => return Ok(Ranged::Absent),
            StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE if of.is_some() => {
                return Ok(Ranged::Changed);
            }
            StatusCode::OK => {
                return Err(request.permanent(
                    "status 200 with the whole file, expected status 206: the server does not support Range requests",
                ));
            }
            _ => return Err(request.refused(&response)),
        }
        let (first, found_last, size_bytes) = content_range(response.headers())
            .ok_or_else(|| request.permanent("status 206 without a Content-Range of one part"))?;
        let version = FileVersion { tag: tag(response.headers()), size_bytes };
        if of.is_some_and(|of| !of.agrees(&version)) {
            return Ok(Ranged::Changed);
        }
        let is_whole =
            found_last == last || (found_last < last && size_bytes.is_some_and(|size| size == found_last + 1));
        if first != range.start || !is_whole {
            return Err(request.permanent(&format!(
                "status 206 with bytes {first}-{found_last}, expected bytes {}-{last}",
                range.start
            )));
        }
        let bytes = request.body_as_sent(response).await?;
        if bytes.len() as u64 != found_last + 1 - first {
            let found = format!("{} bytes, although the head says {}", bytes.len(), found_last + 1 - first);
            return Err(request.transient(&found, None));
        }
        Ok(Ranged::Part(bytes, version))
    }

    /// Sends the question, also where redirects lead, and waits for the head of the answer.
    async fn ask_range(
        &self,
        request: &mut Request<'_>,
        first: u64,
        last: u64,
        of: Option<&FileVersion>,
    ) -> Result<Response, LoadError> {
        for _ in 0..=REDIRECTS_MAX {
            let mut question = HeaderMap::new();
            let header =
                |text: &str| HeaderValue::from_str(text).map_err(|error| request.permanent(&error.to_string()));
            question.insert(RANGE, header(&format!("bytes={first}-{last}"))?);
            // A part of a gzip stream is of no use.
            question.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            // A weak tag never matches, by the rules of HTTP: it is only compared.
            if let Some(tag) = of.and_then(|of| of.tag.as_deref()).filter(|tag| tag.starts_with('"')) {
                question.insert(IF_MATCH, header(tag)?);
            }
            let headers = self.own.headers_for(&request.at, &self.config.http);
            let response = self.send(request, &headers, question).await?;
            match request.redirected(&response) {
                Some(to) => request.at = to?,
                None => return Ok(response),
            }
        }
        Err(request.permanent(&format!("too many redirects, more than {REDIRECTS_MAX}")))
    }
}

/// The ETag, or else the time of the last change.
fn tag(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(ETAG).or_else(|| headers.get(LAST_MODIFIED))?;
    Some(value.to_str().ok()?.to_owned())
}

/// First and last byte, and the size of the file where the server says it.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64, Option<u64>)> {
    parse_content_range(headers.get(CONTENT_RANGE)?.to_str().ok()?)
}

fn parse_content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (unit, rest) = text.trim().split_once(' ')?;
    let (range, size) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    let size = match size {
        "*" => None,
        size => Some(size.parse().ok()?),
    };
    let is_sound = unit.eq_ignore_ascii_case("bytes") && first <= last && size.is_none_or(|size| last < size);
    // The last byte of all numbers would overflow the lengths that are computed of it.
    (is_sound && last < u64::MAX).then_some((first, last, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_or_refused() {
        let check = |text: &str, expected| assert_eq!(parse_content_range(text), expected, "{text}");
        check("bytes 0-99/1000", Some((0, 99, Some(1_000))));
        check("Bytes 5-5/*", Some((5, 5, None)));
        for text in ["", "bytes", "bytes */1000", "bytes 9-3/1000", "bytes 0-99/50", "bytes 0-/9", "lines 0-9/10"] {
            check(text, None);
        }
        check("bytes 0-18446744073709551615/*", None);
        check("bytes -1-9/10", None);
    }

    #[test]
    fn versions_differ_by_what_both_say() {
        let version = |tag: Option<&str>, size_bytes| FileVersion { tag: tag.map(str::to_owned), size_bytes };
        let known = version(Some("\"a\""), Some(10));
        assert!(known.agrees(&version(Some("\"a\""), None)) && known.agrees(&version(None, Some(10))));
        assert!(!known.agrees(&version(Some("\"b\""), Some(10))) && !known.agrees(&version(None, Some(11))));
        assert!(FileVersion::default().agrees(&known));
    }
}
