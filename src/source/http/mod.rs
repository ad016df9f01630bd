//! Files of web servers.
//!
//! Every answer is one of three things: a file, the certainty that there is none, or an error that says whether
//! another try may help.
//!
//! | answer | is |
//! | --- | --- |
//! | 200 | the file, inflated where it is gzip; empty: none |
//! | 204, 404, 410; 403 where the source's options say so | none |
//! | 301, 302, 303, 307, 308 | followed, a few times |
//! | 304 to a question about a kept file | that file |
//! | 408, 425, 429, 5xx, resets, time-outs, bodies cut short | transient, with Retry-After where it was given |
//! | everything else | permanent |
//! | a body above the limit, dropped unread | a bad atlas |
//!
//! Where there is a cache, answers are kept in it once the caller has found them good: see [`Keep`].

mod client;
mod pace;
mod range;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use http::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::body::inflate;
use super::cache::{DiskCache, EntryName, Head, Stored, Verdict, is_absence_believed, judge, may_keep, renewed};
use super::config::SourceConfig;
use super::error::SourceError;
use crate::atlas::Tileset;
use crate::limits::{REDIRECTS_MAX, RETRY_AFTER_MILLIS_MAX};
use crate::stream::LoadError;

use client::OwnServer;
use pace::Pace;

pub(super) use range::{FileVersion, PartWanted, Ranged};

/// A client, its patience and its cache.
#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    client: Client,
    own: OwnServer,
    user_agent: String,
    config: SourceConfig,
    /// When a file was last found to have changed between two parts, in seconds since 1970: parts that were kept until
    /// then are asked about, since others of their version are gone.
    changed_secs: Arc<AtomicU64>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The largest file, in bytes.
    pub(super) bytes_max: usize,
    /// The end of messages: what should have been there.
    pub(super) expected: &'a str,
    /// Whether there need not be one: then an empty body says that there is none, and absence is kept too.
    pub(super) may_be_absent: bool,
}

/// The content of an answer.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
    /// Present where it came from the server and may be kept.
    pub(super) keep: Option<Keep>,
}

/// The right to keep an answer, for whoever knows that its body is good.
#[derive(Debug)]
pub(super) struct Keep {
    cache: DiskCache,
    /// Boxed, since it rides along with every body.
    answer: Box<(EntryName, Head)>,
}

/// What one question came to.
enum Step {
    File(Body),
    Absent,
    Moved(Url),
}

impl HttpClient {
    /// A client for the server of `url`, which the user has named and which hears the user's headers.
    pub(super) fn new(url: &Url, config: &SourceConfig) -> Result<Self, SourceError> {
        Self::with_own(url, Some(url), config)
    }

    /// A client that asks the server of `url` first; only the server of `own` hears the user's headers.
    pub(super) fn with_own(url: &Url, own: Option<&Url>, config: &SourceConfig) -> Result<Self, SourceError> {
        let client = client::build(url, &config.http)?;
        let user_agent = config.http.user_agent();
        let changed_secs = Arc::new(AtomicU64::new(0));
        Ok(Self { client, own: OwnServer::of(own), user_agent, config: config.clone(), changed_secs })
    }

    /// Says once where the user's headers do not go, or are not safe.
    pub(super) fn warn_of_headers(&self, url: &Url) {
        if self.config.http.headers().is_empty() {
            return;
        }
        let host = url.host_str().unwrap_or_default();
        if !self.own.is_at(url) {
            tracing::warn!(
                "the tiles lie on {host}, which is not the server that the source names: it is not sent the headers and \
                 the token (give the tiles' own template as the source to send them there)"
            );
        } else if url.scheme() == "http" && !client::is_loopback(url) {
            tracing::warn!("the headers and the token go to {host} unencrypted: https:// would hide them");
        }
    }

    /// Gets a file; `None` where there is none.
    pub(super) async fn get(&self, url: &Url, wanted: &Wanted<'_>) -> Result<Option<Body>, LoadError> {
        let mut request = Request::new(url, wanted, &self.config);
        for _ in 0..=REDIRECTS_MAX {
            match self.step(&request).await? {
                Step::File(body) => return Ok(Some(body)),
                Step::Absent => return Ok(None),
                Step::Moved(to) => request.at = to,
            }
        }
        Err(request.too_many_redirects())
    }

