//! Files of web servers.
//!
//! Every answer is one of three things: a file, the certainty that there is none, or an error that says whether
//! another try may help.
//!
//! | answer | is |
//! | --- | --- |
//! | 200 | the file; empty: none |
//! | 204, 404, 410 | none |
//! | 408, 425, 429, 5xx, resets, time-outs, bodies cut short | transient, with Retry-After where it was given |
//! | everything else | permanent |
//! | a body above the limit, dropped unread | a bad atlas |

mod range;

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

pub(super) use range::{FileVersion, Ranged};

use super::config::SourceConfig;
use super::error::SourceError;
use crate::atlas::Tileset;
use crate::limits::RETRY_AFTER_MILLIS_MAX;
use crate::stream::LoadError;

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 5;

/// A client and its patience.
#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    client: Client,
    config: SourceConfig,
}

/// The content of an answer.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
}

impl HttpClient {
    /// A client for the server of `url`.
    pub(super) fn new(url: &Url, config: &SourceConfig) -> Result<Self, SourceError> {
        let mut builder = Client::builder()
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::limited(REDIRECTS_MAX));
        // A proxy that the environment names cannot reach this machine's own servers.
        if is_loopback(url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| SourceError::Client { reason: root_cause(&error) })?;
        Ok(Self { client, config: config.clone() })
    }

    /// Gets a file of at most `bytes_max` bytes; `None` where there is none. `expected` ends the messages.
    pub(super) async fn get(&self, url: &Url, bytes_max: usize, expected: &str) -> Result<Option<Body>, LoadError> {
        let request = Request { url, bytes_max, expected, config: &self.config, started: Instant::now() };
        let response = self.send(&request, self.client.get(url.clone())).await?;
        match response.status() {
            StatusCode::OK => request.body(response).await.map(Some),
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            _ => Err(request.refused(&response)),
        }
    }

    /// Sends a request and waits for the head of its answer.
    async fn send(&self, request: &Request<'_>, builder: RequestBuilder) -> Result<Response, LoadError> {
        let first_byte_at = request.started + self.config.timeout.min(self.config.timeout_total);
        match timeout_at(first_byte_at, builder.send()).await {
            Err(_) => {
                let found = format!("no answer within {}", seconds(first_byte_at - request.started));
                Err(request.transient(&found, None))
            }
            // The URL cannot be asked for, or the redirects go round in circles.
            Ok(Err(error)) if error.is_builder() || error.is_redirect() => Err(request.permanent(&root_cause(&error))),
            Ok(Err(error)) => Err(request.transient(&root_cause(&error), None)),
            Ok(Ok(response)) => Ok(response),
        }
    }
}

/// What is common to the steps of one request.
struct Request<'a> {
    url: &'a Url,
    bytes_max: usize,
    expected: &'a str,
    config: &'a SourceConfig,
    started: Instant,
}

impl Request<'_> {
    /// Reads the body for as long as it moves and stays within the limit.
    async fn body(&self, mut response: Response) -> Result<Body, LoadError> {
        let content_type = content_type(response.headers());
        let length = response.content_length();
        if let Some(length_bytes) = length.filter(|&length| length > self.bytes_max as u64) {
            return Err(self.too_large(&format!("{length_bytes} bytes")));
        }
        let mut bytes = Vec::with_capacity(length.unwrap_or(0) as usize);
        let mut pace = Pace::new(self.config, self.started, Instant::now());
        loop {
            let chunk = match timeout_at(pace.deadline(), response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(Body { bytes, content_type }),
                Ok(Err(error)) => {
                    let found = format!("{} after {} bytes of the body", root_cause(&error), bytes.len());
                    return Err(self.transient(&found, None));
                }
                Err(_) => return Err(self.transient(&pace.verdict(bytes.len()), None)),
            };
            if bytes.len() + chunk.len() > self.bytes_max {
                return Err(self.too_large(&format!("more than {} bytes", self.bytes_max)));
            }
            bytes.extend_from_slice(&chunk);
            pace.advance(chunk.len(), Instant::now());
        }
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

    fn what(&self, found: &str) -> String {
        format!("{}: found {found}, {}", shown(self.url), self.expected)
    }

    fn transient(&self, found: &str, retry_after: Option<Duration>) -> LoadError {
        LoadError::Transient { what: self.what(found), retry_after }
    }

    fn permanent(&self, found: &str) -> LoadError {
        LoadError::Permanent { what: self.what(found) }
    }

    fn too_large(&self, found: &str) -> LoadError {
        let what = format!("{}: found a body of {found}, expected at most {}", shown(self.url), self.bytes_max);
        LoadError::BadAtlas { what }
    }
}

