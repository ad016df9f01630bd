//! What HTTP says of a kept answer: whether it may be kept, for how long it holds, and how to ask whether it still does.
//!
//! RFC 9111 as `http-cache-semantics` reads it, from the view of a private cache. The absence of a file has rules of our
//! own where the server says nothing: RFC 9111 lets a cache choose.

use std::time::{Duration, SystemTime};

use http::header::{
    AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, USER_AGENT,
};
use http::{HeaderValue, Request, Response, StatusCode};
use http_cache_semantics::{AfterResponse, BeforeRequest, CacheOptions, CachePolicy};
use url::Url;

use super::entry::Head;
use crate::limits::{ABSENCE_SECS, ABSENCE_SECS_MAX};

/// A kept answer in the face of a new question.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::source) enum Verdict {
    /// It holds.
    Fresh,
    /// The server is to be asked, with these headers: the answer 304 says that it holds.
    Ask(HeaderMap),
}

/// Largest Age that is believed, in seconds: what HTTP calls infinite.
const AGE_SECS_MAX: u64 = 1 << 31;

/// Whether an answer may be kept.
pub(in crate::source) fn may_keep(head: &Head) -> bool {
    if head.is_absence {
        return !cache_control(&head.headers()).any(|directive| directive == "no-store");
    }
    policy(head).is_storable()
}

/// Whether a kept answer holds for who asks now.
pub(in crate::source) fn judge(head: &Head, user_agent: &str, now: SystemTime) -> Verdict {
    // An answer from the future was kept by a clock that was wrong, so that nobody knows its age.
    let is_from_future = head.received() > now;
    match policy(head).before_request(&request(user_agent), now) {
        BeforeRequest::Fresh(_) if !is_from_future => Verdict::Fresh,
        BeforeRequest::Fresh(_) => Verdict::Ask(HeaderMap::new()),
        BeforeRequest::Stale { request, .. } => {
            let headers = [IF_NONE_MATCH, IF_MODIFIED_SINCE].into_iter();
            Verdict::Ask(headers.filter_map(|name| Some((name.clone(), request.headers.get(&name)?.clone()))).collect())
        }
    }
}

/// Whether it is still believed that a file is absent.
pub(in crate::source) fn is_absence_believed(head: &Head, now: SystemTime) -> bool {
    let Ok(age) = now.duration_since(head.received()) else { return false };
    let headers = head.headers();
    let is_explicit = headers.contains_key(CACHE_CONTROL) || headers.contains_key(EXPIRES);
    let lifetime = if is_explicit { age + policy(head).time_to_live(now) } else { Duration::from_secs(ABSENCE_SECS) };
    age < lifetime.min(Duration::from_secs(ABSENCE_SECS_MAX))
}

/// The head of a kept answer after the server has said 304; `None` where it spoke of another answer.
pub(in crate::source) fn renewed(head: &Head, url: &Url, answered: &HeaderMap, now: SystemTime) -> Option<Head> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.headers_mut() = answered.clone();
    // Many servers leave the validators out of a 304; then it speaks of what the question named.
    let is_named = answered.contains_key(ETAG) || answered.contains_key(LAST_MODIFIED);
    let after = policy(head).after_response(&request(&head.user_agent), &response, now);
    if is_named && matches!(after, AfterResponse::Modified(..)) {
        return None;
    }
    let mut headers = head.headers();
    // They told of the old answer's way.
    headers.remove(AGE);
    headers.remove(DATE);
    for name in answered.keys() {
        headers.remove(name);
    }
    headers.extend(answered.iter().map(|(name, value)| (name.clone(), value.clone())));
    Some(Head::new(url, &head.user_agent, head.status, &headers, now))
}

/// The name stands for all that was asked, so that every question has the same path here.
fn request(user_agent: &str) -> Request<()> {
    let mut request = Request::new(());
    if let Ok(value) = HeaderValue::from_str(user_agent) {
        request.headers_mut().insert(USER_AGENT, value);
    }
    request
}

fn policy(head: &Head) -> CachePolicy {
    let mut response = Response::new(());
    // The policy knows no parts; one that is asked for by its range is as good as a file.
    let status = StatusCode::from_u16(head.status).ok().filter(|&status| status != StatusCode::PARTIAL_CONTENT);
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    let mut headers = head.headers();
    // Directives are the same in any case, and the policy knows only one.
    let directives: Vec<String> = cache_control(&headers).collect();
    if let Ok(directives) = HeaderValue::try_from(directives.join(", "))
        && !directives.is_empty()
    {
        headers.insert(CACHE_CONTROL, directives);
    }
    // The policy adds ages without looking whether the sum fits.
    let age = headers.get(AGE).and_then(|age| age.to_str().ok()?.trim().parse::<u64>().ok());
    if headers.contains_key(AGE) && age.is_none_or(|age| age > AGE_SECS_MAX) {
        headers.insert(AGE, HeaderValue::from(AGE_SECS_MAX));
    }
    *response.headers_mut() = headers;
    let options = CacheOptions { shared: false, ..CacheOptions::default() };
    CachePolicy::new_options(&request(&head.user_agent), &response, head.received(), options)
}

