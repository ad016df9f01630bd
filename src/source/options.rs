//! What the requests of a source say of whoever asks, and the way that they take.

use std::path::PathBuf;

use http::header::{self, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::SourceError;

/// Headers that the requests themselves are made of: another value would break them or the cache.
const RESERVED: [HeaderName; 10] = [
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::RANGE,
    header::TE,
    header::TRANSFER_ENCODING,
];

/// How web servers are asked.
///
/// Headers and the token go to the server that the SOURCE names, and to no other: neither to one that a redirect or a
/// tileset's document leads to. No message and no `Debug` text shows their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpOptions {
    headers: HeaderMap,
    contact: Option<String>,
    /// The proxy that every request goes through, instead of the environment's (`HTTPS_PROXY` and its kin). Hosts of
    /// the environment's `NO_PROXY` are asked directly.
    pub proxy: Option<Url>,
    /// A PEM file of certificates that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether status 403 says that there is no file: object stores answer so to whoever may not list them.
    pub is_forbidden_missing: bool,
}

impl HttpOptions {
    /// Adds a header, such as `X-Api-Key: 1234`.
    ///
    /// ```
    /// use voxatlas::source::HttpOptions;
    ///
    /// let mut options = HttpOptions::default();
    /// options.add_header("X-Api-Key: 1234")?;
    /// assert!(!format!("{options:?}").contains("1234"));
    /// assert!(options.add_header("X-Api-Key 1234").is_err());
    /// # Ok::<(), voxatlas::source::SourceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is no header, or one that the requests set themselves.
    pub fn add_header(&mut self, text: &str) -> Result<(), SourceError> {
        let bad = |what: String| SourceError::Option { option: "the header", what };
        // The text may hold a secret even where it is no header, so that only a name is shown.
        let (name, value) =
            text.split_once(':').ok_or_else(|| bad("found no colon, expected \"Name: value\"".to_owned()))?;
        let name = HeaderName::try_from(name.trim())
            .map_err(|_| bad("found no header name before the colon, expected \"Name: value\"".to_owned()))?;
        if RESERVED.contains(&name) {
            return Err(bad(format!("{name} is set by the request itself: leave it out")));
        }
        let value = secret(value).ok_or_else(|| bad(format!("the value of {name} has characters of no header")))?;
        self.headers.append(name, value);
        Ok(())
    }

    /// Sets the token, sent as `Authorization: Bearer`.
    ///
    /// # Errors
    ///
    /// It is empty, or has characters of no header.
    pub fn set_token(&mut self, token: &str) -> Result<(), SourceError> {
        let value = (!token.trim().is_empty()).then(|| secret(&format!("Bearer {}", token.trim()))).flatten();
        let value = value.ok_or(SourceError::Option {
            option: "the token",
            what: "it is empty or has characters of no header".to_owned(),
        })?;
        self.headers.insert(AUTHORIZATION, value);
        Ok(())
    }

    /// Sets whom a server's owner can turn to, a URL or a mail address: the User-Agent then ends with `(+CONTACT)`.
    ///
    /// # Errors
    ///
    /// It is empty, or has characters of no header.
    pub fn set_contact(&mut self, contact: &str) -> Result<(), SourceError> {
        let is_plain = !contact.is_empty()
            && contact.bytes().all(|byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'(' | b')' | b'\\'));
        if !is_plain {
            let what = "expected a URL or a mail address in plain ASCII, without brackets".to_owned();
            return Err(SourceError::Option { option: "the contact", what });
        }
        self.contact = Some(contact.to_owned());
        Ok(())
    }

    /// The headers beside those that every request has.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Who asks.
    pub(super) fn user_agent(&self) -> String {
        let program = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        self.contact.as_ref().map_or_else(|| program.to_owned(), |contact| format!("{program} (+{contact})"))
    }
}

/// A header's value that `Debug` hides.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text.trim()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_shows_what_is_secret() {
        let mut options = HttpOptions::default();
        options.add_header("X-Api-Key: hidden-1").unwrap();
        options.set_token("hidden-2").unwrap();
        assert!(!format!("{options:?}").contains("hidden"), "{options:?}");
        for text in ["hidden", "hid den: hidden", ": hidden", "X: hid\u{7}den", "Host: hidden", "Range: hidden"] {
            let error = options.add_header(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
        }
        for token in ["", " ", "hid\nden"] {
            assert!(!options.set_token(token).unwrap_err().to_string().contains("hid"));
        }
    }

    #[test]
    fn the_user_agent_names_the_contact() {
        let mut options = HttpOptions::default();
        let bare = options.user_agent();
        assert!(bare.starts_with("voxatlas/") && !bare.contains('('), "{bare}");
        options.set_contact("https://city.example/maps").unwrap();
        assert_eq!(options.user_agent(), format!("{bare} (+https://city.example/maps)"));
        for contact in ["", "me (at home)", "méx@city.example", "a\nb"] {
            assert!(options.set_contact(contact).is_err(), "{contact}");
        }
    }
}