/// How long a body may still take. It has credit for one time-out of standing still; time spends it, bytes earn it back
/// at the lowest rate that counts as progress.
#[derive(Debug)]
struct Pace {
    /// When the credit is spent.
    spent_at: Instant,
    /// The end of the request, whatever the credit.
    end_at: Instant,
    credit_max: Duration,
    bytes_per_sec: u64,
    total: Duration,
}

impl Pace {
    fn new(config: &SourceConfig, started: Instant, now: Instant) -> Self {
        Self {
            spent_at: now + config.timeout,
            end_at: started + config.timeout_total,
            credit_max: config.timeout,
            bytes_per_sec: config.progress_bytes_per_sec.max(1),
            total: config.timeout_total,
        }
    }

    fn deadline(&self) -> Instant {
        self.spent_at.min(self.end_at)
    }

    fn advance(&mut self, n_bytes: usize, now: Instant) {
        let earned = Duration::from_secs_f64(n_bytes as f64 / self.bytes_per_sec as f64);
        self.spent_at = (self.spent_at + earned).min(now + self.credit_max);
    }

    /// What was found when the deadline passed.
    fn verdict(&self, n_bytes: usize) -> String {
        if self.end_at < self.spent_at {
            return format!("{n_bytes} bytes of the body within {}", seconds(self.total));
        }
        format!(
            "a body that stands still: {n_bytes} bytes so far, and for {} fewer than {} bytes a second",
            seconds(self.credit_max),
            self.bytes_per_sec
        )
    }
}

/// Reads and checks a document.
pub(super) async fn read_tileset(client: &HttpClient, url: &Url, bytes_max: usize) -> Result<Tileset, SourceError> {
    const EXPECTED: &str = "expected a tileset's document (tiles.json)";
    let name = shown(url);
    match client.get(url, bytes_max, EXPECTED).await {
        Ok(Some(body)) if body.bytes.trim_ascii_start().starts_with(b"<") => {
            Err(SourceError::Unreadable { what: format!("{name}: found status 200 with an HTML page, {EXPECTED}") })
        }
        Ok(Some(body)) => Ok(Tileset::parse(&body.bytes, &name)?),
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
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
    use super::*;

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
    fn a_body_may_be_slow_but_not_stand_still() {
        let config = SourceConfig {
            timeout: Duration::from_secs(8),
            timeout_total: Duration::from_mins(1),
            progress_bytes_per_sec: 1_024,
            file_bytes_max: 1,
        };
        let started = Instant::now();
        let at = |secs| started + Duration::from_secs(secs);

        // Eight seconds of silence end it, however much came before.
        let mut pace = Pace::new(&config, started, at(1));
        assert_eq!(pace.deadline(), at(9));
        pace.advance(1 << 20, at(2));
        assert_eq!(pace.deadline(), at(10));

        // 2 KiB a second keep it alive up to the end of the request.
        let mut pace = Pace::new(&config, started, at(0));
        for second in 1..=59 {
            pace.advance(2_048, at(second));
            assert!(pace.deadline() > at(second));
        }
        assert_eq!(pace.deadline(), at(60));
        assert!(pace.verdict(120_832).contains("120832 bytes of the body within 60 s"), "{pace:?}");

        // 512 bytes a second spend the credit in twice its time.
        let mut pace = Pace::new(&config, started, at(0));
        let dead = (1..=30).find(|&second| {
            let is_late = pace.deadline() <= at(second);
            pace.advance(512, at(second));
            is_late
        });
        assert_eq!(dead, Some(15));
        assert!(pace.verdict(7_168).contains("stands still: 7168 bytes so far"), "{pace:?}");
    }

    #[test]
    fn messages_show_no_password() {
        let url = Url::parse("https://anna:secret@host/17/1/2.png").unwrap();
        assert_eq!(shown(&url), "https://host/17/1/2.png");
    }
}
