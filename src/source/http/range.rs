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
//!
//! A part is kept like a file of its own. Kept parts of one file may be of different versions, so that a kept part which
//! does not agree with the version that is expected is no answer.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use http::header::{ACCEPT_ENCODING, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_MATCH, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode};
use url::Url;

use super::{HttpClient, Keep, Request, Wanted};
use crate::limits::REDIRECTS_MAX;
use crate::source::cache::{EntryName, Head, Stored, Verdict, renewed};
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
    /// The version that an answer is of.
    fn of(headers: &HeaderMap) -> Self {
        Self { tag: tag(headers), size_bytes: content_range(headers).and_then(|(_, _, size_bytes)| size_bytes) }
    }

    /// Whether two answers may be of the same version: what either does not say cannot tell them apart.
    pub(in crate::source) fn agrees(&self, other: &Self) -> bool {
        let same_tag = self.tag.is_none() || other.tag.is_none() || self.tag == other.tag;
        let same_size = self.size_bytes.is_none() || other.size_bytes.is_none() || self.size_bytes == other.size_bytes;
        same_tag && same_size
    }
}

/// What is asked of a file beside its range.
#[derive(Debug, Clone, Copy)]
pub(in crate::source) struct PartWanted<'a> {
    /// The version that it must be of, where one is expected.
    pub(in crate::source) of: Option<&'a FileVersion>,
    /// The end of messages: what should have been there.
    pub(in crate::source) expected: &'a str,
    /// Whether what is kept was found to be no good.
    pub(in crate::source) is_kept_bad: bool,
}

/// What a Range request comes to.
#[derive(Debug)]
pub(in crate::source) enum Ranged {
    /// The bytes, fewer than asked for where the file ends before; and the right to keep them, where they may be.
    Part(Vec<u8>, FileVersion, Option<Keep>),
    /// The file is not the one that was expected.
    Changed,
    /// There is no file.
    Absent,
}

/// What one question came to.
enum RangeStep {
    Done(Ranged),
    Moved(Url),
}

impl HttpClient {
    /// Gets a part of a file. The range is not empty.
    pub(in crate::source) async fn get_range(
        &self,
        url: &Url,
        range: Range<u64>,
        part: PartWanted<'_>,
    ) -> Result<Ranged, LoadError> {
        let bytes_max = (range.end - range.start) as usize;
        let wanted = Wanted { bytes_max, expected: part.expected, may_be_absent: false };
        let mut request = Request::new(url, &wanted, &self.config);
        for _ in 0..=REDIRECTS_MAX {
            match self.range_step(&request, &range, part).await? {
                RangeStep::Done(ranged) => {
                    if matches!(ranged, Ranged::Changed) {
                        self.changed_secs.store(secs(SystemTime::now()), Ordering::Relaxed);
                    }
                    return Ok(ranged);
                }
                RangeStep::Moved(to) => request.at = to,
            }
        }
        Err(request.too_many_redirects())
    }

    /// Asks the cache, and then the server where it must be asked.
    async fn range_step(
        &self,
        request: &Request<'_>,
        range: &Range<u64>,
        part: PartWanted<'_>,
    ) -> Result<RangeStep, LoadError> {
        let mut headers = self.own.headers_for(&request.at, &self.config.http);
        let header = |text: &str| HeaderValue::from_str(text).map_err(|error| request.permanent(&error.to_string()));
        headers.insert(RANGE, header(&format!("bytes={}-{}", range.start, range.end - 1))?);
        let name = EntryName::of(&request.at, &headers);
        // A part of a gzip stream is of no use.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut stored = self.find_part(&name, request, part).await;
        let mut conditions = HeaderMap::new();
        if let Some(found) = stored.take() {
            match self.judge_part(&found) {
                Verdict::Fresh => {
                    if let Some(ranged) = self.reuse_part(&name, found, None).await {
                        return Ok(RangeStep::Done(ranged));
                    }
                }
                Verdict::Ask(question) => {
                    conditions = question;
                    stored = Some(found);
                }
            }
        }
        if self.config.is_offline {
            return Err(request.not_in_cache());
        }
        // A weak tag never matches, by the rules of HTTP: it is only compared.
        if let Some(tag) = part.of.and_then(|of| of.tag.as_deref()).filter(|tag| tag.starts_with('"')) {
            headers.insert(IF_MATCH, header(tag)?);
        }
        let mut response = self.send(request, &headers, conditions).await?;
        if let (StatusCode::NOT_MODIFIED, Some(stored)) = (response.status(), stored) {
            if let Some(head) = renewed(&stored.head, &request.at, response.headers(), SystemTime::now())
                && let Some(ranged) = self.reuse_part(&name, stored, Some(head)).await
            {
                return Ok(RangeStep::Done(ranged));
            }
            response = self.send(request, &headers, HeaderMap::new()).await?;
        }
        self.read_part(request, range, part, name, response).await
    }