    /// Forgets what is kept of a file that was found to be no good.
    pub(super) fn reject(&self, url: &Url) {
        let Some(cache) = &self.config.cache else { return };
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let name = EntryName::of(&url, &self.own.headers_for(&url, &self.config.http));
            let stored = cache.find_blocking(&name);
            cache.remove(&name);
            match stored.and_then(|stored| place_to_go(&stored.head.headers(), &url)) {
                Some(Ok(to)) => url = to,
                _ => return,
            }
        }
    }

    /// Asks the cache, and then the server where it must be asked.
    async fn step(&self, request: &Request<'_>) -> Result<Step, LoadError> {
        let headers = self.own.headers_for(&request.at, &self.config.http);
        let name = EntryName::of(&request.at, &headers);
        let mut stored = self.find(&name, request.wanted).await;
        let mut conditions = HeaderMap::new();
        if let Some(found) = stored.take() {
            match self.judge(&found) {
                Verdict::Fresh => {
                    if let Some(step) = self.reuse(request, &name, found, None).await? {
                        return Ok(step);
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
        let response = self.send(request, &headers, conditions).await?;
        let (StatusCode::NOT_MODIFIED, Some(stored)) = (response.status(), stored) else {
            return self.read(request, name, response).await;
        };
        let now = SystemTime::now();
        if let Some(head) = renewed(&stored.head, &request.at, response.headers(), now)
            && let Some(step) = self.reuse(request, &name, stored, Some(head)).await?
        {
            return Ok(step);
        }
        // What it speaks of is not what was kept, or that is damaged.
        let response = self.send(request, &headers, HeaderMap::new()).await?;
        self.read(request, name, response).await
    }

    /// What is kept, as far as it can be used for what is wanted.
    async fn find(&self, name: &EntryName, wanted: &Wanted<'_>) -> Option<Stored> {
        let stored = self.config.cache.as_ref()?.find(name.clone()).await?;
        let is_forbidden = stored.head.status == StatusCode::FORBIDDEN.as_u16();
        let is_of_use = if stored.head.is_absence {
            wanted.may_be_absent && (!is_forbidden || self.config.http.is_forbidden_missing)
        } else {
            stored.body_bytes() <= wanted.bytes_max as u64
        };
        is_of_use.then_some(stored)
    }

    fn judge(&self, stored: &Stored) -> Verdict {
        let now = SystemTime::now();
        if self.config.is_offline {
            Verdict::Fresh
        } else if !stored.head.is_absence {
            judge(&stored.head, &self.user_agent, now)
        } else if is_absence_believed(&stored.head, now) {
            Verdict::Fresh
        } else {
            Verdict::Ask(HeaderMap::new())
        }
    }

    /// The answer that is kept, with the head that a 304 gave it; `None` where it is damaged.
    async fn reuse(
        &self,
        request: &Request<'_>,
        name: &EntryName,
        stored: Stored,
        renewed: Option<Head>,
    ) -> Result<Option<Step>, LoadError> {
        if stored.head.is_absence {
            return Ok(Some(Step::Absent));
        }
        let headers = stored.head.headers();
        let Some(bytes) = self.body_of(name, stored, renewed).await else { return Ok(None) };
        match place_to_go(&headers, &request.at) {
            Some(place) => place.map(|to| Some(Step::Moved(to))).map_err(|found| request.permanent(&found)),
            None => Ok(Some(Step::File(Body { bytes, content_type: content_type(&headers), keep: None }))),
        }
    }

    /// The body of what is kept, which gets the head that a 304 gave it.
    async fn body_of(&self, name: &EntryName, stored: Stored, renewed: Option<Head>) -> Option<Vec<u8>> {
        // Where it is too old again at once, writing it anew would change nothing.
        let renewed = renewed.filter(|head| judge(head, &self.user_agent, SystemTime::now()) == Verdict::Fresh);
        self.config.cache.as_ref()?.body(name.clone(), stored, renewed).await
    }

    /// Sends a question and waits for the head of the answer.
    async fn send(
        &self,
        request: &Request<'_>,
        headers: &HeaderMap,
        conditions: HeaderMap,
    ) -> Result<Response, LoadError> {
        let question = self.client.get(request.at.clone()).headers(headers.clone()).headers(conditions);
        match timeout_at(request.first_byte_at(), question.send()).await {
            Err(_) => {
                let found = format!("no answer within {}", seconds(request.first_byte_at() - request.started));
                Err(request.transient(&found, None))
            }
            // The URL cannot be asked for.
            Ok(Err(error)) if error.is_builder() => Err(request.permanent(&root_cause(&error))),
            Ok(Err(error)) => {
                let way = self.config.http.proxy.as_ref();
                let way =
                    way.map(|proxy| format!(" on the way through the proxy {}", shown(proxy))).unwrap_or_default();
                Err(request.transient(&format!("{}{way}", root_cause(&error)), None))
            }
            Ok(Ok(response)) => Ok(response),
        }
    }

    /// Reads an answer.
    async fn read(&self, request: &Request<'_>, name: EntryName, response: Response) -> Result<Step, LoadError> {
        let status = response.status();
        let head = Head::new(&request.at, &self.user_agent, status.as_u16(), response.headers(), SystemTime::now());
        match status {
            StatusCode::OK => {
                let (bytes, content_type) = request.body(response).await?;
                if bytes.is_empty() && request.wanted.may_be_absent {
                    return Ok(self.absent(request, name, head).await);
                }
                Ok(Step::File(Body { bytes, content_type, keep: self.keep(name, head) }))
            }
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND | StatusCode::GONE => {
                Ok(self.absent(request, name, head).await)
            }
            StatusCode::FORBIDDEN if self.config.http.is_forbidden_missing => {
                Ok(self.absent(request, name, head).await)
            }
            _ => match request.redirected(&response) {
                Some(to) => {
                    let to = to?;
                    self.keep_without_body(name, head).await;
                    Ok(Step::Moved(to))
                }
                None => Err(request.refused(&response)),
            },
        }
    }

    async fn absent(&self, request: &Request<'_>, name: EntryName, mut head: Head) -> Step {
        head.is_absence = true;
        // A document that is missing is being looked for, and may be there the next moment.
        if request.wanted.may_be_absent {
            self.keep_without_body(name, head).await;
        }
        Step::Absent
    }

    async fn keep_without_body(&self, name: EntryName, head: Head) {
        if let Some(keep) = self.keep(name, head) {
            keep.keep([], |_| true).await;
        }
    }

    /// The right to keep an answer; where it may not be kept, what was kept before goes.
    fn keep(&self, name: EntryName, head: Head) -> Option<Keep> {
        let cache = self.config.cache.clone()?;
        if may_keep(&head) {
            return Some(Keep { cache, answer: Box::new((name, head)) });
        }
        cache.remove(&name);
        None
    }
}

impl Keep {
    /// Keeps the answer, if its body is good: the body is looked at where blocking does no harm.
    pub(super) async fn keep(self, body: impl AsRef<[u8]> + Send + 'static, is_good: fn(&[u8]) -> bool) {
        let (name, head) = *self.answer;
        self.cache.put(name, head, body, is_good).await;
    }
}

/// What is common to the steps of one request.
struct Request<'a> {
    asked: &'a Url,
    /// Where redirects have led.
    at: Url,
    wanted: &'a Wanted<'a>,
    config: &'a SourceConfig,
    started: Instant,
}

impl<'a> Request<'a> {
    fn new(url: &'a Url, wanted: &'a Wanted<'a>, config: &'a SourceConfig) -> Self {
        Self { asked: url, at: url.clone(), wanted, config, started: Instant::now() }
    }

    fn first_byte_at(&self) -> Instant {
        self.started + self.config.timeout.min(self.config.timeout_total)
    }

    /// Reads the body for as long as it moves and stays within the limit, and inflates what nobody said was gzip.
    async fn body(&self, response: Response) -> Result<(Vec<u8>, Option<String>), LoadError> {
        let content_type = content_type(response.headers());
        let bytes = self.body_as_sent(response).await?;
        let bytes_max = self.wanted.bytes_max;
        match tokio::task::spawn_blocking(move || inflate(bytes, bytes_max)).await {
            Ok(Some(bytes)) => Ok((bytes, content_type)),
            Ok(None) => Err(self.too_large(&format!("more than {bytes_max} bytes when inflated"))),
            // The runtime is being shut down.
            Err(error) => Err(self.transient(&error.to_string(), None)),
        }
    }

    async fn body_as_sent(&self, mut response: Response) -> Result<Vec<u8>, LoadError> {
        let bytes_max = self.wanted.bytes_max;
        let length = response.content_length();
        if let Some(length_bytes) = length.filter(|&length| length > bytes_max as u64) {
            return Err(self.too_large(&format!("{length_bytes} bytes")));
        }
        let mut bytes = Vec::with_capacity(length.unwrap_or(0) as usize);
        let mut pace = Pace::new(self.config, self.started, Instant::now());
        loop {
            let chunk = match timeout_at(pace.deadline(), response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(bytes),
                Ok(Err(error)) => {
                    let found = format!("{} after {} bytes of the body", root_cause(&error), bytes.len());
                    return Err(self.transient(&found, None));
                }
                Err(_) => return Err(self.transient(&pace.verdict(bytes.len()), None)),
            };
            if bytes.len() + chunk.len() > bytes_max {
                return Err(self.too_large(&format!("more than {bytes_max} bytes")));
            }
            bytes.extend_from_slice(&chunk);
            pace.advance(chunk.len(), Instant::now());
        }
    }

    /// Where an answer sends the asker, if anywhere.
    fn redirected(&self, response: &Response) -> Option<Result<Url, LoadError>> {
        let place = place_to_go(response.headers(), &self.at).filter(|_| is_redirect(response.status()))?;
        Some(place.map_err(|found| self.permanent(&found)))
    }

    fn too_many_redirects(&self) -> LoadError {
        self.permanent(&format!("too many redirects, more than {REDIRECTS_MAX}"))
    }

    /// What an answer says that brings no file.
    fn refused(&self, response: &Response) -> LoadError {
        let status = response.status();
        let found = format!("status {status}");
        let comes_back =
            matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS);
        if comes_back || status.is_server_error() {
            return self.transient(&found, retry_after(response.headers()));
        }
        self.permanent(&found)
    }

    /// The file, and where redirects have led.
    fn place(&self) -> String {
        let asked = shown(self.asked);
        if self.at == *self.asked { asked } else { format!("{asked}, redirected to {}", shown(&self.at)) }
    }

    fn what(&self, found: &str) -> String {
        format!("{}: found {found}, {}", self.place(), self.wanted.expected)
    }

    fn transient(&self, found: &str, retry_after: Option<Duration>) -> LoadError {
        LoadError::Transient { what: self.what(found), retry_after }
    }

    fn permanent(&self, found: &str) -> LoadError {
        LoadError::Permanent { what: self.what(found) }
    }

    fn too_large(&self, found: &str) -> LoadError {
        let what = format!("{}: found a body of {found}, expected at most {}", self.place(), self.wanted.bytes_max);
        LoadError::BadAtlas { what }
    }

    fn not_in_cache(&self) -> LoadError {
        let found = match &self.config.cache {
            Some(cache) => format!("nothing in the cache in {}, and --offline asks no server", cache.dir().display()),
            None => "no cache, and --offline asks no server".to_owned(),
        };
        self.permanent(&found)
    }
}

/// Reads and checks a document.
pub(super) async fn read_tileset(client: &HttpClient, url: &Url, bytes_max: usize) -> Result<Tileset, SourceError> {
    const EXPECTED: &str = "expected a tileset's document (tiles.json)";
    let name = shown(url);
    match client.get(url, &Wanted { bytes_max, expected: EXPECTED, may_be_absent: false }).await {
        Ok(Some(body)) if body.bytes.trim_ascii_start().starts_with(b"<") => {
            Err(SourceError::Unreadable { what: format!("{name}: found status 200 with an HTML page, {EXPECTED}") })
        }
        Ok(Some(body)) => {
            let tileset = Tileset::parse(&body.bytes, &name)?;
            if let Some(keep) = body.keep {
                keep.keep(body.bytes, |_| true).await;
            }
            Ok(tileset)
        }
        Ok(None) => Err(SourceError::NotFound { name, expected: "a tileset's document".to_owned() }),
        Err(error) => Err(SourceError::Unreadable { what: error.to_string() }),
    }
}

/// A URL as messages show it: without name and password.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs that have no host, and so no password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where an answer sends the asker; the error says what is wrong with the place.
fn place_to_go(headers: &HeaderMap, from: &Url) -> Option<Result<Url, String>> {
    let place = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes()).into_owned();
    Some(match from.join(&place) {
        Ok(to) if matches!(to.scheme(), "http" | "https") => Ok(to),
        _ => Err("a redirect to no http(s) URL".to_owned()),
    })
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase())
}