fn cache_control(headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    const UA: &str = "voxatlas/1";

    fn at(secs: u64) -> SystemTime {
        httpdate::parse_http_date("Fri, 31 Jul 2026 10:00:00 GMT").unwrap() + Duration::from_secs(secs)
    }

    fn headers(text: &str) -> HeaderMap {
        let parse = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        text.lines().map(|line| parse(line.trim())).collect()
    }

    fn url() -> Url {
        Url::parse("https://host/17/1/2.png").unwrap()
    }

    fn head(status: u16, text: &str) -> Head {
        let mut head = Head::new(&url(), UA, status, &headers(text), at(0));
        head.is_absence = status != 200 && !(300..400).contains(&status);
        head
    }

    #[test]
    fn answers_hold_as_long_as_the_server_says() {
        let check = |text: &str, fresh_secs: u64| {
            let head = head(200, text);
            for secs in [0, fresh_secs.saturating_sub(1), fresh_secs, fresh_secs + 1] {
                let is_fresh = judge(&head, UA, at(secs)) == Verdict::Fresh;
                assert_eq!(is_fresh, secs < fresh_secs, "{text} after {secs} s");
            }
            assert!(may_keep(&head), "{text}");
        };
        check("", 0);
        check("cache-control: max-age=60", 60);
        check("cache-control: private, max-age=60", 60);
        check("cache-control: max-age=60\nage: 20", 40);
        check("cache-control: max-age=60\nage: 18446744073709551615", 0);
        check("cache-control: no-cache", 0);
        check("cache-control: no-cache, max-age=60", 0);
        check("cache-control: immutable", 86_400);
        check("date: Fri, 31 Jul 2026 10:00:00 GMT\nexpires: Fri, 31 Jul 2026 10:01:00 GMT", 60);
        check("expires: 0", 0);
        check("date: Fri, 31 Jul 2026 10:00:00 GMT\nlast-modified: Fri, 31 Jul 2026 08:20:00 GMT", 600);
        check("cache-control: max-age=60\nvary: *", 0);
    }

    #[test]
    fn what_may_not_be_kept_is_not() {
        for (status, text, expected) in [
            (200, "cache-control: no-store", false),
            (200, "cache-control: max-age=9, NO-STORE", false),
            (301, "", true),
            (302, "", false),
            (302, "cache-control: max-age=9", true),
            (404, "", true),
            (403, "", true),
            (404, "cache-control: No-Store", false),
        ] {
            assert_eq!(may_keep(&head(status, text)), expected, "{status} {text}");
        }
    }

    #[test]
    fn the_question_names_what_is_known() {
        let check = |text: &str, expected: &str| {
            assert_eq!(judge(&head(200, text), UA, at(1)), Verdict::Ask(headers(expected)), "{text}");
        };
        check("etag: \"a\"", "if-none-match: \"a\"");
        check("etag: W/\"a\"", "if-none-match: W/\"a\"");
        let date = "Fri, 31 Jul 2026 10:00:00 GMT";
        check(&format!("last-modified: {date}"), &format!("if-modified-since: {date}"));
        check("etag: \"a\"\nvary: *", "");
        let other = judge(&head(200, "etag: \"a\"\ncache-control: max-age=9\nvary: User-Agent"), "other/1", at(1));
        assert_eq!(other, Verdict::Ask(HeaderMap::new()));
        let future = Head::new(&url(), UA, 200, &headers("cache-control: max-age=9"), at(1_000));
        assert_eq!(judge(&future, UA, at(1)), Verdict::Ask(HeaderMap::new()));
    }

    #[test]
    fn a_304_renews_the_answer_that_it_speaks_of() {
        let old = head(200, "etag: \"a\"\ncache-control: max-age=60\nage: 50\ncontent-type: image/png");
        let new = renewed(&old, &url(), &headers("etag: \"a\"\ncache-control: max-age=90"), at(100)).unwrap();
        assert_eq!(judge(&new, UA, at(189)), Verdict::Fresh);
        assert_ne!(judge(&new, UA, at(190)), Verdict::Fresh);
        assert_eq!(new.headers()["content-type"], "image/png");
        assert_eq!(renewed(&old, &url(), &headers("etag: \"b\""), at(100)), None);
        assert!(renewed(&old, &url(), &HeaderMap::new(), at(100)).is_some());
    }

    #[test]
    fn an_absence_is_believed_for_a_while() {
        let check = |text: &str, expected_secs: u64| {
            let head = head(404, text);
            let believed =
                (0..).step_by(10).take_while(|&secs| is_absence_believed(&head, at(secs))).count() as u64 * 10;
            assert_eq!(believed, expected_secs, "{text}");
        };
        check("", ABSENCE_SECS);
        check("cache-control: max-age=60", 60);
        check("cache-control: no-cache", 0);
        check("cache-control: max-age=31536000, immutable", ABSENCE_SECS_MAX);
    }
}