    /// What is kept, unless it is of another version than the one that is expected.
    async fn find_part(&self, name: &EntryName, request: &Request<'_>, part: PartWanted<'_>) -> Option<Stored> {
        if part.is_kept_bad {
            return None;
        }
        let stored = self.find(name, request.wanted).await?;
        let is_part = stored.head.status == StatusCode::PARTIAL_CONTENT.as_u16();
        let version = FileVersion::of(&stored.head.headers());
        (is_part && part.of.is_none_or(|of| of.agrees(&version))).then_some(stored)
    }

    fn judge_part(&self, stored: &Stored) -> Verdict {
        match self.judge(stored) {
            Verdict::Fresh
                if !self.config.is_offline
                    && secs(stored.head.received()) <= self.changed_secs.load(Ordering::Relaxed) =>
            {
                Verdict::Ask(HeaderMap::new())
            }
            verdict => verdict,
        }
    }

    async fn reuse_part(&self, name: &EntryName, stored: Stored, renewed: Option<Head>) -> Option<Ranged> {
        let version = FileVersion::of(&stored.head.headers());
        let bytes = self.body_of(name, stored, renewed).await?;
        Some(Ranged::Part(bytes, version, None))
    }

    async fn read_part(
        &self,
        request: &Request<'_>,
        range: &Range<u64>,
        part: PartWanted<'_>,
        name: EntryName,
        response: Response,
    ) -> Result<RangeStep, LoadError> {
        let (of, last) = (part.of, range.end - 1);
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Ok(RangeStep::Done(Ranged::Absent));
            }
            StatusCode::FORBIDDEN if self.config.http.is_forbidden_missing => {
                return Ok(RangeStep::Done(Ranged::Absent));
            }
            StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE if of.is_some() => {
                return Ok(RangeStep::Done(Ranged::Changed));
            }
            StatusCode::OK => {
                return Err(request.permanent(
                    "status 200 with the whole file, expected status 206: the server does not support Range requests",
                ));
            }
            _ => match request.redirected(&response) {
                Some(to) => return to.map(RangeStep::Moved),
                None => return Err(request.refused(&response)),
            },
        }
        let (first, found_last, size_bytes) = content_range(response.headers())
            .ok_or_else(|| request.permanent("status 206 without a Content-Range of one part"))?;
        let version = FileVersion::of(response.headers());
        if of.is_some_and(|of| !of.agrees(&version)) {
            return Ok(RangeStep::Done(Ranged::Changed));
        }
        let is_whole =
            found_last == last || (found_last < last && size_bytes.is_some_and(|size| size == found_last + 1));
        if first != range.start || !is_whole {
            return Err(request.permanent(&format!(
                "status 206 with bytes {first}-{found_last}, expected bytes {}-{last}",
                range.start
            )));
        }
        let status = response.status().as_u16();
        let head = Head::new(&request.at, &self.user_agent, status, response.headers(), SystemTime::now());
        let bytes = request.body_as_sent(response).await?;
        if bytes.len() as u64 != found_last + 1 - first {
            let found = format!("{} bytes, although the head says {}", bytes.len(), found_last + 1 - first);
            return Err(request.transient(&found, None));
        }
        Ok(RangeStep::Done(Ranged::Part(bytes, version, self.keep(name, head))))
    }
}

fn secs(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_secs())
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