/// What the server asks us to wait, capped: seconds, or a date by this machine's clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    parse_retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?, SystemTime::now())
}

fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) {
        // More seconds than fit a u64 are capped like any other large number.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or(Duration::ZERO)
    };
    Some(wait.min(Duration::from_millis(RETRY_AFTER_MILLIS_MAX)))
}

/// The innermost cause, which names the matter: "Connection refused" rather than "error sending request".
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// What comes of a body of zeros that arrives in pieces, each after a wait, in virtual time.
    async fn body_of(n_bytes: usize, piece_bytes: usize, wait: Duration) -> (Result<usize, LoadError>, Duration) {
        let pieces = stream::unfold(n_bytes, move |left_bytes| async move {
            let n_bytes = left_bytes.min(piece_bytes);
            tokio::time::sleep(wait).await;
            (n_bytes > 0).then(|| (Ok::<_, std::io::Error>(vec![0; n_bytes]), left_bytes - n_bytes))
        });
        let response = Response::from(http::Response::new(reqwest::Body::wrap_stream(pieces)));
        let (url, config) = (Url::parse("https://host/17/1/2.png").unwrap(), SourceConfig::default());
        let wanted = Wanted { bytes_max: 8 << 20, expected: "expected an atlas", may_be_absent: true };
        let started = Instant::now();
        let request = Request::new(&url, &wanted, &config);
        let body = request.body(response).await;
        (body.map(|(bytes, _)| bytes.len()), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_tile_on_a_slow_line_arrives_and_a_dripping_one_does_not() {
        // 1.5 MB at 1 Mbit/s take twelve seconds, half as much again as the time-out.
        let (body, took) = body_of(1_500_000, 12_500, Duration::from_millis(100)).await;
        assert_eq!((body, took.as_secs()), (Ok(1_500_000), 12));

        let (body, took) = body_of(1_500_000, 100, Duration::from_millis(200)).await;
        let error = body.unwrap_err().to_string();
        assert!(error.contains("a body that stands still") && took.as_secs() < 20, "{error} after {took:?}");

        let (body, took) = body_of(1_500_000, 2_000, Duration::from_millis(200)).await;
        let error = body.unwrap_err().to_string();
        assert!(error.contains("bytes of the body within 60 s") && took.as_secs() == 60, "{error} after {took:?}");
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_capped() {
        let now = httpdate::parse_http_date("Fri, 31 Jul 2026 10:00:00 GMT").unwrap();
        let check = |text: &str, expected_secs: Option<u64>| {
            assert_eq!(parse_retry_after(text, now), expected_secs.map(Duration::from_secs), "{text}");
        };
        check("7", Some(7));
        check(" 0 ", Some(0));
        check("3600", Some(60));
        check("99999999999999999999999", Some(60));
        check("Fri, 31 Jul 2026 10:00:09 GMT", Some(9));
        check("Fri, 31 Jul 2026 09:00:00 GMT", Some(0));
        check("Sat, 31 Jul 2027 09:00:00 GMT", Some(60));
        check("-3", None);
        check("soon", None);
        check("", None);
    }

    #[test]
    fn messages_show_no_password() {
        let url = Url::parse("https://anna:secret@host/17/1/2.png").unwrap();
        assert_eq!(shown(&url), "https://host/17/1/2.png");
    }
}
